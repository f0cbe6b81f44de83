//! The weights of noise magnitudes. The bounds on each weight are integers, in units of a power of
//! two.

use crate::samplers::Dyadic;
use dashu_int::{IBig, UBig};
use opendp_core::arith::fixed;

/// The weights `w_j = e^(-x_j)` of magnitudes `j`. The exponent is `x_j = rate f(j)` for a rational
/// rate, where `f(j)` is `j` or `j^2`.
#[derive(Clone, Debug)]
pub(super) struct Weights {
    shape: Shape,
    /// The numerator of the rate. The rate is `numerator / denominator`.
    numerator: UBig,
    denominator: UBig,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// For Laplace noise, `f(j) = j`.
    Laplace,
    /// For Gaussian noise, `f(j) = j^2`.
    Gaussian,
}

/// An upper bound on the difference between a weight and its lower bound in [`Weights::below`], in
/// units of `2^-128`.
pub(super) const SHORTFALL: u128 = 1 << 24;

impl Weights {
    /// Make the weights for the rate `1 / scale`.
    pub(super) fn laplace(scale: f64) -> Self {
        let parts = Dyadic::new(scale);
        Self::new(Shape::Laplace, parts.mantissa.into(), parts.exponent.into())
    }
    /// Make the weights for the rate `1 / (2 sigma^2)`.
    pub(super) fn gaussian(sigma: f64) -> Self {
        let parts = Dyadic::new(sigma);
        let mantissa = UBig::from(parts.mantissa);
        Self::new(Shape::Gaussian, &mantissa * &mantissa, 2 * i64::from(parts.exponent) + 1)
    }
    /// Make the weights for the rate `1 / (mantissa 2^exponent)`.
    fn new(shape: Shape, mantissa: UBig, exponent: i64) -> Self {
        let places = exponent.unsigned_abs() as usize;
        let (numerator, denominator) = match exponent {
            0.. => (UBig::ONE, mantissa << places),
            _ => (UBig::ONE << places, mantissa),
        };
        Self { shape, numerator, denominator }
    }

    /// Compute `f(j)`, which is `j` or `j^2`.
    fn f(&self, j: u64) -> UBig {
        match self.shape {
            Shape::Laplace => j.into(),
            Shape::Gaussian => UBig::from(j) * j,
        }
    }

    /// Check that the exponents `x_j` of the weights satisfy `x_to - x_from >= tenths / 10`, for
    /// `from <= to`.
    pub(super) fn part(&self, from: u64, to: u64, tenths: u32) -> bool {
        let difference = self.f(to) - self.f(from);
        &self.denominator * tenths <= &self.numerator * difference * 10_u8
    }

    /// Return a lower and an upper bound on `2^bits w_j`. The bounds are integers that differ by
    /// less than 5.
    pub(super) fn enclose(&self, j: u64, bits: usize) -> (UBig, UBig) {
        let (lower, upper) = self.exponent(j, bits + 8);
        (fixed::exp(&-upper, bits + 8, bits).0, fixed::exp(&-lower, bits + 8, bits).1)
    }

    /// Return a lower and an upper bound on `2^precision x_j`, for the weight `w_j = e^(-x_j)`. The
    /// bounds are consecutive integers.
    ///
    /// [`enclose`](Self::enclose) calls this function with `precision = bits + 8`. The two bounds
    /// then differ by one unit of `2^-(bits + 8)`, which is `2^-8` units of `2^-bits`. The
    /// exponents `-x_j` are at most 0, where the exponential function has a slope of at most 1. So
    /// this difference changes the bounds of `enclose` by at most `2^-8`, in units of `2^-bits`.
    /// For an exact exponent, each bound of `enclose` would differ from the exact value
    /// `2^bits w_j` by at most 2.
    fn exponent(&self, j: u64, precision: usize) -> (IBig, IBig) {
        let lower = IBig::from(((&self.numerator * self.f(j)) << precision) / &self.denominator);
        let upper = &lower + IBig::ONE;
        (lower, upper)
    }

