"""Patch tokens of small random models: components are scikit-learn's, cosines plain PyTorch's, matches and cuts those by hand."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

import vitcore
from tests.vitcore.interventions.conftest import inputs_for, make_kind
from vitcore.forward.mask_outliers import outliers_in_recording
from vitcore.grid import Grid
from vitcore.models.model_cards import ModelError
from vitcore.tokens.patch_tokens import KINDS, PatchTokens
from vitcore.tokens.segments import LEFT_OUT
from vitcore.tokens.token_cut import TAU

SIDE = 6


def made(values, left_out=(), rows=SIDE, cols=SIDE) -> PatchTokens:
    """Tokens of one layer by their numbers (B, N, D); `left_out` are patches of photo 0."""
    values = np.asarray(values, np.float32)
    out = np.zeros(values.shape[:2], bool)
    out[0, list(left_out)] = True
    return PatchTokens("made", "residual", (0,), 4, values[None], out, Grid(rows, cols, 8))


def random_tokens(photos=2, width=12, seed=0, **more) -> PatchTokens:
    return made(np.random.default_rng(seed).normal(size=(photos, SIDE * SIDE, width)) * np.arange(width, 0, -1), **more)


def an_object() -> PatchTokens:
    """Two photos with a square in the middle whose tokens are like each other's and unlike the rest's."""
    random = np.random.default_rng(0)
    inside = ~Grid(SIDE, SIDE, 8).rim()
    centre = np.where(inside[:, None], [4.0, 0, 1, 0], [-1.0, 3, 1, 0])
    return made(centre + 0.1 * random.normal(size=(2, SIDE * SIDE, 4)))


@pytest.mark.parametrize("kind", ["registers", "distilled", "rectangle", "mean", "rotary", "two attentions", "attention pool"])
def test_tokens_are_the_models_own_one_by_one_and_leave_it_as_it_was(kind):
    vit, x = make_kind(kind), inputs_for(make_kind(kind))
    before = copy.deepcopy(vit.module.state_dict())
    for name, activation in KINDS.items():
        found, plain = vitcore.patch_tokens(vit, x, name), vitcore.cache(vit, x, [activation])
        for layer in range(vit.blocks):
            expected = plain[activation, layer][:, vit.grid.prefix :].flatten(2)
            np.testing.assert_allclose(found.of_layer(layer), expected, rtol=1e-5, atol=1e-5)
        alone = vitcore.patch_tokens(vit, x[1:], name, layers=[vit.blocks - 1])
        np.testing.assert_allclose(alone.values[0, 0], found.of_layer(-1)[1], rtol=1e-5, atol=1e-5)
    assert all(torch.equal(before[key], value) for key, value in vit.module.state_dict().items())
    assert not any(part._forward_hooks for part in vit.module.modules())


def test_outliers_left_out_are_those_of_the_recording(shipped):
    photo = vitcore.assets.asset_path("samples/red-panda.jpg")
    found = vitcore.patch_tokens(shipped, [photo, photo], "keys", layers=7, mask_outliers=True)
    outliers = outliers_in_recording(vitcore.record(shipped, photo)).patches
    assert len(outliers) and found.layers == (7,)
    assert [np.flatnonzero(one).tolist() for one in found.left_out] == [outliers.tolist()] * 2
    assert not vitcore.patch_tokens(shipped, photo, "keys", layers=7).left_out.any()


@pytest.mark.parametrize(("width", "left_out"), [(12, ()), (12, (0, 7, 35)), (120, (3,))])
@pytest.mark.parametrize("whiten", [True, False])
def test_components_are_scikit_learns(width, left_out, whiten):
    from sklearn.decomposition import PCA

    tokens = random_tokens(width=width, left_out=left_out)
    found, keep = vitcore.pca(tokens, whiten=whiten), ~tokens.left_out
    plain = PCA(3, whiten=whiten, svd_solver="full").fit(tokens.values[0][keep].astype(np.float64))
    flips = np.sign((found.directions * plain.components_).sum(1))
    np.testing.assert_allclose(found.directions * flips[:, None], plain.components_, atol=1e-5)
    np.testing.assert_allclose(found.share, plain.explained_variance_ratio_, rtol=1e-5)
    everywhere = plain.transform(tokens.values[0].reshape(-1, width).astype(np.float64)).reshape(2, -1, 3)
    np.testing.assert_allclose(found.scores * flips, everywhere, rtol=1e-5, atol=1e-5)
    z = found.scores if whiten else found.scores / np.sqrt(plain.explained_variance_[0])
    assert np.array_equal(found.colours(), np.round(255 / (1 + np.exp(-2 * z))).astype(np.uint8))


def test_signs_by_the_stated_rule():
    tokens = an_object()
    rim = tokens.grid.rim()
    mirrored = replace(tokens, values=-tokens.values)
    for one in (tokens, mirrored):
        found = vitcore.pca(one)
        assert np.array_equal(found.foreground(), np.broadcast_to(~rim, (2, SIDE * SIDE)))
        assert not found.foreground(np.inf).any() and found.foreground(-np.inf).all()
        assert not vitcore.pca(replace(one, left_out=np.broadcast_to(~rim, (2, SIDE * SIDE)))).foreground()[:, ~rim].any()
    first = vitcore.pca(random_tokens())
    flipped = replace(random_tokens(), values=-random_tokens().values)
    followed, alone = vitcore.pca(flipped, like=first), vitcore.pca(flipped)
    np.testing.assert_allclose(followed.scores, first.scores, atol=1e-6)
    assert (np.abs(alone.directions).max(1) == alone.directions.max(1))[1:].all(), "without another layer: as scikit-learn"
    assert vitcore.pca(random_tokens(photos=1, width=2)).colours()[0, :, 2].tolist() == [128] * SIDE**2


def test_cosines_are_plain_pytorchs():
    vit, layers = make_kind("registers"), [0, make_kind("registers").blocks - 1]
    tokens = vitcore.patch_tokens(vit, inputs_for(vit), "values", layers)
    found, values = vitcore.cosine_similarity(tokens, 3, photo=1), torch.from_numpy(tokens.values)
    plain = functional.cosine_similarity(values, values[:, 1, 3][:, None, None], dim=-1)
    np.testing.assert_allclose(found, plain, atol=1e-5)
    assert found[:, 1, 3] == pytest.approx(1)


def test_matches_are_those_by_hand():
    tokens = random_tokens(seed=1)
    moved = tokens.values[0, 0][np.random.default_rng(2).permutation(SIDE * SIDE)]
    tokens = replace(tokens, values=np.stack([tokens.values[0, 0], moved])[None])
    found = vitcore.correspondences(tokens)
    assert found.cycle_consistent.all() and np.array_equal(moved[found.best], tokens.values[0, 0])
    assert found.cosine == pytest.approx(1)
    first, second = map(torch.from_numpy, random_tokens(seed=3).values[0])
    found = vitcore.correspondences(random_tokens(seed=3, left_out=[5]))
    alike = functional.cosine_similarity(first[:, None], second[None], dim=-1).numpy()
    for patch, best in enumerate(alike.argmax(1)):
        far = [other for other in range(SIDE**2) if max(abs(np.subtract(divmod(other, SIDE), divmod(best, SIDE)))) > 1]
        assert found.best[patch] == best and found.runner_up[patch] == max(far, key=alike[patch].__getitem__)
        mutual = patch != 5 and max((p for p in range(SIDE**2) if p != 5), key=alike[:, best].__getitem__) == patch
        assert found.cycle_consistent[patch] == mutual
    assert found.runner_up_cosine == pytest.approx(alike[np.arange(SIDE**2), found.runner_up], abs=1e-5)
    assert 0 < found.cycle_consistent.sum() < SIDE**2
    tiny = vitcore.correspondences(made(np.eye(4)[None].repeat(2, 0), rows=2, cols=2))
    assert tiny.runner_up.tolist() == [-1] * 4 and np.isnan(tiny.runner_up_cosine).all()


def test_segments_find_an_object_and_leave_out_what_is_to_be():
    tokens, inside = an_object(), ~Grid(SIDE, SIDE, 8).rim()
    for method in ("kmeans", "normalised_cut"):
        found = vitcore.segments(tokens, method=method, count=2)
        assert np.array_equal(found, np.broadcast_to(inside, found.shape)), method
        some = replace(tokens, left_out=np.arange(SIDE**2) % 5 == np.zeros((2, 1)))
        assert np.array_equal(vitcore.segments(some, method=method, count=2) == LEFT_OUT, some.left_out)
    assert sorted(np.unique(vitcore.segments(random_tokens(), count=7))) == [*range(7)]


def test_the_cut_is_that_of_the_generalised_eigenvector():
    from scipy.linalg import eigh

    tokens = random_tokens(photos=1, width=5)
    alike = np.corrcoef(tokens.values[0, 0])
    unit = tokens.values[0, 0] / np.linalg.norm(tokens.values[0, 0], axis=1, keepdims=True)
    alike = unit @ unit.T
    edges = np.where(alike > TAU, 1, 1e-5)
    degrees = np.diag(edges.sum(1))
    second = eigh(degrees - edges, degrees)[1][:, 1]
    side = second > second.mean()
    found = vitcore.segments(tokens, method="normalised_cut", tau=TAU)[0].astype(bool)
    assert np.array_equal(found, side) or np.array_equal(found, ~side)
    rim = tokens.grid.rim()
    assert rim[found].mean() <= rim[~found].mean()
    assert not vitcore.segments(tokens, method="normalised_cut", tau=-2).any(), "all alike: nothing to cut"


def test_what_is_not_there_is_refused():
    vit, tokens = make_kind("plain"), random_tokens()
    x = inputs_for(vit)
    for call, message in (
        (lambda: vitcore.patch_tokens(vit, x, "logits"), "residual, queries"),
        (lambda: vitcore.patch_tokens(vit, x, layers=[99]), "layers are from 0"),
        (lambda: vitcore.patch_tokens(vit, x, layers=[]), "no layer"),
        (lambda: vitcore.patch_tokens(vit, x[:1].repeat(17, 1, 1, 1)), "17 photos are more than 16"),
        (lambda: vitcore.pca(tokens, 3), "layer 3 was not kept; kept are 0"),
        (lambda: vitcore.pca(random_tokens(photos=1, left_out=range(35))), "of 1 patches are not defined"),
        (lambda: vitcore.cosine_similarity(tokens, 36), "patch is from 0 to 35"),
        (lambda: vitcore.correspondences(tokens, 0, 2), "photo is from 0 to 1"),
        (lambda: vitcore.correspondences(random_tokens(left_out=range(36))), "no patch is left"),
        (lambda: vitcore.segments(tokens, method="magic"), "kmeans, normalised_cut"),
        (lambda: vitcore.segments(tokens, count=99), "from 1 to 72"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError):
        vitcore.patch_tokens(None, x)
    with pytest.raises(ModelError, match="mlp_out"):
        vitcore.patch_tokens(make_kind("projections fused"), inputs_for(make_kind("projections fused")), "mlp_out")


def test_threads_get_their_numbers_and_blas_its_threads_back():
    from concurrent.futures import ThreadPoolExecutor

    from threadpoolctl import threadpool_info

    tokens = random_tokens()
    alone = vitcore.segments(tokens, count=3)  # every library of BLAS is loaded by then
    threads = [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: vitcore.segments(tokens, count=3), range(12)):
            assert np.array_equal(found, alone)
    assert [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"] == threads


def test_one_line_of_each():
    tokens = random_tokens()
    assert repr(vitcore.pca(tokens)).startswith("<TokenPca: 3 components of 2 × 36 patches; ")
    assert repr(vitcore.correspondences(tokens)).startswith("<Correspondences of 36 patches, ")
