//! Chooses rows uniformly in one pass. Two such choices can be merged.

use opendp_core::{Codec, Error, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value as Json;

/// A uniform choice of at most `size` of the rows that were read.
///
/// *Claim.* Suppose that `n` rows were read. If `n` is at most `size`, `kept` contains all `n`
/// rows. Otherwise `kept` contains `size` rows, and each set of `size` rows is equally likely.
///
/// *Rows* (Waterman; Vitter 1985, "Random Sampling with a Reservoir", Algorithm R). Suppose that
/// `n` rows were read, where `n` is at least `size`. Row number `n + 1` must be chosen with
/// probability `size / (n + 1)`. If the row is not chosen, the chosen rows must be a uniform choice
/// from the first `n` rows. If the row is chosen, the other `size - 1` chosen rows must be a
/// uniform choice from the first `n` rows. A uniform index below `n + 1` is below `size` with the
/// required probability. If the new row is chosen, a row of `kept` is drawn uniformly and dropped.
/// Before this step, `kept` is a uniform choice of `size` rows. The remaining rows are a uniform
/// choice of `size - 1` of the first `n` rows.
///
/// *Merging.* A merge joins two choices, which are called sides. Let the sides have read `n` and
/// `m` rows. Draw rows one at a time from all `n + m` rows, without replacement. For each draw,
/// choose a side with a probability proportional to the number of remaining rows of this side. Then
/// choose one of these rows uniformly. The draws from one side are draws from its rows without
/// replacement. At most `size` of these draws are needed. The rows that a side kept, read in random
/// order, serve as the draws from this side.
pub(crate) struct Sample<T> {
    /// The number of rows that were read.
    seen: u64,
    /// The rows that are chosen.
    kept: Vec<T>,
}
impl<T: Clone> Sample<T> {
    pub(crate) fn new() -> Self {
        Sample { seen: 0, kept: Vec::new() }
    }
    /// Return the chosen rows, and whether any row was left out.
    pub(crate) fn finish(self) -> (Vec<T>, bool) {
        let all = u64::try_from(self.kept.len()) == Ok(self.seen);
        (self.kept, !all)
    }
    /// Read more rows, and update the choice. `below(bound)` draws a uniform index below `bound`.
    pub(crate) fn absorb<E>(
        &mut self,
        rows: &[T],
        size: usize,
        mut below: impl FnMut(u64) -> Result<u64, E>,
    ) -> Result<(), E> {
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
    /// Merge another choice into this choice.
    pub(crate) fn merge(
        &mut self,
        mut other: Self,
        size: usize,
        mut below: impl FnMut(u64) -> Result<u64>,
    ) -> Result<()> {
        let total = self.seen.saturating_add(other.seen);
        if is_below(size, total) {
            // `size` can be very large. If a partial result is invalid, both sides together can
            // have kept fewer rows than `size`. So the capacity is at most the number of rows that
            // both sides have kept.
            let mut chosen = Vec::with_capacity(size.min(self.kept.len() + other.kept.len()));
            let (mut here, mut there) = (self.seen, other.seen);
            while chosen.len() < size {
                let (kept, left) = if below(here.saturating_add(there))? < here {
                    (&mut self.kept, &mut here)
                } else {
                    (&mut other.kept, &mut there)
                };
                let place = below(kept.len() as u64)? as usize;
                // A side that is a valid partial result has kept enough rows. So this condition
                // holds only if a partial result is invalid.
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
fn is_below(rows: usize, bound: u64) -> bool {
    u64::try_from(rows).is_ok_and(|rows| rows < bound)
}
#[cold]
fn foreign() -> Error {
    Error::FailedFunction("the partial result belongs to another function".into())
}

impl<T: Codec> Serialize for Sample<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.seen, self.kept.to_json()).serialize(serializer)
    }
}
impl<'de, T: Codec> Deserialize<'de> for Sample<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Read a list, because `from_json` would also accept other forms, which are never written.
        let (seen, kept) = <(u64, Vec<Json>)>::deserialize(deserializer)?;
        let Ok(kept) = Vec::<T>::from_json(&Json::Array(kept)) else {
            return Err(D::Error::custom("a row has another type"));
        };
        if u64::try_from(kept.len()).is_ok_and(|kept| seen < kept) {
            return Err(D::Error::custom("the partial result keeps more rows than it counts"));
        }
        Ok(Sample { seen, kept })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A common denominator of all probabilities in these tests.
    const WHOLE: u64 = (1 << 30) * 729 * 625 * 49;

    /// Compute the probability of each sorted result, in units of `1 / WHOLE`. To find these
    /// probabilities, call `run` with every sequence of drawn indices.
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
            // Go to the next sequence: increment the last index that can be incremented.
            while path.last().is_some_and(|(index, bound)| index + 1 == *bound) {
                path.pop();
            }
            match path.last_mut() {
                Some((index, _)) => *index += 1,
                None => return law,
            }
        }
    }
    /// Test whether all sets of `size` numbers, chosen from `rows` numbers, are equally likely.
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
        // Add the rows in two chunks.
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
        // This merge ignores how many rows each side has read, so the result is not uniform.
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
        for wrong in ["[1, [true]]", r#"[1, {"__tuple__": [1]}]"#, "[0, null]"] {
            assert!(serde_json::from_str::<Sample<u32>>(wrong).is_err(), "{wrong}");
        }
    }
}
