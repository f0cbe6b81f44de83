//! Means and variances that are computed from noisy sums and noisy counts.

use opendp_core::arith::{Directed, check_range, shown};
use opendp_core::{Error, Result};
use opendp_measurements::Scale;
use opendp_measurements::accuracy::{Estimate, Noise, Ratio, Weight, simultaneous};

use super::super::plan::Goal;
use super::super::possible::largest_variance;
use super::super::short;
use super::answer::lost;

/// The centre and the bounds that are used for the sums of a column. Each sum is released as a sum
/// of distances from the centre. Here a distance has a sign: the distance of a number is the number
/// minus the centre.
///
/// The centre is the middle of the bounds, because sums of distances from the middle need the least
/// noise. The sum of the values is then computed as the noisy sum of the distances, plus the noisy
/// count times the centre. So the noise of the count is multiplied by the centre. The centre is
/// rounded to a dyadic number, because noise can be multiplied by a dyadic number exactly. Without
/// counts, or if the middle is too large for this rounding, the centre is 0.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Moments {
    pub(in super::super) column_bounds: (f64, f64),
    pub(in super::super) centre: f64,
    weight: Weight,
    /// The bounds of the distances from the centre.
    pub(in super::super) bounds: (f64, f64),
    /// The largest magnitude of a distance from the centre.
    pub(super) reach: f64,
}
impl Moments {
    pub(in super::super) fn new(column_bounds: (f64, f64), centred: bool) -> Result<Self> {
        check_range(column_bounds)?;
        let (lower, upper) = column_bounds;
        let plain = Moments {
            column_bounds,
            centre: 0.0,
            weight: Weight::from(0),
            bounds: column_bounds,
            reach: lower.abs().max(upper.abs()),
        };
        let middle = lower + (upper - lower) / 2.0;
        // The centre is a multiple of `1 / units`. The fraction `1 / units` is at most 2^-20 of the
        // width of the bounds. If the width is so small that this fraction would be below 2^-40,
        // the fraction is 2^-40.
        let (mut unit, mut units) = (1_i64, 1.0);
        while units * (upper - lower) < 2.0_f64.powi(20) && unit < 1 << 40 {
            (unit, units) = (unit * 2, units * 2.0);
        }
        let numerator = (middle * units).round();
        if !centred || !(numerator.abs() < 2.0_f64.powi(53)) {
            return Ok(plain);
        }
        let centre = numerator / units;
        let farthest = upper.inf_sub(centre)?.max(centre.inf_sub(lower)?);
        let weight = Weight::new(numerator as i64, unit)?;
        Ok(Moments {
            column_bounds,
            centre,
            weight,
            bounds: (-farthest, farthest),
            reach: farthest,
        })
    }
    /// Convert the weight of a goal. The given weight applies to errors in units of `size`. The new
    /// weight applies to the errors themselves. `size` is the largest change that one row causes in
    /// a release.
    pub(super) fn goal(&self, goal: Goal, size: f64) -> Result<Goal> {
        match goal {
            Goal::Weight(weight) if 0.0 < size => {
                let weight = weight / size / size;
                // A plan multiplies weights by squares of errors. The products must be floats.
                let fits = (1e-200..=1e200).contains(&weight);
                if fits { Ok(Goal::Weight(weight)) } else { Err(self.unusual()) }
            }
            goal => Ok(goal),
        }
    }
    /// Return the error for bounds whose powers are too large or too small for a plan.
    #[cold]
    fn unusual(&self) -> Error {
        let (lower, upper) = self.column_bounds;
        let (lower, upper) = (shown(lower), shown(upper));
        let reason = format!(
            "the bounds {lower} and {upper} are too wide or too narrow for statistics of groups: \
             state other bounds, or use another unit for the cells"
        );
        Error::argument("bounds", reason)
    }
    /// Find a goal for the noise of the sums, after the counts of the groups were released.
    /// Consider each group with rows separately. With this goal, the error of its mean is at most
    /// `error`, except with probability `alpha`. If the keys were found in the data, `alpha` bounds
    /// the probability that the key of the group is found and that the error is larger than
    /// `error`.
    ///
    /// Let a group have `n >= 1` rows, and let `N >= 1` be its released count. Let `s` be the sum
    /// of the distances of the group's values from the centre. The magnitude of each distance is at
    /// most `reach`, so `|s| <= reach n`. The sum is released with noise `z`. Then the error of the
    /// mean is `|(s + z) / N - s / n| <= (|z| + reach |n - N|) / N`. Except with probability
    /// `alpha / 2`, `|n - N|` is at most the accuracy `c` of the count. So the error is at most
    /// `error` if `|z|` is at most `error N - reach c`. It is enough that this bound on `|z|` holds
    /// except with probability `alpha / 2`.
    ///
    /// The returned goal bounds `|z|` except with probability `alpha` instead of `alpha / 2`. So
    /// the bound on `|z|` is divided by the ratio of two quantiles of Laplace noise: the quantile
    /// at `alpha / 2`, and the quantile at `alpha`. For Gaussian noise, this ratio is smaller, so
    /// the division by the ratio for Laplace noise is enough.
    pub(in super::super) fn within(
        &self,
        error: f64,
        counts: &[Estimate],
        alpha: f64,
    ) -> Result<Goal> {
        if !(0.0 < error && error.is_finite()) {
            let reason = format!("expected a finite number above 0, found {}", shown(error));
            return Err(Error::argument("goal", reason));
        }
        let unit = Noise::laplace(Scale::new(1.0)?);
        let ratio = unit.quantile(alpha / 2.0)?.inf_div(unit.quantile(alpha)?)?;
        let (mut least_room, mut least) = (f64::INFINITY, 0.0_f64);
        for count in counts {
            let (rows, lost) = (count.value(), self.reach.inf_mul(count.accuracy(alpha / 2.0)?)?);
            let left = error.neg_inf_mul(rows)?.neg_inf_sub(lost)?;
            least_room = least_room.min(if rows < 1.0 { f64::NEG_INFINITY } else { left });
            least = least.max(if rows < 1.0 { f64::INFINITY } else { lost.inf_div(rows)? });
        }
        if least_room <= 0.0 {
            return Err(Error::argument(
                "goal",
                format!(
                    "a mean within {} needs a more exact count: the noise of the released counts \
                     alone makes an error of up to {}",
                    shown(error),
                    short(least)
                ),
            ));
        }
        Ok(Goal::Within(least_room.neg_inf_div(ratio)?))
    }
    /// Return half of the square of `reach`, the largest magnitude of a distance. This number is
    /// subtracted from each squared distance before the sum of squares is released.
    pub(super) fn offset(&self) -> Result<f64> {
        self.reach.inf_mul(self.reach).map(|square| square / 2.0).map_err(|_| self.unusual())
    }
    /// Return the sum of the clamped cells: the sum of the distances, plus the count times the
    /// centre.
    pub(super) fn sum(&self, sum: &Estimate, count: &Estimate) -> Result<Estimate> {
        sum.plus(&count.times(self.weight)?)
    }
    /// Return the mean and its interval. `sum` is the sum of distances from the centre. If `ratio`
    /// is `None`, the scale of the noise of one number may depend on the other released number. The
    /// interval is then longer.
    pub(in super::super) fn mean(
        &self,
        sum: &Estimate,
        count: &Estimate,
        alpha: f64,
        ratio: Option<&Ratio>,
    ) -> Result<Interval> {
        let ((lower, upper), centre) = (self.column_bounds, self.centre);
        let (low, high) = match ratio {
            Some(ratio) => ratio.interval(sum, count)?,
            None => sum.quotient(count, alpha)?,
        };
        let (low, high) = (low.neg_inf_add(centre), high.inf_add(centre));
        let low = low.unwrap_or(lower).clamp(lower, upper);
        let high = high.unwrap_or(upper).clamp(lower, upper);
        // The noise can make a count smaller than 1. Then divide by 1. The quotient can then be
        // outside of the interval, so extend the interval.
        let value = (sum.value() / count.value().max(1.0) + centre).clamp(lower, upper);
        Ok((value, Some((low.min(value), high.max(value)))))
    }
    /// Find the intervals of [`Ratio`] for the mean distance from the centre. Return `None` if
    /// there are none for these noises.
    ///
    /// # Precondition
    /// The scales of the two noises were fixed before the first of the two numbers was released.
    pub(in super::super) fn ratio(
        &self,
        sum: &Estimate,
        count: &Estimate,
        alpha: f64,
    ) -> Option<Ratio> {
        Ratio::new(sum, count, self.bounds, alpha).ok()
    }
    /// Return the variance and its interval.
    ///
    /// Let `n` be the number of rows, `s` the sum of distances from the centre, and `q` the sum of
    /// the squares of these distances. The variance is `(q / n - (s / n)^2) n / (n - 1)`. It is at
    /// least 0, and at most [`largest_variance`] of the least possible number of rows.
    pub(super) fn variance(
        &self,
        (sum, squares, count): (&Estimate, &Estimate, &Estimate),
        alpha: f64,
    ) -> Result<Interval> {
        let offset = self.offset()?;
        let rows = count.value().max(2.0);
        let mean = sum.value() / rows;
        let value = (squares.value() / rows + offset - mean * mean) * rows / (rows - 1.0);
        let all = simultaneous(&[sum, squares, count], alpha)?;
        let [sum, squares, (fewest, largest)] = all[..] else { return Err(lost()) };
        if !(2.0 <= largest) {
            let limit = largest_variance(self.column_bounds, 2.0)?;
            return Ok((value.clamp(0.0, limit), Some((0.0, limit))));
        }
        let fewest = fewest.max(2.0);
        let limit = largest_variance(self.column_bounds, fewest)?;
        let mean = quotient(sum, (fewest, largest))?;
        let (low, high) = quotient(squares, (fewest, largest))?;
        let (least, greatest) = squared(mean)?;
        let high = high.inf_add(offset)?.inf_sub(least)?.max(0.0);
        let low = low.neg_inf_add(offset)?.neg_inf_sub(greatest)?.max(0.0);
        // Let `n` be the number of rows. The factor `n / (n - 1)` decreases with `n`.
        let high = high.inf_mul(fewest.inf_div(fewest.neg_inf_sub(1.0)?)?)?.min(limit);
        let low = low.neg_inf_mul(largest.neg_inf_div(largest.inf_sub(1.0)?)?)?.min(limit);
        Ok((value.clamp(0.0, limit), Some((low, high))))
    }
}
/// A number, and an interval for the true number, if an interval is known.
pub(in super::super) type Interval = (f64, Option<(f64, f64)>);
/// Divide an interval by an interval of positive numbers. The result contains each quotient of a
/// number of the first interval and a number of the second interval.
fn quotient((low, high): (f64, f64), (fewest, largest): (f64, f64)) -> Result<(f64, f64)> {
    let low = low.neg_inf_div(if low < 0.0 { fewest } else { largest })?;
    Ok((low, high.inf_div(if high < 0.0 { largest } else { fewest })?))
}
/// Return an interval that contains the squares of all numbers of an interval.
fn squared((low, high): (f64, f64)) -> Result<(f64, f64)> {
    let (near, far) = (low.abs().min(high.abs()), low.abs().max(high.abs()));
    let near = if low <= 0.0 && 0.0 <= high { 0.0 } else { near };
    Ok((near.neg_inf_mul(near)?, far.inf_mul(far)?))
}
