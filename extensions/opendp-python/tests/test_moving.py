"""Programs for OpenDP 0.16 find the same names, attributes and arguments."""

import importlib
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

import opendp_rs.prelude as dp

ROWS = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
COUNT = dp.t.make_count(*ROWS) >> dp.m.then_laplace(scale=2.0)
PAGE = Path(__file__).parents[1] / "MOVING.md"


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (dp.symmetric_distance(), "u32"),
        (dp.discrete_distance(), "u32"),
        (dp.absolute_distance(T=float), "f64"),
        (dp.l1_distance(T=int), "i32"),
        (dp.l2_distance(T="f32"), "f32"),
        (dp.linf_distance(T="i64"), "i64"),
        (dp.max_divergence(), "f64"),
        (dp.zero_concentrated_divergence(), "f64"),
        (dp.approximate(dp.max_divergence()), "(f64, f64)"),
        (dp.smoothed_max_divergence(), "PrivacyProfile"),
        (dp.renyi_divergence(), "RenyiCurve"),
    ],
)
def test_distances_have_a_type(made, name):
    assert made.distance_type == name


def test_objects_name_the_types_of_their_distances():
    clamp = dp.t.make_clamp(*ROWS, (0, 10))
    total = clamp >> dp.t.then_sum()
    assert (total.input_distance_type, total.output_distance_type) == ("u32", "i32")
    assert (COUNT.input_distance_type, COUNT.output_distance_type) == ("u32", "f64")
    odometer = dp.c.make_fully_adaptive_composition(*ROWS, dp.zero_concentrated_divergence())
    assert (odometer.input_distance_type, odometer.output_distance_type) == ("u32", "f64")
    frames = dp.user_distance("days")
    assert frames.distance_type == "f64"


def opened(**options):
    return dp.Context.compositor(
        data=[1, 2, 3],
        privacy_unit=dp.unit_of(contributions=2),
        privacy_loss=dp.loss_of(epsilon=1.0),
        domain=ROWS[0],
        **options,
    )


def test_a_context_has_its_distances():
    shared = opened(split_by_weights=[1, 3])
    shared.query().count().laplace().release()
    assert (shared.d_in, shared.d_out) == (2, None)
    assert (shared.d_mids_consumed, shared.d_mids) == ([0.25], [0.75])
    shared.d_mids.append(7.0)  # a change of the list changes no budget
    assert shared.d_mids == [0.75]
    whole = opened()
    assert (whole.d_in, whole.d_out, whole.d_mids, whole.d_mids_consumed) == (2, 1.0, None, None)
    inner = whole.query(epsilon=0.5).compositor().release()
    assert (inner.d_in, inner.d_out) == (2, 0.5)
    assert whole.output_measure == dp.max_divergence()
    assert whole.input_space == dp.space_of(list[int])


CONVERSIONS = [name for name in dir(dp) if re.fullmatch(".*_scale_to_accuracy|accuracy_to_.*", name)]


@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversions_of_scales_take_a_type(name):
    convert = getattr(dp, name)
    assert len(CONVERSIONS) == 8
    assert convert(2.0, 0.05, T=float) == convert(2.0, 0.05, "f32") == convert(2.0, alpha=0.05)
    with pytest.raises(dp.OpenDPException, match='`T`: expected float, "f64" or "f32", found `i32`'):
        convert(2.0, 0.05, T=int)


@pytest.mark.parametrize("kind", [Fraction, Decimal])
def test_fractions_are_distances_if_a_float_is_equal(kind):
    assert COUNT.map(kind(1)) == 0.5
    assert COUNT.check(kind(1), kind("0.5")) and not COUNT.check(1, kind("0.25"))
    for inexact in (Fraction(1, 3), Decimal("0.1")):
        with pytest.raises(dp.OpenDPException, match="round a loss down to a float"):
            COUNT.check(1, inexact)
    with pytest.raises(dp.OpenDPException):
        COUNT.check(1, Decimal("NaN"))


