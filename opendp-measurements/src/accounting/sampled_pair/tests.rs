//! Samples are compared with closed forms and with each other.

use super::super::{Account, GaussianPair, LaplacePair, PrivatePair, ThresholdedPair};
use super::*;

#[test]
fn a_grid_on_one_side_of_zero_has_the_losses_of_one_direction() {
    let pairs: [Arc<dyn DominatingPair>; 2] =
        [Arc::new(GaussianPair { mu: 2.0 }), Arc::new(LaplacePair { epsilon: 2.0 })];
    for pair in pairs {
        let both = FixedSizePair::of(pair, 0.9);
        for (low, high) in [(0.75, 1.5), (-1.5, -0.75)] {
            let grid = Grid::covering(1.0 / 64.0, low, high);
            let buckets = both.buckets(&grid);
            assert!(buckets.relative < 1e-11, "{low}: {}", buckets.relative);
            // The loss 0 has a positive probability, and is outside of the grid.
            assert!(buckets.at_edges.iter().all(|(_, p)| *p < 0.01), "{low}");
            let inside: f64 = buckets.p.iter().chain(buckets.at_edges.iter().map(|(_, p)| p)).sum();
            let all = inside + buckets.below + buckets.above;
            assert!((all - 1.0).abs() < 1e-9, "{low}: {all}");
        }
    }
}
#[test]
fn a_sample_of_fixed_size_loses_as_much_as_a_removal_at_a_small_delta() {
    let pair = Arc::new(GaussianPair { mu: 1.0 });
    for (rate, delta) in [(0.01, 1e-10), (0.3, 1e-20)] {
        let account = |pair: Arc<dyn DominatingPair>| Account::new().with(pair, 1);
        let both = account(Arc::new(FixedSizePair::of(pair.clone(), rate)));
        let removed = account(SampledPair::of(pair.clone(), rate, true));
        let (found, exact) =
            (both.epsilon_above(delta).unwrap(), removed.epsilon_above(delta).unwrap());
        assert!((found / exact - 1.0).abs() < 1e-4, "{rate} {delta}: {found} {exact}");
    }
}
#[test]
fn large_losses_on_a_sample_and_their_inverses_are_exact() {
    // Let `x` be the loss without sampling, and `q` the rate. A large loss on a sample is about
    // `x + ln q`.
    for rate in [0.5, 1e-5, 1e-100, 1e-270] {
        for x in [699.0, 700.0, 700.5, 709.0, 1500.0, 1e9, 1e300] {
            let loss = x + ln(rate);
            let close = |found: f64, wanted: f64| (found - wanted).abs() <= 1e-12 * x;
            assert!(close(mixed(x, rate), loss), "{rate} {x}");
            assert!(close(ln_unmixed(loss, rate), x), "{rate} {x}");
        }
    }
    // Here the rate is the smallest positive float, so the loss is 0 or slightly above 0.
    assert!((0.0..1e-18).contains(&mixed(701.0, f64::from_bits(1))));
}
/// If a record is added, an event that reveals everything has the loss `-ln(1 - q)` on a sample
/// with the rate `q`. So the delta of the event counts about `q` times in both directions.
#[test]
fn an_event_of_infinite_loss_is_as_rare_as_the_sample() {
    let (rate, delta, count) = (0.01, 1e-8, 1000);
    let noise = Arc::new(LaplacePair { epsilon: 1.0 });
    for removed in [true, false] {
        let pair = Arc::new(ThresholdedPair { noise: noise.clone(), delta });
        let account = Account::new().with(SampledPair::of(pair, rate, removed), count);
        // At an epsilon of 5, the finite losses have a negligible delta.
        let (found, exact) = (account.delta_above(5.0).unwrap(), rate * delta * count as f64);
        assert!((exact * 0.999..exact * 1.01).contains(&found), "{removed}: {found:e}");
    }
}
/// At a rate near 1, the mass at the loss 0 is smaller than its rounding error. A sample of all
/// records loses as much as the mechanism, and a sample of fewer records does not lose more.
#[test]
fn a_sample_of_nearly_all_records_loses_as_much_as_all_records() {
    let pairs: [Arc<dyn DominatingPair>; 3] = [
        Arc::new(GaussianPair { mu: 1.0 }),
        Arc::new(LaplacePair { epsilon: 1.0 }),
        Arc::new(PrivatePair { epsilon: 1.0, delta: 1e-8 }),
    ];
    for pair in pairs {
        for count in [1, 3] {
            let all = Account::new().with(pair.clone(), count).epsilon(1e-6).unwrap();
            for gap in [1e-7, 1e-9, 1e-11, 1e-13, f64::EPSILON / 2.0] {
                let sample = Arc::new(FixedSizePair::of(pair.clone(), 1.0 - gap));
                let found = Account::new().with(sample, count).epsilon(1e-6).unwrap();
                let case = format!("{pair:?} {count} {gap}: {found:?} {all:?}");
                assert!(found.lower <= all.upper, "{case}");
                assert!(all.lower * (1.0 - 1e-4) <= found.upper, "{case}");
                assert!(found.upper <= all.upper * (1.0 + 1e-3), "{case}");
            }
        }
    }
}
