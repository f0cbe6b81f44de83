//! A noisy map that answers questions about any key.

mod hashes;

use std::collections::HashMap;
use std::hash::Hash;

use dashu_int::{IBig, UBig, ops::DivRem};

use opendp_core::arith::{Directed, Exact, InfCast, Integer, Number};
use opendp_core::random::{NoEntropy, RandomSource, with_secure};
use opendp_core::{
    AbsoluteDistance, Atom, AtomDomain, Distance, Error, Function, HashableAtom, L01InfDistance,
    MapDomain, MaxDivergence, Measurement, PrivacyMap, Queryable, Result, Space,
};

use crate::noise::quotient::finite_distance;
use crate::samplers::{BernoulliLanes, Dyadic, big_uniform_below};
use crate::sparse_vector::rounded;
use hashes::Hashes;

/// Make a measurement that releases a noisy map. The released map answers questions about any key.
///
/// The mechanism is ALP (Aumüller, Lebeda and Pagh 2021, "Differentially private sparse vectors
/// with low error, optimal space, and fast access"). No key is released. A question about a key
/// returns an estimate of the value of this key. The estimate is usually near 0 if the map does not
/// have the key. All answers are computed from one released table of bits, so more answers add no
/// loss.
///
/// # Arguments
/// * `input` - maps from keys to integers. A distance has three parts: the number of changed keys,
///   the sum of the changes, and the largest change
/// * `scale` - the privacy loss for each unit of change. A *larger* scale is less private and more
///   accurate
/// * `total_limit` - a rough upper limit on the sum of all values. If the sum is larger, answers
///   are less accurate
/// * `value_limit` - the largest value that answers can represent. Larger values get answers of
///   about `value_limit`. The default is the upper bound of the domain of values
/// * `size_factor` - let `n` be the expected number of bits that the keys set if the sum of all
///   values is `total_limit`. The table has at least `size_factor n` bits
/// * `alpha` - determines the unit of values, which is `alpha / scale`. Values are randomly rounded
///   to multiples of this unit
///
/// # Precondition
/// `scale` is finite and above 0, and the unit `alpha / scale` is finite. `total_limit`,
/// `value_limit`, `size_factor` and `alpha` are above 0. The table has at most 2^32 bits. A key
/// sets at most 2^20 bits.
///
/// # Postcondition
/// The release is a queryable. The answer for a key is the estimate of the value of this key. The
/// same question always has the same answer. Values below 0 count as 0, and values above
/// `value_limit` count as about `value_limit`. The time of the release grows with the number of
/// keys, with the values, and with the size of the table.
///
/// # Map
/// `d_out = scale l1`, rounded up, where `d_in = (l0, l1, linf)`.
///
/// # Proof
/// The release is a function of the hash functions and of a table of bits. The hash functions are
/// drawn independently of the data. All answers of the queryable are post-processing. Fix the hash
/// functions and an outcome of the table.
///
/// Let `v` be the value of a key, or 0 for a missing key. Let `t = max(v, 0) scale / alpha`,
/// limited to the number `m` of hash functions. Each hash function gives one position of the key in
/// the table. The key has the level `floor(t)`, or the next level with probability `t - floor(t)`.
/// The probability of the next level is a rational number, so the level is drawn exactly, with big
/// integers. A key of level `j` sets the bits at its first `j` positions. Then each bit of the
/// table is flipped with the probability `p`. `p` is a float that is at least `1 / (alpha + 2)` and
/// at most `1 / 2`, so `(1 - p) / p <= alpha + 1`.
///
/// The same mechanism can be defined for values that are real numbers. Let the value of one key
/// change such that its `t` stays between `j` and `j + 1`. Let `A` be the probability of the
/// outcome if this key has the level `j`. Let `B` be the probability of the outcome if this key has
/// the level `j + 1`. Fix any levels of the other keys. Then the tables for the levels `j` and
/// `j + 1` differ in at most one bit before the flips. So the probabilities of the outcome for
/// these two tables differ by a factor of at most `alpha + 1`. `A` and `B` are averages of these
/// probabilities over the levels of the other keys. So `A` and `B` also differ by at most this
/// factor. The probability of the outcome is `P = (1 - f) A + f B` with `f = t - j`. The derivative
/// of `P` is `B - A`, and `P >= min(A, B)`, so `|d ln P / dt| <= |B - A| / min(A, B) <= alpha`. For
/// each unit of `v`, `t` changes by at most `scale / alpha`, so `ln P` changes by at most `scale`.
/// To go from one map to another, change one value after another. Then `ln P` changes by at most
/// `scale` times the sum of the changes. This product is at most `scale l1`. (For `scale = 1`, this
/// bound is the theorem on privacy in the article.) The proof also holds if keys share positions.
///
/// # Errors
/// * `MakeMeasurement` when an argument is out of range, or when `value_limit` and the upper bound
///   of the values are both missing
/// * `MakeMeasurement` when the table would have more than 2^32 bits, or when a key would set more
///   than 2^20 bits
/// * from the function: `FailedFunction` when there is not enough memory for the table
/// * from the map: `FailedMap` when `l1` is infinite, negative or NaN; `Overflow` when the loss
///   exceeds all floats
///
/// # Example
/// ```
/// use std::collections::HashMap;
/// use opendp_core::*;
/// use opendp_measurements::make_alp_queryable;
/// let counts = MapDomain::new(AtomDomain::<String>::default(), AtomDomain::<i32>::default());
/// let input = Space::new(counts, L01InfDistance::new(AbsoluteDistance::<i32>::new()))?;
/// let alp = make_alp_queryable(input, 2.0, 2000, Some(1000), 50, 4)?;
/// assert_eq!(alp.map(&(1, 1, 1))?, 2.0);
///
/// let noisy = alp.invoke(&HashMap::from([("a".to_owned(), 700), ("b".to_owned(), 10)]))?;
/// let answer = noisy.ask(&"a".to_owned())?;
/// assert!((answer - 700.0).abs() < 300.0); // fails with a probability below 1e-15
/// assert_eq!(noisy.ask(&"a".to_owned())?, answer);
/// # Ok::<(), Error>(())
/// ```
#[allow(clippy::question_mark, reason = "`?` compiles to more code for each type")]
pub fn make_alp_queryable<K, V>(
    input: Space<MapDomain<AtomDomain<K>, AtomDomain<V>>, L01InfDistance<AbsoluteDistance<V>>>,
    scale: f64,
    total_limit: V,
    value_limit: Option<V>,
    size_factor: u32,
    alpha: u32,
) -> Result<
    Measurement<
        MapDomain<AtomDomain<K>, AtomDomain<V>>,
        L01InfDistance<AbsoluteDistance<V>>,
        MaxDivergence,
        Queryable<K, f64>,
    >,
