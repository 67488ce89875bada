"""The attention explorer without a browser: what its picture is given equals the recording, whatever the address says."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
import streamlit as st
from visitor import App

from app.state.recordings import attention_bytes_for_browser, cached_recordings
from app.views.attention import pinned_tokens
from vitcore.analysis import attention_as_bytes, head_descriptions
from vitcore.analysis.rollout import rollout
from vitcore.forward.mask_outliers import outliers_in_recording

KINDS = ["registers", "no-class-token", "mean-of-patches", "no-positions", "no-head", "wide", "distilled", "hybrid"]


def given(app: App) -> dict:
    return app.fine().component("explorer")


def block_of(data: dict, files: dict, block: int) -> np.ndarray:
    """(H, Q, T) codes of a block."""
    spec, grid = data["maps"][block], data["grid"]
    tokens = grid["prefix"] + grid["rows"] * grid["cols"]
    count = tokens if spec.get("queries") is None else len(spec["queries"])
    return np.frombuffer(files[spec["url"]], np.uint8).reshape(data["heads"], count, tokens)


def close(found: np.ndarray, expected: np.ndarray) -> None:
    """Equal within the error the code states."""
    expected = expected.astype(np.float64)
    small = expected < attention_as_bytes.LEAST
    assert np.all(found[small] <= 2**-attention_as_bytes.SPAN)
    assert np.abs(found[~small] / expected[~small] - 1).max(initial=0) <= attention_as_bytes.WORST + 1e-6


def test_bytes_decode_to_the_recordings_numbers_and_cards_say_what_it_says(files, rec):
    data = given(App("attention", photo="astronaut"))
    for block in (0, 6, 11):
        codes = block_of(data, files, block)
        close(attention_as_bytes.decode_weights(codes), rec.maps[block])
        token = 1 + rec.grid.patch(3, 5)
        shown = rec.head_maps(block, token)
        close(attention_as_bytes.decode_weights(codes[:, token])[:, 1:].reshape(3, 16, 16), shown)
    assert max(len(files[spec["url"]]) for spec in data["maps"]) <= 800_000
    assert len({spec["url"] for spec in data["maps"]}) == 12
    out = outliers_in_recording(rec).tokens
    for block in range(12):
        distances = rec.distance_px[block], rec.distance_renormalised_px[block]
        described = head_descriptions.describe_heads(rec.maps[block], *distances, rec.grid, out)
        for card, head in zip(data["cards"][str(block)], described, strict=True):
            assert card["px"] == round(head.distance_px) and card["bits"] == round(head.entropy_bits, 1)
            assert card["spread"] == round(2**head.entropy_bits) and card["words"] == list(head.words)
            assert card["shares"] == [round(100 * head.shares[0]) or 0.5], "0.5: less than a whole percent"
    assert data["rollout"] is None, "sent only when asked for"
    data = given(App("attention", photo="astronaut", rolled="true"))
    found = attention_as_bytes.decode_weights(np.frombuffer(files[data["rollout"]["url"]], np.uint8).reshape(257, 257))
    for token in (0, 100):
        close(found[token], rollout(rec.fused["mean"], token, prefix=1))


def test_the_strip_is_the_pinned_tokens(files, rec):
    ways = {"What it attends to": lambda m, t: m[:, t], "Who attends to it": lambda m, t: m[:, :, t]}
    for direction, pick in ways.items():
        data = given(App("attention", photo="astronaut", token="40", direction=direction))
        strip = np.frombuffer(files[data["atlas"]["url"]], np.uint8).reshape(12, 3, 16, 16)
        close(attention_as_bytes.decode_weights(strip), np.stack([rec.grid.to_map(pick(rec.maps[b], 40)) for b in range(12)]))


def test_an_address_opens_the_view_it_names_and_controls_reach_the_picture(files):
    """What a click sends is in the browser's tests."""
    app = App(
        "attention", token="40", second="77", block="3", one_head="1", direction="Who attends to it", rolled="true", log="true",
        one_scale="true", lit="darkness",
    )  # fmt: skip
    data, state = given(app), {"token": 40, "second": 77, "block": 3, "head": 1, "column": True, "rolled": True, "mask": False}
    assert data["state"] == state and (data["log"], data["shared"], data["style"]) == (True, True, "light")
    app.set(patch=4, second_patch=8, layer=2, one_head=2).fine()
    assert given(app)["state"] == state | {"token": 5, "second": 9, "block": 2, "head": 2}
    assert given(app.set(second_patch=None))["state"]["second"] is None


