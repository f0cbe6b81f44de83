//! Dominating pairs: the contribution of a mechanism to an account.

use std::fmt::Debug;

use opendp_core::RenyiCurve;

use super::enclosed_pair::Between;
use super::transform::Tilted;

/// Bucket edges: the losses `first * step`, `(first + 1) * step`, and so on, `count + 1` of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// The distance between adjacent edges.
    pub step: f64,
    /// The index of the lowest edge.
    pub first: i64,
    /// The number of buckets.
    pub count: usize,
}

impl Grid {
    /// The largest magnitude of an edge: `e^x` and its inverse are floats there.
    pub const REACH: f64 = 690.0;

    /// Make the smallest grid of a step that covers an interval of losses.
    pub fn covering(step: f64, low: f64, high: f64) -> Self {
        let low = low.clamp(-Self::REACH, Self::REACH);
        let high = high.clamp(low, Self::REACH);
        let first = (low / step + 1e-9).floor();
        let last = (high / step - 1e-9).ceil().max(first + 1.0);
        Grid { step, first: first as i64, count: (last - first) as usize }
    }
    /// Return the loss at an edge.
    pub fn edge(&self, index: usize) -> f64 {
        (self.first + index as i64) as f64 * self.step
    }
    /// Return the edge at a loss, up to rounding.
    fn at_edge(&self, loss: f64) -> Option<usize> {
        let place = loss / self.step;
        let nearest = place.round_ties_even();
        let index = nearest - self.first as f64;
        let near = (place - nearest).abs() <= Self::SNAP * (1.0 + place.abs());
        (near && 0.0 <= index && index <= self.count as f64).then_some(index as usize)
    }
    /// Return the bucket of a loss.
    fn bucket(&self, loss: f64) -> Option<usize> {
        let index = (loss / self.step).floor() - self.first as f64;
        (0.0 <= index && index < self.count as f64).then_some(index as usize)
    }
    /// The relative distance at which a loss is treated as being at an edge.
    const SNAP: f64 = 1e-14;
}

/// The masses of two distributions `P` and `Q` in the buckets of a grid.
///
/// The loss of an output is the logarithm of its likelihood ratio `P / Q`. Bucket `i` holds the
/// outputs whose loss is between edges `i` and `i + 1`, give or take `shift`. The masses are exact
/// up to the factor `1 + relative`.
#[derive(Clone, Debug)]
pub struct Buckets {
    /// The mass that `P` gives to each bucket.
    pub p: Vec<f64>,
    /// The mass that `Q` gives to each bucket.
    pub q: Vec<f64>,
    /// The mass that `P` gives to outputs whose loss is at an edge, with the index of the edge.
    pub at_edges: Vec<(usize, f64)>,
    /// Upper bounds on additional mass that `P` may give, with the index of an edge at or above its
    /// loss.
    pub doubtful: Vec<(usize, f64)>,
    /// An upper bound on the mass that `P` gives to outputs below the first edge.
    pub below: f64,
    /// An upper bound on the mass that `P` gives to outputs above the last edge.
    pub above: f64,
    /// A lower bound on the mass that `P` gives to outputs above the last edge.
    pub surely_above: f64,
    /// A bound on the relative error of the masses.
    pub relative: f64,
    /// A bound on how far a loss is from its bucket.
    pub shift: f64,
}

/// Noise with a log-concave density, or log-concave probabilities of the integers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LogConcaveNoise {
    /// Normal noise of variance 1.
    Gaussian,
    /// Noise of the density `e^-|z| / 2`.
    Laplace,
    /// Integers of probability proportional to `e^(-|z| / scale)`.
    DiscreteLaplace {
        /// The scale, above 0.
        scale: f64,
    },
    /// Integers of probability proportional to `e^(-z^2 / (2 scale^2))`.
    DiscreteGaussian {
        /// The scale, above 0.
        scale: f64,
    },
}

