//! The scores of candidates.

use super::{Optimize, dyadic::Dyadic};
use dashu_int::IBig;

/// A type of scores with exact values. The distance between two scores has bounds that are fast to
/// compute.
pub trait Score: Copy + PartialOrd {
    /// Return the integer `m` and exponent `e` with `self = m 2^e` exactly.
    fn dyadic(self) -> (IBig, i64);

    /// Return a lower and an upper bound on `|self - other|`, as two floats. The lower float is
    /// finite and not negative.
    ///
    /// The bounds are the floats below and above the correctly rounded distance. The upper bound
    /// can be infinite.
    fn distance(self, other: Self) -> (f64, f64);

    /// Find a score that is worse than this score by at least `distance`, which is not negative.
    /// Return `None` if no such score is found.
    fn away(self, distance: f64, optimize: Optimize) -> Option<Self>;
}

impl Score for f64 {
    fn dyadic(self) -> (IBig, i64) {
        let parts = Dyadic::new(self);
        (parts.signed_mantissa().into(), parts.exponent.into())
    }

    #[inline]
    fn distance(self, other: Self) -> (f64, f64) {
        around((self - other).abs())
    }

    fn away(self, distance: f64, optimize: Optimize) -> Option<f64> {
        let found = match optimize {
            Optimize::Max => (self - distance).next_down(),
            Optimize::Min => (self + distance).next_up(),
        };
        found.is_finite().then_some(found)
    }
}

impl Score for f32 {
    fn dyadic(self) -> (IBig, i64) {
        f64::from(self).dyadic()
    }

    #[inline]
    fn distance(self, other: Self) -> (f64, f64) {
        f64::from(self).distance(f64::from(other))
    }

    fn away(self, distance: f64, optimize: Optimize) -> Option<f32> {
        let found = f64::from(self).away(distance, optimize)? as f32;
        let found = match optimize {
            Optimize::Max => found.next_down(),
            Optimize::Min => found.next_up(),
        };
        found.is_finite().then_some(found)
    }
}

macro_rules! integer_scores {
    ($($int:ty: $unsigned:ty, $add:ident, $sub:ident;)*) => {$(
        impl Score for $int {
            fn dyadic(self) -> (IBig, i64) {
                (self.into(), 0)
            }

            #[inline]
            fn distance(self, other: Self) -> (f64, f64) {
                around(self.abs_diff(other) as f64)
            }

            fn away(self, distance: f64, optimize: Optimize) -> Option<$int> {
                let distance = Some(distance.ceil()).filter(|distance| *distance < TWO_128)?;
                let distance = <$unsigned>::try_from(distance as u128).ok()?;
                match optimize {
                    Optimize::Max => self.$sub(distance),
                    Optimize::Min => self.$add(distance),
                }
            }
        }
    )*};
}
macro_rules! signed_scores {
    ($($int:ty: $unsigned:ty),*) => {
        integer_scores! { $($int: $unsigned, checked_add_unsigned, checked_sub_unsigned;)* }
    };
}
macro_rules! unsigned_scores {
    ($($int:ty),*) => { integer_scores! { $($int: $int, checked_add, checked_sub;)* } };
}

signed_scores!(i8: u8, i16: u16, i32: u32, i64: u64, i128: u128, isize: usize);
unsigned_scores!(u8, u16, u32, u64, u128, usize);

/// The number `2^128`. All distances between scores of an integer type are below this number.
const TWO_128: f64 = 18_446_744_073_709_551_616.0 * 18_446_744_073_709_551_616.0;

