"""Where training photos come from: folders, Parquet, the hub and CIFAR (both on loopback), and what is refused."""

import functools
import hashlib
import http.server
import io
import json
import pickle
import shutil
import tarfile
import threading
import types

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

from tests.local_hub import point_at
from tests.picture_files import BLUE, GREEN, RED, corners, flat, oriented, png_of_size, saved
from vitcore.images import PhotoError
from vitcore.train.data.photo_sources import DataError, check_has_classes, open_photo_source
from vitcore.train.data.photo_tensors import open_batches
from vitcore.train.data.photos import Photos, choose_validation, limit_photos
from vitcore.train.recipe import Recipe


def write(folder, n, seed=0):
    """n small photos, all different."""
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(n):
        (folder / f"{i}.png").write_bytes(saved(flat((i, seed, 7), (12, 10)), "PNG"))


def refusal(where, **options):
    with pytest.raises(DataError) as caught:
        open_photo_source(str(where), **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def ways(photos):
    return sorted(photos.title(i) for i in range(len(photos)))


# Samples and folders


def test_each_sample_is_a_class_of_its_own():
    train, validation = open_photo_source("samples")
    assert len(train) == len(train.classes) == 18 and "Red panda" in train.classes and validation is train
    assert train.labels.tolist() == list(range(18)) and train.open(0).mode == "RGB"
    check_has_classes(train)


def test_the_digits_come_with_scikit_learn():
    train, validation = open_photo_source("digits")
    assert (len(train), len(validation)) == (1438, 359) and train.classes == tuple("0123456789")
    assert train.items.shape[1:] == (8, 8) and train.items.max() == 255 and train.open(0).mode == "RGB"
    assert np.bincount(validation.labels).min() >= 34, "a fifth of each class"
    other = open_photo_source("digits", seed=1)[1]
    assert not np.array_equal(other.items, validation.items) and len(other) == len(validation)


def test_as_many_of_each_class_are_drawn_and_fewer_are_a_part_of_more():
    photos = Photos("numbers", np.arange(30, dtype=np.uint8).reshape(30, 1, 1), np.repeat([0, 1, 2], [20, 7, 3]), tuple("abc"))
    few, more = limit_photos(photos, 9, 0), limit_photos(photos, 20, 0)
    assert np.bincount(few.labels).tolist() == [3, 3, 3] and np.bincount(more.labels).tolist() == [10, 7, 3]
    assert set(few.items.ravel()) < set(more.items.ravel()) and len(limit_photos(photos, 5, 0)) == 5
    assert set(limit_photos(photos, 9, 1).items.ravel()) != set(few.items.ravel())
    assert limit_photos(photos, 0, 0) is photos and limit_photos(photos, 99, 0) is photos


@pytest.fixture
def animals(tmp_path):
    """Folders cat (20), dog (10), and newt (2)."""
    for seed, (name, n) in enumerate({"cat": 20, "dog": 10, "newt": 2}.items()):
        write(tmp_path / "animals" / name, n, seed)
    return tmp_path / "animals"


def test_class_folders_are_held_out_by_class(animals):
    train, validation = open_photo_source(str(animals), holdout=0.2)
    assert train.classes == validation.classes == ("cat", "dog", "newt")
    assert np.bincount(validation.labels).tolist() == [4, 2, 1] and np.bincount(train.labels).tolist() == [16, 8, 1]
    assert len({*ways(train), *ways(validation)}) == 32
    assert all(train.classes[y] == train.title(i).split("/")[0] for i, y in enumerate(train.labels))


def test_the_held_out_photos_are_the_same_elsewhere_and_in_another_order(animals, tmp_path):
    first = ways(open_photo_source(str(animals))[1])
    shutil.copytree(animals, tmp_path / "copy")
    assert ways(open_photo_source(str(tmp_path / "copy"))[1]) == first
    assert ways(open_photo_source(str(animals), seed=1)[1]) != first
    keys, labels = [b"%d" % i for i in range(50)], np.arange(50) % 3
    turned = choose_validation(keys[::-1], labels[::-1], 0.3, 0)
    assert (turned[::-1] == choose_validation(keys, labels, 0.3, 0)).all()


def test_nothing_is_held_out_when_nothing_is_to_be(animals):
    train, validation = open_photo_source(str(animals), holdout=0)
    assert len(train) == 32 and len(validation) == 0
    assert "below 1" in refusal(animals, holdout=1.0)


@pytest.mark.parametrize(("folders", "learned", "held_out"), [
    ({"train/a": 3, "train/b": 2, "val/b": 2}, [0, 0, 0, 1, 1], [1, 1]),
    ({"train/a": 3, "train/b": 2, "validation/b": 2}, [0, 0, 0, 1, 1], [1, 1]),
    ({"train/a": 3, "train/b": 2, "test/b": 2}, [0, 0, 0, 1, 1], [1, 1]),
    ({"train/a": 10, "train/b": 10, "test": 5}, [0] * 9 + [1] * 9, [0, 1]),  # an unlabelled test folder is not for validation
    ({"a": 4, "train": 4}, [0] * 3 + [1] * 3, [0, 1]),  # a class may be called train
    ({"a/2019/may": 2, "b": 2}, [0, 1], [0, 1]),  # deeper folders belong to the first
])  # fmt: skip
def test_folders_are_splits_or_classes(tmp_path, folders, learned, held_out):
    for folder, n in folders.items():
        write(tmp_path / folder, n)
    train, validation = open_photo_source(str(tmp_path))
    assert train.classes == validation.classes == (("a", "train") if "train" in folders else ("a", "b"))
    assert sorted(train.labels) == learned and sorted(validation.labels) == held_out


@pytest.mark.parametrize(("folders", "words"), [
    ({"train/a": 2, "train/b": 2, "val/zebra": 2}, "zebra"), ({"": 1, "a": 2}, "beside"), ({}, "is empty"),
])  # fmt: skip
def test_folders_that_are_refused(tmp_path, folders, words):
    for folder, n in folders.items():
        write(tmp_path / folder, n)
    assert words in refusal(tmp_path) and str(tmp_path) in refusal(tmp_path)


def test_a_flat_folder_is_unlabelled(tmp_path):
    write(tmp_path, 20)
    (tmp_path / "notes.txt").write_text("no photo")
    (tmp_path / "._0.png").write_bytes(b"what macOS leaves behind")
    train, validation = open_photo_source(str(tmp_path))
    assert (len(train), len(validation), train.classes) == (18, 2, ()) and set(train.labels) == {-1}
    with pytest.raises(DataError, match=r"has no labels; masked patch prediction needs none\."):
        check_has_classes(train)


def test_what_cannot_be_a_source(tmp_path):
    assert "nowhere' does not exist" in refusal(tmp_path / "nowhere")
    (tmp_path / "x.jpg").write_bytes(oriented(1))
    assert "is a file" in refusal(tmp_path / "x.jpg")
    for hostile in ("", " ", "a\0b", "x" * 5000, ",", "a.parquet,", "hf:", "hf:../../etc", "no/such.parquet"):
        refusal(hostile)


def test_one_class_is_nothing_to_tell_apart(tmp_path):
    write(tmp_path / "cat", 4)
    with pytest.raises(DataError, match=r"holds only one class \(cat\), so there is nothing to tell apart"):
        check_has_classes(open_photo_source(str(tmp_path))[0])
    some = Photos("mixed", [b""] * 3, np.array([0, 1, -1]), ("a", "b"))
    with pytest.raises(DataError, match="1 of 3 photos without a label"):
        check_has_classes(some)


# Opening


@pytest.mark.parametrize("orientation", range(1, 9))
def test_photos_are_upright(orientation):
    photos = Photos("p", [oriented(orientation)], np.array([-1]))
    small, size = photos.open_reduced(0, 8)
    assert photos.open(0).size == size == (64, 48) and small.size == (16, 12)
    error = np.asarray(small, int) - np.asarray(corners().resize((16, 12)), int)
    assert np.abs(error).mean() < 12


def test_other_kinds_of_picture():
    grey, alpha = saved(flat(100, mode="L"), "PNG"), saved(flat((*RED, 0), mode="RGBA"), "PNG")
    photos = Photos("p", [saved(flat(), "WEBP", lossless=True), grey, alpha, np.full((9, 8), 3, np.uint8)], np.full(4, -1))
    assert [photos.open(i).getpixel((0, 0)) for i in range(4)] == [RED, (100,) * 3, (255,) * 3, (3,) * 3]
    assert photos.open(3).size == (8, 9)


@pytest.mark.parametrize("data", [b"", b"hello", oriented(1)[:600], png_of_size(30_000, 30_000)], ids=len)
def test_broken_photos_are_named(tmp_path, data):
    (tmp_path / "bad.jpg").write_bytes(data)
    photos = Photos("p", [data, tmp_path / "bad.jpg"], np.full(2, -1), (), tmp_path)
    for i, name in enumerate(("photo 0 of p", "bad.jpg")):
        with pytest.raises(PhotoError, match=name):
            photos.open(i)


@pytest.mark.parametrize("empty", [False, True])
def test_a_folder_that_vanishes(animals, empty):
    """Taken away, or a mount point without its disk; one missing file is one broken photo."""
    photos = open_photo_source(str(animals), holdout=0)[0]
    photos.items[3].unlink()
    with pytest.raises(PhotoError, match=photos.items[3].name):
        photos.open(3)
    shutil.rmtree(animals)
    animals.mkdir() if empty else None
    with pytest.raises(DataError, match=str(animals)):
        photos.open(0)


# Parquet


def encoded(n, colour=0):
    return [saved(flat((i, colour, 7), (12, 10)), "PNG") for i in range(n)]


def parquet(file, columns, names=None):
    """A Parquet file, with `datasets`' metadata if class names are given."""
    file.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table(columns)
    if names:
        features = {"image": {"_type": "Image"}, "label": {"names": names, "_type": "ClassLabel"}}
        table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    pq.write_table(table, file)
    return file


@pytest.mark.parametrize(("labels", "splits", "classes", "learned", "held_out"), [
    ([3, 11] * 10, None, ("3", "11"), [0, 1] * 9, [0, 1]),
    (["b", "a", "b", "a", "c"], ["train"] * 3 + ["val", "validation"], ("a", "b", "c"), [1, 0, 1], [0, 2]),
    ([2, -1, 7, 7], ["train", "train", "test", "other"], ("2", "7"), [0, -1], [1]),
])  # fmt: skip
def test_labels_and_splits_of_rows(tmp_path, labels, splits, classes, learned, held_out):
    columns = {"image": encoded(len(labels)), "label": labels} | ({"split": splits} if splits else {})
    train, validation = open_photo_source(str(parquet(tmp_path / "a.parquet", columns)))
    assert train.classes == classes and train.open(0).size == (12, 10)
    if splits:
        assert train.labels.tolist() == learned and validation.labels.tolist() == held_out
    else:  # which are held out is drawn
        assert sorted(train.labels) == sorted(learned) and sorted(validation.labels) == held_out


def test_structs_with_class_names(tmp_path):
    """As `datasets` writes them: the number of a class is kept, whichever classes occur."""
    images = [{"bytes": data, "path": f"{i}.png"} for i, data in enumerate(encoded(6))]
    file = parquet(tmp_path / "a.parquet", {"image": images, "label": [2, 0] * 3}, ["ant", "bee", "cow"])
    train, _ = open_photo_source(str(file), holdout=0)
    assert train.classes == ("ant", "bee", "cow") and train.labels.tolist() == [2, 0] * 3


def test_files_of_splits_in_a_folder_and_with_commas(tmp_path):
    a = parquet(tmp_path / "data" / "train-0-of-2.parquet", {"image": encoded(3), "label": [0, 1, 0]})
    b = parquet(tmp_path / "data" / "train-1-of-2.parquet", {"image": encoded(2, 9), "label": [2, 1]})
    c = parquet(tmp_path / "data" / "validation.parquet", {"image": encoded(2, 5), "label": [1, 1]})
    for where in (tmp_path, tmp_path / "data", f"{a}, {b},{c}"):
        train, validation = open_photo_source(str(where))
        assert train.labels.tolist() == [0, 1, 0, 2, 1] and validation.labels.tolist() == [1, 1]
    assert len(open_photo_source(str(c), holdout=0)[0]) == 2, "a validation file alone is the set"
    parquet(tmp_path / "data" / "validation.parquet", {"image": encoded(2, 5), "label": [-1, -1]})
    assert (open_photo_source(str(tmp_path), holdout=0.4)[1].labels >= 0).all(), "without labels it is of no use"


def test_rows_are_held_out_whatever_their_order(tmp_path):
    images, labels = encoded(30), [i % 3 for i in range(30)]
    one = parquet(tmp_path / "a.parquet", {"image": images, "label": labels})
    two = parquet(tmp_path / "b.parquet", {"image": images[::-1], "label": labels[::-1]})
    first, second = (sorted(open_photo_source(str(file), holdout=0.2)[1].items) for file in (one, two))
    assert first == second and len(first) == 6


def test_unlabelled_rows_and_missing_images(tmp_path):
    train, _ = open_photo_source(str(parquet(tmp_path / "a.parquet", {"image": [*encoded(3), None]})), holdout=0)
    assert train.classes == () and set(train.labels) == {-1}
    with pytest.raises(PhotoError, match=r"photo 3 of .* is empty"):
        train.open(3)


@pytest.mark.parametrize(("columns", "words"), [
    ({"text": ["x"]}, "no column `image`; it has text"), ({"image": ["x.png"]}, "string, not the bytes"),
    ({"image": encoded(1), "label": [0.5]}, "double"), ({"image": pa.array([], pa.binary())}, "holds no photos"),
    ({"image": encoded(3), "label": [1, 0, 3]}, "a label 3 that is none of its 3 classes"),
])  # fmt: skip
def test_rows_that_are_refused(tmp_path, columns, words):
    assert words in refusal(
        parquet(tmp_path / "a.parquet", columns, ["ant", "bee", "cow"] if 3 in columns.get("label", ()) else None)
    )


def test_a_file_that_is_not_parquet(tmp_path):
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no")
    assert "bad.parquet is not a Parquet file" in refusal(tmp_path / "bad.parquet")


@pytest.fixture
def little_memory(tmp_path, monkeypatch):
    """A machine with less memory than the photos take; what it writes lies in a folder of the test."""
    monkeypatch.setattr("vitcore.train.data.encoded_photos.machine_memory_bytes", lambda: 10)
    monkeypatch.setenv("VITCORE_DATA", str(tmp_path / "home"))
    return tmp_path / "home" / "arrow"


def large(folder):
    """300 photos of noise in two files, more rows than are written at a time, with paths in one and none in the other."""
    rng = np.random.default_rng(0)
    noise = [saved(Image.fromarray(rng.integers(0, 256, (40, 40, 3), np.uint8)), "PNG") for _ in range(300)]
    rows = [{"bytes": data, "path": f"{i}.png"} for i, data in enumerate(noise[:280])]
    parquet(folder / "a.parquet", {"image": rows, "label": [i % 3 for i in range(280)]})
    parquet(folder / "b.parquet", {"image": [*noise[280:299], None], "label": [0, 1] * 10})
    return str(folder)


def test_more_parquet_than_memory_is_mapped_and_the_same(tmp_path, little_memory, monkeypatch):
    where = large(tmp_path / "photos")
    held_before = pa.total_allocated_bytes()
    mapped = open_photo_source(where)
    assert pa.total_allocated_bytes() - held_before < 50_000, "a mapped file takes none of Arrow's memory"
    assert sum(file.stat().st_size for file in little_memory.glob("*.arrow")) > 1_000_000
    monkeypatch.setattr("vitcore.train.data.encoded_photos.machine_memory_bytes", lambda: 2**60)
    for one, other in zip(mapped, open_photo_source(where), strict=True):
        assert one.labels.tolist() == other.labels.tolist() and list(one.items) == list(other.items) and len(one) > 20
        again = pickle.loads(pickle.dumps(one.items))
        assert len(pickle.dumps(one.items)) < 10_000 and again[len(again) - 1] == one.items[len(one) - 1]
    assert pa.total_allocated_bytes() - held_before > 1_000_000, "and one that is held does"


def test_mapped_photos_are_drawn_in_the_same_order_from_any_step(tmp_path, little_memory, monkeypatch):
    recipe = Recipe(image_px=16, patch_px=8, width=24, heads=3, batch=6, steps=9, resident_gb=0.0)
    where = large(tmp_path / "photos")
    mapped = open_batches(recipe, open_photo_source(where)[0], "cpu", (0.5,) * 3, (0.5,) * 3)
    monkeypatch.setattr("vitcore.train.data.encoded_photos.machine_memory_bytes", lambda: 2**60)
    held = open_batches(recipe, open_photo_source(where)[0], "cpu", (0.5,) * 3, (0.5,) * 3)
    for step in (3, 4, 0):
        one, other = mapped.batch(step), held.batch(step)
        assert torch.equal(one.pixels, other.pixels) and torch.equal(one.targets, other.targets)


def test_a_mapped_file_is_written_again_only_when_the_parquet_file_changed(tmp_path, little_memory):
    file = parquet(tmp_path / "a.parquet", {"image": encoded(3)})

    def opened(photos):
        train, _ = open_photo_source(str(file), holdout=0)
        assert list(train.items) == photos
        (made,) = little_memory.glob("*.arrow")
        return made.stat().st_mtime_ns

    first = opened(encoded(3))
    assert opened(encoded(3)) == first
    parquet(file, {"image": encoded(4, 9)})
    assert opened(encoded(4, 9)) > first


def test_no_room_for_what_is_mapped(tmp_path, little_memory):
    little_memory.parent.write_text("a file where the folder should be")
    assert "could not be written in" in refusal(parquet(tmp_path / "a.parquet", {"image": encoded(3)}))


# The hub, on this machine


class Hub(http.server.BaseHTTPRequestHandler):
    """Lists and hands out `server.sets[revision][file]` as the hub does."""

    def do_HEAD(self):
        self.do_GET(body=False)

    def do_GET(self, body=True):
        path = self.path.partition("?")[0].replace("%2F", "/")
        if not path.startswith(("/api/datasets/me/set", "/datasets/me/set")):
            return self.answer(404, code="RepoNotFound")
        for revision, files in self.server.sets.items():
            if path == f"/api/datasets/me/set/tree/{revision}":
                rows = [{"type": "file", "path": name, "size": len(data), "oid": "b" * 40} for name, data in files.items()]
                return self.answer(200, json.dumps(rows).encode(), body)
            for name, data in files.items():
                if path == f"/datasets/me/set/resolve/{revision}/{name}":
                    return self.answer(200, data, body)
        return self.answer(404, code="RevisionNotFound")

    def answer(self, status, data=b"", body=True, code=None):
        self.server.asked.append(f"{self.command} {self.path}")
        self.send_response(status)
        facts = {"Content-Length": len(data), "ETag": f'"{hashlib.md5(data).hexdigest()}"', "X-Repo-Commit": "a" * 40}
        for key, value in (facts | ({"X-Error-Code": code} if code else {})).items():
            self.send_header(key, str(value))
        self.end_headers()
        if body:
            self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def serve():
    """`serve(handler)`: a server on this machine, until the test ends."""
    servers = []

    def start(handler):
        servers.append(http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return servers[-1]

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def hub(serve, tmp_path, monkeypatch):
    server = serve(Hub)
    server.sets, server.asked = {}, []
    point_at(f"http://127.0.0.1:{server.server_port}", tmp_path, monkeypatch)
    return server


@pytest.fixture
def made(tmp_path):
    """Bytes of a train (4 photos) and a test file (2 photos) with class names."""
    names = ["ant", "bee"]
    train = parquet(tmp_path / "made" / "1.parquet", {"image": encoded(4), "label": [0, 1] * 2}, names)
    test = parquet(tmp_path / "made" / "2.parquet", {"image": encoded(2, 3), "label": [1, 1]}, names)
    return train.read_bytes(), test.read_bytes()


def check(where):
    train, validation = open_photo_source(where)
    assert train.classes == ("ant", "bee") and train.labels.tolist() == [0, 1, 0, 1]
    assert validation.labels.tolist() == [1, 1] and validation.open(0).size == (12, 10)


def test_a_data_set_of_the_hub_is_downloaded_once_and_there_offline(hub, made, tmp_path, monkeypatch):
    hub.sets["main"] = {"README.md": b"#", "data/train-0-of-1.parquet": made[0], "data/test-0-of-1.parquet": made[1]}
    check("hf:me/set")
    check("hf:me/set")
    assert sum(line.startswith("GET /datasets/") for line in hub.asked) == 2
    point_at("http://127.0.0.1:9", tmp_path, monkeypatch)
    check("hf:me/set")


def test_the_hubs_own_conversion_to_parquet(hub, made):
    converted = {"default/train/0000.parquet": made[0], "default/test/0000.parquet": made[1], "other/train/0.parquet": b""}
    hub.sets = {"main": {"photos.zip": b"PK"}, "refs/convert/parquet": converted}
    check("hf:me/set")


def test_a_data_set_with_configurations(hub, made):
    for config in ("fine", "coarse"):
        hub.sets.setdefault("main", {}).update({f"{config}/train.parquet": made[0], f"{config}/test.parquet": made[1]})
    assert "hf:me/set/coarse|fine" in refusal("hf:me/set")
    check("hf:me/set/fine")
    assert "no Parquet files of 'odd'" in refusal("hf:me/set/odd")


def test_data_sets_that_cannot_be_had(hub, tmp_path, monkeypatch):
    assert "no data set me/other" in refusal("hf:me/other")
    hub.sets["main"] = {"README.md": b"#"}
    assert "has no Parquet files" in refusal("hf:me/set")
    point_at("http://127.0.0.1:9", tmp_path, monkeypatch)
    assert "can't be reached" in refusal("hf:me/set")


# CIFAR, from an archive of our own


@pytest.fixture
def cifar(serve, tmp_path, monkeypatch):
    """torchvision's CIFAR10, its address and checksums turned to a small archive: 6 training photos, 2 test photos."""
    from torchvision.datasets import CIFAR10

    def digest(data):
        return hashlib.md5(data).hexdigest()

    rng, packed, sums = np.random.default_rng(0), io.BytesIO(), {}
    contents = {name: {"data": rng.integers(0, 256, (n, 3072), np.uint8), "labels": [i % 2 for i in range(n)]}
                for name, n in {"data_batch_1": 6, "test_batch": 2}.items()}  # fmt: skip
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, facts in (contents | {"batches.meta": {"label_names": ["cat", "ship"]}}).items():
            data = pickle.dumps(facts)
            info = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            info.size, sums[name] = len(data), digest(data)
            tar.addfile(info, io.BytesIO(data))
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / CIFAR10.filename).write_bytes(packed.getvalue())
    handler = functools.partial(Quiet, directory=str(tmp_path / "served"))
    monkeypatch.setenv("VITCORE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(CIFAR10, "url", f"http://127.0.0.1:{serve(handler).server_port}/{CIFAR10.filename}")
    monkeypatch.setattr(CIFAR10, "tgz_md5", digest(packed.getvalue()))
    monkeypatch.setattr(CIFAR10, "train_list", [["data_batch_1", sums["data_batch_1"]]])
    monkeypatch.setattr(CIFAR10, "test_list", [["test_batch", sums["test_batch"]]])
    monkeypatch.setattr(CIFAR10, "meta", CIFAR10.meta | {"md5": sums["batches.meta"]})
    return types.SimpleNamespace(contents=contents, made=CIFAR10)


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Files of a folder, without a log."""

    def log_message(self, *_):
        pass


def test_cifar_has_its_own_split(cifar, monkeypatch):
    train, test = open_photo_source("cifar10")
    assert (len(train), len(test), train.classes) == (6, 2, ("cat", "ship")) and train.labels.tolist() == [0, 1] * 3
    stored = cifar.contents["data_batch_1"]["data"][4].reshape(3, 32, 32).transpose(1, 2, 0)
    assert (np.asarray(train.open(4)) == stored).all() and (np.asarray(train.subset([4, 1]).open(0)) == stored).all()
    monkeypatch.setattr(cifar.made, "url", "http://127.0.0.1:9/gone")
    assert len(open_photo_source("cifar10")[0]) == 6, "downloaded once"


def test_cifar_without_a_network(cifar, monkeypatch, tmp_path):
    monkeypatch.setattr(cifar.made, "url", "http://127.0.0.1:9/gone")
    said = refusal("cifar10")
    assert "could not be downloaded" in said and str(tmp_path / "data") in said and "cifar-10-python.tar.gz" in said


def test_colours_survive():
    photos = Photos("p", [saved(flat(c), "PNG") for c in (RED, GREEN, BLUE)], np.arange(3), ("r", "g", "b"))
    assert [photos.subset([2, 0]).open(i).getpixel((0, 0)) for i in (0, 1)] == [BLUE, RED]
    assert photos.subset([2, 0]).labels.tolist() == [2, 0] and photos.subset([], "none").name == "none"
