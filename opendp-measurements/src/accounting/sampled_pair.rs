//! Dominating pairs of a mechanism that runs on a sample. Without sampling, the mechanism has a
//! symmetric dominating pair.

use std::fmt;
use std::sync::Arc;

use super::DominatingPair;
use super::discrete_loss::DiscreteLoss;
use super::elementary::{U, exp, exp_m1, ln, ln_1p, sum};
use super::memo::Memo;
use super::pair::{Buckets, Grid, Inner};

/// Let `q` be the rate, and `x` the loss without sampling. Return the loss on a sample, which is
/// `ln(1 - q + q e^x)`. The relative error is at most `64 u`, where `u` is the unit roundoff.
///
/// If `q (e^x - 1)` is near 0, the form `ln(1 + q (e^x - 1))` avoids cancellation. Otherwise, the
/// form `ln(1 - q + q e^x)` has no cancellation.
///
/// For `x` above 700, `e^x` can exceed all floats. So `e^x` is split into the factors `e^700` and
/// `e^(x - 700)`. If the result is above 690, `1 - q` is negligible, so the result is
/// `ln(q e^700) + (x - 700)`. The magnitude of `ln(q e^700)` is below 745, so the sum of the two
/// terms has a relative error of a few `u`.
pub(super) fn mixed(x: f64, rate: f64) -> f64 {
    if x <= 700.0 {
        return mixed_of(x, exp(x), rate);
    }
    let (scaled, rest) = (rate * exp(700.0), x - 700.0);
    match scaled * exp(rest) {
        small if small < 0.35 => ln_1p(small),
        middle if middle < 1e300 => ln((1.0 - rate) + middle),
        _ => ln(scaled) + rest,
    }
}

/// Compute the result of [`mixed`] for an `x` up to 700. `ratio` is `e^x`.
#[inline]
pub(super) fn mixed_of(x: f64, ratio: f64, rate: f64) -> f64 {
    let small = rate * if x.abs() < 0.35 { exp_m1(x) } else { ratio - 1.0 };
    if small.abs() < 0.35 { ln_1p(small) } else { ln((1.0 - rate) + rate * ratio) }
}

/// Let `loss` be the loss on a sample with the rate `q`. Return the likelihood ratio without
/// sampling, which is `(e^loss - 1 + q) / q`.
///
/// Let `u` be the unit roundoff. If the loss on a sample is computed exactly from the returned
/// ratio, the result is within `64 u` of the given loss. An error `d` of the ratio changes the loss
/// by about `q d / e^loss`. If the ratio is at least 1, its relative error is a few `u`, and `q`
/// times the ratio is at most `e^loss`. So the loss changes by a few `u`. If the ratio is below 1,
/// the ratio is computed as a difference of two parts, and `d` is about `u` times the larger part.
/// If the rate is above 1/2, the larger part is `e^loss / q`, so the loss changes by about `u`. If
/// the rate is at most 1/2, the larger part is 1. Then `e^loss >= 1 - q >= 1/2`, so this part is at
/// most `2 e^loss`. So the loss changes by at most about `2 q u`.
pub(super) fn unmixed(loss: f64, rate: f64) -> f64 {
    if loss < 0.0 && 0.5 < rate {
        (exp(loss) - (1.0 - rate)) / rate
    } else {
        1.0 + exp_m1(loss) / rate
    }
}

/// Return the loss without sampling, from the loss on a sample. The result is the logarithm of
/// [`unmixed`]. Return minus infinity if no output has the loss.
///
/// If the ratio is near the largest float or larger, its logarithm is `ln(e^loss - 1) - ln q`, up
/// to an error of `1e-300`. For a loss above 600, `e^loss` replaces `e^loss - 1`.
pub(super) fn ln_unmixed(loss: f64, rate: f64) -> f64 {
    if 600.0 < loss {
        return loss - ln(rate);
    }
    match unmixed(loss, rate) {
        ratio if 1e300 < ratio => ln(exp_m1(loss)) - ln(rate),
        ratio if 0.0 < ratio => ln(ratio),
        _ => f64::NEG_INFINITY,
    }
}

