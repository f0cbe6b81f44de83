//! Measurements on a secret sample of the data. Each release draws a new sample.

use opendp_core::arith::{Directed, shown};
use opendp_core::erased::{AnyDistance, AnyDomain, AnyMetric, AnyValue};
use opendp_core::random::{NoEntropy, with_secure};
use opendp_core::{
    Approximate, Carrier, Chunk, Domain, Error, Function, InsertDeleteDistance, MaxDivergence,
    Measurement, PrivacyMap, Result, SmoothedMaxDivergence, SymmetricDistance,
};

use crate::amplification::AmplifiableMeasure;
use crate::amplification::population_amplification::{PopulationMetric, check_common, replacing};
use crate::amplification::rows::{check_rows, chosen};
use crate::samplers::BernoulliLanes;

/// A metric on data sets of any size. Samples of two close data sets can be coupled.
///
/// An implementation makes two claims for two data sets at distance `d`. First, the total number of
/// records that are in only one of the data sets is at most `changed(d)`. All other records are
/// shared. Second, two subsets, one of each data set, are at most `d` apart if both contain the
/// same shared records. Each subset can also contain any records of its data set that are not
/// shared.
pub trait AddRemoveMetric: PopulationMetric {
    /// Return an upper bound on the number of records that are in only one of two data sets at
    /// distance `d_in`.
    ///
    /// # Errors
    /// `NotImplemented` when the metric does not make the claims of this trait.
    fn changed(&self, d_in: &Self::Distance) -> Result<u32>;
    /// Return the distance between two data sets if one of them has one additional record.
    ///
    /// # Errors
    /// `NotImplemented` when the metric does not make the claims of this trait.
    fn one_changed(&self) -> Result<Self::Distance>;
}
macro_rules! add_remove {
    ($($metric:ident),*) => {
        $(impl AddRemoveMetric for $metric {
            fn changed(&self, d_in: &u32) -> Result<u32> {
                Ok(*d_in)
            }
            fn one_changed(&self) -> Result<u32> {
                Ok(1)
            }
        })*
        impl AddRemoveMetric for AnyMetric {
            fn changed(&self, d_in: &AnyDistance) -> Result<u32> {
                $(if let Ok(metric) = self.downcast_ref::<$metric>() {
                    return metric.changed(d_in.downcast_ref()?);
                })*
                Err(uncounted(self))
            }
            fn one_changed(&self) -> Result<AnyDistance> {
                $(if let Ok(metric) = self.downcast_ref::<$metric>() {
                    return metric.one_changed().map(AnyDistance::new);
                })*
                Err(uncounted(self))
            }
        }
    };
}
add_remove!(SymmetricDistance, InsertDeleteDistance);
#[cold]
fn uncounted(metric: &AnyMetric) -> Error {
    let found = metric.inner_type();
    Error::NotImplemented(format!(
        "expected a distance that counts records added and removed, found {found}"
    ))
}

