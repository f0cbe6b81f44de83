//! Conversions of the numbers of a column to the type of the rows.

use std::hint::black_box;

/// A type of rows. Numbers of type `S` in a column are converted to this type.
pub(super) trait Convert<S: Copy>: Sized {
    /// Convert a number to the type of the rows. `None` means that this type does not contain the
    /// number.
    fn convert(value: S) -> Option<Self>;
    /// Return whether a number is NaN. The loops that call this function are in the same crate. So
    /// the compiler can make vector instructions from the loops.
    fn is_nan(&self) -> bool {
        false
    }
    /// Convert `numbers`, and write the results to `rows`, which has the same length. Return
    /// whether at least one number is NaN. `None` means that at least one number cannot be
    /// converted.
    fn fill(numbers: &[S], rows: &mut [Self]) -> Option<bool> {
        fill(numbers.iter().copied(), rows)
    }
    /// Convert two slices of numbers, and write the results to two slices of rows of the same
    /// lengths. See [`Convert::fill`].
    fn fill_both(numbers: [&[S]; 2], rows: [&mut [Self]; 2]) -> Option<bool> {
        let ([first, second], [first_rows, second_rows]) = (numbers, rows);
        Some(Self::fill(first, first_rows)? | Self::fill(second, second_rows)?)
    }
}
/// Convert numbers one by one. See [`Convert::fill`].
pub(super) fn fill<S: Copy, T: Convert<S>>(
    numbers: impl ExactSizeIterator<Item = S>,
    rows: &mut [T],
) -> Option<bool> {
    let mut null = false;
    for (number, row) in numbers.zip(rows) {
        *row = T::convert(number)?;
        null |= row.is_nan();
    }
    Some(null)
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
            /// Convert an integer if the float type contains this integer and all integers of
            /// smaller magnitude. The rule for integers in JSON is the same.
            fn convert(value: $s) -> Option<Self> {
                (i128::from(value).unsigned_abs() <= $consecutive).then_some(value as $t)
            }
        }
    )*};
}
exact!(i8 i16 i32 i64 u8 u16 u32 u64 => f64 9_007_199_254_740_992_u128);
exact!(i8 i16 i32 i64 u8 u16 u32 u64 => f32 16_777_216_u128);
macro_rules! same {
    ($($t:ident $bits:ident)*) => {$(
        impl Convert<$t> for $t {
            fn convert(value: $t) -> Option<Self> {
                Some(value)
            }
            fn is_nan(&self) -> bool {
                $t::is_nan(*self)
            }
            fn fill(numbers: &[$t], rows: &mut [Self]) -> Option<bool> {
                Self::fill_both([numbers, &[]], [rows, &mut []])
            }
            fn fill_both(numbers: [&[$t]; 2], rows: [&mut [Self]; 2]) -> Option<bool> {
                /// Copy a number as `number xor zero`, where `zero` is 0. If the number is NaN,
                /// return a value other than 0.
                #[inline(always)]
                fn copy((number, row): (&$t, &mut $t), zero: $bits) -> $bits {
                    // Check the same number that is copied.
                    let number = *number;
                    *row = $t::from_bits(number.to_bits() ^ zero);
                    if number.is_nan() { $bits::MAX } else { 0 }
                }
                /// Copy both slices in one loop, up to the end of the shorter slice. Then copy the
                /// rest of the longer slice. If a number is NaN, return a value other than 0.
                #[inline(always)]
                fn copy_both(numbers: [&[$t]; 2], rows: [&mut [$t]; 2], zero: $bits) -> $bits {
                    let ([first, second], [first_rows, second_rows]) = (numbers, rows);
                    let both = first.len().min(second.len());
                    let (first, first_rest) = first.split_at(both);
                    let (second, second_rest) = second.split_at(both);
                    let (first_rows, first_rows_rest) = first_rows.split_at_mut(both);
                    let (second_rows, second_rows_rest) = second_rows.split_at_mut(both);
                    let mut null = 0;
                    let seconds = second.iter().zip(second_rows);
                    for (first, second) in first.iter().zip(first_rows).zip(seconds) {
                        null |= copy(first, zero) | copy(second, zero);
                    }
                    for pair in first_rest.iter().zip(first_rows_rest) {
                        null |= copy(pair, zero);
                    }
                    for pair in second_rest.iter().zip(second_rows_rest) {
                        null |= copy(pair, zero);
                    }
                    null
                }
                // The compiler does not know that this number is zero. If it knew, it would split
                // the loop into a copy and a second loop. The second loop would read all rows
                // again.
                let zero = black_box(0);
                // If this processor has wide vector instructions, such as AVX2, the copy uses these
                // instructions. With only the instructions that every processor has, a noisy sum
                // would take a third longer.
                let copied = pulp::Arch::new().dispatch(
                    #[inline(always)]
                    || copy_both(numbers, rows, zero),
                );
                Some(copied != 0)
            }
        }
    )*};
}
same! { f32 u32 f64 u64 }
impl Convert<u8> for bool {
    /// Convert the byte of a boolean of numpy. As in numpy, each byte other than 0 is `true`.
    fn convert(value: u8) -> Option<Self> {
        Some(value != 0)
    }
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
