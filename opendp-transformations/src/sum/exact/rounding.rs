//! Rounds an exact sum of an unlimited number of records to a float. The sum and the float have the
//! same bound on the sensitivity.
//!
//! If two numbers at distance `s` are truncated to their leading `p` bits, their distance can
//! increase. The map of a sum must then include this increase. With the rounding in this file, the
//! distance stays at most `s`.
//!
//! **Setting.** All numbers are integers, in units of the spacing of a lattice; see `lattice.rs`.
//! Let `g` be a power of two, let `B` be a multiple of `g`, and let `s = d * B` for an integer
//! `d >= 1`. The function `T` keeps the leading `p` bits of a number, so it rounds toward zero. The
//! values of `T` form a grid. This grid has spacing one up to `2^p`, then spacing two up to
//! `2^(p+1)`, and so on. Let `R = 2^p * g`. Below `R`, the spacing is at most `g`.
//!
//! **Lemma.** Let `S` and `S'` be two numbers. If `|S|, |S'| <= R` and `|S - S'| <= s`, then
//! `|T(S) - T(S')| <= s`.
//!
//! *Proof.* Let `S' <= S`. `T` is monotone, so `T(S') <= T(S)`. If `S' < 0 <= S`, then `T` moves
//! each of the two numbers toward zero, or does not change the number. So the distance between the
//! two numbers does not increase. Now let `0 <= S'` and `a = T(S)`. Let `h` be the spacing of the
//! grid below `a`. Then `a` is a multiple of `h`. `h` and `g` are powers of two, and `h <= g`
//! because `a <= R`. So `h` divides `g`, and also `s`. If `a <= s`, then `T(S') >= 0 >= a - s`.
//! Otherwise `a - s` is a multiple of `h` between zero and `a`, so it is on the grid. Also
//! `a - s <= S - s <= S'`. `T` is monotone, so `a - s <= T(S')`. In both cases,
//! `T(S) - T(S') <= s`. Negative numbers follow by symmetry.
//!
//! **Beyond `R`.** Zone `i` contains the numbers `S` with `2^(i-1) R < S <= 2^i R`. The spacing in
//! zone `i` is `2^i * g`. This spacing does not divide `s` in general, so the proof of the lemma
//! does not apply. For this reason, the rounding has three steps. First truncate each number of
//! magnitude above `R` to a multiple of `g`. If two such numbers are at most `s` apart, their
//! distance stays at most `s`, because `s` is a multiple of `g`. Then contract the numbers by a
//! function `phi`. Let `phi` be odd and continuous, with slope one up to `R`, and slope `1 - c_i`
//! in zone `i`. Here `c_i = min(1, 2^i g / B)`. Finally apply `T`. The result is `T(phi(S))`. In
//! the theorem, numbers above `R` are already truncated.
//!
//! **Theorem.** If `|S - S'| <= s`, then `|T(phi(S)) - T(phi(S'))| <= s`.
//!
//! *Proof.* `phi` does not increase distances, so the argument of the lemma covers numbers of
//! opposite signs. Now let `0 <= S' <= S`. If `S <= R`, the lemma applies, because `phi` does not
//! change these numbers.
//!
//! *If `S' <= R < S`:* let `a = T(phi(S))`. This number is at least `R`, so it is a multiple of
//! `g`. Also `a <= S`, so `a - s <= S'`. So `a - s` is a multiple of `g` that is at most `R`. If
//! `a - s` is positive, it is on the grid, so `a - s <= T(S')`. Otherwise `a - s <= 0 <= T(S')`.
//!
//! *If `S'` is in zone `j >= 1`:* all slopes of `phi` above `S'` are at most `1 - c_j`, so
//! `phi(S) - phi(S') <= (1 - c_j) s`. If `c_j = 1`, then `phi(S) = phi(S')`. Otherwise `T` lowers
//! `phi(S')` by less than `2^j g = c_j B <= c_j s`, and does not raise `phi(S)`. So
//! `T(phi(S)) - T(phi(S'))` is less than `s`.
//!
//! **Corollary.** Let `B` be a number `M`, rounded up to a multiple of `g`. If `|S - S'| <= d * M`,
//! then `|T(phi(S)) - T(phi(S'))| <= d * M + g`. For `d >= 2`, this bound can be less than `d * B`.
//!
//! *Proof.* The argument of the lemma covers numbers of opposite signs. Now let `0 <= S' <= S`.
//!
//! *If `S' <= R`:* `T(phi(S)) <= S`, and `T` lowers `S'` by less than `g`. So the distance between
//! the results is less than `d * M + g`.
//!
//! *If `S'` is in zone `j >= 1`:* the two numbers are truncated to multiples of `g`. So they differ
//! by a multiple `t` of `g`, and `t < d * M + g`. Let `u` be the smallest multiple of `g` that is
//! at least `d * M`. Then `t <= u`, and `B <= u`. As in the proof of the theorem, the distance
//! between the results is less than `(1 - c_j) t + c_j B`. This bound does not decrease with `t`,
//! and `t <= u`. So the bound is at most `(1 - c_j) u + c_j B`. This number is at most `u`, because
//! `B <= u`. So the distance is less than `u`, and `u < d * M + g`.
//!
//! In zones where `c_i = 1`, the slope of `phi` is zero, so the rounded sum saturates. The code
//! rounds `phi(S)` down to a multiple of `g`. This step does not change the result, because above
//! `R` the grid of `T` contains only multiples of `g`.

