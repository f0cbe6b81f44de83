//! Makes transformations from functions and stability maps of the user.

use opendp_core::erased::{AnyDomain, AnyMetric};
use opendp_core::{Domain, Function, Metric, Result, Space, StabilityMap, Transformation};

/// Make a transformation from a function and a stability map that the user guarantees.
///
/// # Arguments
/// * `input` - the input space
/// * `output` - the output space
/// * `function` - the function
/// * `stability_map` - the bound on the distance between outputs, given the distance between inputs
///
/// # Precondition
/// For each member of the input domain, the function returns a member of the output domain, without
/// an error. The function always returns the same output for the same input.
///
/// # Postcondition
/// The transformation applies the given function.
///
/// # Map
/// The map is `stability_map`.
///
/// # Trust
/// This constructor has no proof. The author of the function and the map promises that the
/// precondition holds. The author also promises that members at distance at most `d_in` have
/// outputs at most `stability_map(d_in)` apart. If a promise is broken, every privacy loss that
/// relies on this promise can be wrong. [`laws`](opendp_core::laws) tests such promises.
///
/// # Errors
/// The constructor returns no error. The function and the map of the transformation return the
/// errors of `function` and `stability_map`.
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_transformations::make_user_transformation;
/// let rows = Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance)?;
/// let halves = Function::map(|rows: &Vec<i32>| Ok(rows.iter().map(|x| x / 2).collect()));
/// let map = StabilityMap::from_constant(1);
/// let halve = make_user_transformation(rows.clone(), rows, halves, map)?;
/// assert_eq!(halve.invoke(&vec![7, 8])?, [3, 4]);
/// assert_eq!(halve.map(&2)?, 2);
/// # Ok::<(), Error>(())
/// ```
pub fn make_user_transformation<DI, MI, DO, MO>(
    input: Space<DI, MI>,
    output: Space<DO, MO>,
    function: Function<DI::Carrier, DO::Carrier>,
    stability_map: StabilityMap<MI, MO>,
) -> Result<Transformation<DI, MI, DO, MO>>
where
    DI: Domain,
    MI: Metric,
    DO: Domain,
    MO: Metric,
{
    Ok(Transformation::new(input, output, function, stability_map))
}
register! {
    "user_transformation.rs": make_user_transformation(input, output, function, stability_map)
        for DI in [AnyDomain], MI in [AnyMetric], DO in [AnyDomain], MO in [AnyMetric];
}

#[cfg(test)]
mod tests {
    use opendp_core::{AtomDomain, SymmetricDistance, VectorDomain, laws};

    use super::*;

    type Rows = VectorDomain<AtomDomain<i32>>;

    fn rows() -> Space<Rows, SymmetricDistance> {
        Space::new(VectorDomain::new(AtomDomain::default()), SymmetricDistance).unwrap()
    }
    /// Keep every second row. If a row is added, all rows of the output can change.
    fn alternate(claim: u32) -> Transformation<Rows, SymmetricDistance, Rows, SymmetricDistance> {
        let function = |rows: &Vec<i32>| Ok(rows.iter().step_by(2).copied().collect());
        let map = StabilityMap::from_constant(claim);
        make_user_transformation(rows(), rows(), Function::map(function), map).unwrap()
    }
    #[test]
    fn the_laws_try_promises_out() {
        let try_out = |made: &_| laws::stable(made, &laws::vectors(&[0, 1], 3));
        let honest = {
            let reverse = |rows: &Vec<i32>| Ok(rows.iter().rev().copied().collect());
            let map = StabilityMap::from_constant(1);
            make_user_transformation(rows(), rows(), Function::map(reverse), map).unwrap()
        };
        assert!(try_out(&honest).is_ok());
        assert!(try_out(&alternate(1)).is_err());
    }
}
