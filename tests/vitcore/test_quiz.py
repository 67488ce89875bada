"""The quiz: every answer computed once more in another way, the same questions for a seed, no ties, and nothing told too early."""

import itertools
import json
import re
import tomllib
from dataclasses import replace
from functools import cache
from html import unescape

import numpy as np
import pytest
import torch
from model_files import model_file
from scipy.spatial.distance import cdist

import vitcore
from tests.conftest import ROOT, SAMPLES
from vitcore.__main__ import main
from vitcore.forward.predict import predict
from vitcore.forward.recording import to_model_input
from vitcore.models import load_model
from vitcore.module_swaps import with_swapped_modules
from vitcore.quiz import (
    draw_quiz,
    head_questions,
    map_questions,
    patch_questions,
    prediction_questions,
    question_pictures,
    quiz_data,
    quiz_handout,
    weight_questions,
)
from vitcore.quiz.colour_difference import MIN_COLOUR_DIFFERENCE, colour_difference
from vitcore.quiz.question import MIN_PIXEL_DIFFERENCE, AnswerChoice, QuestionPicture, make_question, pixel_difference
from vitcore.translation import percent, using_translation

PHOTO = SAMPLES / "cat.jpg"
MODELS = {
    "shipped": None, "no class token": {"class_token": False, "global_pool": "avg", "fc_norm": False},
    "registers": {"reg_tokens": 4},
}  # fmt: skip


class Truth:
    """What a model does with a photo, worked out without the quiz's own arithmetic."""

    def __init__(self, vit, m) -> None:
        self.vit, self.m, self.grid = vit, m, vit.grid
        self.rec = vitcore.record(vit, PHOTO, maps=range(vit.blocks))
        high, wide = vit.grid.step_px
        places = [(row * high, col * wide) for row in range(vit.grid.rows) for col in range(vit.grid.cols)]
        self.apart = cdist(places, places)  # of pixels
        self.far_px, self.recorded = cache(self._far_px), cache(self._recorded)
        self.maps = np.stack([self.rec.maps[block] for block in range(vit.blocks)]).astype(float)  # (L, H, T, T)

    def _far_px(self, block: int, head: int) -> float:
        """Mean over patches of the distance of what one attends to, of patches alone."""
        weights = self.maps[block, head, self.grid.prefix :, self.grid.prefix :]
        return float(((weights * self.apart).sum(1) / weights.sum(1)).mean())

    def far_from(self, block: int, head: int, token: int) -> float:
        """Mean distance of what one token attends to, of patches alone."""
        weights = self.maps[block, head, token, self.grid.prefix :]
        return float(weights @ self.apart[token - self.grid.prefix] / weights.sum())

    def share(self, block: int, head: int) -> float:
        return float(self.maps[block, head, self.grid.prefix :, : self.grid.prefix].sum(-1).mean())

    def reads(self, rec, block: int) -> np.ndarray:
        """(N,) of the class token, or of the mean of all patches."""
        mean = rec.maps[block].astype(float).mean(0)
        row = mean[0] if self.vit.pooling == "class token" else mean[self.grid.prefix :].mean(0)
        return row[self.grid.prefix :]

    def rollout(self) -> np.ndarray:
        product = np.eye(self.grid.tokens)
        for block in self.maps.mean(1):
            both = (block + np.eye(len(block))) / 2
            product = both / both.sum(-1, keepdims=True) @ product
        row = product[0] if self.vit.pooling == "class token" else product[self.grid.prefix :].mean(0)
        return row[self.grid.prefix :].reshape(self.grid.rows, self.grid.cols)

    def cosine(self, one: int, other: int) -> float:
        table = load_model.position_embeddings(self.vit).astype(float)
        return float(table[one] @ table[other] / np.sqrt((table[one] ** 2).sum() * (table[other] ** 2).sum()))

    @torch.inference_mode()
    def stopped(self, depth: int) -> str:
        """What a model of so many blocks answers."""
        module = with_swapped_modules(self.vit.module, blocks=self.vit.module.blocks[:depth])
        return self.vit.labels[int(module(to_model_input(self.vit, self.rec.model_input.pixels))[0].argmax())]

    def _recorded(self, title: str):
        names = {row["title"]: row["id"] for row in quiz_data.sample_photo_rows()}
        return vitcore.record(self.vit, SAMPLES / f"{names[title]}.jpg", maps=[self.vit.blocks - 1])


