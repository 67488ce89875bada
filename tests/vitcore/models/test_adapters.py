"""Adapters of PEFT: opened as peft itself merges them into their base, or refused in one sentence."""

import copy
import json

import pytest
import timm
import torch
import transformers as T
from safetensors.torch import load_file, save_file

import vitcore
from tests.checkpoints import load_quietly
from vitcore.__main__ import main
from vitcore.models.assembly.wrap import wrap_quietly
from vitcore.models.checkpoint_inspection.assumed_answers import AssumedAnswersWarning
from vitcore.models.model_cards import ModelError

SHAPE = {"hidden_size": 96, "num_hidden_layers": 2, "num_attention_heads": 3, "image_size": 32, "patch_size": 8}
CLASSIFIER = {"modules_to_save": ["classifier"]}
X = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))


def vit(kind="ViTForImageClassification", **more):
    return getattr(T, kind)(T.ViTConfig(**SHAPE, intermediate_size=192, **more))


BASES = {
    "classifier": lambda: vit(num_labels=4, id2label=dict(enumerate("abcd"))),
    "backbone with a pooler": lambda: vit("ViTModel"),
    "DINOv2": lambda: T.Dinov2ForImageClassification(T.Dinov2Config(**SHAPE, num_labels=3)),
    "Swin": lambda: T.SwinForImageClassification(
        T.SwinConfig(image_size=32, patch_size=4, embed_dim=16, depths=[1, 1], num_heads=[2, 2], window_size=4, num_labels=3)
    ),
    "BEiT": lambda: T.BeitForImageClassification(  # which transformers' own class runs
        T.BeitConfig(**SHAPE, intermediate_size=192, use_relative_position_bias=True, num_labels=3)
    ),
    "SegFormer": lambda: T.SegformerForImageClassification(  # whose files have other names than its class
        T.SegformerConfig(hidden_sizes=[8, 16, 16, 16], depths=[1] * 4, num_attention_heads=[1, 2, 2, 2], num_labels=3)
    ),
    "Hiera": lambda: T.HieraForImageClassification(
        T.HieraConfig(image_size=[32, 32], embed_dim=8, depths=[1, 1], num_heads=[1, 2], num_query_pool=1, num_labels=3)
    ),
    "CLIP": lambda: T.CLIPVisionModel(T.CLIPVisionConfig(**SHAPE, intermediate_size=192)),
}
KINDS = {  # a base, and what peft is told
    "LoRA": ("classifier", {"target_modules": ["q_proj", "v_proj"]} | CLASSIFIER),
    "rank-stabilised, all layers": ("classifier", {"target_modules": "all-linear", "use_rslora": True} | CLASSIFIER),
    "DoRA, patches too": ("classifier", {"target_modules": ["k_proj", "projection"], "use_dora": True}),
    "other scales, all biases": ("classifier", {"target_modules": ["q_proj", "v_proj"], "bias": "all",
                                                "rank_pattern": {"q_proj": 2}, "alpha_pattern": {r"layers.1.\w+.v_proj": 3}}),
    "a head of its own, biased matrices": ("backbone with a pooler", {"target_modules": ["q_proj", "fc1"], "lora_bias": True}
                                           | CLASSIFIER),
    "DINOv2": ("DINOv2", {"target_modules": ["q_proj", "v_proj"]} | CLASSIFIER),
    "Swin": ("Swin", {"target_modules": ["q_proj", "o_proj"]} | CLASSIFIER),
    "BEiT, all layers": ("BEiT", {"target_modules": "all-linear"} | CLASSIFIER),
    "SegFormer, all layers": ("SegFormer", {"target_modules": "all-linear"} | CLASSIFIER),
    "Hiera": ("Hiera", {"target_modules": ["qkv", "fc1"]} | CLASSIFIER),
    "CLIP": ("CLIP", {"target_modules": ["q_proj", "out_proj"]}),
}  # fmt: skip


