//! Losses that are functions: privacy profiles and Renyi curves.

use std::{any::Any, cell::Cell, fmt, sync::Arc};

use serde_json::{Value as Json, json};

use crate::arith::{Directed, inf_sum, shown};
use crate::codec::unexpected;
use crate::erased::AnyDistance;
use crate::{Codec, Distance, Error, Result, named};

type Curve = Arc<dyn Fn(f64) -> Result<f64> + Send + Sync>;

/// The privacy profile of a mechanism. For each epsilon, the profile has a delta such that the
/// mechanism is (epsilon, delta)-DP.
///
/// These guarantees hold for all epsilons at once, and delta does not increase with epsilon. If
/// each profile contains the distribution of the loss of its mechanism, the composition of the
/// profiles is tight.
#[derive(Clone)]
pub struct PrivacyProfile {
    delta: Curve,
    /// The inverse of the curve, if it is known.
    epsilon: Option<Curve>,
    loss: Option<Arc<dyn ComposableLoss>>,
    /// Whether the curve of the loss was replaced by a curve that is tighter, or faster to compute.
    tighter: bool,
}

/// A privacy loss whose distribution is known, and its composition with other losses.
///
/// This crate does not implement this trait. A crate for privacy accounting implements it.
pub trait ComposableLoss: Any + Send + Sync {
    /// Return an upper bound on delta at an epsilon.
    ///
    /// # Errors
    /// The errors of the computation.
    fn delta(&self, epsilon: f64) -> Result<f64>;
    /// Return an upper bound on the smallest epsilon at which delta is at most the given value.
    ///
    /// # Errors
    /// The errors of the computation.
    fn epsilon(&self, delta: f64) -> Result<f64>;
    /// Return a lower bound on delta at an epsilon. The difference between [`delta`](Self::delta)
    /// and this bound is an upper bound on the error of the computation. Defaults to 0.
    ///
    /// # Errors
    /// The errors of the computation.
    fn delta_below(&self, _epsilon: f64) -> Result<f64> {
        Ok(0.0)
    }
    /// Return a bound on the profile of the composition of `profiles`. At least one profile
    /// contains a loss of this type. The other profiles can contain a loss of another type, or no
    /// loss.
    ///
    /// # Errors
    /// The errors of the computation.
    fn compose(&self, profiles: &[PrivacyProfile]) -> Result<PrivacyProfile>;
    /// If this loss depends on the order of the two neighbours, return a loss that bounds this loss
    /// for both orders (see [`Distance::in_either_direction`]). Defaults to `None`: the loss does
    /// not depend on the order.
    fn in_either_direction(&self) -> Option<Arc<dyn ComposableLoss>> {
        None
    }
}

/// The Renyi curve of a mechanism. For each order alpha > 1, the curve has a bound on a Renyi
/// divergence of this order: the divergence between the releases for two neighbours.
#[derive(Clone)]
pub struct RenyiCurve(Curve);

