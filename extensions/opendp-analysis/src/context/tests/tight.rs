//! Check that losses under an epsilon and a delta compose tightly.

use opendp_measurements::accounting::{Account as Reference, GaussianPair, PrivatePair};

use super::*;

type Loss = Approximate<MaxDivergence>;

fn open(epsilon: f64, delta: f64, split: Result<Split>) -> Context<Loss> {
    let unit = PrivacyUnit::person(1).unwrap();
    let budget = Budget::epsilon_delta(epsilon, delta).unwrap();
    Context::new(table(), unit, budget, split.unwrap()).unwrap()
}
/// Compute the delta at `epsilon` of two normal distributions. Their means are `mu` standard
/// deviations apart. Compute in plain floats.
pub(in crate::context) fn normal_delta(mu: f64, epsilon: f64) -> f64 {
    // Compute the tail of the normal distribution by its continued fraction, or by the series
    // around 0.
    let tail = |x: f64| {
        let density = (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt();
        if x > 2.5 {
            return density / (1..200).rev().fold(x, |t, k| x + f64::from(k) / t);
        }
        let (mut term, mut sum) = (x, x);
        for k in 1..200 {
            term *= x * x / f64::from(2 * k + 1);
            sum += term;
        }
        0.5 - density * sum
    };
    tail(epsilon / mu - mu / 2.0) - epsilon.exp() * tail(epsilon / mu + mu / 2.0)
}
/// Find the least noise scale of `count` counts by the formula of Balle and Wang (2018), in plain
/// floats. One row changes each count by 1.
pub(super) fn least_sigma(count: f64, epsilon: f64, delta: f64) -> f64 {
    let lost = |sigma: f64| normal_delta(count.sqrt() / sigma, epsilon);
    let (mut low, mut high) = (0.1, 1e6);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if lost(middle) <= delta { high = middle } else { low = middle }
    }
    high
}
/// Compose the releases of a report, and do not use the filters of the context's account. Return a
/// lower bound on the delta at `epsilon`.
fn composed(report: &Report<Loss>, epsilon: f64) -> f64 {
    let (mut account, mut delta) = (Reference::new(), 0.0);
    for entry in report.entries() {
        account = match &entry.mu_squared {
            // A choice of range `r` can have the losses `r / 2` and `-r / 2`, like randomized
            // response with an epsilon of `r / 2`.
            Some(_) if entry.rho.is_some() => {
                let rho = entry.rho.as_ref().unwrap().to_f64_up();
                let epsilon = (8.0 * rho).sqrt() / 2.0;
                account.with(Arc::new(PrivatePair { epsilon, delta: 0.0 }), 1)
            }
            Some(square) => {
                account.with(Arc::new(GaussianPair { mu: square.to_f64_up().sqrt() }), 1)
            }
            None => {
                delta += entry.loss[1].to_f64_up();
                let epsilon = entry.loss[0].to_f64_up();
                account.with(Arc::new(PrivatePair { epsilon, delta: 0.0 }), 1)
            }
        };
    }
    delta + account.delta(epsilon).unwrap().lower
}

