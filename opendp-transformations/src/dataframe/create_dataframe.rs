//! Makes a frame from fields of text.

use opendp_core::{
    AtomDomain, Codec, Column, ColumnDomain, DataFrame, DataFrameDomain, DatasetMetric, Function,
    HashableAtom, MetricOn, Result, Space, StabilityMap, SymmetricDistance, Transformation,
};

use crate::dataframe::split_records::Fields;
use crate::rows::each::call;

/// Make a frame from the fields of each record.
///
/// # Arguments
/// * `col_names` - the names of the columns, in the order of the fields
///
/// # Precondition
/// The input is any space of lists of fields.
///
/// # Postcondition
/// The output has one row for each record, in the same order. The output has a column of text for
/// each name. A field that a record lacks becomes the empty text. If a record has more fields than
/// there are names, the additional fields are dropped. The size does not change. The domain of the
/// output contains the schema, so later steps are checked when they are built.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// The row of a record depends only on that record; see
/// [`make_row_by_row`](crate::make_row_by_row).
///
/// # Errors
/// `MakeDomain` when `col_names` is empty, or when a name occurs twice. `MetricSpace` when the
/// metric is not defined on the output domain. Every dataset metric of this project is defined on
/// the output domain.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_create_dataframe;
/// let texts = VectorDomain::new(AtomDomain::<String>::default());
/// let input = Space::new(VectorDomain::new(texts), SymmetricDistance)?;
/// let frames = make_create_dataframe(input, vec![1, 2])?;
/// let frame = frames.invoke(&vec![vec!["a".into(), "b".into(), "c".into()], vec![]])?;
/// assert_eq!(frame.cells::<String>(&2).unwrap(), ["b", ""]);
/// # Ok::<(), Error>(())
/// ```
pub fn make_create_dataframe<K, M>(
    input: Space<Fields, M>,
    col_names: Vec<K>,
) -> Result<Transformation<Fields, M, DataFrameDomain<K>, M>>
where
    K: HashableAtom,
    M: DatasetMetric + MetricOn<Fields> + MetricOn<DataFrameDomain<K>>,
{
    let mut domain = texts(&col_names)?;
    if let Some(size) = input.domain().size() {
        domain = domain.with_size(size);
    }
    let function = collect(domain.empty(), col_names);
    let output = Space::new(domain, input.metric().clone())?;
    Ok(Transformation::new(input, output, function, StabilityMap::identity()))
}
/// Return the domain of the frames whose columns are texts with these names.
fn texts<K: HashableAtom>(names: &[K]) -> Result<DataFrameDomain<K>> {
    let text = |name: &K| (name.clone(), ColumnDomain::new(AtomDomain::<String>::default()));
    DataFrameDomain::with_schema(names.iter().map(text))
}
fn collect<K: HashableAtom>(
    empty: DataFrame<K>,
    col_names: Vec<K>,
) -> Function<Vec<Vec<String>>, DataFrame<K>> {
    let label = call("create_dataframe", [col_names.to_json()]);
    let collect = move |records: &[Vec<String>], out: &mut DataFrame<K>| {
        let column = |place: usize| {
            let field = |record: &Vec<String>| record.get(place).cloned().unwrap_or_default();
            Column::new(records.iter().map(field).collect())
        };
        let columns = col_names.iter().enumerate().map(|(i, name)| (name.clone(), column(i)));
        out.append(DataFrame::new(columns)?);
        Ok(())
    };
    Function::rows_onto(empty, collect).labelled(label)
}

register! {
    "create_dataframe.rs": make_create_dataframe(input, col_names)
        for K in [String], M in unsized_metrics = SymmetricDistance;
}

#[cfg(test)]
mod tests {
    use super::*;
    use opendp_core::{Domain, HammingDistance, InsertDeleteDistance, laws};

    fn alphabet() -> Vec<Vec<String>> {
        let records: [&[&str]; 4] = [&[], &["a"], &["NaN", "٣"], &["", "b", "c"]];
        records.iter().map(|fields| fields.iter().map(|x| (*x).to_owned()).collect()).collect()
    }
    fn names() -> Vec<String> {
        vec!["second".into(), "first".into()]
    }

    #[test]
    fn obeys_the_laws() {
        let any = Space::new(Fields::default(), InsertDeleteDistance).unwrap();
        let made = make_create_dataframe(any, names()).unwrap();
        assert!(laws::all(&made, &alphabet(), 3).unwrap() > 1000);
        let sized = Space::new(Fields::default().with_size(2), HammingDistance).unwrap();
        let made = make_create_dataframe(sized, names()).unwrap();
        assert!(laws::all(&made, &alphabet(), 2).unwrap() > 100);
        assert_eq!(made.output().domain().size(), Some(2));
    }
    #[test]
    fn has_the_columns_of_its_schema_even_without_rows() {
        let any = Space::new(Fields::default(), SymmetricDistance).unwrap();
        let made = make_create_dataframe(any, names()).unwrap();
        let frame = made.invoke(&Vec::new()).unwrap();
        assert_eq!((frame.rows(), frame.columns().len()), (0, 2));
        assert!(made.output().domain().member(&frame));
    }
    #[test]
    fn fields_go_to_names_in_order() {
        let any = Space::new(Fields::default(), SymmetricDistance).unwrap();
        let frame = make_create_dataframe(any, names()).unwrap().invoke(&alphabet()).unwrap();
        let second = frame.cells::<String>(&"second".to_owned()).unwrap();
        assert_eq!(second, ["", "a", "NaN", ""]);
        let first = frame.cells::<String>(&"first".to_owned()).unwrap();
        assert_eq!(first, ["", "", "٣", "b"]);
    }
    #[test]
    fn the_laws_refuse_to_leave_out_short_records() {
        let sized = Space::new(Fields::default().with_size(2), SymmetricDistance).unwrap();
        let honest = make_create_dataframe(sized.clone(), names()).unwrap();
        let all = honest.function().clone();
        let full = Function::map(move |records: &Vec<Vec<String>>| {
            all.eval(&records.iter().filter(|record| 2 <= record.len()).cloned().collect())
        });
        let map = StabilityMap::identity();
        let wrong = Transformation::new(sized, honest.output().clone(), full, map);
        let data = laws::vectors(&alphabet(), 2);
        assert!(laws::member(&honest, &data).is_ok() && laws::member(&wrong, &data).is_err());
    }
    #[test]
    fn refuses_no_names_and_one_name_twice() {
        let any = Space::new(Fields::default(), SymmetricDistance).unwrap();
        let kind = |names| make_create_dataframe(any.clone(), names).unwrap_err().kind();
        assert_eq!(kind(Vec::<i32>::new()), "MakeDomain");
        assert_eq!(kind(vec![1, 1]), "MakeDomain");
    }
}