/// Let a mechanism reveal everything with a probability of `delta`. Return whether the range of its
/// losses on a sample contains the loss `-ln(1 - rate)`.
///
/// If a record is added, this is the loss of the event that reveals everything. If the range does
/// not contain this loss, the loss counts as infinite. Then the event adds `delta` for an added
/// record. For a removed record, it adds `rate * delta` in any case. If the rate is above
/// `1 - e^-10`, these two numbers differ by less than 0.005 %. Then the range does not contain the
/// loss, because a short range can be put on a finer grid.
pub(super) fn listed_at(rate: f64, delta: f64, tail: f64) -> bool {
    tail < delta && -ln_1p(-rate) <= 10.0
}

/// The pair for a mechanism on a Poisson sample, if one record is removed or added.
///
/// Let `(P, Q)` dominate the mechanism in both directions, and let each record be in the sample
/// with probability `q`. Then `((1 - q) Q + q P, Q)` dominates the removal of a record. The pair
/// `(P, (1 - q) P + q Q)` dominates the addition of a record (Zhu, Dong, Wang 2022, Theorem 11).
///
/// Let `f(r)` be the profile of `(P, Q)` at epsilon `ln r`. For `r` of at least `1 - q`, the
/// profile of a removal is `q f((r - 1 + q) / q)`. For `r` below `1 / (1 - q)`, the profile of an
/// addition is `(1 - r + q r) f(q r / (1 - r + q r))`. If a larger profile replaces `f`, the
/// profiles of the removal and of the addition become larger. So take a distribution of losses on a
/// grid that dominates the losses of the pair. This distribution can replace the pair, before the
/// two formulas are applied. For a removal, a loss `x` of mass `m` becomes a loss
/// `ln(1 - q + q e^x)` of mass `m (q + (1 - q) e^-x)`. Under `Q`, the masses `m e^-x` can add up to
/// less than 1. The rest of the mass of `Q` gets the loss `ln(1 - q)`. For an addition, the loss
/// becomes `-ln(1 - q + q e^-x)`, and its mass stays `m`.
///
/// If all losses are atoms at multiples of one step, a grid of this step contains the losses
/// exactly. Discrete noise has such losses. Any other grid gives only a bound from above.
#[derive(Clone)]
pub struct SampledPair {
    inner: Arc<dyn DominatingPair>,
    rate: f64,
    removed: bool,
    atoms: Memo<Option<Arc<OnGrid>>>,
    infinite: Memo<f64>,
}

/// The losses of a pair, moved to a grid.
struct OnGrid {
    /// A distribution of losses on the grid that dominates the losses of the pair.
    losses: DiscreteLoss,
    /// A bound on the relative error of the masses. This bound is used only if `losses` contains
    /// exactly the losses of the pair.
    relative: f64,
    /// A bound on the mass of losses below the grid. This mass is part of the mass at the lowest
    /// loss.
    below: f64,
}

impl fmt::Debug for SampledPair {
    /// Write only the parameters in the `Debug` text, without computed values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (inner, rate, removed) = (Inner(&self.inner), self.rate, self.removed);
        write!(f, "SampledPair {{ inner: {inner:?}, rate: {rate:?}, removed: {removed} }}")
    }
}

/// The largest number of losses on the grid that replaces a pair.
const LOSSES: f64 = 1_048_576.0;
/// The grid is chosen so that the finite losses above it have about this mass, or less. The loss of
/// this mass counts as infinite.
const NEGLIGIBLE: f64 = 1e-30;

