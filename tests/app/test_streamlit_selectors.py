"""Streamlit's own names in our CSS and JavaScript: each is there in the version that is pinned, and each key is one of ours."""

import re
from functools import cache
from pathlib import Path

import streamlit

APP = Path(__file__).parents[2] / "app"
FILES = [  # the only ones that may name what Streamlit draws
    "components/page_style/page_style.css",
    "components/page_style/page_style.js",
    "components/keys.js",
    "components/gallery/gallery.js",
    "components/chart/chart.py",
    "shell/photo_picker.py",
    "static/head.html",
]
TEST_ID = re.compile(r"data-testid\^?=\"?(\w[\w-]*)")
KEY = re.compile(r"st-key-(\w+)")
OURS = re.compile(r"data-testid|st-key-|\.st[A-Z]\w+|\bdata-stale")


@cache
def bundle() -> str:
    """All that a browser is given by Streamlit."""
    scripts = sorted((Path(streamlit.__file__).parent / "static" / "static" / "js").glob("*.js"))
    return "\n".join(script.read_text(encoding="utf-8", errors="replace") for script in scripts)


def sources() -> dict[str, str]:
    files = [file for file in APP.rglob("*") if file.suffix in (".css", ".js", ".html", ".py")]
    return {file.relative_to(APP).as_posix(): file.read_text(encoding="utf-8") for file in files}


def test_what_streamlit_draws_is_named_in_few_files():
    assert sorted(name for name, text in sources().items() if OURS.search(text)) == sorted(FILES)


def test_every_test_id_is_one_of_the_pinned_version(subtests):
    ids = {one for name in FILES for one in TEST_ID.findall((APP / name).read_text(encoding="utf-8"))}
    assert len(ids) > 40
    for one in sorted(ids):
        with subtests.test(one):
            there = one in bundle() or one.partition("-")[0] in bundle()  # `stBaseButton-${kind}` is put together there
            assert there


def test_every_key_is_one_of_our_containers_and_controls(subtests):
    python = "\n".join(text for name, text in sources().items() if name.endswith(".py"))
    for key in sorted({one for name in FILES for one in KEY.findall((APP / name).read_text(encoding="utf-8"))}):
        with subtests.test(key):
            drawn = re.search(rf"\b{key}" if key.endswith("_") else rf"\b{key}\b|\b{key.partition('_')[0]}_\{{", python)
            assert drawn is not None, "nothing is drawn under this key"
