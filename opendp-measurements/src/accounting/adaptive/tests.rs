mod renyi;

use std::sync::Arc;

use opendp_core::arith::DirectedFloat;
use opendp_core::random::{RandomSource, Seeded};

use super::super::{
    Account, GaussianPair, PrivatePair, concentrated_rho, gaussian_mu, joined_epsilon,
    mu_squared_of_choices, normal_tail,
};
use super::*;

const EPSILON: f64 = 1.0;
const DELTA: f64 = 1e-6;

fn exact(value: f64) -> Exact {
    Exact::written(value).unwrap()
}
fn account(releases: Option<usize>) -> AdaptiveAccount {
    AdaptiveAccount::new(&exact(EPSILON), &exact(DELTA), releases).unwrap()
}
fn fraction(count: usize) -> Share {
    Share::Fraction(exact(1.0).over(&exact(count as f64)))
}
fn pure(epsilon: f64, delta: f64) -> AdaptiveLoss {
    let (epsilon, delta) = (exact(epsilon), Exact::from_f64(delta).unwrap());
    AdaptiveLoss { epsilon, delta, mu_squared: None, rho: None }
}
/// Make the loss of a Gaussian release from its `mu^2`. The loss also contains the epsilon of the
/// release at the given delta.
fn gaussian(square: &Exact, delta: &Exact) -> AdaptiveLoss {
    let mu = square.to_f64_up().inf_sqrt().unwrap();
    let delta = delta.to_f64_down();
    let epsilon = exact(joined_epsilon(0.0, mu, delta).unwrap());
    let delta = Exact::from_f64(delta).unwrap();
    AdaptiveLoss { epsilon, delta, mu_squared: Some(square.clone()), rho: None }
}
/// Make the loss of choices by Gumbel noise from their `rho`.
fn choice(rho: &Exact, delta: &Exact) -> AdaptiveLoss {
    let square = mu_squared_of_choices(rho).unwrap();
    AdaptiveLoss { rho: Some(rho.clone()), ..gaussian(&square, delta) }
}
/// Charge the account for a count with Gaussian noise. The count uses up a share of the remaining
/// budget. Return the scale of the noise.
fn spend_on_noise(account: &mut AdaptiveAccount, share: &Share) -> f64 {
    let room = account.room(share, Kind::Gaussian).unwrap();
    account.charge(&gaussian(&room.mu_squared, &room.delta)).unwrap();
    1.0 / room.mu_squared.to_f64_down().sqrt()
}

