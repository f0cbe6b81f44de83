//! Any symmetric pair on a sample.

use std::sync::Arc;

use super::DominatingPair;
use super::discrete_loss::DiscreteLoss;
use super::elementary::{U, exp, exp_m1, ln_1p, sum};
use super::pair::{Buckets, Grid};

/// A mechanism on a Poisson sample, one record removed or added.
///
/// Let `(P, Q)` dominate the mechanism in both directions, and let each record be in the sample with
/// probability `q`. Then `((1 - q) Q + q P, Q)` dominates what removing a record does, and
/// `(P, (1 - q) P + q Q)` what adding one does (Zhu, Dong, Wang 2022, Theorem 11).
///
/// Both profiles are functions of the profile `f` of `(P, Q)`, in `r = e^epsilon`:
/// `q f((r - 1 + q) / q)` down to `r = 1 - q`, and `(1 - r + q r) f(q r / (1 - r + q r))` up to
/// `r = 1 / (1 - q)`. They grow with `f`. So the pair may first be replaced by losses on a grid that
/// dominate it: of a loss `x` of mass `m` becomes one of `ln(1 - q + q e^x)` and mass
/// `m (q + (1 - q) e^-x)`, or one of `-ln(1 - q + q e^-x)` and mass `m`. What `Q` is missing has the
/// loss `ln(1 - q)` in the first.
///
/// The grid bounds from above alone, so that nothing is bounded from below.
#[derive(Clone, Debug)]
pub struct SampledPair {
    inner: Arc<dyn DominatingPair>,
    rate: f64,
    removed: bool,
}

/// The most losses that a pair is replaced by.
const LOSSES: f64 = 1_048_576.0;
/// What may be left out of the grid, and counts as an infinite loss.
const NEGLIGIBLE: f64 = 1e-30;

impl SampledPair {
    /// Sample at a rate above 0 and below 1, and remove a record, or add one.
    ///
    /// The pair has to be its own [`reverse`](DominatingPair::reverse). Pairs that know
    /// [more](DominatingPair::on_sample) of their samples are replaced by that.
    pub fn of(inner: Arc<dyn DominatingPair>, rate: f64, removed: bool) -> Arc<dyn DominatingPair> {
        match inner.on_sample(rate, removed) {
            Some(pair) => pair,
            None => Arc::new(SampledPair { inner, rate, removed }),
        }
    }
    /// The loss of an output whose loss without sampling is `x`.
    fn sampled(&self, x: f64) -> f64 {
        let sign = if self.removed { 1.0 } else { -1.0 };
        sign * ln_1p(self.rate * exp_m1((sign * x).min(700.0)))
    }
    /// Losses on a grid that dominate the pair without sampling.
    fn losses(&self, step: f64) -> DiscreteLoss {
        let (low, high) = self.inner.range(NEGLIGIBLE);
        let finest = ((high - low) / LOSSES).max(f64::MIN_POSITIVE);
        let on = |step: f64| {
            let grid = Grid::covering(step, low, high);
            let buckets = self.inner.buckets(&grid);
            let atoms = buckets.p.iter().all(|p| *p == 0.0);
            (atoms, DiscreteLoss::above(&buckets, &grid))
        };
        // Where all losses are multiples of one, nothing is lost on a grid of these.
        let unit = self.inner.unit().filter(|unit| finest <= *unit).map(on);
        match unit {
            Some((true, losses)) => losses,
            _ => on(step.max(finest)).1,
        }
    }
}

