//! Tests the public interface of the ledger.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "tests stop by panicking"
)]

mod budgets;
mod crash;
mod damage;
mod faults;
mod journal;
mod names;
mod recorded;
mod room;
#[cfg(feature = "postgres")]
mod server;
mod several;
mod spending;
mod tight;
