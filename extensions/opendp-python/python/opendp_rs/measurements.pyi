# Written by stubs.py from the registry. Do not edit.
from typing import Any, Callable, Collection, Sequence

from ._native import Domain as Domain, Function as Function, Measure as Measure, Measurement as Measurement, Metric as Metric, Odometer as Odometer, Transformation as Transformation
from ._partial import Partial

def make_above_threshold(input_domain: Domain, input_metric: Metric, threshold: float, limit: int = ..., scales: Any = ..., T: Any = ..., Q: Any = ...) -> Measurement:
    """Make a measurement that answers which numbers of a vector exceed a threshold, up to a limit."""

def make_alp_queryable(input_domain: Domain, input_metric: Metric, scale: float, total_limit: int, value_limit: int | None = ..., size_factor: int = ..., alpha: int = ..., K: Any = ..., V: Any = ...) -> Measurement:
    """Make a measurement that releases a noisy map. The released map answers questions about any key."""

def make_base_alp(input_domain: Domain, input_metric: Metric, scale: float, total_limit: int, value_limit: int | None = ..., size_factor: int = ..., alpha: int = ..., K: Any = ..., V: Any = ...) -> Measurement:
    """Make a measurement that releases a noisy map. The released map answers questions about any key."""

def make_base_discrete_exponential(input_domain: Domain, input_metric: Metric, temperature: float, optimize: Any = ..., T: Any = ..., M: Any = ...) -> Measurement:
    """Make a measurement that chooses the index of a good score."""

def make_base_discrete_gaussian(input_domain: Domain, input_metric: Metric, scale: float, k: int | None = ..., MO: Any = ..., D: Any = ..., M: Any = ...) -> Measurement:
    """Make a measurement that adds Gaussian noise to each number."""

def make_base_discrete_laplace(input_domain: Domain, input_metric: Metric, scale: float, k: int | None = ..., MO: Any = ..., D: Any = ..., M: Any = ...) -> Measurement:
    """Make a measurement that adds Laplace noise to each number."""

def make_base_gaussian(input_domain: Domain, input_metric: Metric, scale: float, k: int | None = ..., MO: Any = ..., D: Any = ..., M: Any = ...) -> Measurement:
    """Make a measurement that adds Gaussian noise to each number."""

def make_base_geometric(input_domain: Domain, input_metric: Metric, scale: float, bounds: tuple[int, int] | None = ..., MO: Any = ..., D: Any = ..., M: Any = ...) -> Measurement:
    """Make a measurement that adds two-sided geometric noise to integers. Optionally, all releases lie
    in a given interval."""

def make_base_laplace(input_domain: Domain, input_metric: Metric, scale: float, k: int | None = ..., MO: Any = ..., D: Any = ..., M: Any = ...) -> Measurement:
    """Make a measurement that adds Laplace noise to each number."""

def make_canonical_noise(input_domain: Domain, input_metric: Metric, d_in: float, d_out: Any) -> Measurement:
    """Make a measurement that adds canonical noise for a given epsilon and delta to a number."""

def make_gaussian(input_domain: Domain, input_metric: Metric, scale: float, k: int | None = ..., MO: Any = ..., D: Any = ..., M: Any = ...) -> Measurement:
    """Make a measurement that adds Gaussian noise to each number."""

def make_gaussian_threshold(input_domain: Domain, input_metric: Metric, scale: float, threshold: float, k: int | None = ..., MO: Any = ..., K: Any = ..., V: Any = ..., Q: Any = ...) -> Measurement:
    """Make a measurement that adds Gaussian noise to the values of a map from keys to numbers, and
    keeps the keys whose noisy values reach a threshold."""

def make_geometric(input_domain: Domain, input_metric: Metric, scale: float, bounds: tuple[int, int] | None = ..., MO: Any = ..., D: Any = ..., M: Any = ...) -> Measurement:
    """Make a measurement that adds two-sided geometric noise to integers. Optionally, all releases lie
    in a given interval."""

def make_gumbel_max(input_domain: Domain, input_metric: Metric, temperature: float, optimize: Any = ..., T: Any = ..., M: Any = ...) -> Measurement:
    """Make a measurement that chooses the index of a good score."""

def make_laplace(input_domain: Domain, input_metric: Metric, scale: float, k: int | None = ..., MO: Any = ..., D: Any = ..., M: Any = ...) -> Measurement:
    """Make a measurement that adds Laplace noise to each number."""

def make_laplace_threshold(input_domain: Domain, input_metric: Metric, scale: float, threshold: float, k: int | None = ..., MO: Any = ..., K: Any = ..., V: Any = ..., Q: Any = ...) -> Measurement:
    """Make a measurement that adds Laplace noise to the values of a map from keys to numbers, and
    keeps the keys whose noisy values reach a threshold."""

def make_noise(input_domain: Domain, input_metric: Metric, output_measure: Measure, scale: float, k: int | None = ..., MO: Any = ..., D: Any = ..., M: Any = ...) -> Measurement:
    """Make a measurement that adds noise to each number. The privacy measure selects the noise."""

