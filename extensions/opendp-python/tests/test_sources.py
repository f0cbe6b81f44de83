"""Lazy frames, scans, relations and streams are read once, late, and only in the columns needed."""

import traceback
from decimal import Decimal

import pytest

import opendp_rs.prelude as dp

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")
dataset = pytest.importorskip("pyarrow.dataset")

DOCUMENT = {
    "context": {
        "unit": {"person": 1},
        "budget": {"epsilon": 1e6},
        "columns": {
            "income": {"T": float, "bounds": [0, 100], "missing": 0},
            "city": {"T": str, "missing": "none"},
        },
    },
    "questions": [
        {"count": {}},
        {"sum": {"column": "income"}},
        {"histogram": {"column": "city", "categories": ["Lyon", "none"]}},
    ],
}
TABLE = pyarrow.table({
    "secret": ["x"] * 300,
    "city": ["Lyon", "Lille", None] * 100,
    "income": [1.0, None, 3.0] * 100,
})
FRAME = polars.from_arrow(TABLE)


class Stream:
    """A table of another library, which has only the method of the protocol of Arrow."""

    def __arrow_c_stream__(self, requested_schema=None):
        return TABLE.__arrow_c_stream__(requested_schema)


def relation():
    duckdb = pytest.importorskip("duckdb")
    return duckdb.from_arrow(TABLE)


SOURCES = {
    "a lazy frame": FRAME.lazy,
    "categories of a lazy frame": lambda: FRAME.lazy().cast({"city": polars.Categorical}),
    "a data set": lambda: dataset.dataset(TABLE),
    "a scanner": lambda: dataset.dataset(TABLE).scanner(),
    "a stream": lambda: TABLE.to_reader(max_chunksize=7),
    "DuckDB": relation,
    "another library": Stream,
}


def study():
    with pytest.warns(UserWarning, match="above 10"):
        return dp.Study(DOCUMENT)


def values(outcome):
    return [round(row["value"]) for row in outcome.rows()]


@pytest.mark.parametrize("kind", SOURCES)
def test_a_study_answers_from_a_source_as_from_its_table(kind):
    expected = [300, 400, 100, 100]
    assert values(study().ask(TABLE)) == expected
    assert values(study().ask(SOURCES[kind]())) == expected
    assert values(study().ask(SOURCES[kind](), public_types=True)) == expected


@pytest.mark.parametrize("kind", SOURCES)
def test_the_columns_of_a_source_are_known_without_its_rows(kind):
    document = {
        "context": {**DOCUMENT["context"], "columns": {"town": {"T": str}}},
        "questions": [{"count": {}}],
    }
    with pytest.warns(UserWarning, match="above 10"):
        asked = dp.Study(document)
    with pytest.raises(dp.OpenDPError, match="the table has no column 'town'"):
        asked.ask(SOURCES[kind]())
    # The error spent nothing.
    assert values(asked.ask({"town": ["a"] * 30})) == [30]


@pytest.mark.parametrize("kind", SOURCES)
def test_a_frame_is_read_from_a_source(kind):
    domain = dp.dataframe_domain(
        col_names=["secret", "city", "income"],
        element_domains=[
            dp.atom_domain(T=str),
            dp.option_domain(dp.atom_domain(T=str)),
            dp.option_domain(dp.atom_domain(T=float)),
        ],
    )
    space = domain, dp.symmetric_distance()
    incomes = space >> dp.t.then_select_column("income", TOA="Option<f64>")
    assert incomes(SOURCES[kind]()) == [1.0, None, 3.0] * 100
    context = dp.Context.compositor(
        SOURCES[kind](), dp.unit_of(contributions=1), dp.loss_of(1.0), 1, domain=domain
    )
    query = context.query().select_column("income", TOA="Option<f64>").drop_null()
    assert abs(query.count().laplace().release() - 200) < 60


def broken(name):
    """Return lazy frames whose column `name` fails when it is read. The other columns are read."""
    failing = polars.col("city").cast(polars.Float64 if name == "income" else polars.Date)
    return FRAME.lazy().with_columns(failing.cast(FRAME.schema[name]).alias(name))


def test_columns_that_no_question_needs_are_not_read():
    frame = broken("secret")
    assert values(study().ask(frame)) == [300, 400, 100, 100]
    with pytest.raises(polars.exceptions.PolarsError):  # The control.
        frame.collect()


def test_a_source_runs_once_for_all_columns():
    """Its rows can have another order in each run, and two columns must have the same order."""
    runs = []

    def counted(batch):
        runs.append(batch.columns)
        return batch

    frame = FRAME.lazy().map_batches(counted, schema=FRAME.schema)
    study().ask(frame)
    assert len(runs) == 1


