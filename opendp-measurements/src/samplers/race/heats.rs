//! The first draws of the noise of all candidates. Few candidates remain after the first draws.

use super::{Enclosed, Noise, blocks::Field, blocks::ordered, hits::Hits, hits::prefix};
use crate::samplers::neg_ln;
use opendp_core::random::{NoEntropy, RandomSource};
use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
    ops::Range,
};

/// A candidate after its first draw, with its index and its first digit.
pub(super) type Candidate = Enclosed<(usize, u64), f64>;

/// A hit is a digit that gives rare, large noise (see [`Hits`]). This type states which candidates
/// without a hit can still be among the best `k`.
#[derive(PartialEq)]
enum Open {
    All,
    /// Only the candidates whose score passes the gate (see [`Field::shut`]).
    Above,
    None,
}

/// The state of the first draws: the candidates that are kept after their first digits are drawn,
/// and the bar. The bar is the `k`-th largest lower bound of a noisy score so far. A candidate
/// whose noisy score is certainly below the bar is dropped.
pub(super) struct Heats<'a> {
    field: &'a mut dyn Field,
    scale: f64,
    inverse: f64,
    /// The candidates that are kept so far.
    left: Vec<Candidate>,
    /// If more candidates than this number are kept, the candidates below the bar are dropped.
    limit: usize,
    bar: Bar,
    /// The height of the bar, which is minus infinity until there are `k` lower bounds.
    height: f64,
    open: Open,
}

impl<'a> Heats<'a> {
    pub(super) fn new(field: &'a mut dyn Field, k: usize, scale: f64) -> Self {
        Heats {
            field,
            scale,
            inverse: inverse(scale),
            left: Vec::new(),
            limit: 2 * k + 16,
            bar: Bar { k, largest: BinaryHeap::new() },
            height: f64::NEG_INFINITY,
            open: Open::All,
        }
    }

    /// Draw the first digits of all candidates that can be among the `k` largest. After the draw,
    /// keep the candidates that can still be among the `k` largest.
    ///
    /// Blocks of good scores come first, so the bar is high after few draws. [`Hits`] draws the
    /// digits. A candidate without a hit has noise of at most `-ln p`, where `p` is the probability
    /// of a hit. If noise of this size cannot raise the score of the candidate to the bar, the
    /// first digit of the candidate is not drawn.
    pub(super) fn run<N: Noise, S: RandomSource>(
        mut self,
        source: &mut S,
    ) -> Result<Vec<Candidate>, NoEntropy> {
        let hits = Hits::new::<S>();
        // `misses` is the number of candidates without a hit before the next candidate with a hit.
        let count = self.field.count();
        let mut misses = hits.misses(count, source)?;
        for (number, block) in ordered(self.field) {
            let mut index = block.start;
            loop {
                let next = block.end.min(index.saturating_add(misses));
                misses -= next - index;
                while let Some(open) = self.find_open(index..next, number) {
                    let rarity = Hits::miss(source)?;
                    self.enter::<N, S>(open, rarity);
                    index = open + 1;
                }
                if next == block.end {
                    break;
                }
                let rarity = Hits::hit(source)?;
                self.enter::<N, S>(next, rarity);
                misses = hits.misses(count, source)?;
                index = next + 1;
            }
        }
        drop_below(self.height, &mut self.left);
        Ok(self.left)
    }

    /// Search a range of a block. No candidate of this range has a hit. Return the first candidate
    /// that can still be among the `k` largest.
    #[inline]
    fn find_open(&self, some: Range<usize>, block: usize) -> Option<usize> {
        match self.open {
            Open::None => None,
            Open::All => (!some.is_empty()).then_some(some.start),
            Open::Above => self.field.find(some, block),
        }
    }

    /// Add a candidate whose first digit has the given rarity (see [`Noise::digit`]). If the noise
    /// of the candidate cannot raise its score to the bar, drop the candidate.
    fn enter<N: Noise, S: RandomSource>(&mut self, index: usize, rarity: u64) {
        let cap = neg_ln_cap(rarity, S::BITS);
        if cap < self.height {
            return;
        }
        let Some((near, far)) = self.field.distance(index) else { return };
        // `cap` is an upper bound on the noise, and `near` is a lower bound on the distance to the
        // best score. Let q be the exact quotient of `near` and the scale. The condition below
        // subtracts a term from `cap`. If this term is finite, it is at most q (see `inverse`). If
        // the noisy score can reach the bar, `cap - q` is at least the height. Then the rounded
        // difference is also at least the height, because rounding is monotone and the height is a
        // float.
        if cap - (near * self.inverse - f64::MIN_POSITIVE) < self.height {
            return;
        }
        let near = (near / self.scale).next_down().max(0.0);
        let far = (far / self.scale).next_up();
        let digit = N::digit(rarity, S::BITS);
        let e = neg_ln(digit, S::BITS);
        let upper = (N::upper(e) - near).next_up();
        if upper < self.height {
            return;
        }
        // For scores that are NaN or infinite, the bound can be NaN. The bound is then replaced by
        // minus infinity, which is a valid lower bound.
        let lower = (N::lower(e) - far).next_down().max(f64::NEG_INFINITY);
        self.left.push(Enclosed { item: (index, digit), lower, upper });
        let height = self.bar.raise(lower);
        if self.height < height {
            self.height = height;
            self.open = self.gate::<S>();
        }
        if self.limit < self.left.len() {
            drop_below(height, &mut self.left);
            self.limit = 2 * self.left.len() + 16;
        }
    }

