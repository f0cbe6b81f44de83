//! The privacy profile for two data sets that a path of several steps connects, computed from the
//! profile of one step.
//!
//! Every division of epsilon among the steps gives a bound on delta. A search in a table of the
//! profile finds a good division. The search does not bound its rounding errors. The bound for the
//! division that was found is then computed only from certified bounds, and rounded up.

use opendp_core::arith::{Directed, DirectedFloat, Exact};
use opendp_core::{PrivacyProfile, Result};

use super::growth::grown_delta;
use crate::accounting::elementary::exp;
use crate::accounting::memo::Memo;
use crate::accounting::{
    CurvePair, LogConcaveNoise, profile_of, profile_of_discrete_gaussian,
    profile_of_discrete_laplace, profile_of_gaussian, profile_of_laplace, symmetric,
};
use crate::collected::Collected;

/// The number of points with an epsilon above 0 in a table. The table has the same number of points
/// with an epsilon below 0. This number and the largest epsilon of a table are powers of two. So
/// all epsilons of points are multiples of one power of two, and their sums are exact.
const POINTS: i32 = 256;
/// At the largest epsilon of a table, delta is at most the larger of two numbers: this value, and
/// the delta at `LARGEST`.
const NEGLIGIBLE: f64 = 1e-24;
/// The largest possible epsilon of a table.
const LARGEST: f64 = 512.0;
/// If there are more steps than this number, all steps get the same epsilon.
const MOST_STEPS: u32 = 1024;
/// A composition uses the profile up to the epsilon at which delta is this value.
const REACH: f64 = 1e-18;

/// Take the profile of one step, and compute a profile that bounds a path of several steps.
pub(super) fn grouped(profile: &PrivacyProfile, steps: u32) -> PrivacyProfile {
    if steps <= 1 {
        return profile.clone();
    }
    if let Some(Ok(shifted)) = shifted(profile, steps) {
        return shifted;
    }
    let (profile, table) = (profile.clone(), Memo::new());
    let delta = move |epsilon: f64| {
        let same = |epsilon| same_steps(&profile, steps, epsilon).unwrap_or(1.0);
        let all = same(epsilon);
        if MOST_STEPS < steps || all == 0.0 {
            return all;
        }
        let table = table.get(|| Table::new(&profile));
        // The search chooses one point of the table for each of the `steps` steps. The epsilon of a
        // point is at most `table.end`. So the epsilons of the chosen points add up to at most
        // `table.end` times `steps`. So a larger epsilon is reduced to this limit. Delta does not
        // rise with epsilon, so the bound at this limit is also a bound at the larger epsilon.
        let epsilon = epsilon.min(table.end * f64::from(steps));
        table.divided(epsilon, steps).iter().fold(all.min(same(epsilon)), |least, way| {
            let found = table.add_up(way, epsilon, &profile).unwrap_or(1.0);
            if found < least { found } else { least }
        })
    };
    let curve = PrivacyProfile::new(move |epsilon| Ok(delta(epsilon)));
    let (reach, points) = (curve.clone(), curve.clone());
    let pair = CurvePair::reaching(
        move || reach.epsilon(REACH).unwrap_or(f64::INFINITY),
        move |epsilon| points.delta(epsilon).unwrap_or(1.0),
    );
    profile_of(pair).with_delta(move |epsilon| curve.delta(epsilon))
}

/// If a step is dominated by a shift of log-concave noise, return the profile of a shift that is
/// `steps` times as long. Return `None` if no such noise is known.
///
/// Let `T_a` be the trade-off function of the noise for the shift by `a`: for each first error of a
/// test, `T_a` is the least second error. If each step has a trade-off function of at least `T_a`,
/// two steps have one of at least `T_a(1 - T_a)` (Dong, Roth, Su 2022, on group privacy). For
/// log-concave noise, this is `T_(2a)`: see [`LaplacePair`](crate::accounting::LaplacePair). So by
/// induction, `k` steps have a trade-off function of at least `T_(k a)`. The result is the profile
/// of `T_(k a)`, which is also the exact profile if all steps are shifts in the same direction.
fn shifted(profile: &PrivacyProfile, steps: u32) -> Option<Result<PrivacyProfile>> {
    let (noise, distance) = symmetric(profile)?.shift()?;
    let distance = distance.inf_mul(f64::from(steps)).ok()?;
    Some(match noise {
        LogConcaveNoise::Gaussian => profile_of_gaussian(distance, 1.0),
        LogConcaveNoise::Laplace => profile_of_laplace(distance, 1.0),
        LogConcaveNoise::DiscreteLaplace { scale } => profile_of_discrete_laplace(distance, scale),
        LogConcaveNoise::DiscreteGaussian { scale } => {
            profile_of_discrete_gaussian(distance, scale)
        }
    })
}

