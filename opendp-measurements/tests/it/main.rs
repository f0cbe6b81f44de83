//! Attacks on mechanisms through the public API, and tests of registered names.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test may panic, and a control may use naive methods on purpose"
)]

mod audit;
mod porosity;
mod registered;
