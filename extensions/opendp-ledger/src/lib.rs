//! Durable privacy budgets: each loss is on the disk before its release leaves the process.
//!
//! ```
//! use opendp_core::*;
//! use opendp_ledger::{Ledger, Loss, Request};
//! use opendp_measurements::{Scale, make_laplace};
//!
//! # let folder = tempfile::tempdir().map_err(|e| Error::FailedFunction(e.to_string()))?;
//! # let path = folder.path().join("study.ledger");
//! let ledger = Ledger::open(&path)?;
//! ledger.create("survey", &Loss::epsilon("1")?)?;
//!
//! let count = Space::new(AtomDomain::<i64>::default(), AbsoluteDistance::<i64>::default())?;
//! let laplace = make_laplace(count, Scale::new(4.0)?, None)?;
//! let request = Request::new("week 1", &laplace, &1)?.by("Ada");
//! let first = ledger.release("survey", &request, || laplace.invoke(&100))?;
//! assert_eq!(ledger.remaining("survey")?, Loss::epsilon("0.75")?);
//!
//! // The same id gives the same release, and costs nothing more.
//! let again = ledger.release("survey", &request, || laplace.invoke(&100))?;
//! assert_eq!(again.value::<i64>()?, first.value::<i64>()?);
//! assert_eq!(ledger.remaining("survey")?, Loss::epsilon("0.75")?);
//! # Ok::<(), Error>(())
//! ```
//!
//! # What is promised
//! A release is computed and kept secret. Then one transaction decides whether the budget suffices
//! and writes down the loss **and the release**. Only when both are on the disk does
//! [`Ledger::release`] return the release, as it was written down. So:
//!
//! - The losses of all releases that were ever returned are in the ledger, and their exact sum is
//!   at most the budget. This holds for any number of processes that share the file, under any
//!   names, and at any time they are killed.
//! - A crash before the transaction is durable costs nothing: the release is lost, unseen. A crash
//!   after it loses nothing: a retry under the same id returns the release that was written down. A
//!   retry never draws another release: if the first had been seen, two independent releases for
//!   one charge would break the privacy guarantee. If several processes try the same id at once,
//!   all of them return the release of the first one.
//! - An id identifies the pipeline, the distance, the loss, and the data that the caller names
//!   ([`Request::source`]). A different request under the same id is refused.
//! - Whether a release is discarded depends on ids, losses and the state of the ledger, never on
//!   the release, so discarding reveals nothing.
//! - Losses are exact. A decimal number in text is taken exactly as written; a float is the exact
//!   value of the float. Ten spends of `0.1` exhaust a budget of `1`. A budget is the larger of its
//!   amount and of the nearest float, so a budget of delta `1e-5` has room for a loss of delta
//!   `1e-5`.
//! - A budget of an epsilon and a delta adds them up, or composes tightly
//!   ([`Ledger::create_tight`]): then its filters admit each release, and what all releases
//!   together may lose is at most the budget, although the sum of their losses may exceed it.
//! - A budget may state whom it protects and in which data ([`Terms`]). Requests for another
//!   distance are refused. A distance of 0 is always refused.
//! - If anything is wrong (the disk is full, the file is read-only or damaged, the clock is more
//!   than a second behind the last entry), the result is an error, and no release. After a clock
//!   that was ahead is corrected, [`Ledger::settle_clock`] lets the budget continue; the history
//!   records this.
//!
//! # Damage
//! Each release is a line with a seal: a hash over its content and over the seal of the line
//! before. Every process that opens the file checks all seals. A mark at the beginning of the file
//! counts the lines; it is written when they are durable. So any changed byte and any cut is
//! noticed, anywhere in the written file, and then nothing is released. The file has no index that
//! could be damaged, and needs no other file.
//!
//! Three kinds of damage are not noticed. First, a forgery, since seals are not signatures. Second,
//! replacement of the whole file by an older copy while no process has it open. Third, damage to
//! lines that the mark does not count (the lines of the last commit), if power failed so soon after
//! a release that the mark was not yet on the disk, and if the damage happens before the file is
//! opened again. Such lines look like a release that was being written when power failed, and that
//! was never returned.
//!
//! # Storage
//! A ledger is one file, of lines that any program can read. All locks are locks of the inode, so a
//! file that is mounted at two places is one ledger, also after a crash. Hard links are refused,
//! because they can be mistaken for a copy. To copy a ledger, copy the file. The file must be on a
//! local disk; locks of network file systems are not reliable. With the feature `postgres`, the
//! same is kept in two tables on a server (`Ledger::connect`).
//!
//! Opening reads the whole file: a hundred thousand releases of 400 bytes took 1.7 seconds on the
//! same machine, in a build with little optimisation. For more releases start a second ledger.
//!
//! A ledger of version 1 was a database of SQLite. It can be read as it is. When it is first opened
//! to write, it becomes a ledger of lines, in the same file. No other process may have it open at
//! that moment. Open it by its usual name, because its log (`-wal`) lies beside that name. Damage
//! that the log suffered before cannot be noticed.
//!
//! A durable spend takes a sync, so the disk limits the number of spends a second. Threads of one
//! process that wait share one sync, and then reach many more spends than the disk has syncs.
//! Processes take turns at the file, each with a sync of its own. The example `spends` measures
//! both and the sync of the disk. On a busy machine of two cores, whose disk took 3.1 to 8.8 ms to
//! append and sync 4 KiB, in turns with version 1, of three to five runs each:
//!
//! | who spends | durable spends a second | version 1 |
//! |---|---|---|
//! | 1 thread | 224 to 283 | 136 to 179 |
//! | 8 threads | 625 to 1330 | 907 to 3049 |
//! | 64 threads | 748 to 1377 | 979 to 1859 |
//! | 1 process of one thread | 258 to 313 | 206 to 288 |
//! | 8 processes of one thread | 835 to 1514 | 264 to 329 |
#![forbid(unsafe_code)]
#![doc(test(attr(deny(warnings))))]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::panic,
        clippy::expect_used,
        reason = "tests stop by panicking"
    )
)]

mod decide;
mod ledger;
mod loss;
mod record;
mod request;
mod store;
mod terms;
mod tight;
mod words;

pub use crate::ledger::Ledger;
pub use crate::loss::{Accounted, Loss, Notion};
pub use crate::record::{Account, Entry};
pub use crate::request::{Release, Request};
pub use crate::terms::{Terms, Unit};
pub use crate::words::say;
