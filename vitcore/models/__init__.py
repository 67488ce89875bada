"""Models: only what timm lacks, built from timm's parts and from torch."""
