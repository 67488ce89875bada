"""transformers' own vision classes, a row each, saved by themselves: their answers and attention, or the sentence."""

import json
import socket

import numpy as np
import pytest
import torch

import vitcore
from tests.checkpoints import load_quietly
from tests.conftest import NORMALISE
from vitcore.architectures.model_summary import table_1_row
from vitcore.faithfulness.weight_randomisation import _parts_from_the_head
from vitcore.forward.block_activations import patch_embeddings, prefix_token_names, project_patch, trace_token
from vitcore.forward.recording import to_model_input
from vitcore.interventions.activations import cache
from vitcore.models.embeddings import (
    can_permute_positions,
    can_replace_positions_by_mean,
    position_embeddings,
    relative_positions,
    with_permuted_positions,
)
from vitcore.models.load_model import ModelError
from vitcore.models.random_weights import with_random_weights
from vitcore.models.transformers_models.vision_part import read_output_tensor, vision_part_candidates

T = pytest.importorskip("transformers", reason="the package transformers is not installed (requirements-dev.txt)")

S = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "image_size": 32,
     "patch_size": 8}  # fmt: skip
TEXT = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "vocab_size": 50,
        "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}  # fmt: skip
SAM = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "mlp_dim": 48, "image_size": 64, "patch_size": 8,
       "window_size": 2, "global_attn_indexes": [1], "output_channels": 16}  # fmt: skip
SWIN = {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4}
TALL = {**S, "image_size": [48, 32]}
RELATIVE = {"use_relative_position_bias": True}
DECODER = {**TEXT, "is_decoder": True, "add_cross_attention": True}
LLAMA = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 50}


