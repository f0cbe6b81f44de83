"""Errors for the mistakes of a new user: what is wrong, where, and what to do."""

import json
import pathlib
import struct

import pytest

import opendp_rs.prelude as dp

FLOATS = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
NAN = dp.vector_domain(dp.atom_domain(T=float)), dp.symmetric_distance()
INTS = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
CLAMPED = FLOATS >> dp.t.then_clamp((0.0, 10.0))
TOTAL = CLAMPED >> dp.t.then_sum()

# The tests of the command use the same table. `raises` has two texts. The first text is the kind of
# the error, or the beginning of the kind. The second text is a part of the message.
TABLE = pathlib.Path(__file__).parents[2] / "opendp-cli/tests/mistakes.json"
ROWS = [row for row in json.loads(TABLE.read_text("utf-8"))["mistakes"] if "python" in row]


def _nest(depth):
    return [_nest(depth - 1)] if depth else 0


@pytest.mark.parametrize("row", ROWS, ids=[row["mistake"] for row in ROWS])
def test_a_mistake_is_answered_as_the_table_says(row):
    kind, says = row["raises"]
    with pytest.raises((dp.OpenDPError, AttributeError)) as caught:
        eval(row["python"], {**globals(), "TEXT": row.get("text")})
    error = caught.value
    if isinstance(error, dp.OpenDPError):
        assert error.kind.startswith(kind) and says in error.message, str(error)
        assert type(error).__name__ == f"{error.kind}Error" and error.variant == error.kind
        assert len(error.message) < 500 and len(error.message.splitlines()) <= 3, str(error)
    else:
        assert kind == "AttributeError" and says in str(error), str(error)


CONTEXT = {
    "data": [1.0],
    "privacy_unit": dp.unit_of(contributions=1),
    "privacy_loss": dp.loss_of(epsilon=1.0),
}


# Mistakes that only Python has, with the whole message: what is wrong, where, and what to do.
PYTHON = {
    "(TOTAL >> dp.m.then_laplace(1.0)).check(1, (1.0, 1e-6))": (
        "d_out: cannot cast: expected a number of type f64, found an array; a loss in "
        "max_divergence is one number, without a delta"
    ),
    "TOTAL >> dp.m.then_laplace(1.0) >> dp.t.then_sum()": (
        "argument `>>`: `then_sum` cannot follow a value of type Measurement; put steps on "
        "the data before the noise, and use only one noise; to change the release, append a finished "
        "transformation, such as `dp.t.make_clamp`"
    ),
    "FLOATS[0] >> dp.t.then_sum()": (
        "argument `>>`: `then_sum` cannot follow a value of type Domain; begin a chain with a pair, "
        "first the domain and then the metric"
    ),
    "FLOATS[::-1] >> dp.t.then_sum()": (
        "argument `>>`: `then_sum` cannot follow a value of type tuple; begin a chain with a pair, "
        "first the domain and then the metric"
    ),
    "dp.t.make_count(INTS[0])": "argument `input_metric`: missing, expected a metric",
    "dp.t.make_count(*INTS[::-1])": (
        "argument `input_domain`: expected a domain, and then a metric as `input_metric`, found a "
        "value of type Metric and a value of type Domain"
    ),
    "dp.vector_domain(float)": (
        "argument `atom_domain`: expected a domain, such as `dp.atom_domain(T=float)`, found a type"
    ),
    "dp.space_of(list)": (
        "cannot read type `<class 'list'>`: expected int, float, str, bool, or a type with its "
        "items, such as list[float]"
    ),
    "NAN >> dp.t.then_clamp((0.0, 1.0))": (
        "input: the records may be NaN, expected an element domain without NaN: state `nan=False`, "
        "or put `then_impute_constant(constant=0.0)` before this step"
    ),
    "dp.c.make_composition([TOTAL >> dp.m.then_laplace(1.0), TOTAL])": (
        "argument `measurements[1]`: expected a measurement, found a transformation; append noise "
        "to it, such as `dp.m.then_laplace(1.0)`"
    ),
    "dp.t.make_user_transformation(*INTS, *INTS, 3, lambda d: d)": (
        "argument `function`: expected a function, found a value of type int"
    ),
    "dp.m.make_user_measurement(*INTS, dp.max_divergence(), len, lambda d: 'x').map(1)": (
        "the distance that a map in Python returned: cannot cast: expected a number of type f64, "
        "found a string; write numbers without quotes"
    ),
    "dp.m.make_user_measurement(*INTS, dp.max_divergence(), len, lambda d: -1.0).map(1)": (
        "the distance that a map in Python returned: expected a distance of at least 0, found -1"
    ),
    "dp.binary_search_param(lambda s: TOTAL >> dp.m.then_laplace(s), d_in=1, d_out=0.0)": (
        "no parameter was found for the loss `d_out`: the condition is the same at every tried "
        "value; check that the chain uses its parameter, that `d_out` is above 0, or state other "
        "`bounds`"
    ),
    "dp.binary_search(lambda x: x > 5, bounds=(0, 3))": (
        "the condition is the same at both bounds; state bounds between which it changes"
    ),
    "dp.binary_search(lambda x: True, T=float)": (
        "the condition is the same at every tried value; check that it depends on the value, or "
        "state bounds between which it changes"
    ),
    "dp.Context.compositor(**{**CONTEXT, 'privacy_unit': 1})": (
        "argument `privacy_unit`: expected the result of `dp.unit_of(...)`, found a value of type int"
    ),
    "dp.Context.compositor(**{**CONTEXT, 'privacy_loss': CONTEXT['privacy_unit']})": (
        "argument `privacy_loss`: expected the result of `dp.loss_of(...)`, found a tuple that "
        "begins with a value of type Metric"
    ),
    "dp.Context.compositor(**CONTEXT, split_evenly_over=0)": (
        "argument `split_evenly_over`: expected a whole number above 0, and at most 1000000"
    ),
    "dp.Context.compositor(**CONTEXT).query(rho=0.5)": (
        "argument `query`: expected a share in the unit of the budget, epsilon; the budget is in "
        "max_divergence(), and the share in zero_concentrated_divergence()"
    ),
    "(TOTAL >> dp.m.then_laplace(1.0))(['1'])": (
        'argument `arg`: expected a member of vector_domain(atom_domain(T="f64", nan=False)): the '
        "type, the number of rows or a value does not fit; nulls need `dp.option_domain`; convert "
        "dates and categories to numbers or text; a set has no order: make a list of it, sorted if "
        "the order does not matter"
    ),
}