#[test]
fn a_hundred_counts_get_the_noise_of_their_composition_and_not_of_their_shares() {
    for (queries, largest) in [(100, 42.7), (10, 13.5), (1, 4.226)] {
        let best = least_sigma(queries as f64, 1.0, 1e-6);
        let context = open(1.0, 1e-6, Split::evenly(queries));
        for _ in 0..queries {
            let question = context.query().count().gaussian().unwrap();
            let scale = question.scale();
            assert!(best < scale * 1.000_01 && scale < best * 1.008 && scale <= largest, "{scale}");
            question.release().unwrap();
        }
        let error = context.query().count().gaussian().unwrap_err();
        assert_eq!(error.kind(), "BudgetExceeded");
        let (report, left) = (context.report(), context.remaining().unwrap());
        assert!(report.exact_total()[0].to_f64_up() <= 1.0 && left.0 < 1e-3, "{left:?}");
        assert!(report.entries().iter().all(|entry| entry.mechanism == "Gaussian"));
        if queries > 1 {
            assert!(composed(&report, 1.0) <= 1e-6);
        }
    }
}
#[test]
fn a_thousand_questions_chosen_in_view_of_answers_are_within_a_twentieth_of_the_best_filter() {
    let context = open(1.0, 1e-6, Split::evenly(1000));
    // The best filter for Gaussian noise adds up mu^2 (Smith, Thakurta 2022). With every filter,
    // the counts need at least the noise of one release of all counts.
    let best = least_sigma(1000.0, 1.0, 1e-6);
    let (mut low, mut high) = (0, 100);
    for _ in 0..1000 {
        let middle = (low + high) / 2;
        let below = context.query().filter("age", move |age: &i64| *age < middle).count();
        let question = below.gaussian().unwrap();
        assert!(question.scale() < 1.05 * best, "{} {best}", question.scale());
        // Each question depends on the answer to the previous question.
        let answer = question.release().unwrap().value;
        if answer < 500 {
            low = middle
        } else {
            high = middle
        }
        if high - low < 2 {
            (low, high) = (0, 100);
        }
    }
    assert!(context.query().count().gaussian().is_err());
}
#[test]
fn laplace_gaussian_threshold_and_median_share_one_budget() {
    for (queries, seed) in [(4, 1), (9, 2), (16, 3)] {
        let context = open(1.0, 1e-6, Split::evenly(queries));
        let cities = || context.query().column::<String>("city");
        let ages = || context.query().column::<i64>("age");
        for place in 0..queries {
            match (place * seed + place / 5) % 4 {
                0 => drop(context.query().count().gaussian().unwrap().release().unwrap()),
                1 => drop(cities().count_by().laplace().unwrap().release().unwrap()),
                2 => drop(ages().median((0..100).collect()).choose().unwrap().release().unwrap()),
                _ => drop(incomes(&context).sum().laplace().unwrap().release().unwrap()),
            }
        }
        let report = context.report();
        assert_eq!(report.entries().len(), queries);
        let delta = composed(&report, 1.0);
        assert!(delta <= 1e-6, "{queries}: {delta}");
        assert!(report.exact_total()[0].to_f64_up() <= 1.000_002);
        assert_eq!(context.query().count().laplace().unwrap_err().kind(), "BudgetExceeded");
    }
}
#[test]
fn gaussian_noise_on_numbers_integers_and_vectors_is_exactly_mu_gdp() {
    let context = open(1.5, 3e-6, Split::evenly(4));
    let square = |question: &Exact, d: f64, scale: f64| {
        (question.to_f64_up() / (d / scale).powi(2) - 1.0).abs() < 1e-6
    };
    let sum = incomes(&context).sum().gaussian().unwrap();
    let change = 9_900.3;
    assert!(square(sum.known.cost.mu_squared.as_ref().unwrap(), change, sum.scale()));
    sum.release().unwrap();
    let cells = incomes(&context).histogram_between(vec![0.0, 5000.0]).gaussian().unwrap();
    assert!(square(cells.known.cost.mu_squared.as_ref().unwrap(), 1.0, cells.scale()));
    let (epsilon, delta) = cells.loss().unwrap();
    assert!(0.0 < delta && delta < 3e-6 && 0.0 < epsilon && epsilon < 1.5);
    let answer = cells.release().unwrap();
    assert_eq!(answer.mechanism(), "Gaussian");
    // Noisy counts are rounded to integers, and the bound on the error includes this rounding. For
    // `alpha` 1, only the rounding error of at most 0.5 is left.
    let estimates = answer.estimates().unwrap();
    assert_eq!(estimates.len(), 3);
    assert_eq!(estimates[0].accuracy(1.0), Ok(0.5));
    let count = context.query().count().gaussian().unwrap();
    let (accuracy, scale) = (count.accuracy(0.05).unwrap(), count.scale());
    assert!((accuracy - 1.959_964 * scale - 0.5).abs() < 1e-3 * scale, "{accuracy} {scale}");
    let answer = count.release().unwrap();
    assert_eq!(answer.estimate().unwrap().accuracy(0.05).unwrap(), accuracy);
}
#[test]
fn gaussian_noise_takes_a_delta_and_public_keys() {
    let none = open(1.0, 0.0, Split::evenly(1));
    let error = none.query().count().gaussian().unwrap_err().to_string();
    assert!(error.contains("needs some delta"), "{error}");
    // Gaussian noise on counts of keys that are found is an error. Instead of this error, an
    // earlier version returned a threshold that hides all keys.
    let context = open(1.0, 1e-6, Split::evenly(2));
    let keys = context.query().column::<String>("city").count_by().gaussian();
    assert!(keys.unwrap_err().to_string().contains("write `.laplace()`"));
    let best = context.query().column::<String>("city").count_by().best().unwrap();
    assert_eq!(best.mechanism(), "Laplace, threshold");
}
#[test]
fn amounts_spent_as_one_goes_fit_as_often_as_they_say() {
    let context = open(1.0, 1e-6, Ok(Split::as_you_go()));
    let ask = |context: &Context<Loss>, epsilon, delta| {
        let share = Budget::epsilon_delta(epsilon, delta)?;
        context.query().spending(share).count().gaussian()?.release()
    };
    for _ in 0..10 {
        ask(&context, 0.1, 1e-7).unwrap();
    }
    // The `mu` of each of the ten amounts is about a tenth of the `mu` of the budget. So the `mu^2`
    // of each amount is about a hundredth of the `mu^2` of the budget. The ten amounts together
    // take about a tenth of the `mu^2` of the budget.
    let left = context.remaining().unwrap();
    assert!(0.0 < left.0 && left.0 < 0.97, "{left:?}");
    assert!(composed(&context.report(), 1.0) < 1e-6);
    let single = open(1.0, 1e-6, Ok(Split::as_you_go()));
    let all = Budget::epsilon_delta(1.0, 1e-6).unwrap();
    let all = single.query().spending(all).count().gaussian().unwrap();
    assert!(all.scale() < 4.3, "{}", all.scale());
    all.release().unwrap();
    assert_eq!(ask(&single, 0.9, 1e-7).map(|_| ()).unwrap_err().kind(), "BudgetExceeded");
}
#[test]
fn a_tight_account_is_carried_over_exactly() {
    let earlier = open(1.0, 1e-6, Split::evenly(20));
    for place in 0..12 {
        match place % 3 {
            0 => drop(earlier.query().count().laplace().unwrap().release().unwrap()),
            _ => drop(earlier.query().count().gaussian().unwrap().release().unwrap()),
        }
    }
    let later = open(1.0, 1e-6, Split::evenly(20));
    for entry in earlier.report().entries() {
        later.carry_over(entry.clone()).unwrap();
    }
    assert_eq!(later.remaining().unwrap(), earlier.remaining().unwrap());
    let scale = |context: &Context<Loss>| context.query().count().gaussian().unwrap().scale();
    assert_eq!(scale(&later), scale(&earlier));
    // Without its `mu`, the entry is charged for its epsilon and delta. The test requires only that
    // this charge is not 0.
    let careful = open(1.0, 1e-6, Split::evenly(20));
    let mut entry = earlier.report().entries()[1].clone();
    entry.mu_squared = None;
    careful.carry_over(entry).unwrap();
    assert!(careful.remaining().unwrap().0 < 1.0);
}
#[test]
fn the_report_shows_what_each_question_cost_and_the_total_of_all() {
    let context = open(1.0, 1e-6, Split::evenly(10));
    for _ in 0..5 {
        context.query().count().gaussian().unwrap().release().unwrap();
    }
    let report = context.report();
    let json = report.to_json();
    let mu = json["releases"][0]["mu"].as_f64().unwrap();
    assert!((mu - 1.0 / report.entries()[0].scale).abs() < 1e-9);
    let (spent, left) = (&report.exact_total()[0].to_f64_up(), &report.left[0].to_f64_up());
    // Half of the `mu^2` of the budget is spent, and half is left. So the spent `mu` and the left
    // `mu` are each `sqrt(1 / 2)`, about 0.71, of the `mu` of the budget. Epsilon is almost
    // proportional to `mu`, so the spent epsilon and the left epsilon are about 0.7, too.
    assert!(0.6 < *spent && *spent < 0.75 && 0.6 < *left && *left < 0.75, "{spent} {left}");
    let pure = open(1.0, 1e-6, Split::evenly(2));
    pure.query().count().laplace().unwrap().release().unwrap();
    assert_eq!(pure.report().to_json()["releases"][0]["mu"], serde_json::Value::Null);
}
#[test]
fn the_report_states_when_its_total_is_a_bound() {
    let stated =
        "if the releases were fixed in advance; otherwise only the whole budget is a bound";
    let tight = open(1.0, 1e-6, Split::evenly(2));
    let kinds = Split::by_kinds(&[(ShareKind::Pure, 1.0), (ShareKind::Gaussian, 1.0)]);
    for context in [tight, open(1.0, 1e-6, kinds)] {
        context.query().count().laplace().unwrap().release().unwrap();
        let json = context.report().to_json();
        assert_eq!(json["spent_holds"], stated);
        assert!(json["left_holds"].as_str().unwrap().contains("need not add up"));
        assert_eq!(json["budget"]["delta"], 1e-6);
    }
    // The control: a sum of losses is always a bound.
    let sum = pure(1.0, 2);
    sum.query().count().laplace().unwrap().release().unwrap();
    assert!(sum.report().to_json().get("spent_holds").is_none());
}
#[test]
fn the_page_shows_the_total_of_all_releases_and_what_is_left_for_one_more() {
    let context = open(1.0, 1e-6, Ok(Split::as_you_go()));
    let query = || context.query().spending(Budget::epsilon_delta(0.01, 1e-8).unwrap());
    query().count().gaussian().unwrap().release().unwrap();
    query().count().laplace().unwrap().release().unwrap();
    let pure = open(1.0, 1e-6, Ok(Split::as_you_go()));
    let whole = pure.query().spending(Budget::epsilon_delta(1.0, 0.0).unwrap());
    whole.count().laplace().unwrap().release().unwrap();
    let kinds = open(1.0, 1e-6, Split::by_kinds(&[(ShareKind::Pure, 1.0)]));
    kinds.query().count().laplace().unwrap().release().unwrap();
    for (context, least) in [(&context, 0.019), (&pure, 1.0), (&kinds, 0.99)] {
        let report = context.report();
        let (html, json) = (report.to_html(), report.to_json());
        for part in ["epsilon", "delta"] {
            let [whole, spent, left] =
                ["budget", "spent", "left"].map(|field| json[field][part].as_f64().unwrap());
            assert!(part == "delta" || least <= spent && spent <= 1.000_001, "{spent}");
            let cells = [whole, spent, left]
                .map(|number| format!("<td class=\"number\">{}</td>", short(number)));
            let row = format!("<tr><td>{part}</td>{}</tr>", cells.concat());
            assert!(html.contains(&row), "{row}");
        }
        assert!(html.contains(json["spent_holds"].as_str().unwrap()));
        // The page has no bar, because the total and the remaining budget need not add up to the
        // budget.
        assert!(!html.contains(" spent, "));
    }
}
#[test]
fn the_best_noise_is_the_one_with_the_smaller_error() {
    for queries in [1, 2, 5, 20, 100] {
        let context = open(1.0, 1e-6, Split::evenly(queries));
        let error = |question: Question<'_, Loss, i64>| question.accuracy(0.05).unwrap();
        let laplace = error(context.query().count().laplace().unwrap());
        let gaussian = error(context.query().count().gaussian().unwrap());
        let best = context.query().count().best().unwrap();
        let name = if gaussian < laplace { "Gaussian" } else { "Laplace" };
        assert_eq!(best.mechanism(), name, "{queries}");
        let answer = best.release().unwrap();
        assert_eq!(answer.mechanism(), name);
        assert_eq!(context.report().entries()[0].mechanism, name);
        assert_eq!(answer.accuracy.unwrap(), laplace.min(gaussian));
    }
    let rho = super::context(Budget::rho(0.1), Split::evenly(1));
    assert_eq!(rho.query().count().best().unwrap().mechanism(), "Gaussian");
    assert_eq!(pure(1.0, 1).query().count().best().unwrap().mechanism(), "Laplace");
    // Gaussian noise needs some delta, so a budget without a delta pays only for Laplace noise.
    let none = open(1.0, 0.0, Split::evenly(1));
    assert_eq!(none.query().count().best().unwrap().mechanism(), "Laplace");
}
#[test]
fn a_hundred_medians_add_up_rho_and_get_less_noise_than_by_mu() {
    let context = open(1.0, 1e-6, Split::evenly(100));
    let ask = |context: &Context<Loss>| {
        let ages = context.query().column::<i64>("age");
        ages.median((0..100).collect()).choose().unwrap().release().unwrap().scale()
    };
    // A median of scale `s` has `rho = 1 / (8 s^2)` and `mu^2 = pi rho`.
    let by_mu = least_sigma(100.0, 1.0, 1e-6) * (std::f64::consts::PI / 8.0).sqrt();
    for _ in 0..100 {
        let scale = ask(&context);
        assert!(scale * 1.12 < by_mu, "{scale} {by_mu}");
    }
    let report = context.report();
    assert!(composed(&report, 1.0) <= 1e-6);
    assert!(report.exact_total()[0].to_f64_up() <= 1.0);
    let one_more = context.query().count().gaussian();
    assert_eq!(one_more.unwrap_err().kind(), "BudgetExceeded");
    // The entries of a report restore the same charges. Entries of older versions have no `rho`.
    // Those entries are charged by `mu`, so fewer of them fit the budget.
    let (same, older) = [(); 2].map(|()| open(1.0, 1e-6, Split::evenly(101))).into();
    for entry in report.entries() {
        same.carry_over(entry.clone()).unwrap();
    }
    assert_eq!(same.remaining().unwrap(), context.remaining().unwrap());
    let admitted = report
        .entries()
        .iter()
        .take_while(|entry| older.carry_over(Entry { rho: None, ..(*entry).clone() }).is_ok());
    assert!((50..90).contains(&admitted.count()));
}
