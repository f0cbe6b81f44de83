//! Panics of constructors and mechanisms, which can be code of other crates.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::atomic::{AtomicBool, Ordering};

use opendp_core::{Error, Result};

/// Whether nothing is printed about a panic.
static SILENT: AtomicBool = AtomicBool::new(false);

/// Print only the place of a panic. The message of a panic can contain data, such as the length of
/// a list. So it is shown only if the variable `RUST_BACKTRACE` asks for it. After a call of
/// [`hide_places`], print nothing.
pub(crate) fn hide_messages() {
    let shown = std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0");
    let usual = take_hook();
    set_hook(Box::new(move |panic| {
        if SILENT.load(Ordering::Relaxed) {
            return;
        }
        if shown {
            return usual(panic);
        }
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        // If standard error is closed, there is no place for this line.
        let _ = writeln!(
            std::io::stderr(),
            "panic at {place}; its message can contain data, so it is shown only if \
             RUST_BACKTRACE=1 is set"
        );
    }));
}
/// Print nothing about later panics. With a budget, the person who asks may not see the data, and
/// the data can decide whether and where a mechanism panics. So nothing may show the difference
/// between a panic and other data for which nothing can be released.
pub(crate) fn hide_places() {
    SILENT.store(true, Ordering::Relaxed);
}
/// Run code that can panic, and turn a panic into an error. If panics abort the process, there is
/// no such error. After a panic, the caller must not use anything that the code changed.
pub(crate) fn caught<T>(run: impl FnOnce() -> Result<T>) -> Result<T> {
    unwound(run).and_then(|answer| answer)
}
/// Run code that can panic, as [`caught`] does. The result is an error only if the code panicked.
pub(crate) fn unwound<T>(run: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|_| {
        Error::FailedFunction(
            "the code panicked, which is a fault of a constructor or of this program; there is no \
             answer"
                .into(),
        )
    })
}

#[cfg(test)]
mod tests;
