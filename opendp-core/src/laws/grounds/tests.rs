use super::*;
use crate::{Function, StabilityMap, Transformation};

type Rows = VectorDomain<AtomDomain<f64>>;
fn rows(domain: Rows) -> Space<Rows, SymmetricDistance> {
    Space::new(domain, SymmetricDistance).unwrap()
}
fn check(
    input: Rows,
    output: Rows,
    function: impl Fn(&Vec<f64>) -> Result<Vec<f64>> + Send + Sync + 'static,
) -> Result<Tried, Broken> {
    let made = Transformation::new(
        rows(input),
        rows(output),
        Function::map(function),
        StabilityMap::from_constant(1_u32),
    );
    Grounds::new().records::<f64>().check(&made.erase(), &mut Draw::new(7))
}

#[test]
fn accepts_the_identity_on_hostile_data() {
    let all = Rows::default();
    let tried = check(all.clone(), all, |rows| Ok(rows.clone())).unwrap();
    assert!(tried.members > 40 && tried.pairs > 500 && !tried.random, "{tried:?}");
}
#[test]
fn refuses_an_output_that_is_not_declared() {
    let real = VectorDomain::new(AtomDomain::non_nan());
    let root = |rows: &Vec<f64>| Ok(rows.iter().map(|x| x - x).collect());
    assert!(check(real.clone(), real, root).unwrap_err().contains("not in the output domain"));
}
#[test]
fn refuses_an_error_on_data() {
    let all = Rows::default();
    let strict = |rows: &Vec<f64>| match rows.iter().any(|x| x.is_infinite()) {
        true => Err(Error::FailedFunction("infinite".into())),
        false => Ok(rows.clone()),
    };
    assert!(check(all.clone(), all, strict).unwrap_err().contains("infinite"));
}
#[test]
fn refuses_a_map_that_is_too_small() {
    let all = Rows::default();
    let twice = |rows: &Vec<f64>| Ok([&rows[..], &rows[..]].concat());
    assert!(check(all.clone(), all, twice).unwrap_err().contains("more than"));
}
#[test]
fn refuses_a_test_that_tests_nothing() {
    let all = Rows::default();
    let silent = Transformation::new(
        rows(all.clone()),
        rows(all.clone()),
        Function::map(|rows: &Vec<f64>| Ok(rows.clone())),
        StabilityMap::<_, SymmetricDistance>::new(|_: &u32| {
            Err(Error::FailedMap("no claim".into()))
        }),
    );
    let grounds = Grounds::new().records::<f64>();
    let untested = grounds.check(&silent.erase(), &mut Draw::new(7)).unwrap_err();
    assert!(untested.contains("tested the map"), "{untested}");
}
#[test]
fn tells_random_outputs_from_repeatable_ones() {
    use std::sync::atomic::{AtomicU32, Ordering};
    let all = Rows::default();
    let calls = AtomicU32::new(0);
    let counter = move |_: &Vec<f64>| Ok(vec![f64::from(calls.fetch_add(1, Ordering::SeqCst))]);
    let tried = check(all.clone(), all, counter).unwrap();
    assert!(tried.random && tried.pairs == 0);
}
#[test]
fn a_random_output_that_repeated_itself_is_not_held_to_the_map() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let all = Rows::default();
    let members = Grounds::new().records::<f64>();
    let members = members.members(&rows(all.clone()).erase(), &mut Draw::new(7)).unwrap().len();
    let calls = AtomicUsize::new(0);
    // The first two runs on each input give the same output. The distance between the outputs for
    // two inputs is twice the distance `d_in` between the inputs. So, if `d_in` is not 0, the
    // distance between the outputs exceeds the bound of the map, which is `d_in`. All later runs
    // return no rows, so more runs show that the outputs are random.
    let rare = move |rows: &Vec<f64>| {
        let late = calls.fetch_add(1, Ordering::SeqCst) >= 2 * members;
        Ok(if late { vec![] } else { [&rows[..], &rows[..]].concat() })
    };
    let tried = check(all.clone(), all, rare).unwrap();
    assert!(tried.random, "{tried:?}");
}
#[test]
fn a_transformation_that_varies_on_one_input_is_held_to_its_map_on_the_others() {
    use std::sync::atomic::{AtomicU32, Ordering};
    // For an input without rows, the function returns the number of earlier calls with such an
    // input. For any other input, the function returns `copies` copies of the rows. With two
    // copies, the distance between outputs can exceed the bound of the map.
    let varies_on_none = |copies: usize| {
        let calls = AtomicU32::new(0);
        move |rows: &Vec<f64>| match rows.is_empty() {
            true => Ok(vec![f64::from(calls.fetch_add(1, Ordering::SeqCst))]),
            false => Ok(rows.repeat(copies)),
        }
    };
    let all = Rows::default();
    let tried = check(all.clone(), all.clone(), varies_on_none(1)).unwrap();
    assert!(tried.random && tried.pairs > 100, "{tried:?}");
    let broken = check(all.clone(), all, varies_on_none(2)).unwrap_err();
    assert!(broken.contains("more than"), "{broken}");
}
#[test]
fn names_the_space_that_it_does_not_know() {
    let space = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new());
    let identity = Transformation::new(
        space.clone().unwrap(),
        space.unwrap(),
        Function::map(|x: &i32| Ok(*x)),
        StabilityMap::from_constant(1),
    );
    let unknown = Grounds::new().check(&identity.erase(), &mut Draw::new(0)).unwrap_err();
    assert!(unknown.contains("AtomDomain<i32>, AbsoluteDistance<i32>"), "{unknown}");
    let known = Grounds::new().numbers::<i32, i32>();
    assert!(known.check(&identity.erase(), &mut Draw::new(0)).unwrap().pairs > 10);
}
