//! Finds the position of a number among sorted numbers, in a few steps.

use opendp_core::arith::Number;

use crate::count::counts::Counts;
use crate::widest::widest;

mod spread;
use spread::{Kind, Numbers, Spread};

/// Finds the position of a number among strictly increasing numbers.
///
/// The finder uses a function that maps numbers to buckets. The function never decreases: if `a` is
/// in a lower bucket than `b`, then `a < b`. So the search for a number needs only the sorted
/// numbers in its own bucket. A table states where these numbers are. The search uses only the fact
/// that the function never decreases. So the function may round. The finder tries a few functions
/// (see [`Spread`]). Of these, it uses a function for which the search takes the fewest steps. If
/// no function spreads the numbers well, a bucket contains many numbers. The search then takes
/// about as many steps as a search without buckets.
///
/// A row is a number whose position is searched. If no bucket contains two of the sorted numbers,
/// the work for a row is small: the computation of its bucket, one access to a table, two
/// comparisons, and one increment. If numbers have at most 64 bits, this table has at most 16 bytes
/// for each bucket.
pub(crate) struct Finder<T> {
    spread: Spread,
    search: Search<T>,
}
/// The method of the search within a bucket.
enum Search<T> {
    /// No bucket contains two of the sorted numbers. Each bucket has an entry, which contains one
    /// of the sorted numbers. The rows in the bucket are compared with this number. If the bucket
    /// contains a sorted number, the entry has this number. Otherwise the entry has the first
    /// sorted number after the bucket, or the last sorted number if there is no later number. The
    /// `u32` of an entry is a cell; see `count`. A row has this cell if the row is in the bucket
    /// and below the number of the entry. The count of buckets is a power of two.
    One(Vec<(T, u32)>),
    Some {
        /// The sorted numbers, followed by repetitions of the last number.
        sorted: Vec<T>,
        /// The count of numbers in `sorted`, without the repetitions.
        length: usize,
        /// For each bucket, the count of numbers in lower buckets. The number of buckets is a power
        /// of two.
        below: Vec<u32>,
        /// Each bucket contains fewer than `2^steps` numbers.
        steps: u32,
    },
}

/// The number of rows whose positions are searched together. The memory accesses of these rows
/// overlap.
pub(crate) const LANES: usize = 64;

/// Three counts of buckets are tried: the count of numbers, twice this count, and four times this
/// count. Each count is rounded up to a power of two. If numbers share a bucket in all three cases,
/// a fourth count is tried: the larger of the third count and `BUCKETS`. There are at most
/// `MOST_BUCKETS` buckets, so that the table fits a cache.
const BUCKETS: usize = 1 << 12;
const MOST_BUCKETS: usize = 1 << 18;
/// If there are at most `FEW` buckets, and no bucket contains two numbers, the rows are counted in
/// an array. This array fits the first-level cache. A group has `LANES` rows. At most `MOST_GROUPS`
/// groups are counted in one array.
const FEW: usize = 1 << 8;
const MOST_GROUPS: usize = 1 << 16;
/// If two consecutive increments use the same counter, the second increment waits for the first. So
/// the rows alternate between `TURNS` sets of counters.
const TURNS: usize = 4;

