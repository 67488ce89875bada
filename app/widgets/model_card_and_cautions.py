"""The card of a model: who taught it what, on which photos, and how well it does; what is measured says on what."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import texts
from app.state.models import uploaded_model
from app.state.training import films
from app.state.visit import current_model
from app.widgets import model_card_tables, paper_comparison
from vitcore.models import local_files
from vitcore.models.model_cards import DEFAULT_MODEL, MODEL_CARDS, ModelCard, ModelError
from vitcore.models.vit import Vit
from vitcore.translation import say

SHOWN_ASSUMED = 2  # settings that the title row names
WEAK_ACCURACY = 66.0  # % of photos named right at the first guess, below which a warning is given


def show_model_card(card: ModelCard, with_paper: bool = True) -> None:
    """Everything the model's own card says: what matters most first, how that was measured folded below it.

    With how it stands beside the paper's, if that is not told elsewhere.
    """
    text, trained = texts.prose("common"), _training_facts(card.name)
    data = trained.get("data") or card.data
    maker = text["about maker"] if card.name == DEFAULT_MODEL else ""
    sentences = [*_model_caution_notes(card).values(),
            text["about top1"].format(top1=card.top1) if card.top1 else text["about no classes"] if card.data else "",
            text.join_sentences((maker, text["about data"].format(data=say(data)) if data else "")), say(trained.get("limits", "")),
            "" if card.teacher or trained or card.data else text["about none"]]  # fmt: skip
    if texts.language() != texts.DEFAULT and not (card.data and not card.top1):
        sentences.append(text["about names"])
    for sentence in filter(None, sentences):
        st.markdown(sentence)
    if how := model_card_tables.training_sentences(card, trained, text):
        with st.expander(text["trained title"]):
            st.markdown("\n\n".join(how))
    if model_card_tables.accuracy_sets(trained):
        with st.expander(text["measured title"]):
            st.markdown("\n\n".join(model_card_tables.plausibility_sentences(card, trained, text)))
            model_card_tables.show_accuracy_tables(card, trained, text)
            if final := films.final_accuracy(card.name):
                st.markdown(text["about film"].format(right=final.right, photos=final.photos, step=final.step))
    if paragraphs := list(
        filter(None, paper_comparison.comparison_paragraphs(card, trained, _class_count(card.name)) if with_paper else [])
    ):
        with st.expander(texts.prose("card")["beside"]):
            for sentence in paragraphs:
                st.markdown(sentence)


def show_paper_comparison(card: ModelCard, text: texts.Prose) -> None:
    """A fold of its page: how it stands beside the paper's models, in sentences and as a table; nothing where that is not known."""
    known = card, _training_facts(card.name), _class_count(card.name)
    rows = paper_comparison.accuracy_comparison_rows(*known)
    if not rows:
        return
    with st.expander(text["beside"]):
        for said in filter(None, paper_comparison.comparison_paragraphs(*known)):
            st.markdown(said)
        columns = zip(*rows, strict=True)
        st.dataframe(
            {text[name]: list(column) for name, column in zip(("model", "right", "photos"), columns, strict=True)},
            hide_index=True, alt=text["beside alt"].format(model=card.title),
        )  # fmt: skip


def show_training_commands(card: ModelCard, text: texts.Prose) -> None:
    """A fold of its page: the commands that made and measured it; nothing where its card has none."""
    trained = _training_facts(card.name)
    if trained.get("commands"):
        with st.expander(text["made"]):
            model_card_tables.show_card_commands(trained)


def uploaded_file_name() -> str:
    """Which file the visitor's own model is; nothing where there is none."""
    one = uploaded_model.current_uploaded_model()
    if one is None:
        return ""
    return texts.prose("common")["own model"].format(name=texts.escape_markdown(one.display_name))


def show_assumed_answers(place: DeltaGenerator) -> bool:
    """What is assumed of the chosen model, a few words that unfold to all; whether anything is, as far as is known."""
    assumed = current_model.assumed_answers()
    if assumed:
        text, few = texts.prose("common"), list(assumed)[:SHOWN_ASSUMED]
        keys = text.join_names(few) + ("…" if len(assumed) > len(few) else "")
        with place.popover(text["assumed short"].format(keys=texts.escape_markdown(keys)), icon=":material/help:", key="assumed"):
            every = text.join_names(f"{key}={value}" for key, value in assumed.items())
            st.markdown(text["assumed"].format(assumed=texts.escape_markdown(every)))
    return bool(assumed)


