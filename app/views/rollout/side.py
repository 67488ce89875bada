"""One side of the rollout lab: a method with its settings, the map that it draws, and what the map can't tell."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import selection, texts
from app.components.choices import choose
from app.components.figure import downloads, explain
from app.components.picture.picture import picture
from app.furniture import controls, copy_link, outliers
from app.state import insights
from app.state.memory import budget
from app.views.rollout import settings, told
from app.views.rollout.question import Asked

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from streamlit.delta_generator import DeltaGenerator

    from vitcore.analysis.relevance import RelevanceMethod
    from vitcore.forward.relevance import Relevance


@dataclass(frozen=True, eq=False)
class Side:
    """One method's map (rows, cols) as it was computed, and as it is shown: in `unit`, under `title`."""

    method: RelevanceMethod
    settings: dict[str, Any]
    raw: NDArray
    shown: NDArray
    unit: str
    title: str
    found: outliers.Found
    relevance: Relevance | None = None

    def of(self, a: Asked) -> Hashable:
        """What tells this map from others of the same photo and model."""
        asked = a.target if self.method.asks_class else a.query
        return self.method.name, asked, tuple(sorted(self.settings.items()))


def side(
    a: Asked, prefix: str, place: DeltaGenerator, unusual: DeltaGenerator, called: str = "", beside: DeltaGenerator | None = None
) -> Side | None:  # fmt: skip
    """One side: its method, its picture, its settings (below, or `beside`), its words; None where it is not defined.

    In `unusual` stands which settings are not as usual, of the side that is `called` so.
    """
    from vitcore.analysis.relevance import METHODS

    text = a.text
    with place:
        defined = [name for name, method in METHODS.items() if a.vit.is_global or not method.needs_attention]
        methods = {name: text[f"method.{name}"] for name in defined}
        others = [{m: texts.prose(text.page, lang)[f"method.{m}"] for m in defined} for lang in texts.LANGUAGES]
        first = ("chefer" if prefix and a.target is not None else "rollout") if a.vit.is_global else defined[not prefix]
        name = controls.named(
            text[f"{prefix}method"], methods, f"{prefix}method", others, index=list(methods).index(first)
        )
        method, above = METHODS[name], st.container()
        box = beside or st.expander(text["settings"], expanded=True, key=f"{prefix}settings")
        below = st.container()
    if method.asks_class and a.target is None:
        above.info(text["no class to ask"], icon=":material/info:")
        return None
    with box:
        values = settings.chosen(a, method, prefix)
    if not prefix:  # the left side's go along to the handout, even if a visitor leaves while this page computes
        copy_link.remember(text.page)
    with above:
        try:
            done = _computed(a, method, settings.for_vitcore(a, method, values))
        except budget.NoRoomError:
            st.warning(texts.prose("common")["no room now"], icon=":material/memory:")
            return None
        _draw(a, done, prefix)
        outliers.beside(done.found, f"{prefix}gathered", maskable=not method.asks_class, always=True)
        _most(a, done, prefix)
        if name == "rollout" and (found := told.localised(a)):
            st.markdown(found)
        _take(a, done, prefix)
    with unusual:
        settings.otherwise(text, prefix, values, called)
    with below:
        _words(a, done)
    return done


def _most(a: Asked, side: Side, prefix: str) -> None:
    """Which patch gave most or stands out most; of what follows attention, a way to where it, or the asked patch, looks itself."""
    patch = int(abs(side.shown).argmax())
    row, col = a.rec.grid.row_col(patch)
    said = a.text["most" if not side.method.asks_class else "stands out" if side.method.signed else "spoke most"]
    label = a.rec.labels[a.target] if a.target is not None else ""
    share = f"{side.shown.flat[patch]:.3g}"
    st.markdown(said.format(patch=patch, row=row, col=col, share=share, unit=side.unit, label=controls.verbatim(label)))
    if side.method.asks_class:
        return
    there = patch if a.query is None else a.query
    # no link: Streamlit drops from one what a control of the page that is left holds, and carries over what that held
    if st.button(a.text["to explorer"].format(patch=there), key=f"{prefix}to_explorer", icon=":material/arrow_forward:",
                 type="tertiary", on_click=choose, args=(selection.PATCH, there)):  # fmt: skip
        st.switch_page("views/attention/page.py", query_params={})  # unsaid, Streamlit refuses to drop bound ones


