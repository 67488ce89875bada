"""The story: nine steps in three languages, short, for every kind of model, with live numbers that are right."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from visitor import App

import vitcore
from app import texts
from app.state.photos import sample_photos
from app.views.story import story_stepper_and_steps, token_steps
from app.views.story.story_step import StoryStep
from vitcore.forward.block_activations import project_patch, trace_token
from vitcore.forward.logit_lens import logit_lens
from vitcore.probabilities import probabilities
from vitcore.quiz.prediction_questions import LOGIT_LENS_STORY_STEP
from vitcore.translation import decimal

KINDS = ["registers", "no-class-token", "mean-of-patches", "no-positions", "no-head", "wide", "distilled", "hybrid"]
MOST_WORDS, MOST_CHARACTERS = 60, 130
VARIANTS = {
    "pixels": [""], "patches": ["", " hybrid"], "flattened": ["", " hybrid"], "projection": ["", " hybrid", " other"],
    "position": ["", " none", " interpolated", " taught"], "sequence": ["", " bare", " many", " registers"],
    "block": ["", " other"], "depth": ["", " headless"], "answer": ["", " distilled", " pooled", " headless"],
}  # fmt: skip
PARTS = ("question", "options", "answer", "notes")


def found(text: texts.Prose, step: str, variant: str, part: str = "") -> str | None:
    """The key a step looks up for a kind of model."""
    row = next(row for row in story_stepper_and_steps.STORY_STEPS if row.key == step)

    class Seen:
        pass

    seen = Seen()
    seen.texts = text
    return StoryStep(row.key, row.equation, row.draw_picture, row.question_facts, lambda _: variant).text_key(seen, part)


def shown(text: texts.Prose, step: str, variant: str) -> str:
    """All prose of a step but question, answer and notes, with numbers as long as they get."""
    keys = [found(text, step, variant, part) for part in ("", "how", "limits")]
    words = " ".join(text[key] for key in keys if key).replace("{readout}", "class and distillation tokens")
    return re.sub(r"\{[^}]*\}", "256", words)


@pytest.mark.parametrize("lang", texts.LANGUAGES)
def test_a_step_is_short_and_complete(lang):
    text = texts.prose("story", lang)
    assert text.lang == lang and all(text[f"{step} name"] for step in VARIANTS)
    for step, variant in ((one, variant) for one in VARIANTS for variant in VARIANTS[one]):
        words = shown(text, step, variant)
        if lang == "en":
            assert 5 < len(words.split()) <= MOST_WORDS, f"{step}{variant}: {len(words.split())} words"
        else:
            size = len(re.findall(r"[\u3400-\u9fff]|[A-Za-z0-9]+", words))
            assert 10 < size <= MOST_CHARACTERS, f"{step}{variant}: {size} characters"
        assert all(found(text, step, variant, part) for part in PARTS), f"{step}{variant} lacks a part"
        options = text[found(text, step, variant, "options")].split(" | ")
        assert 2 <= len(options) <= 3 and len(set(options)) == len(options)
        sentences = re.findall(r"[.?!。？！](?:\s|$|[^\s])", text[found(text, step, variant, "notes")])
        assert 1 <= len(sentences) <= 5


def test_nine_steps_all_tested_and_links_lead_to_the_right_ones():
    assert [row.key for row in story_stepper_and_steps.STORY_STEPS] == list(VARIANTS) and len(
        story_stepper_and_steps.STORY_STEPS
    ) == 9
    assert story_stepper_and_steps.STORY_STEPS[story_stepper_and_steps.BLOCK_STEP - 1].key == "block"
    assert story_stepper_and_steps.STORY_STEPS[LOGIT_LENS_STORY_STEP - 1].key == "depth", "the quiz leads there"


@pytest.mark.parametrize("lang", ["zh-CN", "zh-TW"])
def test_translations_name_the_same_numbers(lang):
    english, other = texts.prose("story", "en"), texts.prose("story", lang)
    assert english.keys() == other.keys()
    optional = {"wide", "high"}
    for key in english:
        mine, theirs = (set(re.findall(r"\{(\w+)(?![^{}]*\|)[^{}]*\}", t[key])) for t in (english, other))  # forms are English
        assert mine - optional == theirs - optional, key
        assert len(english[key].split(" | ")) == len(other[key].split(" | ")), key


@pytest.mark.parametrize("lang", ["en", "zh-TW"])
def test_every_step_of_the_model_that_ships(lang):
    app = App("story", lang=lang)
    for number, row in enumerate(story_stepper_and_steps.STORY_STEPS, 1):
        app.set(step=number).fine()
        text = texts.prose("story", lang)
        assert app.at.header[0].value == f"{number} · {text[f'{row.key} name']}"
        assert app.at.get("latex"), "no equation"
        assert app.component("steps")["step"] == number
        assert len(app.pictures()) >= 2, "the stepper and a picture"
        (answer,) = [e for e in app.at.expander if e.label == texts.prose("common", lang)["show answer"]]
        assert answer.markdown[0].value
        assert "{" not in "".join(re.sub(r"\$.*?\$", "", said) for said in app.sentences("markdown")), "a number is missing"


@pytest.mark.parametrize("kind", KINDS)
def test_every_step_of_every_kind_of_model(kind, kinds, offer):
    offer({kind: kinds[kind]})
    app = App("story", model=kind)
    vit = kinds[kind]
    for number in range(1, 10):
        app.set(step=number, patch=vit.grid.patches - 1).fine()
        assert not app.at.warning and not app.at.error
        assert len(app.pictures()) >= 2 or app.at.info
    app.set(step=story_stepper_and_steps.BLOCK_STEP).set(layer=vit.blocks - 1).fine()


def test_how_its_positions_came_about_and_which_side_of_e_is_which():
    """Of the model that ships: both sides of E are 192, its positions are the teacher's, its class token is one."""
    app = App("story", step="4").fine()
    assert "E has 192 rows, one for each number of the patch (x_p), and 192 columns" in app.text()
    coincidence = "8 · 8 · 3 = 192. The model's designers chose D = 192."
    assert coincidence in app.text() and coincidence in App("story", step="3").fine().text("markdown", "info", "caption")
    asked = next(one for one in app.set(step=5).fine().sentences("markdown") if "Predict first" in one)
    assert asked.endswith("vector is most similar to that of patch 136?"), "and nothing of rows and columns, which is the answer"
    answer = app.answer
    assert answer.endswith(texts.prose("story", "en")["origin taught"])
    assert "[class token] is a learned vector, the same for every photo." in app.set(step=6).fine().text(
        "markdown", "info", "caption"
    )