#[test]
fn even_shares_of_gaussian_noise_are_one_release_of_all() {
    let all = gaussian_mu(EPSILON, DELTA).unwrap();
    for (releases, limit) in [(1, 4.226), (10, 13.5), (100, 42.7), (400, 85.4)] {
        let mut account = account(Some(releases));
        for place in 0..releases {
            let scale = spend_on_noise(&mut account, &fraction(releases - place));
            let best = (releases as f64).sqrt() / all.lower;
            assert!(best <= scale * (1.0 + 1e-9) && scale < best * 1.008, "{scale} {best}");
            assert!(scale <= limit, "{releases}: {scale}");
        }
        let some = gaussian(&exact(1e-6), &exact(1e-8));
        assert_eq!(account.charge(&some).unwrap_err().kind(), "BudgetExceeded");
        assert!(account.left().unwrap().0.to_f64_down() < 1e-3);
        let (epsilon, delta) = account.spent().unwrap();
        assert!(epsilon <= exact(1.000_001) && delta <= exact(DELTA), "{epsilon} {delta}");
    }
}
#[test]
fn a_few_pure_losses_share_epsilon_and_many_share_mu() {
    let mut few = account(Some(5));
    for place in 0..5 {
        let room = few.room(&fraction(5 - place), Kind::WithDelta).unwrap();
        assert_eq!(room.epsilon, "0.2".parse().unwrap());
        few.charge(&AdaptiveLoss { epsilon: room.epsilon, delta: room.delta, ..pure(0.0, 0.0) })
            .unwrap();
    }
    assert!(few.left().unwrap().0.is_zero() && few.spent().unwrap().0 == exact(1.0));
    assert!(few.charge(&pure(1e-9, 0.0)).is_err());
    let mut many = account(Some(400));
    for place in 0..400 {
        let room = many.room(&fraction(400 - place), Kind::Pure).unwrap();
        assert!(exact(4.2 / 400.0) < room.epsilon, "{}", room.epsilon);
        many.charge(&AdaptiveLoss { delta: Exact::ZERO, ..pure(room.epsilon.to_f64_down(), 0.0) })
            .unwrap();
    }
    assert!(many.charge(&pure(1e-2, 0.0)).is_err());
}
#[test]
fn amounts_add_up_to_the_budget() {
    // Charge a tenth of the budget ten times. There are three cases: Gaussian noise, losses with a
    // delta, and both kinds in alternation.
    let tenth = Share::Amount("0.1".parse().unwrap(), "1e-7".parse().unwrap());
    for kinds in [[Kind::Gaussian; 2], [Kind::WithDelta; 2], [Kind::WithDelta, Kind::Gaussian]] {
        let mut account = account(None);
        for place in 0..10 {
            let kind = kinds[place % 2];
            let room = account.room(&tenth, kind).unwrap();
            account
                .charge(&match kind {
                    Kind::Gaussian => gaussian(&room.mu_squared, &room.delta),
                    _ => pure(room.epsilon.to_f64_down(), room.delta.to_f64_down()),
                })
                .unwrap();
        }
    }
    // For each of three kinds of releases, open a new account. The first release of the account
    // uses up the whole budget.
    let all = Share::Amount(exact(EPSILON), exact(DELTA));
    for kind in [Kind::Gaussian, Kind::Pure, Kind::WithDelta] {
        let mut account = account(None);
        let room = account.room(&all, kind).unwrap();
        match kind {
            Kind::Gaussian => {
                assert!(4.2 < 1.0 / room.mu_squared.to_f64_down().sqrt());
                assert!(1.0 / room.mu_squared.to_f64_down().sqrt() < 4.27);
                account.charge(&gaussian(&room.mu_squared, &room.delta)).unwrap();
            }
            _ => account.charge(&pure(1.0, room.delta.to_f64_down())).unwrap(),
        }
    }
    // If noise uses up a tenth of the budget, about nine tenths of epsilon remain.
    let mut account = account(None);
    let room = account.room(&tenth, Kind::Gaussian).unwrap();
    account.charge(&gaussian(&room.mu_squared, &room.delta)).unwrap();
    assert!(exact(0.89) < account.left().unwrap().0);
}
/// Compute the delta of all releases at `EPSILON`, with an `Account`, which has no filters.
fn composed(losses: &[AdaptiveLoss]) -> f64 {
    let (mut account, mut delta) = (Account::new(), 0.0);
    for loss in losses {
        account = match &loss.mu_squared {
            // The losses of a choice of range `r` can be `r / 2` and `-r / 2`.
            Some(_) if loss.rho.is_some() => {
                let rho = loss.rho.as_ref().unwrap().to_f64_up();
                let epsilon = (8.0 * rho).sqrt() / 2.0;
                account.with(Arc::new(PrivatePair { epsilon, delta: 0.0 }), 1)
            }
            Some(square) => {
                account.with(Arc::new(GaussianPair { mu: square.to_f64_up().sqrt() }), 1)
            }
            None => {
                delta += loss.delta.to_f64_up();
                let epsilon = loss.epsilon.to_f64_up();
                account.with(Arc::new(PrivatePair { epsilon, delta: 0.0 }), 1)
            }
        };
    }
    delta + account.delta(EPSILON).unwrap().lower
}
#[test]
fn releases_of_all_kinds_stay_within_the_budget_of_an_independent_account() {
    let mut source = Seeded::<64>::new(11);
    for round in 0..12 {
        let releases = [3, 8, 20, 60][round % 4];
        let mut account = account(Some(releases).filter(|_| round % 3 != 0));
        let mut admitted = Vec::new();
        for place in 0..releases {
            let word = source.word().unwrap();
            // Some releases get more than an equal share of the budget.
            let share = fraction((releases - place).div_ceil(1 + (word >> 8) as usize % 3));
            let kinds = [Kind::Gaussian, Kind::Pure, Kind::WithDelta, Kind::Choice];
            let kind = kinds[word as usize % 4];
            let room = account.room(&share, kind).unwrap();
            let loss = match kind {
                Kind::Gaussian => gaussian(&room.mu_squared, &room.delta),
                // The simple filter charges the stated epsilon of a choice. This epsilon is rounded
                // up. So let the choice use slightly less than the whole room.
                Kind::Choice => choice(&room.rho.times(&exact(0.999_99)), &room.delta),
                Kind::Pure => pure(room.epsilon.to_f64_down(), 0.0),
                Kind::WithDelta => pure(room.epsilon.to_f64_down(), room.delta.to_f64_down()),
            };
            if account.charge(&loss).is_ok() {
                admitted.push(loss);
            }
        }
        let delta = composed(&admitted);
        assert!(delta <= DELTA * (1.0 + 1e-9), "{round}: {delta} {}", admitted.len());
        assert!(releases / 2 < admitted.len(), "{round}");
        let (epsilon, spent) = account.spent().unwrap();
        assert!(epsilon <= exact(1.000_002) && spent <= exact(DELTA * (1.0 + 1e-9)));
    }
    // The control: if each of the four losses below occurs twice, the delta of the composition
    // exceeds `DELTA`.
    let mut account = account(Some(4));
    let mut losses = Vec::new();
    for place in 0..4 {
        let room = account.room(&fraction(4 - place), Kind::Gaussian).unwrap();
        losses.push(gaussian(&room.mu_squared, &room.delta));
        account.charge(&losses[place]).unwrap();
    }
    losses.extend(losses.clone());
    assert!(DELTA * 10.0 < composed(&losses));
}

