"""The entry point: page config, navigation, the photo and model pickers, and then the page."""

from pathlib import Path

import streamlit as st

ICON = Path(__file__).parent / "static" / "icon.svg"  # a material icon here would be fetched from outside
st.set_page_config(page_title="Inside ViT", page_icon=str(ICON), layout="wide")

from app import controls  # noqa: E402  (nothing heavy: torch and plotly wait until the page needs them)
from app.catalog import PAGES  # noqa: E402

controls.sane_address()
page = st.navigation(
    [
        st.Page(f"views/{row.slug}.py", title=row.title, icon=row.icon, help=row.help, url_path=row.slug, default=not i)
        for i, row in enumerate(PAGES)
    ]
)
st.title(page.title)
controls.sidebar()
page.run()
