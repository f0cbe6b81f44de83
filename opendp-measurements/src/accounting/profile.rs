//! Privacy profiles that contain the distribution of their loss. Such profiles compose tightly.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use opendp_core::arith::{Directed, DirectedFloat, InfCast};
use opendp_core::{
    ComposableLoss, Distance, Error, Measure, PrivacyProfile, RenyiCurve, RenyiDivergence, Result,
};

use super::basic::Basic;
use super::renyi::check_rho;
use super::{
    Account, ConcentratedPair, CurvePair, DominatingPair, FixedSizePair, GaussianPair,
    LogConcaveNoise, PrivatePair, RenyiPair, SampledPair, concentrated_delta, concentrated_epsilon,
    renyi_delta, renyi_epsilon,
};

/// For a profile that is known only as a curve, deltas below this value are negligible.
pub(super) const NEGLIGIBLE: f64 = 1e-18;

impl ComposableLoss for Account {
    fn in_either_direction(&self) -> Option<Arc<dyn ComposableLoss>> {
        self.symmetric().map(|account| Arc::new(account) as Arc<dyn ComposableLoss>)
    }
    fn delta(&self, epsilon: f64) -> Result<f64> {
        self.delta_above(epsilon)
    }
    fn epsilon(&self, delta: f64) -> Result<f64> {
        self.epsilon_above(delta)
    }
    fn delta_below(&self, epsilon: f64) -> Result<f64> {
        Account::delta_below(self, epsilon)
    }
    /// Join the accounts of some profiles. A profile without an account contributes only its curve.
    /// A profile that is known only as a curve loses precision on a grid. So if there are such
    /// profiles, the result is the smaller of two bounds: the bound of the joined account, and the
    /// bound of basic composition.
    fn compose(&self, profiles: &[PrivacyProfile]) -> Result<PrivacyProfile> {
        // `known` joins the accounts whose pairs are all known as distributions, and not only as
        // curves. `exact` contains the profiles of these accounts. `curves` joins all other
        // accounts and curves, and `members` contains their profiles. For some accounts, only a
        // `rho` or only Renyi bounds are known. One pair replaces all these accounts. `curves`
        // contains this pair, and `members` contains its profile.
        let (mut known, mut curves) = (Account::new(), Account::new());
        let (mut members, mut exact) = (Vec::new(), Vec::new());
        let (mut rho, mut renyi, mut kinds) = (0.0f64, Vec::new(), HashMap::new());
        for profile in profiles {
            match account(profile) {
                Some(account) if account.is_known(&mut kinds) => {
                    known.join(account);
                    exact.push(profile);
                    continue;
                }
                Some(account) => match (account.only_rho(), account.only_renyi()) {
                    (Some(more), _) => {
                        rho = rho.inf_add(more)?;
                        continue;
                    }
                    (None, Some(curve)) => {
                        renyi.push(curve);
                        continue;
                    }
                    (None, None) => curves.join(account),
                },
                // If delta is 1 at the largest finite epsilon, the mechanism can reveal everything.
                // Then the composition can also reveal everything.
                None if profile.delta(f64::MAX) == Ok(1.0) => return Ok(exposed()),
                None => curves = curves.with(Arc::new(curve(profile.clone())), 1),
            }
            members.push(profile.clone());
        }
        if 0.0 < rho && renyi.is_empty() {
            curves = curves.with(Arc::new(ConcentratedPair::new(rho)), 1);
            members.push(profile_of_concentrated(rho)?);
        }
        if !renyi.is_empty() {
            renyi.push(RenyiCurve::new(move |order| order.inf_mul(rho)));
            let all = RenyiDivergence.compose(&renyi)?;
            curves = curves.with(Arc::new(RenyiPair::new(all.clone())), 1);
            members.push(profile_of_renyi(all)?);
        }
        if let ([], [single]) = (&exact[..], &members[..]) {
            return Ok(single.clone());
        }
        let mut total = known.clone();
        total.join(&curves);
        let total = Arc::new(total);
        let profile = PrivacyProfile::of_loss(total.clone());
        if members.is_empty() {
            return Ok(profile);
        }
        // If `exact` contains a single profile, use the curve of this profile for basic
        // composition. This curve can be faster to evaluate than the account.
        match exact[..] {
            [] => {}
            [single] => members.push(single.clone()),
            _ => members.push(known.quick()),
        }
        Ok(or_basic(profile, total, members))
    }
}

