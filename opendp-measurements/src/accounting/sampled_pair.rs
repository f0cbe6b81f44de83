//! Any symmetric pair on a sample.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::DominatingPair;
use super::discrete_loss::DiscreteLoss;
use super::elementary::{U, exp, exp_m1, ln, ln_1p, sum};
use super::pair::{Buckets, Grid};

/// Return `ln(1 - q + q e^x)`: the loss on a sample when the loss without sampling is `x`, with a
/// relative error of at most `64 u`.
///
/// Near 0, `q (e^x - 1)` avoids cancellation. Far from 0, the sum does.
pub(super) fn mixed(x: f64, rate: f64) -> f64 {
    let x = x.min(700.0);
    mixed_of(x, exp(x), rate)
}

/// Return [`mixed`] of an `x` up to 700, by its exponential.
pub(super) fn mixed_of(x: f64, ratio: f64, rate: f64) -> f64 {
    let small = rate * if x.abs() < 0.35 { exp_m1(x) } else { ratio - 1.0 };
    if small.abs() < 0.35 { ln_1p(small) } else { ln((1.0 - rate) + rate * ratio) }
}

/// Return `(e^loss - 1 + q) / q`: the likelihood ratio without sampling when the loss on a sample
/// is `loss`.
///
/// The loss of the result is within `64 u` of the given one. An error `e` of the ratio changes it
/// by `q e / e^loss`. If the ratio is below 1, its parts cancel. If the rate is above 1/2, the
/// larger part is `e^loss`, and nothing is lost. Otherwise it is `1`, which is at most `2 e^loss`.
pub(super) fn unmixed(loss: f64, rate: f64) -> f64 {
    if loss < 0.0 && 0.5 < rate {
        (exp(loss) - (1.0 - rate)) / rate
    } else {
        1.0 + exp_m1(loss) / rate
    }
}

/// A mechanism on a Poisson sample, for one record removed or added.
///
/// Let `(P, Q)` dominate the mechanism in both directions, and let each record be in the sample
/// with probability `q`. Then `((1 - q) Q + q P, Q)` dominates removing a record, and
/// `(P, (1 - q) P + q Q)` dominates adding one (Zhu, Dong, Wang 2022, Theorem 11).
///
/// Both profiles are functions of the profile `f` of `(P, Q)`, in `r = e^epsilon`:
/// `q f((r - 1 + q) / q)` down to `r = 1 - q`, and `(1 - r + q r) f(q r / (1 - r + q r))` up to
/// `r = 1 / (1 - q)`. They grow with `f`. So the pair may first be replaced by losses on a grid
/// that dominate it. A loss `x` of mass `m` becomes a loss `ln(1 - q + q e^x)` of mass
/// `m (q + (1 - q) e^-x)`, or a loss `-ln(1 - q + q e^-x)` of mass `m`. The mass missing from `Q`
/// has the loss `ln(1 - q)` in the first.
///
/// If all losses are atoms on multiples of one step, as for discrete noise, a grid of this step
/// holds the losses exactly. Any other grid gives a bound from above only.
#[derive(Clone)]
pub struct SampledPair {
    inner: Arc<dyn DominatingPair>,
    rate: f64,
    removed: bool,
    atoms: OnceLock<Option<Arc<OnGrid>>>,
}

/// A pair's losses on a grid.
struct OnGrid {
    /// They dominate those of the pair.
    losses: DiscreteLoss,
    /// If they are the losses of the pair: a bound on the relative error of the masses.
    relative: f64,
    /// Bounds the mass of lower losses that is included in the lowest loss.
    below: f64,
}

impl fmt::Debug for SampledPair {
    /// Computed values are not part of the name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (inner, rate, removed) = (&self.inner, self.rate, self.removed);
        write!(f, "SampledPair {{ inner: {inner:?}, rate: {rate:?}, removed: {removed} }}")
    }
}

/// The largest number of losses that replace a pair.
const LOSSES: f64 = 1_048_576.0;
/// The mass that may be left out of the grid, and counts as an infinite loss.
const NEGLIGIBLE: f64 = 1e-30;

impl SampledPair {
    /// Sample at a rate above 0 and below 1, and remove or add a record.
    ///
    /// The pair has to be its own [`reverse`](DominatingPair::reverse). If the pair states its own
    /// [pair on a sample](DominatingPair::on_sample), this pair is returned.
    pub fn of(inner: Arc<dyn DominatingPair>, rate: f64, removed: bool) -> Arc<dyn DominatingPair> {
        match inner.on_sample(rate, removed) {
            Some(pair) => pair,
            None => Arc::new(SampledPair::listed(inner, rate, removed)),
        }
    }
    fn listed(inner: Arc<dyn DominatingPair>, rate: f64, removed: bool) -> SampledPair {
        SampledPair { inner, rate, removed, atoms: OnceLock::new() }
    }
    /// Return the loss of an output whose loss without sampling is `x`.
    fn sampled(&self, x: f64) -> f64 {
        let sign = if self.removed { 1.0 } else { -1.0 };
        sign * mixed(sign * x, self.rate)
    }
    /// Return the losses of the pair without sampling on a grid, and whether all are atoms on it.
    fn on_grid(&self, step: f64) -> (OnGrid, bool) {
        let (low, high) = self.inner.range(NEGLIGIBLE);
        let grid = Grid::covering(step, low, high);
        let buckets = self.inner.buckets(&grid);
        let atoms = buckets.p.iter().all(|p| *p == 0.0) && buckets.doubtful.is_empty();
        let losses = DiscreteLoss::above(&buckets, &grid);
        // The bound from above has enlarged the masses, and the mass of `Q` is off by the shift.
        let relative = 4.0 * buckets.relative + 4.0 * losses.shift + 256.0 * U;
        (OnGrid { losses, relative, below: buckets.below }, atoms)
    }
    /// Return the smallest step that does not have too many losses.
    fn finest(&self) -> f64 {
        let (low, high) = self.inner.range(NEGLIGIBLE);
        ((high - low) / LOSSES).max(f64::MIN_POSITIVE)
    }
    /// Return the losses of the pair without sampling, if they are atoms on a grid.
    fn atoms(&self) -> Option<&Arc<OnGrid>> {
        let find = || {
            let unit = self.inner.unit().filter(|unit| self.finest() <= *unit)?;
            let (found, atoms) = self.on_grid(unit);
            atoms.then(|| Arc::new(found))
        };
        self.atoms.get_or_init(find).as_ref()
    }
}

