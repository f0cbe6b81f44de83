//! Ten questions about a labour force. Each question gets the least noise that fits its share of
//! the budget.

use std::fmt::Write;
use std::path::Path;

use opendp_analysis::context::{Answer, Query};
use opendp_analysis::{Budget, Context, PrivacyUnit, Split, Table};
use opendp_core::{Approximate, MaxDivergence, Result};
use opendp_ledger::{ContextJournal, Ledger};
use opendp_measurements::Released;

/// The privacy measure of the budget. A loss is a pair of an epsilon and a delta.
pub(crate) type Loss = Approximate<MaxDivergence>;

pub(crate) const QUESTIONS: usize = 10;
/// The largest probability with which an interval may miss the true answer.
const ALPHA: f64 = Context::<Loss>::ALPHA;

/// Open a budget for ten questions. One person is one row of the survey.
///
/// # Errors
/// `Argument` unless epsilon is positive and finite, and delta is at least 0 and below 1.
pub(crate) fn open(table: Table, epsilon: f64, delta: f64) -> Result<Context<Loss>> {
    let budget = Budget::epsilon_delta(epsilon, delta)?;
    Context::new(table, PrivacyUnit::person(1)?, budget, Split::evenly(QUESTIONS)?)
}

/// Open the budget in a ledger. If the ledger does not contain the budget, create the budget.
///
/// The losses of earlier runs remain charged. The loss of each question is written to the ledger
/// before the answer is drawn.
///
/// # Errors
/// The errors of [`open`] and of the ledger. `Argument` when the budget in the ledger has another
/// amount.
pub(crate) fn open_in(
    path: &Path,
    table: Table,
    epsilon: f64,
    delta: f64,
) -> Result<Context<Loss>> {
    let (context, ledger) = (open(table, epsilon, delta)?, Ledger::open(path)?);
    ContextJournal::open_or_create(ledger, "survey", &context)?.by("budget").attach(context)
}

/// One question and its answer, for display.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    /// The title of the question.
    pub(crate) question: String,
    /// The answer, with its interval if there is one.
    pub(crate) answer: String,
}

/// Ask the ten questions.
///
/// # Errors
/// `BudgetExceeded` when the budget is spent, `NoEntropy` when the operating system returns no
/// random bits.
pub(crate) fn ask(context: &Context<Loss>) -> Result<Vec<Line>> {
    let workers = |title: &str| ask_about(context, title).filter("status", |s: &i64| *s == 1);
    let mut lines = Vec::new();

    let people = ask_about(context, "people").count().laplace()?.release()?;
    lines.push(number("people", &people, people.value as f64)?);
    let employed = workers("who work").count().laplace()?.release()?;
    lines.push(number("who work", &employed, employed.value as f64)?);
    let seeking = ask_about(context, "who look for work").filter("status", |s: &i64| *s == 2);
    let seeking = seeking.count().laplace()?.release()?;
    lines.push(number("who look for work", &seeking, seeking.value as f64)?);
    let women = workers("women who work").filter("sex", |sex: &i64| *sex == 2);
    let women = women.count().laplace()?.release()?;
    lines.push(number("women who work", &women, women.value as f64)?);

    // The value 99 for the hours means that no number of hours is known. The bounds of the hours
    // are public, because they were chosen without the data.
    let hours = workers("hours a week").column("hours").impute(99.0).filter(|hours| *hours < 99.0);
    let hours = hours.clamp(0.0, 80.0).sum().laplace()?.release()?;
    lines.push(number("hours a week", &hours, hours.value)?);
    let long = workers("hours, median").column("hours").impute(99.0).filter(|hours| *hours < 99.0);
    let long = long.median((0..=80).map(f64::from).collect()).choose()?.release()?;
    lines.push(choice("hours, median", long.value, long.accuracy));
    let age = ask_about(context, "age, median").column("age").impute(0.0);
    let age = age.median((0..=110).map(f64::from).collect()).choose()?.release()?;
    lines.push(choice("age, median", age.value, age.accuracy));

    let ages = ask_about(context, "age groups").column("age").impute(0.0);
    let ages = ages.histogram_between(vec![15.0, 25.0, 45.0, 65.0]).laplace()?.release()?;
    let names = ["below 15", "15 to 24", "25 to 44", "45 to 64", "65 and more"];
    let groups = names.iter().zip(&ages.value).map(|(name, count)| format!("{name}: {count}"));
    lines.push(Line {
        question: "age groups".into(),
        answer: groups.collect::<Vec<_>>().join(", ") + &within(ages.accuracy, ""),
    });

    // The list of sectors is not public, so this question spends the delta.
    let sectors = workers("sectors").column::<String>("sector").count_by().laplace()?.release()?;
    let mut found: Vec<(String, i64)> = sectors.value.into_iter().collect();
    found.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut candidates: Vec<String> = found.iter().map(|(name, _)| name.clone()).collect();
    let shown = found.iter().take(4).map(|(name, count)| format!("{}: {count}", named(name)));
    let shown = shown.collect::<Vec<_>>().join(", ");
    lines.push(Line {
        question: "sectors".into(),
        answer: format!("{} of them; {shown}", found.len()) + &within(sectors.accuracy, ""),
    });
    // The last question asks for the three released sectors in which the most women work. If no
    // sector was released, use all sectors of the public classification.
    if candidates.is_empty() {
        candidates = ('A'..='U').map(String::from).collect();
    }
    let most_women = candidates.len().min(3);
    let women = workers("women's sectors").filter("sex", |sex: &i64| *sex == 2);
    let first =
        women.column::<String>("sector").top_k(most_women, candidates).choose()?.release()?;
    let chosen: Vec<&str> = first.value.iter().map(|name| named(name)).collect();
    lines.push(Line { question: "women's sectors".into(), answer: chosen.join(", ") });
    Ok(lines)
}
/// Return a sector for display. In survey files, the text of an unknown sector is empty.
fn named(sector: &str) -> &str {
    if sector.is_empty() { "not stated" } else { sector }
}
fn ask_about<'c>(context: &'c Context<Loss>, title: &str) -> Query<'c, Loss> {
    context.query().named(title)
}
/// Write a number and the interval around it.
fn number<T: Released<Intervals = (f64, f64)>>(
    question: &str,
    answer: &Answer<Loss, T>,
    value: f64,
) -> Result<Line> {
    let (lower, upper) = answer.interval(ALPHA)?;
    let answer = format!("{value:.0}, between {lower:.0} and {upper:.0}");
    Ok(Line { question: question.to_owned(), answer })
}
fn choice(question: &str, value: f64, ranks: Option<f64>) -> Line {
    let answer = format!("{value:.0}{}", within(ranks, " in rank"));
    Line { question: question.to_owned(), answer }
}
fn within(bound: Option<f64>, unit: &str) -> String {
    bound.map_or_else(String::new, |bound| format!(" (+/- {bound:.0}{unit})"))
}