def _weak_accuracy_warning(card: ModelCard) -> str:
    """A plain sentence where a model names less than two photos in three right; empty where it does well or was not measured."""
    accuracies = [found["top1"] for found in accuracies_on_card(card.name)]
    accuracies += [card.top1] if card.top1 else []
    if not accuracies or min(accuracies) >= WEAK_ACCURACY:
        return ""
    return texts.prose("common")["about weak"].format(low=min(accuracies), high=max(accuracies))


def has_several_commands(name: str) -> bool:
    """Whether its card tells of several commands that made it."""
    return len(_training_facts(name).get("commands", ())) > 1


def accuracies_on_card(name: str) -> list[dict[str, float]]:
    """{"photos", "top1", "top5"} of each set of photos that its card tells of."""
    return list(paper_comparison.accuracies_by_photo_set(_training_facts(name).get("measured", {})).values())


@dataclass(frozen=True)
class LocalisationScore:
    """Mean pixel AUC of rollout, also with outlier tokens masked, and of "the middle of the picture", on `photos` with known
    outlines; of which model."""

    model: str
    photos: int
    rollout_auc: float
    masked_rollout_auc: float
    centre_auc: float


def localisation_score(name: str) -> LocalisationScore | None:
    """How well rollout finds the animal of test photos: of this model where its card says so, else of the shipped one's teacher."""
    own = _training_facts(name).get("measured", {}).get("pets", {}).get("localisation")
    teacher = _training_facts(DEFAULT_MODEL).get("teacher_measured_alike", {})
    scores, model = (own, name) if own else (teacher.get("pets", {}).get("localisation"), teacher.get("model"))
    if not scores:
        return None
    aucs = (float(scores[f"{name}_auc"]) for name in ("rollout", "rollout_without_outliers", "centre_prior"))
    return LocalisationScore(str(model), int(scores["photos"]), *aucs)


def _model_caution_notes(card: ModelCard) -> dict[str, str]:
    """What a reader of its pictures and answers must know: how well it names ("species", "weak"), and who taught it ("taught").

    What is not to be said is left out.
    """
    text = texts.prose("common")
    taught = text["taught"].format(teacher=card.teacher) if card.teacher else ""
    attention_teacher = text["taught looker"].format(looker=card.looker) if card.looker else ""
    species = model_card_tables.cat_and_dog_accuracy_sentence(_training_facts(card.name), text)
    notes = {"species": species, "weak": _weak_accuracy_warning(card), "taught": text.join_sentences([taught, attention_teacher])}
    return {name: said for name, said in notes.items() if said}


def model_cautions(vit: Vit) -> tuple[str, ...]:
    """What a reader of a model's answers must know, as sentences for a handout."""
    return tuple(said.replace("**", "") for said in _model_caution_notes(vit.card).values())


def show_short_cautions(card: ModelCard) -> None:
    """A model's cautions in a few words, below its picker."""
    text = texts.prose("common")
    if said := " · ".join(text[f"short {name}"] for name in _model_caution_notes(card)):
        st.caption(said[0].upper() + said[1:])


def card_by_name(name: str) -> ModelCard | None:
    """The card of a model that everybody can choose; None for others."""
    return next((card for card in MODEL_CARDS if card.name == name), None)


def _training_facts(name: str) -> dict[str, Any]:
    """What the card beside a model's weights says of its training; nothing for models of the hub."""
    return _card_section(name, "trained")


def _class_count(name: str) -> int:
    """How many classes it names, as that card says; 0 where it does not."""
    return int(_card_section(name, "architecture").get("num_classes") or 0)


def _card_section(name: str, section: str) -> dict[str, Any]:
    try:
        file = local_files.find_local_weights(name)
        facts = _facts(file, file.with_suffix(".json").stat().st_mtime_ns).get(section, {}) if file else {}
    except (ModelError, OSError):
        return {}
    return facts if isinstance(facts, dict) else {}


@lru_cache(maxsize=32)
def _facts(file: Path, changed_ns: int) -> dict[str, Any]:
    """As the card says; it is asked for its parts several times in a run of any page."""
    return local_files.read_model_card(file)
