//! User-defined privacy profiles.

use std::sync::Mutex;

use opendp_core::arith::shown;
use opendp_core::{Error, PrivacyProfile, Result};

/// The maximum number of points to store. Each evaluated point of a curve is compared with the
/// nearest stored points.
const MOST_POINTS: usize = 4096;
/// If epsilon increases, delta must not increase by more than this relative amount. Smaller
/// increases are allowed, because rounding errors of plain floats can cause them.
const WOBBLE: f64 = 1e-9;

/// Make a privacy profile from a curve of deltas.
///
/// The profile is a loss in `SmoothedMaxDivergence`. The map of a user-defined measurement can
/// return such a profile. Only programs can use a curve. A JSON document lists points of a profile
/// instead: `{"profile": [[epsilon, delta], ...]}`. [`PrivacyProfile::from_table`] makes a profile
/// from these points.
///
/// # Arguments
/// * `curve` - the delta for each epsilon of at least 0
///
/// # Precondition
/// For each epsilon, the mechanism is (epsilon, curve(epsilon))-differentially private. The values
/// of the curve are from 0 to 1, and do not increase with epsilon. Rounding errors never make a
/// computed value smaller than the exact value.
///
/// # Postcondition
/// The profile has the deltas of the curve.
///
/// # Trust
/// The caller promises the precondition. Each evaluation of the curve checks a part of the
/// precondition. First, the delta must be a number from 0 to 1. Second, the delta is compared with
/// the deltas of earlier evaluations. At most 4096 evaluations are stored for this comparison. Take
/// the nearest stored epsilon on each side of the new epsilon. The new delta must be at most the
/// stored delta at the smaller epsilon, and at least the stored delta at the larger epsilon. If the
/// new epsilon itself is stored, the new delta must equal its stored delta. Relative errors of up
/// to `10^-9` are allowed.
///
/// # Errors
/// This function returns no error. From the profile: `FailedMap` when a check of the curve fails;
/// the errors of the curve.
///
/// # Example
/// ```
/// use opendp_measurements::new_privacy_profile;
/// let profile = new_privacy_profile(|epsilon: f64| Ok(1.0 / (1.0 + epsilon)))?;
/// assert_eq!(profile.delta(3.0)?, 0.25);
/// assert!((profile.epsilon(0.1)? - 9.0).abs() < 1e-12);
/// let nonsense = new_privacy_profile(|epsilon: f64| Ok(1.0 - epsilon))?;
/// assert!(nonsense.delta(2.0).unwrap_err().to_string().contains("from 0 to 1"));
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn new_privacy_profile(
    curve: impl Fn(f64) -> Result<f64> + Send + Sync + 'static,
) -> Result<PrivacyProfile> {
    let seen = Mutex::new(Vec::new());
    Ok(PrivacyProfile::new(move |epsilon| {
        let delta = curve(epsilon)?;
        if !(0.0..=1.0).contains(&delta) {
            return Err(Error::FailedMap(format!(
                "the curve of a privacy profile: expected a delta from 0 to 1 at epsilon {}, \
                 found {}",
                shown(epsilon),
                shown(delta)
            )));
        }
        match seen.lock() {
            Ok(mut seen) => compare(&mut seen, epsilon, delta).map(|()| delta),
            Err(_) => Err(Error::FailedMap("an earlier evaluation of the curve panicked".into())),
        }
    }))
}

