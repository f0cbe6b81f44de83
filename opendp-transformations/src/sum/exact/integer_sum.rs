//! Exact sums of integers, saturated once.

use std::any::Any;
use std::fmt::Display;

use opendp_core::arith::{InfCast, Integer};
use opendp_core::{
    AbsoluteDistance, Atom, AtomDomain, Bounds, Distance, Error, Fold, Function, Result, Space,
    StabilityMap, SymmetricDistance, Transformation, TypeName,
};
use serde::{Deserialize, Serialize};

use crate::symmetric::{Aggregate, Records};
use crate::widest::widest;

/// Build the transformation that adds up bounded integers.
///
/// Let `[L, U]` be the bounds. Each record that is added or removed changes the exact sum by at
/// most `max(|L|, |U|)`. Each replaced record changes the exact sum by at most `U - L`. Saturation
/// maps a number to the nearest point of an interval. Saturation does not increase the distance
/// between two numbers. Saturation is applied once, to the exact sum, so the result does not depend
/// on the order of the records.
pub(crate) fn sum<T>(
    input: Space<Records<T>, SymmetricDistance>,
) -> Result<Aggregate<T, AtomDomain<T>, AbsoluteDistance<T>>>
where
    T: Atom + Integer + Distance + InfCast<u128>,
{
    let (size, bounds) = (input.domain().size(), *input.domain().element().closed_bounds()?);
    let (lower, upper) = (wide(bounds.lower())?, wide(bounds.upper())?);
    let output = Space::new(AtomDomain::non_nan(), AbsoluteDistance::new())?;
    let map = StabilityMap::new(move |d_in: &u32| {
        let fitting = sensitivity(*d_in, size.is_some(), lower, upper).map(T::inf_cast);
        let Some(Ok(d_out)) = fitting else {
            return Err(overflow(*d_in, &bounds.lower(), &bounds.upper(), T::type_name));
        };
        Ok(d_out)
    });
    Ok(Transformation::new(input, output, Function::fold(IntegerSum { bounds }), map))
}

fn sensitivity(d_in: u32, sized: bool, lower: i128, upper: i128) -> Option<u128> {
    match sized {
        true => u128::from(d_in / 2).checked_mul(upper.abs_diff(lower)),
        false => u128::from(d_in).checked_mul(lower.unsigned_abs().max(upper.unsigned_abs())),
    }
}
fn wide<T: Atom + Integer>(bound: T) -> Result<i128> {
    bound.to_i128().ok_or_else(|| Error::Overflow(format!("bounds: {bound} does not fit i128")))
}
#[cold]
fn overflow(d_in: u32, lower: &dyn Display, upper: &dyn Display, name: fn() -> TypeName) -> Error {
    Error::Overflow(format!(
        "bounds: the sensitivity of a sum of records in [{lower}, {upper}] at distance {d_in} \
         does not fit {}; state narrower bounds",
        name()
    ))
}

/// If the magnitudes of both bounds are at most `SHORT`, the sum of at most `BLOCK` rows fits 64
/// bits.
const BLOCK: usize = 1 << 12;
const SHORT: u128 = 1 << 50;

/// The fold of the sum of integers. This fold clamps rows to its bounds itself. If a clamp to the
/// same bounds comes directly before this fold, that clamp is skipped.
struct IntegerSum<T> {
    bounds: Bounds<T>,
}

/// The integer `high * 2^128 + low`.
#[derive(Serialize, Deserialize)]
struct Total {
    high: i64,
    low: u128,
}
impl Total {
    fn add(&mut self, high: i64, low: u128) {
        let (sum, carry) = self.low.overflowing_add(low);
        self.low = sum;
        // The value of `high` leaves the range of `i64` only after 2^63 additions.
        self.high = self.high.saturating_add(high).saturating_add(carry.into());
    }
    /// Add a signed number of 128 bits. If the number is negative, its high part is -1, because the
    /// sum is in two's complement.
    fn add_wide(&mut self, value: i128) {
        self.add(if value < 0 { -1 } else { 0 }, value.cast_unsigned());
    }
    fn saturate(&self) -> i128 {
        let low = self.low.cast_signed();
        match self.high {
            0 if 0 <= low => low,
            -1 if low < 0 => low,
            high => {
                if high < 0 {
                    i128::MIN
                } else {
                    i128::MAX
                }
            }
        }
    }
}

