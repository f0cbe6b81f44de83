//! Parts of an account, replaced by parts that are easier to compose. A part is a pair with its
//! number of releases.

use std::sync::Arc;

use opendp_core::Result;
use opendp_core::arith::{Directed, DirectedFloat, InfCast};

use super::account::{Certified, MANY, Side};
use super::integer_gaussian::{IntegerNoise, Smoothing};
use super::outputs::Outputs;
use super::pair::LogConcaveNoise;
use super::plan::PairCount;
use super::{GaussianPair, gaussian_delta, gaussian_epsilon};

/// Parts that bound other parts from above or from below.
pub(super) struct Simplified {
    pub(super) parts: Vec<PairCount>,
    /// An upper bound on the sum of the failure probabilities of all replacements.
    /// [`Between`](super::Between) describes such a failure.
    pub(super) failure: f64,
    /// To get the upper bound on delta, multiply the delta of the parts by this factor, and add
    /// `failure`.
    pub(super) factor: f64,
    /// Smoothing adds some variance to the loss of all discrete Gaussian noise, and then replaces
    /// this loss by one normal loss. This number is the added variance divided by the variance of
    /// the normal loss. The variance of the normal loss includes the added variance. Without
    /// smoothing, this number is 0.
    share: f64,
}

/// Two limits for the field `share` of [`Simplified`]. If `share` is below its limit, no other
/// bound is needed. The first number is the limit for fewer than [`MANY`] different pairs. The
/// second number is the limit for at least [`MANY`] different pairs. The second limit is larger,
/// because other bounds for many pairs take long to compute.
const SMALL_SHARE: (f64, f64) = (2e-5, 2e-4);
/// If the field `share` of [`Simplified`] is above this limit, the bound by smoothing is not used.
const LARGE_SHARE: f64 = 0.2;
/// The maximum number of times that a pair is replaced.
const MOST: u32 = 8;
/// Two numbers for a lower bound on delta. Multiply [`Simplified::failure`] by the first number,
/// and subtract the product from the delta of the parts. The result is the lower bound. This bound
/// is valid if `failure` is below the second number.
const BELOW: (f64, f64) = (3.0, 0.33);

