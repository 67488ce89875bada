"""The table of models: one row each, with what a person wants to know before choosing (no torch in this file)."""

import re
from dataclasses import dataclass
from pathlib import Path

from vitcore.errors import RefusalError
from vitcore.translation import say

DEFAULT_MODEL = "vit-tiny-patch8-128"
OWN_FILE = "your file"  # the note of a model that nobody described


class ModelError(RefusalError):
    """A model that can't be had or can't be shown; the message says what to do about it."""


def missing_file_error(path: Path) -> ModelError:
    """The sentence about a file that is not there, or is an address, which has lost one of its strokes as a path."""
    if re.match(r"https?:/", path.as_posix()):
        return ModelError("{name} is an address, and models are read from files: download it first, or write a model of the hub as "
                          "{example}.", name=path.name, example="hf-hub:google/vit-base-patch16-224")  # fmt: skip
    return ModelError("{name} does not exist.", name=path.name)


@dataclass(frozen=True, slots=True)
class ModelCard:
    """A row of the menu; `name` is what `load` takes, `download_mb` is 0 for models that are here, as `note` may say."""

    name: str
    title: str
    params_m: float
    download_mb: float
    licence: str
    good_for: str = ""
    note: str = ""
    teacher: str = ""  # the model whose every layer it was taught to imitate
    looker: str = ""  # the model whose last class attention it was taught to imitate
    data: str = ""  # what it was trained on, in words
    top1: float = 0.0  # % of ImageNet-1k's validation photos named right (timm's results-imagenet.csv); 0: no such classes
    interpolated: bool = False  # whether its positions were interpolated on the grid in its training, as for DINO's small crops
    called: str = ""  # what people are told, and type, where `name` is only what it is kept under

    @property
    def summary(self) -> str:
        """Parameters, download and licence in one line."""
        here = say(self.note) if self.note else say("ships with the app")
        size = here if not self.download_mb else say("{size:.0f} MB download", size=self.download_mb)
        return " · ".join(x for x in (say("{count:.1f} M parameters", count=self.params_m), size, self.licence) if x)


def _hub(name: str, title: str, params_m: float, good_for: str, data: str, top1: float = 0.0, more: bool = False) -> ModelCard:
    """Every hub row is fp32 (4 bytes a parameter) and, by timm's own configuration, under Apache-2.0."""
    return ModelCard(name, title, params_m, 4 * params_m, "Apache-2.0", good_for, data=data, top1=top1, interpolated=more)


IN1K = "ImageNet-1k, 1.3 million photos with labels"
IN21K = "ImageNet-21k, 14 million photos with labels"
THEN_1K = "ImageNet-21k, 14 million photos with labels, then ImageNet-1k, 1.3 million"
DISTILLED = "ImageNet-1k, 1.3 million photos with labels, and the answers of a convolutional network"
UNLABELLED = "ImageNet-1k, 1.3 million photos without their labels"
LVD = "the features of DINOv2 g/14, distilled on LVD-142M, 142 million photos without labels"
CLIP = "400 million pictures with their texts, from the internet, not published"
CLIP_1K = "400 million pictures with their texts, from the internet, not published; then ImageNet-1k with labels"
WEBLI = "WebLI, pictures with their texts, from the internet, not published"


