"""Compare: two models on one photo, any picture of both on one scale, how they differ, and a number for each (REFERENCE §5)."""

from collections.abc import Callable

import streamlit as st

from app import texts
from app.components.figure import aside
from app.furniture import controls
from app.state.beside import comparisons
from app.views.compare import charts, maps, pickers, take

text = texts.prose("compare")
aside(text["intro"])
vit, photo, rec = controls.current(record=comparisons.recording)
two = pickers.chosen(text, vit, photo, rec)
shown: dict[str, Callable] = {"filters": charts.filters, "positions": charts.positions, "answers": charts.answers}
if two.comparison:
    shown = {
        "rollout": maps.rollout,
        "attention": maps.attention,
        "distance": charts.distance,
        "tokens": charts.tokens,
    } | shown
else:
    for one in two.vits:
        if not one.is_global:
            controls.not_defined(one, text["what"])
if st.session_state.get("picture", "rollout") not in shown:
    st.session_state["picture"] = next(iter(shown))
names = "&emsp;".join(f"**{key}** {controls.verbatim(name)}" for key, name in zip("AB", two.names, strict=True))
with aside(names, key="aside_numbers"):
    take.numbers(two)
picture = controls.choice(text, "picture", list(shown), width="stretch")
shown[picture](two, two.comparison)
take.taught(two)
take.handout(two)