@pytest.fixture(scope="module")
def asked(shipped):
    return quiz_data.make_quiz_material(shipped, PHOTO, 7)


@pytest.fixture(scope="module", params=MODELS)
def truth(request, asked, make_vit) -> Truth:
    changes = MODELS[request.param]
    m = asked if changes is None else quiz_data.make_quiz_material(make_vit(**changes), PHOTO, 7)
    return Truth(m.vit, m)


def test_a_seed_draws_the_quiz_that_it_has_always_drawn(asked):
    """A link with a seed is given to a class: to rename a module or a function changes nothing in it."""
    drawn = [(one.kind, one.correct_letter) for one in draw_quiz.draw_quiz(asked, 7).questions]
    assert drawn == [
        ("number", "C"), ("component", "B"), ("place_of_tile", "D"), ("farthest", "C"), ("whose", "B"), ("rollout", "B"),
        ("photo_of_map", "A"), ("lens_says", "B"), ("answer", "C"), ("photo_for_class", "A"),
    ]  # fmt: skip


def number_in(pattern: str, said: str) -> int:
    return int(re.search(pattern, said)[1])


def patches_of(question) -> list[int]:
    return [number_in(r"^patch (\d+)", choice.number_text) for choice in question.choices]


def heads_of(question) -> list[tuple[int, int]]:
    found = [re.search(r"layer (\d+), head (\d+)", f"{c.words} {c.number_text}") for c in question.choices]
    return [(int(one[1]), int(one[2])) for one in found]


def outlined(truth, question) -> int:
    """The patch around which the photo was drawn on."""
    changed = np.argwhere((question.pictures[0].pixels != truth.m.photo.picture).any(-1))
    (top, left), (bottom, right), high, wide = changed.min(0), changed.max(0), *truth.m.photo.picture.shape[:2]
    grid = truth.vit.patches
    return grid.patch(int((top + bottom) / 2 / high * grid.rows), int((left + right) / 2 / wide * grid.cols))


def best(numbers, lowest: bool = False) -> int:
    """The place of the highest (lowest) number, which is the only one of its kind."""
    order = np.argsort(numbers)[:: 1 if lowest else -1]
    assert numbers[order[0]] != numbers[order[1]]
    return int(order[0])


def of_component(truth, question) -> int:
    kernel = load_model.first_layer_filters(truth.vit).astype(float)
    share = np.linalg.eigvalsh(np.cov(kernel.reshape(len(kernel), -1), rowvar=False))[::-1]
    places = [number_in(r"component (\d+)", choice.number_text) - 1 for choice in question.choices]
    assert all(percent(share[at] / share.sum()) in choice.number_text for at, choice in zip(places, question.choices, strict=True))
    return best([share[at] for at in places])


def of_whose(truth, question) -> int:
    """Whose attention is the picture that is shown, cell by cell?"""
    block, head = number_in(r"layer (\d+)", question.sentence), number_in(r"head (\d+)", question.sentence)
    grid, prefix = truth.grid, truth.grid.prefix
    rows = [truth.maps[block, head, prefix + patch, prefix:] for patch in patches_of(question)]
    shown = [pixel_difference(question_pictures.map_picture(grid.to_map(row)), question.pictures[0].pixels) for row in rows]
    assert min(shown) < 0.01
    return best(shown, lowest=True)


def of_settles(truth, question) -> int:
    said = [truth.stopped(depth) for depth in range(truth.vit.blocks + 1)]
    wrong = [depth for depth, label in enumerate(said) if label != said[-1]]
    return [choice.words for choice in question.choices].index(f"after layer {max(wrong)}")


def of_class(truth, question) -> int:
    label = re.search("“(.*)”", question.sentence)[1]
    p = []
    for choice in question.choices:
        logits = torch.from_numpy(truth.recorded(choice.picture.alt).logits.copy())
        p.append(float(torch.softmax(logits.double(), 0)[truth.vit.labels.index(label)]))
    return best(p)


