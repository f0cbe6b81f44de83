use super::super::{Account, AdaptiveAccount, Kind, Share};
use super::*;

fn exact(text: &str) -> Exact {
    text.parse().unwrap()
}
fn private(epsilon: f64) -> SharePair {
    SharePair::Private { epsilon, delta: 0.0 }
}
fn laplace(epsilon: f64) -> SharePair {
    SharePair::Laplace { epsilon }
}
fn choices(range: f64, count: u32) -> SharePair {
    SharePair::Choices { range, count }
}
fn gaussian(mu: f64) -> SharePair {
    SharePair::Gaussian { mu }
}
fn fitting(delta: &str, shares: &[SharePair]) -> SharedAccount {
    SharedAccount::fitting(&exact("1"), &exact(delta), shares).unwrap()
}

#[test]
fn several_choices_of_one_share_are_several_releases() {
    let delta =
        |share: SharePair, times| share.add_to(Account::new(), times).delta_above(1.0).unwrap();
    assert_eq!(delta(choices(0.3, 5), 1), delta(choices(0.3, 1), 5));
    // The control: the loss of one choice is smaller than the loss of five choices.
    assert!(delta(choices(0.3, 1), 1) < delta(choices(0.3, 5), 1));
}

/// The step of the grid of losses in [`independent`].
const STEP: f64 = 2e-3;

/// Take the loss of a pair under its first distribution. Return the law of this loss, in three
/// parts. The first part is a function that returns the probability of the losses from `a` to `b`,
/// without the atoms. The second part is the list of atoms. The third part is a limit: losses whose
/// magnitude is above this limit are negligible. The formulas come from the literature, and are
/// computed in plain floats. For a choice, `worst` selects the pair that dominates all mechanisms
/// of the range. Without `worst`, the result is the law of one mechanism of the range.
fn law(pair: &SharePair, worst: bool) -> (Box<dyn Fn(f64, f64) -> f64>, Vec<(f64, f64)>, f64) {
    match *pair {
        SharePair::Private { epsilon: e, delta: 0.0 } => {
            let p = 1.0 / (1.0 + (-e).exp());
            (Box::new(|_, _| 0.0), vec![(e, p), (-e, 1.0 - p)], e)
        }
        SharePair::Laplace { epsilon: e } => {
            let between = move |a: f64, b: f64| ((b - e) / 2.0).exp() - ((a - e) / 2.0).exp();
            let atoms = vec![(e, 0.5), (-e, (-e).exp() / 2.0)];
            (Box::new(move |a, b| between(a.max(-e), b.min(e)).max(0.0) / 2.0), atoms, e)
        }
        SharePair::Choices { range, count: 1 } if !worst => {
            let (p, _) = choice(range, range / 2.0);
            (Box::new(|_, _| 0.0), vec![(range / 2.0, p), (-range / 2.0, 1.0 - p)], range)
        }
        SharePair::Choices { range: r, count: 1 } => {
            let a = (r / 2.0).exp();
            let between = move |low: f64, high: f64| (high / 2.0).exp() - (low / 2.0).exp();
            let factor = a / (a * a - 1.0);
            (Box::new(move |a, b| factor * between(a.max(-r), b.min(r)).max(0.0)), vec![], r)
        }
        SharePair::Gaussian { mu } => {
            let density = move |x: f64| {
                let z = (x - mu * mu / 2.0) / mu;
                (-z * z / 2.0).exp() / mu / std::f64::consts::TAU.sqrt()
            };
            let mass = move |a: f64, b: f64| {
                let inner: f64 = (1..8)
                    .map(|k| (2 + 2 * (k % 2)) as f64 * density(a + (b - a) * k as f64 / 8.0))
                    .sum();
                (density(a) + inner + density(b)) * (b - a) / 24.0
            };
            (Box::new(mass), vec![], mu * mu / 2.0 + 9.0 * mu)
        }
        _ => panic!("{pair:?}"),
    }
}
/// Compute delta of a composition by plain convolution. If `up` is true, all losses are rounded up.
/// Otherwise, all losses are rounded down. For `worst`, see [`law`].
fn independent(shares: &[SharePair], epsilon: f64, (up, worst): (bool, bool)) -> f64 {
    let mut total = vec![1.0];
    let mut first = 0i64;
    for share in shares {
        let (mass, atoms, reach) = law(share, worst);
        let half = (reach / STEP).ceil() as i64 + 1;
        let mut list = vec![0.0; 2 * half as usize + 2];
        for k in -half..half {
            let (a, b) = (k as f64 * STEP, (k + 1) as f64 * STEP);
            list[(k + half) as usize + usize::from(up)] += mass(a, b);
        }
        for (loss, mass) in atoms {
            let place = if up { (loss / STEP).ceil() } else { (loss / STEP).floor() };
            list[(place as i64 + half) as usize] += mass;
        }
        let mut next = vec![0.0; total.len() + list.len() - 1];
        for (i, a) in total.iter().enumerate() {
            for (j, b) in list.iter().enumerate() {
                next[i + j] += a * b;
            }
        }
        (total, first) = (next, first - half);
    }
    let terms = total.iter().enumerate().map(|(i, mass)| {
        let loss = (first + i as i64) as f64 * STEP;
        if epsilon < loss { mass * -(epsilon - loss).exp_m1() } else { 0.0 }
    });
    terms.sum()
}

