//! The transform of the loss of discrete Laplace noise on an integer. A tilt `t` multiplies the
//! mass at a loss `x` by `e^(t x)`.

use opendp_fourier::Complex;

use super::elementary::{CIS_ERROR, CIS_LIMIT, U, cis, exp, exp_m1, ln, ln_1p};
use super::transform::{Tilted, Wave};

/// The tilted loss of discrete Laplace noise of scale `1 / a` on integers that differ by `d`.
///
/// Let `M(z)` be the transform at `z`: the mean of `e^(z x)` over the losses `x` under `P`. Let
/// `c = d a` and `w = z + 1/2`. The ends are the two centres of the noise. The outputs at or beyond
/// one end have the loss `c`. The outputs at or beyond the other end have the loss `-c`. The weight
/// of a loss `x` is the probability of `x` times `e^(z x)`, up to a factor that is the same for all
/// losses. Choose this factor so that the losses `c` and `-c` have the weights `e^(w c)` and
/// `e^(-w c)`. Then a loss `x` of an output between the ends has the weight `(1 - e^-a) e^(w x)`.
/// Divide all weights by `e^(w c)`. The weights of the two ends then add up to `1 + e^(-2 w c)`.
/// Together, all outputs between the ends have the weight
/// `(1 - e^-a) e^(-2 w a) (1 - e^(-2 w (d - 1) a)) / (1 - e^(-2 w a))`. The sum of the weights of
/// all outputs is `M(z) (1 + e^-a) e^(-z c)`. The case `d = 1` is randomized response with the loss
/// `a`.
#[derive(Clone, Copy, Debug)]
pub(super) struct TiltedLattice {
    rate: f64,
    /// The largest loss, `d a`.
    end: f64,
    /// `(d - 1) a`, the largest loss minus `a`.
    inner: f64,
    tilt: f64,
    /// Two weights at the tilt: the weight of the outputs at the ends, and the weight of the
    /// outputs between the ends.
    weights: (f64, f64),
}

impl TiltedLattice {
    /// Make the transform. The rate `a` is above 0, the shift `d` is at least 1, and the tilt is at
    /// least 0.
    pub(super) fn new(rate: f64, shift: f64, tilt: f64) -> Self {
        let (end, inner, place) = (shift * rate, (shift - 1.0) * rate, tilt + 0.5);
        let between = -exp_m1(-rate) * exp(-2.0 * place * rate) * -exp_m1(-2.0 * place * inner)
            / -exp_m1(-2.0 * place * rate);
        let weights = (1.0 + exp(-2.0 * place * end), between);
        TiltedLattice { rate, end, inner, tilt, weights }
    }
    fn place(&self) -> f64 {
        self.tilt + 0.5
    }
    fn total(&self) -> f64 {
        self.weights.0 + self.weights.1
    }
    /// Take the weight of the outputs between the ends, before the division by `e^(w c)`. Return
    /// the logarithmic derivative of this weight with respect to `w`, and the derivative of this
    /// logarithmic derivative.
    fn slopes(&self) -> (f64, f64) {
        // Compute `x coth(w x)`. Also compute `(x / sinh(w x))^2`, the negative of the derivative
        // of `x coth(w x)` with respect to `w`.
        let slopes_of = |x: f64| {
            let part = exp_m1(-2.0 * self.place() * x);
            let coth = -(2.0 + part) / part;
            (x * coth, x * x * (coth * coth - 1.0))
        };
        match self.inner {
            0.0 => (0.0, 0.0),
            inner => {
                let (high, low) = (slopes_of(inner), slopes_of(self.rate));
                (high.0 - low.0, low.1 - high.1)
            }
        }
    }
    /// Let `s` be the frequency. Let `x` be the centre, or a number between 0 and the largest loss.
    /// Return an upper bound on the error of a computed `e^(i s x)`.
    fn turn(&self, frequency: f64) -> f64 {
        let far = frequency * (self.end + self.centre().abs());
        if far < CIS_LIMIT { CIS_ERROR + 4.0 * U * far } else { f64::INFINITY }
    }
}

impl Tilted for TiltedLattice {
    fn log(&self) -> (f64, f64) {
        // All logarithms below have arguments between 1/2 and 4.
        let log = self.tilt * self.end + ln(self.total()) - ln_1p(exp(-self.rate));
        let far = self.place() * self.end;
        (log, U * (256.0 + 16.0 * far))
    }
    fn centre(&self) -> f64 {
        let (place, end) = (self.place(), self.end);
        let ends = -end * exp_m1(-2.0 * place * end);
        (ends + self.weights.1 * self.slopes().0) / self.total()
    }
    fn variance(&self) -> f64 {
        let (slope, change) = self.slopes();
        let ends = self.end * self.end * self.weights.0;
        let between = self.weights.1 * (slope * slope + change);
        let centre = self.centre();
        ((ends + between) / self.total() - centre * centre).max(0.0)
    }
    fn wave(&self, frequency: f64) -> Wave {
        let (place, turn) = (self.place(), self.turn(frequency));
        // Compute `e^(i s x) + sign e^(-2 w x) e^(-i s x)`, with the frequency `s` and `w = place`.
        let both = |x: f64, sign: f64| {
            let ((c, d), less) = (cis(frequency * x), sign * exp(-2.0 * place * x));
            Complex::new(c * (1.0 + less), d * (1.0 - less))
        };
        let mut sum = both(self.end, 1.0);
        let mut error = 2.0 * turn + 64.0 * U;
        if 0.0 < self.inner {
            let (above, below) = (both(self.inner, -1.0), both(self.rate, -1.0));
            let factor = -exp_m1(-self.rate) * exp(-2.0 * place * self.rate);
            // Bound the errors of the quotient `above / below`. The modulus of the exact divisor is
            // at least `1 - e^(-2 w a)`, where `a` is the rate.
            let off = 2.0 * turn + 64.0 * U * (1.0 + place * self.end);
            let divisor = below.norm_sqr().sqrt();
            let least = (divisor - off).max(-exp_m1(-2.0 * place * self.rate) * (1.0 - 256.0 * U));
            let quotient = above / below;
            sum += quotient * factor;
            let modulus = (above.norm_sqr().sqrt() + off) / least;
            // Let `a / b` be the exact quotient. With errors `x` and `y`, the computed quotient is
            // `(a + x) / (b + y)`. The difference is `(x - y a / b) / (b + y)`.
            let change = off * (1.0 + modulus) / least.min(divisor);
            error += factor * (change + 256.0 * U * modulus);
        }
        let (c, d) = cis(-frequency * self.centre());
        let value = sum * Complex::new(c, d) / self.total();
        error = (error + sum.norm_sqr().sqrt() * (turn + 256.0 * U * (1.0 + place * self.end)))
            / self.total();
        Wave { re: value.re, im: value.im, error: 1.01 * error }
    }
    /// Return a bound on the modulus of the wave. The bound does not depend on the frequency. The
    /// reason is that the losses are on a lattice, so the modulus of the wave is again 1 at some
    /// high frequencies.
    fn envelope(&self, _: f64) -> f64 {
        1.0 + 256.0 * U
    }
}
