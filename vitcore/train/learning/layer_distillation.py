"""Learning a ViT from a ViT, layer by layer: what every part of every block adds is a target, not only the answer.

Forced: each part of the student's blocks is given the teacher's own input and fits what the teacher adds, so that all
blocks learn at once. Free: the student goes its own way from the pixels to the answer, and its hidden states, attention and
logits are held to the teacher's (after TinyBERT, arXiv 1909.10351; MiniLM, arXiv 2002.10957). In the end a second teacher
may show where the class token should look, in the last block and by rollout. Nobody needs labels.
Shapes: B photos, T tokens, n patches kept of N, D width, H heads.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitcore.attention_hooks import AttentionEvent, AttentionHookMode, SoftmaxCall
from vitcore.models import load_model
from vitcore.train.learning.optimiser_and_weight_average import end_to_end_start_step
from vitcore.train.learning.teachers import Teacher, kl_divergence
from vitcore.train.recipe import Recipe, RecipeError, kept_patches_plan

MAX_TOKENS_UNFUSED = 128  # tokens; on a CPU two products are twice as fast as the fused kernel below this, slower above
COMPARED_ROWS = 24  # queries whose attention is compared where there are more tokens than that
EPSILON = 1e-8
SUBLAYER_NAMES = ("norm1", "attn", "norm2", "mlp")  # of the blocks of Eq. 2–3, whose two sums are told apart here


@dataclass(frozen=True, eq=False)
class SublayerOutputs:
    """A block at work: what it was given (B, T, D), what attention and MLP add, and log attention (B, H, rows, T)."""

    block_input: Tensor
    attention_output: Tensor
    mlp_output: Tensor
    log_weights: Tensor

    @property
    def block_output(self) -> Tensor:
        """What the block hands on, (B, T, D)."""
        return self.block_input + self.attention_output + self.mlp_output


def _attention_sublayer(block: Any, x: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
    """What a block's attention adds to x (B, T, D), and its log weights (B, H, rows, T), differentiable."""
    outputs: list[Tensor] = []

    def watch(call: AttentionEvent) -> Tensor | None:
        if isinstance(call, SoftmaxCall):
            outputs.append(call.weights(rows).clamp(min=EPSILON).log())
            return None
        if call.q.shape[2] > MAX_TOKENS_UNFUSED and rows != slice(None):
            outputs.append(call.scores(rows).log_softmax(-1))
            return None
        log_weights = call.scores().log_softmax(-1)
        outputs.append(log_weights[:, :, rows])
        return call.output(log_weights.exp())

    with AttentionHookMode(watch):
        attended = block.ls1(block.attn(block.norm1(x)))
    return attended, outputs[0].float()


def run_sublayers(block: Any, x: Tensor, rows: slice = slice(None)) -> SublayerOutputs:
    """The two halves of a block (arXiv 2010.11929 Eq. 2 and 3), for tokens (B, T, D)."""
    attended, log_weights = _attention_sublayer(block, x, rows)
    return SublayerOutputs(x, attended, block.ls2(block.mlp(block.norm2(x + attended))), log_weights)


def teacher_blocks_per_student_block(teacher_blocks: int, student_blocks: int) -> list[range]:
    """Which of the teacher's blocks each of the student's stands for, shared out as evenly as can be."""
    ends = [round((i + 1) * teacher_blocks / student_blocks) for i in range(student_blocks)]
    return [range(a, b) for a, b in zip([0, *ends], ends, strict=False)]


def _relative_error(actual: Tensor, target: Tensor) -> Tensor:
    """Squared error as a share of the target's energy: ‖actual − target‖² / ‖target‖²."""
    return (actual - target).square().mean() / target.square().mean().clamp(min=EPSILON)


def _channel_normalised_error(actual: Tensor, target: Tensor) -> Tensor:
    """Relative squared error with every channel weighed alike: a few channels are a hundred times larger than the rest."""
    spread = target.std((0, 1), keepdim=True).clamp(min=1e-3)
    return ((actual - target) / spread).square().mean()


