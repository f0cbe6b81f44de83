//! Pairs known by their profile.

use std::fmt;
use std::sync::{Arc, LazyLock};

use super::elementary::{U, exp, exp_m1};
use super::pair::{Buckets, DominatingPair, Grid};

/// A mechanism known only by its privacy profile.
///
/// The true profile, as a function of `r = e^epsilon`, is convex, and it is at most the given one
/// at every edge of the grid. So it is at most the lower convex hull of the given values, which is
/// the profile of a measure on the edges. For negative epsilon use
/// `delta(-epsilon) = 1 - e^-epsilon (1 - delta(epsilon))`, with delta in the opposite direction.
/// The given profile bounds that direction as well.
#[derive(Clone)]
pub struct CurvePair {
    curve: Arc<dyn Fn(f64) -> f64 + Send + Sync>,
    reach: Arc<LazyLock<f64, Box<dyn FnOnce() -> f64 + Send>>>,
}
impl CurvePair {
    /// Make a pair from a profile that bounds both directions, and the largest epsilon of interest.
    ///
    /// An error in the profile must be reported as 1.
    pub fn new(reach: f64, curve: impl Fn(f64) -> f64 + Send + Sync + 'static) -> Self {
        CurvePair::reaching(move || reach, curve)
    }
    /// As [`new`](CurvePair::new), but compute the largest epsilon when the pair is first composed.
    pub fn reaching(
        reach: impl FnOnce() -> f64 + Send + 'static,
        curve: impl Fn(f64) -> f64 + Send + Sync + 'static,
    ) -> Self {
        CurvePair { curve: Arc::new(curve), reach: Arc::new(LazyLock::new(Box::new(reach))) }
    }
}
impl fmt::Debug for CurvePair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Closures are identified by their address, so two different closures never compare equal.
        write!(f, "CurvePair({:p})", Arc::as_ptr(&self.curve))
    }
}
impl DominatingPair for CurvePair {
    fn range(&self, _: f64) -> (f64, f64) {
        let reach = self.reach.clamp(1e-6, 100.0);
        (-reach, reach)
    }
    fn only_above(&self) -> bool {
        true
    }
    fn buckets(&self, grid: &Grid) -> Buckets {
        // Use only every n-th edge: the hull is valid on fewer points, and evaluating a profile
        // costs time.
        let every = grid.count.div_ceil(1024).max(1);
        let mut points = vec![(usize::MAX, 0.0, 1.0)];
        for edge in (0..=grid.count).filter(|edge| edge % every == 0 || *edge == grid.count) {
            let x = grid.edge(edge);
            let delta = (self.curve)(x.abs()).clamp(0.0, 1.0);
            let value = if x >= 0.0 { delta } else { -exp_m1(x) + exp(x) * delta };
            points.push((edge, exp(x), (value * (1.0 + 64.0 * U)).min(1.0)));
        }
        let mut hull: Vec<(usize, f64, f64)> = Vec::new();
        for point in points {
            while let [.., a, b] = hull[..]
                && (b.2 - a.2) * (point.1 - a.1) >= (point.2 - a.2) * (b.1 - a.1)
            {
                hull.pop();
            }
            hull.push(point);
        }
        let slope = |a: (usize, f64, f64), b: (usize, f64, f64)| (b.2 - a.2) / (b.1 - a.1);
        let mut buckets = Buckets::empty(grid, 0.0, 0.0);
        let last = hull.last().map_or(1.0, |point| point.2);
        for (i, &(edge, ratio, _)) in hull.iter().enumerate().skip(1) {
            let left = slope(hull[i - 1], hull[i]);
            let right = if i + 1 < hull.len() { slope(hull[i], hull[i + 1]) } else { 0.0 };
            buckets.at_edges.push((edge, (ratio * (right - left)).max(0.0)));
        }
        // Rounding may lower the hull. The largest shortfall is added at infinity.
        let (mut p, mut q, mut missing) = (0.0, 0.0, 0.0f64);
        for (i, &(_, ratio, value)) in hull.iter().enumerate().skip(1).rev() {
            missing = missing.max(value - (last + p - ratio * q));
            p += buckets.at_edges[i - 1].1;
            q += buckets.at_edges[i - 1].1 / ratio;
        }
        let rounding = 16.0 * U * (hull.len() as f64 + 8.0) * (p + 1.0);
        missing = missing.max(1.0 - (last + p)).max(0.0);
        buckets.above = last + missing + rounding * missing.max(1e-3);
        buckets
    }
}