/// The choice of the buckets. The search of a [`Finder`] follows from this choice.
struct Plan {
    spread: Spread,
    /// For each bucket, the count of numbers in lower buckets.
    below: Vec<u32>,
    /// Each bucket contains fewer than `2^steps` numbers.
    steps: u32,
}
impl Plan {
    /// Choose the buckets for which the search takes the fewest steps.
    fn best(numbers: &Numbers) -> Self {
        let times =
            |n: usize| numbers.len().saturating_mul(n).min(MOST_BUCKETS).next_power_of_two();
        let more = times(4).max(BUCKETS);
        let mut plan = Plan::with(numbers, times(1), Kind::Whole);
        for buckets in [times(1), times(2), times(4), more] {
            for kind in [Kind::Whole, Kind::Even, Kind::Logarithmic] {
                if plan.steps == 1 {
                    return plan;
                }
                let other = Plan::with(numbers, buckets, kind);
                if other.steps < plan.steps {
                    plan = other;
                }
            }
        }
        plan
    }
    fn with(numbers: &Numbers, buckets: usize, kind: Kind) -> Self {
        // If there are too many numbers for the 32-bit counts of a table, the search uses only one
        // bucket.
        let countable = u32::try_from(numbers.len().saturating_mul(2)).is_ok();
        let buckets = if countable { buckets } else { 1 };
        let spread = Spread::new(numbers, buckets, kind);
        let (mut below, mut largest) = (vec![0_u32; buckets], 0);
        for place in 0..numbers.len() {
            let count = &mut below[spread.bucket(numbers, place)];
            *count = count.saturating_add(1);
            largest = largest.max(*count);
        }
        let mut sum = 0_u32;
        for count in &mut below {
            sum = sum.saturating_add(std::mem::replace(count, sum));
        }
        let steps = if buckets == 1 { numbers.len().ilog2() + 1 } else { largest.ilog2() + 1 };
        Plan { spread, below, steps }
    }
}

