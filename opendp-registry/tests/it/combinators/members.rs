//! Measurements with losses in every measure. The tests apply combinators to these measurements.

use opendp_core::arith::DirectedFloat;
use opendp_core::erased::{AnyDistance, AnyMeasurement};
use opendp_core::{
    Approximate, Arg, Atom, AtomDomain, ChangeOneDistance, Constructed, Function, HammingDistance,
    InsertDeleteDistance, MaxDivergence, Measure, Measurement, Metric, MetricOn, PrivacyMap,
    PrivacyProfile, RenyiCurve, RenyiDivergence, Sampled, SmoothedMaxDivergence, Space,
    SymmetricDistance, VectorDomain, ZeroConcentratedDivergence,
};
use serde_json::{Value as Json, json};

/// A measurement, and optionally a lower bound on its true loss for two data sets at distance 0.
pub(super) struct Member {
    pub(super) made: AnyMeasurement,
    pub(super) told: String,
    pub(super) truth: Option<Truth>,
    /// Two possible rows of the data that the measurement takes.
    pub(super) rows: Json,
}
/// A lower bound on the true loss at distance 0. The function `delta` gives a lower bound on delta
/// for each epsilon. For every order of at least 1, the number `divergence` is a lower bound on the
/// divergence. Let `d` be the limit of `delta` for large epsilon. A loss of an approximate measure
/// consists of a divergence and a delta. For such a loss with a delta below `d`, the number
/// `divergence` is also a lower bound on the divergence.
#[derive(Clone, Copy)]
pub(super) struct Truth {
    delta: fn(f64) -> f64,
    pub(super) divergence: f64,
}
impl Truth {
    /// Return the delta at an epsilon, slightly reduced because of rounding.
    pub(super) fn at(self, epsilon: f64) -> f64 {
        (self.delta)(epsilon) * (1.0 - 1e-9)
    }
}
impl Member {
    pub(super) fn arg(&self) -> Arg {
        Constructed::from(self.made.clone()).into()
    }
    /// Return the stated loss at a distance.
    pub(super) fn loss(&self, d_in: u32) -> AnyDistance {
        self.made.map(&AnyDistance::new(d_in)).unwrap()
    }
}

/// Return the delta of randomized response with probability 3/4, at an epsilon. The mechanism
/// reports whether the first row is odd, and the report is correct with probability 3/4.
fn of_order(epsilon: f64) -> f64 {
    (0.75 - 0.25 * epsilon.inf_exp().unwrap()).max(0.0)
}
/// Return the delta of a mechanism that reveals the first row with probability 1/100.
fn of_first_row(_: f64) -> f64 {
    0.01
}
/// Return ln 3, rounded up. The number ln 3 is the epsilon of randomized response with probability
/// 3/4 (see `of_order`).
fn ln3() -> f64 {
    3_f64.inf_ln().unwrap()
}
fn order_profile() -> PrivacyProfile {
    PrivacyProfile::new(|epsilon| Ok(of_order(epsilon)))
}
/// Return the privacy profile of Laplace noise with scale 1, at the distance `d`.
fn laplace_profile(d: f64) -> PrivacyProfile {
    PrivacyProfile::new(move |epsilon| {
        Ok(if epsilon < d { -((epsilon - d) / 2.0).neg_inf_exp_m1().unwrap() } else { 0.0 })
    })
}
/// Return the Renyi curve of Gaussian noise with scale 1, at the distance `d`. Add the constant
/// `always` at every order.
fn renyi(d: f64, always: f64) -> RenyiCurve {
    RenyiCurve::new(move |alpha| Ok(alpha * d * d / 2.0 + always))
}

