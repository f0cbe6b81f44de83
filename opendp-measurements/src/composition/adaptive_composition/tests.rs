use opendp_core::{
    AbsoluteDistance, Approximate, AtomDomain, MaxDivergence, RenyiCurve, RenyiDivergence,
    SmoothedMaxDivergence, Space,
};

use super::*;
use crate::{Scale, make_laplace};

type Numbers = AtomDomain<i32>;
type Change = AbsoluteDistance<i32>;

fn numbers() -> Space<Numbers, Change> {
    Space::new(AtomDomain::default(), AbsoluteDistance::new()).unwrap()
}
fn plan<MO: Measure>(
    measure: MO,
    d_mids: Vec<MO::Distance>,
) -> Measurement<Numbers, Change, MO, Session<Numbers, Change, MO>> {
    make_adaptive_composition(numbers(), TheMeasure(measure), 1, d_mids).unwrap()
}
fn laplace(scale: f64) -> Measurement<Numbers, Change, MaxDivergence, i32> {
    make_laplace(numbers(), Scale::new(scale).unwrap(), None).unwrap()
}
fn refused<T: std::fmt::Debug>(answer: Result<T>, part: &str) {
    let error = answer.unwrap_err();
    assert!(error.kind() == "BudgetExceeded" && error.to_string().contains(part), "{error}");
}

