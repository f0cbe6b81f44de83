//! Tests that the last bits of a float release do not reveal the data (Mironov 2012; Haney and
//! others 2022).

use std::collections::HashMap;

use opendp_core::random::{RandomSource, Seeded};
use opendp_core::{AbsoluteDistance, AtomDomain, Result, Space};
use opendp_measurements::{Scale, make_gaussian, make_laplace};

/// The number of releases that the test draws for each data value.
const DRAWS: usize = 40_000;
/// The largest accepted difference, in standard deviations. A test makes about 2000 comparisons. If
/// no release reveals the data, the probability that any of these comparisons exceeds the limit is
/// below 1e-14.
const LIMIT: f64 = 9.0;

/// Return the exponent of the last set bit of a float, or `None` for 0.
fn last_bit(y: f64) -> Option<i32> {
    let bits = y.abs().to_bits();
    let (exponent, mantissa) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    let (exponent, mantissa) = match exponent {
        0 => (1, mantissa),
        _ => (exponent, mantissa | 1 << 52),
    };
    (mantissa != 0).then(|| exponent - 1075 + mantissa.trailing_zeros() as i32)
}
/// For each data value, draw releases. For each release, find the exponent of the last set bit.
/// Compare the distribution of these exponents for the first data value with the distribution for
/// each other data value. A release is counted if its magnitude is at least `window / 2` and below
/// `window`. Other releases are ignored. Return the largest difference, measured in standard
/// deviations.
///
/// The magnitude of a release can depend on the data. But `window` is a power of two, so all floats
/// with a magnitude of at least `window / 2` and below `window` have the same spacing. So the last
/// bits of the counted releases do not reveal the magnitude.
///
/// For each likely exponent `g` of the last set bit, two frequencies are compared. The first is the
/// frequency of the exponent `g`. The second is the frequency of smaller exponents, which is the
/// frequency of releases that are not multiples of `2^g`.
fn leaks(window: f64, data: &[f64], release: &mut dyn FnMut(f64) -> f64) -> f64 {
    // The frequencies of exponents of at least `coarse` also depend on the position of a release in
    // the interval from `window / 2` to `window`. So all these exponents are counted together.
    let coarse = last_bit(window).unwrap() - 6;
    let mut counts: Vec<HashMap<i32, f64>> = Vec::new();
    for x in data {
        let mut count = HashMap::new();
        for _ in 0..DRAWS {
            let y = release(*x);
            if window / 2.0 <= y.abs() && y.abs() < window {
                *count.entry(last_bit(y).unwrap_or(coarse).min(coarse)).or_default() += 1.0;
            }
        }
        counts.push(count);
    }
    let total = |count: &HashMap<i32, f64>| count.values().sum::<f64>();
    let mut worst = 0.0_f64;
    for count in &counts[1..] {
        let (n, m) = (total(&counts[0]), total(count));
        assert!(n > 500.0 && m > 500.0, "a window without releases shows nothing: {n} and {m}");
        let mut compare = |a: f64, b: f64| {
            let share = (a + b) / (n + m);
            let variance = share * (1.0 - share) * (1.0 / n + 1.0 / m);
            if a + b > 50.0 && variance > 0.0 {
                worst = worst.max((a / n - b / m).abs() / variance.sqrt());
            }
        };
        for exponent in -1074..=coarse {
            let share_at = |count: &HashMap<i32, f64>| count.get(&exponent).copied().unwrap_or(0.0);
            compare(share_at(&counts[0]), share_at(count));
            let below = |count: &HashMap<i32, f64>| -> f64 {
                count.iter().filter(|(e, _)| **e < exponent).map(|(_, n)| n).sum()
            };
            compare(below(&counts[0]), below(count));
        }
    }
    worst
}

/// The data values, in units of the scale. There are values with few and with many bits, and values
/// on both sides of 0.
const DATA: [f64; 6] = [0.0, 1.0, 1.0 / 3.0, -1.0, 0.1, 1e-17];
/// Pairs of a scale and a lattice exponent. `None` means the default lattice. One lattice is much
/// finer than the last bits of the data.
const LATTICES: [(f64, Option<i32>); 4] =
    [(1.0, None), (1.0, Some(-60)), (1.0, Some(-1000)), (1024.0, Some(-45))];

