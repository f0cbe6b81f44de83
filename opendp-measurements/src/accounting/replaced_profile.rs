//! The profile of a sample of which one record is replaced.

use std::sync::Arc;

use opendp_core::arith::{Directed, DirectedFloat};
use opendp_core::{PrivacyProfile, Result};

use super::profile::{NEGLIGIBLE, is_nothing, symmetric};
use super::{
    Account, CurvePair, DominatingPair, LogConcaveNoise, ReplacedPair, profile_of,
    profile_of_mixture,
};

/// The profile of a mechanism on a Poisson sample, at one replaced record.
///
/// Given are two profiles of the mechanism without sampling: at one record added or removed, and at
/// one replaced; and the probability with which each record is in the sample, above 0 and at most 1.
/// Profiles of noise (real or integer, Laplace or Gaussian, or several Gaussian ones) have the pair
/// [`ReplacedPair`], and compose as tightly as is known. Of any other, what composes is the curve
/// below.
///
/// # Theorem
/// As at [`ReplacedPair`], for `alpha = e^epsilon >= 1` and `c = (alpha - 1)(1 - q)` the divergence
/// is at most `k H_(c / k)(M1, M0) + l H_(alpha q / l)(M1, M2)` for every split `q = k + l`. Where
/// `k > c`, it is `k H_(c / k)(M1, M0) = k - c + c H_(k / c)(M0, M1)`. So any split gives a curve. Of
/// noise it is taken where that is the least one, nearly; else at `k = c / alpha'` with
/// `alpha' = 1 + (alpha - 1) / q`, where both orders are `alpha'` (advanced joint convexity; Balle,
/// Barthe, Gaboardi 2018, Theorem 2).
///
/// # Errors
/// Those of the profiles.
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
    let (one, two) = (added.clone(), replaced.clone());
    Ok(profile.with_delta(move |epsilon| {
        if pair.most() <= epsilon {
            return Ok(0.0);
        }
        at_split(&one, &two, rate, epsilon, pair.split(epsilon)).or_else(|_| two.delta(epsilon))
    }))
}

/// The pair of both, if they are those of shifts of one noise.
fn pair(added: &PrivacyProfile, replaced: &PrivacyProfile, rate: f64) -> Option<ReplacedPair> {
    let ((noise, one), (other, two)) = (shift(added)?, shift(replaced)?);
    let pair = (noise == other).then(|| ReplacedPair::poisson(noise, one, two, rate));
    pair?.ok()
}
fn shift(profile: &PrivacyProfile) -> Option<(LogConcaveNoise, f64)> {
    symmetric(profile)?.shift()
}

/// The profile where nothing is known but two curves.
fn of_curves(
    added: &PrivacyProfile,
    replaced: &PrivacyProfile,
    rate: f64,
) -> Result<PrivacyProfile> {
    let (one, two) = (added.clone(), replaced.clone());
    let delta = move |epsilon: f64| {
        let share = || {
            let more = epsilon.neg_inf_exp_m1()?;
            let without = more.neg_inf_mul(1f64.neg_inf_sub(rate)?)?;
            without.neg_inf_div(more.inf_div(rate)?.inf_add(1.0)?)
        };
        // Where this is beyond the floats, the whole tells no less.
        share()
            .and_then(|share| at_split(&one, &two, rate, epsilon, share.clamp(0.0, rate)))
            .or_else(|_| two.delta(epsilon))
    };
    if let (Some(one), Some(two)) = (symmetric(added), symmetric(replaced))
        && format!("{one:?}") == format!("{two:?}")
    {
        // As far as is known, no record is more than another one: the pair of a fixed size.
        return Ok(profile_of_mixture(replaced, rate)?.with_delta(delta));
    }
    let alone = PrivacyProfile::new(delta.clone());
    let reach = move || alone.epsilon(NEGLIGIBLE).unwrap_or(f64::INFINITY);
    let curve = delta.clone();
    let pair = CurvePair::reaching(reach, move |epsilon| curve(epsilon).unwrap_or(1.0));
    Ok(profile_of(pair).with_delta(delta))
}

/// The bound of the theorem at a split of the rate, of which the added record has a share.
fn at_split(
    added: &PrivacyProfile,
    replaced: &PrivacyProfile,
    rate: f64,
    epsilon: f64,
    share: f64,
) -> Result<f64> {
    // What is split is more than the rate, and what it is split from is less than it is. Orders that
    // are rounded down are at least 1, as the rounded numbers are in the order of the true ones.
    let without = epsilon.neg_inf_exp_m1()?.max(0.0).neg_inf_mul(1f64.neg_inf_sub(rate)?)?;
    let one = if without == 0.0 {
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
        return Ok(one);
    }
    let whole = epsilon.neg_inf_exp()?.max(1.0).neg_inf_mul(rate)?;
    one.inf_add(rest.inf_mul(replaced.delta(order(whole, rest)?)?)?)
}
/// The logarithm of a quotient that is at least 1, rounded down.
fn order(larger: f64, smaller: f64) -> Result<f64> {
    Ok(larger.neg_inf_div(smaller)?.neg_inf_ln()?.max(0.0))
}

#[cfg(test)]
mod tests;
