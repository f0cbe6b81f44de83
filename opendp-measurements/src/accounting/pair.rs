//! Dominating pairs: the contribution of a mechanism to an account.

use std::fmt::{self, Debug};
use std::sync::Arc;

use opendp_core::RenyiCurve;

use super::enclosed_pair::Between;
use super::outputs::Outputs;
use super::transform::Tilted;

/// A grid of losses. The edges of its buckets are the `count + 1` losses `first * step`,
/// `(first + 1) * step`, and so on.
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
    /// The largest magnitude of an edge `x`. Up to this magnitude, `e^x` and its inverse neither
    /// overflow nor underflow as floats.
    pub const REACH: f64 = 690.0;

    /// Make a grid with a given step and the smallest possible number of buckets. The grid covers
    /// the part of an interval of losses that is between `-REACH` and `REACH`.
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
    /// If a loss is at an edge, up to rounding, return the index of this edge.
    fn at_edge(&self, loss: f64) -> Option<usize> {
        let place = loss / self.step;
        let nearest = place.round_ties_even();
        let index = nearest - self.first as f64;
        let near = (place - nearest).abs() <= Self::SNAP * (1.0 + place.abs());
        (near && 0.0 <= index && index <= self.count as f64).then_some(index as usize)
    }
    /// If a loss is inside the grid, return the index of the bucket that contains the loss.
    fn bucket(&self, loss: f64) -> Option<usize> {
        let index = (loss / self.step).floor() - self.first as f64;
        (0.0 <= index && index < self.count as f64).then_some(index as usize)
    }
    /// If a loss is within this relative distance of an edge, it is treated as a loss at the edge.
    const SNAP: f64 = 1e-14;
}

/// The masses of two distributions `P` and `Q` in the buckets of a grid.
///
/// The loss of an output is the logarithm of its likelihood ratio `P / Q`. Bucket `i` contains the
/// outputs whose loss is between edges `i` and `i + 1`, up to an error of `shift`. The masses are
/// exact up to the factor `1 + relative`.
#[derive(Clone, Debug)]
pub struct Buckets {
    /// The mass that `P` gives to each bucket.
    pub p: Vec<f64>,
    /// The mass that `Q` gives to each bucket.
    pub q: Vec<f64>,
    /// The masses that `P` gives to outputs whose losses are at edges. Each mass has the index of
    /// its edge.
    pub at_edges: Vec<(usize, f64)>,
    /// Upper bounds on the masses that `P` can give to outputs that are not part of the other
    /// fields. Each bound has the index of an edge. The losses of these outputs are at most this
    /// edge.
    pub doubtful: Vec<(usize, f64)>,
    /// An upper bound on the mass that `P` gives to outputs below the first edge.
    pub below: f64,
    /// An upper bound on the mass that `P` gives to outputs above the last edge.
    pub above: f64,
    /// A lower bound on the mass that `P` gives to outputs above the last edge.
    pub surely_above: f64,
    /// A bound on the relative error of the masses.
    pub relative: f64,
    /// A bound on the distance between a loss and its bucket.
    pub shift: f64,
}

/// Noise whose density is log-concave, or noise on integers whose probabilities are log-concave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LogConcaveNoise {
    /// Normal noise with variance 1.
    Gaussian,
    /// Noise with the density `e^-|z| / 2`.
    Laplace,
    /// Integer noise. An integer `z` has a probability proportional to `e^(-|z| / scale)`.
    DiscreteLaplace {
        /// The scale of the noise, above 0.
        scale: f64,
    },
    /// Integer noise. An integer `z` has a probability proportional to `e^(-z^2 / (2 scale^2))`.
    DiscreteGaussian {
        /// The scale of the noise, above 0.
        scale: f64,
    },
}

/// A pair inside of another pair. The type writes the `Debug` text of the inner pair as a part of
/// the text of the outer pair.
///
/// A pair with an empty `Debug` text is treated as equal only to itself. For such an inner pair,
/// the text of the outer pair contains the address of the inner pair. So outer pairs with different
/// inner pairs have different texts. The outer pair keeps the inner pair, so no other pair gets
/// this address while the outer pair exists.
pub(super) struct Inner<'a>(pub(super) &'a Arc<dyn DominatingPair>);
impl fmt::Debug for Inner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match format!("{:?}", self.0) {
            text if text.is_empty() => write!(f, "{:p}", Arc::as_ptr(self.0)),
            text => f.write_str(&text),
        }
    }
}

