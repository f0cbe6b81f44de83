"""Convert columns of other libraries to arrays of numpy. Copy only if the layout requires it."""

from __future__ import annotations

import os
import sys

from ._sources import Consumed, Pending, is_lazy as is_lazy, source_of, unreadable
from ._texts import Texts, as_texts

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than importing the library.
    from typing import Any


def as_arrays(value: Any) -> tuple[bool, Any]:
    """Return True and a list of arrays, or False and another value.

    Each array is a chunk of the column. The chunks are not joined. The other value is a list with
    None for each null, or the given value itself.
    """
    package = type(value).__module__.partition(".")[0]
    if package == "polars" and hasattr(value, "null_count"):
        if not _is_plain(value.null_count(), value.dtype):
            return False, value.to_list()
        return True, [chunk.to_numpy() for chunk in value.get_chunks() or [value]]
    if package == "pyarrow" and hasattr(value, "to_pylist"):
        if not _is_plain(value.null_count, value.type):
            return False, value.to_pylist()
        chunks = getattr(value, "chunks", None) or [value]
        return True, [_of_arrow(chunk) for chunk in chunks]
    # A subclass of a masked array can be defined in any module.
    bases = {base.__module__.partition(".")[0] for base in type(value).__mro__}
    if "numpy" in bases and hasattr(value, "mask"):
        return False, value.tolist()
    if package == "pandas":
        if _is_date(value):
            raise TypeError("dates are not numbers")
        if type(value.dtype).__module__.partition(".")[0] == "numpy" and value.dtype.kind in "biuf":
            return True, [value.to_numpy()]
        try:
            return as_arrays(value.array.__arrow_array__())
        except (AttributeError, ImportError):
            # A list of all values would have NaN for nulls, and floats instead of integers.
            present = iter(value.dropna().tolist())
            return False, [None if null else next(present) for null in value.isna()]
    return _of_buffer(value)


def as_columns(value: Any) -> dict[Any, Any]:
    """Return the columns of a table by their names: a list of cells, or :class:`Texts`.

    A table is a dictionary of columns, a table of pandas, Polars or pyarrow, a structured array of
    numpy, or a source, such as a lazy frame of Polars.
    """
    source = source_of(value)
    if source is not None:
        value = source.table(list(source.types))
    return {name: _read(column) for name, column in _columns_of(value)}


STOPS = KeyboardInterrupt, SystemExit, GeneratorExit
"""Exceptions that stop a program or a generator. They are not errors about the data."""

LAZY = (
    "expected rows, found a LazyFrame, which is a table and has no rows yet; "
    "pass a column of the result of `.collect()`"
)


def columns_by_name(value: Any, names: list[str], public_types: bool = False) -> dict[str, Any]:
    """Return the named columns of a table. No cell is read.

    Tables are the same as in :func:`as_columns`. The text of an exception states what is wrong with
    the table, and contains no cell.
    """
    try:
        columns = _pending(value, names, public_types)
        if columns is None:
            columns = dict(_columns_of(value))
    except TypeError as error:
        advice = ""
        if isinstance(value, (str, bytes, os.PathLike)):
            advice = "; to read a file, pass such as `pandas.read_csv(path)`"
        elif isinstance(value, (list, tuple)):
            advice = "; to ask about a list of rows, pass such as `pandas.DataFrame(rows)`"
        found = f"found a value of type {type(value).__name__}: {error}{advice}"
        raise TypeError(f"expected a dictionary of columns or a table, {found}") from None
    for name in names:
        if name not in columns:
            raise KeyError(f"the table has no column {name!r}, and the study uses it")
        # A library can infer from the cells that a column has dates. So dates are not refused here.
        if isinstance(columns[name], _NO_COLUMNS):
            raise TypeError(
                f"column {name!r}: expected numbers, booleans or texts in a list or an array; "
                "convert sets to lists"
            )
    return {name: columns[name] for name in names}


