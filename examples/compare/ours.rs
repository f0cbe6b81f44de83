//! Errors of the answers of `Context`, as JSON for `compare.py` in this folder.
//!
//! `cargo run --release -p opendp-examples --example compare -- people.csv 200`
//!
//! For each question, the output has the mean square error of each repetition, the number of
//! answers in a repetition, and the noise. `compare.py` computes the expected error from the noise.

use std::fs::File;

use opendp_rs::opendp_analysis::context::{Goal, Noised};
use opendp_rs::prelude::*;
use serde_json::{Value as Json, json};

type Tight = Approximate<MaxDivergence>;
type Outcome<T> = std::result::Result<T, Box<dyn std::error::Error>>;
/// The errors of one repetition, and the noise.
type Errors = Result<(Vec<f64>, Json)>;

/// Describe the noise of a plan whose questions all have the same noise.
fn noise_of(noised: &[Noised]) -> Json {
    let first = noised.first();
    json!({"mechanism": first.map(|noised| &noised.mechanism), "scale": first.map(|noised| &noised.scales)})
}

/// The table, and a copy of its columns. The true answers are computed from this copy.
struct People {
    table: Table,
    age: Vec<i64>,
    educ: Vec<i64>,
    income: Vec<f64>,
}
impl People {
    fn read(file: &str) -> Outcome<Self> {
        let cells = ColumnDomain::new(AtomDomain::<i64>::default());
        let money = ColumnDomain::new(AtomDomain::<f64>::non_nan());
        let columns = [("age", cells.clone()), ("educ", cells), ("income", money)]
            .map(|(n, c)| (n.into(), c));
        let domain = DataFrameDomain::with_schema(columns)?;
        let frames = CsvFrame::new(File::open(file)?, &domain)?.collect::<Result<Vec<_>>>()?;
        let (mut age, mut educ, mut income) = (Vec::new(), Vec::new(), Vec::new());
        for frame in &frames {
            age.extend_from_slice(frame.cells(&"age".to_owned()).unwrap_or_default());
            educ.extend_from_slice(frame.cells(&"educ".to_owned()).unwrap_or_default());
            income.extend_from_slice(frame.cells(&"income".to_owned()).unwrap_or_default());
        }
        let table = Table::from_frames(frames.into_iter().map(Ok))?;
        Ok(People { table, age, educ, income })
    }
    fn open(&self, split: Split) -> Result<Context<Tight>> {
        let (unit, budget) = (PrivacyUnit::person(1)?, Budget::epsilon_delta(1.0, 1e-6)?);
        Context::new(self.table.clone(), unit, budget, split)
    }
    /// Return the errors of 100 counts. Count `k` is the number of people with an income of at
    /// least `1000 k`.
    fn counts(&self) -> Errors {
        let context = self.open(Split::as_you_go())?;
        let mut plan = context.plan();
        let least = |k: u32| f64::from(k) * 1000.0;
        let asked = (0..100).map(|k| {
            let rich = context.query().filter("income", move |income: &f64| least(k) <= *income);
            plan.ask(rich.count(), Goal::Weight(1.0))
        });
        let asked = asked.collect::<Result<Vec<_>>>()?;
        let solved = plan.solve()?;
        let noise = noise_of(&solved.noises(0.05)?);
        let mut answers = solved.release()?;
        let error = |(k, asked)| {
            let truth = self.income.iter().filter(|income| least(k) <= **income).count();
            Ok(answers.take(asked)?.value as f64 - truth as f64)
        };
        Ok(((0..).zip(asked).map(error).collect::<Result<_>>()?, noise))
    }
    /// Return the errors of 10 sums. Each sum adds up the incomes of the people in one decade of
    /// ages.
    fn sums(&self) -> Errors {
        let context = self.open(Split::as_you_go())?;
        let mut plan = context.plan();
        let asked = (0..10_i64).map(|decade| {
            let rows = context.query().filter("age", move |age: &i64| age / 10 == decade);
            let incomes = rows.column("income").impute(0.0).clamp(0.0, 100_000.0);
            plan.ask(incomes.sum(), Goal::Weight(1.0))
        });
        let asked = asked.collect::<Result<Vec<_>>>()?;
        let solved = plan.solve()?;
        let noise = noise_of(&solved.noises(0.05)?);
        let mut answers = solved.release()?;
        let error = |(decade, asked)| {
            let rows = self.age.iter().zip(&self.income).filter(|(age, _)| *age / 10 == decade);
            let truth: f64 = rows.map(|(_, income)| income.clamp(0.0, 100_000.0)).sum();
            Ok(answers.take(asked)?.value - truth)
        };
        Ok(((0..).zip(asked).map(error).collect::<Result<_>>()?, noise))
    }
    /// Return the error of each age decile, as a fraction of the number of rows.
    fn quantiles(&self) -> Errors {
        let context = self.open(Split::evenly(1)?)?;
        let alphas: Vec<f64> = (1..10).map(|k| f64::from(k) / 10.0).collect();
        let ages = context.query().column::<i64>("age");
        let question = ages.quantiles(&alphas, (0..=100).collect()).choose()?;
        let noise = json!({"mechanism": question.mechanism(), "scale": [question.scale()]});
        let chosen = question.release()?;
        let size = self.age.len() as f64;
        let part = |keep: &dyn Fn(i64) -> bool| {
            self.age.iter().filter(|age| keep(**age)).count() as f64 / size
        };
        let error = |(alpha, chosen): (&f64, &i64)| {
            let (below, above) = (part(&|age| age < *chosen), part(&|age| *chosen < age));
            (below - alpha).max(alpha - (1.0 - above)).max(0.0)
        };
        Ok((alphas.iter().zip(&chosen.value).map(error).collect(), noise))
    }
    /// Return the errors of the counts by education, for keys that are not public. For a key that
    /// is not released, use the count 0.
    fn keys(&self) -> Errors {
        let context = self.open(Split::evenly(1)?)?;
        let educ = context.query().column::<i64>("educ").count_by();
        let question = educ.laplace()?;
        let noise = json!({
            "mechanism": question.mechanism(),
            "scale": [question.scale()],
            "threshold": question.threshold(),
        });
        let found = question.release()?.value;
        let error = |key: i64| {
            let truth = self.educ.iter().filter(|educ| **educ == key).count() as f64;
            found.get(&key).map_or(0.0, |count| *count as f64) - truth
        };
        Ok(((1..=16).map(error).collect(), noise))
    }
    /// Return the errors of the mean income by education, for groups of at least 30 people.
    fn means(&self) -> Errors {
        let context = self.open(Split::as_you_go())?;
        let groups = context.query().group_by(["educ"]).keys("educ", 1..=16).impute("income", 0.0);
        let solved = groups.mean("income", (0.0, 100_000.0)).solve()?;
        let noise = noise_of(&solved.statistics(0.05)?);
        let rows = solved.release()?.rows(0.05)?;
        let mut errors = Vec::new();
        for (key, row) in (1..).zip(rows) {
            let rows = self.educ.iter().zip(&self.income).filter(|(educ, _)| **educ == key);
            let incomes: Vec<f64> = rows.map(|(_, income)| income.clamp(0.0, 100_000.0)).collect();
            if 30 <= incomes.len() {
                errors.push(row.value - incomes.iter().sum::<f64>() / incomes.len() as f64);
            }
        }
        Ok((errors, noise))
    }
}
fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("expected a file of people")?;
    let times: u32 = arguments.next().as_deref().unwrap_or("200").parse()?;
    let people = People::read(&file)?;
    let repeat = |errors: fn(&People) -> Errors, times: u32| -> Result<Json> {
        let (mut squares, mut numbers, mut last) = (Vec::new(), 0, Json::Null);
        for _ in 0..times {
            let (errors, noise) = errors(&people)?;
            let square = errors.iter().map(|error| error * error).sum::<f64>();
            squares.push(square / errors.len() as f64);
            (numbers, last) = (errors.len(), noise);
        }
        Ok(json!({"squares": squares, "numbers": numbers, "noise": last}))
    };
    let found = json!({
        "100 counts": repeat(People::counts, times)?,
        "10 sums": repeat(People::sums, 10 * times)?,
        "9 quantiles, in parts of the rows": repeat(People::quantiles, 10 * times)?,
        "counts by keys that are found": repeat(People::keys, 20 * times)?,
        "mean by group": repeat(People::means, 10 * times)?,
    });
    println!("{found}");
    Ok(())
}