MODEL_CARDS = (
    ModelCard(DEFAULT_MODEL, "Inside ViT Ti/8 · 128 px", 5.6, 0, "Apache-2.0",
    "starting: it is here already, a 16×16 grid of patches",
              teacher="ViT-Ti/16", looker="DINOv2 S/14"),
    _hub("vit_tiny_patch16_224.augreg_in21k_ft_in1k", "ViT-Ti/16", 5.7, "a small, well-trained paper-style model", THEN_1K, 75.5),
    _hub("vit_small_patch16_224.augreg_in21k_ft_in1k", "ViT-S/16", 22.1, "six heads, still quick on a laptop", THEN_1K, 81.4),
    _hub("vit_base_patch16_224.augreg_in21k_ft_in1k", "ViT-B/16", 86.6, "the shape of the paper's Base: 12 layers × 12 heads",
         THEN_1K, 84.5),
    _hub("vit_base_patch16_384.augreg_in21k_ft_in1k", "ViT-B/16 · 384 px", 86.9, "fine-tuned at higher resolution: 24×24 patches",
         THEN_1K, 86.0, True),
    _hub("vit_base_patch32_224.augreg_in21k_ft_in1k", "ViT-B/32", 88.2, "coarse 7×7 grid, few tokens", THEN_1K, 80.7),
    _hub("vit_large_patch16_224.augreg_in21k_ft_in1k", "ViT-L/16", 304.3,
         "the shape of the paper's Figures 6 and 7 (right): 24 layers × 16 heads",
         THEN_1K, 85.8),
    _hub("vit_base_patch16_224.orig_in21k", "ViT-B/16 · original, ImageNet-21k", 85.8, "the authors' own pre-training, no classes",
         IN21K),
    _hub("deit_tiny_patch16_224.fb_in1k", "DeiT-Ti/16", 5.7, "ImageNet-1k only: positions form blobs, not crosses", IN1K, 72.2),
    _hub("deit_small_patch16_224.fb_in1k", "DeiT-S/16", 22.1, "trained on ImageNet-1k only", IN1K, 79.9),
    _hub("deit_base_distilled_patch16_224.fb_in1k", "DeiT-B/16 distilled", 87.3, "a second prefix token: distillation",
         DISTILLED, 83.4),
    _hub("deit3_small_patch16_224.fb_in1k", "DeiT-III-S/16", 22.1, "a stronger recipe, no class-token position", IN1K, 81.4),
    _hub("deit3_base_patch16_224.fb_in22k_ft_in1k", "DeiT-III-B/16", 86.6, "ImageNet-22k, then ImageNet-1k", THEN_1K, 85.7),
    _hub("vit_small_patch16_224.dino", "DINO S/16", 21.7, "self-supervised; its authors show class attention that outlines objects",
         UNLABELLED, more=True),
    _hub("vit_small_patch8_224.dino", "DINO S/8", 21.7, "a 28×28 grid of patches of 8 px", UNLABELLED, more=True),
    _hub("vit_base_patch16_224.dino", "DINO B/16", 85.8, "self-supervised, twelve heads", UNLABELLED, more=True),
    _hub("vit_small_patch14_dinov2.lvd142m", "DINOv2 S/14", 22.1, "self-supervised, 518 px: 37×37 patches", LVD, 0.0, True),
    _hub("vit_small_patch14_reg4_dinov2.lvd142m", "DINOv2 S/14 + 4 registers", 22.1, "four registers beside the class token",
         LVD, 0.0, True),
    _hub("vit_base_patch14_reg4_dinov2.lvd142m", "DINOv2 B/14 + 4 registers", 86.6, "five tokens before the patches",
         LVD, 0.0, True),
    _hub("vit_base_patch16_clip_224.openai", "CLIP B/16", 86.2, "learned from image and text pairs, no classes", CLIP),
    _hub("vit_base_patch16_clip_224.openai_ft_in1k", "CLIP B/16, fine-tuned", 86.6, "CLIP with ImageNet classes", CLIP_1K, 85.3),
    _hub("vit_base_patch16_siglip_224.webli", "SigLIP B/16", 92.9, "no class token: an attention pool reads the answer", WEBLI),
    _hub("vit_base_r50_s16_384.orig_in21k_ft_in1k", "R50 + ViT-B/16 hybrid", 99.0,
         "the paper's hybrid: a ResNet-50 whose stage 3 is extended by stage 4's layers",
         THEN_1K, 85.0, True),
    _hub("vit_small_r26_s32_224.augreg_in21k_ft_in1k", "R26 + ViT-S/32 hybrid", 36.4, "a small hybrid, 7×7 grid", THEN_1K, 81.9),
)  # fmt: skip
