//! Transformations of which only their users know why they are stable.

use opendp_core::erased::{AnyDomain, AnyMetric};
use opendp_core::{Domain, Function, Metric, Result, Space, StabilityMap, Transformation};

/// Make a transformation of a function and a stability map that its user vouches for.
///
/// # Arguments
/// * `input` - the space that it starts from
/// * `output` - the space that it ends in
/// * `function` - what it does
/// * `stability_map` - how far outputs are apart, at most, given a distance of inputs
///
/// # Precondition
/// The function gives members of the output domain for members of the input domain, always the same
/// for the same, and fails for none of them.
///
/// # Postcondition
/// The function is the one that is given.
///
/// # Map
/// The one that is given.
///
/// # Trust
/// Nothing here can be proved: the precondition, and that outputs of `d_in`-close members are at most
/// `stability_map(d_in)` apart, are promises of whoever writes the two. A privacy loss that rests on
/// a broken promise is no bound. [`laws`](opendp_core::laws) tries promises out.
///
/// # Errors
/// None of its own: those of the function and of the map.
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
    /// Keep every other row, which moves up to all rows when one is added.
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
