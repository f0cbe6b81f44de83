//! The transform of the loss of Gaussian noise on a Poisson sample, computed as a sum.

use std::sync::OnceLock;

use super::elementary::{CIS_ERROR, CIS_LIMIT, U, cis, exp, exp_m1, ln, sum};
use super::sampled_pair::{mixed, mixed_of};
use super::transform::{Listed, Tilted, Wave};
use crate::collected::Collected;

/// A tilted loss for Gaussian noise on a Poisson sample.
///
/// Let `q` be the sampling rate, and `mu` the sensitivity divided by the standard deviation of the
/// noise. Let `N` be the standard normal distribution. For an output `y`, let
/// `w(y) = 1 - q + q e^(mu y - mu^2 / 2)`. If a record is removed, the loss is `ln w(y)`, and the
/// output `y` has the law `w(y) dN(y)`. If a record is added, the loss is `-ln w(y)`, and the law
/// is `dN(y)`. The transform `M(z)` is the integral of `w(y)^v dN(y)`, with `v = z + 1` for a
/// removed record and `v = -z` for an added record. Let `t` be the tilt and `s` the frequency, so
/// `z = t + i s`. The proof uses `t` in place of `z` in this formula for `v`, so `v` is a real
/// number there.
///
/// # Proof
/// *The sum.* Take the strip `|Im y| <= a` of the complex plane, with `mu a < pi / 2`. On this
/// strip, `|arg w| <= mu a`, `|w(y)| <= w(Re y)` and `|w(y)| >= cos(mu a) w(Re y)`. The modulus of
/// the normal density at `y` is at most `e^(a^2 / 2)` times the density at `Re y`. The integrand is
/// the normal density times `w(y)^(v + i s)` for a removed record, or times `w(y)^(v - i s)` for an
/// added record. Integrate the modulus of the integrand on a horizontal line of the strip. The
/// result is at most `M(t) e^(a^2 / 2 + |s| mu a) cos(mu a)^-max(0, -v)`. Let `h > 0` be the step
/// of the sum. Add up the integrand at all multiples of `h`, and multiply this sum by `h`. The
/// product approximates the transform. The error of the product is at most twice the bound above,
/// divided by `e^(2 pi a / h) - 1` (Trefethen, Weideman 2014, on the real line). Let
/// `p(y) = 1 - (1 - q) / w(y)`. Suppose that every output `x` beyond an output `y` satisfies
/// `|x| > |v| mu p(x)`. Then the terms of the sum at outputs beyond `y` fall geometrically.
///
/// *The envelope.* Let `d(y)` be the density of the loss, evaluated at the loss of the output `y`.
/// Up to a constant factor, this density is `w^v` times the normal density at `y`, divided by
/// `|loss'(y)| = mu p`. The second derivative of `ln d` is `-1 + (v + 1) mu^2 p (1 - p)`.
/// Interpolate `ln d` linearly between multiples of `h`. The error is at most
/// `(1 + |v + 1| mu^2 / 4) h^2 / 8`. The first derivative of `ln d` is `-y - mu + (v + 1) mu p`.
/// This derivative has at most three zeros, because `p` is first convex and then concave. There is
/// only one zero if the second derivative of `ln d` has one sign.
/// - A wave is a value of the transform. By integration by parts, the modulus of the wave at the
///   frequency `s` is at most the variation of `d` divided by `s`. The variation is 2 times the
///   maximum of `d` if the derivative of `ln d` has one zero, and at most 4 times this maximum
///   otherwise.
/// - A histogram below `d` is a sum of layers. Each layer is constant on an interval `I` of losses.
///   So the law of the loss is a mixture of uniform laws and of some other law. Let `|I|` be the
///   length of `I`, and `u = s |I| / 2`. Up to a phase, the wave of a uniform law on `I` is
///   `sin(u) / u`.
#[derive(Clone, Debug)]
pub(super) struct TiltedSample {
    log: f64,
    /// A bound on two errors: the relative error of the total mass, and the error of each wave.
    error: f64,
    centre: f64,
    variance: f64,
    /// The atoms, from the highest output to the lowest output.
    atoms: Vec<Atom>,
    /// A bound on the mean error of the losses.
    blur: f64,
    law: Law,
    step: f64,
    shape: OnceLock<Shape>,
}