def make_noise_threshold(input_domain: Domain, input_metric: Metric, output_measure: Any, scale: float, threshold: float, k: int | None = ..., MO: Any = ..., K: Any = ..., V: Any = ..., M: Any = ...) -> Measurement:
    """Make a measurement that adds noise to the values of a map from keys to numbers, and keeps the
    keys whose noisy values reach a threshold."""

def make_noisy_max(input_domain: Domain, input_metric: Metric, output_measure: Measure, scale: float, negate: bool = ..., MO: Any = ..., T: Any = ..., M: Any = ...) -> Measurement:
    """Make a measurement that chooses the index of a good score."""

def make_noisy_top_k(input_domain: Domain, input_metric: Metric, output_measure: Measure, k: int, scale: float, negate: bool = ..., MO: Any = ..., T: Any = ..., M: Any = ...) -> Measurement:
    """Make a measurement that chooses the indices of several good scores, in the order of choice."""

def make_private_quantile(input_domain: Domain, input_metric: Metric, output_measure: Measure, candidates: Collection[float] | Collection[int], alpha: float, scale: float, MO: Any = ..., T: Any = ..., M: Any = ...) -> Measurement:
    """Make a measurement that releases a quantile, chosen from a list of candidates."""

def make_private_quantiles(input_domain: Domain, input_metric: Metric, output_measure: Measure, candidates: Collection[float] | Collection[int], alphas: Collection[float], scale: float, MO: Any = ..., T: Any = ..., M: Any = ...) -> Measurement:
    """Make a measurement that releases several quantiles, chosen from a list of candidates."""

def make_randomized_response(categories: Collection[bool] | Collection[int] | Collection[str], prob: float, T: Any = ...) -> Measurement:
    """Make a measurement that releases the true category with a known probability, and otherwise
    another category."""

def make_randomized_response_bitvec(input_domain: Domain, input_metric: Metric, f: float, constant_time: bool = ...) -> Measurement:
    """Make a measurement that flips each bit of a vector with probability `f / 2`."""

def make_randomized_response_bool(prob: float, constant_time: bool = ...) -> Measurement:
    """Make a measurement that answers a yes-or-no question. The answer is correct with a known
    probability."""

def make_report_noisy_max_gumbel(input_domain: Domain, input_metric: Metric, scale: float, optimize: Any = ..., T: Any = ..., M: Any = ...) -> Measurement:
    """Make a measurement that chooses the index of a good score, as [`make_noisy_max`] does."""

def make_sparse_vector(input_domain: Domain, input_metric: Metric, d_in: Any, sensitivity: float, threshold: float, limit: int, scales: Any, monotonic: bool = ..., T: Any = ..., Q: Any = ...) -> Measurement:
    """Make a measurement that answers which queries exceed a threshold."""

def make_truncated_laplace_threshold(input_domain: Domain, input_metric: Metric, scale: float, threshold: float, K: Any = ..., V: Any = ...) -> Measurement:
    """Make a measurement that adds truncated Laplace noise to counts and hides rare keys."""

def make_user_measurement(input_domain: Domain, input_metric: Metric, output_measure: Measure, function: Callable[..., Any], privacy_map: Callable[..., Any], TO: Any = ...) -> Measurement:
    """Make a measurement from a function and a privacy map. The caller is responsible for the function
    and for the map."""

def then_above_threshold(threshold: float, limit: int = ..., scales: Any = ..., T: Any = ..., Q: Any = ...) -> Partial:
    """Make a measurement that answers which numbers of a vector exceed a threshold, up to a limit."""

def then_alp_queryable(scale: float, total_limit: int, value_limit: int | None = ..., size_factor: int = ..., alpha: int = ..., K: Any = ..., V: Any = ...) -> Partial:
    """Make a measurement that releases a noisy map. The released map answers questions about any key."""

def then_base_alp(scale: float, total_limit: int, value_limit: int | None = ..., size_factor: int = ..., alpha: int = ..., K: Any = ..., V: Any = ...) -> Partial:
    """Make a measurement that releases a noisy map. The released map answers questions about any key."""

def then_base_discrete_exponential(temperature: float, optimize: Any = ..., T: Any = ..., M: Any = ...) -> Partial:
    """Make a measurement that chooses the index of a good score."""

def then_base_discrete_gaussian(scale: float, k: int | None = ..., MO: Any = ..., D: Any = ..., M: Any = ...) -> Partial:
    """Make a measurement that adds Gaussian noise to each number."""

def then_base_discrete_laplace(scale: float, k: int | None = ..., MO: Any = ..., D: Any = ..., M: Any = ...) -> Partial:
    """Make a measurement that adds Laplace noise to each number."""

def then_base_gaussian(scale: float, k: int | None = ..., MO: Any = ..., D: Any = ..., M: Any = ...) -> Partial:
    """Make a measurement that adds Gaussian noise to each number."""

def then_base_geometric(scale: float, bounds: tuple[int, int] | None = ..., MO: Any = ..., D: Any = ..., M: Any = ...) -> Partial:
    """Make a measurement that adds two-sided geometric noise to integers. Optionally, all releases lie
    in a given interval."""

