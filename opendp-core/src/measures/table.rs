//! Profiles that are known at some points.

use super::curve::PrivacyProfile;
use crate::arith::{Directed, DirectedFloat, shown};
use crate::{Error, Result};

impl PrivacyProfile {
    /// Make the profile of a mechanism that is known to be (epsilon, delta)-DP at the given points.
    ///
    /// Let `P(S)` and `Q(S)` be the probabilities of an event `S` for two neighbours. For each
    /// event and each pair of neighbours, `P(S) - e^epsilon Q(S)` is a line in `e^epsilon`. A
    /// profile is the maximum of all these lines. So a profile is convex in `e^epsilon`. Between
    /// two points, delta is at most the chord through these points in the coordinates
    /// `(e^epsilon, delta)`. The function `from_table` uses the chord as the bound. Beyond the last
    /// point, the bound is delta at the last point, because a profile does not increase. Let
    /// `delta(epsilon)` be the value of the profile. Replace each event `S` by its complement, and
    /// exchange the two neighbours. Then the maximum of the lines gives
    /// `delta(-epsilon) = 1 - e^-epsilon (1 - delta(epsilon))`. This equation maps the first point
    /// to a mirror point at a negative epsilon. Before the first point, the bound is the chord
    /// between the mirror point and the first point. Without points, the bound is 1. All results
    /// are rounded up. If the points lie on the profile of a mechanism, the bound is the best
    /// possible: for some mechanism with these points, a smaller bound would be wrong. If the
    /// points are only upper bounds, they may not be convex in `e^epsilon`. Then a smaller bound
    /// can exist.
    ///
    /// # Errors
    /// `InvalidDistance` when an epsilon is negative, is not finite, or does not exceed the
    /// previous epsilon. `InvalidDistance` also when a delta is outside of `[0, 1]` or exceeds the
    /// previous delta.
    ///
    /// ```
    /// # use opendp_core::PrivacyProfile;
    /// let profile = PrivacyProfile::from_table(vec![(1.0, 0.25), (2.0, 0.0)])?;
    /// let half = (1_f64.exp() / 2.0 + 2_f64.exp() / 2.0).ln();
    /// assert!((profile.delta(half)? - 0.125).abs() < 1e-15);
    /// assert!(PrivacyProfile::from_table(vec![(1.0, 0.25), (2.0, 0.5)]).is_err());
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    pub fn from_table(points: Vec<(f64, f64)>) -> Result<Self> {
        let refused = |what: &str, found: f64| {
            Err(Error::InvalidDistance(format!(
                "a point of a profile: expected {what}, found {}",
                shown(found)
            )))
        };
        let mut before: Option<(f64, f64)> = None;
        for &(epsilon, delta) in &points {
            if !(0.0 <= epsilon && epsilon.is_finite()) {
                return refused("a finite epsilon of at least 0", epsilon);
            }
            if !(0.0..=1.0).contains(&delta) {
                return refused("a delta from 0 to 1", delta);
            }
            if before.is_some_and(|(last, _)| epsilon <= last) {
                return refused("an epsilon above the previous epsilon", epsilon);
            }
            if before.is_some_and(|(_, last)| last < delta) {
                return refused("a delta of at most the previous delta", delta);
            }
            before = Some((epsilon, delta));
        }
        Ok(PrivacyProfile::new(move |epsilon| joined(&points, epsilon)))
    }
}

