"""Numbers as CSV: every number once, where it stood, as exact as it was kept."""

import csv
import io

import numpy as np
import pytest

from vitcore.csv_and_npz import to_csv


def rows_of(data):
    return list(csv.reader(io.StringIO(data.decode())))


def test_every_number_with_its_place():
    head, *rows = rows_of(to_csv({"a": np.array([[1, 2], [3, 4]]), "b": [0.5]}))
    assert head == ["array", "i", "j", "k", "l", "value"]
    assert rows == [["a", "0", "0", "", "", "1"], ["a", "0", "1", "", "", "2"], ["a", "1", "0", "", "", "3"],
                    ["a", "1", "1", "", "", "4"], ["b", "0", "", "", "", "0.5"]]  # fmt: skip


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (2, 3, 2), (2, 1, 3, 2)])
def test_arrays_come_back_from_it(shape):
    values = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    back = np.zeros(shape)
    for _, *place, value in rows_of(to_csv({"x": values}))[1:]:
        back[tuple(int(i) for i in place if i)] = float(value)
    assert np.allclose(back, values, rtol=1e-6)
    assert len(rows_of(to_csv({"x": values}))) == values.size + 1


def test_words_and_bytes():
    assert rows_of(to_csv({"labels": np.array(["a, b", 'c "d"'])}))[1:] == [
        ["labels", "0", "", "", "", "a, b"], ["labels", "1", "", "", "", 'c "d"'],
    ]  # fmt: skip
    assert rows_of(to_csv({"x": np.array([255], np.uint8)}))[1][-1] == "255"


def test_nothing_is_a_heading_only():
    assert to_csv({}) == b"array,i,j,k,l,value\n"
