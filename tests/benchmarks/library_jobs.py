"""The jobs of `tests/benchmarks/libraries.py`: each by vitcore, and by the libraries that can."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import timm
import torch
from torch import Tensor

import vitcore
from tests.benchmarks.library_models import Bench
from vitcore.forward.recording import to_model_input
from vitcore.interventions.activation_sites import ALL_NAMES

LAYER, HEAD, TOKENS, CLASS, STEPS, PHOTOS, SQUARE = 6, 1, [2, 3, 4], 2, 8, 16, 4
Way = Callable[[], Tensor]


@dataclass(frozen=True)
class Job:
    """What is done, by us and by the libraries that can; each way gives numbers of the same meaning."""

    name: str
    ours: Way
    theirs: dict[str, Way]


def activations(b: Bench) -> list[Job]:
    """What a pass leaves behind."""
    from captum.attr import LayerActivation

    module = b.vit.module

    def ours(name: str) -> Way:
        def way() -> Tensor:
            kept = vitcore.cache(b.vit, b.x, [name])
            return torch.stack([kept[name, layer] for layer in b.layers])

        return way

    def hooked(name: str, model: Any = None) -> Way:
        names = [f"blocks.{layer}.{name}" for layer in b.layers]
        return lambda: stacked((model or b.hooked).run_with_cache(b.x, names_filter=names)[1], names)

    def by_timm() -> Tensor:
        made = module.forward_intermediates(b.x, output_fmt="NLC", return_prefix_tokens=True, intermediates_only=True)
        return torch.stack([torch.cat([prefix, patches], 1) for patches, prefix in made])

    def streams_by_nnsight() -> Tensor:
        with b.traced.trace(b.x):
            seen = list().save()  # noqa: C408  # nnsight's own way of saying what is kept
            for block in b.traced.blocks:
                seen.append(block.output)
        return torch.stack(list(seen))

    def maps_by_nnsight() -> Tensor:
        with b.traced_unfused.trace(b.x):
            seen = list().save()  # noqa: C408
            for block in b.traced_unfused.blocks:
                seen.append(block.attn.attn_drop.output)
        return torch.stack(list(seen))

    maps = timm.utils.AttentionExtract(b.unfused, method="hook")
    drops = [block.attn.attn_drop for block in b.unfused.blocks]
    jobs = [
        Job("residual stream, all layers", ours("resid_post"), {
            "timm": by_timm, "captum": lambda: torch.stack(LayerActivation(module, list(module.blocks)).attribute(b.x)),
            "transformers": lambda: torch.stack(b.hf(b.x, output_hidden_states=True).hidden_states[1:]),
             "ViT-Prisma": hooked("hook_resid_post"), "nnsight": streams_by_nnsight,
        }),
        Job("attention maps, all layers", ours("pattern"), {
            "timm": lambda: torch.stack([*maps(b.x).values()]),
            "captum": lambda: torch.stack(LayerActivation(b.unfused, drops).attribute(b.x)),
            "transformers": lambda: torch.stack(b.hf(b.x, output_attentions=True).attentions),
            "ViT-Prisma": hooked("attn.hook_pattern"), "nnsight": maps_by_nnsight,
        }),
    ]  # fmt: skip
    return jobs + (of_prisma(b, ours, hooked) if b.hooked is not None else [])


def of_prisma(b: Bench, ours: Callable[[str], Way], hooked: Callable[..., Way]) -> list[Job]:
    """Every name that Prisma keeps, and each head's result, which it keeps where that is switched on."""
    with_results = copy.deepcopy(b.hooked)
    with_results.cfg.use_attn_result = True
    names = [*b.hooked.run_with_cache(b.x)[1].keys()]
    all_names = [name for name in ALL_NAMES if name != "result"]
    every = lambda: flat(vitcore.cache(b.vit, b.x, all_names), names)  # noqa: E731
    return [
        Job(f"Prisma's {len(names)} names", every, {"ViT-Prisma": lambda: flat(b.hooked.run_with_cache(b.x)[1], names)}),
        Job("result of each head", ours("result"), {"ViT-Prisma": hooked("attn.hook_result", with_results)}),
    ]


