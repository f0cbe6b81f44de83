"""Tables whose rows are read later: lazy frames, scans, relations of DuckDB, and streams of Arrow."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than importing the library.
    from typing import Any, Callable


class Consumed(Exception):
    """A stream was read before, so it has no rows left."""


class Source:
    """A table whose rows are read once, and only in the columns that are asked for.

    ``types`` has the type of each column by its name. ``read`` takes names of columns, and returns a
    table in memory. It runs code of another library, which can raise any exception.
    """

    def __init__(self, types: dict[str, Any], read: Callable[[list[str]], Any]) -> None:
        self.types, self._read = types, read

    def table(self, names: list[str]) -> Any:
        """Read columns. The table in memory can have them in another order."""
        return self._read(names)

    def pending(self, names: list[str]) -> dict[str, Pending]:
        """Return columns that are read when the first cell of one of them is needed.

        All columns are read together. If the source ran once for each column, the rows of two
        columns could have different orders, or could be different rows.
        """
        found: list[Any] = []

        def column(name: str) -> Any:
            if not found:
                found.append(None)  # If the reading fails, it is not repeated.
                found[0] = self.table(names)
            return found[0][name]

        return {name: Pending(column, name, self.types[name]) for name in names}


class Pending:
    """A column of a source. ``dtype`` is its type. No cell is read before :meth:`read`."""

    def __init__(self, column: Callable[[str], Any], name: str, dtype: Any) -> None:
        self._column, self._name, self.dtype = column, name, dtype

    def read(self) -> Any:
        """Return the column. Any exception is possible."""
        return self._column(self._name)


def unreadable(names: list[str]) -> dict[str, Pending]:
    """Return columns of which no cell can be read."""

    def column(name: str) -> Any:
        raise ValueError("the source of this column cannot be opened")

    return {name: Pending(column, name, None) for name in names}


def source_of(value: Any) -> Source | None:
    """Return the source of a table whose rows are not in memory, and None for any other value.

    Only the names and the types of the columns are found. A library can look at rows for this
    purpose, such as Polars in ``scan_csv``. So an exception can depend on the data.
    """
    package = type(value).__module__.partition(".")[0]
    if is_lazy(value):
        return _of_polars(value)
    if package == "pyarrow":
        return _of_pyarrow(value)
    if package in ("duckdb", "_duckdb") and hasattr(value, "project"):
        return _of_duckdb(value)
    # These libraries have tables in memory, which other code reads without a copy.
    known = package in ("builtins", "numpy", "pandas", "polars")
    if known or not hasattr(type(value), "__arrow_c_stream__"):
        return None
    return _of_stream(value)


def is_lazy(value: Any) -> bool:
    """Return whether a value is a lazy frame of Polars, which has no rows yet."""
    kind = type(value)
    return kind.__name__ == "LazyFrame" and kind.__module__.partition(".")[0] == "polars"


def _of_polars(frame: Any) -> Source:
    from polars import selectors

    def read(names: list[str]) -> Any:
        # A selector takes each name as it is. In a text, `*` and `^` would have a meaning.
        return frame.select(selectors.by_name(*names)).collect()

    return Source(dict(frame.collect_schema()), read)


def _of_pyarrow(value: Any) -> Source | None:
    if hasattr(value, "read_next_batch"):
        return _of_reader(value)
    if hasattr(value, "projected_schema"):
        return Source(_types(value.projected_schema), lambda names: value.to_table().select(names))
    if hasattr(value, "to_table") and hasattr(value, "schema"):
        return Source(_types(value.schema), lambda names: value.to_table(columns=names))
    return None


def _of_reader(reader: Any) -> Source:
    """Return the source of a stream of batches of rows, which can be read once."""
    consumed = _consumed()
    if reader in consumed:
        raise Consumed

    def read(names: list[str]) -> Any:
        if reader in consumed:
            raise Consumed
        consumed.add(reader)
        pyarrow = _pyarrow()
        schema = pyarrow.schema([reader.schema.field(name) for name in names])
        return pyarrow.Table.from_batches([batch.select(names) for batch in reader], schema)

    return Source(_types(reader.schema), read)


def _of_stream(value: Any) -> Source:
    """Return the source of an object with the method ``__arrow_c_stream__``.

    Some objects give their rows each time, and some only once. If an object gave rows before and
    gives none now, its rows are gone, so reading it is an error.
    """
    source, read_before = _of_reader(_pyarrow().RecordBatchReader.from_stream(value)), _consumed()

    def read(names: list[str]) -> Any:
        table = source.table(names)
        try:
            if table.num_rows:
                read_before.add(value)
            elif value in read_before:
                raise Consumed
        except TypeError:  # The object has no weak references or no hash.
            pass
        return table

    return Source(source.types, read)


_READERS: list[Any] = []


def _consumed() -> Any:
    """Return the set of the streams that were read. An empty table would replace their rows."""
    if not _READERS:
        import weakref

        _READERS.append(weakref.WeakSet())
    return _READERS[0]


def _of_duckdb(relation: Any) -> Source:
    names = list(relation.columns)
    _check_names(names)

    def read(names: list[str]) -> Any:
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        chosen = relation.project(quoted)
        if hasattr(chosen, "__arrow_c_stream__"):
            return _pyarrow().table(chosen)
        return chosen.fetch_arrow_table()

    types = [str(kind).lower() for kind in relation.types]
    return Source({name: _DUCKDB.get(kind, kind) for name, kind in zip(names, types)}, read)


# The names of types in Arrow, by their names in DuckDB.
_DUCKDB = {
    "varchar": "string",
    "boolean": "bool",
    "real": "float",
    "interval": "duration",
    **dict(zip(("tinyint", "smallint", "integer", "bigint"), ("int8", "int16", "int32", "int64"))),
    **dict(zip(("utinyint", "usmallint", "uinteger"), ("uint8", "uint16", "uint32"))),
    "ubigint": "uint64",
}


def _types(schema: Any) -> dict[str, Any]:
    _check_names(schema.names)
    return {field.name: field.type for field in schema}


def _check_names(names: list[str]) -> None:
    # A dictionary would keep only one of several columns with the same name.
    if len(set(names)) != len(names):
        raise TypeError("two columns have the same name")


def _pyarrow() -> Any:
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

    return pyarrow
