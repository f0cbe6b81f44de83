//! Benchmarks that compare this project with its peers in one process.
//!
//! The contestants are the implementations of this project and of its peers. In each of several
//! runs, all contestants do the same work, one after another. A slow contestant can get fewer items
//! than the other contestants. Each line of the table has the median time of one contestant, in
//! nanoseconds for each item. The line also has the target, and a ratio: the median time in this
//! line, divided by the median time in the first line of the same work. There are two peers. The
//! crate `opendp` is built without OpenSSL, because this form is faster. The crate `rand_distr`
//! uses the cipher of this project. One sum is also compared with a plain loop.
#![forbid(unsafe_code)]

mod folds;
mod incumbent;
mod incumbent_folds;
mod incumbent_interaction;
mod interaction;
mod leakage;
mod lookups;
mod noise;
mod ordinary;
mod response;
mod scalar;
mod selection;
mod stream;
mod timing;

use clap::Parser;
use opendp_core::Result;

/// Compare this project with its peers.
#[derive(Parser)]
#[command(version)]
struct Cli {
    /// Run only the benchmarks whose name contains this text
    #[arg(long, default_value = "")]
    filter: String,
    /// The number of rows of the sum that is compared with a plain loop
    #[arg(long, default_value_t = 100_000_000)]
    rows: usize,
    /// The number of runs of each benchmark; the result is the median time of these runs
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
    /// Instead of the benchmarks, report how much the time of a release depends on its noise
    #[arg(long)]
    leakage: bool,
    /// Instead of the benchmarks, release sums of generated streams of up to this many rows
    #[arg(long, value_name = "ROWS")]
    stream: Option<u64>,
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    if cli.leakage {
        let report = leakage::report(&cli.filter)?;
        println!("{}", if cli.json { report.json().to_string() } else { report.text() });
        return Ok(());
    }
    if let Some(rows) = cli.stream {
        let report = stream::report(rows)?;
        println!("{}", if cli.json { report.json().to_string() } else { report.text() });
        return Ok(());
    }
    let mut table = timing::Table::new(cli.runs, cli.filter);
    noise::vectors(&mut table)?;
    scalar::releases(&mut table)?;
    selection::choices(&mut table)?;
    response::responses(&mut table)?;
    folds::folds(&mut table, cli.rows)?;
    interaction::talks(&mut table)?;
    lookups::resolution(&mut table)?;
    println!("{}", if cli.json { table.json().to_string() } else { table.text() });
    Ok(())
}
