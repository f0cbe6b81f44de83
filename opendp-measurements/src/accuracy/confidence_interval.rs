//! Intervals around released numbers. Except with probability alpha, these intervals contain the
//! true numbers.

use opendp_core::arith::{Directed, Float, InfCast};
use opendp_core::{Atom, Carrier, Domain, Error, Measure, Measurement, Metric, Result};

use crate::accuracy;

/// A released number (with noise), or several released numbers.
///
/// There are no intervals around a `usize`, the type of a chosen index. For a choice, the accuracy
/// bounds the difference between the best score and the score of the chosen candidate.
pub trait Released: Carrier {
    /// The type that contains the interval of each number.
    type Intervals: Intervals;
    /// Return the number of released numbers.
    fn count(&self) -> usize;
    /// Put an interval around each number. `bounds` contains a bound on the error of each number,
    /// or one bound for all numbers.
    ///
    /// # Errors
    /// `NotImplemented` when a bound is not known. `InvalidDistance` when the number of bounds is
    /// not 1 and differs from the number of released numbers.
    fn intervals(&self, bounds: &[Option<f64>]) -> Result<Self::Intervals>;
}
/// An interval, or several intervals.
pub trait Intervals {
    /// Replace each end that is outside of a range by the nearest end of the range. Use this
    /// function only if all true numbers are within the range.
    #[must_use]
    fn within(self, range: (f64, f64)) -> Self;
}
impl Intervals for (f64, f64) {
    fn within(self, (lower, upper): (f64, f64)) -> Self {
        (self.0.max(lower).min(upper), self.1.max(lower).min(upper))
    }
}
impl Intervals for Vec<(f64, f64)> {
    fn within(mut self, range: (f64, f64)) -> Self {
        for interval in &mut self {
            *interval = interval.within(range);
        }
        self
    }
}

/// Find an interval that contains the true number, except with probability `alpha`. For a vector,
/// find one interval for each number. Except with probability `alpha`, *all* true numbers are in
/// their intervals.
///
/// The release must come from this measurement. The interval accounts only for the noise of the
/// measurement. An error from an earlier clamp or sample is not included. The probability `alpha`
/// is over the noise alone. The claim holds for every fixed true number. If a release was selected
/// because of its value, the interval is not valid. For a vector of `n` numbers, each interval
/// misses its number with probability at most `alpha / n`. By the union bound, at least one
/// interval misses its number with probability at most `alpha`. This bound also holds if the noises
/// depend on each other. All ends are rounded outward. A released float is treated as the interval
/// from the next smaller float to the next larger float. An end that exceeds all floats becomes
/// infinite.
///
/// # Errors
/// * `InvalidDistance` when `alpha` is not in `(0, 1]`, or is too small to be divided by the number
///   of intervals
/// * `InvalidDistance` when the measurement states several bounds, or none, and the number of these
///   bounds differs from the number of released numbers
/// * `NotImplemented` when the accuracy of the measurement is not known
/// * the errors of the measurement's accuracy function
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, confidence_interval, make_laplace};
/// let counts = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new())?;
/// let release = make_laplace(counts, Scale::new(1.0)?, None)?;
/// let noisy = release.invoke(&100)?;
/// let (lower, upper) = confidence_interval(&release, &noisy, 0.05)?;
/// // P[|Z| > 3] <= 0.05 < P[|Z| > 2].
/// assert_eq!((lower, upper), (f64::from(noisy) - 3.0, f64::from(noisy) + 3.0));
/// # Ok::<(), Error>(())
/// ```
pub fn confidence_interval<DI, MI, MO, TO>(
    measurement: &Measurement<DI, MI, MO, TO>,
    release: &TO,
    alpha: f64,
) -> Result<TO::Intervals>
where
    DI: Domain,
    MI: Metric,
    MO: Measure,
    TO: Released,
{
    accuracy::check(alpha)?;
    // Divide alpha by the number of released numbers, or by 1 if the release is empty. The quotient
    // must stay above 0.
    let shares = f64::inf_cast(release.count().max(1))?;
    let share = alpha.neg_inf_div(shares)?.max(f64::from_bits(1));
    if alpha < shares * f64::from_bits(1) {
        return Err(Error::InvalidDistance(format!(
            "alpha: {alpha:?} is too small to be divided by {shares}; state a larger probability"
        )));
    }
    release.intervals(&measurement.accuracy(share)?)
}

