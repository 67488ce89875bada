"""Both models side by side as a handout, to take along, and the shell's command for the same."""

from functools import partial
from urllib.parse import urlencode

import streamlit as st

from app import texts
from app.components.copyable_text.copyable_text import copyable_text
from app.components.figure import download_button, in_visitors_language
from app.shell import copy_link
from app.state import reports
from app.state.model_ref import ModelRef
from app.state.photos import uploaded_photo
from app.views.compare.model_pair import ModelPair
from app.widgets import outlier_masking
from vitcore.report.report_settings import ReportOrigin

# What a link to the page carries beside the picture's own settings:
ADDRESS_KEYS = ("photo", "model", "b", "b_photo", "b_px", "picture")


def comparison_handout_button(pair: ModelPair) -> None:
    """The file, made when it is asked for, and the shell's command for the same."""
    from vitcore.report.comparison_handout import comparison_command

    text = pair.texts
    if pair.comparison is None:
        return
    origin = ReportOrigin(
        address=_comparison_link(), lacking=copy_link.link_limits_sentence(texts.prose("report"), "compare"), lang=texts.language()
    )
    refs = [ModelRef.parse(vit.name) for vit in pair.vits]
    with st.expander(text["take title"], icon=":material/print:"):
        st.markdown(text["take about"])
        samples = pair.sample, pair.second.sample
        made = partial(reports.comparison_handout, pair.key, pair.model_names, origin, samples, outlier_masking.is_masking_on())
        names = "compare", *pair.file_subjects("a", "b")
        download_button(
            text["take get"], in_visitors_language(made), "html", names, key="compare_html", icon=":material/print:", type="primary"
        )
        if not refs[1].variant:
            st.caption(text["take shell"])
            photos = ["photo.jpg"] if pair.of_one_photo else ["photo-a.jpg", "photo-b.jpg"]
            masked = outlier_masking.is_masking_on()
            copyable_text(comparison_command(refs[0].name, refs[1].name, *photos, mask_outliers=masked), key="shell")


def _comparison_link() -> str:
    """Where this comparison is in this app, without photos of the visitor's own; empty when nobody knows."""
    here, state = st.context.url, st.session_state
    given = {key: str(state[key]) for key in ADDRESS_KEYS if state.get(key) and state[key] not in uploaded_photo.KINDS}
    given |= {outlier_masking.QUERY_KEY: "true"} if outlier_masking.is_masking_on() else {}
    return here.partition("?")[0] + f"?{urlencode(given)}" if here else ""
