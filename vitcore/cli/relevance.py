"""The shell's verbs `relevance`, `attention`, `ablate`, `cache` and `steer`: which patches spoke for a class, what a token attends
to, what the answer loses without each head, the activations of a pass, and the answer as a photo is steered towards another."""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import vitcore
from vitcore.analysis.rollout_options import CONVENTIONS
from vitcore.cli.photos import UsageError, is_json_asked, photo_or_stdin, record_photo, write_result

SCALES = "0,0.5,1,1.5,2"


def add_relevance_flags(verb: argparse.ArgumentParser) -> None:
    """Give the parser of `relevance` its settings."""
    verb.add_argument("--method", default="chefer", help="rollout, gradient_rollout, chefer, integrated_gradients or grad_cam")
    add_convention_flag(verb)
    _add_target_flag(verb)


def _add_target_flag(verb: argparse.ArgumentParser) -> None:
    """Give the parser of a verb the class that it asks for."""
    verb.add_argument("--target", "--class", dest="target", help="a class by its name or its index (default: the likeliest)")


def _target(args: argparse.Namespace) -> int | str | None:
    """The class that is asked for, by index or name; None is the likeliest."""
    target: str | None = args.target
    return int(target) if target and target.isdecimal() else target


def add_convention_flag(verb: argparse.ArgumentParser) -> None:
    """Give the parser of a verb the convention of its rollout."""
    usual = CONVENTIONS[0]
    told = f"how a rollout discards and normalises (default {usual})"
    verb.add_argument("--convention", choices=CONVENTIONS, default=usual, help=told)


def add_attention_flags(verb: argparse.ArgumentParser) -> None:
    """Give the parser of `attention` its settings."""
    verb.add_argument("--layer", type=int, help="the block, from 0, or from the last as -1 (default: the last)")
    verb.add_argument("--patch", type=int, help="ask for this patch instead of where the answer is read")


def add_ablation_flags(verb: argparse.ArgumentParser) -> None:
    """Give the parser of `ablate` its settings."""
    _add_target_flag(verb)
    verb.add_argument("--by", choices=("zero", "mean", "uniform"), default="zero",
                      help="in place of a head's output: zeros, its mean over all tokens, or uniform attention (zero)")  # fmt: skip


def add_cache_flags(verb: argparse.ArgumentParser) -> None:
    """Give the parser of `cache` its settings."""
    verb.add_argument("--names", default="resid_post", help="of activations, TransformerLens's: q,k,v (default resid_post)")
    verb.add_argument("--layers", help="blocks from 0, or from the last: 0,-1 (default: all)")


def draw_relevance(args: argparse.Namespace, vit: vitcore.Vit) -> None:
    """The relevance of every patch for a class."""
    from vitcore.analysis.relevance import METHODS
    from vitcore.forward.relevance import IncompleteAttributionsWarning
    from vitcore.images import sharp_crop

    rec = record_photo(vit, args.photo, fusions=())
    settings = {} if args.convention == "row-stochastic" else {"convention": args.convention}
    warnings.filterwarnings("ignore", category=IncompleteAttributionsWarning)  # said here, in a line of its own
    found = vitcore.relevance(vit, rec.model_input, args.method, _target(args), **settings)
    if found.incomplete:
        print(found.incomplete, file=sys.stderr)
    method, labels = METHODS[args.method], [vit.labels[index] for index in found.targets]
    unit = "logits" if method.signed else "relevance"
    title = f"{method.title[:1].upper()}{method.title[1:]}" + "".join(f" · {label}" for label in labels)
    photo = sharp_crop(rec.photo, rec.model_input)
    even = None if method.asks_class else vit.grid.even_share
    fig = lambda: vitcore.figures.relevance(  # noqa: E731
        found.maps, photo, vit.grid, title, unit, signed=method.signed, even_share=even
    )
    told = {"method": args.method, "relevance": found.maps.tolist(), "class": labels[0] if labels else None}
    told |= {"class_index": found.targets[0] if found.targets else None, "gap": found.gaps[0] if found.gaps else None}
    write_result(args, vit, "relevance", fig, {"relevance": found.maps}, **told)


def draw_attention(args: argparse.Namespace, vit: vitcore.Vit) -> None:
    """What a token attends to, by every head of a block."""
    from vitcore.forward.layer_indices import layer_index

    layer = layer_index(-1 if args.layer is None else args.layer, vit.blocks)
    if args.patch is not None and not 0 <= args.patch < vit.grid.patches:
        raise ValueError(f"--patch is from 0 to {vit.grid.patches - 1}.")
    rec = record_photo(vit, args.photo, maps=[layer], fusions=())
    maps = rec.head_maps(layer, None if args.patch is None else vit.grid.prefix + args.patch)
    who = f"the {vit.pooling}" if args.patch is None else f"patch {args.patch}"
    fig = lambda: vitcore.figures.attention_heads(maps, vit.grid, f"Layer {layer}: attention of {who}")  # noqa: E731
    write_result(args, vit, "attention", fig, {"attention": maps}, attention=maps.tolist(), layer=layer)


