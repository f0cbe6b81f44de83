//! Randomized response for each bit of a vector.

use opendp_core::arith::{Directed, DirectedFloat, InfCast, shown};
use opendp_core::random::{NoEntropy, RandomSource, with_secure};
use opendp_core::{
    BitVector, BitVectorDomain, DiscreteDistance, Error, Function, MaxDivergence, Measurement,
    PrivacyMap, Result, Space,
};

use crate::collected::Collected;
use crate::samplers::BernoulliLanes;

type Response = Measurement<BitVectorDomain, DiscreteDistance, MaxDivergence, BitVector>;

/// Make a measurement that flips each bit of a vector with probability `f / 2`.
///
/// The mechanism is the permanent randomized response of RAPPOR (Erlingsson, Pihur, Korolova 2014).
/// With probability `f`, a bit is replaced by a fair bit.
///
/// # Arguments
/// * `input` - vectors of bits of a known length, optionally with a limit on the number of ones
/// * `f` - the probability that a bit is replaced, above 0 and up to 1
/// * `constant_time` - whether the number of drawn words depends only on `f` and the length
///
/// # Precondition
/// The vectors of the domain must have a known size, because a release reveals the size of its
/// input. `f` is above 0 and at most 1, and is exactly the rational number that the float
/// represents.
///
/// # Postcondition
/// Any two members at distance at most `d_in` give releases whose max-divergence is at most
/// `map(d_in)`. A release has the same number of bits as its input.
///
/// # Map
/// Let `k` be the smaller of the size of the vectors and twice the limit on the number of ones.
/// Without a limit, let `k` be the size of the vectors. The loss is 0 for `d_in = 0`. For other
/// distances, the loss is `k ln((2 - f) / f)`, rounded up. If `(2 - 2f) / f`, rounded up, exceeds
/// all floats, the loss is `746 k`, which is at least `k ln((2 - f) / f)`.
///
/// # Proof
/// Two members of size `n` with at most `m` ones differ in at most `n` places. The members differ
/// only in places where one member has a 1. There are at most `2m` such places. So the members
/// differ in at most `k = min(2m, n)` places. Every bit is flipped independently with probability
/// exactly `f / 2`, by [`BernoulliLanes`]. So the probability of a release is a product with one
/// factor for each place. The factor is `1 - f / 2` in a place where the release agrees with the
/// data, and `f / 2` in every other place. Divide the product for one member by the product for the
/// other member. In this ratio, a factor can differ from 1 only in a place where the members
/// differ. Such a factor is at most `(1 - f / 2) / (f / 2) = (2 - f) / f` (Erlingsson, Pihur,
/// Korolova 2014, Theorem 1). This bound is at least 1. The product of `k` such factors bounds the
/// ratio for each release, and so for every event. Equal data give equal distributions.
///
/// Without a size, members can have different lengths. A release that reveals the length has
/// infinite loss.
///
/// *Rounding.* `x = (2 - f) / f - 1` is computed as the quotient `(2 - 2f) / f`, rounded up. The
/// dividend `2 - 2f` is exact for `f >= 1/2`, and rounded up for smaller `f`. `ln(1 + x)` increases
/// with `x`. The logarithm is rounded up, and the product of `k` and the logarithm is also rounded
/// up.
///
/// *Time.* The words that decide which bits to flip are drawn independently of the data. Then the
/// bits are flipped by exclusive or. With `constant_time`, the number of words is the same for
/// every release. Without `constant_time`, the number of words depends on the values of the words.
/// So the time of a release can reveal something about the flipped bits. The language does not
/// guarantee any duration.
///
/// # Errors
/// `MakeMeasurement` when the domain has no size, or `f` is out of range. The function fails with
/// `FailedFunction` if the size of the data differs from the size of the domain.
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::make_randomized_response_bitvec;
/// let reports = BitVectorDomain::new().with_max_weight(4).with_size(24);
/// let release =
///     make_randomized_response_bitvec(Space::new(reports, DiscreteDistance)?, 0.95, false)?;
/// assert!((release.map(&1)? - 0.8006676684558611).abs() < 1e-14);
/// assert_eq!(release.invoke(&BitVector::zeros(24))?.len(), 24);
/// # Ok::<(), Error>(())
/// ```
pub fn make_randomized_response_bitvec(
    input: Space<BitVectorDomain, DiscreteDistance>,
    f: f64,
    constant_time: bool,
) -> Result<Response> {
    let Some(size) = input.domain().size() else {
        return Err(Error::MakeMeasurement(
            "input: expected a bitvector_domain with a size, because a release reveals the length \
             of its input"
                .into(),
        ));
    };
    if !(0.0 < f && f <= 1.0) {
        return Err(Error::MakeMeasurement(format!(
            "f: expected a number above 0 and at most 1, found {}",
            shown(f)
        )));
    }
    let places =
        input.domain().max_weight().map_or(size, |weight| weight.saturating_mul(2).min(size));
    let excess = 2.0.inf_sub(2.0 * f)?.inf_div(f);
    let constant = match (places, excess) {
        (0, _) => 0.0,
        (_, Ok(excess)) => f64::inf_cast(places)?.inf_mul(excess.inf_ln_1p()?)?,
        // The quotient (2 - f) / f is below 2^1076, so its logarithm is below 746.
        (_, Err(_)) => f64::inf_cast(places)?.inf_mul(746.0)?,
    };
    let coins = BernoulliLanes::new(f, 1);
    let function = Function::map(move |data: &BitVector| {
        if data.len() != size {
            return Err(Error::FailedFunction(
                "expected a bit vector of the size of the domain, found another length".into(),
            ));
        }
        Ok(with_secure(|source| flip(data, coins, constant_time, source))?)
    });
    let map = PrivacyMap::new(move |d_in: &u32| Ok(if *d_in == 0 { 0.0 } else { constant }));
    Ok(Measurement::new(input, MaxDivergence, function, map))
}
register! {
    "randomized_response_bitvec.rs":
        make_randomized_response_bitvec(input, f, constant_time = false);
}

