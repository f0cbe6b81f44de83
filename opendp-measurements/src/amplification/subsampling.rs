//! Measurements on a secret sample of the data, drawn afresh for each release.

use opendp_core::arith::Directed;
use opendp_core::erased::{AnyDistance, AnyDomain, AnyMetric, AnyValue};
use opendp_core::random::{NoEntropy, shuffle, with_secure};
use opendp_core::{
    Approximate, Carrier, Chunk, Domain, Error, Function, InsertDeleteDistance, MaxDivergence,
    Measurement, PrivacyMap, Result, SmoothedMaxDivergence, SymmetricDistance,
};

use crate::amplification::population_amplification::{
    AmplifiableMeasure, PopulationMetric, check_common, replacing,
};
use crate::samplers::BernoulliLanes;

/// A metric on data sets of any size, in which close data sets can be sampled alike.
///
/// An implementation claims, for data sets at distance `d`: they share all but `changed(d)` of
/// their records, counted over both data sets. If both keep the same shared records, and each keeps
/// any of its other records, the kept records are at most `d` apart.
pub trait AddRemoveMetric: PopulationMetric {
    /// Bound the number of records that are in only one of the data sets.
    ///
    /// # Errors
    /// `NotImplemented` when the claim is not made.
    fn changed(&self, d_in: &Self::Distance) -> Result<u32>;
    /// The distance of data sets where one has one record more.
    ///
    /// # Errors
    /// `NotImplemented` when the claim is not made.
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

/// Make a measurement run on a Poisson sample of the data.
///
/// Each record is in the sample with the same probability, independently of the others.
/// The sample is drawn afresh for each release and is not released, so these releases compose like
/// any others.
///
/// # Arguments
/// * `measurement` - the measurement on the sample, with a loss that is a privacy profile, pure, or
///   approximate
/// * `rate` - the probability that a record is in the sample
/// * `size` - the number of records of the data, if it is public; neighbours then have the same
///   size
///
/// # Precondition
/// The rate is above 0 and at most 1. The number of records is not part of the measurement's input
/// domain, because the number of records of a sample is random. The metric counts records added and
/// removed: `SymmetricDistance` or `InsertDeleteDistance`. (For data under `ChangeOneDistance` or
/// `HammingDistance`, give the size, and put `make_metric_unbounded` before this.) Data at distance
/// 0 must satisfy the condition of
/// [`make_population_amplification`](crate::make_population_amplification).
///
/// # Postcondition
/// The input domain is the domain of the measurement, with `size` records if it is given. The
/// release is the measurement's release on the sample, whose records keep their order. Each record
/// is in the sample with exactly the rational probability of the float `rate`. It streams if the
/// measurement does.
///
/// # Map
/// Let `k` be the number of records that `d_in` allows to be added and removed, and
/// `q = 1 - (1 - rate)^k`, rounded up. If the measurement has the loss `(epsilon, delta)` at
/// `d_in`, the loss on the sample is `(ln(1 + q (e^epsilon - 1)), q delta)`, rounded up. This holds
/// for each point of a profile, or for the one pair. Without a delta it is at most `k` times the
/// loss at one record.
///
/// With a `size`, `k` is the number of records that `d_in` allows to be replaced: half of `d_in`,
/// rounded down. The loss at one replaced record is less than the loss at one removed and one added
/// record. Let the measurement have the loss `(a, delta)` at one added record and `(r, delta')` at
/// one replaced record, with `a <= r`. Then the loss on the sample is
/// `ln((1 - rate + rate e^a) / (1 - rate + rate e^(a - r)))` and `rate` times the larger delta.
///
/// A profile keeps the distribution of its loss. At one added or removed record, the sampled
/// profile composes as tightly as is known if the measurement adds Laplace or Gaussian noise, flips
/// an answer, or is only known to be `(epsilon, delta)`-private. At one replaced record, it does so
/// if the measurement adds noise. Otherwise, and for more records, it composes as a symmetric
/// bound.
///
/// # Proof
/// Let `x`, `y` be `d_in` apart. Keep the same shared records in both; each other record is kept
/// with probability `rate`. With probability at least `(1 - rate)^k`, none of the other records is
/// kept in either. So for each choice of shared records the releases are mixtures `(1 - q) A + q B`
/// and `(1 - q) A + q C`. Here `A` is the release on the kept shared records alone. `B` and `C` are
/// releases on data that are at most `d_in` from the data of `A` and from each other. Advanced
/// joint convexity (Balle, Barthe, Gaboardi 2018, Theorem 2) gives the bound for each choice, and
/// the joint convexity of the hockey-stick divergence gives it for all choices. It grows with `q`.
/// If one record is removed or added, one of `B` and `C` equals `A`. Zhu, Dong, Wang 2022, Theorem
/// 11, gives the pairs of distributions for this case, see
/// [`SampledPair`](crate::accounting::SampledPair).
///
/// With a size, `x` has as many of the others as `y`. Make pairs of them, and keep both or none of
/// each pair: `k` choices instead of `2 k`. For one replaced record, `A` is the release without
/// this record. The data of `B` and of `C` have one record more than the data of `A`, and differ
/// from each other by one replaced record.
/// [`profile_of_replaced_sample`](crate::accounting::profile_of_replaced_sample) gives the profile.
/// The theorem there also gives the pair, at the order where `c e^-a + alpha rate e^-r = rate`.
/// This order is `e` to the loss above; there the first order is `e^a` and the second one `e^r`.
///
/// # Errors
/// * `MakeMeasurement` when the rate is not above 0 and at most 1, the domain fixes the number of
///   records, the metric does not count records added and removed, or the measurement has a loss at
///   distance 0; with a size, when the domain never fixes the number of records
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
/// // One record of 5000 is replaced: one is removed, and one is added.
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
    let no = |reason: String| Error::MakeMeasurement(reason);
    if !(0.0 < rate && rate <= 1.0) {
        return Err(no(format!("rate: expected a number above 0 and at most 1, found {rate}")));
    }
    if let Some(records) = measurement.input().domain().records() {
        return Err(no(format!(
            "measurement: expected a domain with any number of records, because the size of a sample \
             is random; this domain fixes {records}"
        )));
    }
    let input = match size {
        None => measurement.input().clone(),
        Some(size) => measurement.input().with_records(size).ok_or_else(|| {
            no("size: expected none, because this domain cannot state a number of records".into())
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
        let label = move || format!("poisson_subsampling[{rate:?}]");
        Function::rows(keep).labelled(label).then(measurement.function())
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

/// The map of a Poisson sample, of data whose size is fixed or not.
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
    let no = |error: Error| Error::MakeMeasurement(format!("measurement: {error}"));
    let (inner, metric) = (inner.clone(), inner.input().metric().clone());
    let added = metric.one_changed().map_err(no)?;
    let replaced = metric.one_replaced().map_err(no)?;
    let unchanged = metric.unchanged().map_err(no)?;
    check_common(&inner)?;
    Ok(PrivacyMap::new(move |d_in: &MI::Distance| {
        let records = if fixed { metric.replaced(d_in)? } else { metric.changed(d_in)? };
        let one = || match fixed {
            true => MO::amplified_by_replacement(rate, &inner.map(&added)?, &inner.map(&replaced)?),
            false => MO::amplified_by_one(rate, &inner.map(&added)?),
        };
        match records {
            0 => inner.map(&unchanged),
            1 => one(),
            records => {
                let loss = MO::amplified(any_of(records, rate)?, &inner.map(d_in)?)?;
                MO::grouped(loss, one, records)
            }
        }
    }))
}

/// Bound from above the probability that at least one of some records is in the sample.
fn any_of(records: u32, rate: f64) -> Result<f64> {
    // The power is computed by squaring, and rounded down.
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

/// Make a measurement run on a sample of fixed size, drawn without replacement.
///
/// The size of the data is known. The sample is drawn afresh for each release and is not released,
/// so these releases compose like any others. (Where the data itself is a sample, see
/// [`make_population_amplification`](crate::make_population_amplification).)
///
/// # Arguments
/// * `measurement` - the measurement on the sample, with a loss that is a privacy profile, pure, or
///   approximate
/// * `size` - the number of records of the data
///
/// # Precondition
/// The size of the sample is part of the input domain of the measurement, and is at most `size`.
/// The metric counts records in a way that allows for replaced ones: `SymmetricDistance`,
/// `InsertDeleteDistance` or `ChangeOneDistance`. Data at distance 0 must satisfy the condition of
/// [`make_population_amplification`](crate::make_population_amplification).
///
/// # Postcondition
/// The input domain is the domain of the measurement with `size` records. The release is the
/// measurement's release on a sample, whose records keep their order. All samples are equally
/// likely.
///
/// # Map
/// Let `n` be the size of the sample, `k` the number of records that `d_in` may replace, and
/// `q = min(1, k n / size)`. If the measurement has the loss `(epsilon, delta)` at `d_in`, the loss
/// on the sample is `(ln(1 + q (e^epsilon - 1)), q delta)`, rounded up. This holds for each point
/// of a profile, or for the one pair. Without a delta it is at most `k` times the loss at one
/// replaced record. A profile keeps the distribution of its loss, and composes tightly.
///
/// # Proof
/// The proof of `make_population_amplification` applies, where `x` and `y` are the data. The sample
/// is secret because it is drawn here and never released. The loss composes because the next sample
/// is drawn independently.
///
/// # Errors
/// * `MakeMeasurement` when the domain does not fix the size of the sample, when the data is
///   smaller, when its size is not an exact float, or when the metric does not count replaced
///   records
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
/// let sampled = make_fixed_size_subsampling(answer, 4)?; // of one of four people
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
        let mut places: Vec<usize> = (0..rows.rows()).collect();
        with_secure(|source| shuffle(&mut places, source))?;
        places.truncate(kept);
        places.sort_unstable();
        let mut sample = DI::Carrier::buffer();
        sample.append_rows(rows.narrow(0..0));
        places.into_iter().for_each(|row| sample.append_rows(rows.narrow(row..row + 1)));
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
