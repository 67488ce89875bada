"""The page of experiments: every one that ships is drawn with its computed verdict, and a dot opens its run where that is."""

import json

import pytest
from visitor import App

from app import texts
from tests.vitcore.experiments.conftest import tiny  # noqa: F401  (a fixture)
from vitcore.assets import asset
from vitcore.experiments import rows, running
from vitcore.experiments.catalogue import EXPERIMENTS, judged, overall
from vitcore.train.runs import files

WORDS = texts.prose("experiments", "en")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """What this checkout's own experiments have left does not matter."""
    monkeypatch.setattr(rows, "OUT", tmp_path)


def test_every_experiment_is_shown_with_its_verdict():
    app = App("experiments").fine()
    for name, one in EXPERIMENTS.items():
        app.set(experiment=name).fine()
        results = rows.read(asset("experiments") / f"{name}.csv")
        found = judged(one, results)
        whole = overall(found)
        kind = {"agrees": "success", "disagrees": "error", "open": "info"}[whole]
        assert WORDS.fill(f"ours {whole}", seeds=len(results.seeds())) in app.sentences(kind)
        (claims,) = [said for said in app.sentences("markdown") if said.startswith("- ")]
        for claim, told in found:
            assert f"{claim.words} **{WORDS[f'verdict {told.verdict}']}**" in claims
            assert f"{told.mean:+.2f}".replace("-", "−") in claims
        assert any(one.finding in said for said in app.sentences("markdown"))
        dots = [run for trace in app.chart(one.title)["data"] for run in trace.get("customdata", [])]
        assert set(dots) == {row.run for row in results.rows}
        assert (len(app.charts()) == 2) == bool(one.table), "the paper's numbers beside ours, where it prints any"
        assert results.facts["command"] in [code.value for code in app.at.code]


def test_results_of_another_version_are_said(tmp_path):
    (tmp_path / "positions.csv").write_text(f"# {json.dumps({'version': 99})}\n", encoding="utf-8")
    (said,) = App("experiments").fine().sentences("warning")
    assert "version 99" in said


def test_a_dot_opens_its_run(tiny, tmp_path):  # noqa: F811
    running.run(tiny, True, 1, rows.OUT, show=lambda line: None)
    app = App("experiments", experiment="tiny").fine()
    assert any("One seed is not enough" in said for said in app.sentences("markdown"))
    app.at.session_state["_experiment_run"] = "tiny-quick-after-0"
    app.run().fine().at.button(key="open_distance").click()
    app.run().fine()
    assert app.values()["model"] == "runs/tiny-quick-after-0" and app.charts()
    app = App("experiments").fine()
    app.at.session_state["_experiment_run"] = "gone-0"
    assert WORDS["run not here"] in app.run().fine().sentences("caption")
    assert files.RUNS == tmp_path / "runs"
