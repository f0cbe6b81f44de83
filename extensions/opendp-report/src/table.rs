//! Tables.

use std::fmt::Write;

use crate::text::escaped;

/// The maximum number of rows that a page shows.
const MOST: usize = 2000;

/// A table of texts. Columns of numbers are aligned at the right.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    header: Vec<(String, bool)>,
    rows: Vec<Vec<String>>,
}
impl Table {
    /// Begin a table without columns.
    pub fn new() -> Self {
        Table::default()
    }
    /// Add a column of texts.
    #[must_use]
    pub fn texts(mut self, name: impl Into<String>) -> Self {
        self.header.push((name.into(), false));
        self
    }
    /// Add a column of numbers.
    #[must_use]
    pub fn numbers(mut self, name: impl Into<String>) -> Self {
        self.header.push((name.into(), true));
        self
    }
    /// Add a row. A missing cell is empty, and cells beyond the last column are not shown.
    pub fn push(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
    pub(crate) fn html(&self) -> String {
        let mut html = String::from("<div class=\"wide\"><table><thead><tr>");
        let class = |numeric: bool| if numeric { " class=\"number\"" } else { "" };
        for (name, numeric) in &self.header {
            let _ = write!(html, "<th scope=\"col\"{}>{}</th>", class(*numeric), escaped(name));
        }
        html += "</tr></thead><tbody>";
        for row in self.rows.iter().take(MOST) {
            html += "<tr>";
            for (place, (_, numeric)) in self.header.iter().enumerate() {
                let cell = row.get(place).map_or("", String::as_str);
                let _ = write!(html, "<td{}>{}</td>", class(*numeric), escaped(cell));
            }
            html += "</tr>";
        }
        html += "</tbody></table></div>";
        if MOST < self.rows.len() {
            let all = self.rows.len();
            let _ = write!(html, "<p class=\"note\">The first {MOST} of {all} rows are shown.</p>");
        }
        html
    }
}
