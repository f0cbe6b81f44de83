//! Dominating pairs for mechanisms that are known only by their privacy profiles.

use std::fmt;
use std::sync::Arc;

use super::elementary::{U, exp, exp_m1};
use super::listed_transform::{Atoms, TiltedList};
use super::memo::Memo;
use super::pair::{Buckets, DominatingPair, Grid};
use super::transform::Tilted;
use crate::collected::Collected;

/// A pair for a mechanism that is known only by its privacy profile.
///
/// The true profile is a convex function of `r = e^epsilon`. The true profile is at most the given
/// profile at every epsilon. Take the lower convex hull of the values of the given profile at some
/// positive and negative epsilons. The true profile is at most this hull. The hull is the profile
/// of a loss whose only values are these epsilons and infinity. For `epsilon > 0`, the value at
/// `-epsilon` is `delta(-epsilon) = 1 - e^-epsilon (1 - delta(epsilon))`. On the right side of this
/// equation, `delta(epsilon)` is the delta at `epsilon` in the opposite direction. The given
/// profile also bounds the opposite direction.
///
/// The profile is evaluated once, at 0 and at 256 positive epsilons. Every composition uses these
/// values.
#[derive(Clone)]
pub struct CurvePair {
    curve: Arc<dyn Fn(f64) -> f64 + Send + Sync>,
    find_reach: Arc<dyn Fn() -> f64 + Send + Sync>,
    reach: Arc<Memo<f64>>,
    hull: Arc<Memo<Hull>>,
}

/// The number of epsilons above 0 at which a profile is evaluated.
const PLACES: u32 = 256;
/// The largest factor by which all masses of a hull are multiplied: see `Hull::below`.
const MOST_FACTOR: f64 = 1.0 + 1e-9;
/// A bound on the effect of products that underflow: see `Hull::below`.
const UNDERFLOW: f64 = 1e-250;

/// The measure of losses whose profile is the convex hull that [`CurvePair`] describes.
struct Hull {
    /// The finite losses. Each loss has a mass under `P` and a mass under `Q`.
    atoms: Vec<(f64, f64, f64)>,
    /// The mass of `P` with an infinite loss.
    infinite: f64,
}

impl CurvePair {
    /// Make a pair from two arguments: the largest epsilon of interest, and a profile that bounds
    /// both directions.
    ///
    /// If the profile cannot be computed at an epsilon, `curve` must return 1 at this epsilon. A
    /// result of NaN also counts as 1.
    pub fn new(reach: f64, curve: impl Fn(f64) -> f64 + Send + Sync + 'static) -> Self {
        CurvePair::reaching(move || reach, curve)
    }
    /// Make a pair like [`new`](CurvePair::new), but compute the largest epsilon when the pair is
    /// first composed.
    pub fn reaching(
        reach: impl Fn() -> f64 + Send + Sync + 'static,
        curve: impl Fn(f64) -> f64 + Send + Sync + 'static,
    ) -> Self {
        CurvePair {
            curve: Arc::new(curve),
            find_reach: Arc::new(reach),
            reach: Arc::new(Memo::new()),
            hull: Arc::new(Memo::new()),
        }
    }
    fn largest(&self) -> f64 {
        let largest = || match (self.find_reach)() {
            reach if reach.is_nan() => 100.0,
            reach => reach.clamp(1e-6, 100.0),
        };
        *self.reach.get(largest)
    }
    fn hull(&self) -> &Hull {
        self.hull.get(|| Hull::of(self.largest(), &*self.curve))
    }
}

