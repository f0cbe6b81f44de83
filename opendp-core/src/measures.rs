//! The privacy measures of this crate, and losses that are curves.

mod approximate;
mod curve;
mod divergence;
mod sampled;
mod table;
mod user;

pub use approximate::{Approximate, approximate, fixed_smoothed_max_divergence};
pub use curve::{ComposableLoss, PrivacyProfile, RenyiCurve};
pub use divergence::{
    MaxDivergence, RenyiDivergence, SmoothedMaxDivergence, ZeroConcentratedDivergence,
    max_divergence, renyi_divergence, smoothed_max_divergence, zero_concentrated_divergence,
};
pub use sampled::{Sampled, sampled};
pub use user::{UserDivergence, user_divergence};
