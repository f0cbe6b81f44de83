//! The order of few items, without jumps that depend on them.

/// An item with a key: of two items with different keys, the one with the smaller key comes first.
pub(crate) trait Keyed: Copy + Ord {
    fn key(&self) -> i32;
}

/// Write items in their order.
pub(crate) fn ordered<T: Keyed>(items: &[T], sorted: &mut Vec<T>) {
    sorted.clear();
    sorted.extend_from_slice(items);
    match items.len() {
        0 | 1 => {}
        2..=8 => few::<T, 8>(items, sorted),
        9..=16 => few::<T, 16>(items, sorted),
        17..=32 => few::<T, 32>(items, sorted),
        _ => sorted.sort_unstable(),
    }
}
/// Write at most `N` items in their order.
///
/// The place of an item is the number of smaller items. To compare each pair takes less time than
/// to sort: a processor compares several keys at once, and no jump depends on the items.
fn few<T: Keyed, const N: usize>(items: &[T], sorted: &mut [T]) {
    let mut keys = [i32::MAX; N];
    keys.iter_mut().zip(items).for_each(|(key, item)| *key = item.key());
    let mut places = [0_i32; N];
    for key in keys.iter().take(items.len()) {
        for (place, other) in places.iter_mut().zip(&keys) {
            *place += i32::from(key < other);
        }
    }
    // Items with equal keys have the same place. They take the places from there on.
    let mut taken = [0_u8; N];
    let mut most = 0;
    for (item, place) in items.iter().zip(places) {
        let place = place as usize % N;
        if let Some(sorted) = sorted.get_mut(place + usize::from(taken[place])) {
            *sorted = *item;
        }
        taken[place] += 1;
        most = most.max(taken[place]);
    }
    if most > 1 {
        sorted.sort_unstable();
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
        // The control: most items do not come in order.
        assert!(moved > 400, "{moved}");
    }
}
