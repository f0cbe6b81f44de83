//! The distribution of noise that an [`IntegerTable`] draws.

use super::{discrete_gaussian_distribution as gaussian, discrete_laplace_distribution as laplace};
use crate::samplers::IntegerTable;
use opendp_core::random::{RandomSource, Seeded};

fn draw<S: RandomSource>(table: &IntegerTable, count: usize, source: &mut S) -> Vec<i128> {
    let mut drawn = || {
        let (negative, magnitude) = table.draw(source).unwrap();
        let magnitude = i128::try_from(magnitude).unwrap();
        if negative { -magnitude } else { magnitude }
    };
    (0..count).map(|_| drawn()).collect()
}

#[test]
fn laplace_noise_has_its_exact_distribution() {
    for (seed, scale) in [0.15, 0.5, 1.0, 3.7, 10.0, 30.0, 146.0].into_iter().enumerate() {
        let mut source = Seeded::<64>::new(seed as u64);
        let table = IntegerTable::laplace(scale).unwrap();
        let draws = draw(&table, 1_000_000, &mut source);
        assert!(source.used() < 1_000_100, "{}", source.used());
        assert!(laplace::fit(&draws, scale) < 1.0, "scale {scale}");
        laplace::moments_agree(&draws, scale);
        assert!(laplace::fit(&draws, scale * 1.03) > 1.0, "a wrong scale must be noticed");
    }
}

#[test]
fn gaussian_noise_has_its_exact_distribution() {
    for (seed, sigma) in [0.3, 0.5, 1.0, 3.7, 10.0, 30.0, 386.0].into_iter().enumerate() {
        let mut source = Seeded::<64>::new(seed as u64);
        let table = IntegerTable::gaussian(sigma).unwrap();
        let draws = draw(&table, 1_000_000, &mut source);
        assert!(source.used() < 1_000_100, "{}", source.used());
        assert!(gaussian::fit(&draws, sigma) < 1.0, "sigma {sigma}");
        gaussian::moments_agree(&draws, sigma);
        assert!(gaussian::fit(&draws, sigma * 1.03) > 1.0, "a wrong sigma must be noticed");
    }
}

#[test]
fn short_words_leave_the_distribution_alone() {
    let (mut bits, mut digits) = (Seeded::<1>::new(9), Seeded::<24>::new(10));
    let table = IntegerTable::laplace(3.7).unwrap();
    let draws = draw(&table, 50_000, &mut bits);
    assert_eq!(bits.used(), 64 * 50_000);
    assert!(laplace::fit(&draws, 3.7) < 1.0);
    assert!(laplace::fit(&draws, 4.0) > 1.0, "a wrong scale must be noticed");
    let table = IntegerTable::gaussian(3.7).unwrap();
    let draws = draw(&table, 50_000, &mut digits);
    assert_eq!(digits.used(), 3 * 50_000);
    assert!(gaussian::fit(&draws, 3.7) < 1.0);
    assert!(gaussian::fit(&draws, 4.0) > 1.0, "a wrong sigma must be noticed");
}

#[test]
fn integers_of_any_length_are_those_of_128_bits() {
    let table = IntegerTable::laplace(3.7).unwrap();
    let (mut source, mut same) = (Seeded::<64>::new(3), Seeded::<64>::new(3));
    let draws = draw(&table, 10_000, &mut source);
    for noise in &draws {
        assert_eq!(i128::try_from(table.draw_big(&mut same).unwrap()), Ok(*noise));
    }
    // The control: other random words give other noise.
    assert_ne!(draw(&table, 10_000, &mut source), draws);
}

#[test]
fn tiny_scales_give_zero() {
    let mut source = Seeded::<64>::new(11);
    for scale in [5e-324, 1e-3, 0.03] {
        for table in [IntegerTable::laplace(scale), IntegerTable::gaussian(scale)] {
            let draws = draw(&table.unwrap(), 10_000, &mut source);
            assert!(draws.iter().all(|k| *k == 0), "{scale}");
        }
    }
}

#[test]
fn a_table_of_another_law_would_be_noticed() {
    let mut source = Seeded::<64>::new(12);
    let draws = draw(&IntegerTable::gaussian(10.0).unwrap(), 100_000, &mut source);
    assert!(laplace::fit(&draws, 10.0) > 1.0);
    let draws = draw(&IntegerTable::laplace(10.0).unwrap(), 100_000, &mut source);
    assert!(gaussian::fit(&draws, 10.0) > 1.0);
}
