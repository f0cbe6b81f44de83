//! The distribution of noise that an [`IntegerTable`] draws.

use super::discrete_gaussian_distribution::Gaussian;
use super::discrete_laplace_distribution::Laplace;
use super::discrete_law::{DiscreteLaw, signed};
use crate::samplers::IntegerTable;
use opendp_core::random::{RandomSource, Seeded};

fn draw<S: RandomSource>(table: &IntegerTable, count: usize, source: &mut S) -> Vec<i128> {
    (0..count).map(|_| signed(table.draw(source).unwrap())).collect()
}

fn noise_has_its_exact_distribution<L: DiscreteLaw>(
    table: fn(f64) -> Option<IntegerTable>,
    scales: [f64; 7],
) {
    for (seed, scale) in scales.into_iter().enumerate() {
        let mut source = Seeded::<64>::new(seed as u64);
        let draws = draw(&table(scale).unwrap(), 1_000_000, &mut source);
        assert!(source.used() < 1_000_100, "{}", source.used());
        assert!(L::fit(&draws, scale) < 1.0, "scale {scale}");
        L::moments_agree(&draws, scale);
        assert!(L::fit(&draws, scale * 1.03) > 1.0, "a wrong scale must be noticed");
    }
}
#[test]
fn laplace_noise_has_its_exact_distribution() {
    let scales = [0.15, 0.5, 1.0, 3.7, 10.0, 30.0, 146.0];
    noise_has_its_exact_distribution::<Laplace>(IntegerTable::laplace, scales);
}
#[test]
fn gaussian_noise_has_its_exact_distribution() {
    let scales = [0.3, 0.5, 1.0, 3.7, 10.0, 30.0, 386.0];
    noise_has_its_exact_distribution::<Gaussian>(IntegerTable::gaussian, scales);
}

#[test]
fn short_words_leave_the_distribution_alone() {
    let (mut bits, mut digits) = (Seeded::<1>::new(9), Seeded::<24>::new(10));
    let table = IntegerTable::laplace(3.7).unwrap();
    let draws = draw(&table, 50_000, &mut bits);
    assert_eq!(bits.used(), 64 * 50_000);
    assert!(Laplace::fit(&draws, 3.7) < 1.0);
    assert!(Laplace::fit(&draws, 4.0) > 1.0, "a wrong scale must be noticed");
    let table = IntegerTable::gaussian(3.7).unwrap();
    let draws = draw(&table, 50_000, &mut digits);
    assert_eq!(digits.used(), 3 * 50_000);
    assert!(Gaussian::fit(&draws, 3.7) < 1.0);
    assert!(Gaussian::fit(&draws, 4.0) > 1.0, "a wrong sigma must be noticed");
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
    assert!(Laplace::fit(&draws, 10.0) > 1.0);
    let draws = draw(&IntegerTable::laplace(10.0).unwrap(), 100_000, &mut source);
    assert!(Gaussian::fit(&draws, 10.0) > 1.0);
}
