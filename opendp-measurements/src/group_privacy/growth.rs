//! Bounds on the loss of a path of several steps. The bounds are computed from the loss of one
//! step.

use opendp_core::arith::{Directed, DirectedFloat, Exact};
use opendp_core::{
    Approximate, MaxDivergence, Measure, RenyiCurve, RenyiDivergence, Result, Sampled,
    SmoothedMaxDivergence, ZeroConcentratedDivergence,
};

use super::profile::grouped;
use crate::collected::Collected;

/// A function from the loss of a single step to a bound on the loss of a path of several steps. The
/// second argument of the function is the number of steps, which is at least 1.
#[derive(Debug)]
pub enum Growth<MO: Measure> {
    /// The function maps the loss of a step to the loss of all steps. Both losses are lists of
    /// [parts](Measure::parts).
    Parts(fn(Vec<Exact>, u32) -> Vec<Exact>),
    /// The function maps the loss of a step to the loss of all steps, rounded up.
    Whole(fn(&MO::Distance, u32) -> Result<MO::Distance>),
}

/// A measure in which the loss of each step gives a bound on the loss of a whole path.
///
/// An implementation makes one claim for every sequence of distributions. Let any two consecutive
/// distributions of the sequence be at most a given loss apart, in both directions. Let the number
/// of steps be the number of distributions minus 1. The function that
/// [`growth`](GroupMeasure::growth) returns computes a bound from the given loss and the number of
/// steps. The loss between the first and the last distribution is at most this bound.
pub trait GroupMeasure: Measure {
    /// Return the function that bounds the loss of a path of steps.
    fn growth() -> Growth<Self>;
}
impl GroupMeasure for MaxDivergence {
    fn growth() -> Growth<Self> {
        Growth::Parts(|parts, steps| all_times(parts, &count(steps)))
    }
}
impl GroupMeasure for ZeroConcentratedDivergence {
    fn growth() -> Growth<Self> {
        Growth::Parts(|parts, steps| all_times(parts, &count(steps).times(&count(steps))))
    }
}
impl GroupMeasure for Approximate<MaxDivergence> {
    fn growth() -> Growth<Self> {
        Growth::Parts(|mut parts, steps| {
            if let [epsilon, delta] = &mut *parts
                && 1 < steps
            {
                *delta = grown_delta(epsilon.to_f64_up(), delta, steps);
                *epsilon = epsilon.times(&count(steps));
            }
            parts
        })
    }
}
impl GroupMeasure for RenyiDivergence {
    fn growth() -> Growth<Self> {
        Growth::Whole(|curve: &RenyiCurve, steps| {
            let curve = curve.clone();
            Ok(RenyiCurve::new(move |order| grown_divergence(&curve, order, steps)))
        })
    }
}
impl GroupMeasure for SmoothedMaxDivergence {
    fn growth() -> Growth<Self> {
        Growth::Whole(|profile, steps| Ok(grouped(profile, steps)))
    }
}
/// A [`Sampled`] loss is the loss, in the inner measure, of a mechanism whose data is a population.
/// So a [`Sampled`] loss grows in the same way as a loss in the inner measure.
impl<M: GroupMeasure + Default> GroupMeasure for Sampled<M> {
    fn growth() -> Growth<Self> {
        Growth::Whole(grown::<M>)
    }
}
/// Compute a bound on the loss of a path of `steps` steps, rounded up. `loss` is the loss of a
/// single step.
pub(crate) fn grown<M: GroupMeasure + Default>(
    loss: &M::Distance,
    steps: u32,
) -> Result<M::Distance> {
    match M::growth() {
        Growth::Parts(grown) => {
            let parts = M::default().split(loss)?.into_iter().map(Exact::from_f64);
            let parts = grown(parts.try_collected()?, steps);
            M::default().join(&parts.iter().map(Exact::to_f64_up).collected())
        }
        Growth::Whole(grown) => grown(loss, steps),
    }
}

fn count(steps: u32) -> Exact {
    Exact::from_f64(f64::from(steps)).unwrap_or(Exact::INFINITY)
}
fn all_times(parts: Vec<Exact>, factor: &Exact) -> Vec<Exact> {
    parts.into_iter().map(|part| part.times(factor)).collected()
}
/// Compute `delta (1 + e^epsilon + ... + e^((steps - 1) epsilon))`, rounded up, and at most 1. With
/// `k = steps`, the sum in parentheses equals `(e^(k epsilon) - 1) / (e^epsilon - 1)`. The sum
/// grows with epsilon, so an epsilon that is rounded up gives an upper bound.
pub(super) fn grown_delta(epsilon: f64, delta: &Exact, steps: u32) -> Exact {
    if delta.is_zero() {
        return Exact::ZERO;
    }
    let k = f64::from(steps);
    let sum = match epsilon {
        0.0 => Ok(k),
        _ => {
            epsilon.inf_mul(k).and_then(|all| all.inf_exp_m1()?.inf_div(epsilon.neg_inf_exp_m1()?))
        }
    };
    // If the sum exceeds all floats, return 1, which is a bound on every delta.
    let grown = sum.and_then(Exact::from_f64).map_or(1.0, |sum| delta.times(&sum).to_f64_up());
    Exact::from_f64(grown.min(1.0)).unwrap_or(Exact::INFINITY)
}

/// For one order of the result, the curve of a step is evaluated at no more than this number of
/// orders.
const MOST_ORDERS: u32 = 1024;

/// Compute the sum over `i < k` of `k a / (k a - i) r(k a - i)`, rounded up. Here `k` is the number
/// of steps, `a` the order, and `r` the curve of the divergences of one step.
fn grown_divergence(curve: &RenyiCurve, order: f64, steps: u32) -> Result<f64> {
    if steps == 1 {
        return curve.epsilon(order);
    }
    let k = f64::from(steps);
    let (Ok(above), Ok(below)) = (order.inf_mul(k), order.neg_inf_mul(k)) else {
        // If an order exceeds all floats, bound the result by the divergence of infinite order. No
        // order has a larger divergence. The divergences of infinite order of all steps add up.
        let largest = curve.epsilon(f64::INFINITY)?;
        return if largest.is_finite() { largest.inf_mul(k) } else { Ok(largest) };
    };
    // Evaluate the curve once for each block of orders, at the largest order of the block. Compute
    // the weight from the smallest order of the block.
    let block = steps.div_ceil(MOST_ORDERS);
    let (mut total, mut first) = (0.0_f64, 0);
    while first < steps {
        let length = block.min(steps - first);
        let divergence = curve.epsilon(above.inf_sub(f64::from(first))?)?;
        if !divergence.is_finite() {
            return Ok(f64::INFINITY);
        }
        let least = below.neg_inf_sub(f64::from(first + length - 1))?;
        let weight = above.inf_mul(f64::from(length))?.inf_div(least)?;
        total = total.inf_add(divergence.inf_mul(weight)?)?;
        first += length;
    }
    Ok(total)
}
