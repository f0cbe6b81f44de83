//! The transform of a loss whose atoms (losses of positive probability) are listed.

use super::elementary::{CIS_ERROR, CIS_LIMIT, U, cis, exp, ln, sum};
use super::transform::{Listed, Tilted, Wave};
use crate::collected::Collected;

/// A tilted loss whose atoms are listed.
///
/// # Error
/// Let `u` be the unit roundoff, and `t` the tilt. Let `c` be a bound on the relative error of the
/// masses, and `b` a bound on the error of the losses. Take an atom with the loss `x` and the mass
/// `m`. The tilted mass `m e^(t x)` has a relative error of at most `c + 1.01 t b`. The rounding of
/// the exponential and of its argument adds a relative error of at most `(24 + 4 t |x|) u`. For
/// each tilted mass, add up these relative errors. Let `e` be the largest of these sums, plus the
/// relative rounding error of the sum of all tilted masses. All masses are positive, so the
/// relative error of their sum is at most `e`. Each normalised mass is a tilted mass divided by
/// this sum. So the errors of all normalised masses add up to at most `2.02 e`. A wave is the
/// transform at a frequency `s`. A wave errs by at most `s b`, plus the sum of the errors of all
/// normalised masses.
#[derive(Clone, Debug)]
pub(super) struct TiltedList {
    log: f64,
    centre: f64,
    variance: f64,
    /// The atoms: each is a loss minus the centre, with its mass. The masses add up to 1.
    atoms: Vec<(f64, f64)>,
    /// A bound on the relative error of each mass.
    error: f64,
    /// A bound on the error of each loss.
    blur: f64,
    /// The mass with an infinite loss, and the whole mass of `P`.
    infinite: (f64, f64),
}

/// Atoms of `P`, with bounds on the errors of their losses and masses. Each atom is a loss and its
/// mass.
pub(super) struct Atoms {
    pub(super) atoms: Vec<(f64, f64)>,
    /// A bound on the relative error of each mass.
    pub(super) relative: f64,
    /// A bound on the error of each loss.
    pub(super) blur: f64,
}

impl TiltedList {
    /// Tilt a list. Return `None` if the list has no mass, or if its error is too large.
    pub(super) fn new(list: Atoms, tilt: f64) -> Option<TiltedList> {
        let Atoms { mut atoms, relative, blur } = list;
        atoms.retain(|(_, mass)| 0.0 < *mass);
        let top = atoms.iter().map(|(loss, _)| tilt * loss).fold(f64::NEG_INFINITY, f64::max);
        let reach = atoms.iter().map(|(loss, _)| loss.abs()).fold(0.0, f64::max);
        for (loss, mass) in &mut atoms {
            *mass *= exp(tilt * *loss - top);
        }
        let masses: Vec<f64> = atoms.iter().map(|(_, mass)| *mass).collected();
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
    /// Add a number to the error of the transform. The argument is the logarithm of this number.
    /// Return `None` if the error is too large.
    pub(super) fn with_error(self, error: f64) -> Option<TiltedList> {
        let error = exp((error - self.log).clamp(-690.0, 0.0)) * (1.0 + 1e-6);
        (error < 1e-11).then_some(TiltedList { error: self.error + 1.01 * error, ..self })
    }
    /// Set two masses: first the mass with an infinite loss, then the whole mass.
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
    /// Return 1, because the modulus of a sum over atoms can again be 1 at some high frequencies.
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
