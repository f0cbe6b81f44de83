# Written by stubs.py from the registry. Do not edit.
from typing import Any, Callable, Collection, Sequence

from ._native import Domain as Domain, Function as Function, Measure as Measure, Measurement as Measurement, Metric as Metric, Odometer as Odometer, Transformation as Transformation
from ._partial import Partial

def absolute_distance(T: Any = ...) -> Metric:
    """Measure the absolute difference of two numbers."""

def approximate(measure: Measure, M: Any = ...) -> Measure:
    """Measure loss as a pair `(loss, delta)`. The bound on the loss can fail with probability at most
    delta."""

def atom_domain(bounds: tuple[bool, bool] | None | tuple[float, float] | None | tuple[int, int] | None | tuple[str, str] | None = ..., nan: bool | None = ..., T: Any = ...) -> Domain:
    """Make the set of all values of an atomic type, optionally within bounds."""

def bitvector_domain(max_weight: int | None = ..., size: int | None = ...) -> Domain:
    """Make the set of all vectors of bits."""

def change_one_distance() -> Metric:
    """Count the records replaced, in any order. The size of the data sets must be known."""

def dataframe_domain(col_names: Collection[bool] | None | Collection[int] | None | Collection[str] | None = ..., element_domains: Sequence[Domain] | None = ..., size: int | None = ..., K: Any = ...) -> Domain:
    """Make the set of all frames, or of the frames with a given schema."""

def discrete_distance() -> Metric:
    """Measure whether two values differ. The distance is 0 when the values are equal, and 1 when they
    differ."""

def fixed_smoothed_max_divergence() -> Measure:
    """Measure loss as (epsilon, delta)-differential privacy at one fixed pair of epsilon and delta."""

def hamming_distance() -> Metric:
    """Count the positions with different records. The size of the data sets must be known."""

def insert_delete_distance() -> Metric:
    """Count the records inserted or deleted. The order of the records matters."""

def l01inf_distance(metric: Metric, M: Any = ...) -> Metric:
    """Measure the number of changed parts, the sum of their changes, and the largest change."""

def l02inf_distance(metric: Metric, M: Any = ...) -> Metric:
    """Measure the number of changed parts, the Euclidean length of their changes, and the largest
    change."""

def l1_distance(T: Any = ...) -> Metric:
    """Measure the sum of the absolute differences of two vectors or maps."""

def l2_distance(T: Any = ...) -> Metric:
    """Measure the Euclidean length of the difference of two vectors or maps."""

def linf_distance(T: Any = ..., monotonic: bool = ...) -> Metric:
    """Measure the largest change of any score."""

def map_domain(key_domain: Domain, value_domain: Domain, K: Any = ..., V: Any = ...) -> Domain:
    """Make the set of all maps with keys in one domain and values in another domain."""

def max_divergence() -> Measure:
    """Measure loss by the epsilon of pure differential privacy."""

def new_function(function: Callable[..., Any], TO: Any = ...) -> Function:
    """Make a post-processing step from a function of a release."""

def new_queryable(transition: Callable[..., Any]) -> Function:
    """Make a function that takes a value and starts a conversation. The transition takes a pair and
    returns a pair."""

def option_domain(element_domain: Domain, T: Any = ...) -> Domain:
    """Add the missing value to a domain."""

def pair_domain(domain_0: Domain, domain_1: Domain, A: Any = ..., B: Any = ...) -> Domain:
    """Make the set of all pairs whose parts are in two given domains."""

def range_distance(T: Any = ...) -> Metric:
    """Measure the range of the changes of the scores."""

def renyi_divergence() -> Measure:
    """Measure loss by the curve of Renyi differential privacy: an epsilon for each order."""

def sampled(measure: Any, M: Any = ...) -> Measure:
    """Measure the loss for a population. The data is a secret sample of this population."""

def smoothed_max_divergence() -> Measure:
    """Measure loss by the profile of approximate differential privacy: a delta for each epsilon."""

def symmetric_distance() -> Metric:
    """Count the records added or removed, in any order."""

def user_distance(identifier: str, descriptor: Any | None = ...) -> Metric:
    """Make a metric that is defined only by a name."""

def user_divergence(identifier: str, descriptor: Any | None = ...) -> Measure:
    """Make a privacy measure that is defined only by a name."""

def user_domain(identifier: str, member: Callable[..., Any], descriptor: Any | None = ...) -> Domain:
    """Describe a set of values by a function that decides membership."""

def vector_domain(atom_domain: Domain, size: int | None = ..., D: Any = ...) -> Domain:
    """Make the set of all vectors whose elements are members of another domain."""