def refused(asked, data, **options):
    with pytest.raises(dp.OpenDPError) as error:
        asked.ask(data, **options)
    # An exception of another library can contain a cell, so it is not shown.
    assert "Lyon" not in "".join(traceback.format_exception(error.value))
    return error.value.message


def test_an_error_while_rows_are_read_is_the_error_of_a_wrong_cell():
    """Also if the types of the columns were found from rows, and do not fit an expression."""
    wrong = FRAME.with_columns(income=polars.lit("a text"))
    expected = refused(study(), wrong)
    assert "is spent" in expected
    by_type = FRAME.lazy().with_columns(income=polars.col("city") - 1.0)
    for data in (wrong.lazy(), broken("income"), by_type):
        asked = study()
        assert refused(asked, data) == expected
        with pytest.raises(dp.BudgetExceededError):
            asked.ask(FRAME)
    # If the types are public, the error about a type is reported at once, and is free.
    asked = study()
    assert "raised InvalidOperationError" in refused(asked, by_type, public_types=True)
    message = refused(asked, wrong.lazy(), public_types=True)
    assert "the type of the column is String" in message
    assert values(asked.ask(FRAME)) == [300, 400, 100, 100]


class PanicException(BaseException):
    """A panic of Rust code, which is no `Exception`."""


class OfSchema(Stream):
    def __arrow_c_stream__(self, requested_schema=None):
        raise PanicException("Lyon")


class OfRows:
    def collect_schema(self):
        return FRAME.schema

    def select(self, columns):
        raise PanicException("Lyon")


OfRows.__module__, OfRows.__name__ = "polars.lazyframe", "LazyFrame"


@pytest.mark.parametrize("source", [OfSchema, OfRows])
def test_a_panic_of_another_library_is_an_error_without_its_text(source):
    asked = study()
    assert "is spent" in refused(asked, source())
    with pytest.raises(dp.BudgetExceededError):
        asked.ask(FRAME)


def test_a_missing_file_or_column_is_free(tmp_path):
    asked = study()
    missing = polars.scan_parquet(tmp_path / "none.parquet")
    assert "raised FileNotFoundError" in refused(asked, missing)
    assert "raised ColumnNotFoundError" in refused(asked, FRAME.lazy().select("nothing"))
    dates = FRAME.lazy().with_columns(city=polars.date(2020, 1, 1))
    with pytest.raises(dp.OpenDPError, match="the type of the column is Date"):
        asked.ask(dates, public_types=True)
    assert values(asked.ask(FRAME)) == [300, 400, 100, 100]


def test_a_stream_that_was_read_is_not_an_empty_table():
    stream = TABLE.to_reader()
    assert values(study().ask(stream)) == [300, 400, 100, 100]
    asked = study()
    assert "make a new stream" in refused(asked, stream)
    assert values(asked.ask(TABLE.to_reader())) == [300, 400, 100, 100]
    domain = dp.dataframe_domain(col_names=["n"], element_domains=[dp.atom_domain(T="i64")])
    space = domain, dp.symmetric_distance()
    count = space >> dp.t.then_select_column("n", TOA="i64") >> dp.t.then_count()
    stream = pyarrow.table({"n": [1, 2]}).to_reader()
    assert count(stream) == 2
    with pytest.raises(dp.OpenDPError, match="expected a member"):
        count(stream)


@pytest.mark.parametrize(
    "empty",
    [
        pyarrow.Table.from_batches([], TABLE.schema),
        TABLE.slice(0, 0),
        pyarrow.RecordBatchReader.from_batches(TABLE.schema, []),
        FRAME.head(0).lazy(),
    ],
)
def test_a_table_without_rows_is_answered_like_a_table_with_one_row(empty):
    found = values(study().ask(empty))
    assert found == [0, 0, 0, 0]
    assert values(study().ask(TABLE.slice(0, 1))) == [1, 1, 1, 0]


def test_a_charged_study_reads_a_source_after_the_charge(tmp_path):
    runs = []

    def counted(batch):
        runs.append(batch.columns)
        return batch

    frame = FRAME.lazy().map_batches(counted, schema=FRAME.schema)
    ledger = dp.Ledger(tmp_path / "budgets")
    with pytest.warns(UserWarning):
        ledger.create("survey", epsilon=1e6, unit=1, metric="symmetric_distance")
    place = {"ledger": ledger, "budget": "survey"}
    first = study().ask(frame, id="first", **place)
    assert values(first) == [300, 400, 100, 100] and len(runs) == 1
    # An id that was answered, and a budget that is spent, run nothing.
    assert study().ask(frame, id="first", **place).rows() == first.rows()
    with pytest.raises(dp.BudgetExceededError):
        study().ask(frame, id="second", **place)
    assert len(runs) == 1


