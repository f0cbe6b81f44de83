use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use opendp_core::arith::Exact;
use opendp_core::erased::AnyValue;
use opendp_core::random::{Failing, RandomSource};
use opendp_core::{
    AbsoluteDistance, Approximate, AtomDomain, MaxDivergence, Queryable, RenyiCurve,
    RenyiDivergence, Space, TheMeasure, ZeroConcentratedDivergence,
};

use super::*;
use crate::{
    Scale, make_adaptive_composition, make_composition, make_fully_adaptive_composition,
    make_gaussian, make_laplace,
};

mod threads;

type Numbers = AtomDomain<i32>;
type Change = AbsoluteDistance<i32>;
type Talk<MO> = Session<Numbers, Change, MO>;
type Question<MO, TO> = Measurement<Numbers, Change, MO, TO>;

fn numbers() -> Space<Numbers, Change> {
    Space::new(AtomDomain::default(), AbsoluteDistance::new()).unwrap()
}
fn filter<MO: Measure>(measure: MO, d_out: MO::Distance) -> Question<MO, Talk<MO>> {
    let odometer = make_fully_adaptive_composition(numbers(), TheMeasure(measure)).unwrap();
    make_privacy_filter(odometer, 1, d_out).unwrap()
}
fn session(budget: f64) -> Talk<MaxDivergence> {
    filter(MaxDivergence, budget).invoke(&7).unwrap()
}
fn laplace(scale: f64) -> Question<MaxDivergence, i32> {
    make_laplace(numbers(), Scale::new(scale).unwrap(), None).unwrap()
}
/// Make a question with a given loss and the answer 0.
fn costing<MO: Measure>(measure: MO, loss: MO::Distance) -> Question<MO, i32> {
    let map = PrivacyMap::new(move |_| Ok(loss.clone()));
    Measurement::new(numbers(), measure, Function::map(|_| Ok(0)), map)
}
fn costing_exactly(loss: Exact) -> Question<MaxDivergence, i32> {
    let up = loss.to_f64_up();
    let map = PrivacyMap::new(move |_| Ok(up)).with_exact(move |_| Ok(vec![loss.clone()]));
    Measurement::new(numbers(), MaxDivergence, Function::map(|_| Ok(0)), map)
}
fn refused<T: std::fmt::Debug>(answer: Result<T>) {
    assert_eq!(answer.unwrap_err().kind(), "BudgetExceeded");
}

