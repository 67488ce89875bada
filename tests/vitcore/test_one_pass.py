"""One pass, from a photo to the picture of its rollout: it goes through the files that CONTRIBUTING.md names, and no others."""

import re
import sys
from pathlib import Path

import vitcore
from vitcore.forward import onednn_linear

HOME = Path(vitcore.__file__).parent
MOST_LINES = 700  # of the functions that run: to be read in one sitting


def lines_of(code) -> range:
    """The lines of a function, its docstring included."""
    numbers = [line for *_, line in code.co_lines() if line]
    return range(min(numbers), max(numbers) + 1)


def test_a_pass_goes_through_the_files_that_the_guide_names(make_vit, photo_file, monkeypatch):
    monkeypatch.setattr(onednn_linear, "onednn_is_faster", lambda: True)  # its layers, too, on any machine
    guide = (HOME.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    told = guide[guide.index("1. `images/photo.py`") : guide.index("What few passes need")]
    vit, entered = make_vit(), set()  # code objects

    def draw():
        rec = vitcore.record(vit, photo_file)
        vitcore.figures.rollout(rec.rollout(), rec.model_input.pixels, rec.grid)

    draw()  # what is imported and made once
    sys.setprofile(lambda frame, event, arg: entered.add(frame.f_code))
    try:
        draw()
    finally:
        sys.setprofile(None)
    ours = [code for code in entered if Path(code.co_filename).is_relative_to(HOME)]
    files = {Path(code.co_filename).relative_to(HOME).as_posix() for code in ours}
    assert files == set(re.findall(r"`([\w/]+\.py)`", told))
    assert len({(code.co_filename, line) for code in ours for line in lines_of(code)}) <= MOST_LINES
