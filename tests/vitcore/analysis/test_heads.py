"""Heads whose numbers and words are known beforehand; and the byte code's error."""

import numpy as np
import pytest

from vitcore.analysis import attention_as_bytes, head_descriptions
from vitcore.analysis.attention_distance import mean_distance_px, uniform_distance_px
from vitcore.grid import Grid

GRID = Grid(6, 8, 16, prefix=2)


def uniform() -> np.ndarray:
    return np.full((GRID.tokens, GRID.tokens), 1 / GRID.tokens)


def at(token: int) -> np.ndarray:
    """Every token looks at one."""
    w = np.zeros((GRID.tokens, GRID.tokens))
    w[:, token] = 1
    return w


def itself() -> np.ndarray:
    return np.eye(GRID.tokens)


def right(share: float = 1.0) -> np.ndarray:
    """Every patch looks at its right neighbour (the last of a row at itself), the rest at itself."""
    w = np.eye(GRID.tokens) * (1 - share)
    for patch in range(GRID.patches):
        row, col = GRID.row_col(patch)
        w[GRID.prefix + patch, GRID.prefix + GRID.patch(row, min(col + 1, GRID.cols - 1))] += share
    w[0, 0] = w[1, 1] = 1
    return w


def noise(seed: int = 0) -> np.ndarray:
    w = np.random.default_rng(seed).exponential(size=(GRID.tokens, GRID.tokens)) ** 3
    return w / w.sum(1, keepdims=True)


def far() -> np.ndarray:
    """Every patch looks at the corner that is farthest away."""
    w = np.eye(GRID.tokens)
    w[GRID.prefix :] = 0
    w[np.arange(GRID.prefix, GRID.tokens), GRID.prefix + GRID.distances_px().argmax(1)] = 1
    return w


NONE = np.zeros(GRID.tokens, bool)  # no outlier tokens


def described(w: np.ndarray, outliers: np.ndarray = NONE) -> head_descriptions.HeadDescription:
    stack = w[None].astype(np.float16)
    px, left = (mean_distance_px(stack, GRID, mode) for mode in ("drop", "renormalise"))
    (found,) = head_descriptions.describe_heads(stack, px, left, GRID, outliers)
    return found


def test_entropy_of_known_heads_and_scipys():
    from scipy.stats import entropy

    w = noise()
    stack = np.stack([uniform(), itself(), 0.5 * at(3) + 0.5 * at(4), w])
    expected = [np.log2(GRID.tokens), 0, 1, entropy(w[GRID.prefix :], base=2, axis=1).mean()]
    assert head_descriptions.entropy_bits(stack, GRID) == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_shares_on_prefix_tokens_are_the_patches_own_and_without_any_there_is_no_sink():
    w = 0.75 * at(0) + 0.25 * at(1)
    w[:2] = 0  # what prefix tokens look at doesn't count
    assert head_descriptions.prefix_shares(w[None], GRID)[0] == pytest.approx([0.75, 0.25])
    grid = Grid(4, 4, 8, prefix=0)
    w = np.full((1, 16, 16), 1 / 16)
    (found,) = head_descriptions.describe_heads(w, mean_distance_px(w, grid), mean_distance_px(w, grid), grid, np.zeros(16, bool))
    assert found.shares == () and found.sink is None and found.words == ("even",)


def test_variance_explained_by_the_offset():
    shifted, random = head_descriptions.explained_by_offset(np.stack([right(), noise()]), GRID)
    assert shifted > 0.75 and random < 0.05
    assert head_descriptions.explained_by_offset(itself()[None], GRID)[0] == pytest.approx(1)
    assert head_descriptions.explained_by_offset(uniform()[None], GRID)[0] == 0, "nothing varies, so nothing is explained"


def test_variance_explained_equals_a_regression_on_the_offsets():
    from sklearn.linear_model import LinearRegression

    w = 0.5 * right() + 0.5 * noise(3)
    y = w[2:, 2:] / w[2:, 2:].sum(1, keepdims=True)
    at_ = np.array([GRID.row_col(p) for p in range(GRID.patches)])
    offsets = (at_[None] - at_[:, None]).reshape(-1, 2)
    kinds, which = np.unique(offsets, axis=0, return_inverse=True)
    dummies = np.eye(len(kinds))[which.ravel()]
    r2 = LinearRegression(fit_intercept=False).fit(dummies, y.ravel()).score(dummies, y.ravel())
    adjusted = 1 - (1 - r2) * (y.size - 1) / (y.size - len(kinds))
    assert head_descriptions.explained_by_offset(w[None], GRID)[0] == pytest.approx(adjusted, abs=1e-9)


