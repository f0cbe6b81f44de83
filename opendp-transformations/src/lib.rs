//! Stable transformations of data, each with the proof of its stability map.
//!
//! A transformation is a function of a data set and a bound on how far its outputs can move when
//! records are added, removed or replaced. Each constructor here is one file, which holds its
//! precondition, its map, the proof of the map, and tests that try to break it.
//!
//! - Row by row: [`make_is_equal`], [`make_clamp`], [`make_cast`], [`make_cast_default`],
//!   [`make_cast_inherent`], [`make_find`], [`make_find_bin`], [`make_index`], [`make_identity`], and
//!   [`make_row_by_row`] for a function of your own.
//! - Missing values: [`make_is_null`], [`make_impute_constant`], [`make_impute_uniform_float`],
//!   [`make_drop_null`].
//! - Some of the rows: [`make_filter_bounds`], [`make_filter_values`], and [`make_filter`] for a
//!   condition of your own.
//! - Size, order and metric: [`make_resize`], [`make_unordered`], [`make_ordered_random`],
//!   [`make_metric_bounded`], [`make_metric_unbounded`].
//! - Of one number: [`make_lipschitz_float_mul`].
//! - Counts: [`make_count`], [`make_count_by_categories`].
//! - Sums and means, exact however the rows are divided: [`make_sum`], [`make_bounded_sum`],
//!   [`make_sized_bounded_sum`], [`make_mean`], [`make_sized_bounded_mean`].
//! - Scores of the candidates for a quantile: [`make_quantile_score_candidates`],
//!   [`make_sized_quantile_score_candidates`].
//!
//! The constructors take the space they start from, so that they chain:
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

mod alpha;
mod bounded_sum;
mod cast;
mod cast_default;
mod cast_inherent;
#[cfg(test)]
mod checks;
mod clamp;
mod count;
mod count_by_categories;
mod drop_null;
mod filter;
mod filter_bounds;
mod filter_values;
mod find;
mod find_bin;
mod finder;
mod float_sum;
mod identity;
mod impute_constant;
mod impute_uniform_float;
mod index;
mod integer_sum;
mod is_equal;
mod is_null;
mod lattice;
mod lipschitz_float_mul;
mod mean;
mod metric_bounded;
mod metric_unbounded;
mod ordered_random;
mod quantile_score_candidates;
mod ranks;
mod resize;
mod round_cast;
mod row_by_row;
mod settle;
mod sized_bounded_mean;
mod sized_bounded_sum;
mod sized_quantile_score_candidates;
mod stated;
mod sum;
mod symmetric;
mod tally;
mod uniform;
mod unordered;

pub use alpha::Alpha;
pub use bounded_sum::make_bounded_sum;
pub use cast::make_cast;
pub use cast_default::make_cast_default;
pub use cast_inherent::make_cast_inherent;
pub use clamp::make_clamp;
pub use count::make_count;
pub use count_by_categories::{Norm, make_count_by_categories};
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
pub use lipschitz_float_mul::make_lipschitz_float_mul;
pub use mean::make_mean;
pub use metric_bounded::{UnboundedMetric, make_metric_bounded};
pub use metric_unbounded::{BoundedMetric, make_metric_unbounded};
pub use ordered_random::{UnorderedMetric, make_ordered_random};
pub use quantile_score_candidates::{ScoreDistance, make_quantile_score_candidates};
pub use resize::make_resize;
pub use round_cast::RoundCast;
pub use row_by_row::make_row_by_row;
pub use sized_bounded_mean::make_sized_bounded_mean;
pub use sized_bounded_sum::make_sized_bounded_sum;
pub use sized_quantile_score_candidates::make_sized_quantile_score_candidates;
pub use sum::{Summand, make_sum};
pub use tally::Tally;
pub use unordered::{OrderedMetric, make_unordered};
