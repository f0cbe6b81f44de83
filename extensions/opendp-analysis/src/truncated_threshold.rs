//! Truncated Laplace noise on the counts of keys, with a threshold that hides rare keys.

use std::collections::HashMap;

use opendp_core::arith::{Directed, DirectedFloat, InfCast, Integer, shown};
use opendp_core::random::{NoEntropy, RandomSource, with_secure};
use opendp_core::{
    AbsoluteDistance, Approximate, Atom, AtomDomain, Distance, Error, HashableAtom, L01InfDistance,
    MapDomain, MaxDivergence, Measurement, PrivacyMap, Result, Space, register,
};
use opendp_measurements::accuracy::Noise;
use opendp_measurements::samplers::{bernoulli, discrete_laplace};
use opendp_measurements::{Keep, Kept, Scale, keeping};

/// The space of maps from keys to counts.
type Counts<K, V> =
    Space<MapDomain<AtomDomain<K>, AtomDomain<V>>, L01InfDistance<AbsoluteDistance<V>>>;
/// A measurement that releases the counts of some keys.
type Release<K, V> = Measurement<
    MapDomain<AtomDomain<K>, AtomDomain<V>>,
    L01InfDistance<AbsoluteDistance<V>>,
    Approximate<MaxDivergence>,
    HashMap<K, V>,
>;
/// The largest threshold, `2^53`. All integers up to this threshold are floats.
pub(crate) const MOST: f64 = 9_007_199_254_740_992.0;