def of_map(truth, question) -> int:
    """Of which photo is the map that is shown?"""
    last, grid = truth.vit.blocks - 1, truth.grid
    drawn = [question_pictures.map_picture(grid.to_map(truth.reads(truth.recorded(c.words), last))) for c in question.choices]
    return best([pixel_difference(one, question.pictures[0].pixels) for one in drawn], lowest=True)


def of_photo(truth, question) -> int:
    own = question_pictures.map_picture(truth.grid.to_map(truth.reads(truth.rec, truth.vit.blocks - 1)))
    return best([pixel_difference(choice.picture.pixels, own) for choice in question.choices], lowest=True)


def of_rollout(truth, question) -> int:
    own = question_pictures.photo_with_heat(truth.m.photo.picture, truth.rollout())
    apart = [pixel_difference(choice.picture.pixels, own) for choice in question.choices]
    assert min(apart) < 0.5
    return best(apart, lowest=True)


def of_lens(truth, question) -> int:
    said = truth.stopped(number_in(r"layer (\d+)", question.sentence) + 1)
    return [choice.words for choice in question.choices].index(said)


def pinned(truth, question) -> int:
    """The token of the patch that the explorer pins where the question's link leads."""
    return truth.grid.prefix + int(question.address["patch"])


AGAIN = {
    patch_questions.outlined_patch_question: lambda t, q: patches_of(q).index(outlined(t, q)),
    patch_questions.patch_number_question: lambda t, q: patches_of(q).index(number_in(r"is patch (\d+)", q.sentence)),
    weight_questions.first_component_question: of_component,
    weight_questions.position_map_question: lambda t, q: patches_of(q).index(outlined(t, q)),
    weight_questions.similar_position_question: lambda t, q: best(
        [t.cosine(int(q.address["patch"]), patch) for patch in patches_of(q)]
    ),
    head_questions.nearest_head_question: lambda t, q: best(
        [t.far_from(*place, pinned(t, q)) for place in heads_of(q)], lowest=True
    ),
    head_questions.farthest_head_question: lambda t, q: best([t.far_from(*place, pinned(t, q)) for place in heads_of(q)]),
    head_questions.nearest_layer_question: lambda t, q: best(
        [np.mean([t.far_px(number_in(r"(\d+)", c.words), head) for head in range(t.vit.heads)]) for c in q.choices], lowest=True
    ),
    head_questions.attending_patch_question: of_whose,
    head_questions.attention_sink_question: lambda t, q: best([t.share(*place) for place in heads_of(q)]),
    map_questions.most_attended_patch_question: lambda t, q: best(
        [t.reads(t.rec, t.vit.blocks - 1)[patch] for patch in patches_of(q)]
    ),
    map_questions.rollout_map_question: of_rollout,
    map_questions.map_of_photo_question: of_photo,
    map_questions.photo_of_map_question: of_map,
    prediction_questions.deciding_layer_question: of_settles,
    prediction_questions.logit_lens_question: of_lens,
    prediction_questions.predicted_class_question: lambda t, q: [c.words for c in q.choices].index(
        t.vit.labels[int(predict(t.vit, t.rec.model_input.pixels).argmax())]
    ),
    prediction_questions.photo_for_class_question: of_class,
}


def test_every_answer_is_right_when_it_is_worked_out_in_another_way(truth, subtests):
    assert {ask for _, ask, _ in draw_quiz.QUESTION_KINDS} == AGAIN.keys()
    asked = 0
    for name, ask, _ in draw_quiz.QUESTION_KINDS:
        question = ask(truth.m, quiz_data.purpose_seeded_generator(0, name.rpartition(".")[2]))
        if question is None:
            continue
        asked += 1
        with subtests.test(name):
            assert AGAIN[ask](truth, question) == question.correct_choice
            shown = [choice.picture.pixels for choice in question.choices if choice.picture]
            answer = question.choices[question.correct_choice]
            others = [choice for choice in question.choices if choice is not answer]
            ahead = min(abs(answer.number - other.number) for other in others)
            assert question.margin == pytest.approx(ahead) and ahead > 0
            apart = [pixel_difference(answer.picture.pixels, other.picture.pixels) for other in others if shown]
            assert all(difference >= MIN_PIXEL_DIFFERENCE for difference in apart)
    assert asked >= (16 if truth.vit.blocks == 12 else 11), "of a trained model nearly all can be asked"


