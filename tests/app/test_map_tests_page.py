"""Test the maps: what ships is shown at once for the gallery, and another model's photo is tested when asked for."""

import re

import numpy as np
import pytest
from visitor import App

from app.state.jobs import map_test_jobs
from vitcore import record
from vitcore.assets import SAMPLES
from vitcore.faithfulness.method_maps import CHANCE, MAPS, NO_METHODS
from vitcore.faithfulness.method_ranking import photo_deletion, ranking_sentence


def test_the_gallery_s_tests_are_shown_and_say_which_map_is_best():
    app = App("maptests", photo="cat").fine()
    assert [c["alt"].split(",")[0] for c in app.charts()] == [
        "Probability of the class as patches are deleted", "Insertion minus deletion by method",
        "Rank correlation by method as weights become random",
    ]  # fmt: skip
    scores = map_test_jobs.shipped_ranking("removed")
    said = measured = app.text("markdown")
    assert ranking_sentence(scores, "removed") in said and "plausibility, not faithfulness" in said
    methods = [score.name for score in scores if score.name not in NO_METHODS]
    place = methods.index("rollout") + 1
    assert place == 1 or f"Rollout ranks {place} of {len(methods)}, with" in said
    assert "Unchanged by random weights" in said and "middle of the picture" in said
    table, stable, outlines = (frame.value for frame in app.at.dataframe)
    assert len(table) == len(MAPS) + 1 and list(table["Difference"]) == sorted(table["Difference"], reverse=True)
    assert sum(cell.endswith(" %") for cell in table["Beats random orders"]) == len(MAPS), "of chance itself there is none"
    assert list(stable["Other class"]).count("") == 4 and len(outlines) == len(MAPS) + 1
    added = table["Deletion"].round(3) + table["Difference"]
    assert np.allclose(added, table["Insertion"].round(3), atol=1e-9), "shown digits add up"
    plain = table["Method"].isin(["by chance", "middle of the picture"])
    methods = table[~plain]
    shown = {name: methods[name].map("{:.2f}".format) for name in ("Deletion", "Insertion")}
    less, more = (set(methods["Method"][digits == end]) for digits, end in
                  ((shown["Deletion"], min(shown["Deletion"])), (shown["Insertion"], max(shown["Insertion"]))))  # fmt: skip
    told = re.search(r"\*\*Best by deletion:\*\* (.+?)(, tied)? \(.+\*\*Best by insertion:\*\* (.+?)(, tied)? \(", said)
    assert (set(told[1].split(", ")), set(told[3].split(", "))) == (less, more), "one ranking says nothing of the other"
    assert [bool(told[2]), bool(told[4])] == [len(less) > 1, len(more) > 1], "shown digits that are alike: a tie"
    for name in ("Deletion", "Insertion"):
        beside = ", ".join(
            f"{one} {float(table[name][table['Method'] == one].iloc[0]):.2f}" for one in ("by chance", "middle of the picture")
        )
        assert beside in said, "no method is best without them"
    lines = app.charts()[0]["data"]
    assert len([line for line in lines if line["type"] == "scatter"]) == len(MAPS) + 1
    app.set(test_curve="insertion", test_fill="blur").fine()
    assert app.charts()[0]["alt"].startswith("Probability of the class as patches are inserted")
    assert ranking_sentence(map_test_jobs.shipped_ranking("blur"), "blur") in app.text("markdown")
    shipped = map_test_jobs.shipped_tests()
    for table in (shipped.stability, shipped.weights):
        assert f"Measured on {len(table)} photos of the gallery, as a mean." in measured
    app = App("rollout", photo="cat").fine()
    assert ranking_sentence(scores, "removed") in app.text("markdown")
    stays = [np.mean([one["rollout"][change] for one in shipped.stability.values()]) for change in ("shift", "mirror", "jpeg")]
    random = np.mean([one["rollout"].correlations[-1] for one in shipped.weights.values()])
    numbers = "{:.2f} after a shift by one patch, {:.2f} mirrored and {:.2f} as JPEG. With random weights, on {}, it is {:.2f}."
    backed = numbers.format(*stays, len(shipped.weights), random)
    assert backed in app.text("caption"), "what the map cannot tell is backed by its numbers"
    last = [np.mean([one["last_layer_attention"][change] for one in shipped.stability.values()]) for change in ("shift", "mirror")]
    asked = {"cover": {"cover_map": "Class attention, last layer"}, "switch": {"switch_map": "Class attention, last layer"}}
    for slug, chosen in asked.items():
        said = App(slug, photo="cat", **chosen).fine().text("caption")
        assert "{:.2f} after a shift by one patch, {:.2f} mirrored".format(*last) in said, "of the map that is shown"


def test_another_model_s_photo_is_tested_when_asked_for(kinds, offer):
    vit = kinds["registers"]
    offer(registers=vit)
    app = App("maptests", model="registers", photo="cat").fine()
    assert not app.charts() and "not been tested" in app.text("info")
    app.press("run_deletion").fine()
    rec = record(vit, SAMPLES / "cat.jpg")
    expected = photo_deletion(vit, rec)
    table = app.at.dataframe[0].value
    assert len(table) == len(expected.curves) and "Beats random orders" not in table, "a few orders are drawn, too few for places"
    app.press("run_orders").fine()
    table = app.at.dataframe[0].value
    written = [f"{round(100 * expected.places[name])} %" if name in expected.places else "" for name in expected.ranked]
    assert [cell.replace("\xa0", " ") for cell in table["Beats random orders"]] == written
    assert set(expected.curves) == {*MAPS, CHANCE} and len(table) == len(expected.curves)
    assert list(table["Deletion"]) == pytest.approx([expected.curves[name].deletion for name in expected.ranked], abs=1e-5)
    app.press("run_weights").press("run_stability").fine()
    assert len(app.charts()) == 2 and "Measured on this photo." in app.text("markdown")
    assert "vitcore test --masks FOLDER --model registers" in "".join(code.value for code in app.at.code)
