"""Rollout through the layers as a short animation, WebP or GIF: one frame a layer, one colour scale, a rest at the end."""

import io
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, Literal
from unicodedata import east_asian_width

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from vitcore.figures.attention import resize_for_figure
from vitcore.figures.outlier_frames import frame_outliers_in_pixels
from vitcore.figures.painters.png_and_svg import SOFTWARE
from vitcore.figures.painters.printed_text import FONTS_FOLDER
from vitcore.figures.relevance import rollout_per_layer_scale, rollout_per_layer_top
from vitcore.figures.theme import HEAT, INK_COLOURS, ColourScale, Mode, lut
from vitcore.forward.recording import Recording
from vitcore.images import sharp_crop
from vitcore.models.load_model import Vit
from vitcore.outlier_sentences import masked_outliers_sentence, outlier_sentence
from vitcore.report.report_numbers import masked_outlier_patches, outlier_patches_in_map, rollout_per_layer
from vitcore.report.report_pictures import heat_over_photo
from vitcore.report.report_settings import DEFAULT_SETTINGS, ReportSettings, layer_range_words, query_token_words
from vitcore.translation import say

AnimationKind = Literal["webp", "gif"]
MAX_BYTES = 2 * 2**20
SIDES_PX = (512, 448, 384, 320, 256, 192, 128)  # the photo's longer side, largest first: the first that is small enough
FRAME_MS, REST_MS = 700, 2600
PAPER_COLOUR: dict[Mode, str] = {"light": "#FFFFFF", "dark": "#0C0F15"}


def animation(
    vit: Vit, rec: Recording, settings: ReportSettings = DEFAULT_SETTINGS, kind: AnimationKind = "webp", max_bytes: int = MAX_BYTES,
    mode: Mode = "light",
) -> bytes:  # fmt: skip
    """One frame for every block from `first_block` on, endlessly looping, at most `max_bytes`, on light or dark paper.

    Raises: ValueError, for settings the model can't have and kinds that are not known.
    """
    settings.check_against_grid(rec.grid, vit.blocks, vit.heads)
    if kind not in ("webp", "gif"):
        raise ValueError(say("An animation is webp or gif, not {kind}.", kind=repr(kind)))
    maps, photo, made = rollout_per_layer(rec, settings), resize_for_figure(sharp_crop(rec.photo, rec.model_input)), b""
    for side in SIDES_PX:
        made = _encode_animation(_frames(vit, rec, settings, maps, photo, side, mode), kind)
        if len(made) <= max_bytes:
            break
    return made


def animation_end_frame(vit: Vit, rec: Recording, settings: ReportSettings = DEFAULT_SETTINGS, mode: Mode = "light") -> Image.Image:
    """The last frame, for where nothing moves."""
    maps, photo = rollout_per_layer(rec, settings), resize_for_figure(sharp_crop(rec.photo, rec.model_input))
    return _frames(vit, rec, settings, maps, photo, SIDES_PX[0], mode)[-1]


