"""Every drawing there is, by name, of small random numbers: `DRAWINGS[name]("dark")`."""

import numpy as np

from vitcore import figures
from vitcore.analysis.outlier_tokens import find_outlier_tokens
from vitcore.figures import story_steps
from vitcore.figures.charts.experiment import ExperimentCurve, RunDot, experiment_chart
from vitcore.figures.charts.few_shot import FewShotCurve
from vitcore.grid import Grid
from vitcore.paper import charts as paper_charts

GRID = Grid(4, 6, 16, 1)
RNG = np.random.default_rng(0)
PHOTO = RNG.integers(0, 256, (64, 96, 3), np.uint8)
MAPS = RNG.uniform(0.001, 0.2, (3, 4, 6))
TILE = MAPS[:, :, :4].swapaxes(0, 2)
COSINE = np.corrcoef(RNG.normal(size=(24, 6)))
CURVES = [figures.TrainingCurve("loss", np.arange(1, 9), 3 / np.arange(1, 9), kind) for kind in ("raw", "line", "dots")]
SHOTS = [FewShotCurve(name, [1, 5], [0.3, 0.6], [0.2, 0.5], [0.5, 0.7]) for name in "ab"]
EXPERIMENT = [ExperimentCurve(name, [0, 1], [50, 60], [45, 55], [52, 66], [RunDot(0, 49, 1, "run")]) for name in "abcdef"]
LENS = RNG.dirichlet(np.ones(9), 4)
SHEETS = RNG.integers(0, 256, (2, 3, 4, 16, 16, 3), np.uint8)
MAP_CURVES = [
    figures.MapCurve(key, key, [0, 0.5, 1], [0.9, y, 0.1], y) for key, y in (("rollout", 0.4), ("chefer", 0.2), ("chance", 0.6))
]
MAP_INTERVALS = [[figures.MethodInterval(name, 0.2, 0.1, 0.3), figures.MethodInterval(name, 0.1, 0.0, 0.2)] for name in "ab"]
SPEEDS = [figures.ThroughputCurve("a", [1, 2, 4], [10, 19, 33], 50.0)]
NORMS = find_outlier_tokens(np.where(np.arange(25) == 7, 90, RNG.uniform(1, 2, (3, 25))), 1)
LOGITS = np.log(np.arange(1, 10, dtype=np.float32))

