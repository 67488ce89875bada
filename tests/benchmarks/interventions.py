"""Benchmark: `vitcore.cache`, `edit`, `head_ablation` and `activation_patching` against captum, nnsight and timm's own function.

Run `python tests/benchmarks/interventions.py [--times 5]`. A row says by how much the numbers differ from plain PyTorch's, and
the median of its seconds and of its processor's seconds; ways are timed in turn. nnsight is left out where it is not installed
(`pip install nnsight`).
"""

import argparse
import copy
import importlib.util
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch

import vitcore
from vitcore.interventions.activations import to_model_inputs

LAYER, HEAD = 6, 1
SQUARE = 4  # patches


def residual_streams(vit: vitcore.Vit, x: torch.Tensor) -> dict[str, Callable[[], torch.Tensor]]:
    """(L, 1, T, D) of all layers, in each way; the first is plain PyTorch."""
    from captum.attr import LayerActivation

    module, blocks = vit.module, list(vit.module.blocks)

    def hooks() -> torch.Tensor:
        seen: list[torch.Tensor] = []
        handles = [block.register_forward_hook(lambda block, inputs, out: seen.append(out)) for block in blocks]
        module(x)
        for handle in handles:
            handle.remove()
        return torch.stack(seen)

    def by_vitcore() -> torch.Tensor:
        kept = vitcore.cache(vit, x, ["resid_post"])
        return torch.stack([kept["resid_post", layer] for layer in range(len(blocks))])

    def by_timm() -> torch.Tensor:
        made = module.forward_intermediates(x, output_fmt="NLC", return_prefix_tokens=True, intermediates_only=True)
        return torch.stack([torch.cat([prefix, patches], 1) for patches, prefix in made])

    ways = {"hooks by hand": hooks, "vitcore.cache": by_vitcore, "timm's forward_intermediates": by_timm}
    ways["captum's LayerActivation"] = lambda: torch.stack(LayerActivation(module, blocks).attribute(x))
    if importlib.util.find_spec("nnsight"):
        own = copy.deepcopy(module)  # nnsight replaces the forward methods of the module that it is given
        ways["nnsight's trace"] = lambda: traced_streams(own, x)
    return ways