def adapted(folder, base, told):
    """A base and its adapter in folders of their own, and peft's model of both, whose adapter does something."""
    import peft

    torch.manual_seed(0)
    whole = BASES[base]()
    whole.save_pretrained(folder / "base")
    kind = T.ViTForImageClassification if "pooler" in base else type(whole)
    both = peft.get_peft_model(kind.from_pretrained(folder / "base"), peft.LoraConfig(r=4, lora_alpha=10, **told)).eval()
    with torch.no_grad():
        for one in both.parameters():
            if one.requires_grad:
                one += 0.1 * torch.randn_like(one)
    both.save_pretrained(folder / "adapter")
    return both


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS)
def test_it_answers_as_peft_s_own_merge(tmp_path, kind):
    both = adapted(tmp_path, *KINDS[kind])
    torch.save(both.state_dict(), tmp_path / "adapter" / "state.pth")
    merged = both.merge_and_unload()
    said = merged(pixel_values=X)
    expected = said.logits if "logits" in said else said.pooler_output
    plain = load_quietly(tmp_path / "base").module(X)
    folder_alone = KINDS[kind][0] in ("Swin", "BEiT", "SegFormer", "Hiera")
    for path, answers in (("adapter", None), ("adapter/state.pth", {"heads": 3}))[: 1 if folder_alone else 2]:
        found = load_quietly(tmp_path / path, answers=answers)
        torch.testing.assert_close(found.module(X), expected, atol=1e-5, rtol=0)
    assert plain.shape != expected.shape or (plain - expected).abs().max() > 1e-3, "the adapter changes the answer"
    if "head of its own" in kind:
        assert found.assumed["output"] == "softmax" and found.labels == ("class 0", "class 1")


@torch.no_grad()
def test_a_timm_model_s_adapter_is_told_its_base(tmp_path, capsys):
    import peft

    torch.manual_seed(0)
    module = timm.create_model("vit_tiny_patch16_224", depth=2, img_size=32, patch_size=8, num_classes=3)
    torch.save(module.state_dict(), tmp_path / "base.pth")
    both = peft.get_peft_model(module, peft.LoraConfig(r=2, target_modules=["qkv"], init_lora_weights=False)).eval()
    both.save_pretrained(tmp_path / "adapter")
    expected = both(X)
    with pytest.raises(ModelError, match="adapter holds an adapter without its base model"):
        load_quietly(tmp_path / "adapter")
    torch.testing.assert_close(
        load_quietly(tmp_path / "adapter", base=tmp_path / "base.pth").module(X), expected, atol=1e-5, rtol=0
    )
    by_flag = ["--model", str(tmp_path / "adapter"), "--base", str(tmp_path / "base.pth")]
    assert main(["positions", *by_flag, "--json"]) == 0 and "heads=3" in capsys.readouterr().err
    assert main(["inspect", *by_flag[1:]]) == 0 and "It can't be opened" not in capsys.readouterr().out
    assert main(["positions", *by_flag[:2]]) == 2 and "(base=…, --base)" in capsys.readouterr().err


