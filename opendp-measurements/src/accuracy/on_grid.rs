//! The terms of a sum on one grid. This file chooses the unit of the grid and the kind of rounding,
//! and estimates the mean and the quantile of the sum.

use opendp_core::Result;
use opendp_core::arith::{Directed, InfCast};

use crate::accounting::elementary::ln;
use crate::collected::Collected;

use super::grid::{Placed, Rounding};
use super::sum::Term;
use super::weight::divisor;

/// The terms of a sum on a grid, and the size of the unit of this grid.
pub(super) struct OnGrid {
    pub(super) placed: Vec<(Placed, u64)>,
    /// The size of the unit of the grid, rounded up.
    pub(super) unit: f64,
    /// Whether all values are multiples of the unit. If so, no value is rounded.
    pub(super) exact: bool,
}
impl OnGrid {
    /// Put integer noises with rational weights on a lattice that contains all their values. Return
    /// `None` if some noise is not discrete, or if a scale, a denominator or another number is too
    /// large.
    pub(super) fn lattice(noises: &[Term]) -> Result<Option<Self>> {
        if !noises.iter().all(|term| term.noise.kind.is_discrete()) {
            return Ok(None);
        }
        // Compute the least common denominator of the weights, and a common divisor of all
        // numerators.
        let mut denominator = 1_i128;
        for term in noises {
            let own = term.weight.parts().1;
            match denominator.checked_mul(own / divisor(denominator, own)) {
                Some(common) if common < 1 << 60 => denominator = common,
                _ => return Ok(None),
            }
        }
        let numerators = noises.iter().map(|term| {
            let (numerator, own) = term.weight.parts();
            numerator.checked_abs()?.checked_mul(denominator / own)
        });
        let Some(numerators) = numerators.known_collected() else { return Ok(None) };
        let common = numerators.iter().fold(0, |common, number| divisor(common, *number));
        let place = |(term, numerator): (&Term, &i128)| {
            let weight = numerator / common;
            let (kind, scale) = (term.noise.kind, term.noise.scale);
            let placed = Placed { kind, scale, cut: term.noise.cut, weight: weight as f64 };
            (weight < 1 << 40 && !placed.is_bounded_by_reals()).then_some((placed, term.count))
        };
        let placed = noises.iter().zip(&numerators).map(place).known_collected();
        let unit = f64::inf_cast(common)?.inf_div(f64::neg_inf_cast(denominator)?)?;
        Ok(placed.map(|placed| OnGrid { placed, unit, exact: true }))
    }
    /// Put noises of any kind on a grid. The unit of the grid is a power of two. This power is
    /// close to the largest product of the scale and the weight of a noise. Return `None` if a
    /// number is out of range.
    pub(super) fn anywhere(noises: &[Term]) -> Result<Option<Self>> {
        let mut largest = 0.0_f64;
        for term in noises {
            largest = largest.max(term.noise.scale.inf_mul(term.weight.magnitude_up()?)?);
        }
        if !(1e-200 < largest && largest < 1e200) {
            return Ok(None);
        }
        // Keep only the leading bit of the float, so that the unit is a power of two.
        let unit = f64::from_bits(largest.to_bits() & !((1 << 52) - 1));
        let mut placed = Vec::new();
        for term in noises {
            let weight = term.weight.magnitude_up()? / unit;
            if !(1e-250 < weight && weight < 1e250 && 1e-250 < term.noise.scale) {
                return Ok(None);
            }
            let (kind, scale) = (term.noise.kind, term.noise.scale);
            placed.push((Placed { kind, scale, cut: term.noise.cut, weight }, term.count));
        }
        Ok(Some(OnGrid { placed, unit, exact: false }))
    }
    /// For some integer noises, noise on real numbers plus 1 is used as a bound (see
    /// `is_bounded_by_reals`). So the caller must add a number to the bound on the sum. Return this
    /// number, in units of the grid: the sum of the weights of these integer noises, rounded up.
    pub(super) fn shift(&self) -> Result<f64> {
        self.placed.iter().filter(|(placed, _)| placed.is_bounded_by_reals()).try_fold(
            0.0,
            |total: f64, (placed, count)| {
                total.inf_add(f64::inf_cast(*count)?.inf_mul(placed.weight)?)
            },
        )
    }
    /// Choose the kind of rounding. Return a number of steps, and the chosen kind. Suppose that
    /// every noise that is not cut off is rounded to the nearest point of the grid. Then, except
    /// with probability `alpha / 20000`, the true sum exceeds the rounded sum by at most this
    /// number of steps. For other kinds of rounding, the number is 0.
    ///
    /// The rounding errors of noises that are not cut off are independent and have mean 0, by
    /// symmetry. Each rounding error is at most slightly more than half a step, because positions
    /// on the grid are computed in floats. The bound on the sum of these errors is from Hoeffding
    /// (1963). On average, rounding up adds half a step for each noise. If there are few noises,
    /// this increase is at most Hoeffding's bound, so all noises are rounded up.
    pub(super) fn displacement(&self, alpha: f64) -> (f64, Rounding) {
        if self.exact {
            return (0.0, Rounding::Exact);
        }
        let uncut = self.placed.iter().filter(|(placed, _)| !placed.cut);
        let n = uncut.map(|(_, count)| *count as f64).sum::<f64>();
        let displacement = (n * ln(20_000.0 / alpha) / 2.0).sqrt() * 1.000_001;
        if displacement < n / 2.0 { (displacement, Rounding::Nearest) } else { (0.0, Rounding::Up) }
    }
    /// Estimate the mean of the sum. For noise that is cut off, the mean of the positive part is
    /// used.
    pub(super) fn mean(&self) -> f64 {
        let cut = self.placed.iter().filter(|(placed, _)| placed.cut);
        cut.map(|(placed, count)| {
            let mean = if placed.kind.is_laplace() { 0.5 } else { 0.4 };
            mean * placed.scale * placed.weight * *count as f64
        })
        .sum()
    }
    /// Find the tilt `t` at which Chernoff's bound on the quantile of the sum `S` is smallest. The
    /// bound is `(ln(2 / alpha) + ln E[e^(t S)]) / t`. Return this tilt, and the bound at this
    /// tilt. The two numbers are approximate, and are computed for continuous noise.
    pub(super) fn chernoff(&self, alpha: f64) -> (f64, f64) {
        let scales: Vec<_> = self
            .placed
            .iter()
            .map(|(placed, count)| (placed, placed.scale * placed.weight, *count as f64))
            .collected();
        let limit = scales.iter().filter(|(placed, ..)| placed.kind.is_laplace());
        let limit = limit.fold(0.0, |largest: f64, (_, scale, _)| largest.max(*scale));
        let deviation: f64 = scales
            .iter()
            .map(|(placed, s, c)| c * s * s * if placed.kind.is_laplace() { 2.0 } else { 1.0 })
            .sum::<f64>()
            .sqrt();
        let needed = ln(2.0 / alpha);
        let bound = |t: f64| {
            let cumulant: f64 = scales
                .iter()
                .map(|(placed, s, c)| {
                    let (y, x) = (t * s, (t * s) * (t * s));
                    c * match (placed.kind.is_laplace(), placed.cut) {
                        (true, false) => -ln((1.0 - x).max(1e-300)),
                        (true, true) => ln(0.5 + 0.5 / (1.0 - y).max(1e-300)),
                        (false, false) => x / 2.0,
                        (false, true) => (0.4 * y + x / 3.0).min(x / 2.0 + 0.5),
                    }
                })
                .sum();
            (needed + cumulant) / t
        };
        let mut low = 1e-3 / deviation;
        let mut high = (4.0 + 4.0 * needed.sqrt()) / deviation;
        if 0.0 < limit {
            high = high.min((1.0 - 1e-9) / limit);
            low = low.min(high / 2.0);
        }
        for _ in 0..60 {
            let (left, right) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            if bound(left) < bound(right) { high = right } else { low = left }
        }
        let tilt = low + (high - low) / 2.0;
        (tilt, bound(tilt).max(deviation * 1e-3))
    }
}
