//! Bounds on the probability of an event, computed from the number of its occurrences.

use crate::Result;
use crate::arith::DirectedFloat;

/// The relative rounding error of the probability that [`Binomial::tail`] returns is at most
/// `1 / ERRORS`.
const ERRORS: f64 = 1e3;
/// The number of bisection steps for one bound.
const STEPS: usize = 50;

/// Bounds on the probability of an event. The bounds are computed from the number of occurrences of
/// the event in `draws` independent draws (Clopper, Pearson 1934). Each bound is wrong with
/// probability at most `wrong`.
#[derive(Debug)]
pub(super) struct Binomial {
    draws: u32,
    wrong: f64,
    /// The logarithms of the factorials of 0, 1, 2 and so on.
    factorials: Vec<f64>,
}
impl Binomial {
    pub(super) fn new(draws: u32, wrong: f64) -> Result<Self> {
        let mut factorials = vec![0.0];
        // Add the logarithms by the algorithm of Kahan, which subtracts the rounding error of each
        // sum from the next term. In a plain sum, the errors grow with the square of `draws`.
        let (mut sum, mut error) = (0.0, 0.0);
        for factor in 1..=draws {
            let term = f64::from(factor).inf_ln()? - error;
            let next: f64 = sum + term;
            error = (next - sum) - term;
            sum = next;
            factorials.push(sum);
        }
        Ok(Binomial { draws, wrong, factorials })
    }
    /// Return a lower bound on the probability of an event that occurred `count` times. If `count`
    /// is 0, the bound is 0. Otherwise, let `upper_tail(p)` be the probability that an event of
    /// probability `p` occurs `count` times or more. The exact bound is the largest `p` with
    /// `upper_tail(p) <= wrong`. The result is at most the exact bound, and usually close to it.
    pub(super) fn at_least(&self, count: u32) -> Result<f64> {
        if count == 0 {
            return Ok(0.0);
        }
        let (mut low, mut high) = (0.0, f64::from(count) / f64::from(self.draws));
        for _ in 0..STEPS {
            let middle = low + (high - low) / 2.0;
            let fits = self.tail(count, middle)? * (1.0 + 1.0 / ERRORS) <= self.wrong;
            if fits { low = middle } else { high = middle }
        }
        Ok(low)
    }
    /// Return an upper bound on the probability of an event that occurred `count` times. If the
    /// event occurred in every draw, the bound is 1. Otherwise, let `lower_tail(p)` be the
    /// probability that an event of probability `p` occurs `count` times or fewer. The exact bound
    /// is the smallest `p` with `lower_tail(p) <= wrong`. The result is at least the exact bound,
    /// and usually close to it. But the last subtraction can round the result down by less than
    /// `2^-53`.
    pub(super) fn at_most(&self, count: u32) -> Result<f64> {
        Ok(1.0 - self.at_least(self.draws.saturating_sub(count))?)
    }
    /// Return the probability that an event of probability `p` occurs `count` times or more.
    /// `count` must be at least `p` times the number of draws.
    fn tail(&self, count: u32, p: f64) -> Result<f64> {
        if !(0.0 < p && p < 1.0) {
            return Ok(if p <= 0.0 { 0.0 } else { 1.0 });
        }
        let n = self.draws;
        let log_factorial =
            |number: u32| self.factorials.get(number as usize).copied().unwrap_or(0.0);
        let choices = log_factorial(n) - log_factorial(count) - log_factorial(n - count);
        let hits = f64::from(count) * p.inf_ln()?;
        let misses = f64::from(n - count) * (-p).inf_ln_1p()?;
        let mut term = (choices + hits + misses).inf_exp()?;
        let mut sum = term;
        for hits in count..n {
            // `count` is at least `p n`, so each term is smaller than the term before it.
            term *= f64::from(n - hits) / f64::from(hits + 1) * (p / (1.0 - p));
            sum += term;
            if term < sum * 1e-12 {
                break;
            }
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_are_those_of_the_tails() {
        let ten = Binomial::new(10, 0.001).unwrap();
        // The event occurs in all ten draws, so the bound `p` satisfies p^10 = 0.001.
        assert!((ten.at_least(10).unwrap() - 0.001_f64.powf(0.1)).abs() < 1e-4);
        assert_eq!((ten.at_least(0).unwrap(), ten.at_most(10).unwrap()), (0.0, 1.0));
        // For 5 occurrences in 10 draws, the bounds of Clopper and Pearson are 0.1871 and 0.8129.
        // Each bound is wrong with probability at most 2.5 %.
        let five = Binomial::new(10, 0.025).unwrap();
        assert!((five.at_least(5).unwrap() - 0.1871).abs() < 1e-3);
        assert!((five.at_most(5).unwrap() - 0.8129).abs() < 1e-3);
    }
    #[test]
    fn a_tail_of_many_draws_is_that_of_a_normal_law() {
        let many = Binomial::new(100_000, 1.0).unwrap();
        // With the continuity correction of half a count, the count 50,475 is three standard
        // deviations above the mean. The tail of the normal distribution is 1.350e-3 there.
        let tail = many.tail(50_475, 0.5).unwrap();
        assert!((tail / 1.350e-3 - 1.0).abs() < 0.02, "{tail}");
    }
    #[test]
    fn the_logarithm_of_a_large_factorial_is_accurate() {
        let many = Binomial::new(100_000, 1.0).unwrap();
        // The constant is the logarithm of 100,000!, computed by the series of Stirling with 60
        // digits. The error of a plain sum of floats is above 2e-9.
        let found = many.factorials.last().unwrap();
        assert!((found - 1051299.2218991218).abs() < 1e-9, "{found}");
    }
    #[test]
    fn a_tail_is_a_sum_of_exact_terms() {
        let four = Binomial::new(4, 1.0).unwrap();
        for (count, p, tail) in [(4, 0.5, 0.0625), (3, 0.5, 0.3125), (2, 0.25, 67.0 / 256.0)] {
            assert!((four.tail(count, p).unwrap() - tail).abs() < 1e-12, "{count} {p}");
        }
    }
}
