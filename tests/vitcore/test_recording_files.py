"""A recording as a file, as tables with names on their axes, and as plots; classes by their names; one line for each result."""

import ast
import dataclasses
import json
import pickle
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import vitcore
from tests.conftest import ROOT
from vitcore.architectures.axial_vit import AxialViT
from vitcore.forward.compare_models import compare, record_tokens
from vitcore.forward.mask_outliers import mask_outlier_tokens
from vitcore.forward.recording import Recording, record
from vitcore.forward.recordings.labelled_arrays import MissingPackageError
from vitcore.forward.recordings.recording_file import RecordingFileError
from vitcore.forward.relevance import relevance
from vitcore.models.load_model import ModelError
from vitcore.models.vit import class_index_by_name
from vitcore.quiz.quiz_data import replace


def same(one, other) -> bool:
    """Whether two values are equal to the bit, whatever they are made of."""
    if dataclasses.is_dataclass(one):
        return type(one) is type(other) and all(same(getattr(one, f.name), getattr(other, f.name)) for f in dataclasses.fields(one))
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other) and one.flags.writeable == other.flags.writeable
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if hasattr(one, "tobytes"):
        return one.mode == other.mode and one.tobytes() == other.tobytes()
    return bool(one == other)


@pytest.fixture
def recorded(make_vit, noise):
    return record(make_vit(reg_tokens=2), noise(1, (50, 40)), maps=[0, 2], fusions=("mean", "max"))


@pytest.mark.parametrize("kind", ["whole", "lean", "masked", "features", "not global", "bands"])
def test_everything_is_equal_after_a_file(tmp_path, make_vit, noise, recorded, kind):
    import timm

    from vitcore import wrap

    bands = timm.create_model("vit_tiny_patch16_224", img_size=32, patch_size=8, depth=2, in_chans=5, num_classes=3).eval()
    if kind == "not global":
        vit = wrap(timm.create_model("levit_128s", num_classes=3).eval(), name="levit")
    rec = {
        "whole": lambda: recorded, "lean": lambda: record(make_vit(), noise(2), store="query_key"),
        "masked": lambda: mask_outlier_tokens(recorded, np.arange(recorded.grid.tokens) == 5),
        "features": lambda: record(make_vit(num_classes=0), noise(2)), "not global": lambda: record(vit, noise(2)),
        "bands": lambda: record(wrap(bands, mean=(0,) * 5, std=(1,) * 5), np.random.default_rng(0).random((32, 32, 5), np.float32)),
    }[kind]()  # fmt: skip
    photo = replace(rec.photo, notes=("Turned – 图",), name="图.jpg", whose="me")
    rec = replace(rec, photo=photo)
    file = rec.save(tmp_path / "x.npz")
    again = Recording.load(str(file))
    assert same(rec, again) and again.key == rec.key
    if kind != "not global":
        assert np.array_equal(rec.rollout(), again.rollout())
    assert not same(rec, replace(again, model="other")) and sorted(p.name for p in tmp_path.iterdir()) == ["x.npz"]


def test_what_is_no_recording_is_refused_in_a_sentence(tmp_path, recorded):
    good = recorded.save(tmp_path / "good.npz")
    (tmp_path / "cut.npz").write_bytes(good.read_bytes()[:-500])
    (tmp_path / "text.npz").write_text("hello")
    (tmp_path / "empty.npz").write_bytes(b"")
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    np.savez(tmp_path / "pickled.npz", about=np.array([object()]))
    with np.load(good) as stored:
        arrays = {name: stored[name] for name in stored.files}
    about = json.loads(str(arrays["about"]))
    np.savez(tmp_path / "shape.npz", **{**arrays, "model_input": arrays["model_input"][1:]})
    np.savez(tmp_path / "newer.npz", **{**arrays, "about": np.array(json.dumps({**about, "version": 2}))})
    for name in ("cut", "text", "empty", "other", "pickled", "shape"):
        with pytest.raises(RecordingFileError, match=f"^{name}.npz is no recording, or it is damaged.$"):
            Recording.load(tmp_path / f"{name}.npz")
    with pytest.raises(RecordingFileError, match="saved by a newer Inside ViT"):
        Recording.load(tmp_path / "newer.npz")
    with pytest.raises(FileNotFoundError):
        Recording.load(tmp_path / "gone.npz")


