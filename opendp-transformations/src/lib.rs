//! Stable transformations of data, each with the proof of its stability map.
#![forbid(unsafe_code)]
#![doc(test(attr(deny(warnings))))]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic, clippy::expect_used))]
