"""Sentences about files that can't be decoded, or would have to be run."""

import re
import zlib
from collections.abc import Iterable
from pathlib import Path

from vitcore.errors import shorten_name
from vitcore.images.file_formats import first_words
from vitcore.models.model_cards import ModelError
from vitcore.translation import say

WEB_PAGE_STARTS = (b"<!doc", b"<html", b"<?xml", b"<head")
MOST_NAMED = 8  # things in a file or folder that a sentence names
NO_MODELS = re.compile(  # what a training keeps of each weight; optimum is a library, and an optimised model is one
    r"(optim(?!um|i[sz]ed|al|us)\w*|(max_)?exp_(avg|inf)\w*|momentum_buffer|grad(ient)?s?)(?![^.])"
)


def check_is_downloaded(file: Path, start: bytes) -> None:
    """Raises: ModelError, where a file's first bytes say that something else was downloaded in its place."""
    if start.startswith(b"version https://git-lfs"):
        raise ModelError("{name} is a pointer of Git LFS, and not the file itself: get it with git lfs pull.", name=file.name)
    is_text = first_words(start) or start.removeprefix(b"\xef\xbb\xbf").lstrip()[:5].lower() in WEB_PAGE_STARTS  # of any encoding
    if is_text and (b"<html" in start.lower() or b"<!doctype html" in start.lower()):
        raise ModelError("{name} is a web page, and not the file itself: download that.", name=file.name)


def damaged_file_error(file: Path, reason: object) -> ModelError:
    """The sentence about a file that can't be decoded, with the first line of the reason."""
    if isinstance(reason, zlib.error):
        reason = say("what is packed in it can't be unpacked")
    short = (str(reason).splitlines() or [""])[0][:160].rstrip(".")
    return ModelError("{name} is damaged or incomplete: {reason}.", name=file.name, reason=short or type(reason).__name__)


def no_weights_error(file: str, held: Iterable[str] = ()) -> ModelError:
    """The sentence about a file in which no tensor has a name. held: the names in it, of which the first few are told."""
    if names := [one for one in held if not one.isdecimal() and not one.startswith("__")][:MOST_NAMED]:
        return ModelError("{name} holds no named weights, but {names}.", name=file, names=", ".join(map(shorten_name, names)))
    return ModelError("{name} holds no named weights.", name=file)


def shared_out_error(file: str) -> ModelError:
    """The sentence about a file of one process of many."""
    return ModelError("{name} holds weights in pieces, which are shared out among the processes of a training (FSDP, DeepSpeed): "
                      "make one file of all of them.", name=file)  # fmt: skip


def deepspeed_error(name: str) -> ModelError:
    """The sentence about a folder of DeepSpeed's, or one process's file in it."""
    return ModelError(
        "{name} is a checkpoint of DeepSpeed: make one file of it with the script zero_to_fp32.py beside it.", name=name
    )


def no_model_error(file: str, held: Iterable[str]) -> ModelError | None:
    """The sentence about what a training saves beside its model, by the names in it; None where it may be something else."""
    names = set(held)
    if {"ds_config", "ds_version"} & names:
        return deepspeed_error(file)
    if {"state", "param_groups"} <= names or (names and all(NO_MODELS.match(name) for name in names)):
        what = say("the state of an optimiser")
    elif {"last_epoch", "_step_count"} <= names:
        what = say("the state of a schedule of learning rates")
    elif ("cpu" in names and {"python", "numpy"} & names) or "random_state" in names:
        what = say("the states of random number generators")
    elif any(name.endswith(".TrainingArguments") for name in names):
        what = say("the settings of a training")
    else:
        return None
    return ModelError(
        "{name} holds {what}, and no model: open the file of its weights, which lies beside it.", name=file, what=what
    )


def too_large_tensor_error(file: Path, tensor: str) -> ModelError:
    """The sentence about a tensor that says it is larger than what the file holds."""
    return damaged_file_error(file, say("{tensor} claims more values than there are", tensor=repr(tensor[:60])))


def needs_code_error(file: Path, code: str) -> ModelError:
    """The sentence about a file that is a program, or holds objects that only their own code can make."""
    return ModelError(
        "{name} can't be opened without running code in it ({code}), which is not done here. If you trust it, save only its "
        'weights with torch.save(model.state_dict(), "weights.pth").',
        name=file.name,
        code=code[:80],
    )
