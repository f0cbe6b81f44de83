//! Checks of both constructors of scores.

use opendp_core::{
    AtomDomain, DatasetMetric, DistanceOn, LInfDistance, MetricOn, RangeDistance, StabilityMap,
    Transformation, VectorDomain, laws,
};

use super::quantile_score_candidates::ScoreDistance;
use super::ranks::Equal;
use super::{make_quantile_rank_scores, make_quantile_score_candidates};
use crate::Alpha;
use crate::symmetric::Records;
use crate::test_checks::{metrics::*, space};

type Scores<M, MO> = Transformation<Records<i32>, M, VectorDomain<AtomDomain<u64>>, MO>;

pub(super) const ALPHAS: [(u64, u64); 6] = [(0, 1), (1, 4), (1, 2), (2, 3), (9, 10), (1, 1)];

/// Call the constructor for which equal records count as `equal` states.
pub(super) fn make<M, MO>(
    equal: Equal,
    size: Option<usize>,
    candidates: &[i32],
    (numerator, denominator): (u64, u64),
) -> Scores<M, MO>
where
    M: DatasetMetric + Default + MetricOn<Records<i32>>,
    MO: ScoreDistance,
{
    let make = match equal {
        Equal::LeftOut => make_quantile_score_candidates,
        Equal::Ranks => make_quantile_rank_scores,
    };
    let alpha = Alpha::from_fraction(numerator, denominator).unwrap();
    make(space(size), candidates.to_vec(), alpha).unwrap()
}
#[track_caller]
fn check<M, MO>(equal: Equal, size: Option<usize>)
where
    M: DatasetMetric + Default + DistanceOn<Records<i32>>,
    MO: ScoreDistance + DistanceOn<VectorDomain<AtomDomain<u64>>>,
{
    for alpha in ALPHAS {
        let scores = make::<M, MO>(equal, size, &[i32::MIN, 0, 1], alpha);
        assert!(laws::all(&scores, &[i32::MIN, -1, 0, 1, i32::MAX], 3).unwrap() > 0);
    }
}
#[track_caller]
fn check_all<MO>(equal: Equal)
where
    MO: ScoreDistance + DistanceOn<VectorDomain<AtomDomain<u64>>>,
{
    for size in [None, Some(0), Some(3)] {
        check::<SymmetricDistance, MO>(equal, size);
        check::<InsertDeleteDistance, MO>(equal, size);
    }
    check::<ChangeOneDistance, MO>(equal, Some(3));
    check::<HammingDistance, MO>(equal, Some(3));
}
/// Return whether a map that is lower by one is still a bound.
fn slack<MO>(equal: Equal, size: Option<usize>, alpha: (u64, u64), candidates: &[i32]) -> bool
where
    MO: ScoreDistance + DistanceOn<VectorDomain<AtomDomain<u64>>>,
{
    let data = laws::vectors(&[0, 2, 4], 6);
    let honest = make::<SymmetricDistance, MO>(equal, size, candidates, alpha);
    assert!(laws::stable(&honest, &data).unwrap() > 0);
    let below: Vec<u64> = (0..=12).map(|d| honest.map(&d).unwrap().saturating_sub(1)).collect();
    let map = StabilityMap::new(move |d: &u32| Ok(below[*d as usize]));
    let (input, output) = (honest.input().clone(), honest.output().clone());
    let changed = Transformation::new(input, output, honest.function().clone(), map);
    laws::stable(&changed, &data).is_ok()
}

#[test]
fn scores_without_equal_records_obey_the_laws_under_every_metric() {
    check_all::<RangeDistance<u64>>(Equal::LeftOut);
    check_all::<LInfDistance<u64>>(Equal::LeftOut);
}
#[test]
fn scores_by_all_ranks_obey_the_laws_under_every_metric() {
    check_all::<RangeDistance<u64>>(Equal::Ranks);
    check_all::<LInfDistance<u64>>(Equal::Ranks);
}
const LEVELS: [(u64, u64); 5] = [(0, 1), (1, 4), (1, 2), (2, 3), (1, 1)];
#[test]
fn maps_without_equal_records_promise_no_more_than_is_attained() {
    for (alpha, size) in LEVELS.into_iter().flat_map(|alpha| [(alpha, None), (alpha, Some(6))]) {
        assert!(!slack::<RangeDistance<u64>>(Equal::LeftOut, size, alpha, &[1, 3]));
        assert!(!slack::<LInfDistance<u64>>(Equal::LeftOut, size, alpha, &[1, 3]));
    }
}
#[test]
fn maps_by_all_ranks_promise_no_more_than_is_attained() {
    for (alpha, size) in LEVELS.into_iter().flat_map(|alpha| [(alpha, None), (alpha, Some(6))]) {
        assert!(!slack::<RangeDistance<u64>>(Equal::Ranks, size, alpha, &[1, 2, 3]), "{alpha:?}");
    }
}
