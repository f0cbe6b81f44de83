"""What a first user of the package tries: names, messages and data that come from notebooks."""

import builtins
import datetime
import io

import pytest

import opendp_rs.prelude as dp

UNIT, LOSS = dp.unit_of(contributions=1), dp.loss_of(epsilon=1.0)
WHOLE = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()


def test_an_import_of_all_names_replaces_no_name_of_python():
    names = {}
    exec("from opendp_rs.prelude import *", names)
    assert names["Context"] is dp.Context and names["atom_domain"]
    assert not [name for name in dp.__all__ if hasattr(builtins, name)]
    assert issubclass(dp.OverflowError, dp.OpenDPError) and "OverflowError" in dir(dp)


def test_a_forgotten_split_is_named():
    ours = dp.Context.compositor([1, 2], UNIT, LOSS)
    for wrong in (ours.query().count().laplace().param, ours.query().count().laplace().release):
        with pytest.raises(dp.ArgumentError, match=r"state its share.*`split_evenly_over`"):
            wrong()


def test_two_bounds_instead_of_a_pair_are_named():
    for wrong in (
        lambda: WHOLE >> dp.t.then_clamp(0, 100),
        lambda: dp.t.make_clamp(*WHOLE, 0, 100),
        lambda: dp.Context.compositor([1], UNIT, LOSS, 1).query().clamp(0, 100),
    ):
        with pytest.raises(dp.ArgumentError, match=r"as one pair, as in `then_clamp\(\(lower, up"):
            wrong()


ORDERED = dp.unit_of(contributions=1, ordered=True)


@pytest.mark.parametrize("unit", [UNIT, dp.unit_of(changes=1), ORDERED])
def test_data_that_are_no_column_are_named(unit):
    numpy = pytest.importorskip("numpy")
    for data in (1, 2.5, True, numpy.array(2.5)):
        with pytest.raises(dp.TypeParseError, match="`data`: expected a column of rows, found a s"):
            dp.Context.compositor(data, unit, LOSS, 1)
    for data in ([[1, 2], [3, 4]], numpy.ones((2, 2))):
        with pytest.raises(dp.TypeParseError, match="`data`: expected one column of rows, found r"):
            dp.Context.compositor(data, unit, LOSS, 1)


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow"])
def test_nulls_in_a_column_of_a_context_have_advice(package):
    library = pytest.importorskip(package)
    column = library.array([1, None]) if package != "polars" else library.Series([1, None])
    with pytest.raises(dp.ArgumentError, match="argument `data`: expected a member of") as caught:
        dp.Context.compositor(column, UNIT, LOSS, 1)
    [_, advice] = caught.value.message.split("state `domain=")
    domain = eval(advice.rstrip("`"))  # The advice is correct code.
    query = dp.Context.compositor(column, UNIT, LOSS, 1, domain=domain).query()
    assert query.drop_null().count().laplace().param() == 1.0
    with pytest.raises(dp.ArgumentError) as caught:
        dp.Context.compositor(["a"], UNIT, LOSS, 1, domain=WHOLE[0])
    assert caught.value.message.startswith("argument `data`: expected a member of")
    assert "state `domain" not in caught.value.message and "`arg`" not in str(caught.value)


def study(column, question, **context):
    unit, budget = {"person": 1}, {"epsilon": 1e9}
    context = {"unit": unit, "budget": budget, "columns": {"a": column}, **context}
    return dp.Study({"context": context, "questions": [question]})


COUNT = {"count": {}, "where": {"a": 1}}
pytestmark = pytest.mark.filterwarnings("ignore:.*epsilon is")


def test_a_path_or_a_list_of_rows_is_no_table(tmp_path):
    asked = study({"T": "i64", "missing": 0}, COUNT)
    for path in ("people.csv", tmp_path):
        with pytest.raises(dp.ArgumentError, match=r"not a table; to read a file, .*read_csv\(pat"):
            asked.ask(path)
    with pytest.raises(dp.ArgumentError, match=r"type list: not a table; .*DataFrame\(rows\)"):
        asked.ask([{"a": 1}])
    assert asked.ask({"a": [1, 1]}).rows()[0]["value"] == 2


