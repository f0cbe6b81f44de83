//! Rows of individuals, packed into a few 64-bit words. Such rows are fast to move and to compare.

use super::groups::NO_GROUP;
use super::order::Keyed;

/// A row: its id, then words with the number of its group and its values.
///
/// Each number has its own bits, and earlier numbers have higher bits. So the rows of an id are
/// ordered by groups, then by values. The statements of the module `sql` sort the rows of an id in
/// the same way.
pub(crate) type Packed<const N: usize> = [u64; N];

/// Return the bits of the id of a row.
pub(crate) fn id_of<const N: usize>(row: &Packed<N>) -> u64 {
    row.first().copied().unwrap_or(0)
}
impl<const N: usize> Keyed for Packed<N> {
    /// Return the first 31 bits after the id. If two rows of an id differ in these bits, the bits
    /// determine the order of the two rows.
    fn key(&self) -> i32 {
        // The shift leaves 31 bits, so the cast keeps them and the key is not negative.
        self.get(1).map_or(0, |word| (word >> 33) as i32)
    }
}

/// The position of the bits of a number within the words of a row, and the range of the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    word: usize,
    shift: u32,
    mask: u64,
    least: i64,
    largest: i64,
}
impl Field {
    /// Return the bits of a number, shifted to their position. No row has a number out of range. If
    /// a row had such a number, this function would use the nearest number in range. So even then,
    /// one row would not change a sum by more than the range allows.
    fn bits(&self, number: i64) -> u64 {
        let inside = number.max(self.least).min(self.largest);
        inside.wrapping_sub(self.least).cast_unsigned() << self.shift
    }
    /// Read the number of this field from a row.
    pub(crate) fn of<const N: usize>(&self, row: &Packed<N>) -> i64 {
        let word = row.get(self.word).copied().unwrap_or(0);
        (word >> self.shift & self.mask).cast_signed().wrapping_add(self.least)
    }
}
/// The layout of a packed row. For each number, the layout states which bits of the words contain
/// the number.
#[derive(Clone, Debug)]
pub(crate) struct Packing {
    group: Field,
    /// For each stored value, the bits that contain it.
    pub(crate) values: Vec<Field>,
    /// The number of words of a row, including the word of the id.
    pub(crate) words: usize,
}
impl Packing {
    /// Assign bits to the number of the group, and then to the values. `ranges` has the range of
    /// each value. `groups` is the number of groups, if it is known.
    pub(crate) fn new(groups: Option<u32>, ranges: &[(i64, i64)]) -> Packing {
        let last = groups.map_or(NO_GROUP, |groups| groups.saturating_sub(1));
        let (mut word, mut used) = (1, 0);
        let mut field = |(least, largest): (i64, i64)| {
            let span = largest.wrapping_sub(least).cast_unsigned();
            let bits = (u64::BITS - span.leading_zeros()).max(1);
            if u64::BITS < used + bits {
                (word, used) = (word + 1, 0);
            }
            used += bits;
            let mask = u64::MAX >> (u64::BITS - bits);
            Field { word, shift: u64::BITS - used, mask, least, largest }
        };
        let group = field((0, i64::from(last)));
        let values = ranges.iter().map(|range| field(*range)).collect();
        Packing { group, values, words: word + 1 }
    }
    /// Pack rows into `rows`, and drop the old content of `rows`. `values` has one list for each
    /// stored value. Each list has one number for each row.
    pub(crate) fn pack<const N: usize>(
        &self,
        ids: &[i64],
        groups: &[u32],
        values: &[Vec<i64>],
        rows: &mut Vec<Packed<N>>,
    ) {
        rows.clear();
        rows.extend(ids.iter().map(|id| {
            let mut row = [0; N];
            if let Some(first) = row.first_mut() {
                *first = id.cast_unsigned();
            }
            row
        }));
        put(rows, &self.group, groups.iter().map(|group| i64::from(*group)));
        for (field, values) in self.values.iter().zip(values) {
            put(rows, field, values.iter().copied());
        }
    }
    pub(crate) fn group<const N: usize>(&self, row: &Packed<N>) -> u32 {
        u32::try_from(self.group.of(row)).unwrap_or(NO_GROUP)
    }
    pub(crate) fn set_group<const N: usize>(&self, row: &mut Packed<N>, group: u32) {
        if let Some(word) = row.get_mut(self.group.word) {
            *word &= !(self.group.mask << self.group.shift);
            *word |= self.group.bits(i64::from(group));
        }
    }
}
fn put<const N: usize>(rows: &mut [Packed<N>], field: &Field, numbers: impl Iterator<Item = i64>) {
    for (row, number) in rows.iter_mut().zip(numbers) {
        if let Some(word) = row.get_mut(field.word) {
            *word |= field.bits(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_values_and_their_order() {
        let whole = 1_i64 << 53;
        let ranges = [(-whole, whole), (0, 1), (-7, -7), (-1, 200), (0, i64::MAX), (-whole, 0)];
        let packing = Packing::new(Some(100), &ranges);
        assert_eq!(packing.words, 5);
        let pick = |(least, largest): (i64, i64), k: i64| match k % 3 {
            0 => least,
            1 => largest,
            _ => least + (largest - least) / 2,
        };
        let all: Vec<(u32, Vec<i64>)> = (0..243_i64)
            .map(|k| {
                let number =
                    |(place, range): (u32, &(i64, i64))| pick(*range, k / 3_i64.pow(place));
                ((k % 100) as u32, (0..).zip(&ranges).map(number).collect())
            })
            .collect();
        let groups: Vec<u32> = all.iter().map(|(group, _)| *group).collect();
        let columns: Vec<Vec<i64>> =
            (0..ranges.len()).map(|k| all.iter().map(|(_, values)| values[k]).collect()).collect();
        let mut rows: Vec<Packed<5>> = vec![[9; 5]];
        packing.pack(&vec![-3; groups.len()], &groups, &columns, &mut rows);
        assert_eq!(rows.len(), groups.len());
        for (row, (group, values)) in rows.iter().zip(&all) {
            assert_eq!(id_of(row).cast_signed(), -3);
            assert_eq!(packing.group(row), *group);
            let read: Vec<i64> = packing.values.iter().map(|field| field.of(row)).collect();
            assert_eq!(&read, values);
            for (other, named) in rows.iter().zip(&all) {
                let order = (*group, values).cmp(&(named.0, &named.1));
                assert_eq!(row.cmp(other), order);
                // If two keys differ, they determine the order of the rows.
                assert!(row.key() == other.key() || row.key().cmp(&other.key()) == order);
            }
        }
    }
    #[test]
    fn a_group_is_replaced_and_the_values_stay() {
        let packing = Packing::new(None, &[(0, 1 << 31), (-5, 5)]);
        let mut rows: Vec<Packed<3>> = Vec::new();
        packing.pack(&[1], &[9], &[vec![77], vec![-3]], &mut rows);
        let mut row = rows[0];
        packing.set_group(&mut row, 4_000_000_000);
        assert_eq!(packing.group(&row), 4_000_000_000);
        assert_eq!([packing.values[0].of(&row), packing.values[1].of(&row)], [77, -3]);
    }
    #[test]
    fn a_number_out_of_range_becomes_the_nearest_in_range() {
        let packing = Packing::new(Some(1), &[(-2, 3), (0, 1)]);
        for (number, inside) in [(i64::MIN, -2), (-3, -2), (4, 3), (i64::MAX, 3)] {
            let mut rows: Vec<Packed<2>> = Vec::new();
            packing.pack(&[1], &[0], &[vec![number], vec![1]], &mut rows);
            let row = rows[0];
            assert_eq!([packing.values[0].of(&row), packing.values[1].of(&row)], [inside, 1]);
        }
    }
}
