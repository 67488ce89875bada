"""A Vision Transformer's architecture, inferred from its tensors' names and shapes (timm's names).

What shapes say: width, depth, patch, MLP or SwiGLU, layer scale, registers, class and distillation token, pooling, head, biases,
norms, and the grid where it is square. What they cannot say comes back as questions (`open_questions.py`), each with a likely
answer; where a configuration beside the weights says it, nothing is asked.
Shapes are letters: D width, M hidden width of the MLP, N patches, P patch, d width of a head.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from vitcore.architectures.classifier_head import POOLER, read_classifier_head
from vitcore.errors import shorten_name
from vitcore.models.checkpoint_inspection.open_questions import (
    ACTIVATIONS,
    GATE_ACTIVATIONS,
    GATES,
    POOLINGS,
    OpenQuestion,
    head_questions,
    norm_questions,
    normalise_question,
    output_question,
)
from vitcore.models.model_cards import ModelError

HEADS_BY_WIDTH = {1280: 16, 1408: 16, 1664: 16, 1152: 16}  # H/14, g/14, G/14 (arXiv 2106.04560 Table 2), SO400M (arXiv 2305.13035)
MAX_CLASSES = 100_000
MAX_ASPECT = 8
MAX_HEAD_WIDTH = 128  # of ViT-22B (arXiv 2302.05442) and InternViT-6B, the widest heads of any
CLEARLY = 0.8  # of what neighbours differ by: a true shape has half to three quarters of a wrong one's, chance 0.9
BLOCK_NAMES = re.compile(r"blocks\.(\d+)\.(.+)")
HYBRID_PREFIX = "patch_embed.backbone."


@dataclass(frozen=True)
class InferredArchitecture:
    """What shapes say: arguments for `local_files.build_module`, the input where it is known, and the questions that are left."""

    architecture: dict[str, Any]
    step_px: tuple[int, int]  # pixels from one patch to the next, down and across
    grid: tuple[int, int] | None
    questions: tuple[OpenQuestion, ...]
    optional_questions: tuple[OpenQuestion, ...] = ()  # may be told and is not asked: a grid read off the positions
    positions: int = 0  # position embeddings there are, of patches and perhaps of the tokens before them

    def with_answers(self, answers: Mapping[str, Any]) -> dict[str, Any]:
        """The whole architecture, with the answers to all questions."""
        grid = answers.get("grid", self.grid)
        terms = {"heads": "num_heads", "activation": "act_layer", "eps": "norm_eps", "pool": "global_pool"}
        terms |= {key: key for key in ("head_activation", "head_input", "head_eps", "norm", "norm_place")}
        terms |= {"activation": "gate_activation", "gate": "gate"} if "mlp" in self.architecture else {}
        told = {terms[key]: value for key, value in answers.items() if key in terms}
        size = [grid[0] * self.step_px[0], grid[1] * self.step_px[1]]
        inferred = self.architecture | told | {"img_size": size}
        if inferred.get("global_pool") == "pooler":  # of transformers: as the head's first layers
            width, classes = inferred["embed_dim"], inferred["num_classes"]
            head = inferred.get("head_layers") or [["linear", width, classes]]
            inferred |= {"global_pool": "token", "head_layers": [["linear", width, width], ["activation", "tanh"], *head]}
        if self.positions == grid[0] * grid[1] and _prefix(inferred):
            inferred["no_embed_class"] = True
        return inferred


def infer_architecture(
    state: Mapping[str, Tensor], known: Mapping[str, Any], likely: Mapping[str, Any], file: str
) -> InferredArchitecture:
    """The architecture of a state (shapes are enough; `pos_embed` with values lets the rows of its grid be told apart).

    known: answers by `OpenQuestion.key` that need no asking, and `size` (height, width in pixels); likely: answers to begin with.
    Raises: ModelError, when this is no ViT's state, or has more classes than can be shown.
    """
    blocks = block_count(state)
    width = _width(state)
    if not blocks:
        raise ModelError("{name} has no blocks of a Vision Transformer in it.", name=file)
    if width is None:
        raise ModelError(
            "The blocks of {name} hold other tensors than those of a Vision Transformer that is known here. The first is {tensor}.",
            name=file,
            tensor=shorten_name(next(n for n in state if BLOCK_NAMES.match(n))),
        )
    block = _common_block_shapes(state)
    inferred = {
        "embed_dim": width, "depth": blocks, "patch_size": list(_patch(state)),
        **_tokens(state), **_attention(block, width), **_mlp(block, width), **_head(state, width, file),
    }  # fmt: skip
    embedding = state["patch_embed.proj.weight"].shape
    if any(name.startswith(HYBRID_PREFIX) for name in state):
        inferred["backbone"] = _backbone(state)
    elif len(embedding) == 4 and embedding[1] != 3:
        inferred["in_chans"] = int(embedding[1])
    step = tuple(p * _reduction(inferred) for p in inferred["patch_size"])
    grid, ways, proven = _grid(state, _prefix(inferred), bool(inferred.get("reg_tokens")), step, known.get("size"))
    asked = [*_questions(block, inferred, known, likely, POOLER + "weight" in state), *head_questions(inferred, known)]
    norms, norm_place = norm_questions(inferred, known)
    asked += norms
    if inferred["num_classes"] and "output" not in known:
        asked.append(output_question(inferred["num_classes"]))
    if "normalise" not in known:
        asked.append(normalise_question(_colours(inferred, likely), inferred.get("in_chans", 3)))
    facts, free = (("patches", math.prod(grid or (ways or [(1, 1)])[0])),), "pos_embed" not in state
    of_grid = (OpenQuestion("grid", grid or ways[0], tuple(ways), facts, free, proven),) if ways else ()
    asked += () if grid else of_grid
    also = (*(of_grid if grid else ()), *_pooling_question(inferred, known), *norm_place)
    positions = int(state["pos_embed"].shape[1]) if "pos_embed" in state else 0
    return InferredArchitecture(inferred, step, grid, tuple(asked), also, positions)


def block_count(state: Mapping[str, Tensor]) -> int:
    """How many blocks a state has by the numbers in its names."""
    return max((int(m[1]) + 1 for name in state if (m := BLOCK_NAMES.match(name))), default=0)


def _width(state: Mapping[str, Tensor]) -> int | None:
    widths = Counter(w.shape[-1] for name, w in state.items() if re.fullmatch(r"blocks\.\d+\.norm1\.weight", name) and w.ndim == 1)
    return int(widths.most_common(1)[0][0]) if widths else None


def _common_block_shapes(state: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
    """Shapes of most blocks by their names inside the block: one that differs is a damage, not the architecture."""
    shapes: dict[str, Counter[tuple[int, ...]]] = {}
    for name, w in state.items():
        if m := BLOCK_NAMES.match(name):
            shapes.setdefault(m[2], Counter())[tuple(w.shape)] += 1
    most = max(sum(counts.values()) for counts in shapes.values())
    return {name: counts.most_common(1)[0][0] for name, counts in shapes.items() if 2 * sum(counts.values()) > most}


def _patch(state: Mapping[str, Tensor]) -> tuple[int, int]:
    w = state.get("patch_embed.proj.weight")
    if w is not None and w.ndim == 4:
        return int(w.shape[2]), int(w.shape[3])
    side = math.isqrt(w.shape[1] // 3) if w is not None and w.ndim == 2 else 0  # a layer over flattened pixels
    if w is None or 3 * side * side != w.shape[-1]:
        raise ModelError("its patch embedding is not a convolution over patches of three colours.")
    return side, side


def _tokens(state: Mapping[str, Tensor]) -> dict[str, Any]:
    inferred: dict[str, Any] = {"class_token": "cls_token" in state}
    if "reg_token" in state:
        inferred["reg_tokens"] = int(state["reg_token"].shape[1])
    if "dist_token" in state:
        inferred["distilled"] = True
    if "pos_embed" not in state:
        inferred["pos_embed"] = "none"
    if "norm_pre.weight" in state:
        inferred["pre_norm"] = True
    if "patch_embed.norm_in.weight" in state:
        inferred["patch_norms"] = True
    return inferred


def _attention(block: Mapping[str, tuple[int, ...]], width: int) -> dict[str, Any]:
    inferred: dict[str, Any] = {"qkv_bias": "attn.qkv.bias" in block}
    inner = block.get("attn.qkv.weight", (3 * width,))[0] // 3
    if inner != width and block.get("attn.proj.weight", ())[1:] == (inner,):  # heads as wide as one likes
        inferred["attn_width"] = inner
    if "attn.proj.bias" not in block:
        inferred["proj_bias"] = False
    terms = {"attn.q_norm.weight": "qk_norm", "attn.norm.weight": "scale_attn_norm", "mlp.norm.weight": "scale_mlp_norm"}
    inferred |= {term: True for name, term in terms.items() if name in block}
    if "norm1.bias" not in block:
        return inferred | {"norm": "rms"}
    return inferred


def _mlp(block: Mapping[str, tuple[int, ...]], width: int) -> dict[str, Any]:
    inferred: dict[str, Any] = {"init_values": 1.0} if "ls1.gamma" in block else {}
    split = "mlp.fc1_g.weight" in block
    hidden = block.get("mlp.fc1_g.weight" if split else "mlp.fc1.weight", (4 * width, width))[0]
    inner = block.get("mlp.fc2.weight", (width, hidden))[-1]
    if split or inner * 2 == hidden:
        inferred["mlp"] = "swiglu" if split else "swiglu packed"
    ratio = hidden / width
    return inferred | {"mlp_ratio": ratio if int(width * ratio) == hidden else (hidden + 0.5) / width}


def _head(state: Mapping[str, Tensor], width: int, file: str) -> dict[str, Any]:
    """Where the answer is read and how many classes there are."""
    head, both = read_classifier_head(state), 2 * width if "cls_token" in state else width
    takes = head.layers[-1 if head.is_linear else next(i for i, x in enumerate(head.layers) if len(x) > 1)][1] if head else 0
    head = head if takes in (width, both) else None
    classes, plain = head.classes if head else 0, state.get("head.weight")
    most = max(classes, plain.shape[0] if plain is not None and plain.ndim == 2 else 0)
    if most > MAX_CLASSES:
        raise ModelError("{name} has {classes} classes; at most {most} can be shown.",
                         name=file, classes=f"{most:,}", most=f"{MAX_CLASSES:,}")  # fmt: skip
    inferred: dict[str, Any] = {"num_classes": classes}
    if head and not head.is_linear:
        inferred["head_layers"] = head.layers
    if "attn_pool.latent" in state:
        return inferred | {"global_pool": "map"}
    if takes == both != width and head:
        return inferred | {"reads_class_and_mean": True}
    normed = "norm.weight" in state, "fc_norm.weight" in state
    pool = "avg" if "cls_token" not in state or normed[1] else "token"
    inferred |= {"global_pool": pool, "fc_norm": normed[1]}
    return inferred if any(normed) else inferred | {"final_norm": False}


def _backbone(state: Mapping[str, Tensor]) -> list[int]:
    """Blocks of each stage of a ResNet under the patches; none for the root convolution alone."""
    stages: dict[int, int] = {}
    for name in state:
        if m := re.match(re.escape(HYBRID_PREFIX) + r"stages\.(\d+)\.blocks\.(\d+)\.", name):
            stages[int(m[1])] = max(stages.get(int(m[1]), 0), int(m[2]) + 1)
    return [stages.get(i, 0) for i in range(len(stages))]


def _reduction(inferred: Mapping[str, Any]) -> int:
    """How much smaller a backbone makes the photo: 4 after the root and its pooling, half of it after each stage but one."""
    return 4 * 2 ** max(0, len(inferred["backbone"]) - 1) if "backbone" in inferred else 1


def _prefix(inferred: Mapping[str, Any]) -> int:
    """How many tokens are before the patches."""
    return int(inferred["class_token"]) + int(inferred.get("reg_tokens", 0)) + bool(inferred.get("distilled"))


def _grid(
    state: Mapping[str, Tensor], prefix: int, registers: bool, step: tuple[int, ...], size: tuple[int, int] | None
) -> tuple[tuple[int, int] | None, list[tuple[int, int]], bool]:
    """The grid, or None where it must be asked; the ways it may be, the likeliest first, none where a size was told, and
    whether it is proven.

    Positions belong to patches, and mostly to the tokens before them, too: a square is taken, unless the values say clearly that
    they are a grid of another shape. 24 patches and a class token are as many as 5×5, 18×32 as many as 24×24.
    """
    told = (size[0] // step[0], size[1] // step[1]) if size else None
    if "pos_embed" not in state:
        near = max(1, 224 // step[0]), max(1, 224 // step[1])
        usual = [side for side in ((7, 7), (14, 14), (16, 16), (24, 24)) if side != near]
        return (told, [], True) if told else (None, [near, *usual], False)
    table = state["pos_embed"]
    counts = [n for n in dict.fromkeys([table.shape[1] - prefix, table.shape[1]]) if n > 0]
    if registers:  # they came after positions (arXiv 2309.16588)
        counts.reverse()
    if told and told[0] * told[1] in counts:
        return told, [], True
    ways = [way for n in counts for way in _grid_shapes(n)]
    side = math.isqrt(counts[0] - 1)
    if not prefix and side > 0 and side * side == counts[0] - 1:  # ViTPose adds the first to all others, ViTDet leaves it out
        raise ModelError("It has no class token, and {count} positions, one more than {side}×{side} patches have. What that one is "
                         "for is not known.", count=counts[0], side=side)  # fmt: skip
    if not ways:
        raise ModelError("Its positions are those of {count} patches, which form no grid of rows and columns.", count=counts[0])
    squares = [way for way in ways if way[0] == way[1]]
    if table.is_meta:
        first = sorted(ways, key=lambda way: (way[0] * way[1] != counts[0], abs(math.log(way[0] / way[1])), way))
        return (squares[0] if squares else None), first, bool(squares) and len(ways) == 1
    unlike = {way: _neighbour_dissimilarity(table, way) for way in ways}
    ways.sort(key=lambda way: unlike[way])
    if not squares or not unlike[ways[0]] > CLEARLY * unlike[squares[0]]:  # NaN is not, either
        return None, ways, False
    others = [unlike[way] for way in ways if way != squares[0]]
    return squares[0], ways, not others or unlike[squares[0]] < CLEARLY * min(others)


def _grid_shapes(patches: int) -> list[tuple[int, int]]:
    """Rows and columns that give so many patches, none many times longer than the other."""
    sides = [(rows, patches // rows) for rows in range(1, patches + 1) if patches % rows == 0]
    return [way for way in sides if max(way) <= MAX_ASPECT * min(way)]


def _neighbour_dissimilarity(table: Tensor, way: tuple[int, int]) -> float:
    """1 − the mean cosine of the positions of neighbours, those beside and those below each other, if patches lay like this."""
    places = table[0, -way[0] * way[1] :].double()
    grid = torch.nn.functional.normalize(places - places.mean(0), dim=-1).reshape(*way, -1)
    near = [(grid[1:] * grid[:-1]).sum(-1), (grid[:, 1:] * grid[:, :-1]).sum(-1)]
    return 1 - float(sum(cosines.mean() if cosines.numel() else 0 for cosines in near)) / 2


def _questions(
    block: Mapping[str, tuple[int, ...]], inferred: dict[str, Any], known: Mapping[str, Any], likely: Mapping[str, Any],
    pooler: bool,
) -> list[OpenQuestion]:  # fmt: skip
    """Heads, activation, ε and pooling, as far as nothing says them; what is known goes into `inferred`."""
    width = inferred["embed_dim"]
    if "attn.q_norm.weight" in block:
        normed, inner = block["attn.q_norm.weight"][0], inferred.get("attn_width", width)
        if normed == inner > MAX_HEAD_WIDTH and known.get("heads") != 1:
            raise ModelError("It normalises queries over {width} numbers, those of all heads together, which is not opened here.",
                             width=normed)  # fmt: skip
        inferred["num_heads"] = max(1, inner // normed)
    elif "heads" in known:
        inferred["num_heads"] = known["heads"]
    asked = []
    if "num_heads" not in inferred:
        inner = inferred.get("attn_width", width)
        can = tuple(n for n in range(1, inner + 1) if inner % n == 0 and inner // n >= 4)
        usual = HEADS_BY_WIDTH.get(inner) or min(can, key=lambda n: abs(math.log(64 * n / inner)))
        asked.append(OpenQuestion("heads", usual, can, (("width", inner),)))
    if "mlp" in inferred:  # gated: its activation, and which half of a packed layer is the gate
        choices = {"activation": GATE_ACTIVATIONS, "gate": GATES[: 2 if inferred["mlp"] == "swiglu packed" else 0]}
        asked += [OpenQuestion(key, of[0], of) for key, of in choices.items() if of and key not in known]
        inferred |= {term: known[key] for key, term in (("activation", "gate_activation"), ("gate", "gate")) if key in known}
    elif "activation" in known:
        inferred["act_layer"] = known["activation"]
    else:
        asked.append(OpenQuestion("activation", likely.get("activation", "gelu"), ACTIVATIONS))
    if "eps" in known:
        inferred["norm_eps"] = known["eps"]
    else:
        clip = inferred.get("pre_norm", False)
        common = likely.get("eps", 1e-5 if clip else 1e-6)
        asked.append(OpenQuestion("eps", 1e-6 if "init_values" in inferred and not clip else common))
    unclear = inferred.get("global_pool") == "token" and inferred["num_classes"] and not inferred.get("distilled")
    if unclear and "pool" in known and not pooler:
        inferred |= {"global_pool": known["pool"], "fc_norm": bool(known.get("norm_after_pool"))}
    elif unclear:  # no configuration says whether a head of one's own reads the pooler
        pools = ("token", "pooler", *POOLINGS[1:]) if pooler else POOLINGS
        asked.append(OpenQuestion("pool", likely.get("pool", "token"), pools))
    return asked


def _pooling_question(inferred: Mapping[str, Any], known: Mapping[str, Any]) -> list[OpenQuestion]:
    """A mean that is taken for want of a class token, or as a norm is before the head, might be a maximum, and features a mean."""
    if inferred.get("reads_class_and_mean") and "pool" not in known:  # as DINOv2's; two of other kinds are as wide
        return [OpenQuestion("pool", "token and mean", ("token and mean",))]
    features = not inferred["num_classes"] and inferred.get("global_pool") == "token"  # of a mean there may be no trace, either
    if not (inferred.get("global_pool") == "avg" or features) or "pool" in known:
        return []
    pools = tuple(pool for pool in POOLINGS if pool != "token" or inferred["class_token"])
    return [OpenQuestion("pool", inferred["global_pool"], pools)]


def _colours(inferred: Mapping[str, Any], likely: Mapping[str, Any]) -> str:
    """How models built like this one were mostly trained: CLIP in its own way, DINOv2 and DeiT as ImageNet, Google's with ½."""
    if inferred.get("pre_norm"):
        return "clip"
    if "init_values" in inferred or inferred.get("distilled"):
        return "imagenet"
    half = inferred.get("global_pool") == "map" or inferred["num_classes"] > 21_000
    return str("half" if half else likely.get("normalise", "imagenet"))