DATES = [
    datetime.date(2020, 1, 1),
    datetime.datetime(2020, 1, 1),
    datetime.timedelta(1),
    datetime.time(1),
]


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow", "pandas of pyarrow"])
@pytest.mark.parametrize("cell", DATES)
def test_a_column_of_dates_is_charged_unless_its_type_is_public(package, cell):
    library = pytest.importorskip(package.partition(" ")[0])
    cells = [cell, None]
    if package == "pandas":
        table = library.DataFrame({"a": library.to_datetime(["2020-01-01"])})
    elif package == "pandas of pyarrow":
        arrow = pytest.importorskip("pyarrow").array(cells)
        dates = library.Series(arrow, dtype=library.ArrowDtype(arrow.type))
        table = library.DataFrame({"a": dates})
    else:
        table = (library.DataFrame if package == "polars" else library.table)({"a": cells})
    question = {"histogram": {"column": "a", "categories": ["x"]}}
    asked = study({"T": "String", "missing": ""}, question)
    with pytest.raises(dp.ArgumentError, match="column 'a': the document states .* is spent"):
        asked.ask(table, public_types=True)
    assert asked.ask({"a": ["x"]}).rows()[0]["value"] == 1
    # Without the promise, the error is charged, because the cells can decide the type.
    asked = study({"T": "String", "missing": ""}, question)
    with pytest.raises(dp.ArgumentError, match="The budget of this study is spent"):
        asked.ask(table)


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_one_cell_that_is_no_date_does_not_decide_what_is_charged(package, tmp_path):
    library = pytest.importorskip(package)
    ledger = dp.Ledger(tmp_path / "study.ledger")
    question = {"histogram": {"column": "a", "categories": ["x"]}}
    for place, last in enumerate(["2020-01-02", "never"]):
        ledger.create(f"b{place}", epsilon=10**9 + 1, unit=1, metric="symmetric_distance")
        text = io.BytesIO(f"a\n2020-01-01\n{last}\n".encode())
        # The library reads the column as dates if each of its cells is a date.
        dates = {"parse_dates": ["a"]} if package == "pandas" else {"try_parse_dates": True}
        table = library.read_csv(text, **dates)
        try:
            asked = study({"T": "String", "missing": ""}, question)
            asked.ask(table, ledger=ledger, budget=f"b{place}", id="i")
            assert last == "never"
        except dp.ArgumentError:
            assert last == "2020-01-02"
        assert ledger.show(f"b{place}")["remaining"] == {"epsilon": "1"}


CELLS = [(int, [1, 2]), (float, [1.0, 2.5]), (str, ["1", ""]), (bool, [True])]


@pytest.mark.parametrize("T, cells", CELLS)
def test_a_study_accepts_python_types(T, cells):
    value = T(cells[0])
    question = {"count": {}, "where": {"a": {"at_least": 1, "below": 2} if T is float else value}}
    missing = {int: 0, float: 0, str: "", bool: False}[T]
    assert study({"T": T, "missing": missing}, question).ask({"a": cells}).rows()[0]["value"] == 1
    if T in (str, bool):
        short = {"context": {"unit": {"person": 1}, "budget": {"epsilon": 1}, "columns": {"a": T}}}
        with pytest.warns() if T is bool else pytest.MonkeyPatch.context():
            assert "'a'" in repr(dp.Study({**short, "questions": [question]}))


def test_a_type_that_a_study_lacks_is_named():
    with pytest.raises(dp.FailedCastError, match="column `a`: T: .*`complex`, expected one of `i6"):
        study({"T": complex, "missing": 0}, COUNT)


CITIES = ["Lyon"] * 500 + ["Lille"] * 300 + ["Vienne"]


@pytest.mark.parametrize("T", [int, "i64", "u32", float])
def test_a_context_finds_the_scale_and_the_threshold_of_unknown_keys(T):
    budget = dp.loss_of(epsilon=2.0, delta=1e-6)
    ours = dp.Context.compositor(CITIES, UNIT, budget, split_evenly_over=2)
    query = ours.query().count_by(TV=T).laplace_threshold()
    assert "scale=?, threshold=?" in repr(query)
    scale, threshold = query.param()
    assert scale == 1.0 and isinstance(threshold, float if T is float else int)
    # The threshold is the least one whose loss is within the share.
    space = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    counts = space >> dp.t.then_count_by(TV=T)
    assert (counts >> dp.m.then_laplace_threshold(scale, threshold)).check(1, (1.0, 5e-7))
    less = threshold - 1 if T is not float else threshold - 1e-9
    assert not (counts >> dp.m.then_laplace_threshold(scale, less)).check(1, (1.0, 5e-7))
    found = query.release()
    assert set(found) == {"Lyon", "Lille"} and abs(found["Lyon"] - 500) < 40
    assert (ours.query().count_by(TV=T).laplace_threshold() >> len).release() == 2
    assert ours.remaining_privacy_loss() == []


