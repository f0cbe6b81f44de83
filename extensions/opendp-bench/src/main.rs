//! Benchmarks: this project and plain loops, side by side in one process.
//!
//! Each line is the median of several runs, in nanoseconds an item, and its ratio to the line that
//! it is compared with. `--json` gives the same as JSON.
#![forbid(unsafe_code)]

mod folds;
mod lookups;
mod noise;
mod timing;

use clap::Parser;
use opendp_core::Result;

/// Compare this project with plain loops.
#[derive(Parser)]
#[command(version)]
struct Cli {
    /// Rows of the data that is folded
    #[arg(long, default_value_t = 100_000_000)]
    rows: usize,
    /// Runs of each benchmark, of which the median counts
    #[arg(long, default_value_t = 7)]
    runs: usize,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    let mut table = timing::Table::new(cli.runs);
    folds::clamp_and_sum(&mut table, cli.rows)?;
    lookups::resolution(&mut table)?;
    noise::releases(&mut table)?;
    println!("{}", if cli.json { table.json() } else { table.text() });
    Ok(())
}
