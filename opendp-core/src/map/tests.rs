use super::*;
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
        assert_eq!(map(constant).then(&map(-1)).eval(&3).is_ok(), fits);
        assert_eq!(map(constant).then_privacy(&loss).eval(&3).is_ok(), fits);
        let chain = map(constant).then_privacy(&exact);
        assert_eq!(chain.eval_exact(&MaxDivergence, &3).is_ok(), fits);
    }
}
