//! Dominating pairs: what a mechanism contributes to an account.

use std::fmt::Debug;

use opendp_core::RenyiCurve;

use super::enclosed_pair::Between;
use super::transform::Tilted;

/// Bucket edges: the losses `first * step`, `(first + 1) * step`, and so on, `count + 1` of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// The distance of two edges.
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
    /// The loss at an edge.
    pub fn edge(&self, index: usize) -> f64 {
        (self.first + index as i64) as f64 * self.step
    }
    /// The edge that a loss is at, but for rounding.
    fn at_edge(&self, loss: f64) -> Option<usize> {
        let place = loss / self.step;
        let nearest = place.round_ties_even();
        let index = nearest - self.first as f64;
        let near = (place - nearest).abs() <= Self::SNAP * (1.0 + place.abs());
        (near && 0.0 <= index && index <= self.count as f64).then_some(index as usize)
    }
    /// The bucket that a loss is in.
    fn bucket(&self, loss: f64) -> Option<usize> {
        let index = (loss / self.step).floor() - self.first as f64;
        (0.0 <= index && index < self.count as f64).then_some(index as usize)
    }
    /// The relative distance at which a loss counts as being at an edge.
    const SNAP: f64 = 1e-14;
}

/// What two distributions `P` and `Q` give to the buckets of a grid.
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
    /// What `P` gives to outputs whose loss is that of an edge, with the index of the edge.
    pub at_edges: Vec<(usize, f64)>,
    /// Upper bounds on mass that `P` may give in addition, with the index of an edge that its loss
    /// does not exceed.
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
/// Two pairs with the same `Debug` text are taken for the same.
pub trait DominatingPair: Debug + Send + Sync {
    /// An interval of losses outside of which `P` gives at most about `tail` to either side.
    ///
    /// It decides what is computed finely. Nothing is unsound when it is wrong.
    fn range(&self, tail: f64) -> (f64, f64);
    /// Put the outputs into the buckets of a grid.
    fn buckets(&self, grid: &Grid) -> Buckets;
    /// A step that all atoms of the loss are multiples of, if there are atoms and there is one.
    fn unit(&self) -> Option<f64> {
        None
    }
    /// An upper bound on the loss in both directions, rounded up; infinite if there is none.
    fn most(&self) -> f64 {
        f64::INFINITY
    }
    /// Whether the pair is itself only a bound, so that it bounds nothing from below.
    fn only_above(&self) -> bool {
        false
    }
    /// What `count` releases with the pair lie between, where that is easier to compose. What comes
    /// out is looked at again, so that it has to be simpler.
    fn between(&self, _count: u64) -> Option<Between> {
        None
    }
    /// A `rho` such that the mechanism is `rho`-zero-concentrated differentially private, rounded up,
    /// where one is known. If the pair is also [only a bound](Self::only_above), it may be replaced
    /// by this.
    fn concentrated(&self) -> Option<f64> {
        None
    }
    /// Bounds on the Renyi divergence of every order, if this is all that is known of the mechanism:
    /// the pair may be replaced by them.
    fn renyi(&self) -> Option<RenyiCurve> {
        None
    }
    /// The transform of the loss at a tilt above 0 or equal to it, for frequencies up to a highest
    /// one, where it is known. Compositions of such pairs need no grid.
    ///
    /// It has to be that of the pair itself, not of a bound.
    fn tilted(&self, _tilt: f64, _highest: f64) -> Option<Box<dyn Tilted>> {
        None
    }
    /// The same mechanism on a Poisson sample, one record removed, or added, where more is known than
    /// [`SampledPair`](super::SampledPair) computes.
    fn on_sample(&self, _rate: f64, _removed: bool) -> Option<std::sync::Arc<dyn DominatingPair>> {
        None
    }
    /// The noise of which `P` and `Q` are two shifts, and how far apart they are, if they are that.
    ///
    /// Two such pairs of one noise, for an added and for a replaced record, have a
    /// [`ReplacedPair`](super::ReplacedPair) on a Poisson sample.
    fn shift(&self) -> Option<(LogConcaveNoise, f64)> {
        None
    }
    /// The same mechanism in the other direction; nothing when it is the pair itself.
    ///
    /// A pair `(P, Q)` and its reverse `(Q, P)` are the same when the mechanism is symmetric.
    fn reverse(&self) -> Option<std::sync::Arc<dyn DominatingPair>> {
        None
    }
}

impl Buckets {
    /// Begin without any mass.
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
    /// Add an output that there may be, by its loss and an upper bound on its probability.
    pub fn doubt(&mut self, grid: &Grid, loss: f64, p: f64) {
        // One edge more than is needed, whatever rounds.
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
    /// Add what a continuous loss between `low` and `high` puts outside of the grid.
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
