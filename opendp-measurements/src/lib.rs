//! Private mechanisms, their exact samplers, and the combinators that join them.
//!
//! - [`make_laplace`] and [`make_gaussian`] add noise to a number or to each number of a vector.
//! - [`make_gumbel_max`] chooses the index of a good score.
//! - [`make_noisy_max`] and [`make_noisy_top_k`] choose one or several, under two privacy measures.
//! - [`make_randomized_response_bool`] and [`make_randomized_response`] tell the truth with a known
//!   probability.
//! - [`make_chain_tt`], [`make_chain_mt`], [`make_chain_pm`] chain two steps;
//!   [`make_composition`] makes several releases of the same data.
//! - [`accounting`] composes losses as tightly as theory allows.
//! - [`samplers`] draw the noise, with exactly the probabilities that the proofs assume.
//!
//! Each constructor is documented with its proof, and registered under its name: a program that
//! links this crate, and names it in code, finds them in the registry.
//!
//! ```
//! use opendp_core::*;
//! use opendp_measurements::{Scale, make_laplace};
//!
//! // A sum of ages, each within 0 and 120: a person changes it by 120 at most.
//! let people = Space::new(
//!     VectorDomain::new(AtomDomain::bounded(Bounds::new(0, 120)?)),
//!     SymmetricDistance,
//! )?;
//! let sums = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new())?;
//! let sum = Transformation::new(
//!     people,
//!     sums,
//!     Function::map(|ages: &Vec<i32>| Ok(ages.iter().fold(0_i32, |sum, x| sum.saturating_add(*x)))),
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
        clippy::unwrap_used,
        clippy::panic,
        clippy::expect_used,
        clippy::disallowed_methods,
        reason = "a test may fail, and compares with values that need no bound on their error"
    )
)]

pub mod accounting;
mod accuracy;
mod combinators;
mod gaussian;
mod gaussian_accuracy;
mod gumbel_max;
mod laplace;
mod laplace_accuracy;
mod noise;
mod noisy_max;
mod noisy_top_k;
mod numbers;
mod quotient;
mod randomized_response;
pub mod samplers;
mod scale;
mod selection;
mod temperature;

pub use combinators::{make_chain_mt, make_chain_pm, make_chain_tt, make_composition};
pub use gaussian::{GaussianLoss, GaussianMetric, GaussianNumber, make_gaussian, make_gaussian_in};
pub use gumbel_max::{ScoreMetric, make_gumbel_max};
pub use laplace::{LaplaceLoss, LaplaceMetric, LaplaceNumber, make_laplace, make_laplace_in};
pub use noisy_max::make_noisy_max;
pub use noisy_top_k::make_noisy_top_k;
pub use numbers::Numbers;
pub use randomized_response::{make_randomized_response, make_randomized_response_bool};
pub use samplers::Optimize;
pub use scale::Scale;
pub use selection::SelectionMeasure;
pub use temperature::Temperature;

#[cfg(test)]
mod privacy;
