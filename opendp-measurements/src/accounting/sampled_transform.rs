//! The transform of Gaussian noise on a Poisson sample, as a sum.

use std::sync::OnceLock;

use super::elementary::{CIS_ERROR, CIS_LIMIT, U, cis, exp, exp_m1, ln, sum};
use super::sampled_pair::mixed_of;
use super::transform::{Listed, Tilted, Wave};

/// A tilted loss of a pair of Gaussian noise on a Poisson sample.
///
/// Let `w(y) = 1 - q + q e^(mu y - mu^2 / 2)`, and `N` be standard normal. If a record is removed,
/// the loss is `ln w(y)`, and the output `y` has the law `w(y) dN(y)`. If one is added, the loss is
/// `-ln w(y)`, and the law is `dN(y)`. In both cases `M(z)` is the integral of `w(y)^v dN(y)` with
/// `v = z + 1` or `v = -z`.
///
/// # Proof
/// The sum. On `|Im y| <= a` with `mu a < pi / 2`, `w` is in the cone `|arg w| <= mu a`,
/// `|w(y)| <= w(Re y)` and `|w(y)| >= cos(mu a) w(Re y)`, and the density grows by `e^(a^2 / 2)`.
/// So the integral of the modulus on such a line is at most
/// `M(t) e^(a^2 / 2 + |s| mu a) cos(mu a)^-max(0, -v)`. The sum over multiples of `h`, times `h`,
/// is off by at most twice this, divided by `e^(2 pi a / h) - 1` (Trefethen, Weideman 2014, on the
/// real line). Its terms fall geometrically beyond `|y| = |v| mu p`, for the largest `p` there.
///
/// The envelope. Let `d(y)` be the density of the loss at the loss of `y`, which is
/// `w^v dN(y) / |loss'(y)|`. The second derivative of `ln d` is `-1 + (v + 1) mu^2 p (1 - p)`,
/// where `p = 1 - (1 - q) / w`. So `ln d` differs from the linear interpolation of its values at
/// multiples of `h` by at most `(1 + |v + 1| mu^2 / 4) h^2 / 8`. Its first derivative is
/// `-y - mu + (v + 1) mu p`. This has at most three zeros, since `p` is first convex and then
/// concave, and only one if the second derivative has one sign.
/// - By parts, the modulus is at most the variation of `d` over `s`, which is 2 or 4 times the
///   maximum of `d`.
/// - A histogram below `d` is a sum of layers, each constant on an interval `I` of losses. So the
///   law is a mixture of another law and of uniform ones, whose waves are `sin(u) / u` at
///   `u = s |I| / 2`.
#[derive(Clone, Debug)]
pub(super) struct TiltedSample {
    log: f64,
    /// Bounds the relative error of the total mass, and so of each wave.
    error: f64,
    centre: f64,
    variance: f64,
    /// From the highest output to the lowest.
    atoms: Vec<Atom>,
    /// The mean error of a loss.
    blur: f64,
    law: Law,
    step: f64,
    shape: OnceLock<Shape>,
}

/// One output that represents an interval of outputs.
#[derive(Clone, Copy, Debug)]
struct Atom {
    /// The loss about the centre.
    loss: f64,
    /// All masses sum up to 1.
    mass: f64,
    /// `p`.
    share: f64,
}

/// The terms that a sum leaves out, relative to the largest term.
const NEGLIGIBLE: f64 = 1e-18;
/// The maximum number of terms on either side.
const TERMS: u32 = 2048;

/// The number of terms that are added at once.
const CHUNK: usize = 32;

/// One term of the sum.
struct Term {
    log: f64,
    loss: f64,
    /// Bounds the error of the loss.
    blur: f64,
    share: f64,
}

