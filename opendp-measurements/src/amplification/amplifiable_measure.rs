//! The trait of measures in which a secret sample reduces the loss.

use opendp_core::arith::{Directed, DirectedFloat};
use opendp_core::{
    Approximate, MaxDivergence, Measure, PrivacyProfile, Result, SmoothedMaxDivergence,
};

use crate::accounting::{
    profile_of_mixture, profile_of_poisson_sample, profile_of_replaced_sample,
};
use crate::group_privacy::grown;

/// The delta at which two profiles are compared.
const TYPICAL: f64 = 1e-6;

/// A measure whose losses are smaller if the data is a secret sample.
///
/// An implementation claims that [`amplified`](AmplifiableMeasure::amplified) bounds the loss
/// between two mixtures with a common part.
pub trait AmplifiableMeasure: Measure {
    /// Return an upper bound, rounded up, on the loss between two mixtures of distributions `A`,
    /// `B` and `C`. The mixtures are `(1 - share) A + share B` and `(1 - share) A + share C`. The
    /// bound holds if any two of the three distributions are at most `loss` apart.
    ///
    /// # Errors
    /// `Overflow` when the bound exceeds all floats.
    fn amplified(share: f64, loss: &Self::Distance) -> Result<Self::Distance>;
    /// For one removed or added record, return an upper bound on the loss between the two mixtures
    /// of [`amplified`](AmplifiableMeasure::amplified). For such a record, `B` or `C` equals `A`.
    /// The default is [`amplified`](Self::amplified).
    ///
    /// # Errors
    /// `Overflow` when the bound exceeds all floats.
    fn amplified_by_one(share: f64, loss: &Self::Distance) -> Result<Self::Distance> {
        Self::amplified(share, loss)
    }
    /// For one replaced record, return an upper bound on the loss between the two mixtures of
    /// [`amplified`](AmplifiableMeasure::amplified). The bound holds under two conditions. First,
    /// `A` and `B` are at most `added` apart, and so are `A` and `C`. Second, any two of `A`, `B`
    /// and `C` are at most `replaced` apart. The default is [`amplified`](Self::amplified).
    ///
    /// # Errors
    /// `Overflow` when the bound exceeds all floats.
    fn amplified_by_replacement(
        share: f64,
        _added: &Self::Distance,
        replaced: &Self::Distance,
    ) -> Result<Self::Distance> {
        Self::amplified(share, replaced)
    }
    /// Return the smaller of two bounds on the loss for `records` changed records. The first bound
    /// is `loss`. The second bound is group privacy: the loss of a path of `records` steps. Each
    /// step has the loss `single`, which is the amplified loss for one changed record. If none of
    /// the bounds is smaller in every respect, either of them can be returned.
    ///
    /// # Errors
    /// `Overflow` when the bound exceeds all floats; the errors of `single`.
    fn grouped(
        loss: Self::Distance,
        single: impl FnOnce() -> Result<Self::Distance>,
        records: u32,
    ) -> Result<Self::Distance>;
    /// Return whether all parts of a loss are zero, including its delta.
    ///
    /// # Errors
    /// The errors of the privacy profile, if the loss is a privacy profile.
    fn is_nothing(loss: &Self::Distance) -> Result<bool>;
}
impl AmplifiableMeasure for MaxDivergence {
    fn amplified(share: f64, epsilon: &f64) -> Result<f64> {
        if *epsilon == 0.0 || share == 0.0 {
            return Ok(0.0);
        }
        // If a computed number exceeds all floats, use the loss without sampling.
        let ratio = epsilon.inf_exp_m1().and_then(|more| share.inf_mul(more)?.inf_ln_1p());
        Ok(ratio.unwrap_or(*epsilon).min(*epsilon))
    }
    fn amplified_by_replacement(share: f64, added: &f64, replaced: &f64) -> Result<f64> {
        let (added, replaced) = (*added, *replaced);
        let whole = MaxDivergence::amplified(share, &replaced)?;
        if replaced <= added {
            return Ok(whole);
        }
        let loss = || {
            let with = share.inf_mul(added.inf_exp_m1()?)?.inf_ln_1p()?;
            // A replacement adds one of two records to the same sample. In the worst case, one of
            // these records multiplies the likelihood of an outcome by `e^added`. The other record
            // multiplies this likelihood by `e^(added - replaced)`.
            let less = -added.neg_inf_sub(replaced)?.neg_inf_exp_m1()?;
            with.inf_sub((-share.inf_mul(less)?).neg_inf_ln_1p()?)
        };
        Ok(loss().map_or(whole, |loss| loss.min(whole)))
    }
    fn grouped(loss: f64, single: impl FnOnce() -> Result<f64>, records: u32) -> Result<f64> {
        Ok(single()?.inf_mul(f64::from(records)).map_or(loss, |all| all.min(loss)))
    }
    fn is_nothing(epsilon: &f64) -> Result<bool> {
        Ok(*epsilon == 0.0)
    }
}
impl AmplifiableMeasure for Approximate<MaxDivergence> {
    fn amplified(share: f64, (epsilon, delta): &(f64, f64)) -> Result<(f64, f64)> {
        Ok((MaxDivergence::amplified(share, epsilon)?, delta.inf_mul(share)?))
    }
    fn amplified_by_replacement(
        share: f64,
        added: &(f64, f64),
        replaced: &(f64, f64),
    ) -> Result<(f64, f64)> {
        let epsilon = MaxDivergence::amplified_by_replacement(share, &added.0, &replaced.0)?;
        Ok((epsilon, added.1.max(replaced.1).inf_mul(share)?))
    }
    fn grouped(
        loss: (f64, f64),
        single: impl FnOnce() -> Result<(f64, f64)>,
        records: u32,
    ) -> Result<(f64, f64)> {
        let path = single().and_then(|single| grown::<Self>(&single, records));
        Ok(path.ok().filter(|path| path.0 <= loss.0 && path.1 <= loss.1).unwrap_or(loss))
    }
    fn is_nothing((epsilon, delta): &(f64, f64)) -> Result<bool> {
        Ok(*epsilon == 0.0 && *delta == 0.0)
    }
}
impl AmplifiableMeasure for SmoothedMaxDivergence {
    fn amplified(share: f64, loss: &PrivacyProfile) -> Result<PrivacyProfile> {
        profile_of_mixture(loss, share)
    }
    fn amplified_by_one(share: f64, loss: &PrivacyProfile) -> Result<PrivacyProfile> {
        profile_of_poisson_sample(loss, share)
    }
    fn amplified_by_replacement(
        share: f64,
        added: &PrivacyProfile,
        replaced: &PrivacyProfile,
    ) -> Result<PrivacyProfile> {
        profile_of_replaced_sample(added, replaced, share)
    }
    /// Compare the two profiles at the epsilon at which `loss` has a delta of `TYPICAL`. If the
    /// second profile is smaller there, return a profile whose delta at each epsilon is the smaller
    /// of the two deltas. A composition of this profile uses only the second profile. Otherwise
    /// return `loss`.
    fn grouped(
        loss: PrivacyProfile,
        single: impl FnOnce() -> Result<PrivacyProfile>,
        records: u32,
    ) -> Result<PrivacyProfile> {
        let Ok(path) = single().and_then(|single| grown::<Self>(&single, records)) else {
            return Ok(loss);
        };
        let epsilon = loss.epsilon(TYPICAL)?;
        if loss.delta(epsilon)?.min(TYPICAL) <= path.delta(epsilon)? {
            return Ok(loss);
        }
        let other = path.clone();
        Ok(path.with_delta(move |epsilon| Ok(loss.delta(epsilon)?.min(other.delta(epsilon)?))))
    }
    fn is_nothing(loss: &PrivacyProfile) -> Result<bool> {
        Ok(loss.delta(0.0)? == 0.0)
    }
}
