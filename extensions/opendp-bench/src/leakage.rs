//! A test that compares the time of a release with the magnitude of its noise.

use std::time::Instant;

use opendp_core::random::{RandomSource, with_secure};
use opendp_core::{AbsoluteDistance, AtomDomain, Error, Result, Space};
use opendp_measurements::{Scale, make_gaussian, make_laplace};
use serde_json::{Value, json};

/// The number of draws of each mechanism.
const DRAWS: usize = 30_000;

/// The measured times of one mechanism.
struct Line {
    name: &'static str,
    /// The rank correlation between the time of a release and the magnitude of its noise.
    correlation: f64,
    /// Two median times in nanoseconds: for noise of at most the median magnitude, and for larger
    /// noise.
    medians: (f64, f64),
}

/// The measured times of all mechanisms.
pub struct Report(Vec<Line>);
impl Report {
    /// Write the report for readers.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for Line { name, correlation, medians: (small, large) } in &self.0 {
            text.push_str(&format!(
                "{name:<44} correlation {correlation:>7.4}, medians {small:>5.0} and {large:>5.0} ns\n"
            ));
        }
        text
    }
    /// Write the report for programs.
    pub fn json(&self) -> Value {
        let lines = self.0.iter().map(|line| {
            json!({
                "name": line.name, "spearman": line.correlation,
                "median_ns_small_noise": line.medians.0, "median_ns_large_noise": line.medians.1,
            })
        });
        lines.collect()
    }
}

/// Measure the times of draws, for each mechanism whose name contains the string `filter`.
///
/// The slowest 2 % of the draws are left out, because interrupts slow these draws. An attacker can
/// recognise interrupts, too, and leave out such draws. The control is a mechanism that draws the
/// magnitude by Bernoulli trials, as slow exact samplers do. The report must show a leak in the
/// control.
pub fn report(filter: &str) -> Result<Report> {
    let integers = Space::new(AtomDomain::<i64>::default(), AbsoluteDistance::<i64>::new())?;
    let floats = Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new())?;
    let mut lines = Vec::new();
    let mut time = |name: &'static str, draw: &mut dyn FnMut() -> Result<f64>| {
        if name.contains(filter) {
            lines.push(line(name, draw)?);
        }
        Ok::<(), Error>(())
    };
    for (scale, names) in [
        (1.0, ["laplace, i64, scale 1", "gaussian, i64, scale 1"]),
        (10.0, ["laplace, i64, scale 10", "gaussian, i64, scale 10"]),
        (1e6, ["laplace, i64, scale 1e6", "gaussian, i64, scale 1e6"]),
    ] {
        let laplace = make_laplace(integers.clone(), Scale::new(scale)?, None)?;
        time(names[0], &mut || Ok(laplace.invoke(&0)? as f64))?;
        let gaussian = make_gaussian(integers.clone(), Scale::new(scale)?, None)?;
        time(names[1], &mut || Ok(gaussian.invoke(&0)? as f64))?;
    }
    let laplace = make_laplace(floats.clone(), Scale::new(1.0)?, None)?;
    time("laplace, f64, scale 1", &mut || laplace.invoke(&0.0))?;
    let gaussian = make_gaussian(floats, Scale::new(1.0)?, None)?;
    time("gaussian, f64, scale 1", &mut || gaussian.invoke(&0.0))?;
    time("control: one trial for each unit, scale 10", &mut || {
        with_secure(|source| {
            let mut magnitude = 0.0;
            // A trial ends the loop with probability about 1 - exp(-1/10).
            while source.word()? as f64 > 0.0952 * 2_f64.powi(64) {
                magnitude += 1.0;
            }
            Ok(magnitude)
        })
    })?;
    Ok(Report(lines))
}

fn line(name: &'static str, draw: &mut dyn FnMut() -> Result<f64>) -> Result<Line> {
    let mut draws = Vec::with_capacity(DRAWS);
    for warm in [true, false] {
        for _ in 0..DRAWS {
            let start = Instant::now();
            let noise = draw()?;
            let time = start.elapsed().as_nanos() as f64;
            if !warm {
                draws.push((time, noise.abs()));
            }
        }
    }
    draws.sort_by(|a, b| a.0.total_cmp(&b.0));
    draws.truncate(DRAWS - DRAWS / 50);
    let (times, noises): (Vec<f64>, Vec<f64>) = draws.into_iter().unzip();
    let correlation = pearson(&ranks(&times), &ranks(&noises));
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let middle = median(noises.clone());
    let half = |large: bool| {
        let chosen = times.iter().zip(&noises).filter(|(_, noise)| (**noise > middle) == large);
        median(chosen.map(|(time, _)| *time).collect())
    };
    Ok(Line { name, correlation, medians: (half(false), half(true)) })
}

/// Return the rank of each number. Equal numbers get the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let same = |i: &&usize| values[**i] == values[order[start]];
        let end = start + order[start..].iter().take_while(same).count();
        for place in &order[start..end] {
            ranks[*place] = (start + end - 1) as f64 / 2.0;
        }
        start = end;
    }
    ranks
}
fn pearson(x: &[f64], y: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mx, my) = (mean(x), mean(y));
    let sum = |terms: &mut dyn Iterator<Item = f64>| terms.sum::<f64>();
    let covariance = sum(&mut x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)));
    let deviation =
        |values: &[f64], m: f64| sum(&mut values.iter().map(|x| (x - m).powi(2))).sqrt();
    covariance / (deviation(x, mx) * deviation(y, my))
}
