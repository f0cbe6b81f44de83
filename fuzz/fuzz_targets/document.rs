//! Reads any text as a document of this project.
#![no_main]

#[path = "../mutate.rs"]
mod mutate;
#[allow(dead_code, reason = "each program calls only one function of this module")]
#[path = "../../opendp-registry/tests/hostile/targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|text: &str| targets::document(text));
libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate::json(data, size, max_size, seed)
});
