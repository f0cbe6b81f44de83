//! Tests of hostile texts. The answer to any text of 1 MB must take less than a time limit and less
//! than 64 MB of memory. The tests measure the memory of the whole process, so they are a separate
//! program.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says so by panicking"
)]

mod accounts;
mod clock;
mod large;
mod targets;

use std::{
    path::Path,
    sync::{
        Mutex, MutexGuard, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    time::Duration,
};

use clock::spent;
use peak_alloc::PeakAlloc;
use targets::TARGETS;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The longest allowed processor time for one text. The limit is one second for an optimised
/// program. With debug assertions, the limit is higher, because programs with debug assertions have
/// little optimisation.
const TOO_LONG: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 1 });
/// If there is no answer within this time, the test fails.
const NEVER: Duration = Duration::from_secs(600);
/// The limit on the memory for one text, in bytes.
const TOO_MUCH: usize = 64_000_000;

/// The processor time and the memory that the answer to a text took.
struct Cost {
    time: Duration,
    memory: usize,
}
/// Call a function with a text, and measure the time and the memory of the call.
///
/// # Panics
/// When the function panics or does not return.
#[track_caller]
fn cost(name: &str, ask: fn(&str), text: String) -> Cost {
    let short: String = text.chars().take(200).collect();
    let (send, receive) = mpsc::channel();
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let worker = std::thread::Builder::new().stack_size(2 << 20);
    let worker = worker.spawn(move || {
        let start = spent();
        ask(&text);
        send.send(spent() - start).unwrap();
    });
    let time = match receive.recv_timeout(NEVER) {
        Ok(time) => time,
        Err(RecvTimeoutError::Timeout) => panic!("{name} gives no answer: {short}"),
        Err(RecvTimeoutError::Disconnected) => panic!("{name} panics: {short}"),
    };
    worker.unwrap().join().unwrap();
    Cost { time, memory: MEMORY.peak_usage().saturating_sub(before) }
}
/// Wait until no other test runs, because the memory of the whole process is measured. Then resolve
/// some names, and call each function with short texts. These calls fill the caches that every
/// program needs, so the cost of the caches is not part of the measured cost of a text.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    for name in ["count", "laplace", "clamp"] {
        targets::signature(name);
    }
    for (_, text, _) in large::texts(100) {
        TARGETS.iter().for_each(|(_, ask)| ask(&text));
    }
    guard
}

#[test]
fn every_text_that_a_fuzzer_found_is_answered_soon() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    let _alone = alone();
    for (name, ask) in TARGETS {
        let mut texts = 0;
        for file in std::fs::read_dir(corpus.join(name)).unwrap() {
            let Ok(text) = String::from_utf8(std::fs::read(file.unwrap().path()).unwrap()) else {
                continue;
            };
            let short: String = text.chars().take(200).collect();
            let Cost { time, memory } = cost(name, ask, text);
            assert!(time < TOO_LONG && memory < TOO_MUCH, "{name}: {time:?}, {memory} B: {short}");
            texts += 1;
        }
        assert!(20 <= texts, "{name} has {texts} texts");
    }
}
#[test]
fn every_text_of_a_megabyte_is_answered_soon_and_with_little_memory() {
    let _alone = alone();
    let mut wrong = Vec::new();
    for (what, text, names) in large::texts(1_000_000) {
        assert!((900_000..1_100_000).contains(&text.len()), "{what}: {} B", text.len());
        for (name, ask) in TARGETS.into_iter().filter(|(name, _)| names.contains(name)) {
            let Cost { time, memory } = cost(name, ask, text.clone());
            if TOO_LONG <= time || TOO_MUCH <= memory {
                wrong.push(format!("{what} as {name}: {time:?}, {} MB", memory / 1_000_000));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
#[test]
fn every_account_of_a_short_document_is_computed_soon_and_with_little_memory() {
    let _alone = alone();
    let mut wrong = Vec::new();
    for (what, text) in accounts::texts() {
        let document = opendp_registry::Document::parse(&text).unwrap();
        document.build(opendp_registry::Registry::global()).unwrap();
        let Cost { time, memory } = cost(&what, targets::document, text);
        if TOO_LONG <= time || TOO_MUCH <= memory {
            wrong.push(format!("{what}: {time:?}, {} MB", memory / 1_000_000));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
#[test]
fn long_requests_leave_no_memory_behind() {
    let _alone = alone();
    // The registry does not cache a request whose text is long. So the used memory must be almost
    // the same before and after these requests.
    let ask: fn(&str) = |text| {
        for number in 0..200 {
            targets::signature(&format!("symmetric_distance{}{}", text, " ".repeat(number)));
        }
    };
    let before = MEMORY.current_usage();
    cost("signature", ask, " ".repeat(10_000));
    let left = MEMORY.current_usage().saturating_sub(before);
    assert!(left < 1_000_000, "{left} bytes");
}
