//! Selects one column of a frame.

use opendp_core::{
    Cell, ColumnDomain, DataFrame, DataFrameDomain, DatasetMetric, Error, FrameChunk, Function,
    HashableAtom, MetricOn, Result, Space, StabilityMap, SymmetricDistance, Transformation,
    TypeName, VectorDomain,
};

use crate::rows::each::call;

/// Keep one column of a frame.
///
/// # Arguments
/// * `key` - the name of the column
///
/// # Precondition
/// The input is any space of frames. If the schema of the frames is known, the schema contains the
/// column, with the type `TOA`.
///
/// # Postcondition
/// The output has one record for each row, in the same order. This record is the cell of the row in
/// this column. The element domain is the domain of the column in the schema. If the schema is not
/// known, the element domain contains every value of the type `TOA`. Some rows can then lack the
/// cell, or have a cell of another type. The record of such a row is the default value of `TOA`:
/// zero, `false`, the empty text, or null. The size does not change.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// The record of a row depends only on that row. Equal rows have equal cells; see
/// [`make_row_by_row`](crate::make_row_by_row).
///
/// # Errors
/// `MakeTransformation` when the schema is known, and lacks the column or states another type for
/// the column. `MetricSpace` when the metric is not defined on the output domain. Every dataset
/// metric of this project is defined on the output domain.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_select_column;
/// let input = Space::new(DataFrameDomain::<String>::default(), SymmetricDistance)?;
/// let ages = make_select_column::<_, i32, _>(input, "age".into())?;
/// let people = DataFrame::new([("age".to_owned(), Column::new(vec![36, 39]))])?;
/// assert_eq!(ages.invoke(&people)?, [36, 39]);
/// # Ok::<(), Error>(())
/// ```
#[allow(clippy::type_complexity, reason = "the type says what the function makes")]
pub fn make_select_column<K, TOA, M>(
    input: Space<DataFrameDomain<K>, M>,
    key: K,
) -> Result<Transformation<DataFrameDomain<K>, M, VectorDomain<TOA::Domain>, M>>
where
    K: HashableAtom,
    TOA: Cell,
    M: DatasetMetric + MetricOn<DataFrameDomain<K>> + MetricOn<VectorDomain<TOA::Domain>>,
{
    let select = select(&key);
    match cells::<K, TOA, M>(&input, &key) {
        Ok(output) => Ok(Transformation::new(input, output, select, StabilityMap::identity())),
        Err(error) => Err(error),
    }
}
/// Return the space of the cells of a column.
fn cells<K, T, M>(
    frames: &Space<DataFrameDomain<K>, M>,
    key: &K,
) -> Result<Space<VectorDomain<T::Domain>, M>>
where
    K: HashableAtom,
    T: Cell,
    M: MetricOn<VectorDomain<T::Domain>>,
{
    let domain = match column::<K, T>(frames.domain(), key, "key") {
        Ok(element) => VectorDomain::new(element.unwrap_or_default()),
        Err(error) => return Err(error),
    };
    let domain = match frames.domain().size() {
        Some(size) => domain.with_size(size),
        None => domain,
    };
    Space::new(domain, frames.metric().clone())
}
fn select<K: HashableAtom, T: Cell>(key: &K) -> Function<DataFrame<K>, Vec<T>> {
    let (label, key) = (call("select_column", [key.to_json()]), key.clone());
    let select = move |rows: FrameChunk<'_, K>, out: &mut Vec<T>| {
        match rows.cells::<T>(&key) {
            Some(cells) => out.extend_from_slice(cells),
            None => out.resize_with(out.len() + opendp_core::Chunk::rows(rows), T::default),
        }
        Ok(())
    };
    Function::rows(select).labelled(label)
}

register! {
    "select_column.rs": make_select_column(input, key)
        for K in [String],
            TOA in [
                bool, i32, i64, u32, u64, usize, f32, f64, String, Option<bool>, Option<i32>,
                Option<i64>, Option<u32>, Option<u64>, Option<usize>, Option<f32>, Option<f64>,
                Option<String>,
            ],
            M in unsized_metrics = SymmetricDistance;
}

