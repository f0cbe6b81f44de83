//! Reads any text as the name of a type. This target also reads documents in which the text stands
//! in place of a domain, a metric or the name of a type.
#![no_main]

#[allow(dead_code, reason = "each program calls only one function of this module")]
#[path = "../../opendp-registry/tests/hostile/targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|text: &str| targets::type_descriptor(text));
