"""Train: choose photos and a recipe, see the photos as patches and the cost, start it in a process of its own, and watch runs."""

import streamlit as st

from app import permissions, texts
from app.components.figure import picture_container, picture_menus_container
from app.shell import query_controls
from app.state.training import run_status
from app.views.train import recipe_form, run_panel, run_preview
from app.widgets.button_until_done import forget_unhandled_press

text = texts.prose("train")
recipe_form.select_started_run()
menus = picture_menus_container()
names = {run_panel.NEW_RUN: text["new"]} | {name: name for name in run_status.run_ids()}
with menus:
    chosen = query_controls.select_menu(text["run"], names, "run", help=text["run help"], width=220)
if chosen != run_panel.NEW_RUN:
    run_panel.show_run_panel(chosen, text)
    st.stop()

if not permissions.is_allowed("trainings"):
    st.info(f"{permissions.why_not_allowed('trainings')} {text['at home']}", icon=":material/lock:")
    recipe_form.show_preset_description(recipe_form.preset_menu(text), text)
    if run_status.run_ids():
        st.markdown(f"## {text['runs title']}")
        run_panel.show_runs_table(text)
    st.stop()

with menus:
    photos = recipe_form.photo_source_input(text)
with picture_container():
    places = run_preview.make_preview_places()
with places.preset:
    preset = recipe_form.preset_menu(text)
with st.expander(text["settings"], icon=":material/tune:"):
    recipe_form.show_preset_description(preset, text)
    values = recipe_form.recipe_field_controls(preset, recipe_form.model_kind_menu(preset, text), text)
    run_name = recipe_form.run_name_input(preset, text)
recipe = recipe_form.build_recipe(preset, values)
if isinstance(recipe, str):
    places.photos.error(texts.escape_markdown(recipe[0].upper() + recipe[1:]), icon=":material/error:")
else:
    run_preview.show_preview_and_start(places, preset, recipe, photos, run_name, text)
forget_unhandled_press(run_preview.PRESS)  # not with what is changed later
if run_status.run_ids():
    st.markdown(f"## {text['runs title']}")
    run_panel.show_runs_table(text)
    st.caption(text["table"])
