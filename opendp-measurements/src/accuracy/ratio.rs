//! Intervals for the quotient of two noisy numbers whose noises are independent.

use std::sync::OnceLock;

use opendp_core::arith::{Directed, check_range};
use opendp_core::{Error, Result};

use super::estimate::Estimate;
use super::noise::Noise;
use super::sum::{Term, sum_of};
use super::weight::Weight;
use crate::collected::Collected;

/// Intervals for the quotient of two estimates, if bounds on the true quotient are known.
///
/// [`Estimate::quotient`] bounds the two noises separately. This type bounds a weighted sum of
/// the noises instead, as in Fieller's theorem. So its intervals are shorter: by a fifth if the
/// quotient is near 0, and by up to two fifths if both noises contribute equally to the error.
///
/// # Precondition
/// The noises are independent, and the scales of all noises were fixed before the first noise was
/// drawn. For example, a scale must not be chosen after a look at the released divisor.
///
/// # Proof
/// Let `a` and `b` be the true numbers, and `r = a / b`. The released numbers are `A = a + Y + y`
/// and `B = b + Z + z`. Here `Y` and `Z` are the noises, and `y` and `z` are the additional errors,
/// whose magnitudes have bounds. Then `A - r B = Y - r Z + y - r z`, because `a - r b = 0`.
///
/// Let `m >= |r|`, and let `t` be a number with `P[|Y - m Z| > t] <= alpha`, as [`sum_of`] returns
/// it. Claim: `P[|Y - r Z| > t] <= alpha`. `Y` is a sum of symmetric and unimodal noises on real
/// numbers. So `Y` is symmetric and unimodal (Wintner). So the function
/// `h(x) = P[|Y + x| <= t]` depends only on `|x|`, and does not increase with `|x|`. `Y` and `Z`
/// are independent, so `P[|Y - r Z| <= t]` is the mean of `h(r Z)`, and `|r Z| <= |m Z|`. So this
/// mean is at least the mean of `h(m Z)`, which is at least `1 - alpha`. The claim also holds if
/// the magnitude of the error of the divisor is stochastically smaller than the magnitude of `Z`,
/// as for truncated noise.
///
/// Choose numbers `m_1 < m_2 < ..`, and a `t_k` for each `m_k`. They do not depend on the released
/// numbers. Here `t_k` is the smaller one of the bound of [`sum_of`] and of the union bound for `Y`
/// and `m_k Z`. For the quotient `r`, use the least `m_k >= |r|`. Then
/// `|A - r B| <= t_k + |y| + m_k |z|` except with probability `alpha`. The interval contains every
/// number within the bounds that fulfils this condition for its own `m_k`. So the interval contains
/// `r` except with probability `alpha`.
///
/// ```
/// use opendp_measurements::Scale;
/// use opendp_measurements::accuracy::{Estimate, Noise, Ratio};
/// let sum = Estimate::released(300.0, Noise::laplace(Scale::new(10.0)?));
/// let count = Estimate::released(100.0, Noise::discrete_laplace(Scale::new(2.0)?));
/// let mean = Ratio::new(&sum, &count, (0.0, 5.0), 0.05)?.interval(&sum, &count)?;
/// let plain = sum.quotient(&count, 0.05)?;
/// assert!(plain.0 < mean.0 && mean.0 < 3.0 && 3.0 < mean.1 && mean.1 < plain.1);
/// assert!(mean.1 - mean.0 < 0.7 * (plain.1 - plain.0));
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ratio {
    bounds: (f64, f64),
    alpha: f64,
    numerator: Vec<(Weight, Noise)>,
    divisor: Vec<(Weight, Noise)>,
    /// Bounds on the magnitudes of the two noises, each except with probability `alpha / 2`.
    apart: (f64, f64),
    /// The numbers `m_k`, each with the bound of [`sum_of`]. A bound is found when it is needed.
    steps: Vec<(f64, OnceLock<f64>)>,
}
/// The number of steps `m_k` for each factor of 2 between the error at the quotient 0 and the error
/// at the largest quotient. With this number, the bound `t_k` for a step exceeds the bound for its
/// other end by about 2 %.
const STEPS: u32 = 32;
/// The largest number of factors of 2 that have [`STEPS`] steps each.
const FACTORS: u32 = 4;

