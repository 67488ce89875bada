"""The paper's tables drawn: Figures 2, 3 and 5, and Tables 2, 7, 8 and 9, each value as printed there."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from vitcore.figures.drawing import Axis, Drawing, ErrorBars, Label, Margin, Points
from vitcore.figures.theme_colours import CATEGORICAL, Mode
from vitcore.paper.tables import (
    MODEL_FAMILIES,
    PRETRAINING_IMAGES_M,
    PRETRAINING_SETS,
    VTAB_GROUPS,
    accuracy_by_data_size,
    paper_table_rows,
    pretraining_runs,
)
from vitcore.translation import say

SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross")
HEIGHT_PX = 580
MARGIN = Margin(left=62, right=16, below=104)  # with a legend below
MODELS_2 = ("ViT-H/14", "ViT-L/16", "BiT-L (ResNet152x4)", "Noisy Student (EfficientNet-L2)")


def data_size_chart(dataset: str = "ImageNet", mode: Mode = "light") -> Drawing:
    """Figure 3 from Table 5: accuracy over the number of pre-training photographs, a line a model."""
    lines = []
    for i, (model, by) in enumerate(accuracy_by_data_size(dataset).items()):
        names = [name for name in PRETRAINING_SETS if name in by]
        told = say("{model}, pre-trained on {data}: {value} %", model=model, data="%{text}", value="%{y:.2f}")
        lines.append(_dots([PRETRAINING_IMAGES_M[name] for name in names], [by[name] for name in names], model, i, told,
                           line_px=1.6, texts=names, custom_data=[model] * len(names)))  # fmt: skip
    return Drawing(
        title=say("{dataset}: accuracy over the size of the pre-training data", dataset=dataset_title(dataset)), mode=mode,
        subtitle=_reference(5, 3), height_px=HEIGHT_PX, marks=lines, margin=replace(MARGIN, below=120), legend="below",
        x=Axis(title=say("pre-training photographs"), log=True, range=(-0.1, 2.75),
               ticks=[PRETRAINING_IMAGES_M[name] for name in PRETRAINING_SETS],
               tick_labels=[f"{name}<br>{PRETRAINING_IMAGES_M[name]:g} M" for name in PRETRAINING_SETS]),
        y=Axis(title=say("accuracy after fine-tuning (%)")),
    )  # fmt: skip


def compute_chart(dataset: str = "mean", mode: Mode = "light") -> Drawing:
    """Figure 5 from Table 6: accuracy over the compute of pre-training on JFT-300M, a colour a family."""
    given = pretraining_runs(dataset)
    marks = []
    for i, name in enumerate(MODEL_FAMILIES):
        some = sorted((run for run in given if run.family == name), key=lambda run: run.exaflops)
        told = "%{text}<br>" + say("{value} % for {cost} exaFLOPs", value="%{y:.2f}", cost="%{x:,}")
        models = [say("{model}, {epochs} {epochs:epoch|epochs}", model=run.model, epochs=run.epochs) for run in some]
        marks.append(_dots([run.exaflops for run in some], [run.accuracy for run in some], _family(name), i, told,
                           texts=models, custom_data=[run.model for run in some]))  # fmt: skip
    return Drawing(
        title=say("{dataset}: accuracy over compute", dataset=dataset_title(dataset)), subtitle=_reference(6, 5), mode=mode,
        height_px=HEIGHT_PX, x=Axis(title=say("pre-training compute (exaFLOPs)"), log=True, step=1, range=(1.55, 3.8)), marks=marks,
        y=Axis(title=say("accuracy after fine-tuning (%)")), margin=MARGIN, legend="below",
    )  # fmt: skip


def state_of_the_art_chart(dataset: str = "ImageNet", mode: Mode = "light") -> Drawing:
    """Table 2: accuracy ± standard deviation of three fine-tunings over the TPUv3-core-days of pre-training."""
    days = {(row["model"], row["pretraining"]): float(row["tpuv3_core_days"]) for row in paper_table_rows("2-compute")}
    marks = []
    for i, model in enumerate(MODELS_2):
        here = [row for row in paper_table_rows("2") if row["dataset"] == dataset and row["model"] == model]
        told = "%{text}<br>" + say("{value} % for {cost} TPUv3-core-days", value="%{y:.2f}", cost="%{x:,}")
        spread = [float(row["sd"] or 0) for row in here]
        marks.append(_dots(
            [days[row["model"], row["pretraining"]] for row in here], [float(row["accuracy"]) for row in here], model, i, told,
            errors=ErrorBars(up=spread, down=spread, line_px=1.5, cap_px=5), custom_data=[model] * len(here),
            texts=[f"{model}<br>{row['pretraining']}" for row in here],
        ))  # fmt: skip
    return Drawing(
        title=say("{dataset}: accuracy over what pre-training cost", dataset=dataset_title(dataset)), mode=mode,
        subtitle=say("{table} of the paper; bars: standard deviation of three fine-tunings", table=say("Table {number}", number=2)),
        x=Axis(title=say("pre-training cost (TPUv3-core-days)"), log=True, step=1, range=(2.1, 4.4)), marks=marks,
        y=Axis(title=say("accuracy (%)")), margin=MARGIN, legend="below", height_px=HEIGHT_PX,
    )  # fmt: skip


def vtab_chart(mode: Mode = "light") -> Drawing:
    """Table 9 by group (Figure 2): accuracy on VTAB's 19 tasks with 1,000 labels each, a dot a model."""
    tasks = [row for row in paper_table_rows("9") if row["group"]]
    models = list(tasks[0])[3:]
    places = [i + VTAB_GROUPS.index(row["group"]) * 1.2 for i, row in enumerate(tasks)]
    marks = []
    for i, model in reversed(list(enumerate(models))):
        told = "%{text}: " + model + " %{x:.1f} %"
        marks.append(_dots([float(row[model]) for row in tasks], places, model, i, told, texts=[row["task"] for row in tasks]))
    tops = {group: min(p for p, row in zip(places, tasks, strict=True) if row["group"] == group) for group in VTAB_GROUPS}
    return Drawing(
        title=say("VTAB: 19 tasks, 1,000 labels each"), mode=mode, height_px=660, marks=marks,
        subtitle=say("{table} of the paper; its {figure} shows the groups", table=say("Table {number}", number=9),
                     figure=say("Figure {number}", number=2)),
        labels=[Label(f"<b>{say(group)}</b>", 0.005, top - 1.05, y_anchor="middle", x_of_plot=True) for group, top in tops.items()],
        x=Axis(title=say("accuracy (%)"), range=(25, 102)),
        y=Axis(ticks=places, tick_labels=[row["task"] for row in tasks], range=(max(places) + 0.8, -1.7)),
        margin=replace(MARGIN, left=104), legend="below", legend_reversed=True,
    )  # fmt: skip


