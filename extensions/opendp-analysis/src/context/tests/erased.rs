//! Compare contexts whose measure is known only at run time with contexts of the same budget whose
//! measure is a type.

use opendp_core::Carrier;
use opendp_core::erased::AnyMeasure;

use super::*;
use crate::make_private_quantile;

/// What a question states before its release: its noise, its loss, its error and its report.
type Stated = Result<(String, f64, Option<f64>, Vec<Exact>, f64), String>;
fn stated<MO: BudgetMeasure, TO: Carrier>(question: Result<Question<'_, MO, TO>>) -> Stated {
    let question = question.map_err(|error| error.to_string())?;
    let accuracy = question.accuracy(0.05).unwrap();
    let stated = (
        question.mechanism().to_owned(),
        question.scale(),
        question.threshold(),
        question.exact_loss().to_vec(),
        accuracy,
    );
    assert_eq!(question.noised(0.05).scales, [stated.1]);
    question.forgo().unwrap();
    Ok(stated)
}
/// Ask one question of each kind, and spend its cost. Return what the questions state, and the
/// report.
fn asked<MO: BudgetMeasure>(context: &Context<MO>) -> (Vec<Stated>, serde_json::Value, String)
where
    i64: Noisy<MO>,
    f64: Noisy<MO>,
{
    let ages = || context.query().column::<i64>("age");
    let cities = || context.query().column::<String>("city");
    let candidates = || (0..100).collect::<Vec<i64>>();
    let names = || ["Lyon", "Lille"].map(str::to_owned).to_vec();
    let mut all = vec![
        stated(context.query().count().noise()),
        stated(context.query().count().best()),
        stated(context.query().count().try_laplace()),
        stated(context.query().count().try_gaussian()),
        stated(context.query().count().noise_of_scale(70.0)),
        stated(context.query().count().noise_of_scale(1e-3)),
        stated(incomes(context).sum().best()),
        stated(incomes(context).resize(900).mean().best()),
        stated(incomes(context).resize(900).variance().try_gaussian()),
        stated(ages().histogram_between(vec![20, 40, 60]).best()),
        stated(cities().histogram_and_others(names()).try_laplace()),
        stated(ages().median(candidates()).choose()),
        stated(ages().quantiles(&[0.2, 0.5, 0.8], candidates()).choose()),
        stated(ages().quantiles(&[0.2, 0.8], candidates()).choose()),
        stated(cities().top_k(1, names()).choose()),
        stated(cities().try_count_by().and_then(Statistic::noise)),
    ];
    let groups = context.query().group_by(["city"]);
    let means = |groups: Groups<'_, MO>| {
        let groups = groups.impute("income", 0.0).mean("income", (0.0, 9_900.3));
        let groups = groups.quantiles("income", &[0.5], vec![1.0, 5e3]);
        let solved = groups.solve().map_err(|error| error.to_string())?;
        let known = format!("{:?}", solved.statistics(0.05).unwrap());
        solved.forgo().unwrap();
        Ok((known, 0.0, None, Vec::new(), 0.0))
    };
    all.push(means(groups.clone().keys("city", names())));
    all.push(groups.try_find_keys().map_err(|error| error.to_string()).and_then(means));
    (all, context.report().to_json(), context.report().to_string())
}
/// Ask the same questions in both contexts. Return the places of the questions
/// that are errors.
#[track_caller]
fn check<MO: Accounted>(typed: Budget<MO>, erased: Budget<AnyMeasure>) -> Vec<usize>
where
    i64: Noisy<MO>,
    f64: Noisy<MO>,
{
    let again = erased.clone();
    let (typed, erased) =
        (context(Ok(typed), Split::evenly(30)), context(Ok(erased), Split::evenly(30)));
    let (all, report, text) = asked(&typed);
    assert_eq!(asked::<AnyMeasure>(&erased), (all.clone(), report, text));
    let name = |entry: &Entry| entry.measure.clone();
    let names: Vec<_> = typed.report().entries().iter().map(name).collect();
    assert_eq!(erased.report().entries().iter().map(name).collect::<Vec<_>>(), names);
    assert_eq!(typed.report().to_html(), erased.report().to_html());
    let left = AnyMeasure::from(opendp_core::TheMeasure(MO::default()));
    let parts = left.split(&erased.remaining().unwrap()).unwrap();
    assert_eq!(parts, MO::default().split(&typed.remaining().unwrap()).unwrap());
    // A release of one context can be carried over into the other context.
    let entry = typed.report().entries()[0].clone();
    let later = context(Ok(again), Split::evenly(30));
    later.carry_over(entry).unwrap();
    assert_eq!(later.report().entries().len(), 1);
    (0..all.len()).filter(|place| all[*place].is_err()).collect()
}
#[test]
fn a_measure_that_is_known_at_run_time_changes_no_answer() {
    let pure = || Budget::epsilon(3.0).unwrap();
    // Gaussian noise, keys that are not public, and a scale that costs too much.
    assert_eq!(check(pure(), pure().erase()), [3, 5, 8, 15, 17]);
    let rho = || Budget::rho(2.0).unwrap();
    // Laplace noise, keys that are not public, and a scale that costs too much.
    assert_eq!(check(rho(), rho().erase()), [2, 5, 10, 15, 17]);
    let both = || Budget::epsilon_delta(3.0, 1e-5).unwrap();
    // A scale that costs too much.
    assert_eq!(check(both(), both().erase()), [5]);
}
#[test]
fn the_answers_are_released_and_have_intervals() {
    for budget in [
        Budget::epsilon(1e6).unwrap().erase(),
        Budget::epsilon_delta(1e6, 1e-6).unwrap().erase(),
        Budget::rho(1e9).unwrap().erase(),
    ] {
        let context = context(Ok(budget), Split::evenly(3));
        let count = context.query().count().best().unwrap().release().unwrap();
        assert_eq!(count.value, 1000);
        assert_eq!(count.interval(0.05).unwrap(), (1000.0, 1000.0));
        let ages = context.query().column::<i64>("age");
        let median = ages.median((0..100).collect()).choose().unwrap().release().unwrap();
        assert!((48..52).contains(&median.value), "{}", median.value);
        let sum = incomes(&context).sum().best().unwrap().release().unwrap();
        let (low, high) = sum.interval(1e-9).unwrap();
        assert!((low..=high).contains(&4_950_000.0), "{low} {high}");
    }
}