@pytest.mark.parametrize("code", PYTHON)
def test_a_mistake_in_python_is_answered_in_the_spelling_of_python(code):
    with pytest.raises(dp.OpenDPError) as caught:
        eval(code, globals())
    assert caught.value.message == PYTHON[code] and str(caught.value).endswith(PYTHON[code])


def test_advice_about_documents_keeps_the_spelling_of_documents():
    text = json.dumps(
        {
            "space": {
                "domain": {"vector_domain": {"atom_domain": {"T": "f64"}}},
                "metric": "symmetric_distance",
            },
            "chain": [{"clamp": {"bounds": [0.0, 1.0]}}],
        }
    )
    with pytest.raises(dp.FailedFunctionError, match='"impute_constant": {"constant": 0.0}'):
        dp.deserialize(text)


def test_arrays_within_arrays_are_refused_before_the_stack_ends():
    with pytest.raises(dp.ArgumentError, match="deep"):
        FLOATS >> dp.t.then_clamp(_nest(100))


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
        """A column of another library. Its conversion fails with a message about its content."""

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
    """A measure rounds bounds down when it reads them. The loss of a map must not change."""
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


def test_a_cell_in_f32_reaches_python_exactly():
    """If a data set is a map from keys to numbers, its numbers reach Python exactly."""
    tenth, seen = struct.unpack("f", struct.pack("f", 0.1))[0], []
    space = (
        dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T="f32", nan=False)),
        dp.l01inf_distance(dp.absolute_distance(T="f32")),
    )
    told = dp.m.make_user_measurement(
        *space, dp.max_divergence(), lambda x: seen.append(x) or 0, lambda d_in: 1.0
    )
    told({"a": 0.1, "b": 2.0})
    assert seen == [{"a": tenth, "b": 2.0}]


def test_a_distance_in_f32_reaches_python_exactly():
    """The shortest text of a 32-bit float can be another number when it is read as a 64-bit float.

    This other number is often smaller.
    """
    tenth = struct.unpack("f", struct.pack("f", 0.1))[0]
    assert 0.1 < tenth
    for T, number in (("f32", tenth), ("f64", 0.1)):
        space, seen = (dp.atom_domain(T=T, nan=False), dp.absolute_distance(T=T)), []
        same = dp.t.make_user_transformation(
            *space, *space, lambda x: x, lambda d_in, seen=seen: seen.append(d_in) or d_in
        )
        assert same.map(0.1) == number and seen == [number]
        assert same.check(0.1, same.map(0.1))
        loss = dp.m.make_user_measurement(
            *space, dp.max_divergence(), lambda x: 0, lambda d_in: d_in / 1.0
        )
        assert (same >> loss).map(0.1) == number
    # Also test a distance that consists of several numbers.
    domain = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T="f32", nan=False))
    space = domain, dp.l01inf_distance(dp.absolute_distance(T="f32"))
    same = dp.t.make_user_transformation(*space, *space, lambda x: x, lambda d_in: d_in)
    assert same.map((1, 0.1, 0.1)) == (1, tenth, tenth)
    assert [type(part) for part in same.map((1, 0.1, 0.1))] == [int, float, float]
    assert same.check((1, 0.1, 0.1), (1, tenth, tenth))


class _Odd:
    """An object whose every operation fails."""

    def __iter__(self):
        raise RuntimeError("odd")

    def __float__(self):
        raise RuntimeError("odd")

    __index__ = __bool__ = __len__ = tolist = __float__


class _Long:
    """An object that has one element, but states a wrong length."""

    def __iter__(self):
        return iter([1])

    def __len__(self):
        return 2**61


ODD = [None, _Odd(), _Long(), "", "T", float("nan"), -1, 2**70, [], {}, [None], {1: 2}, int, b"x", lambda: 0]


def attempt(call):
    """Call a function that can give an error of the library. A panic is not such an error."""
    try:
        call()
    except dp.OpenDPError as error:
        assert "stopped in the middle" not in str(error), error


def test_odd_arguments_give_errors_of_the_library_and_nothing_else():
    """Every error of every constructor is an error of the library. No constructor panics."""
    tried = 0
    for module in (dp.t, dp.m, dp.c):
        for name in filter(lambda name: name.startswith(("make_", "then_")), dir(module)):
            function = getattr(module, name)
            parameters = list(function.__signature__.parameters)
            for i, odd in enumerate(ODD):
                for given in ({}, dict.fromkeys(parameters, odd), {"input": FLOATS, "scale": odd}):
                    given = {**given, parameters[i % len(parameters)]: odd} if parameters else given
                    attempt(lambda function=function, given=given: function(**given))
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
                attempt(lambda method=method, odd=odd: method(odd))
