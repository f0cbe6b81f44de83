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
//! A release is computed, and nobody sees it. Then one transaction decides whether the budget
//! suffices and writes down the loss **and the release**. Only when that is on the disk does
//! [`Ledger::release`] return the release, as it was written down. Hence:
//!
//! - The losses of all releases that anybody saw are in the ledger, and their exact sum is at most
//!   the budget, whatever processes share the file and whenever they are killed.
//! - A crash before the transaction is durable costs nothing: the release is lost, unseen. A crash
//!   after it loses nothing: a retry under the same id returns the release that was written down.
//!   It never draws another: two independent releases for one charge would break the promise of
//!   privacy, if the first had been seen. Of several processes that try the same id at once, the
//!   first one's release is what all of them return.
//! - Whether a release is discarded depends on ids, losses and the state of the ledger, never on
//!   the release, so that discarding tells nothing.
//! - Losses are exact. A decimal number in text is what it says; a float is a float. Ten spends of
//!   `0.1` exhaust a budget of `1`.
//! - Where anything is wrong (the disk is full, the file is read-only or damaged, the clock is more
//!   than a second behind the last entry), there is an error, and no release.
//!
//! Each row has a seal, a hash over its content and, for entries, over the seal of the entry before.
//! So damage that the database does not notice is noticed here, when the row is used. The seals are
//! no signatures: somebody who may write to the file can forge it. Nor can a ledger know that it was
//! replaced by an older copy. Copy it with SQLite's backup; a file without the `-wal` file beside it
//! lacks the last spends.
//!
//! # Where it is kept
//! In a file, by SQLite: write-ahead log, synced at each commit. The file must be on a local disk;
//! locks of network file systems are not to be trusted. With the feature `postgres`, the same tables
//! are kept on a server (`Ledger::connect`).
//!
//! A spend that is durable takes a sync, so that the disk decides how many there are in a second.
//! Threads of one process that wait share one sync, and so do many more spends than the disk has
//! syncs. Processes do not: they take turns at the file, each with a sync of its own, and together
//! they are hardly faster than one. The example `spends` measures both beside the sync of the disk.
//! On a busy machine of two cores, whose disk took 2.6 ms to append and sync 4 KiB (380 a second):
//!
//! | who spends | durable spends a second |
//! |---|---|
//! | 1 thread | 244 |
//! | 8 threads | 1316 |
//! | 64 threads | 1046 |
//! | 8 processes of one thread | 580 |
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

pub use crate::ledger::Ledger;
pub use crate::loss::{Accounted, Loss, Notion};
pub use crate::record::{Account, Entry};
pub use crate::request::{Release, Request};
pub use crate::terms::{Terms, Unit};
