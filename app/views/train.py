"""Train: choose photos and a recipe, see what it costs, start it in a process of its own, and watch the runs there are."""

import streamlit as st

from app import controls, form, runs, texts, watching

NEW = "a new one"  # no run can have this name

text = texts.prose("train")
st.markdown(text["intro"])
chosen = st.selectbox("Run", [NEW, *runs.ids()], key="run", bind="query-params", help=text["run help"], width=420)
if chosen != NEW:
    watching.watched(chosen, text)
    st.stop()

left, right = st.columns([3, 2], gap="large")
with left:
    st.markdown("#### What is learned, from what")
    one, two = st.columns(2)
    with one:
        photos = form.source()
    with two:
        preset = form.preset()
    said = form.about(preset)
    with st.container(border=True):
        st.markdown(controls.verbatim(said.pop("what")))
        for part, words in said.items():
            st.markdown(f"**{part}.** " + (f"`{words}`" if part == "Command" else controls.verbatim(words)))
    values = form.fields(preset)
with right, st.container(border=True):
    st.markdown("#### Before it starts")
    recipe = form.recipe(preset, values)
    if isinstance(recipe, str):
        st.error(controls.verbatim(recipe[0].upper() + recipe[1:]), icon=":material/error:")
    else:
        form.before(preset, recipe, photos, text)
if runs.ids():
    st.markdown("#### Runs on this machine")
    watching.table()
    st.caption(text["table"])
