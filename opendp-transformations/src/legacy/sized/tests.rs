use super::*;
use crate::test_checks::metrics::*;
use opendp_core::{DistanceOn, laws};

fn bounds<T: Atom + Number>(bounds: (T, T)) -> Bounds<T> {
    Bounds::new(bounds.0, bounds.1).unwrap()
}
/// Check that construction fails with `MakeTransformation` or `FailedFunction`, and that the error
/// contains the text `gist`.
#[track_caller]
fn refuses<T>(made: Result<T>, gist: &str) {
    let Err(error) = made else { unreachable!("{gist}") };
    assert!(["MakeTransformation", "FailedFunction"].contains(&error.kind()), "{error}");
    assert!(error.to_string().contains(gist), "{error}");
}

mod sums_of_unknown_size {
    use super::*;

    fn domain() -> Records<f64> {
        VectorDomain::new(AtomDomain::bounded(bounds((-1.0, 0.1))))
    }
    #[test]
    fn obey_the_laws_with_and_without_a_clamp() {
        let alphabet = [-f64::MAX, -0.0, 5e-324, 0.1, 1e300];
        let stated = Some(bounds((-1.0, 0.1)));
        let free = VectorDomain::new(AtomDomain::non_nan());
        let input = Space::new(free.clone(), SymmetricDistance).unwrap();
        assert!(laws::all(&make_bounded_sum(input, stated).unwrap(), &alphabet, 3).unwrap() > 0);
        let input = Space::new(free, InsertDeleteDistance).unwrap();
        assert!(laws::all(&make_bounded_sum(input, stated).unwrap(), &alphabet, 3).unwrap() > 0);
        let input = Space::new(domain(), InsertDeleteDistance).unwrap();
        assert!(laws::all(&make_bounded_sum(input, None).unwrap(), &alphabet, 3).unwrap() > 0);
    }
    #[test]
    fn are_sums_by_another_name() {
        let input = Space::new(domain(), SymmetricDistance).unwrap();
        let data = vec![-1.0, 0.1, 0.05];
        let (old, new) = (make_bounded_sum(input.clone(), None).unwrap(), make_sum(input).unwrap());
        assert_eq!(old.invoke(&data), new.invoke(&data));
        assert_eq!(old.map(&3), new.map(&3));
    }
    #[test]
    fn clamp_and_add_up() {
        let input = VectorDomain::new(AtomDomain::<i32>::default());
        let input = Space::new(input, SymmetricDistance).unwrap();
        let sum = make_bounded_sum(input, Some(bounds((0, 10)))).unwrap();
        assert_eq!((sum.invoke(&vec![7, 99]), sum.map(&1)), (Ok(17), Ok(10)));
    }
    #[test]
    fn say_what_to_use_instead() {
        let make = |domain: Records<f64>, stated: Option<(f64, f64)>| {
            let input = Space::new(domain, SymmetricDistance).unwrap();
            make_bounded_sum(input, stated.map(bounds))
        };
        refuses(make(domain().with_size(3), None), "make_sized_bounded_sum");
        refuses(make(VectorDomain::new(AtomDomain::non_nan()), None), "make_clamp");
        refuses(make(domain(), Some((-1.0, 0.2))), "bounds: expected [-1, 0.1]");
        refuses(make(VectorDomain::new(AtomDomain::default()), Some((0.0, 1.0))), "NaN");
    }
}

mod sums_of_known_size {
    use super::*;

    fn triples(stated: Option<(i8, i8)>) -> Records<i8> {
        VectorDomain::new(AtomDomain::new(stated.map(bounds), None)).with_size(3)
    }
    #[track_caller]
    fn check<M: DatasetMetric + Default + DistanceOn<Records<i8>>>() {
        let input = Space::new(triples(None), M::default()).unwrap();
        let sum = make_sized_bounded_sum(input, None, Some(bounds((-20, 30)))).unwrap();
        assert!(laws::all(&sum, &[i8::MIN, -1, 0, 1, i8::MAX], 3).unwrap() > 0);
    }
    #[test]
    fn obey_the_laws_under_every_metric() {
        check::<SymmetricDistance>();
        check::<InsertDeleteDistance>();
        check::<ChangeOneDistance>();
        check::<HammingDistance>();
    }
    #[test]
    fn count_a_replaced_record_once() {
        let input = Space::new(triples(Some((1, 10))), HammingDistance).unwrap();
        let sum = make_sized_bounded_sum(input, Some(3), None).unwrap();
        assert_eq!([0, 1, 2].map(|d| sum.map(&d).unwrap()), [0, 9, 18]);
    }
    #[test]
    fn clamp_and_add_up() {
        let input = Space::new(triples(None), SymmetricDistance).unwrap();
        let sum = make_sized_bounded_sum(input, Some(3), Some(bounds((1, 10)))).unwrap();
        assert_eq!((sum.invoke(&vec![7, 99, 0]), sum.map(&2)), (Ok(18), Ok(9)));
    }
    #[test]
    fn say_what_to_use_instead() {
        let make = |domain: Records<i8>, size, stated: Option<(i8, i8)>| {
            let input = Space::new(domain, SymmetricDistance).unwrap();
            make_sized_bounded_sum(input, size, stated.map(bounds))
        };
        let known = triples(Some((0, 1)));
        refuses(make(known.clone().without_size(), None, None), "make_bounded_sum");
        refuses(make(known.clone(), Some(4), None), "size: expected 3");
        refuses(make(known, Some(3), Some((0, 2))), "bounds: expected [0, 1]");
        refuses(make(triples(None), None, None), "bounds: expected a pair");
    }
}

