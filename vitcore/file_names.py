"""Names of files that people take along: what is in them, of which photo and model, in what every system can keep."""

import re
from collections.abc import Collection
from itertools import chain, count
from pathlib import Path

MAX_CHARACTERS = 44  # characters of a photo's or a model's name
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d|model)(?![^.])", re.IGNORECASE)  # Windows' names, and a folder of ours
ENDING = re.compile(
    r"\.(jpe?g|png|webp|gif|bmp|tiff?|hei[cf]|avif|safetensors|pth?|bin|ckpt|npz|zip)$", re.IGNORECASE
)  # of photos and of weights; ".dino" is part of a model's name
WRITTEN = re.compile(r"@[^~]*")  # when a run's model was written, and whose another is


class FileSubject(str):
    """What a file is of, by its name for the file's name (a photo's, a model's), and as it is `shown` on pages and pictures."""

    shown: str

    def __new__(cls, name: str, shown: str) -> "FileSubject":
        """The name, with what is shown for it."""
        subject = super().__new__(cls, name)
        subject.shown = shown
        return subject


def subject_title(subject: str) -> str:
    """What pages and pictures show for a file's subject."""
    return subject.shown if isinstance(subject, FileSubject) else subject


def safe_folder_name(name: str) -> str:
    """A photo's name as the name of a folder that every system can unpack: letters, digits, dots and dashes."""
    stem = Path(name).stem if len(Path(name).suffix) <= 6 else name
    kept = _safe(stem, 60)
    return f"photo-{kept}".rstrip("-") if not kept or RESERVED.match(kept) else kept


def result_file_name(ending: str, what: str, *sources: str) -> str:
    """ "rollout-red-panda-vit_small.png": what is in a file, and the photo and the models that it is of, without their endings."""
    names = [_safe(what, MAX_CHARACTERS), *(_safe(ENDING.sub("", WRITTEN.sub("", one)), MAX_CHARACTERS) for one in sources)]
    return f"{'-'.join(filter(None, names))}.{ending}"


def append_number_if_taken(name: str, taken: Collection[str]) -> str:
    """The name, or with a number from 2 on where it is taken; on some systems the case of letters makes no difference."""
    known = {one.lower() for one in taken}
    return next(one for one in chain([name], (f"{name}-{n}" for n in count(2))) if one.lower() not in known)


def _safe(text: str, most: int) -> str:
    kept = re.sub(r"[^\w.-]+", "-", text).strip("-._")[:most].rstrip("-._")
    return kept.encode("utf-8")[: 2 * most].decode("utf-8", "ignore")
