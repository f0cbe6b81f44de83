//! The choice of a good candidate under several privacy measures.

use opendp_core::arith::Number;
use opendp_core::{
    Atom, AtomDomain, LInfDistance, MaxDivergence, Measurement, MetricOn, RangeDistance, Result,
    Space, TheMeasure, VectorDomain, ZeroConcentratedDivergence,
};

use crate::samplers::{Optimize, Score};
use crate::selection::gumbel_max::{ScoreMetric, accuracy_of_choice};
use crate::selection::{check_best, choosing_one, loss_of_choices};
use crate::{Scale, SelectionMeasure};

/// Make a measurement that chooses the index of a good score.
///
/// Each score, divided by the scale, gets independent noise; the release is the index of the
/// best sum. Under the max-divergence the noise is exponential, which gives the probabilities of
/// permute-and-flip. Under zero-concentrated divergence it is Gumbel noise, which gives the
/// probabilities of the exponential mechanism.
///
/// # Arguments
/// * `input` - vectors of scores under the L-infinity distance or the range distance
/// * `output_measure` - the measure of the loss: max-divergence or zero-concentrated divergence
/// * `scale` - the scale of the noise, in the unit of the scores; 0 for no noise
/// * `negate` - whether a small score is good, instead of a large one. Scores of quantile
///   candidates need it
///
/// # Precondition
/// The domain excludes NaN; otherwise there is no such space. `scale` is finite and not negative.
/// The length of the vectors need not be known: vectors of different lengths are infinitely far
/// apart, so a finite `d_in` implies that the number of candidates is public. An infinite score
/// counts as the largest or lowest finite number.
///
/// # Postcondition
/// Any two members at distance at most `d_in` give releases whose divergence, in the measure, is at
/// most `map(d_in)`. At scale 0 the release is the last of the best scores.
///
/// # Map
/// With `r = range / scale`, rounded up, the loss is `r` under the max-divergence and `r^2 / 8`,
/// each operation rounded up, under zero-concentrated divergence. `range` is `d_in` under the range
/// distance and under a `monotonic` L-infinity distance, and `d_in + d_in`, rounded up, under any
/// other. A range of 0 loses 0; at scale 0 any other range has infinite loss. The exact bound,
/// which counts against a budget, is the fraction itself.
///
/// # Proof
/// Let `s` be the scale, and `u` and `v` the scores of neighbours, negated for `negate`. Negation
/// changes no distance. The vectors have the same length because `d_in` is finite. No two of the
/// changes `u_i - v_i` differ by more than `range`, which
/// [`make_gumbel_max`](crate::make_gumbel_max) bounds. Replacing infinities does not increase any
/// distance between members.
///
/// *Max-divergence.* [`permute_and_flip`](crate::samplers::permute_and_flip) returns exactly the
/// index that maximises `u_i / s + E_i` for independent standard exponential `E_i`. Fix an index
/// `i` and the `E_j` of all others. Under `u` the release is `i` when `E_i` exceeds
/// `t = max_(j != i) (u_j / s + E_j) - u_i / s`. Under `v` it is `i` when `E_i` exceeds the same
/// expression with `v`. This is at most `t + r`, because `(v_j - v_i) - (u_j - u_i) <= range`.
/// Since `P[E_i > t + r] >= e^-r P[E_i > t]` for every real `t` and `r >= 0`, averaging over the
/// others gives `P_v[i] >= e^-r P_u[i]`. A bound for every index is a bound for every event
/// (McKenna, Sheldon 2020, for these probabilities; Dwork, Roth 2014, Claim 3.9, for the argument).
///
/// *Zero-concentrated divergence.* [`gumbel_argmax`](crate::samplers::gumbel_argmax) returns `i`
/// with probability exactly proportional to `exp(u_i / s)`. So `L_i = ln(P_u[i] / P_v[i])` is
/// `(u_i - v_i) / s` plus a constant, and lies in an interval of length `r`. Let
/// `K(t) = ln sum_i P_v[i] exp(t L_i)`. Then `K(0) = K(1) = 0`, because both are distributions, and
/// `K''(t)` is the variance of `L` under weights proportional to `P_v[i] exp(t L_i)`, which is at
/// most `r^2 / 4` in an interval of length `r`. So `r^2 t (t - 1) / 8 - K(t)` is convex with zeros
/// 0 and 1, and not negative for `t > 1`. The Renyi divergence of order `a` is
/// `K(a) / (a - 1) <= a r^2 / 8`, in both directions by symmetry, which is the claim of a loss of
/// `r^2 / 8` (Cesar, Rogers 2021; for the range, Durfee, Rogers 2019). Permute-and-flip of loss `r`
/// does not satisfy this bound: its `L` has a range of up to `2 r`, and a test finds it above
/// `r^2 / 8`. So each measure has its own noise.
///
/// *Scale 0.* At distance 0 all scores change by the same number, so the last of the best scores
/// keeps its place. The release is a function of the data.
///
/// # Accuracy
/// The chosen score is within `scale ln(n / alpha)`, rounded up, of the best of `n`, except with
/// probability `alpha`. For exponential noise, the chosen score is below the best by at most the
/// scale times the largest of the `E_j`, which exceeds `ln(n / alpha)` with probability at most
/// `alpha`. For Gumbel noise see [`make_gumbel_max`](crate::make_gumbel_max). The accuracy is known
/// when the size is known.
///
/// # Errors
/// * `Argument` without `negate`, when the space states that the lowest score is the best
/// * from the map: `FailedMap` when `d_in` is infinite, negative or NaN; `Overflow` when doubling
///   leaves the type of the distance or the loss exceeds all floats
/// * from the function: `FailedFunction` when there are no scores, which is public
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
/// assert_eq!(choice.invoke(&vec![0, 1000, -10])?, 1); // but with probability exp(-500)
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
    MO: SelectionMeasure,
{
    let (size, metric) = (input.domain().size(), input.metric().clone());
    let optimize = if negate { Optimize::Min } else { Optimize::Max };
    check_best(&input, optimize, "negate", "true")?;
    let function = choosing_one::<MO, T>(scale, optimize);
    let map = loss_of_choices::<M, MO>(metric, scale, 1);
    Ok(Measurement::new(input, output_measure.0, function, map)
        .with_accuracy(accuracy_of_choice(scale, size)))
}

macro_rules! register_at {
    ($($t:ty)+) => {$(
        register! {
            "noisy_max.rs": make_noisy_max(input, output_measure, scale, negate = false)
                for T in [$t], M in [LInfDistance<$t>, RangeDistance<$t>],
                    MO in [MaxDivergence, ZeroConcentratedDivergence];
        }
    )+};
}
register_at!(i8 i16 i32 i64 i128 u8 u16 u32 u64 usize f32 f64);

#[cfg(test)]
mod tests;