@pytest.mark.parametrize(("weights", "words", "sink"), [
    (0.9 * at(0) + 0.1 * noise(), ("sink",), 0), (0.2 * at(0) + 0.6 * at(1) + 0.2 * uniform(), ("sink",), 1),
    (uniform(), ("even",), None), (itself(), ("local", "positional"), None), (right(), ("local", "positional"), None),
    (noise(), ("global",), None), (far(), ("global",), None),
    (0.45 * itself() + 0.55 * noise(), ("mixed", "positional"), None), (0.2 * itself() + 0.8 * noise(1), ("mixed",), None),
])  # fmt: skip
def test_words_of_known_heads(weights, words, sink):
    found = described(weights)
    assert (found.words, found.sink) == (words, sink), found


def test_outlier_tokens_are_a_sink_and_left_out_of_how_far_a_head_looks():
    """The corner far from most patches gets much attention: that alone makes no head global."""
    corner = NONE.copy()
    corner[-1] = True
    resting = 0.6 * at(GRID.tokens - 1) + 0.4 * itself()
    assert described(resting).words[0] == "mixed"
    found = described(resting, corner)
    assert found.words[0] == "outliers" and found.outlying == pytest.approx(0.6, abs=0.02) and found.reach_px < 4
    assert described(0.4 * at(GRID.tokens - 1) + 0.6 * itself(), corner).words[0] == "local"


def test_words_change_at_their_thresholds():
    far_px, most = uniform_distance_px(GRID), np.log2(GRID.tokens)

    def word(bits=1.0, reach=0.7, shares=(0.1, 0.1), offset=0.0, outlying=0.0):
        return head_descriptions.head_words(bits, reach * far_px, np.array(shares), offset, GRID, outlying)[0]

    assert word() == ("mixed",)
    assert word(reach=0.5) == ("local",) and word(reach=0.501) == ("mixed",)
    assert word(reach=0.9) == ("global",) and word(reach=0.899) == ("mixed",)
    assert word(bits=0.951 * most) == ("even",) and word(bits=0.949 * most) == ("mixed",)
    assert word(shares=(0.2, 0.5), reach=0.1) == ("sink",) and word(shares=(0.49, 0.49)) == ("mixed",)
    assert word(outlying=0.5, reach=0.95) == ("outliers",) and word(outlying=0.49, reach=0.95) == ("global",)
    assert word(offset=0.5) == ("mixed", "positional") and word(offset=0.49) == ("mixed",)


# The byte code


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_codes_are_within_the_error_they_state(kind):
    weights = np.exp2(np.linspace(-15.99, 0, 100_000)).astype(kind)
    back = attention_as_bytes.decode_weights(attention_as_bytes.encode_weights(weights)).astype(np.float64)
    error = np.abs(back / weights.astype(np.float64) - 1)
    assert error.max() <= attention_as_bytes.WORST + 1e-6 < 0.0222
    assert error.max() > 0.02, "the stated error is not idle"


def test_the_ends_of_the_code():
    weights = np.array([0, 1e-7, 0.99 * attention_as_bytes.LEAST, 1.01 * attention_as_bytes.LEAST, 2**-16, 1.0])
    assert attention_as_bytes.encode_weights(weights).tolist() == [0, 0, 0, 1, 1, 255]
    assert attention_as_bytes.encode_weights(weights[[0, 1, 5]].astype(np.float16)).tolist() == [0, 0, 255]
    assert attention_as_bytes.decode_weights(np.array([0, 1, 255], np.uint8)).tolist() == [0, 2**-16, 1]
    assert attention_as_bytes.decode_weights(bytes([0, 1, 255])).tolist() == [0, 2**-16, 1]
    assert (np.diff(attention_as_bytes.decode_weights(np.arange(256, dtype=np.uint8))) > 0).all()


def test_a_look_up_is_the_same_as_the_formula():
    every = np.arange(0x3C01, dtype=np.uint16).view(np.float16)  # all from 0 to 1
    assert np.array_equal(attention_as_bytes.encode_weights(every), attention_as_bytes.encode_weights(every.astype(np.float64)))
    turned = np.random.default_rng(0).random((5, 6)).astype(np.float16).T
    assert np.array_equal(attention_as_bytes.encode_weights(turned), attention_as_bytes.encode_weights(turned.astype(np.float64)))
