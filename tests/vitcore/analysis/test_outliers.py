"""Outlier tokens: planted ones are found at their places, smooth norms have none, and masking keeps rows whole."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vitcore.analysis.outlier_tokens import (
    attention_share_on_tokens,
    find_outlier_tokens,
    mask_key_columns,
    outlier_thresholds,
    outliers_in_map,
)


def spread(blocks=6, patches=256, sigma=0.15, prefix=1, seed=0):
    """(L, T) norms as those of ordinary patches: log-normal around 20; class token and registers are anything."""
    norms = 20 * np.exp(sigma * np.random.default_rng(seed).standard_normal((blocks, prefix + patches)))
    norms[:, :prefix] = 900
    return norms.astype(np.float32)


def test_planted_outliers_are_found_where_they_are_and_from_when_on():
    norms = spread(prefix=5)
    norms[3:, 5 + 17] = 420
    norms[4:, 5 + 255] = 210
    norms[2, 5 + 90] = 130  # above the cut after one block only
    norms[:, 5 + 40] = 45  # twice the others: none
    seen = find_outlier_tokens(norms, 5)
    assert seen.patches.tolist() == [17, 90, 255] and np.flatnonzero(seen.tokens).tolist() == [22, 95, 260]
    assert seen.first[[17, 90, 255, 40]].tolist() == [3, 2, 4, 6]
    assert seen.high.sum(1).tolist() == [0, 0, 1, 1, 2, 2]
    assert seen.times[3, 17] == pytest.approx(420 / np.median(norms[3, 5:]))


@pytest.mark.parametrize("sigma", [0, 1e-4, 0.05, 0.3, 0.8, 1.2])
def test_smooth_norms_have_no_outliers_however_wide_they_spread(sigma):
    patches = np.exp(sigma * np.linspace(-2.8, 2.8, 256))  # to 29 times the median: widest
    for norms, prefix in ((np.tile(patches, (2, 1)), 0), (spread(sigma=min(sigma, 0.8)), 1), (np.zeros((2, 10)), 1)):
        assert not find_outlier_tokens(norms, prefix).patches.size


def test_the_cut_is_five_times_the_median_or_a_score_of_3_5():
    assert outlier_thresholds(np.array([1.0, 1, 1, 1, 1])) == pytest.approx(5)
    logs = np.array([-2.0, -1, 0, 1, 2])  # median 0, median of absolute deviations 1
    assert outlier_thresholds(np.exp(logs)) == pytest.approx(np.exp(3.5 / 0.6745))


@settings(max_examples=20)
@given(scale=st.floats(1e-6, 1e6), seed=st.integers(0, 99))
def test_the_unit_of_the_norms_does_not_matter(scale, seed):
    norms = spread(seed=seed).astype(np.float64)
    norms[2:, [9, 99]] *= 30
    assert (find_outlier_tokens(scale * norms, 1).high == find_outlier_tokens(norms, 1).high).all()
    assert find_outlier_tokens(norms, 1).patches.tolist() == [8, 98]


def weights(*shape, seed=0):
    w = np.exp(2 * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)
    return w / w.sum(-1, keepdims=True)


def test_masking_is_the_softmax_without_these_keys_and_without_any_nothing_is_touched():
    scores = np.random.default_rng(1).standard_normal((3, 7, 7)).astype(np.float32)
    tokens = np.isin(np.arange(7), [2, 6])
    left = np.where(tokens, -np.inf, scores)
    expected = np.exp(left) / np.exp(left).sum(-1, keepdims=True)
    masked = mask_key_columns(np.exp(scores) / np.exp(scores).sum(-1, keepdims=True), tokens)
    assert masked == pytest.approx(expected, abs=1e-6)
    assert (masked[..., tokens] == 0).all() and masked.sum(-1) == pytest.approx(1, abs=1e-6)
    assert masked[:, 2].max() > 0  # a masked token still asks
    w = weights(2, 4, 4).astype(np.float16)
    assert mask_key_columns(w, np.zeros(4, bool)) is w
    with pytest.raises(ValueError, match="must be left"):
        mask_key_columns(w, np.ones(4, bool))


def test_rows_keep_their_sum_and_one_with_nothing_left_is_spread_evenly():
    w = np.array([[0.0, 0, 1], [0.1, 0.1, 0.2], [0, 0, 0]], np.float32)  # the second: fused by the minimum, less than 1
    masked = mask_key_columns(w, np.array([False, False, True]))
    assert masked == pytest.approx(np.array([[0.5, 0.5, 0], [0.2, 0.2, 0], [0, 0, 0]]))


def test_the_share_of_attention_on_tokens():
    fused = weights(3, 5, 5)
    rows, tokens = np.array([0.5, 0, 0.5, 0, 0]), np.array([False, True, False, False, True])
    expected = [(0.5 * a[0, tokens] + 0.5 * a[2, tokens]).sum() for a in fused]
    assert attention_share_on_tokens(fused, tokens, rows) == pytest.approx(expected)
    assert attention_share_on_tokens(np.stack([mask_key_columns(a, tokens) for a in fused]), tokens, rows) == pytest.approx(0)


def test_an_outlier_stands_out_where_at_most_one_in_twenty_others_has_as_much():
    """The line itself: 5 of 100 others with as much, and it misleads; 6, and it does not."""
    for others, expected in ((0, [7]), (5, [7]), (6, [])):
        values = np.linspace(0, 1, 101)
        values[7] = 2.0
        free = [place for place in range(101) if place != 7]
        values[free[:others]] = 2.0
        assert outliers_in_map(values, [7]).tolist() == expected
        assert outliers_in_map(1000 * values, [7]).tolist() == expected and outliers_in_map(-values, [7]).tolist() == expected


def test_many_outliers_do_not_hide_each_other_and_dim_ones_are_not_named():
    values = np.random.default_rng(0).uniform(0.5, 1, (16, 16))
    values.flat[[0, 15, 100, 101, 102, 240, 255]] = 9
    values.flat[15] = 0.1  # an outlier by norm that this map gives little
    assert outliers_in_map(values, [0, 15, 100, 101, 102, 240, 255]).tolist() == [0, 100, 101, 102, 240, 255]
    assert outliers_in_map(values, [3, 15]).tolist() == []  # those that are bright are no outliers here


def spikes(third: float) -> np.ndarray:
    """Patches 50 to 52 have much of 100, patch 3 this, and the others nothing."""
    values = np.zeros(100)
    values[50:53] = [10, 20, 30]
    values[3] = third
    return values


@pytest.mark.parametrize(("values", "outliers", "named"), [
    (np.zeros((4, 4)), [1, 4], []), (np.ones((4, 4)), [1, 4], []), (np.eye(4), [1, 4], []), (np.eye(4), [], []),
    (spikes(1e-6), [3], []), (spikes(2.0), [3], [3]),
], ids=["black", "even", "elsewhere", "no outliers", "less than an even share", "more"])  # fmt: skip
def test_nothing_stands_out_of_a_map_that_gives_outliers_little(values, outliers, named):
    assert outliers_in_map(values, outliers).tolist() == named


def test_on_the_gallery_the_rule_names_exactly_the_corners_that_are_among_the_brightest(shipped):
    """By other means than the rule's: ranks of all patches by SciPy, in the first picture and in the last layers' attention."""
    from scipy.stats import rankdata

    from app.state.photos.sample_photos import SAMPLES
    from vitcore.forward.mask_outliers import outliers_in_recording
    from vitcore.forward.recording import record

    said = []
    for name in ("cat", "castle", "rocket", "crab", "citrus"):
        rec = record(shipped, SAMPLES / f"{name}.jpg")
        patches = outliers_in_recording(rec).patches
        maps = [rec.rollout(), *(rec.grid.to_map(rec.pooling_weights @ fused) for fused in rec.attention_per_layer()[-5:])]
        for values in maps:
            rest = np.delete(values.ravel(), patches)
            below = [rankdata([*rest, values.flat[patch]], "max")[-1] - 1 for patch in patches]  # others that have no more
            ties = [(rest == values.flat[patch]).sum() for patch in patches]
            top = [patch for patch, less, tie in zip(patches, below, ties, strict=True)
                   if (less - tie) >= 0.95 * len(rest) and values.flat[patch] > values.mean()]  # fmt: skip
            assert outliers_in_map(values, patches).tolist() == top
            said.append(bool(top))
    assert any(said) and not all(said), "photos on both sides of the line"
