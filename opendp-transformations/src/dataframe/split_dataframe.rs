//! Makes a frame from the lines of a text.

use opendp_core::{
    AtomDomain, DataFrameDomain, HashableAtom, MetricOn, Result, SymmetricDistance, Transformation,
};

use crate::dataframe::split_lines::Text;
use crate::{make_create_dataframe, make_split_lines, make_split_records};

/// Split a text into lines and fields, and make a frame from them.
///
/// # Arguments
/// * `separator` - the text between two fields
/// * `col_names` - the names of the columns, in the order of the fields
///
/// # Precondition
/// The precondition of [`make_split_lines`] holds: one line is one record. The first line is also a
/// record, so remove a header first. No cell contains the separator. Otherwise the cell is split at
/// the separator, even within quotes, and the later cells of the line move to other columns. If a
/// CSV file has a header or quoted cells, read it with a program for CSV, and start from a space of
/// frames.
///
/// # Postcondition
/// Each line is split into fields by [`make_split_records`]. The postcondition of
/// [`make_create_dataframe`] holds for these fields.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// This constructor chains [`make_split_lines`], [`make_split_records`] and
/// [`make_create_dataframe`], so the proofs of these constructors apply.
///
/// # Errors
/// `MakeTransformation` when the separator is empty. `MakeDomain` when `col_names` is empty, or
/// when a name occurs twice.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_split_dataframe;
/// let input = Space::new(AtomDomain::<String>::default(), SymmetricDistance)?;
/// let frames = make_split_dataframe(input, ",".into(), vec!["a".to_owned(), "b".to_owned()])?;
/// let frame = frames.invoke(&"1, 2\n3\n".to_owned())?;
/// assert_eq!(frame.cells::<String>(&"b".to_owned()).unwrap(), ["2", ""]);
/// # Ok::<(), Error>(())
/// ```
pub fn make_split_dataframe<K>(
    input: Text,
    separator: String,
    col_names: Vec<K>,
) -> Result<
    Transformation<AtomDomain<String>, SymmetricDistance, DataFrameDomain<K>, SymmetricDistance>,
>
where
    K: HashableAtom,
    SymmetricDistance: MetricOn<DataFrameDomain<K>>,
{
    make_split_lines(input)?
        .then(|lines| make_split_records(lines, separator))?
        .then(|fields| make_create_dataframe(fields, col_names))
}

register! {
    "split_dataframe.rs": make_split_dataframe(input, separator = ",", col_names)
        for K in [String];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataframe::split_lines::tests::{check_text, text, texts};
    use crate::make_select_column;

    fn names() -> Vec<String> {
        vec!["a".into(), "b".into()]
    }

    #[test]
    fn obeys_the_laws() {
        let made = make_split_dataframe(text(), ",".into(), names()).unwrap();
        check_text(&made, &texts(&["x", ",", "\n", " ", "\""], 4));
    }
    #[test]
    fn gives_the_columns_that_the_catalogue_lists() {
        let chain = make_split_dataframe(text(), ",".into(), names()).unwrap();
        let chain = chain.then(|x| make_select_column::<_, String, _>(x, "b".into())).unwrap();
        let table = "1, 2\n3\n\n4,5,6\n\"x,y\",7\n, ,".to_owned();
        assert_eq!(chain.invoke(&table).unwrap(), ["2", "", "", "5", "y\"", ""]);
        assert_eq!(chain.map(&2), Ok(2));
    }
    #[test]
    fn refuses_what_its_parts_refuse() {
        assert!(make_split_dataframe(text(), String::new(), names()).is_err());
        assert!(make_split_dataframe(text(), ",".into(), vec![1, 1]).is_err());
    }
}
