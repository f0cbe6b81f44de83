//! The dominating pairs that shares of a budget can have.

use std::f64::consts::PI;
use std::sync::Arc;

use opendp_core::arith::{Directed, DirectedFloat};
use opendp_core::{Error, Result};
use serde_json::{Value as Json, json};

use super::profile::symmetric;
use super::{
    Account, BoundedRangePair, DiscreteLaplacePair, DominatingPair, GaussianPair, LaplacePair,
    PrivatePair, SampledGaussianPair, concentrated_rho_of_pure, mu_of_pure,
    profile_of_discrete_gaussian_vector,
};
use crate::collected::Collected;

/// The pair of discrete Laplace noise lists its outputs one by one. So an account uses this pair
/// only up to this sensitivity. For a larger sensitivity, the account uses the pair of pure
/// differential privacy.
const MOST_OUTPUTS: u32 = 65_536;

/// The dominating pair of one share of a budget, or of one release.
///
/// [`dominates`](SharePair::dominates) decides whether a release fits a share.
/// [`SharedAccount`](super::SharedAccount) composes shares. The numbers in a pair are treated as
/// exact. So the numbers in the pair of a release must be rounded in the direction of larger
/// losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SharePair {
    /// Every release that is `(epsilon, delta)`-DP.
    Private {
        /// The largest loss, except in an event of probability delta.
        epsilon: f64,
        /// The probability of the event of unbounded loss.
        delta: f64,
    },
    /// Laplace noise on real numbers. Noise on integers has the pair
    /// [`DiscreteLaplace`](SharePair::DiscreteLaplace). The pair `Laplace` does not dominate the
    /// noise on integers.
    Laplace {
        /// The L1 distance divided by the scale of the noise.
        epsilon: f64,
    },
    /// Discrete Laplace noise on integers.
    DiscreteLaplace {
        /// The L1 distance.
        sensitivity: u32,
        /// The scale of the noise.
        scale: f64,
    },
    /// Discrete Gaussian noise on an integer, or on a vector of integers. A release with this noise
    /// is not `mu`-GDP (Gaussian differentially private with the parameter `mu`).
    DiscreteGaussian {
        /// The square of the L2 distance.
        square: u32,
        /// The scale of the noise.
        scale: f64,
    },
    /// Continuous Gaussian noise, and every other release that is `mu`-GDP.
    Gaussian {
        /// The L2 distance divided by the standard deviation of the noise.
        mu: f64,
    },
    /// Gaussian noise on a Poisson sample. Neighbours differ by one added or removed record. The
    /// direction must be the same for all releases of an account: no transformation before a
    /// release may exchange the direction.
    SampledGaussian {
        /// The sensitivity divided by the standard deviation of the noise.
        mu: f64,
        /// The probability that a record is in the sample.
        rate: f64,
    },
    /// Successive choices among candidates by Gumbel noise, or by the exponential mechanism.
    Choices {
        /// The range of each choice: the length of the interval that contains the losses of the
        /// choice.
        range: f64,
        /// The number of successive choices.
        count: u32,
    },
}

