//! Private mechanisms, exact samplers for these mechanisms, and combinators that join mechanisms.
//!
//! - [`make_laplace`] and [`make_gaussian`] add noise to a number or to each number of a vector.
//! - [`make_continuous_gaussian`] also adds continuous Gaussian noise to integers, and rounds the
//!   sum.
//! - [`make_geometric`] adds discrete Laplace noise to integers. If the releases are limited to an
//!   interval, the executed instructions depend neither on the data nor on the noise, except with a
//!   tiny probability.
//! - [`make_canonical_noise`] adds the canonical noise of a given epsilon and delta. For binary
//!   data, some hypothesis tests with this noise reach the largest power that epsilon and delta
//!   permit.
//! - [`make_noise`] adds Laplace or Gaussian noise, depending on the privacy measure.
//! - [`make_laplace_threshold`], [`make_gaussian_threshold`] and [`make_noise_threshold`] add noise
//!   to the numbers of a map. These mechanisms release the keys whose noisy numbers reach a
//!   threshold.
//! - [`make_alp_queryable`] makes one release of a map and answers questions about any key.
//! - [`confidence_interval`] puts an interval around a noisy number.
//!   [`laplacian_scale_to_accuracy`] and similar functions convert a scale to an error.
//!   [`accuracy_to_laplacian_scale`] and similar functions convert an error to a scale. These
//!   functions compute certified bounds. For Gaussian noise, they use [`tails`].
//! - [`make_gumbel_max`] adds Gumbel noise to scores, and chooses the index of the best noisy
//!   score.
//! - [`make_noisy_max`] chooses one good score, and [`make_noisy_top_k`] chooses several good
//!   scores. Both constructors support pure and zero-concentrated differential privacy.
//!   [`make_report_noisy_max_gumbel`] is an older name of [`make_noisy_max`].
//! - [`make_sparse_vector`] answers which of many queries exceed a threshold. The loss does not
//!   depend on the number of queries below the threshold. [`make_above_threshold`] does the same
//!   for the numbers of a vector.
//! - [`make_randomized_response_bool`] and [`make_randomized_response`] return the true value with
//!   a known probability. [`make_randomized_response_bitvec`] does the same for each bit of a
//!   vector.
//! - [`make_chain_tt`], [`make_chain_mt`] and [`make_chain_pm`] chain two steps.
//!   [`make_composition`] makes several releases of the same data.
//! - [`make_fully_adaptive_composition`], [`make_privacy_filter`] and [`make_adaptive_composition`]
//!   answer questions one after another. The first constructor does not limit the total loss. The
//!   second constructor has a budget for the total loss. The third constructor takes a list of
//!   upper bounds, one for the loss of each question. This list is fixed in advance.
//! - [`make_select_private_candidate`] repeats a measurement until the score of its release reaches
//!   a threshold.
//! - [`make_parallel_composition`] makes a release of each part of a data set. Each record is in at
//!   most one part. So for one added or removed record, the loss is the largest loss of a single
//!   release.
//! - [`make_poisson_subsampling`] and [`make_fixed_size_subsampling`] run a measurement on a random
//!   sample of the data. The sample stays secret, so the loss is smaller.
//!   [`make_population_amplification`] states the smaller loss if the data already are a secret
//!   sample.
//! - [`make_group_privacy`] computes a bound on the loss of groups of records from the loss of one
//!   record.
//! - [`make_pureDP_to_zCDP`], [`make_zCDP_to_approxDP`], [`make_fix_delta`] and similar
//!   constructors convert a loss from one privacy measure to another.
//! - [`make_user_measurement`], [`new_function`], [`new_queryable`] and [`new_privacy_profile`]
//!   accept functions and losses for which the caller is responsible.
//! - [`accounting`] computes tight and certified bounds on the loss of a composition.
//! - [`samplers`] draws the noise with exactly the probabilities that the proofs assume.
//!
//! The documentation of each constructor contains its proof. Each constructor is registered under
//! its name. If a program links this crate and uses an item of the crate, the constructors are in
//! the registry of the program.
//!
//! ```
//! use opendp_core::*;
//! use opendp_measurements::{Scale, make_laplace};
//!
//! // A sum of ages from 0 to 120. One added or removed person changes the sum by at most 120.
//! let people = Space::new(
//!     VectorDomain::new(AtomDomain::bounded(Bounds::new(0, 120)?)),
//!     SymmetricDistance,
//! )?;
//! let sums = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new())?;
//! let sum = Transformation::new(
//!     people,
//!     sums,
//!     Function::map(|ages: &Vec<i32>| {
//!         Ok(ages.iter().fold(0, |sum: i32, age| sum.saturating_add(*age)))
//!     }),
//!     StabilityMap::from_constant(120),
//! );
//! let release = sum.then(|sums| make_laplace(sums, Scale::new(240.0)?, None))?;
//! assert_eq!(release.map(&1)?, 0.5); // epsilon
//! let answer: i32 = release.invoke(&vec![31, 58])?;
//! # let _ = answer;
//! # Ok::<(), Error>(())
//! ```
#![forbid(unsafe_code)]
#![doc(test(attr(deny(warnings))))]
#![cfg_attr(
    test,
    allow(
        clippy::excessive_precision,
        clippy::disallowed_methods,
        reason = "a test compares with values that need no bound on their error"
    )
)]

