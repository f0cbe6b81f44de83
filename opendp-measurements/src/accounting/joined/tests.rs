use super::super::gaussian::gaussian_tradeoff;
use super::*;

#[test]
fn the_normal_shift_of_a_pure_loss_is_below_randomized_response_everywhere() {
    for epsilon in [1e-9, 1e-3, 0.2, 1.0, 5.0, 30.0] {
        let mu = mu_of_pure(epsilon).unwrap();
        let e = f64::exp(epsilon);
        let response = |alpha: f64| (1.0 - e * alpha).max((1.0 - alpha) / e).max(0.0);
        for step in 0..=200 {
            let alpha = f64::from(step) / 200.0;
            let normal = gaussian_tradeoff(mu, alpha).unwrap().lower;
            assert!(normal <= response(alpha) + 1e-12, "{epsilon} {alpha}");
        }
        // The control: for a slightly smaller `mu`, the trade-off function of the normal shift
        // is above the point `(v, v)` of randomized response.
        let v = 1.0 / (1.0 + e);
        assert!(v < normal_tail(mu / 2.0 * (1.0 - 1e-6)).unwrap().lower, "{epsilon}");
        let back = pure_of_mu(mu).unwrap();
        assert!((back / epsilon - 1.0).abs() < 1e-6, "{epsilon} {back}");
        assert!(mu_of_pure(back).unwrap() <= mu);
    }
    assert_eq!(mu_of_pure(0.0).unwrap(), 0.0);
    assert_eq!(pure_of_mu(0.0).unwrap(), 0.0);
    // For a small loss, `mu` is about sqrt(pi / 2) times epsilon.
    assert!((mu_of_pure(1e-4).unwrap() / 1.253_314_137e-4 - 1.0).abs() < 1e-6);
}
/// The exact values are the roots of `T(mu / 2) = 1 / (1 + e^epsilon)`, with 60 digits.
#[test]
fn the_mu_of_a_large_pure_loss_is_tight() {
    for (epsilon, exact) in [
        (20.0, 11.758_418_713_653_1),
        (200.0, 39.607_338_760_602_42),
        (553.0, 66.246_805_931_716_46),
        (699.0, 74.536_552_124_149_92),
        (701.0, 74.643_727_962_346_27),
        (1e5, 894.395_787_357_050_2),
    ] {
        let found = mu_of_pure(epsilon).unwrap();
        assert!(exact * (1.0 - 1e-15) <= found, "{epsilon}: {found}");
        let slack = if epsilon <= 700.0 { 1e-9 } else { 1e-3 };
        assert!(found <= exact * (1.0 + slack), "{epsilon}: {found}");
    }
    assert_eq!(mu_of_pure(f64::INFINITY).unwrap(), f64::INFINITY);
    assert!(mu_of_pure(f64::NAN).is_err());
    let found: Vec<f64> = (0..1600).map(|e| mu_of_pure(f64::from(e)).unwrap()).collect();
    assert!(found.windows(2).all(|pair| pair[0] < pair[1]));
    // A slightly larger epsilon never gives a smaller `mu`, also across the two methods.
    for epsilon in [1e-16, 1e-8, 1e-4, 0.01, 0.1, 0.9, 5.0, 15.999_999_999_999, 30.0] {
        let close = (0..60).map(|k| epsilon * (1.0 + f64::from(k) * 1e-14));
        let found: Vec<f64> = close.map(|e| mu_of_pure(e).unwrap()).collect();
        assert!(found.is_sorted(), "{epsilon}: {found:?}");
    }
}
#[test]
fn delta_in_floats_is_never_below_the_certified_one_and_close_to_it() {
    for mu in [1e-9, 1e-4, 0.02, 0.3, 1.0, 7.0, 60.0] {
        for part in [0.0, 1e-3, 0.5, 1.0, 3.0, 8.0, 30.0] {
            let epsilon = part * mu + mu * mu / 2.0;
            let exact = gaussian_delta(mu, epsilon).unwrap();
            let found = gaussian_delta_above(mu, epsilon).unwrap();
            assert!(exact.lower <= found, "{mu} {epsilon}: {found} {exact:?}");
            assert!(found <= exact.upper * (1.0 + 2e-6), "{mu} {epsilon}: {found} {exact:?}");
        }
    }
}
#[test]
fn a_negative_loss_is_refused() {
    for (pure, epsilon) in [(-1.0, 1.0), (0.0, -1.0), (f64::NAN, 1.0), (0.0, f64::NAN)] {
        let error = joined_delta(pure, 0.5, epsilon).unwrap_err();
        assert_eq!(error.kind(), "InvalidDistance", "{pure} {epsilon}");
    }
}
#[test]
fn an_infinite_epsilon_leaves_only_infinite_losses() {
    let infinite = f64::INFINITY;
    for pure in [0.0, 1e-300, 1.0, f64::MAX] {
        assert_eq!(joined_delta(pure, 0.5, infinite), Ok(0.0), "{pure}");
        assert_eq!(joined_delta(pure, infinite, infinite), Ok(1.0), "{pure}");
        let error = joined_delta(pure, f64::NAN, infinite).unwrap_err();
        assert_eq!(error.kind(), "InvalidDistance", "{pure}");
        assert!(1e99 < joined_mu(pure, infinite, 1e-6).unwrap(), "{pure}");
    }
    for epsilon in [0.0, 1.0, infinite] {
        assert_eq!(joined_delta(infinite, 0.5, epsilon), Ok(1.0), "{epsilon}");
        assert_eq!(joined_mu(infinite, epsilon, 1e-6), Ok(0.0), "{epsilon}");
    }
    assert_eq!(joined_epsilon(infinite, 0.5, 1e-6), Ok(infinite));
}
#[test]
fn a_pure_loss_shifts_a_gaussian_profile_by_less_than_itself() {
    let (pure, mu) = (0.4, 0.15);
    // Integrate on a fine grid over the loss of the Gaussian noise, which has the law
    // `N(mu^2 / 2, mu^2)`.
    let direct = |epsilon: f64| -> f64 {
        let p = 1.0 / (1.0 + f64::exp(-pure));
        [(p, pure), (1.0 - p, -pure)]
            .map(|(mass, loss)| {
                (-80_000..80_000)
                    .map(|step| {
                        let z = f64::from(step) / 10_000.0;
                        let density = 0.398_942_280_401_432_7 * f64::exp(-z * z / 2.0) / 1e4;
                        let total = loss + mu * mu / 2.0 + mu * z;
                        mass * density * (1.0 - f64::exp(epsilon - total)).max(0.0)
                    })
                    .sum::<f64>()
            })
            .iter()
            .sum()
    };
    for epsilon in [0.5, 0.8, 1.0] {
        let found = joined_delta(pure, mu, epsilon).unwrap();
        assert!((found / direct(epsilon) - 1.0).abs() < 1e-5, "{epsilon} {found}");
        assert!(found < gaussian_delta(mu, epsilon - pure).unwrap().lower);
        let back = joined_mu(pure, epsilon, found).unwrap();
        assert!(back <= mu * (1.0 + 1e-9) && mu * (1.0 - 2e-6) < back, "{back}");
        let back = joined_epsilon(pure, mu, found * (1.0 + 1e-12)).unwrap();
        assert!(epsilon * (1.0 - 1e-9) <= back && back < epsilon * (1.0 + 2e-6), "{back}");
    }
    assert_eq!(joined_mu(0.4, 0.3, 1e-6).unwrap(), 0.0);
    assert_eq!(joined_mu(0.0, 1.0, 0.0).unwrap(), 0.0);
    assert_eq!(joined_epsilon(0.4, 0.0, 0.0).unwrap(), 0.4);
    assert_eq!(joined_epsilon(0.0, 0.1, 0.0).unwrap(), f64::INFINITY);
}
