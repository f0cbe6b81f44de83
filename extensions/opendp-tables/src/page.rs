//! Write answers as HTML pages.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use opendp_ledger::say_float;
use opendp_report::{Block, Page, Point, Section, Table, number};
use serde_json::Value as Json;

use crate::Answer;
use crate::answer::VAGUE;

/// The least number of groups for which a chart over one integer key is a histogram.
const MANY: usize = 10;
/// The positions of three columns in the table of released values: the value, and the two ends of
/// its interval. The first column after the keys has the position 0.
const VALUE: usize = 1;
const LOWER: usize = 3;
const UPPER: usize = 4;

/// What the page says about an answer that the ledger already had.
const REPEATED: &str = "an earlier question had the same id; nothing is charged again";

impl Answer {
    /// Make a page of the answer: charts with 95 % intervals, the budget and the plan.
    pub fn to_page(&self) -> Page {
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let plan = &self.document["plan"];
        let spent = self.shown.accounts.iter().map(|account| {
            let spent: f64 = account.spent.iter().map(|spent| spent.amount).sum();
            format!("{} {}", account.part, say_float(spent, true))
        });
        let left = self.shown.accounts.iter();
        let left =
            left.map(|account| format!("{} {}", account.part, say_float(account.left, false)));
        let page = Page::new("Private answer");
        let page = match self.document["repeated"].as_bool() {
            Some(true) => page.fact("Repeated", REPEATED),
            _ => page,
        };
        let mut page = page
            .lead("The answer to a question about private tables, released with differential privacy.")
            .fact("Privacy loss", spent.collect::<Vec<_>>().join(", "))
            .fact("Remaining budget", left.collect::<Vec<_>>().join(", "))
            .fact("Used", self.shown.limits.clone())
            .with(Section::new("Question").with(Block::Code(text(&self.document["query"]))));
        for section in self.charts() {
            page = page.with(section);
        }
        let budget = self.budget();
        let mut provenance = Section::new("How it was computed").with(Block::Text(format!(
            "Engine: {}. SHA-256 of the exact plan: {}. The plan below is exact, so its own \
             results are private. Noise was added to these results.",
            text(&plan["engine"]),
            text(&plan["sha256"])
        )));
        for statement in plan["statements"].as_array().into_iter().flatten() {
            provenance = provenance.with(Block::Code(text(statement)));
        }
        if let Some(warning) = self.document["warning"].as_str() {
            page = page.with(Section::new("Warning").with(Block::Text(warning.to_owned())));
        }
        let answer = Section::new("Answer").with(Block::Table(table(&self.table)));
        // The first note is a fact at the top of the page.
        let notes = self.document["notes"].as_array().into_iter().flatten().skip(1);
        page.with(notes.map(|note| Block::Text(text(note))).fold(answer, Section::with))
            .with(budget)
            .with(Section::new("Noise").with(Block::Table(noise(&self.document["releases"]))))
            .with(provenance)
    }
    /// Show the budget. If losses compose tightly, the remaining budget is the largest loss of one
    /// more question. Then the losses of all questions and the remaining budget do not add up to
    /// the whole budget. So the page shows the numbers in a table, and draws no bar.
    fn budget(&self) -> Section {
        let accounts = &self.shown.accounts;
        let section = Section::new("Budget");
        if !self.shown.tight {
            return accounts.iter().cloned().map(Block::Budget).fold(section, Section::with);
        }
        let table = Table::new().texts("part").numbers("budget").numbers("this question");
        let mut table = table.numbers("left for one more question");
        for account in accounts {
            let spent: f64 = account.spent.iter().map(|spent| spent.amount).sum();
            let numbers = [(account.whole, true), (spent, true), (account.left, false)];
            let numbers = numbers.map(|(amount, up)| say_float(amount, up));
            table.push([account.part.clone()].into_iter().chain(numbers));
        }
        section.with(Block::Table(table)).with(Block::Text(
            "Losses compose tightly. So the losses of all questions and the remaining budget do not \
             add up to the whole budget."
                .into(),
        ))
    }
    /// Write the page as one HTML file. The file needs no network and no script.
    pub fn to_html(&self) -> String {
        self.to_page().to_html()
    }
    /// Draw a chart of each aggregate over its groups. Without keys, each aggregate has a single
    /// number, so there are no charts.
    fn charts(&self) -> Vec<Section> {
        let keys = self.shown.keys;
        let columns = self.values.columns();
        let (Some(names), true) = (columns.get(keys), keys > 0) else { return Vec::new() };
        let names = names.as_string_opt::<i32>();
        let mut charts: Vec<(String, Vec<Point>)> = Vec::new();
        let mut titles = self.shown.titles.iter();
        for row in 0..self.values.num_rows() {
            let name = names.map_or("", |names| names.value(row));
            if charts.last().is_none_or(|(last, _)| last != name) {
                charts.push((name.to_owned(), Vec::new()));
            }
            if let Some((_, points)) = charts.last_mut() {
                points.push(self.point(row));
            }
        }
        let over = |k: &ArrayRef| k.data_type() == &DataType::Int64;
        let ordered = keys == 1 && columns.first().is_some_and(over);
        let section = |(name, points): (String, Vec<Point>)| {
            let name = titles.next().cloned().unwrap_or(name);
            let known = points.iter().any(|point| point.interval.is_some());
            let block = match (known, ordered && MANY <= points.len()) {
                (true, true) => Block::Histogram(points),
                (true, false) => Block::Bars(points),
                (false, _) => Block::Quantiles(points),
            };
            Section::new(name).with(block)
        };
        charts.into_iter().map(section).collect()
    }
    fn point(&self, row: usize) -> Point {
        let keys = self.shown.keys;
        let columns = self.values.columns();
        let label: Vec<String> = columns.iter().take(keys).map(|key| cell(key, row)).collect();
        let float = |place: usize| {
            let column = columns.get(keys + place)?.as_primitive_opt::<Float64Type>()?;
            column.is_valid(row).then(|| column.value(row))
        };
        let point = Point::new(label.join(", "), float(VALUE).unwrap_or(f64::NAN));
        let point = match (float(LOWER), float(UPPER)) {
            (Some(lower), Some(upper)) => point.within(lower, upper),
            _ => point,
        };
        match self.shown.vague.get(row) {
            Some(true) => Point { value: f64::NAN, ..point }.note(VAGUE),
            _ => point,
        }
    }
}
/// Return the text of a cell, as the page shows it.
fn cell(column: &ArrayRef, row: usize) -> String {
    if let Some(floats) = column.as_primitive_opt::<Float64Type>()
        && floats.is_valid(row)
    {
        return number(floats.value(row), None);
    }
    let options = FormatOptions::default().with_null("null");
    match ArrayFormatter::try_new(column.as_ref(), &options) {
        Ok(formatter) => formatter.value(row).to_string(),
        Err(_) => String::new(),
    }
}
fn table(batch: &RecordBatch) -> Table {
    let schema = batch.schema();
    let header = schema.fields().iter().fold(Table::new(), |table, field| {
        if field.data_type().is_numeric() {
            table.numbers(field.name())
        } else {
            table.texts(field.name())
        }
    });
    (0..batch.num_rows()).fold(header, |mut table, row| {
        table.push(batch.columns().iter().map(|column| cell(column, row)));
        table
    })
}
fn noise(releases: &Json) -> Table {
    let table = Table::new().texts("released").texts("mechanism").numbers("scale");
    let mut table = table.numbers("error (95 %)").numbers("loss");
    for release in releases.as_array().into_iter().flatten() {
        let float = |name: &str| release[name].as_f64();
        let step = float("step").unwrap_or(1.0);
        let unit = if release["accuracy_in"] == "ranks" { " ranks" } else { "" };
        let shown = |x: Option<f64>| {
            x.map_or("unknown".to_owned(), |x| format!("{}{unit}", number(x, None)))
        };
        let (scale, error) = (shown(float("scale").map(|x| x * step)), shown(float("accuracy")));
        let text = |name: &str| release[name].as_str().unwrap_or_default().to_owned();
        let loss = release["loss_up"].as_object().into_iter().flatten();
        let part = |(part, amount): (&String, &Json)| {
            format!("{part} {}", say_float(amount.as_f64().unwrap_or(f64::INFINITY), true))
        };
        let loss: Vec<String> = loss.map(part).collect();
        table.push([text("what"), text("mechanism"), scale, error, loss.join(", ")]);
    }
    table
}
