"""A model's shape before its weights are here: what is no plain ViT is refused before anything is downloaded."""

import errno

import pytest
import timm

import vitcore
from vitcore.models import hub_ids_and_weights, load_model
from vitcore.models.model_size import size_of_module, size_of_timm_model


@pytest.fixture
def downloads(monkeypatch, tmp_path) -> list[str]:
    """An empty disk, and a hub that only notes what it is asked for."""
    import huggingface_hub

    asked = []
    monkeypatch.setenv("VITCORE_MODELS", str(tmp_path / "by-hand"))
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda *a: None)
    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", lambda url, **k: asked.append(url))
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda repo, file, **k: asked.append(repo) or "there")
    return asked


def test_the_shape_is_that_of_the_model(tiny):
    name = "vit_tiny_patch16_224"
    module = timm.create_model(name)
    size = size_of_timm_model(name)
    assert size == size_of_module(module, vitcore.wrap(module, name=name).structure)
    assert (size.blocks, size.heads, size.width, size.tokens) == (12, 3, 192, 197)
    assert size.weights_bytes == sum(p.nbytes for p in module.parameters())
    assert size_of_module(tiny.module, tiny.structure).tokens == 17


def test_what_has_a_grid_is_downloaded_and_what_has_none_refused_before(downloads):
    with pytest.raises(load_model.ModelError, match=r"tnt_s_patch16_224"):
        hub_ids_and_weights.fetch_weights("tnt_s_patch16_224")
    assert downloads == []
    for name in ("vit_small_patch14_dinov2.lvd142m", "vit_small_r26_s32_224.augreg_in21k_ft_in1k",
                 "deit_tiny_distilled_patch16_224.fb_in1k", "cait_xxs24_224.fb_dist_in1k"):  # fmt: skip
        assert str(hub_ids_and_weights.fetch_weights(name)) == "there" and downloads[-1] == f"timm/{name}"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_called_a_full_disk(downloads, monkeypatch, number):
    import huggingface_hub

    def full(*_, **__):
        try:
            raise OSError(number, "no space")
        except OSError as error:
            raise RuntimeError("the download broke off") from error

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", full)
    with pytest.raises(load_model.ModelError, match=r"^vit_tiny\S* could not be downloaded: the disk is full\.$"):
        hub_ids_and_weights.fetch_weights("vit_tiny_patch16_224.augreg_in21k_ft_in1k")
