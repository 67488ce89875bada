"""What a researcher types: the field's names are understood or the nearest is said, and what can't be is one sentence."""

import numpy as np
import pytest
import torch

import vitcore
import vitcore.images
from vitcore.errors import ALSO_CALLED
from vitcore.interventions.activation_sites import HOOKS, NAMES

X = torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(0))


PACKAGES = (vitcore, vitcore.analysis, vitcore.analysis.rollout, vitcore.figures, vitcore.images)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda one: one.__name__)
def test_completion_shows_what_is_meant_for_others_alone(package):
    from vitcore.models import load_model  # noqa: F401  a module that is imported, and not shown

    assert [name for name in dir(package) if not name.startswith("__")] == sorted(package.__all__)
    assert all(getattr(package, name) is not None for name in package.__all__)
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'nothing'"):
        _ = package.nothing


@pytest.mark.parametrize("name", NAMES)
def test_activations_by_every_name_they_have(tiny, name):
    long = HOOKS[name]
    short = [long.removeprefix("attn.")] if long.startswith("attn.") else [name]
    for given in (name, long, *short):
        assert f"blocks.1.{long}" in list(vitcore.cache(tiny, X, [given], 1))
    kept = vitcore.cache(tiny, X, [f"blocks.2.{long}"], 0)
    assert list(kept) == [f"blocks.2.{long}"], "a full name is of its own layer"
    assert torch.equal(kept[name, 2], vitcore.cache(tiny, X, [name], "last")[name, 2])


def test_what_a_cache_holds_is_asked_for_again_by_its_own_keys(tiny):
    whole = vitcore.cache(tiny, X, ["embed", "q", "resid_post"], [0, 2])
    again = vitcore.cache(tiny, X, list(whole))
    assert list(again) == list(whole) and all(torch.equal(again[key], whole[key]) for key in whole)


@pytest.mark.parametrize(("run", "nearest"), [
    (lambda vit: vitcore.relevance(vit, X, "ig"), "integrated_gradients"),
    (lambda vit: vitcore.relevance(vit, X, "rollout", convention="vitexplain"), "vit-explain"),
    (lambda vit: vitcore.edit(vit).resid(0).zero(token="cls"), "class"),
    (lambda vit: vitcore.cache(vit, X, ["resid"]), "resid_post"),
    (lambda vit: vitcore.cache(vit, X, ["residual"]), "resid_post"),
    (lambda vit: vitcore.patch_tokens(vit, X, kind="query"), "queries"),
    (lambda vit: vitcore.patch_tokens(vit, X, kind="key"), "keys"),
    (lambda vit: vitcore.patch_tokens(vit, X, kind="resid"), "residual"),
    (lambda vit: vitcore.record(vit, X[0], fusions=["avg"]), "mean"),
    (lambda vit: vitcore.record(vit, X[0], inputs="tensor"), "normalised"),
])  # fmt: skip
def test_common_names_of_others_are_told_ours(tiny, run, nearest):
    with pytest.raises(ValueError, match=f"the nearest is '{nearest}'$"):
        run(tiny)
    assert all(one == one.lower() for one in ALSO_CALLED)


def test_the_last_layer_by_name(tiny):
    last = vitcore.patch_tokens(tiny, X, layers="last")
    assert last.layers == (2,) and vitcore.record(tiny, X[0], maps="last").maps.keys() == {2}
    with pytest.raises(ValueError, match='a slice, "all" or "last", not \'first\''):
        vitcore.patch_tokens(tiny, X, layers="first")


def test_groups_of_tokens_by_name(tiny):
    other = torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(5))
    first, second = (int(tiny.module(x).argmax()) for x in (X, other))
    classes = {"classes": (first, second)} if first != second else {"classes": _two_answers(tiny, X, other)}
    by_name = vitcore.activation_patching(tiny, X, other, ["class", "patches", 3], **classes)
    assert by_name.tokens == ((0,), tuple(range(1, 17)), (3,))
    for alone, group in ((0, (0,)), ("class", (0,)), ("patches", tuple(range(1, 17))), (slice(2, 4), (2, 3))):
        assert vitcore.activation_patching(tiny, X, other, alone, **classes).tokens == (group,)
    with pytest.raises(ValueError, match="the nearest is 'class'"):
        vitcore.activation_patching(tiny, X, other, ["cls"], **classes)


def _two_answers(vit, x, other):
    """Two classes, of which x is nearer the first than `other` is."""
    difference = (vit.module(x) - vit.module(other))[0]
    return int(difference.argmax()), int(difference.argmin())


@pytest.mark.parametrize(("run", "error", "said"), [
    (lambda vit, rec: vitcore.compare(rec, rec), TypeError, "compare takes two of what record_tokens"),
    (lambda vit, rec: vitcore.pca(X), TypeError, "tokens are what vitcore.patch_tokens gives, not Tensor"),
    (lambda vit, rec: vitcore.segments(X), TypeError, "tokens are what vitcore.patch_tokens gives"),
    (lambda vit, rec: vitcore.cosine_similarity(X, 0), TypeError, "tokens are what vitcore.patch_tokens gives"),
    (lambda vit, rec: vitcore.correspondences(X), TypeError, "tokens are what vitcore.patch_tokens gives"),
    (lambda vit, rec: vitcore.relevance(vit, X, "rollout", start=17), IndexError, "a token is from 0 to 16, not 17"),
    (lambda vit, rec: rec.plot("rollout", cls="drop"), ValueError, "a setting of rollout is one of start, fusion.*not 'cls'"),
    (lambda vit, rec: rec.plot("distance", start=1), ValueError, "a setting of distance is one of cls, not 'start'"),
    (lambda vit, rec: vitcore.record(vit, [X[0], X[0]]), TypeError, "record_many takes several"),
])  # fmt: skip
def test_what_does_not_fit_is_one_sentence(tiny, run, error, said):
    with pytest.raises(error, match=said):
        run(tiny, vitcore.record(tiny, X[0]))


def test_a_recording_that_can_t_be_written_names_its_own_file(tiny, tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        vitcore.record(tiny, X[0]).save(tmp_path / "nodir" / "r.npz")
    assert caught.value.filename == str(tmp_path / "nodir" / "r.npz") and ".part" not in str(caught.value)


def test_deletion_curves_from_a_photo(shipped, photo_file):
    rec = vitcore.record(shipped, photo_file)
    maps = {"rollout": rec.rollout()}
    found = vitcore.deletion_curves(shipped, photo_file, maps, steps=4)["rollout"]
    of_pixels = vitcore.deletion_curves(shipped, rec.model_input, maps, steps=4)["rollout"]
    assert isinstance(found, vitcore.DeletionCurve)
    np.testing.assert_array_equal(found.strongest_first, of_pixels.strongest_first)