/// Make a measurement that adds truncated Laplace noise to counts and hides rare keys.
///
/// The keys can be private. A key is released only if its noisy count reaches a threshold. So it is
/// improbable that a key of only one person is released. At the same epsilon and delta, this
/// measurement releases more keys than
/// [`make_laplace_threshold`](opendp_measurements::make_laplace_threshold) does, for two reasons.
/// First, noise is truncated, so delta is smaller than without truncation. Second, the threshold
/// need not be a whole number. So for each wanted delta, there is a threshold that uses the whole
/// delta.
///
/// # Arguments
/// * `input` - maps from keys to integer counts. A distance has three parts: the number of changed
///   counts, the sum of the magnitudes of the changes, and the largest magnitude of a change
/// * `scale` - the scale of the noise. At scale 0, no noise is added
/// * `threshold` - a key is released if its noisy count is at least the threshold. A threshold that
///   is not a whole number is rounded at random, separately for each key
///
/// # Precondition
/// `scale` is finite and not negative. `threshold` is from 1 to `2^53`, and at least `scale`.
///
/// # Function
/// Keys with the count 0 are dropped. Let `t` be the whole part of the threshold and `w` the
/// remaining fraction. For each other key, let `T` be `t + 1` with probability `w`, and `t`
/// otherwise. Let `k = T - 1`, and let `Z` be a random integer from `-k` to `k` with a probability
/// proportional to `exp(-|Z| / scale)`. The key is released with its count plus `Z`, if this sum is
/// at least `T`. If this sum exceeds the largest number of the type of counts, the largest number
/// is released instead of the sum.
///
/// # Postcondition
/// For any two members at distance at most `d_in`, the releases are `(epsilon, delta)`-close, where
/// `(epsilon, delta)` is `map(d_in)`. The order of the keys in a release depends only on the
/// released keys.
///
/// # Map
/// Let `d_in = (l0, l1, linf)`, and let `d` be the smaller one of `l1` and `linf`. Let
/// `q = exp(-1 / scale)`. Let `p_k` be the probability that `Z` is at least `k + 1 - d`:
/// `p_k = q^(k + 1 - d) (1 - q^d) / (1 + q - 2 q^(k + 1))`, or 1 if `d` is above `k`. The loss has
/// two parts:
/// * `epsilon = min(l1, l0 d) / scale`, rounded up
/// * `delta = 1 - (1 - p)^l0`, rounded up, where `p = (1 - w) p_(t - 1) + w p_t`
///
/// The loss is `(0, 0)` if `l0`, `l1` or `linf` is 0. At scale 0, any other distance gives
/// `(infinity, 1)`.
///
/// # Proof
/// In a release, the parts about different keys are independent. Take two members at distance at
/// most `d_in`. Let `P_i` and `Q_i` be the laws (the probability distributions) of the part of key
/// `i` on these members. An absent key has the count 0. Let `d_i` be the magnitude of the change of
/// the count of key `i`. Claim: `P_i = G_i + H_i` for two non-negative measures `G_i` and `H_i`,
/// where `G_i <= exp(d_i / scale) Q_i` and `H_i` has a mass of at most `p`. `H_i` is 0 if the count
/// does not change.
///
/// It is enough to show the claim for a given `T`, with `p_k` in place of `p`. The law of `T` is
/// the same for both members. Average the `G_i` and the `H_i` over `T`. These averages prove the
/// claim for a random `T`, because `p` is the average of `p_k`.
///
/// *Both counts differ from 0.* The release is a function of the noisy counts. Take a noisy count
/// with a positive probability on both members. The two values of `Z` differ by `d_i`, and `Z` has
/// the same law on both members. So the ratio of the two probabilities is at most
/// `exp(d_i / scale)`. Some noisy counts have a positive probability on this member, but
/// probability zero on the other member. Let `H_i` be the part of `P_i` that comes from these noisy
/// counts. These noisy counts are beyond one end of the range of noisy counts on the other member.
/// So `Z` is one of its `d_i` largest values, or one of its `d_i` smallest values. The mass of
/// `H_i` is at most `p_k`, because `d_i <= d` and the law of `Z` is symmetric.
///
/// *One count is 0.* On the member with the count 0, the key is not released. The count of this key
/// on the other member has a magnitude of at most `d`. So the key is released only if `Z` is at
/// least `T - d`, which is `k + 1 - d`. The probability of this event is at most `p_k`. If `P_i` is
/// the law on the other member, let `H_i` be the part of `P_i` where the key is released. Otherwise
/// `P_i` never releases the key, and `Q_i` hides the key with a probability of at least `1 - p_k`.
/// In this case, let `H_i` be `p_k` times `P_i`.
///
/// *Together.* At most `l0` counts change. The law of a release is the product of the laws of its
/// parts. The product of the `G_i` is at most `exp(sum_i d_i / scale)` times the product of the
/// `Q_i`. The sum of the `d_i` is at most `l1`, and at most `l0 d`. The product of the `G_i` has a
/// mass of at least `(1 - p)^l0`. So the rest of the law has a mass of at most `1 - (1 - p)^l0`. So
/// for every set `S` of releases, `P[S] <= exp(epsilon) Q[S] + delta`.
///
/// If only one count changes, by 1, this measurement is the truncated geometric mechanism of
/// Desfontaines, Voss, Gipson, Mandayam 2022. If the threshold is a whole number, that mechanism
/// releases each key with the largest probability that epsilon and delta admit.
///
/// *The order.* The release is a new map. Its keys are inserted in the order of their hashes, and
/// its capacity depends only on the number of released keys.
///
/// *Rounding.* `p_k` is computed with directed rounding: its dividend is rounded up, and its
/// divisor is rounded down.
///
/// # Accuracy
/// The magnitude of `Z` is stochastically smaller than the magnitude of Laplace noise without
/// truncation. So each noisy count has the same bound on its error as with Laplace noise. This
/// bound does not hold for the released keys alone: large noise can raise a count to the threshold,
/// so released counts have large errors more often. Take a weighted sum of several counts. Consider
/// the event that the error of this sum exceeds a given number. Let `P` be the probability of this
/// event for Laplace noise without truncation. To bound the probability of the same event for the
/// noise `Z`, divide `P` by `1 - 2 q^(k + 1) / (1 + q)`, once for each count. Here `k` is `t - 1`,
/// the smaller one of the two possible values of `k`.
///
/// # Errors
/// * `MakeMeasurement` when the threshold does not meet the precondition
/// * from the function and the map: `Overflow` when a count or a part of the distance exceeds
///   `i128`
/// * from the map: `FailedMap` when a part of the distance is negative; `Overflow` when epsilon
///   exceeds all floats
///
/// # Example
/// ```
/// use std::collections::HashMap;
/// use opendp_analysis::make_truncated_laplace_threshold;
/// use opendp_core::*;
/// use opendp_measurements::Scale;
/// let domain = MapDomain::new(AtomDomain::<String>::default(), AtomDomain::<i64>::default());
/// let counts = Space::new(domain, L01InfDistance::new(AbsoluteDistance::<i64>::new()))?;
/// let release = make_truncated_laplace_threshold(counts, Scale::new(1.0)?, 14.0)?;
/// let (epsilon, delta) = release.map(&(1, 1, 1))?;
/// assert!(epsilon == 1.0 && 1.044e-6 < delta && delta < 1.045e-6);
/// let words = HashMap::from([("the".to_owned(), 1000), ("xyzzy".to_owned(), 1)]);
/// assert!(release.invoke(&words)?.contains_key("the")); // always
/// # Ok::<(), Error>(())
/// ```
pub fn make_truncated_laplace_threshold<K, V>(
    input: Counts<K, V>,
    scale: Scale,
    threshold: f64,
) -> Result<Release<K, V>>
where
    K: HashableAtom,
    V: Atom + Integer + Distance,
{
    let noise = Truncated::new(scale, threshold)?;
    let (function, loss, accuracy) = (keeping(noise.keep()), loss_of(noise), accuracy_of(scale));
    let measure = Approximate::default();
    Ok(Measurement::new(input, measure, function, loss).with_accuracy(accuracy))
}
/// Return the map of the measurement. Its distances are in the type of the counts.
fn loss_of<V: Atom + Integer + Distance>(
    noise: Truncated,
) -> PrivacyMap<L01InfDistance<AbsoluteDistance<V>>, Approximate<MaxDivergence>> {
    PrivacyMap::new(move |(parts, sum, largest): &(u32, V, V)| {
        noise.loss((*parts, whole(*sum)?, whole(*largest)?))
    })
}
/// Return the bound on the error of a count.
fn accuracy_of(scale: Scale) -> impl Fn(f64) -> Result<Vec<Option<f64>>> + Send + Sync {
    move |alpha| Ok(vec![Some(Noise::discrete_laplace(scale).quantile(alpha)?)])
}

