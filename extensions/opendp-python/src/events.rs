//! Privacy profiles of mechanisms that are known only by their parameters. An accountant in Python
//! composes these profiles.

use std::any::Any;
use std::sync::Arc;

use opendp_core::{Error, PrivacyProfile, Result};
use opendp_measurements::accounting::{
    Account, profile_of_concentrated, profile_of_discrete_gaussian,
    profile_of_discrete_gaussian_vector, profile_of_discrete_laplace, profile_of_gaussian,
    profile_of_laplace, profile_of_poisson_sample, profile_of_private, profile_of_renyi,
};
use pyo3::prelude::*;

use crate::errors::{OrRaise, detached};
use crate::profile::{Profile, Renyi};

/// A profile without a known loss distribution is repeated at most this many times. Each repetition
/// takes memory.
const MOST_REPEATED: u64 = 1 << 10;

/// Return the profile of one release of a mechanism. Noise has a sensitivity and a scale. A private
/// mechanism has an epsilon and a delta. A concentrated mechanism has a rho and an unused number.
#[pyfunction]
pub(crate) fn event_profile(py: Python<'_>, kind: &str, numbers: (f64, f64)) -> PyResult<Profile> {
    let (first, second) = numbers;
    let profile = match kind {
        "gaussian" => profile_of_gaussian(first, second),
        "laplace" => profile_of_laplace(first, second),
        "discrete_gaussian" => profile_of_discrete_gaussian(first, second),
        "discrete_gaussian_vector" => profile_of_discrete_gaussian_vector(first, second),
        "discrete_laplace" => profile_of_discrete_laplace(first, second),
        "private" => profile_of_private(first, second),
        "concentrated" => profile_of_concentrated(first),
        _ => Err(Error::argument("kind", "expected the name of a mechanism")),
    };
    Ok(Profile::new(profile.or_raise(py)?))
}
/// Return the profile of a mechanism with known bounds on its Renyi divergence.
#[pyfunction]
pub(crate) fn renyi_profile(py: Python<'_>, curve: &Bound<'_, Renyi>) -> PyResult<Profile> {
    Ok(Profile::new(profile_of_renyi(curve.get().inner().clone()).or_raise(py)?))
}
/// Return the profile of a mechanism on a Poisson sample, if one record is removed or added.
#[pyfunction]
pub(crate) fn sampled_profile(
    py: Python<'_>,
    profile: &Bound<'_, Profile>,
    rate: f64,
) -> PyResult<Profile> {
    let sampled = if 0.0 < rate && rate <= 1.0 {
        profile_of_poisson_sample(profile.get().inner(), rate)
    } else {
        Err(Error::argument("rate", "expected a number above 0 and at most 1"))
    };
    Ok(Profile::new(sampled.or_raise(py)?))
}
/// Compose profiles, each with the number of its releases. The releases are on the same data.
#[pyfunction]
pub(crate) fn composed_profile(
    py: Python<'_>,
    parts: Vec<(Bound<'_, Profile>, u64)>,
) -> PyResult<Profile> {
    let parts: Vec<_> =
        parts.iter().map(|(profile, count)| (profile.get().inner().clone(), *count)).collect();
    let composed = detached(py, || {
        let mut all = Vec::with_capacity(parts.len());
        for (profile, count) in parts {
            all.extend(repeated(profile, count)?);
        }
        match all[..] {
            [] => Ok(Account::new().profile()),
            _ => PrivacyProfile::compose(&all),
        }
    })?;
    Ok(Profile::new(composed))
}
/// Return profiles whose composition is the composition of `count` releases with a profile.
///
/// If the dominating pairs of the loss are known, an account has the pairs and the number of their
/// releases. A pair can also be only an upper bound, such as a pair that was found from a curve.
/// Then basic composition can give a smaller loss than the account. So a few such releases are
/// listed, and their composition finds the smaller of both losses.
fn repeated(profile: PrivacyProfile, count: u64) -> Result<Vec<PrivacyProfile>> {
    let account = profile.loss().and_then(|loss| {
        let loss: &dyn Any = &**loss;
        loss.downcast_ref::<Account>()
    });
    let is_listed = |account: &Account| account.parts().iter().any(|(pair, _)| pair.only_above());
    match account {
        Some(account) if 1 < count && (MOST_REPEATED < count || !is_listed(account)) => {
            let mut total = Account::new();
            for (pair, each) in account.parts() {
                total = total.with(Arc::clone(pair), each.checked_mul(count).ok_or_else(too_many)?);
            }
            Ok(vec![total.profile()])
        }
        None if MOST_REPEATED < count => Err(too_many()),
        _ => {
            let count = usize::try_from(count).map_err(|_| too_many())?;
            Ok(vec![profile; count])
        }
    }
}
#[cold]
fn too_many() -> Error {
    let reason = "too many releases: if only the curve of a loss is known, state at most 1024; \
                  otherwise, state at most 2^31";
    Error::argument("count", reason)
}
