"""Questions about whole maps of a photo: which is the rollout, whose it is, and which patch the answer is read from most."""

from numpy.random import Generator
from numpy.typing import NDArray

from vitcore.analysis.rollout import map_overlap
from vitcore.outlier_sentences import masked_outliers_sentence, outlier_sentence
from vitcore.quiz import question_pictures
from vitcore.quiz.outlier_explanations import join_explanations, outlier_sentence_of_choices, outlier_sentence_of_map
from vitcore.quiz.patch_questions import MAX_DRAWS, distinct_integers, four_patches_picture
from vitcore.quiz.question import LETTERS, AnswerChoice, Question, QuestionPicture, make_question
from vitcore.quiz.quiz_data import SIDE_PX, QuizMaterial, QuizPhoto
from vitcore.translation import percent, say

MIN_UNSHARED_OF_MAPS = 0.1  # of two maps, at least, that they do not share
MIN_WEIGHT_MARGIN = 0.25  # of the largest weight, by which it is ahead


def rollout_map_question(material: QuizMaterial, rng: Generator) -> Question | None:
    """Which of four maps is the rollout? The others are attention of single layers and of a head."""
    rec = material.rec
    if not rec.maps:
        return None
    block, head, last = (int(rng.choice(sorted(rec.maps))), int(rng.integers(material.vit.heads)), material.vit.blocks - 1)
    rolled = rec.rollout()
    named: list[tuple[str, NDArray]] = [
        (say("rollout through all layers"), rolled),
        (say("attention of layer {block}, mean of its heads", block=last), rec.pooled_attention(last)),
        (say("attention of layer {block}, mean of its heads", block=0), rec.pooled_attention(0)),
        (say("attention of layer {block}, head {head}", block=block, head=head), rec.head_maps(block)[head]),
    ]
    named = [named[place] for place in rng.permutation(4)]
    found = outlier_sentence_of_choices(material, [one for _, one in named])
    drawn = [question_pictures.photo_with_heat(material.photo.picture, one) for _, one in named]
    choices = [
        AnswerChoice("", map_overlap(one, rolled), name, QuestionPicture(pixels, say("A map on the photo")))
        for (name, one), pixels in zip(named, drawn, strict=True)
    ]
    return make_question(
        "rollout",
        say("One map is the rollout of {who} through all layers. The others are the attention of one layer or one head. "
            "Which is the rollout?", who=material.pooling_words),
        choices,
        [join_explanations(say("The others are: {others}.", others="; ".join(other for other, _ in named if other != name)), found)
         for name, _ in named],
        min_margin=MIN_UNSHARED_OF_MAPS, page="rollout",
    )  # fmt: skip


def most_attended_patch_question(material: QuizMaterial, rng: Generator) -> Question | None:
    """To which of four patches does the token the answer is read from attend most, in the last layer?"""
    grid = material.rec.grid
    if not material.rec.maps or grid.patches < 9 or material.photo.pooled_attention is None:
        return None
    weights = material.photo.pooled_attention.ravel()
    most = int(weights.argmax())
    for _ in range(MAX_DRAWS):
        places = [most, *distinct_integers(rng, 3, grid.patches)]
        if len(set(places)) < 4 or not question_pictures.are_letters_apart(places, grid, SIDE_PX):
            continue
        places = [places[i] for i in rng.permutation(4)]
        choices = [
            AnswerChoice(letter, float(weights[place] / weights[most]),
                   say("patch {patch}: {share} of its attention", patch=place, share=percent(weights[place], 2)))
            for letter, place in zip(LETTERS, places, strict=True)
        ]  # fmt: skip
        sentence = say("To which of the four patches does {who} attend most, in the last layer and on average over its heads?",
                       who=material.pooling_words)  # fmt: skip
        why = say("It gives patch {patch} {share} of its attention, the most of all patches.", patch=most,
                  share=percent(weights[most], 2))  # fmt: skip
        question = make_question(
            "attended", sentence, choices, join_explanations(why, _outlier_sentence_of_patch(material, most)),
            min_margin=MIN_WEIGHT_MARGIN, page="attention", address=_last_layer_address(material),
            pictures=[four_patches_picture(material, places, grid)],
        )  # fmt: skip
        if question:
            return question
    return None