#[test]
fn keeps_the_test_vectors() {
    let both = plan(MaxDivergence, vec![1.0, 2.0]);
    assert_eq!((both.map(&1).unwrap(), both.map(&0).unwrap()), (3.0, 3.0));
    assert_eq!(both.map(&2).unwrap_err().kind(), "FailedMap");
    let pairs = plan(Approximate(MaxDivergence), vec![(1.0, 0.25), (0.5, 0.5)]);
    assert_eq!(pairs.map(&1).unwrap(), (1.5, 0.75));
}
#[test]
fn a_negative_renyi_loss_is_refused_and_hides_no_other_loss() {
    let curve = |loss: f64| RenyiCurve::from_points(vec![(64.0, loss)]);
    let made = |losses: Vec<RenyiCurve>| {
        make_adaptive_composition(numbers(), TheMeasure(RenyiDivergence), 1, losses)
    };
    for losses in [vec![curve(1000.0), curve(-999.99)], vec![curve(f64::NAN)]] {
        let answers = made(losses).and_then(|plan| plan.map(&1)?.epsilon(2.0));
        assert!(answers.is_err() || answers.is_ok_and(|loss| loss.is_infinite()));
    }
}
#[test]
fn the_map_is_the_same_in_every_order() {
    let mids = [0.1, 0.2, 0.3, 0.4];
    let orders = [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]];
    let totals = orders.map(|order| {
        let plan = plan(MaxDivergence, order.map(|i: usize| mids[i]).to_vec());
        (plan.map(&1).unwrap().to_bits(), plan.exact_map(&1).unwrap())
    });
    assert!(totals.iter().all(|total| *total == totals[0]));
    // The control: add the losses as floats, and round each sum to the nearest float. Then the
    // total depends on the order of the losses.
    let left = |order: [usize; 4]| order.iter().fold(0.0, |sum, i| sum + mids[*i]);
    assert!(orders.iter().any(|order| left(*order) != left(orders[0])));
}
#[test]
fn the_rest_of_the_budget_is_rounded_down() {
    // The exact sum of the floats 0.1 and 0.2 is between the float 0.3 and the next float.
    let session = plan(MaxDivergence, vec![0.1, 0.2]).invoke(&7).unwrap();
    assert_eq!(session.left().unwrap(), 0.3);
}
#[test]
fn questions_are_answered_in_the_order_of_the_plan() {
    let session = plan(MaxDivergence, vec![0.5, 1.0]).invoke(&7).unwrap();
    refused(session.ask(&laplace(1.0)), "the query costs 1, and its share of the budget is 0.5");
    assert_eq!((session.loss(&1).unwrap(), session.left().unwrap()), (0.0, 1.5));
    session.ask(&laplace(2.0)).unwrap();
    assert_eq!((session.loss(&1).unwrap(), session.left().unwrap()), (0.5, 1.0));
    session.ask(&laplace(1.0)).unwrap();
    refused(session.ask(&laplace(0.0)), "`d_mids` allows 2 in total");
    refused(session.ask(&laplace(1e9)), "`d_mids` allows 2 in total");
}
#[test]
fn a_question_may_lose_all_that_its_turn_allows() {
    let session = plan(MaxDivergence, vec![0.1; 3]).invoke(&7).unwrap();
    for _ in 0..3 {
        session.ask(&laplace(10.0)).unwrap();
    }
    let map = PrivacyMap::new(|_| Ok(0.1));
    let float = Measurement::new(numbers(), MaxDivergence, Function::map(|_| Ok(0)), map);
    plan(MaxDivergence, vec![0.1]).invoke(&7).unwrap().ask(&float).unwrap();
}
#[test]
fn an_answer_that_fails_uses_its_turn_up() {
    let session = plan(MaxDivergence, vec![1.0, 1.0]).invoke(&7).unwrap();
    let map = PrivacyMap::new(|_| Ok(1.0));
    let function = Function::map(|_: &i32| -> Result<i32> { Err(Error::NoEntropy) });
    let broken = Measurement::new(numbers(), MaxDivergence, function, map);
    assert_eq!(session.ask(&broken).unwrap_err(), Error::NoEntropy);
    assert_eq!(session.loss(&1).unwrap(), 1.0);
    session.ask(&laplace(1.0)).unwrap();
    refused(session.ask(&laplace(1.0)), "`d_mids` allows 2 in total");
}
#[test]
fn renyi_losses_are_planned_at_the_orders_of_their_parts() {
    let linear = |slope: f64| RenyiCurve::new(move |alpha| Ok(slope * alpha));
    let question = |slope| {
        let map = PrivacyMap::new(move |_| Ok(linear(slope)));
        Measurement::new(numbers(), RenyiDivergence, Function::map(|_| Ok(0)), map)
    };
    let plan = plan(RenyiDivergence, vec![linear(0.5), linear(0.25)]);
    let total = plan.map(&1).unwrap();
    assert_eq!(total.epsilon(2.0).unwrap(), 1.5);
    // Each loss in the plan is replaced by the step function with the same values at the orders of
    // its parts. So between two of these orders, the total equals its value at the larger order.
    assert_eq!(total.epsilon(2.25).unwrap(), 0.75 * 2.5);
    let session = plan.invoke(&7).unwrap();
    assert_eq!(session.ask(&question(0.75)).unwrap_err().kind(), "BudgetExceeded");
    session.ask(&question(0.5)).unwrap();
    session.ask(&question(0.25)).unwrap();
}
#[test]
fn refuses_what_is_no_plan() {
    let make = |d_in, d_mids| {
        make_adaptive_composition(numbers(), TheMeasure(MaxDivergence), d_in, d_mids).unwrap_err()
    };
    assert_eq!(make(1, vec![]).kind(), "MakeMeasurement");
    assert_eq!(make(-1, vec![1.0]).kind(), "FailedMap");
    assert_eq!(make(1, vec![1.0, -1.0]).kind(), "FailedMap");
    assert!(make(1, vec![f64::NAN]).to_string().contains("d_mids"));
    let profile = opendp_core::PrivacyProfile::new(|_| Ok(0.5));
    let smooth = TheMeasure(SmoothedMaxDivergence);
    let error = make_adaptive_composition(numbers(), smooth, 1, vec![profile]).unwrap_err();
    assert!(error.kind() == "NotImplemented", "{error}");
    assert!(error.to_string().starts_with("argument `output_measure`: "), "{error}");
}
#[test]
fn a_distance_without_neighbours_is_refused() {
    let made = make_adaptive_composition(numbers(), TheMeasure(MaxDivergence), 0, vec![1.0]);
    let error = made.unwrap_err();
    assert!(
        error.kind() == "FailedMap" && error.to_string().contains("distance above 0"),
        "{error}"
    );
}
