//! Upper bounds on the distributions of noises on a grid.

use crate::accounting::discrete_loss::DiscreteLoss;
use crate::accounting::elementary::{exp, exp_m1, sum};
use crate::accounting::normal_mass::{mass, tail};
use crate::collected::Collected;

use super::noise::Kind;

/// Each mass is multiplied by this factor. The factor covers the relative error of the mass. For
/// arguments below -700, the exponential function returns 0 (see [`LOST`]). All other arguments are
/// from -700 to 0, and each of them is computed with three roundings. The functions `exp`, `mass`
/// and `tail` have relative errors below `2^-42`.
const WIDEN: f64 = 1.0 + 1e-11;
/// A bound on the total mass of a noise that is lost because functions return 0 instead of tiny
/// masses.
const LOST: f64 = 1e-300;
/// If the scale of integer noise is above this number, `R + 1` is used as a bound on the integer
/// noise. Here `R` is noise of the same scale on real numbers.
pub(super) const COARSE: f64 = 16_384.0;
/// The largest allowed number of grid points for one noise.
pub(super) const MOST: f64 = 2_097_152.0;

/// How numbers are rounded to the multiples of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rounding {
    /// The numbers are already multiples of the step.
    Exact,
    /// Numbers are rounded up, so a sum on the grid is at least the true sum.
    Up,
    /// Numbers are rounded to the nearest multiple, which is at most half a step away. A number and
    /// its negative are rounded to opposite multiples.
    Nearest,
}

/// The product `weight * Z` of a weight and a noise `Z`, or the positive part of this product, on a
/// grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    pub(super) kind: Kind,
    pub(super) scale: f64,
    /// Whether only the positive part of the noise counts.
    pub(super) cut: bool,
    /// The magnitude of the weight, divided by the unit of the grid (see `OnGrid`).
    pub(super) weight: f64,
}

/// Return the reach of the noise: the largest distance from 0 that the grid must cover. The
/// probability that the noise is farther from 0 is about `e^-log`.
fn reach(kind: Kind, scale: f64, log: f64) -> f64 {
    scale * if kind.is_laplace() { log } else { (2.0 * log).sqrt() }
}

