use opendp_core::{MaxDivergence, ZeroConcentratedDivergence};
use proptest::prelude::*;

use super::*;

/// Compute the loss of the worst split among parts whose losses are in tables.
fn worst(tables: &[&[f64]], d: usize) -> f64 {
    let loss = &|place: usize, d: u32| Ok(tables[place][d as usize]);
    splits(tables.len(), false, loss).worst(d as u32).unwrap()
}
/// Compute the loss of the worst split among parts that share a map.
fn of_copies(parts: usize, d: u32, map: &dyn Fn(u32) -> f64) -> f64 {
    splits(parts, true, &|_, d| Ok(map(d))).worst(d).unwrap()
}
fn splits(parts: usize, alike: bool, loss: &dyn Fn(usize, u32) -> Result<f64>) -> Splits<'_> {
    Splits { measure: &MaxDivergence, parts, alike, loss }
}
/// The largest factor by which `by_rate` raises a bound, plus a small margin.
const FACTOR: f64 = 257.0 / 256.0 + 1e-12;
/// Compute the exact loss of the worst split. Try all numbers of changed rows for each part.
fn enumerated(tables: &[&[f64]], d: usize) -> f64 {
    let Some((first, others)) = tables.split_first() else { return 0.0 };
    (0..=d).map(|here| first[here] + enumerated(others, d - here)).fold(0.0, f64::max)
}

