use opendp_core::{
    AbsoluteDistance, ChangeOneDistance, Queryable, StabilityMap, SymmetricDistance, Transformation,
};

use super::*;
use crate::{Scale, make_gaussian, make_laplace};

type Rows = VectorDomain<AtomDomain<i32>>;
type Member<MO> = Measurement<Rows, SymmetricDistance, MO, i32>;

fn rows() -> Space<Rows, SymmetricDistance> {
    Space::new(VectorDomain::new(AtomDomain::default()), SymmetricDistance).unwrap()
}
fn count() -> Transformation<Rows, SymmetricDistance, AtomDomain<i32>, AbsoluteDistance<i32>> {
    let counts = Space::new(AtomDomain::default(), AbsoluteDistance::new()).unwrap();
    let function = Function::map(|rows: &Vec<i32>| Ok(rows.len() as i32));
    Transformation::new(rows(), counts, function, StabilityMap::from_constant(1))
}
fn laplace(scale: f64) -> Member<MaxDivergence> {
    count().then(|count| make_laplace(count, Scale::new(scale).unwrap(), None)).unwrap()
}
fn costing(losses: &'static [f64]) -> Member<MaxDivergence> {
    let map = PrivacyMap::new(move |d: &u32| Ok(losses[*d as usize]));
    Measurement::new(rows(), MaxDivergence, Function::map(|_| Ok(0)), map)
}
fn last_digit() -> Parts<i32> {
    Parts::by(|row| usize::try_from(row % 10).ok())
}

