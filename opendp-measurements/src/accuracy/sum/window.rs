//! The quantile of a sum by convolution: the grid, the tilt and the window of the transform.
//!
//! This file chooses the grid, the tilt and the window by heuristics. The choices affect how tight
//! a bound is. The bound holds for every choice, because [`Convolution`] bounds its own errors. The
//! tilt is a number `t`: the mass at each value `x` is multiplied by `e^(t x)` before the
//! transform. The window is the interval of values for which the transform computes masses.

use opendp_core::Result;
use opendp_core::arith::Directed;
use std::ops::ControlFlow;

use crate::accounting::convolution::Convolution;
use crate::accounting::discrete_loss::DiscreteLoss;
use crate::accounting::elementary::ln;
use crate::accuracy::grid::{MOST, Rounding};
use crate::accuracy::on_grid::OnGrid;
use crate::accuracy::sum::{Term, count};
use crate::collected::Collected;

/// The largest allowed length of the first transform. Later transforms are at most twice as long.
const LONGEST: usize = 1 << 20;
/// The length of the shortest transform.
const SHORTEST: usize = 1 << 10;
/// The limit for the total length of the transforms of all terms.
const LONGEST_OF_ALL: usize = 1 << 25;
/// The wanted bound on the relative error from rounding to the grid. If a grid with this error
/// would have too many points, a coarser grid with a larger error is used.
const TOLERANCE: f64 = 1e-4;
/// The allowed tilted mass above the window of the transform, and also below the window. The tilted
/// masses are scaled to a total of 1.
const OUTSIDE: f64 = 1e-9;

/// Compute an upper bound on the quantile of the sum by convolution. Return `None` if there are too
/// many terms, or if only the union bound is possible.
pub(super) fn convolved(noises: &[Term], alpha: f64) -> Result<Option<f64>> {
    if noises.iter().any(|term| 1 << 31 < term.count) || noises.len() > 4096 {
        return Ok(None);
    }
    for on_grid in [OnGrid::lattice(noises)?, OnGrid::anywhere(noises)?].into_iter().flatten() {
        let window = Window::new(&on_grid, noises, alpha)?;
        if let ControlFlow::Break(bound) = window.bound()? {
            return Ok(bound);
        }
    }
    Ok(None)
}

