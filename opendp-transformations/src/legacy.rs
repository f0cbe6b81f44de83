//! Constructors under older names. Each constructor calls a newer constructor, its target. The
//! column `fixed` states a condition on the input space, or the input space that the constructor
//! builds:
//!
//! | older name | target | fixed |
//! |---|---|---|
//! | `make_bounded_sum` | `make_sum` | the size is unknown |
//! | `make_sized_bounded_sum` | `make_sum` | the size is known |
//! | `make_sized_bounded_mean` | `make_mean` | |
//! | `make_sized_bounded_variance` | `make_variance` | |
//! | `make_sized_bounded_covariance` | `make_covariance` | the input space, which has `size` and bounds |
//! | `make_sized_quantile_score_candidates` | `make_quantile_score_candidates` | the size is known |
//! | `make_bounded_*_sum` | `make_sum` | the input space, which has bounds |
//! | `make_sized_bounded_*_sum` | `make_sum` | the input space, which has `size` and bounds |

mod sized;
mod sums;

pub use sized::{
    make_bounded_sum, make_sized_bounded_covariance, make_sized_bounded_mean,
    make_sized_bounded_sum, make_sized_bounded_variance, make_sized_quantile_score_candidates,
};
pub use sums::{
    make_bounded_float_checked_sum, make_bounded_float_ordered_sum, make_bounded_int_monotonic_sum,
    make_bounded_int_ordered_sum, make_bounded_int_split_sum, make_sized_bounded_float_checked_sum,
    make_sized_bounded_float_ordered_sum, make_sized_bounded_int_checked_sum,
    make_sized_bounded_int_monotonic_sum, make_sized_bounded_int_ordered_sum,
    make_sized_bounded_int_split_sum,
};

opendp_core::migrate! {
    make_bounded_sum in 1: Deprecated { advice: "use `make_sum`" };
    make_sized_bounded_sum in 1: Deprecated { advice: "use `make_sum`" };
    make_sized_bounded_mean in 1: Deprecated { advice: "use `make_mean`" };
    make_sized_bounded_variance in 1: Deprecated { advice: "use `make_variance`" };
    make_sized_bounded_covariance in 1: Deprecated { advice: "use `make_covariance`" };
    make_sized_quantile_score_candidates in 1: Deprecated { advice: "use `make_quantile_score_candidates`" };
    make_bounded_float_checked_sum in 1: Deprecated { advice: "use `make_sum`" };
    make_bounded_float_ordered_sum in 1: Deprecated { advice: "use `make_sum`" };
    make_bounded_int_monotonic_sum in 1: Deprecated { advice: "use `make_sum`" };
    make_bounded_int_ordered_sum in 1: Deprecated { advice: "use `make_sum`" };
    make_bounded_int_split_sum in 1: Deprecated { advice: "use `make_sum`" };
    make_sized_bounded_float_checked_sum in 1: Deprecated { advice: "use `make_sum`" };
    make_sized_bounded_float_ordered_sum in 1: Deprecated { advice: "use `make_sum`" };
    make_sized_bounded_int_checked_sum in 1: Deprecated { advice: "use `make_sum`" };
    make_sized_bounded_int_monotonic_sum in 1: Deprecated { advice: "use `make_sum`" };
    make_sized_bounded_int_ordered_sum in 1: Deprecated { advice: "use `make_sum`" };
    make_sized_bounded_int_split_sum in 1: Deprecated { advice: "use `make_sum`" };
}