#[test]
fn fitted_shares_are_the_largest_that_an_independent_composition_admits() {
    let mixtures: [(&str, Vec<SharePair>); 4] = [
        ("1e-3", vec![laplace(1.0); 5]),
        ("1e-4", vec![choices(1.0, 1); 6]),
        ("1e-4", vec![laplace(1.0), laplace(1.0), choices(2.0, 1), gaussian(1.0), private(0.5)]),
        ("1e-3", vec![gaussian(1.0), gaussian(0.5), laplace(2.0), choices(1.0, 1)]),
    ];
    for (delta, shapes) in mixtures {
        let account = fitting(delta, &shapes);
        let limit: f64 = delta.parse().unwrap();
        let lower = independent(account.shares(), 1.0, (false, false));
        assert!(lower <= limit, "{shapes:?}: {lower}");
        let upper = independent(account.shares(), 1.0, (true, true));
        assert!(limit * 0.97 < upper, "{shapes:?}: {upper}");
        // The control: shares with losses larger by 1/20 exceed the budget, and are refused.
        let larger: Vec<_> = account.shares().iter().map(|share| share.times(1.05)).collect();
        assert!(limit < independent(&larger, 1.0, (false, true)), "{shapes:?}");
        let refused = SharedAccount::new(&exact("1"), &exact(delta), &larger).unwrap_err();
        assert_eq!(refused.kind(), "BudgetExceeded");
    }
}

/// A mechanism with two outputs: the probability of output 0 on each of two neighbours.
type Coin = (f64, f64);

/// Return all transcripts of an interaction, with their probabilities on the two neighbours. The
/// adversary sees the answers so far. The adversary returns the next mechanism, or `None` to stop.
fn transcripts(adversary: &dyn Fn(&[bool]) -> Option<Coin>) -> Vec<(f64, f64)> {
    let mut done = Vec::new();
    let mut open = vec![(Vec::new(), 1.0, 1.0)];
    while let Some((answers, p, q)) = open.pop() {
        let Some((a, b)) = adversary(&answers) else {
            done.push((p, q));
            continue;
        };
        for (answer, x, y) in [(false, a, b), (true, 1.0 - a, 1.0 - b)] {
            let mut longer = answers.clone();
            longer.push(answer);
            open.push((longer, p * x, q * y));
        }
    }
    done
}
fn delta_of(transcripts: &[(f64, f64)], epsilon: f64) -> f64 {
    transcripts.iter().map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
}
/// Make a mechanism with the losses `t` and `t - range`.
fn choice(range: f64, t: f64) -> Coin {
    let p = (range.exp() - t.exp()) / range.exp_m1();
    (p, p * (-t).exp())
}
/// Make a randomized response with the loss `epsilon`.
fn response(epsilon: f64) -> Coin {
    let p = 1.0 / (1.0 + (-epsilon).exp());
    (p, 1.0 - p)
}

