//! A loss in another measure. This file defines a combinator: a constructor that takes a mechanism.

use opendp_core::arith::Directed;
use opendp_core::erased::{AnyDistance, AnyMeasurement};
use opendp_core::{
    Error, Made, MaxDivergence, Measure, Measurement, PrivacyMap, Result, TheMeasure, register,
};

use crate::GaussianTradeoff;

/// A float that is at least the square root of pi / 2, which is 1.25331413731550025...
const ROOT_OF_HALF_PI: f64 = 1.253_314_137_315_500_4;

/// Convert the loss of a pure mechanism to Gaussian differential privacy.
///
/// If many mechanisms are composed, the loss grows more slowly in this measure than in
/// `MaxDivergence`. For `n` equal losses, the composed loss in this measure is proportional to the
/// root of `n`. The sum of the epsilons is proportional to `n`.
///
/// # Arguments
/// * `measurement` - a mechanism whose measure is `MaxDivergence`
///
/// # Precondition
/// The measure is `MaxDivergence`.
///
/// # Postcondition
/// The mechanism is the same. Its measure is `acme::GaussianTradeoff`.
///
/// # Map
/// `d_out = sqrt(pi / 2) * map(d_in)`, rounded up.
///
/// # Proof
/// Let `Phi` be the distribution function of a standard normal variable, `phi` its density, and `e`
/// the pure loss. The trade-off curve of `e`-DP bounds how well two neighbours can be
/// distinguished. The curve consists of two lines. With `k = 1 / (1 + exp(e))`, the first line
/// joins `(0, 1)` and `(k, k)`, and the second line joins `(k, k)` and `(1, 0)` (Dong, Roth, Su
/// 2022, Proposition 3). The trade-off curve of mu-GDP is convex, and ends in the points `(0, 1)`
/// and `(1, 0)`. It crosses the diagonal at `Phi(-mu / 2)` (Section 2.2 of the paper). If
/// `Phi(-mu / 2)` is at most `k`, then the curve of mu-GDP is nowhere above the lines, and the
/// mechanism is mu-GDP.
///
/// Let `t = mu / 2` and `g(t) = ln(Phi(t) / Phi(-t))`. Then `Phi(-t) <= k` is equivalent to
/// `e <= g(t)`. Now `g(0) = 0` and `g'(t) = phi(t) / (Phi(t) Phi(-t))`. The square `[-t, t]^2`
/// contains the disk of radius `t`. So for two independent standard normal variables, the
/// probability of the square is at least the probability of the disk:
/// `(2 Phi(t) - 1)^2 >= 1 - exp(-t^2 / 2)`. So
/// `4 Phi(t) Phi(-t) = 1 - (2 Phi(t) - 1)^2 <= exp(-t^2 / 2)`. Because
/// `phi(t) = phi(0) exp(-t^2 / 2)`, this gives `g'(t) >= 4 phi(0) = 4 / sqrt(2 pi)`. It follows
/// that `g(mu / 2) >= mu * 2 / sqrt(2 pi) = mu / sqrt(pi / 2)`. The right side equals `e` for
/// `mu = sqrt(pi / 2) e`. A larger `mu` is a weaker guarantee, so the map may round up.
///
/// # Errors
/// `MeasureMismatch` when the measure is not `MaxDivergence`.
///
/// ```
/// # use custom_mechanism::{EdgeDistance, FlipProbability, GraphDomain};
/// # use custom_mechanism::{make_gaussian_accounting, make_randomized_graph};
/// # use opendp_core::{Space, erased::AnyDistance};
/// let input = Space::new(GraphDomain::new(4)?, EdgeDistance)?;
/// let pure = make_randomized_graph(input, FlipProbability::new(0.25)?)?;
/// let gaussian = make_gaussian_accounting(pure.erase())?;
/// let mu = gaussian.map(&AnyDistance::new(1_u32))?;
/// assert!((mu.downcast_ref::<f64>()? - 1.3769).abs() < 1e-4);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn make_gaussian_accounting(measurement: AnyMeasurement) -> Result<AnyMeasurement> {
    let measure = TheMeasure(GaussianTradeoff).erased().measure()?;
    if !measurement.measure().is::<MaxDivergence>() {
        return Err(Error::MeasureMismatch {
            expected: MaxDivergence.to_json().to_string(),
            found: measurement.measure().to_json().to_string(),
        });
    }
    let (input, function) = (measurement.input().clone(), measurement.function().clone());
    let pure = measurement.clone();
    let map = PrivacyMap::new(move |d_in: &AnyDistance| {
        let epsilon: f64 = *pure.map(d_in)?.downcast_ref()?;
        // An infinite loss stays infinite.
        let infinite = epsilon == f64::INFINITY;
        let mu = if infinite { epsilon } else { epsilon.inf_mul(ROOT_OF_HALF_PI)? };
        Ok(AnyDistance::new(mu))
    });
    Ok(Measurement::new(input, measure, function, map)
        .with_accuracy(move |alpha| measurement.accuracy(alpha)))
}
register! {
    "gaussian_accounting.rs": make_gaussian_accounting as ["acme::make_gaussian_accounting"]
        (measurement);
}

