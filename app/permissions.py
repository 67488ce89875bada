"""Local or public: what visitors may make this server do, decided here for every control that asks.

Public when INSIDE_VIT_PUBLIC is 1, local when it is 0. Unset, the server's own address tells: one that only this machine
reaches (127.0.0.1, as `.streamlit/config.toml` has it) is local; a server that others reach is public.
"""

import os

from streamlit import config, runtime

from app import texts

RESTRICTED = ("trainings", "measurements", "paths", "downloads")  # in public: processes, the server's folders, other models
UPLOAD_LIMIT_MB = {"local": 500, "public": 100}  # of a model's file; photos have a limit of their own
LOOPBACK_ADDRESSES = ("127.0.0.1", "localhost", "::1")


class NotAllowedError(RuntimeError):
    """What was asked for is off here; the message is a sentence for the visitor."""


def is_public() -> bool:
    """Whether strangers are expected."""
    setting = os.environ.get("INSIDE_VIT_PUBLIC", "").strip().lower()
    if setting:
        return setting not in ("0", "false", "no", "off")
    address = config.get_option("server.address") or ""
    return runtime.exists() and address not in LOOPBACK_ADDRESSES and not address.startswith("unix:")


def is_allowed(action: str) -> bool:
    """Whether this server does that for a visitor: one of OFF, which are off in public."""
    assert action in RESTRICTED, action
    return not is_public()


def why_not_allowed(action: str) -> str:
    """The sentence that says what is off, and why."""
    return texts.prose("common")[f"off {action}"]


def upload_limit_mb() -> int:
    """How large a file may be that a visitor brings: the mode's limit, or the server's own where that is lower."""
    return min(UPLOAD_LIMIT_MB["public" if is_public() else "local"], int(config.get_option("server.maxUploadSize")))


def limit_streamlit_uploads() -> None:
    """In public Streamlit itself, too, takes no more than that, whatever a message made by hand says."""
    if config.get_option("server.maxUploadSize") > (limit_mb := upload_limit_mb()):
        config.set_option("server.maxUploadSize", limit_mb)


def require_allowed(action: str) -> None:
    """Go on only where it is allowed; a page that hides a button does not stop a message made by hand. Raises: NotAllowedError."""
    if not is_allowed(action):
        raise NotAllowedError(why_not_allowed(action))