>
where
    K: HashableAtom,
    V: Atom + Integer + Distance,
    f64: InfCast<V>,
{
    let limits = (total_limit, value_limit);
    let plan = match Plan::for_values(input.domain().value(), scale, alpha, size_factor, limits) {
        Ok(plan) => plan,
        Err(error) => return Err(error),
    };
    Ok(Measurement::new(input, MaxDivergence, answering(plan), losing(scale)))
}
register! {
    "alp_queryable.rs": make_alp_queryable
        as ["make_alp_queryable", "make_base_alp"]
        (input, scale, total_limit, value_limit = null, size_factor = 50, alpha = 4)
        for K in [bool, i32, i64, u32, u64, usize, String], V in [i32, i64, u32, u64, usize];
}

/// Build the privacy map. This map does not depend on the key type. See
/// [`map_of`](crate::noise::map_of) for the C ABI of this function and of [`answering`].
#[allow(improper_ctypes_definitions, reason = "no C code calls it")]
extern "C" fn losing<V>(
    scale: f64,
) -> PrivacyMap<L01InfDistance<AbsoluteDistance<V>>, MaxDivergence>
where
    V: Distance + Number,
    f64: InfCast<V>,
{
    PrivacyMap::new(move |(_, l1, _): &(u32, V, V)| rounded(&loss(*l1, scale)?))
        .with_exact(move |(_, l1, _)| Ok(vec![loss(*l1, scale)?]))
}
/// Compute the product `scale l1` without rounding. There is one exception: an integer `l1` that
/// equals no float is first rounded up to a float.
fn loss<Q: Number>(l1: Q, scale: f64) -> Result<Exact>
where
    f64: InfCast<Q>,
{
    let l1 = f64::inf_cast(finite_distance(l1)?)?;
    Ok(Exact::from_f64(l1)?.times(&Exact::from_f64(scale)?))
}
/// Build the function that draws a table of the values and returns a queryable.
#[allow(improper_ctypes_definitions, reason = "no C code calls it")]
extern "C" fn answering<K, V>(plan: Plan) -> Function<HashMap<K, V>, Queryable<K, f64>>
where
    K: HashableAtom,
    V: Atom + Integer,
{
    Function::map(move |data: &HashMap<K, V>| {
        match Table::draw(&plan, &|hashes| hashed(data, hashes)) {
            Ok(table) => Ok(asked(table)),
            Err(error) => Err(error),
        }
    })
}
/// Return the hash of each key, with the value of the key.
fn hashed<K: Hash, V: Integer>(data: &HashMap<K, V>, hashes: &Hashes) -> Vec<(u64, UBig)> {
    let mut values = Vec::with_capacity(data.len());
    for (key, value) in data {
        values.push((hashes.of(key), magnitude(value.to_ibig())));
    }
    values
}
/// Replace a negative number by 0.
fn magnitude(value: IBig) -> UBig {
    UBig::try_from(value).unwrap_or(UBig::ZERO)
}
/// Build the queryable that answers from a table. The queryable does not depend on the value type.
fn asked<K: HashableAtom>(table: Table) -> Queryable<K, f64> {
    Queryable::stateless(move |key: &K| Ok(table.estimate(table.hashes.of(key))))
}

