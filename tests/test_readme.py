"""The README keeps its word: its blocks run as written, beside a photo, and what it points to is there."""

import json
import os
import re
import shlex
from pathlib import Path

import pytest
from PIL import Image

from tests.printed_figures import printed_blank
from vitcore.__main__ import main
from vitcore.models import load_model
from vitcore.models.model_cards import DEFAULT_MODEL
from vitcore.profiling import throughput

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
STARTS_THE_APP = ("make ", "streamlit run")


def blocks(*languages: str) -> list[str]:
    """Code of the README in these languages, but for what starts the app."""
    found = [code for language, code in BLOCK.findall(README) if language in languages]
    return [code for code in found if not any(word in code for word in STARTS_THE_APP)]


PYTHON, SHELL = blocks("python"), blocks("sh", "bash", "shell", "console")


def first_line(code: str) -> str:
    return code.strip().splitlines()[0][:40]


@pytest.fixture
def folder(tmp_path, photo_file, monkeypatch):
    """A person's folder with a photo, if a small one; they are in it."""
    with Image.open(photo_file) as photo:
        photo.reduce(3).save(tmp_path / "photo.jpg")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_verb_is_shown_and_files_it_points_to_are_there():
    assert any("import vitcore" in code for code in PYTHON), "no block shows the notebook"
    assert any("make app" in code for _, code in BLOCK.findall(README)), "no block shows how to start"
    for verb in ("patches", "filters", "positions", "distance", "rollout", "models", "report", "compare"):
        assert any(f"python -m vitcore {verb}" in code for code in SHELL), verb
    links = {target for target in re.findall(r"\]\(([^)#\s]+)", README) if "://" not in target}
    assert len(links) >= 3
    assert [link for link in sorted(links) if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("code", PYTHON, ids=first_line)
def test_python_blocks(code, folder):
    exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})


@pytest.mark.skipif(os.name == "nt", reason="these blocks are for a POSIX shell")
@pytest.mark.parametrize("code", SHELL, ids=first_line)
def test_shell_blocks(code, folder, capsys, monkeypatch, shipped):
    load = load_model.load
    monkeypatch.setattr(
        load_model, "load", lambda name=DEFAULT_MODEL, *a, **k: shipped if name == DEFAULT_MODEL else load(name, *a, **k)
    )
    monkeypatch.setattr(throughput, "SECONDS_PER_BATCH_SIZE", 0)  # three passes of a batch are timed all the same
    monkeypatch.setattr(throughput, "MATRIX_SIDE", 64)
    for line in filter(str.strip, code.splitlines()):
        words = shlex.split(line, comments=True)
        assert words[:3] == ["python", "-m", "vitcore"], f"a line of another kind: let this test run it with sh: {line}"
        with printed_blank():
            assert main(words[3:]) == 0, (line, capsys.readouterr().err)
    assert any(folder.rglob("*.png")) or any(folder.rglob("config.json")) or "--out" not in code, "nothing was written"


def test_figures_of_the_model_that_ships_are_its_cards():
    """Every figure of that section, as the card's JSON has it."""
    section = " ".join(README.partition("## The model that ships")[2].partition("\n## ")[0].split())
    trained = json.loads((ROOT / "assets" / "models" / f"{DEFAULT_MODEL}.json").read_text(encoding="utf-8"))["trained"]
    own, teacher = trained["measured"], trained["teacher_measured_alike"]
    cats, dogs = ([one["pets"][kind]["called_so"] for one in (own, teacher)] for kind in ("cats", "dogs"))
    counts = [own["pets"][kind]["photos"] for kind in ("cats", "dogs")]
    maps, others = own["pets"]["localisation"], teacher["pets"]["localisation"]
    tiny, layer = own["kinds tiny64-val"], trained["last_layer"]
    labels = sum(trained["labelled_photos_of_its_teacher_m"].values())
    expected = [
        f"of {counts[0]} cats and {counts[1]} dogs", f"{cats[0]:.1f} and {dogs[0]:.1f} %",
        f"(its teacher: {cats[1]:.1f} and {dogs[1]:.1f} %)",
        f"AUC of {maps['rollout_auc']} ({others['rollout_auc']}; the middle of the picture: {maps['centre_prior_auc']})",
        f"{layer['crops']:,} crops, {layer['crops_of_cats']} of them", f"{labels:.0f} million labelled photos",
        f"of {tiny['cats']['photos']} cats {tiny['cats']['called_so']:.0f} %",
        f"of {tiny['false_cats']['photos']:,} photos without a cat {tiny['false_cats']['called_so']:.1f} %",
    ]  # fmt: skip
    for key, found in own.items():
        if key.startswith("accuracy "):
            expected.append(f"{found['photos']:,}")
            expected += [f"{found['top1']:.1f} %", f"({teacher[key]['top1']:.1f} %)"]
    assert [figure for figure in expected if figure not in section] == []