def test_a_scale_and_a_threshold_need_a_delta_and_a_share():
    pure = dp.Context.compositor(CITIES, UNIT, LOSS, split_evenly_over=1)
    with pytest.raises(dp.MeasureMismatchError):
        pure.query().count_by().laplace_threshold().release()
    free = dp.Context.compositor(CITIES, UNIT, dp.loss_of(epsilon=1.0, delta=1e-6))
    with pytest.raises(dp.ArgumentError, match="state its share"):
        free.query().count_by().laplace_threshold().release()
    query = free.query(epsilon=1.0, delta=1e-6).count_by().laplace_threshold()
    for unused in ({"T": int}, {"bounds": (0, 9)}):
        with pytest.raises(dp.ArgumentError, match="a scale and a threshold are open"):
            query.release(**unused)
    assert free.current_privacy_loss() == (0.0, 0.0)
    assert query.param()[0] == 1.0 and query.accuracy(0.05)[0] is not None
    # One of both can be stated.
    assert query.resolve().check(1, (1.0, 1e-6))
    assert free.query(epsilon=1.0, delta=1e-6).count_by().laplace_threshold(2.0).param() > 2


def test_a_domain_has_its_parts():
    inf = float("inf")
    for bounds in ((0, 10), (0.0, 10.5), (-inf, 5.0), ("a", "b")):
        assert dp.atom_domain(bounds=bounds).bounds == bounds
        assert type(dp.atom_domain(bounds=bounds).bounds[0]) is type(bounds[0])
    assert dp.atom_domain(T=int).bounds is None and not dp.atom_domain(T=int).nan
    assert dp.atom_domain(T=float).nan and not dp.atom_domain(T=float, nan=False).nan
    present = dp.atom_domain(T=float, bounds=(0.0, 1.0))
    rows = dp.vector_domain(dp.option_domain(present), size=3)
    assert rows.size == 3 and rows.element_domain == dp.option_domain(present)
    assert rows.element_domain.element_domain == present
    assert dp.vector_domain(present).element_domain.bounds == (0.0, 1.0)
    counts = dp.map_domain(dp.atom_domain(T=str), present)
    assert (counts.key_domain, counts.value_domain) == (dp.atom_domain(T=str), present)
    for domain, name in [(rows, "bounds"), (rows, "nan"), (present, "element_domain")]:
        with pytest.raises(AttributeError, match=f"_domain.* has no `{name}`"):
            getattr(domain, name)
        assert not hasattr(rows, "key_domain") and not hasattr(rows, "value_domain")


@pytest.mark.parametrize("cells", [[0, 1, 1], [0.0, 1.0, 1.0], [False, True, 1], ["f", "t"]])
def test_the_numbers_0_and_1_are_booleans_of_a_study_as_in_files(cells):
    numpy, question = pytest.importorskip("numpy"), {"count": {}, "where": {"a": True}}
    asked = study({"T": "bool", "missing": False}, question)
    if "f" in cells:
        with pytest.raises(dp.ArgumentError, match="`a`: expected booleans, 0 or 1, or None or N"):
            asked.ask({"a": cells})
        return
    assert asked.ask({"a": cells}).rows()[0]["value"] == 2
    asked = study({"T": "bool", "missing": True}, question)
    assert asked.ask({"a": numpy.array([*cells, float("nan")])}).rows()[0]["value"] == 3
    for wrong in (2, 0.5, "1"):
        with pytest.raises(dp.ArgumentError, match="`a`: expected booleans"):
            study({"T": "bool", "missing": True}, question).ask({"a": [*cells, wrong]})


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_program_with_frames_is_told_of_studies(package):
    frame = pytest.importorskip(package).DataFrame({"a": [1, 2]})
    with pytest.raises(dp.TypeParseError, match="or state `domain`.*; `dp.Study` answers quest"):
        dp.Context.compositor(frame, UNIT, LOSS, 1)
    if package == "polars":
        with pytest.raises(dp.ArgumentError, match=r"`.collect\(\)`; `dp.Study` answers quest"):
            dp.Context.compositor(frame.lazy(), UNIT, LOSS, 1)
    query = dp.Context.compositor([1, 2], UNIT, LOSS, 1).query()
    for name in ("select", "group_by", "with_columns", "filter"):
        with pytest.raises(AttributeError, match=f"no `{name}`: `dp.Study` answers quest"):
            getattr(query, name)
    with pytest.raises(AttributeError, match="no `selct`; "):
        query.selct
