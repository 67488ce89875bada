"""Learning a ViT from a ViT, layer by layer: what every part of every block adds is a target, not only the answer.

Forced: each part of the student's blocks is given the teacher's own input and fits what the teacher adds, so that all
blocks learn at once. Free: the student goes its own way from the pixels to the answer, and its hidden states, attention and
logits are held to the teacher's (after TinyBERT, arXiv 1909.10351; MiniLM, arXiv 2002.10957). In the end a second teacher
may show where the class token should look, in the last block and by rollout. Nobody needs labels.
Shapes: B photos, T tokens, n patches kept of N, D width, H heads.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitcore.attention_capture import AttentionCall, AttentionCapture, SoftmaxCall
from vitcore.models import load_model
from vitcore.train.learning.optimisers import free_from
from vitcore.train.learning.teachers import Teacher, divergence
from vitcore.train.recipe import Recipe, RecipeError

FUSED_ABOVE = 128  # tokens; on a CPU two products are twice as fast as the fused kernel below this, slower above
ROWS = 24  # queries whose attention is compared where there are more tokens than that
TINY = 1e-8
PARTS = ("norm1", "attn", "norm2", "mlp")  # of the blocks of Eq. 2–3, whose two sums are told apart here


@dataclass(frozen=True, eq=False)
class Sublayers:
    """A block at work: what it was given (B, T, D), what attention and MLP add, and log attention (B, H, rows, T)."""

    given: Tensor
    attended: Tensor
    added: Tensor
    log_weights: Tensor

    @property
    def result(self) -> Tensor:
        """What the block hands on, (B, T, D)."""
        return self.given + self.attended + self.added


def attend(block: Any, x: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
    """What a block's attention adds to x (B, T, D), and its log weights (B, H, rows, T), differentiable."""
    outputs: list[Tensor] = []

    def watch(call: AttentionCall | SoftmaxCall) -> Tensor | None:
        if isinstance(call, SoftmaxCall):
            outputs.append(call.weights(rows).clamp(min=TINY).log())
            return None
        if call.q.shape[2] > FUSED_ABOVE and rows != slice(None):
            outputs.append(call.scores(rows).log_softmax(-1))
            return None
        log_weights = call.scores().log_softmax(-1)
        outputs.append(log_weights[:, :, rows])
        return log_weights.exp() @ call.v

    with AttentionCapture(watch):
        attended = block.ls1(block.attn(block.norm1(x)))
    return attended, outputs[0].float()


def sublayers(block: Any, x: Tensor, rows: slice = slice(None)) -> Sublayers:
    """The two halves of a block (arXiv 2010.11929 Eq. 2 and 3), for tokens (B, T, D)."""
    attended, log_weights = attend(block, x, rows)
    return Sublayers(x, attended, block.ls2(block.mlp(block.norm2(x + attended))), log_weights)


def spans(teacher_blocks: int, student_blocks: int) -> list[range]:
    """Which of the teacher's blocks each of the student's stands for, shared out as evenly as can be."""
    ends = [round((i + 1) * teacher_blocks / student_blocks) for i in range(student_blocks)]
    return [range(a, b) for a, b in zip([0, *ends], ends, strict=False)]


def error(given: Tensor, wanted: Tensor) -> Tensor:
    """Squared error as a share of the target's energy: ‖given − wanted‖² / ‖wanted‖²."""
    return (given - wanted).square().mean() / wanted.square().mean().clamp(min=TINY)


def error_even(given: Tensor, wanted: Tensor) -> Tensor:
    """The same with every channel weighed alike: a few channels of hidden states are a hundred times larger than the rest."""
    spread = wanted.std((0, 1), keepdim=True).clamp(min=1e-3)
    return ((given - wanted) / spread).square().mean()


def plan(text: str) -> list[tuple[float, float]]:
    """`keep_patches` as (share of patches, until this share of the steps) pairs. Raises: RecipeError."""
    try:
        pairs = [tuple(map(float, part.split(":"))) for part in text.split(",") if part.strip()]
        if any(len(p) != 2 or not (0 < p[0] <= 1 and 0 <= p[1] <= 1) for p in pairs):
            raise ValueError
    except ValueError:
        raise RecipeError("keep_patches is 'share:until, …' such as 0.25:0.95, not {text!r}.", text=text) from None
    return sorted(((p[0], p[1]) for p in pairs), key=lambda p: p[1])


