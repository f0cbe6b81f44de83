//! Fourier transforms of privacy losses. These transforms allow compositions without a grid.

use std::fmt::Debug;

use super::elementary::{CIS_ERROR, CIS_LIMIT, U, cis, exp, exp_m1, ln, ln_1p};

/// The value of a transform at one frequency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wave {
    /// The real part of the value.
    pub re: f64,
    /// The imaginary part of the value.
    pub im: f64,
    /// A bound on the distance between the complex number `re + i im` and the exact value.
    pub error: f64,
}

/// The tilted loss of a pair `(P, Q)`. The law of the tilted loss `x` is `e^(t x) dP / M(t)`. Here
/// `t` is the tilt, and `M(t)` is the mean of `e^(t x)` under `P`.
///
/// The mean `M(t)` contains only the finite losses of `P`. `M(t)` is finite for every `t`.
pub trait Tilted: Debug + Send + Sync {
    /// Return `ln M(t)`, and a bound on the error of `ln M(t)`.
    fn log(&self) -> (f64, f64);
    /// Return the centre: an estimate of the mean of the tilted loss. Waves are computed for the
    /// loss minus exactly this number.
    fn centre(&self) -> f64;
    /// Return an estimate of the variance of the tilted loss. The bounds on a composition are valid
    /// for every value of this estimate.
    fn variance(&self) -> f64;
    /// Return the wave at a frequency `s`: the mean of `e^(i s (x - centre))`.
    fn wave(&self, frequency: f64) -> Wave;
    /// Return an upper bound on the moduli of the waves at this frequency and all larger
    /// frequencies.
    fn envelope(&self, frequency: f64) -> f64;
    /// Return atoms whose waves add up to the wave of the loss, if such atoms are known. Atoms make
    /// the composition of many different losses faster.
    fn listed(&self) -> Option<Listed> {
        None
    }
    /// Return two upper bounds. The first bound is on the probability of an infinite loss under
    /// `P`. The second bound is on the whole mass of `P`. The transform does not contain the
    /// infinite loss.
    fn infinite(&self) -> (f64, f64) {
        (0.0, 1.0)
    }
}

/// Atoms whose losses are relative to the [centre](Tilted::centre). The wave at a frequency `s` is
/// the sum of all `mass e^(i s loss)`, up to an error of `error + s blur`.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The atoms: each has a loss and a mass. The masses add up to 1.
    pub atoms: Vec<(f64, f64)>,
    /// The part of the error that is the same at every frequency.
    pub error: f64,
    /// The part of the error that is multiplied by the frequency.
    pub blur: f64,
}

/// A normal loss `x` of variance `mu^2` and mean `mu^2 / 2`. The mean of `e^(t x)` is
/// `M(t) = e^(t (t + 1) mu^2 / 2)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct TiltedGaussian {
    pub(super) mu: f64,
    pub(super) tilt: f64,
}

impl Tilted for TiltedGaussian {
    fn log(&self) -> (f64, f64) {
        let log = self.tilt * (self.tilt + 1.0) * self.mu * self.mu / 2.0;
        (log, 8.0 * U * log)
    }
    fn centre(&self) -> f64 {
        (self.tilt + 0.5) * self.mu * self.mu
    }
    fn variance(&self) -> f64 {
        self.mu * self.mu
    }
    fn wave(&self, frequency: f64) -> Wave {
        let turn = frequency * self.mu;
        let re = exp(-turn * turn / 2.0);
        // Here u is the unit roundoff. The relative errors are at most 8 u for exp, 3 u for the
        // argument of exp and 4 u for the centre.
        let error = re * U * (8.0 + 2.0 * turn * turn + 4.0 * frequency * self.centre());
        Wave { re, im: 0.0, error: error + 1e-300 }
    }
    fn envelope(&self, frequency: f64) -> f64 {
        let wave = self.wave(frequency);
        wave.re + wave.error
    }
}

