"""Mistakes of a newcomer: what is wrong, where, and what to do."""

import pytest

import opendp_rs.prelude as dp

FLOATS = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
NAN = dp.vector_domain(dp.atom_domain(T=float)), dp.symmetric_distance()
INTS = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
CLAMPED = FLOATS >> dp.t.then_clamp((0.0, 10.0))
TOTAL = CLAMPED >> dp.t.then_sum()

MISTAKES = [
    ("noise on rows", lambda: FLOATS >> dp.m.then_laplace(1.0), "Argument", "`input`"),
    (
        "NaN is not excluded",
        lambda: NAN >> dp.t.then_clamp((0.0, 1.0)) >> dp.t.then_sum(),
        "FailedFunction",
        "impute_constant",
    ),
    ("no bounds", lambda: FLOATS >> dp.t.then_sum(), "Make", "make_clamp"),
    ("no size", lambda: CLAMPED >> dp.t.then_mean(), "Make", "make_resize"),
    (
        "a misspelt argument",
        lambda: FLOATS >> dp.t.then_clamp(bound=(0.0, 1.0)),
        "Argument",
        "did you mean `bounds`",
    ),
    (
        "a misspelt scale",
        lambda: TOTAL >> dp.m.then_laplace(scal=1.0),
        "Argument",
        "did you mean `scale`",
    ),
    ("a missing scale", lambda: TOTAL >> dp.m.then_laplace(), "Argument", "`scale`: missing"),
    ("missing bounds", lambda: FLOATS >> dp.t.then_clamp(), "Argument", "[lower, upper]"),
    ("a negative scale", lambda: TOTAL >> dp.m.then_laplace(-0.5), "", "at least 0"),
    ("a scale as text", lambda: TOTAL >> dp.m.then_laplace("0.5"), "Argument", "found a string"),
    ("bounds the wrong way round", lambda: FLOATS >> dp.t.then_clamp((10.0, 0.0)), "", "greater"),
    ("one bound", lambda: FLOATS >> dp.t.then_clamp([1.0]), "Argument", "pair"),
    ("too many arguments", lambda: dp.t.then_clamp((0.0, 1.0), 1, 2, 3, 4), "Argument", "at most"),
    (
        "an argument twice",
        lambda: dp.t.then_clamp((0.0, 1.0), bounds=(0.0, 1.0)),
        "Argument",
        "twice",
    ),
    ("a domain without its metric", lambda: dp.t.make_count(INTS[0]), "Argument", "input_metric"),
    (
        "a metric in place of a domain",
        lambda: dp.t.make_count(*reversed(INTS)),
        "Argument",
        "expected a domain",
    ),
    (
        "a metric that does not fit",
        lambda: dp.t.make_count(INTS[0], dp.absolute_distance(T=int)),
        "Argument",
        "`input`",
    ),
    (
        "noise for NaN",
        lambda: dp.m.make_laplace(dp.atom_domain(T=float), dp.absolute_distance(T=float), 1.0),
        "MetricSpace",
        "NaN",
    ),
    (
        "a step after noise",
        lambda: TOTAL >> dp.m.then_laplace(1.0) >> dp.t.then_count(),
        "Argument",
        "cannot follow",
    ),
    ("a number as a step", lambda: TOTAL >> 3, "Argument", "cannot follow"),
    (
        "steps that do not fit",
        lambda: TOTAL >> dp.t.make_count(*INTS),
        "DomainMismatch",
        "expected",
    ),
    (
        "a loss with the wrong unit",
        lambda: (TOTAL >> dp.m.then_laplace(1.0)).check(1, (1.0, 1e-6)),
        "",
        "d_out",
    ),
    ("a distance below 0", lambda: TOTAL.map(-1), "", "d_in"),
    ("a distance that is no number", lambda: TOTAL.map("one"), "", "d_in"),
    ("a part of a row", lambda: TOTAL.map(1.5), "", "d_in"),
    ("an unknown type", lambda: dp.atom_domain(T="double"), "", "T"),
    ("a Python type without a name", lambda: dp.atom_domain(T=complex), "TypeParse", "complex"),
    ("two units", lambda: dp.unit_of(contributions=1, changes=1), "Argument", "one of"),
    ("no budget", lambda: dp.loss_of(delta=1e-6), "Argument", "epsilon"),
    ("no metric by this name", lambda: dp.metric_of("Symmetric"), "TypeParse", "SymmetricDistance"),
    (
        "a search that finds nothing",
        lambda: dp.binary_search(lambda _: True, T=float),
        "Search",
        "condition",
    ),
    ("a document that is not JSON", lambda: dp.deserialize("{'a': 1}"), "Argument", "line 1"),
    (
        "the worst candidate",
        lambda: (
            INTS
            >> dp.t.then_quantile_score_candidates([1, 2, 3], 0.5)
            >> dp.m.then_noisy_max(dp.max_divergence(), 1.0)
        ),
        "Argument",
        "negate",
    ),
    ("an unknown value", lambda: TOTAL >> dp.m.then_laplace(object()), "Argument", "object"),
    (
        "mixed measures",
        lambda: dp.c.make_composition(
            [TOTAL >> dp.m.then_laplace(1.0), TOTAL >> dp.m.then_gaussian(1.0)]
        ),
        "MeasureMismatch",
        "measurements[1]",
    ),
    ("categories that repeat", lambda: INTS >> dp.t.then_count_by_categories([1, 1]), "", "twice"),
    ("no candidates", lambda: INTS >> dp.t.then_quantile_score_candidates([], 0.5), "", "none"),
    (
        "alpha as a percentage",
        lambda: INTS >> dp.t.then_quantile_score_candidates([1], 50.0),
        "",
        "[0, 1]",
    ),
    ("a constant out of bounds", lambda: CLAMPED >> dp.t.then_resize(10, 50.0), "", "member"),
    ("arrays within arrays", lambda: FLOATS >> dp.t.then_clamp(_nest(100)), "Argument", "deep"),
]


