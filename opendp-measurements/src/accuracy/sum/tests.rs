use opendp_core::random::Seeded;

use super::*;
use crate::Scale;
use crate::samplers::{discrete_gaussian, discrete_laplace};

fn scale(scale: f64) -> Scale {
    Scale::new(scale).unwrap()
}
fn term(noise: fn(Scale) -> Noise, s: f64) -> Term {
    Term::new(noise(scale(s)))
}
fn weight(numerator: i64, denominator: i64) -> Weight {
    Weight::new(numerator, denominator).unwrap()
}
/// Find by bisection the point at which a decreasing function equals `alpha`.
fn root(tail: impl Fn(f64) -> f64, alpha: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if tail(middle) <= alpha { high = middle } else { low = middle }
    }
    high
}
/// Return whether a bound is at least the exact value, up to a rounding error. The bound must also
/// exceed the exact value by a relative amount of at most `by`.
fn certain(found: f64, exact: f64, by: f64) -> bool {
    exact * (1.0 - 1e-12) <= found && found <= exact * (1.0 + by)
}

#[test]
fn two_laplaces_have_the_tail_of_the_closed_form() {
    // At scale 1, the density of the sum at x is (1 + |x|) exp(-|x|) / 4.
    let tail = |t: f64| (2.0 + t) * (-t).exp() / 2.0;
    for alpha in [0.9, 0.5, 0.05, 1e-3, 1e-9, 1e-30, 1e-100] {
        let exact = root(tail, alpha);
        for s in [1.0, 0.3, 1e-60, 7e80] {
            let found = sum_of(&[term(Noise::laplace, s).times(2)], alpha).unwrap();
            assert!(certain(found, exact * s, 5e-4), "{alpha} {s}: {found} {}", exact * s);
            // The control: the quantile of one noise of twice the scale differs from the exact
            // value.
            assert!(!certain(root(|t| (-t / 2.0).exp(), alpha) * s, exact * s, 5e-4));
        }
    }
    // For scales 1 and 2, the density at x is (2 exp(-|x| / 2) - exp(-|x|)) / 6.
    let tail = |t: f64| (4.0 * (-t / 2.0).exp() - (-t).exp()) / 3.0;
    for alpha in [0.5, 0.05, 1e-9] {
        let terms = [term(Noise::laplace, 1.0), term(Noise::laplace, 1.0).weighted(-2)];
        let found = sum_of(&terms, alpha).unwrap();
        assert!(certain(found, root(tail, alpha), 5e-4), "{alpha}: {found}");
    }
}
#[test]
fn gaussians_add_up_to_a_gaussian() {
    let terms = [
        term(Noise::gaussian, 1.0).weighted(3),
        term(Noise::gaussian, 8.0).weighted(weight(-1, 2)),
        term(Noise::gaussian, 4.0).times(9),
    ];
    for alpha in [0.5, 0.05, 1e-6, 1e-20, 1e-200] {
        let exact = 13.0 * Noise::gaussian(scale(1.0)).quantile(alpha).unwrap();
        let found = sum_of(&terms, alpha).unwrap();
        assert!(certain(found, exact, 3e-4), "{alpha}: {found} {exact}");
    }
    let many = [term(Noise::gaussian, 1.0).times(10_000)];
    assert!(certain(sum_of(&many, 0.05).unwrap(), 195.996_398_454_005, 1e-12));
    // Add other noise, on real numbers or on integers, to the Gaussian noise. The scale of the
    // other noise is very small, so the bound hardly changes.
    for other in [Noise::laplace, Noise::discrete_laplace] {
        let both = [term(other, 1e-3), many[0]];
        assert!(certain(sum_of(&both, 0.05).unwrap(), 195.996_398, 4e-3));
    }
    for s in [1e-200, 1e200] {
        let found = sum_of(&[term(Noise::gaussian, s).times(100)], 0.05).unwrap();
        assert!(certain(found, 19.599_639_845_400_5 * s, 1e-12), "{found}");
    }
}
#[test]
fn thousands_of_noises_are_rounded_to_nearly_nothing() {
    // The exact values are computed from the characteristic function of the sum of n noises, which
    // is (1 + u^2)^-n at u.
    for (n, alpha, exact, by) in [
        (1000, 0.05, 87.661_480_743_9, 1e-3),
        (1000, 1e-6, 219.330_199_486, 1e-3),
        (10_000, 0.05, 277.183_680_551, 4e-3),
        (10_000, 1e-6, 691.963_029_164, 4e-3),
    ] {
        let found = sum_of(&[term(Noise::laplace, 1.0).times(n)], alpha).unwrap();
        assert!(certain(found, exact, by), "{n} {alpha}: {found} {exact}");
        let fewer = sum_of(&[term(Noise::laplace, 1.0).times(n * 99 / 100)], alpha).unwrap();
        assert!(!certain(fewer, exact, by), "{n} {alpha}: {fewer}");
    }
    // Compare two sums of integer noise whose weights are nearly equal. In the first sum, the terms
    // have no coarse common lattice. In the second sum, all terms are on a coarse lattice.
    let other = Weight::new((1 << 41) + 1, 1 << 42).unwrap();
    let sum = |weight: Weight| {
        let halves = term(Noise::discrete_laplace, 6.0).weighted(weight).times(300);
        sum_of(&[term(Noise::discrete_laplace, 3.0).times(300), halves], 0.05).unwrap()
    };
    let (found, exact) = (sum(other), sum(weight(1, 2)));
    assert!(exact - 0.5 <= found && found <= exact * 1.003, "{found} {exact}");
}

