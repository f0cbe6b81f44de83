//! The race: independent noise is added to scores, and exact comparisons find the largest sums.

mod blocks;
mod heats;
mod hits;

use super::{Optimize, dyadic::Dyadic, exponential::LazyExponential, score::Score};
use crate::collected::{Collected, sort_by};
use blocks::{Blocks, Field};
use dashu_int::{IBig, UBig};
use heats::{Candidate, Heats};
use opendp_core::random::{NoEntropy, RandomSource};
use std::cmp::Ordering;

/// Noise that is an increasing or a decreasing function of a standard exponential variable `E`.
pub(super) trait Noise {
    /// Return the first digit of `U`, where `E = -ln U`. The argument is the rarity of this digit.
    /// If the noise increases with `E`, the rarity of a digit is the digit itself. If the noise
    /// decreases with `E`, the rarity is `2^bits - 1` minus the digit. So a smaller rarity means
    /// larger noise. The noise is at most `-ln(rarity / 2^bits)`.
    fn digit(rarity: u64, bits: u32) -> u64;
    /// Return an upper bound on the noise, for all `E` between the two floats `e`.
    fn upper(e: (f64, f64)) -> f64;
    /// Return a lower bound on the noise, for all `E` between the two floats `e`.
    fn lower(e: (f64, f64)) -> f64;
    /// Return a lower and an upper bound on the noise, in units of `2^-precision`. A lower bound of
    /// `None` is minus infinity, and an upper bound of `None` is infinity.
    fn enclose(e: &LazyExponential, precision: usize) -> (Option<IBig>, Option<IBig>);
}

/// Find exactly the indices of the `k` largest sums of `±scores[i] / scale` and independent noise,
/// with the largest first. The sign is `+` for [`Optimize::Max`] and `-` for [`Optimize::Min`]. If
/// there are fewer than `k` scores, return all indices.
///
/// Scores and scale have their exact rational values. The noise is a real number whose digits are
/// drawn lazily. A candidate is dropped only if the upper bound of its noisy score is below the
/// lower bounds of `k` other noisy scores. Two candidates are ordered only if the enclosures of
/// their noisy scores are disjoint, so the order is correct. Ties have probability 0, because the
/// noise has a density.
///
/// 1. The best score is subtracted from all scores. The subtraction changes no comparison. The
///    first digit of a candidate is a uniform random word, which determines its noise up to an
///    interval. A first digit that gives rare, large noise is called a hit. The program draws how
///    many candidates without a hit come before the next candidate with a hit (see `Hits`). So the
///    noise of a candidate without a hit has a known upper bound. The bar is the `k`-th largest
///    lower bound of a noisy score so far. Most of the candidates without a hit cannot reach the
///    bar. They are dropped without a draw, by at most one comparison of scores. For each other
///    candidate, the first digit is drawn. If a rough upper bound on the noisy score is below the
///    bar, the candidate is dropped. Otherwise, the noise is enclosed in floats. Each float
///    operation is correctly rounded, so the floats next to its result enclose the exact result.
/// 2. The remaining candidates are ranked by their enclosures. If the enclosures of some candidates
///    overlap, and one of these candidates could be among the `k` largest, more digits are drawn
///    for all these candidates. Big integers enclose the noisy scores more and more narrowly, until
///    disjoint enclosures decide the order of the `k` largest.
///
/// A scale of 0 counts as `5e-324`, a negative scale counts as its magnitude, and NaN and infinity
/// count as `f64::MAX`. With at most one candidate, nothing is drawn.
pub(super) fn race<N: Noise, T: Score, S: RandomSource>(
    scores: &[T],
    k: usize,
    scale: f64,
    optimize: Optimize,
    source: &mut S,
) -> Result<Vec<usize>, NoEntropy> {
    let k = k.min(scores.len());
    if k == 0 || scores.len() < 2 {
        return Ok((0..k).collected());
    }
    match Blocks::new(scores, optimize) {
        Some(mut blocks) => best_of::<N, S>(&mut blocks, k, scale, source),
        None => Ok(Vec::new()),
    }
}
/// Choose the `k` best candidates of a field.
fn best_of<N: Noise, S: RandomSource>(
    field: &mut dyn Field,
    k: usize,
    scale: f64,
    source: &mut S,
) -> Result<Vec<usize>, NoEntropy> {
    let scale = match scale.abs() {
        t if t < 5e-324 => 5e-324,
        t if t <= f64::MAX => t,
        _ => f64::MAX,
    };
    let candidates = Heats::new(field, k, scale).run::<N, S>(source)?;
    finish::<N, S>(field, candidates, k, scale, source)
}