impl Simplified {
    /// If pairs that [enclose](super::Between) a pair are known, replace this pair by the enclosing
    /// pair on the given side. Replace all releases with Gaussian noise by one release. The `mu^2`
    /// of this release is the sum of the `mu^2` of the replaced releases (Dong, Roth, Su 2022, on
    /// the composition of Gaussian noise).
    ///
    /// Return `None` if a bound from below is requested, and some pair gives no such bound.
    pub(super) fn of(parts: &[PairCount], side: Side) -> Result<Option<Simplified>> {
        let (mut others, mut failure) = (Vec::<PairCount>::new(), 0.0);
        let mut gaussian: Option<(GaussianPair, u64, f64)> = None;
        for (pair, count) in parts {
            let (mut pair, mut count) = (pair.clone(), *count);
            for _ in 0..MOST {
                let Some(between) = pair.between(count) else { break };
                failure = between.failure.inf_add(failure)?;
                count = between.times;
                pair = match (side, between.below) {
                    (Side::Above, _) => between.above,
                    (Side::Below, Some(below)) => below,
                    (Side::Below, None) => return Ok(None),
                };
            }
            if side == Side::Below && pair.only_above() {
                return Ok(None);
            }
            match pair.shift() {
                Some((LogConcaveNoise::Gaussian, mu)) => {
                    gaussian = Some(join(gaussian, mu, count, side)?);
                }
                _ => others.push((pair, count)),
            }
        }
        match gaussian {
            Some((pair, count, _)) if others.is_empty() && count == 1 => {
                others.push((Arc::new(pair), 1));
            }
            Some((_, _, squares)) => {
                let mu = match side {
                    Side::Above => squares.inf_sqrt()?,
                    Side::Below => squares.neg_inf_sqrt()?,
                };
                others.push((Arc::new(GaussianPair { mu }), 1));
            }
            None => {}
        }
        Ok(Some(Simplified { parts: others, failure, factor: 1.0, share: 0.0 }))
    }
    /// Return parts that bound the given parts from above. Replace all discrete Gaussian noise on
    /// integers by one release with Gaussian noise: see [`Smoothing`]. Return `None` in three
    /// cases: a bound from below is requested, smoothing gives no bound, or the share of the added
    /// variance exceeds [`LARGE_SHARE`].
    pub(super) fn smoothed(parts: &[PairCount], side: Side) -> Result<Option<Simplified>> {
        if side == Side::Below {
            return Ok(None);
        }
        let (mut others, mut integers) = (Vec::<PairCount>::new(), Vec::<IntegerNoise>::new());
        for (pair, count) in parts {
            match pair.integer_gaussian() {
                Some((square, scale)) => integers.push((square, scale, *count)),
                None => others.push((pair.clone(), *count)),
            }
        }
        let Some(smoothing) = Smoothing::of(&integers)? else { return Ok(None) };
        if LARGE_SHARE < smoothing.share {
            return Ok(None);
        }
        others.push((Arc::new(GaussianPair { mu: smoothing.squares.inf_sqrt()? }), 1));
        let simple = Simplified::of(&others, Side::Above)?;
        let Smoothing { factor, share, .. } = smoothing;
        Ok(simple.map(|simple| Simplified { factor, share, ..simple }))
    }
    /// Return whether the bound of these parts is tight: every other bound is better by at most a
    /// negligible amount. `different` is the number of different pairs.
    pub(super) fn suffices(&self, different: usize) -> bool {
        self.share < if different < MANY { SMALL_SHARE.0 } else { SMALL_SHARE.1 }
    }
    /// Return `mu` if the parts are a single release with Gaussian noise.
    fn gaussian(&self) -> Option<f64> {
        match &self.parts[..] {
            [(pair, 1)] => match pair.shift() {
                Some((LogConcaveNoise::Gaussian, mu)) => Some(mu),
                _ => None,
            },
            _ => None,
        }
    }
    /// Return the outputs if the parts are a single release with few outputs.
    pub(super) fn outputs(&self) -> Option<Outputs> {
        match &self.parts[..] {
            [(pair, 1)] => pair.outputs(),
            _ => None,
        }
    }
    /// Enclose delta without a grid, if the parts are one release with Gaussian noise, or one
    /// release with few outputs.
    pub(super) fn delta(&self, epsilon: f64) -> Option<Result<Certified>> {
        if let Some(mu) = self.gaussian() {
            return Some(gaussian_delta(mu, epsilon));
        }
        self.outputs().map(|outputs| Ok(outputs.delta(epsilon)))
    }
    /// Enclose epsilon by a formula, if the parts are one release with Gaussian noise.
    pub(super) fn epsilon(&self, delta: f64) -> Option<Result<Certified>> {
        self.gaussian().map(|mu| gaussian_epsilon(mu, delta))
    }
    /// Return a bound on the delta of the account. The arguments are the delta of the parts and the
    /// side of the bound. First multiply the delta by the factor. Then add `failure` for an upper
    /// bound, or subtract a multiple of `failure` for a lower bound.
    pub(super) fn with_failure(&self, delta: f64, side: Side) -> Result<f64> {
        let delta = if self.factor == 1.0 { delta } else { delta.inf_mul(self.factor)?.min(1.0) };
        match side {
            _ if self.failure == 0.0 => Ok(delta),
            Side::Above => Ok(delta.inf_add(self.failure)?.min(1.0)),
            Side::Below if self.failure < BELOW.1 => {
                Ok(delta.neg_inf_sub(self.failure.inf_mul(BELOW.0)?)?.max(0.0))
            }
            Side::Below => Ok(0.0),
        }
    }
    /// Convert a delta of the account to a delta of the parts. Let `e` be the epsilon of the parts
    /// at the returned delta. Then `e` bounds the epsilon of the account at the given delta, from
    /// the given side. Return `None` if there is no such delta above 0.
    pub(super) fn without_failure(&self, delta: f64, side: Side) -> Result<Option<f64>> {
        let share = match side {
            _ if self.failure == 0.0 => delta,
            Side::Above => delta.neg_inf_sub(self.failure)?,
            Side::Below if self.failure < BELOW.1 => {
                delta.inf_add(self.failure.inf_mul(BELOW.0)?)?.min(1.0)
            }
            Side::Below => 1.0,
        };
        let share = if self.factor == 1.0 { share } else { share.neg_inf_div(self.factor)? };
        Ok((0.0 < share).then_some(share))
    }
}

/// Return whether some release reveals everything with probability 1. In this case, delta is 1 at
/// every epsilon, and no grid is needed.
pub(super) fn reveals(parts: &[PairCount]) -> bool {
    parts.iter().any(|(pair, count)| 0 < *count && pair.revealed() == 1.0)
}

/// Combine Gaussian noise with the Gaussian noise that was found so far. The result has three
/// values: the pair of the new noise, the number of all releases with Gaussian noise, and the sum
/// of the `mu^2` of all these releases.
fn join(
    found: Option<(GaussianPair, u64, f64)>,
    mu: f64,
    count: u64,
    side: Side,
) -> Result<(GaussianPair, u64, f64)> {
    let (before, squares) = found.map_or((0, 0.0), |(_, before, squares)| (before, squares));
    let squares = match side {
        Side::Above => f64::inf_cast(count)?.inf_mul(mu.inf_mul(mu)?)?.inf_add(squares)?,
        Side::Below => {
            f64::neg_inf_cast(count)?.neg_inf_mul(mu.neg_inf_mul(mu)?)?.neg_inf_add(squares)?
        }
    };
    Ok((GaussianPair { mu }, before.saturating_add(count), squares))
}