fn data(scale: f64) -> Vec<f64> {
    DATA.iter().map(|x| x * scale).collect()
}
fn counts() -> Space<AtomDomain<f64>, AbsoluteDistance<f64>> {
    Space::new(AtomDomain::non_nan(), AbsoluteDistance::new()).unwrap()
}

#[test]
fn the_last_bit_of_a_laplace_release_does_not_tell_the_data() -> Result<()> {
    for (scale, k) in LATTICES {
        let made = make_laplace(counts(), Scale::new(scale)?, k)?;
        let found = leaks(0.25 * scale, &data(scale), &mut |x| made.invoke(&x).unwrap());
        assert!(found < LIMIT, "scale {scale}, k {k:?}: {found} standard deviations");
    }
    Ok(())
}
#[test]
fn the_last_bit_of_a_gaussian_release_does_not_tell_the_data() -> Result<()> {
    for (scale, k) in LATTICES {
        let made = make_gaussian(counts(), Scale::new(scale)?, k)?;
        let found = leaks(0.25 * scale, &data(scale), &mut |x| made.invoke(&x).unwrap());
        assert!(found < LIMIT, "scale {scale}, k {k:?}: {found} standard deviations");
    }
    Ok(())
}
#[test]
fn naive_noise_tells_the_data() {
    let mut source = Seeded::<64>::new(3);
    let mut uniform = move || (source.word().unwrap() >> 11) as f64 * 2_f64.powi(-53);
    let mut laplace = |x: f64| {
        let sign = if uniform() < 0.5 { -1.0 } else { 1.0 };
        x - sign * (1.0 - uniform()).ln()
    };
    for pair in [[0.0, 1.0], [0.0, 1.0 / 3.0], [1.0, 1e-17]] {
        let found = leaks(0.25, &pair, &mut laplace);
        assert!(found > 20.0, "{pair:?}: only {found} standard deviations");
    }
    let mut gaussian = |x: f64| {
        let length = (-2.0 * (1.0 - uniform()).ln()).sqrt();
        x + length * (std::f64::consts::TAU * uniform()).cos()
    };
    assert!(leaks(0.25, &[0.0, 1.0], &mut gaussian) > 20.0);
}
#[test]
fn a_release_is_a_point_of_its_lattice_wherever_the_data_is() -> Result<()> {
    // The step of the default lattice is 2^-40 for the scale 1, and 2^-30 for the scale 1024.
    for (scale, k, exponent) in [
        (1.0, None, -40),
        (1024.0, None, -30),
        (1.0, Some(-60), -60),
        (1.0, Some(-3), -3),
        (1.0, Some(0), 0),
        (1.0, Some(2), 2),
        (100.0, Some(7), 7),
    ] {
        let laplace = make_laplace(counts(), Scale::new(scale)?, k)?;
        let gaussian = make_gaussian(counts(), Scale::new(scale)?, k)?;
        let mut finest = i32::MAX;
        for x in [0.0, 1.0 / 3.0, -1e-300, 0.1, 12_345.678_9, f64::MIN_POSITIVE, -7e8 / 3.0] {
            for _ in 0..1000 {
                for y in [laplace.invoke(&x)?, gaussian.invoke(&x)?] {
                    finest = finest.min(last_bit(y).unwrap_or(i32::MAX));
                }
            }
        }
        // Check that all releases are multiples of `2^exponent`. As the control, check that some
        // releases are not multiples of `2^(exponent + 1)`.
        assert_eq!(finest, exponent, "scale {scale}, k {k:?}");
        // The exact sum of the data and the noise is rounded to the lattice. So the rounding is
        // post-processing, and the loss has no extra term for the rounding.
        let loss = laplace.map(&1.0)?;
        assert!(1.0 / scale <= loss && loss <= (1.0 / scale).next_up());
    }
    Ok(())
}
