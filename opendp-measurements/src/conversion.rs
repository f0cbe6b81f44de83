//! Conversions from one privacy measure to another.

mod approximate;
mod fix_delta;
mod fixed_approx_dp_to_approx_dp;
mod pure_dp_to_zcdp;
mod rdp_to_approx_dp;
mod zcdp_to_approx_dp;

// The conversion to a profile, which several constructors share.
mod profiled;

#[cfg(test)]
mod conversion_test;

pub use approximate::make_approximate;
pub use fix_delta::{ProfileMeasure, make_fix_delta};
pub use fixed_approx_dp_to_approx_dp::{FixedMeasure, make_fixed_approxDP_to_approxDP};
pub use profiled::Profiled;
pub use pure_dp_to_zcdp::make_pureDP_to_zCDP;
pub use rdp_to_approx_dp::{RenyiMeasure, make_RDP_to_approxDP};
pub use zcdp_to_approx_dp::{ConcentratedMeasure, make_zCDP_to_approxDP};
