//! Find noise for a share of the loss. A constructor of the registry makes the noise. The scale is
//! about the least scale for which the cost of the noise is at most the share.

use opendp_core::arith::{Directed, DirectedFloat, Exact};
use opendp_core::erased::{AnyDistance, AnyMeasurement, AnyValue};
use opendp_core::search::binary_search;
use opendp_core::{
    Args, AtomDomain, Error, IBig, L1Distance, L2Distance, Result, Space, VectorDomain,
};
use opendp_ledger::{Loss, Notion, Request};
use opendp_measurements as _;
use opendp_registry::Registry;
use serde_json::json;

use crate::mechanisms::Kind;
use crate::sensitivity::Sensitivity;

/// The largest probability with which an exact answer is outside of its interval.
pub(crate) const ALPHA: f64 = 0.05;

/// A measurement that is ready to run, and the cost of its release.
#[derive(Clone)]
pub(crate) struct Noise {
    pub(crate) measurement: AnyMeasurement,
    pub(crate) request: String,
    pub(crate) scale: f64,
    pub(crate) loss: Loss,
}
impl std::fmt::Debug for Noise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Noise").field("request", &self.request).finish_non_exhaustive()
    }
}
impl Noise {
    /// Return a bound on the error of each number. The error of a number exceeds the bound with a
    /// probability of at most `alpha`. Return `None` if no bound is known.
    pub(crate) fn accuracy(&self, alpha: f64) -> Option<f64> {
        let all = self.measurement.accuracy(alpha).ok()?;
        all.into_iter().try_fold(0.0, |largest: f64, bound| Some(largest.max(bound?)))
    }
    pub(crate) fn add(&self, exact: Vec<IBig>) -> Result<Vec<IBig>> {
        self.measurement.invoke(&AnyValue::new(exact))?.downcast::<Vec<IBig>>()
    }
}

/// Return the mechanism that is used by default for a kind of noise.
pub(crate) fn usual(kind: Kind) -> &'static str {
    match kind {
        Kind::Gaussian => "make_gaussian<MO=ZeroConcentratedDivergence>",
        _ => "make_laplace<MO=MaxDivergence>",
    }
}
/// Find the least noise whose cost is at most a share of the loss. The noise is added to a vector
/// of integers.
///
/// `mechanism` names a constructor of the registry with the arguments `input` and `scale`. The
/// input domain of the mechanism contains vectors of integers. The input metric is the L1 distance
/// for Laplace noise, and the L2 distance for Gaussian noise. The privacy map of the mechanism
/// computes the cost.
pub(crate) fn on_sums(
    mechanism: Option<&str>,
    kind: Kind,
    sensitivity: Sensitivity,
    groups: Option<usize>,
    share: &Loss,
) -> Result<Noise> {
    let request = mechanism.unwrap_or_else(|| usual(kind));
    let domain = VectorDomain::new(AtomDomain::<IBig>::default());
    let domain = match groups {
        Some(groups) => domain.with_size(groups),
        None => domain,
    };
    let (args, d_in) = match kind {
        Kind::Gaussian => {
            let space = Space::new(domain, L2Distance::<f64>::new())?;
            (Args::new().with("input", &space), sensitivity.l2)
        }
        _ => {
            let space = Space::new(domain, L1Distance::<f64>::new())?;
            (Args::new().with("input", &space), sensitivity.l1)
        }
    };
    let make = |scale: f64| {
        let args = args.clone().with("scale", json!(scale));
        Registry::global().make(request, &args)?.measurement()
    };
    let amount = share.parts().first().map_or(0.0, Exact::to_f64_down);
    let guess = match share.notion() {
        // Let `d` be the input distance. Gaussian noise has `rho = (d / scale)^2 / 2`. Laplace
        // noise has `epsilon = d / scale`, and a pure loss of `epsilon` has a `rho` of at most
        // `epsilon^2 / 2`. So the guess for Laplace noise is the same as the guess for Gaussian
        // noise.
        Notion::Concentrated => d_in.inf_div(amount.neg_inf_mul(2.0)?.neg_inf_sqrt()?)?,
        _ => d_in.inf_div(amount)?,
    };
    let distance = AnyDistance::new(d_in);
    least(request, guess, share, |scale| {
        let measurement = make(scale)?;
        let loss = loss_of(&measurement, &distance, share.notion())?;
        Ok((measurement, loss))
    })
}
/// Return the exact loss of a measurement at an input distance. Convert the loss to the measure
/// `notion`.
pub(crate) fn loss_of(
    measurement: &AnyMeasurement,
    distance: &AnyDistance,
    notion: Notion,
) -> Result<Loss> {
    Request::new("loss", measurement, distance)?.loss().within(notion)
}
/// Find a scale for which the loss is at most a share. First try scales near `guess`. If the loss
/// of the first scale that fits is at least 99.9 % of the share, use this scale. Otherwise find the
/// least scale by bisection.
pub(crate) fn least(
    request: &str,
    guess: f64,
    share: &Loss,
    make: impl Fn(f64) -> Result<(AnyMeasurement, Loss)>,
) -> Result<Noise> {
    let fits = |loss: &Loss| loss.parts().iter().zip(share.parts()).all(|(a, b)| a <= b);
    let ready = |scale: f64, (measurement, loss): (AnyMeasurement, Loss)| {
        Ok(Noise { measurement, request: request.to_owned(), scale, loss })
    };
    let mut scale = guess;
    for _ in 0..4 {
        let made = make(scale)?;
        let first = |loss: &Loss| loss.parts().first().map_or(0.0, Exact::to_f64_up);
        if fits(&made.1) {
            // A mechanism that the caller names can need much less noise than the default
            // mechanism. So the guess can be far above the least scale.
            if first(&made.1) >= 0.999 * first(share) {
                return ready(scale, made);
            }
            break;
        }
        scale = scale.next_up();
    }
    let enough = |scale: f64| 0.0 < scale && make(scale).is_ok_and(|made| fits(&made.1));
    let scale = binary_search(|scale| Ok(enough(scale)), None)
        .map_err(|error| error.at(format!("mechanism `{request}`")))?;
    let made = make(scale)?;
    if !fits(&made.1) {
        return Err(Error::Search(format!(
            "mechanism `{request}`: no scale keeps the loss within the share of the budget"
        )));
    }
    ready(scale, made)
}