#[test]
fn equals_the_maximum_by_enumeration() {
    let tables: [&[f64]; 3] =
        [&[0.0, 0.5, 0.75, 2.0, 2.25], &[0.0, 1.0, 1.0, 1.5, 2.5], &[0.0, 0.25, 1.5, 1.5, 3.0]];
    for d in 0..5 {
        assert_eq!(worst(&tables, d), enumerated(&tables, d));
    }
    // The control: at distance 3, the loss of each part is below the loss of the worst split.
    assert!(tables.iter().all(|table| table[3] < worst(&tables, 3)));
}
proptest! {
    /// Losses are multiples of 1/8, so the sums of floats are exact. The maps need not increase.
    #[test]
    fn copies_have_the_loss_of_the_maximum_by_enumeration(
        eighths in prop::collection::vec(0_u32..64, 6),
        parts in 1_usize..8,
    ) {
        let mut table = vec![0.0];
        table.extend(eighths.iter().map(|loss| f64::from(*loss) / 8.0));
        for d in 0..=6 {
            let exact = enumerated(&vec![table.as_slice(); parts], d);
            let found = of_copies(parts, d as u32, &|d| table[d as usize]);
            prop_assert_eq!(found, exact);
            // The map `running` does not decrease, and is at least the map of the table. So the
            // upper bounds for `running` are at least the exact maximum.
            let running = |d: u32| table[..=d as usize].iter().copied().fold(0.0, f64::max);
            let loss = &|_: usize, d: u32| Ok(running(d));
            let bounds = splits(parts, true, loss);
            let (d, rate) = (d as u32, bounds.by_rate(d as u32, 1).unwrap());
            let bounds = [bounds.over_any_parts(d), bounds.of_largest(d), Ok(rate.unwrap())];
            prop_assert!(bounds.iter().all(|bound| exact <= *bound.as_ref().unwrap()));
        }
    }
    /// Let `d` be the number of changed rows. If the number of parts is not known yet, a caller can
    /// charge the worst loss of `d` parts with the same map. Check that this charge is large enough
    /// for any number of parts.
    #[test]
    fn copies_lose_at_most_as_much_as_one_copy_for_each_row(
        parts in 1_usize..2_000,
        d in 1_u32..3_000,
        scale in 0.01_f64..100.0,
    ) {
        let maps: [&dyn Fn(u32) -> f64; 3] = [
            &|d| f64::from(d).inf_div(scale).unwrap(),
            &|d| (f64::from(d) / scale).powi(2) / 2.0,
            &|d| (f64::from(d) / scale).min(1.0),
        ];
        for map in maps {
            let (loss, charge) = (of_copies(parts, d, map), of_copies(d as usize, d, map));
            prop_assert!(loss <= charge, "{loss} {charge}");
        }
    }
}
#[test]
fn linear_and_quadratic_maps_cost_as_much_as_one_part() {
    for d in [3, 100, 700, 725, 5_000, 1_000_000] {
        for parts in [27, 1 << 20] {
            let rows = f64::from(d);
            let linear = of_copies(parts, d, &|d| f64::from(d) / 500.0);
            assert!(rows / 500.0 <= linear && linear <= rows / 500.0 * FACTOR, "{d}");
            let square = of_copies(parts, d, &|d| f64::from(d).powi(2));
            assert!(rows * rows <= square && square <= rows * rows * FACTOR, "{d}");
        }
    }
    // The control: each part with changed rows has the loss 1, independently of the number of rows.
    // Then the worst split changes rows in all 27 parts.
    assert_eq!(of_copies(27, 5_000, &|_| 1.0), 27.0);
}
#[test]
fn is_never_less_when_there_are_too_many_splits() {
    let worst =
        |parts, d| splits(parts, false, &|place, d| Ok(f64::from(d) * (1 + place) as f64)).worst(d);
    // The loss per row is largest in the last part. So the worst split changes rows of this part
    // only.
    for (parts, d) in [(3, 100), (3, 1_000_000), (1000, 100), (100, 5_000)] {
        let (least, found) = (f64::from(d) * parts as f64, worst(parts, d).unwrap());
        assert!(least <= found && found <= least * FACTOR, "{parts} {d}: {found}");
    }
    let large = splits(100_000, false, &|place, _| Ok(place as f64)).worst(1).unwrap();
    assert_eq!(large, 99_999.0);
    // There are too many different maps, so only the upper bound of `of_largest` is computed.
    let many = splits(100_000, false, &|place, _| Ok(place as f64)).worst(10_000).unwrap();
    assert_eq!(many, (90_000..100_000).sum::<usize>() as f64);
}
#[test]
fn losses_that_are_not_numbers_or_not_finite() {
    let nan = splits(3, true, &|_, _| Ok(f64::NAN));
    assert!([1, 2, 100, 10_000].iter().all(|d| nan.worst(*d).unwrap_err().kind() == "FailedMap"));
    let infinite = splits(3, true, &|_, d| Ok(if d < 5 { 1.0 } else { f64::INFINITY }));
    assert_eq!(infinite.worst(2).unwrap(), 2.0);
    for d in [5, 100, 10_000] {
        assert!(infinite.worst(d).map_or(true, |loss| loss == f64::INFINITY));
    }
    let huge = splits(3, true, &|_, d| Ok(f64::MAX / 4.0 * f64::from(d.min(1))));
    assert!((huge.worst(10_000).unwrap() / f64::MAX - 0.75).abs() < 1e-12);
    let rho = Splits { measure: &ZeroConcentratedDivergence, ..splits(3, true, &|_, _| Ok(0.5)) };
    assert_eq!(rho.worst(1_000).unwrap(), 1.5);
}
/// A part with at least 512 changed rows has the loss 1, and a part with fewer changed rows has no
/// loss. If each of 1,000 parts has 512 changed rows, the loss is 1,000. This loss per row is
/// reached only at the lower end of an interval of `by_rate`. At the upper end of this interval,
/// from 512 to 514 rows, the loss per row is too small: `1 / 514`.
#[test]
fn the_rate_of_an_interval_holds_at_its_lower_end() {
    let found = of_copies(1_000, 512_000, &|d| f64::from((d / 512).min(1)));
    assert!((1_000.0..=1_000.0 * FACTOR).contains(&found), "{found}");
}
#[test]
fn the_loss_of_a_rate_is_rounded_up() {
    // The 1,000 changed rows are in 1,000 different parts, and the loss of each part is the float
    // 0.1. This float is above a tenth, so the sum is above 100.
    let found = of_copies(1_000, 1_000, &|d| 0.1 * f64::from(d.min(1)));
    assert_eq!(found, 100_f64.next_up());
}
