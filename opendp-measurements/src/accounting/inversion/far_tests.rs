//! Bounds at epsilons that are far from the target of a sum, where exponents leave the range of
//! floats.

use super::super::gaussian_delta;
use super::*;

/// Return a sum for Gaussian noise of `mu`, planned for a given delta.
fn sum(mu: f64, delta: f64) -> Inversion {
    let pair: Arc<dyn DominatingPair> = Arc::new(GaussianPair { mu });
    Inversion::of(&[(pair, 1)], Target::Delta(delta), 1e-4, MOST).unwrap()
}
#[test]
fn bounds_hold_at_every_epsilon_however_large_the_factor_is() {
    let mut large = 0;
    for mu in [0.1, 1.0, 3.0, 10.0, 20.0, 40.0] {
        for delta in [1e-280, 1e-200, 1e-100, 1e-9] {
            let sum = sum(mu, delta);
            let end = 1.5 * sum.expected;
            for place in 0..100 {
                let epsilon = end * f64::from(place) / 100.0;
                let (lower, upper) = (sum.delta_below(epsilon), sum.delta_above(epsilon));
                let exact = gaussian_delta(mu, epsilon).unwrap();
                let holds = lower <= exact.upper && exact.lower <= upper;
                assert!(holds, "{mu} {delta:e} {epsilon}: {lower:e} {upper:e} {exact:?}");
                large += i32::from(709.0 < sum.log.0 - sum.tilt * epsilon);
            }
        }
    }
    assert!(40 < large, "only {large} factors were large");
}
#[test]
fn a_lower_bound_on_a_factor_is_finite_and_below_the_exact_value() {
    let sum = sum(20.0, 1e-280);
    let exponent = |epsilon: f64| sum.log.0 - sum.tilt * epsilon;
    // The exact logarithm of a factor.
    let log = |epsilon: f64| exponent(epsilon) + (sum.spacing / std::f64::consts::TAU).ln();
    let mut seen = [false; 3];
    for place in 0..3000 {
        let epsilon = sum.expected * f64::from(place) / 1500.0;
        let (lower, upper) = (sum.factor(epsilon, -1.0), sum.factor(epsilon, 1.0));
        assert!(lower.is_finite() && 0.0 <= lower && 0.0 < upper, "{lower:e} {upper:e}");
        let slack = 1e-9;
        assert!(lower == 0.0 || lower.ln() <= log(epsilon) + slack, "{epsilon}: {lower:e}");
        assert!(log(epsilon) <= upper.ln() + slack, "{epsilon}: {upper:e}");
        let exponent = exponent(epsilon);
        if exponent.abs() < 680.0 {
            assert!(upper.ln() - lower.ln() < 1e-9, "{epsilon}: {lower:e} {upper:e}");
        }
        seen[usize::from(-690.0 <= exponent) + usize::from(709.0 < exponent)] = true;
    }
    assert_eq!(seen, [true; 3]);
}
