//! A release of a stream larger than memory: the time of a row, and the peak of memory.

use std::{fs, hint::black_box, time::Instant};

use opendp_core::{AtomDomain, Bounds, Error, Result, Space, SymmetricDistance, VectorDomain};
use opendp_measurements::{Scale, make_laplace};
use opendp_transformations::{make_clamp, make_sum};
use serde_json::{Value, json};

/// Rows of a chunk: half a megabyte of floats.
const CHUNK: u64 = 1 << 16;

/// One length of stream.
struct Line {
    rows: u64,
    /// Nanoseconds a row, to make the rows and to release their sum.
    time: f64,
    /// Nanoseconds a row, to make the rows only.
    making: f64,
    /// The peak of memory so far, in KiB, if the system reports it.
    peak: Option<u64>,
}

/// All lengths, in rising order, so that a peak that grows with the rows is visible.
pub struct Report(Vec<Line>);
impl Report {
    /// The report for people.
    pub fn text(&self) -> String {
        let mut text = String::from("clamp, sum and Laplace noise over a stream of f64\n");
        for Line { rows, time, making, peak } in &self.0 {
            let peak = peak.map_or("unknown".into(), |peak| format!("{peak} KiB"));
            text.push_str(&format!(
                "{rows:>12} rows {time:>6.2} ns a row, {making:>5.2} of them to make it, \
                 peak memory {peak}\n"
            ));
        }
        text
    }
    /// The report for programs.
    pub fn json(&self) -> Value {
        let lines = self.0.iter().map(|line| {
            json!({
                "rows": line.rows, "ns_per_row": line.time, "ns_per_row_made": line.making,
                "peak_kib": line.peak,
            })
        });
        lines.collect()
    }
}

/// Release the sum of streams of a million rows, ten times as many, and so on up to `rows`.
pub fn report(rows: u64) -> Result<Report> {
    let records = Space::new(VectorDomain::new(AtomDomain::non_nan()), SymmetricDistance)?;
    let release = make_clamp(records, Bounds::new(0.0, 100.0)?)?
        .then(make_sum)?
        .then(|sum| make_laplace(sum, Scale::new(100.0)?, None))?;
    let powers = (6..).map(|power| 10_u64.saturating_pow(power));
    let lengths = powers.take_while(|length| *length < rows).chain([rows]);
    let lines = lengths.map(|rows| {
        let start = Instant::now();
        for chunk in chunks(rows) {
            black_box(chunk);
        }
        let making = start.elapsed();
        let start = Instant::now();
        let sum = release.invoke_chunks(chunks(rows).map(Ok))?;
        let time = start.elapsed();
        // The rows are even from -50 to 150, so their mean is 50 when clamped.
        if !((sum / rows as f64 - 50.0).abs() < 1.0) {
            return Err(Error::FailedFunction("the sum of the stream is wrong".into()));
        }
        let per_row = |time: std::time::Duration| time.as_secs_f64() * 1e9 / rows as f64;
        Ok(Line { rows, time: per_row(time), making: per_row(making), peak: peak() })
    });
    Ok(Report(lines.collect::<Result<_>>()?))
}

/// Generate `rows` floats from -50 to 150 on demand.
fn chunks(rows: u64) -> impl Iterator<Item = Vec<f64>> {
    let row =
        |i: u64| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11) as f64 * (200.0 / 2_f64.powi(53));
    (0..rows.div_ceil(CHUNK)).map(move |place| {
        let end = ((place + 1) * CHUNK).min(rows);
        (place * CHUNK..end).map(|i| row(i) - 50.0).collect()
    })
}
/// Return the peak of memory of this program, in KiB.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
