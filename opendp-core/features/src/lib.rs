//! The Cargo features of the dependencies that several packages of the workspace use. All these
//! packages use the same features.
//!
//! This crate has no code. The comments in its `Cargo.toml` state its purpose.
#![forbid(unsafe_code)]