def _pending(value: Any, names: list[str], public_types: bool) -> dict[str, Any] | None:
    """Return the named columns of a source, and None for any other value.

    If the names and the types of the columns cannot be found, the reason can be a row. A library
    can find types from rows, and an expression can fail for some types. So only two reasons are
    reported at once: a file cannot be read, or a column does not exist. With any other reason, the
    columns are returned, and no cell of them can be read. If the types are public, all reasons are
    public too.
    """
    try:
        source = source_of(value)
    except Consumed:
        reason = "its rows were read before, and a stream gives its rows once; make a new stream"
        raise TypeError(reason) from None
    except ImportError:
        raise TypeError("to read it, install pyarrow") from None
    except STOPS:
        raise
    except BaseException as error:  # A panic of Polars is no `Exception`.
        name = type(error).__name__
        if public_types or isinstance(error, OSError) or name == "ColumnNotFoundError":
            reason = f"its columns cannot be found, because it raised {name}"
            raise TypeError(f"{reason}; find the reason without this library") from None
        return dict(unreadable(names))
    if source is None:
        return None
    known = [name for name in names if name in source.types]
    return dict(source.pending(known))


def cells_or_none(column: Any) -> Any:
    """Return a list of the cells of a column, its texts, or None if a cell cannot be read.

    Another library can raise an error about a cell, such as a text that is not Unicode. Such an
    error depends on the data, and can contain the cell. So the error is left out.
    """
    try:
        return _read(_of_decimals(column.read() if isinstance(column, Pending) else column))
    except STOPS:
        raise
    except BaseException:  # A panic of Polars is no `Exception`.
        return None


def _of_decimals(column: Any) -> Any:
    """Return a column of decimal numbers as the nearest floats, and any other column as it is.

    The type of the column decides. A study has no decimal numbers, and databases often do.
    """
    package = type(column).__module__.partition(".")[0]
    dtype = getattr(column, "type" if package == "pyarrow" else "dtype", None)
    dtype = getattr(dtype, "pyarrow_dtype", dtype)
    if not str(dtype).lower().startswith("decimal"):
        return column
    whole = getattr(dtype, "scale", None) == 0
    if package == "polars":
        polars = __import__("polars")
        return _first_cast(column, [polars.Int64, polars.Float64] if whole else [polars.Float64])
    if package == "pandas":
        column = column.array.__arrow_array__()
    # The cast of pyarrow from decimals to floats is not rounded to the nearest float.
    column = column.cast("string")
    return _first_cast(column, ["int64", "float64"] if whole else ["float64"])


def _first_cast(column: Any, types: list[Any]) -> Any:
    """Return a column with the first of these types that has room for all cells."""
    *first, last = types
    for dtype in first:
        try:
            return column.cast(dtype)
        except Exception:  # A cell does not fit.
            continue
    return column.cast(last)


def _read(column: Any) -> Any:
    found = as_texts(column)
    if found is None:
        return _cells(column)
    in_memory, cells = found
    return Texts(cells) if in_memory else cells


def _columns_of(value: Any) -> list[tuple[Any, Any]]:
    """Return pairs of a name and a column."""
    if isinstance(value, dict):
        return list(value.items())
    package = type(value).__module__.partition(".")[0]
    if package == "pandas" and hasattr(type(value), "columns"):
        names = list(value.columns)
        columns = [value.iloc[:, i] for i in range(len(names))]
    elif package == "polars" and hasattr(value, "get_columns"):
        names, columns = list(value.columns), value.get_columns()
    elif package == "pyarrow" and hasattr(value, "column_names"):
        names, columns = value.column_names, value.columns
    elif getattr(getattr(value, "dtype", None), "names", None):
        names = list(value.dtype.names)
        columns = [value[name] for name in names]
    else:
        raise TypeError("not a table")
    # A dictionary would keep only one of several columns with the same name.
    if len(set(names)) != len(names):
        raise TypeError("two columns have the same name")
    return list(zip(names, columns))