def test_what_is_cut_off_is_said_before_anything_is_asked():
    told = "The model sees the middle 300 × 300, scaled to 128 × 128. The rest, 33 % of the photo, is cut off."
    for page in ("story", "patches"):
        assert told in App(page, photo="cat").fine().text()


@pytest.mark.parametrize(("interpolated", "teacher", "data", "kind"), [
    (False, "", "photos", ""), (True, "", "photos", " interpolated"), (False, "T", "", " taught"),
    (True, "T", "", " interpolated"), (False, "", "", " unknown"),
])  # fmt: skip
def test_a_model_s_card_says_how_its_positions_came_about(monkeypatch, interpolated, teacher, data, kind):
    card = SimpleNamespace(interpolated=interpolated, teacher=teacher, data=data)
    story = SimpleNamespace(vit=SimpleNamespace(name="a", card=card))
    monkeypatch.setattr(token_steps.model_weights, "position_similarity", lambda name: "some")
    assert token_steps._position_kind(story) == kind and f"origin{kind or ' learned'}" in texts.prose("story", "en")
    monkeypatch.setattr(token_steps.model_weights, "position_similarity", lambda name: None)
    assert token_steps._position_kind(story) == " none"


def test_what_is_different_is_said(kinds, offer):
    offer(kinds)
    hybrid = App("story", model="hybrid")
    assert "a convolutional network reads the photo first" in hybrid.set(step=2).text()
    assert "A hybrid flattens no pixels." in hybrid.set(step=3).text() and not hybrid.charts()
    assert "one weight for each feature" in hybrid.set(step=4).text() and not hybrid.charts()
    assert "adds no learned position" in App("story", model="no-positions", step="5").text()
    bare = App("story", model="no-class-token")
    assert "no class token" in bare.set(step=6).text() and "attention pool" in bare.text("markdown", "info", "caption")
    assert "attention pool" in bare.set(step=9).text()
    distilled = App("story", model="distilled", step="6")
    assert (
        "[D] a distillation token" in distilled.text("markdown", "info", "caption")
        and "are learned vectors, the same for every photo." in distilled.text()
    )
    headless = App("story", model="no-head")
    assert "no prediction to follow" in headless.set(step=8).text() and not headless.charts()
    assert "predicts no class" in headless.set(step=9).text() and not headless.charts()


