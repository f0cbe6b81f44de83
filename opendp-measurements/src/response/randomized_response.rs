//! Randomized response for one answer.

use std::collections::HashMap;

use dashu_int::UBig;

use opendp_core::arith::{Directed, Exact, InfCast, fixed, shown};
use opendp_core::random::{NoEntropy, RandomSource, with_secure};
use opendp_core::{
    AtomDomain, Codec, DiscreteDistance, Error, Function, HashableAtom, MaxDivergence, Measurement,
    Named, PrivacyMap, Result, Space,
};

use crate::samplers::{Dyadic, bernoulli, bernoulli_constant_time, uniform_below};

type Response<T> = Measurement<AtomDomain<T>, DiscreteDistance, MaxDivergence, T>;

/// Make a measurement that answers a yes-or-no question. The answer is correct with a known
/// probability.
///
/// # Arguments
/// * `prob` - the probability of the true answer, from 1/2 to 1
/// * `constant_time` - whether to draw and combine bits without a branch on the bits or on the data
///
/// # Precondition
/// `prob` is from 1/2 to 1, and is exactly the rational number that the float represents.
///
/// # Postcondition
/// Any two members at distance at most `d_in` give releases whose max-divergence is at most
/// `map(d_in)`.
///
/// # Map
/// The loss is 0 for `d_in = 0`. For other distances, the loss is `ln(prob / (1 - prob))`, rounded
/// up, and infinity when `prob` is 1.
///
/// # Proof
/// If a coin shows true, the release is the data. Otherwise, the release is the negation of the
/// data. [`bernoulli`] or [`bernoulli_constant_time`] tosses this coin. The coin shows true with
/// probability exactly `p = prob`, for all data. So each release has probability `p` or `1 - p`.
/// For each release, the ratio of its probabilities on two data sets is at most `p / (1 - p)`. This
/// bound is at least 1, because `p >= 1/2`. A bound for each release is a bound for every event
/// (Warner 1965; Dwork, Roth 2014, section 3.2). With `p = 1`, each release is possible for only
/// one of two different data sets, so the loss is infinite. Data at distance 0 are equal, so their
/// releases have the same distribution.
///
/// *Rounding.* `p / (1 - p)` is a quotient of two integers. The logarithm of this quotient is
/// rounded up to a fraction with 192 binary digits. The error of this fraction is at most four
/// units of the last digit. A budget is charged with the fraction. The map rounds the fraction up
/// to a float.
///
/// *Time.* With `constant_time`, the number of drawn words depends on `prob` alone. The answer is
/// the exclusive or of the data and the negation of the coin. The language does not guarantee the
/// duration of these operations. `constant_time` does not apply to the rest of the program.
///
/// # Errors
/// `MakeMeasurement` when `prob` is not from 1/2 to 1.
///
/// # Example
/// ```
/// use opendp_measurements::make_randomized_response_bool;
/// let answer = make_randomized_response_bool(0.75, false)?;
/// assert!((answer.map(&1)? - 3_f64.ln()).abs() < 1e-15);
/// assert_eq!(make_randomized_response_bool(1.0, true)?.invoke(&true)?, true);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn make_randomized_response_bool(prob: f64, constant_time: bool) -> Result<Response<bool>> {
    let constant = loss(prob, 2)?;
    let function = Function::map(move |truth: &bool| {
        let honest = with_secure(|source| match constant_time {
            true => bernoulli_constant_time(prob, source),
            false => bernoulli(prob, source),
        })?;
        Ok(truth ^ !honest)
    });
    response(function, constant)
}
register! {
    "randomized_response.rs": make_randomized_response_bool(prob, constant_time = false);
}

