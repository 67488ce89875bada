"""Does a map stay with its object: a table of rank correlations, the photo changed a little, or the class."""

from functools import partial

import streamlit as st

from app.components.figure import explain
from app.state.jobs import map_tests
from app.state.visit.visit import Visit
from app.views.maptests.run_button import run_button

CHANGES = ("shift", "mirror", "jpeg", "class")


def show_stability(visit: Visit) -> None:
    """The table, of this photo or of those that ship, and the button."""
    from vitcore.faithfulness.method_maps import asks_class, map_title
    from vitcore.faithfulness.stability import JPEG_QUALITY

    text, rec, vit = visit.texts, visit.recording, visit.vit
    found, photos = map_tests.stability_or_none(rec, vit)
    if found:
        st.markdown(text.fill("of the gallery", count=photos) if photos else text["of this photo"])
        columns = {text["method"]: [map_title(name) for name in found]}
        for one in CHANGES:
            asked = [one != "class" or asks_class(name) for name in found]
            columns[text[f"change.{one}"]] = [
                _written(values[one]) if known else "" for values, known in zip(found.values(), asked, strict=True)
            ]
        st.dataframe(columns, hide_index=True, alt=text["stability alt"])
    explain(text["stability how"].format(quality=JPEG_QUALITY), text["stability limits"])
    if photos or not found:
        run_button("stability", text["test stability"], partial(map_tests.photo_stability, rec, vit), text)


def _written(value: float) -> str:
    return f"{value:.2f}" if value == value else "–"
