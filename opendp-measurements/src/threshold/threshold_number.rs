//! The number types that a threshold mechanism can release.

use opendp_core::arith::{Directed, InfCast, Number};
use opendp_core::{Error, Result};

use crate::samplers::power_of_two;
use crate::{Gaussian, Laplace, NoiseNumber};

/// A number type that a threshold mechanism can release.
pub trait ThresholdNumber: NoiseNumber<Laplace> + NoiseNumber<Gaussian> + Number {
    /// Check that releases can be compared with this threshold.
    ///
    /// # Errors
    /// `MakeMeasurement` when the threshold is a float that is negative or not finite.
    fn check_threshold(self) -> Result<()>;
    /// Return whether a released number reaches the threshold. A number reaches a negative
    /// threshold if the number is at most the threshold. A number reaches any other threshold if
    /// the number is at least the threshold.
    fn reaches(self, threshold: Self) -> bool;
    /// Return a bound `t` on the noise. Suppose that the magnitude of a number is at most `change`.
    /// If the threshold is at least 0, the noisy number reaches the threshold only if the noise is
    /// at least `t`. If the threshold is negative, the noisy number reaches the threshold only if
    /// the noise is at most `-t`. Return `None` if `change` exceeds the magnitude of the threshold.
    ///
    /// # Errors
    /// The errors of conversions.
    fn gap<Q: Number>(threshold: Self, change: Q, k: Option<i32>) -> Result<Option<f64>>
    where
        f64: InfCast<Q>,
        i128: InfCast<Q>;
}

/// Return half of the lattice step `2^k`. If this half is below the smallest positive float, return
/// the smallest positive float.
fn half_step(k: i32) -> f64 {
    match power_of_two(k - 1) {
        0.0 => f64::from_bits(1),
        half => half,
    }
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl ThresholdNumber for $t {
            fn check_threshold(self) -> Result<()> {
                Ok(())
            }
            #[inline]
            fn reaches(self, threshold: Self) -> bool {
                if threshold < <$t as num_traits::Zero>::zero() {
                    self <= threshold
                } else {
                    threshold <= self
                }
            }
            /// Return `|threshold| - floor(change)`, computed exactly and then rounded down to a
            /// float. The sum of a number and its noise can saturate. The saturated sum reaches the
            /// threshold if and only if the exact sum reaches the threshold. The only exception is
            /// a threshold of 0 for an unsigned type. For this threshold, the result is `None` if
            /// the change is at least 1, because such a change exceeds the threshold.
            fn gap<Q: Number>(threshold: Self, change: Q, _: Option<i32>) -> Result<Option<f64>>
            where
                f64: InfCast<Q>,
                i128: InfCast<Q>,
            {
                let magnitude = <i128 as InfCast<$t>>::inf_cast(threshold)?.abs();
                match i128::neg_inf_cast(change) {
                    Ok(change) if change <= magnitude => {
                        let gap = <f64 as InfCast<i128>>::neg_inf_cast(magnitude - change)?;
                        Ok(Some(gap))
                    }
                    _ => Ok(None),
                }
            }
        }
    )*};
}
integers!(i8 i16 i32 i64 u8 u16 u32 u64 usize);

macro_rules! floats {
    ($($t:ty)*) => {$(
        impl ThresholdNumber for $t {
            fn check_threshold(self) -> Result<()> {
                if (0.0..=<$t>::MAX).contains(&self) {
                    Ok(())
                } else {
                    Err(Error::MakeMeasurement(format!(
                        "threshold: expected a finite number of at least 0, found {self:?}"
                    )))
                }
            }
            #[inline]
            fn reaches(self, threshold: Self) -> bool {
                threshold <= self
            }
            /// Compute a lower bound on the lattice point of a release that reaches the threshold.
            /// From this bound, subtract half a lattice step and `change`.
            ///
            /// Let `below` be the float just below the threshold. Each release is a lattice point,
            /// rounded to a float. Rounding preserves the order of numbers, and keeps `below`. So
            /// if a release reaches the threshold, its lattice point is above `below`. If the
            /// lattice step is at least the distance between `below` and the threshold, all lattice
            /// points are multiples of this distance. Then no lattice point is strictly between
            /// `below` and the threshold. So a better bound holds: the lattice point is at least
            /// the first lattice point that is not below the threshold. The exact sum of the number
            /// and its noise is at most half a lattice step below the lattice point of the release.
            fn gap<Q: Number>(threshold: Self, change: Q, k: Option<i32>) -> Result<Option<f64>>
            where
                f64: InfCast<Q>,
                i128: InfCast<Q>,
            {
                let (change, exact) = (f64::inf_cast(change)?, f64::from(threshold));
                if exact < change {
                    return Ok(None);
                }
                let k = k.unwrap_or(0);
                let (step, below) = (power_of_two(k), f64::from(threshold.next_down()));
                let point = if exact - below <= step {
                    // Division and multiplication by a power of two are exact, unless the operation
                    // overflows or underflows. If an operation overflows, or a quotient is rounded
                    // to 0, use the threshold as the bound.
                    let point = (exact / step).ceil() * step;
                    if point.is_finite() { point.max(exact) } else { exact }
                } else {
                    below
                };
                Ok(Some(point.neg_inf_sub(half_step(k))?.neg_inf_sub(change)?))
            }
        }
    )*};
}
floats!(f32 f64);
