//! User-defined post-processing.

use opendp_core::erased::AnyValue;
use opendp_core::{Carrier, Function, Result};

/// Make a post-processing step from a function of a release.
///
/// # Arguments
/// * `function` - the function of a release
///
/// # Precondition
/// The function has no information about the data except the release.
///
/// # Postcondition
/// The result is the given function.
///
/// # Trust
/// The caller promises the precondition. If the function contains a copy of the data, or reads the
/// data from elsewhere, the privacy maps do not bound the loss of the result.
///
/// # Errors
/// This function returns no error.
///
/// # Example
/// ```
/// use opendp_core::Function;
/// use opendp_measurements::new_function;
/// let positive = new_function(Function::map(|count: &i32| Ok((*count).max(0))))?;
/// assert_eq!(positive.eval(&-3)?, 0);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn new_function<I: Carrier, O: Carrier>(function: Function<I, O>) -> Result<Function<I, O>> {
    Ok(function)
}
register! {
    "new_function.rs": new_function as ["new_function", "make_user_postprocessor"](function)
        for I in [AnyValue], O in [AnyValue];
}
