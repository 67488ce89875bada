"""The hub: weights of timm's models as local files, placed by hand or downloaded through huggingface_hub."""

import difflib
import errno
import io
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vitcore.errors import raise_own_mistake
from vitcore.models.model_cards import MODEL_CARDS, ModelError, missing_file_error
from vitcore.translation import say

TIMEOUT_SECONDS = 5  # a hub that has not answered by then is not reached
Progress = Callable[[int, int], None]  # bytes so far, bytes in all
HUB_PREFIX = "hf-hub:"
VALID_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}(@[\w.-]{1,100})?")
HUB_PAGE = re.compile(r"https?://(?:www\.)?(?:huggingface\.co|hf\.co)/([^/?#]+/[^/?#]+)(?:/(?:tree|blob)/([^/?#]+))?")


def parse_hub_id(text: str) -> str:
    """The hub's id, `owner/name` or `owner/name@revision`, in an id with or without `hf-hub:`, or in a model page's address.

    What is neither comes back as it is.
    """
    text = text.strip().removeprefix(HUB_PREFIX)
    if page := HUB_PAGE.match(text):
        return page[1] + (f"@{page[2]}" if page[2] and page[2] != "main" else "")
    return text


def _manual_weights_folder() -> Path:
    """The folder where people may place weights themselves: `NAME.safetensors`."""
    return Path(os.environ.get("VITCORE_MODELS", Path.home() / ".cache" / "inside-vit" / "models"))


def fetch_weights(name: str, progress: Progress | None = None) -> Path:
    """The weights of a hub model as a local file, downloaded if need be.

    Raises: ModelError, when it is no plain ViT (nothing is downloaded then), when the hub does not have it or can't be
    reached (a note says how to place the file by hand), and when there is no room on the disk.
    """
    placed = _manual_weights_folder() / f"{name}.safetensors"
    if placed.is_file():
        return placed
    import timm
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url, try_to_load_from_cache
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        config = timm.models.get_pretrained_cfg(name, allow_unregistered=False) if timm.is_model(name) else None
    except RuntimeError:  # the part after the dot
        config = None
    if config is None or not (config.hf_hub_id or config.url):
        raise ModelError(_unknown_name_error(name))
    repo = config.hf_hub_id or f"timm/{name}"
    kept = try_to_load_from_cache(repo, "model.safetensors")
    if isinstance(kept, str):
        return Path(kept)
    from vitcore.models.model_size import size_of_timm_model

    size_of_timm_model(name)  # before anything is downloaded
    try:
        get_hf_file_metadata(hf_hub_url(repo, "model.safetensors"), timeout=TIMEOUT_SECONDS)  # fails at once when offline
        return Path(hf_hub_download(repo, "model.safetensors", tqdm_class=_progress_bar(progress)))
    except RepositoryNotFoundError:
        raise ModelError("The hub has no model {repo}.", repo=repo) from None
    except Exception as error:  # the hub's client, its transports and the disk each raise their own
        raise_own_mistake(error)
        if _disk_is_full(error):
            raise ModelError("{name} could not be downloaded: the disk is full.", name=name) from None
        refused = ModelError("{name} could not be downloaded: the hub can't be reached. Try again when online.", name=name)
        # for whoever is at this machine: a page's visitor is told nothing of its folders
        refused.add_note(say("Or save model.safetensors from huggingface.co/{repo} as {file}.", repo=repo, file=placed))
        raise refused from None


def _unknown_name_error(name: str) -> str:
    """That no model has this name, with what was perhaps meant: an id of the hub, a shipped name or one of timm's."""
    if Path(name).is_dir():
        return say("{name} is a directory that holds no model: neither weights nor a config.json.", name=name)
    if Path(name).is_absolute() or "\\" in name:
        return missing_file_error(Path(name)).args[0]
    if VALID_ID.fullmatch(repo := parse_hub_id(name)):
        return say("timm has no trained model named {name!r}; write a model of the hub as {id}.", name=name, id=HUB_PREFIX + repo)
    import timm

    tagged = timm.list_pretrained()
    names = {card.name for card in MODEL_CARDS} | set(tagged) | {one.partition(".")[0] for one in tagged}
    if near := difflib.get_close_matches(name, sorted(names), 1, cutoff=0.8):
        return say("timm has no trained model named {name!r}; the nearest name is {nearest}.", name=name, nearest=near[0])
    example = MODEL_CARDS[1].name
    return say("timm has no trained model named {name!r}; its names look like {example}.", name=name, example=example)


def _disk_is_full(error: BaseException | None) -> bool:
    """Whether that is what went wrong, or what it came from."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        error = error.__cause__ or error.__context__
    return False


def _progress_bar(progress: Progress | None) -> type:
    from tqdm.auto import tqdm

    class Bar(tqdm):  # type: ignore[misc]
        """tqdm that tells a callback how far the download is, and then draws nothing itself."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options | ({"file": io.StringIO()} if progress else {}))

        def update(self, n: float | None = 1) -> bool | None:
            shown = super().update(n)
            if progress and self.total:
                progress(int(self.n), int(self.total))
            return shown

    return Bar
