"""The model of a library inside a module of one's own: a LightningModule, a normalisation before it, layers of a head after it.

What such a module does is not read but tried with a random picture: the model inside must see that picture with other colours at
most, and what follows it must be layers. Anything else is refused, for its numbers would not be the module's.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from vitcore.architectures.grey_input import input_channels
from vitcore.errors import model_misfit_reason, raise_own_mistake
from vitcore.models.assembly.foreign_modules import library_of, timm_module_inside
from vitcore.models.attention_structure import image_px_of_module
from vitcore.models.checkpoint_inspection.inspection import Inspection
from vitcore.models.checkpoint_inspection.likely_answers import as_unit_pixel_normalisation
from vitcore.models.model_cards import ModelError
from vitcore.probabilities import Output

HEAD_QUESTIONS = ("pool", "head_activation", "head_input")  # whose right answer shows itself in the trial
ANSWER_TOLERANCE = 1e-5  # of the largest number: sums in another order differ by less
Trial = tuple[nn.Module, Tensor, Tensor]  # a module, what the model in it saw, the module's answer
PROBABILITIES: dict[type, Output] = {nn.Softmax: "softmax", nn.LogSoftmax: "softmax", nn.Sigmoid: "sigmoid"}


@dataclass(frozen=True)
class ModelInside:
    """A model that a module holds, with the head that follows it where it is timm's; how the module normalises pixels from 0 to 1,
    if it does, and whether its numbers show that it takes 0 to 255; what its answers are, where it makes them probabilities.

    trial: where the module's answer is not the model's own: the module, what the model saw in the trial, and that answer;
    layers: those which make it of the model's own numbers, where they do; path: the model's name in the module.
    """

    module: Any
    colours: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    takes_bytes: bool = False
    output: Output | None = None
    trial: Trial | None = None
    layers: Sequence[nn.Module] = ()
    path: str = ""


def holds_a_model(module: nn.Module) -> bool:
    """Whether a class of one's own has a model of a library inside, and is no Vision Transformer built like timm's itself."""
    own = {name for name, _ in module.named_children()}  # PEFT's wrapper has all attributes of what is in it
    built_alike = {"patch_embed", "blocks"} <= own
    return not built_alike and not _is_model(module) and any(_is_model(part) for part in module.modules())


def extract_model_with_head(wrapper_copy: nn.Module, display_name: str) -> ModelInside:
    """The one model in a module that is nobody else's, of 32-bit floats on the CPU, with what was found by trying.

    Raises: ModelError, where there are several, and where the module computes what can't be told apart from the model.
    """
    path = _path_of_model(wrapper_copy, display_name)
    model = wrapper_copy.get_submodule(path)
    inner = timm_module_inside(model)
    high, wide = _image_px(inner)
    x = torch.rand(1, input_channels(model), high, wide, generator=torch.Generator().manual_seed(0))
    seen, told, layers, answer = _trial(wrapper_copy, model, x, display_name, path)
    colours, takes_bytes = _colours(x, seen, display_name, path)
    output = next((means for kind, means in PROBABILITIES.items() if layers and isinstance(layers[-1], kind)), None)
    if library_of(model) and inner is model and layers != []:
        return ModelInside(model, colours, takes_bytes, output, (wrapper_copy, seen, answer), layers or (), path)
    if told is None or layers is None or (layers and inner is not model):
        raise _unexplained_wrapper_error(display_name, path)
    if layers:
        put_layers_after(model, layers, (wrapper_copy, seen, answer), display_name, path)
    return ModelInside(model, colours, takes_bytes, output)


def put_layers_after(model: Any, layers: Sequence[nn.Module], trial: Trial, name: str, path: str) -> None:
    """Give a timm model the layers of a head that follow it, but for probabilities that the last makes.

    Raises: ModelError, where it does not answer the trial with them as the whole module does.
    """
    _, seen, answer = trial
    last = layers[-1:] if isinstance(layers[-1], tuple(PROBABILITIES)) else []
    if kept := layers[: len(layers) - len(last)]:
        _add_head(model, list(kept), name, path)
    with torch.no_grad():
        ours = model(seen)
        for layer in last:
            ours = layer(ours)
    if not _alike(ours, answer):
        raise _unexplained_wrapper_error(name, path)


def module_with_head(inspection: Inspection, trial: Trial, name: str) -> tuple[dict[str, Any], Any]:
    """The timm module with the tensors of a whole module, and the answers about its head with which it answers like that.

    Raises: ModelError, where it does with none.
    """
    asked = [q for q in inspection.questions if q.key in HEAD_QUESTIONS]
    _, seen, answer = trial
    for choices in itertools.product(*(q.choices for q in asked)):
        answers = {q.key: choice for q, choice in zip(asked, choices, strict=True)}
        module = inspection.module(answers)
        with torch.no_grad():
            if _alike(module(seen), answer):
                return answers, module
    raise _unexplained_wrapper_error(name, inspection.part.name.rstrip("."))


def _alike(ours: Tensor, theirs: Tensor) -> bool:
    most = max(1.0, float(theirs.abs().max()))
    return ours.shape == theirs.shape and float((ours - theirs).abs().max()) <= ANSWER_TOLERANCE * most


def _is_model(part: nn.Module) -> bool:
    timms = any(kind.__module__.startswith("timm.models.") for kind in type(part).__mro__)
    return bool(library_of(part)) or (timms and hasattr(part, "forward_features") and hasattr(part, "forward_head"))


def _path_of_model(module: nn.Module, name: str) -> str:
    paths: list[str] = []
    for path, part in module.named_modules():
        if _is_model(part) and not any(path.startswith(f"{roof}.") for roof in paths):
            paths.append(path)
    if len(paths) > 1:
        raise ModelError("{name} holds {count} models ({models}): wrap the one that you mean.",
                         name=name, count=len(paths), models=", ".join(paths[:5]))  # fmt: skip
    whole_clip = library_of(module.get_submodule(paths[0])) == "open_clip" and hasattr(module.get_submodule(paths[0]), "visual")
    return f"{paths[0]}.visual" if whole_clip else paths[0]


def _image_px(model: Any) -> tuple[int, int]:
    config = getattr(model, "pretrained_cfg", None) or getattr(model, "config", None)
    said = config.get("input_size", (3, 224, 224))[1:] if isinstance(config, Mapping) else getattr(config, "image_size", None)
    size = said or getattr(model, "image_size", None) or getattr(getattr(model, "visual", None), "image_size", None) or 224
    return image_px_of_module(model, (size, size) if isinstance(size, int) else tuple(size))


def _trial(
    module: nn.Module, model: nn.Module, x: Tensor, name: str, path: str
) -> tuple[Tensor, Tensor | None, list[nn.Module] | None, Tensor]:
    """What the model saw of a picture and answered, the layers after it (None where more follows), and the module's answer."""
    passes: list[tuple[Any, Any]] = []
    calls: list[tuple[nn.Module, Any, Any]] = []

    def see(_: nn.Module, given: tuple[Any, ...], more: dict[str, Any], out: Any) -> None:
        passes.append(((*given, *more.values()), out))

    def call(part: nn.Module, given: tuple[Any, ...], out: Any) -> None:
        calls.append((part, given[0] if given else None, out))

    try:
        with ExitStack() as hooks, torch.no_grad():
            hooks.enter_context(model.register_forward_hook(see, with_kwargs=True))
            for part in _parts_after(module, model):
                hooks.enter_context(part.register_forward_hook(call))
            answer = _numbers(module(x))
    except Exception as error:  # whatever a class of one's own asks for beside the picture
        raise_own_mistake(error)
        raise ModelError("{name} can't be read: it gives no output for a single picture ({reason}).",
                         name=name, reason=model_misfit_reason(error)) from None  # fmt: skip
    pictures = [given for given in passes[0][0] if isinstance(given, Tensor)] if len(passes) == 1 else []
    if len(pictures) != 1:
        raise ModelError("{name} does not call {part} once, with one picture: wrap {part} itself.", name=name, part=path)
    told = _numbers(passes[0][1])
    if answer is None:
        raise _unexplained_wrapper_error(name, path)
    return pictures[0], told, None if told is None else _layers_between(told, answer, calls), answer


