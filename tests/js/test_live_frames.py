"""Live's arithmetic in JavaScript against Python's: the crop to the bit on every gallery photo, rollout, and the fine detail."""

import json

import numpy as np
import pytest
from test_javascript import node

from tests.conftest import ROOT, SAMPLES
from tests.picture_files import oriented
from vitcore.analysis.rollout import rollout
from vitcore.figures.heat_overlay import fine_detail
from vitcore.images import crop_for_model, open_photo

SCRIPT = """
import { readFileSync, writeFileSync } from "node:fs"
import { resizeAndCrop } from "%(live)s/live_resize.js"
import { fineDetail, rollout } from "%(live)s/live_rollout_and_detail.js"
const folder = process.argv[1]
const { photos, cut, grid, layers } = JSON.parse(readFileSync(`${folder}/facts.json`, "utf8"))
for (const filter of ["bicubic", "bilinear"]) {
  const read = name => readFileSync(`${folder}/${name}.rgba`), asked = { ...cut, filter }
  const cuts = photos.map(([name, wide, high]) => Buffer.from(resizeAndCrop(read(name), wide, high, asked)))
  writeFileSync(`${folder}/${filter}`, Buffer.concat(cuts))
}
const whole = readFileSync(`${folder}/view.rgba`), side = Math.sqrt(whole.length / 4)
writeFileSync(`${folder}/detail`, fineDetail(whole, side, side, grid))
const floats = name => new Float32Array(Uint8Array.from(readFileSync(`${folder}/${name}`)).buffer), start = floats("start")
writeFileSync(`${folder}/rolled`, rollout(floats("attention"), layers, start.length, start))
"""


def rgba(image) -> bytes:
    return image.convert("RGBA").tobytes()


@pytest.fixture(scope="module")
def made(shipped, rec, tmp_path_factory):
    """What node makes of the gallery, and what Python does."""
    folder = tmp_path_factory.mktemp("live")
    photos = [open_photo(file) for file in sorted(SAMPLES.glob("*.jpg"))]
    views = [photo.image.resize((wide, high)) for photo, (wide, high) in zip(photos, SIZES, strict=False)]
    images = [*(photo.image for photo in photos), *views]
    for i, image in enumerate(images):
        (folder / f"{i}.rgba").write_bytes(rgba(image))
    view = photos[0].image.resize((320, 320))
    (folder / "view.rgba").write_bytes(rgba(view))
    (folder / "attention").write_bytes(rec.fused["mean"].astype("<f4").tobytes())
    start = np.random.default_rng(0).dirichlet(np.ones(rec.grid.tokens)).astype("<f4")
    (folder / "start").write_bytes(start.tobytes())
    facts = {"photos": [[i, *image.size] for i, image in enumerate(images)], "cut": {"short": 128, "high": 128, "wide": 128},
             "grid": {"rows": 16, "cols": 16}, "layers": len(rec.fused["mean"])}  # fmt: skip
    (folder / "facts.json").write_text(json.dumps(facts), encoding="utf-8")
    live = (ROOT / "app" / "components" / "live").as_uri()
    done = node("--input-type=module", "-e", SCRIPT % {"live": live}, folder)
    assert done.returncode == 0, done.stderr
    return folder, images, view, start


SIZES = [(640, 480), (480, 640), (129, 128), (100, 90), (128, 128), (301, 77)]  # of cameras, and smaller than the crop


@pytest.mark.parametrize("filter_name", ["bicubic", "bilinear"])
def test_a_frame_is_cut_as_pillow_cuts_it(filter_name, made, shipped):
    import timm  # noqa: F401
    from timm.data import create_transform

    folder, images, *_ = made
    found = np.fromfile(folder / filter_name, np.uint8).reshape(-1, 128, 128, 3)
    given = {"input_size": (3, 128, 128), "interpolation": filter_name, "crop_pct": 1.0, "mean": shipped.mean, "std": shipped.std}
    transform = shipped.transform if filter_name == "bicubic" else create_transform(**given)
    expected = np.stack([crop_for_model(image, transform).pixels for image in images])
    assert len(found) == len(images) == 18 + len(SIZES) and np.array_equal(found, expected)


