//! Transforms are compared with their definition. Sums of waves (values of transforms) are compared
//! with grids and exact values.

use super::super::normal_mass::upper_tail;
use super::super::{
    Account, BoundedRangePair, Buckets, Certified, CurvePair, DiscreteLaplacePair, GaussianPair,
    Grid, LaplacePair, PrivatePair, SampledGaussianPair, SampledLaplacePair, gaussian_delta,
    gaussian_epsilon,
};
use super::*;

fn sampled(mu: f64, rate: f64, removed: bool) -> SampledGaussianPair {
    SampledGaussianPair { mu, rate, removed }
}
fn sampled_laplace(epsilon: f64, rate: f64, removed: bool) -> SampledLaplacePair {
    SampledLaplacePair { epsilon, rate, removed }
}
/// Return a pair for Gaussian noise that is known only by its profile.
fn curve(mu: f64) -> CurvePair {
    CurvePair::new(mu * (mu / 2.0 + 9.5), move |epsilon| {
        let (low, high) = (epsilon / mu - mu / 2.0, epsilon / mu + mu / 2.0);
        (upper_tail(low) - exp(epsilon) * upper_tail(high)).max(1e-20) * (1.0 + 1e-9)
    })
}
fn pairs() -> Vec<Arc<dyn DominatingPair>> {
    vec![
        Arc::new(GaussianPair { mu: 0.3 }),
        Arc::new(LaplacePair { epsilon: 0.1 }),
        Arc::new(LaplacePair { epsilon: 2.0 }),
        Arc::new(BoundedRangePair { epsilon: 0.01 }),
        Arc::new(BoundedRangePair { epsilon: 3.0 }),
        Arc::new(sampled(1.0, 0.01, true)),
        Arc::new(sampled(1.0, 0.01, false)),
        Arc::new(sampled(0.1, 0.3, true)),
        Arc::new(sampled(2.5, 0.1, false)),
        Arc::new(sampled(2.5, 0.999, true)),
        Arc::new(sampled_laplace(1.0, 0.1, true)),
        Arc::new(sampled_laplace(0.2, 0.5, false)),
        Arc::new(sampled_laplace(1.0, 0.01, false)),
        Arc::new(curve(0.5)),
        Arc::new(PrivatePair { epsilon: 0.3, delta: 0.0 }),
        Arc::new(DiscreteLaplacePair { sensitivity: 1, scale: 5.0 }),
        Arc::new(DiscreteLaplacePair { sensitivity: 3, scale: 2.0 }),
        Arc::new(DiscreteLaplacePair { sensitivity: 40, scale: 30.0 }),
    ]
}
/// A wrapper that hides the transform of a pair. So an account composes the pair on a grid.
#[derive(Debug)]
struct OnGrid(Arc<dyn DominatingPair>);
impl DominatingPair for OnGrid {
    fn range(&self, tail: f64) -> (f64, f64) {
        self.0.range(tail)
    }
    fn buckets(&self, grid: &Grid) -> Buckets {
        self.0.buckets(grid)
    }
    fn unit(&self) -> Option<f64> {
        self.0.unit()
    }
    fn reverse(&self) -> Option<Arc<dyn DominatingPair>> {
        Some(Arc::new(OnGrid(self.0.reverse()?)))
    }
}
/// Compute the mean of `e^(z x)` over the loss `x` by its definition. The buckets are narrow, so
/// the position of a loss in its bucket has a negligible effect.
fn by_definition(pair: &dyn DominatingPair, z: Complex) -> Complex {
    let (low, high) = pair.range(1e-40);
    let grid = Grid::covering((high - low) / 60_000.0, low, high);
    let buckets = pair.buckets(&grid);
    let mut total = Complex::new(0.0, 0.0);
    for (i, (p, q)) in buckets.p.iter().zip(&buckets.q).enumerate() {
        if *p > 0.0 {
            let middle = grid.edge(i) + grid.step / 2.0;
            // `ln(p / q)` is approximately the mean loss of the bucket.
            let x = if *q > 1e-290 { (p / q).ln() } else { middle };
            let x = if (x - middle).abs() < grid.step { x } else { middle };
            total += *p * (z * x).exp();
        }
    }
    for &(edge, p) in &buckets.at_edges {
        total += p * (z * grid.edge(edge)).exp();
    }
    total
}

