"""The rollout lab's parts: two sides with a method and settings each, how they differ, and the build-up layer by layer."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import texts
from app.components import address
from app.components.figure import downloads, explain
from app.components.picture.picture import picture
from app.components.player.player import player
from app.furniture import controls
from app.state import insights
from app.state.memory import budget
from app.views.rollout.question import Asked

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from streamlit.delta_generator import DeltaGenerator

    from vitcore.analysis.relevance import Method
    from vitcore.forward.relevance import Relevance

STEPS = (8, 32, 24)  # fewest, most and first: 32 take the shipped model 3 s on two cores


@dataclass(frozen=True, eq=False)
class Side:
    """One method's map (rows, cols) as it was computed, and as it is shown: in `unit`, under `title`."""

    method: Method
    settings: dict[str, Any]
    raw: NDArray
    shown: NDArray
    unit: str
    title: str
    relevance: Relevance | None = None

    def of(self, a: Asked) -> Hashable:
        """What tells this map from others of the same photo and model."""
        asked = a.target if self.method.asks_class else a.query
        return self.method.name, asked, tuple(sorted(self.settings.items()))


def side(a: Asked, prefix: str, place: DeltaGenerator, beside: DeltaGenerator | None = None) -> Side | None:
    """One side: its method, its picture, its settings (below, or `beside`), its words; None where it is not defined."""
    from vitcore.analysis.relevance import METHODS

    text = a.text
    with place:
        defined = [name for name, method in METHODS.items() if a.vit.is_global or not method.needs_attention]
        called = {name: text[f"method.{name}"] for name in defined}
        others = [{m: texts.prose(text.page, lang)[f"method.{m}"] for m in defined} for lang in texts.LANGUAGES]
        first = ("chefer" if prefix and a.target is not None else "rollout") if a.vit.is_global else defined[not prefix]
        name = controls.named(
            text[f"{prefix}method"], called, f"{prefix}method", others, index=list(called).index(first)
        )
        method, above = METHODS[name], st.container()
        box = beside or st.expander(text["settings"], expanded=True, key=f"{prefix}settings")
        below = st.container()
    if method.asks_class and a.target is None:
        above.info(text["no class to ask"], icon=":material/info:")
        return None
    with box:
        settings = _settings(a, method, prefix)
    with above:
        try:
            done = _computed(a, method, settings)
        except budget.NoRoomError:
            st.warning(texts.prose("common")["no room now"], icon=":material/memory:")
            return None
        _draw(a, done, prefix)
    with below:
        _words(a, done, prefix)
    return done


def _settings(a: Asked, method: Method, prefix: str) -> dict[str, Any]:
    """A method's settings, as `vitcore` takes them."""
    text = a.text
    chosen: dict[str, Any] = {}
    if "fusion" in method.settings:
        chosen["fusion"] = controls.choice(text, f"{prefix}fusion", ["mean", "max", "min"], called="fusion")
    if "residual" in method.settings:
        chosen["discard_ratio"] = controls.slider(text["discard"], f"{prefix}discard", 0, 95, 0) / 100
        chosen["residual"] = controls.slider(text["residual"], f"{prefix}residual", 0, 95, 50) / 100
        chosen["first_block"] = controls.slider(text["first"], f"{prefix}first", 0, a.vit.blocks - 1, 0)
    if "steps" in method.settings:
        chosen["baseline"] = controls.choice(text, f"{prefix}baseline", ["mean", "black", "white"], called="baseline")
        chosen["steps"] = controls.slider(text["steps"], f"{prefix}steps", *STEPS)
    if not chosen:
        st.caption(text["no settings"])
    return chosen


