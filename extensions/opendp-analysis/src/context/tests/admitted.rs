//! Test whether the account admits the cost of a question if this cost fits the share of the
//! question.

use super::*;

type Loss = Approximate<MaxDivergence>;

fn open(epsilon: f64, delta: f64, split: Split) -> Context<Loss> {
    let table = Table::new().with("age", (0..50).map(|i| i % 10).collect::<Vec<i64>>()).unwrap();
    let (unit, budget) = (PrivacyUnit::person(1), Budget::epsilon_delta(epsilon, delta));
    Context::new(table, unit.unwrap(), budget.unwrap(), split).unwrap()
}
/// Ask a question of the given kind, and release its answer.
fn ask(query: Query<'_, Loss>, kind: &str) -> Result<()> {
    match kind {
        "Laplace" => query.count().laplace()?.release().map(drop),
        "Gaussian" => query.count().gaussian()?.release().map(drop),
        "choice" => {
            query.column::<i64>("age").median((0..10).collect()).choose()?.release().map(drop)
        }
        _ => query.column::<i64>("age").count_by().laplace()?.release().map(drop),
    }
}

#[test]
fn the_last_question_of_an_even_split_is_released_after_questions_of_all_kinds() {
    let kinds = ["Laplace", "Gaussian", "choice", "keys"];
    let pairs = || kinds.iter().flat_map(|first| kinds.iter().map(move |last| vec![*first, *last]));
    let triples = pairs().flat_map(|pair| {
        let with = move |last: &&'static str| [pair.as_slice(), &[*last]].concat();
        kinds.iter().map(with)
    });
    for word in pairs().chain(triples) {
        for (epsilon, delta) in [(1.0, 1e-6), (0.3, 1e-9), (5.0, 1e-4)] {
            let context = open(epsilon, delta, Split::evenly(word.len()).unwrap());
            for kind in &word {
                let asked = ask(context.query(), kind);
                assert_eq!(asked, Ok(()), "{kind} of {word:?}, ({epsilon}, {delta})");
            }
        }
    }
}
#[test]
fn a_question_that_the_account_refuses_is_an_error_before_the_release() {
    let share = |epsilon, delta| Budget::epsilon_delta(epsilon, delta).unwrap();
    // After Gaussian noise, the stated remaining budget is the rest of a filter for Gaussian noise.
    // No filter admits a pure loss as large as the stated epsilon.
    let noisy = open(1.0, 1e-6, Split::as_you_go());
    ask(noisy.query().spending(share(0.01, 1e-8)), "Gaussian").unwrap();
    let (epsilon, delta) = noisy.remaining().unwrap();
    let noisy = noisy.query().spending(share(epsilon, delta));
    let spent = open(1.0, 1e-6, Split::as_you_go());
    ask(spent.query().spending(share(0.9, 5e-7)), "keys").unwrap();
    let spent = spent.query().spending(share(0.9, 9e-7));
    let keys = spent.clone().column::<i64>("age").count_by();
    let (stated, spent_again) = (noisy.clone().count(), spent.clone().count());
    let refused = [
        noisy.count().laplace().map(drop),
        spent.count().laplace().map(drop),
        keys.laplace().map(drop),
        stated.noise_of_scale(1.001 / epsilon).map(drop),
        spent_again.noise_of_scale(1.2).map(drop),
    ];
    for error in refused.map(Result::unwrap_err) {
        assert_eq!(error.kind(), "BudgetExceeded");
        assert!(error.to_string().ends_with("nothing was run"), "{error}");
    }
    // The control: after Laplace noise, the whole remaining epsilon pays for Laplace noise.
    let plain = open(1.0, 1e-6, Split::as_you_go());
    ask(plain.query().spending(share(0.3, 0.0)), "Laplace").unwrap();
    let (epsilon, delta) = plain.remaining().unwrap();
    let again = plain.query().spending(share(epsilon, delta));
    again.clone().count().noise_of_scale(1.001 / epsilon).unwrap();
    ask(again, "Laplace").unwrap();
}