def kept_patch_share(recipe: Recipe, step: int) -> float:
    """The share of patches each photo lends at a step."""
    return next((part.share for part in kept_patches_plan(recipe) if step < part.until * recipe.steps), 1.0)


def random_patches(batch: int, patches: int, share: float) -> Tensor:
    """Distinct patches (batch, n), in reading order."""
    count = max(1, round(patches * share))
    return torch.rand(batch, patches).argsort(1)[:, :count].sort(1).values


def _select_tokens(tokens: Tensor, kept_patches: Tensor, prefix: int) -> Tensor:
    """The prefix tokens and the kept patches (B, n) of (B, prefix + N, D)."""
    rows = (kept_patches + prefix).unsqueeze(-1).expand(-1, -1, tokens.shape[-1])
    return torch.cat([tokens[:, :prefix], tokens.gather(1, rows)], 1)


def embed_pixels(module: Any, pixels: Tensor) -> tuple[Tensor, Tensor]:
    """A ViT's embedded patches (B, N, D), and its tokens with positions as the first block gets them."""
    patches = module.patch_embed(pixels)
    return patches, module.norm_pre(module._pos_embed(patches))


def _open_teacher(name: str, recipe: Recipe, config: dict[str, Any]) -> Teacher:
    """A teacher with as many patches as the student of `recipe`, whose `config` (mean, std) says how pixels were normalised.

    Raises: RecipeError, for models without a class token, learned positions or the two sums of Eq. 2–3.
    """
    side = recipe.image_px // recipe.patch_px
    vit = load_model.load(name, side * load_model.load(name).grid.patch_px)
    module: Any = vit.module
    plain = all(hasattr(block, part) for block in module.blocks for part in SUBLAYER_NAMES)
    if not plain or getattr(module, "cls_token", None) is None or getattr(module, "rope", None) is not None:
        raise RecipeError(
            "{name} can't teach layer by layer: that takes a class token, learned positions and plain blocks.", name=name
        )
    if (vit.grid.rows, vit.grid.cols) != (side, side):
        raise RecipeError("{name} can't see as many patches as the student: {side} × {side}.", name=name, side=side)
    return Teacher(vit, config)


