//! Scores that candidates are chosen by.

use super::dyadic::Dyadic;
use dashu_int::IBig;

/// Describe a score exactly, and the distance of two scores fast.
pub trait Score: Copy + PartialOrd {
    /// Give the integer `m` and exponent `e` with `self = m 2^e` exactly.
    fn dyadic(self) -> (IBig, i64);

    /// Enclose `|self - other|` between two floats, the lower one finite and not negative.
    ///
    /// Both bounds are neighbours of the correctly rounded distance; the upper may be infinite.
    fn distance(self, other: Self) -> (f64, f64);
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
}

impl Score for f32 {
    fn dyadic(self) -> (IBig, i64) {
        f64::from(self).dyadic()
    }

    #[inline]
    fn distance(self, other: Self) -> (f64, f64) {
        f64::from(self).distance(f64::from(other))
    }
}

macro_rules! integer_scores {
    ($($int:ty),*) => {$(
        impl Score for $int {
            fn dyadic(self) -> (IBig, i64) {
                (self.into(), 0)
            }

            #[inline]
            fn distance(self, other: Self) -> (f64, f64) {
                around(self.abs_diff(other) as f64)
            }
        }
    )*};
}

integer_scores!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

/// Enclose a real number, not negative, by the neighbours of its correctly rounded float.
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
        let at = |m: IBig, e: i64| m << (e + unit) as usize;
        let exact = at(m, e) - at(n, f);
        let exact = if exact < IBig::ZERO { -exact } else { exact };
        let (m, e) = lo.dyadic();
        prop_assert!(at(m, e) <= exact);
        if hi.is_finite() {
            let (m, e) = hi.dyadic();
            prop_assert!(exact <= at(m, e));
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

    #[test]
    fn the_widest_distances_are_enclosed() {
        encloses(f64::MAX, -f64::MAX).unwrap();
        assert_eq!(f64::MAX.distance(-f64::MAX), (f64::MAX, f64::INFINITY));
        encloses(i128::MIN, i128::MAX).unwrap();
        encloses(u128::MIN, u128::MAX).unwrap();
        encloses(5e-324, 0.0).unwrap();
    }
}