def written(quiz) -> list:
    """All of a quiz that can be compared."""
    return [
        (q.kind, q.sentence, q.correct_choice, q.explanation, dict(q.address),
         [(c.words, c.number_text, c.picture and c.picture.pixels.tobytes())
                                                              for c in q.choices], [p.pixels.tobytes() for p in q.pictures])
        for q in quiz.questions
    ]  # fmt: skip


def test_a_seed_gives_the_same_quiz_and_another_seed_another(asked, shipped):
    quiz = draw_quiz.draw_quiz(asked, 7)
    assert written(draw_quiz.draw_quiz(quiz_data.make_quiz_material(shipped, PHOTO, 7), 7)) == written(quiz)
    assert len(quiz.questions) == draw_quiz.QUESTION_COUNT == len({q.kind for q in quiz.questions})
    others = [draw_quiz.draw_quiz(asked, seed) for seed in (8, 9)]
    assert len({"".join(q.correct_letter for q in one.questions) for one in (quiz, *others)}) == 3
    with using_translation(tomllib.loads((ROOT / "app/text/zh-CN/vitcore.toml").read_text(encoding="utf-8"))):
        chinese = draw_quiz.draw_quiz(asked, 7)
    assert [(q.kind, q.correct_choice, q.address) for q in chinese.questions] == [
        (q.kind, q.correct_choice, q.address) for q in quiz.questions
    ]
    assert not any(q.sentence == other.sentence for q, other in zip(quiz.questions, chinese.questions, strict=True))


def test_what_has_no_clear_answer_is_not_asked(asked):
    def ask(numbers, least=0.1, pictures=(1, 2, 3), words=("", "", "")):
        drawn = [QuestionPicture(np.full((4, 4, 3), 50 * p, np.uint8), "") if p else None for p in pictures]
        choices = [AnswerChoice(w, n, "", p) for w, n, p in zip(words, numbers, drawn, strict=False)]
        return make_question("kind", "Which?", choices, "Because.", min_margin=least, page="patches")

    assert ask([1, 0.8, 0.5]).correct_choice == 0 and ask([1, 0.8, 0.5]).margin == pytest.approx(0.2)
    assert ask([1, 1, 0.5], least=0).margin == 0, "zero is a margin where none is asked for"
    assert ask([1, 0.95, 0.5]) is None and ask([1, 1, 0.5]) is None and ask([1, float("nan"), 0.5]) is None
    assert ask([1, 0.5]) is None, "two choices are no quiz"
    assert ask([1, 0.8, 0.5], pictures=(1, 2, 2)) is None, "two look the same"
    assert ask([1, 0.8, 0.5], pictures=(0, 0, 0), words=("a", "b", "a")) is None, "two read the same"


def test_a_photo_or_model_that_gives_no_clear_answer_is_not_asked_about(asked):
    flat = replace(asked.rec.model_input, pixels=np.full_like(asked.rec.model_input.pixels, 90))
    even = {block: np.full_like(one, 1 / asked.rec.grid.tokens) for block, one in asked.rec.maps.items()}
    level = replace(asked.rec, distance_renormalised_px=np.full_like(asked.rec.distance_px, 60), maps=even)
    unclear = [
        (replace(asked, position_similarity=np.ones_like(asked.position_similarity)),
         [weight_questions.position_map_question, weight_questions.similar_position_question]),
        (replace(asked, rec=replace(asked.rec, model_input=flat)), [patch_questions.outlined_patch_question]),
        (replace(asked, other_photos=(replace(asked.photo, title="Another"),) * 3),
         [map_questions.photo_of_map_question, map_questions.map_of_photo_question, prediction_questions.photo_for_class_question]),
        (replace(asked, logit_lens=np.tile(asked.logit_lens[-1], (13, 1))),
         [prediction_questions.deciding_layer_question, prediction_questions.logit_lens_question]),
        (replace(asked, rec=level), [head_questions.nearest_head_question, head_questions.farthest_head_question,
                                     head_questions.nearest_layer_question]),
    ]  # fmt: skip
    for material, questions in unclear:
        assert [question(material, quiz_data.purpose_seeded_generator(0)) for question in questions] == [None] * len(questions)


