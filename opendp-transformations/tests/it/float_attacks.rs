//! Tries published attacks on sums of floats. The attacks are from Casacuberta, Shoemate, Vadhan
//! and Wagaman, "Widespread Underestimation of Sensitivity in Differentially Private Libraries"
//! (CCS 2022). The attacks use reordering, cancellation, rounding at each step, overflow, and very
//! different magnitudes.

use dashu_int::IBig;
use opendp_core::{AtomDomain, Bounds, Space, SymmetricDistance, VectorDomain};
use opendp_transformations::{make_clamp, make_sum};

const BIG: f64 = 9_007_199_254_740_992.0; // 2^53
const HOSTILE: [f64; 7] = [BIG, 1.0, -BIG, 1e308, -1e308, 5e-324, 0.1];

/// Return a finite float divided by `2^-1074`. The result is exact.
fn exact(x: f64) -> IBig {
    let bits = x.to_bits();
    let (exponent, fraction) = (((bits >> 52) & 0x7ff) as usize, bits & ((1 << 52) - 1));
    let hidden = u64::from(0 < exponent) << 52;
    let magnitude = IBig::from(hidden | fraction) << (exponent.max(1) - 1);
    if x < 0.0 { -magnitude } else { magnitude }
}
fn distance(x: f64, y: f64) -> IBig {
    let difference = exact(x) - exact(y);
    if difference < IBig::ZERO { -difference } else { difference }
}

/// List all orders of the rows.
fn orders(rows: &[f64]) -> Vec<Vec<f64>> {
    let Some((last, rest)) = rows.split_last() else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for order in orders(rest) {
        for place in 0..=order.len() {
            let mut order = order.clone();
            order.insert(place, *last);
            all.push(order);
        }
    }
    all
}

/// Compare the sums of neighbouring data. Return the number of comparisons. If a sum is not finite,
/// or if two sums differ by more than the map allows, return an error that contains the data.
///
/// For each data set, the sum is compared with the sums of the same rows in all orders. If `sized`
/// is true, the sum is also compared with the sums after one row is replaced. Otherwise, the sum is
/// also compared with the sums after one or two rows are removed.
fn attack(
    data: &[Vec<f64>],
    sum: impl Fn(&[f64]) -> f64,
    map: impl Fn(u32) -> f64,
    sized: bool,
) -> Result<usize, String> {
    let mut tried = 0;
    let mut compare = |rows: &[f64], other: &[f64], d: u32| {
        let (x, y) = (sum(rows), sum(other));
        tried += 1;
        if x.is_finite() && y.is_finite() && distance(x, y) <= exact(map(d)) {
            return Ok(());
        }
        Err(format!("{rows:?} and {other:?} at distance {d} have the sums {x:?} and {y:?}"))
    };
    for rows in data {
        for order in orders(rows) {
            compare(rows, &order, 0)?;
        }
        for place in 0..rows.len() {
            let mut other = rows.clone();
            if sized {
                for replacement in data.iter().flatten().take(20) {
                    other[place] = *replacement;
                    compare(rows, &other, 2)?;
                }
            } else {
                other.remove(place);
                compare(rows, &other, 1)?;
                if 0 < place {
                    other.remove(place - 1);
                    compare(rows, &other, 2)?;
                }
            }
        }
    }
    Ok(tried)
}

/// Make data sets. Each row is a pseudo-random choice from `HOSTILE`.
fn data_sets(count: u64, rows: impl Fn(u64) -> usize) -> Vec<Vec<f64>> {
    let mut word = 1_u64;
    let mut letter = || {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        HOSTILE[(word >> 33) as usize % HOSTILE.len()]
    };
    (0..count).map(|i| (0..rows(i)).map(|_| letter()).collect()).collect()
}
fn sum(
    (lower, upper): (f64, f64),
    size: Option<usize>,
) -> (impl Fn(&[f64]) -> f64, impl Fn(u32) -> f64) {
    let domain = VectorDomain::new(AtomDomain::non_nan());
    let domain = if let Some(size) = size { domain.with_size(size) } else { domain };
    let input = Space::new(domain, SymmetricDistance).unwrap();
    let made =
        make_clamp(input, Bounds::new(lower, upper).unwrap()).unwrap().then(make_sum).unwrap();
    let same = made.clone();
    let eval = move |rows: &[f64]| {
        let rows = rows.to_vec();
        let whole = made.invoke(&rows).unwrap();
        for length in 1..=rows.len().min(3) {
            let chunks = rows.chunks(length).map(|chunk| Ok(chunk.to_vec()));
            assert_eq!(made.invoke_chunks(chunks).unwrap().to_bits(), whole.to_bits());
        }
        whole
    };
    (eval, move |d| same.map(&d).unwrap())
}
const BOUNDS: [(f64, f64); 5] =
    [(-8e307, 8e307), (-BIG, BIG), (-BIG, 0.1), (5e-324, 0.1), (0.1, 1e300)];