#[test]
fn questions_that_depend_on_answers_stay_within_the_product_of_the_shares() {
    let (range, other, pure) = (1.2, 0.7, 0.6);
    let shares = [choices(range, 1), choices(other, 1), private(pure)];
    let bound = |shares: &[SharePair], epsilon| composed(shares.iter()).delta(epsilon).unwrap();
    let mut closest = 0.0_f64;
    for epsilon in [0.0, 0.3, 0.8, 1.5, 2.0] {
        let whole = bound(&shares, epsilon).upper;
        for code in 0..4096_u32 {
            // The adversary begins with the first or with the second share. Each later mechanism
            // depends on the answers. The order of the other shares also depends on the answers.
            let pick = |step: u32| f64::from(code >> (3 * step) & 7) / 8.0;
            let adversary = |answers: &[bool]| {
                let first = code & 1 == 0;
                let (here, there) = if first { (range, other) } else { (other, range) };
                match answers {
                    [] => Some(choice(here, here * (pick(0) + 0.06))),
                    [false] => Some(choice(there, there * (pick(1) + 0.06))),
                    [false, x] => Some(response(if *x { pure } else { -pure })),
                    [true] => Some(response(pure)),
                    [true, false] => Some(choice(there, there * (pick(2) + 0.06))),
                    // After two answers that are both `true`, the adversary stops early, or asks
                    // one more question.
                    [true, true] if code >> 11 == 0 => None,
                    [true, true] => Some(choice(there, there * (pick(3) + 0.06))),
                    _ => None,
                }
            };
            let delta = delta_of(&transcripts(&adversary), epsilon);
            assert!(delta <= whole, "{epsilon} {code}: {delta} {whole}");
            closest = closest.max(delta / whole);
        }
    }
    assert!(0.9 < closest, "{closest}");
    // The control: shares with a smaller range do not bound the delta of an adversary that uses the
    // larger range. So the pair of a share must dominate the release.
    let smaller = [choices(range * 0.6, 1), choices(other, 1), private(pure)];
    let adversary = |answers: &[bool]| match answers {
        [] => Some(choice(range, range * 0.5)),
        [_] => Some(choice(other, other * 0.5)),
        [_, _] => Some(response(pure)),
        _ => None,
    };
    let delta = delta_of(&transcripts(&adversary), 0.8);
    assert!(bound(&smaller, 0.8).upper < delta);
    let mut account = SharedAccount::new(&exact("9"), &exact("0"), &smaller).unwrap();
    let refused = account.charge(0, &choices(range, 1)).unwrap_err();
    assert_eq!(refused.kind(), "BudgetExceeded");
    assert!(refused.to_string().contains("fixed as Choices"), "{refused}");
}

