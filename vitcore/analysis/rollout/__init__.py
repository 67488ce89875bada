"""Attention rollout (Abnar & Zuidema, arXiv 2005.00928; arXiv 2010.11929 App. D.8): attention carried through blocks."""

from vitcore.analysis.rollout.discarded_weights import discard_weakest_between_patches
from vitcore.analysis.rollout.rollout_matrix import fuse_heads, map_overlap, rollout_matrix, rollout_per_layer, transition_matrix
from vitcore.analysis.rollout.token_rollout import rollout, rollout_step, start_distribution
from vitcore.analysis.rollout.vit_explain import is_vit_explain, vit_explain_rollout
from vitcore.analysis.rollout_options import CONVENTIONS, HEAD_FUSIONS, Convention, HeadFusion
from vitcore.lazy_names import show_names

__all__ = [
    "CONVENTIONS",
    "HEAD_FUSIONS",
    "Convention",
    "HeadFusion",
    "discard_weakest_between_patches",
    "fuse_heads",
    "is_vit_explain",
    "map_overlap",
    "rollout",
    "rollout_matrix",
    "rollout_per_layer",
    "rollout_step",
    "start_distribution",
    "transition_matrix",
    "vit_explain_rollout",
]

__dir__ = show_names(__name__)
