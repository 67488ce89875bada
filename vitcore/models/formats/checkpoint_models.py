"""Where in a file the model lies: under `model` or `state_dict`, behind `module.` or `backbone.`, as teacher or average.

A training checkpoint holds a model more than once. The average over its steps (EMA) and the teacher come first, as in the
evaluations of those who wrote them; the others can be asked for by name.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from vitcore.architectures.classifier_head import find_head_beside_backbone, is_not_classifier, with_timm_head
from vitcore.errors import log_traceback, shorten_name
from vitcore.models.formats import dinov3, google_npz, openclip, timm_names, torchvision_vit, transformers_clip, transformers_vit
from vitcore.models.formats.containers.file_errors import NO_MODELS, no_model_error, no_weights_error, shared_out_error
from vitcore.models.formats.containers.lazy_tensor import LazyTensor
from vitcore.models.formats.containers.weight_parametrisations import join_weight_parametrisations
from vitcore.models.formats.libraries import jeonsworld, lukemelas, monai, openmmlab, vit_pytorch
from vitcore.models.formats.rename_and_join_tensors import CheckpointFormat, StateDict
from vitcore.models.model_cards import ModelError

CHECKPOINT_FORMATS = (
    openclip.TRUNK, jeonsworld.FORMAT, *dinov3.FORMATS, timm_names.TIMM, timm_names.HYBRID, timm_names.ROOT_ONLY,
    transformers_vit.FORMAT, transformers_clip.CLIP, transformers_clip.SIGLIP, torchvision_vit.FORMAT, openclip.TOWER,
    google_npz.FORMAT, *vit_pytorch.VIT_PYTORCH, lukemelas.FORMAT, *openmmlab.OPENMMLAB, *monai.MONAI,
)  # fmt: skip
LANGUAGE_MODEL_NAMES = re.compile(r"(^|\.)(embed_tokens|wte|word_embeddings|tok_embeddings|token_embd|lm_head|shared)\.weight$")
SOUND_MODEL_NAMES = re.compile(r"(^|\.)(audio_spectrogram_transformer\..*|v\.dist_token)")  # AST's (arXiv 2104.01778)
HEAD_OF_FORMATS = re.compile(r"(heads?|(cls_|distillation_)?classifier|visual_projection|visual\.head)\.|proj$")
ROOT_HEAD = re.compile(r"(fc|linear|linear_head|cls_head|classification_head|mlp_head|last_linear|clf|logits)\d*\.")
FIRST = re.compile(r"(?<![a-z])(ema|swa|best)(?![a-z])|teacher|averag|target|shadow")
LAST = re.compile(r"student|momentum|collected|(?<![a-z])(last|latest)(?![a-z])")
ROOFS = {"module", "model", "net", "network", "student", "teacher"}
WRAPPERS = re.compile(r"(?<![^.])(_orig_mod|_checkpoint_wrapped_module|_fsdp_wrapped_module|_forward_module)\.")
RUNNING = re.compile(r"running_(mean|var)$")  # no parameters
FLAT = re.compile(r"(^|[._])flat_param")
COUNTERS = re.compile(r"(.*\.)?(initted|\w*steps?|n_averaged|num_updates|epoch)")
LOGIT_SCALE = re.compile(r"(.*\.)?\w*logit_(scale|bias)\w*")
TOKEN_CHOICE = re.compile(r"(score|token|policy)_predictor\.")  # drops tokens on a classifier's way (DynamicViT, arXiv 2106.02034)
MOST_HEAD_TENSORS, OF_BLOCKS = 16, re.compile(r"(block|layer)s?\.\d+\.\w+\.")  # what has more, or blocks, is another part


@dataclass(frozen=True, eq=False)
class CheckpointModel:
    """One model in a file: where it lies, in which format, and its weights by that library's names."""

    name: str  # "", "model", "teacher · backbone."
    format: CheckpointFormat
    weights: Mapping[str, LazyTensor]
    left_out: tuple[str, ...]  # what lies beside it under the same roof
    is_whole: bool = False  # True: every weight of the file, under its own name
    unread_head: tuple[str, ...] = ()  # those of them that look like a head, which was not taken

    def with_timm_names(self, state: StateDict) -> StateDict:
        """The part's tensors (or their shapes) by timm's names, its head among them.

        Raises: ModelError, where they have the names that the format has, but not the shapes.
        """
        try:
            return with_timm_head(self.format.convert(state))
        except ModelError:
            raise
        except KeyError as error:
            raise ModelError("Its tensors are named as in {format}, but {tensor} is missing.",
                             format=self.format.title, tensor=shorten_name(str(error.args[0]))) from None  # fmt: skip
        except Exception as error:  # torch's, of transposing and joining what doesn't fit together
            log_traceback(error)
            raise ModelError("Its tensors have the names of {format}, but not the shapes.",
                             format=self.format.title) from None  # fmt: skip

    def unused_beside(self, classes: int) -> tuple[str, ...]:
        """The few tensors beside the model with which a module around it may compute: a temperature, prompts, a layer before it.

        classes: how many it has; what scales the similarity of pictures and texts would scale their logits, too.
        """
        if self.format.projection or self.format is openclip.TRUNK:  # what lies beside a tower is of texts
            return ()
        left = [name for name in self.left_out if name not in self.unread_head]
        none = {name for name in left if is_not_classifier(name) or COUNTERS.fullmatch(name)}
        none -= {name for name in left if classes and TOKEN_CHOICE.search(name)}
        left = [name for name in left if name not in none or (classes and LOGIT_SCALE.fullmatch(name))]
        sizes = Counter(_group(name) for name in self.left_out)
        return tuple(n for n in left if (classes or sizes[_group(n)] <= MOST_HEAD_TENSORS) and not OF_BLOCKS.search(n))

    def with_computed_positions(self, state: StateDict, module: Any) -> StateDict:
        """The state with the positions of a `module`'s grid, where the library computes them and keeps none in its files."""
        table = getattr(module, "pos_embed", None)
        compute: Any = self.format.positions
        if compute is None or table is None or "pos_embed" in state:
            return state
        positions = compute(*module.patch_embed.grid_size, table.shape[-1])[None]
        return state | {"pos_embed": positions.to(state["patch_embed.proj.weight"].device)}