def kept_share(recipe: Recipe, step: int) -> float:
    """The share of patches each photo lends at a step."""
    return next((share for share, until in plan(recipe.keep_patches) if step < until * recipe.steps), 1.0)


def scattered(batch: int, patches: int, share: float) -> Tensor:
    """Distinct patches (batch, n), in reading order."""
    count = max(1, round(patches * share))
    return torch.rand(batch, patches).argsort(1)[:, :count].sort(1).values


def gather(tokens: Tensor, kept: Tensor, prefix: int) -> Tensor:
    """The prefix tokens and the kept patches (B, n) of (B, prefix + N, D)."""
    rows = (kept + prefix).unsqueeze(-1).expand(-1, -1, tokens.shape[-1])
    return torch.cat([tokens[:, :prefix], tokens.gather(1, rows)], 1)


def begin(module: Any, pixels: Tensor) -> tuple[Tensor, Tensor]:
    """A ViT's embedded patches (B, N, D), and its tokens with positions as the first block gets them."""
    patches = module.patch_embed(pixels)
    return patches, module.norm_pre(module._pos_embed(patches))


def open_teacher(name: str, recipe: Recipe, config: dict[str, Any]) -> Teacher:
    """A teacher with as many patches as the student of `recipe`, whose `config` (mean, std) says how pixels were normalised.

    Raises: RecipeError, for models without a class token, learned positions or the two sums of Eq. 2–3.
    """
    side = recipe.image_px // recipe.patch_px
    vit = load_model.load(name, side * load_model.load(name).grid.patch_px)
    module: Any = vit.module
    plain = all(hasattr(block, part) for block in module.blocks for part in PARTS)
    if not plain or getattr(module, "cls_token", None) is None or getattr(module, "rope", None) is not None:
        raise RecipeError(
            "{name} can't teach layer by layer: that takes a class token, learned positions and plain blocks.",
            name=name,
        )
    if (vit.grid.rows, vit.grid.cols) != (side, side):
        raise RecipeError("{name} can't see as many patches as the student: {side} × {side}.", name=name, side=side)
    return Teacher(vit, config)


