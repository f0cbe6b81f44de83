//! The lattice `2^k Z` of all integer multiples of `2^k`, and the floats nearest to its points.

use super::dyadic::{Dyadic, power_of_two, shift_floor};
use dashu_int::{IBig, Sign, UBig, ops::BitTest};

/// Round a finite float to the nearest point of the lattice `2^k Z`. If two points are equally
/// near, round up.
///
/// The result is the float nearest to `m 2^k`, with `m = floor(x / 2^k + 1/2)`, clamped to the
/// finite range. `k` is clamped to `[-1074, 1023]`. With `k = -1074`, every float is a lattice
/// point. A result of zero is always `+0`.
pub fn round_to_lattice(x: f64, k: i32) -> f64 {
    let k = clamp_exponent(k);
    let parts = Dyadic::new(x);
    let shift = i64::from(parts.exponent) - i64::from(k);
    if shift >= 0 {
        // `x` is already a multiple of 2^k. The addition of +0 turns -0 into +0.
        return x + 0.0;
    }
    // The sum x / 2^k + 1/2 equals (2 mantissa + 2^-shift) 2^(shift - 1). Both terms in the
    // parentheses are integers, because the shift is negative.
    let doubled = IBig::from(parts.signed_mantissa()) * 2;
    let half = IBig::ONE << shift.unsigned_abs() as usize;
    big_lattice_point(&shift_floor(doubled + half, shift - 1), k)
}

/// Clamp the exponent `k` of a lattice to the range from -1074 to 1023. In this range, `2^k` is a
/// positive finite float.
#[inline]
pub(super) fn clamp_exponent(k: i32) -> i32 {
    k.clamp(-1074, 1023)
}

/// Return the float nearest to `m 2^k`, clamped to the finite range. If two floats are equally
/// near, return the float with the even mantissa.
///
/// Rounding happens only when `m` is converted to a float of 53 bits. This float is an integer of
/// at most 53 significant bits, and `k >= -1074`. So the product of this float and `2^k` is exact,
/// or exceeds the largest float.
#[inline]
pub(super) fn lattice_point(m: i64, k: i32) -> f64 {
    (m as f64 * power_of_two(k)).clamp(-f64::MAX, f64::MAX)
}

/// Return the float nearest to `m 2^k`, clamped to the finite range. If two floats are equally
/// near, return the float with the even mantissa.
///
/// If `m` has more than 62 bits, `m` is first cut to its upper 62 bits. The last of these bits is
/// set if any lower bit was set (a sticky bit). So the rounding to 53 bits gives the same result as
/// without the cut.
pub(super) fn big_lattice_point(m: &IBig, k: i32) -> f64 {
    let (sign, magnitude) = m.clone().into_parts();
    let cut = magnitude.bit_len().saturating_sub(62);
    let top = u64::try_from(&magnitude >> cut).unwrap_or(u64::MAX >> 2);
    let sticky = (&magnitude >> cut) << cut != magnitude;
    let rounded = (top | u64::from(sticky)) as i64;
    // An exponent above 1023 occurs only for a number that was cut to 62 bits. Then the result
    // overflows.
    let exponent = i32::try_from(cut).unwrap_or(i32::MAX).saturating_add(k);
    let point = lattice_point(rounded, exponent);
    if sign == Sign::Negative && magnitude != UBig::ZERO { -point } else { point }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ties_go_upward() {
        assert_eq!(round_to_lattice(0.5, 0), 1.0);
        assert_eq!(round_to_lattice(-0.5, 0), 0.0);
        assert_eq!(round_to_lattice(-1.5, 0), -1.0);
        assert_eq!(round_to_lattice(2.5, 0), 3.0);
        assert_eq!(round_to_lattice(0.499_999_999_999_999_94, 0), 0.0);
    }

    #[test]
    fn every_float_lies_on_the_finest_lattice() {
        for x in [5e-324, -1.3e-310, 0.1, -f64::MAX, f64::MAX, 0.0] {
            assert_eq!(round_to_lattice(x, -1074), x);
            assert_eq!(round_to_lattice(x, i32::MIN), x);
        }
        assert!(round_to_lattice(-0.0, -1074).is_sign_positive());
        assert!(round_to_lattice(-0.25, 0).is_sign_positive());
    }

    #[test]
    fn the_coarsest_lattice_has_three_reachable_points() {
        let half = power_of_two(1022);
        assert_eq!(round_to_lattice(half, 1023), 2.0 * half);
        assert_eq!(round_to_lattice(-half, 1023), 0.0);
        assert_eq!(round_to_lattice(-half.next_up(), 1023), -2.0 * half);
        assert_eq!(round_to_lattice(f64::MAX, 1023), f64::MAX);
        assert_eq!(round_to_lattice(-f64::MAX, 1023), -f64::MAX);
        assert_eq!(round_to_lattice(5e-324, 1023), 0.0);
    }

    #[test]
    fn long_integers_round_to_even_once() {
        let point = |m: IBig| big_lattice_point(&m, 0);
        let power = IBig::ONE << 200usize;
        let half_ulp = IBig::ONE << 147usize;
        let two_to_200 = 2f64.powi(200);
        assert_eq!(point(&power + &half_ulp), two_to_200);
        assert_eq!(point(&power + &half_ulp + IBig::ONE), two_to_200.next_up());
        let above = &power + &half_ulp + IBig::ONE;
        assert_eq!(point(-above), -two_to_200.next_up());
        assert_eq!(point(IBig::ONE << 1024usize), f64::MAX);
        assert_eq!(point(-IBig::ONE << 5000usize), -f64::MAX);
        assert_eq!(big_lattice_point(&(IBig::ONE << 2000usize), -1074), 2f64.powi(926));
    }

    proptest! {
        #[test]
        fn both_conversions_agree(m in any::<i64>(), k in -1074..1023) {
            prop_assert_eq!(big_lattice_point(&m.into(), k), lattice_point(m, k));
        }

        #[test]
        fn rounding_moves_by_at_most_half_a_step(x in -1e15..1e15, k in -20..20) {
            let step = power_of_two(k);
            let rounded = round_to_lattice(x, k);
            prop_assert!((rounded - x).abs() <= step / 2.0);
            prop_assert_eq!((rounded / step).fract(), 0.0);
        }
    }
}
