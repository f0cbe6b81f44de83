//! The first draws of a race, which leave few candidates.

use super::{Enclosed, Noise, blocks::Field, blocks::ordered, hits::Hits, hits::prefix};
use crate::samplers::neg_ln;
use opendp_core::random::{NoEntropy, RandomSource};
use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
    ops::Range,
};

/// A candidate after its first draw: its index and its first digit.
pub(super) type Candidate = Enclosed<(usize, u64), f64>;

/// The candidates without a hit that may still be among the best.
#[derive(PartialEq)]
enum Open {
    All,
    /// The candidates whose score passes the gate.
    Above,
    None,
}

/// The candidates that have run, and the bar for the others.
pub(super) struct Heats<'a, F> {
    field: &'a mut F,
    scale: f64,
    inverse: f64,
    left: Vec<Candidate>,
    limit: usize,
    bar: Bar,
    /// The `k`-th largest lower bound so far.
    height: f64,
    open: Open,
}

impl<'a, F: Field> Heats<'a, F> {
    pub(super) fn new(field: &'a mut F, k: usize, scale: f64) -> Self {
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

    /// Draw the first digits of all candidates that may be among the `k` largest, and keep the
    /// candidates that still may be.
    ///
    /// Blocks of good scores run first, so the bar is high from the beginning. [`Hits`] draws the
    /// digits: a candidate without a hit has noise of at most `-ln p`. If this noise cannot raise
    /// its score to the bar, the rest of its digit is never drawn.
    pub(super) fn run<N: Noise, S: RandomSource>(
        mut self,
        source: &mut S,
    ) -> Result<Vec<Candidate>, NoEntropy> {
        let hits = Hits::new::<S>();
        // This many candidates have no hit, and the next has one.
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

    /// Find the first candidate in a range of a block that may be among the best without a hit.
    #[inline]
    fn find_open(&self, some: Range<usize>, block: usize) -> Option<usize> {
        match self.open {
            Open::None => None,
            Open::All => (!some.is_empty()).then_some(some.start),
            Open::Above => self.field.find(some, block),
        }
    }

    /// Let a candidate with the given first digit run.
    fn enter<N: Noise, S: RandomSource>(&mut self, index: usize, rarity: u64) {
        let cap = neg_ln_cap(rarity, S::BITS);
        if cap < self.height {
            return;
        }
        let Some((near, far)) = self.field.distance(index) else { return };
        // Rounding is monotone: a difference of at least the height is not rounded to less.
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
        // The bounds of invalid scores are invalid. Minus infinity is a valid lower bound.
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

    /// Find the candidates that may pass the bar without a hit.
    ///
    /// Their noise is at most the noise of the smallest digit that is not a hit. Let `r` be the
    /// difference to the bar, rounded up above the exact one. A candidate whose distance to the
    /// best score is at least `r scale` ends below the bar.
    fn gate<S: RandomSource>(&mut self) -> Open {
        let most = neg_ln_cap(1 << (S::BITS - prefix::<S>()), S::BITS);
        let reach = (most - self.height).next_up();
        if reach <= 0.0 {
            return Open::None;
        }
        let distance = (reach * self.scale).next_up();
        if self.field.shut(distance) { Open::Above } else { Open::All }
    }
}

/// Keep the candidates whose upper bound reaches the height.
fn drop_below(height: f64, left: &mut Vec<Candidate>) {
    left.retain(|candidate| !(candidate.upper < height));
}

/// Bound `1 / scale` from below, so that `near * inverse - MIN_POSITIVE` bounds `near / scale` from
/// below for `near >= 0`.
///
/// With `v = 2^-53`, the roundings of the quotient and of both products raise it by at most
/// `(1 + v)^3`, and `(1 + v)^3 (1 - 8v) < 1`. If a product is not normal, its error is less than
/// the least normal float, and the difference is exact there. For other products the difference
/// only decreases. Scales at the ends of the range, whose quotients might not be normal, have the
/// bound 0.
fn inverse(scale: f64) -> f64 {
    if (1e-290..=1e290).contains(&scale) { (1.0 / scale) * (1.0 - 4.0 * f64::EPSILON) } else { 0.0 }
}

/// Bound `-ln(n / 2^bits)` roughly from above, for an integer `n` below `2^bits`; infinity for 0.
///
/// `n >= 2^(length - 1)`, `length` the number of its bits, so the logarithm is at most
/// `(bits + 1 - length) ln 2`. The bound `0.6932` of `ln 2` leaves `5e-5` per bit, more than the
/// rounded product loses.
#[inline]
fn neg_ln_cap(n: u64, bits: u32) -> f64 {
    let zeros = n.leading_zeros() + bits - 64;
    if n == 0 { f64::INFINITY } else { f64::from(zeros + 1) * 0.6932 }
}

/// The `k` largest lower bounds so far.
struct Bar {
    k: usize,
    largest: BinaryHeap<Reverse<Total>>,
}

impl Bar {
    /// Record a lower bound and return the `k`-th largest so far.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samplers::race::blocks::Blocks;
    use crate::samplers::{Optimize, dyadic::Dyadic, score::Score};
    use dashu_int::IBig;
    use opendp_core::random::Seeded;
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

    /// Whether the scores that the gate excludes are certainly below the bar. This holds if their
    /// largest noise, minus their distance in scales, is less than the height.
    fn is_shut(gate: impl Score, best: impl Score, scale: f64, height: f64) -> bool {
        let unit = 1200;
        let at = |(m, e): (IBig, i64)| m << (e + unit) as usize;
        let (distance, scale) = (at(best.dyadic()) - at(gate.dyadic()), at(scale.dyadic()));
        // `reach` and `scale` are in units of 2^-unit, so their product is in units of 2^-(2 unit).
        let reach = at((8.0 * 0.6932_f64).dyadic()) - at(height.dyadic());
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
                // The control: scores nearer by two are not below.
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
