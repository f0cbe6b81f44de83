//! Stable transformations of data, each with the proof of its stability map.
//!
//! A transformation is a function of a data set, with a bound on how far its output can move when
//! records are added, removed or replaced. Each constructor has its own file with its precondition,
//! its map, the proof of the map, and tests that try to break it.
//!
//! - Each row alone: [`make_is_equal`], [`make_clamp`], [`make_cast`], [`make_cast_default`],
//!   [`make_cast_inherent`], [`make_find`], [`make_find_bin`], [`make_index`], [`make_identity`],
//!   and [`make_row_by_row`] for a function of your own.
//! - Missing values: [`make_is_null`], [`make_impute_constant`], [`make_impute_uniform_float`],
//!   [`make_drop_null`].
//! - Filters: [`make_filter_bounds`], [`make_filter_values`], and [`make_filter`] for a condition
//!   of your own.
//! - Size, order and metric: [`make_resize`], [`make_unordered`], [`make_ordered_random`],
//!   [`make_metric_bounded`], [`make_metric_unbounded`].
//! - Single numbers: [`make_lipschitz_float_mul`].
//! - Counts: [`make_count`], [`make_count_distinct`], [`make_count_by`],
//!   [`make_count_by_categories`].
//! - Sums and means, exact for any order or split of the rows: [`make_sum`], [`make_bounded_sum`],
//!   [`make_sized_bounded_sum`], [`make_mean`], [`make_sized_bounded_mean`]; and sums under the
//!   older names of their strategies, such as [`make_bounded_int_split_sum`].
//! - Measures of spread, also exact: [`make_variance`], [`make_sum_of_squared_deviations`],
//!   [`make_covariance`].
//! - Trees of counts: [`make_b_ary_tree`], [`choose_branching_factor`]; and post-processing of a
//!   released tree, [`make_consistent_b_ary_tree`], [`make_cdf`], [`make_quantiles_from_counts`].
//! - Scores of the candidates for a quantile: [`make_quantile_score_candidates`],
//!   [`make_sized_quantile_score_candidates`].
//! - Tables of text: [`make_split_lines`], [`make_split_records`], [`make_create_dataframe`],
//!   [`make_split_dataframe`]; and frames of named columns: [`make_select_column`],
//!   [`make_df_cast_default`], [`make_df_is_equal`], [`make_subset_by`].
//!
//! The first argument of a constructor is the input space, so constructors chain:
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
    allow(
        clippy::unwrap_used,
        clippy::panic,
        clippy::expect_used,
        clippy::disallowed_methods,
        reason = "tests stop by panicking, and compare with the platform's own functions"
    )
)]

/// Offer a function to the registry, as [`opendp_core::register!`] does. Unit tests are compiled
/// without registrations; `tests/it` tests the resolution of names.
#[cfg(not(test))]
macro_rules! register {
    ($($registration:tt)*) => { opendp_core::register! { $($registration)* } };
}
#[cfg(test)]
macro_rules! register {
    ($($registration:tt)*) => { opendp_core::mention! { $($registration)* } };
}

mod alpha;
mod b_ary_tree;
mod bounded_sum;
mod cast;
mod cast_default;
mod cast_inherent;
mod cdf;
mod checked_sum;
#[cfg(test)]
mod checks;
mod choose_branching_factor;
mod clamp;
mod consistent_b_ary_tree;
mod count;
mod count_by;
mod count_by_categories;
mod count_distinct;
mod counts;
mod covariance;
mod create_dataframe;
mod deviations;
mod df_cast_default;
mod df_is_equal;
mod distinct;
mod drop_null;
mod each;
mod filter;
mod filter_bounds;
mod filter_values;
mod find;
mod find_bin;
mod finder;
mod float_sum;
mod grid;
mod identity;
mod impute_constant;
mod impute_uniform_float;
mod index;
mod integer_sum;
mod is_equal;
mod is_null;
mod key;
mod lattice;
mod lipschitz_float_mul;
mod mean;
mod metric_bounded;
mod metric_unbounded;
mod monotonic_sum;
mod offset;
mod ordered_random;
mod ordered_sum;
mod places;
mod quantile_score_candidates;
mod quantiles_from_counts;
mod ranks;
mod replaced;
mod resize;
mod round_cast;
mod row_by_row;
mod sample;
mod select_column;
mod settle;
mod sized_bounded_mean;
mod sized_bounded_sum;
mod sized_quantile_score_candidates;
mod split_dataframe;
mod split_lines;
mod split_records;
mod split_sum;
mod stated;
mod subset_by;
mod sum;
mod sum_of_squared_deviations;
mod summation;
mod symmetric;
mod table;
mod tally;
mod uniform;
mod unordered;
mod user_transformation;
mod variance;
mod widest;

