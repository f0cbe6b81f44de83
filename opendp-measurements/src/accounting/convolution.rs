//! Convolution powers of losses by Fourier transform, with bounds on all errors.
//!
//! Plain convolution by Fourier transform has an *absolute* error of about `10^-16`. This error
//! hides a small delta. So the measure of each loss is first tilted: the mass at each loss `x` is
//! multiplied by `e^(t x)` for a number `t`, and the result is normalised. Usually, `t` is chosen
//! so that the mean of the tilted sum of losses is the requested epsilon. The convolution of tilted
//! measures is the tilted convolution. Near the requested epsilon, tilted masses are large. So
//! their relative errors are small, even after the tilt is removed. `u` is the unit roundoff.

use opendp_core::{Error, Result};
use opendp_fourier::{Complex, Failed, Transform};

use super::discrete_loss::DiscreteLoss;
use super::elementary::{U, exp, exp_m1, ln, ln_1p, sum};
use super::product::raise;
use super::threads::each;

/// The tilted convolution of powers of measures on one grid (the multiples of a step). The result
/// covers an interval of losses, which is called the window.
#[derive(Debug)]
pub(crate) struct Convolution {
    step: f64,
    tilt: f64,
    /// The index of the first loss in the window.
    first: i64,
    /// The tilted masses, up to an error of `error`. No mass is negative.
    mass: Vec<f64>,
    /// A bound on the error of each mass. The cyclic transform also moves mass from outside the
    /// window into it. This mass is not part of the bound: see `outside`.
    error: f64,
    /// Bounds on the tilted mass outside the window: on both sides, and only above the window.
    outside: f64,
    above: f64,
    /// The logarithm of the factor that undoes the normalisation of the masses.
    scale: f64,
    scale_error: f64,
    /// A bound on the mass with an infinite loss.
    infinite: f64,
    /// A shift of all losses, added for a bound from above and subtracted for a bound from below.
    shift: f64,
    /// Let `x_j` be the loss at index `j`, and `t` the tilt. Entry `j` consists of two sums of the
    /// tilted masses at the losses `x >= x_j`. In the first sum, each mass is multiplied by
    /// `e^(-t (x - x_j))`. In the second sum, each mass is multiplied by `e^(-(t + 1) (x - x_j))`.
    suffixes: Vec<(f64, f64)>,
}

fn failed(_: Failed) -> Error {
    Error::FailedMap("the Fourier transform of a loss distribution failed".into())
}

/// For a transform of length `n = 2^m`, return an upper bound on the error of each output. The
/// bound is relative to the sum of the moduli of the inputs.
///
/// Each output is a sum over the inputs. Each input passes `m` levels. Each level consists of an
/// addition and a multiplication by a root of unity. An addition errs by `u`, and a complex product
/// by `sqrt(5) u` (Brent, Percival, Zimmermann 2007). A tabulated root errs by less than `2 u`. So
/// each level errs by less than `6 u`. A real transform is computed as a complex transform of half
/// the length. This computation adds a level, and doubles the error of the previous `m - 1` levels.
/// So the error is below `12 m u` (compare Higham 2002, Theorem 24.2; Brisebarre, Joldes, Muller,
/// Nanes, Picot 2020).
pub(super) fn transform_error(n: usize) -> f64 {
    16.0 * (f64::from(n.ilog2()) + 2.0) * U
}

/// The tilted masses of one measure. Up to rounding, their total is 1.
struct TiltedMasses {
    values: Vec<f64>,
    /// The logarithm of the divisor that normalises the masses. Every divisor gives valid bounds.
    log: f64,
    /// A bound on the sum of the errors of all masses.
    error: f64,
}

