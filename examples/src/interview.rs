//! An interview: questions of an analyst, one after the other. Each question may depend on earlier
//! answers.

use opendp_core::arith::{Directed, shown};
use opendp_core::{
    AbsoluteDistance, AtomDomain, Bounds, Error, MaxDivergence, Measurement, Result, Session,
    SymmetricDistance, TheMeasure, Transformation,
};
use opendp_measurements::{
    Scale, make_fully_adaptive_composition, make_laplace, make_privacy_filter,
};
use opendp_transformations::{make_clamp, make_count, make_sum};

use crate::people::{AnyPeople, column, people};
use crate::statistics::ALPHA;
use crate::table::{People, ages, answers, incomes};

/// A question about a table of people. The answer is a whole number or an amount in dollars.
type Question<T> = Measurement<AnyPeople, SymmetricDistance, MaxDivergence, T>;
/// A function that returns whether a question is about person `i` of a table.
type Who = fn(&People, usize) -> bool;

/// Each constant is the budget divided by the cost of one question. A count costs one twentieth of
/// the budget, and a sum costs three twentieths.
const COUNT: f64 = 20.0;
const SUM: f64 = 20.0 / 3.0;

/// One question of an interview.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The title of the question.
    pub question: &'static str,
    /// The answer, and a bound on its error. The bound holds except with probability at most
    /// [`ALPHA`]. If there is no answer, the field contains the reason.
    pub answer: Result<(f64, f64), String>,
    /// The budget that remains after the question.
    pub left: f64,
}

/// Ask a dozen questions, and then one question for which the budget is too small.
///
/// Each question is an ordinary measurement. A privacy filter calls the map of each measurement,
/// and adds up the losses. The dozen questions spend the whole budget, up to rounding, so the
/// filter refuses the last question. The [`Line`] of the last question contains the reason.
///
/// # Errors
/// `Argument` when `epsilon` is not positive or not finite, `NoEntropy` when the operating system
/// returns no random bits.
pub fn hold(table: &People, epsilon: f64) -> Result<Vec<Line>> {
    if !(0.0 < epsilon && epsilon < f64::INFINITY) {
        let reason = format!("expected a finite number above 0, found {}", shown(epsilon));
        return Err(Error::argument("epsilon", reason));
    }
    let odometer = make_fully_adaptive_composition(people()?, TheMeasure(MaxDivergence))?;
    let filter = make_privacy_filter(odometer, 1, epsilon)?;
    let mut analyst = Analyst { session: filter.invoke(table)?, epsilon, lines: Vec::new() };
    analyst.interview()?;
    Ok(analyst.lines)
}

struct Analyst {
    session: Session<AnyPeople, SymmetricDistance, MaxDivergence>,
    epsilon: f64,
    lines: Vec<Line>,
}
impl Analyst {
    fn interview(&mut self) -> Result<()> {
        let everyone = self.count("How many people are there?", |_, _| true)?;
        let years = self.years("What is the sum of their ages?")?;
        // Each answer may determine the next question.
        if everyone * 45.0 < years {
            self.count("They are old. How many are above 65?", |p, i| 65 < p.age[i])?;
        } else {
            self.count("They are young. How many are below 30?", |p, i| p.age[i] < 30)?;
        }
        let married = self.count("How many are married?", |p, i| p.married[i])?;
        if everyone < 2.0 * married {
            self.count("Most are married. How many of these are women?", |p, i| {
                p.married[i] && p.sex[i] == 1
            })?;
        } else {
            self.count("Few are married. How many others are women?", |p, i| {
                !p.married[i] && p.sex[i] == 1
            })?;
        }
        let learned = self.count("How many have a degree?", |p, i| 12 < p.educ[i])?;
        let rich = self.dollars("What do these earn together?", |p, i| 12 < p.educ[i])?;
        let poor = self.dollars("And the others?", |p, i| p.educ[i] <= 12)?;
        let (rich, poor) = (rich / learned.max(1.0), poor / (everyone - learned).max(1.0));
        if 1.5 * poor < rich {
            self.count("A degree pays. Do 100,000 and more?", |p, i| 1e5 <= p.income[i])?;
        } else {
            self.count("A degree does not pay. Do many earn nothing?", |p, i| p.income[i] <= 0.0)?;
        }
        self.dollars("What do women earn together?", |p, i| p.sex[i] == 1)?;
        self.count("How many women are there?", |p, i| p.sex[i] == 1)?;
        self.count("How many women have a degree?", |p, i| p.sex[i] == 1 && 12 < p.educ[i])?;
        // The whole budget is spent now, up to rounding, so the filter refuses the next question.
        self.count("How many men have a degree?", |p, i| p.sex[i] == 0 && 12 < p.educ[i])?;
        Ok(())
    }

