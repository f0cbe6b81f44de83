//! The choice of a candidate with a good score. Gumbel noise is added to the scores.

use serde_json::Value as Json;

use opendp_core::arith::{Exact, InfCast, Number};
use opendp_core::codec::unexpected;
use opendp_core::{
    Atom, AtomDomain, Codec, Distance, Error, LInfDistance, MaxDivergence, Measurement, Metric,
    MetricOn, RangeDistance, Result, Space, VectorDomain, named,
};

use crate::noise::quotient::{exact_quotient, finite_distance, quotient};
use crate::samplers::{Optimize, Score, gumbel_top_k};
use crate::selection::{AnyScoreMetric, choice};
use crate::{Scale, Temperature};

/// A metric on vectors of scores. A distance in the metric bounds the loss of a choice by Gumbel
/// noise.
///
/// Let `u` and `v` be two score vectors at distance at most `d_in`. The range of the changes of the
/// scores is `max_ij |(u_i - v_i) - (u_j - v_j)|`. An implementation claims a bound on this range,
/// and computes the loss from the bound.
pub trait ScoreMetric: Metric {
    /// Return an upper bound on `range / scale`. `range` is the range of the changes of the scores.
    ///
    /// The result is 0 for a range of 0. At scale 0, the result is infinite for any other range.
    /// The result is the epsilon of a choice by Gumbel noise of this scale. The scale of Gumbel
    /// noise is also called the temperature.
    ///
    /// # Errors
    /// `FailedMap` when `d_in` is infinite, negative or NaN; `Overflow` when the range does not fit
    /// the type of `d_in`, or the bound exceeds all floats.
    fn loss(&self, d_in: &Self::Distance, scale: Scale) -> Result<f64>;
    /// Return the bound of [`loss`](ScoreMetric::loss) as an exact number. The default
    /// implementation returns the float bound.
    ///
    /// # Errors
    /// The errors of [`loss`](ScoreMetric::loss).
    fn exact_loss(&self, d_in: &Self::Distance, scale: Scale) -> Result<Exact> {
        Exact::from_f64(self.loss(d_in, scale)?)
    }
}

/// Make a measurement that chooses the index of a good score.
///
/// If `optimize` is "min", each score is first negated. Each score is divided by the temperature,
/// and independent Gumbel noise is added. The release is the index of the largest sum. This
/// mechanism is the exponential mechanism. For "max", index `i` is chosen with probability
/// proportional to `exp(score_i / temperature)`. For "min", this probability is proportional to
/// `exp(-score_i / temperature)`. The analyst can look up the released index in a public list of
/// candidates.
///
/// # Arguments
/// * `input` - vectors of scores under the range distance or the L-infinity distance
/// * `temperature` - the scale of the noise, in the unit of the scores. A higher temperature makes
///   the probabilities of the candidates more equal
/// * `optimize` - "max" if a large score is good, "min" if a small score is good
///
/// # Precondition
/// The domain excludes NaN, because the metric requires a domain without NaN. `temperature` is
/// finite and positive. The domain can have vectors of any length. Members at a finite distance
/// have the same length. So the number of candidates counts as public. Infinity counts as the
/// largest finite number, and minus infinity counts as the lowest finite number.
///
/// # Postcondition
/// Any two members at distance at most `d_in` give releases whose max-divergence is at most
/// `map(d_in)`.
///
/// # Map
/// The loss is `range / temperature`, rounded up once. Here `range` bounds the difference between
/// the changes of any two scores. A `range` of 0 gives the loss 0. Under the range distance,
/// `range` is `d_in`. Under the L-infinity distance, `range` is also `d_in` if all scores change in
/// one direction (`monotonic`). Otherwise `range` is `d_in + d_in`, rounded up.
///
/// # Proof
/// *The probabilities.* Let `t` be the temperature. Let `u` be the vector of scores for "max", and
/// the vector of negated scores for "min". Negation changes no distance. With `k = 1`,
/// [`gumbel_top_k`] returns the index that maximises `u_i / t - ln(E_i)`. Here the `E_i` are
/// independent standard exponential variables. So the index minimises `E_i exp(-u_i / t)`. This
/// product is an exponential variable of rate `w_i = exp(u_i / t)`. Among independent exponential
/// variables of rates `w_j`, variable `i` is the smallest with probability `w_i / sum_j w_j`
/// (Maddison, Tarlow, Minka 2014). Comparisons use exact numbers. So the release has these
/// probabilities for scores of any magnitude.
///
/// *The loss.* Let `v` be the vector of a neighbour, negated for "min" like `u`. Let
/// `h = max_j (v_j - u_j)`. `v` has the same length as `u` because `d_in` is finite. Let `P_u[i]`
/// and `P_v[i]` be the probabilities of index `i` for `u` and for `v`. For each `j`,
/// `exp(v_j / t) <= exp(u_j / t) exp(h / t)`. So `sum_j exp(v_j / t)` is at most
/// `exp(h / t) sum_j exp(u_j / t)`. For every index `i`,
///
/// `P_u[i] / P_v[i] = exp((u_i - v_i) / t) sum_j exp(v_j / t) / sum_j exp(u_j / t)`
/// `<= exp(((u_i - v_i) + h) / t) = exp(max_j ((u_i - v_i) - (u_j - v_j)) / t)`.
///
/// The exponent is at most the range of the changes divided by `t`. This range is the largest minus
/// the smallest of the numbers `u_j - v_j`. A bound for every index is a bound for every event
/// (McSherry, Talwar 2007; for this metric, Medina, Gillenwater 2020).
///
/// *The range.* Under the range distance, the range is at most `d_in` by definition. Under the
/// L-infinity distance, every score changes by at most `d_in`, so two changes differ by at most
/// `2 d_in`. If all changes have the same sign, two changes differ by at most `d_in`. The
/// replacement of infinities by finite numbers does not increase any distance between members. The
/// map divides the range by the temperature exactly, and rounds the quotient up to a float once.
///
/// # Accuracy
/// Let `n` be the number of scores. With probability at least `1 - alpha`, the chosen score differs
/// from the best score by at most `temperature ln(n / alpha)`, rounded up (McSherry, Talwar 2007;
/// Dwork, Roth 2014, Theorem 3.11). The accuracy is known if the domain has a known size above 0.
///
/// # Errors
/// * `Argument` when `optimize` is "max", but the space states that the lowest score is the best
/// * from the map: `FailedMap` when `d_in` is infinite, negative or NaN; `Overflow` when
///   `d_in + d_in` does not fit the type of `d_in`, or the loss exceeds all floats
/// * from the function: `FailedFunction` when there are no scores. This error reveals only the
///   number of scores, which is public
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Optimize, Temperature, make_gumbel_max};
/// let scores = VectorDomain::new(AtomDomain::<i32>::default()).with_size(3);
/// let input = Space::new(scores, RangeDistance::<i32>::new())?;
/// let choice = make_gumbel_max(input, Temperature::new(2.0)?, Optimize::Max)?;
/// assert_eq!(choice.map(&1)?, 0.5);
/// assert_eq!(choice.invoke(&vec![0, 1000, -10])?, 1); // fails with probability exp(-500)
/// # Ok::<(), Error>(())
/// ```
pub fn make_gumbel_max<T, M>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
    temperature: Temperature,
    optimize: Optimize,
) -> Result<Measurement<VectorDomain<AtomDomain<T>>, M, MaxDivergence, usize>>
where
    T: Atom + Number + Score,
    M: MetricOn<VectorDomain<AtomDomain<T>>> + ScoreMetric,
{
    let refusal = ("optimize", "\"min\"");
    choice(input, MaxDivergence, temperature.into(), (optimize, refusal), gumbel_top_k::<T, _>)
}

