"""Outlier tokens in the app: a planted one is found and said, one switch masks it everywhere; where there is none it is off."""

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from visitor import App

import vitcore
from app import texts
from app.state.photos import sample_photos
from vitcore.analysis.attention_as_bytes import decode_weights
from vitcore.forward.mask_outliers import mask_outlier_tokens, outliers_in_recording

TEXT = texts.prose("outliers", "en")


@pytest.fixture(scope="session")  # a worker may come back to this file, and a name of the app's is one model
def planted(make_module):
    """A small ViT with registers, whose patch 62 of 64 is far longer than the others: at the rim, in no corner."""
    module = make_module(img_size=64, reg_tokens=2)
    with torch.no_grad():
        module.pos_embed[0, -2] *= 200
    return vitcore.wrap(module, name="planted")


@pytest.fixture(scope="module")
def own(planted):
    """What the app's first photo leaves of it."""
    photo = sample_photos.SAMPLES / f"{sample_photos.sample_photo_rows()[0]['id']}.jpg"
    return vitcore.record(planted, photo, maps=range(planted.blocks), fusions=("mean", "max", "min"))


def test_a_planted_outlier_is_found_and_what_it_draws_is_said(planted, own, offer):
    offer(planted=planted)
    app = App("outliers", model="planted").fine()
    seen = outliers_in_recording(own)
    told = " ".join(app.sentences("markdown"))
    assert "**1 of 64 patches is an outlier** (patch 62) from layer 0 on" in told and "1 of 1 lies at the edge" in told
    captions = app.text("caption")
    assert TEXT["measured elsewhere"] in captions and TEXT["measured here"] not in captions
    assert f"After layer 2, 1 of 64 patches has a norm above {seen.thresholds[2]:.3g}" in told
    registers = own.norms[-1, 1:3]
    assert f"2 registers, tokens added for this use. After the last layer their norms are {registers.min():.3g}" in told
    (frame,) = app.chart("Norms of the patches after layer 2")["layout"]["shapes"]
    assert (frame["x0"], frame["y0"]) == (6, 7)
    share = own.fused["mean"][2, 3:, 3 + 62].mean()
    times = f"{share * own.grid.tokens:.2g}× an even share"
    assert f"In layer 2 the patches give {100 * share:.1f} % of their attention to the outlier token, {times}." in told
    app.set(layer=0, of="rollout").fine()
    assert any(said.startswith("After layer 0, 1 of 64") for said in app.sentences("markdown"))
    drawn = own.fused["mean"][:, 3:, 3 + 62].astype(float).mean(1)
    most, here = int(drawn.argmax()), f"the patches give {100 * drawn[0]:.0f} % of their attention (mean of heads)"
    (said,) = [said for said in app.sentences("caption") if said.startswith("In layer 0, chosen above")]
    assert here in said and most != 0, "of the layer that is drawn"
    assert f"In layer {most}, the patches give most: {100 * drawn[most]:.0f} %" in said
    before, after = (rec.rollout().ravel() for rec in (own, mask_outlier_tokens(own)))
    rest = [place for place in range(own.grid.patches) if place not in seen.patches]
    alike = spearmanr(before[rest], after[rest]).statistic
    much = "hardly changes" if alike >= 0.95 else "changes much" if alike < 0.7 else "changes somewhat"
    told = app.text("markdown")
    times = f"{before[62] * own.grid.tokens:.2g}× an even share"
    assert f"The outlier token holds {100 * before[62]:.1f} % of the class token's rollout, {times}." in told
    assert f"the order of the other patches {much} (rank correlation {alike:.2f})" in told


def test_one_switch_masks_it_in_the_rollout_lab_and_the_explorer(planted, own, offer):
    offer(planted=planted)
    masked = mask_outlier_tokens(own)
    app = App("rollout", model="planted", mask_outliers="true", b_method="rollout").fine()
    left, right = (np.array(app.component(key)["values"]) for key in ("gathered", "b_gathered"))
    assert left == pytest.approx(100 * masked.rollout().ravel(), abs=1e-3) and left[62] == 0
    assert right == pytest.approx(left), "one setting for both sides"
    assert any(said.endswith("outliers masked") for said in app.sentences("markdown"))

    app = App("attention", model="planted", mask_outliers="true", block="1").fine()
    words = app.component("explorer")["words"]
    assert words["asks row"] == "What {token} attends to, outliers masked"
    cards = app.component("explorer")["cards"]["1"]
    assert [card["px"] for card in cards] == [round(float(px)) for px in masked.distance_px[1]]
    assert [card["outlying"] for card in cards] == [None] * planted.heads
    assert app.component("explorer")["outliers"]["masked"] == "1 outlier token is masked here."
    unmasked = App("attention", model="planted", block="1").fine().component("explorer")["outliers"]
    assert unmasked["patches"] == [62] and unmasked["masked"] == ""
    assert unmasked["called"]["edge"] == ["This edge patch is an outlier token"]
    assert unmasked["attended"].format(who="It") == "It, not what the model looks at."


def test_the_bytes_that_the_browser_gets_are_the_masked_ones(planted, own, offer):
    from app.state.recordings import attention_bytes_for_browser, cached_outliers

    offer(planted=planted)
    masked = cached_outliers.mask_outliers(own)
    sent = attention_bytes_for_browser.attention_bytes_by_block(masked)[2]
    weights = decode_weights(np.frombuffer(sent, np.uint8)).reshape(own.maps[2].shape)
    assert (weights[..., 3 + 62] == 0).all() and weights.sum(-1) == pytest.approx(1, abs=0.03)
    plain = attention_bytes_for_browser.attention_bytes_by_block(own)[2]
    assert decode_weights(np.frombuffer(plain, np.uint8)).reshape(own.maps[2].shape)[..., 3 + 62].max() > 0


@pytest.mark.parametrize("slug", ["outliers", "attention", "rollout", "report"])
def test_where_there_is_none_it_is_said_and_the_switch_is_off(slug, kinds, offer):
    offer(registers=kinds["registers"])
    app = App(slug, model="registers", mask_outliers="true").fine()
    if slug == "outliers":
        assert any(said.startswith("**This photo has no outlier tokens:**") for said in app.sentences("markdown"))
        assert TEXT["nothing to mask"] in app.sentences("info")
        return
    switches = {key: control for key, control in app.controls.items() if "mask_outliers" in key}
    if slug == "rollout":
        assert not switches, "quiet: there is nothing to mask"
        return
    assert list(switches) == ["no_mask_outliers"]
    switch = switches["no_mask_outliers"]
    assert switch.disabled and not switch.value and switch.label == TEXT["mask none"]
