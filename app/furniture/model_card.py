"""The card of a model: who taught it what, on which photos, and how well it does; what is measured says on what."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import texts
from app.furniture import card_figures, paper_models
from app.state import runs
from app.state.own import model as own_model
from vitcore.models import local_files
from vitcore.models.model_cards import CARDS, DEFAULT, ModelCard, ModelError
from vitcore.translation import say

if TYPE_CHECKING:
    from vitcore.models.load_model import Vit


WEAK = 66.0  # % of photos named right at the first guess, below which a warning is given


def show(card: ModelCard, paper: bool = True) -> None:
    """Everything the model's own card says: what matters most first, how that was measured folded below it.

    With how it stands beside the paper's, if that is not told elsewhere.
    """
    text, trained = texts.prose("common"), _trained(card.name)
    data = trained.get("data") or card.data
    said = [*notes(card), *card_figures.sentences(card, trained, text),
            text["about top1"].format(top1=card.top1) if card.top1 else text["about no classes"] if card.data else "",
            text["about data"].format(data=say(data)) if data else "", say(trained.get("limits", "")),
            "" if card.teacher or trained or card.data else text["about none"]]  # fmt: skip
    if texts.language() != texts.DEFAULT and not (card.data and not card.top1):
        said.append(text["about names"])
    for sentence in filter(None, said):
        st.markdown(sentence)
    if card_figures.judged(trained):
        with st.expander(text["measured title"]):
            card_figures.show(card, trained, text)
            if ended := runs.ending(card.name):
                st.markdown(text["about film"].format(right=ended.right, photos=ended.photos, step=ended.step))
    if beside := list(filter(None, paper_models.beside(card, trained, _classes(card.name)) if paper else [])):
        with st.expander(texts.prose("card")["beside"]):
            for sentence in beside:
                st.markdown(sentence)


def beside_the_papers(card: ModelCard, text: texts.Prose) -> None:
    """A part of its page: how it stands beside the paper's models, in sentences and as a table; nothing where that is not known."""
    known = card, _trained(card.name), _classes(card.name)
    rows = paper_models.rows(*known)
    if not rows:
        return
    st.markdown(f"## {text['beside']}")
    for said in filter(None, paper_models.beside(*known)):
        st.markdown(said)
    columns = zip(*rows, strict=True)
    st.dataframe(
        {text[name]: list(column) for name, column in zip(("model", "right", "photos"), columns, strict=True)},
        hide_index=True, alt=text["beside alt"].format(model=card.title),
    )  # fmt: skip


def made(card: ModelCard, text: texts.Prose) -> None:
    """A part of its page: the commands that made and measured it; nothing where its card has none."""
    trained = _trained(card.name)
    if trained.get("commands"):
        st.markdown(f"## {text['made title']}")
        with st.expander(text["made"]):
            card_figures.made(trained)


def own() -> str:
    """Which file the visitor's own model is; nothing where there is none."""
    one = own_model.mine()
    return "" if one is None else texts.prose("common")["own model"].format(name=texts.verbatim(one.called))


def warning(card: ModelCard) -> str:
    """A plain sentence where a model names less than two photos in three right; empty where it does well or was not measured."""
    accuracies = [found["top1"] for found in measured(card.name)]
    accuracies += [card.top1] if card.top1 else []
    if not accuracies or min(accuracies) >= WEAK:
        return ""
    return texts.prose("common")["about weak"].format(low=min(accuracies), high=max(accuracies))


def in_steps(name: str) -> bool:
    """Whether its card tells of several commands that made it."""
    return len(_trained(name).get("commands", ())) > 1


def measured(name: str) -> list[dict[str, float]]:
    """{"photos", "top1", "top5"} of each set of photos that its card tells of."""
    return list(paper_models.accuracies(_trained(name).get("measured", {})).values())


@dataclass(frozen=True)
class Localised:
    """Mean pixel AUC of rollout, also with outlier tokens masked, and of "the middle of the picture", on `photos` with known
    outlines; of which model."""

    model: str
    photos: int
    rollout: float
    masked: float
    middle: float


def localised(name: str) -> Localised | None:
    """How well rollout finds the animal of test photos: of this model where its card says so, else of the shipped one's teacher."""
    own = _trained(name).get("measured", {}).get("pets", {}).get("localisation")
    teacher = _trained(DEFAULT).get("teacher_measured_alike", {})
    found, whose = (own, name) if own else (teacher.get("pets", {}).get("localisation"), teacher.get("model"))
    if not found:
        return None
    aucs = (float(found[f"{name}_auc"]) for name in ("rollout", "rollout_without_outliers", "centre_prior"))
    return Localised(str(whose), int(found["photos"]), *aucs)


def notes(card: ModelCard) -> list[str]:
    """What a reader of its pictures and answers must know: how well it names, and who taught it; [] where nothing is to be said."""
    text = texts.prose("common")
    taught = text["taught"].format(teacher=card.teacher) if card.teacher else ""
    looks = text["taught looker"].format(looker=card.looker) if card.looker else ""
    good = card_figures.good(_trained(card.name), text)
    return [said for said in (good, warning(card), text.joined([taught, looks])) if said]


def cautions(vit: Vit) -> tuple[str, ...]:
    """The same without marks, for a handout, whose reader has no app."""
    return tuple(said.replace("**", "") for said in notes(vit.card))


def chip(card: ModelCard) -> None:
    """The same in small, below the picker of the model: the only place but its card where the app says it."""
    for said in notes(card):
        st.caption(said)


def of_menu(name: str) -> ModelCard | None:
    """The card of a model that everybody can choose; None for others."""
    return next((card for card in CARDS if card.name == name), None)


def _trained(name: str) -> dict[str, Any]:
    """What the card beside a model's weights says of its training; nothing for models of the hub."""
    return _part(name, "trained")


def _classes(name: str) -> int:
    """How many classes it names, as that card says; 0 where it does not."""
    return int(_part(name, "architecture").get("num_classes") or 0)


def _part(name: str, part: str) -> dict[str, Any]:
    try:
        file = local_files.find(name)
        said = _facts(file, file.with_suffix(".json").stat().st_mtime_ns).get(part, {}) if file else {}
    except (ModelError, OSError):
        return {}
    return said if isinstance(said, dict) else {}


@lru_cache(maxsize=32)
def _facts(file: Path, changed_ns: int) -> dict[str, Any]:
    """As the card says; it is asked for its parts several times in a run of any page."""
    return local_files.facts(file)