#[test]
fn every_row_goes_to_its_part_in_order() {
    let list = Function::map(|rows: &Vec<i32>| Ok(rows.clone()));
    let map = PrivacyMap::new(|d: &u32| Ok(if *d == 0 { 0.0 } else { f64::INFINITY }));
    let show = Measurement::new(rows(), MaxDivergence, list, map);
    let parts = make_parallel_composition(rows(), last_digit(), vec![show; 3]).unwrap();
    let released = parts.invoke(&vec![11, 2, 1, 7, 30, -5, 21, 12]).unwrap();
    assert_eq!(released, [vec![30], vec![11, 1, 21], vec![2, 12]]);
    assert_eq!(parts.invoke(&vec![]).unwrap(), vec![Vec::<i32>::new(); 3]);
}
#[test]
fn loses_as_much_as_the_worst_part() {
    let members = vec![laplace(2.0), laplace(1.0), laplace(4.0)];
    let parts = make_parallel_composition(rows(), last_digit(), members).unwrap();
    let losses = [0, 1, 2, 9].map(|d| parts.map(&d).unwrap());
    assert_eq!(losses, [0.0, 1.0, 2.0, 9.0]);
    let gauss = count().then(|count| make_gaussian(count, Scale::new(1.0).unwrap(), None)).unwrap();
    let parts = make_parallel_composition(rows(), last_digit(), vec![gauss; 5]).unwrap();
    assert_eq!([1, 4].map(|d| parts.map(&d).unwrap()), [0.5, 8.0], "all rows in one part");
    assert_eq!(*parts.measure(), ZeroConcentratedDivergence);
}
#[test]
fn ten_tenths_of_parts_are_one() {
    let tenths = vec![laplace(10.0), laplace(20.0)];
    let tenths = make_parallel_composition(rows(), last_digit(), tenths).unwrap();
    let ten = crate::make_composition(vec![tenths.clone(); 10]).unwrap();
    assert_eq!(ten.exact_map(&1).unwrap(), ["1".parse().unwrap()]);
    // The part with the largest exact loss need not be the first.
    let mixed = vec![laplace(20.0), laplace(10.0)];
    let mixed = make_parallel_composition(rows(), last_digit(), mixed).unwrap();
    assert_eq!(mixed.exact_map(&1).unwrap(), laplace(10.0).exact_map(&1).unwrap());
    // The control: at distances other than 1, the exact map returns the value of the rounded loss,
    // which is a float.
    let two = tenths.exact_map(&2).unwrap();
    assert_eq!(two, [Exact::from_f64(tenths.map(&2).unwrap()).unwrap()]);
}
#[test]
fn looks_at_all_splits() {
    // Each part with changed rows has the loss 1, independently of the number of changed rows. So
    // the worst case splits the changed rows among all parts.
    let members = vec![costing(&[0.0, 1.0, 1.0, 1.0]); 2];
    let parts = make_parallel_composition(rows(), last_digit(), members).unwrap();
    let losses = [0, 1, 2, 3].map(|d| parts.map(&d).unwrap());
    assert_eq!(losses, [0.0, 1.0, 2.0, 2.0]);
    // A map can decrease with the distance. Then the loss of a part can be larger if fewer rows of
    // this part change.
    let members = vec![costing(&[0.0, 2.0, 1.0]), costing(&[0.0, 0.5, 0.25])];
    let parts = make_parallel_composition(rows(), last_digit(), members).unwrap();
    assert_eq!(parts.map(&2).unwrap(), 2.5);
}
#[test]
fn conversations_with_parts_may_be_interleaved() {
    let talk = Function::map(|rows: &Vec<i32>| {
        Ok(Queryable::new(rows.len() as i32, |left: &mut i32, step: &i32| {
            *left -= step;
            Ok(*left)
        }))
    });
    let map = PrivacyMap::new(|d: &u32| Ok(f64::from(*d)));
    let talk = Measurement::new(rows(), MaxDivergence, talk, map);
    let parts = make_parallel_composition(rows(), last_digit(), vec![talk; 2]).unwrap();
    let both = parts.invoke(&vec![0, 1, 11]).unwrap();
    let asked = [both[0].ask(&1), both[1].ask(&1), both[0].ask(&1)];
    assert_eq!(asked, [Ok(0), Ok(1), Ok(-1)]);
}
#[test]
fn refuses_spaces_in_which_a_row_is_in_two_parts() {
    let none: Vec<Member<MaxDivergence>> = Vec::new();
    let error = make_parallel_composition(rows(), last_digit(), none).unwrap_err();
    assert_eq!(error.kind(), "MakeMeasurement");
    // A replaced row can leave one part and enter another part. Such a replacement changes the
    // sizes of both parts.
    let sized = VectorDomain::new(AtomDomain::<i32>::default()).with_size(3);
    let space = Space::new(sized.clone(), ChangeOneDistance).unwrap();
    let map = PrivacyMap::new(|_: &u32| Ok(1.0));
    let member = Measurement::new(space.clone(), MaxDivergence, Function::map(|_| Ok(0)), map);
    let error = make_parallel_composition(space, last_digit(), vec![member]).unwrap_err();
    assert_eq!(error.kind(), "MakeMeasurement");
    let space = Space::new(sized, SymmetricDistance).unwrap();
    let error = make_parallel_composition(space, last_digit(), vec![laplace(1.0)]).unwrap_err();
    assert_eq!(error.kind(), "MakeMeasurement");
    let bounds = opendp_core::Bounds::new(0, 9).unwrap();
    let other = VectorDomain::new(AtomDomain::bounded(bounds));
    let other = Space::new(other, SymmetricDistance).unwrap();
    let error = make_parallel_composition(other, last_digit(), vec![laplace(1.0)]).unwrap_err();
    assert!(error.kind() == "DomainMismatch" && error.to_string().contains("[0]"));
}
/// The release of each member depends on the order of the rows in its part. A new order can change
/// every part. So the loss of five such members is five times the loss of one member.
#[test]
fn members_that_lose_something_to_the_order_of_rows_are_refused() {
    let odd = Space::new(AtomDomain::default(), opendp_core::DiscreteDistance).unwrap();
    let first = Function::map(|rows: &Vec<i32>| Ok(rows.first().is_some_and(|x| x % 2 != 0)));
    let first = Transformation::new(rows(), odd, first, StabilityMap::new(|_| Ok(1)));
    let told = first.then(|_| crate::make_randomized_response_bool(0.75, false)).unwrap();
    assert!([0, 1, 5].iter().all(|d| (told.map(d).unwrap() - 3_f64.ln()).abs() < 1e-12));
    let error = make_parallel_composition(rows(), last_digit(), vec![told; 5]).unwrap_err();
    assert!(error.kind() == "MakeMeasurement" && error.to_string().contains("distance 0"));
    // The control: a map that is 0 at distance 0 is accepted. Maps with a tiny loss or with NaN at
    // distance 0 are refused.
    assert!(make_parallel_composition(rows(), last_digit(), vec![costing(&[0.0]); 5]).is_ok());
    for bad in [&[1e-300_f64], &[f64::NAN]] {
        assert!(make_parallel_composition(rows(), last_digit(), vec![costing(bad)]).is_err());
    }
}
#[test]
fn copies_are_known_before_they_are_erased() {
    let loss = |count: usize, d: u32| {
        let copies = vec![laplace(100.0); count];
        make_parallel_composition(rows(), last_digit(), copies).unwrap().map(&d).unwrap()
    };
    assert!((loss(30_000, 10) - 0.1).abs() < 1e-12 && (loss(640, 640) - 6.4).abs() < 1e-9);
    // The control: measurements that are made separately are not copies, even if their maps are
    // equal. There are too many maps to search. So the loss is the upper bound of `of_largest`: ten
    // times the loss 0.1 of one part.
    let others = (0..30_000).map(|_| laplace(100.0)).collect();
    let others = make_parallel_composition(rows(), last_digit(), others).unwrap();
    assert!(0.9 < others.map(&10).unwrap());
    // The constructor for JSON documents gets erased measurements. Copies of one erased measurement
    // share one map. Two measurements that are made separately do not share a map.
    let copies = vec![laplace(100.0).erase(); 30_000];
    assert!(alike(&copies) && !alike(&[laplace(1.0), laplace(1.0)]));
}
/// A measure whose losses are numbers `mu`. In a composition, the squares of the losses add up.
#[derive(Clone, Debug, Default, PartialEq)]
struct Mu;
opendp_core::named!(Mu as "test::Mu");
impl Measure for Mu {
    type Distance = f64;
    fn to_json(&self) -> serde_json::Value {
        serde_json::json!("mu")
    }
    fn compose(&self, losses: &[f64]) -> Result<f64> {
        Ok(losses.iter().map(|mu| mu * mu).sum::<f64>().sqrt())
    }
    fn parts(&self) -> Result<usize> {
        Ok(1)
    }
    fn split(&self, loss: &f64) -> Result<Vec<f64>> {
        Ok(vec![loss * loss])
    }
    fn join(&self, parts: &[f64]) -> Result<f64> {
        Ok(parts.iter().sum::<f64>().sqrt())
    }
}
#[test]
fn the_exact_loss_is_a_part() {
    let map = PrivacyMap::new(|d: &u32| Ok(2.0 * f64::from(*d)));
    let member = Measurement::new(rows(), Mu, Function::map(|_| Ok(0)), map);
    let parts = make_parallel_composition(rows(), last_digit(), vec![member; 2]).unwrap();
    for (d, part) in [(1, "4"), (2, "16"), (3, "36")] {
        assert_eq!(parts.exact_map(&d).unwrap(), [part.parse().unwrap()], "{d}");
    }
    assert!((4_000.0..4_010.0).contains(&parts.map(&2_000).unwrap()));
}
#[test]
fn a_number_of_members_other_than_that_of_the_parts_is_refused() {
    let made = |count: usize| {
        let parts = Parts::categories(vec![1, 2, 3]).unwrap();
        make_parallel_composition(rows(), parts, vec![laplace(1.0); count])
    };
    for count in [2, 4] {
        let error = made(count).unwrap_err();
        assert!(error.kind() == "MakeMeasurement", "{error}");
        assert!(error.to_string().contains(&format!("3 in total, found {count}")), "{error}");
    }
    assert_eq!(made(3).unwrap().map(&1).unwrap(), 1.0);
}
