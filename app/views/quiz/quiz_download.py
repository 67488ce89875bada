"""The quiz as a page to give along: the file, the shell's command for it, and the link that opens the same quiz."""

from functools import partial

import streamlit as st

from app import texts
from app.components.copyable_text.copyable_text import copyable_text
from app.components.figure import download_button, in_visitors_language
from app.shell import copy_link
from app.state import reports
from app.state.models import uploaded_model
from app.state.photos import uploaded_photo
from app.state.visit.visit import Visit
from vitcore.report.report_settings import ReportOrigin


def quiz_handout_button(visit: Visit, seed: int, mask_outliers: bool) -> None:
    """The file, made when it is asked for, and the shell's command for the same."""
    from vitcore.quiz.quiz_handout import quiz_command

    text, vit, photo = visit.texts, visit.vit, visit.photo
    lacking = copy_link.link_limits_sentence(texts.prose("report"), "quiz")
    settings: dict[str, object] = {"quiz_seed": seed} | ({"photo": uploaded_photo.PHOTO_ID} if photo.whose else {})
    origin = ReportOrigin(address=copy_link.page_url(settings), lacking=lacking, lang=texts.language())
    with st.expander(text["take title"], icon=":material/print:"):
        st.markdown(text["take about"])
        made = partial(reports.quiz_handout, vit.name, photo.key, seed, visit.sample, origin, mask_outliers)
        names = f"quiz-{seed}", *visit.subjects
        download_button(text["take get"], in_visitors_language(made), "html", names, key="quiz_html", icon=":material/print:")
        if st.session_state.get("model") != uploaded_model.MODEL_ID:
            st.caption(text["take shell"])
            copyable_text(
                quiz_command(photo.name if photo.whose else f"assets/samples/{photo.name}", vit.display_name, seed, mask_outliers),
                key="shell",
            )
