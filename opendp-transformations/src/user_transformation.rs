//! Transformations of which only their users know why they are stable.

use opendp_core::erased::{AnyDomain, AnyMetric};
use opendp_core::{
    Domain, Function, Metric, Result, Space, StabilityMap, Transformation, register,
};

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
    use opendp_core::erased::AnyValue;
    use opendp_core::{
        Arg, Args, AtomDomain, Constructed, HammingDistance, Made, Registration, SymmetricDistance,
        TheDomain, TheMetric, UserDistance, UserDomain, VectorDomain, laws,
    };

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
    fn construct(args: &Args) -> Result<Constructed> {
        let mut all = Registration::all();
        let made = all.find(|r| r.names.contains(&"make_user_transformation")).unwrap();
        (made.construct)(args)
    }
    fn pair(domain: Constructed, metric: Constructed) -> Arg {
        Arg::Pair(domain.domain().unwrap(), metric.metric().unwrap())
    }
    fn args(input: Arg, output: Arg) -> Args {
        let length = Function::map(|rows: &Vec<i32>| Ok(rows.len() as i32));
        Args::new()
            .with("input", input)
            .with("output", output)
            .with("function", Constructed::from(length.erase()))
            .with_value("stability_map", map().erase())
    }
    fn map() -> StabilityMap<SymmetricDistance, UserDistance> {
        StabilityMap::new(|d: &u32| Ok(f64::from(*d)))
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
    #[test]
    fn is_made_of_values_whose_types_are_erased() {
        let output = || {
            let domain = UserDomain::new("lengths", |x| x.downcast_ref::<i32>().is_ok());
            pair(TheDomain(domain).erased(), TheMetric(UserDistance::new("rows")).erased())
        };
        let input = Arg::from(&rows().erase());
        let made = construct(&args(input, output())).unwrap().transformation().unwrap();
        let length = made.invoke(&AnyValue::new(vec![5, 6, 7])).unwrap();
        assert_eq!(length.downcast::<i32>().unwrap(), 3);
        let d_in = made.input().metric().decode(&2.into()).unwrap();
        assert_eq!(*made.map(&d_in).unwrap().downcast_ref::<f64>().unwrap(), 2.0);
        assert!(made.output().domain().is::<UserDomain>());
    }
    #[test]
    fn pairs_of_the_house_are_checked_though_their_types_are_erased() {
        let with = |metric| {
            let domain = || TheDomain(VectorDomain::new(AtomDomain::<i32>::default())).erased();
            construct(&args(pair(domain(), metric), Arg::from(&rows().erase())))
        };
        assert!(with(TheMetric(SymmetricDistance).erased()).is_ok());
        // The size of the data is not known.
        let error = with(TheMetric(HammingDistance).erased()).unwrap_err();
        assert_eq!(error.kind(), "MetricSpace", "{error}");
        assert!(with(TheMetric(UserDistance::new("rows")).erased()).is_ok());
    }
}
