//! Casts a column of a frame to another type.

use std::sync::Arc;

use opendp_core::{
    Atom, AtomDomain, Column, ColumnDomain, DataFrameDomain, DatasetMetric, FrameChunk,
    HashableAtom, MetricOn, Result, Space, Transformation, TypeName,
};
use serde_json::Value as Json;

use crate::RoundCast;
use crate::dataframe::replaced::{cast_cells, has, replaced};
use crate::rows::each::call;

/// Cast the cells of a column to another type. If the cast of a cell has no result, the cell
/// becomes the default value of the new type.
///
/// # Arguments
/// * `column_name` - the name of the column
///
/// # Precondition
/// The input is any space of frames. If the schema of the frames is known, the schema contains the
/// column with type `TIA`.
///
/// # Postcondition
/// The output has one row for each row of the input, in the same order. Each cell of the column is
/// replaced by its cast to `TOA`, as in [`RoundCast`]. A cell becomes the default value of `TOA`
/// when the cast has no result. If the schema is not known, some rows can lack the column, or have
/// a column of another type. The new cell of such a row is also the default value. The other
/// columns and the size do not change. Facts about the cells of the column, such as their bounds,
/// are dropped from the domain.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// Each row of the output depends only on the same row of the input. Equal cells have equal casts;
/// see [`make_row_by_row`](crate::make_row_by_row). Every value of `TOA` is in the domain of the
/// new column.
///
/// # Errors
/// `MakeTransformation` when the schema is known, and lacks the column or states another type for
/// the column. `MetricSpace` when the metric is not defined on the output domain. Every dataset
/// metric of this project is defined on the output domain.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_df_cast_default;
/// let input = Space::new(DataFrameDomain::<String>::default(), SymmetricDistance)?;
/// let cast = make_df_cast_default::<_, _, String, i32>(input, "age".into())?;
/// let texts = Column::new(vec!["36".to_owned(), "x".to_owned()]);
/// let people = cast.invoke(&DataFrame::new([("age".to_owned(), texts)])?)?;
/// assert_eq!(people.cells::<i32>(&"age".to_owned()).unwrap(), [36, 0]);
/// # Ok::<(), Error>(())
/// ```
pub fn make_df_cast_default<K, M, TIA, TOA>(
    input: Space<DataFrameDomain<K>, M>,
    column_name: K,
) -> Result<Transformation<DataFrameDomain<K>, M, DataFrameDomain<K>, M>>
where
    K: HashableAtom,
    M: DatasetMetric + MetricOn<DataFrameDomain<K>>,
    TIA: Atom,
    TOA: Atom + RoundCast<TIA>,
{
    let types = [TIA::type_name, TOA::type_name];
    cast(input, column_name, cells::<TOA>, types, (cast_cells::<K, TIA, TOA>, has::<K, TIA>))
}
fn cells<T: Atom>() -> ColumnDomain {
    ColumnDomain::new(AtomDomain::<T>::default())
}

register! {
    "df_cast_default.rs": make_df_cast_default(input, column_name)
        for K in [String],
            M in unsized_metrics,
            TIA in castable_atoms,
            TOA in castable_atoms;
}

