use opendp_core::Bounds;
use opendp_core::random::Seeded;

use super::*;
use crate::samplers::tests::chi_square::chi_square;

type Maps = MapDomain<AtomDomain<i32>, AtomDomain<i32>>;
type Change = L01InfDistance<AbsoluteDistance<i32>>;
fn maps() -> Space<Maps, Change> {
    Space::new(MapDomain::default(), L01InfDistance::default()).unwrap()
}
/// Make a plan with a table of four bits, and fixed hash functions. The key with the hash 0 has the
/// positions 0, 1, and so on. The key with the hash 1 has the positions 1, 2, and so on.
fn small(scale: f64, alpha: u32, value_limit: u32) -> (Plan, Hashes) {
    let plan = Plan::new(scale, alpha, 1, UBig::ONE, value_limit.into()).unwrap();
    let bits = 2;
    let functions = (0..plan.highest as u64).map(|place| (1 << 62, (place % 4) << 62)).collect();
    (Plan { bits, ..plan }, Hashes { seed: 0, functions, bits })
}
/// Compute the probability of each level of a key with the given value.
fn levels(value: u32, scale: f64, alpha: u32, highest: usize) -> Vec<f64> {
    let t = (f64::from(value) * scale / f64::from(alpha)).min(highest as f64);
    (0..=highest).map(|level| (1.0 - (t - level as f64).abs()).max(0.0)).collect()
}
/// Compute the probability of each of the 16 tables for two keys. For each key, `both` lists the
/// probabilities of the levels of the key. Each bit is flipped with probability `p`.
fn law(hashes: &Hashes, both: [&[f64]; 2], p: f64) -> Vec<f64> {
    let mut law = vec![0.0; 16];
    for (first, a) in both[0].iter().enumerate() {
        for (second, b) in both[1].iter().enumerate() {
            let keys = hashes.positions(0).take(first).chain(hashes.positions(1).take(second));
            let table = keys.fold(0_usize, |table, place| table | 1 << place);
            for (outcome, total) in law.iter_mut().enumerate() {
                let flips = (outcome ^ table).count_ones() as i32;
                *total += a * b * p.powi(flips) * (1.0 - p).powi(4 - flips);
            }
        }
    }
    law
}

