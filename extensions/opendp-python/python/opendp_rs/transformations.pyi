# Written by stubs.py from the registry. Do not edit.
from typing import Any, Callable, Collection, Sequence

from ._native import Domain as Domain, Function as Function, Measure as Measure, Measurement as Measurement, Metric as Metric, Odometer as Odometer, Transformation as Transformation
from ._partial import Partial

def make_b_ary_tree(input_domain: Domain, input_metric: Metric, leaf_count: int, branching_factor: int, T: Any = ..., M: Any = ...) -> Transformation:
    """Compute the nodes of a tree from the counts of its leaves. Each node above the leaves is the sum
    of the leaves below it."""

def make_bounded_float_checked_sum(size_limit: int, bounds: tuple[float, float], S: Any = ...) -> Transformation:
    """Add up an unknown number of bounded floats with [`make_sum`]."""

def make_bounded_float_ordered_sum(size_limit: int, bounds: tuple[float, float], S: Any = ...) -> Transformation:
    """Add up a sequence of bounded floats with [`make_sum`]. The number of floats is unknown."""

def make_bounded_int_monotonic_sum(bounds: tuple[int, int], T: Any = ...) -> Transformation:
    """Add up an unknown number of bounded integers of one sign with [`make_sum`]."""

def make_bounded_int_ordered_sum(bounds: tuple[int, int], T: Any = ...) -> Transformation:
    """Add up a sequence of bounded integers with [`make_sum`]. The number of integers is unknown."""

def make_bounded_int_split_sum(bounds: tuple[int, int], T: Any = ...) -> Transformation:
    """Add up an unknown number of bounded integers of either sign with [`make_sum`]."""

def make_bounded_sum(input_domain: Domain, input_metric: Metric, bounds: tuple[float, float] | None | tuple[int, int] | None = ..., T: Any = ..., M: Any = ...) -> Transformation:
    """Add up an unknown number of bounded records with [`make_sum`]."""

def make_cast(input_domain: Domain, input_metric: Metric, TOA: Any = ..., TIA: Any = ..., M: Any = ...) -> Transformation:
    """Cast each record to another type, or to null when the cast has no result."""

def make_cast_default(input_domain: Domain, input_metric: Metric, TOA: Any = ..., TIA: Any = ..., M: Any = ...) -> Transformation:
    """Cast each record to another type, or to the default value of this type when the cast has no
    result."""

def make_cast_inherent(input_domain: Domain, input_metric: Metric, TOA: Any = ..., TIA: Any = ..., M: Any = ...) -> Transformation:
    """Cast each record to a float type, or to NaN when the cast has no result. NaN is the null value
    of float types."""

def make_cdf(TA: Any = ...) -> Function:
    """Compute the cumulative distribution function of noisy counts. The counts belong to adjacent
    bins."""

def make_clamp(input_domain: Domain, input_metric: Metric, bounds: tuple[float, float] | tuple[int, int], T: Any = ..., M: Any = ...) -> Transformation:
    """Replace each record that is out of bounds by the nearest bound."""

def make_consistent_b_ary_tree(branching_factor: int, TIA: Any = ..., TOA: Any = ...) -> Function:
    """Estimate the leaves of a noisy tree of counts by least squares."""

def make_count(input_domain: Domain, input_metric: Metric, TO: Any = ..., T: Any = ..., M: Any = ...) -> Transformation:
    """Count the records."""

def make_count_by(input_domain: Domain, input_metric: Metric, TV: Any = ..., T: Any = ..., M: Any = ...) -> Transformation:
    """For each value that occurs, count the records with this value."""

def make_count_by_categories(input_domain: Domain, input_metric: Metric, categories: Collection[bool] | Collection[int] | Collection[str], null_category: bool = ..., MO: Any = ..., TOA: Any = ..., T: Any = ..., M: Any = ...) -> Transformation:
    """Count the records in each of the given categories."""

def make_count_distinct(input_domain: Domain, input_metric: Metric, TO: Any = ..., T: Any = ..., M: Any = ...) -> Transformation:
    """Count the distinct values among the records."""

def make_covariance(input_domain: Domain, input_metric: Metric, ddof: int = ..., S: Any = ..., T: Any = ..., M: Any = ...) -> Transformation:
    """Compute the covariance of a known number of bounded pairs."""