register! {
    "truncated_threshold.rs": make_truncated_laplace_threshold(input, scale, threshold)
        for K in [bool, i32, i64, u32, u64, usize, String], V in [i32, i64];
}

/// The scale of the noise, and the threshold, of one measurement.
#[derive(Clone, Copy, Debug)]
struct Truncated {
    scale: f64,
    /// The whole part of the threshold.
    least: i64,
    /// The probability with which a drawn threshold is `least + 1` instead of `least`.
    more: f64,
}
impl Truncated {
    fn new(scale: Scale, threshold: f64) -> Result<Self> {
        let scale = scale.value();
        if !(1.0 <= threshold && scale <= threshold && threshold <= MOST) {
            let (scale, threshold) = (shown(scale), shown(threshold));
            let reason = format!(
                "threshold: expected a number that is at least 1, at least the scale {scale} and \
                 at most 2^53, found {threshold}"
            );
            return Err(Error::MakeMeasurement(reason));
        }
        let whole = threshold.floor();
        Ok(Truncated { scale, least: whole as i64, more: threshold - whole })
    }
    /// Draw a threshold and noise for a count. If the noisy count reaches the threshold, return the
    /// noisy count. Otherwise, return `None`.
    fn noisy<S: RandomSource>(
        &self,
        count: i128,
        source: &mut S,
    ) -> Result<Option<i128>, NoEntropy> {
        let threshold = self.least + i64::from(bernoulli(self.more, source)?);
        // The stated threshold is at least the scale. So in each turn of the loop, the noise is
        // below the drawn threshold with a probability above 0.2.
        loop {
            let (negative, magnitude) = discrete_laplace(self.scale, source)?;
            let Ok(noise) = i64::try_from(magnitude) else { continue };
            if noise < threshold {
                let noisy = count.saturating_add((if negative { -noise } else { noise }).into());
                return Ok(Some(noisy).filter(|noisy| i128::from(threshold) <= *noisy));
            }
        }
    }
    fn keep<V: Integer>(self) -> Keep<V> {
        Box::new(move |counts| self.kept(counts))
    }
    /// Replace counts by noisy counts, and return the indices of those that reach their thresholds.
    fn kept<V: Integer>(&self, counts: &mut [V]) -> Result<Kept> {
        let mut noisy = Vec::with_capacity(counts.len());
        for count in counts.iter() {
            noisy.push(whole(*count)?);
        }
        let kept = self.kept_of(&mut noisy)?;
        for (_, place) in &kept {
            counts[*place] = V::saturating_from_i128(noisy[*place]);
        }
        Ok(kept)
    }
    /// Do the same for counts of the type `i128`.
    fn kept_of(&self, counts: &mut [i128]) -> Result<Kept> {
        with_secure(|source| {
            let mut kept = Vec::new();
            for (place, count) in counts.iter_mut().enumerate() {
                if let Some(noisy) = self.noisy(*count, source)? {
                    *count = noisy;
                    kept.push((0, place));
                }
            }
            Ok(kept)
        })
    }
    fn loss(&self, (parts, sum, largest): (u32, i128, i128)) -> Result<(f64, f64)> {
        let change = sum.min(largest);
        if change < 0 {
            let reason = format!("d_in: expected a distance of at least 0, found {change}");
            return Err(Error::FailedMap(reason));
        }
        if parts == 0 || change == 0 {
            return Ok((0.0, 0.0));
        }
        if self.scale == 0.0 {
            return Ok((f64::INFINITY, 1.0));
        }
        let all = f64::inf_cast(i128::from(parts).saturating_mul(change).min(sum))?;
        let (low, high) = (self.tail(self.least - 1, change)?, self.tail(self.least, change)?);
        let each = (1.0.inf_sub(self.more)?.inf_mul(low)?).inf_add(self.more.inf_mul(high)?)?;
        Ok((all.inf_div(self.scale)?, any_of(parts, each.min(1.0))?))
    }
    /// Return an upper bound on the probability that noise from `-k` to `k` is at least
    /// `k + 1 - change`.
    fn tail(&self, k: i64, change: i128) -> Result<f64> {
        let Some(change) = i64::try_from(change).ok().filter(|change| *change <= k) else {
            return Ok(1.0);
        };
        // Let `q` be `exp(-1 / scale)`. The closure `above` returns `q^power`, rounded up. A
        // `power` of at most 2^53 is exactly a float. The only larger `power` is 2^53 + 1. The
        // conversion rounds this number down to 2^53, which increases `q^power`.
        let exponent = |power: i64| (power as f64).neg_inf_div(self.scale).map(|ratio| -ratio);
        let above = |power: i64| exponent(power)?.inf_exp();
        let least = -(1.0.inf_div(self.scale)?);
        let part = -((-change as f64).neg_inf_div(self.scale)?.neg_inf_exp_m1()?);
        let whole = least.neg_inf_exp()?.neg_inf_add(1.0)?;
        let whole = whole.neg_inf_sub(2.0.inf_mul(above(k + 1)?)?)?;
        if !(0.0 < whole) {
            return Ok(1.0);
        }
        Ok(above(k + 1 - change)?.inf_mul(part)?.inf_div(whole)?.min(1.0))
    }
}
/// Convert an integer of any type to `i128`. Only `u128` has numbers that do not fit.
fn whole<V: Integer>(number: V) -> Result<i128> {
    number.to_i128().ok_or_else(|| Error::Overflow("a count exceeds i128".into()))
}
/// Each of `count` independent events has a probability of at most `each`. Return an upper bound on
/// the probability that at least one of the events happens.
fn any_of(count: u32, each: f64) -> Result<f64> {
    if count == 1 || each == 1.0 {
        return Ok(each);
    }
    let none = (-each).neg_inf_ln_1p()?.neg_inf_mul(f64::from(count))?;
    let joint = -(none.neg_inf_exp_m1()?);
    Ok(joint.min(each.inf_mul(f64::from(count))?).min(1.0))
}

#[cfg(test)]
mod tests;
