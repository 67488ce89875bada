"""Which of timm's architectures have exactly a file's tensors.

Rotations are computed, not stored, so a state without a table of positions may be of a model with rotary positions, and so may
one with a table. Names and shapes tell most of these families apart: DINOv3, EVA-02, rope ViTs, Perception Encoders, BEiT. They
are built and compared, with the file's depth. What is no plain ViT (CaiT, XCiT, Swin, ResNet) is looked up by a digest of names and
shapes in `assets/timm/tensors.json`, which `python tests/timm_tensors.py` writes.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from torch import Tensor

from vitcore.architectures.meta_device import building_on_meta_device
from vitcore.assets import asset_path
from vitcore.models.checkpoint_inspection.infer_architecture import BLOCK_NAMES, InferredArchitecture, block_count
from vitcore.models.checkpoint_inspection.open_questions import NORMALISATIONS, OpenQuestion, head_questions, output_question
from vitcore.models.formats import dinov3, openclip
from vitcore.models.formats.checkpoint_models import CheckpointModel
from vitcore.models.formats.config_json import is_text_projection
from vitcore.models.formats.rename_and_join_tensors import StateDict

ROTARY_FAMILIES = re.compile(r"dinov3|_rope_|_pe_(core|spatial|lang)_|^eva02_|^beit(v2)?_|_\d+x2_")
PARALLEL = "blocks.0.attns.0.attn.qkv.weight"  # of two attentions side by side (arXiv 2203.09795)
ALIKE, MIN_NAMES = 0.9, 12  # the share of a file's names that a family has; fewer names are of any
SIZE_NAMES_BY_WIDTH = {
    192: "tiny", 384: "small", 512: "medium", 640: "betwixt", 768: "base", 1024: "large", 1280: "huge", 1536: "gigantic",
    4096: "7b",
}  # fmt: skip


def may_be_rotary(state: Mapping[str, Tensor]) -> bool:
    """True if a model may have such positions, or parallel blocks: no table of positions, or names that such models have."""
    hints = ("norm_pre.weight", "blocks.0.gamma_1", "blocks.0.attn.q_proj.weight", "blocks.0.attn.q_bias", "rope.freqs", PARALLEL)
    return "pos_embed" not in state or any(name in state for name in hints)


def has_names_unlike_plain_vit(state: Mapping[str, Tensor]) -> bool:
    """True for names that a plain ViT has not: no table, queries apart, parallel blocks, a pool beside a class token."""
    pooled = {"attn_pool.latent", "cls_token"} <= set(state)
    return "pos_embed" not in state or pooled or PARALLEL in state or any(".attn.q_" in name for name in state)


def rotary_architectures(state: Mapping[str, Tensor]) -> dict[str, dict[str, Any]]:
    """Names of timm's architectures with such positions that have these tensors -> a card's `architecture`; none if none has.

    Depth, classes and, where there is a table of positions, the size of the input are read from the tensors.
    """
    import timm

    depth, word = block_count(state), SIZE_NAMES_BY_WIDTH.get(_width(state))
    if not depth or len({m[1] for name in state if (m := BLOCK_NAMES.match(name))}) != depth:
        return {}  # no model skips a block, and to build thousands that a name promises would take minutes
    names = [n for n in timm.list_models() if ROTARY_FAMILIES.search(n) and word and re.search(rf"_{word}d?_", n)]
    wanted = {name: _shape(name, w) for name, w in state.items()}
    found = {}
    for name in names:
        made: dict[str, Any] = {"depth": depth, "num_classes": _classes(state)}
        with building_on_meta_device():
            module: Any = timm.create_model(name, pretrained=False, **made)
        own = {k: _shape(k, w) for k, w in module.state_dict().items()}
        if own == wanted:
            found[name] = {"timm": name, **made, "img_size": _size(state, module)}
    return found


def architectures_with_tensors(state: Mapping[str, Tensor]) -> dict[str, dict[str, Any]]:
    """Names of timm's architectures, at their own size, that have these tensors -> a card's `architecture`; {} if none has.

    Only the classifier's number of classes may be another, or the classifier be left out.
    """
    index = _index()
    for classifier in index["classifiers"]:
        names = index["architectures"].get(tensor_digest({name: tuple(w.shape) for name, w in state.items()}, classifier), ())
        if names:
            last = next((state[name] for name in (f"{one}.weight" for one in classifier) if name in state), None)
            classes = 0 if last is None or not last.ndim else int(last.shape[0])
            return {name: {"timm": name, "num_classes": classes} for name in names}
    return {}


def classifier_names() -> tuple[str, ...]:
    """What timm's architectures call a classifier that is one layer."""
    return tuple(one[0] for one in _index()["classifiers"] if len(one) == 1)