def make_create_dataframe(input_domain: Domain, input_metric: Metric, col_names: Collection[str], K: Any = ..., M: Any = ...) -> Transformation:
    """Make a frame from the fields of each record."""

def make_df_cast_default(input_domain: Domain, input_metric: Metric, column_name: str, TIA: Any = ..., TOA: Any = ..., K: Any = ..., M: Any = ...) -> Transformation:
    """Cast the cells of a column to another type. If the cast of a cell has no result, the cell
    becomes the default value of the new type."""

def make_df_is_equal(input_domain: Domain, input_metric: Metric, column_name: str, value: bool | float | str, TIA: Any = ..., K: Any = ..., M: Any = ...) -> Transformation:
    """Test each cell of a column for equality with a value."""

def make_drop_null(input_domain: Domain, input_metric: Metric, D: Any = ..., M: Any = ...) -> Transformation:
    """Drop each record that is null or NaN."""

def make_filter_bounds(input_domain: Domain, input_metric: Metric, bounds: tuple[float, float] | tuple[int, int], T: Any = ..., M: Any = ...) -> Transformation:
    """Keep the records that lie within bounds."""

def make_filter_values(input_domain: Domain, input_metric: Metric, values: Collection[bool] | Collection[int] | Collection[str], T: Any = ..., M: Any = ...) -> Transformation:
    """Keep the records that are in a list of values."""

def make_find(input_domain: Domain, input_metric: Metric, categories: Collection[bool] | Collection[int] | Collection[str], T: Any = ..., M: Any = ...) -> Transformation:
    """Find the index of each record in a list of categories."""

def make_find_bin(input_domain: Domain, input_metric: Metric, edges: Collection[float] | Collection[int], T: Any = ..., M: Any = ...) -> Transformation:
    """Find the bin of each record among bins separated by edges."""

def make_identity(input_domain: Domain, input_metric: Metric, D: Any = ..., M: Any = ...) -> Transformation:
    """Pass the data on unchanged."""

def make_impute_constant(input_domain: Domain, input_metric: Metric, constant: bool | float | str, D: Any = ..., M: Any = ...) -> Transformation:
    """Replace each record that is null or NaN by a constant."""

def make_impute_uniform_float(input_domain: Domain, input_metric: Metric, bounds: tuple[float, float], T: Any = ..., M: Any = ...) -> Transformation:
    """Replace each NaN by a number drawn uniformly from an interval."""

def make_index(input_domain: Domain, input_metric: Metric, categories: Collection[bool] | Collection[float] | Collection[int] | Collection[str], null: bool | float | str, TOA: Any = ..., M: Any = ...) -> Transformation:
    """Look up the category at each index."""

def make_is_equal(input_domain: Domain, input_metric: Metric, value: bool | float | str, T: Any = ..., M: Any = ...) -> Transformation:
    """Test each record for equality with a value."""

def make_is_null(input_domain: Domain, input_metric: Metric, D: Any = ..., M: Any = ...) -> Transformation:
    """Test whether each record is null or NaN."""

def make_lipschitz_float_mul(input_domain: Domain, input_metric: Metric, constant: float, bounds: tuple[float, float], T: Any = ...) -> Transformation:
    """Clamp a number to bounds and multiply it by a constant."""

def make_mean(input_domain: Domain, input_metric: Metric, T: Any = ..., M: Any = ...) -> Transformation:
    """Average a known number of bounded records."""

def make_metric_bounded(input_domain: Domain, input_metric: Metric, D: Any = ..., M: Any = ...) -> Transformation:
    """Count one removed and one added record as one replaced record."""

def make_metric_unbounded(input_domain: Domain, input_metric: Metric, D: Any = ..., M: Any = ...) -> Transformation:
    """Count a replaced record as one removed and one added record."""

def make_ordered_random(input_domain: Domain, input_metric: Metric, D: Any = ..., M: Any = ...) -> Transformation:
    """Put the records into a random order, so that later steps can use the order."""

def make_quantile_rank_scores(input_domain: Domain, input_metric: Metric, candidates: Collection[float] | Collection[int], alpha: float, MO: Any = ..., T: Any = ..., M: Any = ...) -> Transformation:
    """Score each candidate by the distance between the ranks of the candidate and the rank of a
    quantile."""

