//! Numbers together with their noises.

use std::sync::atomic::{AtomicU64, Ordering};

use opendp_core::arith::{Directed, DirectedFloat, InfCast};
use opendp_core::{Error, Result};

use super::check;
use super::noise::Noise;
use super::sum::{Term, sum_of};
use super::weight::Weight;
use crate::collected::Collected;

/// A number that is released, or computed from released numbers, together with the noises in this
/// number.
///
/// Each [`released`](Estimate::released) number has its own noise. Sums, differences and multiples
/// store the total weight of every noise. So a noise that is added twice has the weight 2. A noise
/// that is added and subtracted is removed.
///
/// The noises must be independent, and their scales must be fixed. So the scale of one estimate
/// must not depend on the noise or on the released value of another estimate. Otherwise, a number
/// that is computed from both estimates can miss its interval more often than stated.
///
/// ```
/// use opendp_measurements::Scale;
/// use opendp_measurements::accuracy::{Estimate, Noise};
/// let noise = Noise::discrete_laplace(Scale::new(10.0)?);
/// let (north, south) = (Estimate::released(520.0, noise), Estimate::released(480.0, noise));
/// assert_eq!(north.interval(0.05)?, (490.0, 550.0));
/// let all = north.plus(&south)?;
/// assert_eq!(all.interval(0.05)?, (959.0, 1041.0));
/// // `all` minus `south` is `north` again, with the noise of `north` alone.
/// assert_eq!(all.minus(&south)?.interval(0.05)?, (490.0, 550.0));
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Estimate {
    value: f64,
    noises: Vec<(u64, Weight, Noise)>,
    /// A bound on the rounding error of `value`.
    rounding: f64,
}
impl Estimate {
    /// Build an estimate from a released number. The noise of this number is independent of all
    /// other noises.
    pub fn released(value: f64, noise: Noise) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = NEXT.fetch_add(1, Ordering::Relaxed);
        Estimate { value, noises: vec![(name, Weight::ONE, noise)], rounding: 0.0 }
    }
    /// Build an estimate from a public number, which has no noise.
    pub fn public(value: f64) -> Self {
        Estimate { value, noises: Vec::new(), rounding: 0.0 }
    }
    /// Return the released or computed number.
    pub fn value(&self) -> f64 {
        self.value
    }
    /// Add another estimate.
    ///
    /// # Errors
    /// `Overflow` when the sum exceeds all floats, or a weight has too many digits.
    pub fn plus(&self, other: &Estimate) -> Result<Self> {
        self.clone().added(other)
    }
    /// Add another estimate, without a copy of this estimate.
    fn added(mut self, other: &Estimate) -> Result<Self> {
        let mut removed = false;
        for (name, weight, noise) in &other.noises {
            match place(&self.noises, *name) {
                Ok(place) => {
                    let both = self.noises[place].1.plus(*weight)?;
                    self.noises[place].1 = both;
                    removed |= both.is_zero();
                }
                Err(place) => self.noises.insert(place, (*name, *weight, *noise)),
            }
        }
        if removed {
            self.noises.retain(|(_, weight, _)| !weight.is_zero());
        }
        let (low, high) = (self.value.neg_inf_add(other.value)?, self.value.inf_add(other.value)?);
        self.rounding = self.rounding.inf_add(other.rounding)?.inf_add(high.inf_sub(low)?)?;
        self.value = high;
        Ok(self)
    }
    /// Subtract another estimate.
    ///
    /// # Errors
    /// The errors of [`plus`](Estimate::plus).
    #[inline]
    pub fn minus(&self, other: &Estimate) -> Result<Self> {
        self.plus(&other.times(-1)?)
    }
    /// Multiply by a rational number.
    ///
    /// # Errors
    /// The errors of [`plus`](Estimate::plus).
    pub fn times(&self, weight: impl Into<Weight>) -> Result<Self> {
        let weight = weight.into();
        let (value, error) = weight.apply(self.value)?;
        let noises = self.noises.iter().filter(|_| !weight.is_zero());
        let noises = noises.map(|(name, own, noise)| Ok((*name, own.times(weight)?, *noise)));
        let rounding = self.rounding.inf_mul(weight.magnitude_up()?)?.inf_add(error)?;
        Ok(Estimate { value, noises: noises.try_collected::<_, Error>()?, rounding })
    }
    /// Add up any number of estimates.
    ///
    /// # Errors
    /// The errors of [`plus`](Estimate::plus).
    pub fn sum<'a>(all: impl IntoIterator<Item = &'a Estimate>) -> Result<Self> {
        all.into_iter().try_fold(Estimate::public(0.0), Estimate::added)
    }
    /// Return an upper bound on the distance between this number and the true number. The bound
    /// holds except with probability `alpha`.
    ///
    /// # Errors
    /// The errors of [`sum_of`].
    pub fn accuracy(&self, alpha: f64) -> Result<f64> {
        let terms =
            self.noises.iter().map(|(_, weight, noise)| Term::new(*noise).weighted(*weight));
        sum_of(&terms.collected(), alpha)?.inf_add(self.rounding)
    }
    /// Find an interval that contains the true number except with probability `alpha`. In this
    /// claim, only the noise is random, and the true number is fixed.
    ///
    /// # Errors
    /// The errors of [`sum_of`].
    pub fn interval(&self, alpha: f64) -> Result<(f64, f64)> {
        let bound = self.accuracy(alpha)?;
        let lower = self.value.neg_inf_sub(bound).unwrap_or(f64::NEG_INFINITY);
        Ok((lower, self.value.inf_add(bound).unwrap_or(f64::INFINITY)))
    }
    /// Find an interval that contains the quotient of the true numbers except with probability
    /// `alpha`. For example, the quotient of a sum and a count is a mean. If the interval of the
    /// divisor contains 0, or an end of an interval is infinite, the result contains all numbers.
    ///
    /// The two true numbers are in their [`simultaneous`] intervals except with probability
    /// `alpha`. Suppose that both true numbers are in their intervals. Divide each end of the first
    /// interval by each end of the second interval. The quotient of the true numbers is between the
    /// least and the largest of these four quotients.
    ///
    /// If the scales of all noises were fixed in advance, and bounds on the true quotient are
    /// known, the intervals of [`Ratio`](super::Ratio) are shorter.
    ///
    /// # Errors
    /// The errors of [`simultaneous`].
    pub fn quotient(&self, divisor: &Estimate, alpha: f64) -> Result<(f64, f64)> {
        let both = simultaneous(&[self, divisor], alpha)?;
        let ((a, b), (c, d)) = (both[0], both[1]);
        let ends = [a, b, c, d];
        if !(0.0 < c || d < 0.0) || ends.iter().any(|end| !end.is_finite()) {
            return Ok((f64::NEG_INFINITY, f64::INFINITY));
        }
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for above in [a, b] {
            for below in [c, d] {
                // `inf_div` fails only above the largest float, and `neg_inf_div` fails only below
                // the lowest float.
                low = low.min(above.neg_inf_div(below).unwrap_or(f64::NEG_INFINITY));
                high = high.max(above.inf_div(below).unwrap_or(f64::INFINITY));
            }
        }
        Ok((low, high))
    }
    /// Return the noises in this number, with their weights.
    pub(super) fn noises(&self) -> impl Iterator<Item = (Weight, Noise)> {
        self.noises.iter().map(|(_, weight, noise)| (*weight, *noise))
    }
    /// Return a bound on all errors of this number other than its noises.
    pub(super) fn slack(&self) -> Result<f64> {
        let mut total = self.rounding;
        for (_, weight, noise) in &self.noises {
            total = total.inf_add(weight.magnitude_up()?.inf_mul(noise.slack())?)?;
        }
        Ok(total)
    }
    pub(super) fn shares_noise(&self, other: &Estimate) -> bool {
        self.noises.iter().any(|(name, ..)| place(&other.noises, *name).is_ok())
    }
}