/// A loss between two ends `-e` and `e`, with a density proportional to `e^(x / 2)` between the
/// ends.
///
/// In the formulas, `e` is the end, but `e^` is the exponential function. Let `z` be a complex
/// number, `w = z + 1/2`, and `M(z)` the mean of `e^(z x)` over the losses `x`. For Laplace noise,
/// both ends are atoms, and `M(z) e^(e / 2) = cosh(w e) + sinh(w e) / (2 w)`. The first term comes
/// from the two ends. The second term comes from the interval between the ends. Without the atoms
/// at the ends, the loss is the loss of the exponential mechanism. For this mechanism,
/// `M(z) 2 sinh(e / 2) = sinh(w e) / w`.
#[derive(Clone, Copy, Debug)]
pub(super) struct TiltedEnds {
    end: f64,
    /// The number `w = t + 1/2` for the tilt `t`.
    place: f64,
    atoms: bool,
    /// The number `tanh(place * end)`. Its relative error is at most `48 u`, for the unit roundoff
    /// `u`.
    tanh: f64,
    /// The number `M(t) / cosh(place * end)`, up to a factor that does not depend on `t`.
    total: f64,
}

impl TiltedEnds {
    /// Make the transform for a tilt of at least 0.
    pub(super) fn new(end: f64, tilt: f64, atoms: bool) -> Self {
        let place = tilt + 0.5;
        let tanh = -exp_m1(-2.0 * place * end) / (1.0 + exp(-2.0 * place * end));
        let total = if atoms { 1.0 + tanh / (2.0 * place) } else { tanh / place };
        TiltedEnds { end, place, atoms, tanh, total }
    }
    /// Return two factors of the transform: the factor of `sinh(w e) / w`, and the factor of
    /// `cosh(w e)`.
    fn shares(&self) -> (f64, f64) {
        if self.atoms { (0.5, 1.0) } else { (1.0, 0.0) }
    }
}

impl Tilted for TiltedEnds {
    fn log(&self) -> (f64, f64) {
        let (end, place) = (self.end, self.place);
        let x = place * end;
        if self.atoms {
            // Use cosh x = e^x (1 + e^(-2 x)) / 2. In the formula for `ln M(t)`, the absolute value
            // of each logarithm is at most `x` or at most `end`.
            let cosh = x + ln_1p(exp_m1(-2.0 * x) / 2.0);
            (cosh - end / 2.0 + ln_1p(self.tanh / (2.0 * place)), 128.0 * U * (x + end))
        } else {
            let ratio = ln(exp_m1(-2.0 * x) / (2.0 * place * exp_m1(-end)));
            ((place - 0.5) * end + ratio, U * (128.0 + 16.0 * ratio.abs() + 4.0 * x))
        }
    }
    fn centre(&self) -> f64 {
        let ((inner, ends), w) = (self.shares(), self.place);
        let inner = inner * (self.end / w - self.tanh / (w * w));
        (ends * self.end * self.tanh + inner) / self.total
    }
    fn variance(&self) -> f64 {
        let ((inner, ends), w, e) = (self.shares(), self.place, self.end);
        let inner = inner * ((e * e + 2.0 / (w * w)) * self.tanh / w - 2.0 * e / (w * w));
        let centre = self.centre();
        ((ends * e * e + inner) / self.total - centre * centre).max(0.0)
    }
    fn wave(&self, frequency: f64) -> Wave {
        let ((inner, ends), s) = (self.shares(), frequency);
        let (c, d) = cis(s * self.end);
        // Let w = place + i s. Compute cosh(w e) and sinh(w e), both divided by cosh(place e).
        // Later, sinh is also divided by w.
        let (cosh, sinh) = ((c, self.tanh * d), (self.tanh * c, d));
        let square = self.place * self.place + s * s;
        let over = |x: f64| inner * x / square;
        let re = ends * cosh.0 + over(sinh.0 * self.place + sinh.1 * s);
        let im = ends * cosh.1 + over(sinh.1 * self.place - sinh.0 * s);
        let (c, d) = cis(-s * self.centre());
        // The arguments of the two calls of `cis` are rounded products, and both calls have errors.
        // The error of a sine is at most proportional to the argument of the sine. So this error is
        // small for a small argument.
        let far = s * (self.end + self.centre().abs());
        let turn = if far < CIS_LIMIT { 2.0 * CIS_ERROR + 2.0 * U * far } else { f64::INFINITY };
        let small = self.tanh + (s * self.end).min(1.0);
        let size = (ends + inner * small / square.sqrt()) / self.total;
        Wave {
            re: (re * c - im * d) / self.total,
            im: (re * d + im * c) / self.total,
            error: 2.0 * size * (turn + 160.0 * U),
        }
    }
    fn envelope(&self, frequency: f64) -> f64 {
        let (inner, ends) = self.shares();
        ((ends + inner / frequency) / self.total).min(1.0) * (1.0 + 256.0 * U)
    }
}
