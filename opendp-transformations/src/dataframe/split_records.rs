//! Splits each line into fields.

use opendp_core::{
    AtomDomain, Codec, DatasetMetric, Error, Function, MetricOn, Result, Space, SymmetricDistance,
    Transformation, VectorDomain,
};

use crate::dataframe::split_lines::Texts;
use crate::rows::each::{call, each, rows};

/// The domain of data sets whose records are lists of fields. The number of fields can differ
/// between records.
pub(crate) type Fields = VectorDomain<Texts>;

/// Split each text into fields.
///
/// # Arguments
/// * `separator` - the text between two fields
///
/// # Precondition
/// The input is any space of texts.
///
/// # Postcondition
/// The output has one list of fields for each record, in the same order. White space around a field
/// is removed. Quotes have no special meaning. So a separator within quotes also separates fields,
/// and moves the later fields of the record to other places. The size does not change.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// The fields of a record depend only on that record; see
/// [`make_row_by_row`](crate::make_row_by_row).
///
/// # Errors
/// `MakeTransformation` when the separator is empty. `MetricSpace` when the metric is not defined
/// on the output domain. Every dataset metric of this project is defined on the output domain.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_split_records;
/// let lines = VectorDomain::new(AtomDomain::<String>::default());
/// let input = Space::new(lines, SymmetricDistance)?;
/// let fields = make_split_records(input, ",".into())?;
/// assert_eq!(fields.invoke(&vec!["a, b".into(), "".into()])?, [vec!["a", "b"], vec![""]]);
/// # Ok::<(), Error>(())
/// ```
pub fn make_split_records<M>(
    input: Space<Texts, M>,
    separator: String,
) -> Result<Transformation<Texts, M, Fields, M>>
where
    M: DatasetMetric + MetricOn<Texts> + MetricOn<Fields>,
{
    if separator.is_empty() {
        return Err(Error::MakeTransformation(
            "separator: expected at least one character, found none".into(),
        ));
    }
    each(input, Texts::new(AtomDomain::default()), split(separator))
}
fn split(separator: String) -> Function<Vec<String>, Vec<Vec<String>>> {
    let label = call("split_records", [separator.to_json()]);
    let split = move |record: &String| -> Vec<String> {
        record.split(&separator).map(|field| field.trim().to_owned()).collect()
    };
    rows(split).labelled(label)
}

register! {
    "split_records.rs": make_split_records(input, separator = ",")
        for M in unsized_metrics = SymmetricDistance;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_checks::check_rows;
    use opendp_core::{Function, InsertDeleteDistance, StabilityMap, laws};

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn obeys_the_laws() {
        let alphabet = texts(&["", ",", "a,b", " ,,é", "\"a,b\""]);
        let any = AtomDomain::default();
        check_rows(&any, &alphabet, |x: Space<_, SymmetricDistance>| {
            make_split_records(x, ",".into())
        });
        check_rows(&any, &alphabet, |x: Space<_, InsertDeleteDistance>| {
            make_split_records(x, "a,".into())
        });
    }
    #[test]
    fn splits_as_the_catalogue_lists() {
        let input = Space::new(Texts::default(), SymmetricDistance).unwrap();
        let fields = make_split_records(input.clone(), ",".into()).unwrap();
        let found = fields.invoke(&texts(&["1, 2", "", "\"x,y\",7", " , "])).unwrap();
        let expected: [&[&str]; 4] = [&["1", "2"], &[""], &["\"x", "y\"", "7"], &["", ""]];
        assert_eq!(found, expected);
        let error = make_split_records(input, String::new()).unwrap_err();
        assert_eq!(error.kind(), "MakeTransformation");
    }
    #[test]
    fn the_laws_refuse_a_separator_found_in_the_first_record() {
        let input = Space::new(Texts::default(), SymmetricDistance).unwrap();
        let honest = make_split_records(input.clone(), ",".into()).unwrap();
        let sniffed = Function::map(|records: &Vec<String>| {
            let by = if records.first().is_some_and(|r| r.contains(';')) { ';' } else { ',' };
            Ok(records.iter().map(|r| r.split(by).map(str::to_owned).collect()).collect())
        });
        let map = StabilityMap::identity();
        let wrong = Transformation::new(input, honest.output().clone(), sniffed, map);
        let data = laws::vectors(&texts(&["a;b", "a,b"]), 3);
        assert!(laws::stable(&honest, &data).is_ok() && laws::stable(&wrong, &data).is_err());
    }
}
