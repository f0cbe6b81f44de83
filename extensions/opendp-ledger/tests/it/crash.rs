//! Tests processes that share a budget and are killed at any time.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Write},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use opendp_core::arith::Exact;
use opendp_ledger::{Ledger, Loss, Notion, Request};

const PROCESSES: usize = 8;
const SIGKILL: i32 = 9;
const KILLS: usize = 200;
/// In the tests with kills, the budget has room for this many releases at first. So the processes
/// cannot exhaust the budget before the last kill.
const AMPLE: usize = 1_000_000;
/// After the last kill in a test of a correct ledger, one large charge leaves room for only this
/// number of releases. So the processes can exhaust the budget.
const REST: usize = 300;
/// The number of ids in a test without kills. The budget has room for all these ids.
const CALM_IDS: usize = 200;
/// A process that replaces a killed process begins `AGAIN * PROCESSES` ids before the last id that
/// the killed process reported. So the new process requests the last ids of the killed process
/// again.
const AGAIN: usize = 10;
/// A process ends after this number of refused requests. All its requests after the first refused
/// request must also be refused.
const IN_VAIN: usize = 25;

/// Request releases, and print the releases that the ledger grants. The other tests run this helper
/// as a separate process.
#[test]
fn helper_spender() {
    let Ok(path) = std::env::var("LEDGER_SPENDER") else { return };
    let number = |name: &str| std::env::var(name).unwrap().parse::<usize>().unwrap();
    let (lane, broken) = (number("LEDGER_LANE"), number("LEDGER_BROKEN") == 1);
    let ids = number("LEDGER_IDS");
    let ledger = Ledger::open_existing(&path).unwrap();
    // With a correct ledger, two processes share each list of ids. The control test uses a broken
    // ledger, which returns releases before it charges them. With this ledger, two processes would
    // report different values for a shared id, even without a kill. So in the control test, each
    // process has its own list. Then only a kill can show the fault.
    let (first, step) = match broken {
        true => (lane, PROCESSES),
        false => (lane / 2, PROCESSES / 2),
    };
    let first = first + number("LEDGER_FROM").saturating_sub(first) / step * step;
    let mut refused = 0;
    for i in (first..ids).step_by(step) {
        let id = format!("r{i}");
        // The value contains the id of the process. So no two processes compute the same value.
        let value = (std::process::id() as u64) << 20 | i as u64;
        let say = |value: u64, age: &str| {
            let mut out = std::io::stdout().lock();
            writeln!(out, "\ngranted {id} {value} {age}").unwrap();
            out.flush().unwrap();
        };
        let request = Request::of_loss(&id, Loss::epsilon("0.1").unwrap());
        let granted = ledger.release("b", &request, || {
            if broken {
                // Simulate a broken ledger, which returns the release before the charge.
                say(value, "new");
            }
            Ok(value)
        });
        match granted {
            Ok(release) => {
                assert_eq!(refused, 0, "granted after the budget was exhausted");
                say(release.value().unwrap(), if release.repeated() { "old" } else { "new" });
            }
            Err(error) if error.kind() == "BudgetExceeded" => refused += 1,
            Err(error) => panic!("{error}"),
        }
        if refused == IN_VAIN {
            break;
        }
    }
    println!("\ndone");
}

/// The reports of the processes: all releases that were reported, and the last id that each process
/// reported.
type Told = Arc<Mutex<(Vec<(String, u64)>, [usize; PROCESSES])>>;

/// A process that charges releases, and a thread that reads the output of the process.
struct Spender {
    child: Child,
    /// Whether the process has charged a release since its start.
    spending: Arc<AtomicBool>,
    reader: thread::JoinHandle<bool>,
}
impl Spender {
    fn start(path: &Path, lane: usize, (broken, ids): (bool, usize), told: &Told) -> Self {
        let from = told.lock().unwrap().1[lane].saturating_sub(AGAIN * PROCESSES);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["crash::helper_spender", "--exact", "--nocapture"])
            .env("LEDGER_SPENDER", path)
            .env("LEDGER_LANE", lane.to_string())
            .env("LEDGER_BROKEN", u8::from(broken).to_string())
            .env("LEDGER_IDS", ids.to_string())
            .env("LEDGER_FROM", from.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (out, told) = (child.stdout.take().unwrap(), told.clone());
        let spending = Arc::new(AtomicBool::new(false));
        let spends = spending.clone();
        let reader = thread::spawn(move || {
            let mut done = false;
            for line in BufReader::new(out).lines().map_while(|line| line.ok()) {
                done |= line == "done";
                let words: Vec<&str> = line.split(' ').collect();
                if let ["granted", id, value, age @ ("new" | "old")] = words[..]
                    && let Ok(value) = value.parse()
                {
                    let mut told = told.lock().unwrap();
                    told.0.push((id.to_owned(), value));
                    told.1[lane] = id[1..].parse().unwrap();
                    spends.fetch_or(age == "new", Ordering::SeqCst);
                }
            }
            done
        });
        Spender { child, spending, reader }
    }
    /// Kill the process, and return whether the kill ended it.
    fn kill(&mut self) -> bool {
        self.child.kill().unwrap();
        self.child.wait().unwrap().signal() == Some(SIGKILL)
    }
}
/// Make one large charge. After this charge, the budget has room for only `places` releases. Other
/// processes make charges at the same time.
fn take_all_but(places: usize, ledger: &Ledger) {
    let rest: Exact = format!("{}", places as f64 / 10.0).parse().unwrap();
    for attempt in 0..100 {
        let left = ledger.remaining("b").unwrap();
        let remaining = Loss::exact(Notion::Pure, vec![left.parts()[0].minus(&rest)]).unwrap();
        let request = Request::of_loss(&format!("most {attempt}"), remaining);
        // Another process can charge its loss before this charge. This charge is then refused, so
        // try again with the new rest of the budget.
        if ledger.release("b", &request, || Ok(0_u64)).is_ok() {
            return;
        }
    }
    panic!("the others were always faster");
}