const MOST_HASHES: u64 = 1 << 20;
/// A table has at most `2^MOST_BITS` bits.
const MOST_BITS: u32 = 32;

/// The size of a table, the number of hash functions, and the unit of values.
#[derive(Clone, Debug)]
struct Plan {
    /// The numerator of the fraction `number / over`. This fraction equals `scale / alpha`.
    number: UBig,
    /// The denominator of the fraction.
    over: UBig,
    /// The number of hash functions. This number is also the highest level of a key.
    highest: usize,
    /// The table has `2^bits` bits.
    bits: u32,
    /// The coins that decide which bits of the table are flipped.
    flip: BernoulliLanes,
    /// The unit of values, `alpha / scale`.
    unit: f64,
}
impl Plan {
    /// Make a plan for values in a domain. Without a limit on each value, use the upper bound of
    /// the domain.
    fn for_values<V: Atom + Integer>(
        domain: &AtomDomain<V>,
        scale: f64,
        alpha: u32,
        size_factor: u32,
        (total_limit, value_limit): (V, Option<V>),
    ) -> Result<Self> {
        let bound = || domain.bounds().map(|bounds| bounds.upper());
        let value_limit = value_limit.or_else(bound).map(V::to_ibig);
        Plan::of(scale, alpha, size_factor, total_limit.to_ibig(), value_limit)
    }
    /// Check the arguments, and choose the size of the table and the number of hash functions.
    fn of(
        scale: f64,
        alpha: u32,
        size_factor: u32,
        total_limit: IBig,
        value_limit: Option<IBig>,
    ) -> Result<Self> {
        let refused = |reason: &str| Err(Error::MakeMeasurement(reason.into()));
        if !(0.0 < scale && scale.is_finite()) {
            return refused("scale: expected a finite number above 0");
        }
        let Some(value_limit) = value_limit else {
            return refused(
                "value_limit: expected a number, because the values have no upper bound; found none",
            );
        };
        if !(IBig::ZERO < value_limit && IBig::ZERO < total_limit) {
            return refused("value_limit, total_limit: expected numbers above 0");
        }
        if size_factor == 0 || alpha == 0 {
            return refused("size_factor, alpha: expected numbers above 0, found 0");
        }
        if !(f64::from(alpha) / scale).is_finite() {
            return refused("scale: alpha / scale exceeds the largest f64; choose a larger scale");
        }
        Plan::new(scale, alpha, size_factor, magnitude(total_limit), magnitude(value_limit))
    }
    fn new(
        scale: f64,
        alpha: u32,
        size_factor: u32,
        total_limit: UBig,
        value_limit: UBig,
    ) -> Result<Self> {
        let parts = Dyadic::new(scale);
        let zeros = parts.mantissa.trailing_zeros();
        let exponent = parts.exponent + zeros as i32;
        let shift = exponent.unsigned_abs() as usize;
        let (number, over) = (UBig::from(parts.mantissa >> zeros), UBig::from(alpha));
        let (number, over) =
            if exponent < 0 { (number, over << shift) } else { (number << shift, over) };

        // Divide values by the unit of values, and round up.
        let counted = |values: UBig| (values * &number + &over - UBig::ONE) / &over;
        let large = |name: &str, limit: u64| {
            Error::MakeMeasurement(format!(
                "{name}: the number of bits would exceed {limit}; choose a smaller value"
            ))
        };
        let highest =
            u64::try_from(counted(value_limit)).ok().filter(|highest| *highest <= MOST_HASHES);
        let highest = highest.ok_or_else(|| large("value_limit", MOST_HASHES))?;
        let size = u64::try_from(counted(total_limit * size_factor)).ok();
        let size = size.filter(|size| *size <= 1 << MOST_BITS);
        let size = size.ok_or_else(|| large("total_limit", 1 << MOST_BITS))?;
        let flip = BernoulliLanes::new(1.0.inf_div(f64::from(alpha) + 2.0)?, 0);
        let bits = size.next_power_of_two().trailing_zeros();
        let unit = f64::from(alpha) / scale;
        Ok(Plan { number, over, highest: highest as usize, bits, flip, unit })
    }
    fn hashes(&self) -> Result<Hashes, NoEntropy> {
        with_secure(|source| Hashes::draw(self.highest, self.bits, source))
    }
    /// Draw the level of a key that has this value. See the proof of [`make_alp_queryable`].
    fn level<S: RandomSource>(&self, value: UBig, source: &mut S) -> Result<usize, NoEntropy> {
        let (level, rest) = (value * &self.number).div_rem(&self.over);
        let Some(level) = usize::try_from(level).ok().filter(|level| *level < self.highest) else {
            return Ok(self.highest);
        };
        let next = !rest.is_zero() && big_uniform_below(&self.over, source)? < rest;
        Ok(level + usize::from(next))
    }
    /// Set the bits of all keys, and then flip each bit of the table with the probability
    /// `1 / (alpha + 2)`, rounded up. A key is given by its hash and its level.
    fn table<S: RandomSource>(
        &self,
        hashes: &Hashes,
        levels: &[(u64, usize)],
        source: &mut S,
    ) -> Result<Vec<u64>> {
        let size = 1_usize << self.bits;
        let mut table: Vec<u64> = Vec::new();
        table.try_reserve_exact(size.div_ceil(64)).map_err(|_| no_memory(size))?;
        table.resize(size.div_ceil(64), 0);
        for (hash, level) in levels {
            for place in hashes.positions(*hash).take(*level) {
                table[place / 64] |= 1 << (place % 64);
            }
        }
        // A word of the random source can have fewer bits than a word of the table.
        let lanes = size.min(1 << S::BITS.clamp(1, 64).ilog2());
        for start in (0..size).step_by(lanes) {
            let open = u64::MAX >> (64 - lanes);
            table[start / 64] ^= self.flip.flip(open, source)? << (start % 64);
        }
        Ok(table)
    }
}

