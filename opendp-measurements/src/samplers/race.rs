//! The race of candidates whose scores get independent noise, decided exactly.

use super::{
    Optimize, dyadic::Dyadic, exponential::LazyExponential, logarithm::neg_ln, score::Score,
};
use dashu_int::{IBig, UBig};
use opendp_core::random::{NoEntropy, RandomSource};
use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

/// A noise that is a function of one standard exponential variable `E`, either increasing with it
/// or decreasing.
pub(super) trait Noise {
    /// Bound the noise of a first digit of `U`, `E = -ln U`, from above, roughly but fast.
    fn cap(digit: u64, bits: u32) -> f64;
    /// Bound the noise from above, for `E` between two floats.
    fn upper(e: (f64, f64)) -> f64;
    /// Bound the noise from below, for `E` between two floats.
    fn lower(e: (f64, f64)) -> f64;
    /// Enclose the noise in units of `2^-precision`; `None` is infinite, on its own side.
    fn enclose(e: &LazyExponential, precision: usize) -> (Option<IBig>, Option<IBig>);
}

/// Find the indices of the `k` largest of `±scores[i] / scale` plus independent noise, exactly, the
/// largest first; all indices when there are fewer.
///
/// Scores and scale are the rational numbers they stand for, and the noise is real, its digits
/// drawn lazily. Candidates are dropped only when an upper bound of theirs is below lower bounds of
/// `k` others, and two are ordered only when their enclosures are apart, so the order is the true
/// one; ties have probability 0, because the noise has a density.
///
/// 1. Scores are shifted by the best one, which changes no comparison. Each candidate draws half a
///    word. A rough bound ends the race for most of them; otherwise the noise is enclosed in
///    floats. Each float operation is correctly rounded, so the neighbours of its result enclose
///    the exact one. The bar is the `k`-th largest lower bound so far.
/// 2. Those left are ranked by their enclosures. Where some overlap and one of them may be among
///    the `k`, they draw further digits, and big integers enclose the same expressions ever closer,
///    until all are apart.
///
/// Of a scale that is not finite and positive: 0 means `5e-324`, a negative one its magnitude, NaN
/// and infinity `f64::MAX`. A single candidate, and none, are chosen without a draw.
pub(super) fn race<N: Noise, T: Score, S: RandomSource>(
    scores: &[T],
    k: usize,
    scale: f64,
    optimize: Optimize,
    source: &mut S,
) -> Result<Vec<usize>, NoEntropy> {
    let better = |a: T, b: T| match optimize {
        Optimize::Max => a > b,
        Optimize::Min => a < b,
    };
    let k = k.min(scores.len());
    let best = scores.iter().copied().reduce(|best, s| if better(s, best) { s } else { best });
    let Some(best) = best.filter(|_| 0 < k && 1 < scores.len()) else {
        return Ok((0..k).collect());
    };
    let scale = match scale.abs() {
        t if t < 5e-324 => 5e-324,
        t if t <= f64::MAX => t,
        _ => f64::MAX,
    };
    let mut candidates = first_words::<N, _, _>(scores, k, best, scale, source)?;
    rank(&mut candidates);
    let mut chosen = Vec::with_capacity(k);
    for group in candidates.chunk_by(Enclosed::overlaps) {
        if chosen.len() == k {
            break;
        }
        if let [one] = group {
            chosen.push(one.item.0);
            continue;
        }
        let group = group.iter().map(|Enclosed { item: (index, digit), .. }| Survivor {
            index: *index,
            distance: distance(scores[*index], best),
            e: LazyExponential::from_first(*digit, first_bits::<S>()),
        });
        settle::<N, S>(group.collect(), k, scale, source, &mut chosen)?;
    }
    Ok(chosen)
}

/// Something whose value lies between two bounds.
struct Enclosed<I, B> {
    item: I,
    lower: B,
    upper: B,
}

impl<I, B: PartialOrd> Enclosed<I, B> {
    /// Whether the next in rank is not certainly below this one and all before it.
    fn overlaps(&self, next: &Self) -> bool {
        !(next.upper < self.lower)
    }
}

/// Sort by upper bound, the highest first, and replace each lower bound by the least so far.
///
/// So where one does not overlap the next, it and all before it are above all after it.
fn rank<I, B: PartialOrd + Clone>(list: &mut [Enclosed<I, B>]) {
    list.sort_by(|a, b| b.upper.partial_cmp(&a.upper).unwrap_or(Ordering::Equal));
    for i in 1..list.len() {
        if list[i - 1].lower < list[i].lower {
            list[i].lower = list[i - 1].lower.clone();
        }
    }
}

/// A candidate after its first draw: its index and its first digit.
type Candidate = Enclosed<(usize, u64), f64>;

