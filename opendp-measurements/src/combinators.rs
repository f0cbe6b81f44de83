//! Constructors that join what others have made.

mod adaptive_composition;
mod chain;
mod composition;
mod fully_adaptive_composition;
mod interactive;
mod parallel_composition;
mod privacy_filter;
mod select_private_candidate;

pub use adaptive_composition::make_adaptive_composition;
pub use chain::{make_chain_mt, make_chain_pm, make_chain_tt};
pub use composition::make_composition;
pub use fully_adaptive_composition::make_fully_adaptive_composition;
pub use parallel_composition::make_parallel_composition;
pub use privacy_filter::make_privacy_filter;
pub(crate) use privacy_filter::within;
pub use select_private_candidate::{Candidate, CandidateMeasure, make_select_private_candidate};