mod means_and_variances {
    use super::*;

    fn triples() -> Records<f32> {
        VectorDomain::new(AtomDomain::non_nan()).with_size(3)
    }
    #[track_caller]
    fn check<M: DatasetMetric + Default + DistanceOn<Records<f32>>>() {
        let input = Space::new(triples(), M::default()).unwrap();
        let stated = Some(bounds((-0.1, 0.3)));
        let alphabet = [f32::MIN, -0.0, 1e-45, 0.2, f32::INFINITY];
        let mean = make_sized_bounded_mean(input.clone(), Some(3), stated).unwrap();
        assert!(laws::all(&mean, &alphabet, 3).unwrap() > 0);
        let variance = make_sized_bounded_variance(input, Some(3), stated, 1).unwrap();
        assert!(laws::all(&variance, &alphabet, 3).unwrap() > 0);
    }
    #[test]
    fn obey_the_laws_under_every_metric_after_a_clamp() {
        check::<SymmetricDistance>();
        check::<InsertDeleteDistance>();
        check::<ChangeOneDistance>();
        check::<HammingDistance>();
    }
    #[test]
    fn clamp_and_average() {
        let pairs = VectorDomain::new(AtomDomain::<f64>::non_nan()).with_size(2);
        let input = Space::new(pairs, SymmetricDistance).unwrap();
        let stated = Some(bounds((0.0, 10.0)));
        let mean = make_sized_bounded_mean(input.clone(), None, stated).unwrap();
        assert_eq!((mean.invoke(&vec![-7.0, 99.0]), mean.map(&2)), (Ok(5.0), Ok(5.0)));
        let variance = make_sized_bounded_variance(input, None, stated, 1).unwrap();
        assert_eq!((variance.invoke(&vec![-7.0, 99.0]), variance.map(&2)), (Ok(50.0), Ok(50.0)));
    }
    #[test]
    fn say_what_is_missing() {
        for (domain, size, gist) in [
            (triples().without_size(), Some(3), "make_resize"),
            (triples(), Some(4), "size: expected 3"),
            (triples(), None, "bounds: expected a pair"),
        ] {
            let input = Space::new(domain, SymmetricDistance).unwrap();
            refuses(make_sized_bounded_mean(input.clone(), size, None), gist);
            refuses(make_sized_bounded_variance(input, size, None, 1), gist);
        }
    }
}

#[test]
fn covariances_are_those_of_the_stated_space() {
    let (x, y) = (bounds((0.0, 10.0)), bounds((0.0, 1.0)));
    let made = make_sized_bounded_covariance::<Pairwise<f64>>(2, x, y, 1).unwrap();
    assert_eq!(made.invoke(&vec![(0.0, 1.0), (10.0, 0.0)]), Ok(-5.0));
    assert_eq!(made.map(&2), Ok(5.0));
}

mod scores {
    use super::*;

    type Scores = Transformation<
        Records<u8>,
        SymmetricDistance,
        VectorDomain<AtomDomain<u64>>,
        RangeDistance<u64>,
    >;
    fn make(known: Option<usize>, stated: Option<usize>) -> Result<Scores> {
        let domain = VectorDomain::new(AtomDomain::default());
        let domain = if let Some(size) = known { domain.with_size(size) } else { domain };
        let input = Space::new(domain, SymmetricDistance)?;
        make_sized_quantile_score_candidates(input, stated, vec![1, 2, 255], Alpha::new(0.25)?)
    }
    #[test]
    fn obey_the_laws() {
        let scores = make(Some(3), Some(3)).unwrap();
        assert!(laws::all(&scores, &[0, 1, 2, 254, 255], 3).unwrap() > 0);
        assert_eq!([1, 2, 4].map(|d| scores.map(&d).unwrap()), [0, 8, 16]);
    }
    #[test]
    fn take_the_size_of_the_input_and_refuse_another() {
        assert!(make(Some(3), None).is_ok());
        refuses(make(Some(3), Some(4)), "size: expected 3");
        refuses(make(None, Some(3)), "make_quantile_score");
    }
    #[test]
    fn score_a_median() {
        let five = VectorDomain::new(AtomDomain::<i32>::default()).with_size(5);
        let median = make_sized_quantile_score_candidates::<_, _, RangeDistance<u64>>(
            Space::new(five, ChangeOneDistance).unwrap(),
            Some(5),
            vec![0, 1, 2, 3, 4],
            Alpha::new(0.5).unwrap(),
        )
        .unwrap();
        assert_eq!(median.invoke(&vec![0, 1, 2, 3, 4]).unwrap(), [4, 2, 0, 2, 4]);
        assert_eq!(median.map(&1), Ok(4));
    }
}