/// A pair of distributions `(P, Q)` that dominates a mechanism in one direction.
///
/// For all neighbours `x`, `y` in that direction and all `epsilon`, of any sign,
/// `sup_S M(x)(S) - e^epsilon M(y)(S) <= sup_S P(S) - e^epsilon Q(S)`. The pair of an adaptive
/// composition is then the product of the pairs (Zhu, Dong, Wang 2022, Theorem 10).
///
/// Two pairs with the same `Debug` text are treated as equal.
pub trait DominatingPair: Debug + Send + Sync {
    /// Return an interval of losses. `P` gives at most about `tail` to either side of it.
    ///
    /// It determines what is computed finely. A wrong interval does not make bounds invalid.
    fn range(&self, tail: f64) -> (f64, f64);
    /// Put the outputs into the buckets of a grid.
    fn buckets(&self, grid: &Grid) -> Buckets;
    /// Return a step with all atoms of the loss on its multiples, if there are atoms and such a
    /// step.
    fn unit(&self) -> Option<f64> {
        None
    }
    /// Return an upper bound on the loss in both directions, rounded up; infinite if there is none.
    fn most(&self) -> f64 {
        f64::INFINITY
    }
    /// Whether the pair itself is only an upper bound, so that it gives no lower bound.
    fn only_above(&self) -> bool {
        false
    }
    /// Return pairs that enclose `count` releases with this pair, if these are easier to compose.
    /// The returned pairs may be replaced again, so they have to be simpler.
    fn between(&self, _count: u64) -> Option<Between> {
        None
    }
    /// Return a `rho` such that the mechanism is `rho`-zero-concentrated differentially private,
    /// rounded up, if one is known. If the pair is also [only a bound](Self::only_above), it may be
    /// replaced by this.
    fn concentrated(&self) -> Option<f64> {
        None
    }
    /// Return a probability with which everything is revealed: a lower bound on the mass that `P`
    /// gives to an infinite loss.
    fn revealed(&self) -> f64 {
        0.0
    }
    /// If the releases are integers, or vectors of them, with discrete Gaussian noise, return the
    /// square of the L2 distance, rounded up, and the scale.
    ///
    /// All such releases of an account are also composed as one.
    fn integer_gaussian(&self) -> Option<(f64, f64)> {
        None
    }
    /// Return bounds on the Renyi divergence of every order, if nothing else is known of the
    /// mechanism. The pair may be replaced by them.
    fn renyi(&self) -> Option<RenyiCurve> {
        None
    }
    /// Return the transform of the loss at a tilt of at least 0, for frequencies up to a highest
    /// one, if it is known. Compositions of such pairs need no grid.
    ///
    /// It has to be the transform of the pair itself, not of a bound.
    fn tilted(&self, _tilt: f64, _highest: f64) -> Option<Box<dyn Tilted>> {
        None
    }
    /// Return the same mechanism on a Poisson sample, for one record removed or added, if more is
    /// known than [`SampledPair`](super::SampledPair) computes.
    fn on_sample(&self, _rate: f64, _removed: bool) -> Option<std::sync::Arc<dyn DominatingPair>> {
        None
    }
    /// If `P` and `Q` are two shifts of one noise, return the noise and the distance of the shifts.
    ///
    /// Two such pairs of one noise, for an added and for a replaced record, have a
    /// [`ReplacedPair`](super::ReplacedPair) on a Poisson sample.
    fn shift(&self) -> Option<(LogConcaveNoise, f64)> {
        None
    }
    /// Return the same mechanism in the other direction; `None` when it is the pair itself.
    ///
    /// A pair `(P, Q)` and its reverse `(Q, P)` are the same when the mechanism is symmetric.
    fn reverse(&self) -> Option<std::sync::Arc<dyn DominatingPair>> {
        None
    }
}

impl Buckets {
    /// Create buckets without mass.
    pub fn empty(grid: &Grid, relative: f64, shift: f64) -> Self {
        let none = vec![0.0; grid.count];
        Buckets {
            q: none.clone(),
            p: none,
            at_edges: Vec::new(),
            doubtful: Vec::new(),
            below: 0.0,
            above: 0.0,
            surely_above: 0.0,
            relative,
            shift,
        }
    }
    /// Add one output, by its loss and its two probabilities.
    pub fn atom(&mut self, grid: &Grid, loss: f64, p: f64, q: f64) {
        if let Some(edge) = grid.at_edge(loss) {
            self.shift = self.shift.max(2.0 * Grid::SNAP * (grid.step + loss.abs()));
            return self.at_edges.push((edge, p));
        }
        match grid.bucket(loss) {
            Some(i) => {
                self.p[i] += p;
                self.q[i] += q;
            }
            None if loss < grid.edge(0) => self.below += p * (1.0 + 2.0 * self.relative),
            None => {
                self.above += p * (1.0 + 2.0 * self.relative);
                self.surely_above += p * (1.0 - 2.0 * self.relative);
            }
        }
    }
    /// Add a possible output, by its loss and an upper bound on its probability.
    pub fn doubt(&mut self, grid: &Grid, loss: f64, p: f64) {
        // One edge more than needed, so rounding does not matter.
        let index = (loss / grid.step).ceil() - grid.first as f64 + 1.0;
        if p <= 0.0 {
            return;
        }
        if index <= grid.count as f64 {
            self.doubtful.push((index.max(0.0) as usize, p));
        } else {
            self.above += p * (1.0 + 2.0 * self.relative);
        }
    }
    /// Add the mass of a continuous loss between `low` and `high` that lies outside the grid.
    pub(super) fn lose(&mut self, grid: &Grid, low: f64, high: f64, p: impl Fn(f64, f64) -> f64) {
        let (first, last) = (grid.edge(0), grid.edge(grid.count));
        if low < first {
            self.below += p(low, first.min(high)) * (1.0 + 2.0 * self.relative);
        }
        if last < high {
            let above = p(last.max(low), high);
            self.above += above * (1.0 + 2.0 * self.relative);
            self.surely_above += above * (1.0 - 2.0 * self.relative);
        }
    }
}
