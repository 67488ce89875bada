"""The pictures of a report: for each its figure for print and slides, its bare pixels for the handout, and its words.

In a handout only pixels are pictures; titles, numbers and colour bars around them are text, sharp at any size and in any
script. What isn't defined for a model is a sentence in place of a picture.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from vitcore import figures
from vitcore.analysis.attention_distance import uniform_distance_px
from vitcore.analysis.filter_patterns import describe_filter
from vitcore.analysis.filters import PrincipalComponents
from vitcore.figures.attention import resize_for_figure
from vitcore.figures.attention_explorer import head_scale_tops, separate_scales_unit
from vitcore.figures.drawing import Drawing
from vitcore.figures.heat_overlay import MIN_TOP_IN_EVEN_SHARES, fine_detail, heat_colour_scale, heat_on_photo, scale_top
from vitcore.figures.outlier_frames import frame_outliers_in_maps, frame_outliers_in_pixels
from vitcore.figures.patches import patch_mosaic
from vitcore.figures.relevance import rollout_per_layer_scale, rollout_per_layer_top
from vitcore.figures.theme_colours import DIVERGING, SEQUENTIAL, ColourScale, Mode, apply_colour_scale, tile_mosaic
from vitcore.forward.recording import Recording
from vitcore.grid import Grid
from vitcore.images import sharp_crop
from vitcore.models.load_model import Vit
from vitcore.outlier_sentences import outlier_sentence
from vitcore.report.model_facts import ModelFacts
from vitcore.report.report_numbers import (
    all_heads_attention_from_or_to_token,
    chosen_attention,
    masked_outlier_patches,
    outlier_patches_in_map,
    rollout_map,
    rollout_per_layer,
)
from vitcore.report.report_settings import ReportSettings, attending_token_words, layer_range_words, query_token_words
from vitcore.translation import percent, percent_in_two_digits, say

COLUMNS = 7  # the paper's 28 components in rows of seven
DESCRIBED_COMPONENTS = 4  # components that are described in words
MAP_PATCH_PX = 12  # of a small map with frames in it, a patch


@dataclass(frozen=True, kw_only=True)
class ReportPicture:
    """A picture with its words; `tiles` are (caption, pixels), drawn side by side, `figure` the whole with its title."""

    name: str
    title: str
    alt: str
    how: str
    limits: str
    about: str = ""  # the finding, in a line
    tiles: tuple[tuple[str, Any], ...] = ()  # pixels (H, W, 3 or 4), uint8
    across: int = 1  # tiles in a row
    scale: ColourScale | None = None
    photo: bool = False  # smooth, and compressed as photographs are; else every cell stays sharp
    figure: Callable[[Mode], Drawing] | None = None  # None where nothing is defined
    chart: bool = False  # the figure itself is printed in the handout: it has no pixels


def photo_pictures(vit: Vit, rec: Recording, settings: ReportSettings) -> Iterator[ReportPicture]:
    """The pictures of a photo, in the order of the paper's argument."""
    photo = resize_for_figure(sharp_crop(rec.photo, rec.model_input))
    yield _patches(rec, settings)
    yield _distance(rec)
    yield _rollout(vit, rec, settings, photo)
    yield _layers(vit, rec, settings, photo)
    if settings.chooses_attention:
        yield _attention(vit, rec, settings, photo)
    yield _heads(vit, rec, replace(settings, pin=None))
    if settings.token is None and settings.pin not in (None, settings.patch):
        yield replace(_heads(vit, rec, settings), name="pinned")


def model_pictures(vit: Vit, model_facts: ModelFacts, settings: ReportSettings) -> Iterator[ReportPicture]:
    """The pictures of a model, the same for all photos."""
    yield _filters(vit, model_facts, settings)
    yield _positions(vit, model_facts)


