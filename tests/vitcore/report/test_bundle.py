"""Many photos: the same files in a folder, in a ZIP and from the shell; damaged ones are named and left out."""

import hashlib
import io
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import vitcore
from tests import picture_files
from tests.conftest import SAMPLES, TINY, timm_vit
from tests.printed_figures import printed_once
from vitcore.__main__ import main
from vitcore.file_names import result_file_name, safe_folder_name
from vitcore.forward.recording import record
from vitcore.images import open_photo, photo_from_image
from vitcore.models import load_model
from vitcore.report import report_bundle as reports
from vitcore.report.folder_or_zip import FolderWriter, OutputTooLargeError, ZipWriter
from vitcore.report.report_bundle import ReportBundleWriter
from vitcore.report.report_numbers import PhotoReport
from vitcore.report.report_settings import ReportOrigin, ReportSettings

OF_A_PHOTO = {"handout.html", "patches.png", "rollout.png", "heads.png", "distance.png", "answer.png", "numbers.npz",
              "numbers.csv", "numbers.json", "animation.webp"}  # fmt: skip
OF_THE_MODEL = {"model/filters.png", "model/positions.png", "model/numbers.npz"}
SETTINGS = ReportSettings(fusion="max", discard=0.25)


@pytest.fixture(scope="module", autouse=True)
def each_figure_is_printed_once():
    with printed_once():
        yield


@pytest.fixture(scope="module")
def vit():
    return vitcore.wrap(timm_vit(), name="tiny")


@pytest.fixture(scope="module")
def photos() -> dict[str, bytes]:
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8))
    return {"red.jpg": picture_files.saved(picture_files.corners(), "JPEG"), "noise.png": picture_files.saved(noise, "PNG")}


@pytest.fixture(scope="module")
def made(vit, photos) -> list[PhotoReport]:
    """All files of each photo."""
    bundle = ReportBundleWriter(vit, ZipWriter(io.BytesIO()), SETTINGS)
    return [bundle.render_photo(open_photo(data, name)) for name, data in photos.items()]


@pytest.fixture(scope="module")
def archive(vit, made) -> zipfile.ZipFile:
    file = io.BytesIO()
    bundle = ReportBundleWriter(vit, ZipWriter(file), SETTINGS)
    for one in made:
        bundle.add_photo(one)
    bundle.add_problem("broken.jpg is damaged.")
    bundle.close()
    return zipfile.ZipFile(file)


