"""What is said beside a map: where the patches lie, how many they are, and whether they are masked."""

import pytest

from vitcore.grid import Grid
from vitcore.outlier_sentences import masked_outliers_sentence, outlier_patch_names, outlier_sentence


@pytest.mark.parametrize(("patches", "who"), [
    ([3], "This corner patch is an outlier token"), ([0, 3, 8, 11], "These 4 corner patches are outlier tokens"),
    ([1], "This edge patch is an outlier token"), ([0, 1, 7], "These 3 edge patches are outlier tokens"),
    ([5], "This patch is an outlier token"), ([0, 5], "These 2 patches are outlier tokens"),
])  # fmt: skip
def test_which_patches_they_are_is_said(patches, who):
    grid = Grid(3, 4, 16)
    assert outlier_patch_names(patches, grid) == who
    assert outlier_sentence(patches, grid) == f"{who}, not what the model looks at."
    assert outlier_sentence(patches, grid, False) == f"{who}."


def test_nothing_is_said_of_nothing_and_masked_ones_are_counted():
    assert outlier_sentence([], Grid(3, 4, 16)) == "" == masked_outliers_sentence(0)
    assert masked_outliers_sentence(1) == "1 outlier token is masked here."
    assert masked_outliers_sentence(4) == "4 outlier tokens are masked here."
