"""How a model's accuracy stands beside the paper's: what its card says, Tables 2 and 5, and on which photos each was measured."""

from __future__ import annotations

from typing import Any

from app import texts
from vitcore.models.model_cards import CARDS, ModelCard

IMAGENET_CLASSES = 1000  # a share of fewer is no number to set beside the paper's


def beside(card: ModelCard, trained: dict[str, Any], classes: int = 0) -> list[str]:
    """Paragraphs on the model beside the paper's ViTs; none where no number is known.

    `trained` is what the card beside its weights says of its training, `classes` how many it names.
    """
    if card.top1:
        return [_said([card.top1], card, "paper same photos"), _smaller(card)]
    from vitcore.paper import tables

    told = [found["top1"] for found in accuracies(trained.get("measured", {})).values()]
    if not told or classes != IMAGENET_CLASSES:
        return []
    less = max(told) <= tables.on_imagenet()[0].accuracy
    return [
        _said(told, card, "paper other photos", _teacher(trained)),
        _smaller(card, trained.get("image_views") if less else None),
    ]


def accuracies(measured: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """{"photos", "top1", "top5"} of each set of photos that a card tells of, by the set."""
    return {key: found for key, found in measured.items() if key.startswith("accuracy ")}


def rows(card: ModelCard, trained: dict[str, Any], classes: int = 0) -> list[tuple[str, str, str]]:
    """The numbers behind these paragraphs: whose, % right at the first guess, and of which photos; the paper's in its digits."""
    from vitcore.paper import tables

    if not beside(card, trained, classes):
        return []
    text, title = texts.prose("common"), _plain_title(card)
    there = text["photos imagenet"]
    own, sets = trained.get("measured", {}), trained.get("photos", {})
    found = [(card.title, f"{card.top1:.1f}", there)] if card.top1 else _held_out(card.title, own, sets)
    if not card.top1 and (teacher := _teacher_of(trained)):
        name, alike = text["its teacher"].format(model=teacher.title), trained["teacher_measured_alike"]
        found += [*_held_out(name, alike, sets), (name, f"{teacher.top1:.1f}", there)]
    paper = tables.on_imagenet()
    shown = [one for one in paper if one in (paper[0], paper[-1]) or (one.model == title and one.table == "5")]
    told = [text["paper model"].format(model=one.model, data=one.pretraining, table=one.table) for one in shown]
    return found + [(name, f"{one.accuracy:.2f}", there) for name, one in zip(told, shown, strict=True)]


def _plain_title(card: ModelCard) -> str:
    """Without the side of its input: the name that the paper's model has, if it is one of those."""
    return card.title.partition(" · ")[0]


def _held_out(model: str, measured: dict[str, Any], sets: dict[str, Any]) -> list[tuple[str, str, str]]:
    """What it names right of each set of photos, by what the card calls those `sets`."""
    text, told = texts.prose("common"), []
    for key, found in accuracies(measured).items():
        called = sets.get(key.partition(" ")[2], {}).get("called")
        photos = text["photos held out of" if called else "photos held out"]
        told.append((model, f"{found['top1']:.1f}", photos.format(count=found["photos"], called=called)))
    return told


def _said(told: list[float], card: ModelCard, photos: str, more: str = "") -> str:
    """Its place among the numbers that the paper prints, from which of them to which, and those of its namesake."""
    from vitcore.paper import tables

    text, paper = texts.prose("common"), tables.on_imagenet()
    above = sum(max(told) > one.accuracy for one in paper)
    low, high = paper[0], paper[-1]
    elsewhere = "" if photos == "paper same photos" else " elsewhere"
    verdict = text[f"paper {'more' if above else 'less'}{elsewhere}"].format(above=above, all=len(paper))
    span = text["paper span"].format(
        photos=text[photos], low=f"{low.accuracy:.2f}", low_model=low.model, low_data=low.pretraining, low_table=low.table,
        high=f"{high.accuracy:.2f}", high_model=high.model, high_data=high.pretraining, high_table=high.table,
    )  # fmt: skip
    name = _plain_title(card)
    namesake = tables.by_data_size().get(name)
    if namesake:
        each = ", ".join(f"{value:.2f} % ({data})" for data, value in namesake.items())
        more = text["paper namesake"].format(model=name, each=each)
    return text.joined((verdict, span, more))


def _teacher(trained: dict[str, Any]) -> str:
    """What its teacher names of either set of photos: by how much those differ."""
    there = _teacher_of(trained)
    here = [found["top1"] for found in accuracies(trained.get("teacher_measured_alike", {})).values()]
    if there is None or not here:
        return ""
    return texts.prose("common")["paper teacher"].format(
        teacher=there.title, there=f"{there.top1:.1f}", low=f"{min(here):.0f}", high=f"{max(here):.0f}"
    )


def _teacher_of(trained: dict[str, Any]) -> ModelCard | None:
    """Its teacher's card, where that was asked about the same photos and its accuracy on ImageNet is known."""
    name = trained.get("teacher_measured_alike", {}).get("model")
    return next((one for one in CARDS if one.name == name and one.top1), None)


def _smaller(card: ModelCard, views: int | None = None) -> str:
    """That it is smaller than the paper's models, and learned from less where it is known how many `views` of photos it had."""
    from vitcore.paper import tables

    text, smallest = texts.prose("common"), tables.rows("1")[0]
    if not card.params_m or card.params_m > 0.95 * float(smallest["params_m"]):
        return ""
    size = {"params": f"{card.params_m:.3g}", "small": smallest["model"], "small_m": smallest["params_m"]}
    least, most = (round(1e6 * end(tables.IMAGES_M.values())) for end in (min, max))
    if not views or views >= least * tables.fewest_epochs():
        return text["paper smaller"].format(**size)
    return text["paper smaller and fewer"].format(
        **size, views=views, least=least, most=most, epochs=tables.fewest_epochs()
    )
