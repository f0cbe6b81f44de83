use std::sync::atomic::{AtomicUsize, Ordering};

use opendp_core::{Approximate, Error, MaxDivergence, Measure, ZeroConcentratedDivergence};
use opendp_measurements::accuracy::Estimate;

use super::*;

/// Make a table of a thousand rows. There are ten rows for each age from 0 to 99. An income is a
/// hundred times the age. The city is Lille in every twentieth row, and Lyon in all other rows.
pub(super) fn table() -> Table {
    let ages: Vec<i64> = (0..1000).map(|i| i % 100).collect();
    let city = |i: i64| if i % 20 == 0 { "Lille" } else { "Lyon" }.to_owned();
    Table::new()
        .with_chunks("age", ages.chunks(300).map(|chunk| Ok(chunk.to_vec())))
        .unwrap()
        .with("city", (0..1000).map(city).collect())
        .unwrap()
        .with_derived("income", "age", |age: &i64| *age as f64 * 100.0)
        .unwrap()
}
fn context<MO: BudgetMeasure>(budget: Result<Budget<MO>>, split: Result<Split>) -> Context<MO> {
    let unit = PrivacyUnit::person(4).unwrap();
    Context::new(table(), unit, budget.unwrap(), split.unwrap()).unwrap()
}
fn pure(epsilon: f64, queries: usize) -> Context<MaxDivergence> {
    context(Budget::epsilon(epsilon), Split::evenly(queries))
}
fn incomes<MO: BudgetMeasure>(context: &Context<MO>) -> Rows<'_, MO, f64> {
    context.query().column("income").impute(0.0).clamp(0.0, 9_900.3)
}
fn zeros(parts: &[Exact]) -> bool {
    parts.iter().all(Exact::is_zero)
}

