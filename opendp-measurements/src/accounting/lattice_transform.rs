//! The transform of discrete Laplace noise on an integer.

use opendp_fourier::Complex;

use super::elementary::{CIS_ERROR, CIS_LIMIT, U, cis, exp, exp_m1, ln, ln_1p};
use super::transform::{Tilted, Wave};

/// The loss of discrete Laplace noise of scale `1 / a`, moved by `d`, or of randomized response.
///
/// With `e = d a` and `w = z + 1/2`, all divided by `e^(w e)`, the outputs at the two ends have the
/// weight `1 + e^(-2 w e)`, and those between them have
/// `(1 - e^-a) e^(-2 w a) (1 - e^(-2 w (d - 1) a)) / (1 - e^(-2 w a))`. Together they are
/// `M(z) (1 + e^-a) e^(-z e)`. For `d = 1` it is randomized response with the loss `a`.
#[derive(Clone, Copy, Debug)]
pub(super) struct TiltedLattice {
    rate: f64,
    /// The largest loss, `d a`.
    end: f64,
    /// `(d - 1) a`.
    inner: f64,
    tilt: f64,
    /// The weights above at the tilt: of the ends, and of what is between them.
    weights: (f64, f64),
}

impl TiltedLattice {
    /// Make the transform of a rate above 0 and a shift of at least 1, for a tilt of at least 0.
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
    /// Return the logarithmic derivative of what is between the ends, and its derivative.
    fn slopes(&self) -> (f64, f64) {
        // `x coth(w x)`, and the negative of its derivative, `(x / sinh(w x))^2`.
        let of = |x: f64| {
            let part = exp_m1(-2.0 * self.place() * x);
            let coth = -(2.0 + part) / part;
            (x * coth, x * x * (coth * coth - 1.0))
        };
        match self.inner {
            0.0 => (0.0, 0.0),
            inner => {
                let (high, low) = (of(inner), of(self.rate));
                (high.0 - low.0, low.1 - high.1)
            }
        }
    }
    /// Bound the error of `e^(i s x)` for `x` up to the largest loss.
    fn turn(&self, frequency: f64) -> f64 {
        let far = frequency * (self.end + self.centre().abs());
        if far < CIS_LIMIT { CIS_ERROR + 4.0 * U * far } else { f64::INFINITY }
    }
}

impl Tilted for TiltedLattice {
    fn log(&self) -> (f64, f64) {
        // All logarithms are of numbers between 1/2 and 4.
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
        // `e^(i s x) + sign e^(-2 w x) e^(-i s x)`.
        let both = |x: f64, sign: f64| {
            let ((c, d), less) = (cis(frequency * x), sign * exp(-2.0 * place * x));
            Complex::new(c * (1.0 + less), d * (1.0 - less))
        };
        let mut sum = both(self.end, 1.0);
        let mut error = 2.0 * turn + 64.0 * U;
        if 0.0 < self.inner {
            let (above, below) = (both(self.inner, -1.0), both(self.rate, -1.0));
            let factor = -exp_m1(-self.rate) * exp(-2.0 * place * self.rate);
            // Their errors; the smallest modulus of the divisor is `1 - e^(-2 w a)`.
            let off = 2.0 * turn + 64.0 * U * (1.0 + place * self.end);
            let size = below.norm_sqr().sqrt() - off;
            let least = size.max(-exp_m1(-2.0 * place * self.rate) * (1.0 - 256.0 * U));
            let quotient = above / below;
            sum += quotient * factor;
            let modulus = (above.norm_sqr().sqrt() + off) / least;
            error += factor * (off * (1.0 + modulus) / least + 256.0 * U * modulus);
        }
        let (c, d) = cis(-frequency * self.centre());
        let value = sum * Complex::new(c, d) / self.total();
        error = (error + sum.norm_sqr().sqrt() * (turn + 256.0 * U * (1.0 + place * self.end)))
            / self.total();
        Wave { re: value.re, im: value.im, error: 1.01 * error }
    }
    /// Losses on a lattice return to the full modulus.
    fn envelope(&self, _: f64) -> f64 {
        1.0 + 256.0 * U
    }
}