def make_quantile_score_candidates(input_domain: Domain, input_metric: Metric, candidates: Collection[float] | Collection[int], alpha: float, MO: Any = ..., T: Any = ..., M: Any = ...) -> Transformation:
    """Score each candidate by its distance from a quantile of the records."""

def make_quantiles_from_counts(bin_edges: Collection[float] | Collection[int], alphas: Collection[float], interpolation: Any = ..., TA: Any = ..., F: Any = ...) -> Function:
    """Compute quantiles from noisy counts of the records in bins."""

def make_resize(input_domain: Domain, input_metric: Metric, size: int, constant: bool | float | str, MO: Any = ..., T: Any = ..., M: Any = ...) -> Transformation:
    """Resize data to a known size: add copies of a constant, or drop records."""

def make_select_column(input_domain: Domain, input_metric: Metric, key: str, TOA: Any = ..., K: Any = ..., M: Any = ...) -> Transformation:
    """Keep one column of a frame."""

def make_sized_bounded_covariance(size: int, bounds_0: tuple[float, float], bounds_1: tuple[float, float], ddof: int = ..., S: Any = ...) -> Transformation:
    """Compute the covariance of a known number of bounded pairs with [`make_covariance`]."""

def make_sized_bounded_float_checked_sum(size: int, bounds: tuple[float, float], S: Any = ...) -> Transformation:
    """Add up a known number of bounded floats with [`make_sum`]."""

def make_sized_bounded_float_ordered_sum(size: int, bounds: tuple[float, float], S: Any = ...) -> Transformation:
    """Add up a sequence of bounded floats with [`make_sum`]. The number of floats is known."""

def make_sized_bounded_int_checked_sum(size: int, bounds: tuple[int, int], T: Any = ...) -> Transformation:
    """Add up a known number of bounded integers with [`make_sum`]. The sum cannot overflow."""

def make_sized_bounded_int_monotonic_sum(size: int, bounds: tuple[int, int], T: Any = ...) -> Transformation:
    """Add up a known number of bounded integers of one sign with [`make_sum`]."""

def make_sized_bounded_int_ordered_sum(size: int, bounds: tuple[int, int], T: Any = ...) -> Transformation:
    """Add up a sequence of bounded integers with [`make_sum`]. The number of integers is known."""

def make_sized_bounded_int_split_sum(size: int, bounds: tuple[int, int], T: Any = ...) -> Transformation:
    """Add up a known number of bounded integers of either sign with [`make_sum`]."""

def make_sized_bounded_mean(input_domain: Domain, input_metric: Metric, size: int | None = ..., bounds: tuple[float, float] | None = ..., T: Any = ..., M: Any = ...) -> Transformation:
    """Average a known number of bounded records with [`make_mean`]."""

def make_sized_bounded_sum(input_domain: Domain, input_metric: Metric, size: int | None = ..., bounds: tuple[float, float] | None | tuple[int, int] | None = ..., T: Any = ..., M: Any = ...) -> Transformation:
    """Add up a known number of bounded records with [`make_sum`]."""

def make_sized_bounded_variance(input_domain: Domain, input_metric: Metric, size: int | None = ..., bounds: tuple[float, float] | None = ..., ddof: int = ..., T: Any = ..., M: Any = ...) -> Transformation:
    """Compute the variance of a known number of bounded records with [`make_variance`]."""

def make_sized_quantile_score_candidates(input_domain: Domain, input_metric: Metric, size: int | None = ..., candidates: Collection[float] | Collection[int] = ..., alpha: float = ..., MO: Any = ..., T: Any = ..., M: Any = ...) -> Transformation:
    """Score the candidates for a quantile with [`make_quantile_score_candidates`]."""

def make_split_dataframe(input_domain: Domain, input_metric: Metric, separator: str = ..., col_names: Collection[str] = ..., K: Any = ...) -> Transformation:
    """Split a text into lines and fields, and make a frame from them."""

def make_split_lines(input_domain: Domain, input_metric: Metric) -> Transformation:
    """Split a text into its lines."""

def make_split_records(input_domain: Domain, input_metric: Metric, separator: str = ..., M: Any = ...) -> Transformation:
    """Split each text into fields."""

def make_subset_by(input_domain: Domain, input_metric: Metric, indicator_column: str, keep_columns: Collection[str], TK: Any = ..., M: Any = ...) -> Transformation:
    """Keep the rows in which a column of truth values is true."""