#[test]
fn ten_even_shares_are_answered_and_an_eleventh_is_refused() {
    for epsilon in [1.0, 0.3, 7.0, 1e-3] {
        let context = pure(epsilon, 10);
        for _ in 0..10 {
            context.query().count().laplace().unwrap().release().unwrap();
        }
        let left = &context.report().left;
        assert!(left[0].to_f64_up() < 1e-14, "{epsilon}");
        assert!(zeros(left) || epsilon != 1.0, "an epsilon of 1 is spent exactly");
        let refused = context.query().count().laplace().unwrap_err();
        assert_eq!(refused.kind(), "BudgetExceeded");
        assert!(refused.to_string().ends_with("nothing was run"), "{refused}");
        assert_eq!(context.report().entries().len(), 10);
    }
}
#[test]
fn shares_of_all_kinds_of_queries_fit_together() {
    for queries in [3, 7, 11, 30] {
        let context = context(Budget::epsilon_delta(0.7, 1e-6), Split::evenly(queries));
        for place in 0..queries {
            match place % 4 {
                0 => drop(context.query().count().laplace().unwrap().release().unwrap()),
                1 => drop(incomes(&context).sum().laplace().unwrap().release().unwrap()),
                2 => {
                    let rows = context.query().column::<String>("city");
                    drop(rows.count_by().laplace().unwrap().release().unwrap());
                }
                _ => {
                    let rows = incomes(&context).resize(1000);
                    drop(rows.mean().laplace().unwrap().release().unwrap());
                }
            }
        }
        let left = context.remaining().unwrap();
        assert!(left.0 < 1e-9, "{left:?}");
        assert_eq!(context.query().count().laplace().unwrap_err().kind(), "BudgetExceeded");
    }
}
#[test]
fn the_noise_is_the_least_that_fits() {
    let pure = pure(0.7, 3);
    let concentrated = context(Budget::rho(0.3), Split::evenly(7));
    macro_rules! least {
        ($($query:expr),+) => {$({
            let scale = $query.noise().unwrap().scale();
            assert!(0.0 < scale);
            assert_eq!($query.noise_of_scale(scale).unwrap().scale(), scale);
            let refused = $query.noise_of_scale(scale.next_down()).unwrap_err();
            assert_eq!(refused.kind(), "BudgetExceeded", "{scale}");
            assert!(refused.to_string().contains("the share of this query is"), "{refused}");
        })+};
    }
    least!(
        pure.query().count(),
        incomes(&pure).sum(),
        incomes(&pure).resize(900).variance(),
        incomes(&pure).histogram_between(vec![0.0, 100.0]),
        concentrated.query().count(),
        incomes(&concentrated).sum(),
        incomes(&concentrated).histogram_between(vec![0.0, 100.0])
    );
    assert_eq!(pure.report().entries().len(), 0, "solving a question spends nothing");
}
#[test]
fn the_threshold_is_the_least_that_fits() {
    let context = context(Budget::epsilon_delta(1.0, 1e-6), Split::evenly(1));
    let question = context.query().column::<String>("city").count_by().laplace().unwrap();
    let (epsilon, delta) = question.loss().unwrap();
    assert!(0.999_999 < epsilon && epsilon <= 1.0);
    // The threshold need not be a whole number. So the least threshold uses the whole delta, up to
    // rounding.
    assert!(delta <= 1e-6 && 1e-6 < delta * (1.0 + 1e-9), "{delta}");
    let same = context.query().column::<String>("city").count_by();
    let same = same.noise_of_scale(question.scale()).unwrap();
    assert_eq!(same.threshold(), question.threshold());
    let less = context.query().column::<String>("city").count_by();
    assert_eq!(less.noise_of_scale(1.0).unwrap_err().kind(), "BudgetExceeded");
    let answer = question.release().unwrap();
    assert!((answer.value["Lyon"] - 950).abs() < 200);
}
#[test]
fn the_reported_total_is_the_sum_of_the_maps() {
    let context = context(Budget::epsilon_delta(2.0, 1e-5), Split::by_weights(&[1.0, 2.0, 0.5]));
    let (mut exact, mut losses) = (vec![Exact::ZERO; 2], Vec::new());
    let mut note = |parts: &[Exact], loss| {
        exact = exact.iter().zip(parts).map(|(sum, part)| sum.plus(part)).collect();
        losses.push(loss);
    };
    let question = context.query().count().laplace().unwrap();
    note(question.exact_loss(), question.loss().unwrap());
    assert_eq!(question.measurement().map(&4).unwrap(), question.loss().unwrap());
    question.release().unwrap();
    let question = context.query().column::<String>("city").count_by().laplace().unwrap();
    note(question.exact_loss(), question.loss().unwrap());
    question.release().unwrap();
    let question = incomes(&context).median((0..100).map(f64::from).collect()).choose().unwrap();
    note(question.exact_loss(), question.loss().unwrap());
    question.release().unwrap();
    let report = context.report();
    assert_eq!(report.exact_total(), exact);
    let rounded: Vec<f64> = exact.iter().map(Exact::to_f64_up).collect();
    let composed = Approximate(MaxDivergence).compose(&losses).unwrap();
    assert!(rounded[0] <= composed.0 && composed.0 <= rounded[0] * (1.0 + 1e-15));
    assert!(rounded[1] <= composed.1 && composed.1 <= rounded[1] * (1.0 + 1e-15));
    let json = report.to_json();
    assert_eq!(json["spent"]["epsilon"].to_string().parse(), Ok(rounded[0]));
    assert_eq!(json["releases"].as_array().unwrap().len(), 3);
    assert_eq!(json["releases"][2]["accuracy_in"], "ranks");
    assert!(
        json["releases"][1]["threshold"].is_number() && json["releases"][0]["threshold"].is_null()
    );
    let text = report.to_string();
    assert!(text.contains("counts by `city`") && text.contains("at most 4 rows"), "{text}");
}
#[test]
fn what_a_query_does_not_use_falls_to_the_others() {
    let context = context(Budget::epsilon(1.0), Split::by_weights(&[2.0, 1.0, 1.0]));
    assert_eq!(context.query().count().laplace().unwrap().scale(), 8.0);
    context.query().count().noise_of_scale(16.0).unwrap().release().unwrap();
    let question = context.query().count().laplace().unwrap();
    assert!((question.scale() - 4.0 / 0.375).abs() < 1e-12, "{}", question.scale());
    question.release().unwrap();
    let question = context.query().count().laplace().unwrap();
    let late = context.query().count().laplace().unwrap();
    question.release().unwrap();
    assert!(context.remaining().unwrap() < 1e-14);
    assert_eq!(late.release().unwrap_err().kind(), "BudgetExceeded", "nothing is left");
}
#[test]
fn as_you_go_stops_where_the_budget_does() {
    let context = context(Budget::rho(0.3), Ok(Split::as_you_go()));
    let question = |rho| context.query().spending(Budget::rho(rho)?).count().gaussian();
    for _ in 0..3 {
        question(0.1).unwrap().release().unwrap();
    }
    let error = question(1e-9).unwrap_err();
    assert_eq!(error.kind(), "BudgetExceeded");
    assert!(error.to_string().ends_with("nothing was run"), "{error}");
    let error = context.query().count().gaussian().unwrap_err().to_string();
    assert!(error.contains(".spending("), "{error}");
    let fixed = pure(1.0, 2);
    let error = fixed.query().spending(Budget::epsilon(0.1).unwrap()).count().laplace();
    assert!(error.unwrap_err().to_string().contains("divided among its queries beforehand"));
}
#[test]
fn errors_speak_of_what_to_do() {
    let context = pure(1.0, 1);
    let age = || context.query().column::<i64>("age");
    let income = || context.query().column::<f64>("income");
    let tell = |error: Error, words: &str| {
        let text = error.to_string();
        assert!(text.contains(words), "{text}");
    };
    tell(age().sum().laplace().unwrap_err(), "a sum needs bounds on `age`");
    tell(age().sum().laplace().unwrap_err(), "`.clamp(lower, upper)`");
    tell(income().clamp(0.0, 1.0).sum().laplace().unwrap_err(), "`.impute(value)`");
    tell(income().median(vec![1.0]).choose().unwrap_err(), "`.impute(value)`");
    tell(
        incomes(&context).mean().laplace().unwrap_err(),
        "add `.resize(n)` or ask for a count and a sum",
    );
    tell(incomes(&context).variance().laplace().unwrap_err(), "a variance needs a known number");
    tell(age().clamp(5, 1).sum().laplace().unwrap_err(), "bounds");
    let wrong = context.query().column::<i64>("wage").count().laplace().unwrap_err();
    tell(wrong, "argument `wage`: the table has no such column; its columns are age, city, income");
    let wrong = context.query().column::<i32>("age").count().laplace().unwrap_err();
    tell(wrong, "write `.column::<i64>(..)`");
    let wrong = context.query().filter("age", |age: &i32| 3 < *age).count();
    assert_eq!(wrong.laplace().unwrap_err().kind(), "Argument");
    let no_delta = super::tests::context(Budget::epsilon_delta(1.0, 0.0), Split::evenly(1));
    tell(
        no_delta.query().column::<String>("city").count_by().laplace().unwrap_err(),
        "needs some delta",
    );
    assert_eq!(context.report().entries().len(), 0);
    assert_eq!(context.remaining().unwrap(), 1.0);
}
#[test]
fn refuses_what_is_no_budget_unit_split_or_table() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(Budget::epsilon(bad).unwrap_err().kind(), "Argument");
        assert_eq!(Budget::rho(bad).unwrap_err().kind(), "Argument");
        assert_eq!(Split::by_weights(&[1.0, bad]).unwrap_err().kind(), "Argument");
    }
    for bad in [-0.5, 1.0, f64::NAN] {
        assert_eq!(Budget::epsilon_delta(1.0, bad).unwrap_err().kind(), "Argument");
    }
    assert!(Split::evenly(0).is_err() && PrivacyUnit::person(0).is_err());
    assert_eq!(Split::evenly(usize::MAX).unwrap_err().kind(), "Argument");
    assert!(PrivacyUnit::answers_of_person(u32::MAX).is_err());
    assert_eq!(table().with("age", vec![0; 1000]).unwrap_err().kind(), "Argument");
    assert_eq!(table().with("size", vec![0; 999]).unwrap_err().kind(), "Argument");
    assert!(!format!("{:?}", table()).contains("Lille"));
}
#[test]
fn answers_are_right_when_there_is_budget_enough() {
    let context = context(Budget::epsilon(1e9), Split::evenly(20));
    let near = |found: f64, truth: f64| assert!((found - truth).abs() < 0.1, "{found}");
    let adults = || context.query().filter("age", |age: &i64| 18 <= *age);
    assert_eq!(context.query().count().laplace().unwrap().release().unwrap().value, 1000);
    assert_eq!(adults().count().laplace().unwrap().release().unwrap().value, 820);
    let ages = adults().filter("city", |city: &String| city == "Lille").column::<i64>("age");
    let sum = ages.clamp(0, 50).sum().laplace().unwrap().release().unwrap();
    assert_eq!(sum.value, 10 * (20 + 40 + 50 + 50));
    assert_eq!(sum.interval(0.05).unwrap(), (1600.0, 1600.0));
    near(incomes(&context).sum().laplace().unwrap().release().unwrap().value, 4_950_000.0);
    let sized = || incomes(&context).resize(1000);
    near(sized().mean().laplace().unwrap().release().unwrap().value, 4950.0);
    let variance = sized().variance().laplace().unwrap().release().unwrap().value;
    near(variance, 833.25e4 * 1000.0 / 999.0);
    let age = || context.query().column::<i64>("age");
    let bins = age().histogram_between(vec![10, 30]).laplace().unwrap().release().unwrap();
    assert_eq!(bins.value, [100, 200, 700]);
    let some = age().filter(|age| *age < 4).histogram_and_others(vec![1, 3, 7]).laplace().unwrap();
    assert_eq!(some.release().unwrap().value, [10, 10, 0, 20]);
    let only = age().histogram(vec![1, 3, 700]).laplace().unwrap().release().unwrap();
    assert_eq!(only.value, [10, 10, 0], "the answer has only the stated categories");
    let cities = || context.query().column::<String>("city");
    let names = || ["Lille", "Paris", "Lyon"].map(str::to_owned).to_vec();
    assert_eq!(
        cities().top_k(2, names()).choose().unwrap().release().unwrap().value,
        ["Lyon", "Lille"]
    );
    let median = age().median((0..100).collect()).choose().unwrap().release().unwrap().value;
    assert!((49..=50).contains(&median));
    assert_eq!(
        age().quantile(0.25, vec![0, 25, 90]).choose().unwrap().release().unwrap().value,
        25
    );
    assert_eq!(age().resize_with(1, 5).count().laplace().unwrap().release().unwrap().value, 1);
}
#[test]
fn a_public_number_of_rows_needs_no_resizing() {
    let unit = PrivacyUnit::answers_of_person(1).unwrap();
    let (budget, split) = (Budget::rho(0.5).unwrap(), Split::evenly(1).unwrap());
    let context = Context::new(table(), unit, budget, split).unwrap();
    let question = incomes(&context).mean().gaussian().unwrap();
    // One of a thousand values changes by at most 9900.3, so their mean changes by at most 9.9003.
    // At a rho of 0.5, the scale of Gaussian noise is equal to this change, because rho is
    // `(change / scale)^2 / 2`.
    assert!((question.scale() - 9.9003).abs() < 1e-6, "{}", question.scale());
    // The answers of one person change the number of adults by at most 1.
    let adults = || context.query().filter("age", |age: &i64| 18 <= *age);
    assert_eq!(adults().count().gaussian().unwrap().scale(), 1.0);
    // These answers change each of two counts by at most 1. So the L2 norm of the changes is at
    // most `sqrt(2)`.
    let decades = || (1..10).map(|i| i * 10).collect();
    let ages = || context.query().column::<i64>("age");
    let all_ages = ages().histogram_between(decades());
    assert_eq!(all_ages.gaussian().unwrap().scale(), std::f64::consts::SQRT_2);
    let adults_of_decades = || ages().filter(|age| 18 <= *age);
    let grown = adults_of_decades().histogram_between(decades());
    assert_eq!(grown.gaussian().unwrap().scale(), std::f64::consts::SQRT_2);
    assert_eq!(adults_of_decades().count().gaussian().unwrap().scale(), 1.0);
    // A replaced row of the table replaces at most one of the resized rows. The filter after
    // `resize` can keep the old row, the new row, both or none of them. So the number of kept rows
    // is private. For such rows, the map bounds the changes by 2.
    let resized = || adults_of_decades().resize(5).filter(|age| *age < 90);
    assert_eq!(resized().histogram_between(decades()).gaussian().unwrap().scale(), 2.0);
    assert_eq!(resized().count().gaussian().unwrap().scale(), 2.0);
    // The number of adults is not public, so a question for the mean of their incomes is an error.
    let error = adults()
        .column::<f64>("income")
        .impute(0.0)
        .clamp(0.0, 1.0)
        .mean()
        .gaussian()
        .unwrap_err()
        .to_string();
    assert!(error.contains("known number of rows"), "{error}");
}