impl SharePair {
    /// Check the numbers of the pair.
    ///
    /// # Errors
    /// `InvalidDistance` when a number is negative or not finite, or when a delta or a rate is
    /// above 1. `InvalidDistance` also when a scale is 0, or is so small that its reciprocal is
    /// infinite.
    pub(super) fn checked(self) -> Result<Self> {
        let numbers = match self {
            SharePair::Private { epsilon, delta } => [epsilon, delta],
            SharePair::Laplace { epsilon } => [epsilon, 0.0],
            SharePair::DiscreteLaplace { scale, .. }
            | SharePair::DiscreteGaussian { scale, .. } => {
                [if scale.is_infinite() { scale } else { scale.recip() }, 0.0]
            }
            SharePair::Gaussian { mu } => [mu, 0.0],
            SharePair::SampledGaussian { mu, rate } => [mu, rate],
            SharePair::Choices { range, .. } => [range, 0.0],
        };
        let [loss, part] = numbers;
        if 0.0 <= loss && loss.is_finite() && (0.0..=1.0).contains(&part) {
            return Ok(self);
        }
        Err(Error::InvalidDistance(format!(
            "a share: expected finite numbers of at least 0, a scale above 0, and a delta or a rate \
             of at most 1, found {self:?}"
        )))
    }
    /// Return a copy of the pair whose losses are larger if `factor` is above 1, and smaller if
    /// `factor` is below 1. `factor` multiplies an epsilon, a `mu` or a range, and divides a scale.
    /// All other numbers of the pair stay the same.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        match self {
            SharePair::Private { epsilon, delta } => {
                SharePair::Private { epsilon: epsilon * factor, delta }
            }
            SharePair::Laplace { epsilon } => SharePair::Laplace { epsilon: epsilon * factor },
            SharePair::DiscreteLaplace { sensitivity, scale } => {
                SharePair::DiscreteLaplace { sensitivity, scale: scale / factor }
            }
            SharePair::DiscreteGaussian { square, scale } => {
                SharePair::DiscreteGaussian { square, scale: scale / factor }
            }
            SharePair::Gaussian { mu } => SharePair::Gaussian { mu: mu * factor },
            SharePair::SampledGaussian { mu, rate } => {
                SharePair::SampledGaussian { mu: mu * factor, rate }
            }
            SharePair::Choices { range, count } => {
                SharePair::Choices { range: range * factor, count }
            }
        }
    }
    /// Return the largest loss, rounded up. The result is infinite if the losses have no upper
    /// bound.
    pub fn most(&self) -> f64 {
        let largest = match *self {
            SharePair::Private { epsilon, delta: 0.0 } | SharePair::Laplace { epsilon } => {
                Ok(epsilon)
            }
            SharePair::DiscreteLaplace { sensitivity: 0, .. }
            | SharePair::DiscreteGaussian { square: 0, .. }
            | SharePair::SampledGaussian { rate: 0.0, .. }
            | SharePair::SampledGaussian { mu: 0.0, .. }
            | SharePair::Gaussian { mu: 0.0 } => Ok(0.0),
            SharePair::DiscreteLaplace { sensitivity, scale } => {
                f64::from(sensitivity).inf_div(scale)
            }
            SharePair::Choices { range, count } => f64::from(count).inf_mul(range),
            _ => Ok(f64::INFINITY),
        };
        largest.unwrap_or(f64::INFINITY)
    }
    /// Return a `rho`, rounded up: every release that this pair admits is `rho`-zero-concentrated.
    /// Return `None` if no such `rho` is known.
    ///
    /// # Proof
    /// A release with a pure loss has the `rho` of [`concentrated_rho_of_pure`]. Shares for choices
    /// and for Gaussian noise also admit releases with a pure loss. A `mu`-GDP release is
    /// post-processing of a normal shift (Dong, Roth, Su 2022), so `mu^2 / 2` is a `rho` of the
    /// release. A choice whose losses are in an interval of length `r` (its range) has the `rho`
    /// `r^2 / 8` (Cesar, Rogers 2021). A share of choices of range `r` also admits a pure loss of
    /// up to `r / 2`, whose `rho` is at most `r^2 / 8`. The dominating pair of the choices has a
    /// `rho` above `r^2 / 8`, because this pair dominates all mechanisms of the range at once. So
    /// this function returns a `rho` of the releases, and not of the dominating pair. The `rho` of
    /// discrete Gaussian noise is `square / (2 scale^2)` (Canonne, Kamath, Steinke 2020, Theorem
    /// 4).
    pub(super) fn rho(&self) -> Option<f64> {
        let largest = self.most();
        let rho = match *self {
            _ if largest == 0.0 => Ok(0.0),
            SharePair::Gaussian { mu } => mu.inf_mul(mu).and_then(|square| square.inf_div(2.0)),
            SharePair::DiscreteGaussian { square, scale } => {
                let ratio = f64::from(square).inf_div(scale).and_then(|part| part.inf_div(scale));
                ratio.and_then(|ratio| ratio.inf_div(2.0))
            }
            SharePair::Choices { range, count } => {
                let square = range.inf_mul(range).and_then(|square| square.inf_div(8.0));
                square.and_then(|each| each.inf_mul(f64::from(count)))
            }
            SharePair::Private { delta: 0.0, .. }
            | SharePair::Laplace { .. }
            | SharePair::DiscreteLaplace { .. } => concentrated_rho_of_pure(largest),
            SharePair::Private { .. } | SharePair::SampledGaussian { .. } => return None,
        };
        rho.ok().filter(|rho| rho.is_finite())
    }
    /// Return a `mu`, rounded up: a release with this pair is `mu`-GDP. The result is infinite if
    /// no such `mu` is known.
    fn mu(&self) -> f64 {
        let pure = || mu_of_pure(self.most()).unwrap_or(f64::INFINITY);
        match *self {
            SharePair::Gaussian { mu } | SharePair::SampledGaussian { mu, .. } => mu,
            SharePair::Choices { range, count } => {
                let square = || {
                    let square = range.inf_mul(range)?.inf_mul(PI.next_up())?;
                    square.inf_mul(f64::from(count))?.inf_div(8.0)?.inf_sqrt()
                };
                square().unwrap_or(f64::INFINITY).min(pure())
            }
            _ => pure(),
        }
    }
    /// Return whether this pair dominates every release that has the pair `other`.
    ///
    /// # Proof
    /// *Private.* An `(e, d)`-DP release with `e <= epsilon` and `d <= delta` is post-processing of
    /// this pair (Kairouz, Oh, Viswanath 2015).
    ///
    /// *Laplace.* The noise is log-concave, so this pair dominates shifts by a smaller distance
    /// (Dong, Roth, Su 2022). See [`LaplacePair`] for vectors.
    ///
    /// *Discrete Laplace.* At the same scale, this pair dominates shifts by a smaller distance,
    /// because the discrete noise is also log-concave. This pair also dominates shifts by the same
    /// distance at a larger scale. For the proof, let `a` be `e^(-1 / scale)` for the smaller
    /// scale, and `b` the same expression for the larger scale. So `a < b`. The generating function
    /// of the noise of the smaller scale is `(1 - a)^2 / ((1 - a z) (1 - a / z))`. For the larger
    /// scale, `b` replaces `a`. Divide the function of the larger scale by the function of the
    /// smaller scale. Up to a constant factor, the result is `(1 - a z) / (1 - b z)` times the same
    /// expression with `1 / z` in place of `z`. Now
    /// `(1 - a z) / (1 - b z) = a / b + (1 - a / b) / (1 - b z)`. Up to a constant factor,
    /// `(1 - a z) / (1 - b z)` is the generating function of a mixture of 0 and a geometric number.
    /// If `1 / z` replaces `z`, the mixture is negated. So noise of the larger scale is noise of
    /// the smaller scale plus independent noise.
    ///
    /// *Discrete Gaussian.* Vectors within a smaller L2 distance are also within the distance of
    /// the share. The scale must be the same: at another scale the losses have other values, and
    /// the profiles cross.
    ///
    /// *Gaussian.* A `mu`-GDP release is post-processing of a shift by `mu`. A shift by a larger
    /// `mu` dominates a shift by a smaller `mu` (Dong, Roth, Su 2022). [`mu_of_pure`] gives the
    /// `mu` of a pure loss, and [`mu_squared_of_choices`](super::mu_squared_of_choices) gives the
    /// square of the `mu` of choices. Gaussian noise on a Poisson sample is also dominated. This
    /// follows from the next paragraph, because the rate 1 means that there is no sampling.
    ///
    /// *Sampled Gaussian.* Let `q` be the rate of this pair, and `m` its `mu`. Let
    /// `P = (1 - q) N(0, 1) + q N(m, 1)` and `Q = N(0, 1)`. Let `l` be from 0 to 1. At the smaller
    /// rate `l q`, the mixture `l P + (1 - l) Q` replaces `P`. The divergence at an epsilon `x` is
    /// the largest `P(S) - e^x Q(S)` over all events `S`. This divergence is convex in the two
    /// distributions together. The divergence is least if the two distributions are equal. So if
    /// the mixture with `Q` replaces `P`, the divergence does not increase. The same argument
    /// applies if `P` and `Q` are exchanged. So this pair dominates the pair of a smaller rate, in
    /// both directions. For a smaller shift, multiply an output by a number below 1 and add
    /// independent noise, so that the variance is 1 again. This is post-processing of both
    /// distributions.
    ///
    /// *Choices.* Losses in an interval are also in every longer interval around it. So a choice of
    /// a smaller range is also a choice of each larger range. If a release has fewer choices than
    /// the pair, constants can be added to the release. A constant is a choice whose range is 0.
    /// The losses of an `e`-DP release are from `-e` to `e`, so their range is `2 e`.
    /// [`BoundedRangePair`] dominates every release of its range.
    pub fn dominates(&self, other: &SharePair) -> bool {
        if other.most() == 0.0 {
            return true;
        }
        match (*self, *other) {
            (
                SharePair::Private { epsilon, delta },
                SharePair::Private { epsilon: e, delta: d },
            ) => e <= epsilon && d <= delta,
            (SharePair::Private { epsilon, .. }, other) => other.most() <= epsilon,
            (SharePair::Laplace { epsilon }, SharePair::Laplace { epsilon: e }) => e <= epsilon,
            (
                SharePair::DiscreteLaplace { sensitivity, scale },
                SharePair::DiscreteLaplace { sensitivity: d, scale: s },
            ) => d <= sensitivity && scale <= s,
            (
                SharePair::DiscreteGaussian { square, scale },
                SharePair::DiscreteGaussian { square: d, scale: s },
            ) => d <= square && s == scale,
            (SharePair::Gaussian { mu }, other) => other.mu() <= mu,
            (
                SharePair::SampledGaussian { mu, rate },
                SharePair::SampledGaussian { mu: m, rate: q },
            ) => m <= mu && q <= rate,
            (SharePair::Choices { range, count }, SharePair::Choices { range: r, count: k }) => {
                r <= range && k <= count
            }
            (SharePair::Choices { range, count }, other) => {
                0 < count && 2.0 * other.most() <= range
            }
            _ => false,
        }
    }
    /// Add `times` releases with this pair to an account.
    pub fn add_to(&self, account: Account, times: u64) -> Account {
        if self.most() == 0.0 {
            return account;
        }
        let (pair, count): (Arc<dyn DominatingPair>, u64) = match *self {
            SharePair::Private { epsilon, delta } => (Arc::new(PrivatePair { epsilon, delta }), 1),
            SharePair::Laplace { epsilon } => (Arc::new(LaplacePair { epsilon }), 1),
            SharePair::DiscreteLaplace { sensitivity, scale } if sensitivity <= MOST_OUTPUTS => {
                (Arc::new(DiscreteLaplacePair { sensitivity, scale }), 1)
            }
            SharePair::DiscreteLaplace { .. } => {
                (Arc::new(PrivatePair { epsilon: self.most(), delta: 0.0 }), 1)
            }
            SharePair::DiscreteGaussian { square, scale } => (of_integers(square, scale), 1),
            SharePair::Gaussian { mu } | SharePair::SampledGaussian { mu, rate: 1.0 } => {
                (Arc::new(GaussianPair { mu }), 1)
            }
            SharePair::SampledGaussian { mu, rate } => {
                (Arc::new(SampledGaussianPair { mu, rate, removed: true }), 1)
            }
            SharePair::Choices { range, count } => {
                (Arc::new(BoundedRangePair { epsilon: range }), count.into())
            }
        };
        account.with(pair, count.saturating_mul(times))
    }
    /// Convert the pair to JSON. The numbers are exact.
    pub fn to_json(&self) -> Json {
        match *self {
            SharePair::Private { epsilon, delta } => {
                json!({ "private": [epsilon, delta] })
            }
            SharePair::Laplace { epsilon } => json!({ "laplace": [epsilon] }),
            SharePair::DiscreteLaplace { sensitivity, scale } => {
                json!({ "discrete_laplace": [sensitivity, scale] })
            }
            SharePair::DiscreteGaussian { square, scale } => {
                json!({ "discrete_gaussian": [square, scale] })
            }
            SharePair::Gaussian { mu } => json!({ "gaussian": [mu] }),
            SharePair::SampledGaussian { mu, rate } => json!({ "sampled_gaussian": [mu, rate] }),
            SharePair::Choices { range, count } => json!({ "choices": [range, count] }),
        }
    }
    /// Read a pair from JSON.
    ///
    /// # Errors
    /// `FailedCast` when the JSON does not have the form of [`to_json`](SharePair::to_json), and
    /// `InvalidDistance` when a number of the pair is not allowed.
    pub fn from_json(json: &Json) -> Result<Self> {
        let wrong = || Error::FailedCast("a share as JSON: the pair is missing or wrong".into());
        let whole = |number: f64| {
            let fits = (0.0..=f64::from(u32::MAX)).contains(&number) && number.fract() == 0.0;
            if fits { Ok(number as u32) } else { Err(wrong()) }
        };
        let map = json.as_object().filter(|map| map.len() == 1).ok_or_else(wrong)?;
        let (name, numbers) = map.iter().next().ok_or_else(wrong)?;
        let numbers = numbers.as_array().ok_or_else(wrong)?.iter().map(Json::as_f64);
        let numbers = numbers.known_collected().ok_or_else(wrong)?;
        let pair = match (name.as_str(), numbers.as_slice()) {
            ("private", &[epsilon, delta]) => SharePair::Private { epsilon, delta },
            ("laplace", &[epsilon]) => SharePair::Laplace { epsilon },
            ("discrete_laplace", &[sensitivity, scale]) => {
                SharePair::DiscreteLaplace { sensitivity: whole(sensitivity)?, scale }
            }
            ("discrete_gaussian", &[square, scale]) => {
                SharePair::DiscreteGaussian { square: whole(square)?, scale }
            }
            ("gaussian", &[mu]) => SharePair::Gaussian { mu },
            ("sampled_gaussian", &[mu, rate]) => SharePair::SampledGaussian { mu, rate },
            ("choices", &[range, count]) => SharePair::Choices { range, count: whole(count)? },
            _ => return Err(wrong()),
        };
        pair.checked()
    }
}
/// Return the pair of discrete Gaussian noise on integers. If this pair cannot be built, return a
/// pair that reveals all data.
fn of_integers(square: u32, scale: f64) -> Arc<dyn DominatingPair> {
    // The distance is the root of `square`, up to rounding. The profile recovers the integer
    // `square` from this distance.
    let profile = profile_of_discrete_gaussian_vector(f64::from(square).sqrt(), scale);
    let pair = profile.ok().and_then(|profile| symmetric(&profile));
    pair.unwrap_or_else(|| Arc::new(PrivatePair { epsilon: 0.0, delta: 1.0 }))
}
