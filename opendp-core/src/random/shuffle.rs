//! A uniform shuffle.

use super::{NoEntropy, RandomSource, uniform_below};

/// Put items into an exactly uniform random order.
///
/// # Proof
///
/// This is the shuffle of Fisher and Yates (Durstenfeld 1964, "Algorithm 235: Random permutation").
/// For each place `i`, from the last to the second, [`uniform_below`] draws a place `j` uniformly
/// from `0..=i`, independently of all earlier draws. Then the items at `i` and `j` are swapped.
///
/// Let `n` be the number of items. There are `n (n - 1) ... 2 = n!` sequences of draws, and all are
/// equally likely. Different sequences give different orders, for the following reason. The first
/// draw determines the item at the last place, because no later step changes this place. Given the
/// first draw, the second draw determines the item at the second to last place, and so on. There
/// are `n!` orders, so each order comes from exactly one sequence and has probability `1 / n!`.
///
/// The number of draws and their ranges depend only on the number of items, and not on the items.
///
/// With words of 64 bits, each draw needs between one and two words on average. The item that
/// remains at the end needs no draw.
///
/// # Errors
///
/// [`NoEntropy`] if the source fails. Then all items are still present, but their order must not be
/// released.
///
/// # Example
/// ```
/// use opendp_core::random::{SecureSource, shuffle};
/// let mut items = [1, 2, 3];
/// shuffle(&mut items, &mut SecureSource::new()?)?;
/// assert_eq!(items.iter().sum::<i32>(), 6);
/// # Ok::<(), opendp_core::random::NoEntropy>(())
/// ```
pub fn shuffle<T, S: RandomSource>(items: &mut [T], source: &mut S) -> Result<(), NoEntropy> {
    shuffle_end(items, items.len(), source)
}
/// Choose `count` items, and put them at the end in a uniform order. All choices are equally
/// likely. If there are fewer items, shuffle all of them.
///
/// # Proof
///
/// These are the first `count` steps of [`shuffle`]. The later steps change none of the last
/// `count` places. So these places have the same distribution as after a whole shuffle.
///
/// # Errors
///
/// As for [`shuffle`].
pub fn shuffle_end<T, S: RandomSource>(
    items: &mut [T],
    count: usize,
    source: &mut S,
) -> Result<(), NoEntropy> {
    let others = items.len().saturating_sub(count).max(1);
    for last in (others..items.len()).rev() {
        // `usize` has at most 64 bits, and the drawn number is at most `last`. So both casts are
        // exact.
        let place = uniform_below(last as u64 + 1, source)? as usize;
        items.swap(place, last);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Failing, Tape};
    use std::collections::HashMap;

    type Shuffle = fn(&mut [u8], &mut Tape<1>) -> Result<(), NoEntropy>;

    /// Run the shuffle on all tapes of `bits` bits. For each order of the items, count the tapes
    /// that give this order.
    fn orders(items: u8, bits: u32, shuffle: Shuffle) -> HashMap<Vec<u8>, u64> {
        let mut orders = HashMap::new();
        for number in 0..1 << bits {
            let mut order: Vec<u8> = (0..items).collect();
            if shuffle(&mut order, &mut Tape::from_bits(number, bits)).is_ok() {
                *orders.entry(order).or_default() += 1;
            }
        }
        orders
    }
    fn fair(orders: &HashMap<Vec<u8>, u64>, expected: usize) -> bool {
        let mut counts = orders.values();
        let first = counts.next().copied();
        orders.len() == expected && counts.all(|count| Some(*count) == first)
    }

    #[test]
    fn all_tapes_together_give_every_order_equally_often() {
        for (items, bits, expected) in [(1, 1, 1), (2, 3, 2), (3, 9, 6), (4, 14, 24), (5, 16, 120)]
        {
            assert!(fair(&orders(items, bits, shuffle), expected), "{items} items");
        }
    }
    #[test]
    fn the_enumeration_notices_the_usual_mistakes() {
        // For each place, this shuffle swaps the item at this place with the item at a random
        // place. The random place is drawn from all n places, so there are n^n sequences of draws.
        // For n above 2, n! does not divide n^n. So the n! orders cannot occur equally often.
        let naive: Shuffle = |items, source| {
            for place in 0..items.len() {
                let other = uniform_below(items.len() as u64, source)? as usize;
                items.swap(place, other);
            }
            Ok(())
        };
        // In this shuffle, an item never stays at its place (Sattolo 1986). Only cyclic orders
        // occur.
        let cyclic: Shuffle = |items, source| {
            for last in (1..items.len()).rev() {
                let place = uniform_below(last as u64, source)? as usize;
                items.swap(place, last);
            }
            Ok(())
        };
        assert!(!fair(&orders(3, 9, naive), 6));
        assert!(!fair(&orders(3, 9, cyclic), 6));
    }
    #[test]
    fn each_choice_of_some_items_is_at_the_end_equally_often() {
        let two: Shuffle = |items, source| shuffle_end(items, 2, source);
        let mut ends: HashMap<Vec<u8>, u64> = HashMap::new();
        for (order, count) in orders(4, 14, two) {
            *ends.entry(order[2..].to_vec()).or_default() += count;
        }
        assert!(fair(&ends, 12));
        // The control: only the end is in a uniform order.
        assert!(!fair(&orders(4, 14, two), 24));
        // No item is chosen, so nothing is drawn.
        assert_eq!(shuffle_end(&mut [1, 2], 0, &mut Failing::default()), Ok(()));
    }
    #[test]
    fn nothing_is_drawn_for_a_single_item() {
        let mut source = Failing::default();
        assert_eq!(shuffle::<u8, _>(&mut [], &mut source), Ok(()));
        assert_eq!(shuffle(&mut [1], &mut source), Ok(()));
        assert_eq!(source.attempts(), 0);
        assert_eq!(shuffle(&mut [1, 2], &mut source), Err(NoEntropy));
    }
    #[test]
    fn keeps_every_item_when_the_source_ends() {
        for words in 0..6 {
            let mut items = [0, 1, 2, 3, 4, 5, 6];
            let source = &mut Tape::<64>::new(vec![1; words]);
            assert_eq!(shuffle(&mut items, source), Err(NoEntropy));
            items.sort_unstable();
            assert_eq!(items, [0, 1, 2, 3, 4, 5, 6]);
        }
    }
}
