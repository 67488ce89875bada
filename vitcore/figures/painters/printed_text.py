"""Words in print: which fonts have a text's characters, and where a note breaks into lines."""

import re
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

from vitcore.translation import say

NOTE_CHARS_AN_INCH = 15.5  # of the note below a figure, in type of 8 points
TITLE_CHARS_AN_INCH = NOTE_CHARS_AN_INCH * 8 / 11
FONTS_FOLDER = Path(__file__).parents[1] / "fonts"  # Chinese characters, which matplotlib's own font lacks
SYSTEM_FONTS = ("Noto Sans CJK SC", "Noto Sans CJK TC", "PingFang SC", "PingFang TC", "Microsoft YaHei", "Microsoft JhengHei")


def wrap_text(text: str, wide_in: float, chars_an_inch: float) -> list[str]:
    """The text in lines that fit the sheet: broken at spaces, or after any Chinese character but before no closing mark."""
    lines, room = [""], chars_an_inch * wide_in
    for word in re.findall(r"[\u2e80-\u9fff\uff00-\uffef“][，。；：、！？）」”]*|[^\s\u2e80-\u9fff\uff00-\uffef]+\s*|\s", text):
        if lines[-1] and _length(lines[-1] + word.rstrip()) > room:
            lines.append("")
        lines[-1] += word
    return [line.rstrip() for line in lines]


def _length(text: str) -> float:
    """In Latin letters; a Chinese character is as wide as 1.9 of them."""
    return sum(1.9 if east_asian_width(char) in "WF" else 1 for char in text)


def choose_fonts(sheet: Any) -> None:
    """Each character from the first font that has it: matplotlib's own, ours for the language, then the system's."""
    from matplotlib import font_manager
    from matplotlib.text import Text

    manager = font_manager.fontManager
    here = {font.name for font in manager.ttflist}
    for file in FONTS_FOLDER.glob("*.otf"):
        if font_manager.get_font(file).family_name not in here:
            manager.addfont(file)
    ours = say("Inside ViT SC")  # the font is a word, too: characters that both scripts share look different in each
    families = ["DejaVu Sans", ours, "Inside ViT SC", "Inside ViT TC", *(name for name in SYSTEM_FONTS if name in here)]
    families = list(dict.fromkeys(families))
    for text in sheet.findobj(Text):
        latin = max(text.get_text(), default="") < "\u0250"  # the first font has all of these; to look for others takes time
        text.set_fontfamily(families[:1] if latin else families)


def strip_text_marks(text: str) -> str:
    """Without the marks of bold and small words; a new line is one."""
    return re.sub("</?(b|sup)>", "", text.replace("<br>", "\n"))
