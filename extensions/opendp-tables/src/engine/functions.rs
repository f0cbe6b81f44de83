//! Functions that the engine in this process has besides those of DataFusion. Each stands for an
//! expression of the portable plan, gives the same results bit for bit, and takes one pass.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Float64Array, Int64Array,
};
use datafusion::arrow::buffer::{BooleanBuffer, NullBuffer};
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::common::ScalarValue;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf};

/// Decimals in which integers are added up.
const WIDE: DataType = DataType::Decimal128(28, 0);

type Done = Result<ColumnarValue, DataFusionError>;

/// Return all functions.
pub(crate) fn functions() -> Vec<ScalarUDF> {
    let (float, whole, truth) = (DataType::Float64, DataType::Int64, [DataType::Boolean]);
    let make = |name: &str, takes: Vec<DataType>, gives, run: fn(&[ColumnarValue]) -> Done| {
        create_udf(name, takes, gives, Volatility::Immutable, Arc::new(run))
    };
    let points = vec![whole.clone(); 4];
    vec![
        make("dp_float", vec![float.clone()], float.clone(), dp_float),
        make("dp_wide", vec![whole.clone()], WIDE, dp_wide),
        make("dp_whole", [&points[..], &truth[..]].concat(), whole.clone(), dp_whole),
        make("dp_point", [&[float], &points[..], &truth[..]].concat(), whole, dp_point),
    ]
}
/// Move a float to a moderate magnitude, as the portable plan does.
fn moderate(x: f64) -> f64 {
    (x.clamp(-1e100, 1e100) + 1e-100) - 1e-100
}
fn wrong(what: &str) -> DataFusionError {
    DataFusionError::Internal(format!("{what}: unexpected arguments"))
}
/// Return the column that a function is computed of.
fn column(args: &[ColumnarValue]) -> Result<ArrayRef, DataFusionError> {
    match args.first() {
        Some(ColumnarValue::Array(array)) => Ok(array.clone()),
        Some(ColumnarValue::Scalar(scalar)) => scalar.to_array(),
        None => Err(wrong("column")),
    }
}
/// Return a public integer among the arguments.
fn point(args: &[ColumnarValue], place: usize) -> Result<i64, DataFusionError> {
    match args.get(place) {
        Some(ColumnarValue::Scalar(ScalarValue::Int64(Some(point)))) => Ok(*point),
        _ => Err(wrong("point")),
    }
}
fn truth(args: &[ColumnarValue], place: usize) -> Result<bool, DataFusionError> {
    match args.get(place) {
        Some(ColumnarValue::Scalar(ScalarValue::Boolean(Some(truth)))) => Ok(*truth),
        _ => Err(wrong("truth")),
    }
}
/// NaN becomes null, and other floats become moderate.
fn dp_float(args: &[ColumnarValue]) -> Done {
    let array = column(args)?;
    let floats = array.as_primitive::<Float64Type>();
    let values = floats.values();
    let nulls = match values.iter().any(|x| x.is_nan()) {
        false => floats.nulls().cloned(),
        true => {
            let known = BooleanBuffer::collect_bool(values.len(), |row| {
                values.get(row).is_some_and(|x| !x.is_nan())
            });
            NullBuffer::union(floats.nulls(), Some(&NullBuffer::new(known)))
        }
    };
    let values: Vec<f64> = values.iter().map(|x| moderate(*x)).collect();
    Ok(ColumnarValue::Array(Arc::new(Float64Array::new(values.into(), nulls))))
}
/// Write integers as decimals.
fn dp_wide(args: &[ColumnarValue]) -> Done {
    let array = column(args)?;
    let whole = array.as_primitive::<Int64Type>();
    let values: Vec<i128> = whole.values().iter().map(|x| i128::from(*x)).collect();
    let wide = Decimal128Array::new(values.into(), whole.nulls().cloned());
    Ok(ColumnarValue::Array(Arc::new(wide.with_data_type(WIDE))))
}
/// Subtract the centre, and square if that is wanted. Points have few enough bits.
fn placed(point: i64, centre: i64, square: bool) -> i64 {
    let place = point.wrapping_sub(centre);
    if square { place.wrapping_mul(place) } else { place }
}
/// Compute a function of every value that is known; others become 0.
fn of_known<T: Copy>(
    values: &[T],
    nulls: Option<&NullBuffer>,
    of: impl Fn(T) -> i64,
) -> ColumnarValue {
    let points: Vec<i64> = match nulls.filter(|nulls| nulls.null_count() > 0) {
        None => values.iter().map(|x| of(*x)).collect(),
        Some(nulls) => {
            values.iter().zip(nulls).map(|(x, known)| if known { of(*x) } else { 0 }).collect()
        }
    };
    ColumnarValue::Array(Arc::new(Int64Array::new(points.into(), None)))
}
/// Move an integer into bounds, less the centre; 0 for null. The arguments are the column, the
/// bounds, the centre, and whether to square.
fn dp_whole(args: &[ColumnarValue]) -> Done {
    let array = column(args)?;
    let whole = array.as_primitive::<Int64Type>();
    let (low, high, centre) = (point(args, 1)?, point(args, 2)?, point(args, 3)?);
    let square = truth(args, 4)?;
    if high < low {
        return Err(wrong("dp_whole"));
    }
    let of = |x: i64| placed(x.clamp(low, high), centre, square);
    Ok(of_known(whole.values(), whole.nulls(), of))
}
/// Move a float into bounds and round it to a lattice, less the centre; 0 for null. The arguments
/// are the column, the bounds in steps, the exponent of the step, the centre, and whether to
/// square.
fn dp_point(args: &[ColumnarValue]) -> Done {
    let array = column(args)?;
    let floats = array.as_primitive::<Float64Type>();
    let (low, high) = (point(args, 1)?, point(args, 2)?);
    let (exponent, centre, square) = (point(args, 3)?, point(args, 4)?, truth(args, 5)?);
    let exponent = i32::try_from(exponent).map_err(|_| wrong("dp_point"))?;
    if high < low || 500 < exponent.abs() {
        return Err(wrong("dp_point"));
    }
    let (step, steps) = (2f64.powi(exponent), 2f64.powi(-exponent));
    let (least, most) = (low as f64 * step, high as f64 * step);
    let of = |x: f64| {
        let x = moderate(x);
        let inside = ((x * steps + 0.5).floor() as i64).clamp(low, high);
        let point = if x <= least { low } else { inside };
        placed(if most <= x { high } else { point }, centre, square)
    };
    Ok(of_known(floats.values(), floats.nulls(), of))
}
