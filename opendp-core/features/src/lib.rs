//! The Cargo features of dependencies that several packages of the workspace share. This crate
//! makes all these packages compile a shared dependency with the same features.
//!
//! This crate has no code. The comments in its `Cargo.toml` state why the features must be the
//! same.
#![forbid(unsafe_code)]
