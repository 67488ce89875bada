"""The token grid: every question of the kind "which pixels is this token?" is answered here and nowhere else.

A sequence is `prefix` tokens (class, distillation, registers) followed by rows·cols patch tokens in reading order.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

SINK_SHARE = 0.5  # of a head's attention, or more, on prefix tokens: with those dropped, its mean distance reads too near


@dataclass(frozen=True, slots=True)
class Grid:
    """`rows` × `cols` patches of `patch_px` pixels a side (`patch_w_px` wide, where not square), after `prefix` tokens."""

    rows: int
    cols: int
    patch_px: int
    prefix: int = 1
    patch_w_px: int = 0  #: 0: as high as wide

    @classmethod
    def from_map(cls, values: NDArray) -> "Grid":
        """The grid that a map (rows, cols) is on, where only its shape matters: of patches one pixel a side."""
        return cls(values.shape[0], values.shape[1], 1)

    @property
    def patches(self) -> int:
        """N = HW / P², the paper's sequence length."""
        return self.rows * self.cols

    @property
    def tokens(self) -> int:
        """T = prefix + N."""
        return self.prefix + self.patches

    @property
    def even_share(self) -> float:
        """1 / T: what each token gets of attention spread evenly over all tokens."""
        return 1 / self.tokens

    @property
    def step_px(self) -> tuple[int, int]:
        """Height and width of a patch, in pixels of the model's input."""
        return self.patch_px, self.patch_w_px or self.patch_px

    @property
    def image_px(self) -> tuple[int, int]:
        """Height and width of the model's input."""
        return self.rows * self.step_px[0], self.cols * self.step_px[1]

    def patch(self, row: int, col: int) -> int:
        """Index of a patch among the patches, counted from 0."""
        return row * self.cols + col

    @property
    def middle(self) -> int:
        """Index of the patch just below and right of the centre."""
        return self.patch(self.rows // 2, self.cols // 2)

    def row_col(self, patch: int) -> tuple[int, int]:
        """Row and column of a patch."""
        return divmod(patch, self.cols)

    def box_px(self, patch: int) -> tuple[int, int, int, int]:
        """Left, top, right, bottom of a patch in the model's input."""
        (row, col), (high, wide) = self.row_col(patch), self.step_px
        return col * wide, row * high, (col + 1) * wide, (row + 1) * high

    def on_border(self, patches: ArrayLike) -> tuple[int, int]:
        """How many of these patches lie in a corner of the picture, and how many at its rim, corners included."""
        at_row, at_col = self._at_edges(np.asarray(patches))
        return int((at_row & at_col).sum()), int((at_row | at_col).sum())

    def rim(self) -> NDArray[np.bool_]:
        """(N,): whether a patch lies at the picture's rim."""
        at_row, at_col = self._at_edges(np.arange(self.patches))
        return at_row | at_col

    def _at_edges(self, patches: NDArray) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether each patch lies in the first or last row, and in the first or last column."""
        rows, cols = np.divmod(patches, self.cols)
        return np.isin(rows, (0, self.rows - 1)), np.isin(cols, (0, self.cols - 1))

    def touching(self) -> NDArray[np.bool_]:
        """(N, N): whether two patches touch, by a side or a corner; each touches itself."""
        row, col = np.divmod(np.arange(self.patches), self.cols)
        near: NDArray[np.bool_] = (abs(row[:, None] - row) <= 1) & (abs(col[:, None] - col) <= 1)
        return near

    def centres_px(self) -> NDArray[np.float64]:
        """(N, 2): y and x of each patch's centre."""
        row, col = np.divmod(np.arange(self.patches), self.cols)
        return np.stack([(row + 0.5) * self.step_px[0], (col + 0.5) * self.step_px[1]], 1)

    def distances_px(self) -> NDArray[np.float64]:
        """(N, N): Euclidean distance between patch centres, in pixels (arXiv 2010.11929 App. D.7)."""
        c = self.centres_px()
        return np.hypot(c[:, None, 0] - c[None, :, 0], c[:, None, 1] - c[None, :, 1])

    def cut(self, pixels: NDArray) -> NDArray:
        """(H, W, C) pixels as (N, P, P, C) patches in reading order (arXiv 2010.11929 §3.1)."""
        (high, wide), channels = self.step_px, pixels.shape[-1]
        blocks = pixels.reshape(self.rows, high, self.cols, wide, channels).swapaxes(1, 2)
        return blocks.reshape(self.patches, high, wide, channels)

    def to_map(self, values: NDArray) -> NDArray:
        """(…, N) or (…, T) values over tokens as (…, rows, cols); prefix tokens are dropped."""
        count = values.shape[-1]
        if count not in (self.patches, self.tokens):
            raise ValueError(f"{count} values are neither the {self.patches} patches nor the {self.tokens} tokens")
        return values[..., count - self.patches :].reshape(*values.shape[:-1], self.rows, self.cols)