def test_a_zip_holds_everything_and_the_manifest_says_so(archive, vit):
    assert archive.testzip() is None
    names = set(archive.namelist())
    assert len(names) == len(archive.namelist())
    expected = {f"{folder}/{name}" for folder in ("red", "noise") for name in OF_A_PHOTO}
    assert names == expected | OF_THE_MODEL | {"index.html", "manifest.json"}
    manifest = json.loads(archive.read("manifest.json"))
    assert [one["folder"] for one in manifest["photos"]] == ["red", "noise"]
    assert manifest["left_out"] == ["broken.jpg is damaged."] and manifest["model"] == vit.name
    assert set(manifest["files"]) == names - {"manifest.json"}
    for name, said in manifest["files"].items():
        data = archive.read(name)
        assert said == {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        if name.endswith((".png", ".webp")):
            Image.open(io.BytesIO(data)).load()


def test_its_numbers_are_those_of_a_recording(archive, vit, photos):
    rec = record(vit, open_photo(photos["noise.png"], "noise.png"), maps=[vit.blocks - 1], fusions=("max",))
    with np.load(io.BytesIO(archive.read("noise/numbers.npz")), allow_pickle=False) as kept:
        assert np.array_equal(kept["rollout"], rec.rollout(None, "max", discard_ratio=0.25))
        assert np.array_equal(kept["distance_px"], rec.distance_px) and np.array_equal(kept["logits"], rec.logits)
        assert kept["rollout_by_layer"].shape == (vit.blocks, 4, 4)
        expected = rec.grid.to_map(rec.maps[vit.blocks - 1][:, 0].astype(np.float32))
        assert np.array_equal(kept["layer_heads"], expected)
    said = json.loads(archive.read("noise/numbers.json"))
    assert np.array_equal(np.array(said["rollout"]), rec.rollout(None, "max", discard_ratio=0.25))
    assert len(archive.read("noise/numbers.csv").splitlines()) == 1 + 16 + 2 * rec.distance_px.size
    manifest = json.loads(archive.read("manifest.json"))
    each = []
    for name in ("red", "noise"):
        each.append(np.load(io.BytesIO(archive.read(f"{name}/numbers.npz")))["distance_px"].astype(np.float64))
    assert np.allclose(manifest["mean_distance_px"], np.mean(each, 0), atol=1e-6)


def test_the_index_leads_to_every_handout(archive):
    page = archive.read("index.html").decode()
    links = re.findall(r'href="([^"]+)"', page)
    assert {f"{folder}/handout.html" for folder in ("red", "noise")} <= set(links)
    assert all(link in archive.namelist() for link in links)
    assert "broken.jpg is damaged." in page
    assert len(re.findall(r'<img src="data:image/', page)) == 2 + 1  # one a photo, and the chart of mean distances


def test_photos_of_one_name_get_folders_of_their_own(vit, made):
    bundle = ReportBundleWriter(vit, ZipWriter(io.BytesIO()))
    for _ in range(3):
        bundle.add_photo(made[0])
    assert [one.folder for one in bundle.photos] == ["red", "red-2", "red-3"]
    assert all(one.files == {} for one in bundle.photos), "what was put away is not held"


@pytest.mark.parametrize(
    "name", [*picture_files.HOSTILE_NAMES, "model", "model.jpg", "index.html", "..", ".", "a/b\\c.png", "com1.jpg"]
)
def test_a_folder_s_name_is_safe_everywhere(name):
    found = safe_folder_name(name)
    assert found and Path(found).name == found and found.strip(". -") == found
    assert re.fullmatch(r"[\w.-]{1,70}", found) and len(found.encode()) <= 130
    assert found.lower().split(".")[0] not in ("con", "nul", "aux", "prn", "com1", "model")
    assert re.fullmatch(r"rollout[\w.-]{0,100}\.png", result_file_name("png", "rollout", name, name)), "a file's, too"


def test_a_file_is_named_for_what_it_shows_and_of_what():
    assert result_file_name("png", "rollout", "red-panda.jpg", "vit_small.dino") == "rollout-red-panda-vit_small.dino.png"
    assert result_file_name("csv", "heads", "猫 1.HEIC", "runs/mine@17.5") == "heads-猫-1-runs-mine.csv"
    assert len(result_file_name("png", "rollout", 300 * "a", 300 * "b")) <= 110


def test_a_full_zip_takes_no_part_of_a_photo(vit, made):
    file, (red, *_) = io.BytesIO(), made
    bundle = ReportBundleWriter(vit, shelf := ZipWriter(file))
    bundle.add_photo(red)
    shelf.most_bytes = file.seek(0, 2) + sum(map(len, red.files.values())) - 1
    with pytest.raises(OutputTooLargeError, match=r"would be larger than \d+ MB"):
        bundle.add_photo(red)
    bundle.close()
    assert {name.split("/")[0] for name in zipfile.ZipFile(file).namelist()} == {"red", "model", "index.html", "manifest.json"}


def test_models_for_which_something_is_not_defined(noise, tmp_path, monkeypatch):
    monkeypatch.setattr(reports, "print_figure", lambda *asked: b"a picture")  # which files there are is asked
    vit = vitcore.wrap(timm_vit(pos_embed="none", num_classes=0), name="bare")
    bundle = ReportBundleWriter(vit, FolderWriter(tmp_path))
    bundle.add_photo(bundle.render_photo(photo_from_image(noise(), "x.png"), ReportOrigin()))
    bundle.close()
    assert not (tmp_path / "model" / "positions.png").exists() and not (tmp_path / "x" / "answer.png").exists()
    assert (tmp_path / "model" / "filters.png").exists() and (tmp_path / "x" / "handout.html").exists()


# The shell


@pytest.fixture
def mine(vit, monkeypatch):
    """The shell finds a small model under the name "mine"."""
    load = load_model.load
    monkeypatch.setattr(load_model, "load", lambda name, *a, **k: vit if name == "mine" else load(name, *a, **k))
    return ["--model", "mine"]


def folder_of(tmp_path: Path, photos: dict[str, bytes]) -> list[str]:
    for name, data in photos.items():
        (tmp_path / name).write_bytes(data)
    return [str(tmp_path / name) for name in photos]


def test_the_shell_writes_into_a_folder_what_the_library_zips(mine, photos, archive, tmp_path, capsys):
    given = folder_of(tmp_path, photos | {"broken.jpg": b"not a photo"})
    assert main(["report", *given, *mine, "--fusion", "max", "--discard", "0.25", "--out", str(tmp_path / "out")]) == 1, (
        "one that was named is left out"
    )
    said = capsys.readouterr()
    assert "broken.jpg is not a picture" in said.err and said.out.strip() == str(tmp_path / "out" / "index.html")
    here = {f.relative_to(tmp_path / "out").as_posix(): f for f in (tmp_path / "out").rglob("*") if f.is_file()}
    assert set(here) == set(archive.namelist())
    for name in (n for n in here if n.endswith(".npz")):
        with np.load(here[name]) as one, np.load(io.BytesIO(archive.read(name))) as other:
            assert set(one) == set(other) and all(np.array_equal(one[k], other[k]) for k in one), name
    for name in (n for n in here if n.endswith((".csv", ".png", ".webp"))):
        assert here[name].read_bytes() == archive.read(name), name


def test_the_shell_writes_a_zip_and_tells_the_credits_beside_a_photo(mine, photos, tmp_path):
    credit = {"id": "red-panda", "title": "Red panda", "author": "Mathias Appel", "licence": "CC0-1.0"}
    told = (SAMPLES / "credits.json").read_text(encoding="utf-8")
    assert credit.items() <= next(row for row in json.loads(told) if row["id"] == "red-panda").items()
    (tmp_path / "credits.json").write_text(told, encoding="utf-8")
    given = folder_of(tmp_path, {"red-panda.jpg": photos["red.jpg"]})
    assert main(["report", *given, *mine, "--zip", "--out", str(tmp_path / "out")]) == 0
    assert [f.name for f in (tmp_path / "out").iterdir()] == ["report.zip"]
    with zipfile.ZipFile(tmp_path / "out" / "report.zip") as archive:
        names = {f"red-panda/{name}" for name in OF_A_PHOTO} | OF_THE_MODEL | {"index.html", "manifest.json"}
        assert set(archive.namelist()) == names
        page = archive.read("red-panda/handout.html").decode()
    assert "<h1>Red panda</h1>" in page and "Mathias Appel" in page and "CC0-1.0" in page
    assert TINY["depth"] == 3 and "layers 0–2" in page


def test_the_shell_prints_the_numbers(mine, photos, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = folder_of(tmp_path, {"red.jpg": photos["red.jpg"]})
    assert main(["report", *given, *mine, "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["photos"]
    assert np.array(one["rollout"]).shape == (4, 4) and len(one["top5"]) == 5 and one["model"]["name"] == "tiny"
    assert [f.name for f in tmp_path.iterdir()] == ["red.jpg"]


@pytest.mark.parametrize(
    ("flags", "said"),
    [([], "name a photo"), (["nothing.jpg"], "nothing.jpg can't be read"), (["red.jpg", "--patch", "16"], "from 0 to 15"),
     (["red.jpg", "--first-block", "3"], "from 0 to 2"), (["red.jpg", "--discard", "1"], "discard ratio"),
     (["broken.jpg", "broken.jpg"], "none of the photos")],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("zipped", [[], ["--zip"]], ids=["folder", "zip"])
def test_what_cannot_be_done_is_said(flags, said, zipped, mine, photos, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folder_of(tmp_path, {"red.jpg": photos["red.jpg"], "broken.jpg": b"not a photo"})
    assert main(["report", *flags, *mine, *zipped, "--out", "out"]) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.glob("out/*"))


@pytest.mark.parametrize("text", ["", "{}", "[]", "[1]", '{"id": 3}', '[{"title": "x"}]', "null"])
def test_credits_that_are_none_are_left_alone(text, tmp_path):
    from vitcore.cli.report import read_credit

    (tmp_path / "credits.json").write_text(text)
    assert read_credit(tmp_path / "red.jpg") == {}
