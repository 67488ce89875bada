"""The landing page: a finished picture at once, three doors, and the paper's pictures of the photo, each a door to its page."""

import streamlit as st

from app import selection, texts
from app.furniture import controls, outliers
from app.state import session
from app.views.overview.door import door
from app.views.overview.first_picture import paint
from app.views.overview.landing_picture import doors_of_model, doors_of_photo, few_blocks, picture_of, shipped
from vitcore.models.model_cards import DEFAULT

text, mode = texts.prose("overview"), controls.theme()
st.markdown(text["intro"])
said = st.container()
look, ways = st.columns([3, 2], gap="large")
first = look.container()  # where what is computed is waited for, whether or not it is: what comes after keeps its place
ready = None if outliers.on() else shipped(st.session_state.get("model") or DEFAULT, st.session_state.get("photo"))
if ready:
    with look:
        paint(ready)
for way, icon in {"own": "add_photo_alternate", "story": "auto_stories", "learn": "movie"}.items():
    with ways.container(border=True):
        st.header(f":material/{icon}: {text[way]}", anchor=False)
        st.markdown(text[f"{way} why"])
        if way == "own":
            controls.uploader("own_file")
        elif st.button(text[f"{way} link"], key=f"door_{way}", icon=":material/arrow_forward:", type="primary"):
            st.switch_page(f"views/{way}/page.py", query_params={})  # unsaid, Streamlit refuses to drop bound ones
begins = st.session_state.get("_page") != "overview"  # later the pictures there were stay until there are others
below = st.container()
late = below if ready else first
waits = late.container()  # where it is said that a model is loaded: not above a picture that is there
with late, st.skeleton(height=560) if begins else st.container(), said:
    vit, photo, rec = controls.current(controls.LAST, waits=waits)
    if (touched := st.session_state.pop("_touched", None)) is not None:  # a patch of the first picture
        st.switch_page("views/attention/page.py", query_params={selection.PATCH: str(touched)})
    read, lang = outliers.read(vit, rec), texts.language()
    if not vit.is_global:
        look.info(controls.verbatim(vit.why_not(text["rollout what"])), icon=":material/info:")
    elif not ready:
        shown = session.shown(rec)[0]
        ready = session.kept("first", read, mode, lang, lambda: picture_of(read, photo.key, vit.readout, shown))
        with look:
            paint(ready)
    of_photo = session.kept("photo", read, mode, lang, lambda: doors_of_photo(vit, read, mode))
    of_model = session.kept("model", vit.name, mode, lang, lambda: doors_of_model(vit, mode))
facts = {"readout": controls.readout(vit), "layers": ", ".join(map(str, few_blocks(rec))), "near": of_model["near"]}
st.header(text["doors title"])
st.markdown(text["doors"])
with st.grid(3, min_column_width=300, gap="medium"):
    for slug in ("patches", "attention", "positions", "filters", "distance", "answer"):
        door(slug, (of_photo | of_model).get(slug), facts, vit, text, of_photo.get(f"{slug} outliers", ""))
st.caption(text["paper"])
