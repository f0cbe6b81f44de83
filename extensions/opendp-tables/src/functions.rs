//! Functions in queries that DataFusion does not have. Only the checker reads these functions.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{
    AggregateUDF, Expr, ScalarUDF, Volatility, create_udaf, create_udf,
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
pub(crate) fn clamp_function() -> ScalarUDF {
    let (float, types) = (DataType::Float64, vec![DataType::Float64; 3]);
    create_udf("clamp", types, float, Volatility::Immutable, Arc::new(|_| Err(never("clamp"))))
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
    DataFusionError::Plan(format!("{name} takes rows of a private table"))
}