type Cast<K> = fn(FrameChunk<'_, K>, &K) -> Result<Column>;
type Check<K> = fn(&DataFrameDomain<K>, &K) -> Result<()>;
/// Replace the cells of a column by their casts. This function is compiled once for all types of
/// cells.
fn cast<K, M>(
    input: Space<DataFrameDomain<K>, M>,
    column_name: K,
    made: fn() -> ColumnDomain,
    types: [fn() -> TypeName; 2],
    (cells, check): (Cast<K>, Check<K>),
) -> Result<Transformation<DataFrameDomain<K>, M, DataFrameDomain<K>, M>>
where
    K: HashableAtom,
    M: DatasetMetric + MetricOn<DataFrameDomain<K>>,
{
    let types = Json::from(types.map(|name| name().to_string()).to_vec());
    let label = call("df_cast_default", [column_name.to_json(), types]);
    replaced(input, column_name, made(), Box::new(label), Arc::new(cells), check)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataframe::select_column::tests::{check, domains, frames, rows, schema};
    use crate::test_checks::metrics::*;
    use crate::{make_clamp, make_sum};
    use opendp_core::{Bounds, Column, DataFrame, Domain, Function, StabilityMap, laws};

    #[test]
    fn obeys_the_laws() {
        for domain in domains() {
            let input = Space::new(domain, SymmetricDistance).unwrap();
            check(&make_df_cast_default::<_, _, f64, i32>(input.clone(), "x".into()).unwrap());
            check(&make_df_cast_default::<_, _, f64, String>(input.clone(), "x".into()).unwrap());
            check(&make_df_cast_default::<_, _, String, f64>(input.clone(), "y".into()).unwrap());
            check(&make_df_cast_default::<_, _, String, bool>(input, "y".into()).unwrap());
        }
        let input = Space::new(schema(), InsertDeleteDistance).unwrap();
        check(&make_df_cast_default::<_, _, f64, u64>(input, "x".into()).unwrap());
        let input = Space::new(schema().with_size(2), HammingDistance).unwrap();
        check(&make_df_cast_default::<_, _, f64, f32>(input, "x".into()).unwrap());
    }
    #[test]
    fn the_schema_of_the_output_is_that_of_the_frame_that_is_made() {
        let bounded = ColumnDomain::new(AtomDomain::bounded(Bounds::new(0.0, 1.0).unwrap()));
        let domain = schema().with_column("x".into(), bounded);
        let input = Space::new(domain.clone(), SymmetricDistance).unwrap();
        let cast = make_df_cast_default::<_, _, f64, f64>(input, "x".into()).unwrap();
        assert_eq!(cast.output().domain(), &schema(), "bounds do not outlive a cast");
        let input = Space::new(domain, SymmetricDistance).unwrap();
        let cast = make_df_cast_default::<_, _, f64, u32>(input, "x".into()).unwrap();
        let column = cast.output().domain().column(&"x".into()).unwrap().cell_type();
        assert_eq!(column.to_string(), "u32");
        for frame in laws::frames(&rows()[2..3], 2) {
            assert!(cast.output().domain().member(&cast.invoke(&frame).unwrap()));
        }
    }
    #[test]
    fn refuses_a_column_of_another_type_or_none() {
        let input = Space::new(schema(), SymmetricDistance).unwrap();
        assert!(make_df_cast_default::<_, _, i32, i32>(input.clone(), "x".into()).is_err());
        assert!(make_df_cast_default::<_, _, i64, i32>(input.clone(), "z".into()).is_err());
        assert!(make_df_cast_default::<_, _, f64, i32>(input, "w".into()).is_err());
    }
    #[test]
    fn the_laws_refuse_a_cast_whose_type_depends_on_the_data() {
        let input = Space::new(schema(), SymmetricDistance).unwrap();
        let honest = make_df_cast_default::<_, _, String, f64>(input.clone(), "y".into()).unwrap();
        let run = honest.function().clone();
        let inferred = Function::map(move |frame: &DataFrame<String>| {
            let numeric = frame.cells::<String>(&"y".to_owned()).unwrap_or_default();
            let numeric = numeric.iter().all(|cell| cell.trim().parse::<f64>().is_ok());
            if numeric { run.eval(frame) } else { Ok(frame.clone()) }
        });
        let map = StabilityMap::identity();
        let wrong = Transformation::new(input, honest.output().clone(), inferred, map);
        assert!(laws::member(&wrong, &frames()).is_err());
        assert!(laws::stable(&wrong, &frames()).is_err());
    }
    #[test]
    fn streams_and_fuses_to_a_sum() {
        let input = Space::new(schema(), SymmetricDistance).unwrap();
        let sum = make_df_cast_default::<_, _, String, i64>(input, "y".into())
            .unwrap()
            .then(|x| crate::make_select_column::<_, i64, _>(x, "y".into()))
            .unwrap()
            .then(|x| make_clamp(x, Bounds::new(0, 9).unwrap()))
            .unwrap()
            .then(make_sum)
            .unwrap();
        assert!(sum.start().is_ok(), "the rows are folded");
        let seven = [
            ("x", Column::new(vec![0.5])),
            ("y", Column::new(vec!["7".to_owned()])),
            ("z", Column::new(vec![None::<i64>])),
        ];
        let mut data = rows();
        data.push(DataFrame::new(seven.map(|(name, column)| (name.to_owned(), column))).unwrap());
        let whole = data.iter().cloned().reduce(|mut all, row| {
            all.append(row);
            all
        });
        // The texts of the other rows do not parse as an `i64`, so their casts are zero.
        assert_eq!(sum.invoke(&whole.unwrap()).unwrap(), 7);
        assert_eq!(sum.invoke_chunks(data.into_iter().map(Ok)).unwrap(), 7);
    }
}
