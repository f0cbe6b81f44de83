//! Functions that queries can use, but that DataFusion does not have. The checker finds the calls
//! of these functions in a query, and translates them.

use std::sync::Arc;

use datafusion::arrow::array::Float64Array;
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::cast::as_float64_array;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{
    AggregateUDF, ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility, create_udaf, create_udf,
};
use datafusion::prelude::lit;

/// Move a number into public bounds, as `clamp(x, low, high)` does in SQL.
pub fn clamp(value: Expr, low: f64, high: f64) -> Expr {
    clamp_function().call(vec![value, lit(low), lit(high)])
}
/// Choose a quantile among candidates, as `quantile(x, alpha)` does in SQL.
pub fn quantile(value: Expr, alpha: f64) -> Expr {
    quantile_function().call(vec![value, lit(alpha)])
}
/// Give an aggregate a weight, as `weight(x, 2)` does in SQL. The aggregate gets a share of the
/// loss of the query in proportion to this weight. The result has the value of the aggregate.
pub fn weight(value: Expr, weight: f64) -> Expr {
    weight_function().call(vec![value, lit(weight)])
}
/// Make the function `weight`. The function runs only on released values, and returns its first
/// argument unchanged.
pub(crate) fn weight_function() -> ScalarUDF {
    ScalarUDF::new_from_impl(Weight(Signature::any(2, Volatility::Immutable)))
}
#[derive(Debug, PartialEq, Eq, Hash)]
struct Weight(Signature);
impl ScalarUDFImpl for Weight {
    fn name(&self) -> &str {
        WEIGHT
    }
    fn signature(&self) -> &Signature {
        &self.0
    }
    fn return_type(&self, types: &[DataType]) -> Result<DataType, DataFusionError> {
        let none = || DataFusionError::Plan("weight: expected a value and a number".into());
        types.first().cloned().ok_or_else(none)
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue, DataFusionError> {
        let value = args.args.into_iter().next();
        value.ok_or_else(|| DataFusionError::Plan("weight: expected a value".into()))
    }
}
/// The name of the function that states weights.
pub(crate) const WEIGHT: &str = "weight";

/// Make the function `clamp`. The function runs only on released values, because the checker
/// translates calls of `clamp` on the rows of a private table.
pub(crate) fn clamp_function() -> ScalarUDF {
    let (float, types) = (DataType::Float64, vec![DataType::Float64; 3]);
    create_udf("clamp", types, float, Volatility::Immutable, Arc::new(clamped))
}
/// Move released values into bounds. If an argument is null, the result is null.
fn clamped(arguments: &[ColumnarValue]) -> Result<ColumnarValue, DataFusionError> {
    let arrays = ColumnarValue::values_to_arrays(arguments)?;
    let [values, lows, highs] = arrays.as_slice() else {
        return Err(DataFusionError::Plan("clamp: expected a number and two bounds".into()));
    };
    let (values, lows) = (as_float64_array(values)?, as_float64_array(lows)?);
    let rows = values.iter().zip(lows.iter()).zip(as_float64_array(highs)?.iter());
    let moved = rows.map(|((value, low), high)| {
        let (value, low, high) = (value?, low?, high?);
        let raised = if value < low { low } else { value };
        Some(if high < raised { high } else { raised })
    });
    Ok(ColumnarValue::Array(Arc::new(moved.collect::<Float64Array>())))
}
/// Make the function `date_trunc`. In contrast to the function of DataFusion, the result for a date
/// is a date. The function runs only on released values.
pub(crate) fn date_trunc_function() -> ScalarUDF {
    ScalarUDF::new_from_impl(DateTrunc(Signature::any(2, Volatility::Immutable)))
}
#[derive(Debug, PartialEq, Eq, Hash)]
struct DateTrunc(Signature);
impl ScalarUDFImpl for DateTrunc {
    fn name(&self) -> &str {
        "date_trunc"
    }
    fn signature(&self) -> &Signature {
        &self.0
    }
    fn return_type(&self, types: &[DataType]) -> Result<DataType, DataFusionError> {
        match types {
            [_, kind @ (DataType::Date32 | DataType::Timestamp(..))] => Ok(kind.clone()),
            [_, other] => Err(DataFusionError::Plan(format!(
                "date_trunc: expected a date or a time, found {other}: state the `type` `date` or \
                 `timestamp` in the metadata"
            ))),
            _ => Err(DataFusionError::Plan("date_trunc: expected a period and a date".into())),
        }
    }
    fn invoke_with_args(
        &self,
        mut args: ScalarFunctionArgs,
    ) -> Result<ColumnarValue, DataFusionError> {
        let kind = args.return_field.data_type().clone();
        let time = DataType::Timestamp(TimeUnit::Microsecond, None);
        if let (DataType::Date32, Some(value)) = (&kind, args.args.get_mut(1)) {
            *value = value.cast_to(&time, None)?;
        }
        let function = datafusion::functions::datetime::date_trunc();
        function.inner().invoke_with_args(args)?.cast_to(&kind, None)
    }
}
pub(crate) fn quantile_function() -> AggregateUDF {
    create_udaf(
        "quantile",
        vec![DataType::Float64; 2],
        Arc::new(DataType::Float64),
        Volatility::Immutable,
        Arc::new(|_| Err(never("quantile"))),
        Arc::new(vec![DataType::Float64]),
    )
}
fn never(name: &str) -> DataFusionError {
    DataFusionError::Plan(format!("{name} can be used only on the rows of a private table"))
}