/// Return a profile that uses the smaller of two bounds: the bound of an account, and the bound of
/// the basic composition of `members`.
fn or_basic(
    profile: PrivacyProfile,
    total: Arc<Account>,
    members: Vec<PrivacyProfile>,
) -> PrivacyProfile {
    let basic = Arc::new(Basic::new(members));
    let (account, other) = (total.clone(), basic.clone());
    let delta = move |epsilon| {
        let joined = account.delta_above(epsilon)?;
        Ok(other.delta(epsilon).map_or(joined, |delta| delta.min(joined)))
    };
    let epsilon = move |delta| {
        let joined = total.epsilon_above(delta)?;
        Ok(basic.epsilon(delta, joined).unwrap_or(joined))
    };
    profile.with_delta(delta).with_epsilon(epsilon)
}

impl Account {
    /// Return an account whose pairs dominate the releases in both directions. Return `None` if all
    /// pairs are their own reverse. If [`DominatingPair::in_either_direction`] returns `None` for a
    /// pair, use a pair whose curve is the larger of the two curves for the two directions.
    fn symmetric(&self) -> Option<Account> {
        if self.parts().iter().all(|(pair, _)| pair.reverse().is_none()) {
            return None;
        }
        let both = self.parts().iter().fold(Account::new(), |both, (pair, count)| {
            let symmetric = || match pair.in_either_direction() {
                Some(symmetric) => symmetric,
                None => Arc::new(curve(Account::new().with(pair.clone(), 1).profile())),
            };
            let pair = if pair.reverse().is_none() { pair.clone() } else { symmetric() };
            both.with(pair, *count)
        });
        Some(both)
    }
    /// If the account has exactly one release, and only bounds on the Renyi divergence of this
    /// release are known, return these bounds.
    fn only_renyi(&self) -> Option<RenyiCurve> {
        match self.parts() {
            [(pair, 1)] => pair.renyi(),
            _ => None,
        }
    }
    /// Return `false` if at least one pair of the account is given only by a curve, and `true`
    /// otherwise. Pairs with equal `Debug` texts are checked once.
    fn is_known(&self, kinds: &mut HashMap<Arc<str>, bool>) -> bool {
        self.parts().iter().zip(self.names()).all(|((pair, count), name)| {
            let known = || !pair.only_above() || !is_curve(pair, *count);
            *kinds.entry(name.clone()).or_insert_with(known)
        })
    }
    /// Return a profile that is fast to evaluate. If the account needs a grid and has a `rho`, use
    /// this `rho` and the largest loss. Otherwise use the account's own profile.
    fn quick(self) -> PrivacyProfile {
        let (largest, rho) = (self.most(), self.rho());
        let fast = self.parts().iter().all(|(pair, _)| pair.tilted(0.0, 0.0).is_some());
        match rho {
            Some(rho) if !fast => PrivacyProfile::new(move |epsilon| {
                if largest <= epsilon { Ok(0.0) } else { concentrated_delta(rho, epsilon) }
            }),
            _ => self.profile(),
        }
    }
    /// Return the privacy profile of all releases in the account.
    pub fn profile(self) -> PrivacyProfile {
        PrivacyProfile::of_loss(Arc::new(self))
    }
}

/// Return whether `count` releases with a pair are known only by the curve of the pair.
fn is_curve(pair: &Arc<dyn DominatingPair>, count: u64) -> bool {
    pair.between(count).is_none() && pair.integer_gaussian().is_none()
}
fn account(profile: &PrivacyProfile) -> Option<&Account> {
    let loss: &dyn Any = &**profile.loss()?;
    loss.downcast_ref()
}

/// Make the pair of a profile that is known only by its curve. If the curve returns an error at an
/// epsilon, the pair has delta 1 at this epsilon.
fn curve(profile: PrivacyProfile) -> CurvePair {
    let delta = move |epsilon| profile.delta(epsilon).unwrap_or(1.0);
    let known = delta.clone();
    CurvePair::reaching(move || reach(&known), delta)
}
/// Return an epsilon at which the curve is negligible, or is not above its value at epsilon 128.
/// The result exceeds the smallest such epsilon by at most about an eighth of this epsilon, or by
/// at most `1e-6`.
fn reach(delta: &impl Fn(f64) -> f64) -> f64 {
    const MOST: f64 = 128.0;
    let least = delta(MOST).max(NEGLIGIBLE);
    let (mut low, mut high) = (0.0, 1.0);
    while high < MOST && least < delta(high) {
        (low, high) = (high, 2.0 * high);
    }
    while low == 0.0 && 1e-6 < high && delta(high / 2.0) <= least {
        high /= 2.0;
    }
    low = if low == 0.0 { high / 2.0 } else { low };
    for _ in 0..3 {
        let middle = (low + high) / 2.0;
        if delta(middle) <= least { high = middle } else { low = middle }
    }
    high
}
/// Return the profile of one release with a dominating pair.
pub fn profile_of(pair: impl DominatingPair + 'static) -> PrivacyProfile {
    Account::new().with(Arc::new(pair), 1).profile()
}