#[test]
fn no_order_and_no_neighbour_moves_a_sum_further_than_its_map_says() {
    for bounds in BOUNDS {
        let (eval, map) = sum(bounds, None);
        assert!(attack(&data_sets(150, |i| i as usize % 6), eval, map, false).unwrap() > 3000);
    }
    // With these bounds, no sum of four records exceeds the largest float.
    for bounds in [(-BIG, BIG), (-BIG, 0.1), (BIG, BIG + 2.0), (5e-324, 0.1)] {
        let (eval, map) = sum(bounds, Some(4));
        assert!(attack(&data_sets(60, |_| 4), eval, map, true).unwrap() > 3000);
    }
}
#[test]
fn usual_sums_are_moved_further() {
    let clamped = |(lower, upper): (f64, f64), x: f64| x.clamp(lower, upper);
    // This sum adds floats one by one, but its stated map is the map of an exact sum.
    for bounds in [(-BIG, BIG), (-8e307, 8e307), (-BIG, 0.1)] {
        let fold = |rows: &[f64]| rows.iter().map(|x| clamped(bounds, *x)).sum();
        let claim = |d| f64::from(d) * bounds.0.abs().max(bounds.1);
        let found = attack(&data_sets(150, |i| i as usize % 6), fold, claim, false).unwrap_err();
        assert!(found.contains("at distance"), "{found}");
    }
    // This sum is rounded once, to the nearest float, but its stated map is the map of an exact
    // sum. The spacing of floats at these sums is 8. Rounding can increase the distance between two
    // sums by up to this spacing.
    let bounds = (BIG, BIG + 2.0);
    let nearest = |rows: &[f64]| {
        let total: f64 = rows.iter().map(|x| clamped(bounds, *x) - BIG).sum();
        // The variable `total` is exact. Only the sum of `total` and four times 2^53 is rounded.
        4.0 * BIG + total
    };
    let data = vec![vec![BIG, BIG, BIG + 2.0, BIG + 2.0], vec![BIG + 2.0; 4]];
    assert!(attack(&data, nearest, |d| f64::from(d / 2) * 2.0, true).is_err());
    let (eval, map) = sum(bounds, Some(4));
    assert!(attack(&data, eval, map, true).is_ok());
}
#[test]
fn one_large_row_among_many_small_ones_moves_a_sum_no_further() {
    for rows in [10, 1000, 200_000] {
        let (eval, map) = sum((-1.0, BIG), None);
        let (ones, mut others) = (vec![1.0; rows], vec![1.0; rows]);
        others.insert(0, BIG);
        let (with, without) = (eval(&others), eval(&ones));
        assert!(distance(with, without) <= exact(map(1)));
        // Suppose that the numbers are added one by one. The sum loses small numbers after `BIG`,
        // and keeps small numbers before `BIG`.
        let naive: f64 = others.iter().sum();
        others.reverse();
        assert!(naive == BIG && others.iter().sum::<f64>() > BIG);
        assert_eq!(eval(&others).to_bits(), with.to_bits());
    }
}
#[test]
fn the_map_of_a_billion_rows_is_relaxed_by_less_than_a_millionth_of_the_bound() {
    for bounds in [(0.0, 1.0), (-0.1, 100.0), (-1e290, 1.0 / 3.0), (0.1, 1e-3 + 0.1)] {
        let bound = f64::max(bounds.1, -bounds.0);
        let (_, map) = sum(bounds, None);
        assert!((map(1) - bound) / bound < 2_f64.powi(-20) && bound <= map(1), "{bounds:?}");
        let (_, map) = sum(bounds, Some(1_000_000_000));
        let width = bounds.1 - bounds.0;
        assert!((map(2) - width) / bound < 2_f64.powi(-20) && width <= map(2), "{bounds:?}");
    }
}