/// The values of epsilon at which a profile is written to JSON.
const GRID: [f64; 9] = [0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0];
/// The orders at which a Renyi curve is written to JSON.
const ORDERS: [f64; 8] = [1.25, 1.5, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

impl PrivacyProfile {
    /// Make a profile from a function. The caller is responsible for two conditions: the function
    /// returns upper bounds on delta, and these bounds do not increase with epsilon.
    pub fn new(delta: impl Fn(f64) -> Result<f64> + Send + Sync + 'static) -> Self {
        PrivacyProfile { delta: Arc::new(delta), epsilon: None, loss: None, tighter: false }
    }
    /// Make the profile of a loss whose distribution is known.
    pub fn of_loss(loss: Arc<dyn ComposableLoss>) -> Self {
        let known = loss.clone();
        let delta = Arc::new(move |epsilon| known.delta(epsilon));
        PrivacyProfile { delta, epsilon: None, loss: Some(loss), tighter: false }
    }
    /// Replace the curve by a curve that is tighter, or faster to compute, than the old curve. Keep
    /// the known loss, and forget the stated inverse.
    #[must_use]
    pub fn with_delta(self, delta: impl Fn(f64) -> Result<f64> + Send + Sync + 'static) -> Self {
        PrivacyProfile { delta: Arc::new(delta), epsilon: None, tighter: true, ..self }
    }
    /// State the inverse of the curve, so that no search is necessary. For each delta, `epsilon`
    /// returns an epsilon at which the mechanism is (epsilon, delta)-DP. The caller is responsible
    /// for this claim.
    #[must_use]
    pub fn with_epsilon(
        self,
        epsilon: impl Fn(f64) -> Result<f64> + Send + Sync + 'static,
    ) -> Self {
        PrivacyProfile { epsilon: Some(Arc::new(epsilon)), ..self }
    }
    /// Return the distribution of the loss, if it is known.
    pub fn loss(&self) -> Option<&Arc<dyn ComposableLoss>> {
        self.loss.as_ref()
    }
    /// Compose the profiles of several releases on the same data. Return a bound on the profile of
    /// all releases together.
    ///
    /// If at least one profile contains the distribution of its loss, [`ComposableLoss::compose`]
    /// of the first such loss composes all profiles. Otherwise, use basic composition. Suppose that
    /// mechanism `i` of `k` mechanisms is `(epsilon / k, delta_i)`-DP. Then all mechanisms together
    /// are `(epsilon, sum_i delta_i)`-DP (Dwork, Roth 2014, on basic composition).
    ///
    /// # Errors
    /// The errors of [`ComposableLoss::compose`].
    pub fn compose(profiles: &[PrivacyProfile]) -> Result<PrivacyProfile> {
        match profiles {
            [] => Ok(PrivacyProfile::new(|_| Ok(0.0))),
            [single] => Ok(single.clone()),
            _ => {
                if let Some(loss) = profiles.iter().find_map(PrivacyProfile::loss) {
                    return loss.compose(profiles);
                }
                let profiles = profiles.to_vec();
                let count = profiles.len() as f64;
                Ok(PrivacyProfile::new(move |epsilon| {
                    let share =
                        if epsilon.is_finite() { epsilon.neg_inf_div(count)? } else { epsilon };
                    let deltas = profiles.iter().map(|profile| profile.delta(share));
                    inf_sum(&deltas.collect::<Result<Vec<f64>>>()?)
                }))
            }
        }
    }
    /// Make the profile of a mechanism that is known to be (epsilon, delta)-DP at the given points.
    ///
    /// At each epsilon, the bound is the smallest delta of the points with the same or a smaller
    /// epsilon. This delta is an upper bound, because a profile does not increase with epsilon. If
    /// no point has the same or a smaller epsilon, the bound is 1. Points with an infinite epsilon
    /// are ignored: an infinite loss states nothing about delta.
    pub fn from_points(mut points: Vec<(f64, f64)>) -> Self {
        points.retain(|(epsilon, _)| epsilon.is_finite());
        PrivacyProfile::new(move |epsilon| {
            let known = points.iter().filter(|(e, _)| *e <= epsilon).map(|(_, delta)| *delta);
            Ok(known.fold(1.0, f64::min))
        })
    }
    /// Return the bound on delta at an epsilon.
    ///
    /// # Errors
    /// `InvalidDistance` when epsilon is negative or NaN. `FailedMap` when the bound is negative or
    /// NaN. `delta` also returns the errors of the function that computes the bound.
    pub fn delta(&self, epsilon: f64) -> Result<f64> {
        if !(0.0 <= epsilon) {
            return Err(Error::InvalidDistance(format!(
                "epsilon: expected a number of at least 0, found {}",
                shown(epsilon)
            )));
        }
        let delta = (self.delta)(epsilon)?;
        if !(0.0 <= delta) {
            let (epsilon, delta) = (shown(epsilon), shown(delta));
            return Err(Error::FailedMap(format!(
                "the curve of a privacy profile: expected a delta of at least 0 at epsilon \
                 {epsilon}, found {delta}"
            )));
        }
        Ok(delta.min(1.0))
    }
    /// Return an upper bound on the smallest epsilon at which delta is at most the given value.
    ///
    /// # Errors
    /// `InvalidDistance` when delta is not in `[0, 1]`, or is `-0.0`. `FailedMap` when the stated
    /// inverse returns a negative number or NaN. This function also returns the errors of
    /// [`delta`](PrivacyProfile::delta), of the stated inverse, and of [`ComposableLoss::epsilon`].
    pub fn epsilon(&self, delta: f64) -> Result<f64> {
        if !(0.0..=1.0).contains(&delta) || delta.is_sign_negative() {
            return Err(Error::InvalidDistance(format!(
                "delta: expected a number from 0 to 1, found {}",
                shown(delta)
            )));
        }
        if let Some(epsilon) = &self.epsilon {
            let epsilon = epsilon(delta)?;
            if !(0.0 <= epsilon) {
                let (delta, epsilon) = (shown(delta), shown(epsilon));
                return Err(Error::FailedMap(format!(
                    "the curve of a privacy profile: expected an epsilon of at least 0 at delta \
                     {delta}, found {epsilon}"
                )));
            }
            return Ok(epsilon);
        }
        if let (Some(loss), false) = (&self.loss, self.tighter) {
            return loss.epsilon(delta);
        }
        if self.delta(0.0)? <= delta {
            return Ok(0.0);
        }
        let (mut low, mut high) = (0.0, 1.0);
        while delta < self.delta(high)? {
            low = high;
            high *= 2.0;
            if high == f64::INFINITY {
                return Ok(high);
            }
        }
        // Invariant: the profile exceeds delta at `low`, and is at most delta at `high`.
        loop {
            let middle = low + (high - low) / 2.0;
            if middle <= low || high <= middle {
                return Ok(high);
            }
            if self.delta(middle)? <= delta { high = middle } else { low = middle }
        }
    }
}

impl RenyiCurve {
    /// Make a curve from a bound for each order. The caller is responsible for the bound.
    pub fn new(epsilon: impl Fn(f64) -> Result<f64> + Send + Sync + 'static) -> Self {
        RenyiCurve(Arc::new(epsilon))
    }
    /// Make the curve of a mechanism whose divergence is bounded at the given orders.
    ///
    /// At each order, use the smallest bound of the points with the same or a higher order. This
    /// bound is right, because Renyi divergence does not decrease with its order. If no point has
    /// the same or a higher order, the bound is infinite.
    pub fn from_points(points: Vec<(f64, f64)>) -> Self {
        RenyiCurve::new(move |alpha| {
            let known = points.iter().filter(|(a, _)| alpha <= *a).map(|(_, epsilon)| *epsilon);
            Ok(known.fold(f64::INFINITY, f64::min))
        })
    }
    /// Return the bound on the divergence of an order.
    ///
    /// # Errors
    /// `InvalidDistance` if the order is at most 1 or is NaN. `FailedMap` if the bound is negative
    /// or NaN. `epsilon` also returns the errors of the function that computes the bound.
    pub fn epsilon(&self, alpha: f64) -> Result<f64> {
        if !(1.0 < alpha) {
            return Err(Error::InvalidDistance(format!(
                "alpha: expected an order above 1, found {}",
                shown(alpha)
            )));
        }
        let epsilon = (self.0)(alpha)?;
        if !(0.0 <= epsilon) {
            let (alpha, epsilon) = (shown(alpha), shown(epsilon));
            return Err(Error::FailedMap(format!(
                "the Renyi curve: expected an epsilon of at least 0 at order {alpha}, found \
                 {epsilon}"
            )));
        }
        Ok(epsilon)
    }
}

fn points(json: &Json, key: &str) -> Result<Vec<(f64, f64)>> {
    match json.get(key) {
        Some(points) => Vec::from_json(points),
        None => Err(unexpected(format!("an object {{\"{key}\": [[x, y], ...]}}"), json)),
    }
}
/// Evaluate a curve on a grid. Skip the points at which the curve returns an error.
fn grid(xs: &[f64], curve: impl Fn(f64) -> Result<f64>) -> Json {
    xs.iter().filter_map(|x| Some(json!([x.to_json(), curve(*x).ok()?.to_json()]))).collect()
}

/// Write a curve as JSON. If the curve fails at every point, return its error at the point `first`.
/// `key` is the key of the points in the JSON, and `value_at` evaluates the curve.
fn written(
    curve: &impl Codec,
    key: &str,
    first: f64,
    value_at: impl Fn(f64) -> Result<f64>,
) -> Result<Json> {
    let json = curve.to_json();
    if json.get(key) == Some(&json!([])) {
        value_at(first)?;
    }
    Ok(json)
}
impl PrivacyProfile {
    fn written(&self) -> Result<Json> {
        written(self, "profile", GRID[0], |epsilon| self.delta(epsilon))
    }
}
impl RenyiCurve {
    fn written(&self) -> Result<Json> {
        written(self, "renyi", ORDERS[0], |alpha| self.epsilon(alpha))
    }
}

impl AnyDistance {
    /// Write a loss as JSON. If the loss is a curve that fails at every point, return the error of
    /// the curve.
    pub(crate) fn written_loss(&self) -> Result<Json> {
        if let Ok(profile) = self.downcast_ref::<PrivacyProfile>() {
            return profile.written();
        }
        if let Ok(curve) = self.downcast_ref::<RenyiCurve>() {
            return curve.written();
        }
        Ok(self.to_json())
    }
}

/// A profile is written as points on a small grid. The points are read as a
/// [table](PrivacyProfile::from_table). A profile does not increase with epsilon. So if a bound
/// exceeds the bound at the previous point, the smaller bound is written for both points.
impl Codec for PrivacyProfile {
    fn to_json(&self) -> Json {
        let least = Cell::new(1.0_f64);
        json!({"profile": grid(&GRID, |epsilon| {
            least.set(least.get().min(self.delta(epsilon)?));
            Ok(least.get())
        })})
    }
    fn from_json(json: &Json) -> Result<Self> {
        PrivacyProfile::from_table(points(json, "profile")?)
    }
}
/// A Renyi curve is written as points on a small grid. The points are read as a step function. The
/// step function is an upper bound, because Renyi divergence does not decrease with its order.
impl Codec for RenyiCurve {
    fn to_json(&self) -> Json {
        json!({"renyi": grid(&ORDERS, |alpha| self.epsilon(alpha))})
    }
    fn from_json(json: &Json) -> Result<Self> {
        points(json, "renyi").map(RenyiCurve::from_points)
    }
}

macro_rules! curves {
    ($($t:ident { $($method:item)* })*) => {$(
        impl Distance for $t {
            fn at_most(&self, _: &Self) -> Result<bool> {
                Err(Error::NotImplemented(
                    "whole curves cannot be compared; compare one point, such as epsilon at a delta".into(),
                ))
            }
            fn check(&self) -> Result<()> {
                Ok(())
            }
            fn show(&self) -> String {
                self.to_json().to_string()
            }
            $($method)*
        }
        impl fmt::Debug for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($t))
            }
        }
    )*};
}
curves! {
    PrivacyProfile {
        /// The curve already bounds the loss for both orders of the two data sets. So only the
        /// distribution of the loss is replaced.
        fn in_either_direction(self) -> Self {
            match self.loss.as_ref().and_then(|loss| loss.in_either_direction()) {
                Some(loss) => PrivacyProfile { loss: Some(loss), ..self },
                None => self,
            }
        }
    }
    RenyiCurve {}
}
named!(PrivacyProfile as "PrivacyProfile", RenyiCurve as "RenyiCurve");

#[cfg(test)]
mod tests;