    /// Set the gate for the present height of the bar. Return which candidates can reach the bar
    /// without a hit.
    ///
    /// Without a hit, the smallest possible rarity gives the largest noise. Let `largest` be an
    /// upper bound on this noise. Let `reach` be `largest` minus the height of the bar, rounded up.
    /// Take a candidate without a hit whose distance to the best score is at least `reach` times
    /// the scale. The noisy score of this candidate stays below the bar.
    fn gate<S: RandomSource>(&mut self) -> Open {
        let largest = neg_ln_cap(1 << (S::BITS - prefix::<S>()), S::BITS);
        let reach = (largest - self.height).next_up();
        if reach <= 0.0 {
            return Open::None;
        }
        let distance = (reach * self.scale).next_up();
        if self.field.shut(distance) { Open::Above } else { Open::All }
    }
}

/// Keep the candidates whose upper bound is at least the height of the bar.
fn drop_below(height: f64, left: &mut Vec<Candidate>) {
    left.retain(|candidate| !(candidate.upper < height));
}

/// Return a lower bound `inverse` on `1 / scale`. Then `near * inverse - MIN_POSITIVE` is a lower
/// bound on `near / scale` for `near >= 0`.
///
/// Let `v = 2^-53`. The roundings of the quotient and of both products raise the result by at most
/// the factor `(1 + v)^3`. The factor `1 - 8v` makes up for these roundings, because
/// `(1 + v)^3 (1 - 8v) < 1`. If the product `near * inverse` is subnormal, the error of the product
/// is less than `MIN_POSITIVE`, and the subtraction of `MIN_POSITIVE` is exact. For other products,
/// this subtraction only decreases the bound. If the product is infinite, the exact quotient also
/// exceeds all floats. For scales below `1e-290` or above `1e290`, `1 / scale` could overflow or be
/// subnormal, so `inverse` is 0.
fn inverse(scale: f64) -> f64 {
    if (1e-290..=1e290).contains(&scale) { (1.0 / scale) * (1.0 - 4.0 * f64::EPSILON) } else { 0.0 }
}

/// Return a rough upper bound on `-ln(n / 2^bits)`, for an integer `n` below `2^bits`. Return
/// infinity for 0.
///
/// Let `length` be the number of bits of `n`. Then `n >= 2^(length - 1)`, so the logarithm is at
/// most `(bits + 1 - length) ln 2`. The bound `0.6932` exceeds `ln 2` by `5e-5`. The rounding of
/// the product loses less than this difference.
#[inline]
fn neg_ln_cap(n: u64, bits: u32) -> f64 {
    let zeros = n.leading_zeros() + bits - 64;
    if n == 0 { f64::INFINITY } else { f64::from(zeros + 1) * 0.6932 }
}

/// The `k` largest lower bounds of noisy scores so far.
struct Bar {
    k: usize,
    largest: BinaryHeap<Reverse<Total>>,
}

impl Bar {
    /// Record a lower bound, and return the `k`-th largest lower bound so far.
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

/// A float, ordered by the total order of all floats.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samplers::race::blocks::Blocks;
    use crate::samplers::{Optimize, dyadic::Dyadic, score::Score};
    use dashu_int::IBig;
    use opendp_core::random::Seeded;
    use proptest::prelude::*;

    /// Check that `rough <= near / scale`, with exact integers.
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
        // The float 0.1 is above a tenth. The subtraction of MIN_POSITIVE does not change this
        // float, so the check must fail.
        assert!(!is_below(1.0 / 10.0 - f64::MIN_POSITIVE, 1.0, 10.0));
    }

    /// Check that candidates that the gate excludes cannot reach the bar without a hit. Let `d` be
    /// the distance from the gate to the best score. The largest noise without a hit, minus
    /// `d / scale`, must be less than the height of the bar.
    fn is_shut(gate: impl Score, best: impl Score, scale: f64, height: f64) -> bool {
        let unit = 1200;
        let aligned = |(m, e): (IBig, i64)| m << (e + unit) as usize;
        let (distance, scale) =
            (aligned(best.dyadic()) - aligned(gate.dyadic()), aligned(scale.dyadic()));
        // `reach` and `scale` are in units of 2^-unit, so their product is in units of 2^-(2 unit).
        let reach = aligned((8.0 * 0.6932_f64).dyadic()) - aligned(height.dyadic());
        reach * scale < distance << unit as usize
    }
    #[test]
    fn a_gate_shuts_out_none_that_could_pass() {
        fn gate<T: Score>(best: T, scale: f64, height: f64) -> Option<T> {
            let scores = [best];
            let mut blocks = Blocks::new(&scores, Optimize::Max).unwrap();
            let mut heats = Heats { height, ..Heats::new(&mut blocks, 1, scale) };
            let open = heats.gate::<Seeded<64>>();
            assert!(open != Open::None || 8.0 * 0.6932 < height);
            assert_eq!(open == Open::Above, blocks.gate.is_some());
            let gate = blocks.gate;
            assert!(gate.is_none_or(|gate| is_shut(gate, best, scale, height)), "{scale} {height}");
            gate
        }
        let (mut source, mut gates) = (Seeded::<64>::new(1), 0_u32);
        for _ in 0..2000 {
            let mut part = || source.word().unwrap() as f64 / 2f64.powi(64);
            let (height, scale) = (7.0 * part() - 1.0, 1e3 * part());
            let best = (part() - 0.5) * 1e6;
            gate(best, scale * if part() < 0.1 { 1e18 } else { 1e-3 }, height);
            gate(best as f32, scale, height);
            gate(best as i64 * (1 << 40), scale * 1e9, height);
            gate(best as i16, scale, height);
            if let Some(gate) = gate(best as u64, scale, height) {
                gates += 1;
                // The control: the check fails if the gate is moved by 2 towards the best score.
                assert!(!is_shut((gate + 2).min(best as u64), best as u64, scale, height));
            }
        }
        assert!(gates > 200, "gates were rare: {gates}");
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
}