def _computed(a: Asked, method: RelevanceMethod, chosen: dict[str, Any]) -> Side:
    """The map of a method, and how it is shown."""
    from vitcore.analysis.relevance import absolute_shares

    title = a.since(a.text[f"title.{method.name}"], chosen)
    unit = a.text[f"unit.{method.name}"]
    items = tuple(sorted(chosen.items()))
    if not method.asks_class:
        raw = insights.rollout(a.rec, a.query, items, a.vit)
        found = outliers.in_map(a.vit, a.rec, raw)
        gathered = outliers.told(title.format(who=a.who), found.masked)
        return Side(method, chosen, raw, 100 * raw, unit, gathered, found)
    assert a.target is not None, "asked for by `side`"
    with st.spinner(a.text["computing"]):
        computed = insights.relevance(a.rec, method.name, a.target, items, a.vit)
    shown = {"integrated_gradients": computed.maps, "gradient_rollout": 100 * computed.maps}.get(method.name)
    spoken = title.format(label=a.rec.labels[a.target])
    found = outliers.in_map(a.vit, a.rec, computed.maps, method.needs_attention, masked=False)
    shown = 100 * absolute_shares(computed.maps) if shown is None else shown
    return Side(method, chosen, computed.maps, shown, unit, spoken, found, computed)


def _draw(a: Asked, side: Side, prefix: str) -> None:
    """The picture of a side, with its scale; or as the paper draws it, beside the photo."""
    from vitcore.figures.attention import no_scale, paper_drawing
    from vitcore.figures.heat_overlay import scale_on_photo
    from vitcore.figures.relevance import limit
    from vitcore.figures.theme import data_uri

    grid, signed, most = a.rec.grid, side.method.signed, limit(side.shown, side.method.signed)
    st.markdown(f"## {controls.verbatim(side.title)}")
    told: dict[str, Any] = {
        "key": f"{prefix}gathered", "label": f"{a.text[f'method.{side.method.name}']}: {side.title}", "target": "patch",
        "also": ("ask", True), "selected": None if side.method.asks_class else a.query, "lines": False,
        "values": side.shown.ravel().tolist(), "unit": side.unit, "even": None if signed else float(side.shown.mean()),
        "marks": side.found.patches, "told": side.found.told,
    }  # fmt: skip
    if a.style == "paper" and not signed:
        beside, place = st.columns(2)
        beside.image(a.photo_shown)
        drawn = data_uri(paper_drawing(side.raw, a.photo_shown, grid), photo=True)
        with place:
            picture(drawn, grid.rows, grid.cols, grid.step_px, **told)
        said = no_scale()
        st.caption(said[0].upper() + said[1:])
        return
    over = insights.overlay(a.rec, side.of(a), signed, side.shown, most)
    picture(a.address, grid.rows, grid.cols, grid.step_px, overlay=over, detail=a.detail, **told)
    controls.bar(scale_on_photo(side.shown, most, side.unit, signed), f"{prefix}gathered_scale")


def _words(a: Asked, side: Side) -> None:
    """What a side measures, what it can't tell, and where it is from."""
    text, name = a.text, side.method.name
    if side.relevance and side.relevance.gaps:
        st.caption(
            text["complete"].format(rise=side.relevance.rises[0], gap=side.relevance.gaps[0], total=side.raw.sum())
        )
    explain(_how(a, name), text[f"limits.{name}"])
    st.markdown(text[f"source.{name}"])  # a caption's links are too faint to read


def _how(a: Asked, method: str) -> str:
    how = a.text[f"how.{method}"]
    return a.text.joined((how, told.rest(a))) if method == "rollout" else how


def _take(a: Asked, side: Side, prefix: str) -> None:
    """The picture and its numbers, to take along."""
    from vitcore import figures

    text, name = a.text, side.method.name
    grid, photo_shown = a.rec.grid, a.photo_shown  # downloads keep what they name, not all of `a`
    start = None if side.method.asks_class else a.query
    style, mode, marks = a.style, a.mode, side.found.patches
    note = text.joined((_how(a, name), side.found.told))
    downloads(
        lambda: figures.outlined(figures.relevance(
            side.shown, photo_shown, grid, text[f"method.{name}"], side.unit, signed=side.method.signed, style=style,
            mode=mode, about=side.title, start=start,
        ), marks, grid),
        f"{prefix}{name}", note, of=(a.photo.name, a.vit.called), called=name, **{name: side.raw},
    )  # fmt: skip