def make_sum(input_domain: Domain, input_metric: Metric, T: Any = ..., M: Any = ...) -> Transformation:
    """Add up the records."""

def make_sum_of_squared_deviations(input_domain: Domain, input_metric: Metric, S: Any = ..., T: Any = ..., M: Any = ...) -> Transformation:
    """Add up the squared deviations of the records from their mean."""

def make_unordered(input_domain: Domain, input_metric: Metric, D: Any = ..., M: Any = ...) -> Transformation:
    """Change the metric of the data to a metric that ignores the order of the records."""

def make_user_postprocessor(function: Callable[..., Any], TO: Any = ...) -> Function:
    """Make a post-processing step from a function of a release."""

def make_user_transformation(input_domain: Domain, input_metric: Metric, output_domain: Domain, output_metric: Metric, function: Callable[..., Any], stability_map: Callable[..., Any]) -> Transformation:
    """Make a transformation from a function and a stability map that the user guarantees."""

def make_variance(input_domain: Domain, input_metric: Metric, ddof: int = ..., S: Any = ..., T: Any = ..., M: Any = ...) -> Transformation:
    """Compute the variance of a known number of bounded records."""

def then_b_ary_tree(leaf_count: int, branching_factor: int, T: Any = ..., M: Any = ...) -> Partial:
    """Compute the nodes of a tree from the counts of its leaves. Each node above the leaves is the sum
    of the leaves below it."""

def then_bounded_float_checked_sum(size_limit: int, bounds: tuple[float, float], S: Any = ...) -> Transformation:
    """Add up an unknown number of bounded floats with [`make_sum`]."""

def then_bounded_float_ordered_sum(size_limit: int, bounds: tuple[float, float], S: Any = ...) -> Transformation:
    """Add up a sequence of bounded floats with [`make_sum`]. The number of floats is unknown."""

def then_bounded_int_monotonic_sum(bounds: tuple[int, int], T: Any = ...) -> Transformation:
    """Add up an unknown number of bounded integers of one sign with [`make_sum`]."""

def then_bounded_int_ordered_sum(bounds: tuple[int, int], T: Any = ...) -> Transformation:
    """Add up a sequence of bounded integers with [`make_sum`]. The number of integers is unknown."""

def then_bounded_int_split_sum(bounds: tuple[int, int], T: Any = ...) -> Transformation:
    """Add up an unknown number of bounded integers of either sign with [`make_sum`]."""

def then_bounded_sum(bounds: tuple[float, float] | None | tuple[int, int] | None = ..., T: Any = ..., M: Any = ...) -> Partial:
    """Add up an unknown number of bounded records with [`make_sum`]."""

def then_cast(TOA: Any = ..., TIA: Any = ..., M: Any = ...) -> Partial:
    """Cast each record to another type, or to null when the cast has no result."""

def then_cast_default(TOA: Any = ..., TIA: Any = ..., M: Any = ...) -> Partial:
    """Cast each record to another type, or to the default value of this type when the cast has no
    result."""

def then_cast_inherent(TOA: Any = ..., TIA: Any = ..., M: Any = ...) -> Partial:
    """Cast each record to a float type, or to NaN when the cast has no result. NaN is the null value
    of float types."""

def then_cdf(TA: Any = ...) -> Function:
    """Compute the cumulative distribution function of noisy counts. The counts belong to adjacent
    bins."""

def then_clamp(bounds: tuple[float, float] | tuple[int, int], T: Any = ..., M: Any = ...) -> Partial:
    """Replace each record that is out of bounds by the nearest bound."""

def then_consistent_b_ary_tree(branching_factor: int, TIA: Any = ..., TOA: Any = ...) -> Function:
    """Estimate the leaves of a noisy tree of counts by least squares."""

def then_count(TO: Any = ..., T: Any = ..., M: Any = ...) -> Partial:
    """Count the records."""

def then_count_by(TV: Any = ..., T: Any = ..., M: Any = ...) -> Partial:
    """For each value that occurs, count the records with this value."""

def then_count_by_categories(categories: Collection[bool] | Collection[int] | Collection[str], null_category: bool = ..., MO: Any = ..., TOA: Any = ..., T: Any = ..., M: Any = ...) -> Partial:
    """Count the records in each of the given categories."""