#[test]
fn ten_tenths_exhaust_one_and_an_eleventh_is_refused() {
    let session = session(1.0);
    for asked in 0..10 {
        let left: f64 = session.left().unwrap();
        assert_eq!(left, Exact::from_f64(1.0).unwrap().minus(&tenths(asked)).to_f64_down());
        session.ask(&laplace(10.0)).unwrap();
    }
    assert_eq!((session.left().unwrap(), session.loss(&1).unwrap()), (0.0, 1.0));
    refused(session.ask(&laplace(10.0)));
    refused(session.ask(&laplace(1e300)));
    // A question without loss is answered, even if no budget remains.
    session.ask(&costing(MaxDivergence, 0.0)).unwrap();
    // The control: the float 0.1 is above 1/10, so ten losses that are equal to this float exceed 1
    // in total. Only nine such losses are within the budget.
    let floats = self::session(1.0);
    let fit = (0..11).filter(|_| floats.ask(&costing(MaxDivergence, 0.1)).is_ok()).count();
    assert_eq!(fit, 9);
}
fn tenths(count: u32) -> Exact {
    format!("{}e-1", count).parse().unwrap()
}
#[test]
fn any_order_of_tenths_fits_into_one() {
    // The losses are 0.1, 0.2, 0.4 and 3/10. Laplace noise with the loss 3/10 has the scale 10/3,
    // which is not a float. So the last question states its exact loss directly.
    let questions = [laplace(10.0), laplace(5.0), laplace(2.5), costing_exactly(tenths(3))];
    for code in 0..256_usize {
        let order = [code % 4, code / 4 % 4, code / 16 % 4, code / 64];
        if (0..4).all(|i| order.contains(&i)) {
            let session = session(1.0);
            for i in order {
                session.ask(&questions[i]).unwrap();
            }
            assert_eq!((session.left().unwrap(), session.loss(&1).unwrap()), (0.0, 1.0));
        }
    }
}
#[test]
fn compositions_and_gaussians_are_exact_too() {
    let both = make_composition(vec![laplace(10.0); 10]).unwrap();
    session(1.0).ask(&both).unwrap();
    let eighth: Question<ZeroConcentratedDivergence, i32> =
        make_gaussian(numbers(), Scale::new(5.0).unwrap(), None).unwrap();
    // Each question has the loss 1/50. No float equals this loss.
    let session = filter(ZeroConcentratedDivergence, 0.1).invoke(&7).unwrap();
    for _ in 0..5 {
        session.ask(&eighth).unwrap();
    }
    refused(session.ask(&eighth));
    assert_eq!(session.loss(&1).unwrap(), 0.1);
}
#[test]
fn keeps_the_test_vectors() {
    let filter = filter(MaxDivergence, 1.0);
    assert_eq!((filter.map(&0).unwrap(), filter.map(&1).unwrap()), (1.0, 1.0));
    assert_eq!(filter.map(&2).unwrap_err().kind(), "FailedMap");
    assert_eq!(filter.map(&-1).unwrap_err().kind(), "FailedMap");
    assert_eq!(filter.exact_map(&2).unwrap_err().kind(), "FailedMap");
    let session = filter.invoke(&7).unwrap();
    assert_eq!(session.loss(&2).unwrap_err().kind(), "FailedMap");
    assert_eq!(session.loss(&0).unwrap(), 0.0);
}
#[test]
fn a_refusal_changes_nothing_and_smaller_questions_go_on() {
    let session = session(1.0);
    session.ask(&laplace(2.0)).unwrap();
    for _ in 0..3 {
        refused(session.ask(&laplace(1.0)));
        assert_eq!(session.left().unwrap(), 0.5);
    }
    let bounds = opendp_core::Bounds::new(0, 9).unwrap();
    let other = Space::new(AtomDomain::bounded(bounds), Change::new()).unwrap();
    let other = make_laplace(other, Scale::new(10.0).unwrap(), None).unwrap();
    // In the error, `expected` is the domain of the session, and `found` is the domain of the
    // question.
    let Err(Error::DomainMismatch { expected, found }) = session.ask(&other) else { panic!() };
    assert!(!expected.contains("bounds") && found.contains("bounds"), "{expected} {found}");
    assert_eq!(session.left().unwrap(), 0.5);
    session.ask(&laplace(2.0)).unwrap();
    assert_eq!(session.left().unwrap(), 0.0);
}
#[test]
fn an_adaptive_analyst_who_asks_for_a_hair_more_is_refused() {
    let hair = Exact::from_f64(f64::EPSILON / 256.0).unwrap(); // 2^-60
    for first in [1.5, 3.0, 7.0, 1e9] {
        let session = session(1.0);
        session.ask(&laplace(first)).unwrap();
        let spent = laplace(first).exact_map(&1).unwrap()[0].clone();
        let left = Exact::from_f64(1.0).unwrap().minus(&spent);
        assert_eq!(session.left().unwrap(), left.to_f64_down());
        refused(session.ask(&costing_exactly(left.plus(&hair))));
        session.ask(&costing_exactly(left)).unwrap();
        refused(session.ask(&costing_exactly(hair.clone())));
    }
}
#[test]
fn nothing_comes_back_when_the_entropy_ends() {
    let attempts = Arc::new(AtomicUsize::new(0));
    let (counted, session) = (attempts.clone(), session(1.0));
    let function = Function::map(move |_: &i32| {
        counted.fetch_add(1, Ordering::SeqCst);
        Ok(i32::try_from(Failing::default().word()? % 7).unwrap_or(0))
    });
    let map = PrivacyMap::new(|_| Ok(0.5));
    let broken = Measurement::new(numbers(), MaxDivergence, function, map);
    for left in [0.5, 0.0] {
        assert_eq!(session.ask(&broken).unwrap_err(), Error::NoEntropy);
        assert_eq!(session.left().unwrap(), left, "the charge stays");
    }
    refused(session.ask(&broken));
    assert_eq!(attempts.load(Ordering::SeqCst), 2, "a refused question does not run");
    // The control: a question whose map fails is not charged.
    let fresh = self::session(1.0);
    let map = PrivacyMap::new(|_| Err(Error::FailedMap("no".into())));
    let unknown = Measurement::new(numbers(), MaxDivergence, Function::map(|_| Ok(0)), map);
    assert_eq!(fresh.ask(&unknown).unwrap_err().kind(), "FailedMap");
    assert_eq!(fresh.left().unwrap(), 1.0);
}
#[test]
fn a_question_that_panics_stays_charged_and_others_go_on() {
    let session = session(1.0);
    let map = PrivacyMap::new(|_| Ok(0.5));
    let function = Function::map(|x: &i32| -> Result<i32> { panic!("{}", x - x) });
    let panics = Measurement::new(numbers(), MaxDivergence, function, map);
    let ask = std::panic::AssertUnwindSafe(|| session.ask(&panics));
    assert!(std::panic::catch_unwind(ask).is_err());
    assert_eq!(session.left().unwrap(), 0.5);
    session.ask(&laplace(2.0)).unwrap();
}
#[test]
fn filters_in_every_measure_stop() {
    const DELTA: f64 = 1.0 / 1_048_576.0;
    let approximate = filter(Approximate(MaxDivergence), (1.0, DELTA)).invoke(&7).unwrap();
    let ask = |loss| approximate.ask(&costing(Approximate(MaxDivergence), loss));
    ask((0.5, DELTA / 2.0)).unwrap();
    refused(ask((0.75, 0.0)));
    refused(ask((0.0, DELTA)));
    ask((0.5, DELTA / 2.0)).unwrap();
    assert_eq!(approximate.left().unwrap(), (0.0, 0.0));

    let linear = |slope: f64| RenyiCurve::new(move |alpha| Ok(slope * alpha));
    let renyi = filter(RenyiDivergence, linear(1.0));
    assert_eq!(renyi.map(&1).unwrap().epsilon(2.0).unwrap(), 2.0);
    let renyi = renyi.invoke(&7).unwrap();
    renyi.ask(&costing(RenyiDivergence, linear(0.75))).unwrap();
    refused(renyi.ask(&costing(RenyiDivergence, linear(0.5))));
    renyi.ask(&costing(RenyiDivergence, linear(0.25))).unwrap();
    assert_eq!(renyi.loss(&1).unwrap().epsilon(4.0).unwrap(), 4.0);
}
#[test]
fn refuses_what_is_no_distance() {
    let odometer =
        || make_fully_adaptive_composition(numbers(), TheMeasure(MaxDivergence)).unwrap();
    assert_eq!(make_privacy_filter(odometer(), -1, 1.0).unwrap_err().kind(), "FailedMap");
    for bad in [-1.0, f64::NAN] {
        let error = make_privacy_filter(odometer(), 1, bad).unwrap_err();
        assert!(error.kind() == "InvalidDistance" && error.to_string().contains("d_out"));
    }
}
#[test]
fn a_conversation_is_charged_in_full_when_it_begins() {
    let session = session(1.0);
    let plan = make_adaptive_composition(numbers(), TheMeasure(MaxDivergence), 1, vec![0.25; 3]);
    let child = session.ask(&plan.unwrap()).unwrap();
    assert_eq!(session.left().unwrap(), 0.25);
    let inner = filter(MaxDivergence, 0.25);
    let sibling = session.ask(&inner).unwrap();
    assert_eq!(session.left().unwrap(), 0.0);
    // Pure differential privacy allows interleaved conversations.
    for _ in 0..2 {
        child.ask(&laplace(4.0)).unwrap();
        sibling.ask(&laplace(8.0)).unwrap();
    }
    child.ask(&laplace(4.0)).unwrap();
    refused(child.ask(&laplace(4.0)));
    refused(sibling.ask(&laplace(8.0)));
}

