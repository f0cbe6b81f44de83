"""Data from lists, arrays and columns give the same results."""

import array
import math
import re

import pytest

import opendp_rs.prelude as dp

numpy = pytest.importorskip("numpy")


def clamped_sum(T, bounds, **domain):
    space = dp.vector_domain(
        dp.atom_domain(T=T, nan=False if T in (float, "f32") else None), **domain
    )
    return dp.t.make_clamp(space, dp.symmetric_distance(), bounds) >> dp.t.then_sum()


@pytest.mark.parametrize("rows", [0, 1, 4096, 20_000, 300_000, 1_000_001])
def test_an_array_gives_what_its_list_gives(rows):
    data = numpy.random.default_rng(rows).normal(5.0, 9.0, rows)
    total = clamped_sum(float, (0.0, 10.0))
    assert total(data) == total(data.tolist())


@pytest.mark.parametrize(
    "dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
)
@pytest.mark.parametrize("T", [int, "i64", "u8", float, "f32", "i128", "usize"])
def test_whole_numbers_convert_where_every_value_fits(dtype, T):
    data = numpy.arange(100, dtype=dtype)
    bounds = (0.0, 50.0) if T in (float, "f32") else (0, 50)
    total = clamped_sum(T, bounds)
    # If a sum is too large for its type, the result is the largest number of the type.
    most = {"u8": 255}.get(T, 10**9)
    assert total(data) == total(data.tolist()) == min(most, sum(min(x, 50) for x in range(100)))


def test_a_view_with_gaps_and_a_read_only_array_are_read():
    data = numpy.arange(1000.0)
    data.setflags(write=False)
    total = clamped_sum(float, (0.0, 500.0))
    assert total(data[::3]) == total(data[::3].tolist())
    assert total(data[::-1]) == total(data)
    swapped = data.astype(">f8")
    assert total(swapped) == total(data)


@pytest.mark.parametrize("rows", [5, 300_000])
def test_a_column_of_records_is_read_at_its_places(rows):
    """The rows of a packed table are not aligned. Bytes of other columns must not be read."""
    total = clamped_sum(float, (0.0, 10.0))
    for aligned in (False, True):
        kinds = numpy.dtype([("flag", "i1"), ("x", "f8"), ("n", "i4")], align=aligned)
        records = numpy.zeros(rows, dtype=kinds)
        records["flag"], records["x"], records["n"] = 7, numpy.arange(rows) % 5, 3
        for column in (records["x"], records["x"][::-1], records["x"][::2], records[::3]["x"]):
            assert total(column) == total(column.tolist()) == column.sum()
        assert clamped_sum(int, (0, 10))(records["n"]) == 3 * rows
    shifted = numpy.frombuffer(b"x" + numpy.ones(rows).tobytes(), dtype="f8", offset=1)
    assert total(shifted) == rows
    table = numpy.arange(4.0 * rows).reshape(rows, 4) % 7
    assert total(table[:, 2]) == table[:, 2].sum()
    floats = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    clamped = dp.t.make_clamp(*floats, (0.0, 3.0))
    assert clamped(table[:, 1]) == numpy.minimum(table[:, 1], 3.0).tolist()


def test_booleans_and_text():
    booleans = dp.t.make_count(dp.vector_domain(dp.atom_domain(T=bool)), dp.symmetric_distance())
    assert booleans(numpy.array([True, False])) == 2
    words = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    count = dp.t.make_count_by_categories(*words, categories=["a", "b"])
    assert count(["a", "b", "a", "c"]) == count(numpy.array(["a", "b", "a", "c"])) == [2, 1, 1]


def test_every_byte_of_a_boolean_other_than_0_is_true():
    booleans = dp.vector_domain(dp.atom_domain(T=bool))
    column = numpy.frombuffer(bytes([0, 1, 2, 255] * 500), dtype=bool)
    table = numpy.zeros(2000, dtype=[("flag", bool), ("other", "f8")])
    table["flag"] = True
    table["flag"].view("u1")[:] = [0, 1, 2, 255] * 500
    count = dp.t.make_count_by_categories(
        booleans, dp.symmetric_distance(), categories=[True, False], null_category=False
    )
    ordered = dp.t.make_identity(booleans, dp.insert_delete_distance())
    for rows in (column, column[::-1], table["flag"]):
        assert count(rows) == count([bool(row) for row in rows]) == [1500, 500]
        assert ordered(rows) == [bool(row) for row in rows]
        assert ordered.function(rows) == ordered(rows)
    # A column of bytes is not a column of booleans.
    for bytes_ in (numpy.array([0, 1], dtype="u1"), numpy.array([0, 1], dtype="i8")):
        with pytest.raises(dp.ArgumentError):
            count(bytes_)


class Unsorted(set):
    """A set of another class."""