def traced_streams(module: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    from nnsight import NNsight

    model = NNsight(module)
    with model.trace(x):
        seen = list().save()  # noqa: C408  # nnsight's own way of saying what is kept
        for block in model.blocks:
            seen.append(block.output)
    return torch.stack(list(seen))


def without_a_head(vit: vitcore.Vit, x: torch.Tensor) -> dict[str, Callable[[], torch.Tensor]]:
    """(1, classes) without a head, in each way; the first is plain PyTorch, with a hook by hand."""
    module, proj = vit.module, vit.module.blocks[LAYER].attn.proj
    width = proj.in_features // vit.heads
    columns = slice(HEAD * width, (HEAD + 1) * width)

    def zero(proj: torch.nn.Module, inputs: tuple[torch.Tensor]) -> torch.Tensor:
        z = inputs[0].clone()
        z[..., columns] = 0
        return z

    def hook() -> torch.Tensor:
        handle = proj.register_forward_pre_hook(zero)
        logits = module(x)
        handle.remove()
        return logits

    def by_vitcore() -> torch.Tensor:
        with vitcore.edit(vit) as e:
            e.head(LAYER, HEAD).zero()
        return e.vit.module(x)

    ways = {"a hook by hand": hook, "vitcore.edit": by_vitcore}
    if importlib.util.find_spec("nnsight"):
        own = copy.deepcopy(module)
        ways["nnsight's trace"] = lambda: traced_without_a_head(own, x, columns)
    return ways


def traced_without_a_head(module: torch.nn.Module, x: torch.Tensor, columns: slice) -> torch.Tensor:
    from nnsight import NNsight

    model = NNsight(module)
    with model.trace(x):
        model.blocks[LAYER].attn.proj.input[:, :, columns] = 0
        logits = model.output.save()
    return logits


def all_heads(vit: vitcore.Vit, x: torch.Tensor) -> dict[str, Callable[[], torch.Tensor]]:
    """(L, H) change of the top class's logit without each head; the first is a whole pass a head, by hooks."""
    module = vit.module

    def hooks() -> torch.Tensor:
        whole = module(x)[0]
        top, changes = whole.argmax(), torch.zeros(vit.blocks, vit.heads)
        for layer, head in np.ndindex(*changes.shape):
            proj = module.blocks[layer].attn.proj
            width = proj.in_features // vit.heads

            def zero(
                proj: torch.nn.Module, inputs: tuple[torch.Tensor], first: int = head * width, width: int = width
            ) -> torch.Tensor:
                z = inputs[0].clone()
                z[..., first : first + width] = 0
                return z

            handle = proj.register_forward_pre_hook(zero)
            changes[layer, head] = module(x)[0, top] - whole[top]
            handle.remove()
        return changes

    return {"a pass a head by hand": hooks, "vitcore.head_ablation": lambda: torch.from_numpy(vitcore.head_ablation(vit, x).copy())}


def all_squares(vit: vitcore.Vit, x: torch.Tensor, other: torch.Tensor) -> dict[str, Callable[[], torch.Tensor]]:
    """(L, G) logit difference with each square of patches from another photo; the first is a whole pass a square, by hooks."""
    module, grid = vit.module, vit.grid
    squares = [
        [grid.prefix + (row + i) * grid.cols + col + j for i in range(SQUARE) for j in range(SQUARE)]
        for row in range(0, grid.rows, SQUARE) for col in range(0, grid.cols, SQUARE)
    ]  # fmt: skip

    def hooks() -> torch.Tensor:
        seen: list[torch.Tensor] = []
        handles = [block.register_forward_hook(lambda block, inputs, out: seen.append(out)) for block in module.blocks]
        second = module(other)[0].argmax()
        for handle in handles:
            handle.remove()
        first, difference = module(x)[0].argmax(), torch.zeros(vit.blocks, len(squares))
        for layer, square in np.ndindex(*difference.shape):

            def swap(
                block: torch.nn.Module, inputs: object, out: torch.Tensor, layer: int = layer, square: int = square
            ) -> torch.Tensor:
                mixed = out.clone()
                mixed[:, squares[square]] = seen[layer][:, squares[square]]
                return mixed

            handle = module.blocks[layer].register_forward_hook(swap)
            logits = module(x)[0]
            difference[layer, square] = logits[first] - logits[second]
            handle.remove()
        return difference

    def by_vitcore() -> torch.Tensor:
        return torch.from_numpy(vitcore.activation_patching(vit, x, other, squares).logit_difference.copy())

    return {"a pass a square by hand": hooks, "vitcore.activation_patching": by_vitcore}


def compare(title: str, ways: dict[str, Callable[[], torch.Tensor]], times: int) -> None:
    """Print a table of the ways: how far each is from the first, and what it takes."""
    reference = next(iter(ways.values()))()
    far = {name: float((way() - reference).abs().max()) for name, way in ways.items()}
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(times):
        for name, way in ways.items():
            wall, busy = time.perf_counter(), time.process_time()
            way()
            took[name].append((time.perf_counter() - wall, time.process_time() - busy))
    print(f"{title:<32} {'differs by':>12} {'seconds':>9} {'processor':>10}")
    for name in ways:
        wall, busy = (statistics.median(one) for one in zip(*took[name], strict=True))
        print(f"{name:<32} {far[name]:>12.1e} {wall:>9.3f} {busy:>10.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    times = parser.parse_args().times
    vit = vitcore.load()
    x = to_model_inputs(vit, vitcore.open_photo("assets/samples/astronaut.jpg"))
    with torch.no_grad():
        compare("residual stream of all layers", residual_streams(vit, x), times)
        compare("the answer without a head", without_a_head(vit, x), times)
        compare("every head", all_heads(vit, x), max(1, times // 2))
        other = to_model_inputs(vit, vitcore.open_photo("assets/samples/cat.jpg"))
        compare("every square after every layer", all_squares(vit, x, other), max(1, times // 2))


if __name__ == "__main__":
    main()