#[test]
fn transforms_are_those_of_the_definition() {
    for pair in pairs() {
        for tilt in [0.0, 0.7, 3.0] {
            let highest = 40.0;
            let tilted = pair.tilted(tilt, highest).unwrap();
            let whole = by_definition(&*pair, Complex::new(tilt, 0.0));
            let (log, error) = tilted.log();
            assert!((log - whole.re.ln()).abs() < 1e-6, "{pair:?} {tilt}: {log}");
            assert!(error < 1e-11);
            let start = tilted.wave(0.0);
            assert!((start.re - 1.0).abs() <= start.error && start.im.abs() <= start.error);
            for frequency in [0.01, 0.5, 3.0, 11.0, highest] {
                let exact = by_definition(&*pair, Complex::new(tilt, frequency)) / whole;
                let exact = exact * Complex::new(0.0, -frequency * tilted.centre()).exp();
                let wave = tilted.wave(frequency);
                let off = (exact - Complex::new(wave.re, wave.im)).norm_sqr().sqrt();
                let slack = 1e-8 * (100.0 + frequency * frequency);
                assert!(off < slack, "{pair:?} {tilt} {frequency}: {wave:?} {exact}");
                assert!(wave.error < 1e-11, "{pair:?} {tilt} {frequency}: {wave:?}");
            }
            // The control: the check detects a small error of the tilt.
            let other = pair.tilted(tilt + 0.02, highest).unwrap().log().0;
            assert!((other - log).abs() > 1e-6 || tilted.centre().abs() < 1e-3, "{pair:?} {tilt}");
        }
    }
}
/// Sums over outputs with a large and a small step give the same transform, up to their errors.
#[test]
fn sums_of_different_steps_agree() {
    let mut wrong = 0;
    for (mu, rate) in [(1.0, 0.01), (0.1, 0.3), (3.0, 0.001), (2.5, 0.999)] {
        for removed in [true, false] {
            for tilt in [0.0, 0.7, 6.0] {
                let tilted_to = |highest| sampled(mu, rate, removed).tilted(tilt, highest).unwrap();
                let (narrow, wide, short) = (tilted_to(5.0), tilted_to(80.0), tilted_to(0.0));
                let gap = (narrow.log().0 - wide.log().0).abs();
                assert!(gap <= narrow.log().1 + wide.log().1, "{mu} {rate} {tilt}: {gap}");
                let turn = Complex::new(0.0, -5.0 * (wide.centre() - narrow.centre())).exp();
                let value = |tilted: &dyn Tilted| {
                    let wave = tilted.wave(5.0);
                    Complex::new(wave.re, wave.im)
                };
                let gap = (value(&*narrow) - value(&*wide) / turn).norm_sqr().sqrt();
                assert!(gap < 2e-14, "{mu} {rate} {tilt}: {gap}");
                assert!(gap <= narrow.wave(5.0).error + wide.wave(5.0).error);
                // The control: waves are often wrong if the frequency is too high for the step.
                let high = |tilted: &dyn Tilted| {
                    let wave = tilted.wave(80.0);
                    Complex::new(wave.re, wave.im).norm_sqr().sqrt()
                };
                wrong += i32::from((high(&*short) - high(&*wide)).abs() > 1e-9);
            }
        }
    }
    assert!(wrong > 8, "{wrong}");
}
#[test]
fn envelopes_are_above_all_higher_waves() {
    // In the last pair, the differences of most losses are below the precision of floats.
    let wide: [Arc<dyn DominatingPair>; 2] =
        [Arc::new(sampled(7.0, 0.01, true)), Arc::new(sampled(7.0, 1e-6, false))];
    let mut seen = 0;
    for pair in pairs().into_iter().chain(wide) {
        for tilt in [0.0, 0.5, 4.0] {
            for highest in [8.0, 40.0, 150.0] {
                let Some(tilted) = pair.tilted(tilt, highest) else { continue };
                seen += 1;
                let (mut far_below, mut largest) = (0, 0.0f64);
                for n in (1..=400).rev() {
                    let frequency = f64::from(n) * highest / 400.0;
                    let wave = tilted.wave(frequency);
                    let modulus = Complex::new(wave.re, wave.im).norm_sqr().sqrt();
                    largest = largest.max(modulus);
                    let envelope = tilted.envelope(frequency);
                    let slack = wave.error + 1e-150;
                    assert!(largest <= envelope + slack, "{pair:?} {tilt} {frequency}");
                    far_below += i32::from(largest < 0.5 * envelope);
                }
                // The control: half of the envelope is not a bound.
                assert!(far_below < 400, "{pair:?} {tilt}");
            }
        }
    }
    assert!(seen > 95, "{seen}");
}
#[test]
fn encloses_what_grids_enclose() {
    let check = |parts: &[(Arc<dyn DominatingPair>, u64)], epsilon: f64| {
        let account = |hide: bool| {
            let add = |account: Account, (pair, count): &(Arc<dyn DominatingPair>, u64)| match hide
            {
                true => account.with(Arc::new(OnGrid(pair.clone())), *count),
                false => account.with(pair.clone(), *count),
            };
            parts.iter().fold(Account::new().tolerating(1e-3), add)
        };
        assert!(Inversion::of(parts, Target::Epsilon(epsilon), 1e-3, MOST).is_some(), "{parts:?}");
        let (waves, grid) =
            (account(false).delta(epsilon).unwrap(), account(true).delta(epsilon).unwrap());
        assert!(grid.lower <= waves.lower && waves.upper <= grid.upper, "{waves:?} {grid:?}");
        assert!(waves.upper <= waves.lower * (1.0 + 1e-4), "{parts:?} {waves:?}");
        let found = account(false).epsilon(waves.upper).unwrap();
        let upper = found.upper + 1e-5 * (1.0 + epsilon);
        assert!(found.lower <= epsilon && epsilon <= upper, "{found:?} {epsilon}");
        // The control: delta at a slightly larger epsilon is outside the interval.
        let other = account(false).delta(epsilon * 1.02 + 0.02).unwrap();
        assert!(other.upper < waves.lower, "{other:?} {waves:?}");
    };
    let part = |pair: &dyn Fn() -> Arc<dyn DominatingPair>, count: u64| (pair(), count);
    let laplace = part(&|| Arc::new(LaplacePair { epsilon: 0.1 }), 500);
    let range = part(&|| Arc::new(BoundedRangePair { epsilon: 0.5 }), 40);
    let gaussian = part(&|| Arc::new(GaussianPair { mu: 0.2 }), 30);
    let removed = part(&|| Arc::new(sampled(1.0, 0.02, true)), 1000);
    let added = part(&|| Arc::new(sampled(1.0, 0.02, false)), 1000);
    for epsilon in [0.5, 3.0, 12.0] {
        for part in [&laplace, &range, &gaussian] {
            check(std::slice::from_ref(part), epsilon);
        }
        for part in [&removed, &added] {
            check(std::slice::from_ref(part), epsilon / 3.0);
        }
        check(&[laplace.clone(), range.clone(), gaussian.clone(), removed.clone()], epsilon + 6.0);
    }
}
#[test]
fn normal_losses_are_enclosed_to_many_digits() {
    for mu in [0.01f64, 0.3, 1.0, 4.0] {
        for count in [1u64, 100] {
            let pair: Arc<dyn DominatingPair> = Arc::new(GaussianPair { mu });
            let account = Account::new().with(pair, count).tolerating(1e-6);
            let all = mu * (count as f64).sqrt();
            for shift in [-1.0, 0.0, 2.0, 6.0, 20.0] {
                let epsilon = (all * all / 2.0 + shift * all).max(0.0);
                let found = account.delta(epsilon).unwrap();
                // The rounding error of `all` is less than `1e-15` times `all`.
                let exact = Certified {
                    lower: gaussian_delta(all * (1.0 - 1e-15), epsilon).unwrap().lower,
                    upper: gaussian_delta(all * (1.0 + 1e-15), epsilon).unwrap().upper,
                };
                assert!(found.lower <= exact.upper && exact.lower <= found.upper, "{mu} {shift}");
                assert!(found.upper <= exact.lower * (1.0 + 2e-6), "{mu} {shift} {found:?}");
                let wrong = gaussian_delta(all * (1.0 + 1e-5), epsilon).unwrap().lower;
                assert!(found.upper < wrong, "{mu} {shift} {found:?} {wrong}");
            }
        }
    }
}
#[test]
fn says_nothing_where_waves_do_not_fade() {
    // One Laplace release has two losses of positive mass (atoms). The waves of atoms do not decay.
    let pair: (Arc<dyn DominatingPair>, u64) = (Arc::new(LaplacePair { epsilon: 1.0 }), 1);
    assert!(Inversion::of(std::slice::from_ref(&pair), Target::Epsilon(0.5), 1e-4, MOST).is_none());
    let many = (pair.0, 2000);
    assert!(Inversion::of(&[many], Target::Epsilon(1000.0), 1e-4, MOST).is_some());
    let atoms: (Arc<dyn DominatingPair>, u64) =
        (Arc::new(OnGrid(Arc::new(LaplacePair { epsilon: 1.0 }))), 2000);
    assert!(Inversion::of(&[atoms], Target::Epsilon(1000.0), 1e-4, MOST).is_none());
}
/// Return one part for each scale: a pair with one release.
fn many(
    pair: impl Fn(f64) -> Arc<dyn DominatingPair>,
    scales: usize,
) -> Vec<(Arc<dyn DominatingPair>, u64)> {
    (0..scales).map(|i| (pair(20.0 + 0.1 * i as f64), 1)).collect()
}
fn laplace(scale: f64) -> Arc<dyn DominatingPair> {
    Arc::new(LaplacePair { epsilon: 1.0 / scale })
}
#[test]
fn a_thousand_different_scales_need_a_bounded_number_of_waves() {
    let parts = many(laplace, 1000);
    // The control: without smoothing, high frequencies have no small bound.
    assert!(Inversion::of(&parts, Target::Delta(1e-6), 1e-4, MOST).is_none());
    let sum = Inversion::smoothed(&parts, Target::Delta(1e-6), 1e-4).unwrap();
    assert!(sum.waves.len() < 4096, "{}", sum.waves.len());
    // The account returns the epsilon of this sum, without a grid of a thousand pairs.
    let account = parts.iter().fold(Account::new(), |all, part| all.with(part.0.clone(), 1));
    let found = account.epsilon_above(1e-6).unwrap();
    assert!(sum.delta_above(found) <= 1e-6 && 1e-6 < sum.delta_above(found * (1.0 - 1e-9)));
}
#[test]
fn a_smoothed_sum_is_a_bound_within_a_tenth_of_a_percent() {
    let discrete = |sensitivity| {
        move |scale| -> Arc<dyn DominatingPair> {
            Arc::new(DiscreteLaplacePair { sensitivity, scale })
        }
    };
    let private = |scale: f64| -> Arc<dyn DominatingPair> {
        Arc::new(PrivatePair { epsilon: 1.0 / scale, delta: 0.0 })
    };
    for scales in [many(laplace, 5), many(discrete(1), 5), many(discrete(7), 5), many(private, 5)] {
        // The account composes five scales on a grid. In `parts`, each release is a separate part.
        let account = scales.iter().fold(Account::new(), |all, part| all.with(part.0.clone(), 8));
        let parts: Vec<_> = (0..8).flat_map(|_| scales.clone()).collect();
        for delta in [1e-3, 1e-6, 1e-10] {
            let exact = account.epsilon(delta).unwrap();
            let sum = Inversion::smoothed(&parts, Target::Delta(delta), 1e-4).unwrap();
            let delta_at = |epsilon: f64| sum.delta_above(epsilon);
            assert!(delta <= delta_at(exact.lower * (1.0 - 1e-9)), "{delta} {exact:?}");
            assert!(delta_at(exact.upper * 1.001) <= delta, "{delta} {exact:?}");
        }
    }
}
/// Return the smoothed sum of some parts at a delta, and the epsilon from an account of the same
/// parts.
fn answer(parts: &[(Arc<dyn DominatingPair>, u64)], delta: f64) -> (Inversion, f64) {
    let sum = Inversion::smoothed(parts, Target::Delta(delta), 1e-4).unwrap();
    let account = parts.iter().fold(Account::new(), |all, part| all.with(part.0.clone(), 1));
    // `found` is the larger epsilon of the two directions: at least the epsilon of `sum`.
    let found = account.epsilon_above(delta).unwrap();
    assert!(sum.delta_above(found) <= delta);
    (sum, found)
}
#[test]
fn a_thousand_different_samples_need_a_bounded_number_of_waves() {
    for removed in [true, false] {
        let gaussian = |scale: f64| -> Arc<dyn DominatingPair> {
            Arc::new(sampled(20.0 / scale, 0.0005 * scale, removed))
        };
        let laplace = |scale: f64| -> Arc<dyn DominatingPair> {
            Arc::new(sampled_laplace(20.0 / scale, 0.0005 * scale, removed))
        };
        for parts in [many(gaussian, 1000), many(laplace, 1000)] {
            let (sum, _) = answer(&parts, 1e-6);
            // Only the waves of the added Gaussian release are computed one by one. A single wave
            // of one of the thousand pairs would be a sum over hundreds of outputs.
            assert!(sum.waves.len() < 2048, "{}", sum.waves.len());
            let (one_by_one, gathered) = sum.work;
            assert!(one_by_one < 2048 && 1000 <= gathered, "{one_by_one} {gathered}");
            assert!(gathered < 200_000, "{gathered}");
        }
    }
}
#[test]
fn many_different_samples_are_bounded_within_a_tenth_of_a_percent() {
    for removed in [true, false] {
        let gaussian = |i: usize| -> Arc<dyn DominatingPair> {
            Arc::new(sampled(0.5 + 0.1 * i as f64, 0.02, removed))
        };
        let laplace = |i: usize| -> Arc<dyn DominatingPair> {
            Arc::new(sampled_laplace(1.0, 0.02 + 0.03 * i as f64, removed))
        };
        let four_of = |pair: &dyn Fn(usize) -> Arc<dyn DominatingPair>| (0..4).map(pair).collect();
        let kinds: [Vec<Arc<dyn DominatingPair>>; 2] = [four_of(&gaussian), four_of(&laplace)];
        for kinds in kinds {
            // The account composes four kinds on a grid. In `parts`, each release is a separate
            // part.
            let joined = |all: Account, pair: &Arc<dyn DominatingPair>| {
                all.with(Arc::new(OneWay(Arc::new(OnGrid(pair.clone())))), 25)
            };
            let account = kinds.iter().fold(Account::new(), joined);
            let parts: Vec<_> = (0..100).map(|i| (kinds[i % 4].clone(), 1)).collect();
            for delta in [1e-4, 1e-7] {
                let exact = account.epsilon(delta).unwrap();
                let sum = Inversion::smoothed(&parts, Target::Delta(delta), 1e-4);
                let sum = sum.unwrap_or_else(|| panic!("{delta} {kinds:?}"));
                let delta_at = |epsilon: f64| sum.delta_above(epsilon);
                assert!(0 < sum.work.1);
                assert!(delta <= delta_at(exact.lower * (1.0 - 1e-9)), "{delta} {exact:?}");
                assert!(delta_at(exact.upper * 1.001) <= delta, "{delta} {exact:?}");
            }
        }
    }
}
#[test]
fn a_hundred_different_curves_need_a_bounded_number_of_waves_and_are_tight() {
    let mu = |i: usize| 0.1 + 0.002 * i as f64;
    let parts: Vec<(Arc<dyn DominatingPair>, u64)> =
        (0..100).map(|i| (Arc::new(curve(mu(i))) as Arc<dyn DominatingPair>, 1)).collect();
    // The control: without smoothing, high frequencies have no small bound.
    assert!(Inversion::of(&parts, Target::Delta(1e-6), 1e-4, MOST).is_none());
    let (sum, found) = answer(&parts, 1e-6);
    let (one_by_one, gathered) = sum.work;
    assert!(one_by_one < 2048 && gathered < 50_000, "{one_by_one} {gathered}");
    let all = (0..100).map(|i| mu(i) * mu(i)).sum::<f64>().sqrt();
    let exact = gaussian_epsilon(all, 1e-6).unwrap();
    assert!(exact.lower <= found && found <= 1.001 * exact.upper, "{found} {exact:?}");
}
#[test]
fn a_high_tilt_of_an_added_record_takes_few_terms() {
    let tilted = sampled(0.8, 0.02, false).tilted(500.0, 10.0).unwrap();
    let atoms = tilted.listed().unwrap().atoms.len();
    assert!((100..800).contains(&atoms), "{atoms}");
    // `log` is at most the tilt times the largest loss, which is `-ln(1 - rate)`.
    let (log, error) = tilted.log();
    assert!(log <= -500.0 * (-0.02f64).ln_1p() + error && 0.0 < log && error < 1e-9, "{log}");
}
/// Each release reveals everything with a small probability, which is part of delta.
#[test]
fn a_sum_of_curves_counts_what_they_reveal() {
    let revealing = |i: usize| {
        let loss = 0.1 + 0.001 * i as f64;
        let delta = move |e: f64| if e < loss { 1e-8 - ((e - loss) / 2.0).exp_m1() } else { 1e-8 };
        Arc::new(CurvePair::new(1.0, delta)) as Arc<dyn DominatingPair>
    };
    let parts: Vec<_> = (0..80).map(|i| (revealing(i), 1)).collect();
    let sum = Inversion::smoothed(&parts, Target::Delta(1e-5), 1e-4).unwrap();
    let all = 80e-8;
    assert!(all * (1.0 - 1e-6) <= sum.infinite && sum.infinite <= all * (1.0 + 1e-6));
    assert!(all <= sum.delta_above(sum.expected + 100.0 * f64::EPSILON));
    let (high, low) = (sum.delta_above(sum.expected), sum.delta_below(sum.expected));
    assert!(all * 0.999 < high - low, "{high} {low}");
}
/// A pair for one direction only: it has no reverse.
#[derive(Debug)]
struct OneWay(Arc<dyn DominatingPair>);
impl DominatingPair for OneWay {
    fn range(&self, tail: f64) -> (f64, f64) {
        self.0.range(tail)
    }
    fn buckets(&self, grid: &Grid) -> Buckets {
        self.0.buckets(grid)
    }
}
