//! User-defined measurements.

use opendp_core::erased::{AnyDomain, AnyMeasure, AnyMetric, AnyValue};
use opendp_core::{
    Carrier, Domain, Function, Measure, Measurement, Metric, PrivacyMap, Result, Space, TheMeasure,
};

/// Make a measurement from a function and a privacy map. The caller is responsible for the function
/// and for the map.
///
/// # Arguments
/// * `input` - the input space
/// * `output_measure` - the measure of the loss
/// * `function` - the function that draws a release
/// * `privacy_map` - a bound on the loss of a release, for each distance between inputs
///
/// # Precondition
/// Every call of the function draws new random bits, which are independent of all earlier random
/// bits. The function succeeds for every member of the input domain.
///
/// # Postcondition
/// The function is the given function.
///
/// # Map
/// The privacy map is the given map. If this map states an exact bound, the measurement has the
/// same exact bound.
///
/// # Trust
/// The caller makes two promises that the library cannot prove. The first promise is the
/// precondition. The second promise is a bound: for any two members at distance at most `d_in`, the
/// loss of their releases in the measure is at most `privacy_map(d_in)`. A composition or a budget
/// that uses this bound relies on both promises.
///
/// # Errors
/// This function returns no error. From the measurement: the errors of the function and of the map.
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::make_user_measurement;
/// let bits = Space::new(AtomDomain::<bool>::default(), DiscreteDistance)?;
/// let nothing = Function::map(|_: &bool| Ok(0));
/// let map = PrivacyMap::new(|_: &u32| Ok(0.0));
/// let silent = make_user_measurement(bits, TheMeasure(MaxDivergence), nothing, map)?;
/// assert_eq!((silent.invoke(&true)?, silent.map(&1)?), (0, 0.0));
/// # Ok::<(), Error>(())
/// ```
pub fn make_user_measurement<DI, MI, MO, TO>(
    input: Space<DI, MI>,
    output_measure: TheMeasure<MO>,
    function: Function<DI::Carrier, TO>,
    privacy_map: PrivacyMap<MI, MO>,
) -> Result<Measurement<DI, MI, MO, TO>>
where
    DI: Domain,
    MI: Metric,
    MO: Measure,
    TO: Carrier,
{
    Ok(Measurement::new(input, output_measure.0, function, privacy_map))
}
register! {
    "user_measurement.rs": make_user_measurement(input, output_measure, function, privacy_map)
        for DI in [AnyDomain], MI in [AnyMetric], MO in [AnyMeasure], TO in [AnyValue];
}

#[cfg(test)]
mod tests {

    use opendp_core::{
        Arg, AtomDomain, Bounds, DiscreteDistance, MaxDivergence, SymmetricDistance, VectorDomain,
    };

    use super::*;

    #[test]
    fn a_map_for_another_distance_or_measure_is_found_when_it_is_evaluated() {
        let bits = Space::new(AtomDomain::<bool>::default(), DiscreteDistance).unwrap();
        let map: PrivacyMap<opendp_core::AbsoluteDistance<f64>, MaxDivergence> =
            PrivacyMap::new(|d: &f64| Ok(*d));
        let function = Function::map(|_: &bool| Ok(7)).erase();
        let measure = TheMeasure(opendp_core::erased::AnyMeasure::from(TheMeasure(MaxDivergence)));
        let made = make_user_measurement(bits.erase(), measure, function, map.erase()).unwrap();
        let distance = made.input().metric().decode(&1.into()).unwrap();
        assert_eq!(made.map(&distance).unwrap_err().kind(), "FailedCast");
        assert!(matches!(Arg::value(map.erase()), Arg::Value(_)));
    }
    /// A user-defined fold that counts rows.
    struct Count;
    impl opendp_core::Fold<Vec<i32>, i32> for Count {
        type State = i32;
        fn label(&self) -> String {
            "count".into()
        }
        fn start(&self) -> i32 {
            0
        }
        fn absorb(&self, count: &mut i32, rows: &[i32]) -> Result<()> {
            *count += rows.len() as i32;
            Ok(())
        }
        fn merge(&self, count: &mut i32, other: i32) -> Result<()> {
            *count += other;
            Ok(())
        }
        fn finish(&self, count: i32) -> Result<i32> {
            Ok(count)
        }
    }
    #[test]
    fn refuses_partial_results_of_other_spaces() {
        let made = |upper| {
            let element = AtomDomain::bounded(Bounds::new(0, upper).unwrap());
            let space = Space::new(VectorDomain::new(element), SymmetricDistance).unwrap();
            let map = PrivacyMap::new(|d: &u32| Ok(f64::from(*d)));
            let measure = TheMeasure(MaxDivergence);
            make_user_measurement(space, measure, Function::fold(Count), map).unwrap()
        };
        let bytes = made(1).start().unwrap().to_bytes().unwrap();
        assert!(made(1).function().resume(&bytes).is_ok());
        assert_eq!(made(2).function().resume(&bytes).unwrap_err().kind(), "FailedFunction");
        assert!(made(2).start().unwrap().merge(made(1).start().unwrap()).is_err());
    }
}
