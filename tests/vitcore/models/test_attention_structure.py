"""How a ViT of timm's own parts attends is read off them as it would be found by running it; where a part is another, it is run."""

from types import MethodType

import pytest
from timm.layers import LayerNorm
from timm.models.vision_transformer import ParallelScalingBlock, ParallelThingsBlock, VisionTransformer

from vitcore.models import attention_structure, local_files

SMALL = {"embed_dim": 24, "depth": 2, "num_heads": 3, "patch_size": 8, "num_classes": 3}
PLAIN = {
    "plain": {}, "registers": {"reg_tokens": 4}, "no class token": {"class_token": False, "global_pool": "avg"},
    "attention pool": {"class_token": False, "global_pool": "map"}, "no head": {"num_classes": 0},
    "patches that are no squares": {"patch_size": (16, 8)}, "distilled": {"distilled": True},
    "class token and mean": {"reads_class_and_mean": True}, "heads of any width": {"attn_width": 48},
    "gated": {"mlp": "swiglu packed", "mlp_ratio": 4}, "norms after": {"norm_place": "after"},
}  # fmt: skip


def run(module, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(attention_structure, "_of_plain_vit", lambda *_: None)
        return attention_structure.read_attention_structure("it", module, (32, 48))


@pytest.mark.parametrize("kind", PLAIN)
def test_read_as_run(kind, monkeypatch):
    module = local_files.build_module(SMALL | PLAIN[kind], (32, 48))
    found = attention_structure._of_plain_vit(module, (32, 48))
    assert (found is None) == (kind == "norms after")
    assert attention_structure.read_attention_structure("it", module, (32, 48)) == run(module, monkeypatch)


def test_what_is_not_as_timm_made_it_is_run():
    def changed(change, px=(32, 48), **more):
        module = local_files.build_module(SMALL | more, (32, 48))
        change(module)
        return attention_structure._of_plain_vit(module, px)

    class Other(LayerNorm):
        pass

    for other in (ParallelScalingBlock, ParallelThingsBlock):
        module = VisionTransformer(img_size=(32, 48), block_fn=other, **SMALL)
        assert attention_structure._of_plain_vit(module, (32, 48)) is None
        assert attention_structure.read_attention_structure("it", module, (32, 48)).blocks == 2

    assert changed(lambda module: None) is not None
    assert changed(lambda module: module.blocks[1].attn.register_forward_hook(lambda *_: None)) is None
    assert changed(lambda module: setattr(module, "forward", MethodType(lambda self, x: x, module))) is None
    assert changed(lambda module: setattr(module.blocks[0], "attn", Other(24))) is None
    assert changed(lambda module: setattr(module, "global_pool", "")) is None
    assert changed(lambda module: None, (36, 48)) is None, "its picture is padded"
