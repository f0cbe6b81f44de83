//! Conversions of the numbers of a column to the type of the rows.

/// A type of rows. Numbers of type `S` in a column are converted to this type.
pub(super) trait Convert<S: Copy>: Sized {
    /// Convert a number to the type of the rows. `None` means that this type does not contain the
    /// number.
    fn convert(value: S) -> Option<Self>;
    /// Return whether a number is NaN. This code is in the crate of the loops that call it, so that
    /// they are compiled to vector instructions.
    fn is_nan(&self) -> bool {
        false
    }
    /// Convert numbers, and append them to rows. Return whether a number is NaN. `None` means that
    /// a number cannot be converted.
    fn append(rows: &[S], into: &mut Vec<Self>) -> Option<bool> {
        append(rows.iter().copied(), into)
    }
}
/// Convert numbers one by one. See [`Convert::append`].
pub(super) fn append<S: Copy, T: Convert<S>>(
    rows: impl ExactSizeIterator<Item = S>,
    into: &mut Vec<T>,
) -> Option<bool> {
    let mut null = false;
    into.reserve(rows.len());
    for row in rows {
        let row = T::convert(row)?;
        null |= row.is_nan();
        into.push(row);
    }
    Some(null)
}
/// Return whether a number is NaN. The loop has no early exit, and one comparison of two vectors
/// finds a NaN in each of them. So the check takes little time beside the copy of the rows.
fn any_nan<T: Convert<T> + Copy>(rows: &[T]) -> bool {
    const LANES: usize = 16;
    let mut found = [0_u64; LANES];
    let mut groups = rows.chunks_exact(2 * LANES);
    for group in &mut groups {
        let (left, right) = group.split_at(LANES);
        for ((found, left), right) in found.iter_mut().zip(left).zip(right) {
            *found |= if left.is_nan() | right.is_nan() { u64::MAX } else { 0 };
        }
    }
    found.iter().any(|lane| *lane != 0) || groups.remainder().iter().any(T::is_nan)
}
macro_rules! whole {
    ($($s:ident)* => $t:tt) => {$(
        impl Convert<$s> for $t {
            fn convert(value: $s) -> Option<Self> {
                value.try_into().ok()
            }
        }
    )*};
}
macro_rules! wholes {
    ($($t:ident)*) => {$( whole!(i8 i16 i32 i64 u8 u16 u32 u64 => $t); )*};
}
wholes!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);
macro_rules! exact {
    ($($s:ident)* => $t:ident $consecutive:literal) => {$(
        impl Convert<$s> for $t {
            /// Convert an integer if the float type contains it exactly, as in JSON.
            fn convert(value: $s) -> Option<Self> {
                (i128::from(value).unsigned_abs() <= $consecutive).then_some(value as $t)
            }
        }
    )*};
}
exact!(i8 i16 i32 i64 u8 u16 u32 u64 => f64 9_007_199_254_740_992_u128);
exact!(i8 i16 i32 i64 u8 u16 u32 u64 => f32 16_777_216_u128);
macro_rules! same {
    ($($t:ident $nan:expr;)*) => {$(
        impl Convert<$t> for $t {
            fn convert(value: $t) -> Option<Self> {
                Some(value)
            }
            fn is_nan(&self) -> bool {
                $nan(*self)
            }
            fn append(rows: &[$t], into: &mut Vec<Self>) -> Option<bool> {
                let start = into.len();
                into.extend_from_slice(rows);
                Some(any_nan(into.get(start..)?))
            }
        }
    )*};
}
same! {
    f32 f32::is_nan;
    f64 f64::is_nan;
    bool |_| false;
}
impl Convert<f32> for f64 {
    fn convert(value: f32) -> Option<Self> {
        Some(value.into())
    }
    fn is_nan(&self) -> bool {
        f64::is_nan(*self)
    }
}
impl Convert<f64> for f32 {
    /// Return the nearest float. A finite number beyond the range of the type is not a value of the
    /// type.
    fn convert(value: f64) -> Option<Self> {
        let near = value as f32;
        (near.is_finite() || !value.is_finite()).then_some(near)
    }
    fn is_nan(&self) -> bool {
        f32::is_nan(*self)
    }
}
