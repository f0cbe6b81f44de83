use super::*;
use crate::samplers::tests::chi_square::chi_square;
use opendp_core::random::{Failing, Seeded, Tape};

/// The parameters of [`CanonicalNoise`] as floats: `b`, `D`, and the end `(k, theta)`.
struct Floats {
    b: f64,
    density: f64,
    end: Option<(i32, f64)>,
}
impl Floats {
    fn new(epsilon: f64, delta: f64) -> Self {
        let noise = CanonicalNoise::new(epsilon, delta).unwrap();
        let end = noise.end.as_ref().map(|end| {
            let (lo, hi) = noise.last_part(end, 60);
            assert!(lo <= hi && hi - &lo <= IBig::from(4));
            let theta = i64::try_from(lo).unwrap() as f64 / 2f64.powi(60);
            (i32::try_from(end.step.clone()).unwrap(), theta)
        });
        let b = (-epsilon).exp();
        Self { b, density: 1.0 - 2.0 * (1.0 - delta) * b / (1.0 + b), end }
    }
    fn at(&self, y: f64) -> f64 {
        let m = (y.abs() + 0.5).floor();
        let inside = self.end.is_none_or(|(k, theta)| y.abs() < f64::from(k) - 0.5 + theta);
        if inside { self.density * self.b.powf(m) } else { 0.0 }
    }
    /// Return the points where the density of the noise can change.
    fn breaks(&self) -> Vec<f64> {
        let (k, end) = self.end.map_or((200, 200.0), |(k, theta)| (k, f64::from(k) - 0.5 + theta));
        let steps = (0..k).map(|m| f64::from(m) + 0.5).chain([end]);
        steps.flat_map(|y| [-y, y]).collect()
    }
    /// Return the integral of `f`, which is constant between consecutive points of the list.
    fn integral(mut points: Vec<f64>, f: impl Fn(f64) -> f64) -> f64 {
        points.sort_by(f64::total_cmp);
        points.windows(2).map(|p| (p[1] - p[0]) * f((p[0] + p[1]) / 2.0)).sum()
    }
    fn below(&self, y: f64) -> f64 {
        let points = self.breaks().into_iter().filter(|x| *x < y).chain([y]).collect();
        Self::integral(points, |x| self.at(x))
    }
    /// Let `f` be the density of the noise. Compute the integral of the positive part of
    /// `f(y) - e^epsilon f(y - shift)`. This integral is the hockey-stick divergence of order
    /// `e^epsilon` of `P` from `Q`. Here `P` is the distribution of the noise, and `Q` is the
    /// distribution of the noise plus `shift`.
    fn divergence(&self, epsilon: f64, shift: f64) -> f64 {
        let breaks = self.breaks();
        let moved = breaks.iter().map(|y| y + shift);
        let points = breaks.iter().copied().chain(moved).collect();
        let excess = |y: f64| (self.at(y) - epsilon.exp() * self.at(y - shift)).max(0.0);
        Self::integral(points, excess)
    }
}
const PARAMETERS: [(f64, f64); 12] = [
    (1.0, 0.0),
    (0.1, 1e-7),
    (1.0, 1e-3),
    (0.7, 0.05),
    (3.0, 1e-9),
    (0.3, 0.3),
    (1.0, 1.0 / 3.0),
    (2.0, 0.9),
    (1.0, 1.0),
    (1e-3, 0.02),
    (1e-12, 0.01),
    (20.0, 1e-12),
];