/// A journal that records only a few entries. The first field counts the entries that the journal
/// gets. The second field is the number of entries that it records. The journal returns an error
/// for each later entry.
struct Pages(Arc<AtomicUsize>, usize);
impl Journal for Pages {
    fn record(&self, entry: &Entry) -> Result<()> {
        assert!(!entry.loss.is_empty());
        if self.0.fetch_add(1, Ordering::SeqCst) < self.1 {
            return Ok(());
        }
        Err(Error::FailedFunction("the journal is full".into()))
    }
}
#[test]
fn nothing_is_released_that_was_not_written_down() {
    let written = Arc::new(AtomicUsize::new(0));
    let context = pure(1.0, 3).with_journal(Pages(written.clone(), 1));
    let ask = || context.query().named("people").count().laplace().and_then(Question::release);
    ask().unwrap();
    assert_eq!(ask().unwrap_err().to_string(), "the journal is full");
    assert_eq!(context.report().entries().len(), 2, "the charge stays");
    assert!(ask().is_err());
    assert_eq!(written.load(Ordering::SeqCst), 3);
    assert_eq!(ask().unwrap_err().kind(), "BudgetExceeded");
    assert_eq!(written.load(Ordering::SeqCst), 3, "a refused release is not recorded");
    assert_eq!(context.report().entries()[0].query, "people");
}
#[test]
fn an_earlier_life_is_carried_over() {
    let earlier = context(Budget::rho(1.0), Split::evenly(4));
    for _ in 0..3 {
        incomes(&earlier).sum().gaussian().unwrap().release().unwrap();
    }
    let later = context(Budget::rho(1.0), Split::evenly(4));
    for entry in earlier.report().entries() {
        later.carry_over(entry.clone()).unwrap();
    }
    assert_eq!(later.report().exact_total(), earlier.report().exact_total());
    let scale = |context: &Context<ZeroConcentratedDivergence>| {
        context.query().count().gaussian().unwrap().scale()
    };
    assert_eq!(scale(&later), scale(&earlier));
    later.query().count().gaussian().unwrap().release().unwrap();
    assert_eq!(later.query().count().gaussian().unwrap_err().kind(), "BudgetExceeded");
    let entry = later.report().entries()[0].clone();
    assert_eq!(later.carry_over(entry.clone()).unwrap_err().kind(), "BudgetExceeded");
    // A context with a budget of an epsilon refuses an entry whose loss is a rho. A context for a
    // person with two rows refuses an entry that was charged for a person with four rows.
    let other = context(Budget::epsilon(1.0), Split::evenly(4));
    let error = other.carry_over(entry.clone()).unwrap_err().to_string();
    assert!(error.contains("expected a loss in MaxDivergence"), "{error}");
    let unit = PrivacyUnit::person(2).unwrap();
    let split = Split::evenly(4).unwrap();
    let wide = Context::new(table(), unit, Budget::rho(1.0).unwrap(), split).unwrap();
    let error = wide.carry_over(entry).unwrap_err().to_string();
    assert!(error.contains("at most 2 rows; found one that protects one person"), "{error}");
}
#[test]
fn threads_never_overspend() {
    let context = context(Budget::epsilon(1.0), Ok(Split::as_you_go()));
    let answered = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let share = Budget::epsilon(0.1).unwrap();
                    let question = context.query().spending(share).count().laplace();
                    if question.and_then(Question::release).is_ok() {
                        answered.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    assert_eq!(answered.load(Ordering::SeqCst), 10);
    assert!(zeros(&context.report().left));
}

mod accuracy;
mod admitted;
mod erased;
mod mechanism;
mod neighbours;
mod possible;
mod quantiles;
mod shares;
mod sums;
mod tables;
pub(super) mod tight;
