//! Pages and their sections.

use std::fmt::Write;

use crate::table::Table;
use crate::text::escaped;
use crate::{Account, bars, budget, columns};

/// One number of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The label of the number in the chart.
    pub label: String,
    /// The released number. A number that is not finite is shown as missing.
    pub value: f64,
    /// The interval of the number, if the interval is known. See [`Page::percent`].
    pub interval: Option<(f64, f64)>,
    /// A text about the error of the number. The text is shown instead of the interval.
    pub note: Option<String>,
}
impl Point {
    /// Make a point whose error is not known.
    pub fn new(label: impl Into<String>, value: f64) -> Self {
        Point { label: label.into(), value, interval: None, note: None }
    }
    /// Set the interval of the number. If the bounds are not finite or not ordered, there is no
    /// interval.
    #[must_use]
    pub fn within(self, low: f64, high: f64) -> Self {
        let known = low.is_finite() && high.is_finite() && low <= high;
        Point { interval: known.then_some((low, high)), ..self }
    }
    /// Set a text about the error of the number. The text is shown instead of the interval.
    #[must_use]
    pub fn note(self, note: impl Into<String>) -> Self {
        Point { note: Some(note.into()), ..self }
    }
}

/// A part of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A bar for each number, with its interval.
    Bars(Vec<Point>),
    /// A column for each ordered bucket of a histogram, with its interval.
    Histogram(Vec<Point>),
    /// A point for each number that was selected from candidates, such as a quantile.
    Quantiles(Vec<Point>),
    /// One part of a budget, with the amounts spent and the amount left.
    Budget(Account),
    /// A table.
    Table(Table),
    /// A paragraph.
    Text(String),
    /// Literal text, such as SQL.
    Code(String),
}

/// A part of a page, with a title of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    title: String,
    blocks: Vec<Block>,
}
impl Section {
    /// Begin a section with a title.
    pub fn new(title: impl Into<String>) -> Self {
        Section { title: title.into(), blocks: Vec::new() }
    }
    /// Add a block, such as a chart or a table, to the section.
    #[must_use]
    pub fn with(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }
    fn html(&self, percent: &str) -> String {
        let mut html = format!("<section><h2>{}</h2>", escaped(&self.title));
        for block in &self.blocks {
            html += &match block {
                Block::Bars(points) => bars::lines(points, true, percent),
                Block::Quantiles(points) => bars::lines(points, false, percent),
                Block::Histogram(points) => columns::histogram(points, percent),
                Block::Budget(account) => budget::account(account),
                Block::Table(table) => table.html(),
                Block::Text(text) => format!("<p>{}</p>", escaped(text)),
                Block::Code(text) => format!("<pre><code>{}</code></pre>", escaped(text)),
            };
        }
        html + "</section>"
    }
}

/// A page about private releases.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    title: String,
    lead: String,
    facts: Vec<(String, String)>,
    percent: String,
    sections: Vec<Section>,
}
impl Page {
    /// Begin a page with a title.
    pub fn new(title: impl Into<String>) -> Self {
        let (lead, facts, sections) = (String::new(), Vec::new(), Vec::new());
        Page { title: title.into(), lead, facts, percent: "95".into(), sections }
    }
    /// State the probability, in percent, with which an interval of the page contains the exact
    /// answer. The default is 95.
    #[must_use]
    pub fn percent(self, percent: impl Into<String>) -> Self {
        Page { percent: percent.into(), ..self }
    }
    /// Set a text below the title that describes the page.
    #[must_use]
    pub fn lead(self, lead: impl Into<String>) -> Self {
        Page { lead: lead.into(), ..self }
    }
    /// Add a fact to the top of the page, such as the privacy loss.
    #[must_use]
    pub fn fact(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.facts.push((name.into(), value.into()));
        self
    }
    /// Add a section to the page.
    #[must_use]
    pub fn with(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }
    /// Write the page as one HTML file.
    pub fn to_html(&self) -> String {
        let title = escaped(&self.title);
        let mut html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" \
             content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>\n{}</style>\n\
             </head>\n<body>\n<main>\n<header><p class=\"kicker\">Private release</p>\
             <h1>{title}</h1>",
            include_str!("style.css")
        );
        if !self.lead.is_empty() {
            let _ = write!(html, "<p class=\"lead\">{}</p>", escaped(&self.lead));
        }
        if !self.facts.is_empty() {
            html += "<dl class=\"facts\">";
            for (name, value) in &self.facts {
                let (name, value) = (escaped(name), escaped(value));
                let _ = write!(html, "<div><dt>{name}</dt><dd>{value}</dd></div>");
            }
            html += "</dl>";
        }
        html += "</header>\n";
        for section in &self.sections {
            html += &section.html(&self.percent);
            html.push('\n');
        }
        html + &foot(&self.percent) + "</main>\n</body>\n</html>\n"
    }
}
/// Explain the noise, at the end of a page.
fn foot(percent: &str) -> String {
    let percent = escaped(percent);
    format!(
        "<footer><p>Every number here is the result of a random mechanism, such as added noise. Only \
         numbers that were public before are exact. So the page reveals almost the same, whether or \
         not one individual is in the data. The privacy loss bounds the difference.</p><p>A {percent} % interval contains the exact answer in at least {percent} \
         of 100 releases. The exact answer is computed after limits and bounds on each individual. \
         If the groups were found in the data, the releases that do not show a group also count \
         among the {percent} of 100. So in the releases that show the group, its interval can miss \
         the exact answer more often, because noise can raise a count above the limit at which a \
         group is shown.</p></footer>\n"
    )
}