impl<T: Number> Finder<T> {
    /// Prepare the search among strictly increasing numbers. There must be at least one number.
    pub(crate) fn new(numbers: &[T]) -> Self {
        Finder::planned(numbers, Plan::best(&Numbers::new(numbers)))
    }
    fn planned(numbers: &[T], plan: Plan) -> Self {
        let Plan { spread, below, steps } = plan;
        let last = numbers.last().copied().unwrap_or_else(T::zero);
        if 1 < steps {
            let mut sorted = numbers.to_vec();
            sorted.resize(numbers.len() + (1 << steps), last);
            return Finder {
                spread,
                search: Search::Some { sorted, length: numbers.len(), below, steps },
            };
        }
        // Buckets after the bucket of the last number have an entry with the last number. A row in
        // such a bucket is above the last number.
        let mut entries = Vec::with_capacity(below.len());
        for count in below {
            entries.push(match numbers.get(count as usize) {
                Some(number) => (*number, 2 * count),
                None => (last, 2 * count.saturating_sub(1)),
            });
        }
        Finder { spread, search: Search::One(entries) }
    }
    /// Count rows by their cells. The cell of a row is twice the count of sorted numbers below the
    /// row, plus one if the row equals one of the sorted numbers.
    ///
    /// No branch depends on the values of the rows, so no branch is mispredicted because of these
    /// values.
    pub(crate) fn count(&self, rows: &[T], counts: &mut Counts) {
        let mut cells = [0; LANES];
        let rest = match &self.search {
            Search::One(entries) if entries.len() <= FEW => {
                let (groups, rest) = rows.as_chunks();
                for groups in groups.chunks(MOST_GROUPS) {
                    let places = widest(
                        #[inline(always)]
                        || self.places(entries, groups),
                    );
                    for ((_, below), rows) in entries.iter().zip(places.chunks(4)) {
                        for (cell, rows) in rows.iter().enumerate().take(3) {
                            counts.raise(*below as usize + cell, (*rows).into());
                        }
                    }
                }
                rest
            }
            _ => rows,
        };
        for group in rest.chunks(LANES) {
            let cells = widest(
                #[inline(always)]
                || self.cells(group, &mut cells),
            );
            counts.add(cells.iter().copied());
        }
    }
    /// Count the rows of the groups. The entry of a bucket contains a number. Each bucket has three
    /// counts: of the rows below this number, of the rows equal to it, and of the rows above it. A
    /// fourth place is unused, so the place of a count is computed with a shift.
    #[inline(always)]
    fn places(&self, entries: &[(T, u32)], groups: &[[T; LANES]]) -> [u32; 4 * FEW] {
        let (mut numbers, mut buckets) = ([T::zero(); FEW], [0; LANES]);
        for (number, entry) in numbers.iter_mut().zip(entries) {
            *number = entry.0;
        }
        let mut turns = [[0; 4 * FEW]; TURNS];
        for rows in groups {
            self.spread.buckets(rows, &mut buckets);
            for first in (0..LANES).step_by(TURNS) {
                for (turn, counts) in turns.iter_mut().enumerate() {
                    let row = rows[first + turn];
                    // There are at most 256 buckets, so eight bits contain the bucket. An index of
                    // eight bits needs no check of its bounds.
                    let bucket = usize::from(buckets[first + turn] as u8);
                    let number = numbers[bucket];
                    let above = usize::from(number <= row) + usize::from(number < row);
                    counts[(4 * bucket) | above] += 1;
                }
            }
        }
        let mut sums = [0; 4 * FEW];
        for counts in &turns {
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        sums
    }
    /// Return the cells of at most [`LANES`] rows.
    ///
    /// The search can read beyond the bucket of a row: into the next buckets, and then into the
    /// repetitions of the last number. The numbers in the next buckets are above the row, so they
    /// are not counted. The repetitions are counted only for a row above the last number. For such
    /// a row, the result is limited to the count of all numbers.
    #[inline(always)]
    fn cells<'a>(&self, rows: &[T], cells: &'a mut [usize; LANES]) -> &'a [usize] {
        let count = rows.len().min(LANES);
        let cells = &mut cells[..count];
        self.spread.buckets(rows, cells);
        match &self.search {
            Search::One(entries) => {
                let mask = entries.len() - 1;
                for (cell, row) in cells.iter_mut().zip(rows) {
                    let (number, below) = entries[*cell & mask];
                    *cell =
                        below as usize + usize::from(number <= *row) + usize::from(number < *row);
                }
            }
            Search::Some { sorted, length, below, steps } => {
                let mask = below.len() - 1;
                for cell in cells.iter_mut() {
                    *cell = below[*cell & mask] as usize;
                }
                for step in (0..*steps).rev() {
                    let half = 1 << step;
                    for (cell, row) in cells.iter_mut().zip(rows) {
                        *cell += usize::from(sorted[*cell + half - 1] < *row) * half;
                    }
                }
                for (cell, row) in cells.iter_mut().zip(rows) {
                    *cell = 2 * (*cell).min(*length) + usize::from(sorted[*cell] == *row);
                }
            }
        }
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compute the cell of a row by the definition in `Finder::count`.
    fn cell<T: Number>(numbers: &[T], row: T) -> usize {
        2 * numbers.iter().filter(|x| **x < row).count() + usize::from(numbers.contains(&row))
    }
    fn plan<T: Number>(numbers: &[T], buckets: usize, kind: Kind) -> Plan {
        Plan::with(&Numbers::new(numbers), buckets, kind)
    }
    /// Check the cells of the rows, and return the number of steps.
    #[track_caller]
    fn check<T: Number>(numbers: &[T], rows: &[T]) -> u32 {
        let finder = Finder::new(numbers);
        for row in rows.iter().chain(numbers) {
            let expected = cell(numbers, *row);
            for count in [0, 1, LANES] {
                let found = finder.cells(&vec![*row; count], &mut [0; LANES]).to_vec();
                assert_eq!(found, vec![expected; count], "{row} of {numbers:?}");
            }
        }
        // Count many rows in one call.
        let many: Vec<T> =
            rows.iter().chain(numbers).copied().cycle().take(5 * LANES + 1).collect();
        let mut expected = vec![0; 2 * numbers.len() + 1];
        many.iter().for_each(|row| expected[cell(numbers, *row)] += 1);
        let mut counts = Counts::new(expected.len());
        finder.count(&many, &mut counts);
        assert_eq!(Vec::<u64>::from(counts), expected, "{numbers:?}");
        // The cells must not depend on the kind of the function from numbers to buckets.
        for kind in [Kind::Whole, Kind::Even, Kind::Logarithmic] {
            for buckets in [1, 2, 64, 4096] {
                let other = Finder::planned(numbers, plan(numbers, buckets, kind));
                for row in rows.iter().chain(numbers) {
                    let found = other.cells(&[*row], &mut [0; LANES]).to_vec();
                    assert_eq!(found, [cell(numbers, *row)], "{row}, {buckets} {kind:?}");
                }
            }
        }
        Plan::best(&Numbers::new(numbers)).steps
    }