/// The rounding rule for sums of records. The magnitude of each record is at most `B`. The top of
/// this file defines `B`, `g`, `R`, `phi` and the zones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounding {
    /// The number of bits of a mantissa, called `p` in the proof at the top of this file.
    bits: u32,
    /// The base-2 logarithm of `g`.
    step: u32,
    /// The quotient `B / g`.
    ratio: u128,
    /// The largest integer `i` with `2^i g <= B`. The slope of `phi` is zero above zone `i`, or
    /// above `R` if `i` is zero.
    last: u32,
}

impl Rounding {
    /// Choose the rule for records whose magnitude is at most `magnitude`. This `magnitude` is
    /// rounded up to the bound `B`, a number with at most `bound_bits` significant bits. `B` must
    /// be a multiple of the power of two `g`. Sums up to `R = 2^bits g` are not contracted.
    ///
    /// If rounding does not change the magnitude, `g` is the largest power of two that divides the
    /// magnitude. This choice gives the largest `R`. Otherwise `g` is the value of the last bit
    /// that rounding keeps. This choice gives the smallest `g`. A small `g` is better here, because
    /// [`reach`](Rounding::reach) adds `g` to the distance.
    ///
    /// No step overflows if `magnitude < 2^52`, `bound_bits <= 28` and `bits <= 53`. Also, for any
    /// `bound_bits`, no step overflows if `magnitude < 2^38` and `bits <= 53`.
    pub(crate) fn new(magnitude: u64, bound_bits: u32, bits: u32) -> Self {
        let magnitude = magnitude.max(1);
        let bound = round_up(magnitude, bound_bits);
        let step = if bound == magnitude {
            bound.trailing_zeros()
        } else {
            (u64::BITS - magnitude.leading_zeros()).saturating_sub(bound_bits)
        };
        let ratio = u128::from(bound >> step);
        // The slope of `phi` is zero above zone `last`. The slope can also be zero in zone `last`
        // itself.
        Rounding { bits, step, ratio, last: ratio.ilog2() }
    }
    /// Return an upper bound on the distance between two rounded sums, if the exact sums are at
    /// most `d * magnitude` apart. The rule must be made by `new` for the same `magnitude`.
    pub(crate) fn reach(&self, d: u32, magnitude: u64) -> u128 {
        if magnitude == 0 {
            return 0;
        }
        let d = u128::from(d);
        let (exact, step) = (d * u128::from(magnitude), 1 << self.step);
        (d * (self.ratio << self.step)).min(exact + step)
    }
    /// Round a sum to a number with at most `bits` significant bits.
    pub(crate) fn round(&self, sum: u128) -> u128 {
        if sum >> self.bits >> self.step == 0 {
            return truncate(sum, self.bits);
        }
        // After this shift, the unit of `sum` is `g`, which is 2^step. So `R`, the start of zone 1,
        // is 2^bits.
        let sum = (sum >> self.step).min(1 << (self.bits + self.last));
        let mut contracted = 0;
        for zone in 1..=self.last {
            let start = 1 << (self.bits + zone - 1);
            // Let `i` be `zone`. Compute the length of the part of the sum that lies in zone `i`.
            // The slope of `phi` in this zone is `1 - c_i`. Multiply the length by `c_i * ratio`,
            // which is `2^i`, and add the product. After the loop, the sum of the products is
            // divided by `ratio`.
            contracted += (sum.clamp(start, 2 * start) - start) << zone;
        }
        truncate(sum - contracted.div_ceil(self.ratio), self.bits) << self.step
    }
}

/// Keep the `bits` leading bits of a number, and set its other bits to zero.
pub(crate) fn truncate(value: u128, bits: u32) -> u128 {
    let drop = (u128::BITS - value.leading_zeros()).saturating_sub(bits);
    value >> drop << drop
}