class LayerByLayer(nn.Module):
    """A student, its teacher, and where their widths differ a matrix that carries one's tokens into the other's space."""

    def __init__(self, vit: Any, recipe: Recipe) -> None:
        super().__init__()
        self.vit, self.recipe = vit, recipe
        self.teacher = open_teacher(recipe.teacher, recipe, vit.pretrained_cfg)
        self.looker = open_teacher(recipe.looker, recipe, vit.pretrained_cfg) if recipe.looker else None
        taught: Any = self.teacher.module
        if len(vit.blocks) > len(taught.blocks) or vit.embed_dim > taught.embed_dim:
            raise RecipeError("the student is larger than its teacher: give it no more blocks, nor width.")
        self.spans = spans(len(taught.blocks), len(vit.blocks))
        self.carry = None
        if vit.embed_dim != taught.embed_dim:
            self.carry = nn.Parameter(nn.init.orthogonal_(torch.empty(taught.embed_dim, vit.embed_dim)))

    def up(self, tokens: Tensor) -> Tensor:
        """The student's tokens (…, D) in the teacher's space."""
        return tokens if self.carry is None else tokens @ self.carry.T

    def down(self, tokens: Tensor) -> Tensor:
        """The teacher's tokens in the student's space (…, D)."""
        return tokens if self.carry is None else tokens @ self.carry

    def forward(self, batch: Any) -> dict[str, Tensor]:
        """{"loss", "patch", "place", "layers", "attention", "logits", "label"} of a batch; "looker", "rollout" if it is asked."""
        recipe, step = self.recipe, batch.step
        forced = step < free_from(recipe)
        share = kept_share(recipe, step)
        kept = scattered(len(batch.pixels), self.vit.patch_embed.num_patches, share).to(batch.pixels.device)
        rows = self._rows(kept.shape[1])
        patches, taught, logits = self._taught(batch.pixels, kept, rows)
        part, z = self._begun(batch.pixels, kept, patches, taught[0].given)
        errors, attention, z = self._forced(taught, rows) if forced else self._free(z, taught, rows)
        own = self.vit.forward_head(self.vit.norm(z)).float()
        part |= {
            "layers": torch.stack(errors).mean(), "attention": torch.stack(attention).mean(),
            "logits": error(own, logits), "label": divergence(logits.log_softmax(-1), own.log_softmax(-1)).mean(),
        }  # fmt: skip
        loss = part["patch"] + part["place"] + len(errors) * part["layers"]
        loss = loss + recipe.attention_weight * len(attention) * part["attention"]
        loss = loss + part["logits"] + (0.2 if forced else 1.0) * part["label"]
        if self.looker is not None and step >= recipe.looker_from * recipe.steps and not forced:
            some = slice(math.ceil(recipe.looker_share * len(kept)))
            part |= self._looked(batch.pixels[some], kept[some], [weights[some] for weights in self._fused])
            loss = loss + recipe.looker_weight * (part["looker"] + part["rollout"])
        return {"loss": loss} | {name: value.detach() for name, value in part.items()}

    def _rows(self, kept: int) -> slice:
        """The queries whose attention is compared: all of a few tokens, of many the class token and those after it."""
        return slice(None) if kept + 1 <= FUSED_ABOVE else slice(0, ROWS)

    @torch.no_grad()
    def _taught(self, pixels: Tensor, kept: Tensor, rows: slice) -> tuple[Tensor, list[Sublayers], Tensor]:
        """The teacher's patches, its blocks at work on the kept tokens, and its logits."""
        module: Any = self.teacher.module
        patches, tokens = begin(module, self.teacher.sees(pixels))
        tokens, taught = gather(tokens, kept, module.num_prefix_tokens), []
        for block in module.blocks:
            taught.append(sublayers(block, tokens, rows))
            tokens = taught[-1].result
        return patches, taught, module.forward_head(module.norm(tokens)).float()

    def _begun(self, pixels: Tensor, kept: Tensor, patches: Tensor, first: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        """How well patches and positions are embedded; and the student's own tokens."""
        mine, tokens = begin(self.vit, pixels)
        tokens = gather(tokens, kept, 1)
        return {"patch": error(self.up(mine), patches), "place": error(self.up(tokens), self.shared(first))}, tokens

    def shared(self, tokens: Tensor, dim: int = 1) -> Tensor:
        """The teacher's class and patch tokens, without other prefix tokens the student lacks."""
        prefix = self.teacher.module.num_prefix_tokens
        if prefix == 1:
            return tokens
        return torch.cat([tokens.narrow(dim, 0, 1), tokens.narrow(dim, prefix, tokens.shape[dim] - prefix)], dim)

    def _forced(self, taught: list[Sublayers], rows: slice) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """Each part of each block on the teacher's own input: errors of what is added, divergences of attention."""
        errors, attention = [], []
        for block, span in zip(self.vit.blocks, self.spans, strict=True):
            first, last = taught[span[0]], taught[span[-1]]
            x = self.down(first.given)
            attended, log_weights = attend(block, x, rows)
            attention.append(compared(last.log_weights, log_weights))
            if len(span) == 1:
                middle = self.down(first.given + first.attended)
                added = block.ls2(block.mlp(block.norm2(middle)))
                errors += [error(self.up(attended), first.attended), error(self.up(added), first.added)]
            else:
                added = attended + block.ls2(block.mlp(block.norm2(x + attended)))
                errors.append(error(self.up(added), last.result - first.given))
        return errors, attention, self.down(self.shared(taught[-1].result))

    def _free(
        self, z: Tensor, teacher_layers: list[Sublayers], rows: slice
    ) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """The student's own way: errors of its hidden states after each block, divergences of attention."""
        errors, attention = [], []
        self._fused = []
        for block, span in zip(self.vit.blocks, self.spans, strict=True):
            work = sublayers(block, z, rows if self.looker is None else slice(None))
            if self.looker is not None:
                self._fused.append(work.log_weights.exp().mean(1))
            z, wanted, last = work.result, self.shared(teacher_layers[span[-1]].result), teacher_layers[span[-1]]
            errors.append(0.5 * error(self.up(z), wanted) + 0.5 * error_even(self.up(z), wanted))
            taught = last.log_weights
            if self.teacher.module.num_prefix_tokens > 1:
                taught = self.shared(self.shared(taught, 2) if rows == slice(None) else taught, 3).log_softmax(-1)
            own = work.log_weights[:, :, rows]
            if (
                self.looker is not None and block is self.vit.blocks[-1]
            ):  # whose class token learns from the second teacher
                taught, own = taught[:, :, 1:], own[:, :, 1:]
            attention.append(compared(taught, own))
        return errors, attention, z

    def _looked(self, pixels: Tensor, kept: Tensor, fused: list[Tensor]) -> dict[str, Tensor]:
        """Divergences from where the second teacher's class token looks, over patches: of the last class attention, and of
        the class token's rollout through the attention of all blocks, mean of heads, `fused` (B, T, T) each.
        """
        assert self.looker is not None
        with torch.no_grad():
            wanted = class_attention(self.looker, pixels, kept)
        row = F.one_hot(torch.zeros(len(kept), 1, dtype=torch.long, device=kept.device), fused[0].shape[-1]).to(
            fused[0]
        )
        for weights in fused[::-1]:
            row = 0.5 * row + 0.5 * row @ weights  # residual weight one half (Abnar & Zuidema, arXiv 2005.00928)
        given = {"looker": fused[-1][:, 0, 1:], "rollout": row[:, 0, 1:]}
        return {name: divergence(wanted, normalised(own).log()).mean() for name, own in given.items()}


def normalised(shares: Tensor) -> Tensor:
    """Shares (…, n) that sum to one, none of them zero."""
    shares = shares.clamp(min=TINY)
    return shares / shares.sum(-1, keepdim=True)


def compared(wanted: Tensor, given: Tensor) -> Tensor:
    """Divergence of log attention (B, H, rows, T); of the mean over heads, where their numbers differ."""
    if wanted.shape[1] != given.shape[1]:
        wanted, given = (w.logsumexp(1, keepdim=True) - torch.tensor(float(w.shape[1])).log() for w in (wanted, given))
    return divergence(wanted, given).mean()


def class_attention(teacher: Teacher, pixels: Tensor, kept: Tensor) -> Tensor:
    """Log attention (B, n) of a teacher's class token over the kept patches in its last block, mean of heads.

    The teacher sees all patches; what it gives to those kept is renormalised.
    """
    module: Any = teacher.module
    _, tokens = begin(module, teacher.sees(pixels))
    for block in module.blocks[:-1]:
        tokens = block(tokens)
    row = attend(module.blocks[-1], tokens, slice(0, 1))[1][:, :, 0].exp().mean(1)[:, module.num_prefix_tokens :]
    return normalised(row.gather(1, kept)).log()


@torch.inference_mode()
def hidden_errors(objective: LayerByLayer, batches: Iterable[Tensor]) -> list[float]:
    """‖student − teacher‖² / ‖teacher‖² of the hidden states after each block, over all tokens of batches (B, 3, px, px)."""
    objective.eval()
    top = torch.zeros(len(objective.spans))
    bottom = torch.zeros(len(objective.spans))
    for pixels in batches:
        module: Any = objective.teacher.module
        taught, z = begin(module, objective.teacher.sees(pixels))[1], begin(objective.vit, pixels)[1]
        for i, (block, span) in enumerate(zip(objective.vit.blocks, objective.spans, strict=True)):
            z = block(z)
            for at in span:
                taught = module.blocks[at](taught)
            wanted = objective.shared(taught)
            top[i] += (objective.up(z) - wanted).square().sum().cpu()
            bottom[i] += wanted.square().sum().cpu()
    return (top / bottom).tolist()
