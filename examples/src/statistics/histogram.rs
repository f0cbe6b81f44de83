//! The number of people at each level of education.

use opendp_core::arith::InfCast;
use opendp_core::{L1Distance, Result, Space, SymmetricDistance};
use opendp_measurements::{Scale, make_laplace};
use opendp_transformations::make_count_by_categories;

use super::{ALPHA, Accuracy, Answer, NEIGHBOURS, Statistic, least_noise};
use crate::table::{People, codes};

/// The levels of education. The list of levels is public, so the count of a level without people is
/// released, too.
pub(crate) const LEVELS: std::ops::RangeInclusive<i32> = 1..=16;

/// Count people by education, with noise on each count.
///
/// A person is in only one cell of the histogram. So each cell needs only as much noise as a single
/// count. The last cell counts people with an unknown or unreadable level. Released counts are not
/// changed. For example, negative counts are not replaced by zero. This replacement would be
/// allowed, but it would bias the sums of counts.
pub(super) fn education(people: &People, share: f64) -> Result<Statistic> {
    let input = Space::new(codes(), SymmetricDistance)?;
    let levels: Vec<i32> = LEVELS.collect();
    let labels: Vec<String> =
        levels.iter().map(i32::to_string).chain(["other".to_owned()]).collect();
    let counts = make_count_by_categories::<_, _, L1Distance<i64>, i64>(input, levels, true)?;
    let release = least_noise(share, |noise| {
        counts.then(|counts| make_laplace(counts, Scale::new(noise)?, None))
    })?;
    let accuracies = release.accuracy(ALPHA)?;
    let released = release.invoke(&people.educ)?;
    let answers = labels.into_iter().zip(released).enumerate().map(|(i, (label, count))| {
        let bound = accuracies.get(i).copied().flatten();
        let accuracy = bound.map_or(Accuracy::Unknown, Accuracy::PlusMinus);
        Ok(Answer { label, value: Some(f64::inf_cast(count)?), decimals: 0, accuracy })
    });
    Ok(Statistic {
        name: "education".to_owned(),
        epsilon: release.map(&NEIGHBOURS)?,
        answers: answers.collect::<Result<_>>()?,
    })
}