def test_blocks_of_another_build_are_not_told_wrongly(make_module, offer):
    from timm.models.vision_transformer import ResPostBlock

    offer(other=vitcore.wrap(make_module(block_fn=ResPostBlock), name="other"))
    app = App("story", model="other", step="7").fine()
    assert "layers differ from Eq. 2 and 3" in app.text()
    assert not [c for c in app.at.get("bidi_component") if str(c.proto.id).endswith("story_block")]


# Live numbers


@pytest.fixture(scope="module")
def panda(shipped):
    return vitcore.record(shipped, vitcore.open_photo("assets/samples/red-panda.jpg"))


def test_numbers_inside_a_block_are_the_models(shipped, panda):
    app = App("story", step="7", patch="40").set(layer=3, one_head=1).fine()
    x = trace_token(shipped, panda.model_input.pixels, 3, 41)
    rows = app.component("story_block")["rows"]
    vectors = [x.x_in, x.normed, x.q[1], x.k[1], x.v[1], None, x.heads[1], x.attended, x.after_attention, x.normed2, x.hidden,
               x.mlp, x.x_out]  # fmt: skip
    for row, values in zip(rows, vectors, strict=True):
        if values is not None:
            np.testing.assert_allclose(row["values"], values[:24], rtol=2e-3, atol=1e-3)
            assert row["size"] == f"norm {np.linalg.norm(values.astype(float)):.3g}"
    most = np.argsort(-x.weights[1])[:5]
    assert [look["weight"] for look in rows[5]["looks"]] == [f"{100 * x.weights[1, t]:.1f} %" for t in most]
    values = app.component("story_attended")["values"]
    assert values[40] is None, "what the patch keeps for itself is asked first"
    known = app.set(guess_block=1).fine().component("story_attended")["values"]
    np.testing.assert_allclose(known, 100 * x.weights[1, 1:], rtol=1e-4)
    assert [*values[:40], *values[41:]] == [*known[:40], *known[41:]]


@pytest.mark.parametrize(("layer", "head", "patch"), [(3, 1, 40), (11, 0, 40), (2, 0, 136)])
def test_the_answer_inside_a_block_names_the_largest_weight(layer, head, patch, shipped, panda):
    answer = App("story", step="7", patch=str(patch)).set(layer=layer, one_head=head).fine().answer
    weights = trace_token(shipped, panda.model_input.pixels, layer, 1 + patch).weights[head]
    own, most, even = weights[1 + patch], int(weights.argmax()), 1 / len(weights)
    if patch == 136:
        assert own > 0.5 and f"{own * len(weights):.0f}× an even share" in answer, "a plain number"
        return
    assert own < even and (own >= 0.0005) == (most == 0) == (layer == 3), "both are seen"
    shown = f"{100 * own:.1f} %" if layer == 3 else "< 0.1 %"
    assert answer.startswith(f"The chosen patch gives itself **{shown}**, no more than an even share of {100 * even:.1f} %.")
    assert f"Its largest weight goes to {f'patch {most - 1}' if most else 'the class token'}:" in answer
    assert f"{100 * weights[most]:.1f} %." in answer


def test_the_projection_shows_the_embedding(shipped, panda):
    (fig,) = App("story", step="4", patch="40").fine().charts()
    written = [re.sub("<.?b>", "", a["text"]) for a in fig["layout"]["annotations"] if a["text"].startswith("<b>")]
    expected = project_patch(shipped, panda.model_input.pixels, 40).embedding[:6]
    assert written == [f"{v:+.2f}".replace("-", "−") for v in expected]


