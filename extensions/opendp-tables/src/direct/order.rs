//! Sort a few items without branches (conditional jumps) that depend on the items.

/// An item with a key. If two items have different keys, the item with the smaller key comes first.
pub(crate) trait Keyed: Copy + Ord {
    fn key(&self) -> i32;
}

/// The largest number of items that `ordered` sorts without branches that depend on the items. If
/// the keys of two items are equal, `ordered` also calls the sort of the standard library.
pub(crate) const FEW: usize = 32;

/// Write `items` to `sorted` in ascending order.
pub(crate) fn ordered<T: Keyed>(items: &[T], sorted: &mut Vec<T>) {
    sorted.clear();
    sorted.extend_from_slice(items);
    let all = match items.len() {
        0 | 1 => true,
        2..=8 => few::<T, 8>(items, sorted),
        9..=16 => few::<T, 16>(items, sorted),
        17..=FEW => few::<T, FEW>(items, sorted),
        _ => false,
    };
    if !all {
        sorted.sort_unstable();
    }
}
/// Write at most `N` items to their places in the order. If two keys are equal, return `false`.
fn few<T: Keyed, const N: usize>(items: &[T], sorted: &mut [T]) -> bool {
    let places = Places::<N>::of(items.iter().map(|item| item.key()));
    if !places.differ(items.len()) {
        return false;
    }
    for (item, place) in items.iter().zip(places.ranks) {
        if let Some(sorted) = sorted.get_mut(place as usize) {
            *sorted = *item;
        }
    }
    true
}
/// The places that at most `N` keys get when the keys are sorted in ascending order.
pub(crate) struct Places<const N: usize> {
    pub(crate) ranks: [i32; N],
}
impl<const N: usize> Places<N> {
    /// Compute the places. The keys are copied to an array of `N` elements. The unused elements of
    /// this array have the value `i32::MAX`. A key can also have this value. The place of such a
    /// key is still right, because no unused element is smaller than a key.
    ///
    /// The place of a key is the number of smaller keys. For few keys, comparing all pairs takes
    /// less time than sorting. The reason is that a processor compares several keys at once, and no
    /// branch depends on the keys.
    pub(crate) fn of(keys: impl ExactSizeIterator<Item = i32>) -> Self {
        let count = keys.len();
        let mut all = [i32::MAX; N];
        all.iter_mut().zip(keys).for_each(|(to, key)| *to = key);
        Places::of_first(&all, count)
    }
    /// Compute the places of the first `count` keys. All other keys are `i32::MAX`.
    pub(crate) fn of_first(keys: &[i32; N], count: usize) -> Self {
        let mut ranks = [0_i32; N];
        for key in keys.iter().take(count) {
            for (place, other) in ranks.iter_mut().zip(keys) {
                *place += i32::from(key < other);
            }
        }
        Places { ranks }
    }
    /// Return whether the first `count` keys are all different. If they are, their places are the
    /// integers from 0 to `count - 1`.
    pub(crate) fn differ(&self, count: usize) -> bool {
        let taken = self.ranks.iter().take(count).fold(0_u64, |taken, place| taken | 1 << place);
        taken == (1 << count) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Keyed for (i32, u8) {
        fn key(&self) -> i32 {
            self.0
        }
    }
    #[test]
    fn items_are_in_order() {
        let (mut sorted, mut moved) = (vec![(7, 7)], 0);
        for count in 0..70 {
            for keys in [1, 2, 5, 1000] {
                for extreme in [false, true] {
                    let item = |k: i32| {
                        let mixed = k.wrapping_mul(0x9e37_79b9_u32.cast_signed()) >> 5;
                        let key = mixed.rem_euclid(keys);
                        (if extreme { i32::MAX - key } else { key }, (mixed % 3) as u8)
                    };
                    let items: Vec<(i32, u8)> = (0..count).map(item).collect();
                    ordered(&items, &mut sorted);
                    moved += usize::from(sorted != items);
                    let mut expected = items;
                    expected.sort();
                    assert_eq!(sorted, expected);
                }
            }
        }
        // The control: most lists of items were not in ascending order before the sort.
        assert!(moved > 400, "{moved}");
    }
}
