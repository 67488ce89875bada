"""The attention explorer's picture as a figure to download."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app import texts
from app.components import page_theme
from app.components.figure import downloads
from app.state.recordings import attention_bytes, recordings
from app.views.attention import explorer_message
from app.widgets import outlier_masking
from vitcore.translation import percent

if TYPE_CHECKING:
    from vitcore.forward.recording import Recording
    from vitcore.grid import Grid
    from vitcore.images import Photo
    from vitcore.models.load_model import Vit


def download_button(vit: Vit, photo: Photo, rec: Recording, state: dict[str, Any], text: texts.Prose) -> None:
    """What is seen, as a figure to take along: the photo, the pinned patch, and the heads of the chosen layer."""
    from vitcore import figures
    from vitcore.figures.heat_overlay import MIN_TOP_IN_EVEN_SHARES, scale_top

    grid, token = rec.grid, state["token"]  # a download keeps these, no recording
    queried = attention_bytes.token_weights(rec, state["block"], token, state["column"])
    shown, mode = grid.to_map(queried), page_theme.current()
    photo_weights = _photo_weights(rec, state, queried)
    head_scale = state["head"] is not None and not state["rolled"] and state["shared"]
    even, on = 1 / grid.tokens, grid.to_map(photo_weights)
    most = float((shown if head_scale else on).max())
    top = max(most, MIN_TOP_IN_EVEN_SHARES * even) if head_scale or state["log"] else scale_top(on, even)
    model, key = vit.name, photo.key
    names = explorer_message.prefix_token_labels(vit, text)
    about = " · ".join(f"{name} {percent(float(share))}" for name, share in zip(names, photo_weights, strict=False))
    patches = tuple(one - grid.prefix for one in (token, state["second"]) if one is not None and one >= grid.prefix)
    unit, title = (
        text["rollout weight" if state["rolled"] else "weight"],
        _picture_title(grid, explorer_message.prefix_tokens_in_sentence(vit, text), len(queried), state, text),
    )
    style, log, shared = state["style"], state["log"], state["shared"]
    outliers = [outlier_masking.outliers_in_map(vit, rec, one, not state["column"]) for one in (grid.to_map(photo_weights), *shown)]
    marks, note = [one.patches for one in outliers], text["how printed"].format(block=state["block"])
    downloads(
        lambda: figures.attention_explorer(
            grid.to_map(photo_weights),
            shown,
            recordings.input_picture_from_key(model, key),
            grid,
            title,
            unit,
            mode,
            top=top,
            subtitle=about,
            style=style,
            log_scale=log,
            shared_scale=shared,
            query_patches=patches,
            outlier_patches=marks,
        ),
        "heads",
        text.joined((note, outliers[0].sentence)),
        subjects=(photo.name, vit.display_name),
        file_stem=f"heads-layer-{state['block']}",
        attention=shown,
    )


def _photo_weights(rec: Recording, state: dict[str, Any], queried: Any) -> Any:
    """The weights (T,) that light the photo: of a head, of the mean of all, or of rollout as the browser reads it."""
    if state["rolled"]:
        return attention_bytes.rollout_weights(rec, state["token"], state["column"])
    return queried.mean(0) if state["head"] is None else queried[state["head"]]


def _picture_title(grid: Grid, names: list[str], heads: int, state: dict[str, Any], text: texts.Prose) -> str:
    """What the picture says above the photo."""
    token, block, head = state["token"], state["block"], state["head"]
    patch = token - grid.prefix
    row, col = grid.row_col(max(patch, 0))
    name = names[token] if patch < 0 else text["patch"].format(patch=patch, row=row, col=col)
    by = text.fill("mean of heads" if head is None else "one head", block=block, head=head, heads=heads)
    text_key = ("rolled " if state["rolled"] else "asks ") + ("column" if state["column"] else "row")
    title = outlier_masking.masked_title(text[text_key].format(token=name), state["mask"])
    return f"{title} · {text['all layers'] if state['rolled'] else by}"