/// Draw the first digit of every candidate and keep those that may be among the `k` largest.
fn first_words<N: Noise, T: Score, S: RandomSource>(
    scores: &[T],
    k: usize,
    best: T,
    scale: f64,
    source: &mut S,
) -> Result<Vec<Candidate>, NoEntropy> {
    let mut candidates: Vec<Candidate> = Vec::new();
    let (mut bar, mut limit) = (Bar { k, largest: BinaryHeap::new() }, 2 * k + 16);
    let mut height = f64::NEG_INFINITY;
    let (inverse, mut digits) = (inverse(scale), FirstDigits::default());
    for (index, score) in scores.iter().enumerate() {
        let digit = digits.next(source)?;
        let (near, far) = score.distance(best);
        // Rounding keeps order: a difference of at least the height would not round to less.
        if N::cap(digit, first_bits::<S>()) - (near * inverse - f64::MIN_POSITIVE) < height {
            continue;
        }
        let near = (near / scale).next_down().max(0.0);
        let far = (far / scale).next_up();
        let e = neg_ln(digit, first_bits::<S>());
        let upper = (N::upper(e) - near).next_up();
        if upper < height {
            continue;
        }
        // Senseless scores have senseless bounds, and none is sensible too.
        let lower = (N::lower(e) - far).next_down().max(f64::NEG_INFINITY);
        candidates.push(Enclosed { item: (index, digit), lower, upper });
        height = bar.raise(lower);
        if limit < candidates.len() {
            candidates.retain(|candidate| !(candidate.upper < height));
            limit = 2 * candidates.len() + 16;
        }
    }
    candidates.retain(|candidate| !(candidate.upper < height));
    Ok(candidates)
}

/// How many bits the first digit of a candidate has.
const fn first_bits<S: RandomSource>() -> u32 {
    if S::BITS == 64 { 32 } else { S::BITS }
}

/// First digits: the halves of a word, or a shorter word, as in tests.
#[derive(Default)]
struct FirstDigits(Option<u64>);

impl FirstDigits {
    #[inline]
    fn next<S: RandomSource>(&mut self, source: &mut S) -> Result<u64, NoEntropy> {
        if let Some(half) = self.0.take() {
            return Ok(half);
        }
        let word = source.word()?;
        if S::BITS != 64 {
            return Ok(word);
        }
        self.0 = Some(word & u64::from(u32::MAX));
        Ok(word >> 32)
    }
}

/// Bound `1 / scale` from below, so that `near * inverse - MIN_POSITIVE` bounds `near / scale` from
/// below for `near >= 0`.
///
/// With `v = 2^-53`, the roundings of the quotient and of both products raise it by at most
/// `(1 + v)^3`, and `(1 + v)^3 (1 - 8v) < 1`. A product that is not normal is wrong by less than the
/// least normal float, and the difference is exact there; elsewhere it only falls. Scales at the ends
/// of the range, whose quotients might not be normal, have the bound 0.
fn inverse(scale: f64) -> f64 {
    if (1e-290..=1e290).contains(&scale) { (1.0 / scale) * (1.0 - 4.0 * f64::EPSILON) } else { 0.0 }
}

/// The `k` largest lower bounds so far.
struct Bar {
    k: usize,
    largest: BinaryHeap<Reverse<Total>>,
}

impl Bar {
    /// Take note of a lower bound and give the `k`-th largest so far.
    fn raise(&mut self, lower: f64) -> f64 {
        if self.largest.len() < self.k {
            self.largest.push(Reverse(Total(lower)));
        } else if let Some(mut least) = self.largest.peek_mut().filter(|least| least.0.0 < lower) {
            *least = Reverse(Total(lower));
        }
        match self.largest.peek() {
            Some(least) if self.largest.len() == self.k => least.0.0,
            _ => f64::NEG_INFINITY,
        }
    }
}

/// A float in the total order.
struct Total(f64);
impl Ord for Total {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}
impl PartialOrd for Total {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Total {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Total {}

/// A candidate in the running after the first draws.
struct Survivor {
    index: usize,
    /// The distance to the best score, as integer and exponent.
    distance: (UBig, i64),
    e: LazyExponential,
}

/// Compute the exact distance of two scores.
fn distance<T: Score>(score: T, best: T) -> (UBig, i64) {
    let ((m, e), (n, f)) = (score.dyadic(), best.dyadic());
    let exponent = e.min(f);
    let at = |m: IBig, e: i64| m << (e - exponent).unsigned_abs() as usize;
    let (_, distance) = (at(m, e) - at(n, f)).into_parts();
    (distance, exponent)
}

/// Order a group of candidates with equally many digits, until `k` are chosen or none is left.
fn settle<N: Noise, S: RandomSource>(
    group: Vec<Survivor>,
    k: usize,
    scale: f64,
    source: &mut S,
    chosen: &mut Vec<usize>,
) -> Result<(), NoEntropy> {
    // The best group is the last, and the members of each have equally many digits.
    let mut groups = vec![group];
    while let Some(mut group) = groups.pop().filter(|_| chosen.len() < k) {
        if let [one] = group.as_slice() {
            chosen.push(one.index);
            continue;
        }
        for survivor in &mut group {
            survivor.e.refine(source)?;
        }
        let enclose = |survivor: Survivor| {
            let (lower, upper) = survivor.bounds::<N>(scale);
            Enclosed { item: Some(survivor), lower, upper }
        };
        let mut list: Vec<_> = group.into_iter().map(enclose).collect();
        rank(&mut list);
        let first = groups.len();
        let mut apart = true;
        for i in 0..list.len() {
            if apart {
                groups.push(Vec::new());
            }
            apart = list.get(i + 1).is_some_and(|next| !list[i].overlaps(next));
            if let Some(group) = groups.last_mut() {
                group.extend(list[i].item.take());
            }
        }
        groups[first..].reverse();
    }
    Ok(())
}

/// A bound in units of a power of two. The order of the variants is that of the numbers.
#[derive(Clone, PartialEq, PartialOrd)]
enum Bound {
    MinusInfinity,
    At(IBig),
    Infinity,
}

impl Survivor {
    /// Enclose the noise less `distance / scale`, in units of `2^-precision`.
    ///
    /// The precision follows from the digits drawn.
    fn bounds<N: Noise>(&self, scale: f64) -> (Bound, Bound) {
        let precision = self.e.bits() + 8;
        let (lower, upper) = N::enclose(&self.e, precision);
        let (near, far) = self.shift(scale, precision);
        (
            lower.map_or(Bound::MinusInfinity, |lower| Bound::At(lower - far)),
            upper.map_or(Bound::Infinity, |upper| Bound::At(upper - near)),
        )
    }

