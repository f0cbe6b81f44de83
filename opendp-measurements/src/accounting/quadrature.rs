//! A quadrature rule with positive weights and a proven error bound.

use std::f64::consts::PI;
use std::sync::OnceLock;

use super::elementary::{CIS_ERROR, U, cis, ln};
use crate::collected::Collected;

/// Fejér's first rule on the interval from -1 to 1. The `n` nodes are `cos((k + 1/2) pi / n)`, for
/// `k` from 0 to `n - 1`.
///
/// The rule is exact for polynomials of degree up to `n - 1`. The weights are positive, and the sum
/// of the weights is 2. Let `r` be a number above 1. Take the ellipse that has the foci -1 and 1,
/// and whose half-axes add up to `r`. Let `f` be a function that is analytic inside this ellipse,
/// with a modulus of at most `M` there. A polynomial of degree `n - 1` is within
/// `2 M r^(1 - n) / (r - 1)` of `f` on the interval (Trefethen 2013, Theorem 8.2). The integrals of
/// `f` and of the polynomial differ by at most twice this bound. The results of the rule for `f`
/// and for the polynomial also differ by at most twice this bound. So the rule errs by at most
/// `8 M r^(1 - n) / (r - 1)`.
pub(super) struct Rule {
    /// The nodes of the rule, each with its weight.
    pub(super) nodes: Vec<(f64, f64)>,
    /// A bound on the relative error of each weight. Each node errs by at most [`NODE_ERROR`].
    pub(super) error: f64,
}

/// A bound on the error of each node. The bound includes the errors of the cosine and of the angle.
/// The angle is at most `pi`.
pub(super) const NODE_ERROR: f64 = 32.0 * U;

/// The available rules: the number of nodes of each rule.
pub(super) const SIZES: [usize; 7] = [16, 32, 64, 128, 256, 512, 1024];

/// Return the rule with `SIZES[index]` nodes.
pub(super) fn rule(index: usize) -> Option<&'static Rule> {
    static RULES: [OnceLock<Rule>; SIZES.len()] = [const { OnceLock::new() }; SIZES.len()];
    let (rule, size) = (RULES.get(index)?, SIZES.get(index)?);
    Some(rule.get_or_init(|| Rule::new(*size)))
}

impl Rule {
    /// Compute the nodes and weights. Let `a` be the angle of a node. The weight of the node is
    /// `(2 / n) (1 - 2 sum_j cos(2 j a) / (4 j^2 - 1))` for `j` from 1 to `n / 2`. Let `u` be the
    /// unit roundoff. An angle `2 j a` has a relative error of at most `4 u`. So the absolute error
    /// of this angle is at most `8 pi u j`, because `a <= pi`. So the term `j` changes by at most
    /// `8 pi u j / (4 j^2 - 1)`. The sum of all `4 j / (4 j^2 - 1)` is less than `2 + ln n`. So
    /// these changes add up to at most `2 pi u (2 + ln n)`. The moduli of the terms add up to at
    /// most 1, so the sum of the terms has a rounding error of at most `n u`.
    fn new(n: usize) -> Rule {
        let size = n as f64;
        let mut least = f64::INFINITY;
        let nodes = (0..n).map(|k| {
            let angle = (k as f64 + 0.5) * PI / size;
            let term = |j: usize| {
                let j = j as f64;
                cis(2.0 * j * angle).0 / (4.0 * j * j - 1.0)
            };
            let weight = (1.0 - 2.0 * (1..=n / 2).map(term).sum::<f64>()) * 2.0 / size;
            least = f64::min(least, weight);
            (cis(angle).0, weight)
        });
        let nodes: Vec<(f64, f64)> = nodes.collected();
        let off = 4.0 * CIS_ERROR + U * (16.0 * PI * (2.0 + ln(size)) + size);
        Rule { nodes, error: NODE_ERROR + 2.0 * off / (size * least) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_exact_for_polynomials_and_have_positive_weights() {
        for (i, size) in SIZES.iter().enumerate() {
            let rule = rule(i).unwrap();
            assert_eq!(rule.nodes.len(), *size);
            assert!(rule.error < 1e-10 && rule.nodes.iter().all(|node| 0.0 < node.1), "{size}");
            for power in 0..*size as i32 {
                let found: f64 = rule.nodes.iter().map(|(x, w)| w * x.powi(power)).sum();
                let exact = if power % 2 == 0 { 2.0 / (f64::from(power) + 1.0) } else { 0.0 };
                assert!((found - exact).abs() < 1e-12, "{size} {power}: {found}");
            }
            // The control: the rule with 16 nodes is not exact for the power 16. For larger `n`,
            // the rule with `n` nodes is also not exact for the power `n`, but its error is too
            // small for this check.
            let power = *size as i32;
            let found: f64 = rule.nodes.iter().map(|(x, w)| w * x.powi(power)).sum();
            let off = found - 2.0 / (f64::from(power) + 1.0);
            assert!(off.abs() > 1e-9 || *size > 16, "{off}");
        }
        assert!(rule(SIZES.len()).is_none());
    }
}
