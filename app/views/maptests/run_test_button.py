"""The button that runs a test of maps on this photo, and its progress."""

from collections.abc import Callable

import streamlit as st

from app import texts
from app.state.jobs.map_test_jobs import Progress
from app.state.memory import memory_cache
from app.texts import Prose
from vitcore.models.model_cards import ModelError


def run_test_button(key: str, label: str, compute: Callable[[Progress], object], text: Prose) -> None:
    """The button; when it is pressed, progress in its place, then the page is drawn anew with what was computed.

    Whatever else a visitor does meanwhile ends the test: the next word of its progress is where Streamlit stops the run.
    """
    common = texts.prose("common")
    if not st.session_state.pop(f"_run_{key}", False):
        st.button(label, key=f"run_{key}", icon=":material/play_arrow:",
                  on_click=st.session_state.update, kwargs={f"_run_{key}": True})  # fmt: skip
        return
    bar = st.progress(0.0, text["begun"])
    st.button(common["stop"], key=f"stop_{key}", icon=":material/stop:")
    try:
        compute(lambda done, count: bar.progress(done / count, text.fill("done", done=done, count=count)))
    except memory_cache.MemoryBudgetError:
        st.warning(common["no room now"], icon=":material/memory:")
        return
    except ModelError as error:
        st.info(texts.escape_markdown(str(error)), icon=":material/info:")
        return
    st.rerun()
