//! The ledger, as programs use it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "a test that cannot go on says so by panicking"
)]

mod crash;
mod faults;
#[cfg(feature = "postgres")]
mod server;
mod spending;
