"""Figures: arrays in, `plotly.graph_objects.Figure` out, all in one theme; `print_figure` makes PNG, SVG or HTML of them."""

from vitcore.figures.attention import heads, rollout
from vitcore.figures.attention_explorer import explorer
from vitcore.figures.charts.architecture import architecture
from vitcore.figures.charts.cka_heatmap import cka
from vitcore.figures.charts.distance import distance
from vitcore.figures.charts.few_shot import confusion, few_shot
from vitcore.figures.charts.predictions import predictions
from vitcore.figures.charts.speed import SpeedLine, speed
from vitcore.figures.charts.synthetic_pictures import drawn
from vitcore.figures.charts.token_norms import norm_histogram, norm_map, norm_strip, norms_by_depth
from vitcore.figures.filters import component, filters, looks_like, scree
from vitcore.figures.outlier_frames import outlined
from vitcore.figures.patches import one_patch, patches
from vitcore.figures.png_and_svg import print_figure
from vitcore.figures.positions import cosine_map, positions, tile
from vitcore.figures.relevance import build_up, relevance
from vitcore.figures.training_curves import Line, curves, gathered, masked

__all__ = [
    "Line", "SpeedLine", "architecture", "build_up", "cka", "component", "confusion", "cosine_map", "curves", "distance", "drawn",
    "explorer", "few_shot", "filters", "gathered", "heads", "looks_like", "masked", "norm_histogram", "norm_map", "norm_strip",
    "norms_by_depth", "one_patch", "outlined", "patches", "positions", "predictions", "print_figure", "relevance", "rollout",
    "scree", "speed", "tile",
]  # fmt: skip
