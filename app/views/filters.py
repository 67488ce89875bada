"""Embedding filters: the principal components of the kernel that reads a patch (Fig. 7 left)."""

import streamlit as st

from app import controls, session, texts
from app.components.figure import figure

text = texts.prose("filters")
st.markdown(text["intro"])
vit, photo, rec = controls.current()

from vitcore import figures  # noqa: E402
from vitcore.analysis import filters, patches  # noqa: E402
from vitcore.figures.theme import data_uri  # noqa: E402

found, mode = session.components(vit.name), controls.theme()
if found is None:
    st.info(text["none"])
    st.stop()
if vit.hybrid:
    st.info(text["hybrid"])
most = len(found.variance)
with st.container(horizontal=True, vertical_alignment="bottom"):
    count = controls.slider("Components", "components", 1, min(most, 98), min(28, most), width=300)
    scale = st.segmented_control(
        "Scale", ["symmetric", "minmax"], default="symmetric", required=True, key="scale", bind="query-params",
        help="Symmetric: zero is mid-grey. Minmax: each component is stretched to its own range.",
    )  # fmt: skip
subject = "Root convolution" if vit.hybrid else "RGB embedding filters"
fig = figures.filters(filters.as_picture(found.vectors[:count], scale), found.variance, mode, subject)
figure(fig, "filters", f"The first {count} principal components", text["how"], text["limits"],
       components=found.vectors, variance=found.variance)  # fmt: skip
figure(figures.scree(found.variance, count, mode), "scree", "Variance explained by the first k components", text["scree"],
       variance=found.variance)  # fmt: skip

if not vit.hybrid:
    st.markdown(f"#### {text['rebuild title']}")
    k = controls.slider("Rebuild with the first k components", "k", 1, most, min(28, most))
    grid = rec.grid
    drawn = filters.rebuild(patches.cut(rec.seen.pixels, grid), found, k)
    before, after = st.columns(2, gap="large")
    before.image(data_uri(rec.seen.pixels), "What the model sees", width="stretch", alt="The model's input")
    rebuilt = patches.join(drawn.patches, grid).clip(0, 255).round().astype("uint8")
    after.image(data_uri(rebuilt), f"Rebuilt from {k} of {most}: error {drawn.rmse:.1f} of 255 (RMSE), "
                f"{drawn.kept:.1%} of the signal kept", width="stretch", alt="The photo rebuilt")  # fmt: skip
    st.caption(text["rebuild"])
