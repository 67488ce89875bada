"""The watcher of axial attention: along rows, then along columns; reducers get the product of both, a patch's reach.

Heads are fused in each of the two steps, spread over all patches. Shapes: H heads, N patches.
"""

import torch

from vitcore.attention_hooks import AttentionEvent
from vitcore.forward.block_attention import AttentionCollector
from vitcore.models.vit import check_observed_heads

FUSE = {"mean": torch.mean, "max": torch.amax, "min": torch.amin}


class AxialAttentionCollector(AttentionCollector):
    """The watcher of a pass: two events a block, which are looked at and not answered."""

    _row_weights: torch.Tensor

    def __call__(self, event: AttentionEvent) -> None:
        from vitcore.architectures.axial_vit import combine_axis_attention, spread_axis_attention

        grid, axes = self.vit.grid, self.vit.structure.axes
        block, step = divmod(self.calls, len(axes))
        lines, length = (grid.rows, grid.cols) if axes[step] == "row" else (grid.cols, grid.rows)
        if event.shape[0] != lines or event.shape[-2:] != (length, length):
            return
        check_observed_heads(self.vit, block, event.shape[1])
        weights = event.weights().float()  # (lines, H, length, length)
        for fused in self.fused.values():
            one = FUSE[fused.fusion](weights, 1, keepdim=True)  # type: ignore[operator]
            fused.add(self.calls, slice(0, 1), spread_axis_attention(one, axes[step], grid.rows, grid.cols))
        if axes[step] == "row":
            self._row_weights = weights
        else:
            reach = combine_axis_attention(self._row_weights, weights)
            self.distance.add(block, slice(0, self.vit.heads), reach)
            if block in self.maps:
                self.maps[block][:] = reach
        self.calls += 1
