//! Bounds on the errors of the quantiles.

use opendp_core::Result;
use opendp_core::arith::{Directed, DirectedFloat, InfCast};

use super::{UNIT, halves, part, steps};

/// Return a bound on the distance in ranks between a quantile and the rows that its released
/// candidate represents. For each quantile separately, the bound holds with probability at least
/// `1 - alpha`. The bound is for scale 1. The target of a choice is the position with the score 0,
/// and can be between two points. The bound does not include the distance between a target and the
/// nearest point. On each level of choices, this omitted distance is at most `1 / (2 t)` of the
/// rows that one candidate represents, where `t` is the number of steps. The omitted distances of
/// all levels add up. For a quantile of the level `a`, between two points of the levels `l` and
/// `h`, let `r` be `(a - l) / (h - l)`. The bound also omits the rounding of `r`. This rounding
/// moves a target by at most `2^-31` of the rows between the points.
///
/// # Proof
/// Let `e` be the signed distance between a chosen point and its quantile, in ranks. For the first
/// and the last point, `e` is 0. The target of a choice between two points `A` and `B` is
/// `(1 - r) p_A + r p_B`. The rank of its quantile is the same weighted mean of the ranks of the
/// quantiles of `A` and `B`. So the signed distance between the target and the quantile is
/// `(1 - r) e_A + r e_B`. Let `2 max(r, 1 - r) X` be the score of the chosen point, minus the least
/// score of any point. The least score is the distance that the bound omits. Without this distance,
/// `|e| <= (1 - r) |e_A| + r |e_B| + 2 max(r, 1 - r) X`. Each of `A` and `B` is the first point,
/// the last point, or a point that was chosen on an earlier level. Apply this bound again to `A`
/// and `B`, back to the first level. So `|e|` is at most a sum of `c_j X_j` over these levels `j`.
/// The weights `c_j` depend only on the levels of the quantiles.
///
/// Let `m` be the number of all points. By the proof of
/// [`make_noisy_max`](opendp_measurements::make_noisy_max), `P[X > ln(m) + x] <= exp(-x)` for each
/// `x >= 0`, for all earlier choices. So given the earlier choices, each `X_j - ln(m)` is
/// stochastically at most a random number `E_j` with the density `exp(-x)`. By induction over the
/// levels, the sum of the `c_j X_j` is stochastically at most the sum of the `c_j (ln(m) + E_j)`,
/// where the `E_j` are independent. [`exponentials`] bounds the quantile of this sum.
pub(crate) fn rank_bound(candidates: usize, alphas: &[f64], alpha: f64) -> Result<f64> {
    bound_of(candidates.saturating_mul(steps(candidates).saturating_add(1)), alphas, alpha)
}
/// Return the bound of [`rank_bound`] for a number of points.
pub(super) fn bound_of(points: usize, alphas: &[f64], alpha: f64) -> Result<f64> {
    let (logarithm, mut largest) = (f64::inf_cast(points)?.inf_ln()?, 0.0_f64);
    let ends = (Chosen::exact(0.0), Chosen::exact(1.0));
    each_way(alphas, (&ends.0, &ends.1), &mut |weights| {
        let sum = weights.iter().try_fold(0.0, |sum: f64, weight| sum.inf_add(*weight))?;
        // Most ways have a smaller union bound than the best way.
        let base = logarithm.inf_mul(sum)?;
        if largest < base.inf_add(together(weights, alpha)?)? {
            largest = largest.max(base.inf_add(exponentials(weights, alpha)?)?);
        }
        Ok(())
    })?;
    Ok(largest)
}
/// A chosen point: the level of its quantile, and the weights `c_j` of its error, in the order of
/// the levels of choices.
struct Chosen {
    level: f64,
    weights: Vec<f64>,
}
impl Chosen {
    fn exact(level: f64) -> Self {
        Chosen { level, weights: Vec::new() }
    }
}
/// Call `visit` with the weights of the error of each quantile.
fn each_way(
    alphas: &[f64],
    (low, high): (&Chosen, &Chosen),
    visit: &mut dyn FnMut(&[f64]) -> Result<()>,
) -> Result<()> {
    let (below, Some(level), above) = halves(alphas) else { return Ok(()) };
    let part = part(level, (low.level, high.level));
    // Both shares are exact, because `UNIT` is a power of 2.
    let (up, down) = (part as f64 / UNIT as f64, (UNIT - part) as f64 / UNIT as f64);
    let mut weights = Vec::new();
    for place in 0..low.weights.len().max(high.weights.len()) {
        let weight_of = |end: &Chosen| end.weights.get(place).copied().unwrap_or(0.0);
        weights.push(weight_of(low).inf_mul(down)?.inf_add(weight_of(high).inf_mul(up)?)?);
    }
    weights.push(2.0 * up.max(down));
    visit(&weights)?;
    let chosen = Chosen { level, weights };
    each_way(below, (low, &chosen), visit)?;
    each_way(above, (&chosen, high), visit)
}
/// Return the union bound on the sum of [`exponentials`].
fn together(weights: &[f64], alpha: f64) -> Result<f64> {
    let logarithm = f64::inf_cast(weights.len())?.inf_ln()?.inf_sub(alpha.neg_inf_ln()?)?.max(0.0);
    let sum = weights.iter().try_fold(0.0, |sum: f64, weight| sum.inf_add(*weight))?;
    sum.inf_mul(logarithm)
}
/// Find an `x` with `P[S > x] <= alpha`. Here `S` is the sum of `c E` over all weights `c`, where
/// the `E` are independent and have the density `exp(-x)`.
///
/// # Proof
/// Round each `c E` up to a multiple of `h`. Then `S` does not decrease, and each rounded term is
/// `h` times a geometric number: it exceeds `j h` with probability `g^j`, where
/// `g = exp(-h / c)`. Let `T(j)` be the probability that the sum of some terms exceeds `j h`. With
/// one more term, this probability is `T'(j) = g T'(j - 1) + (1 - g) T(j - 1)`, and `T'(0) = 1`.
/// The reason is that the new term is `h` with probability `1 - g`. Otherwise, the new term minus
/// `h` has the same distribution as the term. `T'(j - 1)` is at least `T(j - 1)`, so rounding `g`
/// up does not decrease `T'`. All numbers are positive, so each of the at most `4 j` roundings of
/// the computation for one term changes the result by a factor of at most `1 + 2^-53`. For up to 64
/// terms, all roundings together change it by a factor below `1 + 1e-9`. Numbers below the least
/// normal float can have a larger relative error. So for a tiny `alpha`, return the union bound.
fn exponentials(weights: &[f64], alpha: f64) -> Result<f64> {
    let limit = together(weights, alpha)?;
    let step = limit / STEPS as f64;
    if !(0.0 < step) || alpha < 1e-200 || 64 < weights.len() {
        return Ok(limit);
    }
    let mut beyond = vec![0.0_f64; STEPS + 1];
    for weight in weights.iter().filter(|weight| 0.0 < **weight) {
        let ratio = (-step.neg_inf_div(*weight)?).inf_exp()?.min(1.0);
        let mut above = 1.0_f64;
        for place in &mut beyond {
            let old = std::mem::replace(place, above);
            above = ratio * above + (1.0 - ratio) * old;
        }
    }
    let place = beyond.iter().position(|beyond| beyond * (1.0 + 1e-9) <= alpha);
    place.map_or(Ok(limit), |place| Ok(f64::inf_cast(place)?.inf_mul(step)?.min(limit)))
}
/// The number of steps of the grid of [`exponentials`]. For each term, the rounding to the grid
/// increases the bound by at most a thousandth of the union bound.
const STEPS: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_exponentials_have_the_quantiles_of_their_closed_forms() {
        for alpha in [0.5, 0.05, 1e-6, 1e-100] {
            let single = exponentials(&[3.0], alpha).unwrap();
            assert!((single / (-3.0 * f64::ln(alpha)) - 1.0).abs() < 2e-3, "{alpha}: {single}");
            // The sum of two exceeds x with probability (1 + x) exp(-x).
            let both = exponentials(&[1.0, 1.0], alpha).unwrap();
            let tail = |x: f64| (1.0 + x) * (-x).exp();
            assert!(tail(both) <= alpha && alpha < tail(both * 0.99 - 0.01), "{alpha}: {both}");
            // For the weights 1 and 2, this probability is 2 exp(-x / 2) - exp(-x).
            let both = exponentials(&[1.0, 2.0, 0.0], alpha).unwrap();
            let tail = |x: f64| 2.0 * (-x / 2.0).exp() - (-x).exp();
            assert!(tail(both) <= alpha && alpha < tail(both * 0.99 - 0.01), "{alpha}: {both}");
        }
        assert_eq!(exponentials(&[1.0], 1.0), Ok(0.0));
        let tiny = exponentials(&[1.0, 1.0], 1e-300).unwrap();
        assert_eq!(Ok(tiny), together(&[1.0, 1.0], 1e-300));
    }
    #[test]
    fn errors_of_earlier_choices_count_by_their_weights() {
        let mut ways = Vec::new();
        let ends = (Chosen::exact(0.0), Chosen::exact(1.0));
        each_way(&[0.25, 0.5, 0.75], (&ends.0, &ends.1), &mut |weights| {
            ways.push(weights.to_vec());
            Ok(())
        })
        .unwrap();
        // A quartile is halfway between the median and an end, and the ends have no error.
        assert_eq!(ways, [vec![1.0], vec![0.5, 1.0], vec![0.5, 1.0]]);
    }
}
