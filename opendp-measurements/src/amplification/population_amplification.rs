//! Privacy amplification: the loss of a release from a secret sample of a population.

use opendp_core::arith::Directed;
use opendp_core::erased::{AnyDistance, AnyDomain, AnyMetric, AnyValue};
use opendp_core::{
    Approximate, Carrier, ChangeOneDistance, Domain, Error, InsertDeleteDistance, MaxDivergence,
    Measurement, Metric, PrivacyMap, Result, Sampled, SymmetricDistance,
};

use super::amplifiable_measure::AmplifiableMeasure;
use crate::amplification::rows::check_rows;

/// A metric on data sets of a fixed size. A distance bounds the number of replaced records.
///
/// An implementation makes two claims for data sets of equal size. First, data sets at distance `d`
/// differ by at most `replaced(d)` replaced records. Second, let two data sets at distance `d`
/// differ by `j` replaced records. Take two samples of equal size, one of each data set. If the
/// samples differ by at most `j` replaced records, the samples are at most `d` apart.
pub trait PopulationMetric: Metric {
    /// Return an upper bound on the number of replaced records between two data sets of the same
    /// size at the distance `d_in`.
    ///
    /// # Errors
    /// `NotImplemented` when the metric cannot make the claims of this trait.
    fn replaced(&self, d_in: &Self::Distance) -> Result<u32>;
    /// Return the distance between data sets that differ by one replaced record.
    ///
    /// # Errors
    /// `NotImplemented` when the metric cannot make the claims of this trait.
    fn one_replaced(&self) -> Result<Self::Distance>;
    /// Return the distance between a data set and itself.
    ///
    /// # Errors
    /// `NotImplemented` when the metric cannot make the claims of this trait.
    fn unchanged(&self) -> Result<Self::Distance>;
}
macro_rules! population {
    ($($metric:ident $single:literal),*) => {
        $(impl PopulationMetric for $metric {
            fn replaced(&self, d_in: &u32) -> Result<u32> {
                Ok(*d_in / $single)
            }
            fn one_replaced(&self) -> Result<u32> {
                Ok($single)
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
// The first two of the following metrics count a replaced record as one removed record and one
// added record. So one replaced record gives the distance 2.
population!(SymmetricDistance 2, InsertDeleteDistance 2, ChangeOneDistance 1);
#[cold]
fn uncounted(metric: &AnyMetric) -> Error {
    Error::NotImplemented(format!(
        "expected `SymmetricDistance`, `InsertDeleteDistance` or `ChangeOneDistance`, found {}",
        metric.inner_type()
    ))
}

/// Check that data at distance 0 give the same distribution of releases. Such data can be the same
/// records in another order. The amplification needs this property. Coupled samples without changed
/// records are at distance 0, and must give the same distribution of releases: the common part of
/// the proof. If the map had a delta at distance 0, this delta would apply even to such samples. So
/// sampling would not make this delta smaller.
pub(super) fn check_common<DI, MI, MO, TO>(measurement: &Measurement<DI, MI, MO, TO>) -> Result<()>
where
    DI: Domain,
    MI: PopulationMetric,
    MO: AmplifiableMeasure,
    TO: Carrier,
{
    let refused = |error: Error| Error::MakeMeasurement(format!("measurement: {error}"));
    let unchanged = measurement.input().metric().unchanged().map_err(refused)?;
    if MO::is_nothing(&measurement.map(&unchanged).map_err(refused)?)? {
        return Ok(());
    }
    Err(Error::MakeMeasurement(
        "measurement: expected a map that is 0 at distance 0. The release must not depend on \
         the order of the records, and its map must state a profile instead of a fixed delta"
            .into(),
    ))
}

/// Make a measurement that runs on a secret sample of a population. Its map states how much a
/// release reveals about the population.
///
/// # Arguments
/// * `measurement` - the measurement on the sample; its measure is an `AmplifiableMeasure`, such as
///   `MaxDivergence` or `Approximate<MaxDivergence>`
/// * `population_size` - the number of records in the population
///
/// # Precondition
/// The size of the sample is part of the input domain. The sample has at most `population_size`
/// records. The population size is public and fixed. The metric is `SymmetricDistance`,
/// `InsertDeleteDistance` or `ChangeOneDistance`, so a distance limits the number of replaced
/// records. Data at distance 0, for example the same records in another order, must give the same
/// distribution of releases. A measurement with a loss at distance 0 is refused, even if the loss
/// is only a delta. So a measurement with a fixed delta (see
/// [`make_fix_delta`](crate::make_fix_delta)) is refused. Instead, a program can amplify the
/// measurement whose delta is not fixed yet. This measurement states a privacy profile.
///
/// The caller is responsible for two more conditions, which the code cannot check. First, the data
/// must be a *simple random sample without replacement* of the population. Second, only the curator
/// may know which members of the population are in the sample.
///
/// # Postcondition
/// The release does not change. The loss is stated for the population, in the measure [`Sampled`].
/// This measure does not compose, because two releases from one sample depend on the same secret.
/// For several releases, first compose the measurements, and then amplify the composition.
///
/// # Map
/// The distance `d_in` is between populations. Let `n` and `N` be the sizes of the sample and
/// the population. Let `k` be the largest number of replaced records between two populations at
/// distance `d_in`. If the metric counts removed and added records, `k` is half of `d_in`, rounded
/// down. Let `(epsilon, delta)` be the loss of the measurement at `d_in`, or at one replaced record
/// if `k = 1`. Let `q = min(1, k n / N)`. The loss is `(ln(1 + q (e^epsilon - 1)), q delta)`,
/// rounded up. If `k` is at least 2, there is a second bound: the loss of a path of `k` steps, as
/// in [`make_group_privacy`](crate::make_group_privacy). Each step has the amplified loss for a
/// single replaced record. The map uses the second bound if it is smaller. A pair of an epsilon and
/// a delta counts as smaller only if neither of its two numbers is larger.
///
/// # Proof
/// Let `x`, `y` be populations that differ by `k` replaced records. Pair each record of `x` that is
/// not replaced with the same record of `y`. If the metric depends on the order, the pairs keep the
/// order. Pair the `k` replaced records of `x` with the `k` new records of `y`. A sample of `x`
/// contains at least one replaced record with probability `p <= k n / N`. Couple each sample of `x`
/// with the sample of `y` that has the paired records. So both distributions of releases are
/// mixtures with a common part. The common part `A` is the distribution of releases from samples
/// without replaced records, and has the weight `1 - p`. Let `B` be the other part of the first
/// mixture, and `C` the other part of the second mixture. Two coupled samples, one for `B` and one
/// for `C`, differ by at most `k` replaced records. There is a second coupling. In a sample for `B`
/// or `C`, exchange the replaced records for random records that are in both populations and not in
/// the sample. The new sample is a sample for `A`, and differs from the old sample in at most `k`
/// records. So the loss between any two of `A`, `B` and `C` is at most the loss at `d_in`. Advanced
/// joint convexity then gives the claim (Balle, Barthe, Gaboardi 2018). For `k = 1`, the claim is
/// the bound of this article for samples without replacement. The bound grows with the weight `p`,
/// so `q` can replace `p`. The second bound is group privacy for populations: a path of `k`
/// replaced records leads from `x` to `y`.
///
/// # Errors
/// * `MakeMeasurement` when the members of the domain do not consist of a fixed number of records
/// * `MakeMeasurement` when the population is smaller than the sample, or larger than 2^53
/// * `MakeMeasurement` when the metric is not one of the metrics of the precondition
/// * `MakeMeasurement` when the measurement has a loss at distance 0
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

/// Return the map of a measurement that runs on a sample from `size` records. The map converts a
/// distance to a number of replaced records, and then returns the loss for this number.
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
    let refused = |reason: String| Error::MakeMeasurement(reason);
    let (domain, metric) = (measurement.input().domain(), measurement.input().metric().clone());
    let Some(sample_size) = domain.records() else {
        return Err(refused(
            "measurement: expected a domain that fixes the number of records".into(),
        ));
    };
    if size < sample_size {
        return Err(refused(format!(
            "{name}: expected at least {sample_size}, the size of the sample, found {size}"
        )));
    }
    if (1 << f64::MANTISSA_DIGITS) < size {
        return Err(refused(format!("{name}: expected at most 2^53, found {size}")));
    }
    let counted = |error: Error| refused(format!("measurement: {error}"));
    let distance = metric.one_replaced().map_err(counted)?;
    let unchanged = metric.unchanged().map_err(counted)?;
    check_common(measurement)?;
    check_rows(domain)?;
    let share = move |records: u32| match sample_size {
        0 => Ok(0.0),
        n => f64::from(records).inf_mul(n as f64)?.inf_div(size as f64).map(|q| q.min(1.0)),
    };
    let inner = measurement.clone();
    Ok(PrivacyMap::new(move |d_in: &MI::Distance| {
        let single = || MO::amplified(share(1)?, &inner.map(&distance)?);
        match metric.replaced(d_in)? {
            0 => MO::amplified(0.0, &inner.map(&unchanged)?),
            // Data sets of the same size differ by a whole number of replaced records. So at each
            // `d_in` that allows one replaced record, the loss is the loss at one replaced record.
            1 => single(),
            records => {
                let loss = MO::amplified(share(records)?, &inner.map(d_in)?)?;
                MO::grouped(loss, single, records)
            }
        }
    }))
}
register! {
    "population_amplification.rs": make_population_amplification(measurement, population_size)
        for DI in [AnyDomain], MI in [AnyMetric],
            MO in [MaxDivergence, Approximate<MaxDivergence>], TO in [AnyValue];
}