def then_base_laplace(scale: float, k: int | None = ..., MO: Any = ..., D: Any = ..., M: Any = ...) -> Partial:
    """Make a measurement that adds Laplace noise to each number."""

def then_canonical_noise(d_in: float, d_out: Any) -> Partial:
    """Make a measurement that adds canonical noise for a given epsilon and delta to a number."""

def then_gaussian(scale: float, k: int | None = ..., MO: Any = ..., D: Any = ..., M: Any = ...) -> Partial:
    """Make a measurement that adds Gaussian noise to each number."""

def then_gaussian_threshold(scale: float, threshold: float, k: int | None = ..., MO: Any = ..., K: Any = ..., V: Any = ..., Q: Any = ...) -> Partial:
    """Make a measurement that adds Gaussian noise to the values of a map from keys to numbers, and
    keeps the keys whose noisy values reach a threshold."""

def then_geometric(scale: float, bounds: tuple[int, int] | None = ..., MO: Any = ..., D: Any = ..., M: Any = ...) -> Partial:
    """Make a measurement that adds two-sided geometric noise to integers. Optionally, all releases lie
    in a given interval."""

def then_gumbel_max(temperature: float, optimize: Any = ..., T: Any = ..., M: Any = ...) -> Partial:
    """Make a measurement that chooses the index of a good score."""

def then_laplace(scale: float, k: int | None = ..., MO: Any = ..., D: Any = ..., M: Any = ...) -> Partial:
    """Make a measurement that adds Laplace noise to each number."""

def then_laplace_threshold(scale: float, threshold: float, k: int | None = ..., MO: Any = ..., K: Any = ..., V: Any = ..., Q: Any = ...) -> Partial:
    """Make a measurement that adds Laplace noise to the values of a map from keys to numbers, and
    keeps the keys whose noisy values reach a threshold."""

def then_noise(output_measure: Measure, scale: float, k: int | None = ..., MO: Any = ..., D: Any = ..., M: Any = ...) -> Partial:
    """Make a measurement that adds noise to each number. The privacy measure selects the noise."""

def then_noise_threshold(output_measure: Any, scale: float, threshold: float, k: int | None = ..., MO: Any = ..., K: Any = ..., V: Any = ..., M: Any = ...) -> Partial:
    """Make a measurement that adds noise to the values of a map from keys to numbers, and keeps the
    keys whose noisy values reach a threshold."""

def then_noisy_max(output_measure: Measure, scale: float, negate: bool = ..., MO: Any = ..., T: Any = ..., M: Any = ...) -> Partial:
    """Make a measurement that chooses the index of a good score."""

def then_noisy_top_k(output_measure: Measure, k: int, scale: float, negate: bool = ..., MO: Any = ..., T: Any = ..., M: Any = ...) -> Partial:
    """Make a measurement that chooses the indices of several good scores, in the order of choice."""

def then_private_quantile(output_measure: Measure, candidates: Collection[float] | Collection[int], alpha: float, scale: float, MO: Any = ..., T: Any = ..., M: Any = ...) -> Partial:
    """Make a measurement that releases a quantile, chosen from a list of candidates."""

def then_private_quantiles(output_measure: Measure, candidates: Collection[float] | Collection[int], alphas: Collection[float], scale: float, MO: Any = ..., T: Any = ..., M: Any = ...) -> Partial:
    """Make a measurement that releases several quantiles, chosen from a list of candidates."""

def then_randomized_response(categories: Collection[bool] | Collection[int] | Collection[str], prob: float, T: Any = ...) -> Measurement:
    """Make a measurement that releases the true category with a known probability, and otherwise
    another category."""

def then_randomized_response_bitvec(f: float, constant_time: bool = ...) -> Partial:
    """Make a measurement that flips each bit of a vector with probability `f / 2`."""

def then_randomized_response_bool(prob: float, constant_time: bool = ...) -> Measurement:
    """Make a measurement that answers a yes-or-no question. The answer is correct with a known
    probability."""

def then_report_noisy_max_gumbel(scale: float, optimize: Any = ..., T: Any = ..., M: Any = ...) -> Partial:
    """Make a measurement that chooses the index of a good score, as [`make_noisy_max`] does."""

def then_sparse_vector(d_in: Any, sensitivity: float, threshold: float, limit: int, scales: Any, monotonic: bool = ..., T: Any = ..., Q: Any = ...) -> Partial:
    """Make a measurement that answers which queries exceed a threshold."""

def then_truncated_laplace_threshold(scale: float, threshold: float, K: Any = ..., V: Any = ...) -> Partial:
    """Make a measurement that adds truncated Laplace noise to counts and hides rare keys."""

def then_user_measurement(output_measure: Measure, function: Callable[..., Any], privacy_map: Callable[..., Any], TO: Any = ...) -> Partial:
    """Make a measurement from a function and a privacy map. The caller is responsible for the function
    and for the map."""

def debias_randomized_response_bitvec(answers: Sequence[Any], f: float) -> list[float]: ...
