"""The row of pickers below a comparison."""

from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import permissions, texts
from app.components.page_style.page_style import scale_to_page_px
from app.shell import load_page_visit, model_picker, photo_picker, query_controls
from app.state.memory import memory_cache
from app.state.model_ref import CHECKPOINTS, ModelRef
from app.state.models import loaded_models, model_menu
from app.state.photos import uploaded_photo
from app.state.recordings import model_comparisons
from app.state.visit import second_model
from app.state.visit.visit import Visit
from app.views.compare.model_pair import ModelPair
from app.widgets import outlier_masking
from vitcore.models.vit import Vit


def show_pickers_and_load_pair(
    visit: Visit, row: DeltaGenerator, problem_place: DeltaGenerator
) -> tuple[ModelPair, DeltaGenerator]:
    """The pair that the pickers in `row` name, and the settings' popover; `problem_place` says what could not be had."""
    text, first = visit.texts, visit.vit
    with row:
        model_picker.repeated_model_menu(text["first"], "a_model", width=scale_to_page_px(250))
        b_place = st.container(width="content")
        photo = photo_picker.second_photo_menu(visit, text["b_photo"], photo_picker.B_PHOTO).photo
        second_model.follow_second_photo(photo)
        with b_place:
            requested = _second_menu(text, first)
        settings = st.popover(text["settings"], icon=":material/tune:", key="compare_settings")
    with problem_place:
        return _load_pair(visit, requested, photo, settings), settings


def _load_pair(visit: Visit, requested: str, chosen: str, settings: DeltaGenerator) -> ModelPair:
    """Both models on their photos, the second one's by its id; its input is among the settings."""
    text, first, photo = visit.texts, visit.vit, visit.photo
    with load_page_visit.download_progress(st.empty()) as progress:
        base = second_model.try_load_second(first, requested, progress)
    if second_model.SECOND.needs_rerun:
        st.rerun()
    with settings:
        wanted = _size_menu(text, base)
    other = base and second_model.try_resize_model(base, wanted)
    try:
        if base is not None:
            _show_failure(text, requested)
        if other is None:
            sentence = f"{texts.escape_markdown(second_model.variant_problem())} {text['instead']}"
            load_page_visit.show_model_problem(sentence, second_model.forget_variant_problem, "variant_again")
            requested, other = second_model.RANDOM, loaded_models.load_model_variant(first, second_model.RANDOM)
        if chosen != uploaded_photo.SAME_PHOTO:
            photo = uploaded_photo.open_photo_by_id(chosen, other.bands)
            load_page_visit.show_photo_notes(photo)
        second = replace(visit, vit=other, photo=photo, recording=model_comparisons.recording_with_tokens(other, photo))
        comparison = None
        if first.is_global and other.is_global:
            masked = outlier_masking.is_masking_on()
            comparison = model_comparisons.compare_models((first, other), (visit.photo, photo), masked)
    except memory_cache.MemoryBudgetError:
        st.warning(texts.prose("common")["no room now"], icon=":material/memory:")
        st.stop()
    names = first.card.title, _second_title(text, first, other, requested)
    return visit.extend(ModelPair, second=second, model_names=names, comparison=comparison)


def _show_failure(text: texts.Prose, shown: str) -> None:
    """Why B is not the model that was asked for last, and the way to ask again."""
    second_model.SECOND.succeed(shown)
    if problem := second_model.SECOND.problem:
        title = (
            model_menu.models_by_name()[shown].title
            if shown in model_menu.models_by_name()
            else _special_names(text).get(shown, shown)
        )
        sentence = text.join_sentences((problem.reason, text["stays"].format(model=title)))
        load_page_visit.show_model_problem(texts.escape_markdown(sentence), second_model.SECOND.try_again, "second_again")


def _special_names(text: texts.Prose) -> dict[str, str]:
    """What is no other model, by what the menu calls it."""
    return {one: text[f"b.{one}"] for one in (second_model.RANDOM, second_model.ITSELF, *CHECKPOINTS)}


def _second_title(text: texts.Prose, first: Vit, other: Vit, requested: str) -> str:
    """What the second model is called, in the visitor's language."""
    title = first.card.title if requested in (second_model.RANDOM, second_model.ITSELF, *CHECKPOINTS) else other.card.title
    if requested == second_model.RANDOM:
        title = text["called random"].format(model=title)
    elif requested in CHECKPOINTS:
        title = text["called step"].format(model=title, step=other.card.note)
    if size := ModelRef.parse(other.name).size:
        title = text["called size"].format(model=title, px=_readable_input_size(size))
    return title


def _readable_input_size(size: str) -> str:
    """ "96x128", height and width, as people say it."""
    high, wide = size.split("x")
    return f"{wide} px" if high == wide else f"{wide}×{high} px"


def _second_menu(text: texts.Prose, first: Vit) -> str:
    """The picker of the second model."""
    special = [second_model.RANDOM, second_model.ITSELF, *second_model.run_checkpoints(first.name)]
    cards = model_menu.models_by_name()

    def titles(lang: str | None = None) -> dict[str, str]:
        words = texts.prose("compare", lang)
        return {one: words[f"b.{one}"] for one in special} | {name: card.title for name, card in cards.items()}

    names = titles()
    second_model.SECOND.reset_picker()
    if st.session_state.get("b") in CHECKPOINTS and st.session_state["b"] not in special:
        st.session_state["b"] = second_model.RANDOM
    others = [titles(lang) for lang in texts.LANGUAGES]
    for given in (st.session_state.get("b"), st.query_params.get("b")):
        if given and given not in names and not any(given in there.values() for there in others):
            names |= {given: given}  # typed in: it is got, or what is wrong with it is said
    allowed = permissions.is_allowed("downloads")
    return query_controls.select_menu(text["b"], names, "b", others, width=270, accept_new_options=allowed, help=_second_help(text))


def _second_help(text: texts.Prose) -> str:
    """What can be chosen, and what that downloads. Not in the options' own words: the address holds those."""
    downloadable = sorted(
        (card for card in model_menu.models_by_name().values() if card.download_mb), key=lambda card: card.download_mb
    )
    if not downloadable:
        return text["b help"]
    small, large = downloadable[0], downloadable[-1]
    facts = {"least": f"{small.download_mb:.0f}", "small": small.title, "most": f"{large.download_mb:.0f}", "large": large.title}
    return text.join_sentences((text["b help"], text["b downloads"].format(**facts)))


def _size_menu(text: texts.Prose, vit: Vit | None) -> str:
    """The input of the second model: its own, or another that its positions are resampled to."""
    offered = second_model.input_sizes(vit) if vit else {}
    own = text["own"] if vit is None else text["own size"].format(px=_readable_input_size("x".join(map(str, vit.grid.image_px))))
    names = {second_model.OWN_SIZE: own} | {size: _readable_input_size(size) for size in offered}
    if st.session_state.get("b_px", second_model.OWN_SIZE) not in names:
        st.session_state["b_px"] = second_model.OWN_SIZE
    return query_controls.select_menu(text["b_px"], names, "b_px", width=200, disabled=not offered, help=text["b_px help"])