def then_count_distinct(TO: Any = ..., T: Any = ..., M: Any = ...) -> Partial:
    """Count the distinct values among the records."""

def then_covariance(ddof: int = ..., S: Any = ..., T: Any = ..., M: Any = ...) -> Partial:
    """Compute the covariance of a known number of bounded pairs."""

def then_create_dataframe(col_names: Collection[str], K: Any = ..., M: Any = ...) -> Partial:
    """Make a frame from the fields of each record."""

def then_df_cast_default(column_name: str, TIA: Any = ..., TOA: Any = ..., K: Any = ..., M: Any = ...) -> Partial:
    """Cast the cells of a column to another type. If the cast of a cell has no result, the cell
    becomes the default value of the new type."""

def then_df_is_equal(column_name: str, value: bool | float | str, TIA: Any = ..., K: Any = ..., M: Any = ...) -> Partial:
    """Test each cell of a column for equality with a value."""

def then_drop_null(D: Any = ..., M: Any = ...) -> Partial:
    """Drop each record that is null or NaN."""

def then_filter_bounds(bounds: tuple[float, float] | tuple[int, int], T: Any = ..., M: Any = ...) -> Partial:
    """Keep the records that lie within bounds."""

def then_filter_values(values: Collection[bool] | Collection[int] | Collection[str], T: Any = ..., M: Any = ...) -> Partial:
    """Keep the records that are in a list of values."""

def then_find(categories: Collection[bool] | Collection[int] | Collection[str], T: Any = ..., M: Any = ...) -> Partial:
    """Find the index of each record in a list of categories."""

def then_find_bin(edges: Collection[float] | Collection[int], T: Any = ..., M: Any = ...) -> Partial:
    """Find the bin of each record among bins separated by edges."""

def then_identity(D: Any = ..., M: Any = ...) -> Partial:
    """Pass the data on unchanged."""

def then_impute_constant(constant: bool | float | str, D: Any = ..., M: Any = ...) -> Partial:
    """Replace each record that is null or NaN by a constant."""

def then_impute_uniform_float(bounds: tuple[float, float], T: Any = ..., M: Any = ...) -> Partial:
    """Replace each NaN by a number drawn uniformly from an interval."""

def then_index(categories: Collection[bool] | Collection[float] | Collection[int] | Collection[str], null: bool | float | str, TOA: Any = ..., M: Any = ...) -> Partial:
    """Look up the category at each index."""

def then_is_equal(value: bool | float | str, T: Any = ..., M: Any = ...) -> Partial:
    """Test each record for equality with a value."""

def then_is_null(D: Any = ..., M: Any = ...) -> Partial:
    """Test whether each record is null or NaN."""

def then_lipschitz_float_mul(constant: float, bounds: tuple[float, float], T: Any = ...) -> Partial:
    """Clamp a number to bounds and multiply it by a constant."""

def then_mean(T: Any = ..., M: Any = ...) -> Partial:
    """Average a known number of bounded records."""

def then_metric_bounded(D: Any = ..., M: Any = ...) -> Partial:
    """Count one removed and one added record as one replaced record."""

def then_metric_unbounded(D: Any = ..., M: Any = ...) -> Partial:
    """Count a replaced record as one removed and one added record."""

def then_ordered_random(D: Any = ..., M: Any = ...) -> Partial:
    """Put the records into a random order, so that later steps can use the order."""

def then_quantile_rank_scores(candidates: Collection[float] | Collection[int], alpha: float, MO: Any = ..., T: Any = ..., M: Any = ...) -> Partial:
    """Score each candidate by the distance between the ranks of the candidate and the rank of a
    quantile."""

def then_quantile_score_candidates(candidates: Collection[float] | Collection[int], alpha: float, MO: Any = ..., T: Any = ..., M: Any = ...) -> Partial:
    """Score each candidate by its distance from a quantile of the records."""

def then_quantiles_from_counts(bin_edges: Collection[float] | Collection[int], alphas: Collection[float], interpolation: Any = ..., TA: Any = ..., F: Any = ...) -> Function:
    """Compute quantiles from noisy counts of the records in bins."""

def then_resize(size: int, constant: bool | float | str, MO: Any = ..., T: Any = ..., M: Any = ...) -> Partial:
    """Resize data to a known size: add copies of a constant, or drop records."""