def test_patches_that_are_choices_of_one_question_look_different(asked, shipped):
    def grey(level: int) -> np.ndarray:
        return np.full((8, 8, 3), level, np.uint8)

    assert colour_difference(grey(0), grey(255)) == pytest.approx(100, abs=0.1) and colour_difference(grey(9), grey(9)) == 0
    assert colour_difference(grey(119), grey(120)) < 1, "no eye tells these apart"
    red, blue = (np.broadcast_to(np.array(colour, np.uint8), (8, 8, 3)).copy() for colour in ((255, 0, 0), (0, 0, 255)))
    assert colour_difference(red, blue) == pytest.approx(184.0, abs=1.5), "(54.3, 80.8, 69.9), (29.6, 68.3, -112.0)"
    assert pixel_difference(grey(0), grey(20)) > 12
    assert colour_difference(grey(0), grey(20)) < MIN_COLOUR_DIFFERENCE, "both are nearly black"
    noise = quiz_data.purpose_seeded_generator(0).integers(0, 256, (2, 16, 16, 3), np.uint8)
    assert pixel_difference(*noise) > 80 and colour_difference(*noise) < pixel_difference(*noise) / 2, "the texture is the same"
    parts = np.stack([grey(level) for level in (0, 8, 16, 90, 95, 160, 250, 255)])
    assert len(patch_questions.different_patches(parts, quiz_data.purpose_seeded_generator(1))) == 4
    assert patch_questions.different_patches(parts[:3], quiz_data.purpose_seeded_generator(1), 2) != []
    assert len(patch_questions.different_patches(parts[:3], quiz_data.purpose_seeded_generator(1))) == 1
    for name in ("biplane", "rocket", "crab"):  # much sky, much dark, much sand
        rec = vitcore.record(shipped, SAMPLES / f"{name}.jpg")
        parts = shipped.patches.cut(rec.model_input.pixels)
        for seed in range(20):
            question = patch_questions.outlined_patch_question(replace(asked, rec=rec), quiz_data.purpose_seeded_generator(seed))
            places = patches_of(question)
            differences = [colour_difference(parts[one], parts[other]) for one, other in itertools.combinations(places, 2)]
            assert min(differences) >= MIN_COLOUR_DIFFERENCE, (name, seed, places)


def test_a_model_without_these_pictures_gets_fewer_questions_and_is_told_so(make_vit):
    import timm

    network = vitcore.wrap(timm.create_model("test_resnet", num_classes=10).eval(), name="network")
    m = quiz_data.make_quiz_material(network, PHOTO, 1)
    quiz = draw_quiz.draw_quiz(m, 1)
    assert {q.kind for q in quiz.questions} <= {"component", "answer", "photo_for_class"} and len(quiz.questions) < 10
    assert "fewer than 10" in (fewer := quiz_handout.fewer_questions_sentence(quiz))
    assert fewer in quiz_handout.quiz_handout(m, quiz).decode()
    nowhere = make_vit(pos_embed="none")
    quiz = draw_quiz.draw_quiz(quiz_data.make_quiz_material(nowhere, PHOTO, 1), 1)
    assert len(quiz.questions) == 10 and not any(q.page == "positions" for q in quiz.questions)
    assert quiz_handout.fewer_questions_sentence(quiz) == ""


def test_the_handout_tells_no_answer_before_its_last_page(asked):
    quiz = draw_quiz.draw_quiz(asked, 7)
    page = quiz_handout.quiz_handout(asked, quiz).decode()
    assert not re.search(r"""(?:src|srcset)=["']?(?!data:)[^"'>\s]+|@import|<link|<script""", page), "it needs nothing else"
    questions, _, last = page.partition('id="answers"')
    assert questions.count('<section class="question">') == 10 and last.count("<section") == 0
    assert ".answers { margin-top: 3rem; break-before: page; }" in page
    shown = re.split('<section class="question">', questions)[1:]
    for question, html in zip(quiz.questions, shown, strict=True):
        telling = [question.explanation, *(choice.number_text for choice in question.choices if choice.number_text)]
        assert not any(said in html for said in telling)
        rows = re.findall("<li>.*?</li>", html, re.S)
        assert len(rows) == len(question.choices)
        bare = {re.sub(r'(src|alt|width|height)="[^"]*"|<b>.</b>[^<]*', "", row) for row in rows}
        assert len(bare) == 1, "no choice is marked up as another is not"
    words = re.sub("<[^>]+>", " ", last)
    words = re.sub(r"\s{2,}", "  ", words).replace("&#39;", "'")
    assert all(f"{q.correct_letter}  {q.explanation}"[:20] in words for q in quiz.questions)
    assert "--seed 7" in words