/// Make a measurement that runs on a Poisson sample of the data.
///
/// Each record is in the sample with the same probability, independently of the other records. Each
/// release draws a new independent sample, which stays secret. So these releases compose like other
/// releases.
///
/// # Arguments
/// * `measurement` - the measurement on the sample. Its loss is pure, approximate, or a privacy
///   profile
/// * `rate` - the probability that a record is in the sample
/// * `size` - the number of records of the data, if this number is public; neighbours then have the
///   same number of records
///
/// # Precondition
/// The rate is above 0 and at most 1. The number of records is not part of the measurement's input
/// domain, because a sample has a random number of records. The metric counts added and removed
/// records: `SymmetricDistance` or `InsertDeleteDistance`. For data under `ChangeOneDistance` or
/// `HammingDistance`, give the size, and chain this measurement after `make_metric_unbounded`. Data
/// at distance 0 must give the same distribution of releases, as in
/// [`make_population_amplification`](crate::make_population_amplification).
///
/// # Postcondition
/// The input domain is the domain of the measurement. If `size` is given, the input domain contains
/// only data with `size` records. The release is the measurement's release on the sample. The
/// records of the sample keep their order. The probability that a record is in the sample is
/// exactly the rational number that the float `rate` represents. The new measurement can read the
/// data as a stream if `measurement` can.
///
/// # Map
/// Let `k` be the total number of added and removed records that `d_in` allows. Let
/// `q = 1 - (1 - rate)^k`, rounded up. If the measurement has the loss `(epsilon, delta)` at
/// `d_in`, the loss on the sample is `(ln(1 + q (e^epsilon - 1)), q delta)`, rounded up. This bound
/// holds for a single pair of epsilon and delta, and for each point of a profile. If `k` is at
/// least 2, there is a second bound: the loss of a path of `k` steps, as in
/// [`make_group_privacy`](crate::make_group_privacy). Each step has the loss on the sample at one
/// changed record. The map uses the second bound if it is smaller.
///
/// If `size` is given, `k` is the number of replaced records that `d_in` allows: half of `d_in`,
/// rounded down. The loss for one replaced record is at most the loss for one removed and one added
/// record. Let the measurement have the loss `(a, delta)` at one added record, and the loss
/// `(r, delta')` at one replaced record, with `a <= r`. On the sample, one replaced record has the
/// epsilon `ln((1 - rate + rate e^a) / (1 - rate + rate e^(a - r)))`. The delta on the sample is
/// `rate` times the larger of `delta` and `delta'`.
///
/// If the loss is a profile, the loss on the sample is also a profile. The profile on the sample
/// contains a distribution of the privacy loss, which compositions use. In two cases, the profile
/// on the sample has the tightest known composition. The first case is one added or removed record,
/// for a measurement that adds Laplace or Gaussian noise, uses randomized response, or is known
/// only as `(epsilon, delta)`-private. The second case is one replaced record, for a measurement
/// that adds Laplace or Gaussian noise. In all other cases, and if a transformation comes before
/// this measurement, a composition uses one bound for both directions of the divergence.
///
/// # Proof
/// Let `x`, `y` be `d_in`-close. Call the records in both `x` and `y` shared. Couple the two
/// samples such that both contain the same shared records. Every other record is in the sample of
/// its data set with probability `rate`. With probability at least `(1 - rate)^k`, both samples
/// contain only shared records. So for each choice of the kept shared records, the releases are
/// mixtures `(1 - q) A + q B` and `(1 - q) A + q C`. Here `A` is the release on the kept shared
/// records alone. `B` and `C` are releases on the kept shared records with some other records. The
/// data of `A`, `B` and `C` are at most `d_in` apart. Advanced joint convexity (Balle, Barthe,
/// Gaboardi 2018, Theorem 2) gives the bound for each choice. The joint convexity of the
/// hockey-stick divergence then gives the bound for all choices together. The bound grows with `q`,
/// so `q` can be rounded up. If one record is removed or added, `B` or `C` equals `A`. Theorem 11
/// of Zhu, Dong, Wang 2022 gives the pairs of distributions for this case (see
/// [`SampledPair`](crate::accounting::SampledPair)).
///
/// If `size` is given, `x` and `y` have equally many records that are not shared. Make pairs of one
/// record of `x` and one record of `y`. Keep both records of a pair, or remove both. So there are
/// `k` random choices instead of `2 k`. If one record is replaced, the data of `B` and of `C`
/// differ by this record. Each of the two has one record more than the data of `A`.
/// [`profile_of_replaced_sample`](crate::accounting::profile_of_replaced_sample) gives the profile.
/// The theorem in the documentation of this function also gives the loss as a single pair of
/// epsilon and delta. Let `c = (alpha - 1)(1 - rate)`. Use the theorem at the order `alpha` for
/// which `c e^-a + alpha rate e^-r = rate`, and split `rate` into these two terms. This `alpha` is
/// `e` to the power of the epsilon that the map states. The two orders in the theorem are then
/// `c / (c e^-a) = e^a` and `alpha rate / (alpha rate e^-r) = e^r`.
///
/// # Errors
/// * `MakeMeasurement` when the rate is 0, negative, above 1 or NaN
/// * `MakeMeasurement` when the members of the domain, such as texts, do not consist of records
/// * `MakeMeasurement` when the domain fixes the number of records
/// * `MakeMeasurement` when `size` is given, and the domain cannot fix the number of records
/// * `MakeMeasurement` when the metric does not count added and removed records
/// * `MakeMeasurement` when the measurement has a loss at distance 0
/// * from the map: the errors of the measurement's map
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_gaussian_in, make_composition, make_poisson_subsampling};
/// let rows = VectorDomain::new(AtomDomain::<f64>::bounded(Bounds::new(0.0, 1.0)?));
/// let sum = Transformation::new(
///     Space::new(rows, SymmetricDistance)?,
///     Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new())?,
///     Function::map(|rows: &Vec<f64>| Ok(rows.iter().sum())),
///     StabilityMap::new(|d_in: &u32| Ok(f64::from(*d_in))),
/// );
/// let step = sum.then(|sums| make_gaussian_in(sums, Scale::new(1.0)?, None))?;
/// let of = |size| {
///     make_poisson_subsampling::<_, _, SmoothedMaxDivergence, _>(step.clone(), 0.01, size)
/// };
/// let training = make_composition(vec![of(None)?; 1000])?;
/// assert!((training.map(&1)?.epsilon(1e-5)? - 1.828).abs() < 0.001);
/// // One of 5000 records is replaced: one record is removed, and one record is added.
/// let training = make_composition(vec![of(Some(5000))?; 1000])?;
/// assert!((training.map(&2)?.epsilon(1e-5)? - 2.843).abs() < 0.001);
/// # Ok::<(), Error>(())
/// ```
pub fn make_poisson_subsampling<DI, MI, MO, TO>(
    measurement: Measurement<DI, MI, MO, TO>,
    rate: f64,
    size: Option<usize>,
) -> Result<Measurement<DI, MI, MO, TO>>
where
    DI: Domain,
    MI: AddRemoveMetric,
    MO: AmplifiableMeasure,
    TO: Carrier,
{
    let refused = |reason: String| Error::MakeMeasurement(reason);
    check_rows(measurement.input().domain())?;
    if !(0.0 < rate && rate <= 1.0) {
        let found = shown(rate);
        let reason = format!("rate: expected a number above 0 and at most 1, found {found}");
        return Err(refused(reason));
    }
    if let Some(records) = measurement.input().domain().records() {
        return Err(refused(format!(
            "measurement: expected a domain with any number of records, because the size of a sample \
             is random; this domain fixes {records}"
        )));
    }
    let input = match size {
        None => measurement.input().clone(),
        Some(size) => measurement.input().with_records(size).ok_or_else(|| {
            refused(
                "size: expected null, because this domain cannot state a number of records".into(),
            )
        })?,
    };
    let map = poisson_map(&measurement, rate, size.is_some())?;
    let coins = BernoulliLanes::new(rate, 0);
    let keep = move |rows: <DI::Carrier as Carrier>::Chunk<'_>, kept: &mut DI::Carrier| {
        kept.append_rows(rows.narrow(0..0));
        with_secure(|source| {
            for start in (0..rows.rows()).step_by(64) {
                let lanes = (rows.rows() - start).min(64);
                let mut heads = coins.flip(u64::MAX >> (64 - lanes), source)?;
                while heads != 0 {
                    let row = start + heads.trailing_zeros() as usize;
                    kept.append_rows(rows.narrow(row..row + 1));
                    heads &= heads - 1;
                }
            }
            Ok::<(), NoEntropy>(())
        })?;
        Ok(())
    };
    let function = if measurement.function().streams() {
        Function::rows(keep).with_secret_sample().then(measurement.function())
    } else {
        let next = measurement.function().clone();
        Function::map(move |data: &DI::Carrier| {
            let mut kept = DI::Carrier::buffer();
            keep(data.chunk(), &mut kept)?;
            next.eval(&kept)
        })
    };
    Ok(Measurement::new(input, measurement.measure().clone(), function, map))
}

