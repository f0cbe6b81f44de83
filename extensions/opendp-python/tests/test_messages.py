"""Messages about distances, columns and types, and the texts that describe objects."""

import datetime
import pickle
import threading
import warnings

import pytest

import opendp_rs.prelude as dp

FLOATS = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
TOTAL = FLOATS >> dp.t.then_clamp((0.0, 10.0)) >> dp.t.then_sum()
UNIT, LOSS = dp.unit_of(contributions=1), dp.loss_of(epsilon=1.0)


@pytest.mark.parametrize("convert", [float, "numpy"])
def test_a_distance_that_is_not_a_number_is_named(convert):
    if convert == "numpy":
        convert = pytest.importorskip("numpy").float64
    release = TOTAL >> dp.m.then_laplace(1.0)
    nan, infinity = convert("nan"), convert("inf")
    for name, ask in {
        "d_in": lambda: release.map(nan),
        "d_out": lambda: release.check(1, nan),
    }.items():
        with pytest.raises(dp.InvalidDistanceError, match=f"{name}: .* found NaN"):
            ask()
    for ask in (lambda: release.map(infinity), lambda: release.check(infinity, 1.0)):
        with pytest.raises(dp.InvalidDistanceError, match="d_in: .* found infinity"):
            ask()
    assert release.check(1, infinity)


def test_errors_travel_between_processes():
    with pytest.raises(dp.OpenDPError) as caught:
        TOTAL.map("a")
    for error in (caught.value, dp.OpenDPError("text")):
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error) and str(copy) == str(error)
        assert copy.message == error.message and copy.kind == error.kind


class TooLate(dp.BudgetExceededError):
    """A class of errors that a user defines."""


def test_an_error_of_a_user_keeps_its_class_between_processes():
    copy = pickle.loads(pickle.dumps(TooLate("text")))
    assert type(copy) is TooLate and str(copy) == "BudgetExceeded: text"


def test_data_of_other_libraries_that_are_no_column_are_named():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": [1], "dtype": [1]})
    for data in (pandas.Timestamp("2020-01-01"), pandas.NaT, table.groupby("a")):
        with pytest.raises(dp.TypeParseError) as caught:
            dp.Context.compositor(data, UNIT, LOSS)
        expected = f"cannot infer the domain of a value of type {type(data).__name__}"
        assert expected in caught.value.message and "2020" not in caught.value.message


def test_a_label_of_an_index_is_not_the_type_of_a_column():
    pandas = pytest.importorskip("pandas")
    column = pandas.Series([datetime.date(2020, 1, 1)], index=["type"])
    with pytest.raises(dp.TypeParseError, match="a column of type object;"):
        dp.Context.compositor(column, UNIT, LOSS)


def test_the_numbers_of_periods_are_not_read_as_whole_numbers():
    pandas = pytest.importorskip("pandas")
    column = pandas.Series(pandas.period_range("2020", periods=2))
    rows = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    with pytest.raises(dp.ArgumentError, match="convert dates"):
        (rows >> dp.t.then_count())(column)


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow"])
def test_a_column_without_a_type_of_this_library_is_named_and_its_cells_are_not(package):
    library = pytest.importorskip(package)
    days = [datetime.date(2020, 1, 1)]
    columns = [library.array(days) if package == "pyarrow" else library.Series(days)]
    if package == "polars":
        columns.append(library.Series(["secret"], dtype=library.Enum(["secret"])))
    for column in columns:
        with pytest.raises(dp.TypeParseError) as caught:
            dp.Context.compositor(column, UNIT, LOSS)
        message = caught.value.message
        assert "cannot infer the domain of a column of type" in message
        assert "convert dates and categories" in message
        assert "secret" not in message and "2020" not in message


def test_a_map_under_a_wrong_metric_is_told_of_noise_that_exists():
    texts = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    counts = texts >> dp.t.then_count_by()
    for noise in (dp.m.then_gaussian_threshold(1.0, 5), dp.m.then_laplace(1.0)):
        with pytest.raises(dp.ArgumentError, match='need a threshold: "laplace_threshold"'):
            counts >> noise
    counts >> dp.m.then_laplace_threshold(1.0, 5)


def test_a_type_that_python_cannot_read_is_refused_at_once():
    with pytest.raises(dp.TypeParseError, match="argument `TO`.* leave the type out"):
        dp.new_function(lambda x: x, TO="(f64, String)")


_ATOMS = [
    dp.atom_domain(T=int),
    dp.atom_domain(bounds=(0.0, 10.0)),
    dp.atom_domain(bounds=(False, True)),
    dp.atom_domain(bounds=("atom_domain", "b")),
]
_NUMBER = dp.atom_domain(T=float, nan=False)


@pytest.mark.parametrize(
    "made",
    [
        *_ATOMS,
        dp.vector_domain(dp.option_domain(_NUMBER), size=3),
        dp.vector_domain(dp.pair_domain(_NUMBER, _NUMBER)),
        dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int)),
        dp.dataframe_domain(["a"], [dp.option_domain(dp.atom_domain(T=int))], size=2),
        dp.approximate(dp.zero_concentrated_divergence()),
        dp.l01inf_distance(dp.absolute_distance(T=int)),
        dp.linf_distance(T=int, monotonic=True),
    ],
    ids=repr,
)
def test_a_description_is_shown_as_the_call_that_makes_it(made):
    assert eval(repr(made), {name: getattr(dp, name) for name in dir(dp)}) == made
    text = f"expected {made.to_json()}, found {{\"other\": 1}}"
    shown = dp._errors.in_python(dp.OpenDPError(text)).message
    assert shown.startswith(f"expected {made!r}, found ")


def test_a_search_warns_only_of_a_distance_that_the_user_states(recwarn):
    release = TOTAL >> dp.m.then_laplace(10.0)
    assert dp.binary_search(lambda d_in: release.check(d_in, 3.0), T=int) == 3
    assert dp.binary_search(lambda d_in: release.map(d_in) <= 3.0, bounds=(0, 100)) == 3
    assert dp.exponential_bounds_search(lambda d_in: release.check(d_in, 3.0), T=int)[1] >= 3
    assert not recwarn.list
    # If every value gives the warning, the distance is the user's.
    def without_neighbours(scale):
        return (TOTAL >> dp.m.then_laplace(scale)).check(0, 1.0)

    with pytest.warns(UserWarning, match="d_in: expected a distance above 0"):
        dp.binary_search(lambda scale: scale >= 2.0 and without_neighbours(scale), (0.0, 9.0))
    for bounds in ((0.0, 9.0), None):
        with pytest.warns(UserWarning, match="d_in: expected a distance above 0"):
            with pytest.raises(dp.SearchError):
                dp.binary_search(without_neighbours, bounds, T=float)


def test_a_map_outside_of_a_search_warns_while_another_thread_searches():
    release, warned = TOTAL >> dp.m.then_laplace(10.0), []

    def ask():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            release.map(0)
            warned.append(len(caught))

    def searches(d_in):
        if not warned:
            thread = threading.Thread(target=ask)
            thread.start()
            thread.join()
        return release.check(d_in, 3.0)

    assert dp.binary_search(searches, T=int) == 3 and warned == [1]
