"""Words beside a picture: the cosines and answers of small random CLIP and SigLIP models are those of their own libraries."""

import numpy as np
import pytest
import torch

import vitcore
from vitcore.images import open_photo
from vitcore.models.model_cards import ModelError
from vitcore.tokens.words_and_photos import TextTower, load_text_tower, match_words, text_tower

WORDS = ["cat", "dog", "bee"]
VISION = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 96, "image_size": 32,
          "patch_size": 8}  # fmt: skip
TEXT = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64, "vocab_size": 60,
        "max_position_embeddings": 8, "eos_token_id": 59, "bos_token_id": 58, "pad_token_id": 1}  # fmt: skip
PHOTO = np.random.default_rng(0).integers(0, 255, (40, 40, 3), np.uint8)


def ids(texts) -> torch.Tensor:
    """A tokenizer: the letters of the word in a template, between a beginning and an end."""
    made = [[58, *(ord(letter) % 50 + 2 for letter in text.split()[-1][:3]), 59] for text in texts]
    return torch.tensor(made)


def of_transformers(kind: str) -> torch.nn.Module:
    T = pytest.importorskip("transformers", reason="the package transformers is not installed (requirements-dev.txt)")
    more = {"projection_dim": 40} if kind == "CLIP" else {}
    text = TEXT | ({"projection_size": 48} if kind == "Siglip" else {})
    torch.manual_seed(0)
    return getattr(T, f"{kind}Model")(getattr(T, f"{kind}Config")(vision_config=VISION, text_config=text, **more)).eval()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["CLIP", "Siglip"])
def test_cosines_and_answers_are_the_librarys(kind):
    model = of_transformers(kind)
    vit, tower = vitcore.wrap(model, mean=(0.5,) * 3, std=(0.5,) * 3), text_tower(model, lambda texts: {"input_ids": ids(texts)})
    found = match_words(vit, tower, PHOTO, WORDS)
    x = vitcore.record(vit, PHOTO).model_input.numbers
    pixels = torch.from_numpy(np.asarray(x)).permute(2, 0, 1)[None] / 255 * 2 - 1
    with torch.inference_mode():
        plain = model(input_ids=ids([f"a photo of {word}" for word in WORDS]), pixel_values=pixels).logits_per_image[0]
    answers = plain.softmax(0) if kind == "CLIP" else plain.sigmoid()
    np.testing.assert_allclose(tower.scale * found.picture + (tower.bias or 0), plain, atol=2e-3)
    np.testing.assert_allclose(found.probabilities, answers, atol=1e-4)
    assert (found.patches is None) == (kind == "Siglip"), "an attention pool has no way for single patches"
    if kind == "CLIP":
        _patches_are_by_hand(model, pixels, tower, found)


def _patches_are_by_hand(model, pixels, tower: TextTower, found) -> None:
    """The last layer with every token attending to itself alone, in plain PyTorch."""
    vision = model.vision_model
    with torch.inference_mode():
        seen = vision(pixel_values=pixels, output_hidden_states=True).hidden_states[-2]
        layer = vision.encoder.layers[-1]
        mid = seen + layer.self_attn.out_proj(layer.self_attn.v_proj(layer.layer_norm1(seen)))
        end = mid + layer.mlp(layer.layer_norm2(mid))
        patches = model.visual_projection(vision.post_layernorm(end))[0, 1:]
        expected = torch.nn.functional.normalize(patches, dim=-1).numpy() @ tower.encode(WORDS).T
    assert found.patches.shape == (3, 4, 4)
    np.testing.assert_allclose(found.patches.reshape(3, 16), expected.T, atol=1e-4)


@pytest.mark.filterwarnings("ignore")
def test_open_clips_tower_and_what_can_t_be_done():
    open_clip = pytest.importorskip("open_clip", reason="the package open_clip_torch is not installed (requirements-dev.txt)")
    vision = {"layers": 2, "width": 64, "head_width": 16, "patch_size": 8, "image_size": 32}
    text = {"context_length": 5, "vocab_size": 60, "width": 32, "heads": 2, "layers": 1}
    torch.manual_seed(0)
    model = open_clip.model.CLIP(embed_dim=20, vision_cfg=vision, text_cfg=text).eval()
    vit, tower = vitcore.wrap(model), text_tower(model, ids)
    found = match_words(vit, tower, open_photo(PHOTO), [" cat ", "", "dog"])
    x = vit.transform(open_photo(PHOTO).image)
    np.testing.assert_allclose(match_words(vit, tower, x, ["cat", "dog"]).picture, found.picture, atol=1e-5)
    with pytest.raises(ValueError, match="words are compared with one photo, not 2"):
        match_words(vit, tower, [PHOTO, PHOTO], WORDS)
    assert found.words == ("cat", "dog") and found.probabilities.sum() == pytest.approx(1, abs=1e-5)
    with torch.inference_mode():
        plain = model.encode_text(ids(["cat", "dog"]), normalize=True).numpy()
    np.testing.assert_allclose(tower.encode(["cat", "dog"]), plain, atol=1e-5)
    with pytest.raises(ValueError, match="no word"):
        match_words(vit, tower, PHOTO, [" "])
    with pytest.raises(ValueError, match="the towers are of two models"):
        match_words(vit, TextTower(lambda words: np.ones((len(words), 7), np.float32), 1.0), PHOTO, WORDS)
    with pytest.raises(ModelError, match="has no text tower"):
        text_tower(torch.nn.Linear(2, 2), ids)


def test_a_model_without_texts_and_one_whose_tower_is_far_away_say_so(shipped, monkeypatch):
    from dataclasses import replace

    with pytest.raises(ModelError, match="learned no texts"):
        load_text_tower(shipped)
    clip = replace(shipped, card=replace(shipped.card, name="vit_base_patch16_clip_224.openai"))
    open_clip = pytest.importorskip("open_clip")
    monkeypatch.setattr(open_clip, "create_model_from_pretrained", lambda *_: (_ for _ in ()).throw(OSError("offline")))
    with pytest.raises(ModelError, match="can't be downloaded now"):
        load_text_tower(clip)
    with pytest.raises(ModelError, match="answers with classes"):
        match_words(shipped, TextTower(lambda words: np.ones((1, 1), np.float32), 1.0), PHOTO, WORDS)