def test_rollout_is_that_of_a_recording(made, rec):
    folder, *_, start = made
    expected = rollout(rec.fused["mean"], start, prefix=rec.grid.prefix)[rec.grid.prefix :]
    found = np.fromfile(folder / "rolled", "<f4")[rec.grid.prefix :]
    assert np.abs(found - expected).max() < 1e-6 * expected.max()


def test_the_fine_detail_is_that_of_figures(made, rec):
    """Its blur is not rounded between passes, as Pillow's is: a level or two."""
    folder, _, view, _ = made
    found = np.fromfile(folder / "detail", np.uint8).reshape(320, 320, 4)
    expected = fine_detail(view, rec.grid).astype(int)
    assert (found[..., 3] == 255).all() and (found[..., 0] == found[..., 2]).all()
    apart = np.abs(found[..., 0] - expected)
    assert apart.mean() < 1 and apart.max() <= 6
    means = found[..., 0].reshape(16, 20, 16, 20).mean((1, 3))
    assert np.abs(means - 36).max() < 0.6, "a patch's mean brightness is its heat's"


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_webp_that_is_to_be_turned_is_told(orientation, tmp_path):
    (tmp_path / "photo.webp").write_bytes(oriented(orientation, "WEBP"))
    script = f"""
import {{ readFileSync }} from "node:fs"
import {{ isTurnedWebp }} from "{(ROOT / "app" / "components" / "live").as_uri()}/live_clip_frames.js"
console.log(isTurnedWebp(readFileSync(`${{process.argv[1]}}/photo.webp`)))
"""
    done = node("--input-type=module", "-e", script, tmp_path)
    assert done.stdout.strip() == ("false" if orientation == 1 else "true"), done.stderr


def test_a_second_frame_makes_no_array_but_the_crop():
    script = f"""
let made = 0, detail
for (const name of ["Float32Array", "Uint8ClampedArray"]) globalThis[name] = class extends globalThis[name] {{
  constructor(...all) {{ super(...all); if (!all[0]?.byteLength) made += this.byteLength }}
}}
const from = name => import(`{(ROOT / "app" / "components" / "live").as_uri()}/${{name}}.js`)
const {{ resizeAndCrop }} = await from("live_resize"), {{ fineDetail }} = await from("live_rollout_and_detail")
const rgba = new Uint8ClampedArray(4 * 640 * 480), view = new Uint8ClampedArray(4 * 320 * 320)
for (let frame = 0; frame < 2; frame++) {{
  made = 0
  const cut = resizeAndCrop(rgba, 640, 480, {{ short: 128, high: 128, wide: 128, filter: "bicubic" }})
  detail = fineDetail(view, 320, 320, {{ rows: 16, cols: 16 }}, detail)
  console.log(made / cut.byteLength)
}}
"""
    done = node("--input-type=module", "-e", script)
    first, second = map(float, done.stdout.split())
    assert 1 <= second < 1.3 and first > 30, done.stderr


@pytest.mark.parametrize("kind", ["gif", "png", "webp", "avif"])
def test_an_animated_image_is_told_from_a_still_one(kind, tmp_path, made):
    _, images, *_ = made
    small = [image.convert("RGB").resize((64, 64)) for image in images[:3]]
    small[0].save(tmp_path / f"still.{kind}")
    small[0].save(tmp_path / f"moving.{kind}", save_all=True, append_images=small[1:], duration=100)
    script = f"""
import {{ readFileSync }} from "node:fs"
import {{ isAnimated }} from "{(ROOT / "app" / "components" / "live").as_uri()}/live_clip_frames.js"
console.log(["still", "moving"].map(name => isAnimated(readFileSync(`${{process.argv[1]}}/${{name}}.{kind}`))).join())
"""
    done = node("--input-type=module", "-e", script, tmp_path)
    assert done.stdout.strip() == "false,true", done.stderr