class LayerDistillation(nn.Module):
    """A student, its teacher, and where their widths differ a matrix that carries one's tokens into the other's space."""

    def __init__(self, vit: Any, recipe: Recipe) -> None:
        super().__init__()
        self.vit, self.recipe = vit, recipe
        self.teacher = _open_teacher(recipe.teacher, recipe, vit.pretrained_cfg)
        self.attention_teacher = _open_teacher(recipe.looker, recipe, vit.pretrained_cfg) if recipe.looker else None
        taught: Any = self.teacher.module
        if len(vit.blocks) > len(taught.blocks) or vit.embed_dim > taught.embed_dim:
            raise RecipeError("the student is larger than its teacher: reduce its blocks or its width.")
        self.spans = teacher_blocks_per_student_block(len(taught.blocks), len(vit.blocks))
        self.carry = None
        if vit.embed_dim != taught.embed_dim:
            self.carry = nn.Parameter(nn.init.orthogonal_(torch.empty(taught.embed_dim, vit.embed_dim)))

    def to_teacher_width(self, tokens: Tensor) -> Tensor:
        """The student's tokens (…, D) in the teacher's space."""
        return tokens if self.carry is None else tokens @ self.carry.T

    def to_student_width(self, tokens: Tensor) -> Tensor:
        """The teacher's tokens in the student's space (…, D)."""
        return tokens if self.carry is None else tokens @ self.carry

    def forward(self, batch: Any) -> dict[str, Tensor]:
        """{"loss", "patch", "place", "layers", "attention", "logits", "label"} of a batch; "looker", "rollout" if it is asked."""
        recipe, step = self.recipe, batch.step
        forced = step < end_to_end_start_step(recipe)
        share = kept_patch_share(recipe, step)
        kept = random_patches(len(batch.pixels), self.vit.patch_embed.num_patches, share).to(batch.pixels.device)
        # Queries whose attention is compared: all of a few tokens, of many the class token and those after it.
        rows = slice(None) if kept.shape[1] + 1 <= MAX_TOKENS_UNFUSED else slice(0, COMPARED_ROWS)
        patches, taught, logits = self._run_teacher(batch.pixels, kept, rows)
        part, z = self._embedding_errors(batch.pixels, kept, patches, taught[0].block_input)
        errors, attention, z = self._teacher_forced_errors(taught, rows) if forced else self._end_to_end_errors(z, taught, rows)
        own = self.vit.forward_head(self.vit.norm(z)).float()
        part |= {
            "layers": torch.stack(errors).mean(), "attention": torch.stack(attention).mean(),
            "logits": _relative_error(own, logits), "label": kl_divergence(logits.log_softmax(-1), own.log_softmax(-1)).mean(),
        }  # fmt: skip
        loss = part["patch"] + part["place"] + len(errors) * part["layers"]
        loss = loss + recipe.attention_weight * len(attention) * part["attention"]
        loss = loss + part["logits"] + (0.2 if forced else 1.0) * part["label"]
        if self.attention_teacher is not None and step >= recipe.looker_from * recipe.steps and not forced:
            some = slice(math.ceil(recipe.looker_share * len(kept)))
            part |= self._attention_teacher_losses(batch.pixels[some], kept[some], [weights[some] for weights in self._fused])
            loss = loss + recipe.looker_weight * (part["looker"] + part["rollout"])
        return {"loss": loss} | {name: value.detach() for name, value in part.items()}

    @torch.no_grad()
    def _run_teacher(self, pixels: Tensor, kept: Tensor, rows: slice) -> tuple[Tensor, list[SublayerOutputs], Tensor]:
        """The teacher's patches, its blocks at work on the kept tokens, and its logits."""
        module: Any = self.teacher.module
        patches, tokens = embed_pixels(module, self.teacher.adapt_pixels(pixels))
        tokens, taught = _select_tokens(tokens, kept, module.num_prefix_tokens), []
        for block in module.blocks:
            taught.append(run_sublayers(block, tokens, rows))
            tokens = taught[-1].block_output
        return patches, taught, module.forward_head(module.norm(tokens)).float()

    def _embedding_errors(self, pixels: Tensor, kept: Tensor, patches: Tensor, first: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        """How well patches and positions are embedded; and the student's own tokens."""
        mine, tokens = embed_pixels(self.vit, pixels)
        tokens = _select_tokens(tokens, kept, 1)
        return {
            "patch": _relative_error(self.to_teacher_width(mine), patches),
            "place": _relative_error(self.to_teacher_width(tokens), self.common_tokens(first)),
        }, tokens

    def common_tokens(self, tokens: Tensor, dim: int = 1) -> Tensor:
        """The teacher's class and patch tokens, without other prefix tokens the student lacks."""
        prefix = self.teacher.module.num_prefix_tokens
        if prefix == 1:
            return tokens
        return torch.cat([tokens.narrow(dim, 0, 1), tokens.narrow(dim, prefix, tokens.shape[dim] - prefix)], dim)

    def _teacher_forced_errors(self, taught: list[SublayerOutputs], rows: slice) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """Each part of each block on the teacher's own input: errors of what is added, divergences of attention."""
        errors, attention = [], []
        for block, span in zip(self.vit.blocks, self.spans, strict=True):
            first, last = taught[span[0]], taught[span[-1]]
            x = self.to_student_width(first.block_input)
            attended, log_weights = _attention_sublayer(block, x, rows)
            attention.append(_attention_kl_divergence(last.log_weights, log_weights))
            if len(span) == 1:
                middle = self.to_student_width(first.block_input + first.attention_output)
                added = block.ls2(block.mlp(block.norm2(middle)))
                errors += [
                    _relative_error(self.to_teacher_width(attended), first.attention_output),
                    _relative_error(self.to_teacher_width(added), first.mlp_output),
                ]
            else:
                added = attended + block.ls2(block.mlp(block.norm2(x + attended)))
                errors.append(_relative_error(self.to_teacher_width(added), last.block_output - first.block_input))
        return errors, attention, self.to_student_width(self.common_tokens(taught[-1].block_output))

    def _end_to_end_errors(
        self, z: Tensor, teacher_layers: list[SublayerOutputs], rows: slice
    ) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """The student's own way: errors of its hidden states after each block, divergences of attention."""
        errors, attention, has_second = [], [], self.attention_teacher is not None
        self._fused = []
        for block, span in zip(self.vit.blocks, self.spans, strict=True):
            work = run_sublayers(block, z, slice(None) if has_second else rows)
            if has_second:
                self._fused.append(work.log_weights.exp().mean(1))
            z, last = work.block_output, teacher_layers[span[-1]]
            wanted = self.common_tokens(last.block_output)
            errors.append(
                0.5 * _relative_error(self.to_teacher_width(z), wanted)
                + 0.5 * _channel_normalised_error(self.to_teacher_width(z), wanted)
            )
            taught = last.log_weights
            if self.teacher.module.num_prefix_tokens > 1:
                taught = self.common_tokens(self.common_tokens(taught, 2) if rows == slice(None) else taught, 3).log_softmax(-1)
            own = work.log_weights[:, :, rows]
            if has_second and block is self.vit.blocks[-1]:  # whose class token learns from the second teacher
                taught, own = taught[:, :, 1:], own[:, :, 1:]
            attention.append(_attention_kl_divergence(taught, own))
        return errors, attention, z

    def _attention_teacher_losses(self, pixels: Tensor, kept: Tensor, fused: list[Tensor]) -> dict[str, Tensor]:
        """Divergences from where the second teacher's class token looks, over patches: of the last class attention, and of
        the class token's rollout through the attention of all blocks, mean of heads, `fused` (B, T, T) each.
        """
        assert self.attention_teacher is not None
        with torch.no_grad():
            wanted = teacher_class_attention(self.attention_teacher, pixels, kept)
        row = F.one_hot(torch.zeros(len(kept), 1, dtype=torch.long, device=kept.device), fused[0].shape[-1]).to(fused[0])
        for weights in fused[::-1]:
            row = 0.5 * row + 0.5 * row @ weights  # residual weight one half (Abnar & Zuidema, arXiv 2005.00928)
        given = {"looker": fused[-1][:, 0, 1:], "rollout": row[:, 0, 1:]}
        return {name: kl_divergence(wanted, _normalise_positive_shares(own).log()).mean() for name, own in given.items()}


def _normalise_positive_shares(shares: Tensor) -> Tensor:
    """Shares (…, n) that sum to one, none of them zero."""
    shares = shares.clamp(min=EPSILON)
    return shares / shares.sum(-1, keepdim=True)


def _attention_kl_divergence(target: Tensor, actual: Tensor) -> Tensor:
    """Divergence of log attention (B, H, rows, T); of the mean over heads, where their numbers differ."""
    if target.shape[1] != actual.shape[1]:
        target, actual = (w.logsumexp(1, keepdim=True) - torch.tensor(float(w.shape[1])).log() for w in (target, actual))
    return kl_divergence(target, actual).mean()


def teacher_class_attention(teacher: Teacher, pixels: Tensor, kept_patches: Tensor) -> Tensor:
    """Log attention (B, n) of a teacher's class token over the kept patches in its last block, mean of heads.

    The teacher sees all patches; what it gives to those kept is renormalised.
    """
    module: Any = teacher.module
    _, tokens = embed_pixels(module, teacher.adapt_pixels(pixels))
    for block in module.blocks[:-1]:
        tokens = block(tokens)
    row = _attention_sublayer(module.blocks[-1], tokens, slice(0, 1))[1][:, :, 0].exp().mean(1)[:, module.num_prefix_tokens :]
    return _normalise_positive_shares(row.gather(1, kept_patches)).log()
