"""The landing page: a finished picture at once, three doors, and the paper's pictures of the photo, each a door to its page."""

import streamlit as st

from app import texts
from app.components import page_theme
from app.shell import current_visit, photo_picker, selection
from app.state import landing_figures
from app.views.overview.page_preview import page_preview
from app.views.overview.rollout_picture import show_rollout
from app.widgets import outlier_masking
from vitcore.models.model_cards import DEFAULT_MODEL

text, mode = texts.prose("overview"), page_theme.current()
st.markdown(text["intro"])
intro_place = st.container()
picture_column, doors_column = st.columns([3, 2], gap="large")
first = picture_column.container()  # where what is computed is waited for, whether or not it is: what comes after keeps its place
ready = (
    None
    if outlier_masking.is_on()
    else landing_figures.precomputed_picture(st.session_state.get("model") or DEFAULT_MODEL, st.session_state.get("photo"))
)
if ready:
    with picture_column:
        show_rollout(ready)
for way, icon in {"own": "add_photo_alternate", "story": "auto_stories", "learn": "movie"}.items():
    with doors_column.container(border=True):
        st.header(f":material/{icon}: {text[way]}", anchor=False)
        st.markdown(text[f"{way} why"])
        if way == "own":
            photo_picker.uploader("own_file")
        elif st.button(text[f"{way} link"], key=f"door_{way}", icon=":material/arrow_forward:", type="primary"):
            st.switch_page(f"views/{way}/page.py", query_params={})  # unsaid, Streamlit refuses to drop bound ones
entered = st.session_state.get("_page") != "overview"  # later the pictures there were stay until there are others
below = st.container()
figures_place = below if ready else first
status_place = figures_place.container()  # where it is said that a model is loaded: not above a picture that is there
with figures_place, st.skeleton(height=560) if entered else st.container(), intro_place:
    visit = current_visit.load_visit(text, current_visit.LAST_BLOCK, status_place=status_place)
    vit = visit.vit
    if (touched := st.session_state.pop("_touched", None)) is not None:  # a patch of the first picture
        st.switch_page("views/attention/page.py", query_params={selection.PATCH: str(touched)})
    read, lang = outlier_masking.recording_to_show(visit), texts.language()
    if not vit.is_global:
        picture_column.info(texts.escape_markdown(vit.why_undefined(text["rollout what"])), icon=":material/info:")
    elif not ready:
        shown, photo = visit.input_picture, visit.photo
        ready = landing_figures.cached_figures(
            "first", read, mode, lang, lambda: landing_figures.rollout_picture(read, photo.key, vit.pooling, shown)
        )
        with picture_column:
            show_rollout(ready)
    of_photo = landing_figures.cached_figures("photo", read, mode, lang, lambda: landing_figures.photo_previews(vit, read, mode))
    of_model = landing_figures.cached_figures("model", vit.name, mode, lang, lambda: landing_figures.model_previews(vit, mode))
facts = {
    "readout": visit.readout,
    "layers": ", ".join(map(str, landing_figures.sampled_blocks(visit.recording))),
    "near": of_model["near"],
}
st.header(text["doors title"])
st.markdown(text["doors"])
with st.grid(3, min_column_width=300, gap="medium"):
    for slug in ("patches", "attention", "positions", "filters", "distance", "answer"):
        page_preview(slug, (of_photo | of_model).get(slug), facts, vit, text, of_photo.get(f"{slug} outliers", ""))
st.caption(text["paper"])