@pytest.mark.parametrize(("address", "state"), [
    ({"token": "9999", "second": "9999", "block": "99", "one_head": "99"},
     {"token": 137, "second": None, "block": 6, "head": None}),
    ({"token": "x", "second": "", "block": "-1", "direction": "up"}, {"token": 137, "second": None, "column": False}),
])  # fmt: skip
def test_a_nonsense_address_is_put_right(files, address, state):
    assert given(App("attention", **address))["state"].items() >= state.items()


def pins(app: App) -> tuple:
    """What is pinned, by place in the sequence, and what the fields hold and are called."""
    data = given(app)["state"]
    first_key = pinned_tokens.PATCH_INSTEAD if data["token"] < given(app)["grid"]["prefix"] else "patch"
    first, second = (app.at.number_input(key=key) for key in (first_key, "second_patch"))
    return data["token"], data["second"], first.value, second.value, first.placeholder, second.placeholder


def pick(app: App, prefix: int = 1, **tokens: int | None) -> App:
    """As a choice in the picture reaches the page."""
    state = app.at.session_state
    with patch.object(pinned_tokens, "set_control", state.__setitem__), patch.object(st, "session_state", state):
        for name, token in tokens.items():
            pinned_tokens.pin_token(name, token, prefix)
    return app.run()


def test_the_fields_hold_patches_and_name_a_token_that_is_none(files, kinds, offer):
    """The picture pins tokens by their places, which count those before the patches, too: 40 is patch 39 after a class token."""
    app = App("attention")
    assert pins(app) == (137, None, 136, None, "", "none")
    assert pins(pick(app, token=40, second=180)) == (40, 180, 39, 179, "", "none")
    assert pins(pick(app, token=0)) == (0, 180, None, 179, "class token", "none")
    assert app.at.query_params["token"] in ("0", ["0"])
    assert pins(pick(app, second=0)) == (0, 0, None, None, "class token", "class token")
    assert pins(app.set(second_patch=7)) == (0, 8, None, 7, "class token", "none")
    assert pins(app.set(**{pinned_tokens.PATCH_INSTEAD: 5})) == (6, 8, 5, 7, "", "none"), "a patch typed in is pinned"
    assert pins(pick(pick(app, token=0), token=6, second=None)) == (6, None, 5, None, "", "none"), "the same patch again"
    assert not {"token", "second", "second_patch"} & {*app.at.query_params}
    offer({name: kinds[name] for name in ("no-class-token", "registers")})
    bare = App("attention", model="no-class-token", patch="3")
    assert pins(bare)[:3] == (3, None, 3) and "above the photo" not in bare.at.number_input(key="patch").help
    assert pins(App("attention", model="registers", token="3"))[4] == "register 2"
    assert pins(App("attention", model="registers", token="9"))[:3] == (9, None, 4)


@pytest.mark.parametrize(
    ("address", "token", "second"),
    [({"token": "120", "second": "77"}, 120, 77), ({"token": "0", "second": "40"}, 0, 40), ({"token": "40", "second": "0"}, 40, 0),
     ({"token": "9999", "second": "x"}, 137, None), ({"patch": "100"}, 101, None), ({"token": "7", "patch": "100"}, 7, None),
     ({"token": "0", "patch": "100"}, 0, None), ({"token": "-1", "second": "257"}, 137, None)],
)  # fmt: skip
def test_a_link_that_names_tokens_by_their_places_pins_them(files, address, token, second):
    app = App("attention", **address)
    assert pins(app)[:2] == (token, second)
    written = {key: value[0] if isinstance(value, list) else value for key, value in app.at.query_params.items()}
    assert written.get("token") == ("0" if token == 0 else None) and written.get("second") == ("0" if second == 0 else None)
    if token not in (0, 137):
        assert written["patch"] == str(token - 1)


def test_a_patch_chosen_on_another_page_is_pinned_in_place_of_the_class_token(files):
    app = App("attention", token="0")
    assert pins(app)[0] == 0
    assert pins(app.go("patches").go("attention"))[0] == 0, "nothing else was chosen"
    assert pins(app.go("patches").set(patch=37).go("attention"))[:3] == (38, None, 37)
    assert pick(app, token=54).go("positions").fine().values()["patch"] == 53