def _computed(a: Asked, method: Method, settings: dict[str, Any]) -> Side:
    """The map of a method, and how it is shown."""
    from vitcore.analysis.relevance import share

    title = a.text[f"title.{method.name}"]
    unit = a.text[f"unit.{method.name}"]
    items = tuple(sorted(settings.items()))
    if not method.asks_class:
        raw = insights.rollout(a.vit.name, a.photo.key, a.query, items, a.vit, a.rec)
        return Side(method, settings, raw, 100 * raw, unit, title.format(who=a.who))
    assert a.target is not None, "asked for by `side`"
    with st.spinner(a.text["computing"]):
        computed = insights.relevance(a.vit.name, a.photo.key, method.name, a.target, items, a.vit, a.rec)
    shown = {"integrated_gradients": computed.maps, "gradient_rollout": 100 * computed.maps}.get(method.name)
    told = title.format(label=a.rec.labels[a.target])
    return Side(
        method, settings, computed.maps, 100 * share(computed.maps) if shown is None else shown, unit, told, computed
    )


def _draw(a: Asked, side: Side, prefix: str) -> None:
    """The picture of a side, with its scale."""
    from vitcore.figures.attention import paper_drawing, scale_top
    from vitcore.figures.relevance import limit
    from vitcore.figures.theme import DIVERGING, SEQUENTIAL, data_uri

    grid, signed, most = a.rec.grid, side.method.signed, limit(side.shown, side.method.signed)
    paper = a.style == "paper" and not signed
    me = a.vit.name, a.photo.key
    under = _grey(a) if signed else a.address
    over = None if paper else insights.overlay(*me, side.of(a), signed, side.shown, grid)
    st.markdown(f"## {controls.verbatim(side.title)}")
    picture(
        data_uri(paper_drawing(side.raw, a.seen, grid), photo=True) if paper else under, grid.rows, grid.cols, grid.step_px,
        key=f"{prefix}gathered", label=f"{a.text[f'method.{side.method.name}']}: {side.title}", target="query", also=("ask", True),
        selected=None if side.method.asks_class else a.query, overlay=over, opacity=a.opacity,
        values=side.shown.ravel().tolist(), unit=side.unit, lines=False,
    )  # fmt: skip
    if paper and scale_top(side.raw) < side.raw.max():
        st.caption(a.text["paper clips"].format(top=most, unit=side.unit))
    if not paper:
        more = a.text["or more"] if most < abs(side.shown).max() else ""
        controls.scale_strip(
            DIVERGING if signed else SEQUENTIAL, -most if signed else 0, most, side.unit + more, f"{prefix}scale"
        )


def _grey(a: Asked) -> str:
    return address(insights.grey_photo(a.vit.name, a.photo.key, a.seen), "image/jpeg", "grey")


def _words(a: Asked, side: Side, prefix: str) -> None:
    """What a side measures, what it can't tell, where it is from, and its downloads."""
    from vitcore import figures

    text, name = a.text, side.method.name
    grid, seen = a.rec.grid, a.seen  # downloads keep what they name, not all of `a`
    if side.relevance and side.relevance.gaps:
        st.caption(
            text["complete"].format(rise=side.relevance.rises[0], gap=side.relevance.gaps[0], total=side.raw.sum())
        )
    explain(text[f"how.{name}"], text[f"limits.{name}"])
    st.markdown(text[f"source.{name}"])  # a caption's links are too faint to read
    start = None if side.method.asks_class else a.query
    style, opacity, mode = a.style, a.opacity, a.mode
    downloads(
        lambda: figures.relevance(
            side.shown, seen, grid, text[f"method.{name}"], side.unit, signed=side.method.signed, style=style,
            opacity=opacity, mode=mode, about=side.title, start=start,
        ),
        f"{prefix}{name}", text[f"how.{name}"], **{name: side.raw},
    )  # fmt: skip


