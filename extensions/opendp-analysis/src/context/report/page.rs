//! Write reports as HTML pages.

use opendp_core::arith::Exact;
use opendp_report::{Account, Block, Page, Section, Spent, Table, number};

use super::{Entry, ErrorIn, Report, SPENT_HOLDS, counted, short, written_up};
use crate::context::BudgetMeasure;

impl<MO: BudgetMeasure> Report<MO> {
    /// Make a page that shows the releases and the spent budget. The caller can add sections to the
    /// page, such as charts of answers. [`Page::to_html`] writes the page.
    pub fn to_page(&self) -> Page {
        let left = self.left.iter().map(Exact::to_f64_down);
        let parts = self.measure.facts().parts;
        let left: Vec<String> =
            parts.iter().zip(left).map(|(part, left)| format!("{part} {}", short(left))).collect();
        let budget = self.blocks().into_iter().fold(Section::new("Budget"), Section::with);
        let releases = Section::new("Releases").with(Block::Table(self.releases()));
        Page::new("Private answers")
            .lead("What was asked about the table, how accurate each answer is, and what it cost.")
            .fact("Protected", self.unit.to_string())
            .fact("Releases", self.entries.len().to_string())
            .fact("Remaining budget", left.join(", "))
            .with(budget)
            .with(releases)
    }
    /// Write the report as the text of one HTML file. The file contains no answers, no script, and
    /// nothing that a browser must load.
    ///
    /// ```
    /// # use opendp_analysis::{Budget, Context, PrivacyUnit, Split, Table};
    /// # let table = Table::new().with("age", vec![30.0, 40.0])?;
    /// let (unit, budget) = (PrivacyUnit::person(1)?, Budget::epsilon(1.0)?);
    /// let context = Context::new(table, unit, budget, Split::evenly(2)?)?;
    /// context.query().count().laplace()?.release()?;
    /// assert!(context.report().to_html().contains("0.5 of 1 spent"));
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    pub fn to_html(&self) -> String {
        self.to_page().to_html()
    }
    /// Show the spent and the remaining amount of each part of the budget.
    fn blocks(&self) -> Vec<Block> {
        if self.measure.facts().tight {
            let words = format!(
                "The total of all releases bounds their loss {SPENT_HOLDS}. The total and the \
                 remaining budget need not add up to the whole budget, because losses compose \
                 tightly, and parts of delta are kept for other kinds of noise."
            );
            return vec![Block::Table(self.totals()), Block::Text(words)];
        }
        self.accounts().into_iter().map(Block::Budget).collect()
    }
    /// Return the spent and the remaining amount of each part of the budget. The result is right
    /// only if losses do not compose tightly. Then the epsilons of all losses add up, and so do the
    /// numbers of each other part.
    fn accounts(&self) -> Vec<Account> {
        let part = |(place, part): (usize, &&str)| {
            let part_of =
                |parts: &[Exact], float: fn(&Exact) -> f64| parts.get(place).map_or(0.0, float);
            let spent = |entry: &Entry| Spent {
                what: entry.query.clone(),
                amount: part_of(&entry.loss, written_up),
            };
            let whole = part_of(&self.budget, written_up);
            let left = part_of(&self.left, Exact::to_f64_down);
            let spent = self.entries.iter().map(spent).collect();
            Account { part: (*part).to_owned(), whole, left, spent }
        };
        self.measure.facts().parts.iter().enumerate().map(part).collect()
    }
    /// Return a table of the budget, the total of all losses and the remaining budget. Use this
    /// table if losses compose tightly. The remaining budget is then the largest loss of one more
    /// release. So the total and the remaining budget need not add up to the budget.
    fn totals(&self) -> Table {
        let table = Table::new().texts("part").numbers("budget").numbers("all releases together");
        let mut table = table.numbers("left for one more release");
        for (place, part) in self.measure.facts().parts.iter().enumerate() {
            let shown = |parts: &[Exact], float: fn(&Exact) -> f64| {
                parts.get(place).map_or_else(|| "unknown".to_owned(), |part| short(float(part)))
            };
            table.push([
                (*part).to_owned(),
                shown(&self.budget, written_up),
                shown(&self.total, written_up),
                shown(&self.left, Exact::to_f64_down),
            ]);
        }
        table
    }
    fn releases(&self) -> Table {
        let table = Table::new().texts("question").texts("noise").numbers("scale");
        let table = table.numbers("error (95 %)");
        let mut table =
            self.measure.facts().parts.iter().fold(table, |table, part| table.numbers(*part));
        for entry in &self.entries {
            let error = entry.accuracy.map_or_else(|| "unknown".to_owned(), short);
            let error = match entry.error_in {
                ErrorIn::Value => error,
                ErrorIn::Ranks => counted(&error, "rank"),
                ErrorIn::Counts => counted(&error, "row"),
            };
            let scale = number(entry.scale, None);
            let cells = [entry.query.clone(), entry.mechanism.clone(), scale, error];
            let losses = entry.loss.iter().map(|loss| short(written_up(loss)));
            table.push(cells.into_iter().chain(losses));
        }
        table
    }
}