def stacked(kept: Any, names: list[str]) -> Tensor:
    return torch.stack([kept[name] for name in names])


def flat(kept: Any, names: list[str]) -> Tensor:
    """All numbers in a row, each activation's divided by its largest, so that none hides another's difference."""
    return torch.cat([kept[name].flatten() / max(1.0, float(kept[name].abs().max())) for name in names])


def interventions(b: Bench) -> list[Job]:
    """Answers of a changed model."""
    width = b.vit.module.embed_dim // b.vit.heads
    columns = slice(HEAD * width, (HEAD + 1) * width)

    def edited(say: Callable[[Any], None]) -> Way:
        def way() -> Tensor:
            with vitcore.edit(b.vit) as e:
                say(e)
            return e.vit.module(b.x)

        return way

    def hooks(name: str, change: Callable[[Tensor], Tensor]) -> Way:
        return lambda: b.hooked.run_with_hooks(b.x, fwd_hooks=[(f"blocks.{LAYER}.{name}", lambda value, hook: change(value))])

    def without_a_head(z: Tensor) -> Tensor:
        z[:, :, HEAD] = 0
        return z

    def without_a_direction(x: Tensor) -> Tensor:
        return x - (x @ b.direction)[..., None] * b.direction

    def patched_by_prisma() -> Tensor:
        name = f"blocks.{LAYER}.hook_resid_post"
        there = b.hooked.run_with_cache(b.other, names_filter=[name])[1][name]

        def swap(x: Tensor, hook: Any) -> Tensor:
            x[:, TOKENS] = there[:, TOKENS]
            return x

        return b.hooked.run_with_hooks(b.x, fwd_hooks=[(name, swap)])

    def head_by_nnsight() -> Tensor:
        with b.traced.trace(b.x):
            b.traced.blocks[LAYER].attn.proj.input[:, :, columns] = 0
            logits = b.traced.output.save()
        return logits

    def patched_by_nnsight() -> Tensor:
        with b.traced.trace(b.other):
            there = b.traced.blocks[LAYER].output.save()
        with b.traced.trace(b.x):
            b.traced.blocks[LAYER].output[:, TOKENS] = there[:, TOKENS]
            logits = b.traced.output.save()
        return logits

    def direction_by_nnsight() -> Tensor:
        with b.traced.trace(b.x):
            stream = b.traced.blocks[LAYER].output
            b.traced.blocks[LAYER].output = stream - (stream @ b.direction)[..., None] * b.direction
            logits = b.traced.output.save()
        return logits

    return [
        Job("a head's output put to 0", edited(lambda e: e.head(LAYER, HEAD).zero()),
            {"ViT-Prisma": hooks("attn.hook_z", without_a_head), "nnsight": head_by_nnsight}),
        Job("tokens from another photo", edited(lambda e: e.patch(b.other, ("resid_post", LAYER, TOKENS))),
            {"ViT-Prisma": patched_by_prisma, "nnsight": patched_by_nnsight}),
        Job("a direction taken out", edited(lambda e: e.resid(LAYER).apply(without_a_direction)),
            {"ViT-Prisma": hooks("hook_resid_post", without_a_direction), "nnsight": direction_by_nnsight}),
        every_head(b, width),
        every_square(b),
        gradients(b),
    ]  # fmt: skip