/// Round a number up to a number with at most `bits` significant bits.
fn round_up(value: u64, bits: u32) -> u64 {
    let drop = (u64::BITS - value.leading_zeros()).saturating_sub(bits);
    value.div_ceil(1 << drop) << drop
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compute the largest distance between two rounded sums whose exact sums are at most
    /// `d * bound` apart. Return this distance minus `d * bound`.
    fn excess(bound: u64, bits: u32, d: i64, round: impl Fn(&Rounding, u128) -> u128) -> i64 {
        let s = d * i64::try_from(bound).unwrap();
        furthest(Rounding::new(bound, u64::BITS, bits), bits, s, round) - s
    }
    /// Compute the largest distance between two rounded sums whose exact sums are at most `s`
    /// apart.
    fn furthest(rule: Rounding, bits: u32, s: i64, round: impl Fn(&Rounding, u128) -> u128) -> i64 {
        let reach = 3 << (bits + rule.last + rule.step);
        let signed = |sum: i64| {
            let rounded = i64::try_from(round(&rule, sum.unsigned_abs().into())).unwrap();
            rounded * sum.signum()
        };
        let rounded: Vec<i64> = (-reach..=reach).map(signed).collect();
        let mut worst = i64::MIN;
        for (i, right) in rounded.iter().enumerate() {
            // Check that the rule is monotone. For a monotone rule, only exact sums at distance `s`
            // have to be compared.
            assert!(i == 0 || rounded[i - 1] <= *right);
            let left = rounded[i.saturating_sub(usize::try_from(s).unwrap())];
            worst = worst.max(right - left);
        }
        worst
    }

    #[test]
    fn moves_no_two_sums_further_apart_than_the_map_says() {
        for bits in [2, 3, 4, 5] {
            for bound in 1..=100 {
                for d in 1..=4 {
                    assert!(excess(bound, bits, d, Rounding::round) <= 0, "{bits} {bound} {d}");
                }
            }
        }
    }
    #[test]
    fn a_bound_that_was_rounded_up_reaches_no_further_than_one_step_more() {
        let mut attained = 0;
        for bits in [3, 4, 5] {
            for magnitude in 1..=150 {
                let rule = Rounding::new(magnitude, 3, bits);
                for d in 1..=4 {
                    let s = i64::from(d) * i64::try_from(magnitude).unwrap();
                    let reach = i64::try_from(rule.reach(d, magnitude)).unwrap();
                    let found = furthest(rule, bits, s, Rounding::round);
                    assert!(found <= reach, "{bits} {magnitude} {d}: {found} > {reach}");
                    attained += u32::from(found > s);
                }
            }
        }
        // Check that some rounded sums are more than `s` apart, although their exact sums are not.
        assert!(attained > 0);
    }
    #[test]
    fn rounding_to_nearest_or_without_contraction_would_move_some() {
        let nearest = |_: &Rounding, sum: u128| {
            let drop = (u128::BITS - sum.leading_zeros()).saturating_sub(4);
            (sum + (1 << drop >> 1)) >> drop << drop
        };
        assert!(excess(7, 4, 1, nearest) > 0);
        assert!(excess(7, 4, 1, |rule, sum| truncate(sum, rule.bits)) > 0);
    }
    #[test]
    fn keeps_what_a_float_holds() {
        let ten = Rounding::new(10 << 47, 21, 53);
        for sum in [0, 1, (1 << 53) - 1, 1 << 53, 1_000_000 * (10 << 47), 1 << 100] {
            assert_eq!(ten.round(sum), sum);
        }
        assert_eq!(ten.round((1 << 53) + 1), 1 << 53);
    }
    #[test]
    fn contracts_little_and_saturates_in_the_end() {
        let third = Rounding::new((1 << 50) / 3, 21, 53);
        let rows = 1 << 20;
        let sum = u128::from((1_u64 << 50) / 3) * rows;
        assert!(third.round(sum) > sum - sum / 1_000_000);
        let end = third.round(u128::MAX >> 1);
        assert_eq!(end, third.round(u128::MAX));
        assert!(end > 1 << 100);
        assert_eq!(Rounding::new(1, 21, 53).round(u128::MAX), 1 << 53);
    }
    #[test]
    fn rounds_bounds_up_to_few_bits() {
        assert_eq!(round_up(10 << 47, 27), 10 << 47);
        assert_eq!(round_up((1 << 27) + 1, 27), (1 << 27) + 2);
        assert_eq!(round_up((1 << 40) - 1, 27), 1 << 40);
        assert_eq!(round_up(0, 27), 0);
    }
}
