"""Columns of other libraries as arrays of numpy, without a copy where the layout allows this."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than the library.
    from typing import Any


def as_array(value: Any) -> Any:
    """Return an array, a list with None for each null, or the value itself."""
    package = type(value).__module__.partition(".")[0]
    if package == "polars" and hasattr(value, "null_count"):
        return value.to_numpy() if _is_plain(value.null_count(), value.dtype) else value.to_list()
    if package == "pyarrow" and hasattr(value, "to_pylist"):
        if _is_plain(value.null_count, value.type):
            whole = hasattr(value, "chunks")
            return value.to_numpy() if whole else value.to_numpy(zero_copy_only=False)
        return value.to_pylist()
    if package == "numpy" and hasattr(value, "mask"):
        return value.tolist()
    if package == "pandas":
        if type(value.dtype).__module__.partition(".")[0] == "numpy" and value.dtype.kind in "biuf":
            return value.to_numpy()
        try:
            return as_array(value.array.__arrow_array__())
        except (AttributeError, ImportError):
            return value.tolist()
    return _of_buffer(value)


def _is_plain(nulls: int, dtype: Any) -> bool:
    """Return whether a column has numbers or booleans without nulls.

    An array of a column with nulls would have NaN, or floats instead of integers.
    """
    name = str(dtype).lower()
    return nulls == 0 and name.startswith(("int", "uint", "float", "double", "bool"))


def _of_buffer(value: Any) -> Any:
    """Return an array over the memory of a value with a buffer, or a list without numpy."""
    try:
        view = memoryview(value)
    except TypeError:
        return value
    try:
        numpy = sys.modules.get("numpy") or __import__("numpy")
    except ImportError:
        return view.tolist()
    return numpy.asarray(view)
