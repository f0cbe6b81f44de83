//! Processes that share a budget and are killed at any instant.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Write},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use opendp_core::Result;
use opendp_ledger::{Ledger, Loss, Request};

const PROCESSES: usize = 8;
const SIGKILL: i32 = 9;
const KILLS: usize = 200;
/// The budget has room for so many releases.
const ROOM: usize = 1500;
/// So many ids are asked for, each by two processes.
const IDS: usize = 20_000;
/// The control's budget has room for all that it asks for: so many ids where nothing is killed.
const CALM_IDS: usize = 200;

/// Not a test by itself: a process that asks for releases, and tells which it was given.
#[test]
fn helper_spender() {
    let Ok(path) = std::env::var("LEDGER_SPENDER") else { return };
    let number = |name: &str| std::env::var(name).unwrap().parse::<usize>().unwrap();
    let (lane, broken) = (number("LEDGER_LANE"), number("LEDGER_BROKEN") == 1);
    let ids = number("LEDGER_IDS");
    let ledger = Ledger::open_existing(&path).unwrap();
    // Two processes share a lane of ids. After a restart all are asked for again. Where the control
    // releases first, each has its own, so that nothing but a kill can show it.
    let (first, step) = match broken {
        true => (lane, PROCESSES),
        false => (lane / 2, PROCESSES / 2),
    };
    for i in (first..ids).step_by(step) {
        let id = format!("r{i}");
        // Every process computes something else, and each time again.
        let value = (std::process::id() as u64) << 20 | i as u64;
        let say = |value: u64| {
            let mut out = std::io::stdout().lock();
            writeln!(out, "\ngranted {id} {value}").unwrap();
            out.flush().unwrap();
        };
        let request = Request::of_loss(&id, Loss::epsilon("0.1").unwrap());
        let granted: Result<u64> = ledger
            .release("b", &request, || {
                if broken {
                    // A ledger that lets the release out first.
                    say(value);
                }
                Ok(value)
            })
            .and_then(|release| release.value());
        match granted {
            Ok(value) => say(value),
            Err(error) if error.kind() == "BudgetExceeded" => {}
            Err(error) => panic!("{error}"),
        }
    }
    println!("\ndone");
}

type Told = Arc<Mutex<Vec<(String, u64)>>>;

fn spender(
    path: &Path,
    lane: usize,
    (broken, ids): (bool, usize),
    told: &Told,
) -> (Child, thread::JoinHandle<bool>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["crash::helper_spender", "--exact", "--nocapture"])
        .env("LEDGER_SPENDER", path)
        .env("LEDGER_LANE", lane.to_string())
        .env("LEDGER_BROKEN", u8::from(broken).to_string())
        .env("LEDGER_IDS", ids.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (out, told) = (child.stdout.take().unwrap(), told.clone());
    let reader = thread::spawn(move || {
        let mut done = false;
        for line in BufReader::new(out).lines().map_while(|line| line.ok()) {
            done |= line == "done";
            let words: Vec<&str> = line.split(' ').collect();
            if let ["granted", id, value] = words[..]
                && let Ok(value) = value.parse()
            {
                told.lock().unwrap().push((id.to_owned(), value));
            }
        }
        done
    });
    (child, reader)
}

/// Let processes spend, kill `kills` of them, and tell what is wrong with what was released.
fn storm(kills: usize, broken: bool) -> (Vec<String>, usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("storm.ledger");
    let ids = if kills == 0 { CALM_IDS } else { IDS };
    let room = if broken { ids } else { ROOM };
    let total = Loss::epsilon(&format!("{}", room as f64 / 10.0)).unwrap();
    Ledger::open(&path).unwrap().create("b", &total).unwrap();
    let told = Told::default();
    let mut running: Vec<_> =
        (0..PROCESSES).map(|lane| spender(&path, lane, (broken, ids), &told)).collect();
    // Any source of numbers will do that visits many instants.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ u64::from(std::process::id());
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut readers = Vec::new();
    let (mut killed, mut attempts) = (0, 0);
    while killed < kills {
        attempts += 1;
        assert!(attempts < 20 * kills, "the processes end before they can be killed");
        thread::sleep(Duration::from_micros(random(40_000)));
        let lane = random(PROCESSES as u64) as usize;
        let (mut child, reader) =
            std::mem::replace(&mut running[lane], spender(&path, lane, (broken, ids), &told));
        child.kill().unwrap();
        // One that had come to its end by itself was not killed.
        killed += usize::from(child.wait().unwrap().signal() == Some(SIGKILL));
        readers.push(reader);
    }
    if !broken || kills == 0 {
        // Every request is made again to the end, as a careful caller does.
        for (mut child, reader) in running {
            assert!(child.wait().unwrap().success());
            assert!(reader.join().unwrap(), "a process that was not killed comes to its end");
        }
    } else {
        for (mut child, reader) in running {
            child.kill().unwrap();
            child.wait().unwrap();
            readers.push(reader);
        }
    }
    for reader in readers {
        let _ = reader.join();
    }

    let ledger = Ledger::open_to_read(&path).unwrap();
    let history = ledger.history("b").unwrap();
    let mut wrong = Vec::new();
    let account = ledger.account("b").unwrap();
    if room < history.len() || account.remaining().parts()[0] > account.total.parts()[0] {
        wrong.push("more was spent than the budget".to_owned());
    }
    if !broken && history.len() != ROOM {
        wrong.push(format!("{} releases instead of {ROOM}", history.len()));
    }
    let written: HashMap<&str, &str> =
        history.iter().map(|entry| (&*entry.id, &*entry.release)).collect();
    if written.len() != history.len() {
        wrong.push("an id was charged twice".to_owned());
    }
    let told = told.lock().unwrap();
    for (id, value) in told.iter() {
        if written.get(id.as_str()) != Some(&value.to_string().as_str()) {
            wrong.push(format!(
                "{id} was released as {value}, and is {:?}",
                written.get(id.as_str())
            ));
        }
    }
    (wrong, told.len())
}

#[test]
fn no_kill_loses_a_spend_or_charges_twice() {
    let (wrong, told) = storm(KILLS, false);
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(ROOM <= told, "{told}");
}
#[test]
fn the_storm_finds_a_ledger_that_releases_first() {
    // Without a kill nobody can tell the two apart.
    assert_eq!(storm(0, true).0, Vec::<String>::new());
    assert!(!storm(20, true).0.is_empty());
}