def test_shares_that_are_fractions_are_rounded_down():
    third = Fraction(1, 3)
    composed = dp.c.make_adaptive_composition(*ROWS, dp.max_divergence(), 1, [third, third])
    assert Fraction(composed.map(1)) <= 2 * third
    context = opened(d_mids=[third, third, third])
    assert all(Fraction(share) <= third for share in context.d_mids)
    odometer = dp.c.make_fully_adaptive_composition(*ROWS, dp.max_divergence())
    assert Fraction(dp.c.make_privacy_filter(odometer, 1, Fraction(1, 10)).map(1)) <= Fraction(1, 10)
    scale = dp.binary_search_param(
        lambda scale: dp.t.make_count(*ROWS) >> dp.m.then_laplace(scale), 1, Decimal("0.1")
    )
    assert Fraction(1) / Fraction(scale) <= Fraction(1, 10)
    with pytest.raises(dp.OpenDPException, match="below 1"):
        dp.c.make_adaptive_composition(
            *ROWS, dp.approximate(dp.max_divergence()), 1, [(third, Fraction(1))]
        )


def test_the_type_of_a_function_is_its_last_argument():
    numbers = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    told = dp.m.make_user_measurement(
        *numbers, dp.max_divergence(), lambda _: 0.5, lambda _: 0.0, float
    )
    assert told(3) == 0.5
    wrong = dp.m.make_user_measurement(
        *numbers, dp.max_divergence(), lambda _: "text", lambda _: 0.0, float
    )
    with pytest.raises(dp.OpenDPException):
        wrong(3)
    assert dp.new_function(lambda x: x + 1, int)(2) == 3


MODULES = "accuracy context core domains measures metrics mod typing".split()


@pytest.mark.parametrize("name", MODULES)
def test_the_modules_of_opendp_have_the_names_of_the_prelude(name):
    module = importlib.import_module(f"opendp_rs.{name}")
    assert module.__all__
    for attribute in module.__all__:
        assert getattr(module, attribute) is getattr(dp, attribute)


def test_a_module_lists_every_constructor_of_its_kind():
    from opendp_rs import _names

    # These constructors have no counterpart in OpenDP 0.16, so no program imports them from there.
    for module, kind in (("domains", "domain"), ("metrics", "metric"), ("measures", "measure")):
        listed = set(importlib.import_module(f"opendp_rs.{module}").__all__)
        for constructor in listed - {"new_privacy_profile"}:
            assert _names.KINDS[constructor] == kind
    import opendp_rs.typing

    with pytest.raises(AttributeError, match="has no `L3Distance`"):
        opendp_rs.typing.L3Distance  # noqa: B018


def test_types_of_columns_that_the_program_fixes_spend_nothing():
    pandas = pytest.importorskip("pandas")
    document = {
        "context": {
            "unit": {"person": 1},
            "budget": {"epsilon": 1.0},
            "columns": {"age": {"T": "i64", "missing": 0, "bounds": [0, 100]}},
        },
        "questions": [{"sum": {"column": "age"}}],
    }
    for wrong in (pandas.Series(["a"] * 9), pandas.Series([True] * 9)):
        study = dp.Study(document)
        with pytest.raises(dp.OpenDPException, match="column 'age': the document states i64") as no:
            study.ask({"age": wrong}, public_types=True)
        assert "nothing is spent" in no.value.message
        # The budget is still there.
        study.ask({"age": pandas.Series([1.0] * 9)}, public_types=True)
        # The type can depend on the cells, so without the promise the error is charged.
        study = dp.Study(document)
        with pytest.raises(dp.OpenDPException, match="The budget of this study is spent"):
            study.ask({"age": wrong})
        with pytest.raises(dp.BudgetExceededError):
            study.ask({"age": [1] * 9})
    # The type of a column of objects does not tell the types of its cells.
    objects = pandas.Series(["a"] * 9, dtype=object)
    for column in (objects, ["a"] * 9):
        with pytest.raises(dp.OpenDPException, match="The budget of this study is spent"):
            dp.Study(document).ask({"age": column}, public_types=True)


