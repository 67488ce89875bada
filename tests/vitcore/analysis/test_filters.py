"""Principal components of the embedding filters: an orthonormal basis, the same as scikit-learn's."""

import numpy as np
import pytest
import scipy.fft

from vitcore.analysis.filter_patterns import describe_filter
from vitcore.analysis.filters import (
    colour_share,
    component_kinds,
    components_as_picture,
    low_frequency_share,
    principal_components,
    reconstruct_patches,
)
from vitcore.models import load_model

SHAPES = [(64, 3, 4, 4), (24, 3, 8, 8), (96, 3, 4, 6), (10, 1, 5, 5)]


def kernel(shape, seed=0):
    scale = np.linspace(3, 0.2, int(np.prod(shape[1:]))).reshape(shape[1:])  # so that components have an order
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def rows_of(given):
    """(D, C, P, P) as samples of P·P·C numbers."""
    return given.transpose(0, 2, 3, 1).reshape(len(given), -1)


@pytest.mark.parametrize("shape", SHAPES)
def test_components_are_an_orthonormal_basis_that_shares_out_the_variance_as_scikit_learns(shape):
    """Up to sign; and the sign does not depend on the kernel's."""
    from sklearn.decomposition import PCA

    found, rows = principal_components(kernel(shape)), rows_of(kernel(shape)).astype(np.float64)
    count = min(shape[0], int(np.prod(shape[1:])))
    assert found.vectors.shape == (count, shape[2], shape[3], shape[1])
    basis, share = found.vectors.reshape(count, -1), found.variance
    assert np.allclose(basis @ basis.T, np.eye(count), atol=1e-10)
    assert share.sum() == pytest.approx(1, abs=1e-12) and (np.diff(share) <= 1e-15).all() and share.min() >= 0
    count = min(shape[0] - 1, rows.shape[1])  # centred samples have one dimension less
    theirs = PCA(count, svd_solver="full").fit(rows)
    assert np.allclose(abs((basis[:count] * theirs.components_).sum(1)), 1, atol=1e-8)
    assert np.allclose(share[:count], theirs.explained_variance_ratio_, atol=1e-10)
    if shape == SHAPES[0]:
        assert np.allclose(found.vectors, principal_components(-kernel(shape)).vectors, atol=1e-8)


def test_a_known_colour_ramp_is_found_the_right_way_up():
    ramp = np.zeros((3, 4, 6))  # as torch keeps it: colour, row, column
    ramp[0] = np.linspace(-1, 1, 6)  # red rises from left to right
    ramp[2] = np.linspace(-0.5, 0.5, 4)[:, None]  # blue rises from top to bottom
    amounts = np.random.default_rng(0).standard_normal((50, 1, 1, 1))
    found = principal_components(amounts * ramp)
    assert found.variance[0] == pytest.approx(1)
    expected = ramp.transpose(1, 2, 0) / np.linalg.norm(ramp)
    sign = np.sign(found.vectors[0, 0, -1, 0])
    assert np.allclose(sign * found.vectors[0], expected, atol=1e-12)
    drawn = sign * (components_as_picture(found.vectors[:1])[0].astype(int) - 127.5)
    assert (np.diff(drawn[..., 0], axis=1) > 0).all() and (np.diff(drawn[..., 2], axis=0) > 0).all()
    assert (abs(drawn[..., 1]) <= 0.5).all(), "green is absent, so mid-grey"


# What they look like


def test_noise_has_its_share_of_low_frequencies_and_a_gradient_all():
    rng = np.random.default_rng(0)
    noise, ramp = rng.normal(size=(400, 3, 8, 8)), np.cos(np.arange(8) * np.pi / 4)
    assert low_frequency_share(noise) == pytest.approx(0.25, abs=0.01)
    assert low_frequency_share(np.broadcast_to(ramp, (4, 3, 8, 8))) > 0.99  # one wave across the patch
    assert low_frequency_share(np.broadcast_to((-1.0) ** np.arange(8), (4, 3, 8, 8))) < 0.01  # a wave of two pixels


def test_the_colour_share_is_what_leaving_out_the_mean_of_the_channels_leaves():
    rng = np.random.default_rng(3)
    for _ in range(5):
        one = rng.normal(size=(4, 6, 3))
        off = one - one.mean(-1, keepdims=True)
        assert colour_share(one) == pytest.approx((off**2).sum() / (one**2).sum())
    assert colour_share(np.ones((2, 2, 3))) == pytest.approx(0)
    assert colour_share(np.full((2, 2, 3), [1.0, -1, 0])) == pytest.approx(1)


def test_planted_components_are_told_apart():
    ramp, checks = np.cos(np.arange(8) * np.pi / 8)[:, None], np.indices((8, 8)).sum(0) % 2 * 2 - 1.0
    grey, red_green = np.array([1.0, 1, 1]), np.array([1.0, -1, 0])
    smooth, fine = np.broadcast_to(ramp, (8, 8))[..., None], checks[..., None]
    found = component_kinds(np.stack([smooth * grey, fine * grey, smooth * red_green, smooth * grey]))
    assert (found.colour, found.light, found.smooth) == (1, 3, 3)


