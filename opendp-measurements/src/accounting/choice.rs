//! The Gaussian differential privacy of selections with Gumbel noise. A choice is one such
//! selection.

use opendp_core::Result;
use opendp_core::arith::Exact;

/// Return an upper bound on the `mu^2` of choices by Gumbel noise. The argument `rho` is the
/// zero-concentrated loss of the choices. The bound is `mu^2 = pi rho`, rounded up.
///
/// # Precondition
/// The release is one choice (a selection by Gumbel noise), or an adaptive composition of choices.
/// A choice has the range `r` if the losses of all its outputs lie in an interval of length `r`.
/// The `rho` of one choice is `r^2 / 8` (Cesar, Rogers 2021). The argument is the sum of the `rho`
/// of all choices. [`SelectionMeasure`](crate::SelectionMeasure) states the `rho` of choices.
///
/// # Postcondition
/// The release is `mu`-GDP.
///
/// # Proof
/// *One choice.* Let `P` and `Q` be the laws of the output of a choice on two neighbours. The
/// losses `ln(P / Q)` are in an interval `[t - r, t]`. Let `A` be an event, `p = P(A)` and
/// `q = Q(A)`. Then `p <= e^t q` and `1 - p >= e^(t - r) (1 - q)`. So `logit(p) - logit(q) <= r`,
/// where `logit(p) = ln(p / (1 - p))`. The same inequality holds for an event that also depends on
/// independent randomness.
///
/// Let `N` be the normal distribution function and `n` its density. At `z = N^-1(p)`, the
/// derivative of `N^-1(p)` with respect to `logit(p)` is `N(z) (1 - N(z)) / n(z)`. This derivative
/// is the same at `-z`, so suppose that `z >= 0`. Two independent normal numbers lie in the square
/// `[-z, z]^2` with probability `(2 N(z) - 1)^2`. The square contains the disc of radius `z`. This
/// disc has the probability `1 - e^(-z^2 / 2)`. So
/// `4 N(z) (1 - N(z)) = 1 - (2 N(z) - 1)^2 <= e^(-z^2 / 2)`, and the derivative is at most
/// `sqrt(2 pi) / 4`. So `N^-1(p) - N^-1(q) <= r sqrt(2 pi) / 4`, for each event `A`. This is the
/// definition of `mu`-GDP with `mu = r sqrt(2 pi) / 4` (Dong, Roth, Su 2022), and
/// `mu^2 = pi r^2 / 8`.
///
/// *Several choices.* In an adaptive composition, the `mu^2` of the choices add up (Dong, Roth, Su
/// 2022, Corollary 3.3). The `rho` of the choices also add up.
///
/// For comparison, suppose that a release is known only by a small pure loss `r`. Then `mu` is
/// about `r sqrt(pi / 2)` ([`mu_of_pure`](super::mu_of_pure)). This `mu` is twice the `mu` of a
/// choice of range `r`.
///
/// # Errors
/// Currently there are no errors.
pub fn mu_squared_of_choices(rho: &Exact) -> Result<Exact> {
    // The constant `PI` is the float nearest to pi. This float is below pi. So use the next float,
    // which is above pi.
    Ok(rho.times(&Exact::from_f64(std::f64::consts::PI.next_up())?))
}

/// Return a lower bound on the largest `rho` of choices for which [`mu_squared_of_choices`] returns
/// at most the given `mu^2`.
pub(super) fn rho_of_choices(mu_squared: &Exact) -> Result<Exact> {
    let pi = Exact::from_f64(std::f64::consts::PI.next_up())?;
    Ok(mu_squared.over(&pi))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::normal_tail;

    /// Compute by bisection the number `z` for which a standard normal variable is at most `z` with
    /// the given probability.
    fn score(probability: f64) -> f64 {
        let (mut low, mut high) = (-38.0, 38.0);
        for _ in 0..200 {
            let middle = (low + high) / 2.0;
            let above = normal_tail(-middle).unwrap().upper < probability;
            (low, high) = if above { (middle, high) } else { (low, middle) };
        }
        low
    }
    fn mu(range: f64) -> f64 {
        let rho = Exact::from_f64(range * range / 8.0).unwrap();
        mu_squared_of_choices(&rho).unwrap().to_f64_up().sqrt()
    }
    #[test]
    fn the_best_test_of_every_choice_of_a_range_is_no_better_than_one_of_a_normal_shift() {
        let mut closest = 0.0_f64;
        for range in [1e-3, 0.1, 0.5, 1.0, 3.0, 8.0] {
            for step in 1..200 {
                // The pair has two outputs, with the losses `t` and `t - range`. Such pairs are the
                // worst mechanisms of this range (Dong, Durfee, Rogers 2020).
                let t = range * f64::from(step) / 200.0;
                let p = (range.exp() - t.exp()) / range.exp_m1();
                let q = p * (-t).exp();
                let apart = score(p) - score(q);
                assert!(apart <= mu(range) + 1e-9, "{range} {t}: {apart} {}", mu(range));
                closest = closest.max(apart / mu(range));
            }
        }
        // The control: for small ranges, the exact `mu` is within 0.1 % of the bound. So the bound
        // would be wrong if its constant were smaller by 0.1 %.
        assert!(0.999 < closest, "{closest}");
    }
    #[test]
    fn the_exponential_mechanism_stays_within_its_normal_shift_for_every_set_of_outputs() {
        let laws = |scores: &[f64], scale: f64| -> Vec<f64> {
            let weights: Vec<f64> = scores.iter().map(|score| (score / scale).exp()).collect();
            let total: f64 = weights.iter().sum();
            weights.iter().map(|weight| weight / total).collect()
        };
        // The scores on two neighbours differ by -1 to 1. So the losses lie in an interval of
        // length 2 / scale.
        for (scale, changes) in [(1.0, [1.0, -1.0, 0.0, 1.0]), (4.0, [-1.0, 0.5, 1.0, -1.0])] {
            let scores = [3.0, 1.0, 0.0, 2.5];
            let moved: Vec<f64> = scores.iter().zip(changes).map(|(s, c)| s + c).collect();
            let (p, q) = (laws(&scores, scale), laws(&moved, scale));
            for set in 1..15_usize {
                let mass_of = |law: &[f64]| -> f64 {
                    law.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1).map(|(_, m)| m).sum()
                };
                let apart = (score(mass_of(&p)) - score(mass_of(&q))).abs();
                assert!(apart <= mu(2.0 / scale), "{scale} {set}: {apart}");
            }
        }
    }
}
