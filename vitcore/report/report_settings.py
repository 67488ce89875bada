"""What a report is asked to show, and where what it shows came from."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from vitcore.analysis.rollout import HEAD_FUSIONS, HeadFusion
from vitcore.forward.layer_indices import layer_index
from vitcore.grid import Grid
from vitcore.models.model_cards import DEFAULT_MODEL
from vitcore.models.vit import Vit
from vitcore.translation import say


@dataclass(frozen=True, kw_only=True)
class ReportSettings:
    """The settings of the pictures; defaults are those of the paper's figures.

    Raises: ValueError, with a sentence, for settings out of range.
    """

    fusion: HeadFusion = "mean"  # how heads are fused
    discard: float = 0.0  # share of the weakest weights set to 0, 0 to below 1
    residual: float = 0.5  # weight of the identity, 0 to 1
    first_block: int = 0  # blocks before it are left out; negative ones, here and of `layer`, are counted from the last
    patch: int | None = None  # whose rollout; None: the token the answer is read from
    pin: int | None = None  # a patch outlined on the photo, with what it attends to in the layer
    layer: int | None = None  # whose heads are shown; None: the last
    head: int | None = None  # whose attention lies on the photo; None: the mean of all heads
    token: int | None = None  # a token before the patches, by its place in the sequence, asked in place of the pinned patch
    received: bool = False  # in the layer: what is given to the token that is asked, not what it gives
    components: int = 28  # of the filters, the paper's number
    mask_outliers: bool = False  # nothing flows out of outlier tokens (arXiv 2309.16588), in rollout and in the layer

    def __post_init__(self) -> None:
        if self.fusion not in HEAD_FUSIONS:
            raise ValueError(say("The fusion is one of {names}.", names=", ".join(HEAD_FUSIONS)))
        if not (0 <= self.discard < 1 and 0 <= self.residual <= 1 and self.components >= 1):
            raise ValueError(say("The discard ratio is from 0 to below 1, the residual weight from 0 to 1."))

    @property
    def chooses_attention(self) -> bool:
        """Whether a layer, a head or an arrow was chosen, so that this attention is a picture of its own."""
        return self.received or not self.layer is self.head is self.token is None

    def block(self, blocks: int) -> int:
        """The layer whose heads are shown, of a model with so many."""
        return layer_index(-1 if self.layer is None else self.layer, blocks)

    def fit_to_model(self, grid: Grid, blocks: int, heads: int) -> ReportSettings:
        """These settings with layers counted from 0. Raises: ValueError, with a sentence, for what a model does not have."""
        for patch in (self.patch, self.pin):
            if patch is not None and not 0 <= patch < grid.patches:
                raise ValueError(say("The patch is from 0 to {last}.", last=grid.patches - 1))
        if not -blocks <= self.first_block < blocks:
            raise ValueError(say("The first layer is from 0 to {last}.", last=blocks - 1))
        if self.layer is not None and not -blocks <= self.layer < blocks:
            raise ValueError(say("The layer is from 0 to {last}.", last=blocks - 1))
        if self.head is not None and not 0 <= self.head < heads:
            raise ValueError(say("The head is from 0 to {last}.", last=heads - 1))
        if self.token is not None and not 0 <= self.token < grid.prefix:
            raise ValueError(say("The token before the patches is from 0 to {last}.", last=grid.prefix - 1))
        layer = None if self.layer is None else layer_index(self.layer, blocks)
        return replace(self, first_block=layer_index(self.first_block, blocks), layer=layer)

    def rollout_arguments(self) -> dict[str, Any]:
        """The arguments of `analysis.rollout.rollout`."""
        return {"discard_ratio": self.discard, "residual": self.residual, "first_block": self.first_block}

    def query_token(self, grid: Grid) -> int | None:
        """The token that rollout starts from, or None for the one the answer is read from."""
        return None if self.patch is None else grid.prefix + self.patch

    def attending_token(self, grid: Grid) -> int | None:
        """The token whose attention in the layer is shown, or None for where the answer is read."""
        if self.token is not None:
            return self.token
        return self.query_token(grid) if self.pin is None else grid.prefix + self.pin

    def command_line_flags(self) -> list[str]:
        """The shell's flags for all that is not the default."""
        flags = {"--fusion": "fusion", "--discard": "discard", "--residual": "residual", "--first-block": "first_block",
                 "--patch": "patch", "--pin": "pin", "--layer": "layer", "--head": "head", "--token": "token"}  # fmt: skip
        asked = {
            flag: getattr(self, name) for flag, name in flags.items() if getattr(self, name) != getattr(DEFAULT_SETTINGS, name)
        }
        valued = [part for flag, value in asked.items() for part in (flag, str(value))]
        return valued + ["--received"] * self.received + ["--mask-outliers"] * self.mask_outliers


DEFAULT_SETTINGS = ReportSettings()


def query_token_words(vit: Vit, settings: ReportSettings) -> str:
    """Whose rollout the pictures show, in words."""
    if settings.patch is not None:
        return say("patch {patch}", patch=settings.patch)
    return say("the {readout}", readout=say(vit.pooling))


def attending_token_words(vit: Vit, settings: ReportSettings) -> str:
    """Whose attention in the layer they show, in words."""
    if settings.token is None:
        return query_token_words(vit, settings if settings.pin is None else replace(settings, patch=settings.pin))
    from vitcore.forward.block_activations import prefix_token_names

    kind, _, number = prefix_token_names(vit)[settings.token].partition(" ")
    if number:
        return say("register {number}", number=number)
    return say("the {readout}", readout=say("distillation token") if kind == "distillation" else say("class token"))


def layer_range_words(first: int, last: int) -> str:
    """The layers a rollout has been through, in words."""
    return say("layer {first}", first=first) if first == last else say("layers {first}–{last}", first=first, last=last)


@dataclass(frozen=True, kw_only=True)
class ReportOrigin:
    """Where a report came from, for its last page."""

    address: str = ""  # that shows the same in the app; empty where there is none
    lacking: str = ""  # what this address can't carry, in a sentence
    credit: Mapping[str, str] = field(default_factory=dict)  # of a gallery photo: title, author, licence, source, changes
    second_credit: Mapping[str, str] = field(default_factory=dict)  # the same of the second photo of a comparison
    file: str = ""  # of the photo, as a command would name it; empty: its own name
    lang: str = "en"  # of the words, as HTML names languages
    made: str = ""  # when, as a person writes it; empty: now
    cautions: tuple[str, ...] = ()  # what a reader must know of the model, in sentences

    @property
    def only_here(self) -> bool:
        """Whether the address means the machine it is opened on: localhost, or one that loops back."""
        try:
            host = urlsplit(self.address).hostname or ""
        except ValueError:
            return False
        if host == "localhost" or host.endswith(".localhost"):
            return True
        try:
            given = ip_address(host)
        except ValueError:
            return False
        return given.is_loopback or given.is_unspecified


def report_command(photo: str, model: str, settings: ReportSettings) -> str:
    """The shell command that writes the same report."""
    which = [] if model == DEFAULT_MODEL else ["--model", model]
    return shlex.join(["python", "-m", "vitcore", "report", photo, *which, *settings.command_line_flags(), "--out", "report"])
