"""The paper's tables drawn: Figures 2, 3 and 5, and Tables 2, 7, 8 and 9, each value as printed there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import plotly.graph_objects as go

from vitcore.figures.theme import CATEGORICAL, FigurePart, Mode, figure, text_annotation
from vitcore.paper.tables import (
    MODEL_FAMILIES,
    PRETRAINING_IMAGES_M,
    PRETRAINING_SETS,
    VTAB_GROUPS,
    PretrainingRun,
    accuracy_by_data_size,
    pretraining_runs,
    table_rows,
)
from vitcore.translation import say

SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross")
LEGEND = {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "xref": "container", "x": 0.02,
          "font": {"size": 13}}  # fmt: skip
MARGIN = {"l": 62, "b": 104, "t": 72, "r": 16}
MODELS_2 = ("ViT-H/14", "ViT-L/16", "BiT-L (ResNet152x4)", "Noisy Student (EfficientNet-L2)")


def data_size_chart(dataset: str = "ImageNet", mode: Mode = "light") -> go.Figure:
    """Figure 3 from Table 5: accuracy over the number of pre-training photographs, a line a model."""
    lines = []
    for i, (model, by) in enumerate(accuracy_by_data_size(dataset).items()):
        names = [name for name in PRETRAINING_SETS if name in by]
        told = say("{model}, pre-trained on {data}: {value} %", model=model, data="%{text}", value="%{y:.2f}")
        lines.append(_dots([PRETRAINING_IMAGES_M[name] for name in names], [by[name] for name in names], model, i, told, lines=True)
                     | {"text": names, "customdata": [model] * len(names)})  # fmt: skip
    return figure(
        lines, say("{dataset}: accuracy over the size of the pre-training data", dataset=dataset_title(dataset)), mode, 460,
        say("{table} of the paper; its {figure}", table=say("Table {number}", number=5), figure=say("Figure {number}", number=3)),
        x={"title": {"text": say("pre-training photographs")}, "type": "log",
        "tickvals": [PRETRAINING_IMAGES_M[n] for n in PRETRAINING_SETS],
           "ticktext": [f"{name}<br>{PRETRAINING_IMAGES_M[name]:g} M" for name in PRETRAINING_SETS], "range": [-0.1, 2.75]},
        y={"title": {"text": say("accuracy after fine-tuning (%)")}},
        margin=MARGIN | {"b": 120}, showlegend=True, legend=LEGEND,
    )  # fmt: skip


def compute_chart(dataset: str = "mean", mode: Mode = "light") -> go.Figure:
    """Figure 5 from Table 6: accuracy over the compute of pre-training on JFT-300M, a colour a family."""
    given = pretraining_runs(dataset)
    traces = []
    for i, name in enumerate(MODEL_FAMILIES):
        some = sorted((run for run in given if run.family == name), key=lambda run: run.exaflops)
        told = "%{text}<br>" + say("{value} % for {cost} exaFLOPs", value="%{y:.2f}", cost="%{x:,}")
        traces.append(_dots([run.exaflops for run in some], [run.accuracy for run in some], _family(name), i, told)
                      | {"text": [_run(run) for run in some], "customdata": [run.model for run in some]})  # fmt: skip
    return figure(
        traces, say("{dataset}: accuracy over compute", dataset=dataset_title(dataset)), mode, 480,
        say("{table} of the paper; its {figure}", table=say("Table {number}", number=6), figure=say("Figure {number}", number=5)),
        x={"title": {"text": say("pre-training compute (exaFLOPs)")}, "type": "log", "dtick": 1, "range": [1.55, 3.8]},
        y={"title": {"text": say("accuracy after fine-tuning (%)")}},
        margin=MARGIN, showlegend=True, legend=LEGEND,
    )  # fmt: skip


def state_of_the_art_chart(dataset: str = "ImageNet", mode: Mode = "light") -> go.Figure:
    """Table 2: accuracy ± standard deviation of three fine-tunings over the TPUv3-core-days of pre-training."""
    days = {(row["model"], row["pretraining"]): float(row["tpuv3_core_days"]) for row in table_rows("2-compute")}
    traces = []
    for i, model in enumerate(MODELS_2):
        here = [row for row in table_rows("2") if row["dataset"] == dataset and row["model"] == model]
        told = "%{text}<br>" + say("{value} % for {cost} TPUv3-core-days", value="%{y:.2f}", cost="%{x:,}")
        spread = {"type": "data", "array": [float(row["sd"] or 0) for row in here], "thickness": 1.5, "width": 5,
                  "color": CATEGORICAL[i]}  # fmt: skip
        traces.append(
            _dots([days[row["model"], row["pretraining"]] for row in here], [float(row["accuracy"]) for row in here],
                  model, i, told)
            | {"error_y": spread, "customdata": [model] * len(here),
               "text": [f"{model}<br>{row['pretraining']}" for row in here]})  # fmt: skip
    return figure(
        traces, say("{dataset}: accuracy over what pre-training cost", dataset=dataset_title(dataset)), mode, 440,
        say("{table} of the paper; bars: standard deviation of three fine-tunings", table=say("Table {number}", number=2)),
        x={"title": {"text": say("pre-training cost (TPUv3-core-days)")}, "type": "log", "dtick": 1, "range": [2.1, 4.4]},
        y={"title": {"text": say("accuracy (%)")}},
        margin=MARGIN, showlegend=True, legend=LEGEND,
    )  # fmt: skip


def vtab_chart(mode: Mode = "light") -> go.Figure:
    """Table 9 by group (Figure 2): accuracy on VTAB's 19 tasks with 1,000 labels each, a dot a model."""
    tasks = [row for row in table_rows("9") if row["group"]]
    models = list(tasks[0])[3:]
    places = [i + VTAB_GROUPS.index(row["group"]) * 1.2 for i, row in enumerate(tasks)]
    traces: list[FigurePart] = []
    for i, model in reversed(list(enumerate(models))):
        told = "%{text}: " + model + " %{x:.1f} %"
        traces.append(_dots([float(row[model]) for row in tasks], places, model, i, told)
                      | {"text": [row["task"] for row in tasks]})  # fmt: skip
    heads = [
        text_annotation(f"<b>{say(group)}</b>", 0.005, min(p for p, row in zip(places, tasks,
        strict=True) if row["group"] == group) - 1.05,
             xref="paper", yanchor="middle")
        for group in VTAB_GROUPS
    ]  # fmt: skip
    return figure(
        traces, say("VTAB: 19 tasks, 1,000 labels each"), mode, 660,
        say("{table} of the paper; its {figure} shows the groups", table=say("Table {number}", number=9),
            figure=say("Figure {number}", number=2)),
        x={"title": {"text": say("accuracy (%)")}, "range": [25, 102]}, annotations=heads,
        y={"tickvals": places, "ticktext": [row["task"] for row in tasks], "range": [max(places) + 0.8, -1.7]},
        margin=MARGIN | {"l": 104}, showlegend=True, legend=LEGEND | {"traceorder": "reversed"},
    )  # fmt: skip