def every_head(b: Bench, width: int) -> Job:
    """(L, H): what the class's logit changes by without each head."""
    from captum.attr import LayerFeatureAblation

    module, mask = b.vit.module, torch.arange(b.vit.module.embed_dim)[None, None] // width

    def by_captum() -> Tensor:
        rows = []
        for block in module.blocks:
            ablation = LayerFeatureAblation(module, block.attn.proj)
            lost = ablation.attribute(b.x, target=CLASS, layer_mask=mask, attribute_to_layer_input=True)
            rows.append(-lost[0, 0, ::width])
        return torch.stack(rows)

    def by_prisma() -> Tensor:
        whole, changes = b.hooked(b.x)[0, CLASS], torch.empty(b.vit.blocks, b.vit.heads)
        for layer, head in np.ndindex(*changes.shape):

            def zero(z: Tensor, hook: Any, head: int = head) -> Tensor:
                z[:, :, head] = 0
                return z

            logits = b.hooked.run_with_hooks(b.x, fwd_hooks=[(f"blocks.{layer}.attn.hook_z", zero)])
            changes[layer, head] = logits[0, CLASS] - whole
        return changes

    def by_nnsight() -> Tensor:
        whole, changes = b.vit.module(b.x)[0, CLASS], torch.empty(b.vit.blocks, b.vit.heads)
        for layer, head in np.ndindex(*changes.shape):
            columns = slice(head * width, (head + 1) * width)
            with b.traced.trace(b.x):
                b.traced.blocks[layer].attn.proj.input[:, :, columns] = 0
                logits = b.traced.output.save()
            changes[layer, head] = logits[0, CLASS] - whole
        return changes

    ours = lambda: torch.from_numpy(vitcore.head_ablation(b.vit, b.x, CLASS).copy())  # noqa: E731
    return Job("every head ablated", ours, {"captum": by_captum, "ViT-Prisma": by_prisma, "nnsight": by_nnsight})


def every_square(b: Bench) -> Job:
    """(L, G): the logit difference with each square of patches from the other photo; by hand, a whole pass a square."""
    module, grid = b.vit.module, b.vit.grid
    squares = [
        [grid.prefix + (row + i) * grid.cols + col + j for i in range(SQUARE) for j in range(SQUARE)]
        for row in range(0, grid.rows - SQUARE + 1, SQUARE) for col in range(0, grid.cols - SQUARE + 1, SQUARE)
    ]  # fmt: skip
    change = (module(b.x) - module(b.other))[0]
    pair = int(change.argmax()), int(change.argmin())  # of classes between which the photos differ most

    def by_hand() -> Tensor:
        seen: list[Tensor] = []
        handles = [block.register_forward_hook(lambda block, inputs, out: seen.append(out)) for block in module.blocks]
        module(b.other)
        for handle in handles:
            handle.remove()
        difference = torch.zeros(b.vit.blocks, len(squares))
        for layer, square in np.ndindex(*difference.shape):

            def swap(block: Any, inputs: Any, out: Tensor, layer: int = layer, square: int = square) -> Tensor:
                mixed = out.clone()
                mixed[:, squares[square]] = seen[layer][:, squares[square]]
                return mixed

            handle = module.blocks[layer].register_forward_hook(swap)
            logits = module(b.x)[0]
            difference[layer, square] = logits[pair[0]] - logits[pair[1]]
            handle.remove()
        return difference

    def ours() -> Tensor:
        found = vitcore.activation_patching(b.vit, b.x, b.other, squares, pair)
        return torch.from_numpy(found.logit_difference.copy())

    return Job("every square after every layer", ours, {"by hand": by_hand})


def gradients(b: Bench) -> Job:
    """(1, T, D): the gradient of a class's logit by the stream after a layer."""
    from captum.attr import LayerGradientXActivation

    name = f"blocks.{LAYER}.hook_resid_post"

    def ours() -> Tensor:
        nothing = torch.zeros(b.vit.grid.tokens, b.vit.module.embed_dim, requires_grad=True)
        with torch.enable_grad(), vitcore.edit(b.vit) as e:
            e.resid(LAYER).add(nothing)
            return torch.autograd.grad(e.vit.module(b.x)[0, CLASS], nothing)[0][None]

    def by_captum() -> Tensor:
        layer = LayerGradientXActivation(b.vit.module, b.vit.module.blocks[LAYER], multiply_by_inputs=False)
        with torch.enable_grad():
            return layer.attribute(b.x.clone().requires_grad_(), target=CLASS).detach()

    def by_prisma() -> Tensor:
        with torch.enable_grad():
            seen: list[Tensor] = []
            x = b.x.clone().requires_grad_()
            hooks = {"fwd_hooks": [(name, lambda value, hook: seen.append(value))]}
            logits = b.hooked.run_with_hooks(x, **hooks)
            return torch.autograd.grad(logits[0, CLASS], seen[0])[0]

    def by_nnsight() -> Tensor:
        with torch.enable_grad():
            with b.traced.trace(b.x.clone().requires_grad_()):
                stream = b.traced.blocks[LAYER].output
                with b.traced.output[0, CLASS].backward():
                    gradient = stream.grad.save()
        return gradient

    return Job("gradient at a layer's stream", ours, {"captum": by_captum, "ViT-Prisma": by_prisma, "nnsight": by_nnsight})


