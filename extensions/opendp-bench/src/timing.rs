//! Contests: the times of several contestants for the same work, with targets for these times.

use std::{hint::black_box, time::Instant};

use serde_json::{Value, json};

/// A target for our time, compared with the time of a peer or with a fixed time.
#[derive(Clone, Copy)]
pub enum Target {
    /// Our time is at most the peer's time divided by this number.
    Faster(f64),
    /// Our time is at most the peer's time multiplied by this number.
    Within(f64),
    /// Our time for each item is at most this many nanoseconds.
    Below(f64),
    /// Our time for each item exceeds the peer's time by at most this many nanoseconds.
    Beyond(f64),
}
impl Target {
    fn met(self, ours: f64, peer: f64) -> bool {
        match self {
            Target::Faster(times) => ours * times <= peer,
            Target::Within(times) => ours <= peer * times,
            Target::Below(time) => ours <= time,
            Target::Beyond(time) => ours <= peer + time,
        }
    }
    fn text(self) -> String {
        match self {
            Target::Faster(times) => format!(">= {times}x as fast"),
            Target::Within(times) => format!("<= {times}x the time"),
            Target::Below(time) => format!("<= {time} ns"),
            Target::Beyond(time) => format!("<= {time} ns more"),
        }
    }
}

/// A contestant, with its time per item in each run.
struct Contestant<'a> {
    name: String,
    items: usize,
    target: Option<Target>,
    run: Box<dyn FnMut() + 'a>,
    times: Vec<f64>,
}

/// One piece of work for several contestants. The first contestant is our implementation, and the
/// targets limit the time of our implementation.
pub struct Contest<'t, 'a> {
    table: &'t mut Table,
    work: String,
    contestants: Vec<Contestant<'a>>,
}
impl<'a> Contest<'_, 'a> {
    /// Add a contestant that does the work on `items` items in each run.
    pub fn run<T>(self, name: &str, items: usize, run: impl FnMut() -> T + 'a) -> Self {
        self.add(name, items, None, run)
    }
    /// Add a contestant with a target. The target compares our time with the time of this
    /// contestant. If the target is a fixed time, the contestant can be our implementation itself.
    pub fn against<T>(
        self,
        name: &str,
        items: usize,
        target: Target,
        run: impl FnMut() -> T + 'a,
    ) -> Self {
        self.add(name, items, Some(target), run)
    }
    fn add<T>(
        mut self,
        name: &str,
        items: usize,
        target: Option<Target>,
        mut run: impl FnMut() -> T + 'a,
    ) -> Self {
        let run = Box::new(move || {
            black_box(run());
        });
        let contestant = Contestant { name: name.into(), items, target, run, times: Vec::new() };
        self.contestants.push(contestant);
        self
    }
    /// Run all contestants one after another, and repeat this for each run of the table. An
    /// additional first run of each contestant is not counted.
    pub fn hold(mut self) {
        for turn in 0..=self.table.runs {
            for contestant in &mut self.contestants {
                let start = Instant::now();
                (contestant.run)();
                let time = start.elapsed().as_secs_f64() * 1e9 / contestant.items as f64;
                if turn > 0 {
                    contestant.times.push(time);
                }
            }
        }
        let ours = self.contestants.first_mut().map_or(0.0, |ours| median(&mut ours.times));
        for contestant in &mut self.contestants {
            let time = median(&mut contestant.times);
            let target = contestant.target;
            let line = Line {
                work: self.work.clone(),
                name: contestant.name.clone(),
                time,
                ratio: time / ours,
                target: target.map(|target| (target.text(), target.met(ours, time))),
            };
            eprintln!("{}: {}: {:.3} ns", line.work, line.name, line.time);
            self.table.lines.push(line);
        }
    }
}

/// Return the median of some times. For an even number of times, return the larger of the two
/// middle times.
fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The result of one contestant: a line of the table.
struct Line {
    work: String,
    name: String,
    time: f64,
    /// The time of the contestant divided by the time of our implementation.
    ratio: f64,
    target: Option<(String, bool)>,
}

/// The results of all contests so far.
pub struct Table {
    runs: usize,
    filter: String,
    lines: Vec<Line>,
}
impl Table {
    /// Begin a table of medians of `runs` runs. If the name of a piece of work contains the string
    /// `filter`, the table includes this work.
    pub fn new(runs: usize, filter: String) -> Self {
        Table { runs: runs.max(1), filter, lines: Vec::new() }
    }
    /// Return whether the filter selects work of this name. Call this function before you make data
    /// for the work.
    pub fn wants(&self, work: &str) -> bool {
        work.contains(&self.filter)
    }
    /// Begin a contest of a piece of work.
    pub fn contest<'a>(&mut self, work: &str) -> Contest<'_, 'a> {
        Contest { table: self, work: work.into(), contestants: Vec::new() }
    }
    /// Write the table for readers.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut work = "";
        for line in &self.lines {
            if line.work != work {
                work = &line.work;
                text.push_str(&format!("\n{work}\n"));
            }
            let target = line.target.as_ref().map_or(String::new(), |(target, met)| {
                format!("  {target}: {}", if *met { "met" } else { "MISSED" })
            });
            text.push_str(&format!(
                "  {:<40} {:>12.2} ns {:>10.2}x{target}\n",
                line.name, line.time, line.ratio
            ));
        }
        text
    }
    /// Write the table for programs.
    pub fn json(&self) -> Value {
        let lines = self.lines.iter().map(|line| {
            let (target, met) = line.target.clone().unzip();
            json!({
                "work": line.work, "name": line.name, "ns_per_item": line.time,
                "time_over_ours": line.ratio, "target": target, "met": met,
            })
        });
        lines.collect()
    }
}
