"""The page of experiments: every one that ships is drawn with each sentence's verdict, and a dot opens its run where that is."""

import json

import pytest
from visitor import App

from app import texts
from tests.vitcore.experiments.conftest import tiny  # noqa: F401  (a fixture)
from vitcore.assets import asset_path
from vitcore.experiments import results_csv, run_experiment, verdict_sentences
from vitcore.experiments.catalogue import EXPERIMENTS, judge_claims
from vitcore.train import run_folder

WORDS = texts.prose("experiments", "en")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """What this checkout's own experiments have left does not matter."""
    monkeypatch.setattr(results_csv, "RESULTS_FOLDER", tmp_path)


def test_every_sentence_is_shown_with_its_verdict():
    app, near = App("experiments").fine(), set()
    for name, one in EXPERIMENTS.items():
        app.set(experiment=name).fine()
        results = results_csv.read_results(asset_path("experiments") / f"{name}.csv")
        markdown = app.sentences("markdown")
        for claim, told in judge_claims(one, results):
            assert f"**{claim.sentence}**" in markdown
            assert any(verdict_sentences.verdict_name(told) in said for said in markdown), "the stamp"
            effect = verdict_sentences.effect_text(claim, told)
            assert not effect or effect in markdown
            assert verdict_sentences.open_reason_sentence(claim, told, results) in " ".join(app.sentences("caption"))
        captions = app.sentences("caption")
        assert any(one.finding in said and one.measured in said for said in captions)
        assert any(one.untested in said for said in captions), "what it cannot tell"
        if said := verdict_sentences.ceiling_sentence(one, results):
            near |= {name} if said in captions else set()
        assert verdict_sentences.protocol_sentence(one, results) in markdown
        dots = [run for trace in app.chart(one.title)["data"] for run in trace.get("customdata", [])]
        assert set(dots) == {row.run for row in results.rows}
        assert len(app.charts()) == 2 + bool(one.table), "ours, the drawn pictures, and the paper's numbers, where it prints any"
        assert results.facts["command"] in [code.value for code in app.at.code]
    assert near == {"data", "readout", "shape", "optimiser", "resolution"}, "what is near 100 % can show no large effect"


def test_results_of_another_version_are_said(tmp_path):
    (tmp_path / "positions.csv").write_text(f"# {json.dumps({'version': 1})}\n", encoding="utf-8")
    (said,) = App("experiments").fine().sentences("warning")
    assert "version 1" in said


def test_a_dot_opens_its_run(tiny, tmp_path):  # noqa: F811
    run_experiment.run_experiment(tiny, True, results_csv.RESULTS_FOLDER, on_progress=lambda line: None)
    app = App("experiments", experiment="tiny").fine()
    assert "Seeds share their pictures" in app.text("markdown"), "digits are the same for all"
    app.at.session_state["_experiment_run"] = "tiny-quick-after-20"
    app.run().fine().at.button(key="open_distance").click()
    app.run().fine()
    assert app.values()["model"] == "runs/tiny-quick-after-20" and app.charts()
    app = App("experiments").fine()
    app.at.session_state["_experiment_run"] = "gone-0"
    assert WORDS["run not here"] in app.run().fine().sentences("caption")
    assert run_folder.RUNS_FOLDER == tmp_path / "runs"
