"""Train: choose photos and a recipe, see the photos as patches and the cost, start it in a process of its own, and watch runs."""

import streamlit as st

from app import permissions, texts
from app.components.figure import lead, setters
from app.shell import query_controls
from app.state.training import runs
from app.views.train import recipe_form, run_panel, run_preview
from app.widgets.held_button import forget_press

text = texts.prose("train")
recipe_form.show_started_run()
menus = setters()
names = {run_panel.NEW_RUN: text["new"]} | {name: name for name in runs.run_ids()}
with menus:
    chosen = query_controls.select_menu(text["run"], names, "run", help=text["run help"], width=220)
if chosen != run_panel.NEW_RUN:
    run_panel.show_run(chosen, text)
    st.stop()

if not permissions.allows("trainings"):
    st.info(f"{permissions.why_not('trainings')} {text['at home']}", icon=":material/lock:")
    recipe_form.show_preset(recipe_form.preset_menu(text), text)
    if runs.run_ids():
        st.markdown(f"## {text['runs title']}")
        run_panel.runs_table(text)
    st.stop()

with menus:
    photos = recipe_form.source_input(text)
with lead():
    places = run_preview.place_parts()
with places.preset:
    preset = recipe_form.preset_menu(text)
with st.expander(text["settings"], icon=":material/tune:"):
    recipe_form.show_preset(preset, text)
    values = recipe_form.field_controls(preset, recipe_form.kind_menu(preset, text), text)
    run_name = recipe_form.run_name_input(preset, text)
recipe = recipe_form.build_recipe(preset, values)
if isinstance(recipe, str):
    places.photos.error(texts.escape_markdown(recipe[0].upper() + recipe[1:]), icon=":material/error:")
else:
    run_preview.show_preview_and_start(places, preset, recipe, photos, run_name, text)
forget_press(run_preview.PRESS)  # not with what is changed later
if runs.run_ids():
    st.markdown(f"## {text['runs title']}")
    run_panel.runs_table(text)
    st.caption(text["table"])
