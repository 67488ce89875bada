"""One pass, from a photo to the picture of its rollout: it goes through the files that CONTRIBUTING.md names, and no others."""

import re
import sys
from pathlib import Path

import vitcore
from vitcore.forward import onednn_linear

HOME = Path(vitcore.__file__).parent


def test_a_pass_goes_through_the_files_that_the_guide_names(make_vit, photo_file, monkeypatch):
    monkeypatch.setattr(onednn_linear, "onednn_is_faster", lambda: True)  # its layers, too, on any machine
    guide = (HOME.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    told = guide[guide.index("1. `images/photo.py`") : guide.index("What few passes need")]
    vit, entered = make_vit(), set()

    def draw():
        rec = vitcore.record(vit, photo_file)
        vitcore.figures.rollout(rec.rollout(), rec.model_input.pixels, rec.grid)

    draw()  # what is imported and made once
    sys.setprofile(lambda frame, event, arg: entered.add(frame.f_code.co_filename))
    try:
        draw()
    finally:
        sys.setprofile(None)
    files = {Path(name).relative_to(HOME).as_posix() for name in entered if Path(name).is_relative_to(HOME)}
    assert files == set(re.findall(r"`([\w/]+\.py)`", told))
