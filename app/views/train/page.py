"""Train: choose photos and a recipe, see what it costs, start it in a process of its own, and watch the runs there are."""

import streamlit as st

from app import permissions, texts
from app.components.page_style.page_style import scaled_px
from app.shell import query_controls
from app.state.training import runs
from app.views.train import model_kinds, recipe_form, run_panel

text = texts.prose("train")
if permissions.allows("trainings"):
    st.markdown(text["intro"])
recipe_form.show_started_run()
names = {run_panel.NEW_RUN: text["new"]} | {name: name for name in runs.run_ids()}
chosen = query_controls.select_menu(text["run"], names, "run", help=text["run help"], width=420)
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

left, right = st.columns([3, 2], gap="large")
with left:
    st.markdown(f"## {text['what title']}")
    with st.grid(min_column_width=scaled_px(300)):  # below it the menus' words would be cut
        photos = recipe_form.source_input(text)
        preset = recipe_form.preset_menu(text)
    recipe_form.show_preset(preset, text)
    values = recipe_form.field_controls(preset, model_kinds.kind_menu(preset, text), text)
with right, st.container(border=True):
    st.markdown(f"## {text['before title']}")
    recipe = recipe_form.build_recipe(preset, values)
    if isinstance(recipe, str):
        st.error(texts.escape_markdown(recipe[0].upper() + recipe[1:]), icon=":material/error:")
    else:
        recipe_form.show_estimate_and_start(preset, recipe, photos, text)
    st.session_state.pop(recipe_form.PRESSED_FLAG, None)  # not with what is changed later
if runs.run_ids():
    st.markdown(f"## {text['runs title']}")
    run_panel.runs_table(text)
    st.caption(text["table"])
