//! Rows of individuals, packed into few words, so that they are moved and compared fast.

use super::groups::NO_GROUP;

/// A row: its id, and words with the number of its group and its values.
///
/// Rows are ordered by ids, then by groups, then by values. This is the order of the statements of
/// `sql`, because each number has its own bits, and earlier numbers have higher ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Packed<const W: usize> {
    pub(crate) id: i64,
    pub(crate) words: [u64; W],
}

/// The bits of a number within the words of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    word: usize,
    shift: u32,
    mask: u64,
    least: i64,
    most: i64,
}
impl Field {
    /// Return the bits of a number. A number out of range becomes the nearest one in range: no row
    /// can have it, and if one did, sums would still change by no more than the ranges allow.
    fn bits(&self, number: i64) -> u64 {
        let inside = number.max(self.least).min(self.most);
        inside.wrapping_sub(self.least).cast_unsigned() << self.shift
    }
    /// Read the number.
    pub(crate) fn of<const W: usize>(&self, row: &Packed<W>) -> i64 {
        let word = row.words.get(self.word).copied().unwrap_or(0);
        (word >> self.shift & self.mask).cast_signed().wrapping_add(self.least)
    }
}
/// Where the numbers of rows are.
#[derive(Clone, Debug)]
pub(crate) struct Packing {
    group: Field,
    /// The stored values, in their order.
    pub(crate) values: Vec<Field>,
    /// The number of words.
    pub(crate) words: usize,
}
impl Packing {
    /// Give bits to the numbers of `groups` groups, or of any number of groups, and then to values
    /// in these ranges.
    pub(crate) fn new(groups: Option<u32>, ranges: &[(i64, i64)]) -> Packing {
        let last = groups.map_or(NO_GROUP, |groups| groups.saturating_sub(1));
        let (mut word, mut used) = (0, 0);
        let mut field = |(least, most): (i64, i64)| {
            let span = most.wrapping_sub(least).cast_unsigned();
            let bits = (u64::BITS - span.leading_zeros()).max(1);
            if u64::BITS < used + bits {
                (word, used) = (word + 1, 0);
            }
            used += bits;
            let mask = u64::MAX >> (u64::BITS - bits);
            Field { word, shift: u64::BITS - used, mask, least, most }
        };
        let group = field((0, i64::from(last)));
        let values = ranges.iter().map(|range| field(*range)).collect();
        Packing { group, values, words: word + 1 }
    }
    /// Pack rows. Values are by column.
    pub(crate) fn pack<const W: usize>(
        &self,
        groups: &[u32],
        values: &[Vec<i64>],
    ) -> Vec<[u64; W]> {
        let mut rows = vec![[0; W]; groups.len()];
        put(&mut rows, &self.group, groups.iter().map(|group| i64::from(*group)));
        for (field, values) in self.values.iter().zip(values) {
            put(&mut rows, field, values.iter().copied());
        }
        rows
    }
    /// Return the number of the group of a row.
    pub(crate) fn group<const W: usize>(&self, row: &Packed<W>) -> u32 {
        u32::try_from(self.group.of(row)).unwrap_or(NO_GROUP)
    }
    /// Replace the number of the group of a row.
    pub(crate) fn set_group<const W: usize>(&self, row: &mut Packed<W>, group: u32) {
        if let Some(word) = row.words.get_mut(self.group.word) {
            *word &= !(self.group.mask << self.group.shift);
            *word |= self.group.bits(i64::from(group));
        }
    }
}
fn put<const W: usize>(rows: &mut [[u64; W]], field: &Field, numbers: impl Iterator<Item = i64>) {
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
        assert_eq!(packing.words, 4);
        let pick = |(least, most): (i64, i64), k: i64| match k % 3 {
            0 => least,
            1 => most,
            _ => least + (most - least) / 2,
        };
        let all: Vec<(u32, Vec<i64>)> = (0..243_i64)
            .map(|k| {
                let of = |(place, range): (u32, &(i64, i64))| pick(*range, k / 3_i64.pow(place));
                ((k % 100) as u32, (0..).zip(&ranges).map(of).collect())
            })
            .collect();
        let groups: Vec<u32> = all.iter().map(|(group, _)| *group).collect();
        let columns: Vec<Vec<i64>> =
            (0..ranges.len()).map(|k| all.iter().map(|(_, values)| values[k]).collect()).collect();
        let packed = packing.pack::<4>(&groups, &columns);
        let rows: Vec<Packed<4>> =
            packed.into_iter().map(|words| Packed { id: 0, words }).collect();
        for (row, (group, values)) in rows.iter().zip(&all) {
            assert_eq!(packing.group(row), *group);
            let read: Vec<i64> = packing.values.iter().map(|field| field.of(row)).collect();
            assert_eq!(&read, values);
            for (other, named) in rows.iter().zip(&all) {
                assert_eq!(row.cmp(other), (*group, values).cmp(&(named.0, &named.1)));
            }
        }
    }
    #[test]
    fn a_group_is_replaced_and_the_values_stay() {
        let packing = Packing::new(None, &[(0, 1 << 31), (-5, 5)]);
        let words = packing.pack::<2>(&[9], &[vec![77], vec![-3]])[0];
        let mut row = Packed { id: 1, words };
        packing.set_group(&mut row, 4_000_000_000);
        assert_eq!(packing.group(&row), 4_000_000_000);
        assert_eq!([packing.values[0].of(&row), packing.values[1].of(&row)], [77, -3]);
    }
    #[test]
    fn a_number_out_of_range_becomes_the_nearest_in_range() {
        let packing = Packing::new(Some(1), &[(-2, 3), (0, 1)]);
        for (number, inside) in [(i64::MIN, -2), (-3, -2), (4, 3), (i64::MAX, 3)] {
            let words = packing.pack::<1>(&[0], &[vec![number], vec![1]])[0];
            let row = Packed { id: 1, words };
            assert_eq!([packing.values[0].of(&row), packing.values[1].of(&row)], [inside, 1]);
        }
    }
}
