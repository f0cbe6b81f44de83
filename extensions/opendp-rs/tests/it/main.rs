//! Tests programs that use the prelude.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so")]

mod selections;
mod tables;
