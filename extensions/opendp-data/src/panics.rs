//! Calls libraries that can panic. A panic becomes a value that the caller handles.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use arrow::array::ArrayRef;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;

thread_local! {
    /// Whether this thread is in a call of the library.
    static WITHIN: Cell<bool> = const { Cell::new(false) };
}
static HOOK: Once = Once::new();

/// Call a library. Return `None` if the library panics.
///
/// The Parquet library does not check all lengths and positions in a file. So it panics for some
/// damaged files. The Arrow library panics for some times near the end of the calendar. Even a
/// single record can decide whether the library panics. The message of such a panic can contain
/// numbers from the file, so this message is not printed. If panics abort the process, a panic
/// cannot become an error.
pub(crate) fn caught<T>(call: impl FnOnce() -> T) -> Option<T> {
    if cfg!(panic = "unwind") {
        HOOK.call_once(|| {
            let earlier = take_hook();
            set_hook(Box::new(move |panic| {
                if !WITHIN.get() {
                    earlier(panic);
                }
            }));
        });
    }
    let outer = WITHIN.replace(true);
    // After a panic, the caller uses nothing that the call changed.
    let result = catch_unwind(AssertUnwindSafe(call));
    WITHIN.set(outer);
    result.ok()
}

/// Cast a column to texts. If the library panics, the cast fails. For example, the library panics
/// if the time zone of a column moves a time beyond the calendar.
pub(crate) fn as_texts(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let failed = || ArrowError::CastError("a cell has no text".into());
    caught(|| cast(column, &DataType::Utf8)).ok_or_else(failed)?
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::arrow::ArrowDomain;
    use arrow::array::TimestampSecondArray;
    use opendp_core::{AtomDomain, OptionDomain, VectorDomain};

    #[test]
    fn a_panic_within_a_call_is_caught() {
        assert_eq!(caught(|| 5), Some(5));
        let inner = caught(|| (caught::<()>(|| panic!("within")), WITHIN.get()));
        assert_eq!(inner, Some((None, true)));
        assert!(!WITHIN.get());
    }
    /// The time zone is an hour ahead, so the second time is beyond the calendar only in this zone.
    #[test]
    fn a_time_that_its_zone_moves_beyond_the_calendar_is_an_unreadable_cell() {
        let times = vec![Some(0), Some(8_210_266_876_799), Some(i64::MAX), None];
        let times = TimestampSecondArray::from(times).with_timezone("+01:00");
        let times: ArrayRef = Arc::new(times);
        assert!(as_texts(&times.slice(1, 1)).is_err(), "the control: the library panics");
        let texts = VectorDomain::new(OptionDomain::new(AtomDomain::<String>::default()));
        let read = texts.read_array(&times).unwrap();
        assert_eq!(read, [Some("1970-01-01T01:00:00+01:00".to_owned()), None, None, None]);
    }
}
