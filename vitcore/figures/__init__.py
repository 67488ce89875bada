"""Figures: arrays in, a `Drawing` out, all in one theme; `print_figure` makes PNG, SVG or HTML of it, `to_plotly` Plotly's own."""

from vitcore.figures.attention import rollout
from vitcore.figures.attention_explorer import attention_explorer, attention_heads
from vitcore.figures.charts.architecture import architecture
from vitcore.figures.charts.cka_heatmap import cka_heatmap
from vitcore.figures.charts.distance import attention_distance
from vitcore.figures.charts.few_shot import confusion_matrix, few_shot_accuracy
from vitcore.figures.charts.interventions import head_drops, patching_by_depth
from vitcore.figures.charts.map_tests import MapCurve, MethodInterval, deletion_chart, randomisation_chart, ranking_chart
from vitcore.figures.charts.predictions import predictions
from vitcore.figures.charts.speed import ThroughputCurve, throughput
from vitcore.figures.charts.token_norms import norm_histogram, norm_map, norm_strip, norms_by_depth
from vitcore.figures.charts.training_figures import (
    TrainingCurve,
    attention_on_photo,
    masked_photo,
    synthetic_pictures,
    training_curves,
)
from vitcore.figures.drawing import Drawing
from vitcore.figures.filters import filter_component, filter_pattern_words, filters, scree_plot
from vitcore.figures.outlier_frames import frame_outliers
from vitcore.figures.painters.png_and_svg import print_figure
from vitcore.figures.patches import patch_and_embedding, patches, photos_in_patches, token_colours
from vitcore.figures.positions import cosine_map, position_similarity, position_similarity_tile
from vitcore.figures.relevance import relevance, rollout_per_layer
from vitcore.lazy_names import show_names

__all__ = [
    "Drawing",
    "MapCurve",
    "MethodInterval",
    "ThroughputCurve",
    "TrainingCurve",
    "architecture",
    "attention_distance",
    "attention_explorer",
    "attention_heads",
    "attention_on_photo",
    "cka_heatmap",
    "confusion_matrix",
    "cosine_map",
    "deletion_chart",
    "few_shot_accuracy",
    "filter_component",
    "filter_pattern_words",
    "filters",
    "frame_outliers",
    "head_drops",
    "masked_photo",
    "norm_histogram",
    "norm_map",
    "norm_strip",
    "norms_by_depth",
    "patch_and_embedding",
    "patches",
    "patching_by_depth",
    "photos_in_patches",
    "position_similarity",
    "position_similarity_tile",
    "predictions",
    "print_figure",
    "randomisation_chart",
    "ranking_chart",
    "relevance",
    "rollout",
    "rollout_per_layer",
    "scree_plot",
    "synthetic_pictures",
    "throughput",
    "token_colours",
    "training_curves",
]

__dir__ = show_names(__name__)
