"""The entry point: page config, navigation, the photo and model pickers, and then the page."""

import os
from pathlib import Path

import streamlit as st

# Threads that wait, sleep: with OpenMP's default a busy neighbour (a training run) makes a forward pass many times slower.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

ICON = Path(__file__).parent / "static" / "icon.svg"  # a material icon here would be fetched from outside
st.set_page_config(page_title="Inside ViT", page_icon=str(ICON), layout="wide")

from app import controls  # noqa: E402  (nothing heavy: torch and plotly wait until the page needs them)
from app.catalog import PAGES  # noqa: E402

page = st.navigation(
    [
        st.Page(f"views/{row.slug}.py", title=row.title, icon=row.icon, help=row.help, url_path=row.slug, default=not i)
        for i, row in enumerate(PAGES)
    ]
)
controls.sane_address()
st.title(page.title)
controls.sidebar(next(row.looks for row in PAGES if row.title == page.title))
page.run()