impl Hull {
    fn of(reach: f64, curve: &dyn Fn(f64) -> f64) -> Hull {
        let place = |i: u32| reach * (f64::from(i) / f64::from(PLACES));
        // Use 1 in place of NaN.
        let delta =
            |x: f64| Some(curve(x)).filter(|delta| *delta <= 1.0).map_or(1.0, |d| d.max(0.0));
        let deltas: Vec<(f64, f64)> = (0..=PLACES).map(|i| (place(i), delta(place(i)))).collected();
        // Each point consists of an epsilon `x`, the ratio `e^x`, and the value of the profile at
        // `x`. The first epsilon is minus infinity.
        let mut points = vec![(f64::NEG_INFINITY, 0.0, 1.0)];
        let point = |x: f64, value: f64| (x, exp(x), (value * (1.0 + 64.0 * U)).min(1.0));
        for (x, delta) in deltas[1..].iter().rev() {
            points.push(point(-x, -exp_m1(-x) + exp(-x) * delta));
        }
        for (x, delta) in &deltas {
            points.push(point(*x, *delta));
        }
        let mut hull: Vec<(f64, f64, f64)> = Vec::new();
        for point in points {
            while let [.., a, b] = hull[..]
                && (b.2 - a.2) * (point.1 - a.1) >= (point.2 - a.2) * (b.1 - a.1)
            {
                hull.pop();
            }
            hull.push(point);
        }
        Hull::below(&hull)
    }
    /// Return a measure whose profile is at least the given hull.
    ///
    /// # Proof
    /// The points of the hull are `(x_i, r_i, v_i)` for `i` from 0 to `n`. Let `R_i` be the exact
    /// number `e^(x_i)`, so `R_0 = 0`. As a function of `r = e^epsilon`, the true profile is
    /// convex, never increases, and is at most `v_i` at `R_i`. So between two of the `R_i`, the
    /// true profile is at most the linear interpolation of the `v_i`. Above `R_n`, the true profile
    /// is at most `v_n`.
    ///
    /// Let the measure have the mass `p_j` at the loss `x_j`, and the mass `I` at infinity. Let
    /// `s_i` be the sum over all `j > i` of `p_j (1 - R_i / R_j)`. Then the profile of the measure
    /// is `I + s_i` at `R_i`, is linear between the `R_i`, and is `I` above `R_n`. So the profile
    /// is at least the true profile if `I >= v_n`, and `I + s_i >= v_i` for every `i`. This holds
    /// for all masses with these inequalities. So the rounding errors of the slopes need no bound.
    ///
    /// The inequalities are checked as follows. Let `q_j = p_j / R_j`, and let `T_i` be the sum of
    /// `q_j` over all `j > i`. Then `s_i = s_(i+1) + (R_(i+1) - R_i) T_i`. No term is negative. So
    /// the relative error of `s_i` is at most the sum of the relative errors of these operations.
    /// Let `u` be the unit roundoff. An exponential errs by `8 u`. The difference
    /// `R_(i+1) - R_i = R_i (e^d - 1)`, for `d = x_(i+1) - x_i <= 200`, errs by `8 u` for `R_i`, by
    /// `32 u` for `exp_m1`, and by `(1 + d) u` for the rounding of `d`. There are at most `2 n`
    /// additions. So `s_i` errs by less than `(2 n + 300) u`. The `S_i` below is the computed `s_i`
    /// times `1 - (4 n + 600) u`. So `S_i <= s_i`.
    ///
    /// All masses are multiplied by one factor `f`. It is the largest of 1 and all quotients
    /// `(v_i - v_n) / S_i` of at most [`MOST_FACTOR`], rounded up. For these `i`,
    /// `v_n + f s_i >= v_i`. For all other `i`, such as those with `S_i = 0`, the rest
    /// `v_i - v_n - f S_i` is added to `I`. Products below `1e-307` can underflow. Each such
    /// product errs by less than `1e-323`. There are fewer than 2000 such errors, and each is
    /// multiplied by at most `e^100`. So all of them change a profile by less than [`UNDERFLOW`],
    /// which is also added to `I`.
    fn below(hull: &[(f64, f64, f64)]) -> Hull {
        let slope = |a: (f64, f64, f64), b: (f64, f64, f64)| (b.2 - a.2) / rise(a, b);
        let mut masses = Vec::with_capacity(hull.len());
        for (i, &(loss, ratio, _)) in hull.iter().enumerate().skip(1) {
            let left = slope(hull[i - 1], hull[i]);
            let right = if i + 1 < hull.len() { slope(hull[i], hull[i + 1]) } else { 0.0 };
            masses.push((loss, (ratio * (right - left)).max(0.0)));
        }
        Hull::covering(hull, &masses)
    }
    /// Enlarge the given masses until the profile of the measure is at least the hull: see
    /// [`below`](Hull::below). Each mass has its loss. The result holds for all masses.
    fn covering(hull: &[(f64, f64, f64)], masses: &[(f64, f64)]) -> Hull {
        let last = hull.last().map_or(1.0, |point| point.2);
        // Compute `v_i - v_n`, rounded up, and `S_i`, for `i` from `n - 1` to 0.
        let error = U * (4.0 * hull.len() as f64 + 600.0);
        let (mut s, mut t, mut needed) = (0.0, 0.0, Vec::with_capacity(hull.len()));
        for (pair, (loss, p)) in hull.windows(2).zip(masses).rev() {
            t += p * exp(-loss);
            s += rise(pair[0], pair[1]) * t;
            needed.push(((pair[0].2 - last) * (1.0 + 4.0 * U), s * (1.0 - error)));
        }
        let quotients = needed.iter().map(|(rest, s)| rest / s);
        let factor = quotients.filter(|x| *x <= MOST_FACTOR).fold(1.0, f64::max) * (1.0 + 8.0 * U);
        let rest = |(rest, s): &(f64, f64)| {
            if rest / s <= MOST_FACTOR { 0.0 } else { rest - s * (1.0 - 4.0 * U) + 4.0 * U * rest }
        };
        let missing = needed.iter().map(rest).fold(0.0, f64::max);
        let enlarged = |&(loss, p): &(f64, f64)| {
            let p = p * factor;
            (loss, p, p * exp(-loss))
        };
        let atoms = masses.iter().map(enlarged).collected();
        Hull { atoms, infinite: (last + missing + UNDERFLOW) * (1.0 + 4.0 * U) }
    }
}
/// Return the difference of the ratios of two points of a hull. The first ratio can be 0.
fn rise(a: (f64, f64, f64), b: (f64, f64, f64)) -> f64 {
    if a.1 == 0.0 { b.1 } else { a.1 * exp_m1(b.0 - a.0) }
}
impl fmt::Debug for CurvePair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Pairs with equal `Debug` texts count as equal. So write the address of the closure: two
        // different closures have different addresses.
        write!(f, "CurvePair({:p})", Arc::as_ptr(&self.curve))
    }
}
impl DominatingPair for CurvePair {
    fn range(&self, _: f64) -> (f64, f64) {
        (-self.largest(), self.largest())
    }
    fn only_above(&self) -> bool {
        true
    }
    fn buckets(&self, grid: &Grid) -> Buckets {
        let hull = self.hull();
        let mut buckets = Buckets::empty(grid, 64.0 * U, 0.0);
        for &(loss, p, q) in hull.atoms.iter().filter(|(_, p, _)| 0.0 < *p) {
            buckets.atom(grid, loss, p, q);
        }
        buckets.above += hull.infinite;
        buckets
    }
    fn tilted(&self, tilt: f64, _: f64) -> Option<Box<dyn Tilted>> {
        let hull = self.hull();
        let atoms: Vec<(f64, f64)> = hull.atoms.iter().map(|(loss, p, _)| (*loss, *p)).collected();
        let finite: f64 = atoms.iter().map(|(_, mass)| mass).sum();
        let all = (finite + hull.infinite) * (1.0 + 1e-12);
        let list = Atoms { atoms, relative: 64.0 * U, blur: 0.0 };
        let found = TiltedList::new(list, tilt)?.with_infinite((hull.infinite, all));
        Some(Box::new(found))
    }
}

/// Define `range`, `buckets` and `only_above` for a pair type with a field `curve`. These methods
/// use only the curve of the pair.
macro_rules! by_curve {
    () => {
        fn range(&self, tail: f64) -> (f64, f64) {
            self.curve.range(tail)
        }
        fn buckets(&self, grid: &Grid) -> Buckets {
            self.curve.buckets(grid)
        }
        fn only_above(&self) -> bool {
            true
        }
    };
}
pub(super) use by_curve;

#[cfg(test)]
mod tests;