    #[test]
    fn finds_the_cell_of_every_row_whatever_the_number_of_numbers() {
        for length in (1_u32..=70).chain([128, 129, 255, 256, 257]) {
            let numbers: Vec<f64> = (0..length).map(f64::from).collect();
            let mut rows: Vec<f64> = (0..=length).map(|i| f64::from(i) - 0.5).collect();
            rows.extend([f64::INFINITY, f64::NEG_INFINITY, f64::MAX, 5e-324, -5e-324]);
            assert_eq!(check(&numbers, &rows), 1);
        }
    }
    #[test]
    fn finds_floats_at_the_ends_of_their_range() {
        let infinity = f64::INFINITY;
        let all = [-infinity, f64::MIN, -1.0, -5e-324, 0.0, 5e-324, 1.0, f64::MAX, infinity];
        for from in 0..all.len() {
            for to in from + 1..=all.len() {
                check(&all[from..to], &all);
            }
        }
        let near: Vec<f64> = (0..50).map(|i| f64::from_bits(1.0_f64.to_bits() + 2 * i)).collect();
        let rows: Vec<f64> = (0..100).map(|i| f64::from_bits(1.0_f64.to_bits() + i)).collect();
        check(&near, &rows);
        check(&near.iter().map(|x| -1.0 / x).collect::<Vec<_>>(), &[-1.0, 0.0, 1.0]);
        check(&[0.1_f32, 0.2, 3e38, f32::INFINITY], &[0.0, 0.15, f32::MAX, -1.0]);
    }
    #[test]
    fn takes_zeros_of_either_sign_for_one_number() {
        for zero in [0.0, -0.0] {
            for numbers in [vec![zero], vec![zero, 1e300], vec![-1e-300, zero, 1e-300]] {
                check(&numbers, &[0.0, -0.0]);
            }
        }
    }
    #[test]
    fn finds_integers_that_floats_do_not_tell_apart() {
        let base = i64::MAX - 100;
        let numbers: Vec<i64> = (0..50).map(|i| base + 2 * i).collect();
        let rows: Vec<i64> = (0..100).map(|i| base + i).chain([i64::MIN, 0, i64::MAX]).collect();
        assert_eq!(check(&numbers, &rows), 1);
        // All 50 numbers convert to the same float, so they are in one bucket. A search among 50
        // numbers takes 6 steps.
        assert_eq!(plan(&numbers, 4096, Kind::Even).steps, 6);
        for width in [(1 << 51) - 1, 1 << 51] {
            let ends = [-7, -7 + width / 2, -7 + width];
            let rows = [i64::MIN, -8, -6, -8 + width / 2, -6 + width / 2, width - 8, width - 6];
            check(&ends, &[&rows[..], &[i64::MAX]].concat());
        }
        check(&[i64::MIN, -1, i64::MAX], &rows);
        check(&[0_u8, 255], &[1, 254]);
        check(&[i128::MIN, i128::MIN + 1, i128::MAX], &[0, i128::MAX - 1]);
        check(&[i64::MIN, i64::MIN + 1, i64::MAX - 1], &[0, i64::MAX]);
        check(&[i64::MIN + 1, 5, i64::MAX], &[0, i64::MIN, i64::MIN + 2, i64::MAX - 1]);
        check(&[u64::MAX - 1, u64::MAX], &[0, u64::MAX - 2]);
    }
    #[test]
    fn needs_one_step_for_numbers_that_are_spread_evenly_or_in_proportion() {
        let evenly: Vec<i32> = (0..10_000).map(|i| 7 * i - 3).collect();
        assert_eq!(Plan::best(&Numbers::new(&evenly)).steps, 1);
        let in_proportion: Vec<f64> = (0..1000).map(|i| 1.01_f64.powi(i)).collect();
        assert_eq!(Plan::best(&Numbers::new(&in_proportion)).steps, 1);
        assert!(plan(&in_proportion, 4096, Kind::Even).steps > 1);
    }
}