def position_embeddings_chart(mode: Mode = "light") -> Drawing:
    """Table 8: 5-shot accuracy on ImageNet of ViT-B/16 with each kind of position embedding, and where it is added."""
    table = paper_table_rows("8")
    places = list(table[0])[2:]
    return _compared(
        [(say(row["positions"]), [row[place] for place in places]) for row in table], [say(place) for place in places],
        say("Position embeddings: 5-shot accuracy on ImageNet"),
        say("{table} of the paper: ViT-B/16", table=say("Table {number}", number=8)),
        100, mode,
    )  # fmt: skip


def optimisers_chart(mode: Mode = "light") -> Drawing:
    """Table 7: two ResNets pre-trained on JFT-300M with Adam and with SGD, after fine-tuning."""
    table = paper_table_rows("7")
    models = list(table[0])[2:]
    return _compared(
        [(say(row["dataset"]), [row[model] for model in models]) for row in table], models,
        say("Pre-training a ResNet with Adam or with SGD"), say("{table} of the paper", table=say("Table {number}", number=7)),
        1, mode,
    )  # fmt: skip


def dataset_title(dataset: str) -> str:
    """A data set as a title says it; "mean" is that of five (Figure 5, left)."""
    return say("mean of five data sets") if dataset == "mean" else say(dataset)


def _compared(
    table: list[tuple[str, list[str]]], names: Sequence[str], title: str, about: str, scale: float, mode: Mode
) -> Drawing:
    """A dot a cell: a row each, a colour each column; empty cells are left out."""
    marks = []
    for i, name in enumerate(names):
        filled = [(place, float(cells[i]) * scale) for place, (_, cells) in enumerate(table) if cells[i]]
        marks.append(_dots([x for _, x in filled], [y for y, _ in filled], name, i, name + ": %{x:.2f} %"))
    return Drawing(
        title=title, subtitle=about, mode=mode, height_px=190 + 44 * len(table), marks=marks, x=Axis(title=say("accuracy (%)")),
        y=Axis(ticks=range(len(table)), tick_labels=[label for label, _ in table], range=(len(table) - 0.4, -0.6)),
        margin=replace(MARGIN, left=150), legend="below",
    )  # fmt: skip


def _dots(x: Sequence[float], y: Sequence[float], name: str, i: int, told: str, **more: Any) -> Points:
    return Points(
        x=x, y=y, name=name, colour=CATEGORICAL[i % len(CATEGORICAL)], symbol=SYMBOLS[i % len(SYMBOLS)], marker_px=11, rim=True,
        marker_opacity=0.9, selected_px=15, unselected_opacity=0.45, hover=told, **more,
    )  # fmt: skip


def _reference(table: int, number: int) -> str:
    """Where it stands in the paper."""
    return say("{table} of the paper; its {figure}", table=say("Table {number}", number=table),
               figure=say("Figure {number}", number=number))  # fmt: skip


def _family(name: str) -> str:
    return {"ViT": "ViT", "ResNet": "ResNet (BiT)", "hybrid": say("hybrid")}[name]
