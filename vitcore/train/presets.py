"""The presets: recipes with a name, each with its source, its expected result, its cost and the command that runs it."""

import dataclasses
from collections.abc import Callable

from vitcore.train.recipe import Recipe, RecipeError


def image_folder_tiny() -> Recipe:
    """A small ViT on your own folder of photos, one folder a class; finishes on a laptop.

    Expected: two clearly different classes of 100 photos each are told apart (90 % and more) after 300 steps; a dozen
    similar classes are not. Cost: 1.8 M parameters at 64 px, 65 tokens; about 3 minutes on 2 CPU cores.
    Command: python -m vitcore train image_folder_tiny --data PHOTOS --id mine
    """
    return Recipe(
        image_px=64, patch_px=8, width=192, blocks=4, steps=300, batch=64, warmup_steps=30, label_smoothing=0.1,
        patch_init_std=0.002, evaluate_every_steps=50, save_every_steps=50, snapshots=16,
    )  # fmt: skip


def cifar10_tiny() -> Recipe:
    """CIFAR-10 from scratch at 32 px in patches of 4 px.

    Expected: 60 to 70 % top-1 after 5,000 steps, by what others report of small ViTs this early; not measured here.
    Cost: 1.8 M parameters, 65 tokens; an hour on 2 CPU cores, a minute or two on a GPU.
    Command: python -m vitcore train cifar10_tiny --data cifar10 --id cifar
    """
    return Recipe(
        image_px=32, patch_px=4, width=192, blocks=4, steps=5000, batch=128, warmup_steps=250, label_smoothing=0.1,
        crop_area=0.4, mixup=0.2, evaluate_every_steps=500, save_every_steps=250,
    )  # fmt: skip


def paper_pretraining() -> Recipe:
    """ViT-B/16 pre-trained on ImageNet as Table 3 of arXiv 2010.11929 (and its Section 4.1, Appendix B.1).

    Adam 0.9/0.999, weight decay 0.3, batch 4096, 10k warm-up, cosine, dropout 0.1, clip norm 1, the tanh head. (JFT-300M:
    lr_peak 8e-4 for B, 6e-4 for L/32, 4e-4 for L/16, 3e-4 for H/14, linear decay, weight decay 0.1, no dropout.)
    Expected: 77.91 % top-1 on ImageNet after fine-tuning at 384 px (Table 5, "ImageNet"). Cost: 300 epochs of 1.28 M photos,
    93.8k steps, 4.1e19 FLOP: ten hours on 8 A100s at 45 % of their bf16 rate (arithmetic, not measured).
    Command: torchrun --nproc_per_node 8 -m vitcore train paper_pretraining --data IMAGENET --micro-batch 256 --compile
    """
    return Recipe(
        image_px=224, patch_px=16, width=768, blocks=12, heads=12, mlp_head=True, steps=93_840, batch=4096,
        lr_peak=3e-3, warmup_steps=10_000, weight_decay=0.3, dropout=0.1, crop_area=0.05, workers=8,
        evaluate_every_steps=2000, save_every_steps=1000, few_shot_every_steps=5000,
    )  # fmt: skip


def paper_finetuning() -> Recipe:
    """Fine-tuning at a higher resolution as Table 4 of arXiv 2010.11929 (vit_jax/configs/common.py).

    SGD with momentum 0.9, batch 512, cosine, 500 warm-up steps, no weight decay, clip norm 1, a zero-initialised head,
    384 px with 2-D interpolated positions. (Only ImageNet in Table 2 has 512 or 518 px and Polyak averaging, 0.9999.) Steps
    and lr_peak by data set: ImageNet 20k and {.003, .01, .03, .06}; CIFAR 10k and {.001, .003, .01, .03}; Pets and Flowers
    500, the same; VTAB 2500 and .01.
    Expected: ViT-B/16 from ImageNet-21k reaches 83.97 % on ImageNet, 98.95 % on CIFAR-10 (Table 5). Cost: 20k steps of
    512 photos at 55.5 GMACs, 3.4e18 FLOP: an hour on 8 A100s at 45 % of their bf16 rate (arithmetic, not measured).
    Command: torchrun --nproc_per_node 8 -m vitcore train paper_finetuning --data IMAGENET --micro-batch 64
             --start-from vit_base_patch16_224.orig_in21k
    """
    return Recipe(
        image_px=384, patch_px=16, width=768, blocks=12, heads=12, steps=20_000, batch=512, optimiser="sgd",
        lr_peak=0.03, warmup_steps=500, weight_decay=0.0, crop_area=0.05, workers=8,
        evaluate_every_steps=1000, save_every_steps=500,
    )  # fmt: skip


def masked_patches() -> Recipe:
    """Masked patch prediction, Appendix B.1.2 of arXiv 2010.11929: no labels needed.

    Half of the patch embeddings are corrupted (80 % a learned [mask], 10 % another patch's, 10 % unchanged) and the mean
    colour of each is predicted, 3 bits a channel: 512 classes. The paper: ViT-B/16, JFT, 1 M steps of 4096, lr 2e-4,
    10k warm-up: 79.9 % on ImageNet after fine-tuning, 2 points above training from scratch.
    Expected here: a loss clearly below the entropy of the mean colours, what guessing by their frequencies gives, within
    1,000 steps. Cost: 2.7 M parameters, 257 tokens; about 60 images/s on 2 CPU cores, 20 minutes.
    Command: python -m vitcore train masked_patches --data PHOTOS --id masked
    """
    return Recipe(
        task="masked", width=192, blocks=6, steps=1000, batch=64, lr_peak=1e-3, warmup_steps=100, weight_decay=0.05,
        evaluate_every_steps=200, patch_init_std=0.002,
    )  # fmt: skip


