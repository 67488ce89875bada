"""Models of the Hugging Face hub by their ids, `hf-hub:owner/name`: the files that make such a directory, fetched into the cache.

Its configuration comes first, so that what is no Vision Transformer is refused before its weights are downloaded.
"""

from pathlib import Path

from vitcore.errors import raise_own_mistake
from vitcore.models.formats import config_json
from vitcore.models.formats.containers import weight_files
from vitcore.models.formats.containers.json_file import read_json_object
from vitcore.models.hub_ids_and_weights import HUB_PREFIX, TIMEOUT_SECONDS, VALID_ID, Progress, _disk_is_full, _progress_bar
from vitcore.models.model_cards import ModelError

CONFIGURATION_FILES = ("config.json", "open_clip_config.json", "preprocessor_config.json")


def fetch_hub_folder(name: str, progress: Progress | None = None) -> Path:
    """The folder of a hub id with its configuration and weights, downloaded if need be.

    Raises: ModelError, when the id is none, the hub does not have it, does not give it, or can't be reached.
    """
    said = name.removeprefix(HUB_PREFIX)
    if not VALID_ID.fullmatch(said):
        raise ModelError(
            "{name} is not an id of the hub: an id looks like {example}.",
            name=repr(name[:60]),
            example="hf-hub:timm/vit_tiny_patch16_224.augreg_in21k",
        )
    repo, _, revision = said.partition("@")
    kept = next((path for file in weight_files.PREFERRED_FILES if (path := _cached_file(repo, revision, file))), None)
    if kept:
        return kept.parent
    got = {file: _download_file(repo, revision, file, lambda *_: None) for file in CONFIGURATION_FILES}
    there = next((path for path in got.values() if path), None)
    if there:
        described = config_json.read_configuration(there.parent).transformers
        if described:  # refused before its weights are fetched, where it sees no photos
            from vitcore.models.transformers_models.vision_part import find_vision_part

            find_vision_part(described, {})
    for file in (*weight_files.SHARD_INDEXES, *weight_files.PREFERRED_FILES):
        path = _download_file(repo, revision, file, progress)
        if path is None:
            continue
        if file in weight_files.SHARD_INDEXES:
            for shard in sorted(set(read_json_object(path).get("weight_map", {}).values())):
                if Path(shard).name == shard:
                    _download_file(repo, revision, shard, progress)
        return path.parent
    raise ModelError(
        "{repo} on the hub holds no weights in a supported file ({files}).",
        repo=repo,
        files=", ".join(weight_files.PREFERRED_FILES),
    )


def _cached_file(repo: str, revision: str, file: str) -> Path | None:
    from huggingface_hub import try_to_load_from_cache

    kept = try_to_load_from_cache(repo, file, revision=revision or None)
    return Path(kept) if isinstance(kept, str) else None


def _download_file(repo: str, revision: str, file: str, progress: Progress | None) -> Path | None:
    """One file of a repository, None where it has none of that name."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url
    from huggingface_hub.errors import EntryNotFoundError, GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    if kept := _cached_file(repo, revision, file):
        return kept
    try:
        get_hf_file_metadata(hf_hub_url(repo, file, revision=revision or None), timeout=TIMEOUT_SECONDS)
        return Path(hf_hub_download(repo, file, revision=revision or None, tqdm_class=_progress_bar(progress)))
    except GatedRepoError:
        raise ModelError("{repo} is gated: request access on huggingface.co/{repo}, then run `hf auth login`.", repo=repo) from None
    except (RepositoryNotFoundError, RevisionNotFoundError):
        raise ModelError("The hub has no model {repo}, or it is private: log in with `hf auth login`.", repo=repo) from None
    except EntryNotFoundError:
        return None
    except Exception as error:  # the hub's client, its transports and the disk each raise their own
        raise_own_mistake(error)
        if _disk_is_full(error):
            raise ModelError("{name} could not be downloaded: the disk is full.", name=repo) from None
        raise ModelError(
            "{repo} could not be downloaded: the hub can't be reached, or answers with an error. Try again later.", repo=repo
        ) from None
