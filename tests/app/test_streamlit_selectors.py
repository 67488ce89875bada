"""Streamlit's own names in our CSS and JavaScript: each is there in the version that is pinned, and each key is one of ours."""

import re
from functools import cache
from pathlib import Path

import streamlit

from app.streamlit_selectors import SELECTORS, TEST_IDS, fill_selectors

APP = Path(__file__).parents[2] / "app"
FILES = ["components/chart/chart.py", "streamlit_selectors.py"]  # the only ones that may name what Streamlit draws
PART = re.compile(r":st\(([^)]*)\)")
KEY = re.compile(r"st-key-(\w+)")
OURS = re.compile(r"data-testid|\.st[A-Z]\w+|\bdata-stale|[\"']st[A-Z]\w+[\"']")


@cache
def bundle() -> str:
    """All that a browser is given by Streamlit."""
    scripts = sorted((Path(streamlit.__file__).parent / "static" / "static" / "js").glob("*.js"))
    return "\n".join(script.read_text(encoding="utf-8", errors="replace") for script in scripts)


def sources() -> dict[str, str]:
    files = [file for file in APP.rglob("*") if file.suffix in (".css", ".js", ".html", ".py")]
    return {file.relative_to(APP).as_posix(): file.read_text(encoding="utf-8") for file in files}


def test_what_streamlit_draws_is_named_in_one_file():
    assert sorted(name for name, text in sources().items() if OURS.search(text)) == sorted(FILES), "and in charts, for a while"


def test_every_part_that_is_named_is_in_it_and_in_use():
    named = {part for name, text in sources().items() if name != "streamlit_selectors.py" for part in PART.findall(text)}
    assert named == SELECTORS.keys()
    assert fill_selectors("a:st(main) > :st(any-button)") == "a[data-testid=stMain] > [data-testid^=stBaseButton]"


def test_every_test_id_is_one_of_the_pinned_version(subtests):
    ids = {*TEST_IDS.values()}
    assert len(ids) > 40
    for one in sorted(ids):
        with subtests.test(one):
            there = one in bundle() or one.partition("-")[0] in bundle()  # `stBaseButton-${kind}` is put together there
            assert there


def test_every_key_is_one_of_our_containers_and_controls(subtests):
    python = "\n".join(text for name, text in sources().items() if name.endswith(".py"))
    keys = {one for name, text in sources().items() for one in KEY.findall(text)}
    assert len(keys) > 30
    for key in sorted(keys):
        with subtests.test(key):
            drawn = re.search(rf"\b{key}" if key.endswith("_") else rf"\b{key}\b|\b{key.partition('_')[0]}_\{{", python)
            assert drawn is not None, "nothing is drawn under this key"