impl DominatingPair for SampledPair {
    fn range(&self, tail: f64) -> (f64, f64) {
        let (low, high) = self.inner.range(tail);
        (self.sampled(low), self.sampled(high))
    }
    fn buckets(&self, grid: &Grid) -> Buckets {
        let losses = self.losses(grid.step);
        let rate = self.rate;
        let reach = losses.loss(0).abs().max(losses.loss(losses.mass.len()).abs());
        let relative = U * (64.0 + 8.0 * reach);
        let mut buckets = Buckets::empty(grid, relative, 256.0 * U * (1.0 + reach));
        let mut all = 0.0;
        for (i, &mass) in losses.mass.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
            let x = losses.loss(i) + losses.shift;
            let other = mass * exp(-x);
            all += other;
            let mixed = |with: f64, without: f64| (1.0 - rate) * without + rate * with;
            let (p, q) = match self.removed {
                true => (mixed(mass, other), other),
                false => (mass, mixed(other, mass)),
            };
            buckets.atom(grid, self.sampled(x), p, q);
        }
        if self.removed {
            // The sum is off by its rounding, relative to itself.
            let missing = (1.0 - all * (1.0 - U * (64.0 + losses.mass.len() as f64))).max(0.0);
            buckets.atom(grid, ln_1p(-rate), (1.0 - rate) * missing, missing);
            buckets.above += rate * losses.infinite * (1.0 + 4.0 * U);
        } else {
            buckets.atom(grid, -ln_1p(-rate), losses.infinite, (1.0 - rate) * losses.infinite);
        }
        buckets
    }
    fn most(&self) -> f64 {
        let sampled = ln_1p(self.rate * exp_m1(self.inner.most().min(700.0)));
        if self.inner.most() <= 700.0 { sampled * (1.0 + 256.0 * U) } else { self.inner.most() }
    }
    fn only_above(&self) -> bool {
        true
    }
    fn reverse(&self) -> Option<Arc<dyn DominatingPair>> {
        Some(Arc::new(SampledPair { removed: !self.removed, ..self.clone() }))
    }
}

/// A mechanism on a sample of fixed size, drawn without replacement, one record replaced.
///
/// For a mechanism dominated by `(P, Q)` under replacement and a sample of the share `q` of the
/// records, the profile is at most that of `((1 - q) Q + q P, Q)` at `epsilon >= 0` and of
/// `(P, (1 - q) P + q Q)` below (Zhu, Dong, Wang 2022, Theorem 11). It is the profile of the
/// positive losses of the one pair, the negative ones of the other, and what is missing to 1 at 0.
#[derive(Clone, Debug)]
pub struct FixedSizePair {
    above: Arc<dyn DominatingPair>,
    below: Arc<dyn DominatingPair>,
}
impl FixedSizePair {
    /// Any mechanism; the pair bounds the replacement of a record, and is its own reverse.
    pub fn of(pair: Arc<dyn DominatingPair>, rate: f64) -> Self {
        FixedSizePair {
            above: SampledPair::of(pair.clone(), rate, true),
            below: SampledPair::of(pair, rate, false),
        }
    }
}
impl DominatingPair for FixedSizePair {
    fn range(&self, tail: f64) -> (f64, f64) {
        (self.below.range(tail).0.min(0.0), self.above.range(tail).1.max(0.0))
    }
    fn only_above(&self) -> bool {
        self.above.only_above() || self.below.only_above()
    }
    fn most(&self) -> f64 {
        self.above.most()
    }
    fn buckets(&self, grid: &Grid) -> Buckets {
        let zero = (-grid.first).clamp(0, grid.count as i64) as usize;
        let (mut one, two) = (self.above.buckets(grid), self.below.buckets(grid));
        one.p[..zero].copy_from_slice(&two.p[..zero]);
        one.q[..zero].copy_from_slice(&two.q[..zero]);
        one.at_edges.retain(|(edge, _)| *edge > zero);
        one.at_edges.extend(two.at_edges.iter().filter(|(edge, _)| *edge < zero));
        one.below = two.below;
        one.relative = one.relative.max(two.relative);
        one.shift = one.shift.max(two.shift);
        let atoms: f64 = one.at_edges.iter().map(|(_, p)| p).sum();
        let rest = 1.0 - sum(&one.p) - atoms - one.below - one.above;
        // It is off by the errors of everything else.
        let error = 2.0 * one.relative + 64.0 * U;
        let rest = rest.max(error);
        one.relative = one.relative.max(error / rest);
        one.at_edges.push((zero, rest));
        one
    }
}
