"""The landing page: a finished picture at once, three doors, and the paper's pictures of the photo, each a door to its page."""

import streamlit as st

from app import texts
from app.components.picture.picture import picture, scale_bar
from app.furniture import controls, model_card, photo_names
from app.state import session
from app.views.overview.door import door
from app.views.overview.landing_picture import doors_of_model, doors_of_photo, few_blocks, picture_of, shipped
from vitcore.models.cards import DEFAULT
from vitcore.translation import percent, say

text, mode = texts.prose("overview"), controls.theme()


def paint(drawn: dict) -> None:
    """The first picture, its title, its scale and its words."""
    readout = say(drawn["readout"])
    st.header(title := text["rollout title"].format(readout=readout), anchor=False)
    picture(
        drawn["image"], drawn["rows"], drawn["cols"], drawn["cell"], key="gathered_first", label=title, target="_touched",
        overlay=drawn["overlay"], opacity=0.6, values=drawn["values"], unit=text["rollout value"], lines=False,
    )  # fmt: skip
    unit = text["rollout or more" if drawn["more"] else "rollout unit"]
    scale_bar(drawn["colours"], "0", f"{drawn['top']:.3g}", unit, key="first_scale")
    said = [text[key].format(label=controls.verbatim(label), share=percent(share))
            for key, (label, share) in zip(("answered", "runner-up"), drawn["answer"], strict=False)]  # fmt: skip
    st.markdown(text.joined(said))
    patch = max(range(len(drawn["values"])), key=drawn["values"].__getitem__)
    row, col = divmod(patch, drawn["cols"])
    share, even = (f"{value:.3g}" for value in (drawn["values"][patch], sum(drawn["values"]) / len(drawn["values"])))
    st.markdown(text["strongest"].format(patch=patch, row=row, col=col, share=share, even=even))
    photo_names.by_imagenet([label for label, _ in drawn["answer"]])
    model_card.weak(drawn["model"])
    st.caption(text["rollout"].format(readout=readout))
    model_card.looked(drawn["model"])
    st.page_link("views/rollout/page.py", label=text["rollout link"], icon=":material/arrow_forward:")


st.markdown(text["intro"])
said = st.container()
look, ways = st.columns([3, 2], gap="large")
first = look.container()  # where what is computed is waited for, whether or not it is: what comes after keeps its place
if ready := shipped(st.session_state.get("model") or DEFAULT, st.session_state.get("photo")):
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
with below if ready else first, st.skeleton(height=560) if begins else st.container(), said:
    vit, photo, rec = controls.current(controls.LAST)
    if (touched := st.session_state.pop("_touched", None)) is not None:  # a patch of the first picture
        st.session_state["token"] = token = rec.grid.prefix + touched
        st.switch_page("views/attention/page.py", query_params={"token": str(token)})
    place, lang = (vit.name, photo.key, mode), texts.language()
    if not vit.is_global:
        look.info(controls.verbatim(vit.why_not(text["rollout what"])), icon=":material/info:")
    elif not ready:
        shown = session.shown(vit.name, photo.key, photo, rec)[0]
        ready = session.kept("first", *place, lang, lambda: picture_of(rec, photo.key, vit.readout, shown))
        with look:
            paint(ready)
    of_photo = session.kept("photo", *place, lang, lambda: doors_of_photo(vit, rec, mode))
    of_model = session.kept("model", vit.name, "", mode, lang, lambda: doors_of_model(vit, mode))
facts = {"readout": controls.readout(vit), "layers": ", ".join(map(str, few_blocks(rec))), "near": of_model["near"]}
st.header(text["doors title"])
st.markdown(text["doors"])
with st.grid(3, min_column_width=300, gap="medium"):
    for slug in ("patches", "attention", "positions", "filters", "distance", "answer"):
        door(slug, (of_photo | of_model).get(slug), facts, vit, text)
st.caption(text["paper"])