/// A pair of distributions `(P, Q)` that dominates a mechanism in one direction.
///
/// Let `M(x)` be the law of the release on the data set `x`. Let `sup_S` be the supremum over all
/// events `S`. For all neighbours `x`, `y` in this direction and all `epsilon` of any sign,
/// `sup_S M(x)(S) - e^epsilon M(y)(S) <= sup_S P(S) - e^epsilon Q(S)`. Now compose several
/// mechanisms adaptively, each with its own pair. The product of these pairs dominates the
/// composition (Zhu, Dong, Wang 2022, Theorem 10).
///
/// Two pairs with the same `Debug` text are treated as equal, unless the text is empty.
pub trait DominatingPair: Debug + Send + Sync {
    /// Return an interval of losses. Under `P`, the mass below the interval and the mass above the
    /// interval are each at most about `tail`.
    ///
    /// The bounds of an account are valid for every returned interval. But losses outside of the
    /// interval make the bounds less tight. For an upper bound, a loss below the interval counts as
    /// the low end, and a loss above the interval counts as infinite.
    fn range(&self, tail: f64) -> (f64, f64);
    /// Put the outputs of the pair into the buckets of a grid.
    fn buckets(&self, grid: &Grid) -> Buckets;
    /// Return a number such that all atoms are multiples of this number. An atom is a loss with
    /// positive probability. A pair without atoms can return its largest loss, so that an edge of
    /// the grid is at this loss. Return `None` if no such number is known.
    fn unit(&self) -> Option<f64> {
        None
    }
    /// Return an upper bound on the loss in both directions, rounded up. Return infinity if no
    /// finite bound is known.
    fn most(&self) -> f64 {
        f64::INFINITY
    }
    /// Return whether the pair is only an upper bound on the loss of the mechanism. Such a pair
    /// gives no lower bound on delta.
    fn only_above(&self) -> bool {
        false
    }
    /// Return pairs that [enclose](super::Between) `count` releases with this pair, if such pairs
    /// are easier to compose. An account can replace the returned pairs again. The returned pairs
    /// must be simpler than this pair, so that these replacements end.
    fn between(&self, _count: u64) -> Option<Between> {
        None
    }
    /// Return a `rho` for which the mechanism is `rho`-zero-concentrated differentially private,
    /// rounded up. Return `None` if no such `rho` is known. If the pair is also [only a
    /// bound](Self::only_above), an account can replace the pair by this `rho`.
    fn concentrated(&self) -> Option<f64> {
        None
    }
    /// Return the probability that the release reveals everything. The result is a lower bound on
    /// the mass that `P` gives to an infinite loss.
    fn revealed(&self) -> f64 {
        0.0
    }
    /// If the mechanism releases integers, or vectors of integers, with discrete Gaussian noise,
    /// return two numbers: the square of the L2 distance, rounded up, and the scale.
    ///
    /// An account also computes a bound in which one release replaces all such releases.
    fn integer_gaussian(&self) -> Option<(f64, f64)> {
        None
    }
    /// Return bounds on the Renyi divergence of every order, if nothing else is known about the
    /// mechanism. An account can replace the pair by these bounds.
    fn renyi(&self) -> Option<RenyiCurve> {
        None
    }
    /// Return the transform of the tilted loss, if the transform is known. The first argument is
    /// the tilt `t`, which is at least 0. The tilt multiplies the mass at each loss `x` by
    /// `e^(t x)`. The second argument is the highest frequency at which the transform is needed. A
    /// composition needs no grid if the transforms of all its pairs are known and decay fast with
    /// the frequency.
    ///
    /// The transform must be exact for this pair. The transform of another pair is not allowed,
    /// even if the other pair dominates this pair.
    fn tilted(&self, _tilt: f64, _highest: f64) -> Option<Box<dyn Tilted>> {
        None
    }
    /// Return a pair for the same mechanism on a Poisson sample, if one record is removed or added.
    /// Return `None` if [`SampledPair`](super::SampledPair) is the best known pair.
    fn on_sample(&self, _rate: f64, _removed: bool) -> Option<std::sync::Arc<dyn DominatingPair>> {
        None
    }
    /// Return all outputs, if the pair has few outputs. Then one release needs no grid.
    fn outputs(&self) -> Option<Outputs> {
        None
    }
    /// If `P` and `Q` are two shifts of the same noise, return this noise and the distance between
    /// the two shifts.
    ///
    /// A [`ReplacedPair`](super::ReplacedPair) is made from two such pairs with the same noise: one
    /// for an added record, and one for a replaced record. The `ReplacedPair` is the pair of the
    /// mechanism on a Poisson sample, for a replaced record.
    fn shift(&self) -> Option<(LogConcaveNoise, f64)> {
        None
    }
    /// Return a pair for the same mechanism in the other direction, or `None` if the two pairs are
    /// equal.
    ///
    /// If the mechanism is symmetric, the pair equals its reverse: the loss of the pair `(P, Q)`
    /// under `P` has the same law as the loss of the reverse `(Q, P)` under `Q`.
    ///
    /// A composition uses either the pairs of all mechanisms, or the reverses of all mechanisms. So
    /// all pairs must be for the same direction, for example for a removed record. If a
    /// transformation before a mechanism can exchange the direction, use
    /// [`in_either_direction`](DominatingPair::in_either_direction). The privacy map of a chain
    /// uses this method.
    fn reverse(&self) -> Option<std::sync::Arc<dyn DominatingPair>> {
        None
    }
    /// If the pair has a reverse, return a pair that dominates the mechanism in both directions.
    /// Defaults to `None`: no such pair is known. Then an account uses the larger of the two curves
    /// for the two directions.
    fn in_either_direction(&self) -> Option<std::sync::Arc<dyn DominatingPair>> {
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
    /// Add one output. The loss and the two probabilities of the output are given.
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
    /// Add a possible output. The loss of the output and an upper bound on the probability of the
    /// output are given.
    pub fn doubt(&mut self, grid: &Grid, loss: f64, p: f64) {
        // Use an edge that is one step higher than needed, so that rounding cannot make the loss
        // too low.
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
    /// Add the mass of a continuous loss between `low` and `high`, but only the mass that lies
    /// outside the grid. `p(a, b)` is the mass between `a` and `b`.
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::*;

    /// The grids contain only a part of the losses, so that the tails have much of the mass.
    #[test]
    fn the_masses_of_the_buckets_and_of_both_tails_add_up_to_one() {
        let pairs: [Arc<dyn DominatingPair>; 9] = [
            Arc::new(GaussianPair { mu: 1.0 }),
            Arc::new(LaplacePair { epsilon: 1.0 }),
            Arc::new(BoundedRangePair { epsilon: 1.0 }),
            Arc::new(DiscreteLaplacePair { sensitivity: 2, scale: 3.0 }),
            Arc::new(DiscreteGaussianPair { sensitivity: 2, scale: 3.0 }),
            Arc::new(PrivatePair { epsilon: 0.7, delta: 0.1 }),
            Arc::new(SampledGaussianPair { mu: 1.0, rate: 0.4, removed: true }),
            Arc::new(SampledGaussianPair { mu: 1.0, rate: 0.4, removed: false }),
            Arc::new(SampledLaplacePair { epsilon: 1.0, rate: 0.4, removed: true }),
        ];
        for pair in pairs {
            for (low, high) in [(-0.3, 0.2), (0.1, 0.6), (-0.6, -0.1)] {
                let buckets = pair.buckets(&Grid::covering(0.01, low, high));
                let edges = buckets.at_edges.iter().chain(&buckets.doubtful).map(|(_, p)| p);
                let inside: f64 = buckets.p.iter().chain(edges).sum();
                let all = inside * (1.0 + buckets.relative) + buckets.below + buckets.above;
                assert!((1.0 - 1e-12..1.0 + 1e-9).contains(&all), "{pair:?} {low} {all}");
            }
        }
    }
}