macro_rules! register_at {
    ($($t:ty)+) => {$(
        register! {
            "gumbel_max.rs": make_gumbel_max
                as ["make_gumbel_max", "make_base_discrete_exponential"]
                (input, temperature, optimize = "max")
                for T in [$t], M in [RangeDistance<$t>, LInfDistance<$t>] as AnyScoreMetric<true>;
        }
    )+};
}
register_at!(i8 i16 i32 i64 i128 u8 u16 u32 u64 usize f32 f64);

impl<Q> ScoreMetric for RangeDistance<Q>
where
    Q: Distance + Number,
    f64: InfCast<Q>,
    i128: InfCast<Q>,
{
    fn loss(&self, d_in: &Q, scale: Scale) -> Result<f64> {
        quotient(*d_in, scale.value())
    }
    fn exact_loss(&self, d_in: &Q, scale: Scale) -> Result<Exact> {
        exact_quotient(*d_in, scale.value())
    }
}
impl<Q> ScoreMetric for LInfDistance<Q>
where
    Q: Distance + Number,
    f64: InfCast<Q>,
    i128: InfCast<Q>,
{
    fn loss(&self, d_in: &Q, scale: Scale) -> Result<f64> {
        quotient(range(self, *d_in)?, scale.value())
    }
    fn exact_loss(&self, d_in: &Q, scale: Scale) -> Result<Exact> {
        exact_quotient(range(self, *d_in)?, scale.value())
    }
}
/// Return an upper bound on the range of the changes, if each score changes by at most `d_in`.
fn range<Q: Distance + Number>(metric: &LInfDistance<Q>, d_in: Q) -> Result<Q> {
    let d_in = finite_distance(d_in)?;
    if metric.monotonic() { Ok(d_in) } else { d_in.inf_add(d_in) }
}

impl Codec for Optimize {
    fn to_json(&self) -> Json {
        Json::from(match self {
            Optimize::Max => "max",
            Optimize::Min => "min",
        })
    }
    fn from_json(json: &Json) -> Result<Self> {
        match json.as_str() {
            Some("max") => Ok(Optimize::Max),
            Some("min") => Ok(Optimize::Min),
            Some(_) => {
                Err(Error::FailedCast("expected \"max\" or \"min\", found another text".to_owned()))
            }
            None => Err(unexpected("\"max\" or \"min\"", json)),
        }
    }
}
named!(Optimize as "Optimize");

#[cfg(test)]
mod tests;
