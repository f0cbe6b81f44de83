//! The release of keys that are not public.

use std::collections::HashMap;

use opendp_analysis as _;
use opendp_core::arith::{Directed, DirectedFloat, Exact};
use opendp_core::erased::{AnyDistance, AnyValue};
use opendp_core::search::binary_search;
use opendp_core::{
    AbsoluteDistance, Args, AtomDomain, Error, L01InfDistance, L02InfDistance, MapDomain, Result,
    Space,
};
use opendp_ledger::{Loss, Notion};
use opendp_registry::Registry;
use serde_json::json;

use crate::noise::{self, Noise, loss_of};
use crate::sensitivity::{Sensitivity, too_many_rows};

/// A release of keys that many individuals have.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    /// An index in the list of sums. The sum at this index decides which keys are released.
    pub(crate) sum: usize,
    pub(crate) noise: Noise,
    pub(crate) threshold: f64,
    /// The delta that the release of keys costs.
    pub(crate) delta: Exact,
}
/// The constructor for the release of keys with Laplace noise.
///
/// This paragraph compares this constructor with `make_laplace_threshold`. Both have the same scale
/// and the same threshold `T`, which is a whole number. Let `q` be `exp(-1 / scale)`, and let an
/// individual change a count by at most `d`. The delta of one key is
/// `q^(T - d) (1 - q^d) / (1 + q - 2 q^T)` for this constructor, and `q^(T - d) / (1 + q)` for
/// `make_laplace_threshold`. If `T` exceeds `d`, the first delta is smaller than the second delta.
/// So this constructor never needs a larger threshold than `make_laplace_threshold`.
const THRESHOLD: &str = "make_truncated_laplace_threshold";
/// The constructor for the release of keys with Gaussian noise.
const GAUSSIAN_THRESHOLD: &str = "make_gaussian_threshold";
/// A threshold at which the delta is practically 0.
const FAR: f64 = (1_u64 << 52) as f64;

