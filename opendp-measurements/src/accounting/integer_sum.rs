//! The delta of equal releases of one integer with discrete Gaussian noise. Delta is computed as a
//! sum over the values of the total noise.

use std::f64::consts::PI;

use super::elementary::{U, exp, exp_m1};
use super::enclosed_pair::roughness;

/// The largest allowed `f` of the theorem at [`delta_of_sum`].
const MOST_FAILURE: f64 = 1e-12;
const MOST_TERMS: f64 = 2e6;
/// The sum ends where the weights are below `e^-45` times the largest listed weight. The weights
/// are the `e^(-u^2 / (2 m s^2))` of the theorem at [`delta_of_sum`]. This constant is twice 45,
/// because the exponent of a weight contains the factor 1/2.
const FAR: f64 = 90.0;

/// Return an upper bound on the delta of `count` releases of one integer. Neighbours differ by at
/// most `distance`, a positive integer. The noise of each release is discrete Gaussian of scale
/// `scale`. Return `None` if the distance is not an integer, if an argument is too small or too
/// large, or if the sum has too many terms.
///
/// # Theorem
/// Let `k` be the distance, `s` the scale and `m` the number of releases. Each release has a
/// dominating pair of two laws: the law of the noise, and the law of the noise plus `k`
/// ([`DiscreteGaussianPair`]). So the product of `m` such pairs dominates all releases, even if the
/// releases are chosen adaptively. The loss of the product is `(m k^2 + 2 k S) / (2 s^2)`, where
/// `S` is the sum of all noise.
///
/// Apply the theorem at [`IntegerVectorPair::enclosed`] to `m` equal numbers. Let `f` be `m - 1`
/// times the result of the function `roughness` for the variance `s^2 / 2`. The probability of each
/// value of `S` is at most `1 / (1 - f)` times its probability under discrete Gaussian noise of
/// scale `s sqrt(m)`. By Poisson's summation, the sum of all weights `e^(-u^2 / (2 m s^2))` is at
/// least the integral `sqrt(2 pi m s^2)`. So delta at `epsilon` is at most
/// `1 / ((1 - f) sqrt(2 pi m s^2))` times a sum over all integers `u`. The terms are
/// `e^(-u^2 / (2 m s^2)) max(0, 1 - e^(epsilon - x))`, where `x` is the loss at `S = u`.
///
/// # Proof of the computation
/// The code adds up the terms from `u = first` to `u = last`. All terms with `u < first` are 0,
/// because their losses are below epsilon. Each weight beyond `last` is at most
/// `e^(-last / (m s^2))` times the previous weight. So the weights beyond `last` add up to at most
/// `m s^2 / last` times the weight at `last`. Each term is at most its weight. Let `U` be the unit
/// roundoff. Each loss is increased by `16 U` times a sum: epsilon plus the magnitudes of the two
/// terms of the loss. Each exponent is below 700 in magnitude, or the weight with this exponent is
/// negligible. The relative error of a sum is at most `U` for each of its terms.
///
/// [`DiscreteGaussianPair`]: super::DiscreteGaussianPair
/// [`IntegerVectorPair::enclosed`]: super::IntegerVectorPair::enclosed
pub(super) fn delta_of_sum((distance, scale): (f64, f64), count: u64, epsilon: f64) -> Option<f64> {
    let (times, square) = (count as f64, scale * scale);
    let variance = times * square;
    let whole = (1.0..=65536.0).contains(&distance) && distance.fract() == 0.0;
    if !(whole && (1.0..=1e6).contains(&scale) && 1 <= count && (0.0..1e6).contains(&epsilon)) {
        return None;
    }
    let failure = (times - 1.0) * roughness(square / 2.0 * (1.0 - 1e-12)) * (1.0 + 1e-12);
    let all = times * distance * distance;
    let first = ((2.0 * epsilon * square - all) / (2.0 * distance)).floor() - 2.0;
    let near = first.max(0.0);
    let last = (near * near + FAR * variance).sqrt().ceil();
    if !(failure <= MOST_FAILURE && -last < first && last - first < MOST_TERMS) {
        return None;
    }
    let weight = |u: f64| exp(-(u * u / variance) / 2.0);
    let term = |u: f64| {
        let loss = (all + 2.0 * distance * u) / (2.0 * square);
        let moved = (all + 2.0 * distance * u.abs()) / (2.0 * square);
        let below = epsilon - loss - 16.0 * U * (epsilon + moved);
        if below < 0.0 { weight(u) * -exp_m1(below) } else { 0.0 }
    };
    let terms = last - first;
    let listed: f64 = (0..=terms as u64).map(|place| term(first + place as f64)).sum();
    let beyond = weight(last) * (variance / last) + 1e-280;
    let more = (1.0 + U * (16384.0 + 8.0 * terms)) / (1.0 - failure);
    Some(((listed + beyond) / (2.0 * PI * variance).sqrt() * more).min(1.0))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::accounting::{Account, DiscreteGaussianPair};

    #[test]
    fn the_sum_is_the_delta_that_other_methods_enclose() {
        for (distance, scale, count) in [(1_u32, 1.5, 1), (1, 3.0, 7), (3, 4.0, 5), (2, 9.0, 40)] {
            let pair = Arc::new(DiscreteGaussianPair { sensitivity: distance, scale });
            let account = Account::new().with(pair, count);
            for epsilon in [0.5, 1.0, 2.3, 4.0] {
                let sum = delta_of_sum((f64::from(distance), scale), count, epsilon).unwrap();
                let lower = account.delta_below(epsilon).unwrap();
                let name = format!("{distance} {scale} {count} {epsilon}: {lower} {sum}");
                assert!(lower <= sum && sum <= lower * 1.000_2 + 1e-18, "{name}");
            }
        }
        // There is no bound if the scale is too small, if the distance is not an integer, or if the
        // sum has too many terms.
        assert!(delta_of_sum((1.0, 0.9), 3, 1.0).is_none());
        assert!(delta_of_sum((1.5, 9.0), 3, 1.0).is_none());
        assert!(delta_of_sum((1.0, 1e5), 1 << 30, 1.0).is_none());
    }
    #[test]
    fn a_sum_of_one_release_is_exact() {
        // For one release, the total noise is the noise of this release. So the law of the total
        // noise is known without the theorem.
        let (scale, epsilon) = (2.0_f64, 1.1_f64);
        let weight = |z: i32| (-(f64::from(z) / scale).powi(2) / 2.0).exp();
        let all: f64 = (-90..=90).map(weight).sum();
        let loss = |z: i32| (1.0 + 2.0 * f64::from(z)) / (2.0 * scale * scale);
        let term = |z: i32| weight(z) / all * (1.0 - (epsilon - loss(z)).exp()).max(0.0);
        let exact: f64 = (-90..=90).map(term).sum();
        let found = delta_of_sum((1.0, scale), 1, epsilon).unwrap();
        assert!(exact <= found && found <= exact * (1.0 + 1e-9), "{exact} {found}");
    }
}
