use super::*;
use crate::samplers::tests::chi_square::chi_square;
use opendp_core::random::{Failing, Seeded, Tape};

/// Scales for which a table exists, in increasing order. Every possible size of a table occurs
/// among the tables of these scales.
const SCALES: [f64; 15] = [
    5e-324,
    1e-300,
    1e-3,
    0.05,
    0.1,
    1.0 / 3.0,
    0.5,
    1.0,
    2.0,
    3.7,
    10.0,
    30.0,
    73.0,
    100.0,
    146.2,
];

fn tables() -> impl Iterator<Item = (f64, IntegerTable)> {
    let laplace = |s: f64| Some((s, IntegerTable::laplace(s)?));
    let gaussian = |s: f64| Some((s, IntegerTable::gaussian(s)?));
    let tables = SCALES.into_iter().filter_map(laplace);
    tables.chain(SCALES.into_iter().chain([273.0, 386.0]).filter_map(gaussian))
}

/// The number of binary places of the weights that these tests compute.
const PLACES: usize = 200;

/// Return a lower and an upper bound on `2^PLACES 2 A w_j`. `2 A w_j` is the number of units of a
/// magnitude `j > 0` out of `2^63` units. Here `A` is the number of units of the magnitude 0, and
/// `w_j` is the weight of `j`.
fn share(table: &IntegerTable, weights: &Weights, magnitude: u64) -> (UBig, UBig) {
    let (lo, hi) = weights.enclose(magnitude, PLACES);
    ((lo * table.unit) << 1_usize, (hi * table.unit) << 1_usize)
}

/// Check all inequalities that the proof of exactness needs, for the given weights.
fn sound(table: &IntegerTable, weights: &Weights) -> bool {
    let first = table.urns.last();
    let units = |n: u64| UBig::from(n) << PLACES;
    let rests = (1..first).all(|j| {
        let ((lo, hi), taken) = (share(table, weights, j), table.urns.weight(j));
        units(taken) <= lo && hi <= units(taken + 2)
    });
    let all: u64 = (0..=first).map(|entry| table.urns.weight(entry)).sum();
    let room = 2 * (first - 1) + table.tail <= table.urns.weight(first);
    let block = 1 << table.block;
    // From block to block, the weight decreases by a factor of at least 2, up to the error of the
    // computed weights (20 units of 2^-200).
    let halved = |from: u64| {
        let (near, far) =
            (weights.enclose(from, PLACES).0, weights.enclose(from + block, PLACES).1);
        far << 1_usize <= near + UBig::from(20_u8)
    };
    table.urns.weight(0) == table.unit
        && rests
        && all == 1 << 63
        && room
        && share(table, weights, first).1 << (table.block as usize + 1) <= units(table.tail)
        && [first, first + 1, first + 10 * block].into_iter().all(halved)
}

#[test]
fn the_shares_of_the_table_are_within_two_units_of_the_exact_ones() {
    let mut sizes = std::collections::BTreeSet::new();
    for (scale, table) in tables() {
        assert!(sound(&table, &table.weights), "{scale}");
        sizes.insert(table.urns.last() + 1);
    }
    assert_eq!(sizes.into_iter().collect::<Vec<_>>(), [8, 16, 32, 64, 128, 256, 512, 1024, 2048]);
}

#[test]
fn a_table_of_other_weights_would_be_noticed() {
    for (scale, table) in tables().filter(|(scale, _)| 0.3 < *scale) {
        let slightly = f64::from_bits(scale.to_bits() + (1 << 10));
        for weights in [Weights::laplace(slightly), Weights::gaussian(slightly)] {
            assert!(!sound(&table, &weights), "{scale}");
        }
        let with = |unit, tail, block| IntegerTable { unit, tail, block, ..table.clone() };
        let IntegerTable { unit, tail, block, .. } = table;
        assert!(sound(&with(unit, tail, block), &table.weights));
        assert!(!sound(&with(unit + 1, tail, block), &table.weights));
        assert!(!sound(&with(unit, tail / 2, block), &table.weights));
        if block > 0 {
            assert!(!sound(&with(unit, tail, block - 1), &table.weights), "{scale}");
        }
    }
}