/// Draw a coin for each bit of the data, and flip the bit if the coin shows true. The words of the
/// data are processed one after another.
fn flip<S: RandomSource>(
    data: &BitVector,
    coins: BernoulliLanes,
    constant_time: bool,
    source: &mut S,
) -> Result<BitVector, NoEntropy> {
    let lanes = u64::MAX >> (u64::BITS - S::BITS);
    let mut flipped = Vec::with_capacity(data.words().len());
    for (index, word) in data.words().iter().enumerate() {
        let wanted = data.mask(index);
        let mut flips = 0;
        // With random words of 64 bits, the loop runs once for each word of the data. With the
        // shorter random words of some tests, the loop runs more than once.
        let mut first = 0;
        while first < u64::BITS {
            let wanted = wanted >> first & lanes;
            let some = if constant_time {
                coins.flip_constant_time(wanted, source)?
            } else {
                coins.flip(wanted, source)?
            };
            flips |= some << first;
            first += S::BITS;
        }
        flipped.push(word ^ flips);
    }
    Ok(BitVector::from_words(flipped, data.len()))
}

/// For each place, estimate from the answers how many true vectors have a 1 in this place.
///
/// Suppose that a bit is 1 in `t` of `n` true vectors, and in `y` of the `n` answers. The mean of
/// `y` is `t + (n - 2t) f / 2` (Erlingsson, Pihur, Korolova 2014). So `(y - n f / 2) / (1 - f)` is
/// an unbiased estimate of `t`. The estimate is computed only from releases, so it adds no privacy
/// loss. The estimate can be negative, or above `n`.
///
/// # Errors
/// `FailedFunction` when there are no answers, when their lengths differ, or when `f` is negative
/// or at least 1. At `f = 1` the answers reveal nothing.
///
/// # Example
/// ```
/// use opendp_core::BitVector;
/// use opendp_measurements::debias_randomized_response_bitvec;
/// let answers = [[1, 255], [1, 255], [1, 255]].map(|bytes| BitVector::from_bytes(&bytes));
/// let counts = debias_randomized_response_bitvec(&answers, 0.5)?;
/// assert_eq!((counts[0], counts[1]), (4.5, -1.5));
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn debias_randomized_response_bitvec(answers: &[BitVector], f: f64) -> Result<Vec<f64>> {
    if !(0.0..1.0).contains(&f) {
        return Err(Error::FailedFunction(format!(
            "f: expected a number of at least 0 and below 1, found {}",
            shown(f)
        )));
    }
    let Some(first) = answers.first() else {
        return Err(Error::FailedFunction("answers: expected at least one, found none".into()));
    };
    if answers.iter().any(|answer| answer.len() != first.len()) {
        return Err(Error::FailedFunction(
            "answers: expected the same length for all, found two lengths".into(),
        ));
    }
    let mut counts = vec![0_u64; first.len()];
    for answer in answers {
        for (word, counts) in answer.words().iter().zip(counts.chunks_mut(64)) {
            for (place, count) in counts.iter_mut().enumerate() {
                *count += word >> place & 1;
            }
        }
    }
    let expected = answers.len() as f64 * (f / 2.0);
    Ok(counts.into_iter().map(|count| (count as f64 - expected) / (1.0 - f)).collected())
}

#[cfg(test)]
mod tests;
