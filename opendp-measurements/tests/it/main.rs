//! Attacks on mechanisms through the public API.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so")]

mod audit;
mod porosity;
