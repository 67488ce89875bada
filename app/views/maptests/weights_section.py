"""The sanity check: what is left of each map as the weights become random, from the classifier down."""

from functools import partial

import streamlit as st

from app import texts
from app.components.figure import figure
from app.components.page_style.page_style import page_size
from app.state.jobs import map_tests
from app.state.visit.visit import Visit
from app.views.maptests.run_button import run_button


def show_weights(visit: Visit) -> None:
    """The chart, of this photo or of those that ship, a sentence on maps that do not change, and the button."""
    text, rec, vit = visit.texts, visit.recording, visit.vit
    tests, is_own = map_tests.weights_or_none(rec, vit)
    if tests:
        drawn, sentence = map_tests.weights_drawing(tests, visit.mode, bool(page_size().narrow))
        of = text["of this photo"] if is_own else text.fill("of the gallery", count=len(tests))
        st.markdown(texts.escape_markdown(text.joined((sentence, of))))
        figure(drawn, "weights", text["weights alt"], text["weights how"], text["weights limits"], subjects=visit.subjects,
               **map_tests.correlations(tests))  # fmt: skip
    else:
        st.caption(text["weights how"])
    if not is_own:
        run_button("weights", text["test weights"], partial(map_tests.photo_weights, rec, vit), text)