def test_a_dataset_has_names_on_its_axes(recorded):
    pytest.importorskip("xarray")
    data = recorded.to_xarray()
    assert data.distance_px.dims == ("layer", "head") and data.distance_px.attrs["units"] == "px"
    assert np.array_equal(data.attention_max.sel(layer=1, token=3), recorded.fused["max"][1, 3])
    assert np.array_equal(data.head_attention.sel(layer=2, head=1), recorded.maps[2][1])
    kept = pickle.loads(pickle.dumps(data)).head_attention
    assert set(recorded.maps) == {0, 2} and np.array_equal(kept.dropna("layer"), np.stack([recorded.maps[i] for i in (0, 2)]))
    assert kept.isnull().any(("head", "token", "to_token")).values.tolist() == [False, True, False]
    assert np.array_equal(kept.sel(layer=[2, 0], token=5)[:, 1], [recorded.maps[i][1, 5] for i in (2, 0)])
    assert np.array_equal(data.rollout, recorded.rollout()) and data.attrs["model"] == "tiny"
    assert float(data.probabilities.sum()) == pytest.approx(1) and data.norms.dims == ("layer", "token")


@pytest.mark.parametrize("kind", ["whole", "bfloat16", "axial"])
def test_a_dataset_is_the_same_after_a_netcdf_file(tmp_path, make_vit, noise, recorded, kind):
    xarray = pytest.importorskip("xarray")
    rec = {
        "whole": lambda: recorded, "bfloat16": lambda: record(make_vit().to(dtype="bfloat16"), noise(1), maps=[1]),
        "axial": lambda: record(vitcore.wrap(AxialViT((16, 24), 8, embed_dim=8, depth=2, num_heads=2, num_classes=3)), noise(1)),
    }[kind]()  # fmt: skip
    data = rec.to_xarray()
    assert np.array_equal(data.model_input, rec.model_input.pixels) and data.model_input.max() > 127
    data.to_netcdf(tmp_path / "photo.nc", engine="scipy")
    again = xarray.load_dataset(tmp_path / "photo.nc", engine="scipy")
    xarray.testing.assert_equal(again, data)
    assert {name: one.dtype for name, one in again.items()} == {name: one.dtype for name, one in data.items()}
    assert again.attrs["model"] == rec.model and np.array_equal(again.attrs["patch_px"], data.attrs["patch_px"])


def test_datasets_of_other_kinds(make_vit, noise):
    pytest.importorskip("xarray")
    assert "probabilities" not in record(make_vit(num_classes=0), noise(1)).to_xarray()
    assert "rollout" not in record(make_vit(), noise(1), fusions=("max",)).to_xarray()


def test_a_table_has_a_row_for_each_head(recorded):
    table = recorded.to_pandas()
    assert table.shape == (9, 3) and table.index.names == ["layer", "head"]
    assert table.loc[(2, 1), "distance_px"] == recorded.distance_px[2, 1]


@pytest.mark.parametrize("package", ["xarray", "pandas"])
def test_a_package_that_is_missing_is_named(monkeypatch, recorded, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match=f"^{package} is not installed: pip install {package}.$"):
        getattr(recorded, f"to_{package}")()