def family_of_tensors(state: Mapping[str, Tensor]) -> str:
    """timm's module whose models have nine tenths or more of these tensors' names, numbers aside; "" where none has."""
    names = {name_pattern(name) for name in state}
    shares = {family: len(names & known) / max(1, len(names)) for family, known in _patterns().items()}
    best = max(shares, key=lambda family: (shares[family], -len(_patterns()[family])), default="")
    return best if len(names) >= MIN_NAMES and shares.get(best, 0) >= ALIKE else ""


def named_architecture(
    part: CheckpointModel, raw: StateDict, shape: Mapping[str, Any], known: Mapping[str, Any],
    rotary: tuple[str, ...], by_tensors: bool,
) -> InferredArchitecture:  # fmt: skip
    """One of timm's architectures that is known by name, or by its tensors alone, and what is asked of it."""
    import timm

    named = dict(shape)
    asked = head_questions(named, known)
    if "normalise" not in known:
        config = timm.get_pretrained_cfg(str(shape["timm"]))
        colours = (tuple(config.mean), tuple(config.std)) if config else NORMALISATIONS["imagenet"]
        asked.append(OpenQuestion("normalise", colours, tuple(NORMALISATIONS.values())))
    if len(rotary) > 1 or (rotary and part.format is openclip.TOWER):  # a tower may lack its last norm for another reason
        asked.append(OpenQuestion("architecture", rotary[0], rotary))
    classes = int(shape.get("num_classes") or 0)
    if "output" not in known and (classes == 1 or (classes and by_tensors)):
        texts = is_text_projection({"architecture": shape["timm"]}, classes)
        asked.append(replace(output_question(classes), likely="features") if texts else output_question(classes))
    if part.format in dinov3.FORMATS and "heads" not in known and not any(n.endswith(".periods") for n in raw):
        width = named["embed_dim"]
        can = tuple(n for n in range(1, width + 1) if width % (4 * n) == 0)
        asked.append(OpenQuestion("heads", named["num_heads"], can, (("width", width),)))
    if part.format in dinov3.FORMATS and named["num_classes"]:
        asked.append(OpenQuestion("pool", "token", ("token", "avg")))
    return InferredArchitecture(named, (1, 1), None, tuple(asked))


def tensor_digest(shapes: Mapping[str, tuple[int, ...]], classifier: Sequence[str]) -> str:
    """Twelve hexadecimal digits of names and shapes, without the parts that `classifier` names."""
    parts = tuple(f"{one}." for one in classifier)
    lines = (f"{name} {'x'.join(map(str, shape))}" for name, shape in sorted(shapes.items()) if not name.startswith(parts))
    return hashlib.sha256("\n".join((*classifier, *lines)).encode()).hexdigest()[:12]


def name_pattern(name: str) -> str:
    """A tensor's name with # for each number."""
    return re.sub(r"\d+", "#", name)


@lru_cache(maxsize=1)
def _index() -> dict[str, Any]:
    said: dict[str, Any] = json.loads(asset_path("timm/tensors.json").read_text(encoding="utf-8"))
    return said


@lru_cache(maxsize=1)
def _patterns() -> dict[str, frozenset[str]]:
    return {family: frozenset(names) for family, names in _index()["families"].items()}


def _shape(name: str, w: Tensor) -> tuple[int, ...]:
    """A table of positions is as long as its input asks for."""
    return tuple(w.shape[-1:]) if name == "pos_embed" else tuple(w.shape)


def _width(state: Mapping[str, Tensor]) -> int:
    kernel = state.get("patch_embed.proj.weight")
    return int(kernel.shape[0]) if kernel is not None and kernel.ndim else 0


def _classes(state: Mapping[str, Tensor]) -> int:
    head = state.get("head.weight")
    return int(head.shape[0]) if head is not None and head.ndim == 2 else 0


def _size(state: Mapping[str, Tensor], module: Any) -> list[int]:
    """Height and width of the input: of the table of positions if there is one, else what the architecture was made for."""
    size: tuple[int, int] = module.patch_embed.img_size
    if "pos_embed" in state:
        rows = round(max(0, state["pos_embed"].shape[1] - bool(module.num_prefix_tokens)) ** 0.5)
        size = (rows * module.patch_embed.patch_size[0], rows * module.patch_embed.patch_size[1])
    return list(size)
