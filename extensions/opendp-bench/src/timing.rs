//! Medians of several runs, and ratios.

use std::{hint::black_box, time::Instant};

use serde_json::json;

/// One line: what was run, and how long an item took.
struct Line {
    group: String,
    name: String,
    nanoseconds: f64,
    /// The time of the first line of the group.
    baseline: f64,
}

/// All lines so far.
pub struct Table {
    runs: usize,
    lines: Vec<Line>,
}
impl Table {
    /// Begin a table whose lines are medians of so many runs.
    pub fn new(runs: usize) -> Self {
        Table { runs: runs.max(1), lines: Vec::new() }
    }
    /// Run, after one run that does not count, and add the median. The first line of a group is
    /// what the others are compared with.
    pub fn time<T>(&mut self, group: &str, name: &str, items: usize, mut run: impl FnMut() -> T) {
        black_box(run());
        let mut times: Vec<f64> = (0..self.runs)
            .map(|_| {
                let start = Instant::now();
                black_box(run());
                start.elapsed().as_secs_f64()
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let nanoseconds = times[times.len() / 2] * 1e9 / items as f64;
        let first = self.lines.iter().find(|line| line.group == group);
        let baseline = first.map_or(nanoseconds, |line| line.nanoseconds);
        eprintln!("{group}: {name}: {nanoseconds:.3} ns");
        self.lines.push(Line { group: group.to_owned(), name: name.to_owned(), nanoseconds, baseline });
    }
    /// The table for people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut group = "";
        for line in &self.lines {
            if line.group != group {
                group = &line.group;
                text.push_str(&format!("\n{group}\n"));
            }
            text.push_str(&format!(
                "  {:<52} {:>12.3} ns/item {:>9.2}x\n",
                line.name,
                line.nanoseconds,
                line.nanoseconds / line.baseline
            ));
        }
        text
    }
    /// The table for programs.
    pub fn json(&self) -> String {
        let lines = self.lines.iter().map(|line| {
            json!({
                "group": line.group, "name": line.name, "ns_per_item": line.nanoseconds,
                "ratio": line.nanoseconds / line.baseline,
            })
        });
        serde_json::Value::Array(lines.collect()).to_string()
    }
}