impl SampledPair {
    /// Make the pair on a sample with a rate above 0 and below 1, for a removed or an added record.
    ///
    /// `inner` must be its own [`reverse`](DominatingPair::reverse). If `inner` has its own
    /// [pair on a sample](DominatingPair::on_sample), return that pair.
    pub fn of(inner: Arc<dyn DominatingPair>, rate: f64, removed: bool) -> Arc<dyn DominatingPair> {
        match inner.on_sample(rate, removed) {
            Some(pair) => pair,
            None => Arc::new(SampledPair::listed(inner, rate, removed)),
        }
    }
    fn listed(inner: Arc<dyn DominatingPair>, rate: f64, removed: bool) -> SampledPair {
        let (atoms, infinite) = (Memo::new(), Memo::new());
        SampledPair { inner, rate, removed, atoms, infinite }
    }
    /// Take an output whose loss without sampling is `x`. Return the loss of this output if the
    /// mechanism runs on a sample.
    fn sampled(&self, x: f64) -> f64 {
        let sign = if self.removed { 1.0 } else { -1.0 };
        sign * mixed(sign * x, self.rate)
    }
    /// Return the losses of the pair without sampling, moved to a grid. Also return whether all
    /// these losses are atoms that already lie on the grid.
    fn on_grid(&self, step: f64) -> (OnGrid, bool) {
        let (low, high) = self.inner.range(NEGLIGIBLE);
        let grid = Grid::covering(step, low, high);
        let buckets = self.inner.buckets(&grid);
        let atoms = buckets.p.iter().all(|p| *p == 0.0) && buckets.doubtful.is_empty();
        let losses = DiscreteLoss::above(&buckets, &grid);
        // `DiscreteLoss::above` enlarges the masses of `P`. The field `shift` of `losses` changes
        // the masses of `Q`. The error `relative` includes both changes.
        let relative = 4.0 * buckets.relative + 4.0 * losses.shift + 256.0 * U;
        (OnGrid { losses, relative, below: buckets.below }, atoms)
    }
    /// Return a bound on the mass of losses above the grid, without sampling. On the grid, these
    /// losses count as infinite.
    fn infinite(&self) -> f64 {
        let find = || {
            let (low, high) = self.inner.range(NEGLIGIBLE);
            self.inner.buckets(&Grid::covering((high - low).max(1e-6), low, high)).above
        };
        *self.infinite.get(find)
    }
    /// Return the smallest step that is allowed by the limit on the number of losses.
    fn finest(&self) -> f64 {
        let (low, high) = self.inner.range(NEGLIGIBLE);
        ((high - low) / LOSSES).max(f64::MIN_POSITIVE)
    }
    /// Return the losses of the pair without sampling, if all of them are atoms on one grid.
    fn atoms(&self) -> Option<&Arc<OnGrid>> {
        let find = || {
            let unit = self.inner.unit().filter(|unit| self.finest() <= *unit)?;
            let (found, atoms) = self.on_grid(unit);
            atoms.then(|| Arc::new(found))
        };
        self.atoms.get(find).as_ref()
    }
}

impl DominatingPair for SampledPair {
    fn range(&self, tail: f64) -> (f64, f64) {
        let (low, high) = self.inner.range(tail);
        let range = (self.sampled(low), self.sampled(high));
        let infinite = self.infinite();
        if self.removed || !listed_at(self.rate, infinite, 2.0 * tail.max(NEGLIGIBLE)) {
            return range;
        }
        // The method `doubt` of the buckets uses an edge above the loss.
        (range.0, range.1.max(-ln_1p(-self.rate) * 1.02))
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
        // The function `rest` adds the mass that has no loss on the grid. If the grid contains the
        // exact losses, this mass can be 0, and only an upper bound on the mass is known. Then
        // `doubt` adds this upper bound. Otherwise, `atom` adds the mass as an output.
        let mut rest = |loss: f64, p: f64, q: f64| match exact {
            true => buckets.doubt(grid, loss, p),
            false => buckets.atom(grid, loss, p, q),
        };
        if self.removed {
            // The sum `all` has a relative rounding error. A bound on this error is subtracted from
            // `all`, so that `missing` is not too small.
            let missing = (1.0 - all * (1.0 - U * (64.0 + losses.mass.len() as f64))).max(0.0);
            rest(ln_1p(-rate), (1.0 - rate) * missing, missing);
            buckets.above += rate * losses.infinite * (1.0 + 4.0 * U);
        } else {
            rest(-ln_1p(-rate), losses.infinite, (1.0 - rate) * losses.infinite);
        }
        buckets
    }
    fn most(&self) -> f64 {
        mixed(self.inner.most(), self.rate) * (1.0 + 256.0 * U)
    }
    fn only_above(&self) -> bool {
        self.inner.only_above() || self.atoms().is_none()
    }
    fn reverse(&self) -> Option<Arc<dyn DominatingPair>> {
        Some(Arc::new(SampledPair { removed: !self.removed, ..self.clone() }))
    }
    fn in_either_direction(&self) -> Option<Arc<dyn DominatingPair>> {
        Some(Arc::new(FixedSizePair::of(self.inner.clone(), self.rate)))
    }
}

