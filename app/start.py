"""`inside-vit`: the app from any folder, in this project's dress; what follows is handed to `streamlit run`.

    inside-vit --server.port 8600

Streamlit reads `.streamlit/config.toml` where it is started, and that may be anywhere. So the file that comes with the app
is given to it as flags would be; flags and variables of the environment that a person sets are heard first.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

APP_HOME = Path(__file__).resolve().parent.parent
MAIN = APP_HOME / "app" / "main.py"
CONFIG = APP_HOME / ".streamlit" / "config.toml"


def main(argv: list[str] | None = None) -> None:
    """Start the app and serve it until it is stopped. Raises: SystemExit, one sentence, without what the app needs."""
    try:
        import click
        import plotly  # noqa: F401
        from click.core import ParameterSource
        from streamlit.web.cli import main_run
    except ModuleNotFoundError as error:
        raise SystemExit(f"inside-vit: {error.name} is not installed: pip install inside-vit[app].") from None

    ours = dict(_streamlit_run_kwargs())

    def run(**flags: Any) -> None:
        context = click.get_current_context()
        unsaid = {name for name in ours if context.get_parameter_source(name) in (None, ParameterSource.DEFAULT)}
        main_run.callback(str(MAIN), **flags | {name: ours[name] for name in unsaid})  # type: ignore[misc]

    about = "Look inside a Vision Transformer: the app, with the options of `streamlit run`."
    options: list[click.Parameter] = [param for param in main_run.params if isinstance(param, click.Option)]
    click.Command("inside-vit", callback=run, params=options, help=about).main(argv, prog_name="inside-vit")


def _streamlit_run_kwargs() -> Iterator[tuple[str, Any]]:
    """The app's settings by the names of `streamlit run`: `theme_light_primaryColor`."""
    yield from _flat(tomllib.loads(CONFIG.read_text(encoding="utf-8")))


def _flat(table: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}_")
        else:
            yield f"{before}{name}", value


if __name__ == "__main__":
    main()