/// Compare a point of a curve with the nearest stored points on both sides. Store the point if
/// fewer than `MOST_POINTS` points are stored. Each point in `seen` begins with the bits of its
/// epsilon, and the points are in the order of these bits. For floats that are not negative, the
/// order of the bits is the order of the floats.
fn compare(seen: &mut Vec<(u64, f64)>, epsilon: f64, delta: f64) -> Result<()> {
    let key = epsilon.abs().to_bits();
    let rises = |low: (f64, f64), high: (f64, f64)| low.1 * (1.0 + WOBBLE) < high.1;
    let found = |(bits, delta): &(u64, f64)| (f64::from_bits(*bits), *delta);
    let place = seen.partition_point(|(bits, _)| *bits < key);
    let after = seen.get(place);
    let same = after.filter(|(bits, _)| *bits == key);
    let before = same.or_else(|| seen.get(place.checked_sub(1)?)).map(found);
    let (after, known) = (after.map(found), same.is_some());
    let point = (epsilon, delta);
    let pairs = [before.map(|low| (low, point)), after.map(|high| (point, high))];
    if let Some((low, high)) = pairs.into_iter().flatten().find(|(low, high)| rises(*low, *high)) {
        return Err(Error::FailedMap(format!(
            "the curve of a privacy profile must not rise; it rises from {} at epsilon {} to {} at \
             epsilon {}",
            shown(low.1),
            shown(low.0),
            shown(high.1),
            shown(high.0)
        )));
    }
    if seen.len() < MOST_POINTS {
        match known {
            true => seen[place].1 = delta,
            false => seen.insert(place, (key, delta)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use opendp_core::{
        AtomDomain, DiscreteDistance, Function, PrivacyMap, SmoothedMaxDivergence, Space,
        TheMeasure,
    };

    use super::*;
    use crate::{make_fix_delta, make_user_measurement};

    #[test]
    fn a_measurement_of_ones_own_may_have_a_profile() {
        let bits = Space::new(AtomDomain::<bool>::default(), DiscreteDistance).unwrap();
        let map = PrivacyMap::new(|d: &u32| {
            let d = f64::from(*d);
            new_privacy_profile(move |epsilon: f64| Ok((d - epsilon).clamp(0.0, 1.0)))
        });
        let told = Function::map(|_: &bool| Ok(0));
        let told = make_user_measurement(bits, TheMeasure(SmoothedMaxDivergence), told, map);
        let fixed = make_fix_delta(told.unwrap(), 0.25).unwrap();
        assert_eq!(fixed.map(&1).unwrap(), (0.75, 0.25));
    }
    #[test]
    fn what_is_no_delta_is_an_error() {
        for wrong in [f64::NAN, -1e-300, 1.0_f64.next_up(), f64::INFINITY, f64::NEG_INFINITY] {
            let profile = new_privacy_profile(move |_| Ok(wrong)).unwrap();
            assert_eq!(profile.delta(1.0).unwrap_err().kind(), "FailedMap", "{wrong}");
            assert_eq!(profile.epsilon(0.5).unwrap_err().kind(), "FailedMap", "{wrong}");
            // The control: `PrivacyProfile::new` refuses only NaN and negative numbers.
            let unchecked = PrivacyProfile::new(move |_| Ok(wrong)).delta(1.0);
            assert_eq!(unchecked.is_err(), wrong.is_nan() || wrong < 0.0);
        }
        let fails = new_privacy_profile(|_| Err(Error::Overflow("no".into()))).unwrap();
        assert_eq!(fails.delta(1.0).unwrap_err().kind(), "Overflow");
    }
    #[test]
    fn a_rise_is_found_from_either_side() {
        let steps = |epsilon: f64| Ok(if (1.0..2.0).contains(&epsilon) { 0.1 } else { 0.5 });
        for order in [[0.5, 1.5, 3.0], [3.0, 1.5, 0.5], [1.5, 0.5, 3.0]] {
            let profile = new_privacy_profile(steps).unwrap();
            let failed: Vec<_> =
                order.into_iter().filter_map(|epsilon| profile.delta(epsilon).err()).collect();
            assert!(!failed.is_empty(), "{order:?}");
            assert!(failed.iter().all(|error| error.to_string().contains("must not rise")));
        }
        // The search for an epsilon evaluates enough points of the curve to find that delta rises.
        let rising = new_privacy_profile(|epsilon: f64| Ok(1.0 - 0.5 / (1.0 + epsilon))).unwrap();
        assert!(rising.epsilon(0.25).is_err());
        // The increases of this curve are no larger than rounding errors, so they are allowed.
        let wobbles = |epsilon: f64| Ok(0.5 * (1.0 + 1e-15 * (1e3 * epsilon).sin()));
        let wobbles = new_privacy_profile(wobbles).unwrap();
        assert!((0..1000).all(|i| wobbles.delta(f64::from(i)).is_ok()));
    }
}