def position_embeddings_chart(mode: Mode = "light") -> go.Figure:
    """Table 8: 5-shot accuracy on ImageNet of ViT-B/16 with each kind of position embedding, and where it is added."""
    table = table_rows("8")
    places = list(table[0])[2:]
    return _compared(
        [(say(row["positions"]), [row[place] for place in places]) for row in table], [say(place) for place in places],
        say("Position embeddings: 5-shot accuracy on ImageNet"),
        say("{table} of the paper: ViT-B/16", table=say("Table {number}", number=8)),
        100, mode,
    )  # fmt: skip


def optimisers_chart(mode: Mode = "light") -> go.Figure:
    """Table 7: two ResNets pre-trained on JFT-300M with Adam and with SGD, after fine-tuning."""
    table = table_rows("7")
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
) -> go.Figure:
    """A dot a cell: a row each, a colour each column; empty cells are left out."""
    traces = []
    for i, name in enumerate(names):
        filled = [(place, float(cells[i]) * scale) for place, (_, cells) in enumerate(table) if cells[i]]
        traces.append(_dots([x for _, x in filled], [y for y, _ in filled], name, i, name + ": %{x:.2f} %"))
    return figure(
        traces, title, mode, 190 + 44 * len(table), about,
        x={"title": {"text": say("accuracy (%)")}},
        y={"tickvals": list(range(len(table))), "ticktext": [label for label, _ in table], "range": [len(table) - 0.4, -0.6]},
        margin=MARGIN | {"l": 150}, showlegend=True, legend=LEGEND,
    )  # fmt: skip


def _dots(x: Iterable[float], y: Iterable[float], name: str, i: int, told: str, lines: bool = False) -> FigurePart:
    colour = CATEGORICAL[i % len(CATEGORICAL)]
    return {
        "type": "scatter", "x": list(x), "y": list(y), "name": name, "mode": "lines+markers" if lines else "markers",
        "hovertemplate": told + "<extra></extra>", "line": {"color": colour, "width": 1.6},
        "marker": {"color": colour, "size": 11, "symbol": SYMBOLS[i % len(SYMBOLS)], "opacity": 0.9,
                   "line": {"width": 1, "color": "rgba(255,255,255,.7)"}},
        "unselected": {"marker": {"opacity": 0.45}}, "selected": {"marker": {"size": 15}},
    }  # fmt: skip


def _family(name: str) -> str:
    return {"ViT": "ViT", "ResNet": "ResNet (BiT)", "hybrid": say("hybrid")}[name]


def _run(run: PretrainingRun) -> str:
    return say("{model}, {epochs} epochs", model=run.model, epochs=run.epochs)
