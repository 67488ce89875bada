"""The attention explorer's page: its controls, and everything its component draws, as words, numbers and addresses."""

from __future__ import annotations

import base64
import math
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import selection, texts
from app.components import address
from app.components.choices import answered, hold
from app.components.explorer.explorer import explorer
from app.components.figure import downloads, explain, lead
from app.furniture import controls, outliers
from app.state import insights, models, session
from app.views.attention import pinned_tokens
from vitcore.translation import percent

if TYPE_CHECKING:
    from vitcore.analysis.head_descriptions import HeadDescription
    from vitcore.forward.recording import Recording
    from vitcore.grid import Grid
    from vitcore.images import Photo
    from vitcore.models.load_model import Vit

DIRECTIONS = ("gives", "gets")
TARGETS = {
    "block": selection.LAYER,
    "head": selection.HEAD,
    "column": "direction",
    "rolled": "rolled",
    "mask": outliers.STATE,
}
WORDS = (
    "canvas", "photo", "tokens", "heads", "head", "patch", "compare", "compare help", "play", "stop", "strip", "strip about",
    "layer", "mean", "rules", "keys", "weight", "rollout weight", "a thousandth", "own maximum", "largest", "one head",
    "mean of heads", "mean of one", "all layers", "asks row", "asks column", "rolled row", "rolled column", "most",
    "most column", "most rollout", "second row", "second column", "compare now", "point", "value", "pinned", "under", "cards",
    "word sink", "word outliers", "word even", "word local", "word global", "word mixed", "word positional",
    "over all", "facts", "far", "share", "outlier tokens", "measured", "times", "times or more", "no scale",
)  # fmt: skip
TITLES = ("asks row", "asks column", "rolled row", "rolled column")  # of the photo, by what it is lit with
KEYS = ("hold", "arrows", "shift", "brackets", "digits", "mean", "c", "r", "space", "strip")


@st.fragment
def explore(model: str, text: texts.Prose) -> None:
    """The page below its first sentence; runs on its own when something on it is touched, and holds nothing in between."""
    vit, photo = models.loaded(model), session.photo()
    outliers.set_to(outliers.on())  # a touch in the picture sets it; the address follows
    hold("direction", "lit", "log", "one_scale", *TARGETS.values(), *pinned_tokens.FIELDS.values())
    grid = vit.grid
    state = _controls(vit, photo, grid, text)
    rec = session.recording(vit, photo, state["block"])
    state["outliers"] = _outliers(rec, state["mask"], text)
    rec = insights.masked(vit, rec) if state["mask"] else rec
    with lead():
        explorer(
            _sent(vit, rec, state, text),
            key="explorer",
            targets=TARGETS,
            directions=DIRECTIONS,
            pin=pinned_tokens.pin,
        )
    from vitcore.analysis.attention_as_bytes import LEAST, WORST

    explain(text["how"].format(worst=percent(WORST), least=f"{LEAST:.6f}"), text["limits"])
    with st.container(horizontal=True, vertical_alignment="center"):
        _take(vit, photo, rec, state, text)
        if state["outliers"]["patches"]:
            st.page_link("views/outliers/page.py", label=text["to outliers"], icon=":material/flare:",
                         query_params={selection.LAYER: str(state["block"])})  # fmt: skip
        st.page_link("views/compare/page.py", label=text["to compare"], icon=":material/compare:",
                     query_params={"picture": "attention", selection.LAYER: str(state["block"])})  # fmt: skip
    st.session_state["_pinned"] = max(state["token"] - grid.prefix, 0) if state["token"] >= grid.prefix else None
    answered()


