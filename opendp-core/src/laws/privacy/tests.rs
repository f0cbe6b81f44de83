use super::*;
use crate::random::{RandomSource, Seeded, with_secure};
use crate::{AtomDomain, DiscreteDistance, Function, MaxDivergence, PrivacyMap, Space};

/// Report a bit. With probability `wrong / 16`, the reported bit is wrong.
fn report<S: RandomSource>(bit: bool, wrong: u64, source: &mut S) -> Result<bool, NoEntropy> {
    Ok(bit == (wrong <= source.word()? & 15))
}
fn chances(wrong: u64) -> (Chances<bool>, Chances<bool>) {
    let chances_of = |bit| Chances::of::<4>(1, |source| report(bit, wrong, source)).unwrap();
    (chances_of(true), chances_of(false))
}
fn ln(odds: f64) -> f64 {
    odds.inf_ln().unwrap()
}

#[test]
fn a_true_claim_is_accepted_and_a_smaller_one_refused() {
    let (x, y) = chances(4);
    assert_eq!((x.count(&true), y.count(&true)), (12, 4));
    assert_eq!(Claim::epsilon(ln(3.0)).exactly(&x, &y), Ok(4));
    let refused = Claim::epsilon(ln(3.0) * 0.999_999).exactly(&x, &y).unwrap_err();
    assert!(refused.contains("x and y"), "{refused}");
    // `sure` is always `true`, and `unsure` is `true` with probability 1/2. So the loss is ln 2 in
    // one direction, and infinite in the other direction. The check compares both directions, so it
    // finds the infinite loss for each order of its arguments.
    let (sure, unsure) = (chances(0).0, chances(8).0);
    for (first, second) in [(&sure, &unsure), (&unsure, &sure)] {
        assert!(Claim::epsilon(30.0).exactly(first, second).is_err());
    }
}
#[test]
fn a_delta_is_the_mass_that_may_exceed() {
    // The release is `Some(bit)` in one of 16 cases, and `None` otherwise. `Some(bit)` reveals the
    // bit, so the smallest delta is 1/16 = 0.0625 at every epsilon.
    let chances_of = |bit: u64| {
        Chances::of::<4>(1, |source| Ok(if source.word()? == 0 { Some(bit) } else { None }))
    };
    let (x, y) = (chances_of(0).unwrap(), chances_of(1).unwrap());
    assert!(Claim::epsilon_delta(0.0, 1.0 / 16.0).exactly(&x, &y).is_ok());
    assert!(Claim::epsilon_delta(5.0, 0.062).exactly(&x, &y).is_err());
}
#[test]
fn tapes_that_end_too_early_raise_no_false_alarm_and_hide_no_claim() {
    // In a quarter of the cases, the mechanism reads a second word, which the tape does not have.
    let chances_of = |bit: bool| {
        Chances::of::<2>(1, |source| {
            if source.word()? == 0 {
                source.word()?;
            }
            Ok(bit)
        })
    };
    let (x, y) = (chances_of(true).unwrap(), chances_of(true).unwrap());
    assert!(Claim::epsilon(0.0).exactly(&x, &y).is_ok());
    assert!(Claim::epsilon(0.5).exactly(&x, &chances_of(false).unwrap()).is_err());
    let never = Chances::of::<2>(1, |source| source.word().and_then(|_| source.word())).unwrap();
    assert!(Claim::epsilon(9.0).exactly(&never, &never).unwrap_err().contains("too early"));
    assert!(Chances::of::<8>(9, |source| source.word()).is_err());
}
#[test]
fn draws_refute_a_mechanism_with_less_noise_than_claimed() {
    let draw = |wrong: u64, seed: u64| {
        let mut source = Seeded::<64>::new(seed);
        move |bit| Ok(report(bit, wrong, &mut source)?)
    };
    let trial = Trial { draws: 20_000, ..Trial::default() };
    let claim = Claim::epsilon(ln(3.0));
    let test = |wrong| {
        let (mut x, mut y) = (draw(wrong, 1), draw(wrong, 2));
        let yes: &dyn Fn(&bool) -> bool = &|bit| *bit;
        let events = claim.by_draws(trial, || x(true), || y(false), &[yes]);
        // `by_releases` chooses the events from draws. For this mechanism, `by_releases` gives the
        // same verdict as `by_draws` with the event `yes`.
        let (mut x, mut y) = (draw(wrong, 3), draw(wrong, 4));
        let found = claim.by_releases(trial, || x(true), || y(false));
        assert_eq!(events.is_ok(), found.is_ok(), "{events:?} {found:?}");
        events
    };
    let honest = test(4).unwrap();
    assert!(1.0 < honest.epsilon && honest.epsilon < ln(3.0), "{honest:?}");
    assert!(test(3).unwrap_err().contains("event 0"));
}
#[test]
fn a_true_claim_is_refuted_as_rarely_as_stated() {
    let claim = Claim::epsilon(ln(3.0));
    let alarms = |false_alarm: f64, wrong: u64| {
        let trial = Trial { draws: 60, false_alarm };
        let broken = |seed: u64| {
            let mut source = (Seeded::<64>::new(2 * seed), Seeded::<64>::new(2 * seed + 1));
            let yes: &dyn Fn(&bool) -> bool = &|bit| *bit;
            let x = || Ok(report(true, wrong, &mut source.0)?);
            let y = || Ok(report(false, wrong, &mut source.1)?);
            claim.by_draws(trial, x, y, &[yes]).is_err()
        };
        (0..400).filter(|seed| broken(*seed)).count()
    };
    // A trial gives a false alarm with probability at most 0.5. So 400 trials give at most 200
    // false alarms on average. The seeds are fixed, so the assertion has the same result in each
    // run.
    assert!(alarms(0.5, 4) <= 200);
    // The control: a false claim is refuted.
    assert!(350 < alarms(0.5, 1));
}
#[test]
fn a_measurement_is_compared_with_its_own_map() {
    let reported = |wrong: u64, claimed: f64| {
        let input = Space::new(AtomDomain::<bool>::default(), DiscreteDistance).unwrap();
        let function =
            Function::map(move |bit: &bool| Ok(with_secure(|source| report(*bit, wrong, source))?));
        let map = PrivacyMap::new(move |d_in: &u32| Ok(if *d_in == 0 { 0.0 } else { claimed }));
        Measurement::new(input, MaxDivergence, function, map)
    };
    let trial = Trial { draws: 20_000, ..Trial::default() };
    let honest = private(&reported(4, ln(3.0)), (&true, &false), trial).unwrap();
    assert!(0.8 < honest.epsilon, "{honest:?}");
    assert!(private(&reported(2, ln(3.0)), (&true, &false), trial).is_err());
    // The two inputs are equal, so the true epsilon is 0. The result is a lower bound on the true
    // epsilon, so it must not be far above 0.
    assert!(private(&reported(4, ln(3.0)), (&true, &true), trial).unwrap().epsilon < 0.1);
}