DRAWINGS = {
    "patches": lambda mode: figures.patches(PHOTO, GRID, mode=mode),
    "one patch": lambda mode: figures.patch_and_embedding(PHOTO[:16, :16], MAPS[0].ravel(), GRID, 3, mode),
    "filters": lambda mode: figures.filters(PHOTO[:8, :72].reshape(8, 9, 8, 3).swapaxes(0, 1), np.full(9, 0.1), mode),
    "scree": lambda mode: figures.scree_plot(np.array([0.5, 0.3, 0.2]), 2, mode),
    "positions": lambda mode: figures.position_similarity(COSINE, GRID, mode),
    "tile": lambda mode: figures.position_similarity_tile(COSINE, GRID, 8, mode),
    "cosine map": lambda mode: figures.cosine_map(COSINE[3] - COSINE[4], GRID, "Difference", mode),
    "distance": lambda mode: figures.attention_distance(100 * MAPS[0], GRID, 50.0, mode=mode, prefix_attention_share=4 * MAPS[1]),
    "distance, renormalised": lambda mode: figures.attention_distance(100 * MAPS[0], GRID, 50.0, "renormalise", 20, mode),
    "heads": lambda mode: figures.attention_heads(MAPS, GRID, "Heads", mode),
    "heads of one scale": lambda mode: figures.attention_heads(MAPS, GRID, "Heads", mode, shared_scale=True),
    "explorer": lambda mode: figures.attention_explorer(
        MAPS[0], MAPS, PHOTO, GRID, "Explorer", "weight", mode, top=0.2, query_patches=(8, 3), outlier_patches=[[1], [2], [], [3]]
    ),
    "rollout": lambda mode: figures.rollout(MAPS[0], PHOTO, GRID, mode=mode, query_patch=8),
    "rollout as the paper draws it": lambda mode: figures.rollout(MAPS[0], PHOTO, GRID, "paper", mode=mode, query_patch=8),
    "framed": lambda mode: figures.frame_outliers(figures.rollout(MAPS[0], PHOTO, GRID, mode=mode), [3, 12], GRID),
    "signed": lambda mode: figures.relevance(MAPS[0] - MAPS[1], PHOTO, GRID, "A less B", "points", signed=True, mode=mode),
    "per layer": lambda mode: figures.rollout_per_layer(MAPS, PHOTO, GRID, "Build-up", mode=mode),
    "predictions": lambda mode: figures.predictions([(name, 0.5**i) for i, name in enumerate("abcde", 1)], mode),
    "curves": lambda mode: figures.training_curves(CURVES, "Loss", "nats", mode, at=3, log_steps=True),
    "masked": lambda mode: figures.masked_photo(PHOTO, GRID, "Given", mode, hatched=np.arange(24) % 3 == 0),
    "few-shot": lambda mode: figures.few_shot_accuracy(SHOTS, 0.1, 20, 95, mode),
    "confusion": lambda mode: figures.confusion_matrix(np.array([[0.9, 0.1], [0.3, 0.7]]), ["cat", "dog"], mode),
    "throughput": lambda mode: figures.throughput(SPEEDS, "CPU", mode=mode),
    "experiment": lambda mode: experiment_chart(EXPERIMENT, "Claim", "place", "%", 3, 95, ["here", "there"], mode=mode),
    "deletion": lambda mode: figures.deletion_chart(MAP_CURVES, "cat", "removed", mode=mode),
    "insertion": lambda mode: figures.deletion_chart(MAP_CURVES, "cat", "removed", True, mode, narrow=True),
    "random weights": lambda mode: figures.randomisation_chart(MAP_CURVES, ["none", "head", "all"], 0.5, mode),
    "ranking": lambda mode: figures.ranking_chart(MAP_INTERVALS, ["removed", "blurred"], 9, mode),
    "cka": lambda mode: figures.cka_heatmap(MAPS[0], ("one", "two"), mode),
    "head drops": lambda mode: figures.head_drops(MAPS[0] - MAPS[1], "tabby", mode),
    "patching": lambda mode: figures.patching_by_depth(MAPS[0][:, :2], ("class token", "patches"), 2, 0.4, mode),
    "drawn pictures": lambda mode: figures.synthetic_pictures(SHEETS, (0.0, 0.5), "abcd", mode),
    "photos in patches": lambda mode: figures.photos_in_patches(np.stack([PHOTO, PHOTO]), GRID, ("cat", "dog"), 2, mode),
    "flattened": lambda mode: story_steps.flattened_patch(PHOTO[:4, :4], TILE, mode),
    "sequence": lambda mode: story_steps.token_sequence(GRID.cut(PHOTO), GRID, ("class",), 3, mode),
    "projection": lambda mode: story_steps.patch_projection(TILE, np.stack([TILE] * 6), MAPS[0, 0], mode),
    "answer": lambda mode: story_steps.logits_and_probabilities(LOGITS, LENS[0], tuple("abcdefghi"), mode),
    "norm histogram": lambda mode: figures.norm_histogram(NORMS, 2, ("class",), mode),
    "norms by depth": lambda mode: figures.norms_by_depth(NORMS, ("class",), mode, 2),
    "norm strip": lambda mode: figures.norm_strip(NORMS, PHOTO, GRID, mode),
    "logit lens": lambda mode: story_steps.logit_lens(LENS, tuple("abcdefghi"), mode),
    **{f"paper's {draw.__name__}": lambda mode, draw=draw: draw(mode=mode) for draw in (
        paper_charts.data_size_chart, paper_charts.compute_chart, paper_charts.state_of_the_art_chart, paper_charts.vtab_chart,
        paper_charts.optimisers_chart)},
}  # fmt: skip
