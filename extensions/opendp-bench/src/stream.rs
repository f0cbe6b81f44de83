//! Releases of streams that can be larger than memory. The report has the time for each row and the
//! peak of memory.

use std::{fs, hint::black_box, time::Instant};

use opendp_core::{AtomDomain, Bounds, Error, Result, Space, SymmetricDistance, VectorDomain};
use opendp_measurements::{Scale, make_laplace};
use opendp_transformations::{make_clamp, make_sum};
use serde_json::{Value, json};

/// The number of rows of a chunk. A chunk has half a megabyte of floats.
const CHUNK: u64 = 1 << 16;

/// The measurements for one length of a stream.
struct Line {
    rows: u64,
    /// The time to make the rows and to release their sum, in nanoseconds for each row.
    time: f64,
    /// The time only to make the rows, in nanoseconds for each row.
    making: f64,
    /// The peak of memory so far, in KiB, if the system reports it.
    peak: Option<u64>,
}

/// The measurements for all lengths of a stream, from the shortest stream to the longest. In this
/// order, the measurements show whether the peak of memory grows with the number of rows.
pub struct Report(Vec<Line>);
impl Report {
    /// Write the report for readers.
    pub fn text(&self) -> String {
        let mut text = String::from("clamp, sum and Laplace noise over a stream of f64\n");
        for Line { rows, time, making, peak } in &self.0 {
            let peak = peak.map_or("unknown".into(), |peak| format!("{peak} KiB"));
            text.push_str(&format!(
                "{rows:>12} rows {time:>6.2} ns a row, {making:>5.2} ns of this to make the row, \
                 peak memory {peak}\n"
            ));
        }
        text
    }
    /// Write the report for programs.
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

/// Release sums of streams of different lengths. The lengths are the powers of ten from one million
/// on that are below `rows`, and then `rows` itself.
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
        // The rows are uniform from -50 to 150. So the mean of the clamped rows is 50.
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
