//! The transform of a loss with listed atoms.

use super::elementary::{CIS_ERROR, CIS_LIMIT, U, cis, exp, ln, sum};
use super::transform::{Listed, Tilted, Wave};

/// A tilted loss with listed atoms.
///
/// # Error
/// Let the masses have a relative error of `e`, and the losses an error of `b`. A tilted mass
/// `m e^(t x)` has a relative error of at most `e + 1.01 t b`, and that of the exponential and its
/// argument, `(24 + 4 t |x|) u`. So has their sum, and the normalised masses err by twice this
/// together. A wave at `s` errs by this and by `s b`.
#[derive(Clone, Debug)]
pub(super) struct TiltedList {
    log: f64,
    centre: f64,
    variance: f64,
    /// Losses about the centre, and masses of sum 1.
    atoms: Vec<(f64, f64)>,
    /// Bounds the relative error of each mass.
    error: f64,
    /// Bounds the error of each loss.
    blur: f64,
    infinite: (f64, f64),
}

/// Atoms of `P`: losses and masses, with bounds on their errors.
pub(super) struct Atoms {
    pub(super) atoms: Vec<(f64, f64)>,
    /// The relative error of the masses.
    pub(super) relative: f64,
    /// The error of the losses.
    pub(super) blur: f64,
}

impl TiltedList {
    /// Tilt a list. Return `None` if it has no mass, or too large an error.
    pub(super) fn new(list: Atoms, tilt: f64) -> Option<TiltedList> {
        let Atoms { mut atoms, relative, blur } = list;
        atoms.retain(|(_, mass)| 0.0 < *mass);
        let top = atoms.iter().map(|(loss, _)| tilt * loss).fold(f64::NEG_INFINITY, f64::max);
        let reach = atoms.iter().map(|(loss, _)| loss.abs()).fold(0.0, f64::max);
        for (loss, mass) in &mut atoms {
            *mass *= exp(tilt * *loss - top);
        }
        let masses: Vec<f64> = atoms.iter().map(|(_, mass)| *mass).collect();
        let total = sum(&masses);
        let mean = atoms.iter().map(|(loss, mass)| loss * mass).sum::<f64>() / total;
        let mut variance = 0.0;
        for (loss, mass) in &mut atoms {
            (*loss, *mass) = (*loss - mean, *mass / total);
            variance += *loss * *loss * *mass;
        }
        let error = relative + 1.01 * tilt * blur + U * (128.0 + 8.0 * tilt * reach);
        let log = top + ln(total);
        let usable = log.is_finite() && error < 1e-9;
        usable.then_some(TiltedList {
            log,
            centre: mean,
            variance,
            atoms,
            error,
            blur: blur + 4.0 * U * reach,
            infinite: (0.0, 1.0),
        })
    }
    /// Add an error of the transform, given as its logarithm. Return `None` if it is not small.
    pub(super) fn with_error(self, error: f64) -> Option<TiltedList> {
        let error = exp((error - self.log).clamp(-690.0, 0.0)) * (1.0 + 1e-6);
        (error < 1e-11).then_some(TiltedList { error: self.error + 1.01 * error, ..self })
    }
    /// Add a mass with an infinite loss; the second number is the whole mass.
    pub(super) fn with_infinite(self, infinite: (f64, f64)) -> TiltedList {
        TiltedList { infinite, ..self }
    }
}

impl Tilted for TiltedList {
    fn log(&self) -> (f64, f64) {
        (self.log, 1.01 * self.error + 32.0 * U * (1.0 + self.log.abs()))
    }
    fn centre(&self) -> f64 {
        self.centre
    }
    fn variance(&self) -> f64 {
        self.variance
    }
    fn wave(&self, frequency: f64) -> Wave {
        let (mut re, mut im, mut furthest) = (0.0, 0.0, 0.0f64);
        for (loss, mass) in &self.atoms {
            let turn = frequency * loss;
            let (c, d) = cis(turn);
            re += mass * c;
            im += mass * d;
            furthest = furthest.max(turn.abs());
        }
        let turn = if furthest < CIS_LIMIT { CIS_ERROR + 2.0 * U * furthest } else { 2.0 };
        let rounding = U * (self.atoms.len() as f64 + 8.0);
        Wave { re, im, error: 2.02 * (self.error + turn + rounding) + frequency * self.blur }
    }
    /// Atoms may return to the full modulus.
    fn envelope(&self, _: f64) -> f64 {
        1.0
    }
    fn listed(&self) -> Option<Listed> {
        let error = 2.02 * self.error + 4.0 * U;
        Some(Listed { atoms: self.atoms.clone(), error, blur: self.blur })
    }
    fn infinite(&self) -> (f64, f64) {
        self.infinite
    }
}