#[test]
fn nearly_every_word_is_decided_by_the_table() {
    for (scale, table) in tables() {
        let beyond = table.urns.weight(table.urns.last()) as f64 / 2_f64.powi(63);
        assert!(beyond < if scale <= 73.0 { 2e-12 } else { 2e-6 }, "{scale}: {beyond}");
    }
}

#[test]
fn there_are_tables_of_small_scales_only() {
    for scale in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::MAX, 1e6, 400.0] {
        assert!(IntegerTable::laplace(scale).is_none() && IntegerTable::gaussian(scale).is_none());
    }
    assert!(IntegerTable::laplace(147.0).is_none() && IntegerTable::laplace(146.0).is_some());
    assert!(IntegerTable::gaussian(387.0).is_none() && IntegerTable::gaussian(386.0).is_some());
}

/// Find a word that has the given sign and selects the last entry. The last entry stands for all
/// units outside of the table.
fn open_word(table: &IntegerTable, negative: bool) -> u64 {
    let mut source = Seeded::<64>::new(1);
    // The units of the last entry are at the start of the last urn, or at the end of other urns.
    let bits = table.urns.last().count_ones();
    let ends = (0..=table.urns.last()).flat_map(|urn| {
        let start = urn << (64 - bits);
        [start, start | u64::MAX >> bits]
    });
    let random = std::iter::from_fn(|| source.word().ok());
    let open = |word: &u64| table.urns.entry(*word) == table.urns.last();
    ends.chain(random).find(open).unwrap() & !1 | u64::from(negative)
}

/// Compute the first 128 binary places of `(2 A w_j - taken) 2^times / divisor`, with `2 A w_j` as
/// in [`share`]. For the units of the kind *Rest*, `times` is 0, and `taken` is the number of units
/// that the table gives to the magnitude. For the units of the kind *Tail*, `times` is positive,
/// and `taken` is 0.
fn threshold(table: &IntegerTable, magnitude: u64, divisor: u64, times: usize) -> u128 {
    let taken = if times == 0 { table.urns.weight(magnitude) } else { 0 };
    let (lo, _) = share(table, &table.weights, magnitude);
    let above = (lo - (UBig::from(taken) << PLACES)) << times;
    u128::try_from((above / divisor) >> (PLACES - 128)).unwrap()
}

/// Split a fraction of 128 binary places into two words.
fn words(fraction: u128) -> [u64; 2] {
    [(fraction >> 64) as u64, fraction as u64]
}

#[test]
fn a_rest_is_accepted_up_to_its_exact_probability() {
    for (scale, table) in tables().filter(|(scale, _)| *scale >= 0.1) {
        for magnitude in [1, 2, table.urns.last() - 1] {
            let probability = threshold(&table, magnitude, 2, 0);
            let slow = |unit: u64, v: u128| {
                let words = words(v);
                table.slow(&mut Tape::<64>::new([[unit].as_slice(), &words, &[0; 4]].concat()))
            };
            for unit in [2 * magnitude - 2, 2 * magnitude - 1] {
                let margin = 1 << 70;
                if margin < probability {
                    assert_eq!(slow(unit, probability - margin), Ok(Some(magnitude)), "{scale}");
                }
                assert_eq!(slow(unit, probability + margin), Ok(None), "{scale}");
                // If the first word equals the first word of the acceptance probability, the second
                // word decides.
                let margin = 1 << 20;
                if 1 << 70 < probability {
                    assert_eq!(slow(unit, probability - margin), Ok(Some(magnitude)), "{scale}");
                    assert_eq!(slow(unit, probability + margin), Ok(None), "{scale}");
                }
            }
        }
    }
}

