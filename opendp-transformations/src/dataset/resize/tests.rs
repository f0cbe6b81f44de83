use super::*;
use crate::test_checks::{couples, orders};
use opendp_core::{Bounds, ChangeOneDistance, DistanceOn, HammingDistance, laws};

type Records = VectorDomain<AtomDomain<i32>>;

/// Compute the output for one drawn order, as the proof of `make_resize` describes it. Pad the
/// records, put them into the drawn order if `arrange` requires an order, and keep the first `size`
/// records.
fn resize(
    records: &[i32],
    size: usize,
    constant: i32,
    arrange: Arrange,
    random: impl FnOnce(&mut [i32]) -> Result<()>,
) -> Result<Vec<i32>> {
    let mut padded = records.to_vec();
    padded.resize(size.max(records.len()), constant);
    let leaves_some_out = size < padded.len();
    if arrange == Arrange::Always || (arrange == Arrange::ToLeaveSomeOut && leaves_some_out) {
        random(&mut padded)?;
    }
    padded.truncate(size);
    Ok(padded)
}
fn make<M, MO>(size: usize) -> Transformation<Records, M, Records, MO>
where
    M: DatasetMetric + Default + MetricOn<Records>,
    MO: DatasetMetric + Default + MetricOn<Records>,
{
    make_from::<M, MO>(M::default().sized(), size)
}
/// Make a resize transformation. Its input is data of three records if `sized` is `true`, and data
/// of any size otherwise.
fn make_from<M, MO>(sized: bool, size: usize) -> Transformation<Records, M, Records, MO>
where
    M: DatasetMetric + Default + MetricOn<Records>,
    MO: DatasetMetric + Default + MetricOn<Records>,
{
    let domain = VectorDomain::new(AtomDomain::default());
    let domain = if sized { domain.with_size(3) } else { domain };
    make_resize(Space::new(domain, M::default()).unwrap(), size, 9).unwrap()
}
/// List the outputs with their multiplicities. There is one output for each order of the padded
/// records.
fn outputs(x: &[i32], size: usize, arrange: Arrange) -> Vec<Vec<i32>> {
    let padded = [x, &vec![9; size.saturating_sub(x.len())]].concat();
    let place = |order: Vec<i32>| {
        let random = |records: &mut [i32]| {
            records.clone_from_slice(&order);
            Ok(())
        };
        resize(x, size, 9, arrange, random).unwrap()
    };
    orders(&padded).into_iter().map(place).collect()
}
fn check<M, MO>(arrange: Arrange) -> Result<usize, String>
where
    M: DatasetMetric + Default + DistanceOn<Records>,
    MO: DatasetMetric + Default + DistanceOn<Records>,
{
    check_on::<M, MO>(&laws::vectors(&[1, 2, 9], 3), arrange)
}
fn check_on<M, MO>(data: &[Vec<i32>], arrange: Arrange) -> Result<usize, String>
where
    M: DatasetMetric + Default + DistanceOn<Records>,
    MO: DatasetMetric + Default + DistanceOn<Records>,
{
    let mut cases = 0;
    for size in 1..=4 {
        let resize = make::<M, MO>(size);
        cases += couples(&resize, data, |x| outputs(x, size, arrange))?;
        cases += laws::member(&resize, data)?;
    }
    Ok(cases)
}

