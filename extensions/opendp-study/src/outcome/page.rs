//! Write outcomes as HTML pages.

use opendp_analysis::context::ErrorIn;
use opendp_ledger::say_float;
use opendp_report::{Account, Block, Page, Point, Section, Spent, Table};

use super::{Cell, Mode, Outcome, StudyAnswer, amounts, percent, plain, value_of};

impl Outcome {
    /// Make a page that shows the answers, a chart of each answer with several numbers, and the
    /// budget. An outcome of [`rehearse`](crate::Study::rehearse) has no answers. Its page shows
    /// the errors that the answers would have, and what they would cost.
    pub fn to_page(&self) -> Page {
        let (lead, cost) = match self.mode {
            Mode::Ask => ("The answers to the questions of a study, and what they cost.", "Spent"),
            Mode::Rehearse => (
                "The errors that the answers to the questions of a study would have, and what the \
                 answers would cost. Nothing was released or spent.",
                "Cost of the answers",
            ),
        };
        let part = |field: &str| amounts(&self.report[field], |amount| say_float(amount, true));
        let mut page = Page::new("Private answers")
            .lead(lead)
            .percent(percent(self.alpha))
            .fact("Protected", plain(&self.report["unit"]))
            .fact(cost, format!("{} of {}", part("spent"), part("budget")));
        let table = |title: &str, answers: &[&StudyAnswer]| {
            Section::new(title).with(Block::Table(self.table(answers)))
        };
        let (mut drawn, mut listed, mut charts) = (Vec::new(), Vec::new(), Vec::new());
        for answer in &self.answers {
            match chart(answer) {
                Some(chart) => {
                    drawn.push(answer);
                    charts.push(Section::new(&answer.question).with(chart));
                }
                None => listed.push(answer),
            }
        }
        if !listed.is_empty() {
            page = page.with(table("Answers", &listed));
        }
        page = charts.into_iter().fold(page, Page::with);
        let notes = self.notes().into_iter().map(Block::Text);
        let budget = self.budget().into_iter().chain(notes);
        page = page.with(budget.fold(Section::new("Budget"), Section::with));
        match drawn.is_empty() {
            true => page,
            false => page.with(table("Numbers of the charts", &drawn)),
        }
    }
    /// Write the page of [`to_page`](Outcome::to_page) as the text of one HTML file. The file has
    /// no script, and a browser loads nothing else.
    ///
    /// ```
    /// use opendp_study::{CellType, Cells, Study};
    /// let study = Study::parse(&serde_json::json!({
    ///     "context": {
    ///         "unit": {"person": 1},
    ///         "budget": {"epsilon": 1.0},
    ///         "columns": {"city": "String"},
    ///     },
    ///     "questions": [{"histogram": {"column": "city", "categories": ["Lyon", "Lille"]}}],
    /// }))?;
    /// let cities = |_: &str, _: CellType| Ok(Cells::Text(vec![Some("Lyon".into()); 100]));
    /// let html = study.ask(cities, 0.05)?.to_html();
    /// assert!(html.contains("histogram of city") && html.contains("1 of 1 spent"));
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    pub fn to_html(&self) -> String {
        self.to_page().to_html()
    }
    fn table(&self, answers: &[&StudyAnswer]) -> Table {
        let table = Table::new().texts("question").texts("of").numbers("answer");
        let table = table.texts(format!("{} % of the time", percent(self.alpha)));
        let mut table = table.texts("noise");
        for answer in answers {
            let mut push = |cell: Option<&Cell>| {
                let label = cell.and_then(|cell| cell.label.clone()).unwrap_or_default();
                let value = cell.map_or_else(|| "-".into(), value_of);
                let (question, noise) = (answer.question.clone(), answer.noise());
                let range = match cell {
                    Some(_) => answer.range(cell),
                    None => self.unreleased(answer),
                };
                table.push([question, label, value, range, noise]);
            };
            answer.cells.iter().for_each(|cell| push(Some(cell)));
            if answer.cells.is_empty() {
                push(None);
            }
        }
        table
    }
    /// Show the budget. If the spent and the remaining amount add up to the budget, draw a bar.
    /// Otherwise, write the amounts and the conditions under which they are valid.
    fn budget(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let holds = ["spent", "left"].map(|field| (field, &self.report[format!("{field}_holds")]));
        let adds_up = self.mode == Mode::Ask && holds.iter().all(|(_, holds)| holds.is_null());
        let mut table =
            Table::new().texts("part").numbers("budget").numbers("all answers").numbers("left");
        for (part, whole) in self.report["budget"].as_object().into_iter().flatten() {
            let amount = |field: &str| self.report[field][part].as_f64();
            let (whole, spent, left) = (whole.as_f64(), amount("spent"), amount("left"));
            if let (true, Some(whole), Some(amount), Some(left)) = (adds_up, whole, spent, left) {
                let spent = vec![Spent { what: "all answers".into(), amount }];
                blocks.push(Block::Budget(Account { part: part.clone(), whole, left, spent }));
                continue;
            }
            let shown = [(whole, true), (spent, true), (left, false)].map(|(amount, up)| {
                amount.map_or_else(|| "unlimited".into(), |amount| say_float(amount, up))
            });
            table.push([part.clone()].into_iter().chain(shown));
        }
        if blocks.is_empty() {
            blocks.push(Block::Table(table));
        }
        for (field, holds) in holds {
            if let Some(holds) = holds.as_str() {
                blocks.push(Block::Text(format!("The amount {field} is valid {holds}.")));
            }
        }
        blocks
    }
}
/// Draw the numbers of an answer, if it has several numbers. Chosen categories are not amounts, so
/// they get no chart.
fn chart(answer: &StudyAnswer) -> Option<Block> {
    let points: Vec<Point> = answer.cells.iter().filter_map(|cell| point(answer, cell)).collect();
    let bins = points.iter().any(|point| point.label.contains(" to below "));
    match answer.error_in {
        _ if points.len() < 2 => None,
        ErrorIn::Counts => None,
        ErrorIn::Ranks => Some(Block::Quantiles(points)),
        ErrorIn::Value if bins => Some(Block::Histogram(points)),
        ErrorIn::Value => Some(Block::Bars(points)),
    }
}
fn point(answer: &StudyAnswer, cell: &Cell) -> Option<Point> {
    let point = Point::new(cell.label.clone()?, cell.value.as_f64()?);
    Some(match cell.interval {
        Some((low, high)) => point.within(low, high),
        None => point.note(answer.range(Some(cell))),
    })
}
