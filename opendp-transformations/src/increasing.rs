//! Checks of lists of values.

use opendp_core::Atom;

/// Return whether the values strictly increase. A comparison with NaN is false. So the result is
/// `false` if there are two or more values, and one value is NaN.
pub fn increase<T: PartialOrd>(values: &[T]) -> bool {
    values.windows(2).all(|pair| pair[0] < pair[1])
}
/// Return whether one of the values is null, such as NaN.
pub fn any_null<T: Atom>(values: &[T]) -> bool {
    values.iter().any(Atom::is_null)
}
