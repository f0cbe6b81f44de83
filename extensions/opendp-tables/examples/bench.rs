//! A benchmark of private queries on generated tables, and of the same queries in plain DataFusion.
//!
//! ```text
//! cargo run --release --manifest-path extensions/opendp-tables/Cargo.toml --example bench
//! cargo run --release --manifest-path extensions/opendp-tables/Cargo.toml --example bench -- \
//!     --rows 100000000 --runs 3
//! ```
//!
//! All variants run in this process, one after another. For each variant, the printed table has
//! four numbers: the time of the first run, the median time of the later runs, the median divided
//! by the median of the plain query, and the peak of resident memory. The peak includes memory that
//! an earlier variant has kept for rows.
#![allow(clippy::unwrap_used, reason = "a benchmark stops at an error")]
#![allow(clippy::disallowed_methods, reason = "a benchmark measures the time")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Parser;
use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::prelude::{ParquetReadOptions, SessionContext};
use opendp_tables::{Budget, DataFusion, Metadata, Session, Source, datafusion, release_memory};

/// Measure private queries.
#[derive(Parser)]
struct Arguments {
    /// The number of rows.
    #[arg(long, default_value_t = 10_000_000)]
    rows: u64,
    /// The mean number of rows of an id.
    #[arg(long, default_value_t = 10)]
    rows_per_id: u64,
    /// The limit for each id: the largest number of kept rows, or of kept groups.
    #[arg(long, default_value_t = 4)]
    limit: u64,
    /// The number of runs of each variant.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// The folder of the generated files.
    #[arg(long, default_value = "target/tables-bench")]
    folder: PathBuf,
    /// Also measure the SQL statements that every engine accepts. With limits for each id, these
    /// statements sort all rows.
    #[arg(long)]
    portable: bool,
    /// Only generate the file, and print its path.
    #[arg(long)]
    generate: bool,
}

/// A generator of random numbers: SplitMix64 (Steele, Lea, Flood 2014). The tables need no secure
/// randomness.
struct Dice(u64);
impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
    fn below(&mut self, bound: u64) -> i64 {
        (self.next() % bound) as i64
    }
    fn float(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
/// Write a table with ids, 100 keys, and two columns of floats. Some of the floats are out of
/// bounds.
fn generate(path: &Path, rows: u64, ids: u64) {
    let mut dice = Dice(rows);
    let batch = |dice: &mut Dice, rows: u64| {
        let id: Int64Array = (0..rows).map(|_| Some(dice.below(ids))).collect();
        let key: Int64Array = (0..rows).map(|_| Some(dice.below(100))).collect();
        let x: Float64Array = (0..rows).map(|_| Some(dice.float() * 120.0 - 10.0)).collect();
        let y: Float64Array = (0..rows).map(|_| Some(dice.float() * 1e5)).collect();
        let columns: [(&str, ArrayRef); 4] =
            [("id", Arc::new(id)), ("key", Arc::new(key)), ("x", Arc::new(x)), ("y", Arc::new(y))];
        RecordBatch::try_from_iter(columns).unwrap()
    };
    let partial = path.with_extension("partial");
    let file = std::fs::File::create(&partial).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch(&mut dice, 0).schema(), None).unwrap();
    let mut left = rows;
    while left > 0 {
        let next = left.min(1 << 16);
        writer.write(&batch(&mut dice, next)).unwrap();
        left -= next;
    }
    writer.close().unwrap();
    std::fs::rename(&partial, path).unwrap();
}
fn metadata(unit: &str) -> Metadata {
    let keys: Vec<String> = (0..100).map(|key| key.to_string()).collect();
    Metadata::parse(&format!(
        "[budget]\nepsilon = 1e6\n[tables.t]\nunit = {unit}\n[tables.t.columns]\n\
         id = {{ type = 'integer' }}\nkey = {{ type = 'integer', keys = [{}] }}\n\
         x = {{ type = 'float', bounds = [0, 100] }}\ny = {{ type = 'float', bounds = [0, 80000] }}\n",
        keys.join(", ")
    ))
    .unwrap()
}
const PRIVATE: &str = "SELECT key, COUNT(*), SUM(x), AVG(y) FROM t GROUP BY key";
const PLAIN: &str = "SELECT key, COUNT(*), SUM(greatest(least(x, 100.0), 0.0)), \
                     AVG(greatest(least(y, 80000.0), 0.0)) FROM t GROUP BY key";

/// A function that answers the query once, and returns the number of groups in the answer.
type Run = Box<dyn Fn() -> f64>;

