//! The same mechanism several times. This file defines a combinator: a constructor that takes a
//! mechanism.

use opendp_core::erased::{AnyDomain, AnyMeasure, AnyMetric, AnyValue};
use opendp_core::{
    Carrier, Domain, Error, Function, Measure, Measurement, Metric, PrivacyMap, Result, in_turn,
    register,
};

/// The largest number of repetitions.
const MAX_TIMES: u32 = 1000;

/// Draw several releases from one mechanism.
///
/// # Arguments
/// * `measurement` - the mechanism
/// * `times` - the number of releases to draw, from 1 to 1000
///
/// # Precondition
/// Losses compose in the privacy measure of the mechanism.
///
/// # Postcondition
/// The release is the list of `times` independent releases of the mechanism on the same data.
///
/// # Map
/// The measure composes `times` losses of the mechanism at `d_in`. In `MaxDivergence`, the result
/// is the exact product, rounded up once. In `acme::GaussianTradeoff`, the result is the loss times
/// the root of `times`, rounded up.
///
/// # Proof
/// The releases come from `times` mechanisms with independent randomness. The map of `measurement`
/// at `d_in` bounds the loss of each of these mechanisms. The measure computes the joint loss from
/// the list of these losses. If a release is a conversation, the measure states whether the
/// conversations can be interleaved. If they cannot, each new conversation closes the earlier ones
/// (`in_turn`).
///
/// # Errors
/// `MakeMeasurement` when `times` is out of range or the measure does not compose.
///
/// ```
/// # use custom_mechanism::make_repeat;
/// # use opendp_core::{AbsoluteDistance, AtomDomain, Space};
/// # use opendp_measurements::{Scale, make_laplace};
/// let sums = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new())?;
/// let thrice = make_repeat(make_laplace(sums, Scale::new(4.0)?, None)?, 3)?;
/// assert_eq!(thrice.map(&1)?, 0.75);
/// assert_eq!(thrice.invoke(&100)?.len(), 3);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn make_repeat<DI, MI, MO, TO>(
    measurement: Measurement<DI, MI, MO, TO>,
    times: u32,
) -> Result<Measurement<DI, MI, MO, Vec<TO>>>
where
    DI: Domain,
    MI: Metric,
    MO: Measure,
    TO: Carrier,
{
    if !(1..=MAX_TIMES).contains(&times) {
        let reason = format!("times: expected a number from 1 to {MAX_TIMES}, found {times}");
        return Err(Error::MakeMeasurement(reason));
    }
    let (input, measure) = (measurement.input().clone(), measurement.measure().clone());
    measure.compose(&[]).map_err(|error| Error::MakeMeasurement(error.to_string()))?;

    let (once, interaction) = (measurement.function().clone(), measure.interaction());
    let function =
        Function::map(move |data| in_turn(interaction, (0..times).map(|_| || once.eval(data))));
    let (single, total) = (measurement.clone(), measure.clone());
    let map = PrivacyMap::new(move |d_in| {
        let loss = single.map(d_in)?;
        let losses: Vec<_> = (0..times).map(|_| loss.clone()).collect();
        total.compose(&losses)
    });
    let accuracy = move |alpha| {
        let once = measurement.accuracy(alpha)?;
        Ok((0..times).flat_map(|_| once.clone()).collect())
    };
    Ok(Measurement::new(input, measure, function, map).with_accuracy(accuracy))
}
register! {
    "repeat.rs": make_repeat as ["acme::make_repeat"](measurement, times)
        for DI in [AnyDomain], MI in [AnyMetric], MO in [AnyMeasure], TO in [AnyValue];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GaussianTradeoff;
    use opendp_core::{
        AbsoluteDistance, AtomDomain, MaxDivergence, PrivacyProfile, Queryable,
        SmoothedMaxDivergence, Space,
    };

    /// Make a mechanism that releases its input unchanged, and states a constant loss.
    fn constant<MO: Measure>(
        measure: MO,
        loss: MO::Distance,
    ) -> Measurement<AtomDomain<i32>, AbsoluteDistance<i32>, MO, i32> {
        let input = Space::new(AtomDomain::default(), AbsoluteDistance::new()).unwrap();
        let map = PrivacyMap::new(move |_: &i32| Ok(loss.clone()));
        Measurement::new(input, measure, Function::map(|x: &i32| Ok(*x)), map)
            .with_accuracy(|_| Ok(vec![Some(1.0)]))
    }

    #[test]
    fn composes_as_the_measure_says() {
        let pure = make_repeat(constant(MaxDivergence, 0.1), 10).unwrap();
        assert_eq!(pure.map(&1).unwrap(), 1.0_f64.next_up());
        let gaussian = make_repeat(constant(GaussianTradeoff, 0.5), 16).unwrap();
        assert_eq!(gaussian.map(&1).unwrap(), 2.0);
    }
    #[test]
    fn releases_as_often_as_asked() {
        let twice = make_repeat(constant(MaxDivergence, 0.0), 2).unwrap();
        assert_eq!(twice.invoke(&7).unwrap(), [7, 7]);
        assert_eq!(twice.accuracy(0.05).unwrap(), [Some(1.0), Some(1.0)]);
    }
    /// The measure `GaussianTradeoff` does not permit interleaved conversations.
    #[test]
    fn a_new_conversation_closes_the_earlier_ones() {
        fn answers<MO: Measure>(measure: MO, loss: MO::Distance) -> Vec<bool> {
            let input =
                Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new()).unwrap();
            let map = PrivacyMap::new(move |_: &i32| Ok(loss.clone()));
            let open = Function::map(|x: &i32| {
                let x = *x;
                Ok(Queryable::stateless(move |query: &i32| Ok(x + query)))
            });
            let twice = make_repeat(Measurement::new(input, measure, open, map), 2).unwrap();
            let conversations = twice.invoke(&1).unwrap();
            conversations.iter().map(|conversation| conversation.ask(&2).is_ok()).collect()
        }
        assert_eq!(answers(GaussianTradeoff, 0.5), [false, true]);
        assert_eq!(answers(MaxDivergence, 0.5), [true, true]);
    }
    #[test]
    fn refuses_what_it_cannot_promise() {
        for times in [0, MAX_TIMES + 1] {
            let error = make_repeat(constant(MaxDivergence, 0.1), times).unwrap_err();
            assert_eq!(error.kind(), "MakeMeasurement");
        }
        let profile = constant(SmoothedMaxDivergence, PrivacyProfile::new(|_| Ok(0.5)));
        let twice = make_repeat(profile, 2).unwrap().map(&1).unwrap();
        assert_eq!(twice.delta(1.0).unwrap(), 1.0);
    }
}
