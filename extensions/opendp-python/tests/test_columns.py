"""Columns of Polars, pandas and pyarrow give what their lists give."""

import array

import pytest

import opendp_rs.prelude as dp

numpy = pytest.importorskip("numpy")


def clamped_sum(T, bounds, **domain):
    space = dp.vector_domain(
        dp.atom_domain(T=T, nan=False if T in (float, "f32") else None), **domain
    )
    return dp.t.make_clamp(space, dp.symmetric_distance(), bounds) >> dp.t.then_sum()


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
def test_columns_are_read(library):
    package = pytest.importorskip(library)
    make = {"polars": "Series", "pandas": "Series", "pyarrow": "array"}[library]

    def column(values):
        return getattr(package, make)(values)

    assert clamped_sum(float, (0.0, 10.0))(column([1.5, 2.0, 30.0])) == 13.5
    assert clamped_sum("i64", (0, 10))(column([1, 2, 30])) == 13
    assert clamped_sum(int, (0, 10))(column([1, 2, 30])) == 13
    words = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    assert dp.t.make_count_distinct(*words)(column(["a", "b", "a"])) == 2
    flags = dp.vector_domain(dp.atom_domain(T=bool)), dp.symmetric_distance()
    assert dp.t.make_count(*flags)(column([True, False])) == 2


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_a_null_is_no_number(library):
    """A conversion through an array would turn nulls into NaN, and whole numbers into floats."""
    package = pytest.importorskip(library)
    make = {"polars": "Series", "pyarrow": "array"}[library]
    nulls = getattr(package, make)([1, None, 3])
    with pytest.raises(dp.ArgumentError):
        clamped_sum("i64", (0, 10))(nulls)
    with pytest.raises(dp.ArgumentError):
        dp.t.make_count(dp.vector_domain(dp.atom_domain(T=float)), dp.symmetric_distance())(nulls)
    options = dp.vector_domain(dp.option_domain(dp.atom_domain(T="i64"))), dp.symmetric_distance()
    assert dp.t.make_impute_constant(*options, constant=7)(nulls) == [1, 7, 3]


def test_a_null_of_pandas_is_none():
    pandas = pytest.importorskip("pandas")
    whole = dp.vector_domain(dp.option_domain(dp.atom_domain(T="i64"))), dp.symmetric_distance()
    numbers = pandas.Categorical([1, None, 3])
    for nulls in (numbers, pandas.Series(numbers), pandas.Series([1, None, 3], dtype=object)):
        assert dp.t.make_impute_constant(*whole, constant=7)(nulls) == [1, 7, 3]
        with pytest.raises(dp.ArgumentError):
            clamped_sum("i64", (0, 10))(nulls)
    words = dp.vector_domain(dp.option_domain(dp.atom_domain(T=str))), dp.symmetric_distance()
    for values in (["a", None, "b"], ["a", "c", "b"]):
        column = pandas.Series(values, dtype="category")
        filled = dp.t.make_impute_constant(*words, constant="c")(column)
        assert filled == ["a", "c", "b"]


def test_whole_numbers_of_128_bits_are_read():
    polars = pytest.importorskip("polars")
    if not hasattr(polars, "Int128"):
        pytest.skip("this version of Polars has no Int128")
    column = polars.Series([1, 2**100, 3], dtype=polars.Int128)
    assert clamped_sum("i128", (0, 10))(column) == 14
    assert clamped_sum("i64", (0, 10))(column.head(1)) == 1


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
def test_a_table_is_no_column(library):
    """A loop over a pandas table gives the names of its columns, and these are not rows."""
    package = pytest.importorskip(library)
    make = package.table if library == "pyarrow" else package.DataFrame
    words = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    for run in (dp.t.make_count(*words), dp.t.make_count_distinct(*words)):
        with pytest.raises(dp.ArgumentError):
            run(make({"name": ["Ada", "Bob"], "town": ["x", "y"]}))


