//! Post-processing that a user writes.

use opendp_core::erased::AnyValue;
use opendp_core::{Carrier, Function, Result};

/// Take a function for post-processing of a release.
///
/// # Arguments
/// * `function` - what is done with a release
///
/// # Precondition
/// The function knows nothing of the data but what is in the release.
///
/// # Postcondition
/// The function is the one that is given.
///
/// # Trust
/// That the precondition holds: a function that carries data with it, or reads it from elsewhere,
/// makes a release of it that no map accounts for.
///
/// # Errors
/// None of its own.
///
/// # Example
/// ```
/// use opendp_core::Function;
/// use opendp_measurements::new_function;
/// let positive = new_function(Function::map(|count: &i32| Ok((*count).max(0))))?;
/// assert_eq!(positive.eval(&-3)?, 0);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn new_function<I: Carrier, O: Carrier>(function: Function<I, O>) -> Result<Function<I, O>> {
    Ok(function)
}
register! {
    "new_function.rs": new_function as ["new_function", "make_user_postprocessor"](function)
        for I in [AnyValue], O in [AnyValue];
}

#[cfg(test)]
mod tests {
    use opendp_core::{AbsoluteDistance, Args, AtomDomain, Constructed, Registration, Space};

    use super::*;
    use crate::{Scale, make_laplace};

    #[test]
    fn continues_a_release_and_leaves_its_loss_alone() {
        let space = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new());
        let noise = make_laplace(space.unwrap(), Scale::new(2.0).unwrap(), None).unwrap().erase();
        let mut all = Registration::all();
        let made = all.find(|r| r.names.contains(&"make_user_postprocessor")).unwrap();
        let parity = Constructed::from(Function::map(|x: &i32| Ok(x.rem_euclid(2))).erase());
        let parity = (made.construct)(&Args::new().with("function", parity)).unwrap();
        let noisy = noise.then(|| parity.function()).unwrap();
        let answer: i32 = noisy.invoke(&AnyValue::new(7)).unwrap().downcast().unwrap();
        assert!(answer == 0 || answer == 1);
        let one = noisy.input().metric().decode(&1.into()).unwrap();
        assert_eq!(*noisy.map(&one).unwrap().downcast_ref::<f64>().unwrap(), 0.5);
    }
}