/// Return the pair of a profile, if the profile is for exactly one release and the pair of this
/// release is its own reverse. Several releases with Gaussian noise count as one release (Dong,
/// Roth, Su 2022, on the composition of Gaussian noise).
pub(crate) fn symmetric(profile: &PrivacyProfile) -> Option<Arc<dyn DominatingPair>> {
    match account(profile)?.parts() {
        [] => None,
        [(pair, 1)] => pair.reverse().is_none().then(|| pair.clone()),
        parts => {
            let mut squares = 0.0_f64;
            for (pair, count) in parts {
                let Some((LogConcaveNoise::Gaussian, mu)) = pair.shift() else { return None };
                let count = f64::inf_cast(*count).ok()?;
                squares = squares.inf_add(count.inf_mul(mu.inf_mul(mu).ok()?).ok()?).ok()?;
            }
            Some(Arc::new(GaussianPair { mu: squares.inf_sqrt().ok()? }))
        }
    }
}

/// Return whether the account of a profile has no releases. Then the profile has no loss.
pub(super) fn is_nothing(profile: &PrivacyProfile) -> bool {
    account(profile).is_some_and(|account| account.parts().is_empty())
}

/// Return the profile of an account, but replace its curve and the inverse of its curve. Let `q` be
/// the rate, and `delta` the curve of `profile`, without sampling. The new curve is the curve on a
/// sample: `q delta(ln(1 + (e^epsilon - 1) / q))`, rounded up.
fn diluted(account: Account, profile: &PrivacyProfile, rate: f64) -> PrivacyProfile {
    let (whole, inverse) = (profile.clone(), profile.clone());
    let delta = move |epsilon: f64| {
        // If the argument of the profile overflows, use epsilon as the argument. The bound is still
        // valid, because epsilon is smaller than the exact argument, and a profile never increases.
        let larger = epsilon
            .neg_inf_exp_m1()
            .and_then(|more| more.neg_inf_div(rate)?.neg_inf_ln_1p())
            .map_or(epsilon, |larger| larger.max(epsilon));
        rate.inf_mul(whole.delta(larger)?)
    };
    let epsilon = move |delta: f64| {
        let share = delta.neg_inf_div(rate)?;
        if share >= 1.0 {
            return Ok(0.0);
        }
        let larger = inverse.epsilon(share.max(0.0))?;
        let ratio = larger.inf_exp_m1().and_then(|more| rate.inf_mul(more)?.inf_ln_1p());
        Ok(ratio.map_or(larger, |ratio| ratio.min(larger)))
    };
    account.profile().with_delta(delta).with_epsilon(epsilon)
}

/// Return the profile of a mechanism on a Poisson sample, if one record is removed or added.
///
/// `profile` is the profile of the mechanism without sampling. For this profile, too, one record is
/// removed or added. `rate` is the probability `q` that a record is in the sample, above 0 and at
/// most 1. Let `delta` be the curve of `profile`. One release on the sample has the curve
/// `q delta(ln(1 + (e^epsilon - 1) / q))` (Balle, Barthe, Gaboardi 2018, Theorem 8). If the profile
/// has one symmetric pair, the result has one pair for a removal and one pair for an addition (see
/// [`SampledPair`]). Each direction is composed separately. Otherwise both directions are composed
/// as in [`profile_of_mixture`].
///
/// # Errors
/// Currently there are no errors.
pub fn profile_of_poisson_sample(profile: &PrivacyProfile, rate: f64) -> Result<PrivacyProfile> {
    if rate >= 1.0 || is_nothing(profile) {
        return Ok(profile.clone());
    }
    let Some(pair) = symmetric(profile) else { return profile_of_mixture(profile, rate) };
    let account = Account::new().with(SampledPair::of(pair, rate, true), 1);
    Ok(diluted(account, profile, rate))
}

/// Return the profile of two mixtures of distributions `A`, `B` and `C`. The mixtures are
/// `(1 - q) A + q B` and `(1 - q) A + q C`, where `q` is the share. `profile` bounds the loss
/// between any two of the three distributions.
///
/// For one release, the result has the same curve as the profile on a Poisson sample. This curve is
/// a bound by advanced joint convexity (Balle, Barthe, Gaboardi 2018, Theorem 2). The curve is a
/// bound in both directions, because `profile` is a bound in both directions. So the two directions
/// have the same bound `d(epsilon)` at each `epsilon >= 0`. At `-epsilon`, the bound is
/// `1 - e^-epsilon + e^-epsilon d(epsilon)`. The bound at `-epsilon` follows from the bound at
/// `epsilon` in the opposite direction.
///
/// # Errors
/// Currently there are no errors.
pub fn profile_of_mixture(profile: &PrivacyProfile, share: f64) -> Result<PrivacyProfile> {
    if share >= 1.0 || is_nothing(profile) {
        return Ok(profile.clone());
    }
    if share <= 0.0 {
        return Ok(Account::new().profile());
    }
    if let Some(pair) = symmetric(profile) {
        let account = Account::new().with(Arc::new(FixedSizePair::of(pair, share)), 1);
        return Ok(diluted(account, profile, share));
    }
    let alone = diluted(Account::new(), profile, share);
    let account = Account::new().with(Arc::new(curve(alone)), 1);
    Ok(diluted(account, profile, share))
}