def then_select_column(key: str, TOA: Any = ..., K: Any = ..., M: Any = ...) -> Partial:
    """Keep one column of a frame."""

def then_sized_bounded_covariance(size: int, bounds_0: tuple[float, float], bounds_1: tuple[float, float], ddof: int = ..., S: Any = ...) -> Transformation:
    """Compute the covariance of a known number of bounded pairs with [`make_covariance`]."""

def then_sized_bounded_float_checked_sum(size: int, bounds: tuple[float, float], S: Any = ...) -> Transformation:
    """Add up a known number of bounded floats with [`make_sum`]."""

def then_sized_bounded_float_ordered_sum(size: int, bounds: tuple[float, float], S: Any = ...) -> Transformation:
    """Add up a sequence of bounded floats with [`make_sum`]. The number of floats is known."""

def then_sized_bounded_int_checked_sum(size: int, bounds: tuple[int, int], T: Any = ...) -> Transformation:
    """Add up a known number of bounded integers with [`make_sum`]. The sum cannot overflow."""

def then_sized_bounded_int_monotonic_sum(size: int, bounds: tuple[int, int], T: Any = ...) -> Transformation:
    """Add up a known number of bounded integers of one sign with [`make_sum`]."""

def then_sized_bounded_int_ordered_sum(size: int, bounds: tuple[int, int], T: Any = ...) -> Transformation:
    """Add up a sequence of bounded integers with [`make_sum`]. The number of integers is known."""

def then_sized_bounded_int_split_sum(size: int, bounds: tuple[int, int], T: Any = ...) -> Transformation:
    """Add up a known number of bounded integers of either sign with [`make_sum`]."""

def then_sized_bounded_mean(size: int | None = ..., bounds: tuple[float, float] | None = ..., T: Any = ..., M: Any = ...) -> Partial:
    """Average a known number of bounded records with [`make_mean`]."""

def then_sized_bounded_sum(size: int | None = ..., bounds: tuple[float, float] | None | tuple[int, int] | None = ..., T: Any = ..., M: Any = ...) -> Partial:
    """Add up a known number of bounded records with [`make_sum`]."""

def then_sized_bounded_variance(size: int | None = ..., bounds: tuple[float, float] | None = ..., ddof: int = ..., T: Any = ..., M: Any = ...) -> Partial:
    """Compute the variance of a known number of bounded records with [`make_variance`]."""

def then_sized_quantile_score_candidates(size: int | None = ..., candidates: Collection[float] | Collection[int] = ..., alpha: float = ..., MO: Any = ..., T: Any = ..., M: Any = ...) -> Partial:
    """Score the candidates for a quantile with [`make_quantile_score_candidates`]."""

def then_split_dataframe(separator: str = ..., col_names: Collection[str] = ..., K: Any = ...) -> Partial:
    """Split a text into lines and fields, and make a frame from them."""

def then_split_lines() -> Partial:
    """Split a text into its lines."""

def then_split_records(separator: str = ..., M: Any = ...) -> Partial:
    """Split each text into fields."""

def then_subset_by(indicator_column: str, keep_columns: Collection[str], TK: Any = ..., M: Any = ...) -> Partial:
    """Keep the rows in which a column of truth values is true."""

def then_sum(T: Any = ..., M: Any = ...) -> Partial:
    """Add up the records."""

def then_sum_of_squared_deviations(S: Any = ..., T: Any = ..., M: Any = ...) -> Partial:
    """Add up the squared deviations of the records from their mean."""

def then_unordered(D: Any = ..., M: Any = ...) -> Partial:
    """Change the metric of the data to a metric that ignores the order of the records."""

def then_user_postprocessor(function: Callable[..., Any], TO: Any = ...) -> Function:
    """Make a post-processing step from a function of a release."""

def then_user_transformation(output_domain: Domain, output_metric: Metric, function: Callable[..., Any], stability_map: Callable[..., Any]) -> Partial:
    """Make a transformation from a function and a stability map that the user guarantees."""

def then_variance(ddof: int = ..., S: Any = ..., T: Any = ..., M: Any = ...) -> Partial:
    """Compute the variance of a known number of bounded records."""

def choose_branching_factor(size_guess: int) -> int: ...
