"""The paper's numbers agree with each other where it prints them twice, and the findings are computed from them."""

import pytest

from vitcore.paper import charts, tables
from vitcore.paper.tables import PretrainingRun


def test_every_row_names_its_table():
    for name in tables.TABLE_NAMES:
        assert {row["table"] for row in tables.paper_table_rows(name)} == {f"Table {name.partition('-')[0]}"}
    with pytest.raises(KeyError, match="not '10'"):
        tables.paper_table_rows("10")


def test_the_printed_means_are_the_means():
    means = next(row for row in tables.paper_table_rows("9") if row["task"] == "Mean")
    for model in [column for column in means if column.startswith("ViT")]:
        assert tables.vtab_group_means(model)["all"] == pytest.approx(float(means[model]), abs=0.051)
    *given, average = tables.paper_table_rows("7")
    for column in list(average)[2:]:
        assert sum(float(row[column]) for row in given) / len(given) == pytest.approx(float(average[column]), abs=0.0051)
    vtab = [row for row in tables.paper_table_rows("2") if "VTAB" in row["dataset"]]
    best = {(row["model"], row["pretraining"]): float(row["accuracy"]) for row in vtab}
    assert best["ViT-H/14", "JFT-300M"] == pytest.approx(tables.vtab_group_means("ViT-H/14 (JFT)")["all"], abs=0.01)


def test_tables_5_6_and_7_share_their_numbers():
    """The runs on JFT-300M are in Tables 5 and 6; ViT-H/14 was fine-tuned again for Table 5 and differs a little."""
    longest = {run.model: run for run in sorted(tables.pretraining_runs("ImageNet"), key=lambda run: run.epochs)}
    for model, by in tables.accuracy_by_data_size("ImageNet").items():
        assert by["JFT-300M"] == pytest.approx(longest[model].accuracy, abs=0.05 if model == "ViT-H/14" else 1e-9)
    adam = {row["dataset"]: row for row in tables.paper_table_rows("7")}
    by_name = {run.model: run for run in tables.pretraining_runs("ImageNet") if run.epochs == 7}
    assert float(adam["ImageNet"]["ResNet50 Adam"]) == by_name["ResNet50x1"].accuracy
    assert float(adam["ImageNet"]["ResNet152x2 Adam"]) == by_name["ResNet152x2"].accuracy


def test_savings_are_read_between_two_of_the_front():
    front = [PretrainingRun("ViT-1", 1, 80, 10), PretrainingRun("ViT-2", 1, 90, 1000), PretrainingRun("ViT-worse", 1, 79, 500)]
    half = PretrainingRun("ResNet-a", 1, 85, 300)  # halfway in accuracy: 100 by the logarithm
    assert [(s.run, round(s.ratio, 6)) for s in tables.compute_savings([*front, half])] == [(half, 3.0)]
    better = PretrainingRun("ResNet-b", 1, 95, 9)
    assert tables.compute_savings([*front, better]) == [], "better than every ViT: nothing to compare with"
    assert tables.compute_savings([*front, half], "hybrid") == []
    assert all(1.5 < saving.ratio < 9 for saving in tables.compute_savings(tables.pretraining_runs())), "§4.4: about 2 to 4 times"


def test_every_number_is_drawn():
    traces = charts.compute_chart("ImageNet").to_plotly().data
    drawn = {tuple(point) for trace in traces for point in zip(trace.x, trace.y, strict=True)}
    assert drawn == {(run.exaflops, run.accuracy) for run in tables.pretraining_runs("ImageNet")}
    assert sum(len(trace.x) for trace in charts.vtab_chart().to_plotly().data) == 19 * 3
    assert sum(len(trace.x) for trace in charts.position_embeddings_chart().to_plotly().data) == 8
    assert sum(len(trace.x) for trace in charts.data_size_chart("CIFAR-10").to_plotly().data) == 14
    art = list(charts.state_of_the_art_chart("ImageNet").to_plotly().data)
    assert sum(len(trace.x) for trace in art) == 5 and max(art[0].error_y.array) == 0.04


def test_the_vits_on_imagenet_are_all_that_tables_2_and_5_print():
    printed = tables.imagenet_accuracies()
    assert len(printed) == 14 + 3 and [one.accuracy for one in printed] == sorted(one.accuracy for one in printed)
    assert printed[0] == ("ViT-L/32", "ImageNet", 71.16, "5") and printed[-1] == ("ViT-H/14", "JFT-300M", 88.55, "2")
    assert all(one.model.startswith("ViT-") for one in printed), "no ResNet, no Noisy Student"
    assert tables.min_pretraining_epochs() == 7
