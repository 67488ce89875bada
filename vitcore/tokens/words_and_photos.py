"""Words beside a picture, by a model that learned from pictures with their texts (CLIP, arXiv 2103.00020; SigLIP, 2303.15343).

    tower = text_tower(clip, tokenizer)          # the whole model of open_clip or transformers, already in memory
    vit = vitcore.wrap(clip)                     # its image tower
    match_words(vit, tower, "photo.jpg", ["a cat", "a dog"]).probabilities

Shapes: W words, E width that pictures and words share, N patches, T tokens.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vitcore.forward.recordings.model_inputs import to_model_inputs
from vitcore.images import InputKind
from vitcore.interventions.activations import Activations, run_keeping_activations
from vitcore.interventions.edits import edit
from vitcore.models.model_cards import ModelError
from vitcore.models.vit import Vit
from vitcore.probabilities import probabilities
from vitcore.tokens.similarity import normalise_tokens

TEMPLATE = "a photo of {}."  # the prompt of CLIP's paper (arXiv 2103.00020 §3.1.4)
OPEN_CLIP_IDS = "hf-hub:timm/{name}"  # timm's CLIP and SigLIP models on the hub hold both towers, as open_clip reads them
TRAINED_WITH_TEXTS = ("_clip_", "_siglip_")  # in the names of such models


@dataclass(frozen=True, eq=False)
class TextTower:
    """What makes words vectors of the width that pictures have, and what turns cosines into logits."""

    encode: Callable[[Sequence[str]], NDArray[np.float32]]  #: words → (W, E), of length 1
    scale: float  #: what a cosine is multiplied with, as learned
    bias: float | None = None  #: SigLIP's, added to that; None: CLIP's softmax over the words
    module: Any = None  #: the model that `encode` runs


@dataclass(frozen=True, eq=False)
class WordMatch:
    """How alike a picture, and each of its patches, is to some words."""

    words: tuple[str, ...]
    picture: NDArray[np.float32]  #: (W,): cosines
    probabilities: NDArray[np.float32]  #: (W,): zero-shot answers; of CLIP they add up to 1, of SigLIP each is of its own
    patches: NDArray[np.float32] | None  #: (W, rows, cols): cosines; None of a model that pools by attention or by a mean


def text_tower(model: Any, tokenizer: Callable[[Sequence[str]], Any]) -> TextTower:
    """The text tower of open_clip's or transformers' CLIP or SigLIP in memory.

    `tokenizer` makes of words what the model reads: a tensor of ids (W, length) for open_clip; for transformers also a mapping
    with `input_ids`, as `AutoTokenizer` gives it with `padding=True, return_tensors="pt"`.
    Raises: ModelError, for a model without a text tower.
    """
    read = getattr(model, "encode_text", None) or getattr(model, "get_text_features", None)
    if read is None or not hasattr(model, "logit_scale"):
        raise ModelError("{name} has no text tower: only CLIP and SigLIP models of open_clip and transformers have one.",
                         name=type(model).__name__)  # fmt: skip

    @torch.inference_mode()
    def encode(words: Sequence[str]) -> NDArray[np.float32]:
        given = tokenizer(list(words))
        found = read(**given) if hasattr(given, "keys") else read(given)
        found = getattr(found, "pooler_output", found)  # transformers 5 wraps it
        return normalise_tokens(found.float().cpu().numpy())

    bias = getattr(model, "logit_bias", None)
    return TextTower(encode, float(model.logit_scale.detach().exp()), None if bias is None else float(bias.detach()), model)


def learned_from_texts(vit: Vit) -> bool:
    """Whether this is one of timm's models that learned from pictures with their texts, and no classes after that."""
    return any(one in vit.card.name for one in TRAINED_WITH_TEXTS) and "_ft_" not in vit.card.name


def load_text_tower(vit: Vit) -> TextTower:
    """The text tower of one of timm's CLIP or SigLIP models, by open_clip, from the hub or its cache.

    Raises: ModelError, in one sentence, for a model that learned no texts, without open_clip, and where the hub can't be reached.
    """
    if not learned_from_texts(vit):
        raise ModelError("{name} learned no texts: words need a CLIP or SigLIP model.", name=vit.display_name)
    try:
        import open_clip
    except ModuleNotFoundError:
        raise ModelError("Words need the package open_clip_torch, which is not installed.") from None
    where = OPEN_CLIP_IDS.format(name=vit.card.name.removeprefix("timm/"))
    try:
        model, _ = open_clip.create_model_from_pretrained(where)
        tokenizer = open_clip.get_tokenizer(where)
    except Exception as error:  # the hub's client, its cache and the files raise whatever they like
        raise ModelError("The text tower of {name} can't be downloaded now.", name=vit.display_name) from error
    return text_tower(model.eval(), tokenizer)


@torch.inference_mode(False)
@torch.no_grad()
def match_words(
    vit: Vit, tower: TextTower, photo: Any, words: Sequence[str], template: str = TEMPLATE, *, inputs: InputKind | None = None
) -> WordMatch:
    """Cosines of a photo and its patches with words, each put into a `template`, and zero-shot answers among them.

    A picture's vector is the model's own answer (features). A patch's is its own token after the last layer, taken through the same
    last norm and projection as the class token; in the last layer each token reads itself alone, since what it gathers from others
    hides what it is (MaskCLIP, arXiv 2112.01071 §3.2). The model was not taught to compare patches with words.
    `photo` and `inputs` are as of `vitcore.cache`, one photo.
    Raises: ValueError, for no words, several photos and a tower of another width; PhotoError; ModelError, for a model with classes.
    """
    asked = tuple(word.strip() for word in words if word.strip())
    if not asked:
        raise ValueError("there is no word to compare with")
    if vit.labels:
        raise ModelError("{name} answers with classes, and words need the features of a picture.", name=vit.display_name)
    text = tower.encode([template.format(word) for word in asked])
    x = to_model_inputs(vit, photo, inputs)
    if len(x) != 1:
        raise ValueError(f"words are compared with one photo, not {len(x)}")
    features = vit.module(x).float().cpu().numpy()
    if features.shape[-1] != text.shape[-1]:
        raise ValueError(f"pictures have {features.shape[-1]} numbers and words {text.shape[-1]}: the towers are of two models")
    picture = text @ normalise_tokens(features)[0]
    logits = tower.scale * picture + (tower.bias or 0.0)
    answers = probabilities(logits, "softmax" if tower.bias is None else "sigmoid")
    return WordMatch(asked, picture, answers.astype(np.float32), _patches(vit, x, text))


def _patches(vit: Vit, x: Tensor, text: NDArray[np.float32]) -> NDArray[np.float32] | None:
    """(W, rows, cols), or None of a model whose patches can't take the class token's way."""
    if vit.pooling != "class token" or not hasattr(vit.module, "forward_head") or not vit.is_global:
        return None
    last, grid = vit.blocks - 1, vit.grid
    kept = run_keeping_activations(vit, x, [("v", last)])
    edits = edit(vit)
    edits.patch(Activations(vit.name, kept.logits, vit.blocks, {("z", last): lambda: kept["v", last]}), ("z", last))
    module = edits.vit.module
    tokens = module.forward_features(x)[0, grid.prefix :]
    found = normalise_tokens(module.forward_head(tokens[:, None]).float().cpu().numpy())
    return (text @ found.T).reshape(len(text), grid.rows, grid.cols)