/// A loss in one measure must not be read in another measure.
#[test]
fn a_mechanism_or_an_amount_in_another_measure_is_an_error() {
    use opendp_core::TheMeasure;
    use opendp_measurements::AnySelectionMeasure::{Concentrated, Pure};
    use opendp_transformations::Alpha;

    let pure = || Budget::epsilon(1.0).unwrap().erase();
    let rho = || Budget::rho(1.0).unwrap().erase();
    for (budget, other, right) in [(pure(), rho(), Pure), (rho(), pure(), Concentrated)] {
        let table = Table::new().with("x", vec![1_i64; 50]).unwrap();
        let unit = PrivacyUnit::person(1).unwrap();
        let context = Context::new(table, unit, budget.clone(), Split::as_you_go()).unwrap();
        for found in [Pure, Concentrated] {
            let column = context.query().spending(budget.clone()).column::<i64>("x");
            let question = column.mechanism("a median", move |rows, scale| {
                let (candidates, half) = ((0..9).collect(), Alpha::new(0.5)?);
                make_private_quantile(rows, TheMeasure(found), candidates, half, scale)
            });
            assert_eq!(question.noise().map(drop).is_ok(), found == right);
        }
        let error = context.query().spending(other.clone()).count().noise().map(drop).unwrap_err();
        assert!(error.to_string().contains("spending"), "{error}");
        let mut plan = context.plan().spending(other);
        plan.ask(context.query().count(), Goal::Weight(1.0)).unwrap();
        let error = plan.solve().map(drop).unwrap_err();
        assert!(error.to_string().contains("spending"), "{error}");
    }
}