@pytest.fixture(autouse=True)
def one_thread():
    """Layers of a few numbers take longer to share out than to compute."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def of(kind: str, config: str, settings: dict, **more):
    return lambda: getattr(T, kind)(getattr(T, config)(**settings, **more))


def encoder_decoder(encoder):
    return lambda: T.VisionEncoderDecoderModel(
        T.VisionEncoderDecoderConfig.from_encoder_decoder_configs(encoder, T.BertConfig(**DECODER))
    )


def llava(vision):
    return lambda: T.LlavaForConditionalGeneration(T.LlavaConfig(vision_config=vision, text_config=T.LlamaConfig(**LLAMA)))


CLASS_TOKEN, MEAN, POOL = "class token", "mean of patches", "attention pool"
GLOBAL = {  # a class: how it is made, where it reads its answer, the tokens before its patches
    "ViT": (of("ViTForImageClassification", "ViTConfig", S), CLASS_TOKEN, 1),
    "DeiT": (of("DeiTForImageClassification", "DeiTConfig", S), CLASS_TOKEN, 2),
    "DINOv2": (of("Dinov2ForImageClassification", "Dinov2Config", S), "class token and mean of patches", 1),
    "DINOv2, registers": (of("Dinov2WithRegistersModel", "Dinov2WithRegistersConfig", S), CLASS_TOKEN, 5),
    "DINOv3": (of("DINOv3ViTModel", "DINOv3ViTConfig", S, num_register_tokens=2), CLASS_TOKEN, 3),
    "CLIP": (of("CLIPVisionModel", "CLIPVisionConfig", S), CLASS_TOKEN, 1),
    "SigLIP": (of("SiglipVisionModel", "SiglipVisionConfig", S), POOL, 0),
    "ViT-MSN": (of("ViTMSNForImageClassification", "ViTMSNConfig", S), CLASS_TOKEN, 1),
    "BEiT": (of("BeitForImageClassification", "BeitConfig", S, **RELATIVE), MEAN, 1),
    "BEiT, shared bias, class token": (
        of("BeitModel", "BeitConfig", S, use_shared_relative_position_bias=True, use_mean_pooling=False), CLASS_TOKEN, 1),
    "BEiT, absolute": (of("BeitForImageClassification", "BeitConfig", S, use_absolute_position_embeddings=True), MEAN, 1),
    "data2vec": (of("Data2VecVisionForImageClassification", "Data2VecVisionConfig", S, **RELATIVE), MEAN, 1),
    "AIMv2": (of("Aimv2VisionModel", "Aimv2VisionConfig", S), POOL, 0),
    "YOLOS": (of("YolosForObjectDetection", "YolosConfig", TALL, num_detection_tokens=5), CLASS_TOKEN, 6),
    "YOLOS, its ViT": (of("YolosModel", "YolosConfig", TALL, num_detection_tokens=3, use_mid_position_embeddings=False),
                       CLASS_TOKEN, 4),
    "BLIP's tower": (of("BlipVisionModel", "BlipVisionConfig", S), CLASS_TOKEN, 1),
    "BLIP, captions": (of("BlipForConditionalGeneration", "BlipConfig",
                          {"vision_config": S, "text_config": {**TEXT, "encoder_hidden_size": 32}}), CLASS_TOKEN, 1),
    "BLIP, both towers": (of("BlipModel", "BlipConfig",
                             {"vision_config": S, "text_config": {**TEXT, "encoder_hidden_size": 32}}), CLASS_TOKEN, 1),
    "OWL-ViT's tower": (of("OwlViTVisionModel", "OwlViTVisionConfig", S), CLASS_TOKEN, 1),
    "OWL-ViT": (of("OwlViTForObjectDetection", "OwlViTConfig", {"vision_config": S, "text_config": TEXT}), CLASS_TOKEN, 1),
    "CLIPSeg": (of("CLIPSegModel", "CLIPSegConfig", {"vision_config": S, "text_config": TEXT}), CLASS_TOKEN, 1),
    "MetaCLIP 2, classes": (of("MetaClip2ForImageClassification", "MetaClip2Config", {"vision_config": S, "text_config": TEXT}),
                            MEAN, 1),
    "MLCD": (of("MLCDVisionModel", "MLCDVisionConfig", S), CLASS_TOKEN, 1),
    "DPT": (of("DPTModel", "DPTConfig", S), CLASS_TOKEN, 1),
    "a BEiT before a decoder": (encoder_decoder(T.BeitConfig(**S, **RELATIVE)), MEAN, 1),
    "LLaVA, MLCD": (llava(T.MLCDVisionConfig(**S)), CLASS_TOKEN, 1),
    "LLaVA, CLIP": (llava(T.CLIPVisionConfig(**S)), CLASS_TOKEN, 1),
}  # fmt: skip
IN_PART = {  # attention that no picture is laid on, and what is said
    "SAM": (of("SamVisionModel", "SamVisionConfig", SAM), "does not attend over all patches of one grid"),
    "SAM, whole": (of("SamModel", "SamConfig", {
        "vision_config": SAM, "prompt_encoder_config": {"hidden_size": 16, "image_size": 64, "patch_size": 8},
        "mask_decoder_config": {"hidden_size": 16, "num_attention_heads": 2, "mlp_dim": 16}}), "does not attend over all patches"),
    "Swin": (of("SwinForImageClassification", "SwinConfig", SWIN), "does not attend over all patches of one grid"),
    "ViTDet": (of("VitDetModel", "VitDetConfig", {k: v for k, v in S.items() if k != "intermediate_size"},
                  pretrain_image_size=32), "in a way that can't be watched"),
    "ResNet": (of("ResNetForImageClassification", "ResNetConfig",
                  {"embedding_size": 8, "hidden_sizes": [8, 8], "depths": [1, 1]}), "has no attention"),
    "several class tokens": (of("PixioModel", "PixioConfig", S), "neither from a class token"),
}  # fmt: skip
REFUSED = {  # classes that are not opened, and what is said
    "SigLIP 2, patches of any number": (of("Siglip2VisionModel", "Siglip2VisionConfig", {
        k: v for k, v in S.items() if k != "image_size"}, num_patches=16), "gives no vector of numbers for a picture alone"),
    "text": (of("BertModel", "BertConfig", TEXT), "gives no vector of numbers for a picture alone"),
    "videos": (of("VideoMAEModel", "VideoMAEConfig", S, num_frames=4), "it gives no output for a single picture"),
}  # fmt: skip


def saved(make, folder, size=None):
    """A model with weights far from those it begins with, in evaluation mode, saved by itself."""
    torch.manual_seed(0)
    model = make().eval()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.1 * torch.randn_like(p))
    model.save_pretrained(folder)
    model = type(model).from_pretrained(folder, attn_implementation="eager").eval()
    if size:
        high, wide = size
        processor = T.ViTImageProcessor(size={"height": high, "width": wide}, image_mean=[0.4, 0.5, 0.6], image_std=[0.2, 0.3, 0.4])
        processor.save_pretrained(folder)
    return model


def own_answer(model, x):
    """What the model that was saved answers itself, with its attention (B, H, T, T) where it gives it."""
    for part, dual in vision_part_candidates(model):
        with torch.no_grad():
            out = part.get_image_features(pixel_values=x, output_attentions=True) if dual else part(pixel_values=x)
            maps = None if dual else getattr(part(pixel_values=x, output_attentions=True), "attentions", None)
        given = read_output_tensor(out)[1]
        if given.ndim == 4:
            return given.mean((2, 3)), maps
        class_token = given.ndim == 3
        return (given[:, 0] if class_token else given), maps
    raise AssertionError("no part of it sees a picture")


@pytest.mark.parametrize("kind", GLOBAL)
def test_answers_and_attention_are_the_classes_own(kind, tmp_path, noise):
    make, pooling, prefix = GLOBAL[kind]
    size = (48, 32) if "YOLOS" in kind else (32, 32)
    model = saved(make, tmp_path, size)
    vit = load_quietly(tmp_path)
    assert vit.is_global and (vit.pooling, vit.grid.prefix, vit.grid.image_px) == (pooling, prefix, size)
    rec = vitcore.record(vit, noise(), maps="all")
    x = to_model_input(vit, rec.model_input.pixels)
    expected, maps = own_answer(model, x)
    np.testing.assert_allclose(rec.logits, expected[0].numpy(), atol=1e-4)
    if maps:
        ours = np.stack([m.numpy()[0] for m in maps])
        patches = vit.grid.patches
        assert (ours.shape[1], ours.shape[-1]) == (vit.heads, vit.grid.tokens)
        before = 1 if "YOLOS" in kind else prefix  # its detection tokens are the last
        order = [*range(before), *range(before + patches, vit.grid.tokens), *range(before, before + patches)]
        ours = ours[:, :, order][..., order]
        np.testing.assert_allclose(rec.fused["mean"], ours.mean(1), atol=1e-5)
        np.testing.assert_allclose(rec.attentions, ours, atol=1e-3)  # of half precision


@pytest.mark.parametrize("kind", IN_PART)
def test_what_is_not_defined_is_refused_in_a_sentence(kind, tmp_path, noise):
    make, said = IN_PART[kind]
    size = (64, 64) if "SAM" in kind or kind == "ResNet" else (32, 32)
    model = saved(make, tmp_path, size)
    vit = load_quietly(tmp_path)
    rec = vitcore.record(vit, noise())
    np.testing.assert_allclose(rec.logits, own_answer(model, to_model_input(vit, rec.model_input.pixels))[0][0], atol=1e-4)
    assert not vit.is_global and said in vit.why_undefined("rollout")
    with pytest.raises(ModelError):
        rec.rollout()


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_not_opened_says_so(kind, tmp_path):
    make, said = REFUSED[kind]
    saved(make, tmp_path)
    with pytest.raises(ModelError, match=said):
        load_quietly(tmp_path)


@pytest.mark.parametrize("kind", ["BEiT", "YOLOS", "AIMv2", "Swin", "BLIP, both towers"])
def test_modules_in_memory_are_read_as_files_are(kind, tmp_path, noise):
    make = (GLOBAL.get(kind) or IN_PART.get(kind))[0]
    model = saved(make, tmp_path, (48, 32) if kind == "YOLOS" else None)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    one, other = load_quietly(tmp_path), vitcore.wrap(model.train(), **NORMALISE)
    assert other.is_global == one.is_global and other.pooling == one.pooling and model.training
    x = to_model_input(other, vitcore.record(other, noise()).model_input.pixels)
    with torch.no_grad():
        assert torch.allclose(one.module(x), other.module(x), atol=1e-5)
    assert all(torch.equal(p, before[name]) for name, p in model.named_parameters())


def test_what_other_rooms_do_with_such_a_model(tmp_path, noise):
    """Live numbers, hooks on blocks, the untrained floor, the order of parts, a card: with tokens in another order."""
    saved(GLOBAL["YOLOS"][0], tmp_path, (48, 32))
    vit = load_quietly(tmp_path)
    rec = vitcore.record(vit, noise())
    states = cache(vit, noise(), ["resid_pre", "resid_post"])
    np.testing.assert_allclose(rec.norms[1], states["resid_post", 1][0].norm(dim=-1).numpy(), atol=1e-4)
    assert prefix_token_names(vit) == ("class", *(f"detection {i}" for i in range(5)))
    pixels = rec.model_input.pixels
    assert patch_embeddings(vit, pixels).shape == (24, 32) and project_patch(vit, pixels, 5) is not None
    with pytest.raises(ModelError, match="as transformers wrote them"):
        trace_token(vit, pixels, 0, 0)
    drawn = dict(with_random_weights(vit).module.named_parameters())
    kept = [name for name, p in vit.module.named_parameters() if torch.equal(p, drawn[name])]
    assert kept == [] and vit.module.model.training is False
    order = list(_parts_from_the_head(vit.module))
    assert order == ["head", "blocks.1", "blocks.0", "embedding"]
    assert table_1_row(vit.module, (48, 32)).tokens == 30
    inspection = vitcore.inspect(tmp_path)
    inspection.write_card(inspection.card())
    again = vitcore.load(tmp_path / "model.safetensors")
    np.testing.assert_allclose(vitcore.record(again, noise()).logits, rec.logits, atol=1e-5)
    with pytest.raises(ModelError, match="takes only pictures of 48×32 px"):
        vitcore.load(tmp_path / "model.safetensors", image_px=64)


@pytest.mark.parametrize(("kind", "where"), [
    ("YOLOS", "vit.embeddings.position_embeddings"), ("BLIP's tower", "embeddings.position_embedding"),
    ("OWL-ViT's tower", "vision_model.embeddings.position_embedding.weight"),
])  # fmt: skip
def test_positions_are_the_tables_own(kind, where, tmp_path):
    model = saved(GLOBAL[kind][0], tmp_path)
    vit = load_quietly(tmp_path)
    table = model.get_parameter(where).detach().reshape(-1, 32)
    assert np.array_equal(position_embeddings(vit), table[1 : 1 + vit.grid.patches].numpy())
    assert not can_permute_positions(vit) and not can_replace_positions_by_mean(vit)
    with pytest.raises(ModelError, match="its positions can't be changed"):
        with_permuted_positions(vit, np.arange(vit.grid.patches))


def test_bias_over_offsets_is_the_attentions_own(beit, noise):
    vit = load_quietly(beit)
    bias = relative_positions(vit, 1)
    tables = [p for name, p in vit.module.named_parameters() if name.endswith("relative_position_bias_table")]
    assert bias.kind == "bias" and bias.values.shape == (4, 16) and position_embeddings(vit) is None
    middle = bias.values[:, vit.grid.middle]  # no offset: the middle of the table over (2·4 − 1)² offsets
    assert np.allclose(middle, tables[1][24].detach().numpy())


def test_the_tower_inside_ones_own_class_is_not_taken_for_it():
    class BeitForAge(T.BeitPreTrainedModel):
        def __init__(self, config):
            super().__init__(config)
            self.beit, self.age = T.BeitModel(config), torch.nn.Linear(config.hidden_size, 1)

        def forward(self, pixel_values):
            return self.age(self.beit(pixel_values).pooler_output)

    with pytest.raises(ModelError, match="its class BeitForAge is not built as a plain Vision Transformer"):
        vitcore.wrap(BeitForAge(T.BeitConfig(**S)).eval(), name="mine", **NORMALISE)


def config_of(folder, **changes):
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


NEVER = {  # what a config.json may say, and the sentence
    "a class of its own": ({"architectures": ["MyBeit"], "auto_map": {"AutoModel": "m.B"}}, "Code of a file's own is never run"),
    "a type nobody knows": ({"model_type": "mybeit", "auto_map": {"AutoConfig": "mine.C"}}, "Code of a file's own is never run"),
    "a backbone of the hub": ({"backbone": "facebook/dinov2-base"}, "a file's models are not fetched"),
    "a backbone of timm": ({"use_timm_backbone": True}, "a file's models are not fetched"),
    "quantised": ({"quantization_config": {"load_in_8bit": True}}, "quantised"),
    "a million layers": ({"num_hidden_layers": 10**6}, "num_hidden_layers is 1000000, which is impossible"),
    "a sea of patches": ({"image_size": 2**20}, "image_size is 1048576, which is impossible"),
    "a section inside": ({"text_config": {"num_hidden_layers": 10**8}}, "num_hidden_layers is 100000000, which is impossible"),
    "other sizes": ({"hidden_size": 64}, "tensors do not fit"),
    "more layers": ({"num_hidden_layers": 4}, "tensors do not fit"),
    "a word for a number": ({"hidden_size": "wide"}, "config.json does not say what such a file says"),
}  # fmt: skip


@pytest.fixture(scope="module")
def beit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("beit")
    saved(GLOBAL["BEiT"][0], folder, (32, 32))
    return folder


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*given, **named):
        raise AssertionError("a file asked for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def copied(beit, tmp_path):
    for file in beit.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


@pytest.mark.parametrize("kind", NEVER)
def test_what_is_never_done_for_a_file(kind, copied, no_network):
    changes, said = NEVER[kind]
    config_of(copied, **changes)
    with pytest.raises(ModelError, match=said) as caught:
        load_quietly(copied)
    assert "\n" not in str(caught.value)


def test_how_a_file_wants_to_be_run_is_left_out(copied, no_network):
    expected = load_quietly(copied)
    config_of(copied, _attn_implementation="kernels-community/flash-attn", attn_implementation="paged|sdpa", _name_or_path="a/b",
              auto_map={"AutoModel": "mine.Own"}, torch_dtype="float16")  # fmt: skip
    x = torch.zeros(1, 3, 32, 32)
    assert torch.equal(load_quietly(copied).module(x), expected.module(x))


def test_pickles_are_read_by_the_reader_that_runs_nothing(copied):
    from safetensors.torch import load_file

    expected = load_quietly(copied).module(torch.ones(1, 3, 32, 32))
    torch.save(load_file(copied / "model.safetensors"), copied / "pytorch_model.bin")
    (copied / "model.safetensors").unlink()
    assert torch.equal(load_quietly(copied).module(torch.ones(1, 3, 32, 32)), expected)


def test_without_transformers_it_is_said_what_to_install(beit, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ModelError, match=r"describes a beit model.*pip install inside-vit\[transformers\]\.$"):
        load_quietly(beit)