def find_models(tree: Mapping[str, Any], file: str) -> list[CheckpointModel]:
    """All models in a file, the likeliest first. Raises: ModelError, saying what the file holds instead."""
    mappings, lists = _named_and_lists(tree)
    if any(SOUND_MODEL_NAMES.fullmatch(name) for _, weights in mappings for name in weights):
        raise ModelError("{name} is a model of sound: it reads overlapping patches of a spectrogram, not those of a photo.",
                         name=file)  # fmt: skip
    models = [replace(part, left_out=(*part.left_out, *lists)) for path, weights in mappings for part in _models(path, weights)]
    if models:
        return sorted(models, key=_rank)
    names = [name for _, weights in mappings for name in weights]
    if error := no_model_error(file, tree):
        raise error
    if any(FLAT.search(name) for name in names):
        raise shared_out_error(file)
    if any(LANGUAGE_MODEL_NAMES.search(name) for name in names):
        raise ModelError("{name} is a language model: it reads words, not patches of a photo.", name=file)
    if not names:
        raise no_weights_error(file, tree)
    raise ModelError("{name} holds {count} {count:tensor|tensors}, but no Vision Transformer in a supported layout (timm, "
                     "transformers, torchvision, OpenCLIP, vit-pytorch, ViT-pytorch, PyTorch-Pretrained-ViT, OpenMMLab, MONAI, "
                     "Google's .npz); the first is {first}.", name=file, count=len(names), first=repr(names[0][:60]))  # fmt: skip


def whole_models(tree: Mapping[str, Any], file: str) -> list[CheckpointModel]:
    """All weights of a file whose architecture is named beside it, under their own names, the likeliest first: where it holds
    several models, all that have as many tensors. Raises: ModelError, if it has none."""
    found = weight_mappings(tree)
    most = max((len(weights) for _, weights in found), default=0)
    if not most:
        raise no_model_error(file, tree) or no_weights_error(file, tree)
    models = [CheckpointModel(" · ".join(path), timm_names.TIMM, weights, (), is_whole=True) for path, weights in found]
    return sorted((model for model in models if len(model.weights) == most), key=_rank)


def without_wrappers(part: CheckpointModel) -> CheckpointModel:
    """The part without the modules that hold all of it (`module.`, `model.backbone.`)."""
    weights, roof = dict(part.weights), ""
    while len(firsts := {name.partition(".")[0] for name in weights}) == 1 and all("." in name for name in weights):
        first = f"{firsts.pop()}."
        weights, roof = {name[len(first) :]: weight for name, weight in weights.items()}, roof + first
    return replace(part, name=" · ".join(filter(None, (part.name, roof))), weights=weights)


def drop_transformers_clip_classifier(part: CheckpointModel) -> CheckpointModel:
    """The part without the classifier beside transformers' CLIP, which reads the class token, normed, or the mean of the patches,
    not normed: no tensor tells."""
    head = tuple(name for name in part.weights if name.startswith("classifier."))
    if part.format is not transformers_clip.CLIP or not head:
        return part
    weights = {name: weight for name, weight in part.weights.items() if name not in head}
    return replace(part, weights=weights, unread_head=head, left_out=part.left_out + head)