/// One output that represents an interval of outputs.
#[derive(Clone, Copy, Debug)]
struct Atom {
    /// The loss of the output, minus the centre.
    loss: f64,
    /// The mass of the interval. The masses of all atoms add up to 1.
    mass: f64,
    /// The value `p` of the proof at this output.
    share: f64,
}

/// On each side of the output 0, the omitted terms together may be at most this number times the
/// largest term.
const NEGLIGIBLE: f64 = 1e-15;
/// The maximum number of terms on each side of the output 0.
const TERMS: u32 = 2048;

/// A sum over all atoms is divided into partial sums. This is the number of terms of a partial sum.
const CHUNK: usize = 32;

/// One term of the sum that approximates a transform.
struct Term {
    log: f64,
    loss: f64,
    /// A bound on the error of the loss of this term.
    blur: f64,
    share: f64,
}

/// The law whose transform is computed.
#[derive(Clone, Copy, Debug)]
struct Law {
    mu: f64,
    rate: f64,
    /// The real number `v` of the proof at [`TiltedSample`].
    power: f64,
}
impl Law {
    fn term(&self, y: f64) -> Term {
        let argument = self.mu * y - self.mu * self.mu / 2.0;
        let ratio = exp(argument.min(700.0));
        let loss = match argument <= 700.0 {
            true => mixed_of(argument, ratio, self.rate),
            false => mixed(argument, self.rate),
        };
        let share = (self.rate * ratio / ((1.0 - self.rate) + self.rate * ratio)).min(1.0);
        let argument = share * 4.0 * (self.mu * y.abs() + self.mu * self.mu);
        Term {
            log: self.power * loss - y * y / 2.0,
            loss,
            blur: U * (64.0 * loss.abs() + argument),
            share,
        }
    }
    /// Return the terms at the outputs that are multiples of a step, from the highest output to the
    /// lowest output. Return `None` if there are too many terms.
    fn terms(&self, step: f64) -> Option<Terms> {
        let first = self.term(0.0);
        let mut top = first.log;
        let mut terms = Vec::with_capacity(128);
        terms.push(first);
        let mut left_out = 0.0;
        for side in [1.0, -1.0] {
            let steepest = (side * self.power * self.mu).max(0.0);
            let mut n = 0;
            loop {
                n += 1;
                let y = f64::from(n) * step;
                let term = self.term(side * y);
                top = top.max(term.log);
                let log = term.log;
                // The slope of `ln w^v` is `v mu p`, and `p` increases with the output. Beyond
                // `side * y`, the slope in the direction of `side` is at most `bend`. So the terms
                // fall at least as fast as the terms of a normal density at `y - bend`.
                let bend = if side < 0.0 { steepest * term.share * 1.001 } else { steepest };
                terms.push(term);
                if bend.max(self.mu) + 1.0 < y {
                    let rest = exp(log - top) / -exp_m1(-step * (y - bend));
                    if rest < NEGLIGIBLE {
                        left_out += rest;
                        break;
                    }
                }
                if n > TERMS {
                    return None;
                }
            }
            if side > 0.0 {
                terms.reverse();
            }
        }
        Some(Terms { terms, top, left_out })
    }
}

/// The terms of a sum that approximates a transform.
struct Terms {
    terms: Vec<Term>,
    /// The logarithm of the largest term.
    top: f64,
    /// A bound on the sum of the omitted terms, relative to the largest term.
    left_out: f64,
}

