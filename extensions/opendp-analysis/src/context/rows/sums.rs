//! The types of rows whose sums, means and variances a context releases.

use opendp_core::arith::Number;
use opendp_core::{
    AbsoluteDistance, Atom, AtomDomain, Bounds, Distance, Function, Result, SymmetricDistance,
    Transformation,
};
use opendp_transformations::{make_mean, make_sized_bounded_variance, make_sum};

use super::super::chain::{Column, ColumnSpace, OfRows};

/// A type of numbers whose sums a context releases.
///
/// Integers of fewer than 64 bits are added as `i64`. In a type such as `i8`, the sum of a few
/// rows can exceed the largest number of the type. Then `make_sum` on rows of this type
/// would return the largest number instead of the sum. The interval of the answer would not account
/// for the difference.
#[diagnostic::on_unimplemented(message = "a context releases no sums of `{Self}`")]
pub trait Summed: Atom {
    /// The type of the sum.
    type Sum: Atom + Number + Distance;
    /// Make the transformation that sums bounded rows.
    ///
    /// # Errors
    /// The errors of [`make_sum`].
    fn sum_of(
        rows: ColumnSpace<Self>,
    ) -> Result<OfRows<Self, AtomDomain<Self::Sum>, AbsoluteDistance<Self::Sum>>>;
    /// Return `true` only if adding rows within these bounds never decreases the sum, or never
    /// increases it. [`Rows::sum`](super::Rows::sum) uses this fact for a smaller bound on the
    /// change of the sum.
    fn has_one_direction(_bounds: &Bounds<Self>) -> bool {
        false
    }
}
/// Return whether all numbers within the bounds are at least 0, or all these numbers are at most 0.
/// In the first case, adding rows never decreases their sum. In the second case, adding rows never
/// increases their sum. The reason is that `make_sum` rounds no row to a number of the opposite
/// sign, and that the last rounding of the sum is monotone.
fn has_one_sign<T: Atom + Number>(bounds: &Bounds<T>) -> bool {
    T::zero() <= bounds.lower() || bounds.upper() <= T::zero()
}
macro_rules! plain {
    ($($rows:ty => $sum:ty),*) => {$(
        impl Summed for $rows {
            type Sum = $sum;
            fn sum_of(
                rows: ColumnSpace<Self>,
            ) -> Result<OfRows<Self, AtomDomain<$sum>, AbsoluteDistance<$sum>>> {
                make_sum(rows)
            }
            fn has_one_direction(bounds: &Bounds<Self>) -> bool {
                has_one_sign(bounds)
            }
        }
    )*};
}
plain!(i64 => i64, i128 => i128, u64 => u64, usize => usize, f32 => f64, f64 => f64);
macro_rules! narrow {
    ($($rows:ty)*) => {$(
        impl Summed for $rows {
            type Sum = i64;
            fn sum_of(
                rows: ColumnSpace<Self>,
            ) -> Result<OfRows<Self, AtomDomain<i64>, AbsoluteDistance<i64>>> {
                widened::<Self, i64>(rows)?.then(make_sum)
            }
            fn has_one_direction(bounds: &Bounds<Self>) -> bool {
                has_one_sign(bounds)
            }
        }
    )*};
}
narrow!(i8 i16 i32 u8 u16 u32);

/// A transformation of a column to one `f64`.
type ToFloat<T> = OfRows<T, AtomDomain<f64>, AbsoluteDistance<f64>>;

/// A type of numbers whose means and variances a context releases, as `f64`.
///
/// The rows are converted to `f64` first. `make_mean` and `make_sized_bounded_variance` round their
/// results to floats of the type of the rows. With many rows, the error of `f32` could exceed the
/// noise, and the interval of the answer would not account for this error. An integer beyond `2^53`
/// is rounded to the nearest `f64`.
#[diagnostic::on_unimplemented(
    message = "a context releases no means of `{Self}`",
    note = "add a column of numbers by `Table::with_derived`"
)]
pub trait Averaged: Atom + Number {
    /// Convert to the nearest `f64`.
    fn nearest_f64(&self) -> f64;
    /// Make the transformation that takes the mean of bounded rows.
    ///
    /// # Errors
    /// The errors of [`make_mean`].
    fn mean_of(rows: ColumnSpace<Self>) -> Result<ToFloat<Self>>;
    /// Make the transformation that takes the sample variance of bounded rows.
    ///
    /// # Errors
    /// The errors of [`make_sized_bounded_variance`].
    fn variance_of(rows: ColumnSpace<Self>) -> Result<ToFloat<Self>>;
}
impl Averaged for f64 {
    fn nearest_f64(&self) -> f64 {
        *self
    }
    fn mean_of(rows: ColumnSpace<Self>) -> Result<ToFloat<Self>> {
        make_mean(rows)
    }
    fn variance_of(rows: ColumnSpace<Self>) -> Result<ToFloat<Self>> {
        make_sized_bounded_variance(rows, None, None, 1)
    }
}
macro_rules! averaged {
    ($($rows:ty)*) => {$(
        impl Averaged for $rows {
            #[inline]
            fn nearest_f64(&self) -> f64 {
                *self as f64
            }
            #[inline]
            fn mean_of(rows: ColumnSpace<Self>) -> Result<ToFloat<Self>> {
                floats(rows)?.then(f64::mean_of)
            }
            #[inline]
            fn variance_of(rows: ColumnSpace<Self>) -> Result<ToFloat<Self>> {
                floats(rows)?.then(f64::variance_of)
            }
        }
    )*};
}
averaged!(f32 i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

/// Make the transformation that converts each row to the nearest `f64`.
///
/// # Precondition
/// The rows are not NaN.
///
/// # Proof
/// The function acts on each row alone, so distances do not grow. Rounding to the nearest `f64` is
/// monotone. So the converted rows are between the converted bounds.
fn floats<T: Averaged>(rows: ColumnSpace<T>) -> Result<OfRows<T, Column<f64>, SymmetricDistance>> {
    converted(rows, |row| row.nearest_f64())
}
/// Make the transformation that converts each row to a wider type.
///
/// # Precondition
/// The type `W` contains all values of the type `T`. The rows are not NaN.
///
/// # Proof
/// The function acts on each row alone, so distances do not grow. Each row and each bound keeps its
/// value, so the converted rows are between the converted bounds.
fn widened<T: Atom + Into<W>, W: Atom + Number>(
    rows: ColumnSpace<T>,
) -> Result<OfRows<T, Column<W>, SymmetricDistance>> {
    converted(rows, Into::into)
}
/// Make the transformation that converts each row and each bound by a monotone function.
#[allow(clippy::needless_range_loop, reason = "iterators are compiled again for each type")]
fn converted<T: Atom, W: Atom + Number>(
    rows: ColumnSpace<T>,
    convert: impl Fn(T) -> W + Send + Sync + Copy + 'static,
) -> Result<OfRows<T, Column<W>, SymmetricDistance>> {
    let bounds = rows.domain().element().bounds();
    let bounds = bounds.map(|bounds| Bounds::new(convert(bounds.lower()), convert(bounds.upper())));
    let element = AtomDomain::new(bounds.transpose()?, None);
    let function: Function<Vec<T>, Vec<W>> =
        Function::rows(move |rows: &[T], converted: &mut Vec<W>| {
            let first = converted.len();
            converted.resize(first + rows.len(), W::zero());
            let converted = &mut converted[first..];
            for place in 0..rows.len() {
                converted[place] = convert(rows[place].clone());
            }
            Ok(())
        });
    Transformation::each_kept(rows, element, true, function)
}
