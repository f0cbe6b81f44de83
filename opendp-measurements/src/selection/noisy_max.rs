//! The choice of a good candidate under several privacy measures.

use opendp_core::arith::Number;
use opendp_core::{
    Atom, AtomDomain, LInfDistance, MaxDivergence, Measurement, MetricOn, RangeDistance, Result,
    Space, TheMeasure, VectorDomain, ZeroConcentratedDivergence,
};

use crate::Scale;
use crate::samplers::{Optimize, Score};
use crate::selection::{AnyScoreMetric, AnySelectionMeasure, ScoreMetric, Selects, choice};

/// Make a measurement that chooses the index of a good score.
///
/// If `negate` is true, each score is first negated. Each score is divided by the scale, and
/// independent noise is added. The release is the index of the largest sum. Under the
/// max-divergence, the noise is exponential. The index then has the probabilities of
/// permute-and-flip. Under zero-concentrated divergence, the noise is Gumbel noise. The index then
/// has the probabilities of the exponential mechanism.
///
/// # Arguments
/// * `input` - vectors of scores under the L-infinity distance or the range distance
/// * `output_measure` - the measure of the loss: max-divergence or zero-concentrated divergence
/// * `scale` - the scale of the noise, in the unit of the scores. At scale 0, no noise is added
/// * `negate` - true if a small score is good, false if a large score is good. For scores of
///   quantile candidates, `negate` must be true
///
/// # Precondition
/// The domain excludes NaN, because the metric requires a domain without NaN. `scale` is finite and
/// not negative. The domain can have vectors of any length. Members at a finite distance have the
/// same length. So the number of candidates counts as public. Infinity counts as the largest finite
/// number, and minus infinity counts as the lowest finite number.
///
/// # Postcondition
/// Any two members at distance at most `d_in` give releases whose divergence in `output_measure` is
/// at most `map(d_in)`. At scale 0, the release is the index of the best score. If several scores
/// are the best, the release is the largest of their indices.
///
/// # Map
/// Let `r = range / scale`, rounded up. The loss is `r` under the max-divergence. Under
/// zero-concentrated divergence, the loss is `r^2 / 8`, with each operation rounded up. `range` is
/// `d_in` under the range distance and under a `monotonic` L-infinity distance. Otherwise `range`
/// is `d_in + d_in`, rounded up. A range of 0 has the loss 0. At scale 0, any other range has
/// infinite loss. A budget is charged with the exact loss: these formulas without rounding, except
/// that `range` can be rounded up.
///
/// # Proof
/// Let `s` be the scale. Let `u` and `v` be the scores of neighbours. If `negate` is true, `u` and
/// `v` are the negated scores. Negation changes no distance. The vectors have the same length
/// because `d_in` is finite. Let `P_u[i]` and `P_v[i]` be the probabilities of the release `i` for
/// the scores `u` and `v`. Any two of the changes `u_i - v_i` differ by at most `range`, by the
/// proof of [`make_gumbel_max`](crate::make_gumbel_max). The replacement of infinities by finite
/// numbers does not increase any distance between members.
///
/// *Max-divergence.* [`permute_and_flip`](crate::samplers::permute_and_flip) returns exactly the
/// index that maximises `u_i / s + E_i` for independent standard exponential `E_i`. Fix an index
/// `i` and the `E_j` of all other indices. Under `u`, the release is `i` if `E_i` exceeds
/// `t = max_(j != i) (u_j / s + E_j) - u_i / s`. Under `v`, the release is `i` if `E_i` exceeds the
/// same expression with `v` in place of `u`. This second expression is at most `t + r`, because
/// `(v_j - v_i) - (u_j - u_i) <= range`. For every real `t` and `r >= 0`,
/// `P[E_i > t + r] >= e^-r P[E_i > t]`. The average over the other `E_j` gives
/// `P_v[i] >= e^-r P_u[i]`. A bound for every index is a bound for every event (McKenna, Sheldon
/// 2020, for these probabilities; Dwork, Roth 2014, Claim 3.9, for the argument).
///
/// *Zero-concentrated divergence.* [`gumbel_argmax`](crate::samplers::gumbel_argmax) returns `i`
/// with probability exactly proportional to `exp(u_i / s)`. So `L_i = ln(P_u[i] / P_v[i])` is
/// `(u_i - v_i) / s` plus a constant. All `L_i` are in an interval of length `r`. Let
/// `K(t) = ln sum_i P_v[i] exp(t L_i)`. Then `K(0) = K(1) = 0`, because `P_u` and `P_v` are
/// distributions. `K''(t)` is the variance of the numbers `L_i` under weights proportional to
/// `P_v[i] exp(t L_i)`. The variance of numbers in an interval of length `r` is at most `r^2 / 4`.
/// So `r^2 t (t - 1) / 8 - K(t)` is convex with zeros 0 and 1, and at least 0 for `t > 1`. The
/// Renyi divergence of order `a` is `K(a) / (a - 1) <= a r^2 / 8`. By symmetry this bound holds in
/// both directions, so the loss is `r^2 / 8` (Cesar, Rogers 2021; for the range, Durfee, Rogers
/// 2019). Permute-and-flip with the loss `r` under the max-divergence does not satisfy this bound.
/// The reason is that the numbers `L_i` of permute-and-flip can differ by up to `2 r`. A test finds
/// a Renyi divergence of permute-and-flip that exceeds this bound. So the noise is different for
/// the two measures.
///
/// *Scale 0.* At distance 0, all scores change by the same number. So the best scores have the same
/// indices for both neighbours, and the releases are equal.
///
/// # Accuracy
/// Let `n` be the number of scores. With probability at least `1 - alpha`, the chosen score differs
/// from the best score by at most `scale ln(n / alpha)`, rounded up. For exponential noise, this
/// difference is at most the scale times the largest of the noise variables `E_j`. The largest
/// `E_j` exceeds `ln(n / alpha)` with probability at most `alpha`. For Gumbel noise, see
/// [`make_gumbel_max`](crate::make_gumbel_max). The accuracy is known if the domain has a known
/// size above 0.
///
/// # Errors
/// * `Argument` when `negate` is false, but the space states that the lowest score is the best
/// * from the map: `FailedMap` when `d_in` is infinite, negative or NaN; `Overflow` when
///   `d_in + d_in` does not fit the type of `d_in`, or the loss exceeds all floats
/// * from the function: `FailedFunction` when there are no scores. This error reveals only the
///   number of scores, which is public
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_noisy_max};
/// let scores = VectorDomain::new(AtomDomain::<i32>::default()).with_size(3);
/// let input = Space::new(scores, LInfDistance::<i32>::new(true))?;
/// let pure = make_noisy_max(input.clone(), TheMeasure(MaxDivergence), Scale::new(2.0)?, false)?;
/// assert_eq!(pure.map(&1)?, 0.5);
/// let concentrated = TheMeasure(ZeroConcentratedDivergence);
/// let choice = make_noisy_max(input, concentrated, Scale::new(2.0)?, false)?;
/// assert_eq!(choice.map(&1)?, 0.03125);
/// assert_eq!(choice.invoke(&vec![0, 1000, -10])?, 1); // fails with probability exp(-500)
/// # Ok::<(), Error>(())
/// ```
pub fn make_noisy_max<T, M, MO>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
    output_measure: TheMeasure<MO>,
    scale: Scale,
    negate: bool,
) -> Result<Measurement<VectorDomain<AtomDomain<T>>, M, MO, usize>>
where
    T: Atom + Number + Score,
    M: MetricOn<VectorDomain<AtomDomain<T>>> + ScoreMetric,
    MO: Selects,
{
    let optimize = if negate { Optimize::Min } else { Optimize::Max };
    let choose = output_measure.0.chooser();
    choice(input, output_measure.0, scale, (optimize, ("negate", "true")), choose)
}

macro_rules! register_at {
    ($($t:ty)+) => {$(
        register! {
            "noisy_max.rs": make_noisy_max(input, output_measure, scale, negate = false)
                for T in [$t], M in [LInfDistance<$t>, RangeDistance<$t>] as AnyScoreMetric<true>,
                    MO in [MaxDivergence, ZeroConcentratedDivergence] as AnySelectionMeasure;
        }
    )+};
}
register_at!(i8 i16 i32 i64 i128 u8 u16 u32 u64 usize f32 f64);

#[cfg(test)]
mod tests;
