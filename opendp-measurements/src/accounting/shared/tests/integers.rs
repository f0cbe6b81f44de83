//! Shares of discrete Gaussian noise on integers.

use super::*;

/// Return the law of the sum of two independent numbers. Each list contains the probabilities of a
/// range of integers with the centre 0. Probabilities at both ends are left out if they are
/// negligible compared with a delta of `1e-6`.
fn sum_of(first: &[f64], other: &[f64]) -> Vec<f64> {
    let mut law = vec![0.0; first.len() + other.len() - 1];
    for (place, p) in first.iter().enumerate() {
        for (sum, q) in law[place..].iter_mut().zip(other) {
            *sum += p * q;
        }
    }
    let far = law.iter().position(|p| 1e-25 < *p).unwrap();
    law[far..law.len() - far].to_vec()
}
/// Compute the delta of `count` releases with discrete Gaussian noise. Each release is one integer
/// plus noise. This integer differs by 1 between two neighbours. The total loss depends only on the
/// sum of all noise. The law of this sum is computed from the definition, by convolution. All terms
/// are positive, so rounding errors stay small.
fn integers(scale: f64, count: u32, epsilon: f64) -> f64 {
    let reach = (11.0 * scale).ceil() as i32;
    let weight = |z: i32| (-(f64::from(z) / scale).powi(2) / 2.0).exp();
    let all: f64 = (-reach..=reach).map(weight).sum();
    let single: Vec<f64> = (-reach..=reach).map(|z| weight(z) / all).collect();
    // Read the binary digits of the count, beginning with the most significant digit. For each
    // digit, double the number of releases. For a digit 1, also add one release.
    let mut law = vec![1.0];
    for digit in (0..count.ilog2() + 1).rev() {
        law = sum_of(&law, &law);
        if count >> digit & 1 == 1 {
            law = sum_of(&law, &single);
        }
    }
    let middle = law.len() as f64 / 2.0 - 0.5;
    let term = |(place, p): (usize, &f64)| {
        let sum = place as f64 - middle;
        let loss = (f64::from(count) + 2.0 * sum) / (2.0 * scale * scale);
        if epsilon < loss { p * -(epsilon - loss).exp_m1() } else { 0.0 }
    };
    law.iter().enumerate().map(term).sum()
}
#[test]
fn counts_with_discrete_noise_get_nearly_the_noise_of_the_exact_composition() {
    let discrete = |square, scale| SharePair::DiscreteGaussian { square, scale };
    for (count, close) in [(10, 4e-9), (100, 4e-9)] {
        let account = fitting("1e-6", &vec![discrete(1, 1.0); count]);
        let SharePair::DiscreteGaussian { scale, .. } = account.shares()[0] else { panic!() };
        let exact = |scale| integers(scale, count as u32, 1.0);
        // The function `integers` computes in plain floats, so a small relative error is allowed.
        let limit = 1e-6 * (1.0 + 5e-9);
        assert!(exact(scale) <= limit, "{count} {scale}: {}", exact(scale));
        // The control: with a little less noise, delta is too large.
        let less = scale * (1.0 - close);
        assert!(limit < exact(less), "{count} {scale}: {}", exact(less));
        let less = vec![discrete(1, less); count];
        let refused = SharedAccount::new(&"1".parse().unwrap(), &"1e-6".parse().unwrap(), &less);
        assert_eq!(refused.unwrap_err().kind(), "BudgetExceeded");
    }
    // A share admits a release with a smaller distance at the same scale. The share admits no
    // release at another scale, because the profiles at two scales cross.
    let share = discrete(4, 9.0);
    assert!(share.dominates(&share) && share.dominates(&discrete(1, 9.0)));
    assert!(!share.dominates(&discrete(9, 9.0)) && !share.dominates(&discrete(4, 9.1)));
    let mut crossed = (0..40).map(|k| f64::from(k) * 0.1);
    let delta = |scale: f64, epsilon| integers(scale, 1, epsilon);
    assert!(crossed.any(|epsilon| delta(1.0, epsilon) < delta(1.05, epsilon)));
    // For the share, the distance divided by the scale is 2/9. Continuous Gaussian noise does not
    // dominate the share, even if its `mu` is twice this quotient. The share dominates another kind
    // of noise only if the loss of this noise is 0.
    assert!(!gaussian(4.0 / 9.0).dominates(&share) && !share.dominates(&gaussian(1e-9)));
    assert!(!private(9.0).dominates(&share) && share.dominates(&gaussian(0.0)));
    assert_eq!(SharePair::from_json(&share.to_json()).unwrap(), share);
    for wrong in [f64::INFINITY, f64::NAN, -1.0, 0.0] {
        assert!(discrete(1, wrong).checked().is_err(), "{wrong}");
        // JSON has no infinite numbers, so an account with such a scale could not be read again.
        let laplace = SharePair::DiscreteLaplace { sensitivity: 1, scale: wrong };
        assert!(laplace.checked().is_err(), "{wrong}");
    }
}
#[test]
fn shares_of_vectors_of_integers_bound_every_shift_that_an_adversary_chooses() {
    // Take two releases of vectors. The square of the L2 distance is 4, so a shift can be 2 in one
    // number, or 1 in each of four numbers. The adversary sees the first loss, and then chooses the
    // shift of the second release.
    let (scale, square) = (3.0_f64, 4_u32);
    let law = |step: i32| -> Vec<(f64, f64)> {
        let weight = |u: i32| (-f64::from(u).powi(2) / (2.0 * scale * scale * 4.0)).exp();
        let all: Vec<i32> = (-120..=120).filter(|u| u % step == 0).collect();
        let total: f64 = all.iter().map(|u| weight(*u)).sum();
        let loss = |u: i32| (4.0 + 2.0 * f64::from(u)) / (2.0 * scale * scale);
        all.into_iter().map(|u| (loss(u), weight(u) / total)).collect()
    };
    let laws = [law(1), law(2)];
    let shares = [SharePair::DiscreteGaussian { square, scale }; 2];
    let (mut closest, mut fixed) = (0.0_f64, 0.0_f64);
    for epsilon in [0.3, 0.9, 1.45, 2.0, 2.6] {
        let after = |law: &[(f64, f64)], loss: f64| -> f64 {
            law.iter().map(|(more, p)| p * (1.0 - (epsilon - loss - more).exp()).max(0.0)).sum()
        };
        let best = |loss: f64| after(&laws[0], loss).max(after(&laws[1], loss));
        let both = |law: &[(f64, f64)], rest: &dyn Fn(f64) -> f64| -> f64 {
            law.iter().map(|(loss, p)| p * rest(*loss)).sum()
        };
        let adversary = both(&laws[0], &best).max(both(&laws[1], &best));
        let bound = composed(shares.iter()).delta_above(epsilon).unwrap();
        assert!(adversary <= bound, "{epsilon}: {adversary} {bound}");
        closest = closest.max(adversary / bound);
        // The control is an adversary that always shifts one number by 2. At some epsilon, its
        // delta is smaller than the delta of the adversary that chooses after the first loss.
        fixed = fixed.max(adversary / both(&laws[1], &|loss| after(&laws[1], loss)));
    }
    assert!(0.97 < closest && 1.001 < fixed, "{closest} {fixed}");
}
