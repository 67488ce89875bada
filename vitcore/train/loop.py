"""The distillation loop: a generator of records that saves what it needs to go on after a crash."""

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from timm.models.vision_transformer import VisionTransformer
from timm.optim import param_groups_weight_decay
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from vitcore.tape import Call, Softmax, Tape
from vitcore.train.recipe import Distil
from vitcore.train.teach import COMPONENTS, TOKEN_STEP, Lessons, first_attention, normalise

FUSED_ABOVE = 128  # tokens; on a CPU two products are twice as fast as the fused kernel below this, slower above
MEAN_STD = {"mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5)}


class KeepPatches(nn.Module):
    """Keep a share of the patches of each image, and remember which; in the place of timm's PatchDropout.

    Scattered patches teach to look far; a `window` of neighbours teaches to look near, which scattered ones can't.
    """

    def __init__(self) -> None:
        super().__init__()
        self.share, self.window = 1.0, False
        self.kept: Tensor = torch.empty(0)  # (B, kept) patch indices of the last batch

    def forward(self, x: Tensor) -> Tensor:
        batch, patches = x.shape[0], x.shape[1] - 1
        share = self.share if self.training else 1.0
        choose = self._windows if self.window and share < 1 else self._scattered
        self.kept = choose(batch, patches, share)
        rows = (self.kept + 1).unsqueeze(-1).expand(-1, -1, x.shape[-1])
        return torch.cat([x[:, :1], x.gather(1, rows)], 1)

    @staticmethod
    def _scattered(batch: int, patches: int, share: float) -> Tensor:
        count = max(1, round(patches * share))
        return torch.rand(batch, patches).argsort(1)[:, :count].sort(1).values

    @staticmethod
    def _windows(batch: int, patches: int, share: float) -> Tensor:
        side = round(patches**0.5)
        span = max(1, round(side * share**0.5))
        top, left = torch.randint(side - span + 1, (2, batch, 1, 1))
        at = torch.arange(span)
        return ((top + at[:, None]) * side + left + at).flatten(1)


class Student(nn.Module):
    """A timm ViT and the linear layer that compares its tokens with the teacher's."""

    def __init__(self, recipe: Distil) -> None:
        super().__init__()
        self.vit: Any = VisionTransformer(
            img_size=recipe.image_px, patch_size=recipe.patch_px, embed_dim=recipe.width, depth=recipe.blocks,
            num_heads=recipe.heads, num_classes=recipe.classes,
        )  # fmt: skip
        nn.init.trunc_normal_(self.vit.patch_embed.proj.weight, std=recipe.patch_init_std)
        self.vit.patch_drop = KeepPatches()  # type: ignore[assignment]
        self.to_teacher = nn.Linear(recipe.width, COMPONENTS)


@dataclass(frozen=True)
class Batch:
    """Pixels and what the teachers said about them, mirrored consistently."""

    pixels: Tensor  # (B, 3, px, px)
    targets: Tensor  # (B, classes)
    tokens: Tensor  # (B, patches, COMPONENTS)
    attention: Tensor  # (B, patches)
    dense: Tensor  # (B,)


@dataclass
class Run:
    """The state that a checkpoint holds."""

    recipe: Distil
    folder: Path
    student: Student
    average: Any  # an AveragedModel of the student
    optimiser: torch.optim.Optimizer
    step: int = 0


def learning_rate(recipe: Distil, step: int) -> float:
    """Linear warm-up, then cosine to zero at the last step."""
    if step < recipe.warmup_steps:
        return recipe.lr_peak * (step + 1) / recipe.warmup_steps
    done = (step - recipe.warmup_steps) / max(1, recipe.steps - recipe.warmup_steps)
    return recipe.lr_peak * 0.5 * (1 + float(np.cos(np.pi * done)))


def draw(lessons: Lessons, recipe: Distil, step: int) -> Batch:
    """The batch of a step; the step alone decides it, so a resumed run sees what an unbroken one sees."""
    rng = np.random.default_rng((recipe.seed, step))
    pick = np.sort(rng.choice(len(lessons.dense), recipe.batch, replace=False))
    mirror = torch.from_numpy(rng.random(recipe.batch) < 0.5)
    pixels = normalise(lessons.pixels[pick], MEAN_STD)
    probabilities = torch.from_numpy(lessons.probabilities[pick]).float()
    targets = torch.zeros(recipe.batch, recipe.classes)
    targets.scatter_(1, torch.from_numpy(lessons.classes[pick]).long(), probabilities)
    side = recipe.image_px // recipe.patch_px
    tokens = torch.from_numpy(lessons.tokens[pick]).float().mul_(TOKEN_STEP).view(-1, side, side, COMPONENTS)
    attention = torch.from_numpy(lessons.attention[pick]).float().view(-1, side, side)
    batch = Batch(
        torch.where(mirror.view(-1, 1, 1, 1), pixels.flip(3), pixels),
        targets / targets.sum(1, keepdim=True),
        torch.where(mirror.view(-1, 1, 1, 1), tokens.flip(2), tokens).flatten(1, 2),
        torch.where(mirror.view(-1, 1, 1), attention.flip(2), attention).flatten(1),
        torch.from_numpy(lessons.dense[pick]).float(),
    )
    return mixed(batch, rng.beta(recipe.mixup_alpha, recipe.mixup_alpha)) if recipe.mixup_alpha else batch


def mixed(b: Batch, share: float) -> Batch:
    """Mixup (arXiv 1710.09412) of the batch with itself reversed, in pixels and in every target."""
    mix = [share * x + (1 - share) * x.flip(0) for x in (b.pixels, b.targets, b.tokens, b.attention)]
    return Batch(mix[0], mix[1], mix[2], mix[3], b.dense * b.dense.flip(0))


def losses(student: Student, batch: Batch, recipe: Distil, looker: Any = None) -> dict[str, Tensor]:
    """Cross-entropy to the labels; squared error to the tokens; divergence from the class token's attention in the last
    block, and from three heads' attention in the first."""
    rows: list[Tensor] = []
    first: list[Tensor] = []

    def attend(call: Call | Softmax) -> Tensor | None:
        if isinstance(call, Softmax) or call.q.shape[2] > FUSED_ABOVE:
            rows[:] = [call.weights(slice(0, 1))[:, :, 0]]
            if call.index == 0:
                first.append(call.weights())
            return None
        with torch.autocast("cpu", enabled=False):  # keep softmax in bf16: memory traffic is what costs here
            weights = call.weights()
        rows[:] = [weights[:, :, 0]]
        if call.index == 0:
            first.append(weights)
        return weights @ call.v

    with Tape(attend):
        tokens = student.vit.forward_features(batch.pixels)
    logits = student.vit.forward_head(tokens).float()
    kept = student.vit.patch_drop.kept
    seen = student.to_teacher(tokens[:, 1:]).float()
    taught = batch.tokens.gather(1, kept.unsqueeze(-1).expand(-1, -1, COMPONENTS))
    row = F.normalize(rows[-1].float().mean(1)[:, 1:], p=1, dim=-1)
    wanted = F.normalize(batch.attention.gather(1, kept), p=1, dim=-1)
    dense = batch.dense / batch.dense.sum().clamp(min=1)
    near = batch.pixels.new_zeros(())
    if looker is not None and recipe.first_weight:
        near = divergence(first_attention(looker, batch.pixels, kept), first[0].float()).mean()
    return {
        "first": near,
        "label": F.cross_entropy(logits, batch.targets),
        "token": ((seen - taught) ** 2).mean((1, 2)) @ dense,
        "attention": divergence(wanted, row) @ dense,
    }


def divergence(wanted: Tensor, given: Tensor) -> Tensor:
    """Kullback-Leibler divergence of distributions over the last dimension, in nats."""
    return F.kl_div(given.clamp(min=1e-6).log(), wanted.float(), reduction="none").sum(-1)


def start(recipe: Distil, folder: Path) -> Run:
    """A fresh run, or the one in `folder` where it stopped."""
    torch.manual_seed(recipe.seed)
    student = Student(recipe)
    groups = param_groups_weight_decay(
        student, recipe.weight_decay, no_weight_decay_list=("vit.pos_embed", "vit.cls_token")
    )
    run = Run(
        recipe, folder, student, AveragedModel(student, multi_avg_fn=get_ema_multi_avg_fn(recipe.ema_decay)),
        torch.optim.AdamW(groups, lr=recipe.lr_peak),
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "recipe.json").write_text(json.dumps(asdict(recipe), indent=1))
    if (folder / "last.pt").exists():
        saved = torch.load(folder / "last.pt")
        student.load_state_dict(saved["student"])
        run.average.load_state_dict(saved["average"])
        run.optimiser.load_state_dict(saved["optimiser"])
        run.step = saved["step"]
    return run


def save(run: Run) -> None:
    """Write the checkpoint and a snapshot of the averaged weights, each in one atomic step."""
    state: dict[str, Any] = {"student": run.student, "average": run.average, "optimiser": run.optimiser}
    torch.save({"step": run.step} | {k: v.state_dict() for k, v in state.items()}, run.folder / "last.tmp")
    (run.folder / "last.tmp").replace(run.folder / "last.pt")
    weights = {k: v.half().contiguous() for k, v in run.average.module.vit.state_dict().items()}
    save_file(weights, run.folder / "snapshot.tmp")
    (run.folder / "snapshot.tmp").replace(run.folder / f"snapshot-{run.step:06d}.safetensors")


def train(run: Run, lessons: Lessons, looker: Any = None) -> Iterator[dict[str, float]]:
    """Train to the recipe's last step, yielding a record a step; `looker` is the token teacher, for its first block."""
    recipe = run.recipe
    while run.step < recipe.steps:
        begun = time.perf_counter()
        run.student.train()
        run.student.vit.patch_drop.share = recipe.keep_start if run.step < recipe.sparse_share * recipe.steps else 1.0
        run.student.vit.patch_drop.window = run.step % 2 == 1
        torch.manual_seed(recipe.seed + run.step)
        for group in run.optimiser.param_groups:
            group["lr"] = learning_rate(recipe, run.step)
        with torch.autocast("cpu", torch.bfloat16):
            part = losses(run.student, draw(lessons, recipe, run.step), recipe, looker)
        loss = part["label"] + recipe.token_weight * part["token"] + recipe.attention_weight * part["attention"]
        loss = loss + recipe.first_weight * part["first"]
        run.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(run.student.parameters(), recipe.clip_norm)
        run.optimiser.step()
        run.average.update_parameters(run.student)
        run.step += 1
        if run.step % recipe.snapshot_every_steps == 0 or run.step == recipe.steps:
            save(run)
        yield {"step": run.step, "loss": loss.item(), "seconds": time.perf_counter() - begun} | {
            k: v.item() for k, v in part.items()
        }
