"""Embedding filters: the principal components of the kernel that reads a patch (Fig. 7 left)."""

import streamlit as st

from app import texts
from app.components.figure import (
    figure,
    picture_container,
    show_downloads,
    show_drawing,
    show_explanation_fold,
    text_before_picture,
)
from app.shell import load_page_visit, query_controls
from app.state.models import model_weights
from app.state.recordings import cached_recordings
from app.views.filters import clicked_filter, filter_sentences
from vitcore import figures
from vitcore.figures.theme_colours import pixels_to_data_uri
from vitcore.translation import percent, say

text = texts.prose("filters")
text_before_picture(text["intro"])
visit = load_page_visit.load_visit(text)
vit, rec, mode = visit.vit, visit.recording, visit.mode

components = model_weights.filter_components(vit.name)
if components is None:
    st.info(text["none"])
    st.stop()
rooted = vit.hybrid or vit.patches is None
if rooted:
    st.info(text["hybrid" if vit.hybrid else "network"])
most = len(components.variance)
grid, found = picture_container(), text_before_picture(key="aside_found")
with st.container(horizontal=True, vertical_alignment="bottom"):
    count = query_controls.slider(text["components"], "components", 1, min(most, 98), min(28, most), width=300)
    scale = query_controls.button_row(text, "scale", ["symmetric", "minmax"], help=text["scale help"])
subject = text["root"] if rooted else text["subject"]
if (bands := components.vectors.shape[-1]) != 3:
    subject = say("Embedding filters, {count} bands side by side", count=bands)
tiles, looks = model_weights.component_tiles(components, count, scale), []
needed = model_weights.components_needed(components)
found.markdown(text["needed"].format(share=percent(needed.share, 0), most=needed.share_count, all=most, half=needed.half_count))
if bands == 3:
    looks = filter_sentences.filter_descriptions(vit.name, count)
    filter_sentences.show_first_filter_descriptions(text, vit.name, components, looks)
large, small = grid.columns([3, 1], gap="large")
with small:
    tile = st.container()
    if (asked := st.session_state.pop("_component", None)) is not None:
        st.session_state["component"] = asked
    one = query_controls.slider(text["component"], "component", 1, count, 1)
    number = filter_sentences.variance_facts(components, one)
    with tile:
        show_drawing(figures.filter_component(tiles[one - 1], one, mode), "component_one", text["one alt"].format(**number))
    about = [text["one first" if one == 1 else "one"].format(**number)]
    about += [text["looks like"].format(look=look) for look in looks[one - 1 : one]]
    st.markdown(text.join_sentences(about))
with large:
    fig = figures.filters(tiles, components.variance, mode, subject, touch=True, pattern_words=looks)
    how = text["how"].format(zero=text[f"zero {scale}"])
    show_drawing(fig, "filters", text.fill("alt", count=count), on_click=clicked_filter.remember_clicked_filter)
    with st.container(horizontal=True):
        show_explanation_fold(f"{how}\n\n{text['kinds']}", text["limits"])
        show_downloads(lambda: fig, "filters", how, subjects=visit.subjects[1:],
                  components=components.vectors, variance=components.variance)  # fmt: skip
figure(figures.scree_plot(components.variance, count, mode), "scree", text["scree alt"], text["scree"],
       subjects=visit.subjects[1:], variance=components.variance)  # fmt: skip

if not rooted and vit.bands == 3:  # what is built again is looked at
    st.markdown(f"## {text['rebuild title']}")
    k = query_controls.slider(text["k"], "k", 1, most, min(28, most))
    rebuilt = cached_recordings.rebuild_input_from_filters(rec, k)
    shares = {"variance": percent(components.variance_share(k)), "kept": percent(rebuilt.variance_share)}
    before, after = st.columns(2, gap="large")
    before.image(pixels_to_data_uri(rec.model_input.pixels), text["seen"], width="stretch", alt=text["seen alt"])
    told = text["rebuilt"].format(k=k, most=most, rmse=rebuilt.rmse, kept=shares["kept"])
    after.image(pixels_to_data_uri(rebuilt.pixels), told, width="stretch", alt=text["rebuilt alt"])
    show_explanation_fold(text.join_sentences((text["rebuild"], text.fill("two shares", k=k, **shares))))