/// The law whose transform is computed.
#[derive(Clone, Copy, Debug)]
struct Law {
    mu: f64,
    rate: f64,
    power: f64,
}
impl Law {
    fn term(&self, y: f64) -> Term {
        let argument = (self.mu * y - self.mu * self.mu / 2.0).min(700.0);
        let ratio = exp(argument);
        let loss = mixed_of(argument, ratio, self.rate);
        let share = (self.rate * ratio / ((1.0 - self.rate) + self.rate * ratio)).min(1.0);
        let argument = share * 4.0 * (self.mu * y.abs() + self.mu * self.mu);
        Term {
            log: self.power * loss - y * y / 2.0,
            loss,
            blur: U * (64.0 * loss.abs() + argument),
            share,
        }
    }
    /// Return the terms at the multiples of a step, from the highest output to the lowest. Return
    /// `None` if there are too many.
    fn terms(&self, step: f64) -> Option<Terms> {
        let first = self.term(0.0);
        let mut top = first.log;
        let mut terms = vec![first];
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
                // The slope of `ln w^v` is `v mu p`, and `p` increases with the output. From here
                // on it is at most `bend`, so the terms fall at least as fast as at `y - bend`.
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

/// The terms of a sum.
struct Terms {
    terms: Vec<Term>,
    /// The logarithm of the largest one.
    top: f64,
    /// Bounds the sum of all others, relative to the largest.
    left_out: f64,
}

impl TiltedSample {
    /// Tilt by `tilt`, for frequencies up to a highest one. Return `None` if that takes too many
    /// terms.
    pub(super) fn new(
        mu: f64,
        rate: f64,
        removed: bool,
        tilt: f64,
        highest: f64,
    ) -> Option<TiltedSample> {
        let (power, sign) = if removed { (tilt + 1.0, 1.0) } else { (-tilt, -1.0) };
        let law = Law { mu, rate, power };
        // For a strip, compute its half-width, the logarithm of the growth on it, and the step at
        // which the sum is off by about 10^-16. The strip with the largest step is used.
        let at = |share: f64| {
            let strip = (share / mu).min(6.0);
            let cone = -ln(cis(mu * strip).0) * (-power).max(0.0);
            let grown = strip * strip / 2.0 + highest * mu * strip + cone;
            (strip, grown, std::f64::consts::TAU * strip / (38.0 + grown))
        };
        let (strip, grown, step) = [0.8, 0.5, 0.25, 0.1]
            .map(at)
            .into_iter()
            .fold(at(1.2), |best, other| if best.2 < other.2 { other } else { best });
        let exponent = std::f64::consts::TAU * strip / step;
        let aliased = 2.001 * exp(grown - exponent + 1e-12 * (grown + exponent));
        if !(0.0 < step && aliased < 1e-9) {
            return None;
        }
        let Terms { terms, top, left_out } = law.terms(step)?;
        // From here on outputs fall, and so do losses before the sign is applied.
        let mut rounding = 0.0;
        let (mut mean, mut square, mut blur) = (0.0, 0.0, 0.0);
        let mut atoms: Vec<Atom> = Vec::with_capacity(terms.len());
        for term in &terms {
            let mass = exp(term.log - top);
            // The errors of exp, of its argument, of its two parts, and of the loss in one of them.
            let bent = power * term.loss;
            let made = (term.log - top).abs() + 4.0 * bent.abs() + 4.0 * (bent - term.log);
            rounding += mass * (U * (16.0 + made) + power.abs() * term.blur);
            mean += mass * term.loss;
            square += mass * term.loss * term.loss;
            blur += mass * term.blur;
            atoms.push(Atom { loss: sign * term.loss, mass, share: term.share });
        }
        let masses: Vec<f64> = atoms.iter().map(|atom| atom.mass).collect();
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
    /// Find the variation of the density, and the uniform laws in it.
    fn shape(&self) -> Shape {
        let (mu, step) = (self.law.mu, self.step);
        let bent = (self.law.power + 1.0) * mu * mu / 4.0;
        let slack = exp((1.0 + bent.abs()) * step * step / 8.0) * (1.0 + 1e-6);
        let density = |atom: &Atom| atom.mass / (step * mu * atom.share);
        let top = self.atoms.iter().map(density).fold(0.0, f64::max);
        let variation = if bent <= 1.0 { 2.0 } else { 4.0 } * top * slack;
        // Between two outputs the density is at least the smaller of both. The distance of their
        // losses is an integral of `mu p`, where `ln p` is concave: differences would cancel.
        let mut cells = Vec::with_capacity(self.atoms.len());
        let mut place = 0.0;
        for pair in self.atoms.windows(2).rev() {
            if let [high, low] = pair {
                cells.push((place, density(low).min(density(high)) / slack));
                place += step * mu * (low.share * high.share).sqrt();
            }
        }
        cells.push((place, 0.0));
        // Each layer of this histogram ends where the histogram falls below it. Open layers are on
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

/// Properties of the density of a loss.
#[derive(Clone, Debug)]
struct Shape {
    variation: f64,
    /// Half the lengths of intervals, and the shares of the mass that are uniform on them.
    layers: Vec<(f64, f64)>,
}

/// Return an upper bound of `|sin(v) / v|` for all `v` from `u` on.
fn uniform(u: f64) -> f64 {
    let square = u * u;
    if square < 5.8 {
        return 1.0 - square * (1.0 / 6.0 - square / 120.0);
    }
    // The polynomial is 0.3137 there, and decreases before.
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
        // Sums of sums round less.
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
        let atoms: Vec<(f64, f64)> = self.atoms.iter().map(|atom| (atom.loss, atom.mass)).collect();
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
