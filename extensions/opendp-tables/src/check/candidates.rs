//! Find the candidates of quantiles.

use opendp_core::Result;
use opendp_core::arith::Exact;

use super::Picked;
use super::bounds::bounds_of;
use crate::Type;
use crate::ir::Row;

/// Return the candidates of an expression. If the metadata state no candidates, the candidates are
/// at most 101 evenly spaced numbers from the lower bound to the upper bound. For a column of
/// integers, these numbers are rounded to integers. Return `None` if no bounds are known.
pub(super) fn candidates_of(row: &Row, picked: &Picked<'_>) -> Option<Vec<f64>> {
    if let Some(candidates) = picked.described(0, row).and_then(|column| column.candidates.clone())
    {
        return Some(candidates);
    }
    let [low, high] = bounds_of(0, row, picked)?;
    let whole = row.kind() == Some(Type::Integer);
    let steps = if whole && high - low < 100.0 { high - low } else { 100.0 };
    let mut all = spaced(low, high, steps as u32)?;
    all.iter_mut().for_each(|x| *x = if whole { x.round() } else { *x } + 0.0);
    all.dedup();
    all.is_sorted_by(|a, b| a < b).then_some(all)
}
/// Return `steps + 1` evenly spaced numbers from `low` to `high`. If `steps` is 0, return a single
/// number. The bounds are read as the decimal numbers that a person writes. Each result is the
/// float nearest to the exact number. So if the exact numbers are whole, the results are exact.
/// Because the computation is exact, it cannot overflow.
fn spaced(low: f64, high: f64, steps: u32) -> Option<Vec<f64>> {
    let number = |x: u32| Exact::from_f64(f64::from(x));
    let decimal = |x: f64| Exact::decimal(x.abs()).ok();
    let ends = [(low < 0.0, decimal(low)?), (high < 0.0, decimal(high)?)];
    let point = |k: u32| -> Result<f64> {
        let shares = [number(steps.max(1) - k)?, number(k)?];
        let sum = |negative: bool| {
            let terms = ends.iter().zip(&shares).filter(|((sign, _), _)| *sign == negative);
            terms.fold(Exact::ZERO, |sum, ((_, end), share)| sum.plus(&end.times(share)))
        };
        let (plus, minus) = (sum(false), sum(true));
        let distance = if minus < plus { plus.minus(&minus) } else { minus.minus(&plus) };
        let magnitude = nearest(&distance.over(&number(steps.max(1))?))?;
        Ok(if minus < plus { magnitude } else { -magnitude })
    };
    (0..=steps).map(|k| point(k).ok()).collect()
}
fn nearest(number: &Exact) -> Result<f64> {
    let (down, up) = (number.to_f64_down(), number.to_f64_up());
    let is_up = Exact::from_f64(up)?.minus(number) < number.minus(&Exact::from_f64(down)?);
    Ok(if is_up { up } else { down })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_the_floats_nearest_to_exact_decimals() {
        let texts = |low: f64, high: f64| {
            let all = spaced(low, high, 100).unwrap().into_iter().map(|x| (x + 0.0).to_string());
            all.collect::<Vec<_>>()
        };
        let exact = |numbers: std::ops::RangeInclusive<i64>, divisor: f64| {
            numbers.map(|k| (k as f64 / divisor).to_string()).collect::<Vec<_>>()
        };
        assert_eq!(texts(0.0, 100.0), exact(0..=100, 1.0));
        assert_eq!(texts(-50.0, 50.0), exact(-50..=50, 1.0));
        assert_eq!(texts(0.1, 1.1), exact(10..=110, 100.0));
        assert_eq!(texts(-0.3, 0.7), exact(-30..=70, 100.0));
        assert_eq!(texts(-0.3, -0.1).first().unwrap(), "-0.3");
        assert_eq!(spaced(4.0, 4.0, 0), Some(vec![4.0]));
    }
    #[test]
    fn candidates_of_huge_and_tiny_bounds_are_finite_and_ascend() {
        let tiny = f64::MIN_POSITIVE;
        for (low, high) in [(-1e308, 1e308), (-f64::MAX, f64::MAX), (-1e100, 3e-9), (0.0, tiny)] {
            let all = spaced(low, high, 100).unwrap();
            assert_eq!((all[0], all[100], all.len()), (low, high, 101));
            assert!(all.iter().all(|x| x.is_finite()) && all.is_sorted_by(|a, b| a < b), "{all:?}");
        }
    }
}