/// Order the few candidates that remain after the first draws, for scores of any type.
fn finish<N: Noise, S: RandomSource>(
    field: &dyn Field,
    mut candidates: Vec<Candidate>,
    k: usize,
    scale: f64,
    source: &mut S,
) -> Result<Vec<usize>, NoEntropy> {
    rank(&mut candidates);
    let mut chosen = Vec::with_capacity(k);
    for group in candidates.chunk_by(Enclosed::overlaps) {
        if chosen.len() == k {
            break;
        }
        if let [single] = group {
            chosen.push(single.item.0);
            continue;
        }
        let group = group.iter().map(|Enclosed { item: (index, digit), .. }| Survivor {
            index: *index,
            distance: field.exact_distance(*index),
            e: LazyExponential::from_first(*digit, S::BITS),
        });
        order_group::<N, S>(group.collected(), k, scale, source, &mut chosen)?;
    }
    Ok(chosen)
}

struct Enclosed<I, B> {
    item: I,
    lower: B,
    upper: B,
}

impl<I, B: PartialOrd> Enclosed<I, B> {
    /// Check whether the next item of a ranked list can exceed this item or an earlier item. See
    /// [`rank`].
    fn overlaps(&self, next: &Self) -> bool {
        !(next.upper < self.lower)
    }
}

/// Sort items by their upper bounds, with the highest first. Then replace the lower bound of each
/// item by the smallest lower bound among this item and all earlier items.
///
/// Suppose that an item does not overlap the next item. Then this item and all earlier items are
/// above all later items.
fn rank<I, B: PartialOrd + Clone>(list: &mut Vec<Enclosed<I, B>>) {
    sort_by(list, &|a, b| b.upper.partial_cmp(&a.upper).unwrap_or(Ordering::Equal));
    for i in 1..list.len() {
        if list[i - 1].lower < list[i].lower {
            list[i].lower = list[i - 1].lower.clone();
        }
    }
}

/// A candidate that remains after the first draws.
struct Survivor {
    index: usize,
    /// The distance `m 2^e` to the best score, as the pair `(m, e)`.
    distance: (UBig, i64),
    e: LazyExponential,
}

/// Append the candidates of a group to `chosen`, in descending order of their noisy scores, until
/// `k` candidates are chosen. The caller has drawn the same number of digits for each candidate of
/// the group.
fn order_group<N: Noise, S: RandomSource>(
    group: Vec<Survivor>,
    k: usize,
    scale: f64,
    source: &mut S,
    chosen: &mut Vec<usize>,
) -> Result<(), NoEntropy> {
    // `groups` is a stack. Its last group contains the best candidates that are not chosen yet. The
    // number of drawn digits is the same for all candidates of a group.
    let mut groups = vec![group];
    while let Some(mut group) = groups.pop().filter(|_| chosen.len() < k) {
        if let [single] = group.as_slice() {
            chosen.push(single.index);
            continue;
        }
        for survivor in &mut group {
            survivor.e.refine(source)?;
        }
        let enclose = |survivor: Survivor| {
            let (lower, upper) = survivor.bounds::<N>(scale);
            Enclosed { item: Some(survivor), lower, upper }
        };
        let mut list: Vec<_> = group.into_iter().map(enclose).collected();
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

/// A bound of a noisy score. The derived order of the variants is the order of the numbers.
#[derive(Clone, PartialEq, PartialOrd)]
enum Bound {
    MinusInfinity,
    At(IBig),
    Infinity,
}

impl Survivor {
    /// Return a lower and an upper bound on the noise minus `distance / scale`, in units of
    /// `2^-precision`.
    ///
    /// The precision is 8 more than the number of bits drawn so far.
    fn bounds<N: Noise>(&self, scale: f64) -> (Bound, Bound) {
        let precision = self.e.bits() + 8;
        let (lower, upper) = N::enclose(&self.e, precision);
        let (near, far) = self.shift(scale, precision);
        (
            lower.map_or(Bound::MinusInfinity, |lower| Bound::At(lower - far)),
            upper.map_or(Bound::Infinity, |upper| Bound::At(upper - near)),
        )
    }

    /// Return `2^precision distance / scale`, rounded down and rounded up.
    fn shift(&self, scale: f64, precision: usize) -> (IBig, IBig) {
        let parts = Dyadic::new(scale);
        let (distance, exponent) = &self.distance;
        let exponent = exponent - i64::from(parts.exponent) + precision as i64;
        // If the exponent is negative, the divisor is multiplied by `2^-exponent`.
        let divisor = IBig::from(parts.mantissa) << exponent.min(0).unsigned_abs() as usize;
        let dividend = IBig::from(distance.clone()) << exponent.max(0).unsigned_abs() as usize;
        let floor = &dividend / &divisor;
        let ceil = if &floor * divisor == dividend { floor.clone() } else { &floor + 1 };
        (floor, ceil)
    }
}