/// The window in which the distribution of the sum is computed.
struct Window<'a> {
    on_grid: &'a OnGrid,
    /// The number of noises in the sum.
    n: f64,
    /// The logarithm of `1 / p`. Here `p` is the probability that a noise is beyond its reach,
    /// which is the largest distance from 0 that the grid must cover. Values above the reach count
    /// as infinite.
    log: f64,
    /// The largest allowed length of the first transform for this number of terms. Later transforms
    /// can be longer.
    length: usize,
    tilt: f64,
    /// An estimate of the quantile.
    about: f64,
    center: f64,
    width: f64,
    /// A bound on the true sum minus the rounded sum, as a number of steps. The bound holds except
    /// with probability `alpha / 20000`. If no noise is rounded to the nearest points of the grid,
    /// this number is 0.
    displacement: f64,
    rounding: Rounding,
    /// The part of alpha that is left for the sum on the grid.
    share: f64,
}
impl<'a> Window<'a> {
    fn new(on_grid: &'a OnGrid, noises: &[Term], alpha: f64) -> Result<Self> {
        let n = count(noises)?;
        let (best, about) = on_grid.chernoff(alpha);
        // A tilt below the best tilt gives a narrower window. If alpha is not small, the errors
        // stay small even if the tilt is 0.4 times the best tilt.
        let tilt = best * if alpha < 1e-6 { 0.9 } else { 0.4 };
        let variances = on_grid.placed.iter().zip(noises).map(|((placed, count), term)| {
            *count as f64 * term.noise.variance() * placed.weight * placed.weight
        });
        let deviation = variances.sum::<f64>().sqrt();
        let mean = on_grid.mean();
        let above = (about - mean).max(0.0);
        let (displacement, rounding) = on_grid.displacement(alpha);
        let length = (LONGEST_OF_ALL / noises.len()).next_power_of_two() / 2;
        Ok(Window {
            on_grid,
            n,
            // The probability that at least one of the `n` noises is beyond its reach is about 1e-7
            // times alpha.
            log: ln((n / alpha).min(f64::MAX)) + 16.0,
            length: LONGEST.min(length).max(SHORTEST),
            // On a lattice of integers, a tilt above 32 has no advantage over the tilt 32.
            tilt: if on_grid.exact { tilt.min(32.0) } else { tilt },
            about,
            center: mean + 0.4 * above,
            width: 2.0 * (1.5 * above + 6.0 * deviation),
            displacement,
            rounding,
            share: if rounding == Rounding::Nearest { alpha * 0.999_899 } else { alpha },
        })
    }
    /// Return the largest number of grid points over all noises.
    fn points(&self, step: f64) -> f64 {
        let points = self.on_grid.placed.iter().map(|(placed, _)| placed.points(step, self.log));
        points.fold(0.0, f64::max)
    }
    /// Return the step of the grid for a quantile of about `t`. The step is a power of two, so that
    /// the points of the grid are floats.
    fn step(&self, t: f64) -> f64 {
        if self.on_grid.exact {
            return 1.0;
        }
        let steps = if self.displacement == 0.0 { self.n / 2.0 } else { self.displacement };
        let wanted = (TOLERANCE * t / steps).max(self.width / self.length as f64);
        let wanted = wanted.max(self.points(1.0) / MOST);
        f64::from_bits(wanted.to_bits() & !((1 << 52) - 1)) * 2.0
    }
    /// Convolve the noises on a grid with the given step, by transforms of length `size`.
    fn sum(&self, step: f64, size: usize) -> Result<Convolution> {
        let losses: Vec<(DiscreteLoss, u64)> = self
            .on_grid
            .placed
            .iter()
            .map(|(placed, count)| {
                // Hoeffding's bound needs rounding errors of mean 0. The rounding errors of noise
                // that is cut off can have another mean, so this noise is rounded up.
                let cut = placed.cut && self.rounding == Rounding::Nearest;
                let rounding = if cut { Rounding::Up } else { self.rounding };
                (placed.on_grid(step, self.log, rounding), *count)
            })
            .collected();
        Convolution::new(&losses, self.tilt, self.center, size, OUTSIDE)
    }
    /// Compute an upper bound on the quantile of the sum. Return `Break` with the bound, or with
    /// `None` if only the union bound is possible. Return `Continue` if this grid gives no bound,
    /// but another grid can give a bound.
    fn bound(&self) -> Result<ControlFlow<Option<f64>>> {
        let OnGrid { exact, unit, .. } = *self.on_grid;
        if exact && ((self.length as f64) < self.width + 16.0 || MOST < self.points(1.0)) {
            return Ok(ControlFlow::Continue(()));
        }
        let mut step = self.step(self.about);
        let size = ((self.width / step) as usize + 16).next_power_of_two();
        let mut size = size.clamp(SHORTEST, self.length);
        let shift = self.on_grid.shift()?;
        let mut best = None;
        for _ in 0..8 {
            // If the sum is too wide for a transform, use the best bound so far. Without such a
            // bound, only the union bound is possible.
            let Ok(sum) = self.sum(step, size) else { return Ok(ControlFlow::Break(best)) };
            let longest = exact && 2 * LONGEST <= size;
            let fits = sum.outside() <= 2.0 * OUTSIDE || longest;
            if !fits {
                size *= 2;
                if 2 * self.length < size && !exact {
                    (size, step) = (size / 2, 2.0 * step);
                }
                continue;
            }
            let Some(found) = least(&sum, step, self.share) else {
                return Ok(ControlFlow::Break(best));
            };
            let moved = found.inf_add(self.displacement.inf_mul(step)?)?;
            best = Some(moved.inf_add(shift)?.inf_mul(unit)?);
            // For a large alpha, the quantile is far below the estimate `about`. Then a finer grid
            // gives a better bound.
            let finer = self.step(found);
            if exact || step <= finer || found == 0.0 {
                return Ok(ControlFlow::Break(best));
            }
            size = ((size as f64 * step / finer) as usize).next_power_of_two();
            size = size.min(2 * self.length);
            step = finer;
        }
        Ok(best.map_or(ControlFlow::Continue(()), |bound| ControlFlow::Break(Some(bound))))
    }
}

/// Find nearly the least point `x >= 0` of the grid with `2 P[S > x] <= alpha`. Here `S` is the
/// sum, and the bound on its tail is used as `P[S > x]`.
fn least(sum: &Convolution, step: f64, alpha: f64) -> Option<f64> {
    let fits = |place: i64| 2.0 * sum.tail_above(place as f64 * step) * (1.0 + 1e-15) <= alpha;
    let (first, count) = sum.places();
    // At first, `good` is the highest point, which has the smallest tail. During the search below,
    // `good` always satisfies the condition.
    let (mut bad, mut good) = (first.max(0) - 1, first + count as i64 - 1);
    // Near the highest point of the window, the bound on the tail is loose. So first try the middle
    // point, and then the highest point.
    let middle = bad + (good - bad) / 2;
    if bad < middle && fits(middle) {
        good = middle;
    } else if good <= bad || !fits(good) {
        return None;
    }
    while bad + 1 < good {
        let middle = bad + (good - bad) / 2;
        if fits(middle) { good = middle } else { bad = middle }
    }
    Some(good as f64 * step)
}