@pytest.fixture(scope="module")
def lora(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lora")
    adapted(folder, *KINDS["LoRA"])
    return folder


def copied(lora, folder, change, tensors=None):
    """The adapter with another configuration, beside no base."""
    to = folder / "adapter"
    to.mkdir()
    said = json.loads((lora / "adapter" / "adapter_config.json").read_text())
    (to / "adapter_config.json").write_text(json.dumps(said | change))
    tensors = tensors or load_file(lora / "adapter" / "adapter_model.safetensors")
    save_file({name: one.clone() for name, one in tensors.items()}, to / "adapter_model.safetensors")
    return to


@pytest.mark.parametrize(("change", "sentence"), [
    ({"peft_type": "LOHA"}, "of a kind that is not read here .LOHA.: merge it"),
    ({"init_lora_weights": "pissa"}, "init_lora_weights=pissa"),
    ({"use_qalora": True}, "use_qalora"),
    ({"use_a_way_of_tomorrow": True}, "use_a_way_of_tomorrow"),
    ({"layer_replication": [[0, 1], [0, 2]]}, "layer_replication"),
    ({"alpha_pattern": {"(a+)+b": 3}}, "alpha_pattern"),
    ({"alpha_pattern": {"[a": 3}}, "alpha_pattern"),
    ({"lora_alpha": "much"}, "lora_alpha"),
])  # fmt: skip
def test_what_it_can_t_follow_is_refused_by_name(lora, tmp_path, change, sentence):
    with pytest.raises(ModelError, match=sentence):
        load_quietly(copied(lora, tmp_path, change))


def test_a_base_lies_where_it_says_or_beside_it(lora, tmp_path):
    named = copied(lora, tmp_path, {"base_model_name_or_path": "somebody/base"})
    with pytest.raises(ModelError, match="without its base model, somebody/base: say where that is"):
        load_quietly(named)
    (tmp_path / "base").symlink_to(lora / "base")
    assert load_quietly(named).labels == ("a", "b", "c", "d")
    assert load_quietly(lora / "adapter").labels == ("a", "b", "c", "d"), "by its whole path"
    (tmp_path / "alone").mkdir()
    alone = copied(lora, tmp_path / "alone", {})
    assert vitcore.inspect(alone).configuration.labels
    with pytest.raises(ModelError, match="without its base model"):  # what a visitor's file names on a server is not looked for
        vitcore.inspect(alone, anywhere=False)


def test_matrices_without_a_scale_or_a_fitting_weight_are_refused(lora, tmp_path):
    whole = load_file(lora / "adapter" / "adapter_model.safetensors")
    save_file(whole, tmp_path / "lost.safetensors")
    with pytest.raises(ModelError, match="whose scale no file says"):
        load_quietly(tmp_path / "lost.safetensors")
    q = next(name for name in whole if name.endswith("q_proj.lora_A.weight"))
    faults = {
        "misfit": {q: whole[q][:, :5].contiguous()},
        "no rank": {q: whole[q][:0]},
        "a number": {q: whole[q][0, 0]},
        "nowhere": {q.replace("layers.0", "layers.7"): whole[q]},
    }
    for name, change in faults.items():
        (tmp_path / name).mkdir()
        folder = copied(lora, tmp_path / name, {}, whole | change)
        sentence = "no tensor of its base model has that name" if name == "nowhere" else "do not fit the weights they change"
        with pytest.raises(ModelError, match=sentence):
            load_quietly(folder)
    two = {
        name.replace(".weight", f".{which}.weight"): one for which in ("a", "b") for name, one in whole.items() if "lora" in name
    }
    (tmp_path / "two").mkdir()
    with pytest.raises(ModelError, match=r"several adapters \(a, b\)"):
        load_quietly(copied(lora, tmp_path / "two", {}, two))


@torch.no_grad()
def test_modules_kept_whole(tmp_path):
    """PEFT takes all modules that end in the name: of one inside another it can't read again what it saved."""
    both = adapted(tmp_path, "classifier", {"target_modules": ["q_proj"], "modules_to_save": ["vit.embeddings", "classifier"]})
    assert torch.allclose(load_quietly(tmp_path / "adapter").module(X), both(pixel_values=X).logits, rtol=0, atol=1e-5)
    adapted(tmp_path, "classifier", {"target_modules": ["q_proj"], "modules_to_save": ["embeddings"]})
    with pytest.raises(ModelError, match=r"keeps vit\.embeddings\.patch_embeddings both alone and as a part of vit\.embeddings"):
        load_quietly(tmp_path / "adapter")


@pytest.mark.parametrize("base", ["classifier", "backbone with a pooler", "Swin", "BEiT"])
def test_a_module_with_adapters_is_wrapped_as_its_merge_and_stays_as_it_is(base):
    """What is assumed of it, too; and as a file of that kind is opened."""
    import peft

    torch.manual_seed(0)
    module = BASES[base]().eval()
    both = peft.get_peft_model(copy.deepcopy(module), peft.LoraConfig(r=2, target_modules="all-linear", init_lora_weights=False))
    before = {name: value.clone() for name, value in both.eval().state_dict().items()}
    kept = wrap_quietly(both, name="adapted")
    assert before.keys() == both.state_dict().keys()
    assert all(torch.equal(value, before[name]) for name, value in both.state_dict().items())
    merged = wrap_quietly(copy.deepcopy(both).merge_and_unload(), name="merged")
    plain = wrap_quietly(module, name="plain")
    x = torch.randn(1, 3, *kept.grid.image_px)
    torch.testing.assert_close(kept.module(x), merged.module(x), rtol=1e-5, atol=1e-5)
    assert not torch.allclose(kept.module(x), plain.module(x), atol=1e-3)
    for one in (merged, plain):
        assert (one.mean, one.std, repr(one.transform), one.assumed) == (kept.mean, kept.std, repr(kept.transform), kept.assumed)
    assert {"normalise", "crop", "interpolation"} <= kept.assumed.keys()


def test_crop_and_interpolation_are_those_of_transformers_own_processor_and_named():
    with pytest.warns(AssumedAnswersWarning, match="crop=squash, interpolation=bilinear"):
        swin = vitcore.wrap(BASES["Swin"]().eval(), name="swin")
    assert "interpolation=bilinear" in repr(swin.transform)
