"""Pictures of the story: a patch laid out as numbers, its products with the filters, the sequence, the answer over depth."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vitcore.figures.charts.predictions import percentage_axes, percentage_bars
from vitcore.figures.drawing import Axis, Drawing, HoverGrid, Label, Margin, Outline, Points, RasterLayer, picture_axes
from vitcore.figures.heat_overlay import fine_detail, heat_on_photo, scale_top
from vitcore.figures.theme_colours import (
    CATEGORICAL,
    PINNED_PATCH_COLOUR,
    Mode,
    apply_colour_scale,
    diverging_palette,
    hex_to_rgb,
    tile_mosaic,
)
from vitcore.grid import Grid
from vitcore.translation import decimal, percent, say

SHOWN_VALUES = 192  # numbers of a flattened patch that are drawn; more would be thinner than a pixel
CHANNELS = ((214, 69, 65), (58, 158, 92), (64, 118, 214))  # red, green, blue, as bars


def colour_channels(pixels: NDArray[np.uint8]) -> list[NDArray[np.uint8]]:
    """(H, W, 3) pixels as three pictures (H, W, 3), each in its own colour."""
    return [pixels * np.eye(3, dtype=np.uint8)[channel] for channel in range(3)]


def flattened_patch(patch: NDArray[np.uint8], normalised: NDArray, mode: Mode = "light") -> Drawing:
    """A patch (P, P, 3) enlarged, its first values beside those `normalised` (P, P, 3), which the model gets.

    Below it its pixels end to end, and their values as bars, 0 to 255.
    """
    high, wide, depth = patch.shape
    row, pixels = patch.reshape(-1)[:SHOWN_VALUES], patch.reshape(-1, depth)[: SHOWN_VALUES // depth]
    across, side = 24.0, 8.0
    rasters = [
        RasterLayer(patch, (side * wide / high, side)),
        RasterLayer(pixels[None].repeat(4, 0), (across, 1.2), (0, 10.2)),
        RasterLayer(_channel_bars(row), (across, 5.0), (0, 11.6)),
    ]
    boxes = [
        Outline(0, 0, side * wide / high, side / high, PINNED_PATCH_COLOUR, 2.5),
        Outline(0, 10.2, across * min(1, wide / len(pixels)), 1.2, PINNED_PATCH_COLOUR, 2.5),
    ]
    left = side * wide / high + 0.8
    lines = [
        f"{' '.join(map(str, values))} → {' '.join(decimal(value, 2) for value in given)}"
        for values, given in zip(patch[0, :6], normalised[0, :6], strict=True)
    ]
    said = [Label("<br>".join([*lines, "…"]), left, side / 2, 14, "text", y_anchor="middle")]
    some = say("all its {count} values, before they are normalised", count=patch.size)
    if len(row) < patch.size:
        some = say("the first {shown} of its {count} values, before they are normalised", shown=len(row), count=patch.size)
    for y, words in ((9.9, say("its pixels, row after row; the first row is outlined")), (18.2, some)):
        said.append(Label(words, 0, y, y_anchor="bottom"))
    return Drawing(
        title=say("{high}×{wide} pixels become one row of {count} numbers", high=high, wide=wide, count=patch.size), mode=mode,
        height_px=500, rasters=rasters, shapes=boxes, labels=said, stays_at_top=True, **picture_axes((across, 18.4)),
    )  # fmt: skip


def _channel_bars(values: NDArray[np.uint8], high: int = 64, each: int = 4) -> NDArray[np.uint8]:
    """Bars of 0 to 255 in the colours of their channels, as a picture; between them it is transparent."""
    out = np.zeros((high, len(values) * each, 4), np.uint8)
    for i, value in enumerate(values):
        top = high - max(1, round(high * int(value) / 255))
        out[top:, i * each : (i + 1) * each - 1] = (*CHANNELS[i % 3], 255)
    return out


def patch_projection(patch: NDArray, filters: NDArray, bias: NDArray, mode: Mode = "light", count: int = 6) -> Drawing:
    """A patch x_p (P, P, 3), in the model's units, times its first `count` filters (D, P, P, 3): products, and their sums.

    The sum of a product plus its bias is a number of the embedding.
    """
    tile, gap = 4.0, 0.7
    sums = np.tensordot(filters[:count], patch, 3) + bias[:count]
    products = (filters[:count] * patch).sum(-1)
    limit, low, high = float(np.abs(products).max()) or 1.0, float(patch.min()), float(patch.max())
    shown = np.round(255 * (patch - low) / max(high - low, 1e-9)).astype(np.uint8)
    size = (count * (tile + gap) + 1.6, 3 * tile + 8.2)
    rasters = [RasterLayer(shown, (tile, tile), (1.6 + (size[0] - 1.6 - tile) / 2, 0.2))]
    said = []
    for i in range(count):
        x, shown = 1.6 + i * (tile + gap), filters[i] / (np.abs(filters[i]).max() or 1)
        coloured = apply_colour_scale(products[i], diverging_palette(mode), -limit, limit)
        drawn = (np.round(127.5 + 127.5 * shown).astype(np.uint8), coloured)
        rasters += [RasterLayer(one, (tile, tile), (x, top)) for one, top in zip(drawn, (6.4, 12.6), strict=True)]
        said.append(Label(f"<b>{decimal(sums[i], 2, plus=True)}</b>", x + tile / 2, 18.3, 17, "text", "center"))
    for y, words in ((1.9, "x_p"), (6.2, say("⊙ filter 0, 1, 2, …: the columns of E")),
                     (12.4, say("= products, summed over colours, ±{limit:.2g}", limit=limit)),
                     (19.1, "Σ")):  # fmt: skip
        said.append(Label(words, 0, y, 14, y_anchor="bottom"))
    return Drawing(
        title=say("The first {count} of {width} numbers of the embedding", count=count, width=len(filters)), mode=mode,
        height_px=64 + round(560 * size[1] / size[0]), rasters=rasters, labels=said, stays_at_top=True, **picture_axes(size),
    )  # fmt: skip


def token_sequence(patches: NDArray[np.uint8], grid: Grid, names: tuple[str, ...], patch: int, mode: Mode = "light") -> Drawing:
    """All T tokens in a row that is wrapped like text: prefix tokens by their first letters, then the patches (N, P, P, 3)."""
    across, each = max(12, round(1.37 * grid.cols)), 20  # no multiple of a row: a second photo would appear
    lines = -(-grid.tokens // across)
    down, right = (np.arange(each) * side // each for side in patches.shape[1:3])
    cells = np.empty((grid.tokens, each, each, 3), np.uint8)
    for i in range(grid.prefix):
        cells[i] = hex_to_rgb(CATEGORICAL[i % 2 * 5])
    cells[grid.prefix :] = patches[:, down][:, :, right]
    drawn = tile_mosaic(cells, across, gutter=4)
    step, size = each + 4, (float(drawn.shape[1]), float(drawn.shape[0]))
    told = [say("place {place}: {name}", place=i, name=name) for i, name in enumerate(names)]
    told += [say("place {place}: patch {patch}", place=grid.prefix + i, patch=i) for i in range(grid.patches)]
    told += [""] * (lines * across - len(told))
    cells_said = [told[i * across : (i + 1) * across] for i in range(lines)]
    said = [Label(f"<b>{name[0].upper()}</b>", i * step + each / 2, each / 2, 12, "#fff", "center") for i, name in enumerate(names)]
    place = grid.prefix + patch
    box = Outline(place % across * step - 2, place // across * step - 2, each + 4, each + 4, PINNED_PATCH_COLOUR, 3.5)
    title = say(
        "{tokens} {tokens:token|tokens} in a row: patch {patch} is at place {place}", tokens=grid.tokens, place=place, patch=patch
    )
    return Drawing(
        title=title, subtitle=say("wrapped like lines of text, {across} in a line", across=across), mode=mode,
        height_px=84 + round(560 * size[1] / size[0]), rasters=[RasterLayer(drawn, size)], marks=[HoverGrid(cells_said, size)],
        shapes=[box], labels=said, stays_at_top=True, **picture_axes(size),
    )  # fmt: skip


def photo_under_maps(photo: Image.Image, maps: NDArray, grid: Grid, side_px: int = 168) -> NDArray[np.uint8]:
    """The photo, small, under each of (L, rows, cols) `maps` on one scale, each in shares of its own total: (L, H, W, 3)."""
    scale = side_px / max(photo.size)
    size = round(photo.width * scale), round(photo.height * scale)
    detail = fine_detail(photo.resize(size, Image.Resampling.LANCZOS), grid)
    shares = maps / np.maximum(maps.sum((1, 2), keepdims=True), 1e-12)
    top = scale_top(shares)
    return np.stack([heat_on_photo(one, detail, top) for one in shares])


def logit_lens(
    probabilities: NDArray, labels: tuple[str, ...], mode: Mode = "light", count: int = 4, output: str = "softmax"
) -> Drawing:
    """(L + 1, classes) probabilities after each block as curves: the answer's first classes, and the first to lead before."""
    last, shown = len(probabilities) - 1, list(np.argsort(-probabilities[-1])[:count])
    leaders = [int(c) for c in probabilities.argmax(1) if c not in shown]
    shown += sorted(dict.fromkeys(leaders), key=lambda c: -float(probabilities[:, c].max()))[:2]
    hover = "<br>" + say("after {x} layers: {y} %", x="%{x}", y="%{y:.1f}")
    inks = [CATEGORICAL[place % len(CATEGORICAL)] for place in range(len(shown))]
    lines = [Points(
        x=np.arange(last + 1), y=(100 * probabilities[:, cls]).astype(np.float32), name=labels[cls], colour=ink,
        line_px=2 if place else 3.5, marker_px=6 if place else 8, dash="dot" if place >= count else "", hover=labels[cls] + hover,
    ) for place, (cls, ink) in enumerate(zip(shown, inks, strict=True))]  # fmt: skip
    return Drawing(
        title=say("What the classifier would predict after each layer"), mode=mode, marks=lines, legend="below the plot",
        subtitle=say("{function} of the model's own norm and head", function=output),
        x=Axis(title=say("layers the photo has passed"), step=1 if last <= 12 else 4, range=(-0.3, last + 0.3)),
        y=Axis(title=say("probability, %"), range=(0, 1.1 * float(100 * probabilities[:, shown].max()))),
        margin=Margin(left=58, below=176),
    )  # fmt: skip