/// Return the map of a measurement on a Poisson sample. `fixed` states whether the data have a
/// fixed size.
fn poisson_map<DI, MI, MO, TO>(
    inner: &Measurement<DI, MI, MO, TO>,
    rate: f64,
    fixed: bool,
) -> Result<PrivacyMap<MI, MO>>
where
    DI: Domain,
    MI: AddRemoveMetric,
    MO: AmplifiableMeasure,
    TO: Carrier,
{
    let refused = |error: Error| Error::MakeMeasurement(format!("measurement: {error}"));
    let (inner, metric) = (inner.clone(), inner.input().metric().clone());
    let added = metric.one_changed().map_err(refused)?;
    let replaced = metric.one_replaced().map_err(refused)?;
    let unchanged = metric.unchanged().map_err(refused)?;
    check_common(&inner)?;
    Ok(PrivacyMap::new(move |d_in: &MI::Distance| {
        let records = if fixed { metric.replaced(d_in)? } else { metric.changed(d_in)? };
        let single = || match fixed {
            true => MO::amplified_by_replacement(rate, &inner.map(&added)?, &inner.map(&replaced)?),
            false => MO::amplified_by_one(rate, &inner.map(&added)?),
        };
        match records {
            0 => inner.map(&unchanged),
            1 => single(),
            records => {
                let loss = MO::amplified(any_of(records, rate)?, &inner.map(d_in)?)?;
                MO::grouped(loss, single, records)
            }
        }
    }))
}

