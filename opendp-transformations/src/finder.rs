//! Finds the place of a number among sorted ones, in a few steps.

use opendp_core::arith::Number;

/// Tells where a number lies among some that strictly increase.
///
/// A map from numbers to buckets that never decreases says: if `a` is in a lower bucket than `b`
/// then `a < b`. So a number is compared with those in its own bucket only, and their place is
/// looked up. No more is asked of the map, so that it may round as it likes. It is one of two,
/// whichever spreads the numbers better: linear in the number as a float, or in the bits of that
/// float, which go with its logarithm. If neither does then a bucket holds many, and the search
/// takes about as many steps as one without buckets.
pub(crate) struct Finder<T> {
    /// The numbers, and then the last one repeated.
    sorted: Vec<T>,
    /// How many numbers there are.
    length: usize,
    spread: Spread,
    /// How many of the numbers lie in lower buckets than this one; the length is a power of two.
    below: Vec<u32>,
    /// No bucket holds `2^steps` numbers.
    steps: u32,
}

/// Rows that are searched for in step, so that none waits for the memory alone.
pub(crate) const LANES: usize = 64;

/// The number of buckets is at least four times that of the numbers, and so many, and at most
/// `MOST_BUCKETS`: the table should fit the nearest memory.
const BUCKETS: usize = 1 << 12;
const MOST_BUCKETS: usize = 1 << 18;

impl<T: Number> Finder<T> {
    /// Prepare the search among numbers that strictly increase, of which there is at least one.
    pub(crate) fn new(numbers: &[T]) -> Self {
        let evenly = numbers.len().saturating_mul(4).min(MOST_BUCKETS).next_power_of_two();
        let more = evenly.max(BUCKETS);
        let mut finder = Finder::with(numbers, evenly, false);
        for (buckets, logarithmic) in [(evenly, true), (more, false), (more, true)] {
            if finder.steps == 1 {
                break;
            }
            let other = Finder::with(numbers, buckets, logarithmic);
            if other.steps < finder.steps {
                finder = other;
            }
        }
        finder
    }
    fn with(numbers: &[T], buckets: usize, logarithmic: bool) -> Self {
        // More numbers than a table can count are searched without one.
        let buckets = if u32::try_from(numbers.len()).is_ok() { buckets } else { 1 };
        let spread = Spread::new(numbers, buckets, logarithmic);
        let (mut below, mut most) = (vec![0_u32; buckets], 0);
        for number in numbers {
            let count = &mut below[spread.bucket(*number)];
            *count = count.saturating_add(1);
            most = most.max(*count);
        }
        let mut sum = 0_u32;
        for count in &mut below {
            sum = sum.saturating_add(std::mem::replace(count, sum));
        }
        let steps = if buckets == 1 { numbers.len().ilog2() + 1 } else { most.ilog2() + 1 };
        let mut sorted = numbers.to_vec();
        let last = numbers.last().copied().unwrap_or_else(T::zero);
        sorted.resize(numbers.len() + (1 << steps), last);
        Finder { sorted, length: numbers.len(), spread, below, steps }
    }
    /// For each of up to [`LANES`] rows, twice the number of those below it, and one more if it is
    /// one of them.
    ///
    /// Every row takes the same steps, without a branch on the data. The search of a bucket goes on
    /// into the next ones, which hold larger numbers, and beyond the end into repetitions of the
    /// last, which only count for rows above it.
    #[inline]
    pub(crate) fn cells<'a>(&self, rows: &[T], cells: &'a mut [usize; LANES]) -> &'a [usize] {
        let count = rows.len().min(LANES);
        let cells = &mut cells[..count];
        // The choice is made once for all lanes.
        let spread = self.spread;
        if spread.logarithmic {
            let spread = Spread { logarithmic: true, ..spread };
            cells.iter_mut().zip(rows).for_each(|(cell, row)| *cell = spread.bucket(*row));
        } else {
            let spread = Spread { logarithmic: false, ..spread };
            cells.iter_mut().zip(rows).for_each(|(cell, row)| *cell = spread.bucket(*row));
        }
        let sorted = self.sorted.as_slice();
        let mask = self.below.len() - 1;
        for cell in cells.iter_mut() {
            *cell = self.below[*cell & mask] as usize;
        }
        if self.steps == 1 {
            for (cell, row) in cells.iter_mut().zip(rows) {
                let number = sorted[*cell];
                *cell = 2 * *cell + usize::from(number <= *row) + usize::from(number < *row);
            }
            let end = 2 * self.length;
            cells.iter_mut().for_each(|cell| *cell = (*cell).min(end));
            return cells;
        }
        for step in (0..self.steps).rev() {
            let half = 1 << step;
            for (cell, row) in cells.iter_mut().zip(rows) {
                *cell += usize::from(sorted[*cell + half - 1] < *row) * half;
            }
        }
        for (cell, row) in cells.iter_mut().zip(rows) {
            *cell = 2 * (*cell).min(self.length) + usize::from(sorted[*cell] == *row);
        }
        cells
    }
}

