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
    from starlette.middleware import Middleware

    from app import first_paint, log, open_files

    log.bound()
    refuse = Middleware(open_files.Refuse, limit=open_files.allow_more())
    app = st.App(__file__, routes=first_paint.routes(), lifespan=open_files.lifespan, middleware=[refuse])
