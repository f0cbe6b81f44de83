//! Chooses the number of children of each node in a tree of counts.

use opendp_core::arith::DirectedFloat;

/// Choose the branching factor of a tree with about `size_guess` leaves.
///
/// Suppose that `make_consistent_b_ary_tree` estimates the leaves of a noisy tree. The count of a
/// range of leaves is then estimated by the sum of the estimates of its leaves. Average the
/// variance of this sum over all ranges. The function returns the factor `b`, from 2 to
/// `size_guess`, with the smallest average. This factor minimizes
/// `(b - 1) h^3 - 2 (b + 1) h^2 / 3`, where `h` is the logarithm of `size_guess` to the base `b`
/// (Qardaji, Yang and Li, "Understanding hierarchical methods for differentially private
/// histograms", 2013). If `size_guess` is below two, the function returns `size_guess`.
///
/// The guess must not depend on private data, because the branching factor is public and depends on
/// the guess.
///
/// ```
/// # use opendp_transformations::choose_branching_factor;
/// assert_eq!([5, 100, 1_000, 1_000_000].map(choose_branching_factor), [5, 100, 26, 20]);
/// ```
pub fn choose_branching_factor(size_guess: u32) -> u32 {
    if size_guess < 2 {
        return size_guess;
    }
    let ln = |x: u32| f64::from(x).inf_ln().unwrap_or(f64::INFINITY);
    let size = ln(size_guess);
    let (mut best, mut least) = (2, f64::INFINITY);
    for b in 2..=size_guess {
        // The logarithm `h` of `size_guess` to the base `b` is at least one. So if `b` is at least
        // 5, the minimized expression is at least `(b - 5) / 3`. This bound also holds for all
        // larger factors. If the bound is above the least value so far, neither `b` nor any larger
        // factor is better. If `b` is below 5, the loop ends here only for a `size_guess` of 3. For
        // this guess, the factor 2 is the best.
        if least < (f64::from(b) - 5.0) / 3.0 {
            break;
        }
        let height = if b == size_guess { 1.0 } else { size / ln(b) };
        let b_float = f64::from(b);
        let variance = height * height * ((b_float - 1.0) * height - (b_float + 1.0) * (2.0 / 3.0));
        if variance < least {
            (best, least) = (b, variance);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_catalogue() {
        let sizes = [0, 1, 2, 3, 4, 5, 10, 16, 17, 100, 1000, 10_000, 1_000_000];
        let expected = [0, 1, 2, 2, 4, 5, 10, 16, 17, 100, 26, 22, 20];
        assert_eq!(sizes.map(choose_branching_factor), expected);
        assert!((2..100).contains(&choose_branching_factor(u32::MAX)));
    }
    #[test]
    fn stops_early_without_missing_a_better_one() {
        let all = |size: u32| {
            let variance = |b: u32| {
                let (b, h) = (f64::from(b), f64::from(size).ln() / f64::from(b).ln());
                h * h * ((b - 1.0) * h - (b + 1.0) * 2.0 / 3.0)
            };
            (2..=size).min_by(|a, b| variance(*a).total_cmp(&variance(*b))).unwrap()
        };
        for size in [30, 50, 101, 150, 300, 777, 5000] {
            assert_eq!(choose_branching_factor(size), all(size), "{size}");
        }
    }
}
