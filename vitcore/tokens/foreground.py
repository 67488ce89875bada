"""Which patches are foreground and which background: the side that lies less on the picture's rim.

It is a guess that what was photographed is in the middle, and wrong for a photo without a middle.
"""

import numpy as np
from numpy.typing import NDArray


def foreground_sign(scores: NDArray, rim: NDArray[np.bool_], keep: NDArray[np.bool_]) -> float:
    """1, −1 or 0: the sign of the first component's `scores` (B, N) on the side on which the patches at the rim lie less.

    Their mean score is compared with that of the patches within, of those to `keep`; 0 where the rim or the middle has none.
    """
    rim = np.broadcast_to(rim, keep.shape)
    if not ((rim & keep).any() and (~rim & keep).any()):
        return 0.0
    return float(np.sign(scores[~rim & keep].mean() - scores[rim & keep].mean()))


def foreground_side(side: NDArray[np.bool_], rim: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The one of a cut's two sides (N,), `side` or the others, of which a smaller share of patches is at the rim."""
    at_rim, others_at_rim = side[rim].sum() * (~side).sum(), (~side)[rim].sum() * side.sum()
    return ~side if at_rim > others_at_rim else side