def test_the_verb_writes_the_page_and_prints_the_questions(tmp_path, capsys):
    model_file(tmp_path / "mine.safetensors")
    given = ["quiz", str(PHOTO), "--model", str(tmp_path / "mine.safetensors"), "--seed", "2"]
    assert main([*given, "--out", str(tmp_path / "new" / "quiz.html")]) == 0
    page = (tmp_path / "new" / "quiz.html").read_text(encoding="utf-8")
    capsys.readouterr()
    assert main([*given, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert page.count('<section class="question">') == len(said["questions"]) > 5 and said["seed"] == 2
    page = unescape(page).replace("\N{NO-BREAK SPACE}%", " %")
    assert all(one["why"] in page for one in said["questions"] if "“" not in one["why"])
    assert main([*given[:-1], "-1"]) == 2 and "--seed is from 0" in capsys.readouterr().err


def test_with_masking_everything_is_of_masked_attention_and_the_command_says_so(shipped, capsys, tmp_path):
    from vitcore.forward.mask_outliers import mask_outlier_tokens, outliers_in_recording

    m = quiz_data.make_quiz_material(shipped, PHOTO, 3, mask_outliers=True)
    whole = mask_outlier_tokens(vitcore.record(shipped, PHOTO, maps=range(shipped.blocks)))
    assert m.masked and m.photo.outliers == tuple(outliers_in_recording(whole).patches)
    assert m.rec.distance_renormalised_px == pytest.approx(whole.distance_renormalised_px)
    assert m.rec.rollout() == pytest.approx(whole.rollout()) and not m.photo.pooled_attention.flat[list(m.photo.outliers)].any()
    for other in m.other_photos:
        assert other.outliers and not other.pooled_attention.flat[list(other.outliers)].any()
    page = quiz_handout.quiz_handout(m, draw_quiz.draw_quiz(m, 3)).decode()
    assert "--mask-outliers --seed 3" in page
    main(["quiz", str(PHOTO), "--seed", "3", "--mask-outliers", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["mask_outliers"] and [one["question"] for one in told["questions"]] == [
        one.sentence for one in draw_quiz.draw_quiz(m, 3).questions
    ]


def test_distances_of_blocks_that_were_not_kept_are_not_asked_about(shipped):
    lean = quiz_data.mask_outliers_in_recording(vitcore.record(shipped, PHOTO, maps=[4]))
    known = np.isfinite(lean.distance_renormalised_px).all(1)
    assert np.flatnonzero(known).tolist() == [4]
    m = replace(quiz_data.make_quiz_material(shipped, PHOTO, 3), rec=lean)
    assert head_questions.nearest_layer_question(m, np.random.default_rng(0)) is None


def test_an_explanation_names_the_maps_in_which_outlier_tokens_are_brightest(shipped):
    """Exactly those letters whose maps they stand out of, by the rule."""
    from vitcore.analysis.outlier_tokens import outliers_in_map

    m = quiz_data.make_quiz_material(shipped, PHOTO, 0)
    seen = set()
    for seed in range(12):
        question = map_questions.map_of_photo_question(m, np.random.default_rng(seed))
        if question is None:
            continue
        by_title = {one.title: one for one in (m.photo, *m.other_photos)}
        photos = [by_title[choice.number_text] for choice in question.choices]
        bright = [len(outliers_in_map(one.pooled_attention, one.outliers)) > 0 for one in photos]
        letters = list(itertools.compress("ABCD", bright))
        said = re.search(r"In maps? ([A-D, ]+) the brightest patches are outlier tokens", question.explanation)
        assert (said.group(1).split(", ") if said else []) == letters
        seen.add(tuple(letters))
    assert any(seen), "some are named"
