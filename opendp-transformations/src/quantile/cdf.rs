//! Computes the cumulative distribution of noisy counts.

use opendp_core::arith::Float;
use opendp_core::{Atom, Function, Result};

/// Compute the cumulative distribution function of noisy counts. The counts belong to adjacent
/// bins.
///
/// # Arguments
/// There are no arguments except the type `TA` of the counts.
///
/// # Precondition
/// The input is a release, or a function of a release, so the input needs no further protection.
///
/// # Postcondition
/// The output has one number for each bin. This number is the sum of the counts up to and including
/// this bin, divided by the sum of all counts. The quotient is undefined if the counts add up to
/// zero or to infinity, or if a count is NaN. The magnitude of a quotient can also exceed the
/// largest `f64`, if the sum of all counts is close to zero. In all these cases, the output is the
/// same as for equal counts. Noisy counts can be negative. So the output can decrease, and can
/// leave the interval from zero to one. If there are no bins, the output is empty.
///
/// # Map
/// The function is post-processing, so the privacy loss does not change.
///
/// # Proof
/// A function that reads only a release, and no private data, does not increase the loss. (Dwork
/// and Roth, "The algorithmic foundations of differential privacy", 2014, proposition 2.1.)
///
/// # Errors
/// None.
///
/// ```
/// # use opendp_transformations::make_cdf;
/// let cdf = make_cdf::<f64>()?;
/// assert_eq!(cdf.eval(&vec![1.0, 1.0, 2.0])?, [0.25, 0.5, 1.0]);
/// assert_eq!(cdf.eval(&vec![0.0, 0.0])?, [0.5, 1.0]);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn make_cdf<TA: Atom + Float>() -> Result<Function<Vec<TA>, Vec<TA>>> {
    Ok(Function::map(|counts: &Vec<TA>| {
        let counts: Vec<f64> = counts.iter().map(|count| Float::to_f64(*count)).collect();
        Ok(cumulative(&counts).into_iter().map(TA::from_f64_toward_zero).collect())
    }))
}

register! {
    "cdf.rs": make_cdf() for TA in [f32, f64] = f64;
}

/// Return the cumulative sums, divided by the total. If a quotient is NaN or infinite, treat all
/// counts as equal.
pub(crate) fn cumulative(counts: &[f64]) -> Vec<f64> {
    let mut total = 0.0;
    let sums = counts.iter().map(|count| {
        total += count;
        total
    });
    let sums: Vec<f64> = sums.collect();
    let shares: Vec<f64> = sums.iter().map(|sum| sum / total).collect();
    if shares.iter().all(|share| share.is_finite()) {
        return shares;
    }
    (1..=counts.len()).map(|bins| bins as f64 / counts.len() as f64).collect()
}
#[cfg(test)]
mod tests {
    use super::*;

    fn cdf(counts: &[f64]) -> Vec<f64> {
        make_cdf().unwrap().eval(&counts.to_vec()).unwrap()
    }

    #[test]
    fn divides_cumulative_sums_by_the_total() {
        assert_eq!(cdf(&[1.0, 1.0, 2.0]), [0.25, 0.5, 1.0]);
        let found = cdf(&[2.23, 3.4, 5.0, 2.7]);
        let expected = [0.16729182295573897, 0.42235558889722435, 0.7974493623405852, 1.0];
        assert!(
            found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-15)
        );
        assert_eq!(cdf(&[-3.0, 1.0]), [1.5, 1.0]);
        let single = make_cdf::<f32>().unwrap();
        assert_eq!(single.eval(&vec![1.0, 3.0]).unwrap(), [0.25, 1.0]);
    }
    #[test]
    fn is_defined_for_every_input() {
        assert_eq!(cdf(&[]), [0.0; 0]);
        assert_eq!(cdf(&[0.0, 0.0]), [0.5, 1.0]);
        assert_eq!(cdf(&[1.0, -1.0]), [0.5, 1.0]);
        assert_eq!(cdf(&[f64::NAN, 1.0]), [0.5, 1.0]);
        assert_eq!(cdf(&[f64::INFINITY, 1.0]), [0.5, 1.0]);
        assert_eq!(cdf(&[f64::MAX, f64::MAX]), [0.5, 1.0]);
    }
}