impl TiltedMasses {
    fn new(part: &DiscreteLoss, tilt: f64) -> TiltedMasses {
        let (log, ..) = part.cumulant(tilt);
        let mut values = Vec::with_capacity(part.mass.len());
        let mut error = 0.0;
        for (i, &mass) in part.mass.iter().enumerate() {
            let exponent = tilt * part.loss(i) - log;
            let value = if mass > 0.0 { mass * exp(exponent) } else { 0.0 };
            // exp errs by 8 u. The argument of exp errs by 4 u (|exponent| + |tilt * loss|).
            error += value * (24.0 + 4.0 * (exponent.abs() + (tilt * part.loss(i)).abs()));
            values.push(value);
        }
        TiltedMasses { values, log, error: error * U }
    }
}

/// A product of powers of transforms.
///
/// Each factor is a transform raised to a power `k`. Let `m` be a bound on the modulus of the
/// transform, and `e` a bound on its error. At each frequency, the error of the product is at most
/// `prod m^k * sum k e / m` over all factors (mean value theorem). The mean of these errors over
/// all frequencies bounds the error of every mass.
struct Spectra {
    transform: Transform,
    spectrum: Vec<Complex>,
    folded: Vec<f64>,
    product: Vec<Complex>,
    errors: Vec<f64>,
    bounds: Vec<f64>,
}

impl Spectra {
    fn new(n: usize) -> Spectra {
        let transform = Transform::of_length(n);
        let bins = n / 2 + 1;
        Spectra {
            spectrum: transform.spectrum(),
            transform,
            folded: vec![0.0; n],
            product: vec![Complex::new(1.0, 0.0); bins],
            errors: vec![0.0; bins],
            bounds: vec![1.0; bins],
        }
    }
    /// Multiply this product by a power of the transform of tilted masses. The first mass has the
    /// index `first`.
    fn multiply(&mut self, first: i64, tilted: &TiltedMasses, count: u64) -> Result<()> {
        let (n, power) = (self.folded.len(), count as f64);
        let total = sum(&tilted.values);
        self.folded.fill(0.0);
        for (i, value) in tilted.values.iter().enumerate() {
            let place = (first + i as i64).rem_euclid(n as i64) as usize;
            self.folded[place] += value;
        }
        let folds = total * U * (tilted.values.len() / n + 2) as f64;
        self.transform.forward(&mut self.folded, &mut self.spectrum).map_err(failed)?;
        let error = tilted.error + folds + transform_error(n) * total;
        if !(error < 1e-6) {
            return Err(Error::FailedMap("a loss distribution is too wide to compose".into()));
        }
        let results = self.spectrum.iter().zip(&mut self.product);
        for ((z, result), (sum, bound)) in results.zip(self.errors.iter_mut().zip(&mut self.bounds))
        {
            let square = z.norm_sqr();
            // Here |z|^count <= e^(-count (1 - |z|^2) / 2) < e^-100, so z^count is negligible.
            if *bound == 0.0 || power * (1.0 - square) > 200.0 {
                *bound = 0.0;
                continue;
            }
            let modulus = square.sqrt() * (1.0 + 4.0 * U) + error;
            *result *= raise(*z, count);
            *sum += power * (error + 8.0 * U * modulus) / modulus;
            *bound *= modulus.powi(i32::try_from(count).unwrap_or(i32::MAX));
        }
        Ok(())
    }
    /// Transform the product back. Return the masses from index 0 on, and a bound on the error of
    /// each mass.
    fn masses(mut self) -> Result<(Vec<f64>, f64)> {
        let n = self.folded.len();
        let (mut total_error, mut total) = (1e-40 * n as f64, 0.0);
        for ((result, sum), bound) in self.product.iter_mut().zip(&self.errors).zip(&self.bounds) {
            if *bound == 0.0 {
                *result = Complex::new(0.0, 0.0);
                continue;
            }
            total_error += 2.0 * 1.01 * bound * sum.min(2.0);
            total += 2.0 * 1.01 * bound;
        }
        // At the first and the last frequency, the transform of real numbers is real.
        for end in [0, n / 2] {
            self.product[end].im = 0.0;
        }
        let mut cyclic = self.folded;
        self.transform.backward(&mut self.product, &mut cyclic).map_err(failed)?;
        let n_inverse = 1.0 / n as f64;
        for mass in &mut cyclic {
            *mass = (*mass * n_inverse).max(0.0);
        }
        Ok((cyclic, (total_error + transform_error(n) * total) * n_inverse))
    }
}

