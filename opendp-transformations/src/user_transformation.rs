//! Transformations whose stability is claimed by the user.

use opendp_core::erased::{AnyDomain, AnyMetric};
use opendp_core::{Domain, Function, Metric, Result, Space, StabilityMap, Transformation};

/// Make a transformation from a function and a stability map that the user guarantees.
///
/// # Arguments
/// * `input` - the input space
/// * `output` - the output space
/// * `function` - the function
/// * `stability_map` - the bound on the distance of outputs, given a distance of inputs
///
/// # Precondition
/// The function gives members of the output domain for members of the input domain, always the same
/// output for the same input, and does not fail for any of them.
///
/// # Postcondition
/// The function is the given one.
///
/// # Map
/// The given map.
///
/// # Trust
/// Nothing here can be proved. The author of the two functions promises the precondition, and that
/// outputs of `d_in`-close members are at most `stability_map(d_in)` apart. If a promise is broken,
/// a privacy loss that relies on it is wrong. [`laws`](opendp_core::laws) tests such promises.
///
/// # Errors
/// None, except the errors of the function and the map.
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
    /// Keep every other row: adding one row may change up to all rows.
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
