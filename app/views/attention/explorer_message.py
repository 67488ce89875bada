"""The message to the explorer's component: words, numbers, and URLs of attention as bytes."""

import base64
import math
from dataclasses import dataclass
from typing import Any

from app import texts
from app.components.component_files import media_url
from app.state.recordings import attention_bytes_for_browser
from app.state.visit.visit import Visit
from app.widgets import attention_urls, outlier_masking
from vitcore.figures.heat_overlay import darkened_colour_table
from vitcore.figures.theme_colours import HEAT, SEQUENTIAL, colour_table
from vitcore.grid import Grid

TEXT_KEYS = (
    "canvas", "photo", "tokens", "heads", "head", "patch", "compare", "compare help", "play", "stop", "strip", "strip about",
    "layer", "mean", "rules", "keys", "weight", "rollout weight", "a thousandth", "own maximum", "largest", "one head",
    "mean of heads", "mean of one", "all layers", "asks row", "asks column", "rolled row", "rolled column", "most",
    "most column", "most rollout", "second row", "second column", "compare now", "point", "value", "pinned", "under", "cards",
    "cards rolled",
    "word sink", "word outliers", "word even", "word local", "word global", "word mixed", "word positional",
    "over all", "facts", "far", "share", "outlier tokens", "measured", "times", "times or more", "no scale",
)  # fmt: skip
CHOSEN = ("token", "second", "head", "mask")  # as the visitor did, and may in the picture
TITLE_KEYS = ("asks row", "asks column", "rolled row", "rolled column")  # of the photo, by what it is lit with
KEYBOARD_KEYS = ("hold", "arrows", "region", "shift", "brackets", "digits", "mean", "c", "r", "space", "strip")


@dataclass(frozen=True, eq=False, kw_only=True)
class ExplorerVisit(Visit):
    """What the explorer shows: two pinned tokens, by their places in the sequence, and how.

    `received`: what they are given, not what they give; `is_rollout`: through all layers; `mask`: without outlier tokens.
    """

    token: int
    second: int | None
    received: bool
    is_rollout: bool
    style: str
    log: bool
    shared: bool
    mask: bool


def explorer_message(visit: ExplorerVisit, outliers: list[int]) -> dict[str, Any]:
    """What the component is given: a few kilobytes, and addresses of the rest; `outliers` are the photo's outlier tokens."""
    vit, rec, grid, text = visit.vit, visit.recording, visit.grid, visit.texts
    prefix_kinds = _prefix_kinds(visit)
    pinned = tuple(token for token in (visit.token, visit.second) if token is not None)
    queries = attention_bytes_for_browser.sent_query_tokens(
        rec, pinned, vit.heads
    )  # the same tokens answer for the heads and for rollout
    maps = attention_urls.attention_urls(rec, vit.blocks, visit.layer, queries, visit.received)
    step = attention_bytes_for_browser.query_stride(rec, vit.heads)
    colours = {"solid": colour_table(SEQUENTIAL), "bar": colour_table(HEAT), "heat": darkened_colour_table(SEQUENTIAL)}
    strip = attention_bytes_for_browser.attention_thumbnails(rec, visit.token, visit.received)
    rows, cols = attention_bytes_for_browser.attention_thumbnail_shape(rec)
    all_blocks_kept = len(rec.maps) == vit.blocks
    return {
        "state": {name: getattr(visit, name) for name in CHOSEN}
        | {"block": visit.layer, "column": visit.received, "rolled": visit.is_rollout},
        "heads": vit.heads,
        "names": prefix_token_labels(visit),
        "spoken": prefix_tokens_in_sentence(visit),
        "share_names": [text["the token"].format(name=text[name]) for name in (*prefix_kinds, "registers")],
        "span": attention_bytes_for_browser.BYTE_OCTAVES,
        "class": "class token" in prefix_kinds,
        "outliers": outlier_masking.outlier_message(outliers, visit.mask)
        | {"counted": [text.fill("outliers here", count=count) for count in range(1, len(outliers) + 1)]},
        **{name: getattr(visit, name) for name in ("style", "log", "shared")},
        "maps": maps,
        "exact": attention_urls.exact_url(rec, visit.layer, pinned, visit.received),
        "exact_rollout": attention_urls.exact_url(rec, None, pinned[:1], visit.received) if visit.is_rollout else None,
        "photo": visit.photo_url,
        "detail": visit.detail_url,
        "grid": {"rows": grid.rows, "cols": grid.cols, "prefix": grid.prefix, "step": list(grid.step_px)},
        "atlas": {"url": media_url(strip, attention_urls.BYTES, "strip"), "rows": rows, "cols": cols}
        | {"whole": all_blocks_kept, "heads": vit.heads if all_blocks_kept else 1},
        "rollout": attention_urls.rollout_url(rec, queries, visit.received) if visit.is_rollout else None,
        "cards": attention_bytes_for_browser.head_card_texts(rec, len(prefix_kinds)),
        "colours": {name: base64.b64encode(table.tobytes()).decode() for name, table in colours.items()},
        "words": _message_texts(visit),
        "rules": _head_rules(grid, text),
        "most_bits": round(math.log2(grid.tokens), 1),
        "keys": [
            [text[f"key {key}"], text[f"key {key} does"]] for key in KEYBOARD_KEYS if key != "c" or "class token" in prefix_kinds
        ],
        "coarse": text["coarse"].format(tokens=grid.tokens, step=step) if step > 1 else "",
    }


def _message_texts(visit: ExplorerVisit) -> dict[str, str]:
    """The explorer's words; where the number of heads is in them, the page fills in the layer alone."""
    text = visit.texts
    counted = ("cards", "cards rolled", "mean of heads")
    with_counts = {word: text.fill(word, heads=visit.vit.heads, block="{block}") for word in counted}
    titles = {word: outlier_masking.title_with_masking(text[word], visit.mask) for word in TITLE_KEYS}
    common = texts.prose("common")
    own = {"mask": texts.prose("outliers")["mask"]} | {name: common[name] for name in ("hold", "region", "region mean")}
    return {word: text[word] for word in TEXT_KEYS} | with_counts | titles | own


def prefix_token_labels(visit: Visit) -> list[str]:
    """The tokens before the patches: class and distillation token where the model has them, else registers."""
    text, prefix_kinds = visit.texts, _prefix_kinds(visit)
    registers = visit.grid.prefix - len(prefix_kinds)
    return [text[name] for name in prefix_kinds] + [text["register"].format(number=i) for i in range(registers)]


def prefix_tokens_in_sentence(visit: Visit) -> list[str]:
    """The names of prefix tokens as a sentence has them: the class token, but register 0."""
    named_count, names = len(_prefix_kinds(visit)), prefix_token_labels(visit)
    return [visit.texts["the token"].format(name=name) for name in names[:named_count]] + names[named_count:]


def _prefix_kinds(visit: Visit) -> list[str]:
    return [f"{name} token" for name in visit.prefix_names if not name.startswith("register")]


def _head_rules(grid: Grid, text: texts.Prose) -> dict[str, list[str]]:
    """Each word by which a head may be called: its name, and its rule with the thresholds filled in."""
    facts = attention_bytes_for_browser.head_word_thresholds(grid)
    order = ("sink", "outliers", "even", "local", "global", "mixed", "positional", "spread")
    return {word: [text[f"rule {word}"], text[f"rule {word} is"].format(**facts)] for word in order}