@pytest.mark.parametrize(("picture", "settings"), [
    ("rollout", {}), ("rollout", {"start": 5, "fusion": "max"}), ("distance", {"cls": "renormalise"}),
    ("predictions", {"count": 3}),
])  # fmt: skip
def test_a_recording_is_plotted_into_axes_of_one_s_own(recorded, picture, settings):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    sheet = Figure()
    FigureCanvasAgg(sheet)
    axes = sheet.subplots(1, 2)
    assert recorded.plot(picture, ax=axes[0], **settings) is axes[0]
    sheet.canvas.draw()
    assert axes[0].get_title(loc="left") and not axes[1].get_title(loc="left")
    drawn = np.asarray(sheet.canvas.buffer_rgba())[..., :3]
    assert len(np.unique(drawn[:, : drawn.shape[1] // 2].reshape(-1, 3), axis=0)) > 10


def test_other_plots_are_refused(recorded):
    with pytest.raises(ValueError, match="a picture is one of rollout, distance, predictions, not 'magic'"):
        recorded.plot("magic")
    with pytest.raises(ValueError, match="cls is one of drop, renormalise"):
        recorded.plot("distance", cls="keep")


# Classes by name


def test_a_class_is_asked_for_by_its_name(make_vit, noise):
    vit = replace(make_vit(), labels=("tiger cat", "lynx", "crane", "Crane", "sea-lion", "snow leopard", "a", "b", "c", "d"))
    photo = noise(1)
    seen = record(vit, photo).model_input
    by_index, by_name = relevance(vit, seen, "chefer", 1), relevance(vit, photo, "chefer", target="Lynx")
    assert by_name.targets == (1,) and np.array_equal(by_index.maps, by_name.maps)
    assert relevance(vit, [seen, photo], "chefer", ("sea lion", 0)).targets == (4, 0)
    for name, said in (
        ("crane", "2 classes are named crane: give one by its index, 2, 3."),
        ("linx", "No class is named linx; the nearest are: lynx"),
        ("leopard", "nearest are: snow leopard"), ("zzzzqqq", "No class has the name zzzzqqq or a similar one"),
        ("", "or a similar one"),
    ):  # fmt: skip
        with pytest.raises(ModelError, match=said):
            relevance(vit, photo, "chefer", name)


def test_a_class_of_the_shipped_model(shipped):
    assert shipped.labels[class_index_by_name(shipped.labels, shipped.labels[3].upper())] == shipped.labels[3]


# What is found


def test_results_are_named_in_a_line(recorded, make_vit, tmp_path):
    vit = make_vit()
    assert repr(vit) == "<Vit tiny: 4×4 patches, 3 blocks of 3 heads, 10 classes>"
    found = relevance(vit, np.zeros((32, 32, 3), np.uint8), "chefer", 3)
    assert repr(found) == "<Relevance by chefer of class 3: maps 4×4>" and "\n" not in repr(recorded)
    both = [record_tokens(vit, np.zeros((32, 32, 3), np.uint8)) for _ in range(2)]
    assert repr(both[0]).endswith("by tiny: 3 layers, 16 patches, width 24>")
    assert repr(compare(*both)) == "<Comparison of tiny and tiny: rank correlation of rollouts 1.00>"
    assert repr(recorded.model_input).startswith("<Crop: 32×32 px of (")
    torch.save(vit.module.state_dict(), tmp_path / "mine.pth")
    assert re.fullmatch(r"<Inspection of mine\.pth: timm layout, [\d,]+ parameters, assumed: .*; 0 problems>",
                        repr(vitcore.inspect(tmp_path / "mine.pth")))  # fmt: skip


def test_editors_and_mypy_see_every_public_name():
    """What `__getattr__` gives at run time is imported, under its name, where types are checked."""
    tree = ast.parse((ROOT / "vitcore" / "__init__.py").read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    named = {alias.asname: f"{node.module}.{alias.name}" for node in block.body for alias in node.names}
    assert named.keys() == set(vitcore.__all__) and set(vitcore.__all__) <= set(dir(vitcore))
    for name, path in named.items():
        module, _, last = path.rpartition(".")
        assert getattr(__import__(module, fromlist=[last]), last) is getattr(vitcore, name)
    assert (Path(vitcore.__file__).parent / "py.typed").exists()
