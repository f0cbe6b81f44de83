//! The number of people, and means.

use opendp_core::arith::InfCast;
use opendp_core::{
    Bounds, Carrier, Domain, MaxDivergence, Measurement, Metric, Result, Space, SymmetricDistance,
};
use opendp_measurements::{Scale, make_laplace};
use opendp_transformations::{make_clamp, make_count, make_sum};

use super::{ALPHA, Accuracy, Answer, NEIGHBOURS, Statistic, least_noise};
use crate::table::{People, ages, incomes};

/// Ages are clamped to these bounds before they are summed.
pub(crate) const AGES: (i64, i64) = (0, 100);
/// Incomes are clamped to these bounds before they are summed. The bounds are public, because they
/// were chosen without the data. A larger upper bound cuts fewer incomes and needs more noise.
pub(crate) const INCOMES: (f64, f64) = (0.0, 200_000.0);

/// A noisy number, or the quotient of two noisy numbers.
pub(super) struct Noisy {
    value: Option<f64>,
    epsilon: f64,
    /// A bound on the error of the number. The bound fails with probability at most `ALPHA`.
    error: Option<f64>,
    /// A bound on the error of the number, larger than `error`. This bound fails with probability
    /// at most `ALPHA / 2`.
    wide_error: Option<f64>,
}

/// Count people, with noise.
pub(super) fn people(people: &People, share: f64) -> Result<Noisy> {
    let count = make_count::<_, _, i64>(Space::new(ages(), SymmetricDistance)?)?;
    let release = least_noise(share, |noise| {
        count.then(|count| make_laplace(count, Scale::new(noise)?, None))
    })?;
    Noisy::release(&release, &people.age)
}
/// Sum ages, with noise.
pub(super) fn age(people: &People, share: f64) -> Result<Noisy> {
    let (lower, upper) = AGES;
    let clamp = make_clamp(Space::new(ages(), SymmetricDistance)?, Bounds::new(lower, upper)?)?;
    let sum = clamp.then(make_sum)?;
    let release =
        least_noise(share, |noise| sum.then(|sum| make_laplace(sum, Scale::new(noise)?, None)))?;
    Noisy::release(&release, &people.age)
}
/// Sum incomes, with noise.
pub(super) fn income(people: &People, share: f64) -> Result<Noisy> {
    let (lower, upper) = INCOMES;
    let clamp = make_clamp(Space::new(incomes(), SymmetricDistance)?, Bounds::new(lower, upper)?)?;
    let sum = clamp.then(make_sum)?;
    let release =
        least_noise(share, |noise| sum.then(|sum| make_laplace(sum, Scale::new(noise)?, None)))?;
    Noisy::release(&release, &people.income)
}

impl Noisy {
    fn release<DI, MI, TO>(
        measurement: &Measurement<DI, MI, MaxDivergence, TO>,
        data: &DI::Carrier,
    ) -> Result<Self>
    where
        DI: Domain,
        MI: Metric<Distance = u32>,
        TO: Carrier,
        f64: InfCast<TO>,
    {
        let error =
            |alpha| -> Result<_> { Ok(measurement.accuracy(alpha)?.first().copied().flatten()) };
        Ok(Noisy {
            value: Some(f64::inf_cast(measurement.invoke(data)?)?),
            epsilon: measurement.map(&NEIGHBOURS)?,
            error: error(ALPHA)?,
            wide_error: error(ALPHA / 2.0)?,
        })
    }
    /// Divide a noisy sum by a noisy count.
    ///
    /// The number of people is private, so the mean is a function of two releases: a sum and a
    /// count. A function of releases has no further loss. The error of each release exceeds its
    /// `wide_error` with probability at most `ALPHA / 2`. So with probability at least `1 - ALPHA`,
    /// neither error exceeds its `wide_error`. The interval of a release goes from the released
    /// number minus its `wide_error` to the released number plus its `wide_error`. Divide each end
    /// of the interval of the sum by each end of the interval of the count. This gives four
    /// quotients. If neither error exceeds its `wide_error`, and the interval of the count is above
    /// 0, the true quotient is between the smallest and the largest of these four.
    pub(super) fn over(self, count: &Noisy) -> Noisy {
        let value = self.value.zip(count.value).filter(|(_, count)| 1.0 <= *count);
        let mean = value.map(|(sum, count)| sum / count);
        let ends = |value: f64, error: f64| [value - error, value + error];
        let error = || {
            let sums = ends(self.value?, self.wide_error?);
            let counts = ends(count.value?, count.wide_error?);
            let mean = mean.filter(|_| 0.0 < counts[0])?;
            let quotients = sums.iter().flat_map(|sum| counts.map(|count| sum / count));
            Some(quotients.fold(0.0, |widest: f64, end| widest.max((end - mean).abs())))
        };
        Noisy { value: mean, epsilon: self.epsilon, error: error(), wide_error: None }
    }
    pub(super) fn statistic(&self, name: &str, decimals: usize) -> Statistic {
        let accuracy = self.error.map_or(Accuracy::Unknown, Accuracy::PlusMinus);
        let answer = Answer { label: String::new(), value: self.value, decimals, accuracy };
        Statistic { name: name.to_owned(), epsilon: self.epsilon, answers: vec![answer] }
    }
}
