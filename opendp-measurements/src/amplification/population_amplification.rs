//! Privacy amplification: a sample of a population reveals less about the population.

use opendp_core::arith::{Directed, DirectedFloat};
use opendp_core::erased::{AnyDistance, AnyDomain, AnyMetric, AnyValue};
use opendp_core::{
    Approximate, Carrier, ChangeOneDistance, Domain, Error, InsertDeleteDistance, MaxDivergence,
    Measure, Measurement, Metric, PrivacyMap, PrivacyProfile, Result, Sampled,
    SmoothedMaxDivergence, SymmetricDistance,
};

use crate::accounting::{
    profile_of_mixture, profile_of_poisson_sample, profile_of_replaced_sample,
};

/// A metric on data sets of a fixed number of records, in which replaced records can be counted.
///
/// An implementation makes two claims for data sets of one size. Data sets at distance `d` differ
/// by at most `replaced(d)` replaced records. If two samples of the same size take the same records
/// from them, except for `j` replaced records, the distance of the samples is at most the distance
/// of `j` replaced records.
pub trait PopulationMetric: Metric {
    /// Bound how many records are replaced between data sets of one size at this distance.
    ///
    /// # Errors
    /// `NotImplemented` when the claim is not made.
    fn replaced(&self, d_in: &Self::Distance) -> Result<u32>;
    /// The distance of data sets that differ by one replaced record.
    ///
    /// # Errors
    /// `NotImplemented` when the claim is not made.
    fn one_replaced(&self) -> Result<Self::Distance>;
    /// The distance of a data set from itself.
    ///
    /// # Errors
    /// `NotImplemented` when the claim is not made.
    fn unchanged(&self) -> Result<Self::Distance>;
}
macro_rules! population {
    ($($metric:ident $one:literal),*) => {
        $(impl PopulationMetric for $metric {
            fn replaced(&self, d_in: &u32) -> Result<u32> {
                Ok(*d_in / $one)
            }
            fn one_replaced(&self) -> Result<u32> {
                Ok($one)
            }
            fn unchanged(&self) -> Result<u32> {
                Ok(0)
            }
        })*
        impl PopulationMetric for AnyMetric {
            fn replaced(&self, d_in: &AnyDistance) -> Result<u32> {
                $(if let Ok(metric) = self.downcast_ref::<$metric>() {
                    return metric.replaced(d_in.downcast_ref()?);
                })*
                Err(uncounted(self))
            }
            fn one_replaced(&self) -> Result<AnyDistance> {
                $(if let Ok(metric) = self.downcast_ref::<$metric>() {
                    return metric.one_replaced().map(AnyDistance::new);
                })*
                Err(uncounted(self))
            }
            fn unchanged(&self) -> Result<AnyDistance> {
                $(if let Ok(metric) = self.downcast_ref::<$metric>() {
                    return metric.unchanged().map(AnyDistance::new);
                })*
                Err(uncounted(self))
            }
        }
    };
}
// In the first two a replaced record counts as one removed and one added.
population!(SymmetricDistance 2, InsertDeleteDistance 2, ChangeOneDistance 1);
#[cold]
fn uncounted(metric: &AnyMetric) -> Error {
    Error::NotImplemented(format!(
        "expected a distance that counts replaced records, found {}",
        metric.inner_type()
    ))
}

