"""Patches: the photo cut into its grid; one patch followed from pixels to its place in the sequence; the shuffle."""

from functools import partial

import streamlit as st

from app import texts
from app.components import address
from app.components.figure import aside, downloads, explain, lead, plot
from app.components.listing.listing import listing
from app.components.picture.picture import picture
from app.furniture import controls
from app.state import session
from app.views.patches import same, shuffle

text = texts.prose("patches")
aside(text["intro"])
vit, photo, rec = controls.current()

from vitcore import figures  # noqa: E402
from vitcore.analysis import patches  # noqa: E402
from vitcore.figures.patches import area  # noqa: E402
from vitcore.images import crop_sentence  # noqa: E402

if vit.patches is None:
    st.info(text["no patches"])
    st.stop()
grid, mode = vit.patches, controls.theme()
high, wide = grid.image_px
cuts, embeddings = patches.split_patches(rec.model_input.pixels, grid), session.embeddings(rec)
cropped = address(session.shown(rec)[1], "image/jpeg", "photo")
with st.container(horizontal=True, vertical_alignment="bottom"):
    gutter = controls.slider(text["gutter"], "gutter", 0, 8, 1, width=220)
    chosen = controls.patch(text["patch"], grid, width=140, help=text["from 0"])
    mixed = st.toggle(text["mix"], key="shuffle", bind="query-params")
    seed = controls.number(text["seed"], "seed", 100, width=140, help=text["seed help"]) if mixed else 0
order = patches.shuffle_order(grid.patches, seed) if mixed else None
if order is not None and rec.labels:  # beside the switch
    shuffle.question(vit, photo, rec, seed, text)

left, right = lead().columns([3, 2], gap="large")
with left:
    st.markdown("## " + text["count"].format(high=high, wide=wide, area=area(grid), count=grid.patches))
    picture(
        cropped, grid.rows, grid.cols, grid.step_px, key="split", label=text["split"],
        target="patch", selected=chosen, gutter_px=gutter, order=None if order is None else order.tolist(),
    )  # fmt: skip
    st.markdown(same.tokens(vit, grid.patches, text))
    explain(text["how"])
    downloads(
        partial(figures.patches, rec.model_input.pixels, grid, gutter, mode), "patches", text["how"],
        of=(photo.name, vit.called), patches=cuts, embeddings=embeddings,
    )  # fmt: skip
with right:
    row, col = grid.row_col(chosen)
    st.markdown("## " + text["chosen"].format(patch=chosen, row=row, col=col))
    st.caption(text["from 0"])
    slot = shuffle.slot_of(order, chosen)
    one = figures.one_patch(cuts[chosen], embeddings[chosen], grid, slot, mode)
    plot(one, "one_patch", text["one alt"].format(patch=chosen))
    story = text["one hybrid" if vit.hybrid else "one"]
    st.caption(story.format(n=cuts[chosen].size, d=embeddings.shape[1], place=grid.prefix + slot, patch=chosen,
                            last=grid.tokens - 1, before=same.before(vit, text)))  # fmt: skip
    if order is not None:
        st.markdown(shuffle.now(order, chosen, grid, text))
    same.show(vit, cuts, chosen, embeddings.shape[1], text)
    with st.expander(text["numbers"].format(count=cuts[chosen].size)):
        listing(" ".join(map(str, cuts[chosen].ravel())), key="numbers")

st.markdown(f"## {text['seen title']}")
st.markdown(crop_sentence(photo.image, rec.model_input))
one, two = st.columns(2, gap="large")
one.image(session.outlined(rec), caption=text["outlined"], alt=text["outlined alt"])
two.image(rec.model_input.pixels, text["seen"].format(wide=wide, high=high), width="stretch", alt=text["seen alt"])
