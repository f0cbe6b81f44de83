"""Searches for the parameter of a chain that meets a privacy budget."""

from __future__ import annotations

import math

from . import _native
from ._cautions import SEARCHES
from ._errors import OpenDPError, of
from ._losses import check_loss, plain_loss
from ._types import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than importing the library.
    from typing import Any, Callable


def _is_float(predicate: Callable[[Any], Any], bounds: tuple[Any, Any] | None, T: Any) -> bool:
    """Return whether to search among floats.

    The answer depends on the type. Without a type, it depends on the bounds. Without bounds, it
    depends on the numbers that the condition accepts.
    """
    if T is not None:
        name = type_name(T)
        if name in ("f64", "f32"):
            return True
        if name[:1] in ("i", "u"):
            return False
        raise of("TypeParse", f"cannot search among values of type `{name}`: expected int or float")
    if bounds is not None:
        return any(isinstance(bound, float) for bound in bounds)
    # A parameter for whole numbers accepts some whole numbers, and rejects 1.5.
    return not (_refuses(predicate, 1.5) and any(not _refuses(predicate, x) for x in (1, 2, 100)))


def _both(bounds: tuple[Any, Any] | None) -> tuple[Any, Any] | None:
    """Replace a bound that is None by a limit of its type. ``(None, None)`` means no bounds."""
    if bounds is None:
        return None
    try:
        low, high = bounds
    except (TypeError, ValueError):
        low = high = "no numbers"
    for bound in (low, high):
        is_number = isinstance(bound, (int, float)) or getattr(bound, "ndim", None) == 0
        if bound is not None and not (is_number and bound == bound):
            reason = "expected a pair of two numbers, (lower, upper)"
            raise of("Argument", f"argument `bounds`: {reason}")
    if low is None and high is None:
        return None
    known = low if high is None else high
    most: Any = 1.7976931348623157e308 if isinstance(known, float) else 2**63 - 1
    return -most if low is None else low, most if high is None else high


def _is_whole(bound: Any) -> bool:
    return hasattr(bound, "__index__") and -(2**63) <= bound < 2**63


def _refuses(predicate: Callable[[Any], Any], value: Any) -> bool:
    try:
        predicate(value)
    except (OpenDPError, TypeError) as error:
        return isinstance(error, TypeError) or error.kind in ("Argument", "FailedCast")
    return False


def binary_search(
    predicate: Callable[[Any], bool],
    bounds: tuple[Any, Any] | None = None,
    T: Any = None,
    return_sign: bool = False,
) -> Any:
    """Find the value nearest to the point where a condition changes.

    The condition holds at the result, and fails at the next value on one side. Without bounds, the
    search starts at zero and moves in growing steps. The search leaves out the values at which the
    condition raises an :class:`OpenDPError`. It is an error if the search tries such a value
    between two values with different answers. With ``return_sign``, also return 1 if the condition
    fails at the next lower value, and -1 otherwise.
    """
    bounds = _both(bounds)
    if _is_float(predicate, bounds, T):
        pair = None if bounds is None else (float(bounds[0]), float(bounds[1]))
        found: Any = _quietly(_native.search_float, predicate, pair)
        below: Any = math.nextafter(found, -math.inf)
    else:
        if bounds is not None and not all(_is_whole(bound) for bound in bounds):
            reason = "expected whole numbers from -2^63 to below 2^63; among floats, state `T=float`"
            raise of("Argument", f"argument `bounds`: {reason}")
        found = _quietly(_native.search_int, predicate, bounds)
        below = found - 1
    if not return_sign:
        return found
    return found, 1 if _fails(predicate, below) else -1


def _quietly(search: Callable[..., Any], predicate: Callable[[Any], bool], *bounds: Any) -> Any:
    """Search without the warnings about distances at which there are no neighbours.

    A search for a distance tries the distance 0 itself. In a search for a scale, the user states
    the distance, and the condition gives the warning at every value. So after the search, call the
    condition once more, and show the warning if it comes again. Use the found value. If no value
    is found, use the upper bound, or 1 without bounds.
    """
    outside, error = SEARCHES.running, None
    SEARCHES.running = True
    try:
        found = search(predicate, *bounds)
    except OpenDPError as raised:
        found, error = bounds[0][1] if bounds and bounds[0] is not None else 1, raised
    finally:
        SEARCHES.running = outside
    _fails(predicate, found[1] if isinstance(found, tuple) else found)
    if error is not None:
        raise error
    return found


def _fails(predicate: Callable[[Any], bool], value: Any) -> bool:
    """Return whether a condition has the answer False at a value."""
    try:
        return not predicate(value)
    except OpenDPError:
        return False


def exponential_bounds_search(predicate: Callable[[Any], bool], T: Any = None) -> Any:
    """Find two values between which a condition changes."""
    search = _native.bounds_float if _is_float(predicate, None, T) else _native.bounds_int
    return _quietly(search, predicate)


def binary_search_param(
    make_chain: Callable[[Any], Any],
    d_in: Any,
    d_out: Any,
    bounds: tuple[Any, Any] | None = None,
    T: Any = None,
) -> Any:
    """Find the parameter at the boundary where the check of a chain changes.

    The check is ``make_chain(parameter).check(d_in, d_out)``. The check is true at the found
    parameter, and false at the next parameter on one side. The search leaves out the parameters
    with which the chain cannot be made, or with which its map raises an error.

    It is an error if there are no neighbours at ``d_in``, if ``d_out`` is infinite, if the delta of
    ``d_out`` is at least 1, or if the check is true at every parameter. In these cases, the search
    could find a scale of 0, which means no noise.
    """
    refused: list[OpenDPError] = []
    answers: set[bool] = set()
    # The search reads the loss once for each parameter.
    d_out = plain_loss("d_out", d_out)

    def meets(value: Any) -> bool:
        made = make_chain(value)
        try:
            if not hasattr(made, "check"):
                expected = "expected a function that returns a measurement or a transformation"
                found = f"{expected}, found a value of type {type(made).__name__}"
                advice = "begin the chain with its space, as in `lambda scale: space >> ...`"
                raise of("Argument", f"argument `make_chain`: {found}; {advice}")
            if isinstance(made, _native.Measurement):
                check_loss("d_out", made.output_measure, d_out)
            _native.check_distances(made, d_in, d_out)
        except OpenDPError as error:
            refused.append(error)
            raise
        answer = bool(made.check(d_in, d_out))
        answers.add(answer)
        return answer

    try:
        return binary_search(meets, bounds, T)
    except OpenDPError as error:
        if refused:
            raise refused[0] from None
        if error.kind != "Search" or len(answers) == 2:
            raise
        # The advice about a condition is replaced by advice about a chain.
        cause = error.message.partition(";")[0]
    if True in answers:
        every = "every value that was tried meets the loss `d_out`, and may mean no noise"
        raise of("Search", f"{every}; choose the value yourself, or state other `bounds`")
    reason = f"no parameter was found for the loss `d_out`: {cause}"
    raise of("Search", f"{reason}; {_ADVICE}")


_ADVICE = "check that the chain uses its parameter, that `d_out` is above 0, or state other `bounds`"


def binary_search_chain(
    make_chain: Callable[[Any], Any],
    d_in: Any,
    d_out: Any,
    bounds: tuple[Any, Any] | None = None,
    T: Any = None,
) -> Any:
    """Make the chain with the parameter that :func:`binary_search_param` finds."""
    return make_chain(binary_search_param(make_chain, d_in, d_out, bounds, T))
