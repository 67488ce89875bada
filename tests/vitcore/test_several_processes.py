"""Several processes answer as one does: the same numbers to the bit, said once."""

import json
import shutil

import pytest

from tests.conftest import ROOT, SAMPLES
from tests.forked_python import shell, two_processes
from tests.model_files import model_file
from vitcore.forward.recordings import distributed

PHOTOS = ["cat.jpg", "crab.jpg", "dahlia.jpg", "macaw.jpg", "rocket.jpg"]


def test_one_process_does_everything_in_order():
    squares = lambda some: [x * x for x in some]  # noqa: E731
    assert distributed.distributed_map([3, 1, 2], squares) == [9, 1, 4] and distributed.is_main_process()
    assert distributed.distributed_map([5], lambda some: map(str, some)) == ["5"] and distributed.distributed_map([], list) == []


@pytest.mark.parametrize(("block", "mine"), [(1, [1, 4]), (2, [2, 3])])
def test_each_of_several_takes_every_wth_block_and_all_know_all(monkeypatch, block, mine):
    """Without a second process: what accelerate would gather is put together by hand."""
    state = type("State", (), {"num_processes": 3, "process_index": 1, "is_main_process": False})()
    did, others = [], [(i, -i) for i in (6, 3, 0, 5, 2, 1, 4) if i not in mine]
    monkeypatch.setattr(distributed, "_processes", lambda: state)
    monkeypatch.setattr("accelerate.utils.gather_object", lambda mine: others + mine)
    found = distributed.distributed_map(range(7), lambda some: did.extend(some) or [-i for i in some], block)
    assert did == mine and found == [0, -1, -2, -3, -4, -5, -6] and not distributed.is_main_process()


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for name in PHOTOS:
        shutil.copy(SAMPLES / name, folder / name)
    (folder / "damaged.jpg").write_bytes(b"")
    return folder


def test_two_processes_give_the_json_of_one(photos, tmp_path):
    model = tmp_path / "tiny.safetensors"
    model_file(model, seed=3)
    asked = ["distance", "--images", photos, "--model", model, "--json"]
    one, two = shell("-m", "vitcore", *asked, cwd=ROOT), two_processes(*asked, cwd=ROOT)
    assert (one.returncode, two.returncode) == (0, 0), one.stderr + two.stderr
    assert one.stdout == two.stdout and json.loads(two.stdout)["images"] == len(PHOTOS)
    assert two.stdout.count("\n") == 1 and two.stderr.count("damaged.jpg is empty.") == 1
