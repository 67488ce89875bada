"""What a model's outputs mean, softmax, sigmoid or features: from the file, else asked; and every reader asks that one place."""

import json
import re

import numpy as np
import pytest
import timm
import torch
import transformers as T
from checkpoints import lively

import vitcore
from tests.conftest import NORMALISE, timm_vit
from vitcore.__main__ import main
from vitcore.analysis.model_similarity import prediction_agreement
from vitcore.forward.compare_models import compare, record_tokens
from vitcore.models import load_model
from vitcore.models.assembly.wrap import wrap_quietly
from vitcore.models.model_cards import ModelError
from vitcore.quiz.prediction_questions import photo_for_class_question, predicted_class_question
from vitcore.quiz.quiz_data import make_quiz_material as material
from vitcore.report.handout import handout

SMALL = {
    "hidden_size": 96, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 192, "image_size": 32,
    "patch_size": 8,
}  # fmt: skip


def saved(folder, **config):
    torch.manual_seed(0)
    lively(T.ViTForImageClassification(T.ViTConfig(**SMALL, **config))).save_pretrained(folder)
    return folder


def stated(folder, **more):
    """With more in its config.json than the library writes by itself."""
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | more))
    return folder


@pytest.fixture(scope="module")
def multi(tmp_path_factory):
    """A model of transformers whose three classes exclude nothing."""
    names = {0: "cat", 1: "sofa", 2: "owl"}
    return saved(tmp_path_factory.mktemp("multi"), id2label=names, problem_type="multi_label_classification")


def theirs(folder, rec):
    """transformers' own pipeline's scores of what our model was shown, by label."""
    module = T.AutoModelForImageClassification.from_pretrained(folder).eval()
    vit = load_model.load(folder)
    mean, std = (torch.tensor(v).view(3, 1, 1) for v in (vit.mean, vit.std))
    x = (torch.from_numpy(rec.model_input.pixels / 255).permute(2, 0, 1).float() - mean) / std
    with torch.inference_mode():
        logits = module(x[None]).logits
    one = T.pipeline("image-classification", model=module, image_processor=T.ViTImageProcessor())
    return {row["label"]: row["score"] for row in one.postprocess({"logits": logits}, top_k=99)}


@pytest.mark.parametrize(("labels", "problem", "output"), [
    (["malignant"], None, "sigmoid"), ("abc", "multi_label_classification", "sigmoid"),
    ("abc", "single_label_classification", "softmax"), ("abc", None, "softmax"),
])  # fmt: skip
def test_probabilities_are_those_of_transformers_pipeline(labels, problem, output, tmp_path, photo_file):
    folder = saved(tmp_path, id2label=dict(enumerate(labels)), problem_type=problem)
    vit = load_model.load(folder)
    rec = vitcore.record(vit, photo_file)
    assert vit.output == rec.output == output and "output" not in {q.key for q in load_model.inspect(folder).questions}
    assert dict(rec.top_classes(9)) == pytest.approx(theirs(folder, rec), abs=1e-5)


@pytest.mark.parametrize("stating", [{"problem_type": "regression"}, {"architectures": ["ViTWithProjection"]}])
def test_what_is_no_class_is_not_called_one(stating, tmp_path, photo_file):
    vit = load_model.load(stated(saved(tmp_path, id2label={0: "age"}), **stating))
    rec = vitcore.record(vit, photo_file)
    assert (vit.output, vit.labels, rec.top_classes(), rec.logits.shape) == ("features", (), [], (1,))
    with pytest.raises(ValueError, match="features"):
        _ = rec.probabilities


def test_a_name_belongs_to_the_class_of_its_own_number(tmp_path):
    folder = stated(saved(tmp_path, num_labels=3), id2label={"2": "owl", "0": "cat", "7": "sofa"})
    with pytest.warns(UserWarning, match="without gaps"):
        assert vitcore.load(folder).labels == ("cat", "class 1", "owl")
    module = T.ViTForImageClassification.from_pretrained(folder)
    assert [module.config.id2label.get(i) for i in range(3)] == ["cat", None, "owl"]
    assert vitcore.wrap(module).labels == ("cat", "class 1", "owl")


