//! Tight accounting of privacy loss.
//!
//! A mechanism states a [`DominatingPair`]: two distributions that are at least as far apart as its
//! releases on neighbours. An [`Account`] composes any number of them and encloses delta at an
//! epsilon, or epsilon at a delta, between two certified bounds.
//!
//! # How it computes, and why the bounds hold
//!
//! 1. Each pair puts its outputs into buckets by their loss, with a stated relative error. The
//!    masses are plain floats, computed by functions whose error is proven where they are defined.
//! 2. Buckets become a measure on a grid that dominates the loss ("connect the dots"), or one that
//!    is dominated by it. The errors of step 1 enlarge, or reduce, the masses and the losses.
//! 3. The measures are tilted, transformed, raised to powers, multiplied and transformed back. The
//!    error of the transforms is bounded from the actual numbers and added to each mass. Mass
//!    outside the window is bounded by Chernoff's inequality and added to delta. Because of the
//!    tilt these errors are small relative to delta, even when delta is tiny.
//! 4. Grid, tilt and window are chosen for the question that is asked. The choice is a heuristic.
//!    It affects how tight the bounds are, but not whether they hold.
//!
//! Pairs with a known transform of their loss ([`DominatingPair::tilted`]) skip these steps. If the
//! transform of the composition decays fast, delta is a sum over a few dozen frequencies, with
//! bounds of the omitted ones. If it does not, as for one release with atoms, the grid is used.
//!
//! If the transforms do not decay and there are 16 or more different pairs, such as counts with
//! Laplace noise of a thousand scales, a release with little Gaussian noise is added. It increases
//! epsilon by about 0.003 %, and makes all high frequencies negligible.
//!
//! For 64 or more different pairs this is the first choice, with more noise: epsilon increases by
//! about 0.01 %. The computation is planned for a few similar pairs. Samples and curves list their
//! losses, and all waves of such a loss are computed by one Fourier transform.
//!
//! Before these steps, discrete Gaussian noise is replaced by the pairs it lies [between](Between):
//! equal releases by one release, and large scales by continuous noise. All Gaussian noise is
//! joined into one release. Pairs with a known `rho` only are added up. If every pair has a `rho`,
//! their sum gives another bound, and the smaller bound is reported.
//!
//! All discrete Gaussian noise of an account is also replaced by one release of continuous noise,
//! with a small share of noise added once. This bounds vectors of integers at every distance. With
//! `m` equal releases of scale `s` the share is about `0.5 / (m s^2)`, and epsilon grows by at most
//! this share. So the bound is within 0.1 % where `m s^2` is at least 500. For fewer releases of
//! vectors at distances above the scale, the better of this bound and of `rho` is reported.
//!
//! If an account has equal releases of vectors of integers only, and they are few, delta is also
//! computed by recursion: each release has the worst shift in view of all losses before it. This is
//! the exact value, up to 1 % of delta. It may exceed that of continuous noise by more than 0.1 %,
//! because the losses are on a lattice that the choice of shifts can make finer or coarser: ten
//! releases of scale 2 at distance 2 have an epsilon of 19.459 at a delta of 1e-6, and continuous
//! noise has 19.424.
//!
//! A pair known only by its profile is evaluated once, at 257 epsilons, and composed on a grid.
//!
//! An [`AdaptiveAccount`] composes releases that are chosen in view of earlier answers.
//!
//! [`gaussian_delta`] and the functions next to it need no grid: they are certified to the last
//! digit.

mod account;
mod adaptive;
mod basic;
mod concentrated_pair;
pub(crate) mod convolution;
mod curve_pair;
pub(crate) mod discrete_loss;
pub(crate) mod elementary;
mod enclosed_pair;
mod finite_pair;
mod gather;
mod gaussian;
mod gaussian_pair;
mod integer_game;
mod integer_gaussian;
mod integer_vector_pair;
mod inversion;
mod joined;
mod laplace_pair;
mod lattice_transform;
mod listed_transform;
mod mirror;
mod noise_profile;
mod normal;
pub(crate) mod normal_mass;
mod pair;
mod plan;
mod pot;
mod product;
mod profile;
mod quadrature;
mod renyi;
mod renyi_pair;
mod replaced_pair;
mod replaced_profile;
mod sampled_pair;
mod sampled_transform;
mod simplified;
mod transform;
mod way;

pub use account::{Account, Certified};
pub use adaptive::{AdaptiveAccount, AdaptiveLoss, Kind, Room, Share};
pub use concentrated_pair::ConcentratedPair;
pub use curve_pair::CurvePair;
pub use enclosed_pair::{Between, EnclosedPair};
pub use finite_pair::{
    DiscreteGaussianPair, DiscreteLaplacePair, FinitePair, PrivatePair, RandomizedResponsePair,
    ThresholdedPair,
};
pub use gaussian::{gaussian_delta, gaussian_epsilon, gaussian_mu, gaussian_tradeoff, normal_tail};
pub use gaussian_pair::{GaussianPair, SampledGaussianPair};
pub use integer_vector_pair::IntegerVectorPair;
pub use joined::{joined_delta, joined_epsilon, joined_mu, mu_of_pure, pure_of_mu};
pub use laplace_pair::{BoundedRangePair, LaplacePair, SampledLaplacePair};
pub use noise_profile::{
    profile_of_discrete_gaussian, profile_of_discrete_gaussian_vector, profile_of_discrete_laplace,
    profile_of_gaussian, profile_of_laplace,
};
pub use pair::{Buckets, DominatingPair, Grid, LogConcaveNoise};
pub use profile::{
    profile_of, profile_of_concentrated, profile_of_mixture, profile_of_poisson_sample,
    profile_of_private, profile_of_renyi,
};
pub use renyi::{
    concentrated_delta, concentrated_epsilon, concentrated_rho, concentrated_rho_of_pure,
    renyi_delta, renyi_epsilon,
};
pub use renyi_pair::RenyiPair;
pub use replaced_pair::ReplacedPair;
pub use replaced_profile::profile_of_replaced_sample;
pub use sampled_pair::{FixedSizePair, SampledPair};
pub use transform::{Listed, Tilted, Wave};

#[cfg(test)]
mod tests;
