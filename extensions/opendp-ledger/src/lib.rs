//! Durable privacy budgets. The loss of a release is on the disk before the ledger returns the
//! release.
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
//! First, a release is computed and kept secret. Then one transaction decides whether the budget
//! admits the loss, and records the loss **and the release**. [`Ledger::release`] returns the
//! recorded release only after the loss and the release are on the disk. So these promises hold:
//!
//! - The losses of all releases that were ever returned are in the ledger. Their exact sum is at
//!   most the budget. If the budget composes tightly, a bound on the total loss is at most the
//!   budget instead. This promise holds for any number of processes that share the file, even if
//!   they open the file by different names. The promise also holds if the processes are killed at
//!   any time.
//! - After a crash, either a loss and its release are both recorded, or neither is recorded. If
//!   neither is recorded, nothing is charged. The release is lost, but no caller has received it.
//!   If both are recorded, a retry under the same id returns the recorded release. Such a retry
//!   never returns another release, because two independent releases for one charge would break the
//!   privacy guarantee. If several processes use the same id at once, all processes return the
//!   release that was recorded first.
//! - An id belongs to four facts: the distance, the loss, the pipeline that the caller states
//!   ([`Request::pipeline`]), and the data that the caller names ([`Request::source`]). A request
//!   with the same id is refused if one of these facts differs. Other differences are not noticed.
//!   So a caller who states no pipeline must not use one id for two measurements. A request for the
//!   second measurement would return the release of the first measurement.
//! - The decision to discard a release without a charge depends on the request, the clock and the
//!   state of the ledger. The decision never depends on the release, so the decision reveals
//!   nothing about the release. If a file has room for a charge, but no room for the release, the
//!   loss is charged, and there is no release. The reason is that the length of a release can
//!   depend on the data. The id then keeps this outcome ([`Failure::was_charged`]).
//! - Losses are exact. A decimal number in text has exactly the written value. A float has its
//!   exact binary value. Ten charges of `0.1` exhaust a budget of `1`. The limit for each amount of
//!   a budget is the larger of two numbers: the given amount, and the float nearest to it. So a
//!   budget of delta `1e-5` admits a loss whose delta is the float `1e-5`.
//! - A budget of an epsilon and a delta adds up the losses. Alternatively, such a budget composes
//!   tightly ([`Ledger::create_tight`]): the budget limits a proved bound on the total loss. The
//!   total loss is then at most the budget, although the sum of the losses can exceed the budget.
//! - Several releases can be charged in one entry ([`Loss::together`]) if their losses are known.
//!   Either all of them are charged, or none is charged. The caller can run the releases after the
//!   charge. After a crash between the charge and the releases, the charge stays, and there are no
//!   releases. The entry shows that the id of the request was used, so the caller does not draw the
//!   releases again.
//! - A plan is a list of releases whose losses are known before the first release. The releases of
//!   a plan can use a whole unspent budget that composes tightly. There are two ways. With
//!   [`Loss::reserving`], the budget gets one filter for the kinds of releases in the plan, and no
//!   filter for other kinds. A filter is a rule that admits or refuses the next release. With
//!   [`Loss::sharing`], the privacy loss distributions of the planned releases are composed. In
//!   both ways, the entry of the plan stores the filters of the budget. With [`Loss::sharing`],
//!   these filters admit no further release. If a release was charged before, the plan is refused
//!   and nothing is charged.
//! - A budget can state its unit of privacy and its data ([`Terms`]). Requests for a distance that
//!   does not protect this unit are refused. A distance of 0 is always refused.
//! - After any fault, the result is an error, and there is no release. Examples of faults are a
//!   full disk and a file that is read-only or damaged. A clock that is more than a second behind
//!   the last entry is also a fault. If a clock was ahead and is corrected,
//!   [`Ledger::settle_clock`] makes the budget accept requests again. The history of the budget
//!   records this call.
//!
//! # Contexts, studies and failures
//! [`ContextJournal`] keeps the budget of a [`Context`](opendp_analysis::Context) in a ledger, so
//! that later processes continue with the same account. `Study::ask_charged` of `opendp-study`
//! charges all answers of a document. Both check that the budget protects their privacy unit
//! ([`Account::check_unit`]). [`Ledger::release_or_refuse`] also charges each [`Failure`] that may
//! depend on the data.
//!
//! # In a server
//! All threads of a server share one [`Ledger`], and one `Arc` of the data. Open the ledger once:
//! every opening reads the whole file. The program `examples/service` is such a server.
//!
//! - **Blocking calls.** [`Ledger::release`] computes on all cores, and then waits for the disk. So
//!   asynchronous code must call it on a thread that may block, such as a thread of
//!   `tokio::task::spawn_blocking`. [`Ledger::account`] and the other functions block, too.
//! - **Retries.** The client chooses the id of a request before the first attempt, and repeats it
//!   in each retry. If a client disconnects, the call goes on, and its release is charged and kept.
//!   A retry with the same id returns this release, and costs nothing more.
//! - **Budgets of clients.** [`Request::also`] charges one release to the budget of a client and to
//!   the budget of all clients. Make each id from the name of the client and an id of the client,
//!   such as the JSON of a list of both, so that ids of two clients are never equal. Otherwise, a
//!   client who states the id and the request of another client gets the release of this client.
//! - **Errors.** [`Error::root`](opendp_core::Error::root) is the error without its place, for a
//!   `match`. Only `BudgetExceeded` means that too little is left. After
//!   [`Failure::was_charged`], a retry cannot succeed, so the client needs another id.
//! - **The end of the process.** Every release that was returned is on the disk. So nothing is left
//!   to write when a server stops.
//! - **New data.** If the rows of the table change, keep the budget. The same people can be in the
//!   old and in the new version of the table, so their losses about both versions add up. A new
//!   budget for each version bounds the loss only of people who are in one version. State the
//!   version in [`Request::source`]: after a change, an old id is then an error. If the version is
//!   not stated, an old id returns the earlier release about the old version. For a
//!   [`Context`](opendp_analysis::Context), make a new context with the new table, and attach a
//!   journal of the same budget. [`Terms::with_digest`] is only for a file that never changes.
//!
//! # Damage
//! Each release is a line with a seal. The seal is a hash of two texts: the content of the line,
//! and the seal of the previous line. Every process that opens the file checks all seals. A mark in
//! the file counts the lines. The mark is written when the lines are durable. So every changed byte
//! of the header, of the mark and of a counted line is noticed. If the file is cut off within one
//! of these parts, the damage is noticed, too. After such damage, nothing is released.
//!
//! Three kinds of damage are not noticed. First, a forgery is not noticed, because anyone can
//! compute a seal. Second, the whole file can be replaced by an older copy while no process has the
//! file open. Third, power can fail after a release and before the mark is on the disk. The mark
//! then does not count the lines of the last commit. Damage to these lines is not noticed if the
//! damage happens before the file is opened again. Such damaged lines look like an unfinished
//! write. An unfinished write is not an error, because no caller received the release of this
//! write.
//!
//! A ledger that is opened only for reading leaves out whole lines that the mark does not count.
//! These lines are possibly not durable. The next process that opens the ledger for writing makes
//! these lines durable, and counts them.
//!
//! # Storage
//! A ledger is one file of lines that any program can read. All locks are locks of the file's
//! inode. So a file that is mounted at two places is one ledger. The file is also one ledger after
//! a crash, because the ledger has no separate log file. A user can mistake a hard link for a copy.
//! So on Unix, a file with more than one hard link is refused. To copy a ledger, copy the file. The
//! file must be on a local disk, because locks of network file systems are not reliable. With the
//! feature `postgres`, a ledger can be two tables on a server instead (`Ledger::connect`).
//!
//! When a ledger is opened, the whole file is read. Reading a hundred thousand releases of 400
//! bytes took 1.7 seconds in a build with little optimisation, on the machine that is described
//! below. For more releases, start a second ledger.
//!
//! A ledger of version 1 is an SQLite database. Only a program with the feature `sqlite` reads it.
//! Reading a ledger of version 1 does not change the file. When the file is first opened for
//! writing, it is converted to a ledger of lines, in the same file. No other process is allowed to
//! have the file open at that time. SQLite writes a log beside the file, and the name of this log
//! is the name of the file followed by `-wal`. So open the file by the name that the earlier
//! version used. Under another name, such as the name of a link, the log is not found. If the log
//! was damaged before the conversion, the damage cannot be noticed.
//!
//! A spend is a charge to a budget. A durable spend needs a sync, so the disk limits the number of
//! spends per second. Waiting threads of one process share one sync, so these threads can make many
//! more spends than syncs. Processes take turns at the file, and each process needs its own sync.
//! The example `spends` measures spends and syncs. The table shows results of a busy machine with
//! two cores. The disk took 3.1 to 8.8 ms to append and sync 4 KiB. Runs of this version and of
//! version 1 alternated, with three to five runs of each version:
//!
//! | who spends | durable spends per second | version 1 |
//! |---|---|---|
//! | 1 thread | 224 to 283 | 136 to 179 |
//! | 8 threads | 625 to 1330 | 907 to 3049 |
//! | 64 threads | 748 to 1377 | 979 to 1859 |
//! | 1 process of one thread | 258 to 313 | 206 to 288 |
//! | 8 processes of one thread | 835 to 1514 | 264 to 329 |
#![forbid(unsafe_code)]
#![doc(test(attr(deny(warnings))))]

mod cautions;
mod decide;
mod failure;
mod journal;
mod ledger;
mod loss;
mod record;
mod request;
mod store;
mod terms;
mod tight;
mod units;
mod words;

pub use crate::cautions::{Caution, cautions};
pub use crate::failure::Failure;
pub use crate::journal::ContextJournal;
pub use crate::ledger::Ledger;
pub use crate::loss::{Accounted, Loss, Notion};
pub use crate::record::{Account, Entry};
pub use crate::request::{Release, Request};
pub use crate::terms::{Misfit, Terms, Unit};
pub use crate::units::Asker;
pub use crate::words::{say, say_float};