/// Write the answers for display.
pub(crate) fn text(lines: &[Line]) -> String {
    lines.iter().fold(String::new(), |mut text, line| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{:<20} {}", line.question, line.answer);
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workers;

    #[test]
    fn ten_questions_are_answered_within_the_budget_and_one_more_is_not() {
        let table = workers::generate(5_000, 1).unwrap();
        for epsilon in [1.0, 0.3] {
            let context = open(table.clone(), epsilon, 1e-6).unwrap();
            let lines = ask(&context).unwrap();
            assert_eq!((lines.len(), context.report().entries().len()), (QUESTIONS, QUESTIONS));
            let left = context.remaining().unwrap();
            assert!(0.0 <= left.0 && left.0 < 1e-9 && 0.0 <= left.1 && left.1 < 1e-6, "{left:?}");
            assert_eq!(ask(&context).unwrap_err().kind(), "BudgetExceeded");
            assert!(text(&lines).contains("women's sectors"));
        }
        assert_eq!(open(table, 1.0, 2.0).unwrap_err().kind(), "Argument");
    }
    #[test]
    fn a_budget_that_was_spent_stays_spent_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("study.ledger");
        let table = workers::generate(2_000, 1).unwrap();
        let life = |epsilon: f64| open_in(&path, table.clone(), epsilon, 1e-6);
        let first = life(1.0).unwrap();
        ask(&first).unwrap();
        let second = life(1.0).unwrap();
        assert_eq!(second.report().to_json(), first.report().to_json());
        assert_eq!(second.report().entries().len(), QUESTIONS);
        assert_eq!(ask(&second).unwrap_err().kind(), "BudgetExceeded");
        assert_eq!(life(2.0).unwrap_err().kind(), "Argument");
    }
    #[test]
    fn answers_are_close_to_the_truth() {
        let context = open(workers::generate(20_000, 1).unwrap(), 1000.0, 1e-6).unwrap();
        let lines = ask(&context).unwrap();
        assert!(lines[0].answer.starts_with("20000, between 20000"), "{}", lines[0].answer);
        assert!(lines[8].answer.starts_with("8 of them; "), "{}", lines[8].answer);
        assert_eq!(lines[9].answer.split(", ").count(), 3);
    }
}
