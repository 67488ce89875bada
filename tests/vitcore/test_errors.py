"""Somebody else's error in a few words: its first line, cut; its kind where it says nothing."""

import pytest

from vitcore.errors import first_line


@pytest.mark.parametrize(
    ("error", "said"),
    [(ValueError("one\ntwo"), "one"), (KeyError(), "KeyError"), (OSError("\nbelow"), "OSError"), (ValueError("x" * 99), "x" * 9)],
)  # fmt: skip
def test_the_first_line(error, said):
    assert first_line(error, 9) == said
