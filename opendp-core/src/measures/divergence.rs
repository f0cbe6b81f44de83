//! Privacy losses that are divergences between two distributions.

use serde_json::Value as Json;

use super::curve::{PrivacyProfile, RenyiCurve};
use crate::arith::inf_sum;
use crate::domain::descriptor;
use crate::{Error, Interaction, Measure, Result, TheMeasure, named};

/// Pure differential privacy.
///
/// The loss is epsilon, a bound on the max-divergence in both directions. Let `M(x)` be the release
/// of the mechanism `M` for the data `x`. For neighbours `x` and `x'` and every event `S`,
/// `Pr[M(x) in S] <= e^epsilon * Pr[M(x') in S]`. Losses compose by addition (Dwork, McSherry,
/// Nissim, Smith 2006).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MaxDivergence;

/// Approximate differential privacy at every epsilon at once.
///
/// The loss is a [`PrivacyProfile`]: the mechanism is (epsilon, delta(epsilon))-DP for all epsilon.
/// If profiles contain the distributions of their losses, the composition of the profiles uses
/// these distributions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SmoothedMaxDivergence;

/// Zero-concentrated differential privacy.
///
/// The loss is rho. Let `M(x)` be the release of the mechanism `M` for the data `x`. Let `D_alpha`
/// be the Renyi divergence of order `alpha`. For neighbours `x` and `x'` and every order
/// `alpha > 1`, `D_alpha(M(x), M(x')) <= rho * alpha`. The bound also holds with `x` and `x'`
/// exchanged. Losses compose by addition (Bun, Steinke 2016, on composition).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ZeroConcentratedDivergence;

/// Renyi differential privacy at every order at once.
///
/// The loss is a [`RenyiCurve`]. Let `M(x)` be the release of the mechanism `M` for the data `x`,
/// and let `epsilon(alpha)` be the value of the curve at the order `alpha`. Let `D_alpha` be the
/// Renyi divergence of order `alpha`. For neighbours `x` and `x'` and every order `alpha > 1`,
/// `D_alpha(M(x), M(x')) <= epsilon(alpha)`. The bound also holds with `x` and `x'` exchanged.
/// Curves compose by addition at each order (Mironov 2017, on composition).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RenyiDivergence;

impl Measure for MaxDivergence {
    type Distance = f64;
    fn to_json(&self) -> Json {
        descriptor("max_divergence", [])
    }
    fn compose(&self, losses: &[f64]) -> Result<f64> {
        total(losses)
    }
    /// Return `Concurrent` (Vadhan, Wang 2021).
    fn interaction(&self) -> Interaction {
        Interaction::Concurrent
    }
    /// Return 1: the only part is epsilon. A limit on the sum of the epsilons is a privacy filter
    /// (Rogers, Roth, Ullman, Vadhan 2016). The filter is valid even when the mechanisms are
    /// interactive and concurrent (Haney and others 2023).
    fn parts(&self) -> Result<usize> {
        Ok(1)
    }
    fn split(&self, loss: &f64) -> Result<Vec<f64>> {
        Ok(vec![*loss])
    }
    fn join(&self, parts: &[f64]) -> Result<f64> {
        only(parts)
    }
    /// Make the profile of a mechanism with this loss. The mechanism is `(loss, 0)`-DP. At an
    /// epsilon below the loss, the bound on delta is 1.
    fn profile(&self, loss: &f64) -> Result<PrivacyProfile> {
        Ok(PrivacyProfile::from_points(vec![(*loss, 0.0)]))
    }
}
impl Measure for ZeroConcentratedDivergence {
    type Distance = f64;
    fn to_json(&self) -> Json {
        descriptor("zero_concentrated_divergence", [])
    }
    fn compose(&self, losses: &[f64]) -> Result<f64> {
        total(losses)
    }
    /// Return `Concurrent`. Lyu 2022 proves concurrent composition for each order of Renyi
    /// divergence. So concurrent composition also holds for all orders together.
    fn interaction(&self) -> Interaction {
        Interaction::Concurrent
    }
    /// Return 1: the only part is rho. For each order `alpha`, multiply the sum of the rhos by
    /// `alpha`. A limit on this product is a privacy filter for Renyi divergence (Feldman, Zrnic
    /// 2021). The filter is valid even when the mechanisms are interactive and concurrent (Haney
    /// and others 2023).
    fn parts(&self) -> Result<usize> {
        Ok(1)
    }
    fn split(&self, loss: &f64) -> Result<Vec<f64>> {
        Ok(vec![*loss])
    }
    fn join(&self, parts: &[f64]) -> Result<f64> {
        only(parts)
    }
}
impl Measure for SmoothedMaxDivergence {
    type Distance = PrivacyProfile;
    fn to_json(&self) -> Json {
        descriptor("smoothed_max_divergence", [])
    }
    /// Compose profiles. The result is tight if the profiles contain the distributions of their
    /// losses. See [`PrivacyProfile::compose`].
    fn compose(&self, losses: &[PrivacyProfile]) -> Result<PrivacyProfile> {
        PrivacyProfile::compose(losses)
    }
    fn profile(&self, loss: &PrivacyProfile) -> Result<PrivacyProfile> {
        Ok(loss.clone())
    }
}
impl Measure for RenyiDivergence {
    type Distance = RenyiCurve;
    fn to_json(&self) -> Json {
        descriptor("renyi_divergence", [])
    }
    fn compose(&self, losses: &[RenyiCurve]) -> Result<RenyiCurve> {
        let losses = losses.to_vec();
        Ok(RenyiCurve::new(move |alpha| {
            let all = losses.iter().map(|curve| curve.epsilon(alpha));
            total(&all.collect::<Result<Vec<f64>>>()?)
        }))
    }
    /// Return `Concurrent`. Concurrent composition holds at each order (Lyu 2022).
    fn interaction(&self) -> Interaction {
        Interaction::Concurrent
    }
    /// Return the number of orders at which a [`Ledger`](crate::Ledger) adds up losses. The parts
    /// of a loss are the divergences at these orders. At each of these orders, a limit on the sum
    /// of the divergences is a privacy filter (Feldman, Zrnic 2021; Lecuyer 2021). The filter is
    /// valid even when the mechanisms are interactive and concurrent (Haney and others 2023).
    fn parts(&self) -> Result<usize> {
        Ok(PART_ORDERS.len())
    }
    fn split(&self, loss: &RenyiCurve) -> Result<Vec<f64>> {
        PART_ORDERS.iter().map(|alpha| loss.epsilon(*alpha)).collect()
    }
    /// Return the curve that is the step function through the parts. The step function is an upper
    /// bound, because Renyi divergence does not decrease with its order. Beyond the last order, the
    /// function is infinite.
    fn join(&self, parts: &[f64]) -> Result<RenyiCurve> {
        if parts.len() != PART_ORDERS.len() {
            return Err(wrong_parts(parts));
        }
        Ok(RenyiCurve::from_points(PART_ORDERS.into_iter().zip(parts.iter().copied()).collect()))
    }
}
named! {
    MaxDivergence as "MaxDivergence",
    SmoothedMaxDivergence as "SmoothedMaxDivergence",
    ZeroConcentratedDivergence as "ZeroConcentratedDivergence",
    RenyiDivergence as "RenyiDivergence",
}

