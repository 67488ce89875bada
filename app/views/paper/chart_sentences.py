"""What each chart of the paper's numbers shows: a title and sentences that are computed from them."""

from statistics import median

from app.texts import Prose
from vitcore.paper.tables import (
    PRETRAINING_IMAGES_M,
    PRETRAINING_SETS,
    VTAB_GROUPS,
    accuracy_by_data_size,
    compute_savings,
    paper_table_rows,
    pretraining_runs,
    vtab_group_means,
)
from vitcore.translation import say


def chart_finding(part: str, dataset: str, text: Prose) -> tuple[str, str]:
    """The finding of a chart as its title, and the sentences that go with it, for the data set chosen there."""
    return {
        "data": _data_size_finding, "compute": _compute_finding, "art": _state_of_the_art_finding, "vtab": _vtab_finding,
        "positions": _positions_finding, "optimiser": _optimiser_finding,
    }[part](dataset, text)  # fmt: skip


def _title_and_details(part: str, text: Prose, **numbers: object) -> tuple[str, str]:
    return text[f"title {part}"].format(**numbers), text[f"finding {part}"].format(**numbers)


def _data_size_finding(dataset: str, text: Prose) -> tuple[str, str]:
    table = accuracy_by_data_size(dataset)
    small, large = PRETRAINING_SETS[0], PRETRAINING_SETS[-1]
    first, last = (_best_model(table, data) for data in (small, large))
    before, after = (table["ViT-L/16"][data] - table["ViT-B/16"][data] for data in (small, large))
    title, details = _title_and_details(
        "data", text,
        first=first, first_value=f"{table[first][small]:.2f}", last=last, last_value=f"{table[last][large]:.2f}",
        before=_points_ahead(before, text), after=_points_ahead(after, text),
        times=f"{PRETRAINING_IMAGES_M[large] / PRETRAINING_IMAGES_M[small]:.0f}",
    )  # fmt: skip
    if before < 0 < after:
        title = text["title data overtakes"]
    twice = _other_number_sentence(dataset, last, f"{table[last][large]:.2f}", text)
    return title, "\n\n".join(filter(None, [details, text["finding data few"], twice]))


def _other_number_sentence(dataset: str, model: str, here: str, text: Prose) -> str:
    """That Table 2 has another number for the same model, where it has."""
    asked = (dataset, model, PRETRAINING_SETS[-1])
    other = next(
        (row["accuracy"] for row in paper_table_rows("2") if (row["dataset"], row["model"], row["pretraining"]) == asked), here
    )
    return "" if float(other) == float(here) else text["finding data twice"].format(model=model, value=other)


def _best_model(table: dict[str, dict[str, float]], data: str) -> str:
    there = {model: by[data] for model, by in table.items() if data in by}
    return max(there, key=there.__getitem__)


def _points_ahead(points: float, text: Prose) -> str:
    return text["ahead" if points > 0 else "behind"].format(points=f"{abs(points):.2f}")


def _compute_finding(dataset: str, text: Prose) -> tuple[str, str]:
    given = pretraining_runs(dataset)
    title, said = "", []
    for kind in ("ResNet", "hybrid"):
        ratios = [saving.ratio for saving in compute_savings(given, kind)]
        numbers: dict[str, object] = {"count": len(ratios), "all": sum(run.family == kind for run in given)}
        if ratios:
            numbers |= {name: f"{of(ratios):.1f}" for name, of in (("low", min), ("middle", median), ("high", max))}
            said.append(text[f"finding compute {kind}"].format(**numbers))
        elif kind == "hybrid":
            said.append(text["finding compute hybrid none"].format(**numbers))
        title = title or text["title compute" if ratios else "title compute none"].format(**numbers)
    return title, text.join_sentences(said)


def _state_of_the_art_finding(dataset: str, text: Prose) -> tuple[str, str]:
    here = {(row["model"], row["pretraining"]): row for row in paper_table_rows("2") if row["dataset"] == dataset}
    cost = {(row["model"], row["pretraining"]): float(row["tpuv3_core_days"]) for row in paper_table_rows("2-compute")}
    best = max(here, key=lambda key: float(here[key]["accuracy"]))
    ours, bit = ("ViT-L/16", "JFT-300M"), ("BiT-L (ResNet152x4)", "JFT-300M")
    return _title_and_details(
        "art", text,
        best=best[0], best_value=here[best]["accuracy"], ours=here[ours]["accuracy"], bit=here[bit]["accuracy"],
        times=f"{cost[bit] / cost[ours]:.0f}", best_cost=f"{cost[best]:,.0f}", ours_cost=f"{cost[ours]:,.0f}",
        bit_cost=f"{cost[bit]:,.0f}",
    )  # fmt: skip


def _vtab_finding(_: str, text: Prose) -> tuple[str, str]:
    huge = vtab_group_means("ViT-H/14 (JFT)")
    more, less = (vtab_group_means(f"ViT-L/16 ({data})") for data in ("JFT", "I21k"))
    widest = max(VTAB_GROUPS, key=lambda group: more[group] - less[group])
    return _title_and_details(
        "vtab", text,
        mean=f"{huge['all']:.1f}", natural=f"{huge['Natural']:.1f}", specialized=f"{huge['Specialized']:.1f}",
        structured=f"{huge['Structured']:.1f}", widest=say(widest), lead=f"{more[widest] - less[widest]:.1f}",
    )  # fmt: skip


def _positions_finding(_: str, text: Prose) -> tuple[str, str]:
    at_stem = {row["positions"]: 100 * float(row["stem"]) for row in paper_table_rows("8")}
    none = at_stem.pop("none")
    everywhere = [100 * float(v) for row in paper_table_rows("8") for k, v in row.items()
                  if k not in ("table", "positions") and v and row["positions"] != "none"]  # fmt: skip
    return _title_and_details(
        "positions", text,
        least=f"{min(everywhere) - none:.1f}", most=f"{max(everywhere) - none:.1f}",
        spread=f"{max(everywhere) - min(everywhere):.1f}",
    )  # fmt: skip


def _optimiser_finding(_: str, text: Prose) -> tuple[str, str]:
    table = [row for row in paper_table_rows("7") if row["dataset"] != "Average"]
    average = next(row for row in paper_table_rows("7") if row["dataset"] == "Average")
    lead = {model: float(average[f"{model} Adam"]) - float(average[f"{model} SGD"]) for model in ("ResNet50", "ResNet152x2")}
    wins = sum(float(row[f"{model} Adam"]) > float(row[f"{model} SGD"]) for row in table for model in lead)
    return _title_and_details(
        "optimiser", text, wins=wins, all=len(table) * len(lead), small=f"{lead['ResNet50']:.2f}",
        large=f"{lead['ResNet152x2']:.2f}",
    )  # fmt: skip
