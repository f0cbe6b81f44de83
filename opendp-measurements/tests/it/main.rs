//! Attacks on mechanisms through the public API, and tests of registered names.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that cannot go on says so, and controls are as naive as what they stand for"
)]

mod audit;
mod porosity;
mod registered;