#[test]
fn outputs_of_close_data_couple_under_every_pair_of_metrics() {
    use {InsertDeleteDistance as InsDel, SymmetricDistance as Sym};
    assert!(check::<Sym, Sym>(Arrange::between(&Sym, &Sym)).unwrap() > 500);
    assert!(check::<Sym, InsDel>(Arrange::between(&Sym, &InsDel)).unwrap() > 500);
    assert!(check::<InsDel, Sym>(Arrange::between(&InsDel, &Sym)).unwrap() > 500);
    assert!(check::<InsDel, InsDel>(Arrange::between(&InsDel, &InsDel)).unwrap() > 500);
    assert!(check::<ChangeOneDistance, InsDel>(Arrange::Always).unwrap() > 500);
    assert!(check::<HammingDistance, Sym>(Arrange::Never).unwrap() > 500);
}
#[test]
fn outputs_of_close_data_of_one_size_couple_at_half_of_the_map() {
    use {InsertDeleteDistance as InsDel, SymmetricDistance as Sym};
    fn check<M, MO>() -> Result<usize, String>
    where
        M: DatasetMetric + Default + DistanceOn<Records>,
        MO: DatasetMetric + Default + DistanceOn<Records>,
    {
        let data = laws::vectors(&[1, 2, 9], 3).into_iter().filter(|x| x.len() == 3);
        let (data, mut cases) = (data.collect::<Vec<_>>(), 0);
        let arrange = Arrange::between(&M::default(), &MO::default());
        for size in 1..=4 {
            let resize = make_from::<M, MO>(true, size);
            assert_eq!([1, 2, 3, 4].map(|d| resize.map(&d).unwrap()), [2, 2, 4, 4]);
            cases += couples(&resize, &data, |x| outputs(x, size, arrange))?;
        }
        Ok(cases)
    }
    assert!(check::<Sym, Sym>().unwrap() > 500);
    assert!(check::<Sym, InsDel>().unwrap() > 500);
    assert!(check::<InsDel, Sym>().unwrap() > 500);
    assert!(check::<InsDel, InsDel>().unwrap() > 500);
    // For data of any size, the map for data of known size is too small.
    let resize = make::<Sym, Sym>(2);
    let map = StabilityMap::new(|d_in: &u32| Ok(2 * d_in.div_ceil(2)));
    let (input, output) = (resize.input().clone(), resize.output().clone());
    let wrong = Transformation::new(input, output, resize.function().clone(), map);
    let outputs = |x: &Vec<i32>| outputs(x, 2, Arrange::between(&Sym, &Sym));
    assert!(couples(&resize, &[vec![], vec![1, 2]], outputs).is_ok());
    assert!(couples(&wrong, &[vec![], vec![1, 2]], outputs).is_err());
}
#[test]
fn a_shuffle_in_one_branch_alone_does_not_couple() {
    use {InsertDeleteDistance as InsDel, SymmetricDistance as Sym};
    // With `ToLeaveSomeOut` and size 3, only the larger data set is shuffled. Then the orders of
    // the two data sets are unrelated, and the check must fail.
    let data = [vec![1, 2, 9], vec![1, 2, 9, 1]];
    assert!(check_on::<Sym, InsDel>(&data, Arrange::between(&Sym, &InsDel)).is_ok());
    assert!(check_on::<Sym, InsDel>(&data, Arrange::ToLeaveSomeOut).is_err());
    assert!(check_on::<InsDel, InsDel>(&data, Arrange::between(&InsDel, &InsDel)).is_ok());
    assert!(check_on::<InsDel, InsDel>(&data, Arrange::ToLeaveSomeOut).is_err());
}
#[test]
fn leaving_out_the_last_does_not_couple_where_the_order_does_not_count() {
    assert!(check::<SymmetricDistance, SymmetricDistance>(Arrange::Never).is_err());
}
#[test]
fn obeys_the_laws_where_nothing_is_random() {
    let data = laws::vectors(&[1, 2, 9], 4);
    let resize = make::<InsertDeleteDistance, InsertDeleteDistance>(2);
    assert!(laws::stable(&resize, &data).unwrap() > 0);
    assert!(laws::erases(&resize, &data, &[0, 1, 2, u32::MAX]).unwrap() > 0);
    assert_eq!(resize.invoke(&vec![1, 2, 3]).unwrap(), [1, 2]);
    let map = StabilityMap::identity();
    let (input, output) = (resize.input().clone(), resize.output().clone());
    let wrong = Transformation::new(input, output, resize.function().clone(), map);
    assert!(laws::stable(&wrong, &data).is_err());
}
#[test]
fn a_size_that_no_memory_holds_is_an_error_and_not_the_end_of_the_process() {
    for size in [usize::MAX, 1 << 60, 1 << 40] {
        let any = make::<SymmetricDistance, SymmetricDistance>(size);
        let ordered = make::<InsertDeleteDistance, InsertDeleteDistance>(size);
        for data in [vec![], vec![1, 2, 3]] {
            for error in [any.invoke(&data), ordered.invoke(&data)].map(Result::unwrap_err) {
                assert_eq!(error.kind(), "FailedFunction");
                assert!(error.to_string().contains("size: not enough memory"), "{error}");
            }
        }
        assert_eq!(any.map(&1), Ok(2));
        // A merge reserves memory only for existing records, so the merge succeeds. Then `finish`
        // tries to reserve memory for the copies of the constant, and returns an error.
        let (mut state, mut other) = (any.start().unwrap(), any.start().unwrap());
        state.absorb(&vec![1]).unwrap();
        other.absorb(&vec![2]).unwrap();
        state.merge(other).unwrap();
        assert!(state.finish().is_err());
    }
    let texts = VectorDomain::new(AtomDomain::<String>::default());
    let texts = Space::new(texts, SymmetricDistance).unwrap();
    let long = make_resize::<_, _, SymmetricDistance>(texts, 1 << 24, "x".repeat(1 << 20));
    assert_eq!(long.unwrap().invoke(&vec![]).unwrap_err().kind(), "FailedFunction");
}
#[test]
fn every_record_has_the_same_chance_to_stay() {
    let resize = make::<SymmetricDistance, SymmetricDistance>(1);
    let mut kept = [0; 3];
    for _ in 0..6000 {
        kept[resize.invoke(&vec![0, 1, 2]).unwrap()[0] as usize] += 1;
    }
    // Each count has mean 2000 and standard deviation 37, so a deviation of 300 or more has a
    // probability below 1e-15.
    assert!(kept.iter().all(|count| (1700..2300).contains(count)));
}
#[test]
fn a_stream_is_chosen_from_as_the_whole_is() {
    use {InsertDeleteDistance as InsDel, SymmetricDistance as Sym};
    // Keep one of three records, in two ways: from chunks, and by a merge with a partial result
    // that was read from bytes.
    let resize = make::<Sym, Sym>(1);
    let mut kept = [[0; 3]; 2];
    for _ in 0..6000 {
        let chunks = [vec![0, 1], vec![], vec![2]].map(Ok);
        kept[0][resize.invoke_chunks(chunks).unwrap()[0] as usize] += 1;
        let mut state = resize.start().unwrap();
        state.absorb(&vec![0]).unwrap();
        let mut other = resize.start().unwrap();
        other.absorb(&vec![1, 2]).unwrap();
        let bytes = other.to_bytes().unwrap();
        state.merge(resize.function().resume(&bytes).unwrap()).unwrap();
        kept[1][state.finish().unwrap()[0] as usize] += 1;
    }
    // Each count has mean 2000 and standard deviation 37, so a deviation of 300 or more has a
    // probability below 1e-15.
    assert!(kept.concat().iter().all(|count| (1700..2300).contains(count)), "{kept:?}");
    // If the metric of the output depends on the order, records and copies of the constant are
    // shuffled together. So the record 5 is first in about half of the runs.
    let ordered = make::<Sym, InsDel>(2);
    let first = |_| ordered.invoke_chunks([Ok(vec![5])]).unwrap()[0];
    let fives = (0..6000).map(first).filter(|record| *record == 5).count();
    assert!((2700..3300).contains(&fives), "{fives}");
    let large = make::<Sym, Sym>(100_000);
    let data: Vec<i32> = (0..400_000).collect();
    let mut sample = large.invoke(&data).unwrap();
    sample.sort_unstable();
    sample.dedup();
    assert_eq!(sample.len(), 100_000);
}
#[test]
fn where_the_order_counts_a_stream_gives_the_first_in_its_order() {
    let first = make::<InsertDeleteDistance, SymmetricDistance>(4);
    let data = laws::vectors(&[1, 2], 6);
    assert!(laws::divided(&first, &data).unwrap() > 500);
    let chunks = [vec![], vec![1], vec![2, 3], vec![4, 5], vec![6]].map(Ok);
    assert_eq!(first.invoke_chunks(chunks).unwrap(), [1, 2, 3, 4]);
    assert_eq!(first.invoke_chunks([Ok(vec![1])]).unwrap(), [1, 9, 9, 9]);
    // There are enough rows for all cores. But only one core is used, because the metric depends on
    // the order.
    let (many, data) = (make::<InsertDeleteDistance, InsertDeleteDistance>(200_000), 0..300_000);
    let kept = many.then(|records| crate::make_clamp(records, Bounds::new(0, 150_000)?));
    let kept = kept.unwrap().invoke(&data.collect()).unwrap();
    assert!(kept.into_iter().eq((0..200_000).map(|i| i.min(150_000))));
    // A request for a partial result gives an error. The reason is that partial results are merged
    // in any order, but this result depends on the order.
    for error in [first.start().err(), first.function().resume(b"[]").err()] {
        let error = error.unwrap();
        assert!(error.kind() == "NotImplemented" && error.to_string().contains("order"));
    }
}
#[test]
fn maps_and_pads_as_the_catalogue_lists() {
    let resize = make::<SymmetricDistance, SymmetricDistance>(4);
    assert_eq!([1, 2].map(|d| resize.map(&d).unwrap()), [2, 4]);
    assert_eq!(resize.invoke(&vec![1, 2]).unwrap(), [1, 2, 9, 9]);
    assert_eq!(resize.output().domain().size(), Some(4));
    assert_eq!(resize.map(&u32::MAX).unwrap_err().kind(), "Overflow");
}
#[test]
fn says_what_is_wrong() {
    let input = Space::new(VectorDomain::new(AtomDomain::<f64>::non_nan()), SymmetricDistance);
    let input = input.unwrap();
    let refuse = |made: Result<_>, gist: &str| {
        let error = made.map(|_: Transformation<_, _, _, SymmetricDistance>| ()).unwrap_err();
        assert_eq!(error.kind(), "MakeTransformation");
        assert!(error.to_string().contains(gist), "{error}");
    };
    refuse(make_resize(input.clone(), 0, 0.0), "size");
    refuse(make_resize(input.clone(), 1, f64::NAN), "constant");
    let made = make_resize::<_, _, ChangeOneDistance>(input, 1, 0.0);
    assert!(made.unwrap_err().to_string().contains("make_metric_bounded"));
}
#[test]
fn a_replaced_record_replaces_at_most_one_record() {
    assert_eq!(make::<ChangeOneDistance, SymmetricDistance>(2).map(&1), Ok(2));
    assert_eq!(make::<HammingDistance, InsertDeleteDistance>(2).map(&3), Ok(6));
}
