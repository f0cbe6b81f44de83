//! User-defined conversations: functions that answer questions one after another.

use opendp_core::erased::{AnyFunction, AnyValue};
use opendp_core::{Carrier, Error, Function, Queryable, Result};

/// Make a function that takes a value and starts a conversation.
///
/// There are two uses. If the function is chained after a measurement by `then`, the value is the
/// release. The conversation is then post-processing, so it adds no loss. If the function is given
/// to [`make_user_measurement`](crate::make_user_measurement), the value is the data. The
/// conversation is then an interactive mechanism, and the privacy map of the measurement bounds the
/// loss of all answers together.
///
/// # Arguments
/// * `transition` - the function that gets the state of the conversation and a question, changes
///   the state, and returns the answer
///
/// # Precondition
/// The transition uses no information about the data except the state and the question.
///
/// # Postcondition
/// The function returns a [`Queryable`]. The state of the queryable begins as a copy of the value.
/// Questions are answered one at a time. If a transition asks its own queryable a question, this
/// question gets an error. If a transition fails, it can have changed a part of the state. The
/// conversation then continues with this state. If a transition panics, the conversation ends. Some
/// privacy measures do not allow interleaved conversations. If a composition in such a measure
/// releases one queryable after another, each new release ends the earlier queryable. All
/// queryables that the earlier queryable returned also end.
///
/// # Trust
/// If the function is chained after a measurement, the caller promises the precondition. If the
/// value is the data, the caller promises that the privacy map bounds the loss of every sequence of
/// questions. Each question can depend on the earlier answers.
///
/// # Errors
/// This function returns no error.
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_laplace, new_queryable};
/// let space = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new())?;
/// // Subtract from a noisy number, and return the rest.
/// let left = |rest: &mut i32, taken: &i32| {
///     *rest = rest.saturating_sub(*taken);
///     Ok(*rest)
/// };
/// let noisy = make_laplace(space, Scale::new(2.0)?, None)?.then(|| new_queryable(left))?;
/// let stock = noisy.invoke(&100)?;
/// let before = stock.ask(&0)?;
/// assert_eq!((stock.ask(&5)?, stock.ask(&1)?), (before - 5, before - 6));
/// assert_eq!(noisy.map(&1)?, 0.5);
/// # Ok::<(), Error>(())
/// ```
pub fn new_queryable<S, Q, A>(
    transition: impl Fn(&mut S, &Q) -> Result<A> + Clone + Send + Sync + 'static,
) -> Result<Function<S, Queryable<Q, A>>>
where
    S: Carrier,
    Q: opendp_core::Named,
    A: Carrier,
{
    Ok(Function::map(move |start: &S| Ok(Queryable::new(start.clone(), transition.clone()))))
}

/// Make a function that takes a value and starts a conversation. The transition takes a pair and
/// returns a pair.
///
/// Use this function instead of `new_queryable` for values whose types are known only at run time.
///
/// # Arguments
/// * `transition` - a function of a pair of a state and a question. The function returns a pair of
///   the next state and the answer
///
/// # Precondition
/// The transition uses no information about the data except the state and the question.
///
/// # Postcondition
/// The function returns a queryable. At first, the state of the queryable is the value. If the
/// function is chained after a measurement, the value is the release, and the conversation is
/// post-processing. If the function is given to `make_user_measurement`, the value is the data, and
/// the conversation is an interactive mechanism. A transition that fails does not change the state.
///
/// # Trust
/// If the function is chained after a measurement, the caller promises the precondition. If the
/// value is the data, the caller promises that the privacy map bounds the loss of every sequence of
/// questions. Each question can depend on the earlier answers.
///
/// # Errors
/// This function returns no error. From the queryable: `FailedCast` when the transition does not
/// return a pair; the errors of the transition.
///
/// # Example
/// ```
/// use opendp_core::{Function, erased::AnyValue};
/// use opendp_measurements::new_queryable_of;
/// let add = |(total, step): &(AnyValue, AnyValue)| {
///     let total = total.downcast_ref::<i32>()? + step.downcast_ref::<i32>()?;
///     Ok((total, total))
/// };
/// let start = new_queryable_of(Function::map(add).erase())?;
/// let counter = start.eval(&AnyValue::new(40))?;
/// assert_eq!(counter.ask(&AnyValue::new(2))?.downcast::<i32>()?, 42);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn new_queryable_of(
    transition: AnyFunction,
) -> Result<Function<AnyValue, Queryable<AnyValue, AnyValue>>> {
    new_queryable(move |state: &mut AnyValue, query: &AnyValue| {
        let next = transition.eval(&AnyValue::new((state.clone(), query.clone())))?;
        let Some((next, answer)) = next.pair() else {
            return Err(Error::FailedCast(
                "transition: expected a pair of the next state and the answer".into(),
            ));
        };
        *state = next;
        Ok(answer)
    })
}
register! { "new_queryable.rs": new_queryable_of as ["new_queryable"](transition); }

#[cfg(test)]
mod tests {
    use opendp_core::{
        AtomDomain, DiscreteDistance, MaxDivergence, Measurement, PrivacyMap, Space, TheMeasure,
    };

    use super::*;
    use crate::{make_composition, make_user_measurement};

    type Bits = Space<AtomDomain<bool>, DiscreteDistance>;
    fn bits() -> Bits {
        Space::new(AtomDomain::default(), DiscreteDistance).unwrap()
    }
    fn map() -> PrivacyMap<DiscreteDistance, MaxDivergence> {
        PrivacyMap::new(|_: &u32| Ok(1.0))
    }
    /// Make a measurement that answers the question 2 with the truth. The answer to every other
    /// question is `None`.
    fn at_last()
    -> Measurement<AtomDomain<bool>, DiscreteDistance, MaxDivergence, Queryable<i32, Option<bool>>>
    {
        let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let talk = new_queryable(move |truth: &mut bool, question: &i32| {
            asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Ok((*question == 2).then_some(*truth))
        });
        make_user_measurement(bits(), TheMeasure(MaxDivergence), talk.unwrap(), map()).unwrap()
    }

    #[test]
    fn an_interactive_mechanism_of_ones_own_composes() {
        let talk = at_last();
        let release = talk.invoke(&true).unwrap();
        assert_eq!((release.ask(&1), release.ask(&2)), (Ok(None), Ok(Some(true))));
        let both = make_composition(vec![talk.clone(), talk]).unwrap();
        assert_eq!(both.map(&1).unwrap(), 2.0);
        let releases = both.invoke(&false).unwrap();
        assert!(releases.iter().all(|release| release.ask(&2) == Ok(Some(false))));
    }
    #[test]
    fn every_invocation_has_a_state_of_its_own() {
        let count = new_queryable(|total: &mut i32, step: &i32| {
            *total += step;
            Ok(*total)
        });
        let count = count.unwrap();
        let (first, second) = (count.eval(&0).unwrap(), count.eval(&10).unwrap());
        assert_eq!((first.ask(&1), second.ask(&1), first.clone().ask(&1)), (Ok(1), Ok(11), Ok(2)));
    }
}