@pytest.mark.parametrize("kind", [set, frozenset, Unsorted])
def test_a_set_has_no_rows(kind):
    rows = dp.vector_domain(dp.atom_domain(T=str)), dp.insert_delete_distance()
    same, found = dp.t.make_identity(*rows), kind(["a", "b"])
    advice = "a set has no order: make a list of it, sorted if the order does not matter"
    for call in (same, same.function):
        with pytest.raises(dp.ArgumentError, match=advice):
            call(found)
    # A function of a user must not return a set as rows either.
    made = dp.t.make_user_transformation(*rows, *rows, lambda found: kind(found), lambda d: d)
    with pytest.raises(dp.FailedFunctionError, match="outside of its output domain"):
        made(["a", "b"])
    with pytest.raises(dp.FailedCastError, match=advice):
        dp.new_function(lambda found: kind(found), TO="Vec<String>")(["a", "b"])
    frames = dp.dataframe_domain(["a"], [dp.atom_domain(T=str)])
    column = dp.t.make_select_column(frames, dp.insert_delete_distance(), "a", TOA=str)
    for table in ({"a": found}, {"a": {"String": found}}):
        with pytest.raises(dp.ArgumentError):
            column(table)
    # The control: a list, a tuple, a view of a dictionary and an iterator have an order.
    for ordered in (sorted(found), ("a", "b"), {"a": 1, "b": 2}.keys(), iter(["a", "b"])):
        assert same(ordered) == ["a", "b"]
    assert column({"a": ["a", "b"]}) == ["a", "b"]


def test_categories_can_be_a_set():
    words = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    count = dp.t.make_count_by_categories(*words, categories={"a"})
    assert count(["a", "b"]) == [1, 1]


def test_the_function_of_an_object_checks_its_data():
    bounded = dp.vector_domain(dp.atom_domain(bounds=(0.0, 1.0))), dp.symmetric_distance()
    total = bounded >> dp.t.then_sum()
    noisy = total >> dp.m.then_laplace(1e-9)
    for made in (total, noisy):
        assert abs(made.function([0.5, 1.0]) - 1.5) < 1e-3
        assert abs(made.function(numpy.array([0.5, 1.0])) - 1.5) < 1e-3
        for data in ([0.5, 100.0], numpy.array([0.5, 100.0]), ["x"], [math.nan]):
            with pytest.raises(dp.ArgumentError) as caught:
                made.function(data)
            with pytest.raises(dp.ArgumentError, match=re.escape(caught.value.message)):
                made(data)


def test_memory_that_others_own_is_read():
    total = clamped_sum(float, (0.0, 10.0))
    assert total(array.array("d", [1.0, 2.0, 30.0])) == 13.0
    assert total(memoryview(array.array("d", [1.0, 2.0]))) == 3.0
    assert total((1.0, 2.0)) == 3.0
    assert total(x for x in (1.0, 2.0)) == 3.0


def test_a_masked_number_is_a_null():
    """A masked array stores a number even for a masked cell. This number must not be used."""
    masked = numpy.ma.array([1.0, 99.0, 3.0], mask=[False, True, False])
    with pytest.raises(dp.ArgumentError):
        clamped_sum(float, (0.0, 10.0))(masked)
    options = dp.vector_domain(dp.option_domain(dp.atom_domain(T=float))), dp.symmetric_distance()
    assert dp.t.make_impute_constant(*options, constant=7.0)(masked) == [1.0, 7.0, 3.0]

    class Named(numpy.ma.MaskedArray):
        """A subclass whose module is not NumPy."""

    with pytest.raises(dp.ArgumentError):
        clamped_sum(float, (0.0, 10.0))(masked.view(Named))
    named = dp.t.make_impute_constant(*options, constant=7.0)(masked.view(Named))
    assert named == [1.0, 7.0, 3.0]


def test_data_beyond_the_domain_are_refused_with_one_message():
    total = clamped_sum(float, (0.0, 10.0))
    messages = set()
    for data in (
        [1.0, "x"],
        [None],
        ["x"],
        5.0,
        "text",
        {"a": 1},
        [float("nan")],
        [[1.0]],
        [True],
        numpy.array([1.0, numpy.nan]),
        numpy.array([[1.0]]),
        numpy.array(["x"]),
        numpy.array([2**60]),
        [2**60],
        [object()],
        numpy.array([True]),
    ):
        with pytest.raises(dp.ArgumentError) as caught:
            total(data)
        messages.add(str(caught.value))
    assert len(messages) == 1 and "nan" in messages.pop()


def test_a_number_outside_the_type_is_refused_and_not_wrapped():
    total = clamped_sum("i8", (0, 10))
    for data in (numpy.array([300]), [300], numpy.array([-129]), numpy.array([1.0]), [1.5]):
        with pytest.raises(dp.ArgumentError):
            total(data)


@pytest.mark.parametrize("T,largest", [("f32", 2**24), (float, 2**53)])
def test_a_whole_number_that_a_float_type_skips_is_refused(T, largest):
    same = dp.t.make_identity(
        dp.vector_domain(dp.atom_domain(T=T, nan=False)), dp.symmetric_distance()
    )
    for data in ([largest, -largest], numpy.array([largest, -largest])):
        assert same(data) == [largest, -largest]
    messages = set()
    for wrong in (largest + 1, -largest - 1):
        for data in ([wrong], numpy.array([wrong]), [numpy.int64(wrong)], ["x"]):
            with pytest.raises(dp.ArgumentError) as caught:
                same(data)
            messages.add(str(caught.value))
    assert len(messages) == 1
    # A float is rounded to the nearest float of the type.
    assert same([float(largest + 1)]) == same(numpy.array([float(largest + 1)])) == [largest]