def _parts_after(module: nn.Module, model: nn.Module) -> Iterator[nn.Module]:
    """All parts of a module but the model, what it is made of, and what holds it."""
    inside = set(model.modules())
    for part in module.modules():
        if part not in inside and model not in set(part.modules()):
            yield part


def _numbers(out: Any) -> Tensor | None:
    """The one tensor that an answer is, or its logits."""
    out = out.get("logits") if isinstance(out, Mapping) else getattr(out, "logits", out)
    return out if isinstance(out, Tensor) else None


def _layers_between(told: Tensor, answer: Tensor, calls: list[tuple[nn.Module, Any, Any]]) -> list[nn.Module] | None:
    """The layers that were given the model's answer and made the module's of it, one after the other; None where others did."""
    if told is answer:
        return []
    for i, (part, given, out) in reversed(list(enumerate(calls))):  # a container speaks after its layers
        if given is told and isinstance(out, Tensor) and (rest := _layers_between(out, answer, calls[i + 1 :])) is not None:
            return [part, *rest]
    return None


def _colours(x: Tensor, seen: Tensor, name: str, path: str) -> tuple[tuple[tuple[float, ...], tuple[float, ...]] | None, bool]:
    """Mean and deviation by which a picture was normalised, None where it came as it was; whether it should have been of 0 to 255.

    Raises: ModelError, where more was done to it.
    """
    refusal = ModelError("{name} does more to a picture than normalise it before {part}: wrap {part} itself.", name=name, part=path)
    if seen.shape != x.shape:
        raise refusal
    given, made = x[0].double().flatten(1), seen[0].double().flatten(1)
    off = given - given.mean(1, keepdim=True)
    slope = (off * made).sum(1) / (off * off).sum(1)
    start = made.mean(1) - slope * given.mean(1)
    left = (made - slope[:, None] * given - start[:, None]).abs().max()
    if not (float(left) <= ANSWER_TOLERANCE * max(1.0, float(made.abs().max())) and bool((slope > 0).all())):
        raise refusal
    if torch.allclose(slope, torch.ones_like(slope), atol=1e-6) and torch.allclose(start, torch.zeros_like(start), atol=1e-6):
        return None, False
    mean, std = ([round(float(n), 6) for n in numbers] for numbers in (-start / slope, 1 / slope))
    return as_unit_pixel_normalisation(mean, std)


def _add_head(model: Any, layers: list[nn.Module], name: str, path: str) -> None:
    """Put layers that follow a timm model after its own head. Raises: ModelError, for a model whose head is not found."""
    said = (getattr(model, "pretrained_cfg", None) or {}).get("classifier") or "head"
    wheres = (said,) if isinstance(said, str) else tuple(said)
    last = [part for layer in layers for part in layer.modules() if isinstance(part, nn.Linear)]
    try:
        heads = [model.get_submodule(where) for where in wheres]
    except AttributeError:
        heads = []
    if not heads or not last:
        raise _unexplained_wrapper_error(name, path)
    for where, own in zip(wheres, heads, strict=True):  # of a class and a distillation token the mean is taken
        plain = [part for part in (own, *layers) if not isinstance(part, nn.Dropout | nn.Identity)]
        model.set_submodule(where, plain[0] if len(plain) == 1 else nn.Sequential(*plain))
    model.num_classes = last[-1].out_features


def _unexplained_wrapper_error(name: str, path: str) -> ModelError:
    """The refusal of a module whose answer is not its model's, nor that of layers of a head after it."""
    return ModelError("{name} does more after {part} than layers of a head: wrap {part} itself.", name=name, part=path)