def draw_head_drops(args: argparse.Namespace, vit: vitcore.Vit) -> None:
    """By how much the logit of a class falls without each head; the head that matters most is named."""
    from tqdm import tqdm

    from vitcore.models.vit import class_index

    rec, asked = record_photo(vit, args.photo, fusions=()), class_index(vit, _target(args))
    target = int(rec.logits.argmax()) if asked is None else asked
    with tqdm(total=vit.blocks * vit.heads, unit="head", file=sys.stderr, disable=None) as bar:
        told = lambda done, _: bar.update(done - bar.n) and None  # noqa: E731
        changes = vitcore.head_ablation(vit, rec.model_input, target, args.by, progress=told)
    drops, label = -changes, vit.labels[target]
    layer, head = divmod(int(drops.argmax()), vit.heads)
    fig = lambda: vitcore.figures.head_drops(drops, label)  # noqa: E731
    strongest = {"layer": layer, "head": head, "drop_of_logit": float(drops[layer, head])}
    if not is_json_asked(args):
        most = f"without head {head} of layer {layer} its logit falls most, by {drops[layer, head]:.3g}"
        print(f"{label}: {most if drops[layer, head] > 0 else 'no single head speaks for it'}")
    answer = {"class": label, "class_index": target, "by": args.by, "drop_of_logit": drops.tolist(), "strongest": strongest}
    write_result(args, vit, "ablate", fig, {"drop_of_logit": drops}, **answer)


def write_activations(args: argparse.Namespace, vit: vitcore.Vit) -> None:
    """Activations by their full names, as NPZ; as JSON their shapes."""
    from vitcore.interventions.activations import cache as keep

    layers = None if args.layers is None else args.layers.split(",")
    if layers is not None and not all(layer.removeprefix("-").isdecimal() for layer in layers):
        raise UsageError("--layers are numbers with commas between them, as 0,11.")
    chosen = None if layers is None else [int(layer) for layer in layers]
    kept = keep(vit, photo_or_stdin(args.photo), args.names.split(","), chosen)
    arrays = {name: value[0].cpu().numpy() for name, value in kept.items()} | {"logits": kept.logits[0].cpu().numpy()}
    write_result(args, vit, "activations", None, arrays, shapes={name: list(one.shape) for name, one in arrays.items()})


def add_steer_flags(verb: argparse.ArgumentParser) -> None:
    """Give the parser of `steer` its settings."""
    verb.add_argument("--towards", type=Path, required=True, metavar="PHOTO", help="the photo that it is steered towards")
    verb.add_argument("--layer", type=int, help="after this block, from 0, or from the last as -1 (default: the middle one)")
    verb.add_argument("--scales", default=SCALES,
                      help=f"how far, in parts of the whole difference; below 0 leads away (default {SCALES})")  # fmt: skip


def draw_steering(args: argparse.Namespace, vit: vitcore.Vit) -> None:
    """The likeliest class at each scale, and the probabilities of both photos' own answers; logits as NPZ, the last as PNG."""
    from vitcore.forward.layer_indices import layer_index
    from vitcore.models.vit import check_classes
    from vitcore.probabilities import probabilities, top_classes

    check_classes(vit)
    try:
        scales = [float(one) for one in args.scales.split(",")]
    except ValueError:
        raise UsageError("--scales are numbers with commas between them, as 0,0.5,1.") from None
    layer = layer_index(vit.blocks // 2 if args.layer is None else args.layer, vit.blocks)
    rec, other = record_photo(vit, args.photo, fusions=()), record_photo(vit, args.towards, fusions=())
    direction = vitcore.steering_direction(vit, towards=other.model_input, away=rec.model_input, layer=layer)
    logits = vitcore.steering_sweep(vit, rec.model_input, direction, layer, scales)
    chances = probabilities(logits, rec.output)
    places = {"own": int(rec.logits.argmax()), "other": int(other.logits.argmax())}
    rows = [
        {"scale": scale, "class": vit.labels[int(one.argmax())], "probability": float(one.max())}
        | {name: float(one[place]) for name, place in places.items()}
        for scale, one in zip(scales, chances, strict=True)
    ]
    if not is_json_asked(args):
        own, towards = (vit.labels[place] for place in places.values())
        print(f"{'scale':>6}  {own:<24.24}  {towards:<24.24}  likeliest")
        for row in rows:
            print(f"{row['scale']:6.2f}  {row['own']:<24.1%}  {row['other']:<24.1%}  {row['class']} ({row['probability']:.1%})")
    top = top_classes(logits[-1], vit.labels, 5, rec.output)
    fig = lambda: vitcore.figures.predictions(top, title=f"Steered by {scales[-1]:g} after layer {layer}")  # noqa: E731
    write_result(args, vit, "steered", fig, {"logits": logits, "scales": scales}, layer=layer, steps=rows)
