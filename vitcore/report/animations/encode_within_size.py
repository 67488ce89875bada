"""Frames as one file that plays without end, WebP or GIF, the last frame resting: the largest that is small enough to send."""

import io
from collections.abc import Callable
from typing import Any, Literal

from PIL import Image

from vitcore.figures.painters.png_and_svg import SOFTWARE
from vitcore.translation import say

AnimationKind = Literal["webp", "gif"]
MAX_BYTES = 2 * 2**20
SIDES_PX = (512, 448, 384, 320, 256, 192, 128)  # the picture's longer side, largest first: the first that is small enough
FRAME_MS, REST_MS = 700, 2600


def encode_within_bytes(draw: Callable[[int], list[Image.Image]], kind: AnimationKind, max_bytes: int = MAX_BYTES) -> bytes:
    """Frames as `draw(side_px)` makes them, at the largest side of `SIDES_PX` that needs at most `max_bytes`.

    Raises: ValueError, for a kind that is not known.
    """
    if kind not in ("webp", "gif"):
        raise ValueError(say("An animation is webp or gif, not {kind}.", kind=repr(kind)))
    made = b""
    for side in SIDES_PX:
        made = encode_frames(draw(side), kind)
        if len(made) <= max_bytes:
            break
    return made


def encode_frames(frames: list[Image.Image], kind: AnimationKind) -> bytes:
    """Frames as one file that loops without end; the last rests."""
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


def _software() -> bytes:
    """EXIF that names what drew the file."""
    exif = Image.Exif()
    exif[0x0131] = SOFTWARE
    return exif.tobytes()


def _palette(frames: list[Image.Image]) -> Image.Image:
    """256 colours for all frames, so that none flickers: of the first, the middle and the last side by side."""
    some, wide = (frames[0], frames[len(frames) // 2], frames[-1]), frames[0].width
    row = Image.new("RGB", (3 * wide, frames[0].height))
    for place, frame in enumerate(some):
        row.paste(frame, (place * wide, 0))
    return row.quantize(256, Image.Quantize.MEDIANCUT)
