use super::*;
use crate::erased::AnyDistance;
use crate::{AbsoluteDistance, MaxDivergence};

type Line = AbsoluteDistance<i64>;

/// A map can return an invalid distance, such as a negative number. In a chain, the next map
/// must then return an error.
#[test]
fn a_chain_refuses_a_negative_distance_between_its_maps() {
    let map = |constant: i64| StabilityMap::<Line, Line>::new(move |d| Ok(d * constant));
    let loss = PrivacyMap::<Line, MaxDivergence>::new(|d| Ok((d * d) as f64));
    let exact = loss.clone().with_exact(|_| Ok(vec![Exact::ZERO]));
    for (constant, fits) in [(-1, false), (1, true)] {
        let square = StabilityMap::<Line, Line>::new(|d| Ok(d * d));
        assert_eq!(map(constant).then(&square).eval(&3).is_ok(), fits);
        assert_eq!(map(constant).then_privacy(&loss).eval(&3).is_ok(), fits);
        let chain = map(constant).then_privacy(&exact);
        assert_eq!(chain.eval_exact(&MaxDivergence, &3).is_ok(), fits);
    }
}

/// A map that returns a negative number or NaN has a fault. Such a result must not pass a
/// comparison with a budget.
#[test]
fn a_wrong_result_of_a_map_is_an_error() {
    let wrong = "the map gives a wrong result, which is a fault of the map: expected a distance of";
    for (result, fits) in [(-1.0, false), (f64::NAN, false), (-0.0, true), (f64::INFINITY, true)] {
        let loss = PrivacyMap::<Line, MaxDivergence>::new(move |_| Ok(result));
        let chain = StabilityMap::<Line, Line>::identity().then_privacy(&loss);
        let erased = loss.erase().eval(&AnyDistance::new(1_i64)).map(drop);
        let exact = loss.eval_exact(&MaxDivergence, &1).map(drop);
        for found in [loss.eval(&1).map(drop), chain.eval(&1).map(drop), erased] {
            assert_eq!(found.is_ok(), fits, "{result}");
            assert!(fits || found.unwrap_err().to_string().starts_with(wrong));
        }
        assert_eq!(exact.is_ok(), fits);
    }
    for (constant, fits) in [(-1, false), (1, true)] {
        let map = StabilityMap::<Line, Line>::new(move |d| Ok(d * constant));
        assert_eq!(map.eval(&3).is_ok(), fits);
        assert_eq!(map.erase().eval(&AnyDistance::new(3_i64)).is_ok(), fits);
    }
}
