//! The processor time of a thread. Unlike the elapsed time, the processor time does not grow when
//! other programs use the processor.

use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

/// Return the processor time of this thread so far. On systems that do not list this time in
/// `/proc`, return the elapsed time.
#[allow(clippy::disallowed_methods, reason = "it measures how long an answer takes")]
pub(crate) fn spent() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let listed = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = listed.and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

#[test]
fn the_time_of_a_computation_counts() {
    let before = spent();
    let mut sum = 0u64;
    while spent() - before < Duration::from_millis(20) {
        sum = std::hint::black_box((0..100_000u64).fold(sum, |sum, i| sum ^ i.rotate_left(7)));
    }
    assert!(before < spent());
}