def _nest(depth):
    return [_nest(depth - 1)] if depth else 0


@pytest.mark.parametrize("mistake,make,kind,says", MISTAKES, ids=[row[0] for row in MISTAKES])
def test_a_mistake_is_explained(mistake, make, kind, says):
    with pytest.raises(dp.OpenDPError) as caught:
        make()
    error = caught.value
    assert error.kind.startswith(kind) and says in error.message, str(error)
    assert type(error).__name__ == f"{error.kind}Error" and error.variant == error.kind
    assert len(error.message) < 500, str(error)


@pytest.mark.parametrize(
    "module,name,says",
    [
        (dp.t, "then_clmp", "then_clamp"),
        (dp.t, "make_laplace", "dp.m.make_laplace"),
        (dp.m, "then_clamp", "dp.t.then_clamp"),
        (dp, "symetric_distance", "symmetric_distance"),
        (dp, "make_composition", "dp.c.make_composition"),
    ],
)
def test_a_misspelt_name_is_explained(module, name, says):
    with pytest.raises(AttributeError, match=says):
        getattr(module, name)


def test_no_message_contains_data():
    secret = "Ada Lovelace"
    total = dp.t.make_sum(*CLAMPED.output_space)
    for data in ([secret], secret, {secret: 1}, [[secret]]):
        for run in (total, TOTAL >> dp.m.then_laplace(1.0)):
            with pytest.raises(dp.OpenDPError) as caught:
                run(data)
            assert secret not in repr(caught.value) and caught.value.__cause__ is None

    class Column:
        """A column of another library, whose conversion fails with a message about its content."""

        __module__ = "pyarrow"
        null_count, type = 0, "double"

        def to_pylist(self):
            raise ValueError(secret)

        to_numpy = to_pylist

    with pytest.raises(dp.ArgumentError) as caught:
        TOTAL(Column())
    assert secret not in repr(caught.value) and caught.value.__context__ is None

    def leak(rows):
        raise ValueError(f"bad row {rows[0]}")

    leaking = dp.t.make_user_transformation(*INTS, *INTS, leak, lambda d_in: d_in)
    with pytest.raises(dp.FailedFunctionError) as caught:
        leaking([815])
    error = caught.value
    assert "ValueError" in str(error) and "815" not in str(error)
    assert error.__cause__ is None and error.__context__ is None


def test_a_chain_that_is_too_long_is_refused_and_does_not_end_the_process():
    clamp = dp.t.make_clamp(*FLOATS, (0.0, 1.0))
    again = dp.t.make_clamp(*clamp.output_space, (0.0, 1.0))
    chain = clamp
    for _ in range(255):
        chain = chain >> again
    with pytest.raises(dp.ArgumentError, match="256"):
        chain >> again
    with pytest.raises(dp.ArgumentError, match="256"):
        dp.c.make_chain_tt(again, chain)


def test_a_loss_of_a_user_is_not_rounded_down():
    """A measure rounds losses down that it reads as bounds; a map's loss must not change."""
    measurement = dp.m.make_user_measurement(
        *INTS, dp.max_divergence(), lambda rows: 0, lambda d_in: 0.1 * d_in
    )
    assert measurement.map(3) == 0.1 * 3
    for bad in (float("nan"), -1.0, "x", None, 2**60 + 1):
        measurement = dp.m.make_user_measurement(
            *INTS, dp.max_divergence(), lambda rows: 0, lambda d_in, bad=bad: bad
        )
        with pytest.raises(dp.OpenDPError):
            measurement.map(1)


class _Odd:
    """An object whose every operation fails."""

    def __iter__(self):
        raise RuntimeError("odd")

    def __float__(self):
        raise RuntimeError("odd")

    __index__ = __bool__ = __len__ = tolist = __float__


ODD = [None, _Odd(), "", "T", float("nan"), -1, 2**70, [], {}, [None], {1: 2}, int, b"x", lambda: 0]


def test_odd_arguments_give_errors_of_the_library_and_nothing_else():
    """Neither a panic nor an exception of another class comes out of any constructor."""
    tried = 0
    for module in (dp.t, dp.m, dp.c):
        for name in dir(module):
            function = getattr(module, name)
            parameters = list(function.__signature__.parameters)
            for i, odd in enumerate(ODD):
                for given in ({}, dict.fromkeys(parameters, odd), {"input": FLOATS, "scale": odd}):
                    given = {**given, parameters[i % len(parameters)]: odd} if parameters else given
                    try:
                        function(**given)
                    except dp.OpenDPError:
                        pass
                    tried += 1
    assert tried > 5000


def test_odd_data_give_errors_of_the_library_and_nothing_else():
    for space in (
        FLOATS,
        INTS,
        (dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)),
    ):
        for odd in ODD:
            made = dp.m.make_user_measurement(space, None, dp.max_divergence(), len, lambda d: 0.0)
            for method in (made, made.map, lambda d, made=made: made.check(1, d)):
                try:
                    method(odd)
                except dp.OpenDPError:
                    pass