def zero_concentrated_divergence() -> Measure:
    """Measure loss by the rho of zero-concentrated differential privacy."""

from . import combinators as combinators, measurements as measurements, transformations as transformations
from ._accountant import Accountant as Accountant, Event as Event
from ._context import Context as Context
from ._errors import OpenDPError as OpenDPError
from ._ledger import Ledger as Ledger
from ._losses import loss_of as loss_of
from ._native import (
    Domain as Domain,
    Function as Function,
    Measure as Measure,
    Measurement as Measurement,
    Metric as Metric,
    Odometer as Odometer,
    OdometerQueryable as OdometerQueryable,
    PrivacyProfile as PrivacyProfile,
    RenyiCurve as RenyiCurve,
    Queryable as Queryable,
    Space as Space,
    Transformation as Transformation,
    accuracy_to_discrete_gaussian_scale as accuracy_to_discrete_gaussian_scale,
    accuracy_to_discrete_laplacian_scale as accuracy_to_discrete_laplacian_scale,
    accuracy_to_gaussian_scale as accuracy_to_gaussian_scale,
    accuracy_to_laplacian_scale as accuracy_to_laplacian_scale,
    discrete_gaussian_scale_to_accuracy as discrete_gaussian_scale_to_accuracy,
    discrete_laplacian_scale_to_accuracy as discrete_laplacian_scale_to_accuracy,
    gaussian_scale_to_accuracy as gaussian_scale_to_accuracy,
    laplacian_scale_to_accuracy as laplacian_scale_to_accuracy,
)
from ._partial import Partial as _Partial, as_space as _as_space
from ._query import Query as Query
from ._search import (
    binary_search as binary_search,
    binary_search_chain as binary_search_chain,
    binary_search_param as binary_search_param,
    exponential_bounds_search as exponential_bounds_search,
)
from ._spaces import domain_of as domain_of, measure_of as measure_of, metric_of as metric_of, space_of as space_of, unit_of as unit_of
from ._study import Outcome as Outcome, Study as Study
from ._types import set_default_float_type as set_default_float_type, set_default_int_type as set_default_int_type


t = transformations
m = measurements
c = combinators
OpenDPException = OpenDPError
UnknownTypeException = OpenDPError
from ._types import TypeHead

i8: str
i16: str
i32: str
i64: str
i128: str
isize: str
u8: str
u16: str
u32: str
u64: str
u128: str
usize: str
f32: str
f64: str
String: str
SymmetricDistance: str
InsertDeleteDistance: str
ChangeOneDistance: str
HammingDistance: str
DiscreteDistance: str
MaxDivergence: str
SmoothedMaxDivergence: str
FixedSmoothedMaxDivergence: str
ZeroConcentratedDivergence: str
RenyiDivergence: str
BitVector: str
AbsoluteDistance: TypeHead
L1Distance: TypeHead
L2Distance: TypeHead
LInfDistance: TypeHead
RangeDistance: TypeHead
Approximate: TypeHead
Pairwise: TypeHead
Sequential: TypeHead
AtomDomain: TypeHead
VectorDomain: TypeHead
OptionDomain: TypeHead
MapDomain: TypeHead
Vec: TypeHead
HashMap: TypeHead
class TypeParseError(OpenDPError): ...
class FailedFunctionError(OpenDPError): ...
class FailedMapError(OpenDPError): ...
class FailedCastError(OpenDPError): ...
class DomainMismatchError(OpenDPError): ...
class MetricMismatchError(OpenDPError): ...
class MeasureMismatchError(OpenDPError): ...
class MakeDomainError(OpenDPError): ...
class MakeTransformationError(OpenDPError): ...
class MakeMeasurementError(OpenDPError): ...
class MetricSpaceError(OpenDPError): ...
class InvalidDistanceError(OpenDPError): ...
class SearchError(OpenDPError): ...
class OverflowError(OpenDPError): ...
class NotImplementedError(OpenDPError): ...
class NotFoundError(OpenDPError): ...
class AmbiguousError(OpenDPError): ...
class ArgumentError(OpenDPError): ...
class BudgetExceededError(OpenDPError): ...

def enable_features(*features: str) -> None: ...
def disable_features(*features: str) -> None: ...
def assert_features(*features: str) -> None: ...
def serialize(dp_obj: Any) -> str: ...
def deserialize(dp_json: str | bytes) -> Any: ...
def new_privacy_profile(curve: Callable[[float], float]) -> PrivacyProfile: ...
def describe(name: str) -> dict[str, Any]: ...
def names() -> list[str]: ...
def __getattr__(attribute: str) -> Any: ...
