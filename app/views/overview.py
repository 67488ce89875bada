"""Overview: the paper's five pictures of one photo, each a door to its page."""

import streamlit as st

from app import controls, session, texts
from app.components.figure import explain

text = texts.prose("overview")
st.markdown(text["intro"])
vit, photo, rec = controls.current()

from vitcore import figures  # noqa: E402
from vitcore.analysis.distance import uniform_distance_px  # noqa: E402
from vitcore.analysis.filters import as_picture  # noqa: E402

mode, grid = controls.theme(), rec.grid
found, cosine = session.components(vit.name), session.similarity(vit.name)
seen = session.shown(vit.name, photo.digest, photo, rec)[0]
rows = [st.columns(2, gap="medium") for _ in range(3)]


def door(place, slug: str, fig, alt: str) -> None:
    """A small figure, its one line, and the link to its page."""
    with place, st.container(border=True, height="stretch"):
        if fig is None:
            st.info(text[f"{slug} none"])
        else:
            fig.update_layout(height=400)
            st.plotly_chart(fig, theme=None, key=f"overview_{slug}", config={"displayModeBar": False}, alt=alt)
        explain(text[slug].format(readout=vit.readout))
        st.page_link(f"views/{slug}.py", label=text[f"{slug} link"], icon=":material/arrow_forward:")


door(rows[0][0], "patches", figures.patches(rec.seen.pixels, grid, mode=mode), "The photo cut into patches")
gathered = figures.rollout(rec.rollout(), seen, grid, mode=mode, about=f"what the {vit.readout} gathered")
door(rows[0][1], "rollout", gathered, "Attention rollout on the photo")
filters = found and figures.filters(as_picture(found.vectors[:28]), found.variance, mode)
door(rows[1][0], "filters", filters, "Principal components of the embedding filters")
tiles = None if cosine is None else figures.positions(cosine, grid, mode)
door(rows[1][1], "positions", tiles, "Position-embedding similarity tiles")
far = figures.distance(rec.distance_px, grid, uniform_distance_px(grid), mode=mode)
door(rows[2][0], "distance", far, "Mean attention distance of every head over depth")
with rows[2][1], st.container(border=True, height="stretch"):
    if rec.top():
        bars = figures.predictions(rec.top(), mode)
        st.plotly_chart(bars, theme=None, config={"displayModeBar": False}, alt="The five likeliest classes")
    explain(text["answer"])
