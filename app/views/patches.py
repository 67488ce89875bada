"""Patches: the photo cut into its grid; one patch followed from pixels to its place in the sequence; the shuffle."""

import streamlit as st

from app import controls, session, texts
from app.components.figure import downloads, explain
from app.components.picture import picture

text = texts.prose("patches")
st.markdown(text["intro"])
vit, photo, rec = controls.current()

from vitcore import figures  # noqa: E402
from vitcore.analysis import patches  # noqa: E402
from vitcore.images import outlined  # noqa: E402

grid, mode = rec.grid, controls.theme()
high, wide = grid.image_px
cuts, embeddings = patches.cut(rec.seen.pixels, grid), session.embeddings(vit.name, photo.digest, rec)
_, address = session.shown(vit.name, photo.digest, photo, rec)
with st.container(horizontal=True, vertical_alignment="bottom"):
    gutter = controls.slider("Gutter, model pixels", "gutter", 0, 8, 1, width=220)
    chosen = controls.number("Patch", "patch", grid.patches, grid.middle, width=140)
    mixed = st.toggle("Shuffle the patches", key="shuffle", bind="query-params")
    seed = controls.number("Shuffle number", "seed", 100, width=140) if mixed else 0
order = patches.shuffled(grid.patches, seed) if mixed else None

left, right = st.columns([3, 2], gap="large")
with left:
    st.markdown(f"##### N = HW/P² = {high}·{wide} / {grid.step_px[0]}·{grid.step_px[1]} = **{grid.patches} patches**")
    picture(
        address, grid.rows, grid.cols, grid.step_px, key="split", label="The photo as patches",
        target="patch", selected=chosen, gutter_px=gutter, order=None if order is None else order.tolist(),
    )  # fmt: skip
    explain(text["how"])
    downloads(
        lambda: figures.patches(rec.seen.pixels, grid, gutter, mode), "patches", text["how"],
        patches=cuts, embeddings=embeddings,
    )  # fmt: skip
with right:
    row, col = grid.row_col(chosen)
    st.markdown(f"##### Patch {chosen}: row {row}, column {col}")
    st.plotly_chart(
        figures.one_patch(cuts[chosen], embeddings[chosen], grid, chosen, mode), theme=None,
        config={"displayModeBar": False}, alt=f"Patch {chosen} enlarged, its numbers and its embedding",
    )  # fmt: skip
    story = text["one hybrid" if vit.hybrid else "one"]
    st.caption(story.format(n=cuts[chosen].size, d=embeddings.shape[1], place=grid.prefix + chosen, patch=chosen,
                            prefix=grid.prefix, tokens=grid.tokens))  # fmt: skip
    with st.expander(f"All {cuts[chosen].size} numbers of x_p, flattened"):
        st.code(" ".join(map(str, cuts[chosen].ravel())), wrap_lines=True, language=None)

if order is not None and rec.labels:
    st.markdown(f"#### {text['shuffle title']}")
    st.markdown(text["shuffle"])
    titles = ("Patches in order", "Patches shuffled, positions stay", "Patches shuffled, positions move along")
    answers = session.shuffled_answers(vit.name, photo.digest, seed, rec)
    for place, title, answer in zip(st.columns(3), titles, answers, strict=False):
        fig = figures.predictions(answer, mode, title)
        place.plotly_chart(fig, theme=None, config={"displayModeBar": False}, key=title, alt=f"{title}: top 5")
    restored = [name for name, _ in answers[0]] == [name for name, _ in answers[-1]]
    st.caption(text["shuffle why" if restored and len(answers) == 3 else "shuffle not restored"])

st.markdown("#### What the model sees")
one, two = st.columns(2, gap="large")
one.image(outlined(photo, rec.seen), caption="The photo; the model sees the outlined part", alt="Photo with its crop")
two.image(rec.seen.pixels, f"What the model sees: {wide}×{high} px", width="stretch", alt="The model's input")