def with_linear_head(part: CheckpointModel, classifiers: Iterable[str]) -> Iterator[CheckpointModel]:
    """The part with the one linear layer beside a backbone as its classifier, once by each of these names; else nothing."""
    firsts = Counter(name.partition(".")[0] for name in part.weights)
    roof = f"{firsts.most_common(1)[0][0]}." if firsts else ""
    inside = {name.removeprefix(roof): weight for name, weight in part.weights.items() if name.startswith(roof)}
    head, _ = find_head_beside_backbone(name for name in part.weights if not name.startswith(roof))
    leaves = {name.rpartition(".")[2]: whole for name, whole in head.items()}
    if "weight" in leaves and leaves.keys() <= {"weight", "bias"} and len(leaves) == len(head):
        left = tuple(name for name in part.weights if not name.startswith(roof) and name not in head.values())
        for classifier in classifiers:
            own = {f"{classifier}.{leaf}": part.weights[whole] for leaf, whole in leaves.items()}
            yield replace(part, weights=inside | own, left_out=left)


def read_tensors(part: CheckpointModel) -> StateDict:
    """The part's tensors as 32-bit floats, each in memory once. Raises: ModelError, for one that is damaged."""
    return {name: weight.values().float() for name, weight in part.weights.items()}


def weight_mappings(tree: Mapping[str, Any]) -> list[tuple[tuple[str, ...], dict[str, LazyTensor]]]:
    """Every mapping that holds weights, with the way there; what torch wraps a module in is left out of their names.

    A list of tensors that is called an average has the names of the weights that have its shapes in its order.
    """
    return _named_and_lists(tree)[0]


def _named_and_lists(tree: Mapping[str, Any]) -> tuple[list[tuple[tuple[str, ...], dict[str, LazyTensor]]], tuple[str, ...]]:
    """Mappings that hold weights, and ways to lists of matrices without names, which may be averages of some weights."""
    named, lists, unnamed = [], [], []
    by_shapes: dict[tuple[tuple[int, ...], ...], tuple[dict[str, LazyTensor], list[str]]] = {}
    for path, weights in _mappings(tree, ()):
        if all(name.isdecimal() for name in weights):
            lists.append((path, weights))
            continue
        named.append((path, weights))
        names = [n for n, w in weights.items() if w.dtype is not None and w.dtype.is_floating_point and not RUNNING.search(n)]
        by_shapes.setdefault(tuple(weights[name].shape for name in names), (weights, names))
    for path, tensors in lists:
        weights, names = by_shapes.get(tuple(tensor.shape for tensor in tensors.values()), ({}, []))
        if names and FIRST.search(".".join(path).lower()):  # else they may be an optimiser's moments
            named.append((path, weights | dict(zip(names, tensors.values(), strict=True))))
        elif any(len(w.shape) > 1 and w.dtype is not None and w.dtype.is_floating_point for w in tensors.values()):
            unnamed.append(".".join(path))
    return named, tuple(unnamed)


def _mappings(tree: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], dict[str, LazyTensor]]]:
    weights = {name: value for name, value in tree.items() if isinstance(value, LazyTensor)}
    if weights:
        plain = {WRAPPERS.sub("", name): value for name, value in weights.items()}
        yield path, join_weight_parametrisations(plain if len(plain) == len(weights) else weights)
    for name, value in tree.items():
        if isinstance(value, Mapping) and not NO_MODELS.fullmatch(name):
            yield from _mappings(value, (*path, name))


def _models(path: tuple[str, ...], weights: dict[str, LazyTensor]) -> Iterator[CheckpointModel]:
    taken: set[str] = set()
    for format in CHECKPOINT_FORMATS:
        first = format.anchors[0]
        for name in [name for name in weights if name.endswith(first)]:
            prefix = name[: -len(first)]
            if prefix in taken or (prefix and prefix[-1] not in "./") or not all(prefix + a in weights for a in format.anchors):
                continue
            if any(NO_MODELS.fullmatch(step) for step in prefix.split(".")):
                continue
            taken |= {prefix, prefix + "visual.trunk." if format is openclip.TRUNK else prefix}
            inside = {name[len(prefix) :]: w for name, w in weights.items() if name.startswith(prefix)}
            beside = _beside(format, prefix, weights) if prefix else {}
            unread: tuple[str, ...] = ()
            if not any(HEAD_OF_FORMATS.match(name) for name in (*inside, *beside)):
                found, unread = _head_beside(prefix, weights)
                beside |= found
                inside = {name: w for name, w in inside.items() if prefix + name not in found.values()}
            elif unread := _layers_after(prefix, {**beside, **{name: prefix + name for name in inside}}, weights):
                beside = {name: whole for name, whole in beside.items() if not HEAD_OF_FORMATS.match(name)}
                inside = {name: w for name, w in inside.items() if not HEAD_OF_FORMATS.match(name)}
            known = {prefix + n for n in inside} | set(beside.values())
            both = {n: weights[whole] for n, whole in beside.items()} | inside
            both = timm_names.with_timm_eva_names(both) if format is timm_names.TIMM else both
            place, left = " · ".join((*path, prefix) if prefix else path), tuple(n for n in weights if n not in known)
            yield CheckpointModel(place, format, both, left, unread_head=unread)


