"""The app as one visitor has it, without a browser."""

import base64
import json
import re
from pathlib import Path
from unittest.mock import patch

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from streamlit.testing.v1 import AppTest

from app.menu import PAGES
from app.shell import load_page_visit
from app.state.photos import sample_photos

MAIN = Path(__file__).parents[2] / "app" / "main.py"
PAGES_OF_MAIN: dict = {}  # which file is at which address: AppTest learns it from a first run, here once for all visitors
SLUGS = [row.slug for row in PAGES if row.uses_model]  # at the photo, through the model


def numbers(text: str) -> NDArray:
    """A map of the shipped model as components get it."""
    return np.frombuffer(base64.b64decode(text), "<f4").reshape(16, 16)


def photo(name: str | None = None) -> Path:
    """A sample photo; the one that the app starts with."""
    return sample_photos.SAMPLES / f"{name or sample_photos.sample_photo_rows()[0]['id']}.jpg"


class App:
    """The app as one visitor has it, at a page; `at` is Streamlit's AppTest."""

    def __init__(self, slug: str, theme: str = "light", locale: str | None = None, **address: str) -> None:
        self.at = AppTest.from_file(str(MAIN), default_timeout=120)
        self.at.context = {"theme": theme} | ({"locale": locale} if locale else {})
        self.at.query_params = dict(address)
        if not PAGES_OF_MAIN:
            with patch.object(load_page_visit, "load_visit", lambda *_, **__: st.stop()):
                PAGES_OF_MAIN.update(AppTest.from_file(str(MAIN), default_timeout=120).run()._registered_pages)
        self.at._registered_pages = dict(PAGES_OF_MAIN)
        self.go(slug)

    def run(self) -> "App":
        """Run the script, as after every touch of a control."""
        for box in self.at.selectbox:
            if box.value not in [*box.options, None] and box.key in ("model", "b"):
                box.options.append(box.value)  # typed in; AppTest only knows options of the list
        self.at.run()
        return self

    def go(self, slug: str) -> "App":
        """Follow the link to a page."""
        self.at.switch_page(f"views/{slug}/page.py")
        return self.run()

    def set(self, **values) -> "App":
        """Touch controls, by key."""
        for key, value in values.items():
            self.at.get_by_key(key).set_value(value)
        return self.run()

    def press(self, button: str) -> "App":
        """Press a button, by its key or its label."""
        next(one for one in self.at.button if button in (one.key, one.label)).click()
        return self.run().fine()

    def upload(self, name: str, data: bytes, key: str = "file") -> "App":
        """Drop in a photo."""
        self.at.get_by_key(key).clear().upload(name, data)
        return self.run()

    @property
    def controls(self) -> dict:
        """What a person can set on the page, by key; buttons and file pickers hold no setting."""
        kinds = ("selectbox", "slider", "number_input", "toggle", "checkbox", "button_group", "radio", "text_input",
                 "select_slider")  # fmt: skip
        return {w.key: w for kind in kinds for w in self.at.get(kind)}

    def key_of(self, begins: str) -> str:
        """The control or file picker whose key begins so: those of Bring are of one file."""
        pickers = (one.key for one in self.at.get("file_uploader"))
        return next(key for key in [*self.controls, *pickers] if key and key.startswith(begins))

    def values(self) -> dict:
        """Setting by key."""
        return {key: control.value for key, control in self.controls.items()}

    def sentences(self, kind: str) -> list[str]:
        """The texts of one kind ("error", "warning", "info", "caption", "markdown"), without Markdown's backslashes."""
        return [re.sub(r"\\([^a-zA-Z0-9\s])", r"\1", element.value) for element in self.at.get(kind)]

    def text(self, *kinds: str) -> str:
        """All that is said on the page, or all of these kinds, in one."""
        return "\n".join(
            one for kind in kinds or ("markdown", "caption", "info", "error", "warning") for one in self.sentences(kind)
        )

    @property
    def answer(self) -> str:
        """The words in the fold that holds the answer to a question."""
        (answer,) = [fold.markdown[0].value for fold in self.at.expander if fold.label == "Show the answer"]
        return answer

    def component(self, key: str) -> dict:
        """What Python sent to a component of ours."""
        return json.loads(self.at.get_by_key(key).proto.json)

    def charts(self) -> list[dict]:
        """Every Plotly figure of the page, as `alt`, `data` and `layout`."""
        return [{"alt": c.proto.alt} | json.loads(c.proto.spec) for c in self.at.get("plotly_chart")]

    def pictures(self) -> list:
        """Everything on the page that is looked at: figures, images, and components that draw."""
        quiet = ("theme", "gallery", "dress", "link")
        drawn = [c for c in self.at.get("bidi_component") if not str(c.proto.id).endswith(quiet)]
        return [*self.at.get("plotly_chart"), *self.at.get("image"), *drawn]

    def chart(self, alt: str) -> dict:
        """The figure whose alt text begins with these words."""
        return next(c for c in self.charts() if c["alt"].startswith(alt))

    def fine(self) -> "App":
        """Nothing broke."""
        assert [e.message for e in self.at.exception] == []
        return self