/// One way to answer the queries: a variant of the benchmark.
struct Variant {
    name: &'static str,
    run: Run,
    /// The time of the first run. Before this run, the memory that earlier runs kept is given back
    /// to the system.
    first: f64,
    seconds: Vec<f64>,
    peak: f64,
}
impl Variant {
    /// Run the variant once, and return the time of this run in seconds.
    fn timed(&mut self) -> f64 {
        forget_peak();
        let start = Instant::now();
        assert!((self.run)() == 100.0, "an answer has 100 groups");
        let seconds = start.elapsed().as_secs_f64();
        self.peak = self.peak.max(peak());
        seconds
    }
}
fn private(path: &Path, unit: &str, portable: bool) -> Run {
    let metadata = metadata(unit);
    let engine = DataFusion::new().unwrap();
    let engine = if portable { engine.portable() } else { engine };
    let source = Source::Parquet(path.to_str().unwrap().to_owned());
    engine.register("t", &metadata.tables["t"], source).unwrap();
    let session = Session::with_engine(metadata, Box::new(engine)).unwrap();
    Box::new(move || {
        let question = session.query(PRIVATE).unwrap();
        let answer = question.spending(Budget::epsilon(1.0).unwrap()).release().unwrap();
        answer.table.num_rows() as f64
    })
}
fn plain(path: &Path) -> Run {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let context = SessionContext::new();
    let path = path.to_str().unwrap().to_owned();
    let registered = context.register_parquet("t", path, ParquetReadOptions::default());
    runtime.block_on(registered).unwrap();
    Box::new(move || {
        let batches =
            runtime.block_on(async { context.sql(PLAIN).await.unwrap().collect().await.unwrap() });
        batches.iter().map(RecordBatch::num_rows).sum::<usize>() as f64
    })
}
/// Reset the peak of resident memory, so that `peak` returns the peak since this call.
fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}
/// Return the peak of resident memory, in mebibytes.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kilobytes.map_or(f64::NAN, |kilobytes| kilobytes / 1024.0)
}
fn median(seconds: &[f64]) -> f64 {
    let mut sorted = seconds.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
fn variants(path: &Path, arguments: &Arguments) -> Vec<Variant> {
    let ids = format!("{{ id = 'id', max_rows = {} }}", arguments.limit);
    let groups =
        format!("{{ id = 'id', max_groups = {}, max_rows_per_group = 1 }}", arguments.limit);
    let mut all = vec![
        ("plain DataFusion", plain(path)),
        ("rows are protected", private(path, "{ rows = 1 }", false)),
        ("ids are protected, rows limited", private(path, &ids, false)),
        ("ids are protected, groups limited", private(path, &groups, false)),
    ];
    if arguments.portable {
        all.push(("rows are protected, portable", private(path, "{ rows = 1 }", true)));
        all.push(("ids are protected, rows limited, portable", private(path, &ids, true)));
        all.push(("ids are protected, groups limited, portable", private(path, &groups, true)));
    }
    let variant = |(name, run)| Variant { name, run, first: 0.0, seconds: Vec::new(), peak: 0.0 };
    all.into_iter().map(variant).collect()
}
fn measure(path: &Path, arguments: &Arguments, runs: usize) {
    let mut all = variants(path, arguments);
    for variant in &mut all {
        release_memory();
        variant.first = variant.timed();
    }
    for _ in 0..runs {
        for variant in &mut all {
            let seconds = variant.timed();
            variant.seconds.push(seconds);
        }
    }
    let base = median(&all[0].seconds);
    println!("| variant | first, s | median, s | ratio | peak, MiB |\n|---|---|---|---|---|");
    for Variant { name, first, seconds, peak, .. } in &all {
        let time = median(seconds);
        println!("| {name} | {first:.4} | {time:.4} | {:.2} | {peak:.0} |", time / base);
    }
}
fn main() {
    let arguments = Arguments::parse();
    std::fs::create_dir_all(&arguments.folder).unwrap();
    let file = |rows: u64| {
        let path = arguments.folder.join(format!("rows-{rows}.parquet"));
        if !path.exists() {
            generate(&path, rows, (rows / arguments.rows_per_id).max(1));
        }
        path
    };
    let path = file(arguments.rows);
    if arguments.generate {
        println!("{}", path.display());
        return;
    }
    println!("## {} rows, medians of {} runs\n", arguments.rows, arguments.runs);
    measure(&path, &arguments, arguments.runs);
    println!("\n## Fixed cost: 1000 rows, medians of 21 runs\n");
    measure(&file(1000), &arguments, 21);
}