def attributions(b: Bench) -> list[Job]:
    """Maps (rows, cols) of one photo: ours sums over patches, so theirs is summed here."""
    from captum.attr import IntegratedGradients, LayerActivation, LayerGradientXActivation

    grid, module = b.vit.grid, b.vit.module
    pixels = np.random.default_rng(0).integers(0, 256, (*grid.image_px, 3), np.uint8)
    x = to_model_input(b.vit, pixels)

    def ours(method: str, **settings: Any) -> Way:
        return lambda: torch.from_numpy(vitcore.relevance(b.vit, pixels, method, CLASS, **settings).maps)

    def integrated() -> Tensor:
        with torch.enable_grad():
            made = IntegratedGradients(module).attribute(
                x.clone().requires_grad_(), torch.zeros_like(x), target=CLASS, n_steps=STEPS
            )
        return torch.nn.functional.avg_pool2d(made.detach().double().sum(1), grid.patch_px)[0] * grid.patch_px**2

    def grad_cam() -> Tensor:
        """Of captum's activations and gradients: its own Grad-CAM takes tokens for channels."""
        norm, given = module.blocks[-1].norm1, x.clone().requires_grad_()
        with torch.enable_grad():
            slope = LayerGradientXActivation(module, norm, multiply_by_inputs=False).attribute(given, target=CLASS)
            there = LayerActivation(module, norm).attribute(given)
        slope, there = slope[0, grid.prefix :].detach(), there[0, grid.prefix :].detach()
        return (there @ slope.mean(0)).relu().view(grid.rows, grid.cols)

    return [
        Job(f"integrated gradients, {STEPS} steps", ours("integrated_gradients", steps=STEPS), {"captum": integrated}),
        Job("Grad-CAM", ours("grad_cam"), {"captum": grad_cam}),
    ]


def batches(b: Bench) -> list[Job]:
    """Many photos, as many at a time as `PHOTOS`."""
    photos = np.random.default_rng(0).integers(0, 256, (PHOTOS, *b.vit.grid.image_px, 3), np.uint8)
    inputs = torch.cat([to_model_input(b.vit, one) for one in photos])
    far, prefix = torch.from_numpy(b.vit.grid.distances_px()).float(), b.vit.grid.prefix

    def many(name: str) -> Way:
        numbers = lambda: vitcore.record_many(b.vit, photos, batch=PHOTOS, keep=(name,), progress=False)  # noqa: E731
        return lambda: torch.stack([torch.from_numpy(one.kept[name]) for one in numbers()])

    def distance(attentions: Any) -> Tensor:
        maps = torch.stack([*attentions], 1)[..., prefix:, prefix:]  # (B, L, H, N, N)
        return (maps * far).sum(-1).mean(-1)

    def by_prisma() -> Tensor:
        names = [f"blocks.{layer}.attn.hook_pattern" for layer in b.layers]
        kept = b.hooked.run_with_cache(inputs, names_filter=names)[1]
        return distance([kept[name] for name in names])

    return [
        Job(f"answers of {PHOTOS} photos", many("logits"), {
            "timm": lambda: b.vit.module(inputs), "transformers": lambda: b.hf(inputs).logits,
            "ViT-Prisma": lambda: b.hooked(inputs),
        }),
        Job(f"attention distance, {PHOTOS} photos", many("distance_px"), {
            "transformers": lambda: distance(b.hf(inputs, output_attentions=True).attentions), "ViT-Prisma": by_prisma,
        }),
    ]  # fmt: skip