/// Return the members for one input space. In each measure, some members have no loss at distance
/// 0, and other members have a loss at distance 0.
fn members_of<T: Atom, M>(metric: &M, size: Option<usize>) -> Vec<Member>
where
    M: MetricOn<VectorDomain<AtomDomain<T>>> + Metric<Distance = u32>,
{
    let domain = VectorDomain::new(AtomDomain::<T>::default());
    let domain = if let Some(size) = size { domain.with_size(size) } else { domain };
    let space = Space::new(domain, metric.clone()).unwrap();
    let rows = match T::type_name().to_string().as_str() {
        "bool" => json!([false, true]),
        "String" => json!(["", "a"]),
        _ => json!([0, 1]),
    };
    let mut all = Vec::new();
    macro_rules! members {
        ($($measure:expr, $kind:literal, $truth:expr, $loss:expr;)*) => {$({
            let loss = $loss;
            let map = PrivacyMap::new(move |d: &u32| Ok(loss(f64::from(*d))));
            let function = Function::map(|rows: &Vec<T>| Ok(rows.len() as i32));
            let made = Measurement::new(space.clone(), $measure, function, map).erase();
            let told = format!("{} in {}, {}", $kind, $measure.to_json(), space.to_json());
            all.push(Member { made, told, truth: $truth, rows: rows.clone() });
        })*};
    }
    // For randomized response with probability 3/4, the divergence of order 1 is
    // `3/4 ln 3 - 1/4 ln 3`. If an outcome is possible for one data set and impossible for the
    // other data set, the divergence is infinite.
    let order = Some(Truth { delta: of_order, divergence: 0.5 * ln3() * (1.0 - 1e-9) });
    let first = Some(Truth { delta: of_first_row, divergence: f64::INFINITY });
    let rho = ln3() * ln3() / 2.0;
    members! {
        MaxDivergence, "plain", None, |d: f64| 0.5 * d;
        MaxDivergence, "order", order, |_: f64| ln3();
        MaxDivergence, "order and rows", order, |d: f64| ln3() + 0.5 * d;
        ZeroConcentratedDivergence, "plain", None, |d: f64| d * d / 8.0;
        ZeroConcentratedDivergence, "order", order, move |_: f64| rho;
        Approximate(MaxDivergence), "plain", None, |d: f64| (0.5 * d, (1e-6 * d).min(1.0));
        Approximate(MaxDivergence), "order", order, |d: f64| (ln3() + 0.5 * d, 0.0);
        Approximate(MaxDivergence), "first row", first, |d: f64| (0.5 * d, 0.01);
        Approximate(ZeroConcentratedDivergence), "plain", None, |d: f64| (d * d / 8.0, 0.0);
        Approximate(ZeroConcentratedDivergence), "order", order, move |_: f64| (rho, 0.0);
        Approximate(ZeroConcentratedDivergence), "first row", first, |d: f64| (d * d / 8.0, 0.01);
        SmoothedMaxDivergence, "curve", None, |d: f64| laplace_profile(0.5 * d);
        SmoothedMaxDivergence, "order", order, |_: f64| order_profile();
        SmoothedMaxDivergence, "first row", first, |_: f64| PrivacyProfile::new(|_| Ok(0.01));
        Approximate(SmoothedMaxDivergence), "curve", None, |d: f64| (laplace_profile(0.5 * d), 0.0);
        Approximate(SmoothedMaxDivergence), "order", order, |_: f64| (order_profile(), 0.0);
        Approximate(SmoothedMaxDivergence), "first row", first, |d: f64| {
            (laplace_profile(0.5 * d), 0.01)
        };
        RenyiDivergence, "curve", None, |d: f64| renyi(d, 0.0);
        RenyiDivergence, "order", order, |d: f64| renyi(d, ln3());
        Approximate(RenyiDivergence), "curve", None, |d: f64| (renyi(d, 0.0), 0.0);
        Approximate(RenyiDivergence), "order", order, |d: f64| (renyi(d, ln3()), 0.0);
        Approximate(RenyiDivergence), "first row", first, |d: f64| (renyi(d, 0.0), 0.01);
        Sampled(MaxDivergence), "plain", None, |d: f64| 0.5 * d;
        Sampled(MaxDivergence), "order", order, |_: f64| ln3();
        Sampled(Approximate(MaxDivergence)), "plain", None, |d: f64| (0.5 * d, 0.0);
        Sampled(Approximate(MaxDivergence)), "first row", first, |d: f64| (0.5 * d, 0.01);
    }
    all
}
/// Return all members on data sets of one type of rows.
pub(super) fn members<T: Atom>() -> Vec<Member> {
    let mut all = members_of::<T, _>(&SymmetricDistance, None);
    all.extend(members_of::<T, _>(&InsertDeleteDistance, None));
    all.extend(members_of::<T, _>(&SymmetricDistance, Some(10)));
    all.extend(members_of::<T, _>(&ChangeOneDistance, Some(10)));
    all.extend(members_of::<T, _>(&HammingDistance, Some(10)));
    all
}