/// A map from numbers to buckets, by which the bucket of a larger number is not lower.
#[derive(Clone, Copy)]
struct Spread {
    logarithmic: bool,
    origin: f64,
    /// Not negative, and finite.
    factor: f64,
    last: f64,
}

impl Spread {
    /// Spread numbers from the first bucket to the last.
    fn new<T: Number>(numbers: &[T], buckets: usize, logarithmic: bool) -> Self {
        let last = (buckets - 1) as f64;
        let unit = Spread { logarithmic, origin: 0.0, factor: 0.0, last };
        let mut places = numbers.iter().map(|x| unit.place(*x)).filter(|x| x.is_finite());
        let origin = places.next().unwrap_or(0.0);
        let factor = last / (places.next_back().unwrap_or(origin) - origin);
        Spread { origin, factor: if factor.is_finite() { factor } else { 0.0 }, ..unit }
    }
    /// A float that does not decrease with the number: no conversion to a nearest one does, and the
    /// bits of a float, taken for an integer that has its sign, increase with it.
    #[inline]
    fn place<T: Number>(self, number: T) -> f64 {
        // Always given: every number type converts.
        let float = number.to_f64().unwrap_or(0.0);
        if !self.logarithmic {
            return float;
        }
        // The sum makes one zero of two that are equal.
        let bits = (float + 0.0).to_bits() as i64;
        (bits ^ ((bits >> 63) as u64 >> 1) as i64) as f64
    }
    /// Each operation is correctly rounded, and so does not decrease where the exact one does not.
    /// The exception would be NaN, from an infinity less an infinity or times 0. But the origin is
    /// finite, and if the factor is 0 then all numbers go to the first bucket, as NaN does.
    #[inline]
    fn bucket<T: Number>(self, number: T) -> usize {
        let place = (self.place(number) - self.origin) * self.factor;
        let place = if 0.0 < place { place } else { 0.0 };
        let place = if place < self.last { place } else { self.last };
        // Floats from 2^52 to 2^53 are the integers, and this sum rounds to the nearest of them:
        // the last bits of the mantissa are those of the integer.
        (place + 4_503_599_627_370_496.0).to_bits() as u32 as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cell of a row, by the definition.
    fn cell<T: Number>(numbers: &[T], row: T) -> usize {
        2 * numbers.iter().filter(|x| **x < row).count() + usize::from(numbers.contains(&row))
    }
    #[track_caller]
    fn check<T: Number>(numbers: &[T], rows: &[T]) -> Finder<T> {
        let finder = Finder::new(numbers);
        for row in rows.iter().chain(numbers) {
            let expected = cell(numbers, *row);
            for count in [0, 1, LANES] {
                let found = finder.cells(&vec![*row; count], &mut [0; LANES]).to_vec();
                assert_eq!(found, vec![expected; count], "{row} of {numbers:?}");
            }
        }
        // Every way to spread the same numbers gives the same cells.
        for (buckets, logarithmic) in [(1, false), (1, true), (2, false), (2, true), (64, true)] {
            let other = Finder::with(numbers, buckets, logarithmic);
            for row in rows.iter().chain(numbers) {
                assert_eq!(other.cells(&[*row], &mut [0; LANES]), [cell(numbers, *row)]);
            }
        }
        finder
    }

    #[test]
    fn finds_the_cell_of_every_row_whatever_the_number_of_numbers() {
        for length in 1_u32..=70 {
            let numbers: Vec<f64> = (0..length).map(f64::from).collect();
            let mut rows: Vec<f64> = (0..=length).map(|i| f64::from(i) - 0.5).collect();
            rows.extend([f64::INFINITY, f64::NEG_INFINITY, f64::MAX, 5e-324, -5e-324]);
            assert_eq!(check(&numbers, &rows).steps, 1);
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
        // They all share a bucket.
        assert_eq!(check(&numbers, &rows).steps, 6);
        check(&[i64::MIN, -1, i64::MAX], &rows);
        check(&[0_u8, 255], &[1, 254]);
        check(&[i128::MIN, i128::MIN + 1, i128::MAX], &[0, i128::MAX - 1]);
        check(&[u64::MAX - 1, u64::MAX], &[0, u64::MAX - 2]);
    }
    #[test]
    fn needs_one_step_for_numbers_that_are_spread_evenly_or_in_proportion() {
        let evenly: Vec<i32> = (0..10_000).map(|i| 7 * i - 3).collect();
        assert_eq!(Finder::new(&evenly).steps, 1);
        let in_proportion: Vec<f64> = (0..1000).map(|i| 1.01_f64.powi(i)).collect();
        assert_eq!(Finder::new(&in_proportion).steps, 1);
        assert!(Finder::with(&in_proportion, 4096, false).steps > 1);
    }
}
