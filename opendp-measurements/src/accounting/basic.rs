//! Basic composition of profiles that are known only as curves (functions from epsilon to delta).
//!
//! Let mechanisms be `(epsilon_i, delta_i)`-private. Together, these mechanisms are
//! `(sum epsilon_i, sum delta_i)`-private (Dwork, Roth 2014, on basic composition). This bound
//! holds for every split of epsilon into `epsilon_i`. An account puts the losses of a curve on a
//! grid (losses at equal distances). The grid makes the deltas of the curve slightly larger. So for
//! a small number of curves, and at delta 0, the bound of an account can be worse than basic
//! composition.

use opendp_core::arith::{Directed, inf_sum};
use opendp_core::{PrivacyProfile, Result};

use super::elementary::{exp, ln};
use super::memo::Memo;
use crate::collected::{Collected, sort_by};

/// The largest number of profiles (members) for which the code searches for a good split of
/// epsilon. If there are more members, each member gets the same epsilon.
const MOST: usize = 16;
/// The maximum number of steps of the bisection that searches for epsilon.
const SEARCH: u32 = 32;
/// Guessed points divide the interval between two evaluated points of a curve into this number of
/// parts.
const BETWEEN: u32 = 8;
/// A delta below this value is replaced by this value before its logarithm is computed.
const NOTHING: f64 = 1e-30;

/// A point of a member's curve: an epsilon, and the member's delta at this epsilon.
type EpsilonDelta = (f64, f64);

/// The profiles (members) whose losses are added.
pub(super) struct Basic {
    members: Vec<PrivacyProfile>,
    /// The curve of each member, evaluated when first needed.
    known: Memo<Vec<CurvePoints>>,
}

struct CurvePoints {
    points: Vec<EpsilonDelta>,
    /// The evaluated points, and guessed points between the evaluated points.
    guesses: Vec<EpsilonDelta>,
}