/// Find an interval for each released number. Each interval contains its true number except with
/// probability `alpha`.
///
/// If there are many intervals, expect that some of them do not contain their true number. For a
/// single number, this function does the same as [`confidence_interval`]. The remarks on that
/// function also apply to this function.
///
/// # Errors
/// The errors of [`confidence_interval`].
pub fn confidence_interval_of_each<DI, MI, MO, TO>(
    measurement: &Measurement<DI, MI, MO, TO>,
    release: &TO,
    alpha: f64,
) -> Result<TO::Intervals>
where
    DI: Domain,
    MI: Metric,
    MO: Measure,
    TO: Released,
{
    accuracy::check(alpha)?;
    release.intervals(&measurement.accuracy(alpha)?)
}

/// Check that there is one bound for all released numbers, or one bound for each of them.
fn check_bounds(bounds: &[Option<f64>], numbers: usize) -> Result<()> {
    if bounds.len() == 1 || bounds.len() == numbers {
        return Ok(());
    }
    Err(Error::InvalidDistance(format!(
        "release: expected a number for each bound of the measurement, {} in total, found \
         {numbers}",
        bounds.len()
    )))
}
/// Widen an interval at both ends by a bound on the error.
fn around((low, high): (f64, f64), bound: Option<f64>) -> Result<(f64, f64)> {
    let unknown = || Error::NotImplemented("the accuracy of this measurement is not known".into());
    let bound = bound.ok_or_else(unknown)?;
    let lower = low.neg_inf_sub(bound).unwrap_or(f64::NEG_INFINITY);
    Ok((lower, high.inf_add(bound).unwrap_or(f64::INFINITY)))
}
/// Widen a single interval by its bound.
fn around_one(interval: (f64, f64), bounds: &[Option<f64>]) -> Result<(f64, f64)> {
    check_bounds(bounds, 1)?;
    around(interval, bounds.first().copied().flatten())
}
/// Widen each interval by its bound, or by the one bound for all intervals.
fn around_each(mut intervals: Vec<(f64, f64)>, bounds: &[Option<f64>]) -> Result<Vec<(f64, f64)>> {
    check_bounds(bounds, intervals.len())?;
    for (place, interval) in intervals.iter_mut().enumerate() {
        let bound = bounds.get(place).or(bounds.first()).copied().flatten();
        *interval = around(*interval, bound)?;
    }
    Ok(intervals)
}

/// A number that a mechanism can release.
trait Ends {
    /// Return the interval of floats that this number stands for.
    fn ends(&self) -> Result<(f64, f64)>;
}
impl<T: Ends + Atom> Released for Vec<T> {
    type Intervals = Vec<(f64, f64)>;
    fn count(&self) -> usize {
        self.len()
    }
    fn intervals(&self, bounds: &[Option<f64>]) -> Result<Vec<(f64, f64)>> {
        let mut intervals = Vec::with_capacity(self.len());
        for number in self {
            intervals.push(number.ends()?);
        }
        around_each(intervals, bounds)
    }
}
macro_rules! released {
    ($($t:ty)* => |$number:ident| $ends:expr) => {$(
        impl Ends for $t {
            fn ends(&self) -> Result<(f64, f64)> {
                let $number = *self;
                Ok($ends)
            }
        }
        impl Released for $t {
            type Intervals = (f64, f64);
            fn count(&self) -> usize {
                1
            }
            fn intervals(&self, bounds: &[Option<f64>]) -> Result<(f64, f64)> {
                around_one(self.ends()?, bounds)
            }
        }
    )*};
}
released!(i8 i16 i32 i64 i128 u8 u16 u32 u64 =>
    |number| (f64::neg_inf_cast(number)?, f64::inf_cast(number)?));