/// Return an upper bound on the probability that a sample contains at least one of `records` given
/// records.
fn any_of(records: u32, rate: f64) -> Result<f64> {
    // The power `(1 - rate)^records` is computed by squaring, and rounded down.
    let (mut none, mut power, mut left) = (1.0_f64, 1.0.neg_inf_sub(rate)?, records);
    while left > 0 {
        if left % 2 == 1 {
            none = none.neg_inf_mul(power)?;
        }
        power = power.neg_inf_mul(power)?;
        left /= 2;
    }
    Ok(1.0.inf_sub(none)?.clamp(0.0, 1.0))
}

/// Make a measurement that runs on a sample of fixed size, drawn without replacement.
///
/// The number of records of the data is public. Each release draws a new independent sample, which
/// stays secret. So these releases compose like other releases. (If the data is already a sample,
/// see [`make_population_amplification`](crate::make_population_amplification).)
///
/// # Arguments
/// * `measurement` - the measurement on the sample. Its loss is pure, approximate, or a privacy
///   profile
/// * `size` - the number of records of the data
///
/// # Precondition
/// The size of the sample is part of the input domain of the measurement, and is at most `size`.
/// The metric is `SymmetricDistance`, `InsertDeleteDistance` or `ChangeOneDistance`. For data with
/// equally many records, each of these metrics limits the number of replaced records. Data at
/// distance 0 must give the same distribution of releases, as in
/// [`make_population_amplification`](crate::make_population_amplification).
///
/// # Postcondition
/// The input domain is the measurement's domain, but with `size` records instead of the size of the
/// sample. The release is the measurement's release on a sample. The records of the sample keep
/// their order. All samples of the fixed size are equally likely.
///
/// # Map
/// Let `n` be the size of the sample, `k` the number of replaced records that `d_in` allows, and
/// `q = min(1, k n / size)`. Let `(epsilon, delta)` be the loss of the measurement at `d_in`, or at
/// one replaced record if `k = 1`. The loss on the sample is
/// `(ln(1 + q (e^epsilon - 1)), q delta)`, rounded up. This bound holds for a single pair of
/// epsilon and delta, and for each point of a profile. If `k` is at least 2, there is a second
/// bound, as in [`make_poisson_subsampling`]: the loss of `k` steps. Each step replaces one record.
/// If the loss is a profile, the profile on the sample contains a distribution of the loss.
///
/// # Proof
/// The proof of `make_population_amplification` applies, with the data in place of the populations
/// `x` and `y`. The sample is secret because the measurement draws it and never releases it. The
/// loss composes because the next sample is drawn independently.
///
/// # Errors
/// * `MakeMeasurement` when the members of the domain, such as texts, do not consist of records
/// * `MakeMeasurement` when the domain does not fix the size of the sample
/// * `MakeMeasurement` when `size` is below the size of the sample, or above 2^53
/// * `MakeMeasurement` when the metric is not one of the metrics of the precondition
/// * `MakeMeasurement` when the measurement has a loss at distance 0
/// * from the map: the errors of the measurement's map
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{make_fixed_size_subsampling, make_randomized_response_bool};
/// let rows = VectorDomain::new(AtomDomain::<bool>::default()).with_size(1);
/// let pick = Transformation::new(
///     Space::new(rows, ChangeOneDistance)?,
///     Space::new(AtomDomain::<bool>::default(), DiscreteDistance)?,
///     Function::map(|rows: &Vec<bool>| Ok(rows.first() == Some(&true))),
///     StabilityMap::new(|d_in: &u32| Ok((*d_in).min(1))),
/// );
/// let answer = pick.then(|_| make_randomized_response_bool(0.75, false))?;
/// let sampled = make_fixed_size_subsampling(answer, 4)?; // the answer of one of four people
/// assert!((sampled.map(&1)? - 1.5_f64.ln()).abs() < 1e-12);
/// sampled.invoke(&vec![true, false, false, true])?;
/// # Ok::<(), Error>(())
/// ```
pub fn make_fixed_size_subsampling<DI, MI, MO, TO>(
    measurement: Measurement<DI, MI, MO, TO>,
    size: usize,
) -> Result<Measurement<DI, MI, MO, TO>>
where
    DI: Domain,
    MI: PopulationMetric,
    MO: AmplifiableMeasure,
    TO: Carrier,
{
    let map = replacing(&measurement, size, "size")?;
    let space = measurement.input().with_records(size);
    let (Some(input), Some(kept)) = (space, measurement.input().domain().records()) else {
        let reason = "measurement: expected a domain that fixes the number of records";
        return Err(Error::MakeMeasurement(reason.into()));
    };
    let next = measurement.function().clone();
    let function = Function::map(move |data: &DI::Carrier| {
        let rows = data.chunk();
        let mut sample = DI::Carrier::buffer();
        sample.append_rows(rows.narrow(0..0));
        chosen(rows.rows(), kept)?
            .into_iter()
            .for_each(|row| sample.append_rows(rows.narrow(row..row + 1)));
        next.eval(&sample)
    });
    Ok(Measurement::new(input, measurement.measure().clone(), function, map))
}

register! {
    "subsampling.rs": make_poisson_subsampling(measurement, rate, size = null)
        for DI in [AnyDomain], MI in [AnyMetric],
            MO in [MaxDivergence, Approximate<MaxDivergence>, SmoothedMaxDivergence],
            TO in [AnyValue];
}
register! {
    "subsampling.rs": make_fixed_size_subsampling(measurement, size)
        for DI in [AnyDomain], MI in [AnyMetric],
            MO in [MaxDivergence, Approximate<MaxDivergence>, SmoothedMaxDivergence],
            TO in [AnyValue];
}

#[cfg(test)]
mod tests;