#[test]
fn the_density_sums_to_one_and_its_hockey_stick_is_delta() {
    for (epsilon, delta) in PARAMETERS {
        let noise = Floats::new(epsilon, delta);
        let total = Floats::integral(noise.breaks(), |y| noise.at(y));
        assert!((total - 1.0).abs() < 1e-10, "{epsilon} {delta}: {total}");
        let (mut largest, tolerance) = (0.0_f64, 1e-11);
        for shift in [1e-9, 0.1, 0.5, 0.77, 1.0] {
            let divergence = noise.divergence(epsilon, shift);
            assert!(divergence <= delta + tolerance, "{epsilon} {delta}: {divergence} at {shift}");
            largest = largest.max(divergence);
        }
        assert!(delta - tolerance <= largest, "{epsilon} {delta}: {largest}");
        // The control: the guarantee fails for a larger shift, and for a smaller epsilon.
        if delta < 1.0 {
            assert!(noise.divergence(epsilon, 1.1) > delta + tolerance);
        }
        if 1e-3 < epsilon && delta < 1.0 {
            assert!(noise.divergence(epsilon * 0.9, 1.0) > delta + tolerance);
        }
    }
}
#[test]
fn the_distribution_is_the_recursion_of_its_definition() {
    // Compute the quantile of canonical noise at `u` by the recursion of Awan, Vadhan 2023,
    // Definition 3.7. The function `f` is the trade-off function of (epsilon, delta)-differential
    // privacy.
    fn quantile(u: f64, epsilon: f64, delta: f64) -> f64 {
        let f = |a: f64| {
            let (first, second) =
                (1.0 - delta - epsilon.exp() * a, (1.0 - delta - a) / epsilon.exp());
            first.max(second).max(0.0)
        };
        let c = (1.0 - delta) / (1.0 + epsilon.exp());
        if u < c {
            quantile(1.0 - f(u), epsilon, delta) - 1.0
        } else if u <= 1.0 - c {
            (u - 0.5) / (1.0 - 2.0 * c)
        } else {
            quantile(f(1.0 - u), epsilon, delta) + 1.0
        }
    }
    for (epsilon, delta) in
        [(0.1, 1e-7), (1.0, 1e-3), (0.7, 0.05), (0.3, 0.3), (2.0, 0.9), (1.0, 0.0)]
    {
        let noise = Floats::new(epsilon, delta);
        for i in 1..40 {
            let u = f64::from(i) / 40.0;
            let found = noise.below(quantile(u, epsilon, delta));
            assert!((found - u).abs() < 1e-9, "{epsilon} {delta}: {found} at {u}");
        }
    }
    // For the noise N at epsilon 1 and delta 0, P[|N| <= 1/2] = (e - 1) / (e + 1).
    assert!((Floats::new(1.0, 0.0).density - 0.462_117_157_260_009_8).abs() < 1e-15);
}
#[test]
fn draws_have_the_density_and_a_wrong_one_is_noticed() {
    fn drawn<const B: u32>(epsilon: f64, delta: f64, draws: usize) -> Vec<f64> {
        let noise = CanonicalNoise::new(epsilon, delta).unwrap();
        let mut source = Seeded::<B>::new(7);
        (0..draws).map(|_| noise.add(0.0, 1.0, &mut source).unwrap()).collect()
    }
    fn fit(sample: &[f64], (epsilon, delta): (f64, f64)) -> f64 {
        let noise = Floats::new(epsilon, delta);
        let end = noise.end.map_or(12.0, |(k, theta)| f64::from(k) - 0.5 + theta);
        // The range of the noise is divided into 61 bins of equal width. The edges between the bins
        // lie inside of steps of the density, so the counts also depend on the distribution within
        // a step. Two more bins count the values below and above the range.
        let bins = 61;
        let edge = |i: usize| end * (2.0 * i as f64 / bins as f64 - 1.0);
        let mut counts = vec![0; bins + 2];
        for y in sample {
            let place = ((y / end + 1.0) / 2.0 * bins as f64).floor() + 1.0;
            counts[place.clamp(0.0, bins as f64 + 1.0) as usize] += 1;
        }
        let cumulative: Vec<f64> = (0..=bins).map(|i| noise.below(edge(i))).collect();
        let inner = cumulative.windows(2).map(|p| p[1] - p[0]);
        let all = [cumulative[0]].into_iter().chain(inner).chain([1.0 - cumulative[bins]]);
        let expected: Vec<f64> = all.map(|p| p.max(0.0) * sample.len() as f64).collect();
        chi_square(&counts, &expected)
    }
    for (epsilon, delta) in
        [(1.0, 0.0), (0.7, 0.05), (0.3, 0.3), (1.0, 0.2), (2.0, 0.9), (0.01, 0.04)]
    {
        let sample = drawn::<64>(epsilon, delta, 20_000);
        let found = fit(&sample, (epsilon, delta));
        assert!(found < 1.0, "{epsilon} {delta}: {found}");
        let wrong = fit(&sample, (epsilon, if delta == 0.0 { 0.05 } else { delta * 0.7 }));
        assert!(wrong > 1.0, "{epsilon} {delta}: a wrong delta goes unnoticed at {wrong}");
        let sample = drawn::<4>(epsilon, delta, 1_000);
        assert!(fit(&sample, (epsilon, delta)) < 1.0, "{epsilon} {delta} of short words");
    }
}
#[test]
fn the_end_is_enclosed_ever_more_closely() {
    for (epsilon, delta) in PARAMETERS {
        let noise = CanonicalNoise::new(epsilon, delta).unwrap();
        let Some(end) = &noise.end else { continue };
        let (lo, hi) = noise.last_part(end, 20);
        for bits in [64, 300] {
            let (inner_lo, inner_hi) = noise.last_part(end, bits);
            assert!(inner_lo <= inner_hi && &inner_hi - &inner_lo <= IBig::from(4));
            assert!((&lo << (bits - 20)) <= inner_hi && inner_lo <= (&hi << (bits - 20)));
            assert!(IBig::ZERO <= inner_lo && inner_hi <= IBig::ONE << bits);
        }
    }
}
#[test]
fn extreme_parameters_have_noise_too() {
    let mut source = Seeded::<64>::new(9);
    for (epsilon, delta) in [
        (1e-17, 0.25),
        (1e-300, 0.5),
        (1e-5, 1e-200),
        (700.0, 1e-300),
        (1e300, 0.0),
        (1e300, 0.5),
        (5e-324, 1.0),
        (1e-17, 0.0),
        (5e-324, 0.0),
    ] {
        let noise = CanonicalNoise::new(epsilon, delta).unwrap();
        for (x, d) in [(0.0, 1.0), (-1e300, 1e-300), (f64::MAX, f64::MAX), (0.1, 5e-324)] {
            assert!(noise.add(x, d, &mut source).unwrap().is_finite());
        }
        if 0.25 <= delta {
            // For epsilon 0 and the same delta, the canonical noise is uniform between -1/(2 delta)
            // and 1/(2 delta). For the parameters above, the noise is never outside of this range.
            assert!(noise.add(0.0, 1.0, &mut source).unwrap().abs() <= 0.5 / delta);
        }
    }
    for (epsilon, delta) in [(0.0, 0.5), (-1.0, 0.5), (f64::NAN, 0.0), (1.0, 1.5), (1.0, f64::NAN)]
    {
        assert!(CanonicalNoise::new(epsilon, delta).is_none());
    }
}
#[test]
fn a_sum_is_rounded_once_to_the_nearest_float() {
    // The first two words give step 0. The third word is the first digit of the place. With the
    // digit 1 << 63, the place is from 1/2 to 1/2 + 2^-64, so N is from 0 to 2^-64.
    let noise = CanonicalNoise::new(40.0, 0.0).unwrap();
    let near = u64::MAX - 1;
    for (digit, expected) in [(1 << 63, 1.0), (0, 0.5), (3 << 62, 1.25)] {
        let mut tape = Tape::<64>::new(vec![near, near, digit, 1, 1]);
        assert_eq!(noise.add(1.0, 1.0, &mut tape), Ok(expected));
    }
    let whole = [near, near, 1 << 63, 1, 1];
    for length in 0..3 {
        let mut tape = Tape::<64>::new(whole[..length].to_vec());
        assert_eq!(noise.add(1.0, 1.0, &mut tape), Err(NoEntropy));
    }
    assert_eq!(noise.add(1.0, 1.0, &mut Failing::default()), Err(NoEntropy));
}