def test_a_large_model_sends_some_queries_and_says_so(files, make_vit, offer, photo):
    """Neither all blocks nor all queries: what is pinned is exact, the rest a lattice."""
    import vitcore

    vit = make_vit(img_size=240, patch_size=8, num_heads=4, reg_tokens=2)
    vit = replace(vit, card=replace(vit.card, name="large"))
    offer(large=vit)
    with patch.object(cached_recordings, "KEEP_MAPS_MB", 6):
        app = App("attention", model="large", photo="astronaut", token="700", second="3", block="1")
        data = given(app)
        rec = vitcore.record(vit, photo, maps=[1], fusions=("mean",))
        spec = data["maps"][1]
        assert [place is None for place in data["maps"]] == [True, False, True]
        assert {0, 1, 2, 3, 700} <= set(spec["queries"]) and len(files[spec["url"]]) <= 800_000
        assert len(spec["queries"]) > 100, "as many as fit"
        close(attention_as_bytes.decode_weights(block_of(data, files, 1)), rec.maps[1][:, spec["queries"]])
        assert f"{attention_bytes_for_browser.query_stride(rec, vit.heads)} patches apart" in data["coarse"]
        strip = np.frombuffer(files[data["atlas"]["url"]], np.uint8)
        assert not data["atlas"]["whole"] and strip.size == 3 * 16 * 16
        data = given(app.set(direction="gets", rolled=True))
        spec = data["maps"][1]
        close(attention_as_bytes.decode_weights(block_of(data, files, 1)), rec.maps[1][:, :, spec["queries"]].swapaxes(1, 2))
        rolled = np.frombuffer(files[data["rollout"]["url"]], np.uint8).reshape(-1, rec.grid.tokens)
        rolled = attention_as_bytes.decode_weights(rolled)
        at = data["rollout"]["queries"].index(700)
        close(rolled[at, :5], np.array([rollout(rec.fused["mean"], t, prefix=3)[700] for t in range(5)]))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model_names_its_tokens(kind, kinds, offer, files):
    vit = kinds[kind]
    offer({kind: vit})
    app = App("attention", model=kind, rolled="true", direction="Who attends to it")
    data = given(app)
    names = {
        "registers": ["class token", "register 0", "register 1", "register 2", "register 3"], "no-class-token": [],
        "mean-of-patches": [], "distilled": ["class token", "distillation token"],
    }.get(kind, ["class token"])  # fmt: skip
    assert data["names"] == names and data["grid"]["prefix"] == len(names)
    spoken = [name if name.startswith("register") else f"the {name}" for name in names]
    assert data["spoken"] == spoken, "as a sentence has them: what the class token attends to"
    app.set(patch=vit.grid.patches - 1, second_patch=0, layer=vit.blocks - 1, one_head=vit.heads - 1).fine()
    assert (data["grid"]["rows"], data["grid"]["cols"]) == (vit.grid.rows, vit.grid.cols)
    assert data["coarse"] == ""


@pytest.mark.parametrize("lang", ["en", "zh-CN", "zh-TW"])
def test_every_word_is_there_in_every_language(lang, files):
    data = given(App("attention", lang=lang))
    assert all(data["words"].values()) and all(all(row) for row in data["rules"].values()) and all(map(all, data["keys"]))
    if lang != "en":
        english = given(App("attention"))["words"]
        assert [word for word in data["words"] if data["words"][word] == english[word]] == []


def test_thumbnails_of_a_large_grid_are_means():
    maps = np.random.default_rng(0).random((2, 37, 20)).astype(np.float16)
    small = attention_bytes_for_browser._downsample(maps, 16, 16)
    assert small.shape == (2, 16, 16)
    edges = np.append(np.arange(16) * 37 // 16, 37), np.append(np.arange(16) * 20 // 16, 20)
    expected = maps[1, edges[0][5] : edges[0][6], edges[1][9] : edges[1][10]].astype(np.float64).mean()
    assert small[1, 5, 9] == pytest.approx(expected, rel=1e-4)
    assert attention_bytes_for_browser._downsample(maps[:, :16, :16], 16, 16).dtype == np.float16


def test_addresses_lead_to_the_bytes_and_a_link_may_write_a_photo_with_a_capital():
    """The media store, not the stand-in of the other tests."""
    app = App("attention", photo="Rocket", patch="100").fine()
    assert app.values()["patch"] == 100 and app.at.session_state["photo"] == "rocket"
    assert "No photo here" not in app.text("markdown")
    data = app.component("explorer")
    places = [spec["url"] for spec in data["maps"]] + [data["photo"], data["atlas"]["url"]]
    assert all(place.startswith("mock/media/") for place in places) and len(set(places)) == 14