@pytest.mark.parametrize("rows", [9, 11, 16384, 40_000])
def test_a_wrong_size_is_refused(rows):
    total = clamped_sum(float, (0.0, 10.0), size=10)
    for data in (numpy.zeros(rows), [0.0] * rows):
        with pytest.raises(dp.ArgumentError):
            total(data)
    assert total(numpy.ones(10)) == 10.0


def test_a_nan_is_found_wherever_it_is():
    """Every chunk is checked, even the last chunk of a column whose domain has a known size."""
    for rows in (16384, 40_000, 300_000):
        for place in (0, 16383, rows - 1):
            data = numpy.zeros(rows)
            data[place] = numpy.nan
            for total in (
                clamped_sum(float, (0.0, 1.0)),
                clamped_sum(float, (0.0, 1.0), size=rows),
            ):
                with pytest.raises(dp.ArgumentError):
                    total(data)


@pytest.mark.parametrize("rows", [10, 16385, 300_000])
def test_a_row_outside_of_the_bounds_is_found_wherever_it_is(rows):
    bounded = dp.vector_domain(dp.atom_domain(bounds=(0.0, 10.0), nan=False))
    known = dp.vector_domain(dp.atom_domain(bounds=(0.0, 10.0), nan=False), size=rows)
    whole = dp.vector_domain(dp.atom_domain(bounds=(0, 10)))
    for place in (0, rows // 2, rows - 1):
        for domain, wrong in ((bounded, -0.5), (known, 10.5), (bounded, numpy.nan), (whole, 11)):
            data = numpy.full(rows, 10, dtype="int32" if domain is whole else "float64")
            total = dp.t.make_sum(domain, dp.symmetric_distance())
            assert total(data) == 10 * rows
            data[place] = wrong
            with pytest.raises(dp.ArgumentError):
                total(data)


def test_rows_in_order_and_whole_data_sets_are_run():
    floats = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    data = numpy.arange(50_000.0)
    clamped = dp.t.make_clamp(*floats, (0.0, 9.0))(data)
    assert clamped == numpy.minimum(data, 9.0).tolist()
    resized = dp.t.make_resize(*floats, size=60_000, constant=1.0)(data)
    assert len(resized) == 60_000


def test_maps_go_in_and_come_out():
    words = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    counts = words >> dp.t.then_count_by(TV=float)
    assert counts(["a", "b", "a"]) == {"a": 2.0, "b": 1.0}
    numbers = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    assert (numbers >> dp.t.then_count_by())([7, 7, 8]) == {7: 2, 8: 1}
    noisy = (
        words
        >> dp.t.then_count_by(TV=float)
        >> dp.m.then_laplace_threshold(scale=1.0, threshold=10.0)
    )
    release = noisy(["a"] * 1000)
    assert set(release) == {"a"} and abs(release["a"] - 1000) < 100


def test_floats_that_are_not_finite_go_in_and_come_out():
    floats = dp.vector_domain(dp.atom_domain(T=float)), dp.symmetric_distance()
    same = dp.t.make_identity(*floats)
    values = same([float("inf"), float("-inf"), float("nan")])
    assert values[:2] == [float("inf"), float("-inf")] and values[2] != values[2]
    infinite = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), 0.0)
    assert infinite.map(1) == float("inf")


def test_the_cells_of_a_frame_have_the_types_of_its_columns():
    text = dp.atom_domain(T=str), dp.symmetric_distance()
    words = text >> dp.t.then_split_dataframe(",", ["a", "b"])
    lines = "1,nan\n2,inf\nNaN,1.5\nInfinity,-inf"
    # The cells of a column of texts stay texts, even if a text can be read as a number.
    expected = {"String": ["1", "2", "NaN", "Infinity"]}
    assert words(lines)["a"] == expected
    frame = (words >> dp.t.then_df_cast_default("b", TIA=str, TOA=float))(lines)
    assert frame["a"] == expected and list(frame["b"]) == ["f64"]
    cells = frame["b"]["f64"]
    assert cells[0] != cells[0] and cells[1:] == [float("inf"), 1.5, float("-inf")]


# If the name of a column begins with `$serde_json::private::`, the JSON of a frame is a list of
# pairs.
@pytest.mark.parametrize("name", ["x", "$serde_json::private::x"])
def test_the_cells_of_a_frame_can_be_missing(name):
    domain = dp.dataframe_domain(
        col_names=[name], element_domains=[dp.option_domain(dp.atom_domain(T=float))]
    )
    space, seen = (domain, dp.symmetric_distance()), []
    look = dp.m.make_user_measurement(*space, dp.max_divergence(), seen.append, lambda d_in: 0.0)
    look({name: {"Option<f64>": [None, 1.5, float("inf"), float("-inf")]}})
    frame = dict(seen.pop())
    assert frame == {name: {"Option<f64>": [None, 1.5, float("inf"), float("-inf")]}}