/// Make a question that opens a conversation. Each answer in this conversation is again a
/// conversation, up to the given depth of nesting.
fn nest<MO: Measure>(measure: MO, loss: MO::Distance, depth: u32) -> Question<MO, AnyValue> {
    fn level(depth: u32) -> AnyValue {
        match depth {
            0 => AnyValue::new(1),
            _ => {
                AnyValue::new(Queryable::<i32, AnyValue>::stateless(move |_| Ok(level(depth - 1))))
            }
        }
    }
    let map = PrivacyMap::new(move |_| Ok(loss.clone()));
    Measurement::new(numbers(), measure, Function::map(move |_| Ok(level(depth))), map)
}
fn step(from: &AnyValue) -> Result<AnyValue> {
    from.downcast_ref::<Queryable<i32, AnyValue>>()?.ask(&0)
}
#[test]
fn siblings_are_sequential_where_nothing_better_is_proved() {
    let measure = Approximate(ZeroConcentratedDivergence);
    let session = filter(measure, (1.0, 0.0)).invoke(&7).unwrap();
    let question = nest(measure, (0.25, 0.0), 4);
    let child = session.ask(&question).unwrap();
    let grandchild = step(&child).unwrap();
    let great_grandchild = step(&grandchild).unwrap();
    assert!(step(&great_grandchild).is_ok());
    refused(session.ask(&nest(measure, (2.0, 0.0), 1)));
    assert!(step(&child).is_ok(), "a refused question must not end the earlier conversation");
    let sibling = session.ask(&question).unwrap();
    for stale in [&child, &grandchild, &great_grandchild] {
        let error = step(stale).unwrap_err();
        assert!(error.to_string().starts_with("a later query has begun"), "{error}");
    }
    assert!(step(&step(&sibling).unwrap()).is_ok());
    // If a conversation ends, all conversations that were opened in this conversation also end.
    let inner = filter(measure, (0.5, 0.0));
    let inner = session.ask(&inner).unwrap();
    let deep = inner.ask(&question).unwrap();
    assert!(step(&deep).is_ok() && step(&sibling).is_err());
    session.ask(&nest(measure, (0.0, 0.0), 1)).unwrap();
    assert!(step(&deep).is_err() && inner.ask(&question).is_err());
    // The control: if the measure allows interleaved conversations, a new conversation does not end
    // the earlier conversation.
    let pure = self::session(1.0);
    let (first, second) = (nest(MaxDivergence, 0.5, 2), nest(MaxDivergence, 0.5, 2));
    let (first, second) = (pure.ask(&first).unwrap(), pure.ask(&second).unwrap());
    assert!(step(&first).is_ok() && step(&second).is_ok() && step(&first).is_ok());
}
#[test]
fn of_a_plain_composition_only_the_last_conversation_goes_on() {
    let measure = Approximate(ZeroConcentratedDivergence);
    let both = make_composition(vec![nest(measure, (0.5, 0.0), 2); 2]).unwrap();
    let answers = both.invoke(&7).unwrap();
    assert!(step(&answers[0]).is_err() && step(&answers[1]).is_ok());
    let both = make_composition(vec![nest(MaxDivergence, 0.5, 2); 2]).unwrap();
    let answers = both.invoke(&7).unwrap();
    assert!(step(&answers[0]).is_ok() && step(&answers[1]).is_ok());
}
#[test]
fn erased_questions_are_answered_too() {
    let session = session(1.0);
    let answer = session.ask_erased(&laplace(2.0).erase()).unwrap();
    assert!(answer.downcast_ref::<i32>().is_ok());
    assert_eq!(session.left().unwrap(), 0.5);
    let rho = costing(ZeroConcentratedDivergence, 0.0).erase();
    assert_eq!(session.ask_erased(&rho).unwrap_err().kind(), "FailedCast");
    let filter = filter(MaxDivergence, 1.0).erase();
    let exact: Vec<Exact> = filter.exact_map(&opendp_core::erased::AnyDistance::new(1)).unwrap();
    assert_eq!(exact, [tenths(10)]);
    let opened = filter.invoke(&AnyValue::new(7)).unwrap();
    opened.downcast_ref::<Talk<MaxDivergence>>().unwrap().ask(&laplace(2.0)).unwrap();
}
#[test]
fn a_question_takes_as_long_after_many_as_after_few() {
    // The session stores only the sum of the losses, and not the list of the losses. The memory for
    // this sum is bounded, so the time to answer a question does not grow with the number of
    // questions. The sequence of questions repeats after 1,000 questions. So, up to rounding, the
    // loss of 20,000 questions is 20 times the loss of 1,000 questions.
    let account = |questions: u32| {
        let session = session(1e9);
        for i in 0..questions {
            session.ask(&laplace(f64::from(i % 1000) + 0.5)).unwrap();
        }
        (session.loss(&1).unwrap(), session.left().unwrap())
    };
    let (few, many) = (account(1_000), account(20_000));
    assert!(20.0 * few.0 - 1e-6 <= many.0 && many.0 <= 20.0 * few.0 + 1e-6);
    assert!(many.0 + many.1 <= 1e9 + 1e-6);
}
#[test]
fn a_distance_without_neighbours_is_refused() {
    let odometer = make_fully_adaptive_composition(numbers(), TheMeasure(MaxDivergence)).unwrap();
    let error = make_privacy_filter(odometer, 0, 1.0).unwrap_err();
    assert!(
        error.kind() == "FailedMap" && error.to_string().contains("distance above 0"),
        "{error}"
    );
}
/// A question of a session can select the highest score. So the session must not follow a step
/// whose lowest score is the best.
#[test]
fn a_session_states_that_it_can_select_the_highest_score() {
    let made = |input| {
        let plan = make_adaptive_composition(input, TheMeasure(MaxDivergence), 1, vec![1.0]);
        plan.unwrap().input().clone()
    };
    assert!(made(numbers()).selects_highest());
    assert!(filter(MaxDivergence, 1.0).input().selects_highest());
    // The control: if a space states that the lowest score is the best, the input space of the
    // session states the same.
    assert!(made(numbers().with_lowest_best()).lowest_is_best());
}
