"""Numbers as CSV: every number once, where it stood, as exact as it was kept."""

import csv
import io

import numpy as np
import pytest

from vitcore.csv_and_npz import to_csv


def rows_of(data):
    return list(csv.reader(io.StringIO(data.decode())))


@pytest.mark.parametrize(("data", "rows"), [
    ({"a": np.array([[1, 2], [3, 4]]), "b": [0.5]}, ["a,0,0,,,1", "a,0,1,,,2", "a,1,0,,,3", "a,1,1,,,4", "b,0,,,,0.5"]),
    ({"labels": np.array(["a, b", 'c "d"'])}, ['labels,0,,,,"a, b"', 'labels,1,,,,"c ""d"""']),
    ({"x": np.array([255], np.uint8)}, ["x,0,,,,255"]), ({}, []),
], ids=["numbers", "words", "bytes", "nothing"])  # fmt: skip
def test_every_number_with_its_place(data, rows):
    assert to_csv(data).decode() == "\n".join(["array,i,j,k,l,value", *rows, ""])


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (2, 3, 2), (2, 1, 3, 2)])
def test_arrays_come_back_from_it(shape):
    values = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    back = np.zeros(shape)
    for _, *place, value in rows_of(to_csv({"x": values}))[1:]:
        back[tuple(int(i) for i in place if i)] = float(value)
    assert np.allclose(back, values, rtol=1e-6)
    assert len(rows_of(to_csv({"x": values}))) == values.size + 1