    /// Return a lower bound on `2^128 w_j`, for the weight `w_j` of each `j` from 1 to `count`.
    /// `count` is below `2^11`.
    ///
    /// # Bound
    ///
    /// The error of a bound is the exact value minus the bound, in units of `2^-128`. `q = w_1` is
    /// first computed with 8 more bits, and its error is then less than 5 units of `2^-136`. After
    /// the rounding to 128 bits, the error is less than 2. Let two numbers be at most 1. The error
    /// of their product is at most the sum of their errors, plus 1 for the dropped bits. So the
    /// error of `q^2` is at most 5. Let `r_i = w_(i + 1) / w_i`. For Laplace weights, the error of
    /// `r_i = q` is at most 2. For Gaussian weights, the error of `r_0 = q` is at most 2, and the
    /// error of `r_(i + 1) = r_i q^2` exceeds the error of `r_i` by at most 6. Each step from `w_i`
    /// to `w_(i + 1) = w_i r_i` adds at most `3 + 6 i` to the error. So all errors are at most
    /// `3 count^2 < 2^24`.
    pub(super) fn below(&self, count: usize) -> Vec<u128> {
        let bits = 128 + 8;
        let (_, upper) = self.exponent(1, bits + 8);
        let least = fixed::exp(&-upper, bits + 8, bits).0 >> 8_usize;
        // The rate is not 0. So the weight `w_1` is below 1, and its lower bound fits 128 bits.
        let first = u128::try_from(least).unwrap_or(u128::MAX);
        let square = high_product(first, first);
        let (mut ratio, mut bound) = (first, first);
        let mut bounds = Vec::with_capacity(count);
        for _ in 0..count {
            bounds.push(bound);
            if self.shape == Shape::Gaussian {
                ratio = high_product(ratio, square);
            }
            bound = high_product(bound, ratio);
        }
        bounds
    }
}

/// Compute `floor(a b / 2^128)`.
pub(super) fn high_product(a: u128, b: u128) -> u128 {
    let split = |x: u128| (x >> 64, x & u128::from(u64::MAX));
    let ((a1, a0), (b1, b0)) = (split(a), split(b));
    let ((upper, middle), (other, low)) = (split(a1 * b0), split(a0 * b1));
    let carry = ((a0 * b0) >> 64) + middle + low;
    a1 * b1 + upper + other + (carry >> 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Count the wrong bounds. A bound is wrong if it exceeds the exact weight, or if it is below
    /// the exact weight by more than [`SHORTFALL`].
    fn wrong(weights: &Weights, bounds: &[u128]) -> usize {
        let wrong = |(j, bound): (usize, &u128)| {
            let (lo, hi) = weights.enclose(j as u64 + 1, 200);
            let bound = UBig::from(*bound) << 72_usize;
            lo < bound || bound + (UBig::from(SHORTFALL) << 72_usize) < hi
        };
        bounds.iter().enumerate().filter(|entry| wrong(*entry)).count()
    }

    #[test]
    fn bounds_are_below_the_weights_and_hardly_short_of_them() {
        for scale in [5e-324, 1e-3, 0.05, 0.1, 1.0 / 3.0, 1.0, 3.7, 10.0, 77.7, 146.0, 300.0] {
            for weights in [Weights::laplace(scale), Weights::gaussian(scale)] {
                let mut bounds = weights.below(2047);
                assert_eq!(wrong(&weights, &bounds), 0, "{scale}");
                bounds[5] += 1 << 25;
                bounds[9] = bounds[9].saturating_sub(1 << 25);
                let noticed = 1 + usize::from(bounds[9] != 0);
                assert_eq!(wrong(&weights, &bounds), noticed, "wrong bounds must be noticed");
            }
        }
    }

    #[test]
    fn enclosures_hold_known_weights_and_shrink() {
        for (weights, x) in [
            (Weights::laplace(2.0), 3.5_f64),
            (Weights::gaussian(2.0), 49.0 / 8.0),
            (Weights::laplace(0.25), 28.0),
        ] {
            for bits in [50, 100, 300] {
                let (lo, hi) = weights.enclose(7, bits);
                assert!(&hi - &lo < UBig::from(5_u8));
                let (lo, hi) = (lo.to_f64().value(), hi.to_f64().value());
                let exact = (-x).exp() * 2_f64.powi(bits as i32);
                assert!(lo <= exact * 1.000_001 && exact * 0.999_999 <= hi);
            }
        }
    }

    #[test]
    fn exponents_are_compared_exactly() {
        // The difference x_14 - x_4 is 10 / 5 = 2 for Laplace weights, and (196 - 16) / 50 = 3.6
        // for Gaussian weights.
        let (laplace, gaussian) = (Weights::laplace(5.0), Weights::gaussian(5.0));
        assert!(laplace.part(4, 14, 20) && !laplace.part(4, 14, 21));
        assert!(gaussian.part(4, 14, 36) && !gaussian.part(4, 14, 37));
        // The float 0.1 is above 1/10, so 2 / 0.1 is below 20.
        let tenth = Weights::laplace(0.1);
        assert!(tenth.part(0, 2, 199) && !tenth.part(0, 2, 200));
        assert!(Weights::laplace(5e-324).part(0, 1, u32::MAX));
        assert!(!Weights::gaussian(f64::MAX).part(0, u64::MAX, 1));
    }

    proptest! {
        #[test]
        fn high_products_are_those_of_long_integers(a: u128, b: u128) {
            let exact = (UBig::from(a) * UBig::from(b)) >> 128_usize;
            prop_assert_eq!(UBig::from(high_product(a, b)), exact);
        }
    }
}
