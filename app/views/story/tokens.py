"""Steps 4 to 6 of the story: a patch times the filters, its position added, and its place in the sequence."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app.components.vectors.vectors import vector, vectors
from app.state import insights, session
from app.views.story.pixels import same_width
from app.views.story.step import Scene, Step, chart


def _projection(scene: Scene) -> None:
    projected = insights.projected(scene.rec, scene.patch, scene.vit)
    if projected is None:
        st.info(scene.text["other projection"])
    elif scene.vit.hybrid or projected.x_p.shape[-1] != 3:
        rows = [("features", "x_{p}", projected.x_p.ravel()), ("embedding", "x_{p} E", projected.embedding)]
        vectors([_row(scene, *row) for row in rows], key="story_products", label=scene.text["embedding"], flat=True)
    else:
        from vitcore.figures.story_steps import projection

        chart(
            projection(projected.x_p, projected.filters, projected.bias, scene.mode),
            "story_products",
            scene.say("projection alt"),
        )


def _row(scene: Scene, name: str, formula: str, values: Any, sign: str = "") -> dict[str, Any]:
    return vector(scene.text[name], formula, values, sign=sign, unit=scene.say("of many", count=values.size))


def _read_by(scene: Scene) -> str:
    projected = insights.projected(scene.rec, scene.patch, scene.vit)
    return " other" if projected is None else " hybrid" if scene.vit.hybrid else ""


def _alike(scene: Scene) -> tuple[dict[str, Any], int]:
    import numpy as np

    from vitcore.analysis.position_embeddings import position_similarity

    cosine = position_similarity(scene.embeddings[[scene.patch, *range(scene.rec.grid.patches)]])[0, 1:]
    others = [i for i in range(len(cosine)) if i != scene.patch]
    most, least = max(others, key=cosine.__getitem__), min(others, key=cosine.__getitem__)
    to_right = scene.rec.grid.row_col(scene.patch)[1] < scene.rec.grid.cols - 1
    further = session.embeddings_shifted(scene.rec, 1 if to_right else -1)[scene.patch]
    return {
        "most": most, "alike": cosine[most], "least": least, "unlike": cosine[least],
        "way": scene.text["to the right" if to_right else "to the left"],
        "shifted": position_similarity(np.stack([scene.embeddings[scene.patch], further]))[0, 1],
    }, 0  # fmt: skip


def _positions(scene: Scene) -> None:
    cosine = session.similarity(scene.vit.name)
    one = scene.embeddings[scene.patch]
    if cosine is None:
        vectors([_row(scene, "embedding", "x_{p} E", one)], key="story_sum", label=scene.text["sum"], flat=True)
        return
    from vitcore.models.load_model import positions

    place = positions(scene.vit)[scene.patch]  # type: ignore[index]  # there are some: they were compared
    rows = [("embedding", "x_{p} E", one, ""), ("place", "E_{pos}", place, "+"), ("sum", "z_{0}", one + place, "=")]
    vectors([_row(scene, *row) for row in rows], key="story_sum", label=scene.text["sum"], flat=True)


def _compared(scene: Scene) -> None:
    from vitcore import figures

    if (cosine := session.similarity(scene.vit.name)) is None:
        return
    title = scene.say("tile title")
    chart(figures.tile(cosine, scene.rec.grid, scene.patch, scene.mode, title), "story_tile", title)


def _placed(scene: Scene) -> str:
    """How its positions came about, as the page of positions tells it."""
    if session.similarity(scene.vit.name) is None:
        return " none"
    card = scene.vit.card
    return " interpolated" if card.interpolated else " taught" if card.teacher else "" if card.data else " unknown"


def _neighbour(scene: Scene) -> tuple[dict[str, Any], int]:
    cosine, grid = session.similarity(scene.vit.name), scene.rec.grid
    if cosine is None:
        return {}, 1
    others = cosine[scene.patch].copy()
    others[scene.patch] = -2
    most = int(others.argmax())
    (row, col), (here, there) = grid.row_col(most), grid.row_col(scene.patch)
    near = max(abs(row - here), abs(col - there)) <= 2
    origin = scene.text[f"origin{_placed(scene) or ' learned'}"]
    facts = {"most": most, "alike": others[most], "most_row": row, "most_col": col, "origin": origin}
    return facts, 0 if near else 1


def _sequence(scene: Scene) -> None:
    from vitcore.figures.story_steps import sequence
    from vitcore.forward.block_activations import prefix_token_names

    names = tuple(named(scene, name) for name in prefix_token_names(scene.vit))
    shown = sequence(scene.cuts, scene.rec.grid, names, scene.patch, scene.mode)
    chart(shown, "story_sequence", scene.say("sequence alt"))


def named(scene: Scene, name: str) -> str:
    """A prefix token's name in the visitor's language."""
    kind, _, number = name.partition(" ")
    return f"{scene.text[f'{kind} token']} {number}".strip()


def in_a_sentence(scene: Scene, name: str) -> str:
    """The same as a sentence has it: "the class token", but "register token 0", which is one of some."""
    return named(scene, name) if " " in name else scene.say("the token", name=named(scene, name))


def _prefix(scene: Scene) -> str:
    from vitcore.forward.block_activations import prefix_token_names

    names = prefix_token_names(scene.vit)
    return " bare" if not names else "" if names == ("class",) else " many" if "class" in names else " registers"


def _first(scene: Scene) -> tuple[dict[str, Any], int]:
    from vitcore.forward.block_activations import prefix_token_names

    names = [f"[{named(scene, name)}]" for name in prefix_token_names(scene.vit)]
    return {"names": ", ".join(names)}, 1 if names else 2


def _rows_of_e(scene: Scene) -> int:
    projected = insights.projected(scene.rec, scene.patch, scene.vit)
    return int(scene.facts["numbers"] if projected is None else projected.x_p.size)


def _sizes(scene: Scene) -> None:
    """Which side of E is which: they may be equal."""
    key = "projection hybrid sizes" if _read_by(scene) == " hybrid" else "projection sizes"
    st.caption(scene.say(key, rows_of_e=_rows_of_e(scene)))
    same_width(scene)


def _product(scene: Scene) -> str:
    shape = rf"{_rows_of_e(scene)} \times {scene.facts['width']}"
    return rf"x_p^{{{scene.patch}}} E \in \mathbb{{R}}^D" + "\n" + rf"E \in \mathbb{{R}}^{{{shape}}}"


def _sum(scene: Scene) -> str:
    start = r"x_\mathrm{class};\," if "class" in _names(scene) else ""
    place = "" if session.similarity(scene.vit.name) is None else r" + E_\mathrm{pos}"
    tokens = rf"z_0 = [{start} x_p^1 E;\, \cdots;\, x_p^N E]"
    return (
        f"{tokens}\n{place} \\quad (1)" if place else rf"{tokens} \;\, (1)"
    )  # two lines: a projector's column is narrow


def _names(scene: Scene) -> tuple[str, ...]:
    from vitcore.forward.block_activations import prefix_token_names

    return prefix_token_names(scene.vit)


def _length(scene: Scene) -> str:
    grid, width = scene.rec.grid, scene.facts["width"]
    return rf"z_0 \in \mathbb{{R}}^{{({grid.prefix} + N) \times D}} = \mathbb{{R}}^{{{grid.tokens} \times {width}}}"


STEPS = (
    Step("projection", _product, _projection, _alike, _read_by, beside=_sizes),
    Step("position", _sum, _positions, _neighbour, _placed, shown_after=_compared),
    Step("sequence", _length, _sequence, _first, _prefix),
)