#[test]
fn tables_have_the_probabilities_of_the_proof() {
    let (scale, alpha, draws) = (0.75, 4, 100_000);
    let (plan, hashes) = small(scale, alpha, 16);
    assert_eq!(plan.highest, 3);
    for values in [(0, 0), (2, 7), (9, 16), (40, 0)] {
        let mut source = Seeded::<64>::new(1);
        let mut counts = [0; 16];
        for _ in 0..draws {
            let keys = [(0, values.0), (1, values.1)];
            let keys = keys.map(|(hash, value): (u64, u32)| {
                (hash, plan.level(value.into(), &mut source).unwrap())
            });
            counts[plan.table(&hashes, &keys, &mut source).unwrap()[0] as usize] += 1;
        }
        let fit = |p: f64, scale: f64| {
            let levels_of = |value| levels(value, scale, alpha, plan.highest);
            let law = law(&hashes, [&levels_of(values.0), &levels_of(values.1)], p);
            chi_square(&counts, &law.iter().map(|p| p * f64::from(draws)).collect::<Vec<_>>())
        };
        assert!(fit(1.0 / 6.0, scale) < 1.0, "{values:?}");
        assert!(1.0 < fit(1.0 / 7.0, scale), "{values:?}: another probability fits");
        // The counts do not fit the scale 0.6, with one exception. At the scale 0.75 and at the
        // scale 0.6, a value of 0 has the lowest level, and a value of 40 has the highest level. So
        // the counts for two such values fit both scales.
        let certain = [values.0, values.1].iter().all(|value| [0, 40].contains(value));
        assert!(certain || 1.0 < fit(1.0 / 6.0, 0.6), "{values:?}: another scale fits");
    }
}
#[test]
fn the_map_bounds_the_exact_divergence_and_is_tight() {
    let (scale, alpha) = (0.25, 4);
    let (plan, hashes) = small(scale, alpha, 32);
    // For all pairs of values, divide the loss by the difference of the values. Find the largest
    // quotient.
    let worst = |p: f64, levels: &dyn Fn(u32) -> Vec<f64>| {
        let (all, mut worst) = ((0..=40).map(levels).collect::<Vec<_>>(), 0.0_f64);
        for other in [0, 9, 30] {
            let laws: Vec<Vec<f64>> =
                all.iter().map(|law_of_x| law(&hashes, [law_of_x, &all[other]], p)).collect();
            for (x, first) in laws.iter().enumerate() {
                for (y, second) in laws.iter().enumerate().filter(|(y, _)| *y != x) {
                    let ratios = first.iter().zip(second).map(|(p, q)| (p / q).ln());
                    worst = worst.max(ratios.fold(0.0, f64::max) / x.abs_diff(y) as f64);
                }
            }
        }
        worst
    };
    let ours = |value| levels(value, scale, alpha, plan.highest);
    let loss = worst(1.0 / 6.0, &ours);
    assert!(loss <= scale + 1e-9 && 0.85 * scale < loss, "{loss} for {scale}");
    // The two controls have a loss that is larger than the map states. In the first control, bits
    // are flipped less often. In the second control, levels are rounded to the nearest integer.
    assert!(1.05 * scale < worst(1.0 / 8.0, &ours));
    let nearest = |value: u32| {
        let level = (f64::from(value) * scale / f64::from(alpha)).round().min(2.0) as usize;
        (0..=2).map(|other| f64::from(u8::from(other == level))).collect()
    };
    assert!(2.0 * scale < worst(1.0 / 6.0, &nearest));
}
#[test]
fn levels_are_rounded_by_exact_fractions() {
    // At scale 1 and alpha 3, a value of 1 corresponds to 1/3 of a level.
    let plan = Plan::new(1.0, 3, 1, UBig::ONE, UBig::from(100_u8)).unwrap();
    let mut source = Seeded::<64>::new(2);
    let mut level = |value: u64| plan.level(value.into(), &mut source).unwrap();
    assert_eq!([0, 3, 30, 102, u64::MAX].map(&mut level), [0, 1, 10, 34, 34]);
    let mut counts = [0; 2];
    for _ in 0..100_000 {
        counts[level(4) - 1] += 1;
    }
    assert!(chi_square(&counts, &[200_000.0 / 3.0, 100_000.0 / 3.0]) < 1.0);
    assert!(1.0 < chi_square(&counts, &[65_000.0, 35_000.0]));
    // At the least positive scale, the probability of a level above 0 is too small to observe.
    let plan = Plan::new(5e-324, 4, 50, UBig::ONE, UBig::ONE).unwrap();
    assert_eq!((plan.highest, plan.bits, plan.level(UBig::ONE, &mut source)), (1, 0, Ok(0)));
}
#[test]
fn answers_are_close_to_the_values() {
    let data: HashMap<i32, i32> = (0..50).map(|key| (key, key * 4)).collect();
    let alp = make_alp_queryable(maps(), 1.0, 5000, Some(400), 50, 4).unwrap();
    let noisy = alp.invoke(&data).unwrap();
    let error = |shift: i32| {
        let errors = (0..100).map(|key| {
            let value = f64::from(data.get(&key).copied().unwrap_or(0));
            (noisy.ask(&(key + shift)).unwrap() - value).abs()
        });
        errors.sum::<f64>() / 100.0
    };
    // The mean error is about 4. The probability of a mean error of 15 or more is below 1e-14.
    assert!(error(0) < 15.0, "{}", error(0));
    // The control: the error is large if answers are compared with the values of other keys.
    assert!(30.0 < error(25), "{}", error(25));
    assert_eq!(noisy.ask(&7), noisy.clone().ask(&7));
}
#[test]
fn estimates_from_the_highest_places_of_a_walk() {
    let estimate = |bits: &str| estimate(bits.chars().map(|bit| bit == '1'));
    assert_eq!(
        [estimate(""), estimate("0"), estimate("1"), estimate("111000")],
        [0.0, 0.0, 1.0, 3.0]
    );
    // Count +1 for a set bit and -1 for an unset bit. For the bits 11010, the partial sums are 1,
    // 2, 1, 2, 1. The largest sum is at the levels 2 and 4, and the mean of these levels is 3.
    assert_eq!(estimate("11010"), 3.0);
    assert_eq!(estimate("01"), 1.0);
}
#[test]
fn states_its_map() {
    let alp = make_alp_queryable(maps(), 0.1, 100, Some(10), 50, 4).unwrap();
    assert_eq!(alp.map(&(1, 10, 3)).unwrap(), 1.0_f64.next_up());
    assert_eq!(alp.map(&(0, 0, 0)).unwrap(), 0.0);
    assert_eq!(alp.map(&(1, -1, 3)).unwrap_err().kind(), "FailedMap");
    let alp = make_alp_queryable(maps(), 2.0, 100, Some(10), 50, 4).unwrap();
    assert_eq!(alp.map(&(1, 3, 3)).unwrap(), 6.0);
}
#[test]
fn refuses_arguments_that_mean_nothing() {
    let make = |scale, total, value, factor, alpha| {
        make_alp_queryable(maps(), scale, total, value, factor, alpha).map(|_| ()).map_err(
            |error| {
                assert_eq!(error.kind(), "MakeMeasurement");
                error.to_string()
            },
        )
    };
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(make(scale, 1, Some(1), 50, 4).unwrap_err().starts_with("scale"));
    }
    // The unit `alpha / scale` is a finite float only if the scale is not too small.
    assert!(make(1e-308, 1, Some(1), 50, 4).unwrap_err().starts_with("scale"));
    assert!(make(1e-307, 1, Some(1), 50, 4).is_ok());
    assert!(make(1.0, 0, Some(1), 50, 4).unwrap_err().contains("total_limit"));
    assert!(make(1.0, 1, Some(0), 50, 4).unwrap_err().contains("value_limit"));
    assert!(make(1.0, 1, Some(1), 0, 4).is_err() && make(1.0, 1, Some(1), 50, 0).is_err());
    assert!(make(1.0, 1, Some(i32::MAX), 50, 4).unwrap_err().starts_with("value_limit"));
    assert!(make(1.0, i32::MAX, Some(1), 50, 4).unwrap_err().starts_with("total_limit"));
    assert!(make(1e300, 1, Some(1), 50, 4).unwrap_err().contains("would exceed"));
    assert!(make(1.0, 1, None, 50, 4).unwrap_err().starts_with("value_limit"));
    // The value limit defaults to the upper bound of the values.
    let values = AtomDomain::bounded(Bounds::new(0, 9).unwrap());
    let bounded = MapDomain::new(AtomDomain::<i32>::default(), values);
    let bounded = Space::new(bounded, Change::default()).unwrap();
    assert!(make_alp_queryable(bounded, 1.0, 1, None, 50, 4).is_ok());
}
#[test]
fn a_table_that_no_memory_holds_is_an_error_and_not_the_end_of_the_process() {
    let (plan, hashes) = small(1.0, 4, 16);
    let plan = Plan { bits: 60, ..plan };
    let error = plan.table(&hashes, &[], &mut Seeded::<64>::new(1)).unwrap_err();
    assert!(error.to_string().contains("total_limit: not enough memory"), "{error}");
}
#[test]
fn a_distance_that_is_no_float_is_rounded_up() {
    let exact = loss((1_i64 << 53) + 1, 1.0).unwrap();
    assert_eq!(exact.to_f64_down(), 9_007_199_254_740_994.0);
}
#[test]
fn every_word_of_a_table_is_flipped() {
    let plan = Plan::new(1.0, 1, 1, UBig::from(1000_u32), UBig::ONE).unwrap();
    let hashes = plan.hashes().unwrap();
    let table = plan.table(&hashes, &[], &mut Seeded::<64>::new(1)).unwrap();
    // A third of the bits are flipped, so a word without any flip is very unlikely.
    assert!(table.len() == 16 && table.iter().all(|word| *word != 0));
}