const PART_ORDERS: [f64; 20] = RenyiDivergence::ORDERS;
impl RenyiDivergence {
    /// The orders at which a [`Ledger`](crate::Ledger) adds up losses in Renyi divergence. Each
    /// order gives one part of a loss.
    pub const ORDERS: [f64; 20] = [
        1.125, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0, 24.0,
        32.0, 48.0, 64.0, 128.0,
    ];
}

/// Return the part of a loss that has only one part.
fn only(parts: &[f64]) -> Result<f64> {
    match parts {
        [part] => Ok(*part),
        _ => Err(wrong_parts(parts)),
    }
}
#[cold]
pub(super) fn wrong_parts(parts: &[f64]) -> Error {
    Error::FailedMap(format!(
        "the number of parts of a loss in this measure is not {}",
        parts.len()
    ))
}

/// Return the exact sum of losses, rounded up once. An infinite loss gives an infinite total.
/// Return an error if a loss is negative or NaN.
pub(super) fn total(losses: &[f64]) -> Result<f64> {
    if losses.iter().any(|loss| !(0.0 <= *loss)) {
        return Err(Error::FailedMap("a loss in the composition is negative or NaN".into()));
    }
    if losses.contains(&f64::INFINITY) { Ok(f64::INFINITY) } else { inf_sum(losses) }
}

/// Measure loss by the epsilon of pure differential privacy.
pub fn max_divergence() -> Result<TheMeasure<MaxDivergence>> {
    Ok(TheMeasure(MaxDivergence))
}
/// Measure loss by the profile of approximate differential privacy: a delta for each epsilon.
pub fn smoothed_max_divergence() -> Result<TheMeasure<SmoothedMaxDivergence>> {
    Ok(TheMeasure(SmoothedMaxDivergence))
}
/// Measure loss by the rho of zero-concentrated differential privacy.
pub fn zero_concentrated_divergence() -> Result<TheMeasure<ZeroConcentratedDivergence>> {
    Ok(TheMeasure(ZeroConcentratedDivergence))
}
/// Measure loss by the curve of Renyi differential privacy: an epsilon for each order.
pub fn renyi_divergence() -> Result<TheMeasure<RenyiDivergence>> {
    Ok(TheMeasure(RenyiDivergence))
}
register! { "divergence.rs": max_divergence(); }
register! { "divergence.rs": smoothed_max_divergence(); }
register! { "divergence.rs": zero_concentrated_divergence(); }
register! { "divergence.rs": renyi_divergence(); }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_losses_exactly_and_rounds_up_once() {
        let tenths = [0.1; 10];
        assert_eq!(MaxDivergence.compose(&tenths).unwrap(), 1.0000000000000002);
        assert_eq!(MaxDivergence.compose(&[0.5, 0.25]).unwrap(), 0.75);
        assert_eq!(MaxDivergence.compose(&[]).unwrap(), 0.0);
        assert_eq!(MaxDivergence.compose(&[1.0, f64::INFINITY]).unwrap(), f64::INFINITY);
        for wrong in [f64::NAN, -1.0, -5e-324, f64::NEG_INFINITY] {
            let error = MaxDivergence.compose(&[1.5, wrong]).unwrap_err();
            assert_eq!(error.kind(), "FailedMap", "{wrong}");
            assert!(ZeroConcentratedDivergence.compose(&[f64::INFINITY, wrong]).is_err());
        }
        assert_eq!(MaxDivergence.compose(&[1.5, -0.0]).unwrap(), 1.5);
    }
    #[test]
    fn composes_renyi_curves_order_by_order() {
        let curve = RenyiCurve::new(|alpha| Ok(alpha / 2.0));
        let both = RenyiDivergence.compose(&[curve.clone(), curve]).unwrap();
        assert_eq!(both.epsilon(3.0).unwrap(), 3.0);
        assert!(both.epsilon(1.0).is_err());
    }
    #[test]
    fn an_empty_composition_of_profiles_costs_nothing() {
        assert_eq!(SmoothedMaxDivergence.compose(&[]).unwrap().delta(0.0).unwrap(), 0.0);
    }
}