impl Convolution {
    /// Convolve `parts`, each raised to its power, on a window of `n` losses around `centre`.
    pub(crate) fn new(
        parts: &[(DiscreteLoss, u64)],
        tilt: f64,
        centre: f64,
        n: usize,
        limit: f64,
    ) -> Result<Convolution> {
        let step = parts.first().map_or(1.0, |(part, _)| part.step);
        let mut spectra = Spectra::new(n);
        let (mut scale, mut scale_error, mut shift) = (0.0, 0.0, 0.0);
        let (mut lost, mut total_log) = (0.0, 0.0);
        let tilted = each(parts.len(), |place| TiltedMasses::new(&parts[place].0, tilt));
        for ((part, count), tilted) in parts.iter().zip(tilted) {
            let power = *count as f64;
            spectra.multiply(part.first, &tilted, *count)?;
            scale += power * tilted.log;
            scale_error += 4.0 * parts.len() as f64 * U * (power * tilted.log).abs();
            shift += power * part.shift;
            // Let F be the finite mass, I the infinite mass, and k the count. The infinite mass of
            // the k-th power is (F + I)^k - F^k = (F + I)^k (1 - (1 + I / F)^-k). The first factor
            // is about 1, so it does not underflow.
            let finite = sum(&part.mass);
            total_log += power * (ln(finite + part.infinite) + 80.0 * U);
            lost += power * ln_1p(part.infinite / finite);
        }
        let (mut mass, error) = spectra.masses()?;
        let middle = (centre / step).round();
        if !(middle.abs() < 4_503_599_627_370_496.0) {
            return Err(Error::FailedMap("the losses are too far from 0 for their spread".into()));
        }
        let first = middle as i64 - n as i64 / 2;
        mass.rotate_left(first.rem_euclid(n as i64) as usize);
        let ends = (first as f64 * step, (first + n as i64) as f64 * step);
        let (above, below) = outside(parts, tilt, ends, limit);
        let mut convolution = Convolution {
            step,
            tilt,
            first,
            mass,
            error,
            outside: above + below,
            above,
            scale,
            scale_error: scale_error + 1e-15,
            infinite: exp(total_log.min(700.0)) * -exp_m1(-lost) * (1.0 + 1e-12),
            shift,
            suffixes: Vec::new(),
        };
        convolution.suffixes = convolution.suffixes();
        Ok(convolution)
    }
    /// Return an upper bound on the tilted mass outside of the window.
    pub(crate) fn outside(&self) -> f64 {
        self.outside
    }
    fn suffixes(&self) -> Vec<(f64, f64)> {
        let (decay, steeper) = (exp(-self.tilt * self.step), exp(-(self.tilt + 1.0) * self.step));
        let (mut a, mut b) = (0.0, 0.0);
        let mut list = Vec::with_capacity(self.mass.len());
        for mass in self.mass.iter().rev() {
            a = mass + decay * a;
            b = mass + steeper * b;
            list.push((a, b));
        }
        list.reverse();
        list
    }
    /// Return three values for the losses `x_j = epsilon + d_j` above epsilon. Let `mass_j` be the
    /// tilted mass at `x_j`, and `t` the tilt. The first value is the sum
    /// `sum_j mass_j e^(-t d_j) (1 - e^(-d_j))`. The second value bounds the rounding error of the
    /// first value. The third value bounds the sum of the same terms without the factors `mass_j`.
    fn sums(&self, epsilon: f64) -> (f64, f64, f64) {
        // `place` is a float, because `epsilon / step` can be too large for an integer.
        let place = (epsilon / self.step).floor() + 1.0 - self.first as f64;
        if place >= self.mass.len() as f64 {
            return (0.0, 0.0, 0.0);
        }
        let index = place.max(0.0) as i64;
        let gap = ((self.first + index) as f64 * self.step - epsilon).max(0.0);
        let (a, b) = self.suffixes[index as usize];
        let (decay, steeper) = (exp(-self.tilt * gap), exp(-(self.tilt + 1.0) * gap));
        let terms = (self.mass.len() as i64 - index) as f64;
        // Horner's rule errs by at most 3 u for each step. The factor of each step, an exponential,
        // errs by another 8 u.
        let horizon = terms.min(40.0 / (self.tilt * self.step));
        let rounding = U * (32.0 + 16.0 * horizon) * (decay * a + steeper * b);
        let weights = decay * self.decaying(self.tilt, terms);
        let weights = weights - steeper * self.decaying(self.tilt + 1.0, terms);
        ((decay * a - steeper * b).max(0.0), rounding, weights.abs() * 1.000_001 + 1.0)
    }
    /// Return the sum of `e^(-t d)` over the first `terms` multiples `d` of the step, from 0 on.
    fn decaying(&self, t: f64, terms: f64) -> f64 {
        if t <= 0.0 {
            return terms;
        }
        exp_m1(-t * self.step * terms) / exp_m1(-t * self.step)
    }
    /// Return an upper bound on the mass above `x`. Each part must bound its loss from above.
    pub(crate) fn tail_above(&self, x: f64) -> f64 {
        let x = x - self.shift * (1.0 + 1e-9);
        let place = (x / self.step).floor() + 1.0 - self.first as f64;
        let mut inside = 0.0;
        if place < self.mass.len() as f64 {
            let index = place.max(0.0) as i64;
            let gap = ((self.first + index) as f64 * self.step - x).max(0.0);
            let decay = exp(-self.tilt * gap);
            let tail = decay * self.suffixes[index as usize].0;
            let terms = (self.mass.len() as i64 - index) as f64;
            // The error of Horner's rule is bounded as in `sums`.
            let horizon = terms.min(40.0 / (self.tilt * self.step));
            let weights = decay * self.decaying(self.tilt, terms);
            inside = tail * (1.0 + U * (32.0 + 16.0 * horizon));
            inside += self.error * (weights * 1.000_001 + 1.0);
        }
        // Let t be the tilt. For a loss x + d above the window, e^(-t d) <= 1.
        let tail = self.factor(x, 1.0) * (inside + self.above) + self.infinite;
        let below_window = x < self.first as f64 * self.step;
        if below_window || !(tail < 1.0) { 1.0 } else { tail * (1.0 + 8.0 * U) }
    }
    /// Return the index of the first loss of the window, and the number of losses.
    pub(crate) fn places(&self) -> (i64, usize) {
        (self.first, self.mass.len())
    }
    fn factor(&self, epsilon: f64, sign: f64) -> f64 {
        let tilted = (self.tilt * epsilon).clamp(f64::MIN, f64::MAX);
        let exponent = self.scale - tilted;
        let error = self.scale_error + 8.0 * U * (self.scale.abs() + tilted.abs());
        // For arguments below -700, `exp` returns 0. A factor of 0 would not be an upper bound.
        let least = if 0.0 < sign { -690.0 } else { f64::NEG_INFINITY };
        exp((exponent + sign * error).clamp(least, 700.0)) * (1.0 + sign * 16.0 * U)
    }
    /// Return an upper bound on delta at an epsilon. Each part must bound its loss from above.
    pub(crate) fn delta_above(&self, epsilon: f64) -> f64 {
        let epsilon = epsilon - self.shift * (1.0 + 1e-9);
        let (sum, rounding, weights) = self.sums(epsilon);
        let inside = sum + rounding + self.error * weights;
        // With tilt t, a loss epsilon + d has the weight e^(-t d) (1 - e^-d) <= 1, or 0 if d < 0.
        // So losses below the window have the weight 0, because epsilon is not below the window.
        // The cyclic transform moves mass into the window. This mass only enlarges the bound.
        let delta = self.factor(epsilon, 1.0) * (inside + self.above) + self.infinite;
        let below_window = epsilon < self.first as f64 * self.step;
        if below_window || !(delta < 1.0) { 1.0 } else { delta * (1.0 + 8.0 * U) }
    }
    /// Return a lower bound on delta at an epsilon. Each part must bound its loss from below.
    pub(crate) fn delta_below(&self, epsilon: f64) -> f64 {
        let epsilon = epsilon + self.shift * (1.0 + 1e-9);
        let (sum, rounding, weights) = self.sums(epsilon);
        // The cyclic transform adds mass from outside the window. So subtract `outside`.
        let inside = sum - rounding - self.error * weights - self.outside;
        (self.factor(epsilon, -1.0) * inside).clamp(0.0, 1.0) * (1.0 - 8.0 * U)
    }
    /// Return a bound on the error of delta that is due to rounding, transforms and the window.
    pub(crate) fn error(&self, epsilon: f64) -> f64 {
        let (_, rounding, weights) = self.sums(epsilon);
        self.factor(epsilon, 1.0) * (rounding + self.error * weights + self.outside)
    }
    /// Return the losses at the two ends of the window.
    pub(crate) fn window(&self) -> (f64, f64) {
        let last = self.first + self.mass.len() as i64;
        (self.first as f64 * self.step, last as f64 * self.step)
    }
}

