"""Questions about whole maps of a photo: which is the rollout, whose it is, and which patch the answer is read from most."""

from numpy.random import Generator
from numpy.typing import NDArray

from vitcore.analysis.rollout import map_overlap
from vitcore.outlier_sentences import masked_outliers_sentence, outlier_sentence
from vitcore.quiz import question_pictures
from vitcore.quiz.outlier_explanations import of_choices, of_map, with_more
from vitcore.quiz.patch_questions import TRIES, four, some
from vitcore.quiz.question import LETTERS, Choice, Picture, Question, judged
from vitcore.quiz.quiz_data import SIDE_PX, Material, Other, reads
from vitcore.translation import percent, say

COMMON = 0.1  # of two maps, at least, that they do not share
WEIGHT = 0.25  # of the largest weight, by which it is ahead


def rollout(m: Material, rng: Generator) -> Question | None:
    """Which of four maps is the rollout? The others are attention of single layers and of a head."""
    rec = m.rec
    if not rec.maps:
        return None
    block, head, last = int(rng.choice(sorted(rec.maps))), int(rng.integers(m.vit.heads)), m.vit.blocks - 1
    rolled = rec.rollout()
    named: list[tuple[str, NDArray]] = [
        (say("rollout through all layers"), rolled),
        (say("attention of layer {block}, mean of its heads", block=last), reads(rec, last)),
        (say("attention of layer {block}, mean of its heads", block=0), reads(rec, 0)),
        (say("attention of layer {block}, head {head}", block=block, head=head), rec.head_maps(block)[head]),
    ]
    named = [named[place] for place in rng.permutation(4)]
    found = of_choices(m, [one for _, one in named])
    choices = [
        Choice(
            "",
            map_overlap(one, rolled),
            name,
            Picture(question_pictures.heat(m.own.picture, one), say("A map on the photo")),
        )
        for name, one in named
    ]
    return judged(
        "rollout",
        say("One map is the rollout of {who}: attention multiplied through all layers. The others are attention of one layer, "
            "or of one of its heads. Which is the rollout?", who=m.who),
        choices,
        [with_more(say("The others are: {others}.", others="; ".join(other for other, _ in named if other != name)), found)
         for name, _ in named],
        least=COMMON, page="rollout",
    )  # fmt: skip


def attended(m: Material, rng: Generator) -> Question | None:
    """To which of four patches does the token the answer is read from attend most, in the last layer?"""
    grid = m.rec.grid
    if not m.rec.maps or grid.patches < 9 or m.own.read is None:
        return None
    weights = m.own.read.ravel()
    most = int(weights.argmax())
    for _ in range(TRIES):
        places = [most, *some(rng, 3, grid.patches)]
        if len(set(places)) < 4 or not question_pictures.apart(places, grid, SIDE_PX):
            continue
        places = [places[i] for i in rng.permutation(4)]
        choices = [
            Choice(letter, float(weights[place] / weights[most]),
                   say("patch {patch}: {share} of its attention", patch=place, share=percent(weights[place], 2)))
            for letter, place in zip(LETTERS, places, strict=True)
        ]  # fmt: skip
        question = judged(
            "attended",
            say("In the last layer, on average over its heads: to which of the four patches does {who} attend most?", who=m.who),
            choices,
            with_more(say("It gives patch {patch} {share} of its attention, the most of all patches.", patch=most,
                          share=percent(weights[most], 2)),
                      outlier_sentence([most], grid) if most in m.own.outliers
                      else masked_outliers_sentence(len(m.own.outliers)) if m.masked else ""),
            least=WEIGHT, page="attention", address=_last(m), pictures=[four(m, places, grid)],
        )  # fmt: skip
        if question:
            return question
    return None


def map_of_photo(m: Material, rng: Generator) -> Question | None:
    """Which of four photos' maps belongs to this photo?"""
    if m.own.read is None:
        return None
    photos = _unlike(m, m.own, rng)
    drawn = [
        Picture(question_pictures.cells(_read(one)), say("A map without its photo"), photo=False) for one in photos
    ]
    choices = [
        Choice("", map_overlap(_read(one), m.own.read), one.title, picture)
        for one, picture in zip(photos, drawn, strict=True)
    ]
    return judged(
        "map_of_photo",
        say("Where does {who} look, in the last layer and on average over its heads? These are the maps of several photos. "
            "Which belongs to this photo?", who=m.who),
        choices,
        with_more(say("The other photos' maps have at most {share} of their total in common with this photo's.",
                      share=_second(choices)), of_choices(m, [_read(one) for one in photos], photos)),
        least=COMMON, page="attention", address=_last(m), pictures=[Picture(m.own.picture, say("The photo"))],
    )  # fmt: skip


def photo_of_map(m: Material, rng: Generator) -> Question | None:
    """To which of four photos does a map belong? Never to the one all other questions are about."""
    if m.own.read is None or not m.others:
        return None
    asked = m.others[int(rng.integers(len(m.others)))]
    photos = _unlike(m, asked, rng)
    choices = [
        Choice(one.title, map_overlap(_read(one), _read(asked)), "", Picture(one.picture, one.title)) for one in photos
    ]
    return judged(
        "photo_of_map",
        say("In which photo does {who} look so, in the last layer and on average over its heads?", who=m.who), choices,
        with_more(say("It is the map of “{title}”; those of the other photos have at most {share} of their total in common with "
                      "it.", title=asked.title, share=_second(choices)), of_map(m, _read(asked), asked)),
        least=COMMON, page="attention", address=_last(m),
        pictures=[Picture(question_pictures.cells(_read(asked)), say("A map without its photo"), photo=False)],
    )  # fmt: skip


def _unlike(m: Material, asked: Other, rng: Generator) -> list[Other]:
    """That photo and those whose maps are not too much like its, in an order drawn."""
    everyone = (m.own, *m.others)
    rest = [one for one in everyone if one is not asked and map_overlap(_read(one), _read(asked)) <= 1 - COMMON]
    photos = [asked, *rest]
    return [photos[i] for i in rng.permutation(len(photos))]


def _read(photo: Other) -> NDArray:
    assert photo.read is not None, "asked for models that have maps"
    return photo.read


def _second(choices: list[Choice]) -> str:
    """The second largest number of choices, in percent."""
    return percent(sorted((choice.number for choice in choices), reverse=True)[1], 0) if len(choices) > 1 else ""


def _last(m: Material) -> dict[str, int]:
    """The last layer in the explorer, asked as the answer asks it, where that is one token."""
    return {"layer": m.vit.blocks - 1} | ({"token": 0} if m.vit.readout == "class token" else {})
