//! Test clusters on loopback: a scheduler and two executors, each in its own process.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests stop by panicking")]

mod commands;
mod data;
mod failures;
mod nodes;
mod page;
mod results;
