"""How a model's accuracy stands beside the paper's: what its card says, Tables 2 and 5, and on which photos each was measured."""

from typing import Any

from app import texts
from vitcore.models.model_cards import MODEL_CARDS, ModelCard
from vitcore.paper import tables

IMAGENET_CLASSES = 1000  # a share of fewer is no number to set beside the paper's


def comparison_paragraphs(card: ModelCard, trained: dict[str, Any], classes: int = 0) -> list[str]:
    """Paragraphs on the model beside the paper's ViTs; none where no number is known.

    `trained` is what the card beside its weights says of its training, `classes` how many it names.
    """
    if card.top1:
        return [_rank_paragraph([card.top1], card, "paper same photos"), _size_sentence(card)]
    accuracies_percent = [found["top1"] for found in accuracies_by_photo_set(trained.get("measured", {})).values()]
    if not accuracies_percent or classes != IMAGENET_CLASSES:
        return []
    below_paper = max(accuracies_percent) <= tables.imagenet_accuracies()[0].accuracy
    return [
        _rank_paragraph(accuracies_percent, card, "paper other photos", _teacher_sentence(trained)),
        _size_sentence(card, trained if below_paper else {}),
    ]


def accuracies_by_photo_set(measured: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """{"photos", "top1", "top5"} of each set of photos that a card tells of, by the set."""
    return {key: found for key, found in measured.items() if key.startswith("accuracy ")}


def accuracy_comparison_rows(card: ModelCard, trained: dict[str, Any], classes: int = 0) -> list[tuple[str, str, str]]:
    """Rows of the comparison with the paper: whose model, % right at the first guess, on which photos."""
    if not comparison_paragraphs(card, trained, classes):
        return []
    text, title = texts.prose("common"), _title_without_size(card)
    imagenet = text["photos imagenet"]
    own, sets = trained.get("measured", {}), trained.get("photos", {})
    found = [(card.title, f"{card.top1:.1f}", imagenet)] if card.top1 else _held_out_rows(card.title, own, sets)
    if not card.top1 and (teacher := _teacher_card(trained)):
        name, alike = text["its teacher"].format(model=teacher.title), trained["teacher_measured_alike"]
        found += [*_held_out_rows(name, alike, sets), (name, f"{teacher.top1:.1f}", imagenet)]
    paper = tables.imagenet_accuracies()
    paper_results = [one for one in paper if one in (paper[0], paper[-1]) or (one.model == title and one.table == "5")]
    paper_names = [text["paper model"].format(model=one.model, data=one.pretraining, table=one.table) for one in paper_results]
    return found + [(name, f"{one.accuracy:.2f}", imagenet) for name, one in zip(paper_names, paper_results, strict=True)]


def _title_without_size(card: ModelCard) -> str:
    """Without the side of its input: the name that the paper's model has, if it is one of those."""
    return card.title.partition(" · ")[0]


def _held_out_rows(model: str, measured: dict[str, Any], sets: dict[str, Any]) -> list[tuple[str, str, str]]:
    """What it names right of each set of photos, by what the card calls those `sets`."""
    text, rows = texts.prose("common"), []
    for key, found in accuracies_by_photo_set(measured).items():
        called = sets.get(key.partition(" ")[2], {}).get("called")
        photos = text["photos held out of" if called else "photos held out"]
        rows.append((model, f"{found['top1']:.1f}", photos.format(count=found["photos"], called=called)))
    return rows


def _rank_paragraph(accuracies_percent: list[float], card: ModelCard, photos: str, last_sentence: str = "") -> str:
    """Its place among the numbers that the paper prints, from which of them to which, and those of its namesake."""
    text, paper = texts.prose("common"), tables.imagenet_accuracies()
    above = sum(max(accuracies_percent) > one.accuracy for one in paper)
    low, high = paper[0], paper[-1]
    elsewhere = "" if photos == "paper same photos" else " elsewhere"
    verdict = text[f"paper {'more' if above else 'less'}{elsewhere}"].format(above=above, all=len(paper))
    span = text["paper span"].format(
        photos=text[photos], low=f"{low.accuracy:.2f}", low_model=low.model, low_data=low.pretraining, low_table=low.table,
        high=f"{high.accuracy:.2f}", high_model=high.model, high_data=high.pretraining, high_table=high.table,
    )  # fmt: skip
    name = _title_without_size(card)
    namesake = tables.accuracy_by_data_size().get(name)
    if namesake:
        each = ", ".join(f"{value:.2f} % ({data})" for data, value in namesake.items())
        last_sentence = text["paper namesake"].format(model=name, each=each)
    return text.join_sentences((verdict, span, last_sentence))


def _teacher_sentence(trained: dict[str, Any]) -> str:
    """What its teacher names of either set of photos: by how much those differ."""
    teacher = _teacher_card(trained)
    measured = [found["top1"] for found in accuracies_by_photo_set(trained.get("teacher_measured_alike", {})).values()]
    if teacher is None or not measured:
        return ""
    return texts.prose("common")["paper teacher"].format(
        teacher=teacher.title, there=f"{teacher.top1:.1f}", low=f"{min(measured):.0f}", high=f"{max(measured):.0f}"
    )


def _teacher_card(trained: dict[str, Any]) -> ModelCard | None:
    """Its teacher's card, where that was asked about the same photos and its accuracy on ImageNet is known."""
    name = trained.get("teacher_measured_alike", {}).get("model")
    return next((one for one in MODEL_CARDS if one.name == name and one.top1), None)


def _size_sentence(card: ModelCard, trained: dict[str, Any] | None = None) -> str:
    """That it is smaller than the paper's models, and learned from less where `trained` says how many crops of how many photos."""
    text, smallest = texts.prose("common"), tables.paper_table_rows("1")[0]
    if not card.params_m or card.params_m > 0.95 * float(smallest["params_m"]):
        return ""
    size = {"params": f"{card.params_m:.3g}", "small": smallest["model"], "small_m": smallest["params_m"]}
    least, most = (round(1e6 * end(tables.PRETRAINING_IMAGES_M.values())) for end in (min, max))
    views, photos = ((trained or {}).get(key) for key in ("image_views", "training_photos"))
    if not views or not photos or views >= least * tables.min_pretraining_epochs():
        return text["paper smaller"].format(**size)
    return text["paper smaller and fewer"].format(
        **size, views=views, seen=photos, least=least, most=most, epochs=tables.min_pretraining_epochs()
    )
