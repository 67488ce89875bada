"""The figures of a model's card: accuracy and species on each set of photos beside its teacher's, and the commands that made it.

`trained` is what the card beside the weights says of the training. Its `photos` say of each set what it is called, of which
photos it is, and its use: "test" photos nothing was trained or tuned on, "validation" photos settings were chosen by.
"""

from typing import Any

import streamlit as st

from app import texts
from app.components.copyable_text.copyable_text import copyable_text
from vitcore.models.model_cards import ModelCard
from vitcore.translation import percent, say

HARDER_POINTS = 5.0  # points by which one set of photos is named worse than another before a reason is given
SPECIES = ("cats", "dogs", "false_cats")


def accuracy_sets(trained: dict[str, Any]) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Of each set of photos on which the model and its teacher named classes: which set, {"photos", "top1", "top5"} of both."""
    model, teacher = (trained.get(key, {}) for key in ("measured", "teacher_measured_alike"))
    return [(key.partition(" ")[2], model[key], teacher[key]) for key in model if key.startswith("accuracy ") and key in teacher]


def _species_recognition(trained: dict[str, Any], source: str = "measured") -> dict[str, dict[str, Any]]:
    """How often cats and dogs of each set of photos are called so, the test photos first."""
    measured = trained.get(source, {})
    tests = {"pets": measured["pets"]} if "pets" in measured else {}
    return tests | {key.partition(" ")[2]: told for key, told in measured.items() if key.startswith("kinds ")}


def _photo_set_description(trained: dict[str, Any], name: str) -> dict[str, str]:
    """What the card says of a set of photos: {"called", "use", "of"}."""
    return trained.get("photos", {}).get(name, {})


def cat_and_dog_accuracy_sentence(trained: dict[str, Any], text: texts.Prose) -> str:
    """How often the species of test photos is right, in a sentence; empty where that was not measured."""
    found = _species_recognition(trained).get("pets")
    return text["about species"].format(cats=found["cats"]["called_so"], dogs=found["dogs"]["called_so"]) if found else ""


def training_sentences(card: ModelCard, trained: dict[str, Any], text: texts.Prose) -> list[str]:
    """Who taught it, and what of labels went into it."""
    sentences = [text["about taught"].format(teacher=card.teacher)] if card.teacher else []
    if layer := trained.get("last_layer"):
        labels = sum(trained["labelled_photos_of_its_teacher_m"].values())
        sentences.append(text.fill("about labels", teacher=card.teacher, labels=labels, **layer))
    return sentences


def plausibility_sentences(card: ModelCard, trained: dict[str, Any], text: texts.Prose) -> list[str]:
    """Which photos without a cat it calls one, and how plausible its rollout is."""
    model, teacher = (trained.get(key, {}) for key in ("measured", "teacher_measured_alike"))
    sentences = []
    if "pets" in model and "pets" in teacher:
        of_teacher = _species_recognition(trained, "teacher_measured_alike")
        each = [
            text[f"false cats {_photo_set_description(trained, which)['use']}"].format(
                called=_photo_set_description(trained, which)["called"], photos=found["false_cats"]["photos"], teacher=card.teacher,
                share=percent(found["false_cats"]["called_so"] / 100),
                teacher_share=percent(of_teacher[which]["false_cats"]["called_so"] / 100),
            )
            for which, found in _species_recognition(trained).items() if "cats" in found
        ]  # fmt: skip
        cats, dogs = (teacher["pets"][kind] for kind in ("cats", "dogs"))
        beside = text["species beside"].format(teacher=card.teacher, cats=cats["called_so"], cat_photos=cats["photos"],
                                               dogs=dogs["called_so"], dog_photos=dogs["photos"])  # fmt: skip
        sentences.append(text.join_sentences([beside, *each]))
        maps, others = model["pets"]["localisation"], teacher["pets"]["localisation"]
        sentences.append(text["about localisation"].format(rollout=maps["rollout_auc"], prior=maps["centre_prior_auc"],
                                                      teacher=card.teacher, other=others["rollout_auc"]))  # fmt: skip
        sentences.append(localisation_sentence(card, text))
    return sentences


def localisation_sentence(card: ModelCard | None, text: texts.Prose) -> str:
    """What an AUC against outlines measures, and towards what this model's rollout was trained."""
    towards = text["trained towards"].format(looker=card.looker) if card and card.looker else ""
    return text.join_sentences([text["plausible"], towards])


