"""A recording's numbers with names on their axes: an xarray Dataset, or a pandas table with a row for each head.

Both packages are optional. Shapes: L layers, H heads, T tokens, C classes.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vitcore.errors import RefusalError

if TYPE_CHECKING:
    from vitcore.forward.recording import Recording

OF_HEADS = {"distance_px": "px", "distance_renormalised_px": "px", "prefix_attention_share": "of 1"}  # fields (L, H), their units
WIDENED = {"uint8": "int16", "float16": "float32"}  # for NetCDF 3, which SciPy writes and which has only the wider


class MissingPackageError(RefusalError):
    """An optional package is not installed; the message says how to install it."""


def to_xarray(rec: "Recording") -> Any:
    """An xarray Dataset of a recording: variables by the names of its fields, on layer, head, token (to_token), row, col, label.

    Fused heads are `attention_mean` and so on, (layer, token, to_token); an axial block's two steps have the axis `step`. Maps of
    heads are `head_attention`, NaN in layers that `record(vit, photo, maps=…)` did not keep. `rollout` is there where the mean of
    the heads is. Bytes are int16 and 16-bit floats float32, so that `to_netcdf` writes all of it with any engine.
    Raises: MissingPackageError.
    """
    try:
        import xarray
    except ImportError:
        raise MissingPackageError("xarray is not installed: pip install xarray.") from None
    layers, heads = rec.distance_px.shape
    data: dict[str, Any] = {
        name: (("layer", "head"), getattr(rec, name), {"units": unit}) for name, unit in OF_HEADS.items() if layers
    }
    data["model_input"] = (("y", "x", "colour"), rec.model_input.pixels)
    data["logits"] = (("label",), rec.logits)
    if rec.output != "features" and rec.labels:
        data["probabilities"] = (("label",), rec.probabilities)
    if layers:
        data["pooling_weights"] = (("token",), rec.pooling_weights)
        data["norms"] = (("layer", "token"), rec.norms)
        along = "layer" if rec.steps == 1 else "step"
        data |= {f"attention_{name}": ((along, "token", "to_token"), one) for name, one in rec.fused.items()}
        if rec.maps:
            data["head_attention"] = (
                ("layer", "head", "token", "to_token"),
                xarray.core.indexing.LazilyIndexedArray(_maps_on_all_layers(rec.maps, layers)),
            )
        if "mean" in rec.fused:
            data["rollout"] = (("row", "col"), rec.rollout())
    coordinates: dict[str, Any] = {"label": list(rec.labels) or np.arange(len(rec.logits))}
    if layers:
        coordinates |= {"layer": np.arange(layers), "head": np.arange(heads), "token": np.arange(rec.grid.tokens),
                        "row": np.arange(rec.grid.rows), "col": np.arange(rec.grid.cols)}  # fmt: skip
    data = {name: (axes, _widened(values) if isinstance(values, np.ndarray) else values, *units)
            for name, (axes, values, *units) in data.items()}  # fmt: skip
    about = {"model": rec.model, "photo": rec.photo.name, "prefix": rec.grid.prefix, "patch_px": rec.grid.patch_px}
    return xarray.Dataset(data, coordinates, about)


def _maps_on_all_layers(maps: Mapping[int, NDArray], layers: int) -> Any:
    """(L, H, T, T) of xarray, NaN where nothing was kept. A layer is made when it is read: all of them may fill the memory."""
    from xarray.backends import BackendArray
    from xarray.core import indexing

    first = next(iter(maps.values()))

    class MapsOnAllLayers(BackendArray):
        shape, dtype = (layers, *first.shape), _widened(first[:0]).dtype

        def __getitem__(self, key: Any) -> Any:
            return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

        def _read(self, key: tuple[Any, ...]) -> NDArray:
            chosen, inner = np.arange(layers)[key[0]], key[1:]
            empty = np.full_like(first[inner], np.nan, self.dtype)
            rows = [_widened(maps[layer][inner]) if layer in maps else empty for layer in np.ravel(chosen).tolist()]
            return np.reshape(rows, (*chosen.shape, *empty.shape))

        def __reduce__(self) -> Any:
            return _maps_on_all_layers, (maps, layers)

    return MapsOnAllLayers()


def _widened(values: NDArray) -> NDArray:
    return values.astype(WIDENED.get(values.dtype.name, values.dtype), copy=False)


def to_pandas(rec: "Recording") -> Any:
    """A pandas DataFrame with a row for each head, by (layer, head): its distances in px, and its share on prefix tokens.

    Raises: MissingPackageError.
    """
    return table_of_heads({name: getattr(rec, name) for name in OF_HEADS})


def table_of_heads(columns: Mapping[str, NDArray]) -> Any:
    """A pandas DataFrame of columns (L, H), with a row for each head, by (layer, head). Raises: MissingPackageError."""
    try:
        import pandas
    except ImportError:
        raise MissingPackageError("pandas is not installed: pip install pandas.") from None
    shape = next(iter(columns.values())).shape
    index = pandas.MultiIndex.from_product([range(size) for size in shape], names=["layer", "head"])
    return pandas.DataFrame({name: values.ravel() for name, values in columns.items()}, index)
