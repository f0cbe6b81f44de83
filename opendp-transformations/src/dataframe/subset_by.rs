//! Keeps the rows of a frame in which a column is true.

use opendp_core::{
    Chunk, Codec, DataFrame, DataFrameDomain, DatasetMetric, Error, FrameChunk, Function,
    HashableAtom, MetricOn, Result, Space, StabilityMap, SymmetricDistance, Transformation,
};

use crate::dataframe::select_column::{absent, column};
use crate::rows::each::call;

/// Keep the rows in which a column of truth values is true.
///
/// # Arguments
/// * `indicator_column` - the name of the column
/// * `keep_columns` - the names of the columns to keep
///
/// # Precondition
/// The metric counts added and removed records (`SymmetricDistance`), or it counts inserted and
/// deleted records (`InsertDeleteDistance`). If the schema of the frames is known, the schema
/// contains the indicator column and the columns to keep. In this schema, the indicator column has
/// type `bool`.
///
/// # Postcondition
/// The output contains the rows in which the indicator column is true, in the same order. Only the
/// columns to keep are in the output. If the schema is not known, rows can lack columns. A row is
/// left out if its indicator is absent or has another type. A row is also left out if it has none
/// of the columns to keep. If a row has only some of the columns to keep, its output has only these
/// columns. The size is unknown, even if the size of the input is known.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// The decision to keep a row, and the cells of its output, depend only on that row. See
/// [`make_filter`](crate::make_filter).
///
/// # Errors
/// `MakeTransformation` when there are no columns to keep. `MakeTransformation` when a known schema
/// lacks one of the columns, or when the indicator column in this schema has another type.
/// `MetricSpace` when the metric requires a known size.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_subset_by;
/// let input = Space::new(DataFrameDomain::<String>::default(), SymmetricDistance)?;
/// let adults = make_subset_by(input, "adult".into(), vec!["age".into()])?;
/// let frame = adults.invoke(&DataFrame::new([
///     ("adult".to_owned(), Column::new(vec![true, false])),
///     ("age".to_owned(), Column::new(vec![36, 9])),
/// ])?)?;
/// assert_eq!(frame, DataFrame::new([("age".to_owned(), Column::new(vec![36]))])?);
/// # Ok::<(), Error>(())
/// ```
pub fn make_subset_by<TK, M>(
    input: Space<DataFrameDomain<TK>, M>,
    indicator_column: TK,
    keep_columns: Vec<TK>,
) -> Result<Transformation<DataFrameDomain<TK>, M, DataFrameDomain<TK>, M>>
where
    TK: HashableAtom,
    M: DatasetMetric + MetricOn<DataFrameDomain<TK>>,
{
    if keep_columns.is_empty() {
        return Err(Error::MakeTransformation(
            "keep_columns: expected at least one name, found none".into(),
        ));
    }
    column::<TK, bool>(input.domain(), &indicator_column, "indicator_column")?;
    let domain = match input.domain().schema() {
        None => DataFrameDomain::default(),
        Some(schema) => {
            let has = |name: &&TK| schema.iter().any(|(known, _)| known == *name);
            if let Some(name) = keep_columns.iter().find(|name| !has(name)) {
                return Err(Error::MakeTransformation(format!(
                    "keep_columns: expected names of columns, found {}",
                    absent(name, schema)
                )));
            }
            let kept = schema.iter().filter(|(name, _)| keep_columns.contains(name));
            DataFrameDomain::with_schema(kept.cloned())?
        }
    };
    let empty = domain.empty();
    let output = Space::new(domain, input.metric().clone())?;
    let label = call("subset_by", [indicator_column.to_json(), keep_columns.to_json()]);
    let keep = move |rows: FrameChunk<'_, TK>, out: &mut DataFrame<TK>| {
        let nothing = || vec![false; rows.rows()];
        let mask = rows.cells::<bool>(&indicator_column).map_or_else(nothing, <[bool]>::to_vec);
        out.append(rows.kept(&keep_columns, &mask));
        Ok(())
    };
    let map = StabilityMap::identity();
    let function = Function::rows_onto(empty, keep).labelled(label);
    Ok(Transformation::new(input, output, function, map))
}

register! {
    "subset_by.rs": make_subset_by(input, indicator_column, keep_columns)
        for TK in [String], M in unsized_metrics = SymmetricDistance;
}

#[cfg(test)]
mod tests {
    use super::*;
    use opendp_core::{
        AtomDomain, ChangeOneDistance, Column, ColumnDomain, Domain, HammingDistance,
        InsertDeleteDistance, laws,
    };