def test_the_projection_of_clip_is_no_head(tmp_path, photo_file):
    torch.manual_seed(0)
    module = T.CLIPVisionModelWithProjection(T.CLIPVisionConfig(**SMALL, projection_dim=40))
    lively(module).save_pretrained(tmp_path)
    rec = vitcore.record(load_model.load(tmp_path), photo_file)
    assert rec.logits.shape == (40,) and rec.top_classes() == [] and rec.labels == ()


def test_timms_clip_gives_features_and_its_fine_tuned_ones_classes(tmp_path):
    torch.manual_seed(0)
    module = timm.create_model("vit_tiny_patch16_224.augreg_in21k_ft_in1k", num_classes=5)
    assert vitcore.wrap(module).output == "softmax" and len(vitcore.wrap(module).labels) == 5
    module = timm.create_model("vit_base_patch32_clip_224.openai", depth=1)
    vit = vitcore.wrap(module)
    assert (module.num_classes, vit.output, vit.labels) == (512, "features", ())
    module = timm.create_model("vit_base_patch32_clip_224.openai", depth=1, num_classes=7)
    torch.nn.init.normal_(module.head.bias)
    assert vitcore.wrap(module).output == "softmax"
    for classes, output in ((7, "softmax"), (512, "features")):  # timm writes a file's own number over that of its weights
        module = lively(timm.create_model("vit_base_patch32_clip_224.openai", depth=1, num_classes=classes))
        timm.models.save_for_hf(module, str(tmp_path), model_args={"depth": 1})
        vit = vitcore.load(tmp_path)
        assert (vit.output, len(vit.labels)) == (output, 7 if classes == 7 else 0)


def test_timms_clip_is_told_by_its_tensors_too(tmp_path):
    torch.save(timm.create_model("eva02_base_patch16_clip_224", depth=1, num_classes=512).state_dict(), tmp_path / "bare.pth")
    vit = vitcore.load(tmp_path / "bare.pth")
    assert vit.output == vit.assumed["output"] == "features" and not vit.labels


def test_a_head_beside_a_predictor_compares_views(tmp_path):
    """As MoCo v3 saves both encoders: the head is a projection of its training."""
    state = {f"module.base_encoder.{name}": w for name, w in
             timm.create_model("vit_tiny_patch16_224", depth=1, num_classes=9).state_dict().items()}  # fmt: skip
    torch.save({"state_dict": state | {"module.predictor.0.weight": torch.ones(9, 9)}}, tmp_path / "a.pth")
    vit = vitcore.load(tmp_path / "a.pth")
    assert vit.output == "features" and not vit.labels and "output" not in vit.assumed


@pytest.mark.parametrize(("classes", "likely"), [(1, "sigmoid"), (3, "softmax")])
def test_a_file_that_does_not_say_is_asked(classes, likely, tmp_path, photo_file):
    module = lively(timm.create_model("vit_tiny_patch16_224", depth=1, img_size=32, num_classes=classes))
    torch.save(module.state_dict(), tmp_path / "bare.pth")
    found = load_model.inspect(tmp_path / "bare.pth")
    question = next(q for q in found.questions if q.key == "output")
    assert question.likely == likely and set(question.choices) == {"softmax", "sigmoid", "features"}
    assert load_model.load(tmp_path / "bare.pth").output == likely
    for said in question.choices:
        vit = load_model.load(tmp_path / "bare.pth", answers={"output": said})
        assert vit.output == said and bool(vit.labels) == (said != "features")
    with pytest.raises(load_model.ModelError, match="softmax"):
        load_model.load(tmp_path / "bare.pth", answers={"output": "argmax"})
    found.write_card(found.card({"output": "sigmoid"}))
    assert load_model.load(tmp_path / "bare.pth").output == "sigmoid", "its card says so"
    card = found.card_file
    card.write_text(json.dumps(json.loads(card.read_text()) | {"output": "argmax"}))
    with pytest.raises(load_model.ModelError, match="softmax"):
        load_model.load(tmp_path / "bare.pth")


