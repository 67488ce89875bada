"""Nothing heavy is imported before the first frame is on the screen."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEAVY = {"torch", "torchvision", "timm", "plotly", "sklearn", "scipy", "matplotlib", "transformers", "captum",
         "huggingface_hub"}  # fmt: skip

IMPORTS = "import app.furniture.controls, app.menu, app.state.session"
FRAME = f"""
from unittest.mock import patch
import streamlit as st
from streamlit.testing.v1 import AppTest
from app.furniture import controls
with patch.object(controls, "current", lambda *_: st.stop()):  # where a page begins to need the model
    at = AppTest.from_file({str(ROOT / "app" / "main.py")!r}, default_timeout=60).run()
assert not at.exception, at.exception
assert at.title and at.selectbox(key="photo") and at.markdown
"""


def imported(code: str) -> set[str]:
    """The packages a fresh Python has imported after this code."""
    told = "import json, sys; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    return set(json.loads(said(f"{code}\n{told}")))


def said(code: str) -> str:
    """The last line a fresh Python prints."""
    env = {key: value for key, value in os.environ.items() if key != "OMP_WAIT_POLICY"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


def ours(code: str) -> set[str]:
    """What this code imports of the heavy packages, beyond what Streamlit does itself (plotly, where it is installed)."""
    return (imported(code) - imported("import streamlit")) & HEAVY


def test_what_the_first_frame_imports_is_light():
    assert ours(IMPORTS) == set()


def test_the_first_frame_is_drawn_before_anything_heavy_is_imported():
    """Title, sidebar and the page's first words are sent; the model is not asked for yet."""
    assert ours(FRAME) == set()


def test_waiting_threads_sleep():
    """Without it a busy neighbour makes a forward pass many times slower; it counts only before torch is loaded."""
    assert "PASSIVE" in said(FRAME + "\nimport os; print(os.environ['OMP_WAIT_POLICY'])")


def test_streamlit_alone_takes_plotly_and_nothing_else_that_is_heavy():
    assert imported("import streamlit") & HEAVY <= {"plotly"}
