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
    /// If the profile cannot be computed at an epsilon, `curve` must return 1 at this epsilon.
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
        *self.reach.get(|| (self.find_reach)().clamp(1e-6, 100.0))
    }
    fn hull(&self) -> &Hull {
        self.hull.get(|| Hull::of(self.largest(), &*self.curve))
    }
}

impl Hull {
    fn of(reach: f64, curve: &dyn Fn(f64) -> f64) -> Hull {
        let place = |i: u32| reach * (f64::from(i) / f64::from(PLACES));
        let deltas: Vec<(f64, f64)> =
            (0..=PLACES).map(|i| (place(i), curve(place(i)).clamp(0.0, 1.0))).collected();
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
    /// Return the measure whose profile is the given hull, or a larger measure.
    fn below(hull: &[(f64, f64, f64)]) -> Hull {
        let slope = |a: (f64, f64, f64), b: (f64, f64, f64)| (b.2 - a.2) / (b.1 - a.1);
        let last = hull.last().map_or(1.0, |point| point.2);
        let mut atoms = Vec::with_capacity(hull.len());
        for (i, &(loss, ratio, _)) in hull.iter().enumerate().skip(1) {
            let left = slope(hull[i - 1], hull[i]);
            let right = if i + 1 < hull.len() { slope(hull[i], hull[i + 1]) } else { 0.0 };
            let p = (ratio * (right - left)).max(0.0);
            atoms.push((loss, p, p / ratio));
        }
        // Rounding can lower the profile of the measure below the hull. The largest difference
        // between the hull and this profile is added to the mass at infinity.
        let (mut p, mut q, mut missing) = (0.0, 0.0, 0.0f64);
        for (&(_, ratio, value), atom) in hull.iter().skip(1).zip(&atoms).rev() {
            missing = missing.max(value - (last + p - ratio * q));
            p += atom.1;
            q += atom.2;
        }
        let rounding = 16.0 * U * (hull.len() as f64 + 8.0) * (p + 1.0);
        missing = missing.max(1.0 - (last + p)).max(0.0);
        Hull { atoms, infinite: last + missing + rounding * missing.max(1e-3) }
    }
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
