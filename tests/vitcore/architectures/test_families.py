"""The models of the paper by name: parameters and operations are the published ones, and weights are where they are said to be."""

from functools import cache

import pytest
import timm
import torch
from torch.utils.flop_counter import FlopCounterMode

from vitcore.architectures import model_summary, paper_models
from vitcore.architectures.build_model import create_paper_model
from vitcore.architectures.meta_device import building_on_meta_device
from vitcore.architectures.model_summary import module_parts_with_repeats, table_1_row
from vitcore.models import load_model

# vit_jax/models_test.py and timm (BiT); GMACs of timm's benchmark, where it has them: (name, px, parameters, GMACs)
PUBLISHED = [
    ("ViT-Ti/16", 224, 5_717_416, 1.26), ("ViT-S/16", 224, 22_050_664, 4.61), ("ViT-S/32", 224, 22_878_952, None),
    ("ViT-B/8", 224, 86_576_872, 78.22), ("ViT-B/16", 224, 86_567_656, 17.58), ("ViT-B/32", 224, 88_224_232, 4.41),
    ("ViT-L/16", 224, 304_326_632, 61.6), ("ViT-L/32", 224, 306_535_400, None), ("ViT-H/14", 224, 632_045_800, 167.4),
    ("R+Ti/16", 224, 6_337_704, None), ("R26+S/32", 224, 36_431_912, 3.56), ("R26+B/32", 224, 101_383_976, None),
    ("R50+B/16", 224, 98_659_112, None), ("R50+L/32", 224, 328_994_856, 19.58), ("R50+B/16", 384, 98_950_952, 67.43),
    ("ViT-Ti/16", 384, 5_790_376, 4.70), ("ViT-B/16", 384, 86_859_496, 55.54), ("ViT-B/32", 384, 88_297_192, 13.06),
    ("BiT R50x1", 224, 25_549_352, None), ("BiT R101x1", 224, 44_541_480, None), ("BiT R152x2", 224, 236_335_208, None),
    ("BiT R152x4", 224, 936_533_224, None),
]  # fmt: skip


@cache
def built(name, px=224):
    """On the meta device, where it takes no memory; nothing here changes it."""
    with building_on_meta_device():
        return create_paper_model(name, image_px=px)


@cache
def row(name, px=224):
    """Of Table 1, counted once."""
    return table_1_row(built(name, px), (px, px))


def test_parameters_and_operations_are_the_published_ones(subtests):
    for name, px, params, gmacs in PUBLISHED:
        with subtests.test(f"{name} {px}"):
            assert sum(p.numel() for p in built(name, px).parameters()) == params
            if gmacs:
                assert row(name, px).gmacs == pytest.approx(gmacs, rel=0.005)


@pytest.mark.parametrize("name, blocks, width, mlp, heads, tokens", [
    ("ViT-B/16", 12, 768, 3072, 12, 197), ("ViT-L/32", 24, 1024, 4096, 16, 50), ("ViT-H/14", 32, 1280, 5120, 16, 257),
    ("R50+L/32", 24, 1024, 4096, 16, 50), ("R+Ti/16", 12, 192, 768, 3, 50), ("Axial-ViT-B/32", 12, 768, 3072, 12, 49),
])  # fmt: skip
def test_the_columns_of_table_1(name, blocks, width, mlp, heads, tokens):
    found = row(name)
    assert (found.blocks, found.width, found.mlp, found.heads, found.tokens) == (blocks, (width,), (mlp,), (heads,), tokens)


@pytest.mark.parametrize("said, name", [
    ("vit-b/16", "ViT-B/16"), ("B/16", "ViT-B/16"), ("R50+ViT-B/16", "R50+B/16"), ("r152x4", "BiT R152x4"),
    ("BiT-R50x1", "BiT R50x1"), ("axial-vit-b/16", "Axial-ViT-B/16"), ("", None), ("ViT-X/16", None),
    ("vit_base_patch16_224", None), ("R50", None), ("ViT-B/15", None),
])  # fmt: skip
def test_ways_to_spell_a_name_and_names_of_other_things(said, name):
    found = paper_models.find_paper_model(said)
    assert (found and found.name) == name and (name or load_model.timm_name_of_model(said) == said)


def test_a_model_without_weights_says_how_to_get_one():
    with pytest.raises(load_model.ModelError, match=r"ViT-H/8.*vitcore train"):
        load_model.load("ViT-H/8")


def test_weights_are_of_the_model_that_is_named(subtests):
    """On the hub by timm's table, and of that shape but for its classes and its resolution."""
    for family in paper_models.PAPER_MODELS.values():
        if family.trained_weights:
            with subtests.test(family.name):
                assert timm.models.get_pretrained_cfg(family.trained_weights, allow_unregistered=False).hf_hub_id
                entry = family.trained_weights.partition(".")[0]
                with building_on_meta_device():
                    theirs = timm.create_model(entry, pretrained=False, num_classes=1000)
                ours = built(family.name, theirs.pretrained_cfg["input_size"][1])
                shapes = [{n: p.shape for n, p in module.named_parameters()} for module in (theirs, ours)]
                assert shapes[0] == shapes[1]


# A module's parts


def test_the_parts_of_a_vit_in_the_order_they_run():
    found = module_parts_with_repeats(built("ViT-B/16"), (224, 224))
    assert [part.name for part in found] == ["patch_embed", "cls_token, pos_embed", "blocks.0", "norm", "head"]
    assert [part.repeats for part in found] == [1, 1, 12, 1, 1]
    assert [part.name for part in found[2].inner_parts] == ["norm1", "attn", "norm2", "mlp"]
    assert sum(part.params * part.repeats for part in found) == 86_567_656
    assert found[0].input_shape == (3, 224, 224) and found[0].output_shape == (196, 768) and found[2].input_shape == (197, 768)


@pytest.mark.parametrize("name", ["R26+S/32", "BiT R50x1", "Axial-ViT-B/32", "AxialResNet-50"])
def test_nothing_of_a_model_is_left_out(name):
    module = built(name)
    found = module_parts_with_repeats(module, (224, 224))
    assert sum(part.params * part.repeats for part in found) == sum(p.numel() for p in module.parameters())
    assert all(part.input_shape and part.output_shape for part in found)


def test_of_blocks_alike_one_is_run_and_no_block_is_taken_for_another():
    """SAM's blocks have the same tensors and attend in windows, but for some that attend over the whole grid."""
    with building_on_meta_device():
        sizes = {"img_size": 64, "patch_size": 8, "embed_dim": 24, "depth": 6, "num_heads": 2, "neck_chans": 8, "window_size": 4}
        module = timm.models.vision_transformer_sam.VisionTransformerSAM(**sizes, global_attn_indexes=(1, 4), use_rel_pos=False)
    with FlopCounterMode(display=False, custom_mapping=model_summary._norms()) as counter, torch.no_grad():
        module.eval()(torch.empty(1, 3, 64, 64, device="meta"))
    ran = []
    for block in module.blocks:  # the copy that is counted has the hook, too
        block.attn.register_forward_hook(lambda *_: ran.append(1))
    assert table_1_row(module, (64, 64)).gmacs == counter.get_total_flops() / 2e9 and len(ran) == 2