#[cold]
fn no_memory(size: usize) -> Error {
    Error::FailedFunction(format!(
        "total_limit: not enough memory for a table of {size} bits; choose a smaller limit"
    ))
}

/// A released table, with the hash functions of this table.
struct Table {
    hashes: Hashes,
    bits: Vec<u64>,
    unit: f64,
}
impl Table {
    /// Draw hash functions. Then draw a table for the values of the keys. Each key is given by its
    /// hash.
    fn draw(plan: &Plan, values: &dyn Fn(&Hashes) -> Vec<(u64, UBig)>) -> Result<Self> {
        let hashes = plan.hashes()?;
        let values = values(&hashes);
        Table::of(plan, hashes, values)
    }
    fn of(plan: &Plan, hashes: Hashes, values: Vec<(u64, UBig)>) -> Result<Self> {
        let bits = with_secure(|source| {
            let mut levels = Vec::with_capacity(values.len());
            for (hash, value) in values {
                levels.push((hash, plan.level(value, source)?));
            }
            plan.table(&hashes, &levels, source)
        })?;
        Ok(Table { hashes, bits, unit: plan.unit })
    }
    /// Estimate the value of a key. The key is given by its hash.
    fn estimate(&self, hash: u64) -> f64 {
        estimate(self.hashes.positions(hash).map(|place| is_set(&self.bits, place))) * self.unit
    }
}

fn is_set(table: &[u64], place: usize) -> bool {
    table[place / 64] >> (place % 64) & 1 == 1
}

/// Estimate the level of a key from the bits at the positions of the key. The score of a level `j`
/// is the number of set bits among the first `j` bits, minus the number of unset bits among these
/// bits. The estimate is the level with the largest score. If several levels have the largest
/// score, return the mean of these levels.
fn estimate(bits: impl Iterator<Item = bool>) -> f64 {
    let (mut height, mut highest) = (0_i64, 0_i64);
    let (mut sum, mut count) = (0_u64, 1_u64);
    for (bit, place) in bits.zip(1_u64..) {
        height += if bit { 1 } else { -1 };
        if highest < height {
            (highest, sum, count) = (height, place, 1);
        } else if highest == height {
            (sum, count) = (sum + place, count + 1);
        }
    }
    sum as f64 / count as f64
}

#[cfg(test)]
mod tests;
