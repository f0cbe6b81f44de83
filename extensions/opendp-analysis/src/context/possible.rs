//! The possible values of a statistic. A released number that is not possible is replaced by the
//! nearest possible number.

use std::any::Any;
use std::borrow::Cow;

use opendp_core::Result;
use opendp_core::arith::{Directed, InfCast};

/// If a number is outside of the range, replace it by the nearest number of the range, and return
/// the number itself. The range belongs to a statistic of type `f64`.
pub(super) fn move_into<TO: 'static>(range: Option<(f64, f64)>, value: &mut TO) -> Option<f64> {
    let (lower, upper) = range?;
    let number = (value as &mut dyn Any).downcast_mut::<f64>()?;
    let released = *number;
    *number = released.max(lower).min(upper);
    (*number != released).then_some(released)
}
/// Return the number that was released: `value`, or the number that `value` replaced.
pub(super) fn released<TO: Clone + 'static>(value: &TO, replaced: Option<f64>) -> Cow<'_, TO> {
    let Some(replaced) = replaced else { return Cow::Borrowed(value) };
    let mut value = value.clone();
    if let Some(number) = (&mut value as &mut dyn Any).downcast_mut::<f64>() {
        *number = replaced;
    }
    Cow::Owned(value)
}
/// Bound the sample variance of `rows` or more numbers between two bounds, where `rows` is at least
/// 2. The divisor of the variance is the number of rows minus 1.
///
/// # Proof
/// Let `n >= 2` be the number of rows, and `w` the difference of the bounds. The sum of the squared
/// distances from the mean is a convex function of each row. So this sum is largest if each row is
/// equal to one of the bounds. If `k` rows are equal to the upper bound, the sum is
/// `w^2 k (n - k) / n`. For an even `n`, this is at most `w^2 n / 4`. So the variance is at most
/// `w^2 n / (4 (n - 1))`. For an odd `n`, the sum is at most `w^2 (n^2 - 1) / (4 n)`, so the
/// variance is at most `w^2 (n + 1) / (4 n)`. This is the bound for the even number `n + 1`. The
/// bound for even numbers decreases with `n`, so the bound for the least `n` holds for each larger
/// `n`.
pub(super) fn largest_variance((lower, upper): (f64, f64), rows: f64) -> Result<f64> {
    let half = upper.inf_sub(lower)?.inf_mul(0.5)?;
    let rows = 2.0 * (rows.max(2.0) / 2.0).ceil();
    // Above 2^53, the number of rows may be rounded up to a float. Then use the smaller bound on
    // the number of rows, 2^53.
    let rows = rows.min(f64::neg_inf_cast(1_u64 << 53)?);
    half.inf_mul(half)?.inf_mul(rows.inf_div(rows.neg_inf_sub(1.0)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_variance_is_reached_by_rows_at_both_bounds() {
        for rows in 2..40_u32 {
            let found = largest_variance((-1.0, 5.0), f64::from(rows)).unwrap();
            let variance = |above: u32| {
                let (n, k) = (f64::from(rows), f64::from(above));
                36.0 * k * (n - k) / n / (n - 1.0)
            };
            let exact = (0..=rows).map(variance).fold(0.0, f64::max);
            assert!(exact <= found && found <= exact * (1.0 + 1e-12), "{rows}: {found} {exact}");
        }
        assert_eq!(largest_variance((0.0, 1.0), 1e300), largest_variance((0.0, 1.0), 1e16));
        assert!(largest_variance((0.0, 1e200), 2.0).is_err());
    }
    #[test]
    fn only_an_impossible_number_is_replaced() {
        let mut value = 7.0;
        assert_eq!(move_into(Some((0.0, 10.0)), &mut value), None);
        assert_eq!(move_into(None, &mut value), None);
        assert_eq!(*released(&value, None), 7.0);
        assert_eq!(move_into(Some((0.0, 5.0)), &mut value), Some(7.0));
        assert_eq!((value, *released(&value, Some(7.0))), (5.0, 7.0));
        let mut count = 7_i64;
        assert_eq!(move_into(Some((0.0, 5.0)), &mut count), None);
    }
}
