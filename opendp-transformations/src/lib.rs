//! Stable transformations of data, each with the proof of its stability map.
//!
//! A transformation consists of a function and a stability map. If two inputs are at distance at
//! most `d_in`, their outputs are at distance at most `map(d_in)`. The distance between two data
//! sets counts the records that are added, removed or replaced. The documentation of a constructor
//! states its precondition, its map, and the proof of the map. Tests search for pairs of inputs
//! whose outputs are farther apart than the map states. [`make_user_transformation`] has no proof,
//! because its caller guarantees the map.
//!
//! - Functions that act on each row alone: [`make_is_equal`], [`make_clamp`], [`make_cast`],
//!   [`make_cast_default`], [`make_cast_inherent`], [`make_find`], [`make_find_bin`],
//!   [`make_index`], [`make_identity`], and [`make_row_by_row`] for a function of your own.
//! - Missing values: [`make_is_null`], [`make_impute_constant`], [`make_impute_uniform_float`],
//!   [`make_drop_null`].
//! - Filters: [`make_filter_bounds`], [`make_filter_values`], and [`make_filter`] for a condition
//!   of your own.
//! - Size, order and metric: [`make_resize`], [`make_unordered`], [`make_ordered_random`],
//!   [`make_metric_bounded`], [`make_metric_unbounded`].
//! - Single numbers: [`make_lipschitz_float_mul`].
//! - Counts: [`make_count`], [`make_count_distinct`], [`make_count_by`],
//!   [`make_count_by_categories`].
//! - Sums and means, which do not depend on the order of the rows or on their division into chunks:
//!   [`make_sum`], [`make_mean`].
//! - Measures of spread, with the same property: [`make_variance`],
//!   [`make_sum_of_squared_deviations`], [`make_covariance`].
//! - Trees of counts: [`make_b_ary_tree`], [`choose_branching_factor`].
//! - Post-processing of a released tree: [`make_consistent_b_ary_tree`], [`make_cdf`],
//!   [`make_quantiles_from_counts`].
//! - Scores of the candidates for a quantile: [`make_quantile_rank_scores`],
//!   [`make_quantile_score_candidates`].
//! - Tables of text: [`make_split_lines`], [`make_split_records`], [`make_create_dataframe`],
//!   [`make_split_dataframe`].
//! - Frames of named columns: [`make_select_column`], [`make_df_cast_default`],
//!   [`make_df_is_equal`], [`make_subset_by`].
//! - Constructors with older names, for sums, means, variances, covariances and scores. Each of
//!   these constructors calls a constructor in the list above. Examples are
//!   [`make_sized_bounded_sum`] and [`make_bounded_int_split_sum`].
//!
//! The first argument of most constructors is the input space. `then` can chain these constructors:
//!
//! ```
//! use opendp_core::*;
//! use opendp_transformations::{make_clamp, make_sum};
//! let incomes = Space::new(VectorDomain::new(AtomDomain::<f64>::non_nan()), SymmetricDistance)?;
//! let total = make_clamp(incomes, Bounds::new(0.0, 10.0)?)?.then(make_sum)?;
//! assert_eq!(total.invoke(&vec![-5.0, 2.5, 99.0])?, 12.5);
//! assert_eq!(total.map(&1)?, 10.0);
//! # Ok::<(), Error>(())
//! ```
#![forbid(unsafe_code)]
#![doc(test(attr(deny(warnings))))]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests compare with the platform's own functions")
)]

/// Register a function by its name, as [`opendp_core::register!`] does. Unit tests do not find
/// functions by name, so unit tests are compiled without registrations. The tests in `tests/it`
/// find constructors by name.
#[cfg(not(test))]
macro_rules! register {
    ($($registration:tt)*) => { opendp_core::register! { $($registration)* } };
}
#[cfg(test)]
macro_rules! register {
    ($($registration:tt)*) => { opendp_core::mention! { $($registration)* } };
}

mod count;
mod dataframe;
mod dataset;
mod filter;
mod increasing;
mod legacy;
mod lipschitz_float_mul;
mod quantile;
mod rows;
mod stated;
mod sum;
mod symmetric;
#[cfg(test)]
mod test_checks;
mod user_transformation;
mod widest;

// Functions that act on each record alone.
pub use rows::{
    Nullable, RoundCast, make_cast, make_cast_default, make_cast_inherent, make_clamp, make_find,
    make_find_bin, make_identity, make_impute_constant, make_impute_uniform_float, make_index,
    make_is_equal, make_is_null, make_row_by_row,
};
// Filters of records.
pub use filter::{make_drop_null, make_filter, make_filter_bounds, make_filter_values};
// Size, order and metric of a data set.
pub use dataset::{
    BoundedMetric, OrderedMetric, UnboundedMetric, UnorderedMetric, make_metric_bounded,
    make_metric_unbounded, make_ordered_random, make_resize, make_unordered,
};
// Counts.
pub use count::{
    Form, Key, LongKey, NoLongKey, Norm, Tally, make_count, make_count_by,
    make_count_by_categories, make_count_distinct, make_count_i32,
};
// Sums, means and measures of spread.
pub use sum::{
    Pairwise, Sequential, Summand, Summation, make_covariance, make_mean, make_sum,
    make_sum_of_squared_deviations, make_variance,
};
// Quantiles: scores of candidates, and trees of counts.
#[doc(hidden)]
pub use increasing::{any_null, increase};
#[doc(hidden)]
pub use quantile::counts_in_cells;
pub use quantile::{
    Alpha, Interpolation, ScoreDistance, TreeNorm, choose_branching_factor, make_b_ary_tree,
    make_cdf, make_consistent_b_ary_tree, make_quantile_rank_scores,
    make_quantile_score_candidates, make_quantiles_from_counts,
};
// Single numbers.
pub use lipschitz_float_mul::make_lipschitz_float_mul;
// Tables of text, and frames of named columns.
pub use dataframe::{
    make_create_dataframe, make_df_cast_default, make_df_is_equal, make_select_column,
    make_split_dataframe, make_split_lines, make_split_records, make_subset_by,
};
// A transformation of your own.
pub use user_transformation::make_user_transformation;
// Older names of constructors.
pub use legacy::{
    make_bounded_float_checked_sum, make_bounded_float_ordered_sum, make_bounded_int_monotonic_sum,
    make_bounded_int_ordered_sum, make_bounded_int_split_sum, make_bounded_sum,
    make_sized_bounded_covariance, make_sized_bounded_float_checked_sum,
    make_sized_bounded_float_ordered_sum, make_sized_bounded_int_checked_sum,
    make_sized_bounded_int_monotonic_sum, make_sized_bounded_int_ordered_sum,
    make_sized_bounded_int_split_sum, make_sized_bounded_mean, make_sized_bounded_sum,
    make_sized_bounded_variance, make_sized_quantile_score_candidates,
};