def _frames(
    vit: Vit, rec: Recording, settings: ReportSettings, maps: NDArray, photo: Image.Image, side_px: int, mode: Mode
) -> list[Image.Image]:
    """The frames: a title, the photo under its heat, the layers so far, the scale."""
    scale = side_px / max(photo.size)
    photo = photo.resize((max(1, round(photo.width * scale)), max(1, round(photo.height * scale))), Image.Resampling.LANCZOS)
    top, first = rollout_per_layer_top(maps, rec.grid), settings.first_block
    marks, masked = (
        [outlier_patches_in_map(rec, amounts) for amounts in maps],
        masked_outliers_sentence(len(masked_outlier_patches(rec, settings))),
    )
    said = [masked or outlier_sentence(some, rec.grid) for some in marks]
    title = say("Rollout of {who}", who=query_token_words(vit, settings))
    sheet = _sheet(photo.size, side_px, title, rollout_per_layer_scale(maps, rec.grid), mode, more=any(said))
    place, line, frames = ((sheet.width - photo.width) // 2, _line(side_px) * 2), _line(side_px), []
    for last, lit in enumerate(heat_over_photo(photo, maps, top, rec.grid, settings.patch)):
        frame = sheet.copy()
        drawn = frame_outliers_in_pixels(lit, marks[last], rec.grid)
        frame.paste(Image.fromarray(drawn), place)
        _mark(
            frame, place[1] + photo.height, side_px, layer_range_words(first, first + last), last + 1, len(maps), INK_COLOURS[mode]
        )
        below = line // 2, photo.height + round(5.8 * line)
        _write(ImageDraw.Draw(frame), below, said[last], round(0.68 * line), INK_COLOURS[mode]["soft"], frame.width - line)
        frames.append(frame)
    return frames


def _line(side_px: int) -> int:
    """Height of a line of text."""
    return max(12, round(side_px / 18))


def _sheet(photo: tuple[int, int], side_px: int, title: str, scale: ColourScale, mode: Mode, more: bool) -> Image.Image:
    """What is the same in all frames: the title above, the colour bar below, and where there is `more` to say, room for a line."""
    line = _line(side_px)
    wide = max(photo[0], side_px)
    sheet = Image.new("RGB", (wide, photo[1] + line * (7 if more else 6)), PAPER_COLOUR[mode])
    inks = INK_COLOURS[mode]
    pen, edge = ImageDraw.Draw(sheet), line // 2
    _write(pen, (edge, line // 2), title, line, inks["text"], wide - line)
    y, bar = photo[1] + round(line * 4.6), max(40, wide // 3)
    ramp = Image.fromarray(np.repeat(lut(HEAT)[None], max(4, line // 2), 0)).resize((bar, max(4, line // 2)))
    room, words = wide - bar - 4 * edge - line, f"{scale.high:.3g} {scale.unit}"
    small = _fitting(words, round(line * 0.68), room)
    zero = _write(pen, (edge, y), "0", small, inks["soft"])
    sheet.paste(ramp, (zero + edge, y + small // 4))
    _write(pen, (zero + edge + bar + edge, y), words, small, inks["soft"])
    return sheet


def _mark(frame: Image.Image, y: int, side_px: int, words: str, done: int, count: int, inks: dict[str, str]) -> None:
    """Below the photo: how many layers are in, as words and as a row of cells."""
    line, pen = _line(side_px), ImageDraw.Draw(frame)
    edge = line // 2
    _write(pen, (edge, y + edge), words, line, inks["text"], frame.width // 2)
    left, right = frame.width // 2, frame.width - edge
    for cell in range(count):
        x = [left + round((right - left) * at / count) for at in (cell, cell + 1)]
        fill = inks["accent"] if cell < done else inks["line"]
        pen.rectangle((x[0], y + line, max(x[0], x[1] - 3), y + line + line // 3), fill=fill)


def _write(pen: Any, at: tuple[int, int], words: str, size_px: int, colour: str, most_px: int = 10**6) -> int:
    """Text from its top left corner, smaller where it would be wider than `most_px`; gives where it ends."""
    size_px = _fitting(words, size_px, most_px)
    x, baseline = float(at[0]), at[1] + round(0.95 * size_px)
    for part, font in _runs(words, size_px):
        pen.text((x, baseline), part, fill=colour, font=font, anchor="ls")
        x += font.getlength(part)
    return round(x)


def _fitting(words: str, size_px: int, most_px: int) -> int:
    """The largest size up to `size_px` at which text is at most `most_px` wide."""
    while size_px > 8 and sum(font.getlength(part) for part, font in _runs(words, size_px)) > most_px:
        size_px -= 1
    return size_px


def _runs(words: str, size_px: int) -> list[tuple[str, Any]]:
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


def _palette(frames: list[Image.Image]) -> Image.Image:
    """256 colours for all frames, so that none flickers: of the first, the middle and the last side by side."""
    some, wide = (frames[0], frames[len(frames) // 2], frames[-1]), frames[0].width
    row = Image.new("RGB", (3 * wide, frames[0].height))
    for place, frame in enumerate(some):
        row.paste(frame, (place * wide, 0))
    return row.quantize(256, Image.Quantize.MEDIANCUT)


def _software() -> bytes:
    """EXIF that names what drew the file."""
    exif = Image.Exif()
    exif[0x0131] = SOFTWARE
    return exif.tobytes()


def _encode_animation(frames: list[Image.Image], kind: AnimationKind) -> bytes:
    rest = [FRAME_MS] * (len(frames) - 1) + [REST_MS]
    file, how = io.BytesIO(), dict[str, Any]()
    if kind == "webp":
        # A whole frame now and then, which is Pillow's way, costs an encoding each, and a seventh of the bytes; nobody skips ahead
        # here. Method 3 takes as long again for 5 % of them.
        how = {"quality": 82, "method": 2, "kmin": 0, "kmax": 0, "exif": _software()}
        frames[0].save(file, "WEBP", save_all=True, append_images=frames[1:], duration=rest, loop=0, **how)
    else:
        table = _palette(frames)
        small = [frame.quantize(palette=table, dither=Image.Dither.FLOYDSTEINBERG) for frame in frames]
        how = {"loop": 0, "disposal": 1, "comment": SOFTWARE.encode()}
        small[0].save(file, "GIF", save_all=True, append_images=small[1:], duration=rest, **how)
    return file.getvalue()