/// Run processes that charge releases. Kill a process `kills` times, and start another process in
/// its place each time. Return the faults that were found in the releases, and the number of
/// charges.
fn storm(kills: usize, broken: bool) -> (Vec<String>, usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("storm.ledger");
    let (ids, room) = if kills == 0 { (CALM_IDS, CALM_IDS) } else { (AMPLE, AMPLE) };
    let total = Loss::epsilon(&format!("{}", room as f64 / 10.0)).unwrap();
    Ledger::open(&path).unwrap().create("b", &total).unwrap();
    let told = Told::default();
    let start = |lane| Spender::start(&path, lane, (broken, ids), &told);
    let mut running: Vec<Spender> = (0..PROCESSES).map(start).collect();
    // The random numbers choose which process is killed, and when. A simple generator is
    // sufficient.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ u64::from(std::process::id());
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut readers = Vec::new();
    for _ in 0..kills {
        let lane = random(PROCESSES as u64) as usize;
        // Kill a process only after its first charge, at a random time during its next few charges.
        let mut patience = 600_000;
        while !running[lane].spending.load(Ordering::SeqCst) {
            patience -= 1;
            assert!(0 < patience, "a process does not get to spend");
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_micros(random(20_000)));
        let mut spender = std::mem::replace(&mut running[lane], start(lane));
        assert!(spender.kill(), "a process has ended while there was budget");
        readers.push(spender.reader);
    }
    if kills == 0 || !broken {
        if 0 < kills {
            let ledger = Ledger::open_existing(&path).unwrap();
            assert!(
                Loss::epsilon("10000").unwrap().parts() < ledger.remaining("b").unwrap().parts()
            );
            take_all_but(REST, &ledger);
        }
        for mut spender in running {
            assert!(spender.child.wait().unwrap().success());
            assert!(
                spender.reader.join().unwrap(),
                "a process that was not killed comes to its end"
            );
        }
    } else {
        for mut spender in running {
            spender.kill();
            readers.push(spender.reader);
        }
    }
    for reader in readers {
        assert!(!reader.join().unwrap(), "a process that was killed did not come to its end");
    }
    findings(&path, &told, 0 < kills && !broken)
}
/// Compare the ledger with the reports of the processes. Return the faults, and the number of
/// charges.
fn findings(path: &Path, told: &Told, exhausted: bool) -> (Vec<String>, usize) {
    let ledger = Ledger::open_to_read(path).unwrap();
    let history = ledger.history("b").unwrap();
    let mut wrong = Vec::new();
    let account = ledger.account("b").unwrap();
    // `history` has checked that the exact sum of the entries is the amount spent.
    if account.total.parts() < account.spent.parts() {
        wrong.push("more was spent than the budget".to_owned());
    }
    if exhausted && account.spent != account.total {
        wrong.push(format!("{} is left of a budget that was exhausted", account.remaining()));
    }
    let written: HashMap<&str, &str> =
        history.iter().map(|entry| (&*entry.id, &*entry.release)).collect();
    if written.len() != history.len() {
        wrong.push("an id was charged twice".to_owned());
    }
    let told = told.lock().unwrap();
    for (id, value) in &told.0 {
        if written.get(id.as_str()) != Some(&value.to_string().as_str()) {
            wrong.push(format!(
                "{id} was released as {value}, and is {:?}",
                written.get(id.as_str())
            ));
        }
    }
    (wrong, history.len())
}

#[test]
fn no_kill_loses_a_spend_or_charges_twice() {
    let (wrong, spends) = storm(KILLS, false);
    assert!(wrong.is_empty(), "{wrong:?}");
    // Each killed process has charged a release before the kill. After the last kill, one large
    // charge and further releases follow. So the number of charges is above `KILLS + 1`.
    assert!(KILLS + 1 < spends, "{spends}");
    println!("{KILLS} kills among {spends} spends");
}
#[test]
fn the_storm_finds_a_ledger_that_releases_first() {
    // Without kills, the broken ledger shows no fault.
    assert_eq!(storm(0, true).0, Vec::<String>::new());
    // A kill shows the fault only if the kill comes between the report and the charge. So call
    // `storm` again until a kill shows the fault.
    assert!((0..50).any(|_| !storm(20, true).0.is_empty()));
}
