"""What the layout benchmark counts: areas that overlap once, and what stands above the first picture."""

import pytest

from tests.benchmarks.first_screen_layout import figures, table, union

SCREEN = [0, 0, 100, 100]


@pytest.mark.parametrize(("boxes", "area"), [
    ([], 0), ([[10, 10, 30, 40]], 600), ([[10, 10, 30, 40], [10, 10, 30, 40]], 600),
    ([[0, 0, 20, 20], [10, 10, 30, 30]], 700), ([[0, 0, 50, 50], [10, 10, 20, 20]], 2500),
    ([[0, 0, 20, 20], [0, 20, 20, 40], [60, 0, 80, 20]], 1200), ([[-50, 90, 50, 300]], 500),
    ([[0, 200, 50, 300], [120, 0, 200, 50], [-50, 0, -10, 50]], 0),
])  # fmt: skip
def test_an_area_counts_once_and_only_on_the_screen(boxes, area):
    assert union(boxes, SCREEN) == area


def test_what_stands_above_the_first_picture():
    found = {"screen": SCREEN, "pictures": [[0, 60, 50, 90], [50, 40, 100, 90]], "words": [10, 39, 41, 80], "controls": [50, 20],
             "cut": 1, "height": 300, "shift": 0.01234}  # fmt: skip
    row = figures(found, 2)
    assert row == {"top": 40, "share": 40, "words_above": 2, "controls_above": 1, "words": 4, "longest": 50, "cut": 1,
                   "height": 300, "shift": 0.012, "errors": 2}  # fmt: skip
    bare = figures(found | {"pictures": []}, 0)
    assert (bare["top"], bare["share"], bare["words_above"], bare["controls_above"]) == (None, 0, 4, 2)


def test_a_miss_is_marked_beside_what_was_before():
    row = {"top": 331, "share": 40, "words_above": 40, "controls_above": 6, "words": 90, "longest": 859, "cut": 1,
           "height": 900, "shift": 0, "errors": 0}  # fmt: skip
    old = row | {"top": None, "share": 39, "words_above": 41, "controls_above": 7, "words": 100}
    said = table("desk", {"card": row, "story": row}, {"card": old}).splitlines()[-3:]
    assert (
        said[0]
        == "| card | –! → 331! | 39! → 40 | 41! → 40 | 7! → 6 | 100 → 90 | 859 → 859 | 1! → 1! | 900 → 900 | 0 → 0 | 0 → 0 |"
    )
    assert said[1] == "| story | 331! | 40 | 40 | 6 | 90 | 859 | 1! | 900 | 0 | 0 |"
    assert said[2].split(" | ")[5] == "180", "the sum of before lacks a page"
    assert "| 331 | 40 | 40 | 6 | 90 | 859 | 1 |" in table("phone", {"card": row}, {}), "these limits are those of the desk"
    assert "| 859! |" in table("lecture", {"card": row}, {}), "a picture fills a projector"
