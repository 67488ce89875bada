"""Below a comparison: cards of pairs that are ready to be chosen at a touch."""

from collections.abc import Iterator

import streamlit as st

from app import permissions, texts
from app.components.component_files import media_url
from app.shell import photo_ids_and_titles, photo_picker
from app.state.photos import sample_photos, uploaded_photo
from app.state.preset_pairs import PRESET_PAIRS, UNLISTED_MB, PresetPair, preset_pair_picture
from app.state.training import run_status
from app.state.visit import current_model, second_model
from vitcore.models.model_cards import MODEL_CARDS
from vitcore.models.vit import Vit

PICTURE_OF_PRESET = "_picture_of_preset"  # the kind that the last ready pair has set
CARDS = {card.name: card for card in MODEL_CARDS}


def show_preset_cards(text: texts.Prose, first: Vit) -> None:
    """A card for each pair that can be had beside `first`, or instead of it; a touch anywhere on it shows the pair."""
    offered = list(_offered(first))
    st.markdown(f"### {text['ready']}")
    photo = sample_photos.sample_photo_rows()[0]["id"]
    said = [text["ready photo"].format(photo=photo_ids_and_titles.photo_titles_by_id(texts.language(), [photo])[photo])]
    if any(preset_pair_picture(preset).is_example for preset, _ in offered):
        said.append(text["ready example"].format(model=MODEL_CARDS[0].title))
    st.caption(texts.escape_markdown(text.join_sentences(said)))
    with st.container(key="pair_cards"):
        for preset, run in offered:
            _show_card(text, preset, run)


def _offered(first: Vit) -> Iterator[tuple[PresetPair, str]]:
    """The pairs, each with the run that it is of, or nothing."""
    for preset in PRESET_PAIRS:
        size = preset.size
        if preset.key == "size":  # a smaller input for the model beside itself, if there is one
            size = next(iter(second_model.input_sizes(first)), second_model.OWN_SIZE)
        if preset.key == "size" and size == second_model.OWN_SIZE:
            continue
        if all(name in CARDS for name in _downloaded(preset)) or permissions.is_allowed("downloads"):
            yield preset._replace(size=size), ""
    for name in list(run_status.run_model_cards())[:3]:
        for which in second_model.run_checkpoints(name)[-1:]:
            yield PresetPair("steps", name, which, "tokens"), name


def _downloaded(preset: PresetPair) -> list[str]:
    """The models of a pair that the hub has."""
    return [name for name in (preset.first, preset.second) if name in CARDS or name in UNLISTED_MB]


def _show_card(text: texts.Prose, preset: PresetPair, run: str) -> None:
    """The picture, the title and one line; the title's button covers the card (`pair_cards.css`)."""
    picture = preset_pair_picture(preset)
    label = text[f"ready {preset.key}"].format(run=texts.escape_markdown(run))
    caption = text[f"ready {preset.key} about"]
    if mb := [CARDS[name].download_mb if name in CARDS else UNLISTED_MB[name] for name in _downloaded(preset)]:
        caption = text.join_sentences((caption, text["ready download"].format(sizes=" + ".join(f"{one:.0f}" for one in mb))))
    with st.container(key=f"pair_{'example' if picture.is_example else 'own'}_{preset.key}_{run}", gap=None):
        address = media_url(picture.file.read_bytes(), "image/webp", f"pair_{preset.key}_{run}")
        st.html(f'<img src="{address}" alt="{text[f"picture.{preset.picture}"]}">')
        st.button(label, key=f"ready_{preset.key}_{run}", type="tertiary", on_click=_choose_preset, args=(preset,))
        st.caption(caption)


def _choose_preset(preset: PresetPair) -> None:
    """Show this pair, in its own kind of picture unless a visitor has chosen another."""
    current_model.FIRST.forget_problem()
    second_model.forget_variant_problem()
    state, usual = st.session_state, PRESET_PAIRS[0].picture
    if state.get("picture", usual) == state.get(PICTURE_OF_PRESET, usual):
        state["picture"] = state[PICTURE_OF_PRESET] = preset.picture
    photo = {photo_picker.B_PHOTO: uploaded_photo.SAME_PHOTO}
    state.update({"b": preset.second, "b_px": preset.size} | photo | ({"model": preset.first} if preset.first else {}))