def chunked(library, values, places, dtype):
    """Return a column that is split before each row in `places`, and the arrays of its chunks."""
    package = pytest.importorskip("pyarrow" if library == "pandas" else library)
    pieces = [numpy.array(piece, dtype=dtype) for piece in numpy.split(values, places)]
    if library == "polars":
        column = package.Series(pieces[0])
        for piece in pieces[1:]:
            column.append(package.Series(piece))
        assert column.n_chunks() == sum(0 < len(piece) for piece in pieces)
        return column, [chunk.to_numpy() for chunk in column.get_chunks()]
    column = package.chunked_array([package.array(piece) for piece in pieces])
    arrays = [chunk.to_numpy() for chunk in column.chunks]
    if library == "pandas":
        pandas = pytest.importorskip("pandas")
        column = pandas.Series(pandas.arrays.ArrowExtensionArray(column))
    return column, arrays


CHUNKED = pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])


@CHUNKED
def test_the_chunks_of_a_column_are_read_where_they_are(library):
    from opendp_rs._columns import as_arrays

    column, arrays = chunked(library, numpy.arange(1000.0), [1, 1, 700], "float64")
    found, pieces = as_arrays(column)
    # Polars drops empty chunks.
    lengths = [len(piece) for piece in pieces if len(piece)]
    assert found and lengths == [1, 699, 300] and len(pieces) == len(arrays)
    for piece, array in zip(pieces, arrays):
        assert len(piece) == 0 or numpy.shares_memory(piece, array)


@CHUNKED
@pytest.mark.parametrize("rows", [9, 5000, 300_000])
def test_a_column_in_chunks_gives_what_its_rows_give(library, rows):
    values = numpy.arange(rows) % 100 + 1
    places = [1, 1, rows // 3, rows - 2]
    floats, _ = chunked(library, values, places, "float64")
    whole, _ = chunked(library, values, places, "int8")
    expected = int(numpy.minimum(values, 50).sum())
    assert clamped_sum(float, (0.0, 50.0))(floats) == expected
    assert clamped_sum(float, (0.0, 50.0), size=rows)(floats) == expected
    for T in ("i64", "i8", "usize"):
        most = 127 if T == "i8" else expected
        assert clamped_sum(T, (0, 50))(whole) == min(expected, most)
    # Also test functions whose outputs are rows.
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    clamped = dp.t.make_clamp(*space, (0.0, 50.0))
    assert clamped(floats) == numpy.minimum(values, 50.0).tolist()
    assert len(dp.t.make_resize(*space, size=rows + 9, constant=1.0)(floats)) == rows + 9
    # Rows of an optional type are read too.
    options = dp.vector_domain(dp.option_domain(dp.atom_domain(T="i64"))), dp.symmetric_distance()
    assert dp.t.make_impute_constant(*options, constant=7)(whole) == values.tolist()


@CHUNKED
def test_a_row_outside_of_the_domain_is_found_in_every_chunk(library):
    total, places = clamped_sum(float, (0.0, 10.0)), [2, 150_000]
    for place in (0, 1, 2, 149_999, 150_000, 199_999):
        values = numpy.ones(200_000)
        assert total(chunked(library, values, places, "float64")[0]) == 200_000
        values[place] = numpy.nan
        with pytest.raises(dp.ArgumentError):
            total(chunked(library, values, places, "float64")[0])
    wide, _ = chunked(library, numpy.array([1, 2, 300]), [2], "int64")
    with pytest.raises(dp.ArgumentError):
        clamped_sum("i8", (0, 10))(wide)


def test_a_column_without_rows_or_chunks_is_read():
    pyarrow = pytest.importorskip("pyarrow")
    total = clamped_sum(float, (0.0, 10.0))
    assert total(pyarrow.chunked_array([], type=pyarrow.float64())) == 0.0
    assert total(pyarrow.chunked_array([[], [1.0]], type=pyarrow.float64())) == 1.0
    flags = dp.vector_domain(dp.atom_domain(T=bool)), dp.symmetric_distance()
    assert dp.t.make_count(*flags)(pyarrow.chunked_array([[True], [False, True]])) == 3
    nulls = pyarrow.chunked_array([[1.0], [None]])
    with pytest.raises(dp.ArgumentError):
        total(nulls)