impl Placed {
    /// Return whether `R + 1` is used as a bound on this noise. Here `R` is noise of the same scale
    /// on real numbers. The bound is used for integer noise whose scale is above [`COARSE`].
    pub(super) fn is_bounded_by_reals(&self) -> bool {
        self.kind.is_discrete() && COARSE < self.scale
    }
    /// Return the approximate number of grid points of this noise.
    pub(super) fn points(&self, step: f64, log: f64) -> f64 {
        // For integer noise, the last integer can be up to 2 above the reach. For noise on real
        // numbers, the last point is less than one step above the reach. This step is not counted.
        let more = if self.kind.is_discrete() { 2.0 } else { 0.0 };
        2.0 * (reach(self.kind, self.scale, log) + more) * self.weight / step
    }
    /// Round `weight * Z` to the multiples of a step, where `Z` is the noise. Return masses on the
    /// grid and at infinity. For every number `x`, the sum of the masses above `x` is at least the
    /// probability that the rounded `weight * Z` is above `x`. Each mass is enlarged by more than
    /// its error. Mass of values above the grid is moved to infinity. Mass of values below the grid
    /// is moved up to the lowest point of the grid.
    ///
    /// [`Rounding::Exact`] requires that the weight of integer noise is a multiple of the step. If
    /// the scale of integer noise is large, noise on real numbers replaces the integer noise. For
    /// each noise that is replaced in this way, the caller must add `weight` to the sum. Let `R` be
    /// noise of the same scale on real numbers. For all integers `m`, `P[Z >= m] <= P[R + 1 >= m]`,
    /// up to a relative error below `10^-300`:
    ///
    /// - Laplace: let `q = exp(-1 / scale)`. For `m >= 1` the claim is
    ///   `q^m / (1 + q) <= q^(m-1) / 2`. For `m <= 0` the claim is
    ///   `q^(1-m) / (1 + q) >= q^(1-m) / 2`. Both claims follow from `q <= 1`.
    /// - Gaussian: let `w(z) = exp(-z^2 / (2 scale^2))`. For `m >= 1` the claim is Proposition 25
    ///   of Canonne, Kamath, Steinke 2020. Let `m <= 0`. By symmetry, `P[Z >= m]` is
    ///   `1 - P[Z >= 1 - m]`, and `P[R + 1 >= m]` is `1 - P[R >= 1 - m]`. So the claim is
    ///   equivalent to `P[Z >= 1 - m] >= P[R >= 1 - m]`. For `j >= 1`, `sum_(k >= j) w(k)` is at
    ///   least the integral of `w` from `j` to infinity, because `w` decreases. By Poisson's
    ///   summation, the sum of all weights is `scale sqrt(2 pi)` times a factor. This factor is at
    ///   most `1 + 3 exp(-2 (pi scale)^2)`. This factor is the only cause of the relative error.
    ///
    /// If the noise is cut off, negative values are replaced by 0.
    pub(super) fn on_grid(&self, step: f64, log: f64, rounding: Rounding) -> DiscreteLoss {
        let mut all = if self.kind.is_discrete() && !self.is_bounded_by_reals() {
            self.integers(step, log, rounding)
        } else {
            self.reals(step, log, rounding)
        };
        if self.cut {
            let below = usize::try_from(-all.first).unwrap_or(0).min(all.mass.len() - 1);
            all.mass[below] += sum(&all.mass[..below]) * WIDEN;
            all.mass.drain(..below);
            all.first += below as i64;
        }
        all
    }
    fn reals(&self, step: f64, log: f64, rounding: Rounding) -> DiscreteLoss {
        let scale = self.scale * self.weight;
        let count = (reach(self.kind, scale, log) / step).ceil().max(1.0) as usize;
        // If a step is 1e6 times the scale, the probability of a value more than half a step away
        // from 0 is below all positive floats. So a larger ratio is not needed.
        let ratio = (step / scale).min(1e6);
        let laplace = self.kind.is_laplace();
        let first_half = -exp_m1(-ratio) / 2.0;
        // A number is rounded to a positive grid point if the number is above `begin` steps.
        let begin = if rounding == Rounding::Nearest { 0.5 } else { 0.0 };
        // Item `m` of `half` bounds the probability that the noise, in units of a step, is between
        // `m + begin` and `m + 1 + begin`.
        let half: Vec<f64> = (0..count)
            .map(|m| {
                let m = m as f64 + begin;
                let value = if laplace {
                    exp(-m * ratio) * first_half
                } else {
                    mass((m + 0.5) * ratio, ratio)
                };
                value * WIDEN
            })
            .collected();
        let end = (count as f64 + begin) * ratio;
        let beyond = if laplace { exp(-end) / 2.0 } else { tail(end) } * WIDEN + LOST;
        let mut masses: Vec<f64> = half.iter().rev().copied().collected();
        masses[0] += beyond;
        // Let `m >= 0`. If numbers are rounded up, the mass between `m` and `m + 1` is moved to
        // `m + 1`. The mass between `-m - 1` and `-m` is then moved to `-m`.
        let mut first = 1 - count as i64;
        if rounding == Rounding::Nearest {
            let centre = if laplace { -exp_m1(-ratio / 2.0) } else { mass(0.0, ratio) };
            masses.push(centre * WIDEN);
            first -= 1;
        }
        masses.extend(half);
        DiscreteLoss { step, first, mass: masses, infinite: beyond, shift: 0.0 }
    }
    fn integers(&self, step: f64, log: f64, rounding: Rounding) -> DiscreteLoss {
        let last = (reach(self.kind, self.scale, log).ceil() as i64 + 1).max(1);
        let ratio = 1.0 / self.scale;
        let (weights, beyond): (Vec<f64>, f64) = if self.kind.is_laplace() {
            let ratio = ratio.min(1e6);
            let top = -exp_m1(-ratio) / (1.0 + exp(-ratio));
            let weights = (0..=last).map(|k| top * exp(-(k as f64) * ratio)).collected();
            (weights, exp(-((last + 1) as f64) * ratio) / (1.0 + exp(-ratio)))
        } else {
            // A mass is a weight divided by the sum of all weights. The computed sum omits some
            // weights. So the computed masses are larger than the exact masses, and the bound
            // holds.
            let ratio = ratio.min(1e3);
            let weight = |k: i64| exp(-(k as f64 * ratio) * (k as f64 * ratio) / 2.0);
            let weights: Vec<f64> = (0..=last).map(weight).collected();
            let total = weights[0] + 2.0 * sum(&weights[1..]);
            // The noise `Z` is beyond the grid if `Z` is at least `m = last + 1`. Use
            // `P[Z >= m] <= P[scale N >= m - 1]` for a standard normal `N`.
            (weights.iter().map(|w| w / total).collected(), tail(last as f64 * ratio))
        };
        let place = |k: i64| -> i64 {
            let x = k as f64 * (self.weight / step);
            match rounding {
                Rounding::Exact | Rounding::Nearest => x.round() as i64,
                // The computed `x` is rounded to the nearest float, and can be too low. The small
                // addition prevents a result that is one step too low.
                Rounding::Up => (x + x.abs() * 1e-15).ceil() as i64,
            }
        };
        let (first, end) = (place(-last), place(last));
        let mut masses = vec![0.0; (end - first + 1) as usize];
        for k in -last..=last {
            masses[(place(k) - first) as usize] += weights[k.unsigned_abs() as usize] * WIDEN;
        }
        let beyond = beyond * WIDEN + LOST;
        masses[0] += beyond;
        DiscreteLoss { step, first, mass: masses, infinite: beyond, shift: 0.0 }
    }
}
