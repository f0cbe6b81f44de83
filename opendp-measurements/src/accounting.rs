//! Tight accounting of privacy loss.
//!
//! A mechanism states a [`DominatingPair`]. A dominating pair consists of two distributions. The
//! loss of an output is the logarithm of the quotient of its two probabilities. At each epsilon,
//! the delta of the dominating pair is at least the delta of the mechanism on any two neighbouring
//! data sets. An [`Account`] composes any number of pairs. The account computes certified lower and
//! upper bounds on delta at an epsilon, or on epsilon at a delta.
//!
//! # How an account computes, and why the bounds hold
//!
//! 1. Each pair puts its outputs into buckets. Each bucket holds the outputs whose losses are in
//!    one interval. A bucket has two masses: the computed probabilities of the bucket under the two
//!    distributions. The pair states a bound on the relative error of the masses, and a bound on
//!    the error of the losses. The comments of the functions that compute masses prove these
//!    bounds.
//! 2. The ends of the intervals form a grid. For an upper bound, the mass of each bucket is divided
//!    between the two ends of its interval. The result dominates the loss of the pair. This method
//!    is called "connect the dots" (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022). The result
//!    is a list of losses with masses, which the following steps call a measure. The masses and
//!    losses of this measure are enlarged by the bounds on the errors of step 1. For a lower bound,
//!    the buckets become a measure that the loss of the pair dominates. The masses and losses of
//!    this measure are reduced by the bounds on the errors of step 1.
//! 3. The measures are tilted: the mass at each loss `x` is multiplied by `e^(t x)`, for a chosen
//!    number `t`. The Fourier transform of each tilted measure is raised to a power. The exponent
//!    is the number of releases with the pair of this measure. The product of all powers is
//!    transformed back. The result is a measure on an interval of losses, which is called the
//!    window. The values of the transforms give a bound on the error that the transforms cause in
//!    each mass. Chernoff's inequality bounds the mass outside the window. For an upper bound on
//!    delta, the bound on the error is added to each mass, and the bound on the mass outside the
//!    window is added to delta. For a lower bound on delta, both bounds are subtracted instead.
//!    Because of the tilt, both bounds are small relative to delta, even if delta is tiny.
//! 4. A heuristic chooses the grid, the tilt and the window for the requested epsilon or delta. The
//!    choice affects how tight the bounds are. The bounds hold for every choice. If a result shows
//!    that the choice was poor, the parameters are chosen again from this result.
//!
//! For some pairs, the Fourier transform of the loss is known ([`DominatingPair::tilted`]). If the
//! transform of a composition of such pairs decays fast as the frequency grows, the steps above are
//! not needed. Delta is then a sum over a few dozen frequencies. The sum over the omitted
//! frequencies is bounded. If the transform does not decay fast, the grid is used. For example, the
//! transform of one release with atoms (outputs of positive probability) does not decay.
//!
//! One release with at most `2^17` outputs, such as discrete noise of a small scale, needs no grid
//! either. The delta of such a release is a sum over its outputs ([`Outputs`]).
//!
//! Some accounts have 16 or more different pairs whose transforms do not decay. An example is an
//! account of a thousand counts, each with Laplace noise of a different scale. For an upper bound,
//! a Gaussian release with a small loss is then added to the account. This release increases
//! epsilon by about 0.003 %, and makes the terms of all high frequencies negligible.
//!
//! Pairs for noise on a Poisson sample, and pairs for profiles known only as curves, list their
//! losses. One Fourier transform of such a list computes the transform of the loss at all
//! frequencies. For an upper bound on an account with many different pairs, the sum with the added
//! Gaussian release is computed first. Here "many" means at least 16 pairs if at least one pair
//! lists its losses, and at least 64 pairs otherwise. The requested relative error must also be at
//! least the default, `10^-4`. The sum without the added release is computed only if the first sum
//! gives no result. With 64 or more pairs, the added release has a larger loss than with fewer
//! pairs, and increases epsilon by about 0.01 %. With 64 or more pairs, the heuristic considers
//! only a few pairs. These few pairs represent all pairs.
//!
//! Before the steps above, some pairs are replaced. Discrete Gaussian noise is replaced by pairs
//! that [enclose it](Between). Several equal releases with discrete Gaussian noise are replaced by
//! one release. Discrete Gaussian noise of a large scale is replaced by continuous noise. All
//! continuous Gaussian noise is joined into one release. For some pairs, only `rho` (the
//! zero-concentrated loss) is known. The `rho` of all these pairs are added up. If a `rho` is known
//! for every pair, the sum of all `rho` gives another upper bound. The smaller of this bound and
//! the bound from the steps above is reported.
//!
//! There is another bound for discrete Gaussian noise. For this bound, one release of continuous
//! noise replaces all discrete Gaussian noise of an account. The loss of the continuous noise has a
//! slightly larger variance than the total loss of the replaced noise. The bound holds for vectors
//! of integers at every distance. For `m` equal releases of scale `s`, the variance is larger by a
//! factor of about `1 + 0.5 / (m s^2)`. This bound on epsilon is at most about `1 + 0.5 / (m s^2)`
//! times the epsilon of continuous noise without the added variance. This factor is 1.001 if
//! `m s^2` is 500. If `m s^2` is below 500, other bounds can be smaller than this bound. The
//! smallest computed bound is reported.
//!
//! Some accounts contain only a few equal releases of vectors of integers with discrete Gaussian
//! noise. For such accounts, delta is also computed by recursion. A shift is the difference of the
//! true vectors on two neighbouring data sets. In the recursion, the shift of each release is the
//! worst shift, given all earlier losses. A factor for the errors of the recursion enlarges delta
//! by at most about 1 %. The exact epsilon of such an account can exceed the epsilon of continuous
//! noise of the same scale by more than 0.1 %. The reason is that the losses are on a lattice. The
//! choice of shifts can make this lattice finer or coarser. For example, ten releases of scale 2 at
//! distance 2 have an epsilon of 19.459 at a delta of 1e-6. Ten releases with continuous noise of
//! scale 2 at this distance have an epsilon of 19.424.
//!
//! The simplest bound is for equal releases of one integer with discrete Gaussian noise. If the
//! scale is not small, the distribution of the total noise is known up to a factor of at most about
//! `1 + 10^-12`. Delta is then a sum over the values of the total noise. Up to this factor and
//! rounding, this sum is the exact delta.
//!
//! If only the profile of a pair is known, the profile is evaluated once, at 257 epsilons. The
//! account then composes a pair whose finite losses are among these epsilons and their negatives.
//!
//! An [`AdaptiveAccount`] composes releases that are chosen after earlier answers are seen. A
//! [`SharedAccount`] also composes such releases, but the share of the budget for each release is
//! fixed in advance. Each share has a dominating pair, and the account uses the loss distribution
//! of this pair.
//!
//! [`gaussian_delta`] and the other functions for one Gaussian release need no grid. The results of
//! these functions are certified intervals. The two ends of an interval differ only in the last
//! digits.
//!
//! # How near the bounds are, and how long they take
//!
//! In the following cases, epsilon is within 0.1 % of the exact value, and is computed within 50
//! milliseconds on one core:
//!
//! - Laplace, Gaussian, and discrete noise on one number, with up to a thousand different scales,
//!   at a delta of 1e-6.
//! - Laplace or Gaussian noise on Poisson samples, with up to twenty different pairs of a sampling
//!   rate and a scale, at a delta of 1e-6.
//! - Discrete Gaussian noise on vectors of integers, if the number of releases times the square of
//!   the scale is at least 500.
//! - A few equal releases of discrete Gaussian noise on vectors of integers, if the sensitivity is
//!   at most 1.3 times the scale.
//!
//! In all other cases, the computed epsilon is still an upper bound. But the bound can be looser,
//! or its computation can take longer. For example, the computation takes up to 0.3 seconds for
//! noise on Poisson samples with fifty to a thousand different pairs. For a few pairs at a delta of
//! 1e-12, the computation takes up to 0.2 seconds. If a privacy profile is given only by a closure,
//! the first composition calls the closure for fewer than 300 values of epsilon.

