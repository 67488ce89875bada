"""Export: a model as a timm hub directory, which `timm.create_model("local-dir:DIR", pretrained=True)` opens without us."""

from pathlib import Path
from typing import Any

import timm
from timm.models import save_for_hf

from vitcore.architectures.build_model import OWN_FIELDS
from vitcore.models import local_files
from vitcore.models.load_model import Vit, inspect, load, wordnet_ids
from vitcore.models.model_cards import ModelError

NEAREST = {  # width -> timm's architecture of that name; every argument of a model's own is written beside it
    384: "vit_small_patch16_224", 768: "vit_base_patch16_224", 1024: "vit_large_patch16_224",
    1280: "vit_huge_patch14_224",
}  # fmt: skip
OTHERWISE = "vit_tiny_patch16_224"


def export(model: str | Path, to: str | Path) -> Path:
    """Write config.json and model.safetensors of a run's folder, a .safetensors file, or a model's name into folder `to`.

    timm's own functions write them, with the architecture's arguments, the preprocessing and the names of the classes.
    Raises: ModelError, for models timm can't build (the paper's pre-training head) and folders that can't be written.
    """
    vit, file = load(model), local_files.find_local_weights(model)
    module = vit.module if file is None else _as_timm(vit, _facts(file))
    try:
        save_for_hf(module, str(to), model_config=_names(vit), safe_serialization=True)
    except OSError as error:
        raise ModelError(f"{to} can't be written: {error.strerror or error}.") from None
    return Path(to)


def _facts(file: Path) -> dict[str, Any]:
    """The card beside the file, else the one that it would get."""
    return local_files.read_model_card(file) if local_files.has_model_card(file) or not file.exists() else inspect(file).card()


def _as_timm(vit: Vit, facts: dict[str, Any]) -> Any:
    """The model of one's own as timm's factory builds it, which notes down what it was built with."""
    shape = dict(facts["architecture"])
    if shape.get("norm_eps") == 1e-6:  # timm's own
        del shape["norm_eps"]
    if others := [term for term in OWN_FIELDS if term != "mlp_head" and shape.get(term)]:
        raise ModelError(f"{vit.name} can't be written for timm: its {', '.join(others)} can't be told in a config.json.")
    if foreign := sorted(set(shape) & {"family", "resnet", "positions"}):
        raise ModelError(f"{vit.name} is of an architecture that timm's names don't build ({', '.join(foreign)}).")
    if shape.get("mlp_head"):
        raise ModelError(
            f"{vit.name} has the paper's pre-training head, a hidden layer that timm's models lack: fine-tune it first, "
            "which gives it a linear head."
        )
    name = NEAREST.get(vit.module.embed_dim, OTHERWISE)
    input_ = facts["input"] | {"input_size": (3, *vit.grid.image_px)}
    about = {"architecture": name, "tag": "", "license": vit.card.licence, "num_classes": vit.module.num_classes,
             "first_conv": "patch_embed.proj", "classifier": "head", "fixed_input_size": True}  # fmt: skip
    module = timm.create_model(name, pretrained=False, pretrained_cfg=input_ | about, **shape)
    module.load_state_dict(vit.module.state_dict())
    return module.eval()


def _names(vit: Vit) -> dict[str, Any]:
    """Names of the classes as timm keeps them: WordNet ids with descriptions for ImageNet, else the names."""
    ids = wordnet_ids(vit)
    if ids:
        return {"label_names": ids, "label_descriptions": dict(zip(ids, vit.labels, strict=True))}
    return {"label_names": vit.labels} if vit.labels else {}
