"""What gives a drawn picture's class away, and what does not: `python -m tests.benchmarks.drawn [difficulty …]`.

Ridge regression of the classes, on raw pixels, and on the energy of edges (across, along, fine and coarse) in cells of a quarter of
the side: cells in their places, added up (what is there, not where), and shuffled in each picture. In % of held-out pictures.
"""

import sys
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from vitcore.train.data.synthetic_dataset import TRAIN, VALIDATION, SyntheticDataset, draw_synthetic_pictures

CELLS = 4  # a side
PENALTY = 0.01  # of the mean square


def drawn(drawing: SyntheticDataset, seed: int, split: int, count: int) -> NDArray[np.float32]:
    """The first pictures of a split, (N, px, px, 3)."""
    parts = [draw_synthetic_pictures(drawing, seed, split, some) for some in np.array_split(np.arange(count), -(-count // 256))]
    return np.concatenate(parts).astype(np.float32)


def edges(pixels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Energies of edges, (N, cells, kinds)."""
    light = pixels.mean(-1)
    side = light.shape[1] // CELLS * CELLS
    light = light[:, :side, :side]
    kinds = []
    for wide in (1, 2):
        across, along = np.zeros_like(light), np.zeros_like(light)
        across[:, wide:] = light[:, wide:] - light[:, :-wide]
        along[:, :, wide:] = light[:, :, wide:] - light[:, :, :-wide]
        kinds += [across**2, along**2]
    grid = np.stack(kinds, -1).reshape(len(light), CELLS, side // CELLS, CELLS, side // CELLS, len(kinds))
    return np.log1p(grid.mean((2, 4)).reshape(len(light), CELLS**2, len(kinds)))


def right(train: NDArray, test: NDArray, classes: int) -> float:
    """% of held-out pictures that ridge regression names; labels go round."""
    middle, spread = train.mean(0), train.std() + 1e-6
    known, asked = (train - middle) / spread, (test - middle) / spread
    wanted = np.eye(classes, dtype=np.float32)[np.arange(len(known)) % classes] - 1 / classes
    alike = known @ known.T
    alike += PENALTY * np.trace(alike) / len(alike) * np.eye(len(alike), dtype=np.float32)
    guess = (asked @ (known.T @ np.linalg.solve(alike, wanted))).argmax(1)
    return 100 * float((guess == np.arange(len(asked)) % classes).mean())


def _shuffled(cells: NDArray) -> NDArray:
    rng = np.random.default_rng(list(cells[0].tobytes()))  # not alike for both splits, or the order would tell
    return np.stack([one[rng.permutation(len(one))] for one in cells])


LOOKS: dict[str, Callable[[NDArray], NDArray]] = {
    "raw pixels": lambda pixels: pixels.reshape(len(pixels), -1),
    "colours": lambda pixels: np.concatenate([pixels.mean((1, 2)), pixels.std((1, 2))], 1),
    "edges in place": lambda pixels: edges(pixels).reshape(len(pixels), -1),
    "edges added up": lambda pixels: edges(pixels).mean(1),
    "edges shuffled": lambda pixels: _shuffled(edges(pixels)).reshape(len(pixels), -1),
}


def told(drawing: SyntheticDataset, names: Iterable[str] = LOOKS, learn: int = 2000, ask: int = 1000) -> dict[str, float]:
    """% right by what is looked at."""
    train, test = (drawn(drawing, 0, split, count) for split, count in ((TRAIN, learn), (VALIDATION, ask)))
    return {name: right(LOOKS[name](train), LOOKS[name](test), drawing.classes) for name in names}


if __name__ == "__main__":
    for given in sys.argv[1:] or ["0", "0.25", "0.5", "0.75", "1"]:
        print(given, {name: round(value, 1) for name, value in told(SyntheticDataset(difficulty=float(given))).items()}, flush=True)