// The release is the sum of the true number and the noise, rounded to a float. Rounding preserves
// the order and keeps the floats. So this sum is between the next smaller and the next larger
// float.
released!(f32 f64 => |number| (number.next_down().to_f64(), number.next_up().to_f64()));

#[cfg(test)]
mod tests {
    use opendp_core::{
        AbsoluteDistance, AtomDomain, Function, L1Distance, L2Distance, MetricOn, Space,
        VectorDomain,
    };

    use super::*;
    use crate::{Numbers, Scale, make_gaussian, make_laplace, make_randomized_response};

    fn space<D: Domain, M: MetricOn<D>>(domain: D, metric: M) -> Space<D, M> {
        Space::new(domain, metric).unwrap()
    }
    /// Return the fraction of releases for which `miss` is true. The arguments of `miss` are a
    /// release and `interval`. Here `interval` is the interval around some number. The release is
    /// in `interval` if and only if the interval around the release contains this number.
    fn misses<D, M, MO>(
        release: &Measurement<D, M, MO, D::Carrier>,
        truth: &D::Carrier,
        interval: &<D::Carrier as Released>::Intervals,
        miss: impl Fn(&D::Carrier, &<D::Carrier as Released>::Intervals) -> bool,
    ) -> f64
    where
        D: Numbers,
        D::Carrier: Released,
        M: Metric,
        MO: Measure,
    {
        let missed = |_: &i32| miss(&release.invoke(truth).unwrap(), interval);
        (0..4000).filter(missed).count() as f64 / 4000.0
    }
    fn outside(number: f64, (lower, upper): (f64, f64)) -> bool {
        number < lower || upper < number
    }