fn label(name: fn() -> TypeName, lower: &dyn Display, upper: &dyn Display) -> String {
    format!("exact sum of {} within [{lower}, {upper}]", name())
}

impl<T: Atom + Integer> Fold<Vec<T>, T> for IntegerSum<T> {
    type State = Total;
    fn label(&self) -> String {
        label(T::type_name, &self.bounds.lower(), &self.bounds.upper())
    }
    fn start(&self) -> Total {
        Total { high: 0, low: 0 }
    }
    fn absorb(&self, state: &mut Total, rows: &[T]) -> Result<()> {
        let (lower, upper) = (self.bounds.lower(), self.bounds.upper());
        let clamped = |row: &T| {
            let raised = if *row < lower { lower } else { *row };
            let row = if upper < raised { upper } else { raised };
            row.to_i128().unwrap_or_default()
        };
        let short = |bound: T| bound.to_i128().is_some_and(|bound| bound.unsigned_abs() <= SHORT);
        if short(lower) && short(upper) {
            for block in rows.chunks(BLOCK) {
                // The magnitudes of clamped rows are at most `SHORT`, so the casts to `i64` are
                // exact.
                let sum = widest(
                    #[inline(always)]
                    || {
                        let mut sum = 0_i64;
                        for row in block {
                            sum = sum.wrapping_add(clamped(row) as i64);
                        }
                        sum
                    },
                );
                state.add_wide(sum.into());
            }
        } else if size_of::<T>() <= 8 {
            // The sum of fewer than 2^63 rows of 64 bits each fits `i128`.
            let mut sum = 0_i128;
            for row in rows {
                sum = sum.wrapping_add(clamped(row));
            }
            state.add_wide(sum);
        } else {
            for row in rows {
                state.add_wide(clamped(row));
            }
        }
        Ok(())
    }
    fn merge(&self, state: &mut Total, other: Total) -> Result<()> {
        state.add(other.high, other.low);
        Ok(())
    }
    fn finish(&self, state: Total) -> Result<T> {
        Ok(T::saturating_from_i128(state.saturate()))
    }
    fn projects(&self, set: &dyn Any) -> bool {
        set.downcast_ref() == Some(&self.bounds)
    }
}

#[cfg(test)]
mod tests {
    use crate::make_sum;
    use crate::symmetric::Records;
    use opendp_core::*;

    type Sum<T> = Transformation<Records<T>, SymmetricDistance, AtomDomain<T>, AbsoluteDistance<T>>;
    fn sum<T: crate::Summand<Total = T> + Distance>(
        lower: T,
        upper: T,
        size: Option<usize>,
    ) -> Sum<T> {
        let domain = VectorDomain::new(AtomDomain::bounded(Bounds::new(lower, upper).unwrap()));
        let domain = if let Some(size) = size { domain.with_size(size) } else { domain };
        make_sum(Space::new(domain, SymmetricDistance).unwrap()).unwrap()
    }

