//! Constructors that combine other measurements and transformations.

mod adaptive_composition;
mod approximate;
mod chain;
mod composition;
mod fix_delta;
mod fixed_approx_dp_to_approx_dp;
mod fully_adaptive_composition;
mod group_privacy;
mod interactive;
mod parallel_composition;
mod parts;
mod population_amplification;
mod privacy_filter;
mod profiled;
mod pure_dp_to_zcdp;
mod rdp_to_approx_dp;
mod select_private_candidate;
mod subsampling;
mod zcdp_to_approx_dp;

#[cfg(test)]
mod conversions;

pub use adaptive_composition::make_adaptive_composition;
pub use approximate::make_approximate;
pub use chain::{make_chain_mt, make_chain_pm, make_chain_tt};
pub use composition::make_composition;
pub use fix_delta::{ProfileMeasure, make_fix_delta};
pub use fixed_approx_dp_to_approx_dp::{FixedMeasure, make_fixed_approxDP_to_approxDP};
pub use fully_adaptive_composition::make_fully_adaptive_composition;
pub use group_privacy::{GroupMeasure, Growth, PathMetric, make_group_privacy};
pub use parallel_composition::make_parallel_composition;
pub use parts::Parts;
pub use population_amplification::{
    AmplifiableMeasure, PopulationMetric, make_population_amplification,
};
pub use privacy_filter::make_privacy_filter;
pub(crate) use privacy_filter::within;
pub use profiled::Profiled;
pub use pure_dp_to_zcdp::make_pureDP_to_zCDP;
pub use rdp_to_approx_dp::{RenyiMeasure, make_RDP_to_approxDP};
pub use select_private_candidate::{Candidate, CandidateMeasure, make_select_private_candidate};
pub use subsampling::{AddRemoveMetric, make_fixed_size_subsampling, make_poisson_subsampling};
pub use zcdp_to_approx_dp::{ConcentratedMeasure, make_zCDP_to_approxDP};