#[test]
fn the_tail_is_accepted_up_to_its_exact_probability() {
    let mut accepted = 0;
    for (scale, table) in tables().filter(|(scale, _)| *scale >= 73.0) {
        let first = table.urns.last();
        let rest = 2 * (first - 1);
        for (heads, block) in [(vec![0], 0), (vec![1, 0], 1), (vec![1, 3, 1, 2], 3)] {
            for offset in [0, (1 << table.block) - 1] {
                let magnitude = first + (block << table.block) + offset;
                let times = block as usize + 1 + table.block as usize;
                let probability = threshold(&table, magnitude, table.tail, times);
                for unit in [rest, rest + table.tail - 1] {
                    let slow = |v: u128| {
                        let words = [&[unit][..], &heads, &[offset], &words(v), &[0; 4]].concat();
                        table.slow(&mut Tape::<64>::new(words))
                    };
                    for margin in [1 << 20, 1 << 80] {
                        if margin < probability {
                            accepted += 1;
                            assert_eq!(slow(probability - margin), Ok(Some(magnitude)), "{scale}");
                        }
                        assert_eq!(slow(probability + margin), Ok(None), "{scale}");
                    }
                }
            }
        }
    }
    assert!(accepted > 60, "{accepted}");
}

#[test]
fn units_of_nothing_are_rejected_without_a_further_word() {
    for (scale, table) in tables() {
        let first = table.urns.last();
        let (from, to) = (2 * (first - 1) + table.tail, table.urns.weight(first));
        for unit in [from, to - 1].into_iter().filter(|unit| from <= *unit && *unit < to) {
            let mut tape = Tape::<64>::new(vec![unit]);
            assert_eq!((table.slow(&mut tape), tape.used()), (Ok(None), 1), "{scale}");
        }
    }
}

#[test]
fn a_rejected_trial_is_followed_by_another_with_a_sign_of_its_own() {
    let table = IntegerTable::laplace(10.0).unwrap();
    let open = |negative| open_word(&table, negative);
    // Unit 8 is the first of the two units of the kind *Rest* that the magnitude 5 has. The words
    // after 8 are the digits of the uniform number V of `accept`. V near 0 accepts this unit, and V
    // just below 1 rejects this unit.
    let (accepted, refused) = ([8, 0], [8, u64::MAX]);
    for negative in [false, true] {
        let draw = |words: &[&[u64]]| table.draw(&mut Tape::<64>::new(words.concat())).unwrap();
        assert_eq!(draw(&[&[open(negative)], &accepted]), (negative, 5));
        assert_eq!(
            draw(&[&[open(!negative)], &refused, &[open(negative)], &accepted]),
            (negative, 5)
        );
        let word = 20 << 56 | u64::from(negative);
        let (_, entry) = draw(&[&[word]]);
        assert_eq!(draw(&[&[open(!negative)], &refused, &[word]]), (negative, entry));
        // The first units of urn 0 give the magnitude 0.
        assert_eq!(draw(&[&[u64::from(negative)]]), (false, 0));
        assert_eq!(draw(&[&[open(true)], &refused, &[u64::from(negative)]]), (false, 0));
    }
}

#[test]
fn a_failing_source_is_reported_at_every_word() {
    let table = IntegerTable::gaussian(300.0).unwrap();
    assert_eq!(table.draw(&mut Failing::default()), Err(NoEntropy));
    assert_eq!(table.add(1_i32, &mut Failing::default()), Err(NoEntropy));
    let rest = 2 * (table.urns.last() - 1);
    let words = [open_word(&table, false), rest, 1, 0, 0, 0, 0];
    for length in 0..6 {
        assert_eq!(table.draw(&mut Tape::<64>::new(words[..length].to_vec())), Err(NoEntropy));
    }
    let reached = table.urns.last() + (1 << table.block);
    assert_eq!(table.draw(&mut Tape::<64>::new(words.to_vec())), Ok((false, reached.into())));
    let mut narrow = Seeded::<4>::new(5);
    table.draw(&mut narrow).unwrap();
    assert_eq!(narrow.used(), 16);
}