/// Return the profile of a mechanism that is `rho`-zero-concentrated differentially private.
///
/// # Errors
/// `InvalidDistance` when `rho` is negative or NaN.
pub fn profile_of_concentrated(rho: f64) -> Result<PrivacyProfile> {
    check_rho(rho)?;
    let delta = move |epsilon| concentrated_delta(rho, epsilon);
    let epsilon = move |delta| match delta {
        0.0 if 0.0 < rho => Ok(f64::INFINITY),
        0.0 => Ok(0.0),
        delta => concentrated_epsilon(rho, delta),
    };
    Ok(profile_of(ConcentratedPair::new(rho)).with_delta(delta).with_epsilon(epsilon))
}

/// Return the profile of a mechanism with known bounds on the Renyi divergence of every order.
///
/// # Errors
/// Currently there are no errors. The `Result` is reserved for invalid curves.
pub fn profile_of_renyi(curve: RenyiCurve) -> Result<PrivacyProfile> {
    let epsilon_of = |curve: &RenyiCurve| {
        let curve = curve.clone();
        move |order| curve.epsilon(order)
    };
    let (first, second) = (epsilon_of(&curve), epsilon_of(&curve));
    let delta = move |epsilon| renyi_delta(&first, epsilon);
    let epsilon = move |delta| match delta {
        // Delta 0 needs an epsilon that bounds the divergences of all orders at once. The curve
        // gives only a separate bound for each order.
        0.0 => Ok(f64::INFINITY),
        delta => renyi_epsilon(&second, delta),
    };
    let pair = RenyiPair::new(curve);
    Ok(profile_of(pair).with_delta(delta).with_epsilon(epsilon))
}

/// Return the profile of a mechanism that is (epsilon, delta)-differentially private. At each `x`
/// below epsilon, the profile is `1 - (1 - delta)(1 + e^x) / (1 + e^epsilon)`. For `x` from epsilon
/// on, the profile is delta.
///
/// One such mechanism, a randomized response, dominates all others (Kairouz, Oh, Viswanath 2015).
/// The result is the profile of this mechanism. So no smaller profile bounds all such mechanisms.
///
/// # Errors
/// `InvalidDistance` when epsilon is negative or NaN, or delta is not from 0 to 1.
pub fn profile_of_private(epsilon: f64, delta: f64) -> Result<PrivacyProfile> {
    if !(0.0 <= epsilon && (0.0..=1.0).contains(&delta)) {
        let reason = "expected an epsilon of at least 0 and a delta from 0 to 1, found";
        let found = (epsilon, delta).show();
        return Err(Error::InvalidDistance(format!("{reason} {found}")));
    }
    if epsilon == f64::INFINITY || delta == 1.0 {
        return Ok(exposed());
    }
    if epsilon == 0.0 && delta == 0.0 {
        return Ok(Account::new().profile());
    }
    // Let `u = 1 - e^(x - epsilon)`. Below epsilon, the profile is
    // `delta + (1 - delta) u / (1 + e^-epsilon)`.
    let delta_at = move |x: f64| {
        if epsilon <= x {
            return Ok(delta);
        }
        let u = -x.neg_inf_sub(epsilon)?.neg_inf_exp_m1()?;
        let share = u.inf_div((-epsilon).neg_inf_exp()?.neg_inf_add(1.0)?)?;
        Ok(1f64.inf_sub(delta)?.inf_mul(share)?.inf_add(delta)?.min(1.0))
    };
    let inverse = move |wanted: f64| {
        if wanted < delta {
            return Ok(f64::INFINITY);
        }
        let share = wanted.neg_inf_sub(delta)?.neg_inf_div(1f64.inf_sub(delta)?)?;
        let u = share.neg_inf_mul((-epsilon).neg_inf_exp()?.neg_inf_add(1.0)?)?;
        if 1.0 <= u { Ok(0.0) } else { Ok(epsilon.inf_add((-u).inf_ln_1p()?)?.max(0.0)) }
    };
    Ok(profile_of(PrivatePair { epsilon, delta }).with_delta(delta_at).with_epsilon(inverse))
}

/// Return the profile of a mechanism that can reveal everything.
pub(super) fn exposed() -> PrivacyProfile {
    profile_of(PrivatePair { epsilon: 0.0, delta: 1.0 }).with_delta(|_| Ok(1.0))
}