impl Basic {
    pub(super) fn new(members: Vec<PrivacyProfile>) -> Self {
        Basic { members, known: Memo::new() }
    }
    /// Return an upper bound on delta at an epsilon.
    ///
    /// Compute the sum of the members' deltas for three splits of epsilon. In the first split, each
    /// member gets an equal part of epsilon. The second split consists of already evaluated points
    /// of the curves. The third split is found from guessed points between the evaluated points.
    /// Return the smallest of the three sums.
    pub(super) fn delta(&self, epsilon: f64) -> Result<f64> {
        if epsilon == f64::INFINITY {
            return inf_sum(&self.deltas(|_| epsilon));
        }
        let even = epsilon.neg_inf_div(self.count())?;
        let mut best = inf_sum(&self.deltas(|_| even))?;
        // For each member, the point with the least `epsilon + price * delta` is chosen. So the
        // price is the weight of delta. A higher price gives a smaller delta and a larger epsilon.
        let fits = |total: EpsilonDelta| total.0 <= epsilon;
        if let Some(total) = self.at_points(fits, true)? {
            best = best.min(total.1);
        }
        if let Some((total, shares)) = self.at_best_price(|known| &known.guesses, fits, true)? {
            let more = epsilon.neg_inf_sub(total.0)?.neg_inf_div(self.count())?;
            let moved =
                |share: &EpsilonDelta| share.0.neg_inf_add(more).unwrap_or(share.0).max(share.0);
            let places: Vec<f64> = shares.iter().map(moved).collected();
            if inf_sum(&places)? <= epsilon {
                let deltas = self.deltas(|i| places.get(i).copied().unwrap_or(0.0));
                best = best.min(inf_sum(&deltas)?);
            }
        }
        Ok(best)
    }
    /// Return an upper bound on the smallest epsilon at which delta is at most the given delta. The
    /// result is at most `limit`.
    ///
    /// The points of the curves give a first estimate. A bisection that evaluates delta refines
    /// this estimate.
    pub(super) fn epsilon(&self, delta: f64, limit: f64) -> Result<f64> {
        let found = self.at_points(|total| total.1 <= delta, false)?;
        let mut high = found.map_or(limit, |total| total.0.min(limit));
        let mut low = 0.0;
        // If there are too many members, or if no choice of points fits, then no split is found. In
        // this case, `high` is `limit`. If the computed delta at `limit` is above the given delta,
        // this search finds no smaller epsilon. So return `limit`.
        if found.is_none() && delta < self.delta(high)? {
            return Ok(high);
        }
        for _ in 0..SEARCH {
            let middle = low + (high - low) / 2.0;
            if high - low <= 1e-6 * high || !high.is_finite() {
                break;
            }
            if self.delta(middle)? <= delta { high = middle } else { low = middle }
        }
        Ok(high)
    }
    fn count(&self) -> f64 {
        self.members.len().max(1) as f64
    }
    /// Return the delta of each member `i` at `epsilon(i)`. If the curve of a member fails, the
    /// delta of this member is 1.
    fn deltas(&self, epsilon: impl Fn(usize) -> f64) -> Vec<f64> {
        let members = self.members.iter().enumerate();
        members.map(|(i, member)| delta_at(member, epsilon(i))).collected()
    }
    /// Choose one point of the curve of each member. Return the sum of the epsilons of these
    /// points, the sum of their deltas, and the points. The points follow from a price. The price
    /// is a weight of delta, and all members have the same price. For each member, choose the point
    /// at which epsilon plus the price times delta is least. Search for the logarithm of the price
    /// by bisection. Consider only prices at which the two sums satisfy `fits`. Use the highest of
    /// these prices if `highest` is true, and otherwise the lowest.
    fn at_best_price(
        &self,
        points_of: impl Fn(&CurvePoints) -> &Vec<EpsilonDelta>,
        fits: impl Fn(EpsilonDelta) -> bool,
        highest: bool,
    ) -> Result<Option<(EpsilonDelta, Vec<EpsilonDelta>)>> {
        if self.members.len() > MOST {
            return Ok(None);
        }
        let all = self.known.get(|| self.members.iter().map(CurvePoints::of).collected());
        let all: Vec<&Vec<EpsilonDelta>> = all.iter().map(points_of).collected();
        let (mut low, mut high, mut found) = (-40.0f64, 700.0f64, None);
        for _ in 0..50 {
            let price = low + (high - low) / 2.0;
            let each = exp(price);
            let cost = |share: &EpsilonDelta| share.0 + each * share.1;
            let best = |list: &&Vec<EpsilonDelta>| {
                list.iter().copied().min_by(|a, b| cost(a).total_cmp(&cost(b)))
            };
            let shares: Vec<EpsilonDelta> = all.iter().filter_map(best).collected();
            let total = total(&shares)?;
            let fit = fits(total);
            if fit {
                found = Some((total, shares));
            }
            if fit == highest { low = price } else { high = price }
        }
        Ok(found)
    }
    /// Choose points of the curves by `at_best_price`. Then try to replace the point of each
    /// member. If `highest` is true, the new point of a member has a smaller delta than the old
    /// point. Otherwise the new point has a smaller epsilon. Replace a point only if the sums still
    /// satisfy `fits`.
    fn at_points(
        &self,
        fits: impl Fn(EpsilonDelta) -> bool,
        highest: bool,
    ) -> Result<Option<EpsilonDelta>> {
        let found = self.at_best_price(|known| &known.points, &fits, highest)?;
        let Some((mut sums, mut shares)) = found else { return Ok(None) };
        for (i, known) in self.known.known().into_iter().flatten().enumerate() {
            for point in &known.points {
                let Some(old) = shares.get(i).copied() else { continue };
                let less = if highest { point.1 < old.1 } else { point.0 < old.0 };
                if less {
                    let mut other = shares.clone();
                    other.splice(i..=i, [*point]);
                    let now = total(&other)?;
                    if fits(now) {
                        (sums, shares) = (now, other);
                    }
                }
            }
        }
        Ok(Some(sums))
    }
}