/// Return the bound on delta at an epsilon: before the first point, between two points, or beyond
/// the last point.
fn joined(points: &[(f64, f64)], epsilon: f64) -> Result<f64> {
    let (known, further) = points.split_at(points.partition_point(|point| point.0 <= epsilon));
    match (known.last(), further.first()) {
        (None, None) => Ok(1.0),
        (Some((_, delta)), None) => Ok(*delta),
        (None, Some((next, delta))) => {
            let share = gap(epsilon, *next)?.inf_div((-next).neg_inf_exp()?.neg_inf_add(1.0)?)?;
            raised(*delta, 1.0, share)
        }
        (Some((last, above)), Some((next, delta))) => {
            let whole = -last.inf_sub(*next)?.inf_exp_m1()?;
            raised(*delta, *above, gap(epsilon, *next)?.inf_div(whole)?)
        }
    }
}
/// Compute `1 - e^(x - y)` for `x` below `y`, rounded up.
fn gap(x: f64, y: f64) -> Result<f64> {
    Ok(-x.neg_inf_sub(y)?.neg_inf_exp_m1()?)
}
/// Interpolate linearly between `delta` and the larger number `above`, and round up. A `share` of 0
/// gives `delta`, and a `share` of 1 gives `above`.
fn raised(delta: f64, above: f64, share: f64) -> Result<f64> {
    Ok(above.inf_sub(delta)?.inf_mul(share)?.inf_add(delta)?.min(above))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For two distributions on a few outcomes, return the value of the exact profile at `epsilon`.
    /// This value is the larger of the values for the two directions.
    fn exact(p: &[f64], q: &[f64], epsilon: f64) -> f64 {
        let divergence = |p: &[f64], q: &[f64]| -> f64 {
            p.iter().zip(q).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
        };
        divergence(p, q).max(divergence(q, p))
    }
    const LAWS: [([f64; 4], [f64; 4]); 3] = [
        ([0.75, 0.25, 0.0, 0.0], [0.25, 0.75, 0.0, 0.0]),
        ([0.125, 0.375, 0.375, 0.125], [0.0, 0.125, 0.375, 0.5]),
        ([0.5, 0.25, 0.125, 0.125], [0.0625, 0.125, 0.25, 0.5625]),
    ];
    /// Return the smallest and the largest difference between an interpolation and the exact
    /// profile.
    fn slack(join: impl Fn(&[(f64, f64)], f64) -> f64) -> (f64, f64) {
        let (mut lower, mut upper) = (f64::INFINITY, f64::NEG_INFINITY);
        for (p, q) in LAWS {
            let points: Vec<_> = [0.25, 0.5, 1.5, 2.0].map(|e| (e, exact(&p, &q, e))).into();
            for step in 0..300 {
                let epsilon = f64::from(step) / 100.0;
                let above = join(&points, epsilon) - exact(&p, &q, epsilon);
                (lower, upper) = (lower.min(above), upper.max(above));
            }
        }
        (lower, upper)
    }

    #[test]
    fn chords_are_never_below_the_truth_and_meet_it() {
        let table = |points: &[(f64, f64)], epsilon| {
            PrivacyProfile::from_table(points.to_vec()).unwrap().delta(epsilon).unwrap()
        };
        let (lower, upper) = slack(table);
        assert!(-1e-15 <= lower, "{lower}");
        // Step functions are upper bounds too, but they are less tight than chords.
        let steps = |points: &[(f64, f64)], epsilon| {
            PrivacyProfile::from_points(points.to_vec()).delta(epsilon).unwrap()
        };
        let (sound, loose) = slack(steps);
        assert!(-1e-15 <= sound && 2.0 * upper < loose, "{sound} {upper} {loose}");
        // The two controls are wrong bounds: they are below the exact profile at some epsilon. The
        // first control uses chords in epsilon instead of `e^epsilon`. The second control does not
        // use the mirror point.
        let straight = |points: &[(f64, f64)], epsilon: f64| {
            let pair = points.windows(2).find(|w| w[0].0 <= epsilon && epsilon < w[1].0);
            pair.map_or(1.0, |w| {
                w[1].1 + (w[0].1 - w[1].1) * (w[1].0 - epsilon) / (w[1].0 - w[0].0)
            })
        };
        assert!(slack(straight).0 < -1e-3);
        let level = |points: &[(f64, f64)], epsilon: f64| match epsilon < points[0].0 {
            true => points[0].1,
            false => 1.0,
        };
        assert!(slack(level).0 < -1e-3);
    }
    #[test]
    fn gives_back_its_points() {
        let points = vec![(0.0, 1.0), (0.3, 0.7), (1.0, 1e-9), (700.0, 1e-12), (1e300, 0.0)];
        let profile = PrivacyProfile::from_table(points.clone()).unwrap();
        for (epsilon, delta) in points {
            assert_eq!(profile.delta(epsilon).unwrap(), delta);
        }
        assert_eq!(profile.delta(f64::INFINITY).unwrap(), 0.0);
        assert_eq!(PrivacyProfile::from_table(Vec::new()).unwrap().delta(9.0).unwrap(), 1.0);
    }
    #[test]
    fn refuses_what_is_no_profile() {
        for (points, what) in [
            (vec![(-1.0, 0.5)], "epsilon of at least 0"),
            (vec![(f64::NAN, 0.5)], "epsilon of at least 0"),
            (vec![(f64::INFINITY, 0.5)], "finite"),
            (vec![(1.0, f64::NAN)], "from 0 to 1"),
            (vec![(1.0, -1e-300)], "from 0 to 1"),
            (vec![(1.0, 1.5)], "from 0 to 1"),
            (vec![(1.0, 0.5), (1.0, 0.25)], "above the previous epsilon"),
            (vec![(2.0, 0.5), (1.0, 0.25)], "above the previous epsilon"),
            (vec![(1.0, 0.25), (2.0, 0.5)], "at most the previous delta"),
        ] {
            let error = PrivacyProfile::from_table(points).unwrap_err();
            assert_eq!(error.kind(), "InvalidDistance");
            assert!(error.to_string().contains(what), "{error}");
        }
    }
}
