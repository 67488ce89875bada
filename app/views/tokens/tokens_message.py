"""The message to the component of the page Tokens: words, numbers, and URLs of pictures, tokens, components and matches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import vitcore
from app import texts
from app.components.component_files import media_url
from app.components.tokens.tokens import LABELS, VIEWS
from app.state import landing_figures
from app.state.recordings import cached_outliers, cached_recordings, patch_token_bytes_for_browser, relevance_maps
from app.state.visit.visit import Visit
from app.widgets import attention_urls, outlier_masking

TEXT_KEYS = (
    *(label for label in LABELS if label not in ("mask", *VIEWS)), "stop", "layer", "patch", "two sentences", "title colours",
    "title foreground", "title segments", "title cut", "title similar", "title strip", "rest", "rest outliers", "best",
    "best mutual", "runner-up",
)  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class TokensVisit(Visit):
    """What the page shows: tokens taken from a `source`, of two photos, in a `view`.

    `mask`: outlier tokens are left out; `lines` join matches.
    """

    second: vitcore.Recording
    second_title: str
    source: str
    view: str
    whiten: bool
    threshold: float
    method: str
    count: int
    mask: bool
    lines: bool

    @property
    def both(self) -> tuple[vitcore.Recording, vitcore.Recording]:
        """The recordings of both photos."""
        return self.recording, self.second

    @property
    def shown(self) -> patch_token_bytes_for_browser.TokenView:
        """What patches are coloured by; a chosen patch lights up its like."""
        return patch_token_bytes_for_browser.TokenView(
            self.source, self.is_masked, self.whiten, self.view, self.threshold, self.method, self.count,
            self.patch,
        )  # fmt: skip

    @property
    def is_masked(self) -> bool:
        """Whether there are outlier tokens that are left out."""
        return self.mask and any(len(cached_outliers.find_outlier_tokens(one).patches) for one in self.both)


def tokens_message(visit: TokensVisit) -> dict[str, Any]:
    """What the component is given: a few kilobytes, and addresses of the rest."""
    both, grid, vit = visit.both, visit.grid, visit.vit
    found = [cached_outliers.find_outlier_tokens(one).patches.tolist() for one in both]
    mask = visit.is_masked
    made = patch_token_bytes_for_browser.component_bytes(*both, visit.source, mask, visit.whiten)
    return {
        "state": {name: getattr(visit, name) for name in ("patch", "layer", "view", "threshold", "mask", "lines")},
        "mode": visit.mode,
        "blocks": vit.blocks,
        "middle": grid.middle,
        "second": visit.second_title,
        "cut": visit.shown.is_foreground_cut,
        "grid": {"rows": grid.rows, "cols": grid.cols, "step": list(grid.step_px)},
        "photos": [visit.photo_url, media_url(cached_recordings.input_picture(visit.second)[1], "image/jpeg", "second")],
        "details": [visit.detail_url, media_url(relevance_maps.fine_detail_jpeg(visit.second), "image/jpeg", "second_detail")],
        "vectors": [_vector_urls(one, visit.source, place) for place, one in enumerate(both)],
        "colours": _url(made.colours, "components"),
        "first": _url(made.first, "first_component"),
        "shares": made.shares,
        "outlier_shares": made.outlier_shares if any(found) else [],
        "matches": _url(patch_token_bytes_for_browser.match_bytes(*both, visit.source, mask), "matches"),
        "segments": _url(patch_token_bytes_for_browser.segment_bytes(*both, visit.shown), "segments")
        if visit.view == "segments"
        else None,
        "out": [patch_token_bytes_for_browser.left_out_patches(one, mask) for one in both],
        "unmasked": [[], []] if mask else found,
        "outliers": outlier_masking.outlier_message(found[0], bool(mask and found[0])),
        "share": patch_token_bytes_for_browser.PHOTO_SHARE,
        "segment_colours": patch_token_bytes_for_browser.segment_rgb_colours(),
        "palettes": landing_figures.encoded_colour_tables(visit.mode),
        "words": _words(visit.texts),
    }


def patch_name(visit: TokensVisit, patch: int) -> str:
    """A patch with its row and column, in the page's words."""
    row, col = visit.grid.row_col(patch)
    return visit.texts["patch"].format(patch=patch, row=row, col=col)


def _vector_urls(rec: vitcore.Recording, kind: str, place: int) -> list[str]:
    return [
        _url(data, f"tokens{place}_{layer}") for layer, data in enumerate(patch_token_bytes_for_browser.unit_token_bytes(rec, kind))
    ]


def _url(data: bytes, place: str) -> str:
    return media_url(data, attention_urls.BYTES, place)


def _words(text: texts.Prose) -> dict[str, str]:
    own = {"mask": texts.prose("outliers")["mask"]} | {view: text[f"tokens_view.{view}"] for view in VIEWS}
    return {key: text[key] for key in TEXT_KEYS} | own