/// A measure whose losses are known to shrink when the data is a secret sample.
///
/// An implementation claims that [`amplified`](AmplifiableMeasure::amplified) bounds the loss
/// between two mixtures of distributions that have a common share.
pub trait AmplifiableMeasure: Measure {
    /// Bound the loss of `(1 - share) A + share B` against `(1 - share) A + share C`, where any two
    /// of `A`, `B` and `C` are at most `loss` apart, rounding up.
    ///
    /// # Errors
    /// `Overflow` when the bound exceeds all floats.
    fn amplified(share: f64, loss: &Self::Distance) -> Result<Self::Distance>;
    /// Bound the loss where one of `B` and `C` is `A`: one record removed, or added. Defaults to
    /// [`amplified`](AmplifiableMeasure::amplified).
    ///
    /// # Errors
    /// `Overflow` when the bound exceeds all floats.
    fn amplified_by_one(share: f64, loss: &Self::Distance) -> Result<Self::Distance> {
        Self::amplified(share, loss)
    }
    /// Bound the loss of `(1 - share) A + share B` against `(1 - share) A + share C`, where `B` and
    /// `C` are each at most `added` from `A`, and all three at most `replaced` apart: one record
    /// replaced. Defaults to [`amplified`](AmplifiableMeasure::amplified).
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
    /// Return the lower of `loss` and the bound from the amplified loss at one record, if that
    /// bound is known to hold. Otherwise `one` is not called.
    ///
    /// # Errors
    /// `Overflow` when the bound exceeds all floats, and the errors of the loss at one
    /// record.
    fn grouped(
        loss: Self::Distance,
        one: impl FnOnce() -> Result<Self::Distance>,
        records: u32,
    ) -> Result<Self::Distance>;
    /// Whether a loss is zero, including its delta.
    ///
    /// # Errors
    /// The errors of reading the loss.
    fn is_nothing(loss: &Self::Distance) -> Result<bool>;
}
impl AmplifiableMeasure for MaxDivergence {
    fn amplified(share: f64, epsilon: &f64) -> Result<f64> {
        if *epsilon == 0.0 || share == 0.0 {
            return Ok(0.0);
        }
        // If the result exceeds all floats, a sample costs the same as all data.
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
            // In the worst case one record makes an outcome more likely, and the other less likely.
            let less = -added.neg_inf_sub(replaced)?.neg_inf_exp_m1()?;
            with.inf_sub((-share.inf_mul(less)?).neg_inf_ln_1p()?)
        };
        Ok(loss().map_or(whole, |loss| loss.min(whole)))
    }
    fn grouped(loss: f64, one: impl FnOnce() -> Result<f64>, records: u32) -> Result<f64> {
        Ok(one()?.inf_mul(f64::from(records)).map_or(loss, |all| all.min(loss)))
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
        _: impl FnOnce() -> Result<(f64, f64)>,
        _: u32,
    ) -> Result<(f64, f64)> {
        Ok(loss)
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
    fn grouped(
        loss: PrivacyProfile,
        _: impl FnOnce() -> Result<PrivacyProfile>,
        _: u32,
    ) -> Result<PrivacyProfile> {
        Ok(loss)
    }
    fn is_nothing(loss: &PrivacyProfile) -> Result<bool> {
        Ok(loss.delta(0.0)? == 0.0)
    }
}

/// Check that data at distance 0, such as the same records in another order, give the same
/// distribution of releases, so that the common part of two samples gives a common part of the
/// releases. A delta at distance 0 also applies to records outside the sample, and a sample does
/// not make it smaller.
pub(super) fn check_common<DI, MI, MO, TO>(measurement: &Measurement<DI, MI, MO, TO>) -> Result<()>
where
    DI: Domain,
    MI: PopulationMetric,
    MO: AmplifiableMeasure,
    TO: Carrier,
{
    let no = |error: Error| Error::MakeMeasurement(format!("measurement: {error}"));
    let unchanged = measurement.input().metric().unchanged().map_err(no)?;
    if MO::is_nothing(&measurement.map(&unchanged).map_err(no)?)? {
        return Ok(());
    }
    Err(Error::MakeMeasurement(
        "measurement: expected a map that is 0 at distance 0; this release may depend on the order \
         of the records, which sampling does not hide. Fix a delta after sampling, not before"
            .into(),
    ))
}

