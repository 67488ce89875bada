"""Numbers as CSV: every number once, where it stood, as exact as it was kept."""

import csv
import io

import numpy as np
import pytest

from vitcore.csv_and_npz import to_csv


def rows_of(data):
    return list(csv.reader(io.StringIO(data.decode())))


@pytest.mark.parametrize(("data", "table"), [
    ({"a": np.array([[1, 2], [3, 4]]), "b": [0.5]}, ["array,i,j,value", "a,0,0,1", "a,0,1,2", "a,1,0,3", "a,1,1,4", "b,0,,0.5"]),
    ({"distance_px_a": [[18.5]], "logits_before": [2]},
     ["array,layer,head,class,value,unit", "distance_px_a,0,0,,18.5,px", "logits_before,,,0,2,logits"]),
    ({"rollout": [[0.25]]}, ["array,row,column,value,unit", "rollout,0,0,0.25,share of the total"]),
    ({"variance": [0.75, 0.25]}, ["array,component,value", "variance,1,0.75", "variance,2,0.25"]),  # as the page numbers them
    ({"rollout": [0.25]}, ["array,i,value", "rollout,0,0.25"]),  # a curve is no map
    ({"labels": np.array(["a, b", 'c "d"'])}, ["array,i,value", 'labels,0,"a, b"', 'labels,1,"c ""d"""']),
    ({"x": np.array([255], np.uint8)}, ["array,i,value", "x,0,255"]), ({}, ["array,value"]),
], ids=["numbers", "axes and units", "a map", "components", "a curve", "words", "bytes", "nothing"])  # fmt: skip
def test_every_number_with_its_place(data, table):
    assert to_csv(data).decode() == "\n".join([*table, ""])


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (2, 3, 2), (2, 1, 3, 2)])
def test_arrays_come_back_from_it(shape):
    values = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    back = np.zeros(shape)
    for _, *place, value in rows_of(to_csv({"x": values}))[1:]:
        back[tuple(map(int, place))] = float(value)
    assert np.allclose(back, values, rtol=1e-6)
    assert len(rows_of(to_csv({"x": values}))) == values.size + 1