    fn row(x: f64, flag: bool, y: i32) -> DataFrame<String> {
        DataFrame::new([
            ("x".to_owned(), Column::new(vec![x])),
            ("flag".to_owned(), Column::new(vec![flag])),
            ("y".to_owned(), Column::new(vec![y])),
        ])
        .unwrap()
    }
    fn schema() -> DataFrameDomain<String> {
        DataFrameDomain::with_schema([
            ("x".to_owned(), ColumnDomain::new(AtomDomain::<f64>::default())),
            ("flag".to_owned(), ColumnDomain::new(AtomDomain::<bool>::default())),
            ("y".to_owned(), ColumnDomain::new(AtomDomain::<i32>::default())),
        ])
        .unwrap()
    }
    fn frames() -> Vec<DataFrame<String>> {
        let rows = [row(f64::NAN, true, 1), row(f64::NAN, false, 1), row(-0.0, true, i32::MIN)];
        let mut all = laws::frames(&rows, 3);
        let other = |name: &str, column| DataFrame::new([(name.to_owned(), column)]).unwrap();
        all.push(other("flag", Column::new(vec![true, false])));
        all.push(other("flag", Column::new(vec![1, 0])));
        all.push(other("x", Column::new(vec![true])));
        all
    }
    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn obeys_the_laws() {
        for domain in [DataFrameDomain::default(), schema(), schema().with_size(2)] {
            for keep in [&["x", "y"][..], &["flag"], &["x", "x"]] {
                let input = Space::new(domain.clone(), SymmetricDistance).unwrap();
                let made = make_subset_by(input, "flag".into(), names(keep)).unwrap();
                assert!(laws::on(&made, &frames()).unwrap() > 100);
                assert_eq!((made.map(&3), made.output().domain().size()), (Ok(3), None));
            }
            let Ok(input) = Space::new(domain, InsertDeleteDistance) else { continue };
            let made = make_subset_by(input, "flag".into(), names(&["y"])).unwrap();
            assert!(laws::on(&made, &frames()).unwrap() > 100);
        }
    }
    #[test]
    fn keeps_marked_rows_and_kept_columns() {
        let input = Space::new(schema(), SymmetricDistance).unwrap();
        let made = make_subset_by(input, "flag".into(), names(&["y"])).unwrap();
        let frame = laws::frames(&[row(1.0, true, 1)], 2).pop().unwrap();
        let out = made.invoke(&frame).unwrap();
        let expected = DataFrame::new([("y".to_owned(), Column::new(vec![1, 1]))]).unwrap();
        assert_eq!(out, expected);
        let nobody = made.invoke(&row(1.0, false, 1)).unwrap();
        assert!(nobody.rows() == 0 && made.output().domain().member(&nobody));
    }
    #[test]
    fn refuses_what_the_schema_does_not_have() {
        let make = |by: &str, keep: &[&str]| {
            let input = Space::new(schema(), SymmetricDistance).unwrap();
            make_subset_by(input, by.into(), names(keep)).map(|_| ()).map_err(|e| e.kind())
        };
        assert_eq!(make("y", &["x"]), Err("MakeTransformation"));
        assert_eq!(make("w", &["x"]), Err("MakeTransformation"));
        assert_eq!(make("flag", &["w"]), Err("MakeTransformation"));
        assert_eq!(make("flag", &[]), Err("MakeTransformation"));
        assert_eq!(make("flag", &["x"]), Ok(()));
        let input = Space::new(schema(), SymmetricDistance).unwrap();
        let error = make_subset_by(input, "flag".into(), names(&["x", "w"])).unwrap_err();
        assert!(
            error.to_string().contains("found `w`") && error.to_string().contains("`flag`: bool")
        );
    }
    #[test]
    fn refuses_a_metric_of_one_size() {
        let domain = schema().with_size(2);
        let input = Space::new(domain.clone(), HammingDistance).unwrap();
        let error = make_subset_by(input, "flag".into(), names(&["x"])).unwrap_err();
        assert_eq!(error.kind(), "MetricSpace");
        let input = Space::new(domain, ChangeOneDistance).unwrap();
        assert!(make_subset_by(input, "flag".into(), names(&["x"])).is_err());
    }
    #[test]
    fn the_laws_refuse_to_mark_by_the_row_before() {
        let input = Space::new(schema(), InsertDeleteDistance).unwrap();
        let honest = make_subset_by(input.clone(), "flag".into(), names(&["y"])).unwrap();
        let before = Function::map(|frame: &DataFrame<String>| {
            let flags = frame.cells::<bool>(&"flag".to_owned()).unwrap_or_default();
            let cells = frame.cells::<i32>(&"y".to_owned()).unwrap_or_default();
            let marked = cells.iter().skip(1).zip(flags).filter(|(_, flag)| **flag);
            let kept = Column::new(marked.map(|(cell, _)| *cell).collect());
            DataFrame::new([("y".to_owned(), kept)])
        });
        let map = StabilityMap::identity();
        let wrong = Transformation::new(input, honest.output().clone(), before, map);
        assert!(laws::stable(&wrong, &frames()).is_err());
    }
}
