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
    from app.shell import navigation

    navigation.run_page()
else:
    from starlette.middleware import Middleware

    from app.components.component_files import live_early_script, live_worker_script
    from app.server import first_paint, live_own_models, live_shipped_files, log_rate_limit, open_file_limit, request_origin
    from app.state.memory import upload_memory_limit
    from app.state.models import model_device
    from app.state.visit import live_settings

    def import_whole_packages() -> None:
        """Of two visitors, one who asks for such a package and one who asks for a part of it, one would get an error."""
        import vitcore.analysis.rollout
        import vitcore.figures
        import vitcore.images  # noqa: F401

    import_whole_packages()
    model_device.check_device_setting()
    log_rate_limit.limit_log_rate()
    guards = [
        Middleware(open_file_limit.RefuseVisitorsMiddleware, limit=open_file_limit.raise_open_file_limit()),
        Middleware(request_origin.RefuseForeignMiddleware),
        Middleware(upload_memory_limit.GuardUploadsMiddleware),
    ]
    files = live_shipped_files.LiveFileRoutes(live_worker_script, live_early_script, live_settings.early_photo)
    live = [*files.routes(), *live_own_models.LiveModelRoutes(upload_memory_limit.is_request_of_visit).routes()]
    files.compress_ahead()
    routes = [*first_paint.page_routes(files.early_tag), *live]
    app = st.App(__file__, routes=routes, lifespan=open_file_limit.lifespan, middleware=guards)
