"""Learning from lessons (`teach.py`): soft labels of one teacher, tokens, class attention and first block of another.

To be cheap, the student sees only a part of its patches until the last steps: scattered ones, which teach to look far, and
a window of neighbours, which teaches to look near, in turn.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitcore.tape import Call, Softmax, Tape
from vitcore.train.model import MEAN, STD
from vitcore.train.recipe import Recipe, RecipeError
from vitcore.train.teach import COMPONENTS, TOKEN_STEP, Lessons, first_attention, normalise
from vitcore.words import say

FUSED_ABOVE = 128  # tokens; on a CPU two products are twice as fast as the fused kernel below this, slower above


@dataclass(frozen=True)
class LessonBatch:
    """Pixels and what the teachers said about them, mirrored consistently; `window` and `share` say what is seen."""

    pixels: Tensor  # (B, 3, px, px)
    targets: Tensor  # (B, classes)
    tokens: Tensor  # (B, patches, COMPONENTS)
    attention: Tensor  # (B, patches)
    dense: Tensor  # (B,)
    share: float
    window: bool
    looker: Any = None  # the token teacher, for its first block


@dataclass(frozen=True)
class LessonBatches:
    """Batches of a lessons folder: half of each has tokens and attention to learn; the step alone decides which."""

    lessons: Lessons
    recipe: Recipe
    classes: int
    looker: Any = None
    device: Any = "cpu"
    problems: tuple[str, ...] = ()

    def batch(self, step: int, micro: int, passes: int, rank: int, world: int) -> LessonBatch:
        """The photos of pass `micro` of process `rank`."""
        rng = np.random.default_rng((self.recipe.seed, step))
        known = np.flatnonzero(self.lessons.dense), np.flatnonzero(~self.lessons.dense)
        half = self.recipe.batch // 2
        pick = np.concatenate([rng.choice(part, half, replace=len(part) < half) for part in known if len(part)])
        order = rng.permutation(len(pick))
        size = self.recipe.batch // (passes * world)
        mine = order[(micro * world + rank) * size :][:size]
        mirror = torch.from_numpy(rng.random(len(pick))[mine] < 0.5)
        return self._of(pick[mine], mirror, kept_share(self.recipe, step), step % 2 == 1)

    def _of(self, pick: Any, mirror: Tensor, share: float, window: bool) -> LessonBatch:
        lessons, side = self.lessons, self.recipe.image_px // self.recipe.patch_px
        pixels = normalise(lessons.pixels[pick], {"mean": MEAN, "std": STD})
        targets = torch.zeros(len(pick), self.classes)
        targets.scatter_(
            1, torch.from_numpy(lessons.classes[pick]).long(), torch.from_numpy(lessons.probabilities[pick]).float()
        )
        tokens = torch.from_numpy(lessons.tokens[pick]).float().mul_(TOKEN_STEP).view(-1, side, side, COMPONENTS)
        attention = torch.from_numpy(lessons.attention[pick]).float().view(-1, side, side)
        parts: list[Any] = [
            torch.where(mirror.view(-1, 1, 1, 1), pixels.flip(3), pixels),
            targets / targets.sum(1, keepdim=True),
            torch.where(mirror.view(-1, 1, 1, 1), tokens.flip(2), tokens).flatten(1, 2),
            torch.where(mirror.view(-1, 1, 1), attention.flip(2), attention).flatten(1),
            torch.from_numpy(lessons.dense[pick]).float(),
        ]
        pixels, targets, tokens, attention, dense = (part.to(self.device) for part in parts)
        return LessonBatch(pixels, targets, tokens, attention, dense, share, window, self.looker)


def plan(text: str) -> list[tuple[float, float]]:
    """`keep_patches` as (share of patches, until this share of the steps) pairs. Raises: RecipeError."""
    try:
        pairs = [tuple(map(float, part.split(":"))) for part in text.split(",") if part.strip()]
        if any(len(p) != 2 or not (0 < p[0] <= 1 and 0 <= p[1] <= 1) for p in pairs):
            raise ValueError
    except ValueError:
        raise RecipeError(say("keep_patches is 'share:until, …' such as 0.25:0.95, not {text!r}.", text=text)) from None
    return sorted(((p[0], p[1]) for p in pairs), key=lambda p: p[1])


def kept_share(recipe: Recipe, step: int) -> float:
    """The share of patches the student sees at a step."""
    return next((share for share, until in plan(recipe.keep_patches) if step < until * recipe.steps), 1.0)


class KeepPatches(nn.Module):
    """Keep a share of the patches of each image, and remember which; in the place of timm's PatchDropout."""

    def __init__(self) -> None:
        super().__init__()
        self.share, self.window = 1.0, False
        self.kept: Tensor = torch.empty(0)  # (B, kept) patch indices of the last batch

    def forward(self, x: Tensor) -> Tensor:
        """(B, 1 + N, D) tokens to (B, 1 + kept, D)."""
        batch, patches = x.shape[0], x.shape[1] - 1
        share = self.share if self.training else 1.0
        choose = windows if self.window and share < 1 else scattered
        self.kept = choose(batch, patches, share).to(x.device)
        rows = (self.kept + 1).unsqueeze(-1).expand(-1, -1, x.shape[-1])
        return torch.cat([x[:, :1], x.gather(1, rows)], 1)