mod account;
mod adaptive;
mod basic;
mod choice;
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
mod integer_sum;
mod integer_vector_pair;
mod inversion;
mod joined;
mod laplace_pair;
mod lattice_transform;
mod listed_transform;
pub(crate) mod memo;
mod mirror;
mod noise_profile;
mod normal;
pub(crate) mod normal_mass;
mod outputs;
mod pair;
mod plan;
mod pot;
mod private_pair;
mod product;
mod profile;
mod quadrature;
mod renyi;
mod renyi_pair;
mod replaced_pair;
mod replaced_profile;
mod sampled_pair;
mod sampled_transform;
mod share_pair;
mod shared;
mod simplified;
mod threads;
mod transform;
mod way;

pub use account::{Account, Certified};
pub use adaptive::{AdaptiveAccount, AdaptiveLoss, Kind, Room, Share};
pub use choice::mu_squared_of_choices;
pub use concentrated_pair::ConcentratedPair;
pub use curve_pair::CurvePair;
pub use enclosed_pair::{Between, EnclosedPair};
pub use finite_pair::{
    DiscreteGaussianPair, DiscreteLaplacePair, FinitePair, RandomizedResponsePair, ThresholdedPair,
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
pub use outputs::Outputs;
pub use pair::{Buckets, DominatingPair, Grid, LogConcaveNoise};
pub use private_pair::PrivatePair;
pub(crate) use profile::symmetric;
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
pub use share_pair::SharePair;
pub use shared::SharedAccount;
pub use transform::{Listed, Tilted, Wave};

#[cfg(test)]
mod tests;