impl DominatingPair for SampledPair {
    fn range(&self, tail: f64) -> (f64, f64) {
        let (low, high) = self.inner.range(tail);
        (self.sampled(low), self.sampled(high))
    }
    fn buckets(&self, grid: &Grid) -> Buckets {
        let (atoms, rate) = (self.atoms().cloned(), self.rate);
        let exact = atoms.is_some();
        let on_grid =
            atoms.unwrap_or_else(|| Arc::new(self.on_grid(grid.step.max(self.finest())).0));
        let losses = &on_grid.losses;
        let reach = losses.loss(0).abs().max(losses.loss(losses.mass.len()).abs());
        let relative = U * (64.0 + 8.0 * reach) + if exact { on_grid.relative } else { 0.0 };
        let shift = 256.0 * U * (1.0 + reach) + 2.0 * losses.shift;
        let mut buckets = Buckets::empty(grid, relative, shift);
        let mut all = 0.0;
        for (i, &mass) in losses.mass.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
            let x = losses.loss(i) + losses.shift;
            let other = mass * exp(-x);
            all += other;
            let mixture = |with: f64, without: f64| (1.0 - rate) * without + rate * with;
            let (p, q) = match self.removed {
                true => (mixture(mass, other), other),
                false => (mass, mixture(other, mass)),
            };
            if exact && i == 0 && 0.0 < on_grid.below {
                buckets.doubt(grid, self.sampled(x), p);
            } else {
                buckets.atom(grid, self.sampled(x), p, q);
            }
        }
        // If the grid is exact, this mass is doubtful; otherwise it is certain.
        let mut rest = |loss: f64, p: f64, q: f64| match exact {
            true => buckets.doubt(grid, loss, p),
            false => buckets.atom(grid, loss, p, q),
        };
        if self.removed {
            // The sum has a relative rounding error.
            let missing = (1.0 - all * (1.0 - U * (64.0 + losses.mass.len() as f64))).max(0.0);
            rest(ln_1p(-rate), (1.0 - rate) * missing, missing);
            buckets.above += rate * losses.infinite * (1.0 + 4.0 * U);
        } else {
            rest(-ln_1p(-rate), losses.infinite, (1.0 - rate) * losses.infinite);
        }
        buckets
    }
    fn most(&self) -> f64 {
        let sampled = mixed(self.inner.most(), self.rate);
        if self.inner.most() <= 700.0 { sampled * (1.0 + 256.0 * U) } else { self.inner.most() }
    }
    fn only_above(&self) -> bool {
        self.inner.only_above() || self.atoms().is_none()
    }
    fn reverse(&self) -> Option<Arc<dyn DominatingPair>> {
        Some(Arc::new(SampledPair { removed: !self.removed, ..self.clone() }))
    }
}

/// A mechanism on a sample of fixed size, drawn without replacement, for one record replaced.
///
/// Let a mechanism be dominated by `(P, Q)` under replacement, and let a sample have the share `q`
/// of the records. Then the profile is at most the profile of `((1 - q) Q + q P, Q)` at
/// `epsilon >= 0`, and the profile of `(P, (1 - q) P + q Q)` at `epsilon < 0` (Zhu, Dong, Wang
/// 2022, Theorem 11). It is the profile of the positive losses of the first pair, the negative
/// losses of the second, and the mass missing to 1 at 0.
#[derive(Clone, Debug)]
pub struct FixedSizePair {
    above: Arc<dyn DominatingPair>,
    below: Arc<dyn DominatingPair>,
}
impl FixedSizePair {
    /// Sample a mechanism; the pair bounds the replacement of a record, and is its own reverse.
    pub fn of(pair: Arc<dyn DominatingPair>, rate: f64) -> Self {
        // Each of the two samples may have an enclosure, but it does not enclose the pair made of
        // both samples. So it is not used.
        let of = |removed| {
            let sample = SampledPair::of(pair.clone(), rate, removed);
            match sample.between(1) {
                None => sample,
                Some(_) => Arc::new(SampledPair::listed(pair.clone(), rate, removed)),
            }
        };
        FixedSizePair { above: of(true), below: of(false) }
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
        one.doubtful.retain(|(edge, _)| *edge > zero);
        one.doubtful.extend(two.doubtful.iter().filter(|(edge, _)| *edge < zero));
        one.below = two.below;
        one.relative = one.relative.max(two.relative);
        one.shift = one.shift.max(two.shift);
        let atoms: f64 = one.at_edges.iter().map(|(_, p)| p).sum();
        let rest = 1.0 - sum(&one.p) - atoms - one.below - one.above;
        // The missing mass is off by the errors of all other masses.
        let error = 2.0 * one.relative + 64.0 * U;
        let rest = rest.max(error);
        one.relative = one.relative.max(error / rest);
        one.at_edges.push((zero, rest));
        one
    }
}