def difference(a: Asked, left: Side, right: Side) -> None:
    """Left minus right in percentage points of each map's total, and how alike the two order the patches."""
    from vitcore import figures
    from vitcore.analysis.relevance import difference_points, rank_correlation
    from vitcore.figures.relevance import limit
    from vitcore.figures.theme import DIVERGING

    text, grid, me = a.text, a.rec.grid, (a.vit.name, a.photo.key)
    values, alike = difference_points(left.raw, right.raw), rank_correlation(left.raw, right.raw)
    most, unit = limit(values, True), text["points"]
    same = left.method is right.method  # the same twice, with other settings
    pair = {"left": text["left"] if same else text[f"method.{left.method.name}"],
            "right": text["right"] if same else text[f"method.{right.method.name}"]}  # fmt: skip
    title = text["difference"].format(**pair)
    seen, opacity, mode = a.seen, a.opacity, a.mode
    one, two = st.columns(2, gap="large")
    with one:
        st.markdown(f"## {title}")
        picture(
            _grey(a), grid.rows, grid.cols, grid.step_px, key="differ", label=title, target="query",
            also=("ask", True), overlay=insights.overlay(*me, (left.of(a), right.of(a)), True, values, grid), opacity=a.opacity,
            values=values.ravel().tolist(), unit=unit, lines=False,
        )  # fmt: skip
        more = text["or more"] if most < abs(values).max() else ""
        controls.scale_strip(DIVERGING, -most, most, unit + more, "differ_scale")
    with two:
        if abs(values).max() > 0:  # not where nothing differs
            place = int(abs(values).argmax())
            row, col = grid.row_col(place)
            who = pair["left" if values.flat[place] > 0 else "right"]
            apart = {"patch": place, "row": row, "col": col, "points": abs(values.flat[place]), "who": who}
            st.markdown(text["apart"].format(**apart))
        st.metric(text["alike"], f"{alike:.2f}" if alike == alike else "–", help=text["alike help"])
        explain(text["difference how"].format(**pair), text["difference limits"])
        downloads(
            lambda: figures.relevance(
                values, seen, grid, title, unit, signed=True, opacity=opacity, mode=mode
            ),
            "difference", text["difference how"].format(**pair), difference=values,
        )  # fmt: skip


def build_up(a: Asked, settings: dict[str, Any]) -> None:
    """Rollout after each block, playing and as small pictures."""
    from vitcore import figures
    from vitcore.figures.relevance import build_up_top
    from vitcore.figures.theme import SEQUENTIAL

    text, grid = a.text, a.rec.grid
    how: dict[str, Any] = {"discard_ratio": 0.0, "residual": 0.5, "first_block": 0, "fusion": "mean"} | settings
    maps, frames = insights.built_up(a.vit.name, a.photo.key, a.query, tuple(sorted(how.items())), a.vit, a.rec)
    top, layers = build_up_top(maps), range(len(maps))
    caption = text["frame prefix"] if grid.prefix else text["frame"]
    player(
        a.address, frames, [text["layer"].format(layer=i) for i in layers],
        [caption.format(layer=i, share=maps[i].sum(), rest=1 - maps[i].sum()) for i in layers],
        grid.image_px[1] / grid.image_px[0], {word: text[f"player.{word}"] for word in ("play", "pause", "layer", "layers")},
        key="build_up", label=text["build-up label"].format(who=a.who), opacity=a.opacity,
    )  # fmt: skip
    unit = text["unit.rollout"] + (text["or more"] if top < maps.max() else "")
    controls.scale_strip(SEQUENTIAL, 0, 100 * top, unit, "build_up_scale")
    explain(text["build-up how"], text["build-up limits"])
    seen, opacity, mode = a.seen, a.opacity, a.mode
    downloads(
        lambda: figures.build_up(maps, seen, grid, text["build-up title"], unit, opacity=opacity, mode=mode),
        "build_up", text["build-up how"], build_up=maps,
    )  # fmt: skip


def identity(a: Asked) -> None:
    """Why the residual connection is part of rollout, with what it changes here."""
    from vitcore.analysis.rollout import in_common

    other = a.rec.grid.middle if a.query is None else 0  # another token: the middle patch, or the first beside a patch
    shared = {}
    for residual in (0.5, 0.0):
        settings = (("discard_ratio", 0.0), ("first_block", 0), ("fusion", "mean"), ("residual", residual))
        one, two = (insights.rollout(a.vit.name, a.photo.key, q, settings, a.vit, a.rec) for q in (a.query, other))
        shared[residual] = f"{in_common(one, two):.1%}"
    who = a.text["a patch"].format(patch=other)
    st.markdown(a.text["identity"].format(who=a.who, other=who, with_it=shared[0.5], without=shared[0.0]))
