"""Position embeddings: one tile of cosine similarities per position (Fig. 7 centre), and their interpolation (§3.2)."""

from functools import partial

import streamlit as st

from app import texts
from app.components.figure import picture_container, show_downloads, show_drawing, show_explanation_fold, text_before_picture
from app.shell import copy_link, load_page_visit, query_controls
from app.state.models import model_weights
from app.views.positions import interpolation, position_sentences, relative_positions
from app.widgets.position_tiles import show_position_tiles, tile_step
from vitcore import figures
from vitcore.translation import decimal

text = texts.prose("positions")
text_before_picture(text["intro"])
visit = load_page_visit.load_visit(text)
vit, grid, mode = visit.vit, visit.grid, visit.mode
by_hand = "interpolated" if vit.card.interpolated else "interpolated taught" if vit.card.teacher else ""

cosine = model_weights.position_similarity(vit.name)
relative_positions.show_relative_positions(visit, has_table=cosine is not None)
if cosine is None:
    if not vit.is_global:
        st.info(text["none part"].format(rows=grid.rows, cols=grid.cols))
    st.stop()
if getattr(vit.module, "positions_at", "stem") == "blocks":
    st.caption(text["every block"])
with text_before_picture(key="aside_found"):
    position_sentences.show_grid_sentences(vit.name, text)
with picture_container(), st.container(key="positions"):  # below each other where one would be too narrow to read: `page_style.css`
    left, right = st.columns([3, 2], gap="large")
with right:
    chosen = query_controls.patch_input(text["position"], grid)
    copy_link.offer_handout(pin=chosen)
    show_drawing(figures.position_similarity_tile(cosine, grid, chosen, mode), "tile", text["tile alt"])
    position_sentences.show_position_sentences(cosine, chosen, vit, text)
    show_downloads(
        partial(figures.position_similarity_tile, cosine, grid, chosen, mode), "tile", text["tile"],
        subjects=visit.subjects[1:], file_stem=f"position {chosen}", cosine=cosine[chosen],
    )  # fmt: skip
with left:
    tiles, step = st.container(), tile_step(grid)
    if step > 1 and st.toggle(text["all tiles"].format(count=grid.patches), key="all_tiles", bind="query-params"):
        step = 1
    with tiles:
        show_position_tiles(
            vit, chosen, text["tiles"], text["cosine"], "tiles", key="touch", scale_key="positions_scale", step=step, enlarge=True
        )
    with st.container(horizontal=True):
        show_explanation_fold(
            text.join_sentences([text["how"], text["tile"]]),
            text.join_sentences([text["limits"], *([text[by_hand]] if by_hand else [])]),
        )
        show_downloads(
            partial(figures.position_similarity, cosine, grid, mode), "positions", text["how"], subjects=visit.subjects[1:],
            cosine=cosine,
        )  # fmt: skip
    if st.toggle(text["untrained"], key="untrained", bind="query-params"):
        noise = model_weights.random_position_cosines(grid.patches, vit.module.embed_dim)
        about = text["untrained about"].format(correlation=decimal(model_weights.correlation_with_distance(noise, grid), 2))
        show_drawing(figures.position_similarity(noise, grid, mode, about, 450), "untrained_tiles", text["untrained"])
        show_explanation_fold(text["untrained how"].format(**{"and": text["and interpolation"] if by_hand else ""}))

st.markdown(f"## {text['other title']}")
interpolation.show_interpolation(vit.name, grid, chosen, mode, text)