    #[test]
    fn maps_as_the_catalogue_lists() {
        assert_eq!([1, 2].map(|d| sum(0, 10, None).map(&d).unwrap()), [10, 20]);
        assert_eq!(sum(-3, 10, None).map(&3), Ok(30));
        assert_eq!(sum(-20, 10, None).map(&1), Ok(20));
        let sized = sum(1, 10, Some(100));
        assert_eq!([1, 2, 3, 4].map(|d| sized.map(&d).unwrap()), [0, 9, 9, 18]);
        assert_eq!(sum(0, i32::MAX, Some(10)).map(&2), Ok(i32::MAX));
    }
    #[test]
    fn saturates_the_exact_sum_once_in_any_order() {
        assert_eq!(sum(0, i32::MAX, None).invoke(&vec![i32::MAX, 5]), Ok(i32::MAX));
        let bytes = sum(-128, 127, None);
        assert_eq!(bytes.invoke(&vec![-128_i8, 127, 127]), Ok(126));
        assert_eq!(bytes.invoke(&vec![127_i8, 127, -128]), Ok(126));
        assert_eq!(bytes.invoke(&vec![-128_i8, -128, 127]), Ok(-128));
        let wide = sum(i128::MIN, i128::MAX, None);
        let (low, high) = (i128::MIN, i128::MAX);
        assert_eq!(wide.invoke(&vec![high, high, low, low, 7]), Ok(5));
        assert_eq!(wide.invoke(&vec![low, low, high, high, high]), Ok(high - 2));
        assert_eq!(wide.invoke(&vec![high, 1]), Ok(high));
        assert_eq!(wide.invoke(&vec![low, -1]), Ok(low));
        assert_eq!(sum(0, u64::MAX, None).invoke(&vec![u64::MAX, 1]), Ok(u64::MAX));
    }
    #[test]
    fn a_clamp_in_the_same_pass_gives_the_sum_of_the_clamped_records() {
        fn check<T: crate::Summand<Total = T> + Distance>(lower: T, upper: T, data: &[T]) {
            let records = VectorDomain::new(AtomDomain::<T>::non_nan());
            let records = Space::new(records, SymmetricDistance).unwrap();
            let clamp = crate::make_clamp(records, Bounds::new(lower, upper).unwrap()).unwrap();
            let data: Vec<T> = data.iter().cycle().take(9001).copied().collect();
            let apart = sum(lower, upper, None).invoke(&clamp.invoke(&data).unwrap());
            assert_eq!(clamp.then(make_sum).unwrap().invoke(&data), apart);
        }
        let ends = [i64::MIN, -1 << 50, -101, -1, 0, 7, 100, 1 << 50, i64::MAX, i64::MAX];
        for (lower, upper) in [(-100, 100), (-1 << 50, 1 << 50), (-1 << 51, 1 << 51)] {
            check(lower, upper, &ends);
        }
        check(i64::MIN, i64::MAX, &ends);
        check(1 << 50, 1 << 50, &ends);
        check(0, u64::MAX, &[u64::MAX, 1 << 63, 3]);
        check(2, 1 << 40, &[u64::MAX, 1 << 63, 3]);
        check(-128, 100, &[i8::MIN, 127, 101, 7]);
        check(-7, 1 << 60, &[i128::MIN, i128::MAX, 5]);
    }
    #[test]
    fn gives_an_error_when_the_sensitivity_does_not_fit() {
        let bytes = sum(-128_i8, 127, None);
        assert_eq!(bytes.map(&0), Ok(0));
        let error = bytes.map(&1).unwrap_err();
        assert!(error.kind() == "Overflow" && error.to_string().contains("bounds"), "{error}");
        assert_eq!(sum(0_u8, 255, None).map(&1), Ok(255));
        assert_eq!(sum(0_u8, 255, None).map(&2).unwrap_err().kind(), "Overflow");
        assert_eq!(sum(0, i32::MAX, Some(9)).map(&4).unwrap_err().kind(), "Overflow");
        assert_eq!(sum(i128::MIN, i128::MAX, None).map(&u32::MAX).unwrap_err().kind(), "Overflow");
    }
    #[test]
    fn a_state_travels_as_bytes_at_its_extremes() {
        let wide = sum(i128::MIN, i128::MAX, None);
        for data in [vec![i128::MIN; 5], vec![i128::MAX; 5], vec![-1], vec![]] {
            let mut part = wide.start().unwrap();
            part.absorb(&data).unwrap();
            let again = wide.function().resume(&part.to_bytes().unwrap()).unwrap();
            assert_eq!(again.finish(), wide.invoke(&data));
        }
    }
    #[test]
    fn a_map_that_forgets_removals_is_refused() {
        let honest = sum(0, 10, None);
        let wrong = Transformation::new(
            honest.input().clone(),
            honest.output().clone(),
            honest.function().clone(),
            StabilityMap::new(|d: &u32| Ok(i32::try_from(d / 2).unwrap_or(i32::MAX) * 10)),
        );
        assert!(laws::stable(&wrong, &laws::vectors(&[0, 5, 10], 3)).is_err());
    }
}