def logits_and_probabilities(
    logits: NDArray, probabilities: NDArray, labels: tuple[str, ...], mode: Mode = "light", count: int = 5, output: str = "softmax"
) -> Drawing:
    """The likeliest classes: (classes,) logits, and the `probabilities` that `output`, softmax or sigmoid, makes of them."""
    p = 100 * probabilities
    top = np.argsort(-logits)[:count]
    said = []
    for place, i in enumerate(top):
        written = decimal(logits[i], 2)
        words = say("{label}: logit {logit} → {share}", label=labels[i], logit=written, share=percent(float(p[i]) / 100))
        said.append(Label(words, 0, place - 0.33, 15, "text"))
    rest = 100 - float(p[top].sum())
    about = say(
        "the other {count} {count:class has|classes share} {share}", count=len(logits) - len(top), share=percent(rest / 100)
    )
    title = say("Softmax turns logits into probabilities")
    if output == "sigmoid":
        title, about = say("Sigmoid turns each logit into a probability"), ""
    return Drawing(
        title=title, subtitle=about, mode=mode, height_px=84 + 58 * len(top), labels=said, **percentage_axes(len(top)),
        marks=[percentage_bars([float(p[i]) for i in top], 0.26, "%{x:.2f} %")],
    )  # fmt: skip