def test_names_with_a_meaning_in_a_query_are_names():
    names = ["*", "^.*$", 'a"b', "a, b"]
    table = pyarrow.table({name: [float(i)] * 30 for i, name in enumerate(names)})
    column = {"T": float, "bounds": [0, 9], "missing": 0}
    document = {
        "context": {**DOCUMENT["context"], "columns": {name: column for name in names[1:]}},
        "questions": [{"sum": {"column": name}} for name in names[1:]],
    }
    sources = [table, polars.from_arrow(table).lazy(), dataset.dataset(table)]
    try:
        import duckdb

        sources.append(duckdb.from_arrow(table))
    except ImportError:
        pass
    for source in sources:
        with pytest.warns(UserWarning, match="above 10"):
            asked = dp.Study(document)
        assert values(asked.ask(source)) == [30, 60, 90]


@pytest.mark.parametrize("library", ["pyarrow", "Polars", "a lazy frame", "pandas", "DuckDB"])
def test_decimal_numbers_are_read_as_floats(library):
    """Databases give decimal numbers, such as for amounts of money and for sums of integers."""
    cells = [Decimal("0.10"), None, Decimal("2.50")] * 100
    table = pyarrow.table({"income": pyarrow.array(cells, pyarrow.decimal128(9, 2))})
    document = {
        "context": {
            **DOCUMENT["context"],
            "columns": {"income": DOCUMENT["context"]["columns"]["income"]},
        },
        "questions": [{"sum": {"column": "income"}}],
    }
    if library == "pandas":
        table = table.to_pandas(types_mapper=pandas.ArrowDtype)
    elif library == "DuckDB":
        table = pytest.importorskip("duckdb").from_arrow(table)
    elif library != "pyarrow":
        frame = polars.from_arrow(table)
        table = frame.lazy() if library == "a lazy frame" else frame
    with pytest.warns(UserWarning, match="above 10"):
        assert values(dp.Study(document).ask(table, public_types=True)) == [260]


def test_an_object_whose_rows_are_gone_is_not_an_empty_table():
    class Once:
        def __init__(self):
            self.reader = TABLE.to_reader()

        def __arrow_c_stream__(self, requested_schema=None):
            return self.reader.__arrow_c_stream__(requested_schema)

    once = Once()
    assert values(study().ask(once)) == [300, 400, 100, 100]
    assert "is spent" in refused(study(), once)


def test_a_source_runs_only_after_the_budget_is_spent():
    runs = []

    def counted(frame):
        runs.append(1)
        return frame

    lazy = FRAME.lazy().map_batches(counted, schema=FRAME.schema)
    asked = study()
    with pytest.raises(dp.OpenDPError, match="alpha"):
        asked.ask(lazy, 2.0)
    assert not runs
    asked.ask(lazy)
    assert len(runs) == 1
    with pytest.raises(dp.BudgetExceededError):
        asked.ask(lazy)
    assert len(runs) == 1

    def stopped(_):
        raise KeyboardInterrupt

    asked = study()
    with pytest.raises(KeyboardInterrupt):
        asked.ask(Rows(stopped))
    with pytest.raises(dp.BudgetExceededError):
        asked.ask(FRAME)


class Rows:
    """A lazy frame whose rows come from a function."""

    def __init__(self, rows):
        self.rows = rows

    def collect_schema(self):
        return FRAME.schema

    def select(self, columns):
        return self.rows(columns)


Rows.__module__, Rows.__name__ = "polars.lazyframe", "LazyFrame"


@pytest.mark.parametrize("package", ["pyarrow", "pandas", "polars"])
def test_decimal_numbers_are_read_as_the_nearest_floats_and_whole_numbers_exactly(package):
    import decimal

    tenths = pyarrow.array([decimal.Decimal(k) / 10 for k in range(100)], pyarrow.decimal128(38, 9))
    large = pyarrow.array([decimal.Decimal(2**53 + 1)] * 100, pyarrow.decimal128(38, 0))
    table = pyarrow.table({"x": tenths, "n": large})
    if package == "polars":
        table = polars.from_arrow(table)
    if package == "pandas":
        table = table.to_pandas(types_mapper=__import__("pandas").ArrowDtype)
    equal = [{"count": {}, "where": {"x": {"in": [k / 10]}}} for k in range(100)]
    whole = {"count": {}, "where": {"n": {"in": [2**53 + 1]}}}
    document = {
        "context": {
            "unit": {"person": 1},
            "budget": {"epsilon": 1e7},
            "columns": {"x": {"T": "f64", "missing": -1}, "n": {"T": "i64", "missing": -1}},
        },
        "questions": [*equal, whole],
    }
    assert values(dp.Study(document).ask(table)) == [1] * 100 + [100]