def _beside(format: CheckpointFormat, prefix: str, weights: Mapping[str, LazyTensor]) -> dict[str, str]:
    """Names of parts that lie beside the prefix, as the format calls them -> as they are in the file."""
    steps = prefix.rstrip("./").split(".")
    roofs = ["".join(f"{step}." for step in steps[:n]) for n in range(len(steps))]
    pattern = re.compile("|".join(format.beside) or r"(?!)")
    return {name[len(roof) :]: name for roof in roofs for name in weights
            if name.startswith(roof) and pattern.fullmatch(name[len(roof) :])}  # fmt: skip


def _head_beside(prefix: str, weights: Mapping[str, LazyTensor]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The same of a head that a person put beside a backbone, under a name of their own; or what may be one, and isn't taken."""
    own = [name for name in weights if name.startswith(prefix) and ROOT_HEAD.match(name[len(prefix) :])]
    for roof, names in ((prefix, own), *_around(prefix, weights)):  # of a subclass whose head has another name; else beside it
        head, unread = find_head_beside_backbone(_steps_after(roof, prefix, names))
        first = unread[0].partition(".")[0] if unread else ""
        if any(len(weights[name].shape) > 2 for name in names if first and name[len(roof) :].partition(".")[0] == first):
            return {}, ()  # no classifier, but layers over a picture
        if head or unread:
            whole = dict(zip(_steps_after(roof, prefix, names), names, strict=True))
            return {new: whole[name] for new, name in head.items()}, tuple(whole[name] for name in unread)
    return {}, _layers_after(prefix, {name: name for name in weights if name.startswith(prefix)}, weights)


def _around(prefix: str, weights: Mapping[str, LazyTensor]) -> Iterator[tuple[str, list[str]]]:
    """What holds the backbone, the nearest first, and the names of the other tensors there."""
    steps = prefix.rstrip("./").split(".") if prefix else []
    for n in reversed(range(len(steps))):
        roof = "".join(f"{step}." for step in steps[:n])
        yield roof, [name for name in weights if name.startswith(roof) and not name.startswith(prefix)]


def _group(name: str) -> str:
    """The first step of a tensor's name that is no wrapper's: what lies beside a model is a part of its own."""
    steps = [step for step in name.split(".")[:-1] if step not in ROOFS]
    return steps[0] if steps else name


def _steps_after(roof: str, prefix: str, names: Iterable[str]) -> list[str]:
    """Names under the roof; those in one `nn.Sequential` with the backbone, where it is first, as layers of a head from 0."""
    short, place = [name[len(roof) :] for name in names], prefix[len(roof) :].partition(".")[0]
    numbers = [name.partition(".")[0] for name in short]
    if not place.isdecimal() or not all(n.isdecimal() and int(n) > int(place) for n in numbers):
        return short
    return [f"head.{int(n) - int(place) - 1}{name[len(n) :]}" for n, name in zip(numbers, short, strict=True)]


def _layers_after(prefix: str, model: Mapping[str, str], weights: Mapping[str, LazyTensor]) -> tuple[str, ...]:
    """The few tensors beside a model among which a matrix takes as many numbers as a vector of the model has: layers after it."""
    sizes = {weights[whole].shape[0] for whole in model.values() if len(weights[whole].shape) == 1}
    sizes |= {size for name, whole in model.items() if HEAD_OF_FORMATS.match(name) for size in weights[whole].shape}
    for _, names in _around(prefix, weights):
        left = [name for name in names if name not in model.values() and not is_not_classifier(name)]
        shapes = [weights[name].shape for name in left]
        small = len(left) <= MOST_HEAD_TENSORS and all(len(shape) <= 2 for shape in shapes)
        small = small and not any(OF_BLOCKS.search(name) for name in left)
        if small and any(len(shape) == 2 and shape[1] in sizes for shape in shapes):
            return tuple(left)
    return ()


def _rank(part: CheckpointModel) -> tuple[int, int]:
    place = part.name.lower()
    return (0 if FIRST.search(place) else 2 if LAST.search(place) else 1, len(part.name))