def _controls(vit: Vit, photo: Photo, grid: Grid, text: texts.Prose) -> dict[str, Any]:
    """The controls that keep what is chosen in the address bar; the picture and its keys set them too."""
    from vitcore.figures.heat_overlay import LEAST_TOP

    with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall", key="explorer_controls"):
        block = controls.layer(text["block"], vit, vit.blocks // 2, width=104)
        head = controls.head(text["head control"], vit.heads, text["mean"], width=104, help=text["head help"])
        direction = controls.choice(text, "direction", list(DIRECTIONS))
        token, second = pinned_tokens.fields(grid, _prefix_names(vit, text), text)
        with st.popover(text["drawing"], icon=":material/tune:"):
            style = controls.choice(text, "lit", ["heat", "light"])
            log = st.toggle(text["log"], key="log", bind="query-params", help=text["log help"])
            about = text.fill("shared help", least=f"{LEAST_TOP:g}")
            shared = st.toggle(text["shared"], key="one_scale", bind="query-params", help=about)
            rolled = st.toggle(text["rolled"], key="rolled", bind="query-params", help=text["rolled help"])
            mask = outliers.switch(vit, session.recording(vit, photo), "drawing")
    return {
        "block": block, "head": head, "column": direction == DIRECTIONS[1], "token": token, "second": second,
        "rolled": rolled, "style": style, "log": log, "shared": shared, "mask": mask,
    }  # fmt: skip


def _sent(vit: Vit, rec: Recording, state: dict[str, Any], text: texts.Prose) -> dict[str, Any]:
    """What the component is given: a few kilobytes, and addresses of the rest."""
    from vitcore.analysis.attention_as_bytes import SPAN
    from vitcore.figures.heat_overlay import plain
    from vitcore.figures.theme import HEAT, SEQUENTIAL, lut

    grid, names = rec.grid, _prefix_names(vit, text)
    has = _has(vit)
    pinned = tuple(token for token in (state["token"], state["second"]) if token is not None)
    some = insights.queries(rec, pinned, vit.heads)  # the same tokens answer for the heads and for rollout
    maps, step = _maps(vit, rec, state, some)
    chosen = {name: state[name] for name in ("token", "second", "block", "head", "column", "rolled", "mask")}
    heads_by_block = insights.heads_in_words(rec, tuple(rec.maps))
    detail = address(insights.detail(rec), "image/jpeg", "detail")
    colours = {"solid": lut(SEQUENTIAL), "bar": lut(HEAT), "heat": plain(SEQUENTIAL)}
    strip = insights.atlas(rec, state["token"], state["column"])
    rows, cols = insights.atlas_shape(rec)
    whole = len(rec.maps) == vit.blocks
    return {
        "state": chosen, "heads": vit.heads, "names": names, "spoken": _in_a_sentence(vit, text),
        "share_names": [text["the token"].format(name=text[name]) for name in (*has, "registers")],
        "span": SPAN, "class": "class token" in has,
        "outliers": state["outliers"], "style": state["style"], "log": state["log"],
        "shared": state["shared"], "maps": maps, "photo": address(session.shown(rec)[1], "image/jpeg", "photo"), "detail": detail,
        "grid": {"rows": grid.rows, "cols": grid.cols, "prefix": grid.prefix, "step": list(grid.step_px)},
        "atlas": {"url": address(strip, "application/octet-stream", "strip"), "rows": rows, "cols": cols, "whole": whole,
                  "heads": vit.heads if whole else 1},
        "rollout": _rollout(rec, state, some) if state["rolled"] else None,
        "cards": {block: [_card(head, grid, len(has)) for head in heads] for block, heads in heads_by_block.items()},
        "colours": {name: base64.b64encode(table.tobytes()).decode() for name, table in colours.items()},
        "words": _words(vit, text, state["mask"]),
        "rules": _rules(grid, text), "most_bits": round(math.log2(grid.tokens), 1),
        "keys": [[text[f"key {key}"], text[f"key {key} does"]] for key in KEYS if key != "c" or "class token" in has],
        "coarse": text["coarse"].format(tokens=grid.tokens, step=step) if step > 1 else "",
    }  # fmt: skip


def _words(vit: Vit, text: texts.Prose, mask: bool) -> dict[str, str]:
    """The explorer's words; where the number of heads is in them, the page fills in the layer alone."""
    counted = {word: text.fill(word, heads=vit.heads, block="{block}") for word in ("cards", "mean of heads")}
    titles = {word: outliers.told(text[word], mask) for word in TITLES}
    own = {"mask": texts.prose("outliers")["mask"], "hold": texts.prose("common")["hold"]}
    return {word: text[word] for word in WORDS} | counted | titles | own


def _maps(
    vit: Vit, rec: Recording, state: dict[str, Any], some: list[int] | None
) -> tuple[list[dict[str, Any] | None], int]:
    """Where each block's attention is, None for what isn't at hand; and every how many patches hover is answered."""
    mime = "application/octet-stream"
    places: list[dict[str, Any] | None] = [None] * vit.blocks
    if some is None and len(rec.maps) == vit.blocks:
        for block, data in insights.attention_bytes(rec).items():
            places[block] = {"url": address(data, mime, f"block{block}")}
        return places, 1
    tokens = tuple(some or range(rec.grid.tokens))
    column = state["column"] and some is not None  # where all queries are sent, the browser turns the arrow itself
    data = insights.attention_of(rec, state["block"], tokens, column)
    places[state["block"]] = {"url": address(data, mime, "block"), "queries": some}
    return places, insights.step_of(rec, vit.heads)


def _rollout(rec: Recording, state: dict[str, Any], some: list[int] | None) -> dict[str, Any]:
    """Where rollout is."""
    data = insights.rollout_bytes(rec, tuple(some) if some else None, state["column"] and bool(some))
    return {"url": address(data, "application/octet-stream", "rollout"), "queries": some}


def _prefix_names(vit: Vit, text: texts.Prose) -> list[str]:
    """The tokens before the patches: class and distillation token where the model has them, else registers."""
    has = _has(vit)
    registers = vit.grid.prefix - len(has)
    return [text[name] for name in has] + [text["register"].format(number=i) for i in range(registers)]


def _in_a_sentence(vit: Vit, text: texts.Prose) -> list[str]:
    """Those names as a sentence has them: the class token, but register 0."""
    alone = len(_has(vit))
    names = _prefix_names(vit, text)
    return [text["the token"].format(name=name) for name in names[:alone]] + names[alone:]


def _has(vit: Vit) -> list[str]:
    from vitcore.forward.block_activations import prefix_token_names

    return [f"{name} token" for name in prefix_token_names(vit) if not name.startswith("register")]


def _whole(share: float) -> float:
    """Percent without digits; what is more than 0 and less than half a percent stays below 1."""
    return round(100 * share) or (0.5 if share > 0 else 0)


def _card(head: HeadDescription, grid: Grid, named: int) -> dict[str, Any]:
    """A head's numbers, rounded as they are shown, and its words; the browser makes the sentence.

    `named` tokens have a share each, the registers after them one together.
    """
    from vitcore.analysis.attention_distance import uniform_distance_px
    from vitcore.analysis.head_descriptions import OUTLIER_SHARE

    reach = head.reach_px / max(uniform_distance_px(grid), 1e-9)
    shares = [*head.shares[:named], *([sum(head.shares[named:])] if head.shares[named:] else [])]
    return {
        "bits": round(head.entropy_bits, 1), "spread": round(2**head.entropy_bits),
        "px": round(head.distance_px), "reach": round(100 * reach),
        "offset": round(100 * head.by_offset), "shares": [_whole(share) for share in shares], "words": head.words,
        "sink": head.sink, "outlying": _whole(head.outlying) if head.outlying >= OUTLIER_SHARE else None,
    }  # fmt: skip


def _outliers(rec: Recording, masked: bool, text: texts.Prose) -> dict[str, Any]:
    """The photo's outlier tokens (patches), and what is said where some of them hold much of a map: by their place and number."""
    from vitcore.analysis.outlier_tokens import ONE_IN
    from vitcore.outlier_sentences import masked_outliers_sentence, outlier_count_phrase, outlier_sentence_about

    patches = insights.outliers(rec).patches.tolist()
    counts = range(1, len(patches) + 1)
    return {
        "patches": patches, "one_in": ONE_IN, "masked": masked_outliers_sentence(len(patches)) if masked else "",
        "called": {place: [outlier_count_phrase(count, place) for count in counts] for place in ("corner", "edge", "")},
        "attended": outlier_sentence_about("{who}", True), "other": outlier_sentence_about("{who}", False),
        "counted": [text.fill("outliers here", count=count) for count in counts],
    }  # fmt: skip


def _rules(grid: Grid, text: texts.Prose) -> dict[str, list[str]]:
    """Each word by which a head may be called: its name, and its rule with the thresholds filled in."""
    from vitcore.analysis import head_descriptions
    from vitcore.analysis.attention_distance import uniform_distance_px

    px = uniform_distance_px(grid)
    facts = {
        "sink": percent(head_descriptions.SINK_SHARE, 0), "even": percent(head_descriptions.EVEN_ENTROPY_SHARE, 0),
        "bits": f"{math.log2(grid.tokens):.1f}",
        "local": percent(head_descriptions.LOCAL_REACH, 0), "local_px": f"{head_descriptions.LOCAL_REACH * px:.0f}",
        "global": percent(head_descriptions.GLOBAL_REACH, 0), "global_px": f"{head_descriptions.GLOBAL_REACH * px:.0f}",
        "px": f"{px:.0f}", "positional": percent(head_descriptions.POSITIONAL_SHARE, 0),
    }  # fmt: skip
    order = ("sink", "outliers", "even", "local", "global", "mixed", "positional", "spread")
    return {word: [text[f"rule {word}"], text[f"rule {word} is"].format(**facts)] for word in order}


def _take(vit: Vit, photo: Photo, rec: Recording, state: dict[str, Any], text: texts.Prose) -> None:
    """What is seen, as a figure to take along: the photo, the pinned patch, and the heads of the chosen layer."""
    from vitcore import figures
    from vitcore.figures.heat_overlay import LEAST_TOP, scale_top

    maps, grid, token = rec.maps[state["block"]], rec.grid, state["token"]  # a download keeps these, no recording
    asked = (maps[:, :, token] if state["column"] else maps[:, token]).astype("float32")
    shown, mode = grid.to_map(asked), controls.theme()
    lit = _lit(rec, state, asked)
    of_one = state["head"] is not None and not state["rolled"] and state["shared"]
    even, on = 1 / grid.tokens, grid.to_map(lit)
    most = float((shown if of_one else on).max())
    top = max(most, LEAST_TOP * even) if of_one or state["log"] else scale_top(on, even)
    model, key = vit.name, photo.key
    names = _prefix_names(vit, text)
    about = " · ".join(f"{name} {percent(float(share))}" for name, share in zip(names, lit, strict=False))
    patches = tuple(one - grid.prefix for one in (token, state["second"]) if one is not None and one >= grid.prefix)
    unit, title = (
        text["rollout weight" if state["rolled"] else "weight"],
        _title(grid, _in_a_sentence(vit, text), len(maps), state, text),
    )
    style, log, shared = state["style"], state["log"], state["shared"]
    found = [outliers.in_map(vit, rec, one, not state["column"]) for one in (grid.to_map(lit), *shown)]
    marks, note = [one.patches for one in found], text["how printed"].format(block=state["block"])
    downloads(
        lambda: figures.explorer(
            grid.to_map(lit), shown, session.shown_again(model, key), grid, title, unit, mode, top=top, about=about,
            style=style, log=log, shared=shared, asked=patches, marks=marks,
        ), "heads", text.joined((note, found[0].told)), of=(photo.name, vit.called),
        called=f"heads-layer-{state['block']}", attention=shown,
    )  # fmt: skip


def _lit(rec: Recording, state: dict[str, Any], asked: Any) -> Any:
    """The weights (T,) that light the photo: of a head, of the mean of all, or of rollout as the browser reads it."""
    from vitcore.analysis.attention_as_bytes import decode_weights

    if not state["rolled"]:
        return asked.mean(0) if state["head"] is None else asked[state["head"]]
    import numpy as np

    packed = insights.rollout_bytes(rec, (state["token"],), state["column"])
    return decode_weights(np.frombuffer(packed, np.uint8))


def _title(grid: Grid, names: list[str], heads: int, state: dict[str, Any], text: texts.Prose) -> str:
    """What the picture says above the photo."""
    token, block, head = state["token"], state["block"], state["head"]
    patch = token - grid.prefix
    row, col = grid.row_col(max(patch, 0))
    name = names[token] if patch < 0 else text["patch"].format(patch=patch, row=row, col=col)
    by = text.fill("mean of heads" if head is None else "one head", block=block, head=head, heads=heads)
    asks = ("rolled " if state["rolled"] else "asks ") + ("column" if state["column"] else "row")
    asked = outliers.told(text[asks].format(token=name), state["mask"])
    return f"{asked} · {text['all layers'] if state['rolled'] else by}"