/// Find one interval for each estimate. Except with probability `alpha`, *all* intervals contain
/// their true numbers.
///
/// Let `n` be the number of estimates. If no two estimates have a common noise, the estimates are
/// independent. Then each interval may miss its number with a probability of up to
/// `1 - (1 - alpha)^(1/n)`. If two estimates have a common noise, the union bound is used: each
/// interval may miss its number with a probability of up to `alpha / n`.
///
/// # Errors
/// The errors of [`sum_of`]. `InvalidDistance` also when `alpha` is too small to be divided among
/// the estimates.
pub fn simultaneous(estimates: &[&Estimate], alpha: f64) -> Result<Vec<(f64, f64)>> {
    check(alpha)?;
    let count = f64::inf_cast(estimates.len().max(1))?;
    let share = if are_independent(estimates) && alpha < 1.0 {
        // The probability for each interval is 1 - exp(ln(1 - alpha) / n), rounded down.
        let each = (-alpha).inf_ln_1p()?.inf_div(count)?;
        -(each.inf_exp_m1()?)
    } else {
        alpha.neg_inf_div(count)?
    };
    if !(0.0 < share) {
        return Err(Error::InvalidDistance(format!(
            "alpha: {alpha:?} is too small to be divided by {}; state a larger probability",
            estimates.len()
        )));
    }
    estimates.iter().map(|estimate| estimate.interval(share)).try_collected()
}
/// Return whether no noise is in two of the estimates.
fn are_independent(estimates: &[&Estimate]) -> bool {
    let mut names = Vec::new();
    for estimate in estimates {
        names.extend(estimate.noises.iter().map(|(name, ..)| *name));
    }
    names.sort_unstable();
    names.windows(2).all(|pair| pair[0] != pair[1])
}
/// Find the place of a noise in a sorted list, or the place where it can be inserted.
fn place(noises: &[(u64, Weight, Noise)], name: u64) -> Result<usize, usize> {
    noises.binary_search_by_key(&name, |(name, ..)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scale;

    fn laplace(value: f64, scale: f64) -> Estimate {
        Estimate::released(value, Noise::laplace(Scale::new(scale).unwrap()))
    }

    #[test]
    fn a_noise_that_enters_twice_counts_twice() {
        let (first, other) = (laplace(3.0, 1.0), laplace(3.0, 1.0));
        let alone = first.accuracy(0.05).unwrap();
        let twice = first.plus(&first).unwrap();
        assert_eq!(twice.value(), 6.0);
        assert!((twice.accuracy(0.05).unwrap() / (2.0 * alone) - 1.0).abs() < 1e-12);
        // The control: the bound for the sum of two independent noises is smaller than the bound
        // for one noise with the weight 2.
        let two = first.plus(&other).unwrap();
        assert!(two.accuracy(0.05).unwrap() < 1.7 * alone);
        let nothing = twice.minus(&first).unwrap().minus(&first).unwrap();
        assert_eq!(nothing.interval(0.05), Ok((0.0, 0.0)));
        // If several noises are added and some of them are subtracted again, the rest stays.
        let many: Vec<Estimate> = (0..100).map(|place| laplace(f64::from(place), 1.0)).collect();
        let all = Estimate::sum(&many).unwrap();
        let rest = all.minus(&Estimate::sum(&many[1..]).unwrap()).unwrap();
        assert_eq!((all.value(), all.noises().count()), (4950.0, 100));
        assert_eq!((rest.value(), rest.noises().count(), rest.accuracy(0.05)), (0.0, 1, Ok(alone)));
        let half = two.times(Weight::new(1, 2).unwrap()).unwrap();
        let error = half.accuracy(0.05).unwrap() * 2.0 / two.accuracy(0.05).unwrap();
        assert!((error - 1.0).abs() < 1e-12, "{error}");
    }
    #[test]
    fn rounding_of_the_value_is_within_the_interval() {
        let third = Weight::new(1, 3).unwrap();
        let sum =
            Estimate::public(1.0).times(third).unwrap().plus(&Estimate::public(1e17)).unwrap();
        let (low, high) = sum.interval(0.5).unwrap();
        assert!(low <= 1e17 && 1e17 < high && high < 1e17 + 100.0);
        assert_eq!(Estimate::public(-2.0).times(third).unwrap().value() * 3.0, -2.0);
        let all = Estimate::sum([&Estimate::public(1.0), &Estimate::public(2.0)]).unwrap();
        assert_eq!(all.interval(0.1), Ok((3.0, 3.0)));
    }
    #[test]
    fn intervals_of_all_at_once_know_what_is_independent() {
        let (first, other) = (laplace(0.0, 1.0), laplace(0.0, 1.0));
        let apart = simultaneous(&[&first, &other], 0.5).unwrap();
        // Each interval misses its number with probability 1 - sqrt(1/2). With the union bound,
        // this probability would be 1/4.
        assert!((apart[0].1 - -(1.0 - 0.5_f64.sqrt()).ln()).abs() < 1e-12);
        let sum = first.plus(&other).unwrap();
        for estimates in [[&first, &sum], [&first, &first]] {
            let joined = simultaneous(&estimates, 0.5).unwrap();
            assert!((joined[0].1 - 4_f64.ln()).abs() < 1e-12);
        }
    }
    #[test]
    fn a_quotient_is_between_the_quotients_of_the_ends() {
        let (sum, count) = (laplace(-500.0, 1.0), laplace(100.0, 1.0));
        let ends = simultaneous(&[&sum, &count], 0.05).unwrap();
        let (low, high) = sum.quotient(&count, 0.05).unwrap();
        assert!((low - ends[0].0 / ends[1].0).abs() < 1e-9 && low < -5.0);
        assert!((high - ends[0].1 / ends[1].1).abs() < 1e-9 && -5.0 < high);
        let few = laplace(2.0, 1.0);
        assert_eq!(sum.quotient(&few, 0.05), Ok((f64::NEG_INFINITY, f64::INFINITY)));
        let both = few.quotient(&count, 0.05).unwrap();
        assert!(both.0 < 0.0 && 0.02 < both.1);
        // A quotient that exceeds all floats is in its interval, too.
        let (large, small) = (Estimate::public(1e300), Estimate::public(1e-300));
        assert_eq!(large.quotient(&small, 0.05), Ok((f64::MAX, f64::INFINITY)));
        let negative = large.times(-1).unwrap();
        assert_eq!(negative.quotient(&small, 0.05), Ok((f64::NEG_INFINITY, f64::MIN)));
    }
}