    /// Round `2^precision distance / scale` down and up.
    fn shift(&self, scale: f64, precision: usize) -> (IBig, IBig) {
        let parts = Dyadic::new(scale);
        let (distance, exponent) = &self.distance;
        let exponent = exponent - i64::from(parts.exponent) + precision as i64;
        // Negative exponents go to the divisor.
        let divisor = IBig::from(parts.mantissa) << exponent.min(0).unsigned_abs() as usize;
        let dividend = IBig::from(distance.clone()) << exponent.max(0).unsigned_abs() as usize;
        let floor = &dividend / &divisor;
        let ceil = if &floor * divisor == dividend { floor.clone() } else { &floor + 1 };
        (floor, ceil)
    }
}

/// Bound `-ln(n / 2^bits)` from above, roughly, for an integer `n` below `2^bits`; 0 gives infinity.
///
/// `n >= 2^(length - 1)`, `length` the number of its bits, so the logarithm is at most
/// `(bits + 1 - length) ln 2`. The bound `0.6932` of `ln 2` leaves `5e-5` per bit, more than the
/// rounded product loses.
#[inline]
pub(super) fn neg_ln_cap(n: u64, bits: u32) -> f64 {
    let zeros = n.leading_zeros() + bits - 64;
    if n == 0 { f64::INFINITY } else { f64::from(zeros + 1) * 0.6932 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opendp_core::random::{Seeded, Tape};
    use proptest::prelude::*;

    /// Whether `rough <= near / scale`, with all numbers multiplied by their powers of two.
    fn is_below(rough: f64, near: f64, scale: f64) -> bool {
        if rough <= 0.0 {
            return true;
        }
        let [r, n, s] = [rough, near, scale].map(Dyadic::new);
        let left = IBig::from(r.mantissa) * IBig::from(s.mantissa);
        let (l, e) = (i64::from(r.exponent) + i64::from(s.exponent), i64::from(n.exponent));
        let least = l.min(e);
        left << (l - least) as usize <= IBig::from(n.mantissa) << (e - least) as usize
    }
    #[test]
    fn a_quotient_that_is_not_lowered_is_noticed() {
        assert!(is_below(inverse(10.0) - f64::MIN_POSITIVE, 1.0, 10.0));
        // The float 0.1 is above a tenth.
        assert!(!is_below(1.0 / 10.0 - f64::MIN_POSITIVE, 1.0, 10.0));
    }

    proptest! {
        #[test]
        fn the_rough_quotient_is_below_the_exact_one(
            near in proptest::num::f64::POSITIVE | proptest::num::f64::SUBNORMAL,
            scale in proptest::num::f64::POSITIVE | proptest::num::f64::SUBNORMAL,
        ) {
            let (near, scale) = (near.abs(), scale.abs());
            let rough = near * inverse(scale) - f64::MIN_POSITIVE;
            prop_assert!(rough.is_infinite() || is_below(rough, near, scale));
        }
    }

    #[test]
    fn two_candidates_share_a_word_and_short_words_are_whole() {
        let mut digits = FirstDigits::default();
        let mut tape = Tape::<64>::new(vec![0x0123_4567_89AB_CDEF, 5]);
        let drawn = [(); 3].map(|()| digits.next(&mut tape).unwrap());
        assert_eq!(drawn, [0x0123_4567, 0x89AB_CDEF, 0]);
        let mut short = Seeded::<4>::new(1);
        let mut again = Seeded::<4>::new(1);
        let mut digits = FirstDigits::default();
        for _ in 0..9 {
            assert_eq!(digits.next(&mut short).unwrap(), again.word().unwrap());
        }
    }
}