def _patches(rec: Recording, settings: ReportSettings) -> ReportPicture:
    grid = rec.grid
    zoom = max(1, round(800 / grid.image_px[1]))
    drawn = patch_mosaic(rec.model_input.pixels, grid, 1, zoom)
    more = ""
    if settings.pin is not None:
        drawn = _pinned(drawn, grid, settings.pin)
        row, col = grid.row_col(settings.pin)
        more = " · " + say("patch {patch}, row {row}, column {col}, is outlined", patch=settings.pin, row=row, col=col)
    return ReportPicture(
        name="patches", title=say("The photo as patches"), photo=True,
        alt=say("What the model sees, cut into {rows} {rows:row|rows} of {cols} {cols:patch|patches}", rows=grid.rows,
                cols=grid.cols),
        about=say("{rows} × {cols} = {count} {count:patch|patches} of {high} × {wide} px", rows=grid.rows,
                  cols=grid.cols, count=grid.patches,
                  high=grid.step_px[0], wide=grid.step_px[1]) + more,
        how=say("Each square is one token of the sequence, read row by row."),
        limits=say("Which patches matter, or how the model uses them."),
        tiles=(("", drawn),),
        figure=lambda mode: figures.patches(rec.model_input.pixels, grid, mode=mode),
    )  # fmt: skip


def _pinned(drawn: NDArray[np.uint8], grid: Any, patch: int) -> NDArray[np.uint8]:
    """The photo as patches, one of them outlined in white and black."""
    sheet = Image.fromarray(drawn)
    (row, col), wide, high = grid.row_col(patch), sheet.width / grid.cols, sheet.height / grid.rows
    for ink, out in (("#000000", 3), ("#FFFFFF", 0)):
        box = (round(col * wide) - out, round(row * high) - out, round((col + 1) * wide) + out, round((row + 1) * high) + out)
        ImageDraw.Draw(sheet).rectangle(box, outline=ink, width=3)
    return np.asarray(sheet)


def _filters(vit: Vit, side: ModelFacts, settings: ReportSettings) -> ReportPicture:
    if side.components is None:
        return ReportPicture(
            name="filters", title=say("Embedding filters"), alt="", how="", limits="",
            about=say("This model does not embed patches of pixels with one linear kernel, so it has no patch filters."),
        )  # fmt: skip
    variance = side.components.variance
    count = min(settings.components, len(variance))
    tiles = side.filter_tiles(count)
    subject = say("Root convolution") if vit.hybrid else say("RGB embedding filters") if vit.bands == 3 else say(
        "Embedding filters, {count} bands side by side", count=vit.bands)  # fmt: skip
    how = say("The tiles are the principal components of the embedding filters, by explained variance. Mid-grey is zero. Opposite "
        "colours are opposite signs, and a component's sign is arbitrary.")  # fmt: skip
    if vit.hybrid:
        how = say("A hybrid has no RGB patch filters. These are the principal components of its first convolution, with "
            "standardised weights. Mid-grey is zero.")  # fmt: skip
    return ReportPicture(
        name="filters", title=subject,
        alt=say("The first {count} principal {count:component|components}, row by row", count=count),
        about=say("first {count} principal {count:component|components}, {share} of the filters' variance", count=count,
                  share=percent(variance[:count].sum())) + _filter_pattern_words(side.components),
        how=how, limits=say("Which filters this photo uses, or how later layers use their output."),
        tiles=(("", tile_mosaic(tiles, COLUMNS, gutter=1)),),
        figure=lambda mode: figures.filters(tiles, variance, mode, subject),
    )  # fmt: skip


def _filter_pattern_words(found: PrincipalComponents) -> str:
    """What the first few look like; nothing where they have no colours to draw."""
    if found.vectors.shape[-1] != 3:
        return ""
    told = (figures.filter_pattern_words(**asdict(describe_filter(one))) for one in found.vectors[:DESCRIBED_COMPONENTS])
    return "".join(f"; {number}: {words}" for number, words in enumerate(told, 1))