def scattered(batch: int, patches: int, share: float) -> Tensor:
    """Distinct patches (batch, kept), in reading order."""
    count = max(1, round(patches * share))
    return torch.rand(batch, patches).argsort(1)[:, :count].sort(1).values


def windows(batch: int, patches: int, share: float) -> Tensor:
    """A square of neighbours of each image (batch, kept)."""
    side = round(patches**0.5)
    span = max(1, round(side * share**0.5))
    top, left = torch.randint(side - span + 1, (2, batch, 1, 1))
    at = torch.arange(span)
    return ((top + at[:, None]) * side + left + at).flatten(1)


def divergence(wanted: Tensor, given: Tensor) -> Tensor:
    """Kullback-Leibler divergence of distributions over the last dimension, in nats."""
    return F.kl_div(given.clamp(min=1e-6).log(), wanted.float(), reduction="none").sum(-1)


class TwoTeachers(nn.Module):
    """A timm ViT and the linear layer that compares its tokens with the teacher's."""

    def __init__(self, vit: Any, recipe: Recipe) -> None:
        super().__init__()
        self.vit, self.recipe = vit, recipe
        self.keep = KeepPatches()
        self.to_teacher = nn.Linear(recipe.width, COMPONENTS)

    def forward(self, batch: LessonBatch) -> dict[str, Tensor]:
        """{"loss", "label", "token", "attention", "first"} of a batch."""
        self.keep.share, self.keep.window = batch.share, batch.window
        tokens, first, last = self._watched(batch.pixels)
        kept, recipe = self.keep.kept, self.recipe
        seen = self.to_teacher(tokens[:, 1:]).float()
        taught = batch.tokens.gather(1, kept.unsqueeze(-1).expand(-1, -1, COMPONENTS))
        wanted = F.normalize(batch.attention.gather(1, kept), p=1, dim=-1)
        dense = batch.dense / batch.dense.sum().clamp(min=1)
        part = {
            "label": F.cross_entropy(self.vit.forward_head(tokens).float(), batch.targets),
            "token": ((seen - taught) ** 2).mean((1, 2)) @ dense,
            "attention": divergence(wanted, F.normalize(last.float().mean(1)[:, 1:], p=1, dim=-1)) @ dense,
        }
        loss = part["label"] + recipe.token_weight * part["token"] + recipe.attention_weight * part["attention"]
        if batch.looker is not None and recipe.first_weight:
            part["first"] = divergence(first_attention(batch.looker, batch.pixels, kept), first.float()).mean()
            loss = loss + recipe.first_weight * part["first"]
        return {"loss": loss} | {name: value.detach() for name, value in part.items()}

    def _watched(self, pixels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Final tokens, the first block's attention (B, H, T, T) and the last block's class-token rows (B, H, T)."""
        first: list[Tensor] = []
        last: list[Tensor] = []

        def attend(call: Call | Softmax) -> Tensor | None:
            if isinstance(call, Softmax) or call.q.shape[2] > FUSED_ABOVE:
                last[:] = [call.weights(slice(0, 1))[:, :, 0]]
                if call.index == 0:
                    first.append(call.weights())
                return None
            with torch.autocast(pixels.device.type, enabled=False):  # memory traffic is what costs here: stay in bf16
                weights = call.weights()
            last[:] = [weights[:, :, 0]]
            if call.index == 0:
                first.append(weights)
            return weights @ call.v

        drop, self.vit.patch_drop = self.vit.patch_drop, self.keep
        try:
            with Tape(attend):
                tokens = self.vit.forward_features(pixels)
        finally:
            self.vit.patch_drop = drop
        return tokens, first[0], last[-1]