/// The pair for a mechanism on a sample of fixed size, if one record is replaced. The sample is
/// drawn without replacement.
///
/// Let `(P, Q)` dominate the mechanism for one replaced record, and let a sample have the share `q`
/// of the records. At `epsilon >= 0`, the profile of the mechanism on the sample is at most the
/// profile of `((1 - q) Q + q P, Q)`. At `epsilon < 0`, the profile of the mechanism on the sample
/// is at most the profile of `(P, (1 - q) P + q Q)` (Zhu, Dong, Wang 2022, Theorem 11). There is
/// one distribution of losses whose profile equals the first bound at `epsilon >= 0` and the second
/// bound at `epsilon < 0`. This distribution has the positive losses of the first pair and the
/// negative losses of the second pair. The remaining mass is at the loss 0.
///
/// On a Poisson sample, compare the profiles for a removed and for an added record. At
/// `epsilon >= 0`, the profile for a removed record is at least as large. At `epsilon < 0`, the
/// profile for an added record is at least as large. So this pair also dominates both directions of
/// a mechanism on a Poisson sample.
#[derive(Clone)]
pub struct FixedSizePair {
    above: Arc<dyn DominatingPair>,
    below: Arc<dyn DominatingPair>,
}
impl fmt::Debug for FixedSizePair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("FixedSizePair");
        text.field("above", &Inner(&self.above)).field("below", &Inner(&self.below)).finish()
    }
}
impl FixedSizePair {
    /// Make the pair on a sample of fixed size. `pair` dominates the mechanism for one replaced
    /// record, and is its own reverse.
    pub fn of(pair: Arc<dyn DominatingPair>, rate: f64) -> Self {
        // The pairs for a removed and for an added record can have enclosing pairs (see the method
        // `between`). But these enclosing pairs do not enclose a `FixedSizePair`. So a
        // `SampledPair` replaces each pair that has enclosing pairs. A `SampledPair` itself has no
        // enclosing pairs.
        let sample_of = |removed| {
            let sample = SampledPair::of(pair.clone(), rate, removed);
            match sample.between(1) {
                None => sample,
                Some(_) => Arc::new(SampledPair::listed(pair.clone(), rate, removed)),
            }
        };
        FixedSizePair { above: sample_of(true), below: sample_of(false) }
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
        // If the loss 0 is outside of the grid, all losses inside of the grid are losses of one
        // pair. Then the masses outside of the grid are also the masses of this pair.
        if 0 < grid.first {
            return self.above.buckets(grid);
        }
        let zero = grid.first.unsigned_abs() as usize;
        if grid.count < zero {
            return self.below.buckets(grid);
        }
        let (mut joined, other) = (self.above.buckets(grid), self.below.buckets(grid));
        joined.p[..zero].copy_from_slice(&other.p[..zero]);
        joined.q[..zero].copy_from_slice(&other.q[..zero]);
        joined.at_edges.retain(|(edge, _)| *edge > zero);
        joined.at_edges.extend(other.at_edges.iter().filter(|(edge, _)| *edge < zero));
        joined.doubtful.retain(|(edge, _)| *edge > zero);
        joined.doubtful.extend(other.doubtful.iter().filter(|(edge, _)| *edge < zero));
        joined.below = other.below;
        joined.relative = joined.relative.max(other.relative);
        joined.shift = joined.shift.max(other.shift);
        let atoms: f64 = joined.at_edges.iter().map(|(_, p)| p).sum();
        let rest = 1.0 - sum(&joined.p) - atoms - joined.below - joined.above;
        // The error of the mass `rest` is at most the sum of the errors of all other masses. So the
        // mass at the loss 0 is from `least` to `rest + error`. If the rate is near 1, this mass
        // can be less than its error. So the error is not relative to the mass.
        let error = 2.0 * joined.relative + 64.0 * U;
        let least = (rest - error).max(0.0);
        joined.at_edges.push((zero, least));
        joined.doubtful.push((zero, (rest + error - least).max(0.0)));
        joined
    }
}

#[cfg(test)]
mod tests;
