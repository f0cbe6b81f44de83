//! One set of Cargo features for the dependencies that the packages of the workspace share.
//!
//! This crate has no code. The comments in its `Cargo.toml` state its purpose.
#![forbid(unsafe_code)]