impl TiltedSample {
    /// Tilt the loss by `tilt`. The result is valid only for frequencies up to `highest`. Return
    /// `None` if the sum needs too many terms, if its error bound is not below 1e-9, or if an angle
    /// is too large for `cis`.
    pub(super) fn new(
        mu: f64,
        rate: f64,
        removed: bool,
        tilt: f64,
        highest: f64,
    ) -> Option<TiltedSample> {
        let (power, sign) = if removed { (tilt + 1.0, 1.0) } else { (-tilt, -1.0) };
        let law = Law { mu, rate, power };
        // For a strip of the proof, compute three numbers: the half-width, the logarithm of the
        // factor of `M(t)` in the bound, and a step. With this step, the error of the sum is about
        // 10^-14. The rounding error of the sum has about the same size. Use the strip with the
        // largest step.
        let strip_at = |share: f64| {
            let strip = (share / mu).min(6.0);
            let cone = -ln(cis(mu * strip).0) * (-power).max(0.0);
            let grown = strip * strip / 2.0 + highest * mu * strip + cone;
            (strip, grown, std::f64::consts::TAU * strip / (33.0 + grown))
        };
        let (strip, grown, step) = [0.8, 0.5, 0.25, 0.1]
            .map(strip_at)
            .into_iter()
            .fold(strip_at(1.2), |best, other| if best.2 < other.2 { other } else { best });
        let exponent = std::f64::consts::TAU * strip / step;
        let aliased = 2.001 * exp(grown - exponent + 1e-12 * (grown + exponent));
        if !(0.0 < step && aliased < 1e-9) {
            return None;
        }
        let Terms { terms, top, left_out } = law.terms(step)?;
        // The terms are in descending order of their outputs. The losses `ln w` of the terms are
        // also in descending order. For an added record, the loss is `-ln w`.
        let mut rounding = 0.0;
        let (mut mean, mut square, mut blur) = (0.0, 0.0, 0.0);
        let mut atoms: Vec<Atom> = Vec::with_capacity(terms.len());
        for term in &terms {
            let mass = exp(term.log - top);
            // Add to `rounding` the errors of exp and of its argument, and the errors of the two
            // parts of the argument: `power * loss` and `y^2 / 2`. The first part contains the
            // error of the loss.
            let bent = power * term.loss;
            let made = (term.log - top).abs() + 4.0 * bent.abs() + 4.0 * (bent - term.log);
            rounding += mass * (U * (16.0 + made) + power.abs() * term.blur);
            mean += mass * term.loss;
            square += mass * term.loss * term.loss;
            blur += mass * term.blur;
            atoms.push(Atom { loss: sign * term.loss, mass, share: term.share });
        }
        let masses: Vec<f64> = atoms.iter().map(|atom| atom.mass).collected();
        let total = sum(&masses);
        let mean = mean / total;
        let centre = sign * mean;
        for atom in &mut atoms {
            atom.loss -= centre;
            atom.mass /= total;
        }
        let rounding = rounding / total + U * (CHUNK as f64 + 16.0);
        let furthest = atoms.iter().map(|atom| atom.loss.abs()).fold(0.0, f64::max);
        let error = (rounding + left_out / total + aliased) * 1.001;
        let root = 0.398_942_280_401_432_7;
        (error < 1e-9 && highest * furthest < CIS_LIMIT).then(|| TiltedSample {
            log: top + ln(total * step * root),
            error,
            centre,
            variance: (square / total - mean * mean).max(0.0),
            atoms,
            blur: blur / total,
            law,
            step,
            shape: OnceLock::new(),
        })
    }
    /// Find the variation of the density, and the layers of the histogram (see the proof).
    fn shape(&self) -> Shape {
        let (mu, step) = (self.law.mu, self.step);
        let bent = (self.law.power + 1.0) * mu * mu / 4.0;
        let slack = exp((1.0 + bent.abs()) * step * step / 8.0) * (1.0 + 1e-6);
        let density = |atom: &Atom| atom.mass / (step * mu * atom.share);
        let top = self.atoms.iter().map(density).fold(0.0, f64::max);
        let variation = if bent <= 1.0 { 2.0 } else { 4.0 } * top * slack;
        // Between two neighbouring outputs, the density is at least the smaller of its values at
        // the two outputs, divided by `slack`. A subtraction of the losses of the two outputs would
        // lose precision by cancellation. But the difference of these losses is the integral of
        // `mu p` between the two outputs. Because `ln p` is concave, the integral is at least
        // `step * mu` times the geometric mean of the values of `p` at the two outputs.
        let mut cells = Vec::with_capacity(self.atoms.len());
        let mut place = 0.0;
        for pair in self.atoms.windows(2).rev() {
            if let [high, low] = pair {
                cells.push((place, density(low).min(density(high)) / slack));
                place += step * mu * (low.share * high.share).sqrt();
            }
        }
        cells.push((place, 0.0));
        // A layer ends where the histogram falls below the height of the layer. Open layers are on
        // a stack.
        let mut layers = Vec::with_capacity(cells.len());
        let mut open: Vec<(f64, f64)> = Vec::new();
        for (place, height) in cells {
            let mut start = place;
            while let Some(&(from, above)) = open.last()
                && height < above
            {
                open.pop();
                let below = open.last().map_or(0.0, |layer| layer.1).max(height);
                let length = (place - from) * (1.0 - 1e-6);
                layers.push((length / 2.0, (above - below) * length));
                start = from;
            }
            open.push((start, height));
        }
        Shape { variation, layers }
    }
}

