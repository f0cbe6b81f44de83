"""Tables are converted to data of a domain of frames."""

import array
import subprocess
import sys

import pytest

import opendp_rs.prelude as dp

AGES = dp.atom_domain(T=int)
DOMAIN = dp.dataframe_domain(
    col_names=["age", "pay", "name"],
    element_domains=[
        AGES,
        dp.option_domain(dp.atom_domain(T=float, nan=False)),
        dp.atom_domain(T=str),
    ],
)
SPACE = DOMAIN, dp.symmetric_distance()
COLUMNS = {"age": [36, 39], "pay": [1.5, None], "name": ["Ada", "Blaise"]}
TAGGED = {
    "age": {"i32": [36, 39]},
    "pay": {"Option<f64>": [1.5, None]},
    "name": {"String": ["Ada", "Blaise"]},
}


def pandas():
    library = pytest.importorskip("pandas")
    # The index of a table is not one of its columns.
    pay = library.Series([1.5, None], dtype="Float64")
    return library.DataFrame({**COLUMNS, "pay": pay}).set_index(library.Index([7, 7]))


def polars():
    return pytest.importorskip("polars").DataFrame(COLUMNS)


def pyarrow():
    return pytest.importorskip("pyarrow").table(COLUMNS)


def mixed():
    numpy = pytest.importorskip("numpy")
    names = numpy.array(COLUMNS["name"])
    return {"age": numpy.array([36, 39]), "pay": (1.5, None), "name": names}


def buffers():
    return {**COLUMNS, "age": array.array("q", [36, 39])}


def tagged():
    return TAGGED


def lists():
    return COLUMNS


def seen(table):
    """Return the frame that the function of a user transformation gets."""
    found = []
    same = dp.t.make_user_transformation(
        *SPACE, *SPACE, lambda frame: found.append(frame) or frame, lambda d_in: d_in
    )
    assert same(table) == found[0]
    return found[0]


@pytest.mark.parametrize("make", [lists, tagged, mixed, buffers, pandas, polars, pyarrow])
def test_the_domain_states_the_types_of_the_columns(make):
    assert seen(make()) == TAGGED
    assert DOMAIN.member(make())
    select = SPACE >> dp.t.then_select_column("age", TOA=int)
    assert select(make()) == [36, 39]


def test_a_context_answers_questions_about_a_table():
    ours = dp.Context.compositor(
        data=COLUMNS,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=2,
        domain=DOMAIN,
    )
    assert isinstance(ours.query().select_column("age", TOA=int).count().laplace().release(), int)


WRONG = {
    "a column is missing": {"age": [36], "name": ["Ada"]},
    "a column is not in the domain": {**COLUMNS, "more": [1, 2]},
    "the columns have several lengths": {**COLUMNS, "age": [36]},
    "a null is in a column without nulls": {**COLUMNS, "age": [36, None]},
    "text is in a column of numbers": {**COLUMNS, "age": ["36", "39"]},
    "a fraction is in a column of integers": {**COLUMNS, "age": [36.5, 39.0]},
    "a number is too large": {**COLUMNS, "age": [36, 2**40]},
    "NaN is in a column without NaN": {**COLUMNS, "pay": [float("nan"), 1.0]},
    "a column is a text": {**COLUMNS, "name": "AB"},
    "a column is a set": {**COLUMNS, "age": {36, 39}},
    "no table": [1, 2],
}


@pytest.mark.parametrize("case", WRONG)
def test_all_tables_outside_of_the_domain_give_the_same_error(case):
    select = SPACE >> dp.t.then_select_column("age", TOA=int)
    assert not DOMAIN.member(WRONG[case])
    with pytest.raises(dp.ArgumentError) as caught:
        select(WRONG[case])
    with pytest.raises(dp.ArgumentError) as other:
        select({})
    assert caught.value.message == other.value.message
    assert "a table with exactly the columns" in caught.value.message
    assert "so use `convert_dtypes()`; nulls need `dp.option_domain`" in caught.value.message


@pytest.mark.parametrize("unit", ["ns", "Y", "D"])
@pytest.mark.parametrize("kind", ["datetime64", "timedelta64"])
def test_dates_and_durations_are_not_read_as_integers(kind, unit):
    numpy = pytest.importorskip("numpy")
    cells = numpy.array([5, 6], dtype=f"{kind}[{unit}]")
    domain = dp.dataframe_domain(["when"], [dp.atom_domain(T="i64")])
    record = numpy.array([(cell,) for cell in cells], dtype=[("when", cells.dtype)])
    for table in ({"when": cells}, {"when": numpy.ma.array(cells)}, record):
        assert not domain.member(table)
    assert domain.member({"when": cells.astype("int64")})


def test_missing_numbers_of_pandas_become_nulls_by_convert_dtypes():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(COLUMNS)
    assert not DOMAIN.member(table) and DOMAIN.member(table.convert_dtypes())
    assert seen(table.convert_dtypes()) == TAGGED
    numbers = dp.vector_domain(dp.option_domain(dp.atom_domain(T=float, nan=False)))
    present = (numbers, dp.symmetric_distance()) >> dp.t.then_drop_null()
    with pytest.raises(dp.ArgumentError, match=r"use `convert_dtypes\(\)`"):
        present(table["pay"])
    assert present(table["pay"].convert_dtypes()) == [1.5]


def test_two_columns_with_the_same_name_are_refused():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame([[1, 2]], columns=["x", "x"])
    domain = dp.dataframe_domain(["x"], [AGES])
    assert not domain.member(table) and domain.member(table.iloc[:, :1])


def test_without_column_types_a_plain_table_is_refused():
    """The type of a cell is never guessed from the records."""
    domain = dp.dataframe_domain(K=str)
    assert domain.member(TAGGED) and not domain.member(COLUMNS)


def test_names_of_columns_can_be_numbers():
    domain = dp.dataframe_domain([1, 2], [AGES, AGES], K=int)
    assert domain.member({1: [1], 2: [2]}) and not domain.member({1: [1], 3: [2]})


def test_a_dictionary_needs_no_other_package():
    code = (
        "import sys\n"
        "for name in ('numpy', 'pandas', 'polars', 'pyarrow'): sys.modules[name] = None\n"
        "import opendp_rs.prelude as dp\n"
        "domain = dp.dataframe_domain(['x'], [dp.atom_domain(T=int)])\n"
        "select = (domain, dp.symmetric_distance()) >> dp.t.then_select_column('x', TOA=int)\n"
        "assert select({'x': [1, 2]}) == [1, 2]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