def _positions(vit: Vit, side: ModelFacts) -> ReportPicture:
    cosine, grid = side.cosine, vit.grid
    title = say("Position-embedding similarity")
    if cosine is None:
        about = say("This model has no learned absolute position embeddings: it encodes position in another way, or not at all.")
        return ReportPicture(name="positions", title=title, alt="", how="", limits="", about=about)
    tiles = apply_colour_scale(cosine, DIVERGING, -1, 1).reshape(grid.patches, grid.rows, grid.cols, 3)
    return ReportPicture(
        name="positions",
        title=title,
        alt=say(
            "{rows} × {cols} tiles, each the cosine similarity of one position with all others", rows=grid.rows, cols=grid.cols
        ),
        about=say("correlation of cosine with 2-D distance {number}", number=f"{side.correlation:.2f}"),
        how=say(
            "Each tile compares one position with all others, in the layout of the photo. Red is similar, blue is opposite. "
            "A tile's own position is 1."
        ),
        limits=say("How strongly a layer uses position. That also depends on its query and key weights."),
        tiles=(("", tile_mosaic(tiles, grid.cols, gutter=max(1, grid.rows // 8))),),
        scale=ColourScale(colours=DIVERGING, low=-1, high=1, unit=say("cosine similarity")),
        figure=lambda mode: figures.position_similarity(cosine, grid, mode),
    )


def _distance(rec: Recording) -> ReportPicture:
    grid, px, share = rec.grid, rec.distance_px, rec.prefix_attention_share if rec.grid.prefix else None
    even = uniform_distance_px(grid)
    how = say("Each dot is a head. Its height is the head's mean attention distance, in pixels of the model's input. The dashed "
        "line is uniform attention, and heads above it prefer far patches. A hollow dot gives half its attention or "
        "more to tokens that are not patches.")  # fmt: skip
    limits = say("What a head attends to. As in the paper, the class token is dropped and the rest is not renormalised. A "
        "head that gives it half its attention gets half the distance.")  # fmt: skip
    return ReportPicture(
        name="distance", title=say("Mean attention distance"), chart=True,
        alt=say("One dot per head over {blocks} {blocks:layer|layers}; the first layer from {near} to {far} px", blocks=len(px),
                near=f"{px[0].min():.0f}", far=f"{px[0].max():.0f}"),
        about=say("layer 0: {near} to {far} px of {wide}; uniform attention: {even} px", near=f"{px[0].min():.0f}",
                  far=f"{px[0].max():.0f}", wide=grid.image_px[1], even=f"{even:.1f}"),
        how=how, limits=limits if grid.prefix else say("What a head attends to, or whether the prediction depends on it."),
        figure=lambda mode: figures.attention_distance(px, grid, even, mode=mode, prefix_attention_share=share),
    )  # fmt: skip


def _rollout(vit: Vit, rec: Recording, settings: ReportSettings, photo: Image.Image) -> ReportPicture:
    grid, amounts = rec.grid, rollout_map(rec, settings)
    who, top = query_token_words(vit, settings), scale_top(amounts, grid.even_share)
    marks = outlier_patches_in_map(rec, amounts)
    plain = say("rollout of {who}", who=who)
    if settings.first_block:
        plain += " · " + say("from layer {first} on", first=settings.first_block)
    about, printed = plain + _outlier_words(rec, settings, marks), plain + _outlier_words(rec, settings, [])
    return ReportPicture(
        name="rollout", title=say("Attention rollout"), alt=say("Rollout on the photo: {about}", about=about), about=about,
        how=say("In each layer, the heads' attention is fused into one matrix, and the identity is added for the residual "
            "connection. Rollout multiplies these matrices over the layers. A brighter patch has a larger share."),
        limits=say("Why the model decided. Rollout shows from where attention could have carried information, if all values "
            "counted the same. A map on the object looks plausible, but does not show that these patches changed the answer."),
        tiles=(("", _over(photo, amounts[None], top, settings, rec)[0]),), photo=True,
        scale=heat_colour_scale(amounts, top, grid.even_share),
        figure=lambda mode: figures.frame_outliers(
            figures.rollout(amounts, np.asarray(photo), grid, mode=mode, subtitle=printed, query_patch=settings.patch),
            marks, grid,
            sentence=outlier_sentence(marks, grid),
        ),
    )  # fmt: skip


def _layers(vit: Vit, rec: Recording, settings: ReportSettings, photo: Image.Image) -> ReportPicture:
    maps, first = rollout_per_layer(rec, settings), settings.first_block
    small = photo.resize((photo.width * 200 // max(photo.size), photo.height * 200 // max(photo.size)))
    drawn = _over(small, maps, rollout_per_layer_top(maps, rec.grid), settings, rec)
    tiles = [(layer_range_words(first, first + i), one) for i, one in enumerate(drawn)]
    return ReportPicture(
        name="layers", title=say("Rollout, layer after layer"), tiles=tuple(tiles), across=6, photo=True,
        alt=say("Rollout after each of {count} {count:layer|layers}", count=len(tiles)),
        about=say("rollout of {who} after each layer", who=query_token_words(vit, settings))
        + _outlier_words(rec, settings, _any(outlier_patches_in_map(rec, one) for one in maps)),
        how=say("Each picture includes one more layer than the picture before it. The last picture is the rollout above. All "
            "share one scale."),
        limits=say("Whether a layer changed the prediction. Rollout follows attention, not the values that it carries."),
        scale=rollout_per_layer_scale(maps, rec.grid),
    )  # fmt: skip


def _attention(vit: Vit, rec: Recording, settings: ReportSettings, photo: Image.Image) -> ReportPicture:
    """What was chosen: the attention of a layer, or of a head, on the photo."""
    grid, shares, block = rec.grid, chosen_attention(rec, settings), settings.block(vit.blocks)
    on, even, title = grid.to_map(shares), grid.even_share, say("Attention on the photo")
    who, token, most = attending_token_words(vit, settings), settings.attending_token(grid), int(on.argmax())
    patch = None if token is None or token < grid.prefix else token - grid.prefix
    row, col = grid.row_col(most)
    about = " · ".join((
        say("what attends to {who}", who=who) if settings.received else say("what {who} attends to", who=who),
        say("layer {block}, mean of its heads", block=block) if settings.head is None
        else say("layer {block}, head {head}", block=block, head=settings.head),
        say("most: patch {patch} (row {row}, column {col}), {share}", patch=most, row=row, col=col,
            share=percent_in_two_digits(float(on.flat[most]))),
    ))  # fmt: skip
    marks = outlier_patches_in_map(rec, on)
    top = scale_top(on, even) if settings.head is None else head_scale_tops(on[None], grid)[0]  # as on the head's small map
    about, printed = about + _outlier_words(rec, settings, marks), about + _outlier_words(rec, settings, [])
    drawn = frame_outliers_in_pixels(heat_over_photo(photo, on[None], top, grid, patch)[0], marks, grid)
    return ReportPicture(
        name="attention", title=title, alt=f"{title}: {about}", about=about, tiles=(("", drawn),), photo=True,
        how=say("A brighter patch has a larger share of this attention. The scale is in multiples of an even share."),
        limits=say("What an attended patch contributes. Attention weighs value vectors, and these are not shown."),
        scale=heat_colour_scale(on, top, even),
        figure=lambda mode: figures.frame_outliers(
            figures.attention_on_photo(on, photo, grid, title, top, mode, printed, even, patch), marks, grid,
            sentence=outlier_sentence(marks, grid),
        ),
    )  # fmt: skip


def _heads(vit: Vit, rec: Recording, settings: ReportSettings) -> ReportPicture:
    maps, block = rec.grid.to_map(all_heads_attention_from_or_to_token(rec, settings)), settings.block(vit.blocks)
    drawn = [
        apply_colour_scale(m, SEQUENTIAL, 0, top)
        for m, top in zip(maps.astype(np.float64), head_scale_tops(maps, rec.grid), strict=True)
    ]
    title = say("All heads of the last layer") if block == vit.blocks - 1 else say("All heads of layer {block}", block=block)
    names = [say("head {head} · up to {most}", head=i, most=percent(float(m.max()))) for i, m in enumerate(maps)]
    who = attending_token_words(vit, settings)
    about = say("attention of {who} in layer {block}", who=who, block=block)
    if settings.received:
        about = say("attention to {who} in layer {block}", who=who, block=block)
    marks = [outlier_patches_in_map(rec, one) for one in maps]
    if any(marks):
        large = (one.repeat(MAP_PATCH_PX, 0).repeat(MAP_PATCH_PX, 1) for one in drawn)
        drawn = [frame_outliers_in_pixels(one, some, rec.grid) for one, some in zip(large, marks, strict=True)]
    printed, said = f"{title}: {about}{_outlier_words(rec, settings, [])}", outlier_sentence(_any(marks), rec.grid)
    about += _outlier_words(rec, settings, _any(marks))
    return ReportPicture(
        name="heads", title=title, alt=say("{count} small {count:map|maps}, one per head", count=len(maps)), about=about,
        how=say("Each map is one head, in the layout of the photo. Its scale ends at its largest weight, which is named below "
            "it. The scale ends at {least} times an even share or more, so a nearly even map stays dark.",
                least=f"{MIN_TOP_IN_EVEN_SHARES:g}"),
        limits=say("What an attended patch contributes. Attention weighs value vectors, and these are not shown."),
        tiles=tuple(zip(names, drawn, strict=True)), across=6 if len(maps) > 4 else 4,
        scale=ColourScale(colours=SEQUENTIAL, low=0, high=1, unit=separate_scales_unit()),
        figure=lambda mode: frame_outliers_in_maps(
            figures.attention_heads(maps, rec.grid, printed, mode), marks, rec.grid, sentence=said
        ),
    )  # fmt: skip


def _any(marks: Iterable[list[int]]) -> list[int]:
    """Those that are in some of several maps."""
    return sorted({patch for some in marks for patch in some})


def _outlier_words(rec: Recording, settings: ReportSettings, marks: list[int]) -> str:
    """How many outlier tokens were masked, or which hold much of what is shown, in words; nothing where none do."""
    count = len(masked_outlier_patches(rec, settings))
    if count:
        return " · " + say("{count} outlier {count:token|tokens} masked", count=count)
    return " · " + outlier_sentence(marks, rec.grid) if marks else ""


def _over(photo: Image.Image, maps: NDArray, top: float, settings: ReportSettings, rec: Recording) -> list[NDArray[np.uint8]]:
    """The photo under rollouts (L, rows, cols), as `figures.rollout` draws them; the patch that was asked and outliers outlined."""
    drawn = heat_over_photo(photo, maps, top, rec.grid, settings.patch)
    return [
        frame_outliers_in_pixels(one, outlier_patches_in_map(rec, values), rec.grid)
        for one, values in zip(drawn, maps, strict=True)
    ]


def heat_over_photo(photo: Image.Image, maps: NDArray, top: float, grid: Grid, patch: int | None = None) -> list[NDArray[np.uint8]]:
    """(L, rows, cols) amounts, each as heat over a photo of any size, (H, W, 3); a patch that was asked is outlined."""
    detail, drawn = fine_detail(photo, grid), []
    for one in maps:
        mixed = Image.fromarray(heat_on_photo(one, detail, top))
        if patch is not None:
            (row, col), wide, high = grid.row_col(patch), photo.width / grid.cols, photo.height / grid.rows
            box = (round(col * wide), round(row * high), round((col + 1) * wide) - 1, round((row + 1) * high) - 1)
            ImageDraw.Draw(mixed).rectangle(box, outline="#FFFFFF", width=max(1, photo.width // 200))
        drawn.append(np.asarray(mixed))
    return drawn
