//! Rows that wait to be taken into account.

use super::shard::{Id, Row, TooMany};

/// Rows wait until there are this many: then much of what they need is in the cache already. It
/// makes a pass over a million rows of a hundred thousand individuals several times as fast.
const ENOUGH: usize = 1 << 15;
/// The length of an id that is an integer.
const WHOLE: u32 = u32::MAX;

/// A row without its values.
struct Waits {
    hash: u64,
    group_hash: u64,
    /// The integer, or where the text begins.
    id: i64,
    /// The length of the text.
    length: u32,
    group: u32,
}
/// Rows in the order in which they came.
#[derive(Default)]
pub(crate) struct Waiting {
    rows: Vec<Waits>,
    values: Vec<i64>,
    texts: String,
}
impl Waiting {
    /// Add a row, and return whether there are enough of them.
    pub(crate) fn push(
        &mut self,
        row: Row<'_>,
        values: impl Iterator<Item = i64>,
    ) -> Result<bool, TooMany> {
        let Row { id, hash, group, group_hash } = row;
        let (id, length) = match id {
            Id::Whole(id) => (id, WHOLE),
            Id::Text(text) => {
                let start = i64::try_from(self.texts.len()).map_err(|_| TooMany)?;
                self.texts.push_str(text);
                let length = u32::try_from(text.len()).ok().filter(|length| *length < WHOLE);
                (start, length.ok_or(TooMany)?)
            }
        };
        self.rows.push(Waits { hash, group_hash, id, length, group });
        self.values.extend(values);
        Ok(ENOUGH <= self.rows.len())
    }
    /// Pass all rows on in order, each with `width` values, and forget them.
    pub(crate) fn each(
        &mut self,
        width: usize,
        mut each: impl FnMut(Row<'_>, &[i64]) -> Result<(), TooMany>,
    ) -> Result<(), TooMany> {
        for (place, row) in self.rows.iter().enumerate() {
            let Waits { hash, group_hash, group, .. } = *row;
            let id = match row.length {
                WHOLE => Id::Whole(row.id),
                length => {
                    let start = usize::try_from(row.id).map_err(|_| TooMany)?;
                    Id::Text(self.texts.get(start..start + length as usize).ok_or(TooMany)?)
                }
            };
            let values = self.values.get(place * width..(place + 1) * width).ok_or(TooMany)?;
            each(Row { id, hash, group, group_hash }, values)?;
        }
        // The lists keep their memory.
        self.rows.clear();
        self.values.clear();
        self.texts.clear();
        Ok(())
    }
    pub(crate) fn bytes(&self) -> usize {
        self.rows.capacity() * size_of::<Waits>()
            + self.values.capacity() * size_of::<i64>()
            + self.texts.capacity()
    }
}
