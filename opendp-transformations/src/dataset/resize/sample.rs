//! A uniform choice of rows in one pass. Choices can be merged.

use opendp_core::{Codec, Error, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value as Json;

/// A uniform choice of at most this many of the rows seen.
///
/// *Claim.* After `n` rows, `kept` holds all of them if there are at most `size`, and otherwise
/// `size` of them, where each set of places is equally likely.
///
/// *Rows* (Waterman; Vitter 1985, "Random Sampling with a Reservoir", Algorithm R). Row number
/// `n + 1` must be chosen with probability `size / (n + 1)`. If it is not chosen, the choice must
/// be a uniform choice from the first `n` rows. If it is, the others must be a uniform choice of
/// `size - 1` of the first `n`. The probability is right, because it is the probability that a
/// uniform index below `n + 1` is below `size`. In the last case, dropping a uniformly chosen row
/// from a uniform choice of `size` leaves a uniform choice of `size - 1`.
///
/// *Merging.* Draw rows one at a time from `n + m`, without replacement: choose a side in
/// proportion to its remaining rows, then one of these rows. The draws from one side, in order, are
/// draws from its rows without replacement. At most `size` of them are needed. The choice kept on
/// that side, read in random order, supplies them.
pub(crate) struct Sample<T> {
    seen: u64,
    kept: Vec<T>,
}
impl<T: Clone> Sample<T> {
    pub(crate) fn new() -> Self {
        Sample { seen: 0, kept: Vec::new() }
    }
    /// Return the rows chosen, and whether any row was left out.
    pub(crate) fn finish(self) -> (Vec<T>, bool) {
        let all = u64::try_from(self.kept.len()) == Ok(self.seen);
        (self.kept, !all)
    }
    /// Add rows. `below` draws an index below a bound.
    pub(crate) fn absorb(
        &mut self,
        rows: &[T],
        size: usize,
        mut below: impl FnMut(u64) -> Result<u64>,
    ) -> Result<()> {
        let (first, rest) = rows.split_at(rows.len().min(size.saturating_sub(self.kept.len())));
        self.kept.extend_from_slice(first);
        self.seen = self.seen.saturating_add(first.len() as u64);
        for row in rest {
            self.seen = self.seen.saturating_add(1);
            let place = usize::try_from(below(self.seen)?).ok();
            if let Some(kept) = place.and_then(|place| self.kept.get_mut(place)) {
                kept.clone_from(row);
            }
        }
        Ok(())
    }
    /// Add the rows that another choice has seen.
    pub(crate) fn merge(
        &mut self,
        mut other: Self,
        size: usize,
        mut below: impl FnMut(u64) -> Result<u64>,
    ) -> Result<()> {
        let total = self.seen.saturating_add(other.seen);
        if u64::try_from(size).is_ok_and(|size| size < total) {
            // The size in a document may exceed what both hold, if a partial result is invalid.
            let mut chosen = Vec::with_capacity(size.min(self.kept.len() + other.kept.len()));
            let (mut here, mut there) = (self.seen, other.seen);
            while chosen.len() < size {
                let (kept, left) = if below(here.saturating_add(there))? < here {
                    (&mut self.kept, &mut here)
                } else {
                    (&mut other.kept, &mut there)
                };
                let place = below(kept.len() as u64)? as usize;
                // Each side has kept as many rows as can be needed, unless the partial result is
                // invalid.
                if *left == 0 || kept.len() <= place {
                    return Err(foreign());
                }
                chosen.push(kept.swap_remove(place));
                *left -= 1;
            }
            self.kept = chosen;
        } else {
            self.kept.append(&mut other.kept);
        }
        self.seen = total;
        Ok(())
    }
}
#[cold]
fn foreign() -> Error {
    Error::FailedFunction("the partial result is of another function".into())
}

impl<T: Codec> Serialize for Sample<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kept: Vec<Json> = self.kept.iter().map(Codec::to_json).collect();
        (self.seen, kept).serialize(serializer)
    }
}
impl<'de, T: Codec> Deserialize<'de> for Sample<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (seen, kept) = <(u64, Vec<Json>)>::deserialize(deserializer)?;
        let kept: Result<Vec<T>> = kept.iter().map(T::from_json).collect();
        let kept = kept.map_err(|_| D::Error::custom("a row has another type"))?;
        if u64::try_from(kept.len()).is_ok_and(|kept| seen < kept) {
            return Err(D::Error::custom("it keeps more rows than it counts"));
        }
        Ok(Sample { seen, kept })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A number divisible by all products of bounds that occur below.
    const WHOLE: u64 = (1 << 30) * 729 * 625 * 49;

    /// Compute the probability of each sorted result, in units of `1 / WHOLE`, from a run with
    /// every sequence of indices.
    fn law(
        run: impl Fn(&mut dyn FnMut(u64) -> Result<u64>) -> Vec<u32>,
    ) -> BTreeMap<Vec<u32>, u64> {
        let (mut law, mut path) = (BTreeMap::new(), Vec::<(u64, u64)>::new());
        loop {
            let (mut step, mut weight) = (0, WHOLE);
            let mut result = run(&mut |bound| {
                if path.len() == step {
                    path.push((0, bound));
                }
                assert_eq!(weight % bound, 0);
                weight /= bound;
                step += 1;
                Ok(path[step - 1].0)
            });
            result.sort_unstable();
            *law.entry(result).or_default() += weight;
            // The next sequence: increment the last index that can be incremented.
            while path.last().is_some_and(|(index, bound)| index + 1 == *bound) {
                path.pop();
            }
            match path.last_mut() {
                Some((index, _)) => *index += 1,
                None => return law,
            }
        }
    }
    /// Test whether all choices of `size` of `rows` numbers are equally likely.
    fn uniform(law: &BTreeMap<Vec<u32>, u64>, rows: u64, size: u64) -> bool {
        let choices = (0..size).fold(1, |product, i| product * (rows - i) / (i + 1));
        assert_eq!(law.values().sum::<u64>(), WHOLE);
        law.len() as u64 == choices && law.values().all(|weight| weight * choices == WHOLE)
    }
    fn seen(
        rows: std::ops::Range<u32>,
        size: usize,
        mut below: impl FnMut(u64) -> Result<u64>,
    ) -> Sample<u32> {
        let mut sample = Sample::new();
        // In two chunks.
        let rows: Vec<u32> = rows.collect();
        let (first, second) = rows.split_at(rows.len() / 2);
        sample.absorb(first, size, &mut below).unwrap();
        sample.absorb(second, size, &mut below).unwrap();
        sample
    }

    #[test]
    fn every_choice_of_rows_is_exactly_as_likely() {
        for rows in 1..=6 {
            for size in 1..=4 {
                let law = law(|below| seen(0..rows, size, below).finish().0);
                assert!(uniform(&law, rows.into(), u64::from(rows).min(size as u64)));
            }
        }
    }
    #[test]
    fn every_choice_of_merged_rows_is_exactly_as_likely() {
        for (rows, middle) in [(2, 0), (2, 1), (3, 1), (4, 1), (5, 2), (5, 4), (5, 5)] {
            for size in 1..=2 {
                let law = law(|below| {
                    let mut sample = seen(0..middle, size, &mut *below);
                    let other = seen(middle..rows, size, &mut *below);
                    sample.merge(other, size, &mut *below).unwrap();
                    let (kept, left_out) = sample.finish();
                    assert_eq!(left_out, size < rows as usize);
                    kept
                });
                assert!(uniform(&law, rows.into(), u64::from(rows).min(size as u64)));
            }
        }
    }
    #[test]
    fn a_merge_that_draws_from_both_alike_is_found() {
        // The rows kept by a side do not show how many rows it has seen.
        let law = law(|below| {
            let (here, there) = (seen(0..1, 1, &mut *below), seen(1..4, 1, &mut *below));
            let kept = [here.finish().0, there.finish().0].concat();
            vec![kept[below(2).unwrap() as usize]]
        });
        assert!(!uniform(&law, 4, 1));
    }
    #[test]
    fn a_state_that_claims_rows_it_does_not_hold_is_refused() {
        let mut sample: Sample<u32> = serde_json::from_str("[5, []]").unwrap();
        let other = seen(0..3, 2, |_| Ok(0));
        assert!(sample.merge(other, 2, |_| Ok(0)).is_err());
        assert!(serde_json::from_str::<Sample<u32>>("[1, [true]]").is_err());
    }
}
