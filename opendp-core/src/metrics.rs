//! The metrics of this crate: distances between data sets, and distances between aggregates.

mod any_dataset;
mod any_number;
mod dataset;
mod discrete;
mod frame;
mod maximum;
mod norm;
mod partition;
mod text;
mod user;

pub use any_dataset::AnyDatasetMetric;
pub use any_number::{AnyNumber, NumberMetric, OfAnyNumber};
pub(crate) use dataset::same;
pub use dataset::{
    ChangeOneDistance, HammingDistance, InsertDeleteDistance, SymmetricDistance,
    change_one_distance, hamming_distance, insert_delete_distance, symmetric_distance,
};
pub use discrete::{DiscreteDistance, discrete_distance};
pub use maximum::{LInfDistance, RangeDistance, linf_distance, range_distance};
pub use norm::{
    AbsoluteDistance, L1Distance, L2Distance, LpDistance, absolute_distance, l1_distance,
    l2_distance,
};
pub use partition::{
    L0PInfDistance, L01InfDistance, L02InfDistance, l01inf_distance, l02inf_distance,
};
pub use user::{UserDistance, user_distance};