def masked_patches_paper() -> Recipe:
    """Masked patch prediction at the paper's scale: ViT-B/16, batch 4096, Adam 2e-4, 10k warm-up, cosine (B.1.2).

    Expected: 79.9 % on ImageNet after fine-tuning, of which most is there after these 100k steps (the paper made 1 M).
    Cost: 4.3e19 FLOP, eleven hours on 8 A100s at 45 % of their bf16 rate (arithmetic, not measured).
    Command: torchrun --nproc_per_node 8 -m vitcore train masked_patches_paper --data PHOTOS --micro-batch 256
    """
    return Recipe(
        task="masked", image_px=224, patch_px=16, width=768, blocks=12, heads=12, steps=100_000, batch=4096,
        lr_peak=2e-4, warmup_steps=10_000, weight_decay=0.1, workers=8, evaluate_every_steps=2000, save_every_steps=1000,
    )  # fmt: skip


def distillation() -> Recipe:
    """A ViT-Ti taught by a larger model on your photos: its probabilities (soft), or its answer (hard, as DeiT).

    Expected: nearer the teacher than labels alone get; how near depends on the photos. Cost: the teacher's forward pass is
    added to each step. Command: python -m vitcore train distillation --data PHOTOS --teacher
    vit_base_patch16_224.augreg_in21k_ft_in1k; without labels, --distil-share 1 and the teacher's classes are learned.
    """
    return Recipe(
        task="distil", teacher="vit_tiny_patch16_224.augreg_in21k_ft_in1k", distil_share=0.5, steps=3000, warmup_steps=200,
        mixup=0.2, average_decay=0.999,
    )  # fmt: skip


def layer_by_layer() -> Recipe:
    """A small ViT that learns every layer of a teacher: how the model this project ships was made. Photos need no labels.

    The teacher sees each crop enlarged, so that its patches are the student's. For three quarters of the steps every part of
    a block is given the teacher's own input, a quarter of the patches at a time; then the student goes its own way, in the
    end with all patches. Expected: nearly what its teacher knows of such photos (61 % right beside 62 % of 1,328 held out).
    Cost: an hour or two on 2 CPU cores in fp32. Command: python -m vitcore train layer_by_layer --data PHOTOS --teacher
    vit_tiny_patch16_224.augreg_in21k_ft_in1k --looker vit_small_patch14_dinov2.lvd142m
    """
    return Recipe(
        task="layers", teacher="vit_tiny_patch16_224.augreg_in21k_ft_in1k", optimiser="muon", lr_peak=1e-2, momentum=0.95,
        beta2=0.98, weight_decay=0.0, adam_lr=0.3, place_lr=1.5, clip_norm=0.0, warmup_steps=30, hold=0.4, decay="linear",
        steps=3000, batch=16, keep_patches="0.25:0.9", forced=0.75, free_lr=0.03, looker_from=0.9, crop_area=0.25,
        looker_share=0.5, looker_weight=3.0,
        patch_init_std=0.002, evaluate_every_steps=400, evaluate_most=600, save_every_steps=100,
    )  # fmt: skip


def labels_alone() -> Recipe:
    """A ViT without a teacher: random weights and the labels of a few thousand photos. Nothing shows it filters, positions
    or heads.

    Expected: 66 % right on held-out photos of Imagenette's ten kinds after learning from 4,664; smooth filters and positions
    that know the grid, no near and far heads in layer 0. Cost: 2.7 M parameters at 64 px, 65 tokens; an hour on 2 CPU cores.
    Command: python -m vitcore train labels_alone --data PHOTOS (Imagenette, say: hf:frgfm/imagenette, or cifar10)
    """
    return Recipe(
        image_px=64, patch_px=8, width=192, blocks=6, heads=3, steps=2000, batch=64, optimiser="muon", lr_peak=2e-3,
        momentum=0.95, beta2=0.98, weight_decay=0.05, warmup_steps=100, label_smoothing=0.1, mixup=0.2, crop_area=0.3,
        patch_init_std=0.002, evaluate_every_steps=200, evaluate_most=1000, snapshots=32,
    )  # fmt: skip


PRESETS: dict[str, Callable[[], Recipe]] = {
    f.__name__: f
    for f in (image_folder_tiny, cifar10_tiny, masked_patches, distillation, paper_pretraining, paper_finetuning,
              masked_patches_paper, layer_by_layer, labels_alone)
}  # fmt: skip


def recipe_of_preset(name: str, **changes: object) -> Recipe:
    """A preset by name, with some fields changed. Raises: RecipeError, naming those there are."""
    if name not in PRESETS:
        raise RecipeError("there is no preset {name!r}: {presets}.", name=name, presets=", ".join(PRESETS))
    return dataclasses.replace(PRESETS[name](), **changes)  # type: ignore[arg-type]