/// Return the floats just below and just above `rounded`, the correctly rounded float of an exact
/// number that is not negative. These two floats bound the exact number. The lower float is at
/// least 0.
#[inline]
fn around(rounded: f64) -> (f64, f64) {
    (rounded.next_down().max(0.0), rounded.next_up())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encloses<T: Score + std::fmt::Debug>(a: T, b: T) -> Result<(), TestCaseError> {
        let (lo, hi) = a.distance(b);
        prop_assert!(lo >= 0.0 && lo.is_finite() && hi > lo);
        let ((m, e), (n, f)) = (a.dyadic(), b.dyadic());
        let unit = 1100;
        let aligned = |m: IBig, e: i64| m << (e + unit) as usize;
        let exact = aligned(m, e) - aligned(n, f);
        let exact = if exact < IBig::ZERO { -exact } else { exact };
        let (m, e) = lo.dyadic();
        prop_assert!(aligned(m, e) <= exact);
        if hi.is_finite() {
            let (m, e) = hi.dyadic();
            prop_assert!(exact <= aligned(m, e));
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn the_distance_encloses_the_exact_one(
            a in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL,
            b in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL,
            m in any::<i64>(),
            n in any::<i64>(),
            wide in any::<i128>(),
        ) {
            encloses(a, b)?;
            encloses(a, a.next_up())?;
            encloses(a, a)?;
            encloses(m, n)?;
            encloses(wide, i128::from(n))?;
            encloses(m as u64, n as u64)?;
            encloses(m as f64, n as f64)?;
            encloses(m as f32, n as f32)?;
        }
    }

    /// Check that `away` returns a score that is far enough away, on the worse side.
    fn is_away<T: Score + std::fmt::Debug>(score: T, distance: f64) -> Result<(), TestCaseError> {
        for optimize in [Optimize::Max, Optimize::Min] {
            let Some(found) = score.away(distance, optimize) else { continue };
            let unit = 1100;
            let aligned = |(m, e): (IBig, i64)| m << (e + unit) as usize;
            let step = aligned(score.dyadic()) - aligned(found.dyadic());
            let step = if optimize == Optimize::Max { step } else { -step };
            prop_assert!(aligned(distance.dyadic()) <= step, "{score:?} {distance} {found:?}");
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn a_score_that_is_away_is_at_least_so_far(
            a in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL,
            d in proptest::num::f64::POSITIVE | proptest::num::f64::SUBNORMAL,
            m in any::<i64>(),
            wide in any::<i128>(),
            share in 0.0..1.0_f64,
        ) {
            let near = share * 1e3;
            for distance in [d.abs(), near, near.floor(), share * 1e19, share * 1e38] {
                is_away(a, distance)?;
                if (a as f32).is_finite() {
                    is_away(a as f32, distance)?;
                }
                is_away(m, distance)?;
                is_away(m as u64, distance)?;
                is_away(m as i8, distance)?;
                is_away(wide, distance)?;
            }
            is_away(a, share * a.abs())?;
            is_away(a as f32, share * a.abs())?;
        }
    }

    #[test]
    fn away_is_near_and_ends_with_the_type() {
        assert_eq!(
            [7_u8.away(2.5, Optimize::Max), 7_u8.away(2.5, Optimize::Min)],
            [Some(4), Some(10)]
        );
        assert_eq!(
            [7_i8.away(8.0, Optimize::Max), 7_i8.away(135.0, Optimize::Max)],
            [Some(-1), Some(-128)]
        );
        assert_eq!([7_u8.away(8.0, Optimize::Max), 7_u8.away(249.0, Optimize::Min)], [None, None]);
        assert_eq!(u128::MAX.away(TWO_128, Optimize::Max), None);
        assert_eq!(i64::MIN.away(f64::INFINITY, Optimize::Min), None);
        assert_eq!(1.0_f64.away(0.25, Optimize::Max), Some(0.75_f64.next_down()));
        assert_eq!(f64::MAX.away(f64::INFINITY, Optimize::Max), None);
        assert_eq!(f64::MIN.away(1e300, Optimize::Max), None);
        assert_eq!(f32::MIN.away(1.0, Optimize::Max), None);
        // The control: the float nearest to `1 - 1e-20` is 1, which is not worse than 1. So `away`
        // returns a smaller float.
        assert!(1.0 - 1e-20 == 1.0 && 1.0_f64.away(1e-20, Optimize::Max) < Some(1.0));
    }

    #[test]
    fn the_widest_distances_are_enclosed() {
        encloses(f64::MAX, -f64::MAX).unwrap();
        assert_eq!(f64::MAX.distance(-f64::MAX), (f64::MAX, f64::INFINITY));
        encloses(i128::MIN, i128::MAX).unwrap();
        encloses(u128::MIN, u128::MAX).unwrap();
        encloses(5e-324, 0.0).unwrap();
    }
}
