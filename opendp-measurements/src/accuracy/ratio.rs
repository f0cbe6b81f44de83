//! Intervals for the quotient of two noisy numbers whose noises are independent.

use std::sync::OnceLock;

use opendp_core::arith::{Directed, check_range};
use opendp_core::{Error, Result};

use super::check;
use super::estimate::Estimate;
use super::noise::Noise;
use super::sum::{Term, sum_of};
use super::weight::Weight;
use crate::collected::Collected;

/// Intervals for the quotient of two estimates, if bounds on the true quotient are known.
///
/// [`Estimate::quotient`] bounds the two noises separately. This type bounds a weighted sum of
/// the noises instead, as in Fieller's theorem. So the intervals of this type are shorter. For
/// Laplace noise and an alpha of 0.05, the intervals are shorter by about 18 % if the quotient is
/// near 0, and by about 44 % if both noises contribute equally to the error.
///
/// # Precondition
/// The noises are independent, and the scales of all noises were fixed before the first noise was
/// drawn. For example, no scale depends on the released divisor.
///
/// # Proof
/// Let `a` and `b` be the true numbers, and `r = a / b`. The released numbers are `A = a + Y + y`
/// and `B = b + Z + z`. Here `Y` and `Z` are the noises. The additional errors `y` and `z` have
/// bounds on their magnitudes. Then `A - r B = Y - r Z + y - r z`, because `a - r b = 0`.
///
/// Let `m >= |r|`, and let `t` be a number with `P[|Y - m Z| > t] <= alpha`. [`sum_of`] finds such
/// a `t`. Claim: `P[|Y - r Z| > t] <= alpha`. `Y` is a sum of symmetric and unimodal noises on real
/// numbers. So `Y` is symmetric and unimodal (Wintner). So the function
/// `h(x) = P[|Y + x| <= t]` depends only on `|x|`, and does not increase with `|x|` (Anderson). `Y`
/// and `Z` are independent, so `P[|Y - r Z| <= t]` is the mean of `h(r Z)`. `|r Z|` is at most
/// `|m Z|`. So this mean is at least the mean of `h(m Z)`, which is at least `1 - alpha`. The claim
/// also holds if the error of the divisor is not `Z` but another number `X` that is independent of
/// `Y`, with `P[|X| > x] <= P[|Z| > x]` for all `x`. Truncated noise is an example.
///
/// Choose numbers `m_1 < m_2 < ...` that do not depend on the released numbers. For each `m_k`, let
/// `t_k` be the smaller of two bounds on the magnitude of `Y - m_k Z`: the bound of [`sum_of`], and
/// the union bound. For the quotient `r`, use the least `m_k >= |r|`. Then
/// `|A - r B| <= t_k + |y| + m_k |z|` except with probability `alpha`. Consider all numbers `r`
/// within the bounds that satisfy this inequality with the bounds on `|y|` and `|z|`. The interval
/// contains all of these numbers. So the interval contains the true quotient except with
/// probability `alpha`.
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
    /// Bounds on the magnitudes of the two noises. Each noise exceeds its bound with probability at
    /// most `alpha / 2`.
    apart: (f64, f64),
    /// The numbers `m_k`, each with the bound of [`sum_of`]. A bound is computed when it is needed.
    steps: Vec<(f64, OnceLock<f64>)>,
}
/// The number of steps `m_k` for each factor of 2 between the error at the quotient 0 and the error
/// at the largest quotient. With this number of steps, the bound `t_k` exceeds the bound at the
/// previous step by about 2 %.
const STEPS: u32 = 32;
/// The largest number of factors of 2 for which there are [`STEPS`] steps each. If the errors
/// differ by more factors of 2, the number of steps does not increase, and each step is longer.
const FACTORS: u32 = 4;

impl Ratio {
    /// Prepare intervals for quotients of two estimates. The intervals can also be used for other
    /// estimates whose noises have the same distributions. The true quotient must be within
    /// `bounds`. The bounds and `alpha` must not depend on the released numbers. Each interval
    /// misses the true quotient with probability at most `alpha`.
    ///
    /// # Errors
    /// `InvalidDistance` when `alpha` is not in `(0, 1]`. `NotImplemented` when the two estimates
    /// have a noise in common, when a noise is [cut off](Noise::cut_off), or when a noise of the
    /// numerator is on integers. `Argument` when the bounds are not finite, are not in order, or
    /// are too large or too small. The errors of [`sum_of`].
    pub fn new(
        numerator: &Estimate,
        divisor: &Estimate,
        bounds: (f64, f64),
        alpha: f64,
    ) -> Result<Self> {
        check(alpha)?;
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
    /// Return whether [`interval`](Ratio::interval) accepts the two estimates. Their noises must
    /// have the same distributions and the same weights as the noises of the estimates in
    /// [`new`](Ratio::new).
    pub fn fits(&self, numerator: &Estimate, divisor: &Estimate) -> bool {
        self.numerator == noises(numerator) && self.divisor == noises(divisor)
    }
    /// Find the interval for the quotient of two estimates. If no number within the bounds
    /// satisfies the inequality of the proof, one of the two bounds is returned as both ends. This
    /// bound is the bound `r` for which `|A - r B|` is smaller. The bounds `t_k` are computed by
    /// the first call that needs them. Later calls use these bounds again.
    ///
    /// # Errors
    /// `Argument` when the estimates do not [fit](Ratio::fits), or have a noise in common.
    /// `Overflow` when a bound on an error exceeds all floats.
    pub fn interval(&self, numerator: &Estimate, divisor: &Estimate) -> Result<(f64, f64)> {
        if !self.fits(numerator, divisor) || numerator.shares_noise(divisor) {
            let reason = "these intervals were found for other noises";
            return Err(Error::argument("numerator", reason));
        }
        let slack = (numerator.slack()?, divisor.slack()?);
        let released = (numerator.value(), divisor.value());
        let last = self.steps.len();
        let (mut low, mut high) = (None, None);
        // Search for the lower end from the lowest quotients upward, and for the upper end from the
        // highest quotients downward.
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
    /// Return the part of the interval between two adjacent magnitudes. The parts are in increasing
    /// order: first the parts of the negative quotients, then the parts of the positive quotients.
    /// Return `None` if no quotient in this part satisfies the inequality of the proof.
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
        // The bound of `sum_of` takes time. If no quotient satisfies the inequality with the union
        // bound, no quotient satisfies the inequality with the smaller of the two bounds.
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
/// `|a - r b| <= bound`. If there is no such number, return `None`.
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
/// Estimate the standard deviation of a weighted sum of noises.
fn spread(noises: &[(Weight, Noise)]) -> f64 {
    let mut variance = 0.0_f64;
    for (weight, noise) in noises {
        let weight = weight.magnitude_up().unwrap_or(0.0);
        variance += weight * weight * noise.variance();
    }
    variance.sqrt()
}
/// Choose increasing magnitudes of the quotient. The last magnitude is `farthest`. `own` and
/// `other` are the standard deviations of the two noises. From each magnitude `m` to the next
/// magnitude, `own + m other` grows by the same factor. The proof of [`Ratio`] does not depend on
/// the choice.
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
    // Compute the root of the growth of order `steps`, a power of two, by repeated square roots.
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
/// Return a rational number that is at least `number`. The relative difference is below `2^-32`.
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
