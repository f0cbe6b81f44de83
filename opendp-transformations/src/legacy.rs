//! Constructors under their older names.

mod bounded_sum;
mod checked_sum;
mod monotonic_sum;
mod ordered_sum;
mod sized_bounded_mean;
mod sized_bounded_sum;
mod sized_quantile_score_candidates;
mod split_sum;

pub use bounded_sum::make_bounded_sum;
pub use checked_sum::{
    make_bounded_float_checked_sum, make_sized_bounded_float_checked_sum,
    make_sized_bounded_int_checked_sum,
};
pub use monotonic_sum::{make_bounded_int_monotonic_sum, make_sized_bounded_int_monotonic_sum};
pub use ordered_sum::{
    make_bounded_float_ordered_sum, make_bounded_int_ordered_sum,
    make_sized_bounded_float_ordered_sum, make_sized_bounded_int_ordered_sum,
};
pub use sized_bounded_mean::make_sized_bounded_mean;
pub use sized_bounded_sum::make_sized_bounded_sum;
pub use sized_quantile_score_candidates::make_sized_quantile_score_candidates;
pub use split_sum::{make_bounded_int_split_sum, make_sized_bounded_int_split_sum};