/// Make a measurement on a secret sample state its loss to the population.
///
/// # Arguments
/// * `measurement` - the measurement on the sample; its measure is `MaxDivergence` or
///   `Approximate<MaxDivergence>`
/// * `population_size` - the number of records in the population
///
/// # Precondition
/// The size of the sample is part of the input domain, and is at most `population_size`, which is
/// public and fixed. The metric counts records in a way that allows for replaced ones:
/// `SymmetricDistance`, `InsertDeleteDistance` or `ChangeOneDistance`. Data at distance 0, which
/// may be in another order, give the same distribution of releases: a measurement with a loss there
/// is refused, even if it is only a delta. So a delta must be fixed after sampling, and not before.
///
/// The caller vouches for two more conditions, which the code cannot check: the data is a *simple
/// random sample without replacement* of the population, and only the curator knows its members.
///
/// # Postcondition
/// The release is the release of the measurement. Its loss is one to the population, in the measure
/// [`Sampled`], which does not compose: two releases from one sample share its secret. To make
/// several releases, compose them first, and then amplify the composition once.
///
/// # Map
/// Distances are those between populations. Let `n` and `N` be the sizes, and `k` the number of
/// records that `d_in` may replace: half of `d_in`, rounded down, where the metric counts removed
/// and added records. With `(epsilon, delta)` the loss of the measurement at `d_in`, or at one
/// replaced record if `k = 1`, and `q = min(1, k n / N)`, the loss is
/// `(ln(1 + q (e^epsilon - 1)), q delta)`, rounded up. Without a delta, it is at most `k` times the
/// loss for a single replaced record.
///
/// # Proof
/// Let `x`, `y` be populations that differ by `k` replaced records. A sample of `x` takes at least
/// one of them with probability `p <= k n / N`; couple it with the sample of `y` at the same
/// places. So both releases are mixtures that share, with weight `1 - p`, the releases from samples
/// without replaced records. Call the rest of the first mixture `B`, and the rest of the second
/// mixture `C`. Samples in `B` and `C` are coupled with at most `k` replaced records between them.
/// Each is also coupled with a sample of the common part, where records that are not in the sample
/// take the place of those that are replaced: again at most `k` differ. So all three are at most
/// the loss at `d_in` apart, and the claim is advanced joint convexity (Balle, Barthe, Gaboardi
/// 2018; for `k = 1` their bound for samples without replacement). The bound grows with the weight,
/// so `q` may stand for `p`. The other bound is `k` times the pure loss at one replaced record. It
/// is group privacy, applied to the release as a mechanism on the population.
///
/// # Errors
/// * `MakeMeasurement` when the domain does not fix the size of the sample, when the population is
///   smaller, when its size is not an exact float, when the metric does not count replaced records,
///   or when the measurement has a loss at distance 0
/// * from the map: the errors of the measurement's map
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_laplace, make_population_amplification};
/// let sample = VectorDomain::new(AtomDomain::<i32>::bounded(Bounds::new(0, 1)?)).with_size(10);
/// let sample = Space::new(sample, ChangeOneDistance)?;
/// let sums = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new())?;
/// let sum = Transformation::new(
///     sample,
///     sums,
///     Function::map(|rows: &Vec<i32>| Ok(rows.iter().sum())),
///     StabilityMap::new(|d_in: &u32| {
///         i32::try_from(*d_in).map_err(|error| Error::Overflow(error.to_string()))
///     }),
/// );
/// let noisy = sum.then(|sums| make_laplace(sums, Scale::new(1.0)?, None))?;
/// assert_eq!(noisy.map(&1)?, 1.0);
/// let amplified = make_population_amplification(noisy, 100)?;
/// assert!((amplified.map(&1)? - 0.1585).abs() < 1e-3);
/// # Ok::<(), Error>(())
/// ```
pub fn make_population_amplification<DI, MI, MO, TO>(
    measurement: Measurement<DI, MI, MO, TO>,
    population_size: usize,
) -> Result<Measurement<DI, MI, Sampled<MO>, TO>>
where
    DI: Domain,
    MI: PopulationMetric,
    MO: AmplifiableMeasure,
    TO: Carrier,
{
    let map = replacing(&measurement, population_size, "population_size")?;
    let inner = measurement.measure().clone();
    Ok(measurement.with_loss(Sampled(inner), PrivacyMap::new(move |d_in| map.eval(d_in))))
}

/// Bound the loss of a measurement on a sample of `size` records, under replaced records.
///
/// # Errors
/// `MakeMeasurement`, as for [`make_population_amplification`].
pub(super) fn replacing<DI, MI, MO, TO>(
    measurement: &Measurement<DI, MI, MO, TO>,
    size: usize,
    name: &str,
) -> Result<PrivacyMap<MI, MO>>
where
    DI: Domain,
    MI: PopulationMetric,
    MO: AmplifiableMeasure,
    TO: Carrier,
{
    let no = |reason: String| Error::MakeMeasurement(reason);
    let (domain, metric) = (measurement.input().domain(), measurement.input().metric().clone());
    let Some(sample_size) = domain.records() else {
        return Err(no("measurement: expected a domain that fixes the number of records".into()));
    };
    if size < sample_size {
        return Err(no(format!(
            "{name}: expected at least the {sample_size} records of the sample, \
             found {size}"
        )));
    }
    if (1 << f64::MANTISSA_DIGITS) < size {
        return Err(no(format!("{name}: expected at most 2^53, found {size}")));
    }
    let counted = |error: Error| no(format!("measurement: {error}"));
    let one = metric.one_replaced().map_err(counted)?;
    let unchanged = metric.unchanged().map_err(counted)?;
    check_common(measurement)?;
    let share = move |records: u32| match sample_size {
        0 => Ok(0.0),
        n => f64::from(records).inf_mul(n as f64)?.inf_div(size as f64).map(|q| q.min(1.0)),
    };
    let inner = measurement.clone();
    Ok(PrivacyMap::new(move |d_in: &MI::Distance| {
        let one = || MO::amplified(share(1)?, &inner.map(&one)?);
        match metric.replaced(d_in)? {
            0 => MO::amplified(0.0, &inner.map(&unchanged)?),
            // Data of one size is never at a distance between one and two replaced records.
            1 => one(),
            records => {
                let loss = MO::amplified(share(records)?, &inner.map(d_in)?)?;
                MO::grouped(loss, one, records)
            }
        }
    }))
}
register! {
    "population_amplification.rs": make_population_amplification(measurement, population_size)
        for DI in [AnyDomain], MI in [AnyMetric],
            MO in [MaxDivergence, Approximate<MaxDivergence>], TO in [AnyValue];
}
