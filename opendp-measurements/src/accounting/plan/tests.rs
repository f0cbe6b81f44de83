use std::sync::Arc;

use super::super::{Account, LaplacePair, SampledGaussianPair, SampledPair, gaussian_delta};
use super::*;

fn sampled(mu: f64, rate: f64, removed: bool) -> Arc<dyn DominatingPair> {
    Arc::new(SampledGaussianPair { mu, rate, removed })
}

/// Return the exact delta of one release for a removed record (Zhu, Dong, Wang 2022, Theorem 11).
fn exact(mu: f64, rate: f64, epsilon: f64) -> f64 {
    rate * gaussian_delta(mu, ((epsilon.exp() - 1.0 + rate) / rate).ln()).unwrap().upper
}

/// For one release on a sample, the loss is nearly always tiny, and rarely large. Then the
/// coarse estimate is poor. So a tight bound needs a second plan, which is made from a first bound.
#[test]
fn one_release_on_a_sample_is_within_a_tenth_of_a_percent() {
    for (mu, rate) in [(1.0, 0.01), (1.0, 0.001), (0.3, 0.01), (3.0, 0.01), (1.0, 0.3)] {
        for delta in [1e-5, 1e-6, 1e-9] {
            let account = Account::new().with(sampled(mu, rate, true), 1);
            let found = account.epsilon_above(delta).unwrap();
            assert!(exact(mu, rate, found) <= delta * (1.0 + 1e-9), "{mu} {rate} {delta}: {found}");
            let lower = found * (1.0 - 1e-3);
            assert!(delta < exact(mu, rate, lower), "{mu} {rate} {delta}: {found}");
        }
    }
}

/// If a record is added, the largest loss on a sample is a little above 0. Then only losses near
/// the largest loss contribute to delta. The number of buckets must not depend on the much longer
/// range of all losses.
#[test]
fn few_different_samples_need_few_buckets_in_both_directions() {
    let laplace =
        |epsilon: f64, removed| SampledPair::of(Arc::new(LaplacePair { epsilon }), 0.1, removed);
    for removed in [true, false] {
        let gauss = |mu: f64, rate| (sampled(mu, rate, removed), 1);
        let few: [Vec<PairCount>; 4] = [
            vec![gauss(1.0, 0.01), gauss(1.5, 0.015)],
            vec![gauss(3.0, 0.01), gauss(4.0, 0.013), gauss(5.0, 0.016)],
            vec![gauss(3.0, 0.01)],
            [0.5, 0.7, 0.8].map(|epsilon| (laplace(epsilon, removed), 1)).to_vec(),
        ];
        for parts in few {
            let mut plan = Plan::of(&parts, Target::Delta(1e-6), 1e-4);
            let sum = plan.convolve(&parts, Side::Above).unwrap();
            let losses = plan.discretise(&parts, Side::Above);
            let buckets: usize = losses.iter().map(|(loss, _)| loss.mass.len()).sum();
            assert!(buckets < 200_000, "{parts:?}: {buckets}");
            assert!(plan.length <= 1 << 16 && sum.outside() <= 2.0 * plan.outside, "{plan:?}");
        }
    }
}
