"""Train: choose photos and a recipe, see what it costs, start it in a process of its own, and watch the runs there are."""

import streamlit as st

from app import controls, form, runs, texts, watching

NEW = "a new one"  # no run can have this name, in any language

text = texts.prose("train")
st.markdown(text["intro"])
names = {NEW: text["new"]} | {name: name for name in runs.ids()}
chosen = controls.named(text["run"], names, "run", help=text["run help"], width=420)
if chosen != NEW:
    watching.watched(chosen, text)
    st.stop()

left, right = st.columns([3, 2], gap="large")
with left:
    st.markdown(f"## {text['what title']}")
    one, two = st.columns(2)
    with one:
        photos = form.source(text)
    with two:
        preset = form.preset(text)
    said = form.about(preset)
    with st.container(border=True):
        st.markdown(controls.verbatim(said.pop("what")))
        for part, words in said.items():
            st.markdown(
                f"**{text[f'about {part.lower()}']}** "
                + (f"`{words}`" if part == "Command" else controls.verbatim(words))
            )
    values = form.fields(preset, text)
with right, st.container(border=True):
    st.markdown(f"## {text['before title']}")
    recipe = form.recipe(preset, values)
    if isinstance(recipe, str):
        st.error(controls.verbatim(recipe[0].upper() + recipe[1:]), icon=":material/error:")
    else:
        form.before(preset, recipe, photos, text)
if runs.ids():
    st.markdown(f"## {text['runs title']}")
    watching.table(text)
    st.caption(text["table"])