/// Properties of the density of a loss. These properties bound the waves of this loss.
#[derive(Clone, Debug)]
struct Shape {
    variation: f64,
    /// A list of intervals of losses. The first number of an entry is half of the length of the
    /// interval. The second number is the mass of the uniform law on this interval.
    layers: Vec<(f64, f64)>,
}

/// Return an upper bound on `|sin(v) / v|` for all `v` of at least `u`.
fn uniform(u: f64) -> f64 {
    let square = u * u;
    if square < 5.8 {
        return 1.0 - square * (1.0 / 6.0 - square / 120.0);
    }
    // Up to `u^2 = 5.8`, the polynomial above is at least `sin(u) / u`, because the series of the
    // sine alternates. The polynomial falls as `u` grows, and is 0.3137 at `u^2 = 5.8`. For all
    // larger `u`, `|sin(u) / u|` is below 0.314.
    (1.0 / u).min(0.314)
}

impl Tilted for TiltedSample {
    fn log(&self) -> (f64, f64) {
        (self.log, 2.0 * self.error + 32.0 * U * (1.0 + self.log.abs()))
    }
    fn centre(&self) -> f64 {
        self.centre
    }
    fn variance(&self) -> f64 {
        self.variance
    }
    fn wave(&self, frequency: f64) -> Wave {
        let (mut re, mut im, mut turned) = (0.0, 0.0, 0.0);
        // A sum of partial sums has a smaller rounding error than a sum in one pass.
        for atoms in self.atoms.chunks(CHUNK) {
            let (mut some_re, mut some_im) = (0.0, 0.0);
            for Atom { loss, mass, .. } in atoms {
                let turn = frequency * loss;
                let (c, d) = cis(turn);
                some_re += mass * c;
                some_im += mass * d;
                turned += mass * turn.abs();
            }
            re += some_re;
            im += some_im;
        }
        let sum = U * (CHUNK as f64 + self.atoms.len() as f64 / CHUNK as f64 + 8.0);
        let turned = U * turned * 2.0 + frequency * (self.blur + U * self.centre.abs());
        Wave { re, im, error: 2.0 * (self.error + sum + CIS_ERROR) + 1.01 * turned }
    }
    fn listed(&self) -> Option<Listed> {
        let atoms: Vec<(f64, f64)> =
            self.atoms.iter().map(|atom| (atom.loss, atom.mass)).collected();
        Some(Listed {
            atoms,
            error: 2.0 * self.error + 64.0 * U,
            blur: 1.01 * (self.blur + U * self.centre.abs()),
        })
    }
    fn envelope(&self, frequency: f64) -> f64 {
        let shape = self.shape.get_or_init(|| self.shape());
        let layer = |(half, share): &(f64, f64)| share * (1.0 - uniform(frequency * half));
        let mixed = 1.0 - shape.layers.iter().map(layer).sum::<f64>();
        mixed.min(shape.variation / frequency).min(1.0) * (1.0 + 1e-12)
    }
}
