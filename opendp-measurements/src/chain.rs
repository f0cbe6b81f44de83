//! Functions that chain two given steps. These functions have the same effect as `then`.

use opendp_core::erased::{AnyDomain, AnyMeasure, AnyMetric, AnyValue};
use opendp_core::{
    After, Carrier, Domain, Function, Measure, Measurement, Metric, Result, Transformation,
};

/// Chain a transformation after another transformation.
///
/// [`Transformation::then`] has the same effect. The argument of `then` is a function that makes
/// the second step.
///
/// # Arguments
/// * `transformation1` - the second step, which gets the output of the first step
/// * `transformation0` - the first step, which gets the data
///
/// # Precondition
/// The output space of the first step is the input space of the second step.
///
/// # Postcondition
/// The function runs the first step and then the second step.
///
/// # Map
/// `d_out = map1(map0(d_in))`; each of the two maps rounds up.
///
/// # Proof
/// Let `x`, `y` be `d_in`-close members of the first input domain. By the claim of the first step,
/// its outputs are `map0(d_in)`-close members of its output space. This space is the input space of
/// the second step. By the claim of the second step, the results of the second step are
/// `map1(map0(d_in))`-close members of the output space.
///
/// # Errors
/// `DomainMismatch` or `MetricMismatch` when the output space of the first step is not the input
/// space of the second step.
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::make_chain_tt;
/// let numbers = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new())?;
/// let halve = Transformation::new(
///     numbers.clone(),
///     numbers,
///     Function::map(|x: &i32| Ok(x.div_euclid(2))),
///     StabilityMap::new(|d_in: &i32| Ok(d_in / 2 + d_in % 2)),
/// );
/// let quarter = make_chain_tt(halve.clone(), halve)?;
/// assert_eq!((quarter.invoke(&40)?, quarter.map(&8)?), (10, 2));
/// # Ok::<(), Error>(())
/// ```
pub fn make_chain_tt<DI, MI, DX, MX, DO, MO>(
    transformation1: Transformation<DX, MX, DO, MO>,
    transformation0: Transformation<DI, MI, DX, MX>,
) -> Result<Transformation<DI, MI, DO, MO>>
where
    DI: Domain,
    MI: Metric,
    DX: Domain,
    MX: Metric,
    DO: Domain,
    MO: Metric,
{
    transformation1.after(&transformation0)
}
register! {
    "chain.rs": make_chain_tt(transformation1, transformation0)
        for DI in [AnyDomain], MI in [AnyMetric], DX in [AnyDomain], MX in [AnyMetric],
            DO in [AnyDomain], MO in [AnyMetric];
}

/// Chain a measurement after a transformation.
///
/// [`Transformation::then`] has the same effect. The argument of `then` is a function that makes
/// the measurement.
///
/// # Arguments
/// * `measurement1` - the second step
/// * `transformation0` - the first step, which gets the data
///
/// # Precondition
/// The output space of the transformation is the input space of the measurement.
///
/// # Postcondition
/// The function runs the transformation and then the measurement. The releases of the new
/// measurement are as accurate as the releases of the given measurement.
///
/// # Map
/// `d_out = map1(map0(d_in))`; each of the two maps rounds up.
///
/// # Proof
/// Let `x`, `y` be `d_in`-close members of the first input domain. By the claim of the
/// transformation, the outputs of the transformation are `map0(d_in)`-close members of its output
/// space. This space is the input space of the measurement. So by the claim of the measurement, the
/// distributions of the releases on `x` and `y` are at most `map1(map0(d_in))` apart.
///
/// # Errors
/// `DomainMismatch` or `MetricMismatch` when the output space of the transformation is not the
/// input space of the measurement.
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_chain_mt, make_laplace};
/// let numbers = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new())?;
/// let halve = Transformation::new(
///     numbers.clone(),
///     numbers.clone(),
///     Function::map(|x: &i32| Ok(x.div_euclid(2))),
///     StabilityMap::new(|d_in: &i32| Ok(d_in / 2 + d_in % 2)),
/// );
/// let noise = make_laplace(numbers, Scale::new(2.0)?, None)?;
/// assert_eq!(make_chain_mt(noise, halve)?.map(&8)?, 2.0);
/// # Ok::<(), Error>(())
/// ```
pub fn make_chain_mt<DI, MI, DX, MX, MO, TO>(
    measurement1: Measurement<DX, MX, MO, TO>,
    transformation0: Transformation<DI, MI, DX, MX>,
) -> Result<Measurement<DI, MI, MO, TO>>
where
    DI: Domain,
    MI: Metric,
    DX: Domain,
    MX: Metric,
    MO: Measure,
    TO: Carrier,
{
    measurement1.after(&transformation0)
}
register! {
    "chain.rs": make_chain_mt(measurement1, transformation0)
        for DI in [AnyDomain], MI in [AnyMetric], DX in [AnyDomain], MX in [AnyMetric],
            MO in [AnyMeasure], TO in [AnyValue];
}