/// Return upper bounds on the tilted mass above and below a window. On each side, use Chernoff's
/// bound with the cumulant at another tilt. The bound holds for every choice of this tilt. The
/// tilts that are tried give tight bounds if the sum of the losses is nearly normal.
fn outside(
    parts: &[(DiscreteLoss, u64)],
    tilt: f64,
    (low, high): (f64, f64),
    limit: f64,
) -> (f64, f64) {
    let cumulants = |t: f64| {
        parts.iter().fold((0.0, 0.0, 0.0), |(a, b, c), (part, count)| {
            let (log, mean, variance) = part.cumulant(t);
            let k = *count as f64;
            (a + k * log, b + k * mean, c + k * variance)
        })
    };
    let (log, _, variance) = cumulants(tilt);
    let slack = |t: f64| -> f64 {
        parts.iter().map(|(part, count)| *count as f64 * part.cumulant_error(t)).sum()
    };
    // If all possible losses on a side are inside the window, this side needs no bound.
    let reach = |end: fn(&DiscreteLoss) -> f64| -> f64 {
        parts.iter().map(|(part, count)| *count as f64 * end(part)).sum()
    };
    let (least, largest) = (reach(|part| part.loss(0)), reach(|p| p.loss(p.mass.len() - 1)));
    let widest = parts.iter().fold(1e-9f64, |w, (part, _)| {
        w.max(part.loss(0).abs()).max(part.loss(part.mass.len() - 1).abs())
    });
    let one_side = |sign: f64, edge: f64| {
        let mut best = 1.0f64;
        let guess = (-2.0 * ln(limit) / variance.max(1e-300)).sqrt();
        let shares = [1.0, 0.6, 1.5, 0.3, 0.1, 0.05].map(|share| share * guess);
        // Below the window, two more tilts are tried: 0, and half of `tilt`. The bounds at these
        // tilts can be smaller than the bounds from `shares`.
        let to_zero = [tilt, 0.5 * tilt].into_iter().filter(|by| sign < 0.0 && 0.0 < *by);
        for by in shares.into_iter().chain(to_zero) {
            let by = sign * by.min(600.0 / widest);
            let (other, ..) = cumulants(tilt + by);
            let exponent = other - log - by * edge;
            let error = 256.0 * U * (other.abs() + log.abs() + (by * edge).abs()) + 1e-9;
            let error = error + slack(tilt) + slack(tilt + by);
            best = best.min(exp((exponent + error).max(-690.0)));
            if best < limit {
                break;
            }
        }
        best
    };
    // The window excludes its high end, and `largest` is rounded. So compare `largest` with a
    // number that is half a step below the high end.
    let half = parts.first().map_or(0.0, |(part, _)| part.step / 2.0);
    let above = if largest < high - half { 0.0 } else { one_side(1.0, high) };
    let below = if low <= least { 0.0 } else { one_side(-1.0, low) };
    (above, below)
}