/// Compute the distribution of the product of a noise and an integer weight. The result contains
/// the masses of all values in -reach..=reach.
fn masses(gaussian: bool, s: f64, weight: i64, reach: i64) -> Vec<f64> {
    let mass = |k: i64| {
        let x = k as f64 / s;
        if gaussian { (-x * x / 2.0).exp() } else { (-x.abs()).exp() }
    };
    let total: f64 = (-2000..=2000).map(mass).sum();
    let mass_at = |j: i64| if j % weight == 0 { mass(j / weight) / total } else { 0.0 };
    (-reach..=reach).map(mass_at).collect()
}
fn convolve(a: &[f64], b: &[f64]) -> Vec<f64> {
    let reach = (a.len() / 2) as i64;
    let mut sum = vec![0.0; a.len()];
    for (i, x) in a.iter().enumerate().filter(|(_, x)| **x != 0.0) {
        for (j, y) in b.iter().enumerate() {
            let place = i as i64 + j as i64 - reach;
            if (0..a.len() as i64).contains(&place) {
                sum[place as usize] += x * y;
            }
        }
    }
    sum
}
#[test]
fn integers_have_the_least_bound_there_is() {
    let reach = 800;
    let parts =
        [masses(false, 2.0, 1, reach), masses(false, 5.0, 3, reach), masses(true, 1.5, 2, reach)];
    let sum = convolve(&convolve(&parts[0], &parts[1]), &parts[2]);
    let beyond = |t: i64| -> f64 {
        let mass = |j: i64| sum[(reach + j) as usize];
        (t + 1..=reach).map(|j| mass(j) + mass(-j)).sum()
    };
    for by in [weight(1, 1), weight(1, 3), weight(-5, 7)] {
        let terms = [
            term(Noise::discrete_laplace, 2.0).weighted(by),
            term(Noise::discrete_laplace, 5.0).weighted(by.times(Weight::from(-3)).unwrap()),
            term(Noise::discrete_gaussian, 1.5).weighted(by.times(Weight::from(2)).unwrap()),
        ];
        for alpha in [0.8, 0.3, 0.05, 1e-4, 1e-8] {
            let least = (0..reach).find(|t| beyond(*t) <= alpha).unwrap();
            let unit = by.magnitude_up().unwrap();
            let found = sum_of(&terms, alpha).unwrap();
            assert!((found / unit - least as f64).abs() < 1e-9, "{alpha}: {found} {least}");
        }
    }
}
/// Compute the least `t` with `2 P[S > t] <= alpha`. Here `S` is the sum of the positive parts of
/// several integer noises of scale 5: `many` noises of weight 1, and one noise of weight 1/2.
fn cut_exactly(many: usize, alpha: f64) -> f64 {
    let reach = 2000;
    let positive = |weight: i64| {
        let mut part = masses(false, 5.0, weight, reach);
        let (below, rest) = part.split_at_mut(reach as usize);
        if let Some(zero) = rest.first_mut() {
            *zero += below.iter().sum::<f64>();
        }
        below.fill(0.0);
        part
    };
    let (full, half) = (positive(2), positive(1));
    let sum = (0..many).fold(half, |sum, _| convolve(&full, &sum));
    let beyond = |t: i64| 2.0 * sum[(reach + t + 1) as usize..].iter().sum::<f64>();
    (0..reach).find(|t| beyond(*t) <= alpha).unwrap() as f64 / 2.0
}
#[test]
fn noises_that_are_cut_off_may_all_be_on_one_side() {
    let cut = Term::new(Noise::discrete_laplace(scale(5.0)).cut_off());
    let terms = [cut.times(10), cut.weighted(weight(-1, 2))];
    let uncut = [10, 1].map(|n| term(Noise::discrete_laplace, 5.0).times(n));
    for alpha in [0.5, 0.05, 1e-4, 1e-8] {
        let (found, exact) = (sum_of(&terms, alpha).unwrap(), cut_exactly(10, alpha));
        assert!((found - exact).abs() < 1e-9, "{alpha}: {found} {exact}");
        // The first control uses 11 integer noises of scale 5 that are not cut off. If alpha is at
        // least 0.01, their bound is below 0.9 times the exact value for the noises that are cut
        // off. The second control: the union bound is much larger than the bound of `sum_of`.
        assert!(alpha < 0.01 || sum_of(&uncut, alpha).unwrap() < 0.9 * exact);
        assert!(found < 0.8 * together(&terms, alpha).unwrap(), "{alpha}: {found}");
    }
    // For one release with noise that is cut off, the bound is the quantile of the noise without
    // the cut. For the largest error of several releases, the bound is the same as without the cut.
    let single = sum_of(&[cut], 0.05).unwrap();
    assert_eq!(single, Noise::discrete_laplace(scale(5.0)).quantile(0.05).unwrap());
    let largest = [uncut[0], cut.times(10)].map(|term| largest_of(&[term], 0.05).unwrap());
    assert_eq!(largest[0], largest[1]);
    // Check a sum of two kinds of terms: 3000 noises on real numbers that are cut off, and 3 noises
    // that are not cut off.
    let real = |noise: Noise| {
        let cut = Term::new(noise.cut_off()).times(3000);
        sum_of(&[cut, term(Noise::laplace, 200.0).times(3)], 0.05).unwrap()
    };
    let mean = 3000.0 * 20_000.0 / 2.0;
    let found = real(Noise::laplace(scale(20_000.0)));
    // The variance of each positive part is 3/4 of the square of the scale.
    let normal = mean + 1.959_964 * 20_000.0 * (3000.0_f64 * 0.75).sqrt();
    assert!((1.0..1.004).contains(&(found / normal)), "{found} {normal}");
    assert!(real(Noise::laplace(scale(10.0))) > 3000.0 * 5.0);
    assert!(real(Noise::gaussian(scale(10.0))) > 3000.0 * 10.0 / std::f64::consts::TAU.sqrt());
}
#[test]
fn small_scales_leave_nothing() {
    for noise in [Noise::discrete_laplace, Noise::discrete_gaussian] {
        for s in [1e-300, 1e-5, 0.1] {
            assert_eq!(sum_of(&[term(noise, s).times(5)], 0.01), Ok(0.0), "{s}");
        }
    }
    let nothing = term(Noise::laplace, 0.0).times(7);
    assert_eq!(sum_of(&[nothing, nothing], 0.01), Ok(0.0));
    assert_eq!(sum_of(&[], 0.01), Ok(0.0));
    // The additional error from rounding is always included.
    let rounded = Term::new(Noise::laplace(scale(0.0)).and_at_most(0.25)).weighted(-3).times(2);
    assert_eq!(sum_of(&[rounded, nothing], 0.01), Ok(1.5));
}
#[test]
fn large_integers_are_close_to_real_numbers() {
    for (integers, reals) in [
        (Noise::discrete_laplace as fn(Scale) -> Noise, Noise::laplace as fn(Scale) -> Noise),
        (Noise::discrete_gaussian, Noise::gaussian),
    ] {
        for s in [300.0, 20_000.0, 1e9] {
            let sum = |noise| sum_of(&[term(noise, s).times(3)], 0.05).unwrap();
            let (found, near) = (sum(integers), sum(reals));
            assert!((found / near - 1.0).abs() < 5e-3, "{s}: {found} {near}");
        }
    }
}
#[test]
fn is_never_above_the_union_bound() {
    for terms in [
        vec![term(Noise::laplace, 1.0)],
        vec![term(Noise::laplace, 1.0), term(Noise::gaussian, 1e-9)],
        vec![term(Noise::discrete_laplace, 3.0), term(Noise::laplace, 1e-300)],
    ] {
        for alpha in [1.0, 0.05, 1e-12] {
            let union = together(&terms, alpha).unwrap();
            assert!(sum_of(&terms, alpha).unwrap() <= union);
        }
    }
    // For one term, the bound is the quantile of the weighted noise. Here this noise has the scale
    // 2 * 3 / 2 = 3.
    let single = term(Noise::laplace, 2.0).weighted(weight(-3, 2));
    let own = Noise::laplace(scale(3.0)).quantile(0.05).unwrap();
    assert!(certain(sum_of(&[single], 0.05).unwrap(), own, 1e-15));
}
#[test]
fn drawn_sums_are_beyond_the_bound_as_often_as_it_says() {
    let mut source = Seeded::<64>::new(42);
    let signed = |(negative, size): (bool, u128)| {
        let size = f64::from(u32::try_from(size).unwrap());
        if negative { -size } else { size }
    };
    let mut draw = || {
        let laplace = signed(discrete_laplace(3.0, &mut source).unwrap());
        laplace / 2.0 - signed(discrete_gaussian(4.0, &mut source).unwrap())
    };
    let terms = [
        term(Noise::discrete_laplace, 3.0).weighted(weight(1, 2)),
        term(Noise::discrete_gaussian, 4.0).weighted(-1),
    ];
    let draws: Vec<f64> = (0..100_000).map(|_| draw()).collect();
    let beyond = |t: f64| draws.iter().filter(|x| t < x.abs()).count() as f64 / 1e5;
    for alpha in [0.5, 0.1, 0.01] {
        let t = sum_of(&terms, alpha).unwrap();
        // The slack is at least six standard deviations of the observed frequency.
        let slack = 6.0 * (alpha / 1e5_f64).sqrt();
        assert!(beyond(t) <= alpha + slack, "{alpha}: {}", beyond(t));
        // The sums are multiples of 1/2, and the result is the least bound. So the next smaller
        // multiple of 1/2 is not a bound.
        assert!(alpha - slack < beyond(t - 0.5), "{alpha}: {}", beyond(t - 0.5));
        assert!(alpha + slack < beyond(0.8 * t), "{alpha}: {}", beyond(0.8 * t));
    }
}
#[test]
fn the_largest_of_independent_noises_has_the_product_of_their_chances() {
    // The exact t solves (1 - exp(-t))^3 (1 - exp(-t / 2)) = 1 - alpha.
    let terms = [term(Noise::laplace, 1.0).times(3), term(Noise::laplace, 1.0).weighted(-2)];
    for alpha in [0.9, 0.05, 1e-9] {
        let exact = root(|t| 1.0 - (1.0 - (-t).exp()).powi(3) * (1.0 - (-t / 2.0).exp()), alpha);
        let found = largest_of(&terms, alpha).unwrap();
        assert!((found / exact - 1.0).abs() < 1e-6, "{alpha}: {found} {exact}");
    }
    // Compute the least bound for integer noises. Let q = e^(-1 / 10). Then
    // P[|Z| > t] = 2 q^(t + 1) / (1 + q) for each noise Z.
    let chance = |t: i32| 2.0 * (-f64::from(t + 1) / 10.0).exp() / (1.0 + (-0.1_f64).exp());
    let exact = (0..).find(|t| 1.0 - (1.0 - chance(*t)).powi(100) <= 0.05).unwrap();
    let counts = [term(Noise::discrete_laplace, 10.0).times(100)];
    assert_eq!(largest_of(&counts, 0.05), Ok(f64::from(exact)));
    assert_eq!(largest_of(&counts, 1.0), Ok(0.0));
    assert_eq!(largest_of(&[], 0.1), Ok(0.0));
}
#[test]
fn a_tiny_probability_has_a_finite_bound() {
    // For each of the two noises Z, P[|Z| > t] is about exp(-t / 10). The union bound for the sum
    // of the two noises is about twice the bound for one noise.
    let terms = [term(Noise::discrete_laplace, 10.0).times(2)];
    for alpha in [1e-300_f64, 1e-307, 1e-310] {
        let (single, t) = (-10.0 * alpha.ln(), sum_of(&terms, alpha).unwrap());
        assert!((single..2.1 * single).contains(&t), "{alpha:e}: {t}");
    }
}
#[test]
fn refuses_what_is_no_probability() {
    let terms = [term(Noise::laplace, 1.0).times(1000)];
    for alpha in [0.0, -1.0, 1.5, f64::NAN, 5e-324] {
        assert_eq!(sum_of(&terms, alpha).unwrap_err().kind(), "InvalidDistance", "{alpha}");
        assert_eq!(largest_of(&terms, alpha).unwrap_err().kind(), "InvalidDistance", "{alpha}");
    }
    let huge = [term(Noise::laplace, f64::MAX).times(2)];
    assert_eq!(sum_of(&huge, 0.05).unwrap_err().kind(), "Overflow");
}
