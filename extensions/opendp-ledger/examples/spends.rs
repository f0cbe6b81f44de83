//! Measures how many durable spends per second the disk of the given folder allows, and how long
//! one sync takes. A spend is a charge to a budget.
//!
//! `cargo run --release -p opendp-ledger --example spends -- FOLDER`
#![allow(clippy::disallowed_methods, reason = "this measures time, and releases nothing")]

use std::{
    fs::File,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use opendp_core::{Error, Result};
use opendp_ledger::{Ledger, Loss, Request};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, path, lane] = &arguments[..]
        && flag == "--lane"
    {
        return spend_in_lane(Path::new(path), lane);
    }
    let folder = arguments.first().cloned().unwrap_or_else(|| ".".into());
    let folder = Path::new(&folder);
    println!("one sync of 4 KiB: {:.2} ms", sync(folder).map_err(failed)? * 1e3);
    for threads in [1, 8, 64, 256] {
        let path = folder.join(format!("spends-{}-{threads}.ledger", std::process::id()));
        let rate = spends(&path, threads, 2000 / threads.max(8))?;
        println!("{threads:>3} threads: {rate:.0} durable spends a second");
        remove(&path);
    }
    for processes in [1, 8] {
        let path = folder.join(format!("spends-{}-p{processes}.ledger", std::process::id()));
        let rate = spends_of_processes(&path, processes)?;
        println!("{processes:>3} processes: {rate:.0} durable spends a second");
        remove(&path);
    }
    Ok(())
}
fn remove(ledger: &Path) {
    let _ = std::fs::remove_file(ledger);
}
const EACH: usize = 500;
fn spends_of_processes(path: &Path, processes: usize) -> Result<f64> {
    Ledger::open(path)?.create("b", &Loss::epsilon("1000000")?)?;
    let mut running = Vec::new();
    for lane in 0..processes {
        let program = std::env::current_exe().map_err(failed)?;
        let mut child = Command::new(program)
            .arg("--lane")
            .arg(path)
            .arg(lane.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        // The child process reports when it is ready, and then waits.
        let out = child.stdout.take().ok_or_else(|| Error::FailedFunction("no pipe".into()))?;
        BufReader::new(out).read_line(&mut String::new()).map_err(failed)?;
        running.push(child);
    }
    let start = Instant::now();
    for child in &mut running {
        // The child process waits for the end of its input, and then starts to spend.
        drop(child.stdin.take());
    }
    for mut child in running {
        if !child.wait().map_err(failed)?.success() {
            return Err(Error::FailedFunction("a process failed".into()));
        }
    }
    Ok((processes * EACH) as f64 / start.elapsed().as_secs_f64())
}
fn spend_in_lane(path: &Path, lane: &str) -> Result<()> {
    let ledger = Ledger::open_existing(path)?;
    println!("ready");
    std::io::stdin().lock().read_line(&mut String::new()).map_err(failed)?;
    let loss = Loss::epsilon("0.1")?;
    for i in 0..EACH {
        let request = Request::of_loss(&format!("{lane}-{i}"), loss.clone());
        ledger.release("b", &request, || Ok(i as u64))?;
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
