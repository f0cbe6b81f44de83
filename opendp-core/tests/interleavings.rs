//! Tests of locks and turns under many interleavings of threads. A turn permits one of several
//! interactive mechanisms to answer.
//!
//! The test compiles the source files of the locks and the turns a second time. In this copy, a
//! scheduler controls the locks and the threads. The scheduler runs thousands of schedules, which
//! are drawn at random from a seed.
#![allow(
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    reason = "tests fail by a panic, and use only a part of the compiled files"
)]

mod sync {
    pub(crate) use shuttle::sync::{Arc, Mutex, MutexGuard};
    pub(crate) use shuttle::thread;
}
#[path = "../src/interaction/handle.rs"]
mod handle;
#[path = "../src/interaction/lock.rs"]
mod lock;
#[path = "../src/interaction/turn.rs"]
mod turn;

use lock::Lock;
use opendp_core::arith::Exact;
use opendp_core::{Error, Ledger, MaxDivergence, Result};
use shuttle::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use sync::{Arc, thread};
use turn::Turns;

/// Run a model under many schedules.
fn explore(model: impl Fn() + Send + Sync + 'static) {
    shuttle::check_random(model, 5_000);
}
fn third() -> Vec<Exact> {
    vec!["0.34".parse().unwrap()]
}
/// Call `charge` once in each of four threads, at the same time. Count the calls that succeed. A
/// budget of 1 covers at most two charges of 0.34.
fn spenders(charge: impl Fn() -> Result<()> + Send + Sync + 'static) -> usize {
    let (charge, spent) = (Arc::new(charge), Arc::new(AtomicUsize::new(0)));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (charge, spent) = (charge.clone(), spent.clone());
            thread::spawn(move || {
                if charge().is_ok() {
                    spent.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    spent.load(Ordering::SeqCst)
}

#[test]
fn no_schedule_spends_more_than_the_budget() {
    explore(|| {
        let account = Lock::new(Ledger::with_budget(MaxDivergence, &1.0).unwrap());
        assert_eq!(spenders(move || account.with(|account| account.charge(&third()))), 2);
    });
}
#[test]
#[should_panic(expected = "overspent")]
fn a_check_apart_from_its_charge_is_found_out() {
    explore(|| {
        let account = Lock::new(Ledger::new(MaxDivergence).unwrap());
        let limit = Exact::from_f64(1.0).unwrap();
        let spent = spenders(move || {
            let fits =
                account.with(|account| Ok(account.exact_total()[0].plus(&third()[0]) <= limit))?;
            if !fits {
                return Err(Error::BudgetExceeded("no".into()));
            }
            account.with(|account| account.charge(&third()))
        });
        assert!(spent <= 2, "overspent");
    });
}
/// Begin a turn, called the child, and let a thread call `ask` with the child. At the same time,
/// begin a second turn, called the sibling. Return whether the child answered after the sibling had
/// begun.
fn siblings(
    ask: impl Fn(&turn::Turn, &AtomicBool) -> Result<bool> + Send + Sync + 'static,
) -> bool {
    let (turns, begun) = (Turns::new(), Arc::new(AtomicBool::new(false)));
    let child = turns.begin(|| Ok(()), Ok).unwrap();
    let asking = {
        let begun = begun.clone();
        thread::spawn(move || (0..3).any(|_| ask(&child, &begun).unwrap_or(false)))
    };
    let sibling = turns.begin(
        || Ok(()),
        |turn| {
            begun.store(true, Ordering::SeqCst);
            Ok(turn)
        },
    );
    let late = asking.join().unwrap();
    assert_eq!(sibling.unwrap().run(|| Ok(1)), Ok(1));
    late
}
#[test]
fn no_schedule_lets_a_child_answer_after_its_sibling_has_begun() {
    explore(|| assert!(!siblings(|child, begun| child.run(|| Ok(begun.load(Ordering::SeqCst))))));
}
#[test]
#[should_panic(expected = "too late")]
fn a_permission_that_is_checked_and_then_left_is_found_out() {
    explore(|| {
        let late = siblings(|child, begun| {
            child.run(|| Ok(()))?;
            thread::yield_now();
            Ok(begun.load(Ordering::SeqCst))
        });
        assert!(!late, "too late");
    });
}
#[test]
fn no_schedule_of_nested_turns_deadlocks() {
    explore(|| {
        let (outer, inner) = (Turns::new(), Turns::new());
        let first = outer.begin(|| Ok(()), Ok).unwrap();
        let second = inner.begin(|| Ok(()), Ok).unwrap();
        let mut bindings = turn::Bindings::default();
        bindings.bind(&second);
        bindings.bind(&first);
        let (bindings, begun) = (Arc::new(bindings), Arc::new(AtomicUsize::new(0)));
        let threads: Vec<_> = (0..3)
            .map(|i| {
                let (outer, inner, bindings, begun) =
                    (outer.clone(), inner.clone(), bindings.clone(), begun.clone());
                thread::spawn(move || {
                    let count = || Ok(begun.fetch_add(1, Ordering::SeqCst));
                    match i {
                        0 => outer.begin(|| Ok(()), |_| count()),
                        1 => bindings.run(|| inner.begin(|| Ok(()), |_| count())),
                        _ => bindings.run(count),
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| drop(thread.join().unwrap()));
        assert!((1..=3).contains(&begun.load(Ordering::SeqCst)));
    });
}