#[test]
fn a_pair_dominates_another_only_if_its_profile_is_nowhere_lower() {
    let discrete = |sensitivity, scale| SharePair::DiscreteLaplace { sensitivity, scale };
    let sampled = |mu, rate| SharePair::SampledGaussian { mu, rate };
    let mu = 0.9;
    let own = super::super::pure_of_mu(mu).unwrap();
    let range = mu * (8.0 / std::f64::consts::PI).sqrt() * (1.0 - 1e-9);
    let all = [
        private(0.4),
        private(0.8),
        SharePair::Private { epsilon: 0.4, delta: 1e-3 },
        laplace(0.4),
        laplace(0.8),
        discrete(2, 5.0),
        discrete(2, 9.0),
        discrete(4, 5.0),
        discrete(1, 1.25),
        gaussian(mu),
        gaussian(0.5),
        sampled(mu, 0.3),
        sampled(mu, 0.8),
        sampled(0.5, 0.3),
        choices(0.8, 1),
        choices(1.6, 1),
        choices(0.4, 2),
        choices(range, 1),
        choices(range / 2.0, 4),
        private(own),
    ];
    let (mut dominated, mut apart) = (0, 0);
    let profile = |pair: &SharePair| -> Vec<_> {
        let account = composed(std::iter::once(pair));
        (0..=12).map(|k| account.delta(f64::from(k) / 6.0).unwrap()).collect()
    };
    let profiles: Vec<_> = all.iter().map(profile).collect();
    for (a, high) in all.iter().zip(&profiles) {
        for (b, low) in all.iter().zip(&profiles) {
            let above = high.iter().zip(low).filter(|(high, low)| high.upper < low.lower).count();
            if a.dominates(b) {
                assert_eq!(above, 0, "{a:?} does not dominate {b:?}");
                dominated += usize::from(a != b);
            } else {
                // The control: if `a` does not dominate `b`, the delta of `a` is often below the
                // delta of `b` at some epsilon.
                apart += usize::from(0 < above);
            }
        }
        assert!(a.dominates(a) && a.dominates(&private(0.0)));
        assert!(a.times(1.001).dominates(a) && !a.dominates(&a.times(1.001)));
    }
    assert!(50 < dominated && 200 < apart, "{dominated} {apart}");
    // Continuous Laplace noise does not dominate discrete Laplace noise with the same largest loss.
    assert!(!laplace(0.8).dominates(&discrete(1, 1.25)));
    assert!(private(0.8).dominates(&discrete(1, 1.25)));
    assert!(gaussian(mu).dominates(&choices(range / 2.0, 4)));
    assert!(gaussian(mu).dominates(&private(own)));
}

#[test]
fn shares_of_choices_and_of_numbers_get_less_noise_than_filters_give() {
    let tenth =
        |parts: usize| Share::Fraction(exact("1").over(&Exact::from_f64(parts as f64).unwrap()));
    for (count, gain) in [(16, 1.02), (100, 1.02)] {
        let account = fitting("1e-6", &vec![choices(1.0, 1); count]);
        let SharePair::Choices { range, .. } = account.shares()[0] else { panic!() };
        let filters = AdaptiveAccount::new(&exact("1"), &exact("1e-6"), Some(count)).unwrap();
        let rho = filters.room(&tenth(count), Kind::Choice).unwrap().rho.to_f64_up();
        assert!((8.0 * rho).sqrt() * gain < range, "{count}: {rho} {range}");
    }
    // The control: a choice can have two losses, half of the range and minus half of the range.
    // Take one hundred such choices, and make their losses larger by 1/5. Together, these choices
    // exceed the budget. So the range of the shares is near the largest possible range.
    let account = fitting("1e-6", &[choices(1.0, 1); 100]);
    let SharePair::Choices { range, .. } = account.shares()[0] else { panic!() };
    let worst = [private(range / 2.0 * 1.2); 100];
    assert!(1e-6 < composed(worst.iter()).delta(1.0).unwrap().lower);
    let account = fitting("1e-6", &[laplace(1.0); 20]);
    let SharePair::Laplace { epsilon } = account.shares()[0] else { panic!() };
    let filters = AdaptiveAccount::new(&exact("1"), &exact("1e-6"), Some(20)).unwrap();
    let room = filters.room(&tenth(20), Kind::Pure).unwrap().epsilon.to_f64_up();
    assert!(room * 1.08 < epsilon, "{room} {epsilon}");
    // All shares have Gaussian noise, so together they are one release with Gaussian noise that
    // uses the whole budget.
    let account = fitting("1e-6", &[gaussian(1.0); 100]);
    let SharePair::Gaussian { mu } = account.shares()[0] else { panic!() };
    let best = super::super::gaussian_mu(1.0, 1e-6).unwrap();
    assert!(best.lower * (1.0 - 2e-6) < mu * 10.0 && mu * 10.0 <= best.upper, "{mu}");
    // Without a delta, epsilons add up.
    let account = fitting("0", &[laplace(1.0), laplace(3.0)]);
    let SharePair::Laplace { epsilon } = account.shares()[1] else { panic!() };
    assert!(0.749_999 < epsilon && epsilon <= 0.75);
}

