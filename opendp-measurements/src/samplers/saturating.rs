//! The sum of machine integers and noise of any size, without overflow.

use std::hint::select_unpredictable;

/// A machine integer type to which noise can be added. The noise is given as a sign and a
/// magnitude.
pub trait SaturatingNoise: Copy {
    /// Subtract the magnitude if `negative` is true, and otherwise add it. Clamp the result to the
    /// range of the type.
    fn saturating_noise(self, negative: bool, magnitude: u128) -> Self;
}

/// Add noise to an integer, and clamp the sum to the range of the type of the integer.
///
/// The result equals the exact sum clamped to the type, even if the magnitude was saturated at
/// `u128::MAX`. *Proof.* Let the type have the range `[a, b]`. Then
/// `b - a <= 2^128 - 1 = u128::MAX`. Let `M` be the magnitude before its saturation. If
/// `M >= u128::MAX`, then `x + M >= a + (b - a) = b` and `x - M <= a`. So the clamped sum is an end
/// of the range. With `u128::MAX` in place of `M`, the clamped sum is the same end.
///
/// Clamping is post-processing, so it adds no loss.
#[inline]
pub fn add_noise<T: SaturatingNoise>(x: T, (negative, magnitude): (bool, u128)) -> T {
    x.saturating_noise(negative, magnitude)
}

macro_rules! signed {
    ($($int:ty: $unsigned:ty),*) => {$(
        impl SaturatingNoise for $int {
            #[inline]
            fn saturating_noise(self, negative: bool, magnitude: u128) -> Self {
                // The magnitude saturates at the largest value of the unsigned type. This value is
                // `b - a` for the range `[a, b]` of the signed type. So the proof of `add_noise`
                // also covers this saturation.
                let magnitude = <$unsigned>::try_from(magnitude).unwrap_or(<$unsigned>::MAX);
                let below = self.saturating_sub_unsigned(magnitude);
                // Compute both sums, and select one of them without a branch. The sign is random,
                // so the processor would mispredict half of the branches on the sign.
                select_unpredictable(negative, below, self.saturating_add_unsigned(magnitude))
            }
        }
    )*};
}

macro_rules! unsigned {
    ($($int:ty),*) => {$(
        impl SaturatingNoise for $int {
            #[inline]
            fn saturating_noise(self, negative: bool, magnitude: u128) -> Self {
                let magnitude = <$int>::try_from(magnitude).unwrap_or(<$int>::MAX);
                let below = self.saturating_sub(magnitude);
                select_unpredictable(negative, below, self.saturating_add(magnitude))
            }
        }
    )*};
}

signed!(i8: u8, i16: u16, i32: u32, i64: u64, i128: u128, isize: usize);
unsigned!(u8, u16, u32, u64, u128, usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_small_sums_are_the_clamped_exact_ones() {
        for x in -128_i32..=255 {
            for noise in -600_i32..=600 {
                let parts = (noise < 0, u128::from(noise.unsigned_abs()));
                if let Ok(x) = i8::try_from(x) {
                    let exact = (i32::from(x) + noise).clamp(-128, 127);
                    assert_eq!(i32::from(add_noise(x, parts)), exact);
                }
                if let Ok(x) = u8::try_from(x) {
                    let exact = (i32::from(x) + noise).clamp(0, 255);
                    assert_eq!(i32::from(add_noise(x, parts)), exact);
                }
            }
        }
    }

    #[test]
    fn the_widest_noise_carries_any_value_to_the_end_of_its_range() {
        assert_eq!(add_noise(i128::MIN, (false, u128::MAX)), i128::MAX);
        assert_eq!(add_noise(i128::MAX, (true, u128::MAX)), i128::MIN);
        assert_eq!(add_noise(i128::MAX, (true, u128::MAX - 1)), i128::MIN + 1);
        assert_eq!(add_noise(0_u128, (false, u128::MAX)), u128::MAX);
        assert_eq!(add_noise(u128::MAX, (true, u128::MAX)), 0);
        assert_eq!(add_noise(5_usize, (true, 1 << 70)), 0);
        assert_eq!(add_noise(-5_i64, (false, 1 << 70)), i64::MAX);
        assert_eq!(add_noise(-5_i64, (false, 7)), 2);
    }
}