/// Compute delta of a normal shift by `mu` at a positive or negative epsilon.
fn shifted(mu: f64, epsilon: f64) -> f64 {
    if mu == 0.0 {
        return (1.0 - epsilon.exp()).max(0.0);
    }
    let tail = |x: f64| normal_tail(x).unwrap().lower;
    tail(epsilon / mu - mu / 2.0) - epsilon.exp() * tail(epsilon / mu + mu / 2.0)
}
/// Compute the delta of two releases that an adversary chooses. The adversary first requests a
/// release with Gaussian noise of `mu`. After the answer, the adversary requests a release with the
/// loss `pure`, or a release with Gaussian noise whose `mu` is `more`.
fn game(mu: f64, pure: f64, more: f64) -> f64 {
    let p = 1.0 / (1.0 + (-pure).exp());
    let steps = 600;
    (-steps..steps)
        .map(|step| {
            let z = f64::from(step) * 9.0 / f64::from(steps);
            let mass = 0.398_942_280_401_432_7 * (-z * z / 2.0).exp() * 9.0 / f64::from(steps);
            let left = EPSILON - (mu * mu / 2.0 + mu * z);
            let takes = p * shifted(0.0, left - pure) + (1.0 - p) * shifted(0.0, left + pure);
            mass * takes.max(shifted(more, left))
        })
        .sum()
}
#[test]
fn an_adversary_who_changes_the_kind_in_view_of_answers_stays_within_delta() {
    for part in [2, 10] {
        let mut account = account(None);
        let first = account.room(&fraction(part), Kind::Gaussian).unwrap();
        account.charge(&gaussian(&first.mu_squared, &first.delta)).unwrap();
        let more = account.room(&fraction(1), Kind::Gaussian).unwrap().mu_squared;
        // Find the largest pure loss that the account admits.
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..40 {
            let middle = (low + high) / 2.0;
            if account.admits(&pure(middle, 0.0)) { low = middle } else { high = middle }
        }
        let mu = |square: &Exact| square.to_f64_down().sqrt();
        let delta = game(mu(&first.mu_squared), low, mu(&more));
        assert!(delta <= DELTA, "{part}: {delta}");
        assert!(0.1 < low, "{low}");
        // In the control, all of delta is for the Gaussian filter. The simple filter gets the
        // epsilon that remains after the first release. If the second release is fixed in advance,
        // the delta of both releases is at most `DELTA`. If the first release is large enough, and
        // the adversary chooses the second release after the first answer, delta exceeds `DELTA`.
        let all = gaussian_mu(EPSILON, DELTA).unwrap().lower;
        let first = all / f64::from(part as u32).sqrt();
        let rest = (all * all - first * first).sqrt();
        let left = EPSILON - joined_epsilon(0.0, first, DELTA).unwrap();
        assert!(game(first, 0.0, rest) < DELTA * 1.001 && game(first, left, 0.0) <= DELTA);
        assert!(part > 3 || DELTA * 1.02 < game(first, left, rest));
    }
}
/// Compute the delta of the releases that an adversary chooses. The adversary first requests a
/// choice with the losses `first` and `-first`. After the answer, the adversary requests a release
/// with a pure loss, a release with Gaussian noise of `mu`, or many small choices. Together, the
/// small choices are close to Gaussian noise whose `mu` is `more`.
fn game_of_choices(first: f64, pure: f64, mu: f64, more: f64) -> f64 {
    let p = 1.0 / (1.0 + (-first).exp());
    let part = |mass: f64, loss: f64| {
        let left = EPSILON - loss;
        let likely = 1.0 / (1.0 + (-pure).exp());
        let takes = likely * shifted(0.0, left - pure) + (1.0 - likely) * shifted(0.0, left + pure);
        mass * takes.max(shifted(mu, left)).max(shifted(more, left))
    };
    part(p, first) + part(1.0 - p, -first)
}
#[test]
fn an_adversary_who_asks_for_other_kinds_after_a_choice_stays_within_delta() {
    for part in [2, 10, 100] {
        let mut account = account(None);
        let first = account.room(&fraction(part), Kind::Choice).unwrap();
        account.charge(&choice(&first.rho, &first.delta)).unwrap();
        let mu = account.room(&fraction(1), Kind::Gaussian).unwrap().mu_squared;
        let rho = account.room(&fraction(1), Kind::Choice).unwrap().rho;
        let mut low = account.room(&fraction(1), Kind::Pure).unwrap().epsilon.to_f64_down();
        low *= 1.0 - 1e-9;
        assert!(account.admits(&pure(low, 0.0)), "{part}");
        // A choice of range `r` has `rho = r^2 / 8`. Many small choices are close to Gaussian noise
        // of `mu^2 = 2 rho`.
        let half = |rho: &Exact| (8.0 * rho.to_f64_down()).sqrt() / 2.0;
        let more = (2.0 * rho.to_f64_down()).sqrt();
        let delta = game_of_choices(half(&first.rho), low, mu.to_f64_down().sqrt(), more);
        assert!(delta <= DELTA, "{part}: {delta}");
        // The control: with choices of four times the admitted `rho`, delta exceeds `DELTA`.
        let twice = game_of_choices(half(&first.rho), low, 0.0, 2.0 * more);
        assert!(DELTA < twice, "{part}: {twice}");
    }
}
#[test]
fn what_is_no_budget_is_refused_and_no_delta_leaves_pure_losses() {
    let refusal = |epsilon, delta| AdaptiveAccount::new(&epsilon, &exact(delta), None).unwrap_err();
    assert_eq!(refusal(Exact::INFINITY, 1e-6).kind(), "InvalidDistance");
    assert_eq!(refusal(exact(1.0), 1.0).kind(), "InvalidDistance");
    let mut account = AdaptiveAccount::new(&exact(1.0), &Exact::ZERO, Some(4)).unwrap();
    assert!(account.room(&fraction(4), Kind::Gaussian).unwrap().mu_squared.is_zero());
    assert_eq!(account.room(&fraction(4), Kind::Pure).unwrap().epsilon, exact(0.25));
    assert!(account.charge(&pure(0.5, 1e-9)).is_err());
    account.charge(&pure(1.0, 0.0)).unwrap();
    assert_eq!(account.charge(&pure(1e-9, 0.0)).unwrap_err().kind(), "BudgetExceeded");
    assert!(account.left().unwrap().0.is_zero());
}
#[test]
fn a_reserved_filter_has_room_for_the_whole_budget_and_no_more() {
    for (reserved, deltas) in [(0.0, 0.0), (0.3, 1e-7), (0.9, 0.0), (1.0, 5e-7)] {
        let (sum, all) = (exact(reserved), exact(deltas));
        let mut account =
            AdaptiveAccount::reserving(&exact(EPSILON), &exact(DELTA), &sum, &all).unwrap();
        let room = account.filters().pop().unwrap();
        assert_eq!((&room.epsilon, &room.delta), (&sum, &all));
        let losses = [
            AdaptiveLoss { epsilon: sum, delta: all, ..pure(0.0, 0.0) },
            gaussian(&room.mu_squared, &exact(1e-9)),
        ];
        for loss in losses.iter().take(if room.mu_squared.is_zero() { 1 } else { 2 }) {
            account.charge(loss).unwrap();
        }
        let delta = composed(&losses);
        assert!(delta <= DELTA * (1.0 + 1e-9), "{reserved}: {delta}");
        assert!(0.999 * DELTA < delta || reserved == 1.0, "{reserved}: {delta}");
        assert!(account.charge(&pure(1e-3, 0.0)).is_err());
        assert!(account.charge(&gaussian(&exact(1e-9), &exact(1e-9))).is_err());
    }
    // A small pure loss fills the whole room for pure losses. This loss is charged as a pure loss
    // and not as a `mu^2`, both before and after the Gaussian release.
    for gaussian_first in [false, true] {
        let mut account =
            AdaptiveAccount::reserving(&exact(EPSILON), &exact(DELTA), &exact(0.05), &Exact::ZERO)
                .unwrap();
        let room = account.filters().pop().unwrap();
        let mut losses = [pure(0.05, 0.0), gaussian(&room.mu_squared, &exact(1e-9))];
        if gaussian_first {
            losses.reverse();
        }
        for loss in &losses {
            account.charge(loss).unwrap();
            account = AdaptiveAccount::from_json(&account.to_json()).unwrap();
        }
        assert!(composed(&losses) <= DELTA * (1.0 + 1e-9));
    }
    let (unit, double) = (exact(1.0), exact(2.0));
    assert!(AdaptiveAccount::reserving(&unit, &exact(DELTA), &double, &exact(0.0)).is_err());
    assert!(AdaptiveAccount::reserving(&unit, &exact(DELTA), &unit, &exact(0.5)).is_err());
}
#[test]
fn many_choices_share_rho_and_get_less_noise_than_by_mu() {
    let all = gaussian_mu(EPSILON, DELTA).unwrap().lower;
    for releases in [1, 30, 400] {
        let mut account = account(Some(releases));
        let (mut losses, mut sum) = (Vec::new(), 0.0);
        for place in 0..releases {
            let room = account.room(&fraction(releases - place), Kind::Choice).unwrap();
            losses.push(choice(&room.rho, &room.delta));
            account.charge(&losses[place]).unwrap();
            sum += room.rho.to_f64_down();
            // An account that was written and read again continues with the same filters.
            account = AdaptiveAccount::from_json(&account.to_json()).unwrap();
        }
        let best = concentrated_rho(EPSILON, DELTA).unwrap();
        assert!(sum <= best * (1.0 + 1e-9) && best < sum * 1.07, "{releases}: {sum} {best}");
        // In units of `mu^2`, a Gaussian filter charges `pi rho` for a choice. A Renyi filter
        // charges only `2 rho`. The filters' limits differ by a smaller factor. So a Gaussian
        // filter with the whole delta admits a smaller sum of `rho` than a Renyi filter.
        assert!(all * all / std::f64::consts::PI * 1.28 < sum, "{releases}: {sum}");
        assert!(account.charge(&choice(&exact(1e-6), &exact(1e-9))).is_err());
        assert!(composed(&losses) <= DELTA, "{releases}");
        let (epsilon, delta) = account.spent().unwrap();
        assert!(epsilon <= exact(1.000_001) && delta <= exact(DELTA), "{epsilon} {delta}");
        // The control: twice as many choices exceed the budget. This is not checked for a single
        // choice of range `r`. The function `composed` uses the losses `r / 2` and `-r / 2`. With
        // these losses, the composition of two choices can stay within `DELTA`.
        losses.extend(losses.clone());
        assert!(releases == 1 || DELTA < composed(&losses), "{releases}");
    }
}
#[test]
fn noise_after_a_choice_loses_little_room() {
    let mut account = account(None);
    let fresh = account.room(&fraction(1), Kind::Gaussian).unwrap().mu_squared;
    account.charge(&choice(&exact(1e-9), &exact(1e-9))).unwrap();
    let room = account.room(&fraction(1), Kind::Gaussian).unwrap();
    let ratio = fresh.over(&room.mu_squared).to_f64_up().sqrt();
    assert!(1.0 < ratio && ratio < 1.045, "{ratio}");
    // Pure losses can still use up the whole epsilon, except for the small part of the choice.
    let left = account.room(&fraction(1), Kind::Pure).unwrap().epsilon;
    assert!(exact(0.99) < left && account.admits(&pure(left.to_f64_down(), 0.0)));
}
#[test]
fn an_account_of_an_older_version_charges_choices_by_their_mu() {
    // Older versions wrote only two ways to divide delta. These two ways have no concentrated
    // filters (filters that limit the sum of all `2 rho`).
    let mut json = account(None).to_json();
    json["ways"].as_array_mut().unwrap().remove(1);
    let older = AdaptiveAccount::from_json(&json).unwrap();
    assert!(!json.to_string().contains("concentrated"));
    let room = older.room(&fraction(1), Kind::Choice).unwrap();
    assert_eq!(room.mu_squared, mu_squared_of_choices(&room.rho).unwrap());
    let mut later = older.clone();
    later.charge(&choice(&room.rho, &room.delta)).unwrap();
    let more = room.rho.times(&exact(1.01));
    assert!(!older.admits(&choice(&more, &room.delta)));
    let fresh = account(None).room(&fraction(1), Kind::Choice).unwrap();
    assert!(more < fresh.rho);
}
