"""Train: choose photos and a recipe, see what it costs, start it in a process of its own, and watch the runs there are."""

import streamlit as st

from app import mode, texts
from app.components.lecture.lecture import wide
from app.furniture import controls
from app.state import runs
from app.views.train import kinds, recipe_form, run_panel

text = texts.prose("train")
if mode.allows("trainings"):
    st.markdown(text["intro"])
recipe_form.turn_to_the_started()
names = {run_panel.NEW: text["new"]} | {name: name for name in runs.ids()}
chosen = controls.named(text["run"], names, "run", help=text["run help"], width=420)
if chosen != run_panel.NEW:
    run_panel.watched(chosen, text)
    st.stop()

if not mode.allows("trainings"):
    st.info(f"{mode.why('trainings')} {text['at home']}", icon=":material/lock:")
    recipe_form.told(recipe_form.preset(text), text)
    if runs.ids():
        st.markdown(f"## {text['runs title']}")
        run_panel.table(text)
    st.stop()

left, right = st.columns([3, 2], gap="large")
with left:
    st.markdown(f"## {text['what title']}")
    with st.grid(min_column_width=wide(300)):  # below it the menus' words would be cut
        photos = recipe_form.source(text)
        preset = recipe_form.preset(text)
    recipe_form.told(preset, text)
    values = recipe_form.fields(preset, kinds.choose(preset, text), text)
with right, st.container(border=True):
    st.markdown(f"## {text['before title']}")
    recipe = recipe_form.recipe(preset, values)
    if isinstance(recipe, str):
        st.error(controls.verbatim(recipe[0].upper() + recipe[1:]), icon=":material/error:")
    else:
        recipe_form.before(preset, recipe, photos, text)
    st.session_state.pop(recipe_form.ASKED, None)  # not with what is changed later
if runs.ids():
    st.markdown(f"## {text['runs title']}")
    run_panel.table(text)
    st.caption(text["table"])