def test_of_the_shipped_model_by_a_cosine_transform(shipped):
    """Smooth by another measure: what a cosine transform has in its lowest corner is what the eye calls smooth."""
    vectors = principal_components(load_model.patch_kernel(shipped)).vectors[:28]
    power = (scipy.fft.dctn(vectors, axes=(1, 2), norm="ortho") ** 2).sum(-1)
    wave = np.hypot(*np.indices(power.shape[1:]))
    low = (power * (wave <= 4)).sum((1, 2)) / power.sum((1, 2))
    assert abs(int((low > 0.5).sum()) - component_kinds(vectors).smooth) <= 3


def test_planted_filters_are_told_in_words():
    y, x = np.mgrid[:16, :16] / 16 - 15 / 32
    grey, orange = np.array([1.0, 1, 1]), np.array([1.0, 0.1, -1])
    wave = np.cos(2 * np.pi * 4 * x)
    planted = {
        ("even", "orange", "blue", None): (x * 0 + 1, orange),
        ("left right", "dark", "light", None): (x, grey),
        ("top bottom", "orange", "blue", None): (-y, orange),
        ("upper left", "light", "dark", None): (-x - y, grey),
        ("spot and rim", "blue", "orange", None): (0.3 - np.exp(-20 * (x**2 + y**2)), orange),
        ("upright stripes", "light", "dark", 4.0): (wave, grey),
        ("level stripes", "light", "dark", 4.0): (wave.T * np.exp(-8 * (x**2 + y**2)), grey),
        ("checks", "light", "dark", 4.0): (wave * wave.T, grey),
    }
    noise = 0.1 * np.random.default_rng(0).normal(size=(16, 16, 3))
    for expected, (pattern, colour) in planted.items():
        found = describe_filter(pattern[..., None] * colour + noise * np.abs(pattern).mean())
        assert (found.pattern, found.cycles) == (expected[0], expected[3]) and found.share > 0.9
        ordered = found.pattern in ("left right", "top bottom", "upper left", "spot and rim")
        assert found.colours == expected[1:3] if ordered else {*found.colours} == {*expected[1:3]}


def test_noise_is_told_no_pattern():
    rng = np.random.default_rng(0)
    for side in (4, 8, 16):
        assert {describe_filter(rng.normal(size=(side, side, 3))).pattern for _ in range(20)} == {"none"}
        assert {describe_filter(rng.normal(size=(side, side, 1)) * np.ones(3)).pattern for _ in range(20)} == {"none"}


# Pictures


@pytest.mark.parametrize(("scale", "numbers", "drawn"), [
    ("symmetric", [[-2.0, 0, 1, 2], [0, 0, 0.5, 0.1]], [[0, 128, 191, 255], [128, 128, 255, 153]]),
    ("minmax", [[1.0, 2, 3, 5], [-4, -4, 0, 0]], [[0, 64, 128, 255], [0, 0, 255, 255]]),
])  # fmt: skip
def test_zero_is_mid_grey_or_each_has_its_own_range(scale, numbers, drawn):
    found = components_as_picture(np.array(numbers).reshape(2, 2, 2, 1), scale).reshape(2, 4)
    assert found.dtype == np.uint8 and found.tolist() == drawn
    assert np.ptp(components_as_picture(np.zeros((1, 2, 2, 3)), scale)) == 0, "zeros are no trouble"
    with pytest.raises(ValueError, match="'symmetric' or 'minmax'"):
        components_as_picture(np.zeros((1, 2, 2, 3)), "log")


# Rebuilding


def test_error_falls_with_every_component_of_a_full_rank_kernel_until_all_rebuild_exactly():
    cuts = np.random.default_rng(5).integers(0, 256, (30, 4, 4, 3)).astype(np.uint8)
    found = principal_components(kernel((64, 3, 4, 4)))
    assert len(found.variance) == 48
    drawn = [reconstruct_patches(cuts, found, k) for k in range(1, 49)]
    assert (np.diff([d.rmse for d in drawn]) < 0).all() and (np.diff([d.variance_share for d in drawn]) > 0).all()
    assert np.allclose(drawn[-1].patches, cuts, atol=1e-8)
    assert drawn[-1].rmse == pytest.approx(0, abs=1e-8) and drawn[-1].variance_share == pytest.approx(1)
    seven = drawn[6]
    assert seven.patches.shape == cuts.shape and 0 < seven.variance_share < 1
    assert seven.rmse == pytest.approx(np.sqrt(((seven.patches - cuts) ** 2).mean())), "that of the picture drawn"
    grey = np.full((2, 4, 4, 3), 127.5)
    assert np.array_equal(reconstruct_patches(grey, found, 1).patches, grey), "mid-grey needs no component"


# Models


def test_the_shipped_models_filters(shipped):
    given = load_model.patch_kernel(shipped)
    assert given.shape == (192, 3, 8, 8)
    found = principal_components(given)
    assert found.vectors.shape == (192, 8, 8, 3)
    assert 28 / 192 < found.variance[:28].sum() < 1


def test_a_hybrid_shows_its_root_convolution_as_it_is_applied(hybrid, shipped):
    assert load_model.patch_kernel(hybrid) is None and load_model.root_kernel(shipped) is None
    root = load_model.root_kernel(hybrid)
    assert root.shape == (64, 3, 7, 7)
    assert np.allclose(root.mean((1, 2, 3)), 0, atol=1e-5) and np.allclose(root.var((1, 2, 3)), 1, atol=1e-3)
    assert principal_components(root).vectors.shape == (64, 7, 7, 3)