/// Find the least scale for which the epsilon is at most the epsilon of `share`. Then find the
/// least threshold for which the delta is at most the delta of `budget`. The threshold is at least
/// the scale, the largest change of a count, and 1.
pub(super) fn select(
    sum: usize,
    bound: Sensitivity,
    share: &Loss,
    budget: &Loss,
) -> Result<Selection> {
    let delta = budget.parts().get(1).cloned().unwrap_or(Exact::ZERO);
    let ([epsilon, _], false) = (share.parts(), delta.is_zero()) else {
        return Err(Error::argument(
            "GROUP BY",
            "keys that are not public need a budget with an epsilon and a delta.\n\
             State the `keys` of the column in the metadata, or a delta of the query, as in \
             `--delta 1e-7`. The budget needs a delta, too.",
        ));
    };
    let limit = Loss::exact(Notion::Approximate, vec![epsilon.clone(), delta])?;
    let domain = MapDomain::new(AtomDomain::<String>::default(), AtomDomain::<i64>::default());
    let space = Space::new(domain, L01InfDistance::new(AbsoluteDistance::<i64>::new()))?;
    let distance = AnyDistance::new((groups(bound)?, at_least(bound.l1)?, at_least(bound.linf)?));
    let make = |scale: f64, threshold: f64| {
        let args = Args::new().with("input", &space).with("scale", json!(scale));
        let args = args.with("threshold", json!(threshold));
        let measurement = Registry::global().make(THRESHOLD, &args)?.measurement()?;
        let loss = loss_of(&measurement, &distance, Notion::Approximate)?;
        Ok((measurement, loss))
    };
    let guess = bound.l1.inf_div(epsilon.to_f64_down())?;
    let noise = noise::least(THRESHOLD, guess, &limit, |scale| make(scale, FAR))?;
    let fits = |loss: &Loss| loss.parts().iter().zip(limit.parts()).all(|(a, b)| a <= b);
    let least = noise.scale.max(bound.linf).max(1.0);
    let threshold = binary_search(
        |threshold: f64| Ok(make(noise.scale, threshold).is_ok_and(|made| fits(&made.1))),
        Some((least, FAR)),
    );
    // If delta is large, the loss can be small enough at every threshold. Then the search finds no
    // boundary and fails, and the threshold is `least`.
    let threshold = threshold.unwrap_or(least);
    let (measurement, loss) = make(noise.scale, threshold)?;
    if !fits(&loss) {
        return Err(Error::Search("no threshold fits the delta".into()));
    }
    let delta = loss.parts().get(1).cloned().unwrap_or(Exact::ZERO);
    Ok(Selection { sum, noise: Noise { measurement, loss, ..noise }, threshold, delta })
}
/// Find the least Gaussian noise for which rho is at most `share`. Then find the least threshold
/// for which the delta is at most `delta`. The threshold is at least 1 and at least the largest
/// change of a count. The loss that is stored with the noise is only this rho, without the delta.
pub(super) fn select_gaussian(
    sum: usize,
    bound: Sensitivity,
    share: &Loss,
    delta: &Exact,
) -> Result<Selection> {
    let domain = MapDomain::new(AtomDomain::<String>::default(), AtomDomain::<i64>::default());
    let space = Space::new(domain, L02InfDistance::new(AbsoluteDistance::<f64>::new()))?;
    let distance = AnyDistance::new((groups(bound)?, bound.l2, bound.linf));
    let make = |scale: f64, threshold: f64| {
        // The counts are integers, so the constructor takes an integer as the threshold.
        let args = Args::new().with("input", &space).with("scale", json!(scale));
        let args = args.with("threshold", json!(at_least(threshold)?));
        let measurement = Registry::global().make(GAUSSIAN_THRESHOLD, &args)?.measurement()?;
        let loss = measurement.map(&distance)?;
        let (rho, delta) = *loss.downcast_ref::<(f64, f64)>()?;
        let loss = Loss::exact(Notion::Concentrated, vec![Exact::from_f64(rho)?])?;
        Ok::<_, Error>((measurement, loss, Exact::from_f64(delta)?))
    };
    let amount = share.parts().first().map_or(0.0, Exact::to_f64_down);
    let guess = bound.l2.inf_div(amount.neg_inf_mul(2.0)?.neg_inf_sqrt()?)?;
    let noise = noise::least(GAUSSIAN_THRESHOLD, guess, share, |scale| {
        make(scale, FAR).map(|(measurement, loss, _)| (measurement, loss))
    })?;
    let least = bound.linf.max(1.0);
    let threshold = binary_search(
        |threshold: f64| Ok(make(noise.scale, threshold).is_ok_and(|made| made.2 <= *delta)),
        Some((least, FAR)),
    );
    // If delta is large, the loss can be small enough at every threshold. Then the search finds no
    // boundary and fails, and the threshold is `least`.
    let threshold = threshold.unwrap_or(least).ceil();
    let (measurement, loss, spent) = make(noise.scale, threshold)?;
    if *delta < spent || share.parts() < loss.parts() {
        return Err(Error::Search("no threshold fits the delta".into()));
    }
    Ok(Selection { sum, noise: Noise { measurement, loss, ..noise }, threshold, delta: spent })
}
/// Return the bound on the number of changed groups, as a part of a distance.
fn groups(bound: Sensitivity) -> Result<u32> {
    u32::try_from(bound.l0).map_err(|_| too_many_rows())
}
/// Return the least integer that is at least `bound`.
fn at_least(bound: f64) -> Result<i64> {
    // The cast is exact up to 2^53.
    match bound.ceil() {
        whole if whole <= FAR => Ok(whole as i64),
        _ => Err(too_many_rows()),
    }
}
impl Noise {
    /// Release each key whose noisy count reaches the threshold, together with the noisy count.
    pub(crate) fn select(&self, counts: HashMap<String, i64>) -> Result<HashMap<String, i64>> {
        self.measurement.invoke(&AnyValue::new(counts))?.downcast::<HashMap<String, i64>>()
    }
}