/// Add a function to the registry, as [`opendp_core::register!`] does. In a build of unit tests,
/// this macro registers nothing.
#[cfg(not(test))]
macro_rules! register {
    ($($registration:tt)*) => { opendp_core::register! { $($registration)* } };
}
#[cfg(test)]
macro_rules! register {
    ($($registration:tt)*) => { opendp_core::mention! { $($registration)* } };
}

pub mod accounting;
pub mod accuracy;
mod alp_queryable;
mod amplification;
mod chain;
mod collected;
mod composition;
mod conversion;
mod custom;
mod group_privacy;
mod legacy;
mod noise;
#[cfg(test)]
mod privacy_test;
mod recent;
mod response;
pub mod samplers;
mod selection;
mod sparse_vector;
pub mod tails;
mod threshold;

// Mechanisms that add noise to numbers.
pub use noise::{
    BigNoiseDistribution, ContinuousGaussian, Gaussian, GeometricNumber, Laplace,
    NoiseDistribution, NoiseLoss, NoiseMeasure, NoiseNumber, Numbers, Scale, make_canonical_noise,
    make_continuous_gaussian, make_gaussian, make_gaussian_in, make_geometric, make_laplace,
    make_laplace_in, make_noise,
};
// Mechanisms that add noise to the numbers of a map. Keys whose noisy numbers are below a threshold
// are not released.
#[doc(hidden)]
pub use threshold::{Keep, Kept, keeping};
pub use threshold::{
    NoiseThresholdMeasure, ThresholdNumber, make_gaussian_threshold, make_laplace_threshold,
    make_noise_threshold,
};
// A noisy map that answers questions about any key.
pub use alp_queryable::make_alp_queryable;
// Functions that relate the scale of noise to the error of noisy numbers.
pub use accuracy::confidence_interval::{
    Intervals, Released, confidence_interval, confidence_interval_of_each,
};
pub use accuracy::ends::is_near_end;
pub use accuracy::scale_accuracy::{
    accuracy_to_discrete_gaussian_scale, accuracy_to_discrete_laplacian_scale,
    accuracy_to_gaussian_scale, accuracy_to_laplacian_scale, discrete_gaussian_scale_to_accuracy,
    discrete_laplacian_scale_to_accuracy, gaussian_scale_to_accuracy, laplacian_scale_to_accuracy,
};
// Mechanisms that choose candidates with good scores.
#[doc(hidden)]
pub use collected::Collected;
pub use samplers::Optimize;
#[doc(hidden)]
pub use selection::{AnySelectionMeasure, Choose, LossOfChoices, Selects};
pub use selection::{
    Candidate, CandidateMeasure, ScoreMetric, SelectionMeasure, Temperature, make_gumbel_max,
    make_noisy_max, make_noisy_top_k, make_select_private_candidate,
};
// Mechanisms that answer which queries exceed a threshold.
pub use sparse_vector::{Query, make_above_threshold, make_sparse_vector, sparse_vector_scales};
// Mechanisms of randomized response.
pub use response::{
    debias_randomized_response_bitvec, make_randomized_response, make_randomized_response_bitvec,
    make_randomized_response_bool,
};
// Constructors that chain two steps.
pub use chain::{make_chain_mt, make_chain_pm, make_chain_tt};
// Constructors that compose several releases of the same data, or releases of parts of the data.
pub use composition::{
    Parts, make_adaptive_composition, make_composition, make_fully_adaptive_composition,
    make_parallel_composition, make_privacy_filter,
};
// Constructors that convert a loss from one privacy measure to another.
pub use conversion::{
    ConcentratedMeasure, FixedMeasure, ProfileMeasure, Profiled, RenyiMeasure,
    make_RDP_to_approxDP, make_approximate, make_fix_delta, make_fixed_approxDP_to_approxDP,
    make_pureDP_to_zCDP, make_zCDP_to_approxDP,
};
// Constructors of measurements on random samples. If the sample is secret, the loss is smaller than
// the loss of the same measurement without sampling.
pub use amplification::{
    AddRemoveMetric, AmplifiableMeasure, PopulationMetric, make_fixed_size_subsampling,
    make_poisson_subsampling, make_population_amplification,
};
// The constructor for the loss of groups of records.
pub use group_privacy::{GroupMeasure, Growth, PathMetric, make_group_privacy};
// User-defined measurements, post-processing, queryables and privacy profiles.
pub use custom::{
    make_user_measurement, new_function, new_privacy_profile, new_queryable, new_queryable_of,
};
// Constructors under older names.
pub use legacy::make_report_noisy_max_gumbel;