    fn count(&mut self, title: &'static str, who: Who) -> Result<f64> {
        let rows = column(answers(), move |p| among(p, who).map(|_| true).collect())?;
        let count = rows.then(make_count::<_, _, i64>)?;
        let noise = self.noise(COUNT, 1.0)?;
        let question = count.then(|count| make_laplace(count, noise, None))?;
        self.ask(title, &question, |count| count as f64)
    }
    fn years(&mut self, title: &'static str) -> Result<f64> {
        let ages = column(ages(), |p| p.age.clone())?;
        let bounded = ages.then(|ages| make_clamp(ages, Bounds::new(0, 100)?))?;
        let noise = self.noise(SUM, 100.0)?;
        let question = bounded.then(make_sum)?.then(|sum| make_laplace(sum, noise, None))?;
        self.ask(title, &question, |years| years as f64)
    }
    fn dollars(&mut self, title: &'static str, who: Who) -> Result<f64> {
        let incomes = column(incomes(), move |p| among(p, who).map(|i| p.income[i]).collect())?;
        let bounded = incomes.then(|rows| make_clamp(rows, Bounds::new(0.0, 2e5)?))?;
        let sum: Transformation<_, _, AtomDomain<f64>, AbsoluteDistance<f64>> =
            bounded.then(make_sum)?;
        // The map returns the sensitivity of a float sum. This sensitivity is a little above 2e5,
        // the upper bound of one income.
        let noise = self.noise(SUM, sum.map(&1)?)?;
        let question = sum.then(|sum| make_laplace(sum, noise, None))?;
        self.ask(title, &question, |dollars| dollars)
    }
    /// Return the scale of the noise for a question that costs `1 / parts` of the budget. The scale
    /// is rounded up.
    fn noise(&self, parts: f64, sensitivity: f64) -> Result<Scale> {
        Scale::new(sensitivity.inf_mul(parts)?.inf_div(self.epsilon)?)
    }
    /// Ask a question, and record the answer. If the budget is too small, record the reason instead
    /// of an answer. Return every other error.
    fn ask<T: opendp_core::Carrier>(
        &mut self,
        title: &'static str,
        question: &Question<T>,
        number: impl Fn(T) -> f64,
    ) -> Result<f64> {
        let error = question.accuracy(ALPHA)?.first().copied().flatten().unwrap_or(f64::INFINITY);
        let answer = match self.session.ask(question) {
            Ok(answer) => Ok((number(answer), error)),
            Err(Error::BudgetExceeded(reason)) => Err(reason),
            Err(other) => return Err(other),
        };
        let value = answer.as_ref().map_or(f64::NAN, |(value, _)| *value);
        self.lines.push(Line { question: title, answer, left: self.session.left()? });
        Ok(value)
    }
}
/// Return the row numbers of the people that a question is about.
fn among(table: &People, who: Who) -> impl Iterator<Item = usize> {
    (0..table.age.len()).filter(move |i| who(table, *i))
}

/// Write an interview as a table for display.
pub fn text(lines: &[Line], epsilon: f64) -> String {
    let mut text =
        format!("{:<48} {:>14} {:>10} {:>7}\n", "question", "answer", "+/- 95 %", "left");
    for line in lines {
        let row = match &line.answer {
            Ok((value, error)) => format!("{value:>14.0} {error:>10.0}"),
            Err(_) => format!("{:>14} {:>10}", "refused", ""),
        };
        text += &format!("{:<48} {row} {:>7.4}\n", line.question, line.left);
    }
    if let Some(Line { answer: Err(reason), .. }) = lines.last() {
        text += &format!("\n{reason}.\n");
    }
    text + &format!(
        "All answers together lose at most epsilon {epsilon}; neighbours are tables that differ by \
         one person.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::population;

    #[test]
    fn a_dozen_questions_are_answered_and_one_more_is_refused() {
        let table = population::generate(20_000, 1);
        for epsilon in [1.0, 0.3, 7.0] {
            let lines = hold(&table, epsilon).unwrap();
            assert_eq!(lines.len(), 13);
            assert!(lines[..12].iter().all(|line| line.answer.is_ok()));
            assert!(lines[12].answer.is_err() && lines[12].left == lines[11].left);
            assert!(lines.windows(2).all(|pair| pair[1].left <= pair[0].left));
            assert!((0.0..1e-9).contains(&lines[12].left), "{}", lines[12].left);
        }
    }
    #[test]
    fn answers_are_close_to_the_truth() {
        let table = population::generate(20_000, 1);
        let lines = hold(&table, 1000.0).unwrap();
        let answer = |place: usize| lines[place].answer.clone().unwrap().0;
        assert!((answer(0) - 20_000.0).abs() < 2.0);
        let years: i64 = table.age.iter().sum();
        assert!((answer(1) - years as f64).abs() < 100.0);
    }
    #[test]
    fn a_budget_must_be_positive() {
        let table = population::generate(10, 1);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(hold(&table, bad).unwrap_err().kind(), "Argument");
        }
    }
}
