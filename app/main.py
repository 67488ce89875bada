"""The entry point. Streamlit runs it for every page, as a script; its server imports it, to serve `app`."""

import os
import sys
from pathlib import Path

import streamlit as st

# Threads that wait, sleep: with OpenMP's default a busy neighbour (a training run) makes a forward pass many times slower.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

HERE = Path(__file__).resolve().parent
if str(HERE.parent) not in sys.path:  # where `app` is: in a checkout, or in the installed `inside_vit`
    sys.path.insert(0, str(HERE.parent))

if __name__ == "__main__":
    from app import every_page

    every_page.draw()
else:
    from app import first_paint

    app = st.App(__file__, routes=first_paint.routes())