def _cells(column: Any) -> Any:
    if isinstance(column, (list, tuple)):
        return column
    if _is_no_column(column):
        raise TypeError("not a column")
    if type(column).__module__ == "numpy":
        return column.tolist()
    is_array, found = as_arrays(column)
    return [cell for array in found for cell in array.tolist()] if is_array else found


def _is_no_column(column: Any) -> bool:
    """Return whether a value is no column. No cell is read."""
    # Dates and durations of numpy can become integers in a list.
    return isinstance(column, _NO_COLUMNS) or _is_date(column)


# The order of a set is arbitrary.
_NO_COLUMNS = (str, bytes, dict, set, frozenset)


def _is_date(column: Any) -> bool:
    """Return whether the cells of an array are dates, periods or durations."""
    dtype = getattr(column, "dtype", None)
    # A column of periods of pandas can become the integers that number the periods.
    return getattr(dtype, "kind", None) in ("m", "M") or type(dtype).__name__ == "PeriodDtype"


def _is_time(column: Any) -> bool:
    """Return whether a column of Polars, pyarrow or a source has dates, times or durations.

    The type of the column decides, so no cell is read.
    """
    dtype = getattr(column, "dtype", None)
    package = type(column).__module__.partition(".")[0]
    if package == "pyarrow":
        dtype = getattr(column, "type", None)
    elif package == "pandas":
        dtype = getattr(dtype, "pyarrow_dtype", None)
    elif package != "polars" and not isinstance(column, Pending):
        return False
    return str(dtype).lower().startswith(("date", "time", "duration"))


def _of_arrow(chunk: Any) -> Any:
    """Return an array over the memory of a chunk.

    Booleans are bits in Arrow, so they are copied.
    """
    if hasattr(chunk, "chunks"):  # A column without chunks is passed here as a whole.
        return chunk.to_numpy()
    return chunk.to_numpy(zero_copy_only=False)


def misfit_of(column: Any, kinds: str) -> str | None:
    """Return the type of a column if its cells are of no kind of ``kinds``. No cell is read.

    ``kinds`` has a letter for each kind: ``i`` for whole numbers, ``f`` for floats, ``b`` for
    booleans and ``S`` for texts. Dates and times are of no kind. None means that the cells can be
    of these kinds, or that the type of the column does not tell the kind of its cells, as in a list
    or in an array of objects.
    """
    is_arrow = type(column).__module__.partition(".")[0] == "pyarrow"
    dtype = getattr(column, "type" if is_arrow else "dtype", None)
    if _is_date(column) or _is_time(column):
        return str(dtype)
    if getattr(dtype, "kind", None) in ("U", "T"):
        cell = "String"
    else:
        cell = CELLS.get(str(dtype).lower().partition("[")[0], "")
    kind = cell[:1].replace("u", "i")
    return str(dtype) if kind and kind not in kinds else None


# The types of cells by the names that numpy, pandas, Polars and pyarrow give them, in lower case.
CELLS = {
    **{f"int{bits}": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
    **dict.fromkeys(("halffloat", "float16", "float", "float32"), "f32"),
    **dict.fromkeys(("double", "float64"), "f64"),
    **dict.fromkeys(("bool", "boolean"), "bool"),
    **dict.fromkeys(("string", "large_string", "string_view", "str", "utf8"), "String"),
}


def _is_plain(nulls: int, dtype: Any) -> bool:
    """Return whether a column has numbers or booleans without nulls.

    An array of a column with nulls would have NaN, or floats instead of integers. Arrays have no
    integers of 128 bits.
    """
    name = str(dtype).lower()
    plain = name.startswith(("int", "uint", "float", "double", "bool"))
    return nulls == 0 and plain and not name.endswith("128")


def _of_buffer(value: Any) -> tuple[bool, Any]:
    """Return an array over the buffer of a value.

    If numpy is not installed, return a list. If the value has no buffer, return the value itself.
    """
    try:
        view = memoryview(value)
    except TypeError:
        return False, value
    try:
        numpy = sys.modules.get("numpy") or __import__("numpy")
    except ImportError:
        return False, view.tolist()
    return True, [numpy.asarray(view)]