def test_every_reader_of_an_answer_asks_the_same_place(multi, photo_file, capsys):
    """Handout, quiz, JSON and comparison: none of them puts a sigmoid's logits through a softmax."""
    vit = load_model.load(multi)
    rec = vitcore.record(vit, photo_file, maps=range(vit.blocks))
    wanted = 1 / (1 + np.exp(-rec.logits.astype(np.float64)))
    assert rec.probabilities == pytest.approx(wanted) and wanted.sum() != pytest.approx(1, abs=0.01)
    page = handout(vit, rec).decode()
    assert "sigmoid" in page and "softmax" not in page and f"{100 * wanted.max():.1f}" in re.sub(r"&\w+;", "", page)
    main(["rollout", str(photo_file), "--model", str(multi), "--json"])
    told = json.loads(capsys.readouterr().out)["top5"]
    assert [share for _, share in told] == pytest.approx(sorted(wanted, reverse=True), abs=1e-6)
    m, rng = material(vit, photo_file), np.random.default_rng(0)
    assert m.logit_lens[-1] == pytest.approx(wanted, abs=1e-5)
    for ask in (predicted_class_question, photo_for_class_question):
        if question := ask(m, rng):
            assert all(0 <= choice.value <= 1 for choice in question.choices)


def test_answers_of_two_kinds_are_not_compared(multi, tmp_path, photo_file):
    one, same = (load_model.load(multi) for _ in range(2))
    other = load_model.load(saved(tmp_path, id2label={0: "cat", 1: "sofa", 2: "owl"}))
    a, b, c = (record_tokens(vit, photo_file) for vit in (one, same, other))
    agreed = compare(a, b).answers
    assert agreed.same_top1 and agreed.divergence_bits == pytest.approx(0, abs=1e-12)
    assert compare(a, c).answers is None


def test_divergence_of_sigmoids_is_a_mean_over_classes():
    zero, sure = np.zeros(2), np.array([50.0, 0.0])
    found = prediction_agreement(zero, sure, (("a", "b"),) * 2, ("sigmoid", "sigmoid"))
    by_hand = 0.5 * (np.log2(1 / 0.75) + 0.5 * np.log2(0.5 / 0.75) + 0.5 * np.log2(0.5 / 0.25))  # of class a; b is the same
    assert found.divergence_bits == pytest.approx(by_hand / 2, abs=1e-6)


def test_a_module_in_memory_is_told_what_its_logits_mean(noise):
    """Several labels of one photo are each by themselves, and one class alone is not 1 of 1."""
    module = timm_vit(num_classes=3)
    softmax, sigmoid = (vitcore.wrap(module, labels=list("abc"), **NORMALISE, output=one) for one in (None, "sigmoid"))
    assert (softmax.output, sigmoid.output) == ("softmax", "sigmoid")
    logits = vitcore.record(softmax, noise(1)).logits
    np.testing.assert_allclose(vitcore.record(sigmoid, noise(1)).probabilities, 1 / (1 + np.exp(-logits)), atol=1e-6)
    one = timm_vit(num_classes=1)
    with pytest.warns(UserWarning, match="output=sigmoid"):
        assert vitcore.wrap(one, labels=["malignant"], **NORMALISE).output == "sigmoid"
    assert wrap_quietly(one, name="film", labels=["malignant"]).output == "sigmoid", "of films, too"
    assert vitcore.wrap(one, labels=["malignant"], **NORMALISE, output="sigmoid").assumed.keys() == {"crop", "interpolation"}
    with pytest.raises(ValueError, match="output is one of softmax, sigmoid, not 'logits'"):
        vitcore.wrap(module, output="logits")
    with pytest.raises(ModelError, match="gives features, not classes"):
        vitcore.wrap(timm_vit(num_classes=0), output="sigmoid")
