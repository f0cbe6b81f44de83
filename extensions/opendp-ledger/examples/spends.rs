//! How many durable spends a second this disk allows, and what one sync costs.
//!
//! `cargo run --release -p opendp-ledger --example spends -- FOLDER`
#![allow(clippy::disallowed_methods, reason = "this measures time, and releases nothing")]

use std::{fs::File, io::Write, path::Path, time::Instant};

use opendp_core::{Error, Result};
use opendp_ledger::{Ledger, Loss, Request};

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    let folder = Path::new(&folder);
    println!("one sync of 4 KiB: {:.2} ms", sync(folder).map_err(failed)? * 1e3);
    for threads in [1, 8, 64, 256] {
        let path = folder.join(format!("spends-{}-{threads}.ledger", std::process::id()));
        let rate = spends(&path, threads, 2000 / threads.max(8))?;
        println!("{threads:>3} threads: {rate:.0} durable spends a second");
        for end in ["", "-wal", "-shm"] {
            let mut name = path.clone().into_os_string();
            name.push(end);
            let _ = std::fs::remove_file(name);
        }
    }
    Ok(())
}
fn sync(folder: &Path) -> std::io::Result<f64> {
    let path = folder.join(format!("sync-{}", std::process::id()));
    let mut file = File::create(&path)?;
    let start = Instant::now();
    for _ in 0..100 {
        file.write_all(&[1; 4096])?;
        file.sync_data()?;
    }
    let seconds = start.elapsed().as_secs_f64() / 100.0;
    std::fs::remove_file(path)?;
    Ok(seconds)
}
fn spends(path: &Path, threads: usize, each: usize) -> Result<f64> {
    let ledger = Ledger::open(path)?;
    ledger.create("b", &Loss::epsilon("1000000")?)?;
    let loss = Loss::epsilon("0.1")?;
    let start = Instant::now();
    std::thread::scope(|scope| {
        let spenders: Vec<_> = (0..threads)
            .map(|thread| {
                let (ledger, loss) = (&ledger, &loss);
                scope.spawn(move || -> Result<()> {
                    for i in 0..each {
                        let request = Request::of_loss(&format!("{thread}-{i}"), loss.clone());
                        ledger.release("b", &request, || Ok(i as u64))?;
                    }
                    Ok(())
                })
            })
            .collect();
        spenders.into_iter().try_for_each(|spender| {
            spender.join().map_err(|_| Error::FailedFunction("a thread failed".into()))?
        })
    })?;
    Ok((threads * each) as f64 / start.elapsed().as_secs_f64())
}
fn failed(error: std::io::Error) -> Error {
    Error::FailedFunction(error.to_string())
}
