//! Find aggregates of numbers whose argument is a column of another type.
//!
//! The errors of the planner about such arguments list every type that an aggregate accepts, and do
//! not name the column. So a clear error replaces them.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query, Visit, Visitor,
};
use opendp_core::Error;

use crate::Type;
use crate::check::Tables;

/// The aggregates whose argument must be a number.
const OF_NUMBERS: [&str; 13] = [
    "sum",
    "avg",
    "mean",
    "median",
    "quantile",
    "var",
    "var_samp",
    "var_sample",
    "var_pop",
    "var_population",
    "stddev",
    "stddev_samp",
    "stddev_pop",
];

/// An aggregate of numbers that gets a column of another type.
pub(super) struct Mistake {
    aggregate: String,
    column: String,
    kind: Type,
}
impl Mistake {
    /// Return whether an error of the planner is about the aggregate.
    pub(super) fn explains(&self, error: &str) -> bool {
        error.contains(&format!("'{}'", self.aggregate))
    }
    pub(super) fn error(&self) -> Error {
        let Mistake { aggregate, column, kind } = self;
        let instead = match kind {
            Type::Date => format!("write for example {aggregate}({column} - DATE '2020-01-31')"),
            Type::Timestamp => {
                format!("write for example {aggregate}(EXTRACT(HOUR FROM {column}))")
            }
            _ => "name a column of numbers, or change the `type` of the column in the metadata"
                .into(),
        };
        let reason = format!(
            "expected numbers, found the column `{column}` of type {}: {instead}",
            kind.name()
        );
        Error::argument(aggregate, reason)
    }
}
/// Find the first mistake of a query. Columns are found only by their names. So the query can be
/// right, for example because a subquery renames a column. Use the result only to explain an error
/// of the planner.
pub(super) fn mistake(query: &Query, tables: &Tables) -> Option<Mistake> {
    match query.visit(&mut Calls { tables }) {
        ControlFlow::Continue(()) => None,
        ControlFlow::Break(mistake) => Some(mistake),
    }
}
struct Calls<'a> {
    tables: &'a Tables,
}
impl Visitor for Calls<'_> {
    type Break = Mistake;
    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Mistake> {
        let found = match expr {
            Expr::Function(call) => self.mistaken(call),
            _ => None,
        };
        found.map_or(ControlFlow::Continue(()), ControlFlow::Break)
    }
}
impl Calls<'_> {
    fn mistaken(&self, call: &Function) -> Option<Mistake> {
        let aggregate = name_of(call.name.0.last()?.as_ident()?);
        let FunctionArguments::List(list) = &call.args else { return None };
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) = list.args.first()? else {
            return None;
        };
        let column = match argument {
            Expr::Identifier(ident) => name_of(ident),
            Expr::CompoundIdentifier(parts) => name_of(parts.last()?),
            _ => return None,
        };
        let kinds = self.tables.values().filter_map(|table| table.columns.get(&column));
        let kinds: Vec<Type> = kinds.map(|column| column.kind).collect();
        let kind = *kinds.first()?;
        let wrong =
            OF_NUMBERS.contains(&aggregate.as_str()) && kinds.iter().all(|kind| !kind.is_number());
        wrong.then_some(Mistake { aggregate, column, kind })
    }
}
/// Return the name that an identifier stands for. Without quotes, its letters become lower case.
fn name_of(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    }
}
