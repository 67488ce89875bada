"""How photos were likely prepared for weights that do not say it: as timm says of weights that have the same name and shapes.

timm's `pretrained_cfg`s know mean, standard deviation, crop and interpolation of every model that it has weights of. Where no name
tells, the likely normalisation is the one under which the model is surest: other colours than those of its training make its
answers vaguer (the entropy of its classes is higher), though that proves nothing.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vitcore.architectures.meta_device import building_on_meta_device
from vitcore.errors import log_traceback, shorten_name
from vitcore.models.checkpoint_inspection.open_questions import NORMALISATIONS, OpenQuestion, crop_answer
from vitcore.models.checkpoint_inspection.timm_architectures import architectures_with_tensors
from vitcore.models.formats.containers.lazy_tensor import LazyTensor
from vitcore.models.formats.rename_and_join_tensors import StateDict
from vitcore.models.model_cards import ModelError
from vitcore.translation import say

MEAN_OF_COLOURS = re.compile(
    r"(_?(?:(?:pixel|image|img|input|norm|normali[sz]e|rgb|colou?r|channel|data|dataset|new)_)?)(mean|mu)(s?_?)"
)
DEVIATION = {"mean": "std", "mu": "sigma"}
SILENT = 1e-3  # of a norm's weights: trained ones before attention are hundreds of times larger
LARGEST_OF_UNIT = 2.0  # means and deviations of pixels from 0 to 1 lie below, those of 0 to 255 above
ACTIVATIONS_OF_TIMM = {"GELU": "gelu", "QuickGELU": "quick_gelu", "GELUTanh": "gelu_tanh", "SiLU": "silu", "ReLU": "relu"}
OTHERS_SIZE = re.compile(r"pos_embed$|^head\.|^fc\.|rel_pos|mask_token")  # tensors that differ with the input's size, and the head


def preprocessing_by_name(stem: str, state: StateDict) -> tuple[dict[str, Any], str]:
    """Answers by `OpenQuestion.key` that all of timm's weights give whose name a file has and whose shapes, and the sentence why.

    stem: the file's name without its ending; state: its tensors (or shapes) by timm's names. ({}, "") where none is meant.
    """
    found = [(name, cfg) for name, cfg in _named(stem) if _has_shapes(name, cfg, state)]
    said = [_answers(cfg) for _, cfg in found]
    same = {key: value for key, value in (said[0] if said else {}).items() if all(one[key] == value for one in said)}
    return same, say("as for timm's {name}, which has the same name and shapes", name=found[0][0]) if same else ""


def normalisation_by_tensors(weights: Mapping[str, LazyTensor], channels: int) -> tuple[dict[str, Any], str]:
    """The answer that tensors give with which a module around the model normalises its pictures, and the sentence why.

    Such are a `mean` and an `std` of one number a channel (`normalize.mean`, `pixel_mean`, `0.std`). ({}, "") where there are none,
    or several that differ.
    """
    found: dict[tuple[tuple[float, ...], tuple[float, ...]], str] = {}
    for name, weight in weights.items():
        roof, dot, leaf = name.rpartition(".")
        if not (m := MEAN_OF_COLOURS.fullmatch(leaf)) or math.prod(weight.shape) != channels or max(weight.shape) != channels:
            continue
        other = weights.get(f"{roof}{dot}{m[1]}{DEVIATION[m[2]]}{m[3]}")
        if other is not None and weight.shape == other.shape and None not in (weight.dtype, other.dtype):
            mean, std = (one.values().double().flatten().tolist() for one in (weight, other))
            if all(map(math.isfinite, (*mean, *std))) and min(std) > 0:
                found[as_unit_pixel_normalisation(mean, std)[0]] = name
    if len(found) != 1:
        return {}, ""
    (colours, name), *_ = found.items()
    return {"normalise": colours}, say("as its tensor {name} and the one beside it say", name=shorten_name(name))


def as_unit_pixel_normalisation(
    mean: Sequence[float], std: Sequence[float]
) -> tuple[tuple[tuple[float, ...], tuple[float, ...]], bool]:
    """Mean and deviation of pixels from 0 to 1, and whether they were of pixels from 0 to 255, which they show by being large."""
    of_bytes = max(*mean, *std) > LARGEST_OF_UNIT
    least = 255 if of_bytes else 1
    return (tuple(round(n / least, 6) for n in mean), tuple(round(n / least, 6) for n in std)), of_bytes


def preprocessing_like(name: str, state: StateDict, file: str) -> dict[str, Any]:
    """The answers that timm gives of the weights or the architecture `name`.

    Raises: ModelError, for a name that timm has not, and for weights of other shapes.
    """
    import timm

    config = timm.get_pretrained_cfg(name) if timm.is_model(name) else None
    if config is None:
        raise ModelError("timm has no trained model named {name!r}, so nothing can be like it.", name=name)
    if not _has_shapes(name, config, state, any_classes=True):
        raise ModelError("{file} is not like {name}: its tensors have other names or shapes.", file=file, name=name)
    return _answers(config)


def answers_of_architecture(name: str, states: Iterable[StateDict]) -> dict[str, Any]:
    """The answers of timm's architecture `name`, where one of these states (or their shapes) has its tensors; else {}.

    How photos were prepared is that of the weights that timm has of it, from which a training mostly begins.
    """
    import timm

    module = next((made for state in states if (made := _made_with_shapes(name, state)) is not None), None)
    if module is None:
        return {}
    config, block = timm.get_pretrained_cfg(name), next(iter(getattr(module, "blocks", [])), None)
    attn, mlp, norm = (getattr(block, part, None) for part in ("attn", "mlp", "norm1"))
    act = getattr(mlp, "act", None)
    kind = "gelu_tanh" if getattr(act, "approximate", "") == "tanh" else ACTIVATIONS_OF_TIMM.get(type(act).__name__)
    found = {"architecture": name.partition(".")[0], "pool": getattr(module, "global_pool", None), "activation": kind,
             "heads": getattr(attn, "num_heads", None), "eps": getattr(norm, "eps", None),
             **(_answers(config) if config else {})}  # fmt: skip
    return {key: answer for key, answer in found.items() if answer is not None}


def with_likely_answers(questions: Sequence[OpenQuestion], answers: Mapping[str, Any], why: str) -> tuple[OpenQuestion, ...]:
    """The questions with other likely answers, and the reason for them."""
    return tuple(
        replace(q, likely=answers[q.key], reason=why, choices=tuple(dict.fromkeys((*q.choices, answers[q.key]))))
        if q.key in answers else q
        for q in questions
    )  # fmt: skip


def norm_place_by_values(weights: Mapping[str, LazyTensor]) -> tuple[dict[str, Any], str]:
    """That norms come after attention and MLP, where those of all blocks nearly silence what they give, and the sentence why.

    timm's res-post-norm blocks begin so. Before attention such a norm would leave it nothing to look at. ({}, "") for others.
    """
    norms = [w for name, w in weights.items() if re.search(r"(?:^|\.)blocks\.\d+\.norm[12]\.weight$", name)]
    if not norms or any(w.values().float().abs().median() > SILENT for w in norms):  # the first trained one tells
        return {}, ""
    return {"norm_place": "after"}, say("the weights of its blocks' norms are near 0")


def most_confident_normalisation(module: Any, photos: Sequence[NDArray[np.uint8]]) -> tuple[str, dict[str, float]]:
    """The name of the normalisation (of `NORMALISATIONS`) under which a classifier's answers have the lowest mean entropy on
    photos (H, W, 3) of its own size, and the entropy of each, in bits."""
    x = torch.stack([torch.from_numpy(np.array(pixels)).permute(2, 0, 1).float() / 255 for pixels in photos])
    module.eval()
    with torch.no_grad():
        found = {name: _entropy_bits(module, x, *numbers) for name, numbers in NORMALISATIONS.items()}
    return min(found, key=lambda name: found[name]), found


def _entropy_bits(module: Callable[[Tensor], Tensor], x: Tensor, mean: Sequence[float], std: Sequence[float]) -> float:
    colours = (torch.tensor(numbers, dtype=torch.float32).view(-1, 1, 1) for numbers in (mean, std))
    less, per = colours
    p = torch.cat([module((one[None] - less) / per) for one in x]).double().softmax(-1)
    return float(-(p * p.clamp(min=1e-30).log2()).sum(-1).mean())


def _named(stem: str) -> list[tuple[str, Any]]:
    """timm's weights that a file's name means: those named whole, else all of the architecture."""
    import timm

    plain = re.sub(r"[-\s]", "_", stem.casefold())
    ends = (n for n in range(len(plain), 0, -1) if n == len(plain) or not plain[n].isalnum())
    architecture = next((plain[:n] for n in ends if "." not in plain[:n] and timm.is_model(plain[:n])), "")
    if not architecture:
        return []
    configs = {name: one for name, one in timm.models.get_arch_pretrained_cfgs(architecture).items() if one.has_weights}
    whole = [name for name in configs if plain.startswith(name.casefold())]
    return [(name, configs[name]) for name in ([max(whole, key=len)] if whole else sorted(configs))]


def _has_shapes(name: str, config: Any, state: StateDict, any_classes: bool = False) -> bool:
    """Whether a state has the tensors of timm's model, but for those that depend on the input's size."""
    head = state.get("head.weight")
    if not any_classes and head is not None and head.shape[0] != config.num_classes:
        return False
    if not any_classes and name.partition(".")[0] in architectures_with_tensors(state):
        return True
    return _made_with_shapes(name, state) is not None


def _made_with_shapes(name: str, state: StateDict) -> Any:
    """timm's model, without memory, where a state has its tensors, but for those that depend on the input's size; else None."""
    import timm

    try:
        with building_on_meta_device():
            module: Any = timm.create_model(name, pretrained=False)
    except Exception as error:  # an architecture that can't be built without memory
        log_traceback(error)
        return None
    ours, other = ({key: tuple(w.shape) for key, w in one.items() if not OTHERS_SIZE.search(key)}
                   for one in (state, module.state_dict()))  # fmt: skip
    return module if ours == other else None


def _answers(config: Any) -> dict[str, Any]:
    crop = crop_answer(config.crop_mode or "center", config.crop_pct)
    place = "after" if "_rpn_" in config.architecture else "before"  # res-post-norm
    colours = tuple(config.mean), tuple(config.std)
    return {"normalise": colours, "crop": crop, "interpolation": config.interpolation, "norm_place": place}