#[test]
fn adds_what_it_draws_and_saturates() {
    let table = IntegerTable::laplace(100.0).unwrap();
    let (mut first, mut second) = (Seeded::<64>::new(6), Seeded::<64>::new(6));
    let mut ends = 0;
    for _ in 0..20_000 {
        let noise = table.draw(&mut first).unwrap();
        let sum = table.add(100_i8, &mut second).unwrap();
        assert_eq!(sum, add_noise(100, noise));
        ends += u32::from(sum == i8::MAX);
        let noise = table.draw(&mut first).unwrap();
        assert_eq!(table.add(7_u64, &mut second), Ok(add_noise(7, noise)));
        let noise = table.draw(&mut first).unwrap();
        assert_eq!(table.add(u128::MAX - 7, &mut second), Ok(add_noise(u128::MAX - 7, noise)));
        let noise = table.draw(&mut first).unwrap();
        assert_eq!(table.add(i128::MIN + 7, &mut second), Ok(add_noise(i128::MIN + 7, noise)));
    }
    // The release is the clamped sum of 100 and noise Z. The release is 127 with probability
    // P[Z >= 27], which is about e^-0.27 / 2 = 0.38.
    assert!((7000..8400).contains(&ends), "{ends}");
    let open = [open_word(&table, true), 8, 0, 0, 0];
    assert_eq!(table.add(-125_i8, &mut Tape::<64>::new(open.to_vec())), Ok(-128));
    assert_eq!(table.add(-120_i8, &mut Tape::<64>::new(open.to_vec())), Ok(-125));
}

/// Compute the distribution of results for units outside of the table. The first entry is the
/// probability of a rejection. The entries of the magnitudes from 1 follow.
fn conditional(table: &IntegerTable, weights: &Weights) -> Vec<f64> {
    let first = table.urns.last();
    let all = table.urns.weight(first) as f64;
    let place = 0.5_f64.powi(PLACES as i32);
    let mut law = vec![0.0];
    for magnitude in 1.. {
        let (lo, _) = share(table, weights, magnitude);
        let taken = if magnitude < first { table.urns.weight(magnitude) } else { 0 };
        let taken = UBig::from(taken) << PLACES;
        let part = if taken < lo { (lo - taken).to_f64().value() * place / all } else { 0.0 };
        if first <= magnitude && part < 1e-9 {
            break;
        }
        law.push(part);
    }
    law[0] = 1.0 - law.iter().sum::<f64>();
    law
}

#[test]
fn what_the_table_leaves_open_has_its_exact_law() {
    // The tables cover three cases: mostly units of the kind *Rest*, a tail of many blocks, and a
    // tail that decreases fast.
    for (table, wrong) in [
        (IntegerTable::gaussian(1.0), Weights::gaussian(1.000_000_000_000_1)),
        (IntegerTable::laplace(0.5), Weights::laplace(0.52)),
        (IntegerTable::laplace(20.0), Weights::laplace(20.5)),
        (IntegerTable::laplace(120.0), Weights::laplace(123.0)),
        (IntegerTable::gaussian(380.0), Weights::gaussian(381.0)),
    ] {
        let table = table.unwrap();
        let law = conditional(&table, &table.weights);
        let mut observed = vec![0; law.len()];
        let (draws, mut source) = (20_000, Seeded::<64>::new(8));
        for _ in 0..draws {
            let drawn = table.slow(&mut source).unwrap().unwrap_or(0) as usize;
            observed[drawn.min(law.len() - 1)] += 1;
        }
        let fit = |law: &[f64]| {
            let expected: Vec<f64> = law.iter().map(|p| p * f64::from(draws)).collect();
            chi_square(&observed, &expected)
        };
        assert!(fit(&law) < 1.0, "{:?}: {}", table.weights, fit(&law));
        // The control: the counts do not fit the weights of a slightly different scale.
        let other = conditional(&table, &wrong);
        let other: Vec<f64> =
            (0..law.len()).map(|i| other.get(i).copied().unwrap_or(0.0).max(0.0)).collect();
        let sum: f64 = other.iter().sum();
        let other: Vec<f64> = other.iter().map(|p| p / sum).collect();
        assert!(fit(&other) > 1.0, "{:?}: {}", table.weights, fit(&other));
    }
}
