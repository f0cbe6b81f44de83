//! Reads any text as a request, which is a name with types.
#![no_main]

#[allow(dead_code, reason = "each program calls only one function of this module")]
#[path = "../../opendp-registry/tests/hostile/targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|text: &str| targets::signature(text));
