//! Panics of constructors and mechanisms, which can be code of other crates.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};

use opendp_core::{Error, Result};

/// Print only the place of a panic. The message of a panic can contain data, such as the length of
/// a list. So it is shown only if the variable `RUST_BACKTRACE` asks for it.
pub(crate) fn hide_messages() {
    if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
        return;
    }
    set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        // If standard error is closed, there is no place for this line.
        let _ = writeln!(
            std::io::stderr(),
            "panic at {place}; its message can contain data, so it is shown only if \
             RUST_BACKTRACE=1 is set"
        );
    }));
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