def test_the_lens_shows_what_the_head_says(shipped, panda):
    app = App("story", step="8").fine()
    share = probabilities(logit_lens(shipped, panda.model_input))
    assert {tile["words"] for tile in app.component("story_depth")["tiles"]} == {""}, "it would give the answer away"
    assert app.chart("Probabilities of the leading"), "in the answer"
    tiles = app.set(guess_depth=1).fine().component("story_depth")["tiles"]
    assert app.chart("Probabilities of the leading")
    assert [t["words"] for t in tiles] == [f"{shipped.labels[row.argmax()]} {100 * row.max():.0f}\u00a0%" for row in share[1:]]
    answer = app.answer
    since = int(re.search(r"\*\*(\d+)\*\*", answer)[1])
    best = share.argmax(1)
    assert (best[since:] == best[-1]).all() and (since == 0 or best[since - 1] != best[-1])


def test_logits_and_shares_of_the_answer_and_how_many_times_likelier_follows_from_the_gap_that_is_shown(shipped, panda):
    app = App("story", step="9").fine()
    assert texts.prose("story", "en")["to explorer"].format(patch=136) in [link.proto.label for link in app.at.get("page_link")]
    bars = app.chart("Logits")["layout"]["annotations"]
    name, share = panda.top_classes(1)[0]
    assert bars[0]["text"] == f"{name}: logit {panda.logits.max():.2f} → {100 * share:.1f} %"
    gap, times = re.search(r"e\^\{(.*?)\}.*\*\*([\d,.]+) times", app.answer).groups()
    assert f"{np.exp(float(gap)):.2e}" == f"{float(times.replace(',', '')):.2e}"
    second, first = np.sort(panda.logits)[-2:]
    assert gap == f"{first - second:.2f}"


def test_a_guess_is_told_right_from_wrong():
    def verdict(app: App) -> str:
        fold = next(e for e in app.at.expander if e.label == "Show the answer")
        assert fold.proto.expanded == (app.values().get("guess_patches") is not None), "a guess opens it"
        return fold.markdown[0].value

    app = App("story", step="2").fine()
    assert verdict(app).startswith("There will be four times")
    assert verdict(app.set(guess_patches=1).fine()).startswith("**You were right.** There will be four times")
    assert verdict(app.set(guess_patches=0).fine()).startswith(
        "**You guessed “twice as many”. The right answer is “four times as many”.** There will be four times"
    )


# Moving


def test_the_patch_is_carried_from_step_to_step_and_page_to_page_and_a_nonsense_step_is_the_first():
    app = App("story", patch="17")
    for number in (3, 5, 7):
        assert app.set(step=number).fine().values()["patch"] == 17
    assert app.go("patches").fine().values()["patch"] == 17
    for nonsense in ("0", "10", "-3", "x"):
        assert App("story", step=nonsense).fine().values()["step"] == 1


def test_notes_are_for_the_presenter_only():
    app = App("story", step="2")
    label = texts.prose("story", "en")["notes title"]
    assert label not in [e.label for e in app.at.expander]
    app.at.session_state["lecture"] = True
    (notes,) = [e for e in app.run().fine().at.expander if e.label == label]
    assert not notes.proto.expanded and "16×16 words" in notes.markdown[0].value
    assert app.component("steps")["clicker"] is True


def test_the_map_of_positions_comes_with_the_answer():
    app = App("story", step="5", patch="40").fine()
    (answer,) = [e for e in app.at.expander if e.label == "Show the answer"]
    assert len(answer.get("plotly_chart")) == len(app.charts()) == 1


def test_what_reaches_the_model_of_a_patch_is_said_as_it_is_computed(shipped):
    rec = vitcore.record(shipped, sample_photos.SAMPLES / "cat.jpg")
    given = project_patch(shipped, rec.model_input.pixels, 7).x_p
    app = App("story", photo="cat", patch="7", step="3").fine()
    value = rec.model_input.pixels[0, 7 * rec.grid.patch_px, 0]
    assert f"the first, {value}, becomes {decimal(given[0, 0, 0], 2)}." in app.text()