#[cfg(test)]
mod tests {
    use super::*;
    use opendp_core::arith::DirectedFloat;
    use opendp_core::{AbsoluteDistance, AtomDomain, Function, Space};

    fn pure(epsilon: f64) -> AnyMeasurement {
        let input = Space::new(AtomDomain::default(), AbsoluteDistance::new()).unwrap();
        let map = PrivacyMap::new(move |_: &i32| Ok(epsilon));
        Measurement::new(input, MaxDivergence, Function::map(|x: &i32| Ok(*x)), map).erase()
    }
    fn mu(epsilon: f64) -> f64 {
        let gaussian = make_gaussian_accounting(pure(epsilon)).unwrap();
        *gaussian.map(&AnyDistance::new(1)).unwrap().downcast_ref().unwrap()
    }

    /// Compute `Phi(-t)` by Simpson's rule on the density, to twelve digits.
    fn tail(t: f64) -> f64 {
        let (steps, density) = (20_000, |x: f64| (-x * x / 2.0).inf_exp().unwrap());
        let step = 12.0 / f64::from(steps);
        let sum: f64 = (0..=steps)
            .map(|i| {
                let weight = if i == 0 || i == steps { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
                weight * density(t + f64::from(i) * step)
            })
            .sum();
        sum * step / 3.0 / (2.0 * std::f64::consts::PI).sqrt()
    }

    #[test]
    fn the_curve_is_nowhere_above_the_lines_and_touches_them_at_small_losses() {
        for epsilon in [0.01, 0.1, 0.5, 1.0, 2.0, 5.0] {
            let corner = 1.0 / (1.0 + f64::inf_exp(epsilon).unwrap());
            assert!(tail(mu(epsilon) / 2.0) <= corner + 1e-12, "{epsilon}");
        }
        let corner = 1.0 / (1.0 + f64::inf_exp(0.01).unwrap());
        assert!(corner - 1e-6 < tail(mu(0.01) / 2.0));
        assert!(corner < tail(mu(0.01) * 0.99 / 2.0), "a smaller loss would be refused");
    }
    #[test]
    fn keeps_what_is_nothing_and_what_is_infinite() {
        assert_eq!(mu(0.0), 0.0);
        assert_eq!(mu(f64::INFINITY), f64::INFINITY);
    }
    #[test]
    fn refuses_other_measures() {
        let gaussian = make_gaussian_accounting(pure(1.0)).unwrap();
        let error = make_gaussian_accounting(gaussian).unwrap_err();
        assert_eq!(error.kind(), "MeasureMismatch");
        assert!(error.to_string().contains("acme::gaussian_tradeoff"), "{error}");
    }
}
