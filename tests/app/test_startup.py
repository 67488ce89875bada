"""Nothing heavy is imported before the first frame is on the screen."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = {"torch", "torchvision", "timm", "plotly", "sklearn", "scipy", "matplotlib", "transformers", "captum", "huggingface_hub"}

FRAME = f"""
import json, os, sys
import streamlit as st
alone = sorted(sys.modules)
from unittest.mock import patch
from streamlit.testing.v1 import AppTest
from app.shell import load_page_visit
with patch.object(load_page_visit, "load_visit", lambda *_, **__: st.stop()):  # where a page begins to need the model
    at = AppTest.from_file({str(ROOT / "app" / "main.py")!r}, default_timeout=60).run()
assert not at.exception, at.exception
assert at.title and at.selectbox(key="photo") and at.markdown
told = {{"alone": alone, "frame": sorted(sys.modules), "policy": os.environ["OMP_WAIT_POLICY"]}}
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def first() -> dict:
    """What a fresh Python has imported with Streamlit alone and with the first frame, and how its threads will wait."""
    env = {key: value for key, value in os.environ.items() if key != "OMP_WAIT_POLICY"}
    done = subprocess.run([sys.executable, "-c", FRAME], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def heavy(modules: list[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules} & HEAVY


def test_the_first_frame_is_drawn_before_anything_heavy_is_imported(first):
    """Title, sidebar and the page's first words are sent; the model is not asked for yet."""
    assert {"app.shell.load_page_visit", "app.menu", "app.state.visit.current_model"} <= set(first["frame"])
    assert heavy(first["frame"]) - heavy(first["alone"]) == set(), "beyond what Streamlit does itself"
    assert heavy(first["alone"]) <= {"plotly"}, "of Streamlit alone"


def test_waiting_threads_sleep(first):
    """Without it a busy neighbour makes a forward pass many times slower; it counts only before torch is loaded."""
    assert first["policy"] == "PASSIVE"
