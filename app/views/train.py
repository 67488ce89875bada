"""Train: choose photos and a recipe, see what it costs, start it in a process of its own, and watch the runs there are."""

import streamlit as st

from app import controls, form, mode, runs, texts, watching

text = texts.prose("train")
if mode.allows("trainings"):
    st.markdown(text["intro"])
names = {watching.NEW: text["new"]} | {name: name for name in runs.ids()}
chosen = controls.named(text["run"], names, "run", help=text["run help"], width=420)
if chosen != watching.NEW:
    watching.watched(chosen, text)
    st.stop()

if not mode.allows("trainings"):
    st.info(f"{mode.why('trainings')} {text['at home']}", icon=":material/lock:")
    form.told(form.preset(text), text)
    if runs.ids():
        st.markdown(f"## {text['runs title']}")
        watching.table(text)
    st.stop()

left, right = st.columns([3, 2], gap="large")
with left:
    st.markdown(f"## {text['what title']}")
    one, two = st.columns(2)
    with one:
        photos = form.source(text)
    with two:
        preset = form.preset(text)
    form.told(preset, text)
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
