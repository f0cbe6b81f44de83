//! The profile of a mechanism on a sample, if one record is replaced.

use std::sync::Arc;

use opendp_core::arith::{Directed, DirectedFloat};
use opendp_core::{PrivacyProfile, Result};

use super::pair::Inner;
use super::profile::{NEGLIGIBLE, is_nothing, symmetric};
use super::{
    Account, CurvePair, DominatingPair, LogConcaveNoise, ReplacedPair, profile_of,
    profile_of_mixture,
};

/// Return the profile of a mechanism on a Poisson sample, if one record is replaced.
///
/// `added` and `replaced` are profiles of the mechanism without sampling: for one added or removed
/// record, and for one replaced record. `rate` is the probability that a record is in the sample,
/// above 0 and at most 1. For profiles of noise, the result has the pair [`ReplacedPair`] and
/// composes tightly. The noise can be real or integer, and Laplace or Gaussian. Several releases
/// with Gaussian noise count as one release. If there is no [`ReplacedPair`], and both profiles
/// have the same pair, the pair for a sample of fixed size is used. For all other profiles, the
/// curve of the theorem below is composed.
///
/// # Theorem
/// Let `q` be the rate, and fix the sampled records other than the replaced record. Let `M0` be the
/// law of the release without the replaced record, `M1` the law with this record, and `M2` the law
/// with the replacing record. The divergence `H_alpha(M, N)` of order `alpha` is the largest
/// `M(S) - alpha N(S)` over all events `S`. Let `alpha = e^epsilon >= 1` and
/// `c = (alpha - 1)(1 - q)`. For every split `q = k + l`, the delta of the release on the sample is
/// at most `k H_(c / k)(M1, M0) + l H_(alpha q / l)(M1, M2)`: see the theorem at [`ReplacedPair`].
/// If `k > c`, then `k H_(c / k)(M1, M0) = k - c + c H_(k / c)(M0, M1)`. So for every split, the
/// bound needs `H` only for orders of at least 1. The profile `added` bounds `H` of `M0` and `M1`
/// in both directions, and the profile `replaced` bounds `H` of `M1` and `M2`. For noise, the split
/// is chosen to give nearly the smallest bound. For all other profiles, the split is
/// `k = c / alpha'` with `alpha' = 1 + (alpha - 1) / q`. Then both orders, `c / k` and
/// `alpha q / l`, are `alpha'` (advanced joint convexity; Balle, Barthe, Gaboardi 2018, Theorem 2).
///
/// # Errors
/// Currently there are no errors.
pub fn profile_of_replaced_sample(
    added: &PrivacyProfile,
    replaced: &PrivacyProfile,
    rate: f64,
) -> Result<PrivacyProfile> {
    if rate >= 1.0 || is_nothing(replaced) {
        return Ok(replaced.clone());
    }
    if is_nothing(added) {
        return Ok(added.clone());
    }
    let Some(pair) = pair(added, replaced, rate) else {
        return of_curves(added, replaced, rate);
    };
    let profile = Account::new().with(Arc::new(pair), 1).profile();
    if !pair.is_real() {
        return Ok(profile);
    }
    let (first, second) = (added.clone(), replaced.clone());
    Ok(profile.with_delta(move |epsilon| {
        if pair.most() <= epsilon {
            return Ok(0.0);
        }
        at_split(&first, &second, rate, epsilon, pair.split(epsilon))
            .or_else(|_| second.delta(epsilon))
    }))
}

/// Return the pair for both profiles, if both are profiles of shifts of the same noise.
fn pair(added: &PrivacyProfile, replaced: &PrivacyProfile, rate: f64) -> Option<ReplacedPair> {
    let ((noise, first), (other, second)) = (shift(added)?, shift(replaced)?);
    let pair = (noise == other).then(|| ReplacedPair::poisson(noise, first, second, rate));
    pair?.ok()
}
fn shift(profile: &PrivacyProfile) -> Option<(LogConcaveNoise, f64)> {
    symmetric(profile)?.shift()
}

/// Return the profile on a sample if there is no [`ReplacedPair`] for the two profiles.
fn of_curves(
    added: &PrivacyProfile,
    replaced: &PrivacyProfile,
    rate: f64,
) -> Result<PrivacyProfile> {
    let (first, second) = (added.clone(), replaced.clone());
    let delta = move |epsilon: f64| {
        let share = || {
            let more = epsilon.neg_inf_exp_m1()?;
            let without = more.neg_inf_mul(1f64.neg_inf_sub(rate)?)?;
            without.neg_inf_div(more.inf_div(rate)?.inf_add(1.0)?)
        };
        // If the computation overflows, use the bound without sampling, which is also valid.
        share()
            .and_then(|share| at_split(&first, &second, rate, epsilon, share.clamp(0.0, rate)))
            .or_else(|_| second.delta(epsilon))
    };
    if let (Some(first), Some(second)) = (symmetric(added), symmetric(replaced))
        && format!("{:?}", Inner(&first)) == format!("{:?}", Inner(&second))
    {
        // Both profiles have the same pair, so use the pair for a sample of fixed size.
        return Ok(profile_of_mixture(replaced, rate)?.with_delta(delta));
    }
    let alone = PrivacyProfile::new(delta.clone());
    let reach = move || alone.epsilon(NEGLIGIBLE).unwrap_or(f64::INFINITY);
    let curve = delta.clone();
    let pair = CurvePair::reaching(reach, move |epsilon| curve(epsilon).unwrap_or(1.0));
    Ok(profile_of(pair).with_delta(delta))
}

/// Return the bound of the theorem at [`profile_of_replaced_sample`], for a split of the rate.
/// `share` is the part `k` of the rate.
fn at_split(
    added: &PrivacyProfile,
    replaced: &PrivacyProfile,
    rate: f64,
    epsilon: f64,
    share: f64,
) -> Result<f64> {
    // The symbols are from the theorem at `profile_of_replaced_sample`: `share` is `k`, `rest` is
    // `l`, `without` is `c`, and `whole` is `alpha q`. The bound does not increase if `c` or
    // `alpha q` increases, so `without` and `whole` are rounded down. The bound does not decrease
    // if `l` increases, so `rest` is rounded up. The order of each divergence is rounded down,
    // because a divergence does not increase with its order. An order is a quotient of at least 1.
    // The quotient stays at least 1 after rounding, because the denominator stays at most the
    // numerator.
    let without = epsilon.neg_inf_exp_m1()?.max(0.0).neg_inf_mul(1f64.neg_inf_sub(rate)?)?;
    let gathered = if without == 0.0 {
        share
    } else if share <= without {
        match share {
            0.0 => 0.0,
            share => share.inf_mul(added.delta(order(without, share)?)?)?,
        }
    } else {
        let divergence = added.delta(order(share, without)?)?;
        share.inf_sub(without)?.inf_add(without.inf_mul(divergence)?)?
    };
    let rest = rate.inf_sub(share)?;
    if rest == 0.0 {
        return Ok(gathered);
    }
    let whole = epsilon.neg_inf_exp()?.max(1.0).neg_inf_mul(rate)?;
    gathered.inf_add(rest.inf_mul(replaced.delta(order(whole, rest)?)?)?)
}
/// Return `ln(larger / smaller)`, rounded down. `larger` must be at least `smaller`.
fn order(larger: f64, smaller: f64) -> Result<f64> {
    Ok(larger.neg_inf_div(smaller)?.neg_inf_ln()?.max(0.0))
}

#[cfg(test)]
mod tests;