pub use alpha::Alpha;
pub use b_ary_tree::{TreeNorm, make_b_ary_tree};
pub use bounded_sum::make_bounded_sum;
pub use cast::make_cast;
pub use cast_default::make_cast_default;
pub use cast_inherent::make_cast_inherent;
pub use cdf::make_cdf;
pub use checked_sum::{
    make_bounded_float_checked_sum, make_sized_bounded_float_checked_sum,
    make_sized_bounded_int_checked_sum,
};
pub use choose_branching_factor::choose_branching_factor;
pub use clamp::make_clamp;
pub use consistent_b_ary_tree::make_consistent_b_ary_tree;
pub use count::make_count;
pub use count_by::make_count_by;
pub use count_by_categories::{Norm, make_count_by_categories};
pub use count_distinct::make_count_distinct;
pub use covariance::{make_covariance, make_sized_bounded_covariance};
pub use create_dataframe::make_create_dataframe;
pub use df_cast_default::make_df_cast_default;
pub use df_is_equal::make_df_is_equal;
pub use drop_null::make_drop_null;
pub use filter::make_filter;
pub use filter_bounds::make_filter_bounds;
pub use filter_values::make_filter_values;
pub use find::make_find;
pub use find_bin::make_find_bin;
pub use identity::make_identity;
pub use impute_constant::make_impute_constant;
pub use impute_uniform_float::make_impute_uniform_float;
pub use index::make_index;
pub use is_equal::make_is_equal;
pub use is_null::{Nullable, make_is_null};
pub use key::Key;
pub use lipschitz_float_mul::make_lipschitz_float_mul;
pub use mean::make_mean;
pub use metric_bounded::{UnboundedMetric, make_metric_bounded};
pub use metric_unbounded::{BoundedMetric, make_metric_unbounded};
pub use monotonic_sum::{make_bounded_int_monotonic_sum, make_sized_bounded_int_monotonic_sum};
pub use ordered_random::{UnorderedMetric, make_ordered_random};
pub use ordered_sum::{
    make_bounded_float_ordered_sum, make_bounded_int_ordered_sum,
    make_sized_bounded_float_ordered_sum, make_sized_bounded_int_ordered_sum,
};
pub use quantile_score_candidates::{ScoreDistance, make_quantile_score_candidates};
pub use quantiles_from_counts::{Interpolation, make_quantiles_from_counts};
pub use resize::make_resize;
pub use round_cast::RoundCast;
pub use row_by_row::make_row_by_row;
pub use select_column::make_select_column;
pub use sized_bounded_mean::make_sized_bounded_mean;
pub use sized_bounded_sum::make_sized_bounded_sum;
pub use sized_quantile_score_candidates::make_sized_quantile_score_candidates;
pub use split_dataframe::make_split_dataframe;
pub use split_lines::make_split_lines;
pub use split_records::make_split_records;
pub use split_sum::{make_bounded_int_split_sum, make_sized_bounded_int_split_sum};
pub use subset_by::make_subset_by;
pub use sum::{Summand, make_sum};
pub use sum_of_squared_deviations::make_sum_of_squared_deviations;
pub use summation::{Pairwise, Sequential, Summation};
pub use tally::Tally;
pub use unordered::{OrderedMetric, make_unordered};
pub use user_transformation::make_user_transformation;
pub use variance::{make_sized_bounded_variance, make_variance};
