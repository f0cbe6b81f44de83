//! Passes the data on unchanged.

use opendp_core::{
    AtomDomain, Carrier, Domain, Function, Metric, OptionDomain, Result, Rows, Space, StabilityMap,
    Transformation, VectorDomain,
};

use crate::rows::each::call;

/// Pass the data on unchanged.
///
/// # Arguments
/// None.
///
/// # Precondition
/// The input is any space.
///
/// # Postcondition
/// The output is the input, in the same space.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// The outputs are the inputs, and the output metric is the input metric.
///
/// # Errors
/// None.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_identity;
/// let input = Space::new(VectorDomain::new(AtomDomain::<bool>::default()), SymmetricDistance)?;
/// let identity = make_identity(input)?;
/// assert_eq!(identity.invoke(&vec![true])?, [true]);
/// assert_eq!(identity.map(&2)?, 2);
/// # Ok::<(), Error>(())
/// ```
pub fn make_identity<D: Domain, M: Metric>(
    input: Space<D, M>,
) -> Result<Transformation<D, M, D, M>> {
    Ok(Transformation::new(input.clone(), input, copy(), StabilityMap::identity()))
}

register! {
    "identity.rs": make_identity(input)
        for D in [
                VectorDomain<AtomDomain<i32>>, VectorDomain<AtomDomain<i64>>,
                VectorDomain<AtomDomain<u32>>, VectorDomain<AtomDomain<u64>>,
                VectorDomain<AtomDomain<usize>>, VectorDomain<AtomDomain<f32>>,
                VectorDomain<AtomDomain<f64>>, VectorDomain<AtomDomain<bool>>,
                VectorDomain<AtomDomain<String>>, VectorDomain<OptionDomain<AtomDomain<String>>>,
                VectorDomain<OptionDomain<AtomDomain<f64>>>,
                VectorDomain<OptionDomain<AtomDomain<i32>>>,
                VectorDomain<OptionDomain<AtomDomain<i64>>>,
            ],
            M in dataset_metrics;
}

/// Make the function that passes rows on unchanged.
pub(crate) fn copy<T: Carrier>() -> Function<T, T> {
    Function::rows_static(const { &Rows::new(append::<T>) }).labelled(call("identity", []))
}
fn append<T: Carrier>(chunk: T::Chunk<'_>, out: &mut T) -> Result<()> {
    out.append_rows(chunk);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_checks::check_rows;
    use opendp_core::erased::AnyValue;
    use opendp_core::{
        AbsoluteDistance, ColumnDomain, DataFrameDomain, HammingDistance, InsertDeleteDistance,
        SymmetricDistance, laws,
    };

    #[test]
    fn obeys_the_laws() {
        let floats = AtomDomain::<f64>::default();
        let alphabet = [f64::NAN, -0.0, 0.0, 5e-324];
        check_rows(&floats, &alphabet, make_identity::<_, SymmetricDistance>);
        check_rows(&floats, &alphabet, make_identity::<_, HammingDistance>);
        let maybe = OptionDomain::new(AtomDomain::<String>::default());
        let alphabet = [None, Some(String::new()), Some("é".to_owned())];
        check_rows(&maybe, &alphabet, make_identity::<_, InsertDeleteDistance>);
    }
    #[test]
    fn passes_on_a_value_that_is_not_made_of_rows() {
        let input = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new());
        let identity = make_identity(input.unwrap()).unwrap();
        assert!(laws::stable(&identity, &[i32::MIN / 4, -1, 0, 7]).unwrap() > 0);
        assert_eq!(identity.invoke(&7), Ok(7));
        assert_eq!(identity.map(&3), Ok(3));
    }
    #[test]
    fn data_without_rows_keep_their_columns_and_their_type() {
        let column = ColumnDomain::new(AtomDomain::<f64>::default());
        let domain = DataFrameDomain::with_schema([("x".to_owned(), column)]).unwrap();
        let empty = domain.empty();
        let input = Space::new(domain, SymmetricDistance).unwrap();
        let identity = make_identity(input).unwrap();
        let passed = identity.invoke(&empty).unwrap();
        assert!(passed == empty && identity.output().domain().member(&passed));
        assert!(laws::divided(&identity, &[empty]).unwrap() > 0);

        let input = Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance);
        let identity = make_identity(input.unwrap().erase()).unwrap();
        for rows in [vec![], vec![7]] {
            let passed = identity.invoke(&AnyValue::new(rows.clone())).unwrap();
            assert!(identity.output().domain().member(&passed));
            // The later step `count` recovers the type of the rows, even when there are no rows.
            let count = Function::map(|rows: &Vec<i32>| Ok(rows.len())).erase();
            let counted = identity.function().then(&count).eval(&AnyValue::new(rows.clone()));
            assert_eq!(counted.and_then(AnyValue::downcast::<usize>), Ok(rows.len()));
        }
    }
    #[test]
    fn the_laws_refuse_a_copy_that_reverses_under_an_ordered_metric() {
        let domain = VectorDomain::new(AtomDomain::<i32>::default()).with_size(2);
        let input = Space::new(domain, HammingDistance).unwrap();
        let reverse = Function::map(|x: &Vec<i32>| Ok(x.iter().rev().copied().collect()));
        let shift = Function::map(|x: &Vec<i32>| Ok(vec![x[0], x[0]]));
        let data = laws::vectors(&[1, 2], 2);
        let with = |function| {
            let map = StabilityMap::identity();
            Transformation::new(input.clone(), input.clone(), function, map)
        };
        assert!(laws::stable(&with(reverse), &data).is_ok());
        assert!(laws::stable(&with(shift), &data).is_err());
    }
}
