//! Number types for counts.

use opendp_core::arith::{InfCast, Number};
use opendp_core::{Atom, Distance, Result};

/// A number type for counts. The type has a largest count, and represents every integer from zero
/// to this count.
pub trait Tally: Atom + Number + Distance + InfCast<u32> {
    /// Return the count. If the count exceeds the largest count of this type, return the largest
    /// count.
    ///
    /// ```
    /// # use opendp_transformations::Tally;
    /// assert_eq!(u8::saturating_count(300), 255);
    /// assert_eq!(f64::saturating_count(u64::MAX), 9_007_199_254_740_992.0);
    /// ```
    fn saturating_count(count: u64) -> Self;
}

/// Convert a count of records to a number of type `T`.
pub(crate) fn tally<T: Tally>(count: u64) -> Result<T> {
    Ok(T::saturating_count(count))
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Tally for $t {
            fn saturating_count(count: u64) -> Self {
                <$t>::try_from(count).unwrap_or(<$t>::MAX)
            }
        }
    )*};
}
integers!(i8 i16 i32 i64 i128 u8 u16 u32 u64 usize);

macro_rules! floats {
    ($($t:ident)*) => {$(
        impl Tally for $t {
            fn saturating_count(count: u64) -> Self {
                // The cast is exact, because floats represent every integer up to this limit.
                count.min(1 << $t::MANTISSA_DIGITS) as $t
            }
        }
    )*};
}
floats!(f32 f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saturates_where_counting_on_would_skip() {
        assert_eq!(i8::saturating_count(127), 127);
        assert_eq!(i8::saturating_count(128), 127);
        assert_eq!(f32::saturating_count(16_777_217), 16_777_216.0);
        assert_eq!(f32::saturating_count(16_777_219), 16_777_216.0);
        assert_eq!(f32::saturating_count(16_777_215), 16_777_215.0);
        assert_eq!(u64::saturating_count(u64::MAX), u64::MAX);
    }
}
