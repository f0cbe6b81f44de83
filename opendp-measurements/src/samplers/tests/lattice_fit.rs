//! The goodness of fit of noisy numbers that are rounded to a lattice.

use super::chi_square::chi_square;

/// Compare draws of `x + scale N` with the probability of each lattice point. This probability is
/// the integral of the density over the cell of the point. `standard` is the distribution function
/// of `N`.
///
/// For every `x`, the cell of `m 2^k` is from `(m - 1/2) 2^k` to `(m + 1/2) 2^k`. If the spacing of
/// the lattice is below `scale / 8`, several lattice points share a bucket.
pub(super) fn fit(
    draws: &[f64],
    (x, scale, k): (f64, f64, i32),
    standard: impl Fn(f64) -> f64,
) -> f64 {
    let cdf = |edge: f64| standard((edge - x) / scale);
    let step = 2f64.powi(k);
    let width = (scale / 8.0 / step).ceil().max(1.0);
    let centre = (x / step).floor();
    let buckets = (12.0 * scale / (width * step)).ceil() as i64 + 1;
    let bucket = |m: f64| (((m - centre) / width).floor() as i64).clamp(-buckets, buckets);
    let mut observed = vec![0; 2 * buckets as usize + 1];
    for y in draws {
        observed[(bucket(y / step) + buckets) as usize] += 1;
    }
    let edge = |b: i64| (centre + b as f64 * width - 0.5) * step;
    let expected: Vec<f64> = (-buckets..=buckets)
        .map(|b| {
            let below = if b == -buckets { 0.0 } else { cdf(edge(b)) };
            let above = if b == buckets { 1.0 } else { cdf(edge(b + 1)) };
            draws.len() as f64 * (above - below)
        })
        .collect();
    chi_square(&observed, &expected)
}

/// Triples of a value, a scale and a lattice exponent. There are coarse and fine lattices. No value
/// is a lattice point. Two values are half-way between two lattice points.
pub(super) const CASES: [(f64, f64, i32); 6] = [
    (0.3, 1.0, 0),
    (-7.7, 2.5, -2),
    (0.1, 1.0, -30),
    (1e-30, 3.0, 1),
    (1234.5, 0.4, 0),
    (-0.5, 0.5, 0),
];
