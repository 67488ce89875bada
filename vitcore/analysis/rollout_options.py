"""The options of attention rollout by name: how heads are fused, and by which convention it discards and normalises.

They stand alone, for the shell names them before it needs numpy.
"""

from typing import Literal

Convention = Literal["row-stochastic", "vit-explain"]
CONVENTIONS: tuple[Convention, ...] = ("row-stochastic", "vit-explain")

HeadFusion = Literal["mean", "max", "min"]
HEAD_FUSIONS: tuple[HeadFusion, ...] = ("mean", "max", "min")
