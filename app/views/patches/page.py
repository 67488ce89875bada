"""Patches: the photo cut into its grid; one patch followed from pixels to its place in the sequence; the shuffle."""

from functools import partial

import streamlit as st

from app import texts
from app.components.copyable_text.copyable_text import copyable_text
from app.components.figure import picture_container, show_downloads, show_drawing, show_explanation_fold, text_before_picture
from app.components.picture.picture import picture
from app.shell import copy_link, load_page_visit, query_controls
from app.state.recordings import cached_recordings, photo_patches
from app.views.patches import identical_patches, shuffle_question
from vitcore import figures
from vitcore.figures.patches import patch_area_text
from vitcore.images import crop_sentence

text = texts.prose("patches")
text_before_picture(text["intro"])
visit = load_page_visit.load_visit(text)
vit, rec, mode = visit.vit, visit.recording, visit.mode

if vit.patches is None:
    st.info(text["no patches"])
    st.stop()
grid = vit.patches
high, wide = grid.image_px
cuts, embeddings = photo_patches.split_patches(rec, grid), cached_recordings.patch_embeddings(rec)
left, right = picture_container().columns([3, 2], gap="large")
photo_place = left.container()
with left.container(horizontal=True, vertical_alignment="bottom"):
    gutter = query_controls.slider(text["gutter"], "gutter", 0, 8, 1, width=160)
    chosen = query_controls.patch_input(text["patch"], grid, width=140, help=text["from 0"])
    mixed = st.toggle(text["mix"], key="shuffle", bind="query-params")
question_place = left.container()
with left:
    seed = query_controls.number_input(text["seed"], "seed", 100, width=140, help=text["seed help"]) if mixed else 0
order = photo_patches.shuffled_patch_order(grid.patches, seed) if mixed else None
if order is not None and rec.labels:
    with question_place:  # beside the switch
        shuffle_question.show_shuffle_question(visit, seed)

copy_link.offer_handout(pin=chosen if (grid.rows, grid.cols) == (visit.grid.rows, visit.grid.cols) else None)

with photo_place:
    picture(
        visit.photo_url, grid.rows, grid.cols, grid.step_px, key="split", label=text["split"],
        target="patch", selected=chosen, gutter_px=gutter, order=None if order is None else order.tolist(),
    )  # fmt: skip
with left:
    st.markdown(text["count"].format(high=high, wide=wide, area=patch_area_text(grid), count=grid.patches))
    st.caption(identical_patches.token_count_sentence(visit, grid.patches, text))
    with st.container(horizontal=True):
        show_explanation_fold(text["how"])
        show_downloads(
            partial(figures.patches, rec.model_input.pixels, grid, gutter, mode), "patches", text["printed"],
            subjects=visit.subjects, patches=cuts, embeddings=embeddings,
        )  # fmt: skip
with right:
    row, col = grid.row_col(chosen)
    slot = shuffle_question.slot_of_patch(order, chosen)
    st.markdown(f"**{text['chosen'].format(patch=chosen, row=row, col=col)}**")
    drawn = figures.patch_and_embedding(cuts[chosen], embeddings[chosen], grid, slot, mode)
    show_drawing(drawn, "one_patch", text["one alt"].format(patch=chosen))
    if order is not None:
        st.markdown(shuffle_question.current_slot_sentence(order, chosen, grid, text))
    with st.expander(text["from pixels"]):
        story = text["one hybrid" if vit.hybrid else "one"]
        st.caption(story.format(n=cuts[chosen].size, d=embeddings.shape[1], place=grid.prefix + slot, patch=chosen,
                                last=grid.tokens - 1, before=identical_patches.prefix_phrase(visit, text)))  # fmt: skip
        identical_patches.show_identical_patches(vit, cuts, chosen, embeddings.shape[1], text)
    with st.expander(text["numbers"].format(count=cuts[chosen].size)):
        copyable_text(" ".join(map(str, cuts[chosen].ravel())), key="numbers")

st.markdown(f"## {text['seen title']}")
st.markdown(crop_sentence(visit.photo.image, rec.model_input))
one, two = st.columns(2, gap="large")
one.image(cached_recordings.outlined_photo(rec), caption=text["outlined"], alt=text["outlined alt"])
two.image(rec.model_input.pixels, text["seen"].format(wide=wide, high=high), width="stretch", alt=text["seen alt"])
