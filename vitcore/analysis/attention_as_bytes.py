"""Attention weights as single bytes: a logarithmic code that keeps small weights readable, for drawing them in a browser.

Code c of 1…255 stands for 2^(−SPAN·(255−c)/254): 255 is a weight of 1, 1 is 2^−16 ≈ 0.000015, and 0 is less than that.
Decoded weights differ from the coded by at most `WORST` of their size, whatever their size.
"""

import functools

import numpy as np
from numpy.typing import NDArray

SPAN = 16.0  # powers of two from the least weight that is told from 0 to the largest
WORST = 2 ** (SPAN / 254 / 2) - 1  # relative: 2.2 %
LEAST = 2.0 ** (-SPAN * 254.5 / 254)  # weights below this are coded as 0


def encode_weights(weights: NDArray) -> NDArray[np.uint8]:
    """Weights from 0 to 1 (float16, 32 or 64) as codes of the same shape."""
    if weights.dtype == np.float16:  # there are only 65536 of them: looked up, a block takes a millisecond
        return _table()[np.ascontiguousarray(weights).view(np.uint16)]
    with np.errstate(divide="ignore"):
        code = np.round(255 + 254 / SPAN * np.log2(np.asarray(weights, np.float64)))
    return np.clip(code, 0, 255).astype(np.uint8)


def encode_signed(values: NDArray, max_abs: float | None = None) -> NDArray[np.int8]:
    """Numbers from −`max_abs` to `max_abs` (default: the largest absolute value) as −127…127, of the same shape."""
    max_abs = float(np.abs(values).max()) if max_abs is None else max_abs
    return np.clip(np.round(127 * np.asarray(values, np.float64) / max(max_abs, 1e-12)), -127, 127).astype(np.int8)


def decode_weights(codes: NDArray[np.uint8] | bytes) -> NDArray[np.float32]:
    """The weights that codes stand for, of their shape; of bytes, a flat array."""
    if isinstance(codes, bytes):
        codes = np.frombuffer(codes, np.uint8)
    values = np.exp2(-SPAN * (255 - np.arange(256.0)) / 254)
    values[0] = 0
    return values.astype(np.float32)[codes]


@functools.cache
def _table() -> NDArray[np.uint8]:
    every = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float64)
    return encode_weights(np.clip(np.nan_to_num(every, nan=0.0, posinf=1.0, neginf=0.0), 0, 1))