#[test]
fn a_share_is_used_once_and_an_account_continues_where_it_stopped() {
    let mut account = fitting("1e-6", &[laplace(1.0), gaussian(1.0), choices(2.0, 1)]);
    assert_eq!(account.left().unwrap(), (exact("1"), exact("1e-6")));
    assert!(account.spent().unwrap().0.is_zero());
    let [first, second, third] = account.shares() else { panic!() };
    let (first, second, third) = (*first, *second, *third);
    account.charge(1, &second).unwrap();
    assert_eq!(account.next_share(), Some(0));
    assert!(account.charge(1, &second).unwrap_err().to_string().contains("used before"));
    // A share of Laplace noise does not admit Gaussian noise, because the loss of Gaussian noise
    // has another distribution.
    let before = account.clone();
    assert_eq!(account.charge(0, &gaussian(1e-3)).unwrap_err().kind(), "BudgetExceeded");
    assert_eq!(account.charge(7, &first).unwrap_err().kind(), "BudgetExceeded");
    assert_eq!(account.charge(0, &laplace(f64::NAN)).unwrap_err().kind(), "InvalidDistance");
    assert_eq!(account, before);
    let mut account = SharedAccount::from_json(&account.to_json()).unwrap();
    assert_eq!(account, before);
    let (spent, left) = (account.spent().unwrap().0, account.left().unwrap().0);
    assert!(spent < exact("1") && left < exact("1") && exact("1") < spent.plus(&left));
    account.charge(0, &first).unwrap();
    account.charge(2, &third).unwrap();
    assert_eq!(account.next_share(), None);
    assert_eq!(account.left().unwrap(), (Exact::ZERO, Exact::ZERO));
    assert!(exact("0.9999") < account.spent().unwrap().0);
    // A JSON document with other shares is refused, because these shares exceed the budget.
    let mut json = account.to_json();
    json["shares"][1] = gaussian(1.0).to_json();
    assert_eq!(SharedAccount::from_json(&json).unwrap_err().kind(), "BudgetExceeded");
    json["shares"][1] = json!({ "gaussian": [-1.0] });
    assert_eq!(SharedAccount::from_json(&json).unwrap_err().kind(), "InvalidDistance");
    let two = json!({ "gaussian": [0.1], "laplace": [9.0] });
    assert_eq!(SharePair::from_json(&two).unwrap_err().kind(), "FailedCast");
    json["used"] = json!([true]);
    assert_eq!(SharedAccount::from_json(&json).unwrap_err().kind(), "InvalidDistance");
    let whole = account.to_json();
    for (field, bad) in [("epsilon", json!(1)), ("shares", json!(0)), ("used", json!([true]))] {
        let mut json = whole.clone();
        json[field] = bad;
        assert_eq!(SharedAccount::from_json(&json).unwrap_err().kind(), "FailedCast", "{field}");
    }
}

mod integers;
#[test]
fn without_a_delta_the_rest_is_the_budget_without_the_used_shares() {
    let mut account = fitting("0", &[laplace(1.0), laplace(3.0)]);
    let epsilon = |account: &SharedAccount| account.left().unwrap().0.to_f64_down();
    assert_eq!(epsilon(&account), 1.0);
    account.charge(0, &laplace(0.2499)).unwrap();
    // The used share has the epsilon 1/4, rounded down. The epsilon of the budget is 1, so 3/4 is
    // left.
    assert!((epsilon(&account) - 0.75).abs() < 1e-6, "{}", epsilon(&account));
    account.charge(1, &laplace(0.7)).unwrap();
    assert!(epsilon(&account) < 1e-6, "{}", epsilon(&account));
}
