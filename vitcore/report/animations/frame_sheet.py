"""What is the same in all frames of an animation: a sheet with its title and colour bar, a row of cells, and text in any script."""

from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from vitcore.figures.painters.printed_text import FONTS_FOLDER
from vitcore.figures.theme_colours import INK_COLOURS, ColourScale, Mode, colour_table
from vitcore.translation import say

PAPER_COLOUR: dict[Mode, str] = {"light": "#FFFFFF", "dark": "#0C0F15"}


def resize_to_side(picture: Image.Image, side_px: int) -> Image.Image:
    """The picture, its longer side so many pixels."""
    scale = side_px / max(picture.size)
    size = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
    return picture.resize(size, Image.Resampling.LANCZOS)


def _text_line_px(side_px: int) -> int:
    """Height of a line of text."""
    return max(12, round(side_px / 18))


def blank_animation_sheet(
    photo: tuple[int, int], side_px: int, title: str, scale: ColourScale | None, mode: Mode, more: bool
) -> Image.Image:
    """The title above a photo of this size, below it the colour bar, if any, and where there is `more` to say, room for a line."""
    line = _text_line_px(side_px)
    wide = max(photo[0], side_px)
    sheet = Image.new("RGB", (wide, photo[1] + line * (7 if more else 6)), PAPER_COLOUR[mode])
    inks = INK_COLOURS[mode]
    pen, edge = ImageDraw.Draw(sheet), line // 2
    _draw_text(pen, (edge, line // 2), title, line, inks["text"], wide - line)
    if scale is None:
        return sheet
    y, bar = photo[1] + round(line * 4.6), max(40, wide // 3)
    ramp = Image.fromarray(np.repeat(colour_table(scale.colours)[None], max(4, line // 2), 0)).resize((bar, max(4, line // 2)))
    room, words = wide - bar - 4 * edge - line, f"{scale.high:.3g} {scale.unit}"
    small = _fitting(words, round(line * 0.68), room)
    zero = _draw_text(pen, (edge, y), f"{scale.low:.3g}", small, inks["soft"])
    sheet.paste(ramp, (zero + edge, y + small // 4))
    _draw_text(pen, (zero + edge + bar + edge, y), words, small, inks["soft"])
    return sheet


def frame_on_sheet(
    sheet: Image.Image, picture: Image.Image, side_px: int, words: str, done: int, count: int, mode: Mode, sentence: str = "",
    sentence_size: float = 0.85, sentence_ink: str = "text", has_scale: bool = True,
) -> Image.Image:  # fmt: skip
    """The sheet with its picture, how far it has come, and below that the line `sentence`, `sentence_size` as large as others."""
    line, inks, frame = _text_line_px(side_px), INK_COLOURS[mode], sheet.copy()
    frame.paste(picture, ((sheet.width - picture.width) // 2, 2 * line))
    _mark_progress(frame, 2 * line + picture.height, side_px, words, done, count, inks)
    below = line // 2, picture.height + round((5.8 if has_scale else 4.2) * line)
    _draw_text(ImageDraw.Draw(frame), below, sentence, round(sentence_size * line), inks[sentence_ink], frame.width - line)
    return frame


def _mark_progress(frame: Image.Image, y: int, side_px: int, words: str, done: int, count: int, inks: dict[str, str]) -> None:
    """Below the picture: how many steps are in, as words and as a row of cells."""
    line, pen = _text_line_px(side_px), ImageDraw.Draw(frame)
    edge = line // 2
    _draw_text(pen, (edge, y + edge), words, line, inks["text"], frame.width // 2)
    left, right = frame.width // 2, frame.width - edge
    for cell in range(count):
        x = [left + round((right - left) * at / count) for at in (cell, cell + 1)]
        fill = inks["accent"] if cell < done else inks["line"]
        pen.rectangle((x[0], y + line, max(x[0], x[1] - 3), y + line + line // 3), fill=fill)


def _draw_text(pen: Any, at: tuple[int, int], words: str, size_px: int, colour: str, max_width_px: int = 10**6) -> int:
    """Text from its top left corner, smaller where it would be wider than `max_width_px`; gives where it ends."""
    size_px = _fitting(words, size_px, max_width_px)
    x, baseline = float(at[0]), at[1] + round(0.95 * size_px)
    for part, font in split_text_by_font(words, size_px):
        pen.text((x, baseline), part, fill=colour, font=font, anchor="ls")
        x += font.getlength(part)
    return round(x)


def _fitting(words: str, size_px: int, most_px: int) -> int:
    """The largest size up to `size_px` at which text is at most `most_px` wide."""
    while size_px > 8 and sum(font.getlength(part) for part, font in split_text_by_font(words, size_px)) > most_px:
        size_px -= 1
    return size_px


def split_text_by_font(words: str, size_px: int) -> list[tuple[str, Any]]:
    """Text in pieces of one font: matplotlib's own, which every installation has, and the figures' for Chinese."""
    pieces = groupby(words, key=lambda letter: east_asian_width(letter) in "WF")
    return [("".join(letters), _face(size_px, _file(wide))) for wide, letters in pieces]


@lru_cache(maxsize=8)
def _face(size_px: int, file: Path) -> Any:
    return ImageFont.truetype(str(file), size_px)


def _file(wide: bool) -> Path:
    if wide:
        return FONTS_FOLDER / f"{say('Inside ViT SC').lower().replace(' ', '-')}.otf"
    import matplotlib

    return Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