/// Apply a function to the release of a measurement.
///
/// [`Measurement::then`] has the same effect. The argument of `then` is a function that makes the
/// post-processing.
///
/// # Arguments
/// * `postprocess1` - the function that is applied to the release
/// * `measurement0` - the first step, which gets the data
///
/// # Precondition
/// `postprocess1` accepts the release of `measurement0`, and has no access to the data. For erased
/// objects, the type of the release is checked only when `postprocess1` runs.
///
/// # Postcondition
/// The function of the new measurement runs `measurement0` and then `postprocess1`. The accuracy of
/// the new measurement is unknown.
///
/// # Map
/// The map of the new measurement is the map of `measurement0`.
///
/// # Proof
/// The new release is a function of the first release. The loss of a function of a release is at
/// most the loss of this release. For pure and approximate differential privacy, see Dwork, Roth
/// 2014, on post-processing. For zero-concentrated differential privacy, see Bun, Steinke 2016.
///
/// # Errors
/// None.
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_chain_pm, make_laplace};
/// let numbers = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new())?;
/// let noise = make_laplace(numbers, Scale::new(2.0)?, None)?;
/// let positive = make_chain_pm(Function::map(|x: &i32| Ok((*x).max(0))), noise)?;
/// assert_eq!(positive.map(&1)?, 0.5);
/// assert!(0 <= positive.invoke(&0)?);
/// # Ok::<(), Error>(())
/// ```
pub fn make_chain_pm<DI, MI, MO, TX, TO>(
    postprocess1: Function<TX, TO>,
    measurement0: Measurement<DI, MI, MO, TX>,
) -> Result<Measurement<DI, MI, MO, TO>>
where
    DI: Domain,
    MI: Metric,
    MO: Measure,
    TX: Carrier,
    TO: Carrier,
{
    measurement0.then(|| Ok(postprocess1))
}
register! {
    "chain.rs": make_chain_pm(postprocess1, measurement0)
        for DI in [AnyDomain], MI in [AnyMetric], MO in [AnyMeasure], TX in [AnyValue],
            TO in [AnyValue];
}

#[cfg(test)]
mod tests {
    use opendp_core::erased::{AnyDistance, AnyValue};
    use opendp_core::{
        AbsoluteDistance, AtomDomain, Space, StabilityMap, SymmetricDistance, VectorDomain,
    };

    use super::*;
    use crate::{Scale, make_laplace};

    type Rows = VectorDomain<AtomDomain<i32>>;
    type Numbers = AtomDomain<i32>;

    fn numbers() -> Space<Numbers, AbsoluteDistance<i32>> {
        Space::new(AtomDomain::default(), AbsoluteDistance::new()).unwrap()
    }
    fn count() -> Transformation<Rows, SymmetricDistance, Numbers, AbsoluteDistance<i32>> {
        let rows = Space::new(VectorDomain::default(), SymmetricDistance).unwrap();
        let function = Function::map(|rows: &Vec<i32>| Ok(i32::try_from(rows.len()).unwrap()));
        Transformation::new(rows, numbers(), function, StabilityMap::from_constant(1))
    }
    fn triple() -> Transformation<Numbers, AbsoluteDistance<i32>, Numbers, AbsoluteDistance<i32>> {
        let function = Function::map(|x: &i32| Ok(3 * x));
        Transformation::new(numbers(), numbers(), function, StabilityMap::from_constant(3))
    }

    #[test]
    fn runs_the_first_step_first() {
        let chain = make_chain_tt(triple(), count()).unwrap();
        assert_eq!(chain.invoke(&vec![7, 7]).unwrap(), 6);
        assert_eq!(chain.map(&2).unwrap(), 6);
        let release = make_laplace(numbers(), Scale::new(0.0).unwrap(), None).unwrap();
        let release = make_chain_mt(release, chain).unwrap();
        assert_eq!(release.invoke(&vec![7, 7]).unwrap(), 6);
        assert_eq!((release.map(&0).unwrap(), release.map(&1).unwrap()), (0.0, f64::INFINITY));
        assert_eq!(release.accuracy(0.5).unwrap(), [Some(0.0)]);
        let release = make_chain_pm(Function::map(|x: &i32| Ok(x.to_string())), release).unwrap();
        assert_eq!(release.invoke(&vec![7, 7]).unwrap(), "6");
        assert_eq!(release.accuracy(0.5).unwrap(), [None]);
    }
    #[test]
    fn the_loss_of_a_noisy_count_is_the_distance_over_the_scale() {
        let release = make_laplace(numbers(), Scale::new(2.0).unwrap(), None).unwrap();
        let release = make_chain_mt(release, count()).unwrap();
        assert_eq!([1, 3].map(|d| release.map(&d).unwrap()), [0.5, 1.5]);
    }
    #[test]
    fn refuses_spaces_that_differ() {
        let bounded = AtomDomain::bounded(opendp_core::Bounds::new(0, 9).unwrap());
        let bounded = Space::new(bounded, AbsoluteDistance::<i32>::new()).unwrap();
        let release = make_laplace(bounded, Scale::new(1.0).unwrap(), None).unwrap();
        let error = make_chain_mt(release.clone(), count()).unwrap_err();
        assert_eq!(error.kind(), "DomainMismatch");
        let error = make_chain_mt(release.erase(), count().erase()).unwrap_err();
        assert_eq!(error.kind(), "DomainMismatch");
        let numbers = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<f64>::new());
        let release = make_laplace(numbers.unwrap(), Scale::new(1.0).unwrap(), None).unwrap();
        let error = make_chain_mt(release.erase(), count().erase()).unwrap_err();
        assert_eq!(error.kind(), "MetricMismatch");
        let error = make_chain_tt(count().erase(), triple().erase()).unwrap_err();
        assert_eq!(error.kind(), "DomainMismatch");
    }
    #[test]
    fn chains_erased_objects() {
        let release = make_laplace(numbers(), Scale::new(0.0).unwrap(), None).unwrap();
        let chain = make_chain_tt(triple().erase(), count().erase()).unwrap();
        let release = make_chain_mt(release.erase(), chain).unwrap();
        let function = Function::map(|x: &i32| Ok(x + 1)).erase();
        let release = make_chain_pm(function, release).unwrap();
        let released = release.invoke(&AnyValue::new(vec![7, 7])).unwrap();
        assert_eq!(released.downcast::<i32>().unwrap(), 7);
        let loss = release.map(&AnyDistance::new(0_u32)).unwrap();
        assert_eq!(*loss.downcast_ref::<f64>().unwrap(), 0.0);
    }
}
