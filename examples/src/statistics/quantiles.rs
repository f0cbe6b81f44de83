//! Quantiles, chosen from a grid of candidates.

use opendp_core::arith::{InfCast, Number};
use opendp_core::{Atom, Error, Function, RangeDistance, Result, Space, SymmetricDistance};
use opendp_measurements::{Optimize, Temperature, make_gumbel_max};
use opendp_transformations::{Alpha, make_quantile_rank_scores};

use super::{ALPHA, Accuracy, Answer, NEIGHBOURS, Statistic, least_noise};
use crate::table::{Column, People, ages, incomes};

/// The quantiles: the name, the numerator and the denominator of each.
const QUANTILES: [(&str, u64, u64); 3] = [("25%", 1, 4), ("median", 1, 2), ("75%", 3, 4)];

/// Release quantiles of age.
pub(super) fn age(people: &People, share: f64) -> Result<Vec<Statistic>> {
    quantiles("age", ages(), age_grid(), &people.age, share)
}
/// Release quantiles of income.
pub(super) fn income(people: &People, share: f64) -> Result<Vec<Statistic>> {
    quantiles("income", incomes(), income_grid(), &people.income, share)
}
/// Return a grid of ages: every year up to a hundred. The grid is public, because it does not
/// depend on the data.
pub(super) fn age_grid() -> Vec<i64> {
    (0..=100).collect()
}
/// Return a grid of incomes: every thousand dollars up to a hundred thousand, then every ten
/// thousand up to a million.
pub(super) fn income_grid() -> Vec<f64> {
    let fine = (0..100).map(|thousands| f64::from(thousands) * 1e3);
    fine.chain((10..=100).map(|tens| f64::from(tens) * 1e4)).collect()
}

fn quantiles<T>(
    name: &str,
    column: Column<T>,
    grid: Vec<T>,
    data: &Vec<T>,
    share: f64,
) -> Result<Vec<Statistic>>
where
    T: Atom + Number,
    f64: InfCast<T>,
{
    let input = Space::new(column, SymmetricDistance)?;
    let release = |(which, numerator, denominator): (&str, u64, u64)| {
        let scores = make_quantile_rank_scores::<_, _, RangeDistance<u64>>(
            input.clone(),
            grid.clone(),
            Alpha::from_fraction(numerator, denominator)?,
        )?;
        let choice = least_noise(share, |noise| {
            scores.then(|s| make_gumbel_max(s, Temperature::new(noise)?, Optimize::Min))
        })?;
        // For the quantile `a/b`, a score is a distance in rank, multiplied by `b`. So divide the
        // bound on the score by `b`.
        let excess = choice.accuracy(ALPHA)?.first().copied().flatten();
        let accuracy = match excess {
            Some(score) => Accuracy::Ranks(score / <f64 as InfCast<u64>>::inf_cast(denominator)?),
            None => Accuracy::Unknown,
        };
        // The release is the index of a candidate. The chosen candidate is a function of this
        // index.
        let grid = grid.clone();
        let candidate = choice.then(|| {
            Ok(Function::map(move |index: &usize| {
                let none = || Error::FailedFunction("no candidate has this index".into());
                grid.get(*index).copied().ok_or_else(none)
            }))
        })?;
        let value = Some(f64::inf_cast(candidate.invoke(data)?)?);
        Ok(Statistic {
            name: format!("{name}, {which}"),
            epsilon: candidate.map(&NEIGHBOURS)?,
            answers: vec![Answer { label: String::new(), value, decimals: 0, accuracy }],
        })
    };
    QUANTILES.into_iter().map(release).collect()
}