def show_accuracy_tables(card: ModelCard, trained: dict[str, Any], text: texts.Prose) -> None:
    """Two tables, the model beside its teacher, and below them which photos those are."""
    names = card.title, text["its teacher"].format(model=card.teacher)
    sets = accuracy_sets(trained)
    rows = [
        (
            name,
            text["measured set"].format(called=_photo_set_description(trained, which).get("called", "—"), photos=one["photos"]),
            *(percent(one[share] / 100) for share in ("top1", "top5")),
        )
        for which, *pair in sets
        for name, one in zip(names, pair, strict=True)
    ]
    _table([text["model"], *(text[f"measured {name}"] for name in ("from", "top1", "top5"))], rows)
    both = _species_recognition(trained), _species_recognition(trained, "teacher_measured_alike")
    if kinds := [which for which in both[0] if which in both[1]]:
        called = [
            text[f"use {_photo_set_description(trained, which).get('use', 'validation')}"].format(
                called=_photo_set_description(trained, which).get("called", "—")
            )
            for which in kinds
        ]
        shares = [[_share_cell(both[0][which].get(kind), both[1][which].get(kind), text) for kind in SPECIES] for which in kinds]
        cells = [(name, *row) for name, row in zip(called, shares, strict=True)]
        _table([text["measured photos"], *(text[f"measured {kind}"] for kind in SPECIES)], cells)
        st.markdown(text["measured brackets"].format(teacher=names[1]))
    counts = {which: one["photos"] for which, one, _ in sets}
    if tests := both[0].get("pets"):
        counts["pets"] = tests["cats"]["photos"] + tests["dogs"]["photos"]
    photo_sentences = [text["measured of"].format(photos=count, of=say(_photo_set_description(trained, which)["of"]))
            for which, count in counts.items() if _photo_set_description(trained, which)]  # fmt: skip
    harder = _harder_photos_sentence([pair for _, *pair in sets[:2]], text)
    st.markdown(text.join_sentences([text["measured uses"] if kinds else "", *photo_sentences, harder]))


def show_card_commands(trained: dict[str, Any]) -> None:
    """The commands that made and measured it, in their order; what would come out otherwise today is said of each."""
    for i, one in enumerate(trained["commands"]):
        copyable_text(one["command"], key=f"made_{i}")
        if one["differs"]:
            st.markdown(say(one["differs"]))


def _table(heads: list[str], rows: list[tuple[str, ...]]) -> None:
    """Columns of shares stand on the right."""
    shares = [any("%" in row[i] for row in rows) for i in range(len(heads))]
    lines = (heads, ["---:" if share else "---" for share in shares], *rows)
    st.markdown("\n".join(f"| {' | '.join(row)} |" for row in lines))


def _share_cell(model: dict[str, Any] | None, teacher: dict[str, Any] | None, text: texts.Prose) -> str:
    if not model or not teacher:
        return "—"
    own, other = (percent(one["called_so"] / 100) for one in (model, teacher))
    return text["share of"].format(share=own, teacher=other, photos=model["photos"])


def _harder_photos_sentence(sets: list[list[dict[str, Any]]], text: texts.Prose) -> str:
    """That the second photos are harder, where the teacher names much fewer of them, too."""
    if len(sets) < 2:
        return ""
    less, teacher_less = (sets[0][who]["top1"] - sets[1][who]["top1"] for who in (0, 1))
    much = less > HARDER_POINTS and teacher_less > less / 2
    return text["about harder"].format(less=less, teacher_less=teacher_less) if much else ""
