"""Find the texts of columns of other libraries in memory, without a Python object for each cell."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than importing the library.
    from typing import Any

    Parts = tuple[Any, Any, Any, Any]


class Texts:
    """The texts of a column, as :func:`as_texts` returns them."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts


def as_texts(value: Any) -> tuple[bool, Any] | None:
    """Return the texts of a column, or None for any other value.

    True and a list: an item is a chunk of the column, and consists of four parts, as in Arrow. The
    first two parts are arrays of numpy: offsets, and the bytes of all texts. The bytes of a text
    lie between two offsets. The third part is None if no cell is null. Otherwise it is an array
    with a byte for each cell, which is 0 for a null. The fourth part is None if each cell has its
    own text. Otherwise it is an array with the number of the text of each cell.

    False and a list: the cells of an array of objects, which can be other values than texts.
    """
    package = type(value).__module__.partition(".")[0]
    if package not in ("numpy", "pandas", "polars", "pyarrow"):
        return None
    try:
        if package == "numpy":
            plain = value.dtype.kind in "OUT" and value.ndim == 1 and not hasattr(value, "mask")
            return (False, value.tolist()) if plain else None
        parts = None
        if package == "polars":
            parts = _texts_of_polars(value)
        else:
            if package == "pandas":
                if type(value.dtype).__module__.partition(".")[0] == "numpy":
                    # Only a column of objects can have nulls.
                    nulls = value.dtype.kind == "O" and value.hasnans
                    return None if nulls else as_texts(value.to_numpy())
                if hasattr(value.array, "categories"):
                    parts = _texts_of_pandas(value.array)
            if parts is None:
                parts = _texts_of_arrow(_arrow_of_pandas(value) if package == "pandas" else value)
        return None if parts is None else (True, parts)
    except Exception:  # Such as an old version of a library. `as_arrays` reads the column.
        return None


def _arrow_of_pandas(value: Any) -> Any:
    """Return the array of Arrow of a column of pandas that no array of numpy holds."""
    array = value.array
    if hasattr(array, "categories"):
        pyarrow: Any = __import__("pyarrow")  # The package has no stubs.
        return pyarrow.array(array)
    return array.__arrow_array__()


def _texts_of_arrow(value: Any) -> list[Parts] | None:
    """Return the parts of the chunks of an array of pyarrow, over its memory.

    Categories keep their codes. Texts that are stored in another way are copied.
    """
    # The type of the column decides, because a column without rows can have no chunks.
    has_codes = str(value.type).startswith("dictionary")
    if str(value.type.value_type if has_codes else value.type) not in _TEXTS:
        return None
    parts = []
    for chunk in getattr(value, "chunks", [value]):
        if has_codes and _are_few(chunk.dictionary, chunk):
            texts = chunk.dictionary.to_pylist()
            codes = chunk.indices.fill_null(0).to_numpy(zero_copy_only=False)
            parts.append(_of_codes(texts, codes, _present(chunk)))
            continue
        if has_codes:
            chunk = chunk.dictionary_decode()
        if str(chunk.type) == "string_view":
            chunk = chunk.cast("large_string")
        width = {"string": "i4", "large_string": "i8"}[str(chunk.type)]
        if len(chunk):
            import numpy

            _, offsets, texts = chunk.buffers()
            ends = numpy.frombuffer(offsets, width, len(chunk) + 1, chunk.offset * int(width[1]))
            texts = numpy.frombuffer(b"" if texts is None else texts, "u1")
            parts.append((ends, texts, _present(chunk), None))
    return parts


# The names of the types of texts in Arrow.
_TEXTS = ("string", "large_string", "string_view")


def _present(chunk: Any) -> Any:
    """Return a byte for each cell of an array of pyarrow, which is 0 for a null, or None."""
    if not chunk.null_count:
        return None
    return chunk.is_valid().to_numpy(zero_copy_only=False).view("u1")


def _texts_of_pandas(array: Any) -> list[Parts] | None:
    """Return the parts of a categorical column of pandas, or None if they are not few texts."""
    if not _are_few(array.categories, array):
        return None
    codes = array.codes
    present = (codes >= 0).view("u1") if (codes < 0).any() else None
    return [_of_codes(array.categories.tolist(), codes.clip(min=0), present)]


def _texts_of_polars(value: Any) -> list[Parts] | None:
    """Return the parts of a copy of a column of Polars. Categories keep their codes."""
    kind = str(value.dtype).partition("(")[0]
    if kind not in ("String", "Categorical", "Enum"):
        return None
    if not len(value):
        return []
    import numpy
    import polars

    present = value.is_not_null().to_numpy().view("u1") if value.null_count() else None
    if kind != "String":
        distinct = value.drop_nulls().unique()
        numbers = distinct.to_physical().to_numpy()
        # Columns can share the numbers of their categories, so the numbers can have gaps.
        if _are_few(range(numbers.max(initial=0)), value):
            places = numpy.zeros(numbers.max(initial=0) + 1, "u4")
            places[numbers] = numpy.arange(len(numbers))
            codes = places[value.to_physical().fill_null(0).to_numpy()]
            return [_of_codes(distinct.cast(polars.String).to_list(), codes, present)]
    texts = value.cast(polars.String).fill_null("")
    ends = numpy.zeros(len(texts) + 1, "i8")
    numpy.cumsum(texts.str.len_bytes().to_numpy(), out=ends[1:])
    return [(ends, numpy.frombuffer(texts.str.join("").item().encode(), "u1"), present, None)]


def _are_few(categories: Any, cells: Any) -> bool:
    """Return whether there are far fewer categories than cells, so that codes save work."""
    return 4 * len(categories) <= len(cells)


def _of_codes(categories: list[Any], codes: Any, present: Any) -> Parts:
    """Return the parts of categories that are texts, with the code of each cell.

    Other categories, such as numbers, raise an exception.
    """
    import numpy

    # A null has the code 0. If there are no categories, it needs a text with this number.
    encoded = [str.encode(text) for text in categories] or [b""]
    ends = numpy.zeros(len(encoded) + 1, "i8")
    numpy.cumsum([len(text) for text in encoded], out=ends[1:])
    texts = numpy.frombuffer(b"".join(encoded), "u1")
    return ends, texts, present, codes.astype("u4")