/// Make a measurement that releases the true category with a known probability, and otherwise
/// another category.
///
/// # Arguments
/// * `categories` - the possible answers, all different
/// * `prob` - the probability of the true answer, from 1 / (the number of categories) to 1
///
/// # Precondition
/// There are `k >= 2` different categories. `prob` is at most 1. `prob` is at least `1 / k`,
/// rounded down to a float. `prob` is exactly the rational number that the float represents.
///
/// # Postcondition
/// Any two members at distance at most `d_in` give releases whose max-divergence is at most
/// `map(d_in)`. A release is always one of the categories.
///
/// # Map
/// The loss is 0 for `d_in = 0`. For other distances, the loss is `ln(prob (k - 1) / (1 - prob))`,
/// rounded up, and infinity when `prob` is 1. When `prob` is the float just below `1 / k`, the
/// logarithm is negative, and the loss is the magnitude of this logarithm.
///
/// # Proof
/// Let `p = prob` and `q = (1 - p) / (k - 1)`. First, let the data be a category. By [`bernoulli`],
/// the release is this category with probability exactly `p`. With probability `1 - p`,
/// [`uniform_below`] chooses one of the other categories uniformly, so each other category has
/// probability `q`. If the data is not a category, the release is each category with probability
/// `1 / k`. The probability `1 / k` is the mean `(p + (k - 1) q) / k`. A mean is between the least
/// and the largest of the averaged numbers. So for all data, every category has a probability
/// between `min(p, q)` and `max(p, q)`. For every category, the ratio of its probabilities on two
/// data sets is at most `max(p / q, q / p)`. A bound for each category is a bound for every event
/// (Warner 1965; Kairouz, Oh, Viswanath 2016). Data at distance 0 are equal, so their releases have
/// the same distribution.
///
/// *Rounding.* `max(p / q, q / p)` is a quotient of two integers. The logarithm of this quotient is
/// rounded up to a fraction with 192 binary digits. The error of this fraction is at most four
/// units of the last digit. A budget is charged with the fraction. The map rounds the fraction up
/// to a float.
///
/// *Time.* The time to look up a category depends on the data.
///
/// # Errors
/// `MakeMeasurement` when there are fewer than two categories, a category occurs twice, or `prob`
/// is out of range.
///
/// # Example
/// ```
/// use opendp_measurements::make_randomized_response;
/// let colours = ["red", "green", "blue", "other"].map(str::to_owned).to_vec();
/// let answer = make_randomized_response(colours.clone(), 0.75)?;
/// assert!((answer.map(&1)? - 9_f64.ln()).abs() < 1e-15);
/// assert!(colours.contains(&answer.invoke(&"pink".to_owned())?));
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn make_randomized_response<T: HashableAtom + Named + Codec>(
    categories: Vec<T>,
    prob: f64,
) -> Result<Response<T>> {
    let count = categories.len() as u64;
    if count < 2 {
        return Err(Error::MakeMeasurement(format!(
            "categories: expected at least 2, found {count}"
        )));
    }
    let constant = loss(prob, count)?;
    let mut indices = HashMap::with_capacity(categories.len());
    for (category, index) in categories.iter().zip(0..) {
        indices.insert(category.clone(), index);
    }
    if indices.len() < categories.len() {
        return Err(twice());
    }
    let function = Function::map(move |truth: &T| {
        let told = told(indices.get(truth).copied(), count, prob)?;
        match categories.get(told) {
            Some(category) => Ok(category.clone()),
            None => Err(no_category()),
        }
    });
    response(function, constant)
}
#[cold]
fn twice() -> Error {
    let reason = "categories: expected distinct values, found the same value twice";
    Error::MakeMeasurement(reason.into())
}
#[cold]
fn no_category() -> Error {
    Error::FailedFunction("the sampler gave an index that no category has".into())
}
register! {
    "randomized_response.rs": make_randomized_response(categories, prob)
        for T in [bool, i32, i64, u32, u64, usize, String];
}

fn told(truth: Option<u64>, count: u64, prob: f64) -> Result<usize> {
    let told = with_secure(|source| tell(truth, count, prob, source))?;
    Ok(usize::try_from(told).unwrap_or(usize::MAX))
}
/// Choose the index of the released category. There are `count` categories. `truth` is `None` if
/// the data is not a category.
fn tell<S: RandomSource>(
    truth: Option<u64>,
    count: u64,
    prob: f64,
    source: &mut S,
) -> Result<u64, NoEntropy> {
    let Some(truth) = truth else { return uniform_below(count, source) };
    if bernoulli(prob, source)? {
        return Ok(truth);
    }
    let other = uniform_below(count - 1, source)?;
    Ok(other + u64::from(truth <= other))
}

fn response<T: HashableAtom>(function: Function<T, T>, exact: Exact) -> Result<Response<T>> {
    let input = Space::new(AtomDomain::default(), DiscreteDistance)?;
    Ok(Measurement::new(input, MaxDivergence, function, map_of(exact)))
}
fn map_of(exact: Exact) -> PrivacyMap<DiscreteDistance, MaxDivergence> {
    let constant = exact.to_f64_up();
    PrivacyMap::new(move |d_in: &u32| Ok(if *d_in == 0 { 0.0 } else { constant }))
        .with_exact(move |d_in| Ok(vec![if *d_in == 0 { Exact::ZERO } else { exact.clone() }]))
}

/// Return an upper bound on `|ln(p (k - 1) / (1 - p))|` as a fraction. `k` is the number of
/// categories, and `p` is a probability. `p` is at least `1 / k`, rounded down to a float.
///
/// This logarithm is 0 or irrational. An irrational logarithm is rounded up to a fraction. The
/// bound has many more digits than a float. So in practice, a budget allows the same number of
/// releases as with the exact logarithm.
fn loss(prob: f64, count: u64) -> Result<Exact> {
    const BITS: usize = 192;
    let least = 1.0.neg_inf_div(f64::inf_cast(count)?)?;
    if !(least <= prob && prob <= 1.0) {
        return Err(Error::MakeMeasurement(format!(
            "prob: expected a number from 1/{count} to 1, found {}",
            shown(prob)
        )));
    }
    if prob == 1.0 {
        return Ok(Exact::INFINITY);
    }
    // The probability is exactly `truth / all`. A float below 1 has a negative exponent, so `all`
    // is `2^-exponent`.
    let parts = Dyadic::new(prob);
    let truth = UBig::from(parts.mantissa);
    let all = UBig::ONE << usize::try_from(parts.exponent.unsigned_abs()).unwrap_or_default();
    let (first, second) = (&truth * UBig::from(count - 1), all - truth);
    // Divide the larger of the two numbers by the smaller number. The loss is the logarithm of this
    // quotient.
    let (more, less) = if first < second { (second, first) } else { (first, second) };
    if more == less {
        return Ok(Exact::ZERO);
    }
    let units = fixed::ln(&more, 0, BITS).1 - fixed::ln(&less, 0, BITS).0;
    format!("{units}/{}", UBig::ONE << BITS).parse()
}

#[cfg(test)]
mod tests;
