//! The goodness-of-fit test of counts, which the tests of distributions use.
//!
//! The tests of the samplers use seeded sources, so a sampler test that passes once always passes.
//! A sampler test can raise a false alarm only after a change of its seed or of the order of its
//! draws. The probability of this false alarm is about 1e-12. Tests of releases use no seeds, so
//! each run of such a test can raise a false alarm, with a probability of at most 2e-12.

/// Compare counts with expected counts by Pearson's chi-square statistic.
///
/// A bin with an expected count below 50 is merged with neighbouring bins. The expected count of
/// the merged bin is then at least 50. Return the statistic divided by its critical value at the
/// significance level 1e-12. A result above 1 means that the test rejects the expected counts.
pub(crate) fn chi_square(observed: &[u64], expected: &[f64]) -> f64 {
    assert_eq!(observed.len(), expected.len());
    let total: u64 = observed.iter().sum();
    let sum: f64 = expected.iter().sum();
    assert!((sum / total as f64 - 1.0).abs() < 1e-6, "expected {sum} of {total}");
    let mut bins: Vec<(f64, f64)> = vec![(0.0, 0.0)];
    for (&o, &e) in observed.iter().zip(expected) {
        let last = bins.last_mut().unwrap();
        if last.1 < 50.0 {
            *last = (last.0 + o as f64, last.1 + e);
        } else {
            bins.push((o as f64, e));
        }
    }
    if bins.last().unwrap().1 < 50.0 {
        let (o, e) = bins.pop().unwrap();
        let last = bins.last_mut().unwrap();
        *last = (last.0 + o, last.1 + e);
    }
    assert!(bins.len() > 1, "too few draws for a test");
    let statistic: f64 = bins.iter().map(|(o, e)| (o - e).powi(2) / e).sum();
    statistic / critical(bins.len() as f64 - 1.0)
}

/// Approximate the quantile of the chi-square distribution at 1 - 1e-12 (Wilson and Hilferty 1931).
fn critical(freedom: f64) -> f64 {
    let spread = 2.0 / (9.0 * freedom);
    freedom * (1.0 - spread + 7.0345 * spread.sqrt()).powi(3)
}

#[test]
fn critical_values_match_the_tables() {
    // The reference values use the closed form of the tail for even degrees of freedom, and `erfc`
    // for one degree of freedom. The approximate quantile is too large, so the chi-square test
    // accepts too often. The error of the approximation is largest for one degree of freedom.
    for (freedom, quantile, excess) in [
        (1.0, 50.8441, 0.36),
        (4.0, 62.1997, 0.14),
        (10.0, 78.4716, 0.07),
        (100.0, 233.8106, 0.006),
    ] {
        let ratio = critical(freedom) / quantile;
        assert!(ratio > 1.0 && ratio < 1.0 + excess, "{freedom}: {ratio}");
    }
}

#[test]
fn a_fair_die_passes_and_a_loaded_one_does_not() {
    let fair = [1e5; 6];
    assert!(chi_square(&[99_800, 100_200, 100_100, 99_900, 100_300, 99_700], &fair) < 1.0);
    assert!(chi_square(&[98_000, 102_000, 100_000, 100_000, 100_000, 100_000], &fair) > 1.0);
}

#[test]
fn thin_bins_are_pooled() {
    // Without the merging of bins, the 50 bins with the expected count 1 would cause a rejection.
    // After the merging, the count in the merged bin equals the expected count.
    let expected = [[1.0; 50], [19.0; 50]].concat();
    let observed = [[0; 49].as_slice(), &[50], &[19; 50]].concat();
    assert!(chi_square(&observed, &expected) < 1.0);
}