def test_the_type_of_a_column_is_told_without_its_cells():
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    from opendp_rs._columns import misfit_of

    texts = [numpy.array(["a"]), pandas.Series(["a"]), polars.Series(["a"]), pyarrow.array(["a"])]
    texts += [numpy.array(["a"], dtype="T"), pandas.Series(["a"], dtype="string[pyarrow]")]
    floats = [numpy.ones(1), pandas.Series([0.5]), polars.Series([0.5]), pyarrow.array([0.5])]
    wholes = [numpy.array([1]), pandas.Series([1], dtype="Int64"), polars.Series([1])]
    bools = [numpy.array([True]), pandas.Series([True]), polars.Series([True])]
    for kind, known in {"S": texts, "f": floats, "i": wholes, "b": bools}.items():
        for column in known:
            assert misfit_of(column, kind) is None
            for other in set("Sfib") - {kind}:
                assert misfit_of(column, other) is not None
    for unknown in (
        [1],
        numpy.array([1], dtype=object),
        pandas.Series([pandas.Interval(0, 1)]),
        pandas.Series(["a"], dtype="category"),
        polars.Series([{"a": 1}]),
        pyarrow.array([[1]]),
    ):
        assert misfit_of(unknown, "") is None


def test_a_context_with_a_ledger_refuses_such_a_type_before_the_charge(tmp_path):
    numpy = pytest.importorskip("numpy")
    ledger = dp.Ledger(tmp_path / "study.ledger")
    ledger.create("survey", epsilon=1, unit=2, metric="symmetric_distance")

    def left(data, **options):
        with pytest.raises(dp.OpenDPException) as refused:
            dp.Context.compositor(
                data=data,
                privacy_unit=dp.unit_of(contributions=2),
                privacy_loss=dp.loss_of(epsilon=0.5),
                domain=ROWS[0],
                ledger=ledger,
                budget="survey",
                id="one",
                **options,
            )
        return refused.value.message, ledger.show("survey")["remaining"]

    message, rest = left(numpy.array(["a"]), public_types=True)
    assert "the rows are i32, and the type of the column is <U1" in message
    assert rest == {"epsilon": "1"}
    assert left(numpy.array(["a"]))[1] == {"epsilon": "0.5"}


def rows_of_the_page():
    """Return the rows of the tables of the page: a line for OpenDP, and one for this package."""
    found = []
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 3 and cells[1].startswith("`"):
            found.append((cells[0], cells[1].strip("`").replace("\\|", "|")))
    return found


def names_of_the_page():
    ages = [20, 30, 40] * 100
    context = dp.Context.compositor(
        data=ages,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0, delta=1e-6),
        split_evenly_over=20,
        domain=ROWS[0],
    )
    space, query = ROWS, context.query()
    gaussian = dp.t.make_count(*ROWS) >> dp.m.then_gaussian(scale=2.0)
    scores = dp.t.make_quantile_score_candidates(*ROWS, [0, 25, 50], alpha=0.5)
    table = {"city": ["Lyon", "Lille"] * 500, "income": [1.0, 2.0] * 500}
    document = {
        "context": {
            "unit": {"person": 1},
            "budget": {"epsilon": 1.0, "delta": 1e-6},
            "columns": {
                "income": {"T": float, "bounds": [0, 50], "missing": 0},
                "city": {"T": str, "missing": ""},
            },
        },
        "questions": [{"count": {}}],
    }
    polars = pytest.importorskip("polars")
    lazy = polars.LazyFrame(table)
    frames = dp.dataframe_domain(
        ["city", "income"], [dp.atom_domain(T=str), dp.atom_domain(T=float)]
    )
    accountant, event = dp.Accountant(), dp.Event.gaussian(2.0)
    return {"dp": dp, "data": ages, "measurement": COUNT, **locals()}


@pytest.mark.parametrize(("theirs", "ours"), rows_of_the_page())
def test_each_line_of_the_page_runs(theirs, ours):
    assert theirs.startswith("`")
    exec(compile(ours, PAGE.name, "exec"), names_of_the_page())


def test_the_page_has_its_lines():
    assert len(rows_of_the_page()) >= 50
