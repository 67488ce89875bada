"""A few hundred damaged and hostile checkpoints by a seed: each opens right or ends in one sentence, quickly, in little memory."""

import pytest

from tests.benchmarks import hostile_files
from tests.hostile.base_files import base_files

COUNT = 120


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    return base_files(tmp_path_factory.mktemp("bases"))


@pytest.mark.parametrize("start", range(0, COUNT, 60))
def test_damaged_files_open_right_or_end_in_one_sentence(start, bases):
    assert list(hostile_files.faults(range(start, start + 60), bases)) == []


def test_the_temp_folder_is_as_it_was(bases, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for base in bases:
        assert hostile_files.fault(base) == ""
    assert list(tmp_path.iterdir()) == []


BOMBS = {
    "nested keys": lambda: (
        b"\x80\x02}" + b")" + b"q\x00h\x00\x86" * 1 + b"".join(b"q%ch%c\x86" % (i, i) for i in range(1, 60)) + b"K\x01s."
    ),
    "3 GB of zeros": lambda: b"\x80\x02}X\x01\x00\x00\x00ac__builtin__\nbytearray\nJ\x00\x5e\xd0\xb2\x85Rs.",
    "a far memo": lambda: b"\x80\x02}r\xff\xff\xff\x7f.",
    "many lists": lambda: b"\x80\x02" + b"]" * 10**6 + b".",
    "copies of copies": lambda: b"\x80\x02(lq\x00" + b"".join(b"(h%ch%ctq%c" % (i, i, i + 1) for i in range(200)) + b".",
}


@pytest.mark.parametrize("kind", BOMBS)
def test_a_small_pickle_costs_little(kind, tmp_path):
    file = tmp_path / "a.pth"
    file.write_bytes(b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}." + BOMBS[kind]())
    assert hostile_files.fault(file) == ""