def _outlier_sentence_of_patch(material: QuizMaterial, patch: int) -> str:
    if patch in material.photo.outliers:
        return outlier_sentence([patch], material.rec.grid)
    return masked_outliers_sentence(len(material.photo.outliers)) if material.masked else ""


def map_of_photo_question(material: QuizMaterial, rng: Generator) -> Question | None:
    """Which of four photos' maps belongs to this photo?"""
    if material.photo.pooled_attention is None:
        return None
    photos = _photos_with_other_maps(material, material.photo, rng)
    choices = [
        AnswerChoice("", map_overlap(one.pooled_attention, material.photo.pooled_attention), one.title, _map_without_photo(one))
        for one in photos
    ]
    sentence = say("Each map shows what {who} attends to in one of several photos, in the last layer and on average over its "
                   "heads. Which map belongs to this photo?", who=material.pooling_words)  # fmt: skip
    why = say("The other photos' maps have at most {share} of their total in common with this photo's.", share=_second(choices))
    found = outlier_sentence_of_choices(material, [one.pooled_attention for one in photos], photos)
    return make_question(
        "map_of_photo", sentence, choices, join_explanations(why, found), min_margin=MIN_UNSHARED_OF_MAPS, page="attention",
        address=_last_layer_address(material), pictures=[QuestionPicture(material.photo.picture, say("The photo"))],
    )  # fmt: skip


def photo_of_map_question(material: QuizMaterial, rng: Generator) -> Question | None:
    """To which of four photos does a map belong? Never to the one all other questions are about."""
    if material.photo.pooled_attention is None or not material.other_photos:
        return None
    asked = material.other_photos[int(rng.integers(len(material.other_photos)))]
    photos = _photos_with_other_maps(material, asked, rng)
    choices = [
        AnswerChoice(
            one.title, map_overlap(one.pooled_attention, asked.pooled_attention), "", QuestionPicture(one.picture, one.title)
        )
        for one in photos
    ]
    sentence = say("The map shows what {who} attends to in the last layer, on average over its heads. Which photo does it "
                   "belong to?", who=material.pooling_words)  # fmt: skip
    why = say("It is the map of “{title}”. The other photos' maps have at most {share} of their total in common with it.",
              title=asked.title, share=_second(choices))  # fmt: skip
    return make_question(
        "photo_of_map", sentence, choices,
        join_explanations(why, outlier_sentence_of_map(material, asked.pooled_attention, asked)), min_margin=MIN_UNSHARED_OF_MAPS,
        page="attention", address=_last_layer_address(material), pictures=[_map_without_photo(asked)],
    )  # fmt: skip


def _photos_with_other_maps(material: QuizMaterial, asked: QuizPhoto, rng: Generator) -> list[QuizPhoto]:
    """That photo and those whose maps are not too much like its, in an order drawn."""
    rest = (one for one in (material.photo, *material.other_photos) if one is not asked)
    least = 1 - MIN_UNSHARED_OF_MAPS
    photos = [asked, *(one for one in rest if map_overlap(one.pooled_attention, asked.pooled_attention) <= least)]
    return [photos[i] for i in rng.permutation(len(photos))]


def _map_without_photo(photo: QuizPhoto) -> QuestionPicture:
    return QuestionPicture(question_pictures.map_picture(photo.pooled_attention), say("A map without its photo"), photo=False)


def _second(choices: list[AnswerChoice]) -> str:
    """The second largest number of choices, in percent."""
    return percent(sorted((choice.number for choice in choices), reverse=True)[1], 0) if len(choices) > 1 else ""


def _last_layer_address(material: QuizMaterial) -> dict[str, int]:
    """The last layer in the explorer, asked as the answer asks it, where that is one token."""
    return {"layer": material.vit.blocks - 1} | ({"token": 0} if material.vit.pooling == "class token" else {})
