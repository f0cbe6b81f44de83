//! Refuse the parts of an expression that the planner reads and then leaves out. For example, the
//! planner would leave out the condition of `abs(x) FILTER (WHERE y)`.

use datafusion::sql::sqlparser::ast::{
    DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, TypedString, WindowSpec, WindowType,
};
use opendp_core::Result;

use super::clauses::without;

/// Check an expression, but not the expressions inside of it. `is_scalar` states whether a name is
/// the name of a function of single values.
pub(super) fn expr(expr: &Expr, is_scalar: &dyn Fn(&str) -> bool) -> Result<()> {
    match expr {
        Expr::Function(call) => function(call, is_scalar),
        Expr::Trim { trim_where: _, trim_what: _, expr: _, trim_characters } => {
            let several = trim_characters.as_ref().is_some_and(|texts| 1 < texts.len());
            without(several, "`TRIM` with several texts", "write one text")
        }
        Expr::Cast { kind: _, expr: _, data_type, array: _, format: _ }
        | Expr::TypedString(TypedString { data_type, value: _, uses_odbc_syntax: _ }) => {
            let limited = "a length of a text in a cast";
            without(has_length(data_type), limited, "write `VARCHAR` without a length")
        }
        _ => Ok(()),
    }
}
/// Return whether a type is a type of texts with a length. The planner would leave out the length.
fn has_length(kind: &DataType) -> bool {
    matches!(
        kind,
        DataType::Char(Some(_))
            | DataType::Character(Some(_))
            | DataType::CharVarying(Some(_))
            | DataType::CharacterVarying(Some(_))
            | DataType::Varchar(Some(_))
            | DataType::Nvarchar(Some(_))
            | DataType::String(Some(_))
    )
}
fn function(call: &Function, is_scalar: &dyn Fn(&str) -> bool) -> Result<()> {
    let Function {
        name,
        uses_odbc_syntax: _,
        parameters,
        args,
        filter,
        null_treatment,
        over,
        within_group,
    } = call;
    let parts = name.0.iter().map(|part| match part.as_ident() {
        Some(ident) if ident.quote_style.is_some() => ident.value.clone(),
        Some(ident) => ident.value.to_lowercase(),
        None => part.to_string(),
    });
    let name = parts.collect::<Vec<_>>().join(".");
    let shown = |part: &str| format!("{part} in `{name}(...)`");
    let instead = "leave it out";
    // The planner reads the arguments of `map` and `make_map` twice. So the time would double with
    // each level of nested calls.
    let is_map = matches!(name.as_str(), "map" | "make_map");
    without(is_map, "`map`", "use numbers, texts and conditions")?;
    let plain = matches!(parameters, FunctionArguments::None);
    without(!plain, &shown("a second list of arguments"), instead)?;
    if let Some(WindowType::WindowSpec(window)) = over {
        let WindowSpec { window_name, partition_by: _, order_by: _, window_frame: _ } = window;
        let whole = "write the whole window in parentheses after `OVER`";
        without(window_name.is_some(), &shown("the name of a window"), whole)?;
    }
    let (distinct, clauses) = match args {
        FunctionArguments::None => (false, false),
        FunctionArguments::Subquery(_) => {
            let instead = "ask the subquery as a separate query";
            return without(true, &shown("a subquery as the arguments"), instead);
        }
        FunctionArguments::List(FunctionArgumentList { duplicate_treatment, args, clauses }) => {
            args.iter().try_for_each(argument)?;
            (duplicate_treatment.is_some(), !clauses.is_empty())
        }
    };
    if !is_scalar(&name) {
        return Ok(());
    }
    without(distinct, &shown("`DISTINCT` or `ALL`"), instead)?;
    without(clauses, &shown("a clause after the arguments"), instead)?;
    without(
        filter.is_some(),
        &shown("`FILTER`"),
        "write `FILTER` after an aggregate such as `COUNT(*)`",
    )?;
    without(null_treatment.is_some(), &shown("`IGNORE NULLS` or `RESPECT NULLS`"), instead)?;
    without(over.is_some(), &shown("`OVER`"), instead)?;
    without(!within_group.is_empty(), &shown("`WITHIN GROUP`"), instead)
}
fn argument(argument: &FunctionArg) -> Result<()> {
    let (FunctionArg::Named { name: _, arg: value, operator: _ }
    | FunctionArg::ExprNamed { name: _, arg: value, operator: _ }
    | FunctionArg::Unnamed(value)) = argument;
    match value {
        FunctionArgExpr::Expr(_)
        | FunctionArgExpr::QualifiedWildcard(_)
        | FunctionArgExpr::Wildcard => Ok(()),
        FunctionArgExpr::WildcardWithOptions(_) => {
            without(true, "`EXCEPT` or another option after `*`", "name the columns")
        }
    }
}