fn delta_at(member: &PrivacyProfile, epsilon: f64) -> f64 {
    member.delta(epsilon).unwrap_or(1.0)
}
fn total(shares: &[EpsilonDelta]) -> Result<EpsilonDelta> {
    let (epsilons, deltas): (Vec<f64>, Vec<f64>) = shares.iter().copied().unzip();
    Ok((inf_sum(&epsilons)?, inf_sum(&deltas)?))
}
impl CurvePoints {
    fn of(member: &PrivacyProfile) -> CurvePoints {
        let mut points = points(member);
        sort_by(&mut points, &|a, b| a.0.total_cmp(&b.0));
        let mut guesses = points.clone();
        for pair in points.windows(2) {
            if let [low, high] = pair {
                let logs = (ln(low.1.max(NOTHING)), ln(high.1.max(NOTHING)));
                guesses.extend((1..BETWEEN).map(|n| {
                    let part = f64::from(n) / f64::from(BETWEEN);
                    let between = |low: f64, high: f64| low + part * (high - low);
                    (between(low.0, high.0), exp(between(logs.0, logs.1)))
                }));
            }
        }
        CurvePoints { points, guesses }
    }
}
/// Evaluate a curve at about thirty epsilons, and find the positions of its largest steps (jumps)
/// to the last digit.
///
/// If an interval contains a step of the curve, one half of the interval contains the whole height
/// of the step. So evaluate the curve in the middle. The value shows which half contains the step,
/// or shows that the interval contains no step.
fn points(member: &PrivacyProfile) -> Vec<EpsilonDelta> {
    let point_at = |epsilon: f64| (epsilon, delta_at(member, epsilon));
    let mut list = vec![point_at(0.0)];
    for half in -14..=14 {
        let power = 2f64.powi(i32::div_euclid(half, 2));
        let place = if half % 2 == 0 { power } else { power * std::f64::consts::SQRT_2 };
        list.push(point_at(place));
        if list.last().is_some_and(|last| last.1 == 0.0) {
            break;
        }
    }
    if let Some(largest) = member.loss().and_then(|loss| loss.epsilon(0.0).ok())
        && largest.is_finite()
    {
        list.push((largest, 0.0));
        sort_by(&mut list, &|a, b| a.0.total_cmp(&b.0));
    }
    let height = |left: EpsilonDelta, right: EpsilonDelta| {
        ln(left.1.max(NOTHING)) - ln(right.1.max(NOTHING))
    };
    let mut steps: Vec<(EpsilonDelta, EpsilonDelta)> =
        list.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.last()?))).collected();
    sort_by(&mut steps, &|a, b| height(b.0, b.1).total_cmp(&height(a.0, a.1)));
    for (mut low, mut high) in steps.into_iter().take(4) {
        while 0.5 < height(low, high) {
            let whole = height(low, high);
            let middle = low.0 + (high.0 - low.0) / 2.0;
            if middle <= low.0 || high.0 <= middle {
                break;
            }
            let middle = point_at(middle);
            list.push(middle);
            if height(middle, high) >= 0.9 * whole {
                low = middle;
            } else if height(low, middle) >= 0.9 * whole {
                high = middle;
            } else {
                break;
            }
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::*;
    use super::*;

    /// Return three profiles. For each of the first two profiles, only one point is known. The
    /// third profile has an account.
    fn members() -> Vec<PrivacyProfile> {
        vec![
            PrivacyProfile::from_points(vec![(1.0, 1e-6)]),
            PrivacyProfile::from_points(vec![(0.1, 1e-3)]),
            profile_of_private(0.5, 0.0).unwrap(),
        ]
    }
    /// Return the account of a composition. The bounds of the account do not use basic composition.
    fn joined(all: &PrivacyProfile) -> &dyn opendp_core::ComposableLoss {
        &**all.loss().unwrap()
    }
    /// Return the profile of Gaussian noise as a curve, without the distribution of the loss.
    fn curve(mu: f64) -> PrivacyProfile {
        PrivacyProfile::new(move |epsilon| Ok(gaussian_delta(mu, epsilon)?.upper))
    }

    #[test]
    fn a_composition_is_never_above_the_sum_of_its_members() {
        let all = PrivacyProfile::compose(&members()).unwrap();
        assert!(all.delta(1.6 + 1e-12).unwrap() <= 0.001_001 * (1.0 + 1e-12));
        assert!(all.epsilon(0.001_001 * (1.0 + 1e-12)).unwrap() <= 1.6 * (1.0 + 1e-12));
        assert_eq!(all.epsilon(1e-9).unwrap(), f64::INFINITY);
        // The control: the bounds from a grid are larger than the bounds of basic composition.
        assert!(joined(&all).delta(1.6).unwrap() > 0.001_001);
        assert!(joined(&all).epsilon(0.001_001).unwrap() > 1.6001);
    }
    #[test]
    fn purely_private_curves_have_a_sum_at_delta_nothing() {
        let pure = |loss: f64| {
            PrivacyProfile::new(move |epsilon| {
                Ok(if epsilon < loss { -((epsilon - loss) / 2.0).exp_m1() } else { 0.0 })
            })
        };
        let profiles = [pure(0.3), pure(0.5), profile_of_laplace(1.0, 1.0).unwrap()];
        let all = PrivacyProfile::compose(&profiles).unwrap();
        assert!(all.epsilon(0.0).unwrap() <= 1.8 + 1e-12);
        assert_eq!(all.delta(1.8 + 1e-12).unwrap(), 0.0);
        assert_eq!(joined(&all).epsilon(0.0).unwrap(), f64::INFINITY);
        // At delta 0.1, the bound of the account is below the bound of basic composition. So the
        // result is the bound of the account.
        let basic = Basic::new(profiles.to_vec()).epsilon(0.1, f64::INFINITY).unwrap();
        assert!(all.epsilon(0.1).unwrap() < 0.95 * basic, "{basic}");
    }
    #[test]
    fn is_never_below_what_the_members_lose() {
        // Together, the two members have the loss of one release with Gaussian noise. The variable
        // `mu` below is the `mu` of this release.
        for (first, second) in [(0.5f64, 0.5f64), (0.25, 1.0)] {
            let basic = Basic::new(vec![curve(first), curve(second)]);
            let mu = (first * first + second * second).sqrt();
            for epsilon in [0.5, 6.0] {
                let exact = gaussian_delta(mu, epsilon).unwrap().lower;
                let found = basic.delta(epsilon).unwrap();
                assert!(exact <= found, "{epsilon}: {found} {exact}");
                let even =
                    [first, second].map(|mu| gaussian_delta(mu, epsilon / 2.0).unwrap().upper);
                assert!(found <= (even[0] + even[1]) * (1.0 + 1e-12));
            }
            let found = basic.epsilon(1e-6, f64::INFINITY).unwrap();
            assert!(gaussian_delta(mu, found).unwrap().lower <= 1e-6);
            // The variable `even` is the sum of the epsilons at equal deltas of the members. If
            // other epsilons give a smaller sum, the search finds these epsilons.
            let even = [first, second].map(|mu| gaussian_epsilon(mu, 5e-7).unwrap().upper);
            let even = even[0] + even[1];
            assert!(found <= even * (1.0 + 1e-5) && (first == second || found < 0.999 * even));
        }
    }
    #[test]
    fn asks_a_curve_a_few_dozen_times() {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let slow = PrivacyProfile::new(move |epsilon| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(gaussian_delta(0.5, epsilon)?.upper)
        });
        let basic = Basic::new(vec![slow, curve(1.0)]);
        let costs = || asked.swap(0, Ordering::Relaxed);
        basic.delta(1.0).unwrap();
        assert!((20..40).contains(&costs()));
        basic.delta(2.0).unwrap();
        assert_eq!(costs(), 2);
        basic.epsilon(1e-6, f64::INFINITY).unwrap();
        let cost = costs();
        assert!((10..70).contains(&cost), "{cost}");
    }
}
