//! The frequencies of drawn indices and of shuffled orders, which must be uniform.

use super::chi_square::chi_square;
use crate::samplers::{shuffle, uniform_below};
use opendp_core::random::{RandomSource, Seeded};

#[test]
fn draws_are_uniform_whatever_the_size_of_a_word() {
    fn counts<const B: u32>(bound: u64, draws: usize) -> Vec<u64> {
        let (mut source, mut counts) = (Seeded::<B>::new(1), vec![0; bound as usize]);
        for _ in 0..draws {
            counts[uniform_below(bound, &mut source).unwrap() as usize] += 1;
        }
        counts
    }
    for bound in [2, 3, 7, 100] {
        let expected = vec![1e5 / bound as f64; bound as usize];
        assert!(chi_square(&counts::<64>(bound, 100_000), &expected) < 1.0);
        assert!(chi_square(&counts::<4>(bound, 100_000), &expected) < 1.0);
    }
    // The control is the remainder of a 4-bit word divided by 7. The remainders 0 and 1 are more
    // frequent than the other remainders.
    let mut biased = vec![0; 7];
    let mut source = Seeded::<4>::new(1);
    for _ in 0..100_000 {
        biased[(source.word().unwrap() % 7) as usize] += 1;
    }
    assert!(chi_square(&biased, &[1e5 / 7.0; 7]) > 1.0, "a bias goes unnoticed");
}

#[test]
fn each_item_ends_at_each_place_equally_often() {
    fn counts(shuffle: impl Fn(&mut [u8], &mut Seeded)) -> Vec<u64> {
        let (mut source, mut counts) = (Seeded::<64>::new(2), vec![0; 49]);
        for _ in 0..70_000 {
            let mut items = [0, 1, 2, 3, 4, 5, 6];
            shuffle(&mut items, &mut source);
            for (place, item) in items.iter().enumerate() {
                counts[7 * place + usize::from(*item)] += 1;
            }
        }
        counts
    }
    let fair = counts(|items, source| shuffle(items, source).unwrap());
    assert!(chi_square(&fair, &[1e4; 49]) < 1.0);
    let naive = counts(|items, source| {
        for place in 0..7 {
            items.swap(place, uniform_below(7, source).unwrap() as usize);
        }
    });
    assert!(chi_square(&naive, &[1e4; 49]) > 1.0, "an unfair shuffle goes unnoticed");
}
