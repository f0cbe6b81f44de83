//! Tests of the Renyi filter of an account.

use super::*;
use crate::accounting::concentrated_rho_of_pure;
use crate::accounting::renyi::{divergence_of_pure, renyi_limit};

#[test]
fn the_divergence_of_a_pure_loss_is_that_of_randomized_response() {
    for order in [1.25, 2.0, 7.5, 23.0, 400.0] {
        for epsilon in [0.01_f64, 0.3, 1.0, 5.0, 50.0] {
            // The logarithms of the two probabilities of randomized response.
            let likely = -(-epsilon).exp().ln_1p();
            let rare = likely - epsilon;
            let (a, b) =
                (order * likely + (1.0 - order) * rare, order * rare + (1.0 - order) * likely);
            let truth = (a.max(b) + (-(a - b).abs()).exp().ln_1p()) / (order - 1.0);
            let found = divergence_of_pure(order, epsilon).unwrap();
            assert!(truth - 1e-13 <= found, "{order} {epsilon}: {truth} {found}");
            let more = if order * epsilon < 700.0 { 1e-11 } else { 1e-3 };
            assert!(found <= truth * (1.0 + more) + 1e-13, "{order} {epsilon}: {truth} {found}");
        }
        // The divergence of a small pure loss is close to the divergence of a normal shift by this
        // loss. The check fails if the computation loses digits by cancellation.
        for epsilon in [1e-12, 1e-9, 1e-6] {
            let found = divergence_of_pure(order, epsilon).unwrap();
            let normal = order * epsilon * epsilon / 2.0;
            assert!((found / normal - 1.0).abs() < 1e-3, "{order} {epsilon}: {found} {normal}");
        }
        for epsilon in [1e-6, 0.1, 2.0] {
            let rho = concentrated_rho_of_pure(epsilon).unwrap();
            let found = divergence_of_pure(order, epsilon).unwrap();
            assert!(found <= order * rho * (1.0 + 1e-9), "{order} {epsilon}: {found} {rho}");
        }
    }
    assert_eq!(divergence_of_pure(3.0, 0.0).unwrap(), 0.0);
    assert_eq!(divergence_of_pure(3.0, f64::INFINITY).unwrap(), f64::INFINITY);
    assert!(divergence_of_pure(3.0, -0.1).is_err());
}
#[test]
fn the_limit_is_the_room_for_normal_shifts() {
    for (epsilon, delta) in [(0.1, 1e-9), (1.0, 1e-6), (1.0, 5e-7), (5.0, 1e-3), (30.0, 1e-12)] {
        let (order, limit) = renyi_limit(epsilon, delta).unwrap().unwrap();
        let rho = concentrated_rho(epsilon, delta).unwrap();
        assert!(limit <= order * rho && order * rho < limit * (1.0 + 1e-9), "{epsilon} {delta}");
        // Evaluate the bound on delta in plain floats, without directed rounding.
        let bound = |divergence: f64| {
            let log = (order - 1.0) * (divergence - epsilon) + order * (-1.0 / order).ln_1p();
            (log - (order - 1.0).ln()).exp()
        };
        assert!(bound(limit) <= delta * (1.0 + 1e-9), "{epsilon} {delta}");
        assert!(delta < bound(limit * 1.001), "{epsilon} {delta}");
    }
}
/// Charge equal pure losses one by one. Return the number of losses that the account admits.
fn admitted(account: &mut AdaptiveAccount, epsilon: f64) -> usize {
    (0..2000).take_while(|_| account.charge(&pure(epsilon, 0.0)).is_ok()).count()
}
#[test]
fn many_small_pure_losses_add_up_by_their_divergences() {
    for (part, least, highest) in [(20.0, 21, 21), (50.0, 115, 119), (100.0, 450, 463)] {
        let mut account = account(None);
        let count = admitted(&mut account, 1.0 / part);
        assert!((least..=highest).contains(&count), "{part}: {count}");
        let losses = vec![pure(1.0 / part, 0.0); count];
        assert!(composed(&losses) <= DELTA, "{part}");
        // The control: the composition of 1.5 times as many losses exceeds the budget.
        assert!(DELTA < composed(&vec![pure(1.0 / part, 0.0); count * 3 / 2]), "{part}");
        let (epsilon, delta) = account.spent().unwrap();
        assert!(epsilon <= exact(1.000_001) && delta <= exact(DELTA), "{epsilon} {delta}");
    }
    // After equal shares use up the budget, no filter has room for another loss of a similar size.
    let mut account = account(Some(400));
    for place in 0..400 {
        let room = account.room(&fraction(400 - place), Kind::Pure).unwrap();
        assert!(exact(4.2 / 400.0) < room.epsilon, "{place}: {}", room.epsilon);
        let epsilon = room.epsilon;
        account.charge(&AdaptiveLoss { epsilon, ..pure(0.0, 0.0) }).unwrap();
        account = AdaptiveAccount::from_json(&account.to_json()).unwrap();
    }
    assert!(!account.admits(&pure(1e-2, 0.0)));
}
#[test]
fn an_adversary_who_asks_for_other_kinds_after_a_pure_loss_stays_within_delta() {
    for part in [25.0, 100.0] {
        let mut account = account(None);
        account.charge(&pure(1.0 / part, 0.0)).unwrap();
        let mu = account.room(&fraction(1), Kind::Gaussian).unwrap().mu_squared;
        let rho = account.room(&fraction(1), Kind::Choice).unwrap().rho;
        let low = account.room(&fraction(1), Kind::Pure).unwrap().epsilon.to_f64_down();
        let low = low * (1.0 - 1e-9);
        assert!(account.admits(&pure(low, 0.0)), "{part}");
        let more = (2.0 * rho.to_f64_down()).sqrt();
        let delta = game_of_choices(1.0 / part, low, mu.to_f64_down().sqrt(), more);
        assert!(delta <= DELTA, "{part}: {delta}");
        // The control: with choices of four times the admitted `rho` (twice the `mu`), delta
        // exceeds `DELTA`.
        assert!(DELTA < game_of_choices(1.0 / part, low, 0.0, 2.0 * more), "{part}");
    }
}
#[test]
fn noise_after_a_small_pure_loss_loses_little_room() {
    let mut account = account(None);
    let fresh = account.room(&fraction(1), Kind::Gaussian).unwrap().mu_squared;
    account.charge(&pure(1e-9, 0.0)).unwrap();
    let room = account.room(&fraction(1), Kind::Gaussian).unwrap();
    let ratio = fresh.over(&room.mu_squared).to_f64_up().sqrt();
    assert!(1.0 < ratio && ratio < 1.045, "{ratio}");
    // After a large pure loss, the rest of epsilon remains for other pure losses.
    let mut account = super::account(None);
    account.charge(&pure(0.5, 0.0)).unwrap();
    assert!(account.admits(&pure(0.5, 0.0)) && account.admits(&pure(0.25, 3e-7)));
}
#[test]
fn a_filter_of_an_older_version_has_no_order_and_adds_up_rho() {
    let mut json = account(None).to_json();
    for way in json["ways"].as_array_mut().unwrap() {
        for filter in way["filters"].as_array_mut().unwrap() {
            filter.as_object_mut().unwrap().remove("order");
        }
    }
    let mut older = AdaptiveAccount::from_json(&json).unwrap();
    assert_ne!(older, account(None));
    // The first loss is a choice, so both accounts keep a concentrated filter. Such a filter limits
    // the sum of `2 rho`. In the newer account, this filter has an order, so it is a Renyi filter.
    // For a pure loss, a Renyi filter charges less than a filter without an order. So the newer
    // account admits more pure losses.
    let first = choice(&exact(1e-9), &exact(1e-9));
    let mut newer = account(None);
    for account in [&mut older, &mut newer] {
        account.charge(&first).unwrap();
    }
    let (old, new) = (admitted(&mut older, 0.04), admitted(&mut newer, 0.04));
    assert!((25..=30).contains(&old) && old < new, "{old} {new}");
    // An order must be above 1, and only a concentrated filter can have an order.
    for (place, order) in [(0, "3"), (4, "1"), (4, "1/2"), (4, "x")] {
        let mut json = account(None).to_json();
        json["ways"][1]["filters"][place]["order"] = order.into();
        assert!(AdaptiveAccount::from_json(&json).is_err(), "{place} {order}");
    }
}
#[test]
fn a_pure_loss_with_all_the_room_is_admitted_for_every_delta() {
    for releases in [Some(1), Some(2), None] {
        for (epsilon, delta) in [(1e-9, 0.9), (1.0, 1e-6), (1.0, 0.2), (1.0, 0.5), (5.0, 0.999)] {
            let account = AdaptiveAccount::new(&exact(epsilon), &exact(delta), releases).unwrap();
            let room = account.room(&fraction(1), Kind::Pure).unwrap().epsilon;
            assert!(exact(epsilon) <= room, "{releases:?} {epsilon} {delta}");
            let loss = AdaptiveLoss { epsilon: room, ..pure(0.0, 0.0) };
            assert!(account.admits(&loss), "{releases:?} {epsilon} {delta}");
        }
    }
}