/// Return an upper bound on delta at an epsilon. If epsilon is negative, apply the profile to the
/// complements of events.
fn bound(profile: &PrivacyProfile, epsilon: f64) -> Result<f64> {
    if 0.0 <= epsilon {
        return profile.delta(epsilon);
    }
    let rest = 1.0.neg_inf_sub(profile.delta(-epsilon)?)?;
    1.0.inf_sub(epsilon.neg_inf_exp()?.neg_inf_mul(rest)?)
}
/// Return an upper bound on delta for steps that all have the same epsilon.
fn same_steps(profile: &PrivacyProfile, steps: u32, epsilon: f64) -> Result<f64> {
    let share = match epsilon.is_finite() {
        true => epsilon.neg_inf_div(f64::from(steps))?,
        false => epsilon,
    };
    let delta = Exact::from_f64(profile.delta(share)?)?;
    Ok(grown_delta(share, &delta, steps).to_f64_up())
}

/// A way to divide epsilon among steps. For each step except the last step, the list contains the
/// index of a point in a table. The last step gets the remaining epsilon.
type Way = Vec<usize>;

/// One point of the profile of a step.
struct Point {
    epsilon: f64,
    /// `e^epsilon`, rounded up.
    ratio: f64,
    /// A bound on delta at this epsilon.
    delta: f64,
}
/// A table of points of a profile. The epsilons of the points are equally spaced.
struct Table {
    /// The largest epsilon of the table, a power of two.
    end: f64,
    points: Vec<Point>,
    /// One number `q` for each point except the last. Let an event have the probability `q` after a
    /// step. Then each point gives the bound `e^epsilon q + delta` on the probability of the event
    /// before the step. The number `q` of a point is chosen so that this point and the next point
    /// give the same bound.
    falls: Vec<f64>,
}
impl Table {
    fn new(profile: &PrivacyProfile) -> Self {
        let delta_at = |epsilon| bound(profile, epsilon).unwrap_or(1.0);
        let (mut end, least) = (LARGEST, delta_at(LARGEST).max(NEGLIGIBLE));
        while 1e-12 < end && delta_at(end / 2.0) <= least {
            end /= 2.0;
        }
        let gap = end / f64::from(POINTS);
        let points: Vec<Point> = (-POINTS..=POINTS)
            .map(|place| {
                let epsilon = f64::from(place) * gap;
                // The epsilon is at most `LARGEST`, so the ratio does not exceed all floats. In
                // case of an error, infinity is also an upper bound on the ratio.
                let ratio = epsilon.inf_exp().unwrap_or(f64::INFINITY);
                Point { epsilon, ratio, delta: delta_at(epsilon) }
            })
            .collected();
        let fall = |(first, second): (&Point, &Point)| {
            (first.delta - second.delta) / (second.ratio - first.ratio)
        };
        let falls = points.iter().zip(points.iter().skip(1)).map(fall).collected();
        Table { end, points, falls }
    }
    /// Go backward through the steps. Begin with the probability of an event after the last step.
    /// For each step, choose the point that gives the least bound on the probability before the
    /// step. Call `visit` with the index of each chosen point. Return the sum of the epsilons of
    /// these points.
    fn walk(&self, mut probability: f64, steps: u32, mut visit: impl FnMut(usize)) -> f64 {
        let mut total = 0.0;
        for _ in 0..steps {
            let place = self.falls.partition_point(|fall| probability < *fall);
            let Some(point) = self.points.get(place) else { continue };
            visit(place);
            total += point.epsilon;
            probability = (point.ratio * probability + point.delta).min(1.0);
        }
        total
    }
    /// Find two ways to divide epsilon. For each way, `walk` chooses points for a given probability
    /// after the last step. A bisection finds two probabilities with the following properties. If
    /// possible, the epsilons of the points of the first way add up to a little more than the given
    /// epsilon. The epsilons of the points of the second way add up to the given epsilon or a
    /// little less. The point of the last step is then removed, because this step gets the
    /// remaining epsilon.
    fn divided(&self, epsilon: f64, steps: u32) -> [Way; 2] {
        let (mut low, mut high) = (-690.0, 0.0);
        for _ in 0..50 {
            let middle = low + (high - low) / 2.0;
            if epsilon < self.walk(exp(middle), steps, |_| ()) {
                low = middle
            } else {
                high = middle
            }
        }
        [low, high].map(|log| {
            let mut way = Vec::new();
            self.walk(exp(log), steps, |place| way.push(place));
            way.reverse();
            way.pop();
            way
        })
    }
    /// Return the sum over `i` of `e^(epsilon_1 + ... + epsilon_(i - 1)) delta(epsilon_i)`, rounded
    /// up. `epsilon_i` is the epsilon that the way gives to step `i`, and `delta` is the profile of
    /// a step.
    fn add_up(&self, way: &Way, epsilon: f64, profile: &PrivacyProfile) -> Result<f64> {
        let (mut total, mut ratio, mut spent) = (0.0_f64, 1.0_f64, 0.0_f64);
        for point in way.iter().filter_map(|place| self.points.get(*place)) {
            total = total.inf_add(ratio.inf_mul(point.delta)?)?;
            ratio = ratio.inf_mul(point.ratio)?;
            spent = spent.inf_add(point.epsilon)?;
        }
        let last = bound(profile, epsilon.neg_inf_sub(spent)?)?;
        total.inf_add(ratio.inf_mul(last)?)
    }
}