    // For 4000 draws at alpha 0.1, eight standard deviations of the frequency are 0.038. So each
    // assertion fails by chance with a probability below 2e-14.
    #[test]
    fn intervals_contain_the_true_number_as_often_as_they_say() {
        let numbers = space(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new());
        let scale = Scale::new(3.0).unwrap();
        let miss = |noisy: &f64, interval: &(f64, f64)| outside(*noisy, *interval);
        let release = make_laplace(numbers.clone(), scale, None).unwrap();
        let interval = confidence_interval(&release, &10.5, 0.1).unwrap();
        let missed = misses(&release, &10.5, &interval, miss);
        assert!((missed - 0.1).abs() < 0.038, "{missed}");
        let release = make_gaussian(numbers, scale, None).unwrap();
        let interval = confidence_interval(&release, &10.5, 0.1).unwrap();
        let missed = misses(&release, &10.5, &interval, miss);
        assert!((missed - 0.1).abs() < 0.038, "{missed}");
        // The control: releases for the true number 13.5 are outside this interval with probability
        // 0.26.
        assert!(0.138 < misses(&release, &13.5, &interval, miss));
        // For integer noise Z of scale 3, the bound is 7, and P[|Z| > 7] is about 0.081. This
        // probability is below alpha, so only an upper limit of the frequency is checked.
        let integers = space(AtomDomain::<i64>::default(), AbsoluteDistance::<i64>::new());
        let release = make_laplace(integers, scale, None).unwrap();
        let interval = confidence_interval(&release, &-7, 0.1).unwrap();
        let missed =
            misses(&release, &-7, &interval, |noisy, interval| outside(*noisy as f64, *interval));
        assert!(missed < 0.138, "{missed}");
    }
    #[test]
    fn intervals_of_a_vector_hold_all_at_once() {
        let numbers = VectorDomain::new(AtomDomain::<f64>::non_nan());
        let scale = Scale::new(1.0).unwrap();
        let truth = vec![1.0, -2.0, 0.0, 5.0, 1e6];
        let any = |noisy: &Vec<f64>, intervals: &Vec<(f64, f64)>| {
            noisy.iter().zip(intervals).any(|(number, interval)| outside(*number, *interval))
        };
        for size in [None, Some(5)] {
            let domain = size.map_or(numbers.clone(), |size| numbers.clone().with_size(size));
            let input = space(domain.clone(), L1Distance::<f64>::new());
            let release = make_laplace(input, scale, None).unwrap();
            let intervals = confidence_interval(&release, &truth, 0.1).unwrap();
            let missed = misses(&release, &truth, &intervals, any);
            assert!((missed - 0.096).abs() < 0.038, "{missed}");
            let input = space(domain, L2Distance::<f64>::new());
            let release = make_gaussian(input, scale, None).unwrap();
            let intervals = confidence_interval(&release, &truth, 0.1).unwrap();
            let missed = misses(&release, &truth, &intervals, any);
            assert!((missed - 0.096).abs() < 0.038, "{missed}");
            // The next function does not divide alpha among the five intervals. So at least one
            // interval misses its number with probability 1 - 0.9^5, which is about 0.41.
            let intervals = confidence_interval_of_each(&release, &truth, 0.1).unwrap();
            let missed = misses(&release, &truth, &intervals, any);
            assert!((missed - 0.41).abs() < 0.063, "{missed}");
        }
    }
    #[test]
    fn rounds_outward() {
        let release = |k| {
            let numbers = space(AtomDomain::<f32>::non_nan(), AbsoluteDistance::<f32>::new());
            make_laplace(numbers, Scale::new(1e-30).unwrap(), Some(k)).unwrap()
        };
        let (lower, upper) = confidence_interval(&release(-100), &1.0, 0.5).unwrap();
        assert!(lower <= f64::from(1_f32.next_down()) && f64::from(1_f32.next_up()) <= upper);
        let (lower, upper) = confidence_interval(&release(0), &f32::MAX, 0.5).unwrap();
        assert!(lower < f64::from(f32::MAX) && upper == f64::INFINITY);
        let integers = space(AtomDomain::<i64>::default(), AbsoluteDistance::<i64>::new());
        let release = make_laplace(integers, Scale::new(0.0).unwrap(), None).unwrap();
        let (lower, upper) = confidence_interval(&release, &i64::MAX, 0.5).unwrap();
        assert_eq!((lower, upper), (2_f64.powi(63).next_down(), 2_f64.powi(63)));
    }
    #[test]
    fn refuses_what_is_not_known_or_no_probability() {
        let answer = make_randomized_response(vec![1, 2, 3], 0.5).unwrap();
        let kind = |alpha| confidence_interval(&answer, &3, alpha).unwrap_err().kind();
        assert_eq!(kind(0.5), "NotImplemented");
        assert_eq!(kind(0.0), "InvalidDistance");
        assert_eq!(kind(f64::NAN), "InvalidDistance");
        let domain = VectorDomain::new(AtomDomain::<i32>::default());
        let two = space(domain.with_size(2), L1Distance::<i32>::new());
        let release = make_laplace(two, Scale::new(1.0).unwrap(), None).unwrap();
        let kind = |numbers, alpha| {
            confidence_interval(&release, &numbers, alpha).map_err(|error| error.kind())
        };
        assert_eq!(kind(vec![1, 2, 3], 0.5), Err("InvalidDistance"));
        assert_eq!(kind(vec![1, 2], 5e-324), Err("InvalidDistance"));
        assert!(kind(vec![1, 2], 1e-323).is_ok());
        // If a measurement states two bounds for one number, the result is an error and not an
        // interval.
        let integers = space(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new());
        let wrong = make_laplace(integers, Scale::new(1.0).unwrap(), None).unwrap();
        let wrong = wrong.with_accuracy(|_| Ok(vec![Some(1.0), Some(2.0)]));
        let error = confidence_interval(&wrong, &1, 0.5).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("a number for each bound of the measurement, 2 in total, found 1")
        );
        // The error of a post-processed release is unknown.
        let after =
            release.then(|| Ok(Function::map(|numbers: &Vec<i32>| Ok(numbers[0])))).unwrap();
        assert_eq!(confidence_interval(&after, &1, 0.5).unwrap_err().kind(), "NotImplemented");
    }
}
