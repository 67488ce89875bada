"""The gallery: small pictures as buttons; the chosen one's id goes to the session."""

import streamlit as st

from app.components.component_files import component_from_folder, media_url
from app.components.pending_choices import set_control

_GALLERY = component_from_folder("gallery", "<div class='photos' role='group'>\n</div>")


def picture_gallery(rows: list[dict[str, str]], images: list[bytes], chosen: str, *, key: str, target: str, label: str) -> None:
    """Show rows of {id, title, alt}, called `label`, by their images (WebP); a click puts the id in st.session_state[target]."""
    ids = {row["id"] for row in rows}

    def pick() -> None:
        if st.session_state[key].photo in ids:  # a message made by hand may name another
            set_control(target, st.session_state[key].photo)

    where = [media_url(image, "image/webp", f"gallery{i}") for i, image in enumerate(images)]
    _GALLERY(data={"rows": rows, "images": where, "chosen": chosen, "label": label}, key=key, on_photo_change=pick)
