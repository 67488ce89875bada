"""Every map that claims to show what an answer rests on, and two that claim nothing: the middle of the picture, and chance."""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from vitcore.analysis.relevance import METHODS
from vitcore.errors import check_choice
from vitcore.forward.recording import Recording, record_batch
from vitcore.forward.relevance import relevance
from vitcore.models.vit import Vit
from vitcore.translation import say

OF_ATTENTION = ("class_attention", "last_layer_attention")
MIDDLE = "middle"
MAPS = (*METHODS, *OF_ATTENTION, MIDDLE)
CHANCE = "chance"  # beside the maps: the mean of orders by chance
NO_METHODS = (CHANCE, MIDDLE)  # baselines: never called best, and given no place
TITLES = {name: method.title for name, method in METHODS.items()} | {
    "class_attention": "class attention", "last_layer_attention": "class attention, last layer", MIDDLE: "middle of the picture",
    CHANCE: "by chance",
}  # fmt: skip


def method_maps(vit: Vit, rec: Recording, names: Iterable[str] = MAPS, target: int | None = None) -> dict[str, NDArray[np.float64]]:
    """Maps (rows, cols) of one recorded photo by name: the methods of `analysis.relevance.METHODS`, "class_attention" (attention
    of where the answer is read, mean over layers and heads), "last_layer_attention" (the same of the last layer alone) and
    "middle" (minus the distance from the middle, in pixels). `target` is a class by its index (default: the likeliest).

    Signed maps keep their sign: a patch that lowers the logit counts as weakest. What is not defined for this model is
    left out. Raises: ValueError, for a map that there is not.
    """
    found: dict[str, NDArray[np.float64]] = {}
    for name in names:
        check_choice("a map", name, MAPS)
        if name == MIDDLE:
            found[name] = -_from_the_middle(rec)
        elif name in OF_ATTENTION:
            if vit.is_global:
                layers = [vit.blocks - 1] if name == "last_layer_attention" else range(vit.blocks)
                found[name] = np.mean([rec.pooled_attention(layer) for layer in layers], 0)
        elif (vit.is_global or not METHODS[name].needs_attention) and (vit.labels or not METHODS[name].asks_class):
            chosen = target if METHODS[name].asks_class else None
            found[name] = relevance(vit, rec.model_input, name, chosen).maps
    return found


def map_title(name: str) -> str:
    """What a map is called, in the reader's language."""
    return say(TITLES[name])


def is_class_specific(name: str) -> bool:
    """Whether a map is drawn for one class."""
    return name in METHODS and METHODS[name].asks_class


def maps_by_model(rec: Recording, names: Iterable[str], target: int) -> Callable[[Vit], dict[str, NDArray[np.float64]]]:
    """What draws the maps of one photo for one class by any model of its kind: the photo is recorded anew by each."""
    wanted = tuple(names)
    return lambda vit: method_maps(vit, record_batch(vit, [(rec.photo, rec.model_input)])[0], wanted, target)


def _from_the_middle(rec: Recording) -> NDArray[np.float64]:
    centres = rec.grid.centres_px()
    return rec.grid.to_map(np.hypot(*(centres - np.array(rec.grid.image_px) / 2).T))
