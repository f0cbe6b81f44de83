//! Arithmetic with a documented rounding direction.

pub mod cast;
pub mod directed;
pub mod dyadic;
pub mod elementary;
mod exact;
pub mod fixed;
mod float;
pub mod number;
mod range;
mod refine;
mod shown;
pub mod sum;

pub use cast::{ExactCast, InfCast};
pub use directed::Directed;
pub use elementary::DirectedFloat;
pub use exact::Exact;
pub use number::{Float, Integer, Number};
pub use range::check_range;
pub use shown::shown;
pub use sum::{inf_sum, neg_inf_sum};