/// Return the domain of the cells of a column, or `None` if there is no schema. If the schema lacks
/// this column, or if the schema states another type than `T`, the error is `MakeTransformation`.
/// The error names the argument `argument`.
pub(crate) fn column<K: HashableAtom, T: Cell>(
    domain: &DataFrameDomain<K>,
    name: &K,
    argument: &str,
) -> Result<Option<T::Domain>> {
    let Some(schema) = domain.schema() else { return Ok(None) };
    let column = domain.column(name);
    match column.and_then(ColumnDomain::cell::<T>) {
        None => Err(unfit(argument, &T::type_name(), &found(name, schema, column))),
        found => Ok(found.cloned()),
    }
}
/// Describe what was found in the place of a column with the expected type.
fn found<K: HashableAtom>(
    name: &K,
    schema: &[(K, ColumnDomain)],
    column: Option<&ColumnDomain>,
) -> String {
    match column {
        None => absent(name, schema),
        Some(column) => {
            format!("`{}`, the name of a column of type {}", plain(name), column.cell_type())
        }
    }
}
#[cold]
fn unfit(argument: &str, expected: &TypeName, found: &str) -> Error {
    Error::MakeTransformation(format!(
        "{argument}: expected the name of a column of type {expected}, found {found}"
    ))
}
/// Make the text of the error for a name that a schema lacks. The text lists the names of the
/// columns in the schema. The names and the schema are public.
pub(crate) fn absent<K: HashableAtom>(name: &K, schema: &[(K, ColumnDomain)]) -> String {
    let known =
        schema.iter().map(|(name, column)| format!("`{}`: {}", plain(name), column.cell_type()));
    let known = known.collect::<Vec<_>>().join(", ");
    format!("`{}`, which the schema does not have; its columns are {known}", plain(name))
}
/// Format a name for a message. A text is written without quotes.
fn plain<K: HashableAtom>(name: &K) -> String {
    match name.to_json() {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use opendp_core::{
        AtomDomain, Bounds, Codec, Column, ColumnDomain, DataFrame, Domain, HammingDistance,
        InsertDeleteDistance, laws,
    };

    /// Make rows with unusual cells. The columns are `x` of type `f64`, `y` of type `String`, and
    /// `z` of type `Option<i64>`.
    pub(crate) fn rows() -> Vec<DataFrame<String>> {
        let row = |x: f64, y: &str, z: Option<i64>| {
            DataFrame::new([
                ("x".to_owned(), Column::new(vec![x])),
                ("y".to_owned(), Column::new(vec![y.to_owned()])),
                ("z".to_owned(), Column::new(vec![z])),
            ])
        };
        [
            row(f64::NAN, "1e400", None),
            row(f64::NAN, "NaN", Some(i64::MIN)),
            row(-0.0, " 5", Some(0)),
            row(0.0, "٣", Some(i64::MAX)),
            row(5e-324, "", None),
        ]
        .map(Result::unwrap)
        .to_vec()
    }
    /// Return the schema of the rows that `rows` returns.
    pub(crate) fn schema() -> DataFrameDomain<String> {
        use opendp_core::OptionDomain;
        DataFrameDomain::with_schema([
            ("x".to_owned(), ColumnDomain::new(AtomDomain::<f64>::default())),
            ("y".to_owned(), ColumnDomain::new(AtomDomain::<String>::default())),
            ("z".to_owned(), ColumnDomain::new(OptionDomain::new(AtomDomain::<i64>::default()))),
        ])
        .unwrap()
    }
    /// Return the domains for tests of a constructor. There are four domains: the schema is known
    /// or unknown, and the size is known or unknown.
    pub(crate) fn domains() -> Vec<DataFrameDomain<String>> {
        let any = DataFrameDomain::default();
        vec![any.clone(), schema(), any.with_size(2), schema().with_size(2)]
    }
    /// Make frames with unusual cells. Some frames lack a column of the schema, or have a column
    /// whose type differs from its type in the schema.
    pub(crate) fn frames() -> Vec<DataFrame<String>> {
        let mut all = laws::frames(&rows(), 2);
        let other = |x: Column| DataFrame::new([("x".to_owned(), x)]).unwrap();
        all.extend(laws::frames(
            &[other(Column::new(vec![0.0])), other(Column::new(vec![1.0]))],
            2,
        ));
        all.extend(laws::frames(&[other(Column::new(vec!["0".to_owned()]))], 2));
        all.extend(laws::frames(&[other(Column::new(vec![true]))], 2));
        let names = ["y", "z"].map(|name| (name.to_owned(), Column::new(vec![false, true])));
        all.push(DataFrame::new(names).unwrap());
        all
    }
    /// Check all laws of a transformation of frames, and check that the map returns 3 for the
    /// distance 3. Check also that the transformation acts on each row alone.
    #[track_caller]
    pub(crate) fn check<DO, MI, MO>(made: &Transformation<DataFrameDomain<String>, MI, DO, MO>)
    where
        DO: Domain,
        MI: opendp_core::DistanceOn<DataFrameDomain<String>, Distance = u32>,
        MO: opendp_core::DistanceOn<DO, Distance = u32>,
        DO::Carrier: std::fmt::Debug,
    {
        let members: Vec<_> =
            frames().into_iter().filter(|frame| made.input().domain().member(frame)).collect();
        assert!(laws::on(made, &members).unwrap() > 100);
        assert_eq!(made.map(&3), Ok(3));
        // Check that f(x ++ y) = f(x) ++ f(y) for all frames x and y with the same names and types
        // of columns. The symbol ++ joins the rows of two frames.
        if made.input().domain().size().is_none() {
            let run = |frame: &DataFrame<String>| made.invoke(frame).unwrap();
            for (x, y) in members.iter().flat_map(|x| members.iter().map(move |y| (x, y))) {
                let types = |frame: &DataFrame<String>| {
                    let columns = frame.columns();
                    columns.map(|(n, c)| (n.clone(), c.cell_type())).collect::<Vec<_>>()
                };
                if types(x) != types(y) {
                    continue;
                }
                let (mut joint, mut apart) = (x.clone(), run(x));
                joint.append(y.clone());
                opendp_core::Carrier::append_rows(&mut apart, opendp_core::Carrier::chunk(&run(y)));
                if 0 < joint.rows() {
                    assert_eq!(run(&joint).to_json(), apart.to_json());
                }
            }
        }
    }

    #[test]
    fn obeys_the_laws() {
        for domain in domains() {
            let input = Space::new(domain, SymmetricDistance).unwrap();
            check(&make_select_column::<_, f64, _>(input.clone(), "x".into()).unwrap());
            check(&make_select_column::<_, String, _>(input.clone(), "y".into()).unwrap());
            check(&make_select_column::<_, Option<i64>, _>(input, "z".into()).unwrap());
        }
        let input = Space::new(schema(), InsertDeleteDistance).unwrap();
        check(&make_select_column::<_, f64, _>(input, "x".into()).unwrap());
        let input = Space::new(schema().with_size(2), HammingDistance).unwrap();
        check(&make_select_column::<_, f64, _>(input, "x".into()).unwrap());
    }
    #[test]
    fn a_schema_that_does_not_fit_is_an_error_of_the_construction() {
        let input = Space::new(schema(), SymmetricDistance).unwrap();
        let missing = make_select_column::<_, f64, _>(input.clone(), "w".into()).unwrap_err();
        assert_eq!(missing.kind(), "MakeTransformation");
        let columns = "`x`: f64, `y`: String, `z`: Option<i64>";
        assert!(missing.to_string().contains("type f64, found `w`"), "{missing}");
        assert!(missing.to_string().contains(columns), "{missing}");
        let other = make_select_column::<_, i64, _>(input, "z".into()).unwrap_err();
        assert!(
            other.to_string().contains("`z`, the name of a column of type Option<i64>"),
            "{other}"
        );
    }
    #[test]
    fn a_row_without_the_column_gives_the_default_value() {
        let input = Space::new(DataFrameDomain::default(), SymmetricDistance).unwrap();
        let select = make_select_column::<_, f64, _>(input, "y".into()).unwrap();
        let data = laws::frames(&rows(), 1)[1].clone();
        assert_eq!(select.invoke(&data).unwrap(), [0.0]);
    }
    #[test]
    fn the_output_keeps_the_bounds_and_the_size_of_the_schema() {
        let unit = AtomDomain::bounded(Bounds::new(0.0, 1.0).unwrap());
        let domain = schema().with_column("x".into(), ColumnDomain::new(unit.clone()));
        let input = Space::new(domain.with_size(7), SymmetricDistance).unwrap();
        let select = make_select_column::<_, f64, _>(input, "x".into()).unwrap();
        assert_eq!(select.output().domain(), &VectorDomain::new(unit).with_size(7));
    }
    #[test]
    fn the_laws_refuse_to_leave_out_rows_without_the_column() {
        let any = DataFrameDomain::default().with_size(2);
        let input = Space::new(any, SymmetricDistance).unwrap();
        let honest = make_select_column::<_, f64, _>(input.clone(), "x".into()).unwrap();
        let present = Function::map(|frame: &DataFrame<String>| {
            Ok(frame.cells::<f64>(&"x".to_owned()).unwrap_or_default().to_vec())
        });
        let map = StabilityMap::identity();
        let wrong = Transformation::new(input, honest.output().clone(), present, map);
        assert!(laws::member(&wrong, &frames()).is_err());
    }
}
