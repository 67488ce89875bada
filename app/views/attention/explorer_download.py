"""The attention explorer's picture as a figure to download."""

from typing import Any

from app.components.figure import show_downloads
from app.state.recordings import attention_bytes_for_browser, cached_recordings
from app.views.attention import explorer_message
from app.views.attention.explorer_message import ExplorerVisit
from app.widgets import outlier_masking
from vitcore import figures
from vitcore.figures.heat_overlay import MIN_TOP_IN_EVEN_SHARES, scale_top
from vitcore.translation import percent


def explorer_download_button(visit: ExplorerVisit) -> None:
    """What is seen, as a figure to take along: the photo, the pinned patch, and the heads of the chosen layer."""
    grid, text, mode = visit.grid, visit.texts, visit.mode  # a download keeps these, no recording
    queried = attention_bytes_for_browser.token_attention_weights(visit.recording, visit.layer, visit.token, visit.received)
    shown, photo_weights = grid.to_map(queried), _photo_weights(visit, queried)
    of_head = visit.head is not None and not visit.is_rollout  # it has the scale of its small map
    even, on = grid.even_share, grid.to_map(photo_weights)
    most = float((shown if of_head and visit.shared else on).max())
    top = max(most, MIN_TOP_IN_EVEN_SHARES * even) if of_head or visit.log else scale_top(on, even)
    model, key = visit.vit.name, visit.photo.key
    names = explorer_message.prefix_token_labels(visit)
    about = " · ".join(f"{name} {percent(float(share))}" for name, share in zip(names, photo_weights, strict=False))
    patches = tuple(one - grid.prefix for one in (visit.token, visit.second) if one is not None and one >= grid.prefix)
    unit, title = text["rollout weight" if visit.is_rollout else "weight"], _picture_title(visit, len(queried))
    style, log, shared = visit.style, visit.log, visit.shared
    outliers = [outlier_masking.outliers_in_map(visit, one, not visit.received) for one in (on, *shown)]
    marks, note = [one.patches for one in outliers], text["how printed"].format(block=visit.layer)
    show_downloads(
        lambda: figures.attention_explorer(
            on,
            shown,
            cached_recordings.input_picture_from_key(model, key),
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
        text.join_sentences((note, outliers[0].sentence)),
        subjects=visit.subjects,
        file_stem=f"heads-layer-{visit.layer}",
        attention=shown,
    )


def _photo_weights(visit: ExplorerVisit, queried: Any) -> Any:
    """The weights (T,) that light the photo: of a head, of the mean of all, or of rollout."""
    if visit.is_rollout:
        return attention_bytes_for_browser.rollout_row_per_token(visit.recording, (visit.token,), visit.received)[0]
    return queried.mean(0) if visit.head is None else queried[visit.head]


def _picture_title(visit: ExplorerVisit, heads: int) -> str:
    """What the picture says above the photo."""
    text, grid = visit.texts, visit.grid
    patch = visit.token - grid.prefix
    row, col = grid.row_col(max(patch, 0))
    names = explorer_message.prefix_tokens_in_sentence(visit)
    name = names[visit.token] if patch < 0 else text["patch"].format(patch=patch, row=row, col=col)
    by = text.fill("mean of heads" if visit.head is None else "one head", block=visit.layer, head=visit.head, heads=heads)
    text_key = ("rolled " if visit.is_rollout else "asks ") + ("column" if visit.received else "row")
    title = outlier_masking.title_with_masking(text[text_key].format(token=name), visit.mask)
    return f"{title} · {text['all layers'] if visit.is_rollout else by}"