impl Ratio {
    /// Find the intervals for quotients of two estimates. The noises of other estimates can be the
    /// same. The true quotient must be within `bounds`. The bounds and `alpha` must not depend on
    /// the released numbers. Each interval misses the true quotient with probability at most
    /// `alpha`.
    ///
    /// # Errors
    /// `NotImplemented` when the two estimates have a noise in common, when a noise is
    /// [cut off](Noise::cut_off), or when the noise of the numerator is on integers. `Argument`
    /// when the bounds are not finite, are not in order, or are too large or too small. The errors
    /// of [`sum_of`].
    pub fn new(
        numerator: &Estimate,
        divisor: &Estimate,
        bounds: (f64, f64),
        alpha: f64,
    ) -> Result<Self> {
        let (own, other) = (noises(numerator), noises(divisor));
        let mut refused = other.iter().any(|(_, noise)| noise.cut);
        for (_, noise) in &own {
            refused |= noise.cut || noise.kind.is_discrete();
        }
        if refused || numerator.shares_noise(divisor) {
            let reason = "these intervals need independent noises, noise on real numbers in the \
                          numerator, and no noise that is cut off: use `Estimate::quotient`";
            return Err(Error::NotImplemented(reason.into()));
        }
        check_range(bounds)?;
        let (low, high) = bounds;
        let half = alpha / 2.0;
        let apart = (sum_of(&terms(&own), half)?, sum_of(&terms(&other), half)?);
        let mut steps = Vec::new();
        for magnitude in magnitudes(spread(&own), spread(&other), low.abs().max(high.abs())) {
            above(magnitude)?;
            steps.push((magnitude, OnceLock::new()));
        }
        Ok(Ratio { bounds, alpha, numerator: own, divisor: other, apart, steps })
    }
    /// Return whether these are the intervals for quotients of the two estimates: the noises must
    /// have the same distributions and the same weights.
    pub fn fits(&self, numerator: &Estimate, divisor: &Estimate) -> bool {
        self.numerator == noises(numerator) && self.divisor == noises(divisor)
    }
    /// Find the interval for the quotient of two estimates. If no number within the bounds can be
    /// the quotient, return the bound that is nearest to the quotient, as both ends. The bounds on
    /// weighted sums of noises are found by the first call that needs them, and later calls use
    /// them again.
    ///
    /// # Errors
    /// `Argument` when the noises of the estimates are others. `Overflow` when a bound on an error
    /// exceeds all floats.
    pub fn interval(&self, numerator: &Estimate, divisor: &Estimate) -> Result<(f64, f64)> {
        if !self.fits(numerator, divisor) || numerator.shares_noise(divisor) {
            let reason = "these intervals were found for other noises";
            return Err(Error::argument("numerator", reason));
        }
        let slack = (numerator.slack()?, divisor.slack()?);
        let released = (numerator.value(), divisor.value());
        let last = self.steps.len();
        let (mut low, mut high) = (None, None);
        // From the lowest to the highest quotients, the negative ones first.
        for place in 0..2 * last {
            low = if low.is_some() { break } else { self.part(place, released, slack)? };
        }
        for place in (0..2 * last).rev() {
            high = if high.is_some() { break } else { self.part(place, released, slack)? };
        }
        if let (Some((low, _)), Some((_, high))) = (low, high) {
            return Ok((low, high));
        }
        let (lower, upper) = self.bounds;
        let distance = |end: f64| (released.0 - end * released.1).abs();
        let nearest = if distance(lower) <= distance(upper) { lower } else { upper };
        Ok((nearest, nearest))
    }
    /// Return the part of the interval between two adjacent magnitudes. First come the parts of the
    /// negative quotients, then the parts of the positive quotients, both in increasing order.
    fn part(
        &self,
        place: usize,
        released: (f64, f64),
        (slack, of_divisor): (f64, f64),
    ) -> Result<Option<(f64, f64)>> {
        let negative = place < self.steps.len();
        let step = if negative { self.steps.len() - 1 - place } else { place - self.steps.len() };
        let (magnitude, found) = &self.steps[step];
        let from = if step == 0 { 0.0 } else { self.steps[step - 1].0 };
        let (begin, end) = if negative { (-*magnitude, -from) } else { (from, *magnitude) };
        let part = (begin.max(self.bounds.0), end.min(self.bounds.1));
        let slack = slack.inf_add(magnitude.inf_mul(of_divisor)?)?;
        let apart = self.apart.0.inf_add(magnitude.inf_mul(self.apart.1)?)?;
        // If the union bound rules all quotients out, the smaller bound does so, too.
        if fitting(released, apart.inf_add(slack)?, part).is_none() {
            return Ok(None);
        }
        let together = *found.get_or_init(|| self.bound(*magnitude));
        Ok(fitting(released, together.min(apart).inf_add(slack)?, part))
    }
    /// Bound the magnitude of the noise of the numerator minus `magnitude` times the noise of the
    /// divisor. If no bound is found, return infinity.
    fn bound(&self, magnitude: f64) -> f64 {
        let bound = || {
            let (weight, mut all) = (above(magnitude)?, terms(&self.numerator));
            for (own, noise) in &self.divisor {
                all.push(Term::new(*noise).weighted(own.times(weight)?));
            }
            sum_of(&all, self.alpha)
        };
        bound().unwrap_or(f64::INFINITY)
    }
}
/// Return the terms of a weighted sum of noises.
fn terms(noises: &[(Weight, Noise)]) -> Vec<Term> {
    noises.iter().map(|(weight, noise)| Term::new(*noise).weighted(*weight)).collected()
}
/// Return an interval that contains all numbers `r` from `begin` to `end` with
/// `|a - r b| <= bound`. If there are none, return `None`.
fn fitting((a, b): (f64, f64), bound: f64, (begin, end): (f64, f64)) -> Option<(f64, f64)> {
    let (low, high) = if b == 0.0 {
        if bound < a.abs() {
            return None;
        }
        (begin, end)
    } else {
        // If `b` is negative, `|a - r b|` is `|-a - r (-b)|`.
        let a = if b < 0.0 { -a } else { a };
        let low = a.neg_inf_sub(bound).and_then(|low| low.neg_inf_div(b.abs()));
        let high = a.inf_add(bound).and_then(|high| high.inf_div(b.abs()));
        (low.unwrap_or(begin).max(begin), high.unwrap_or(end).min(end))
    };
    (low <= high).then_some((low, high))
}
/// Return the noises of an estimate, with their weights, and without bounds on additional errors.
fn noises(estimate: &Estimate) -> Vec<(Weight, Noise)> {
    estimate.noises().map(|(weight, noise)| (weight, noise.and_at_most(0.0))).collected()
}
/// Return about the standard deviation of a weighted sum of noises.
fn spread(noises: &[(Weight, Noise)]) -> f64 {
    let mut variance = 0.0_f64;
    for (weight, noise) in noises {
        let weight = weight.magnitude_up().unwrap_or(0.0);
        variance += weight * weight * noise.variance();
    }
    variance.sqrt()
}
/// Choose increasing magnitudes of the quotient. The last one is `farthest`. `own` and `other` are
/// the spreads of the two noises. From one magnitude `m` to the next, `own + m other` grows by the
/// same factor. The proof of [`Ratio`] holds for any choice.
fn magnitudes(own: f64, other: f64, farthest: f64) -> Vec<f64> {
    let growth = farthest * other / own;
    if !(0.0 < growth && growth.is_finite()) {
        return vec![farthest];
    }
    let mut steps = 1;
    while steps < FACTORS && f64::from(1_u32 << steps) < 1.0 + growth {
        steps += 1;
    }
    let steps = (steps * STEPS).next_power_of_two();
    // Take the root of the growth by repeated square roots.
    let mut factor = 1.0 + growth;
    for _ in 0..steps.trailing_zeros() {
        factor = factor.sqrt();
    }
    let (mut chosen, mut reached) = (Vec::new(), 1.0);
    for _ in 1..steps {
        reached *= factor;
        let next = own * (reached - 1.0) / other;
        let last = chosen.last().copied().unwrap_or(0.0);
        if last < next && next < farthest {
            chosen.push(next);
        }
    }
    chosen.push(farthest);
    chosen
}
/// Return a rational number that is at least `number`, and at most slightly larger.
///
/// # Errors
/// `Argument` when the number is too large or too small.
fn above(number: f64) -> Result<Weight> {
    let (mut scaled, mut shift) = (number, 0_i32);
    while 0.0 < scaled && scaled < LEAST && shift < MOST_BITS {
        (scaled, shift) = (scaled * 2.0, shift + 1);
    }
    while 2.0 * LEAST <= scaled && -MOST_BITS / 2 < shift {
        (scaled, shift) = (scaled / 2.0, shift - 1);
    }
    let fits = scaled == 0.0 || (LEAST..2.0 * LEAST).contains(&scaled);
    if !fits {
        let reason = format!("expected bounds on the quotient of a usual size, found {number:e}");
        return Err(Error::argument("bounds", reason));
    }
    let (numerator, unit) = (scaled.ceil() as i64, 1_i64);
    match shift < 0 {
        true => Weight::new(numerator << -shift, unit),
        false => Weight::new(numerator, unit << shift),
    }
}
/// Weights have at least this numerator, `2^32`, before powers of 2 are cancelled.
const LEAST: f64 = 4_294_967_296.0;
/// The largest power of 2 in the denominator of a weight.
const MOST_BITS: i32 = 58;

#[cfg(test)]
mod tests;
