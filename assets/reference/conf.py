"""Settings of Sphinx: `make reference` writes the API reference and the notebooks, run, as pages into out/reference."""

import os

import vitcore

os.environ["PLOTLY_RENDERER"] = "notebook"  # charts with their script, so that pages need no network

project = "vitcore"
author = "The Inside ViT authors"
release = vitcore.__version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.viewcode", "myst_nb"]
include_patterns = ["reference/*.md", "notebooks/*.ipynb"]
root_doc = "reference/index"
html_theme = "furo"
html_title = f"vitcore {release}"
default_role = "code"  # docstrings write `name` as Markdown does
autodoc_member_order = "groupwise"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "undoc-members": True}
python_maximum_signature_line_length = 100
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_output_stderr = "remove"  # progress bars of packages


def code_blocks(app, what, name, obj, options, lines):
    """Docstrings indent code after an empty line; reStructuredText wants `::` before it."""
    for i in range(len(lines) - 1, 0, -1):
        if lines[i].startswith("    ") and not lines[i - 1].strip() and (i < 2 or not lines[i - 2].startswith("    ")):
            lines[i - 1 : i] = ["", "::", ""]


def setup(app):
    """Sphinx calls this once."""
    app.connect("autodoc-process-docstring", code_blocks)
