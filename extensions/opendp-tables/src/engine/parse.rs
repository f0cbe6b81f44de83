//! Read statements. The time to read an expression grows only in proportion to its length. Tables
//! in several levels of parentheses are read several times, but the number of steps is limited.

use std::any::TypeId;
use std::cell::Cell;

use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::ast::Expr;
use datafusion::sql::sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};

/// The limit on the levels of nesting in a statement that a person writes.
pub(crate) const WRITTEN: usize = 50;
/// The limit on the levels of a statement that the module `sql` prints. The checker bounds the
/// levels of the printed expressions by a smaller number, so no printed statement reaches this
/// limit.
pub(crate) const PRINTED: usize = 10_000;

/// Return the plan of a statement. `levels` is the limit on its levels.
///
/// # Errors
/// The errors of [`parsed`] and of the engine.
pub(crate) async fn planned(
    state: &SessionState,
    statement: &str,
    levels: usize,
) -> Result<LogicalPlan, DataFusionError> {
    state.statement_to_plan(parsed(statement, levels)?).await
}
/// Read a statement. `levels` is the limit on its levels.
///
/// # Errors
/// The errors of the parser, such as `RecursionLimitExceeded` when the statement has more than
/// `levels` levels, or when the parser needs too many steps. `Plan` when the text does not contain
/// exactly one statement.
pub(crate) fn parsed(statement: &str, levels: usize) -> Result<Statement, DataFusionError> {
    let dialect = Postgres::new(statement);
    let parser = DFParserBuilder::new(statement).with_dialect(&dialect);
    let parsed = parser.with_recursion_limit(levels).build()?.parse_statements()?;
    match <[_; 1]>::try_from(Vec::from(parsed)) {
        Ok([statement]) => Ok(statement),
        Err(_) => Err(DataFusionError::Plan("expected one statement".into())),
    }
}
/// Return whether an error means that the parser found too many levels, or needed too many steps.
pub(crate) fn too_deep(error: &DataFusionError) -> bool {
    match error.find_root() {
        DataFusionError::SQL(error, _) => matches!(**error, ParserError::RecursionLimitExceeded),
        _ => false,
    }
}

/// The number of steps that the parser may need for each byte of a statement.
const STEPS: usize = 20;

/// The dialect of PostgreSQL, with two differences.
///
/// In the dialect of PostgreSQL, the parser reads the argument `a` of a call `f(a)` twice, because
/// an expression can name an argument, as in `f(name => a)`. So `d` nested calls would take `2^d`
/// steps. In the dialect of this type, only a word can name an argument, and no other expression.
/// So the parser reads an argument once.
///
/// The parser also reads tables such as `((SELECT ..) CROSS JOIN ..)` twice, and it reads parts of
/// some wrong statements several times. So the steps are counted, and the parser stops after
/// [`STEPS`] steps for each byte of the statement. Each expression, each table and each SELECT is a
/// step.
#[derive(Debug)]
struct Postgres {
    base: PostgreSqlDialect,
    steps: Cell<usize>,
}
impl Postgres {
    fn new(statement: &str) -> Self {
        let steps = statement.len().saturating_mul(STEPS);
        Postgres { base: PostgreSqlDialect {}, steps: Cell::new(steps) }
    }
    /// Count a step. Return whether a step was left.
    fn step(&self) -> bool {
        let left = self.steps.get().checked_sub(1);
        self.steps.set(left.unwrap_or(0));
        left.is_some()
    }
}
/// Define methods that call the methods of `base`.
macro_rules! of_base {
    ($($method:ident($($name:ident: $kind:ty),*) -> $result:ty;)*) => {
        $(fn $method(&self, $($name: $kind),*) -> $result {
            self.base.$method($($name),*)
        })*
    };
}
impl Dialect for Postgres {
    fn dialect(&self) -> TypeId {
        self.base.dialect()
    }
    fn supports_named_fn_args_with_expr_name(&self) -> bool {
        false
    }
    /// Count a step, and return an error if no step is left. The parser calls this function at the
    /// start of each expression.
    fn parse_prefix(&self, _: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        // After this error, the parser does not try another way to read the expression.
        (!self.step()).then_some(Err(ParserError::RecursionLimitExceeded))
    }
    /// Count a step. The parser calls this function for each SELECT. This function cannot return an
    /// error. After this call, the parser reads an expression. So if no step is left,
    /// `parse_prefix` returns the error.
    fn supports_empty_projections(&self) -> bool {
        self.step()
    }
    /// Count a step. The parser calls this function for each table.
    fn supports_semantic_view_table_factor(&self) -> bool {
        self.step();
        false
    }
    // These are all other methods that `PostgreSqlDialect` defines.
    of_base! {
        identifier_quote_style(name: &str) -> Option<char>;
        is_delimited_identifier_start(ch: char) -> bool;
        is_identifier_start(ch: char) -> bool;
        is_identifier_part(ch: char) -> bool;
        is_reserved_for_identifier(keyword: Keyword) -> bool;
        is_custom_operator_part(ch: char) -> bool;
        get_next_precedence(parser: &Parser<'_>) -> Option<Result<u8, ParserError>>;
        prec_value(precedence: Precedence) -> u8;
        supports_unicode_string_literal() -> bool;
        supports_filter_during_aggregation() -> bool;
        supports_group_by_expr() -> bool;
        allow_extract_custom() -> bool;
        allow_extract_single_quotes() -> bool;
        supports_create_index_with_clause() -> bool;
        supports_explain_with_utility_options() -> bool;
        supports_listen_notify() -> bool;
        supports_factorial_operator() -> bool;
        supports_bitwise_shift_operators() -> bool;
        supports_comment_on() -> bool;
        supports_load_extension() -> bool;
        supports_named_fn_args_with_colon_operator() -> bool;
        supports_nested_comments() -> bool;
        supports_string_escape_constant() -> bool;
        supports_numeric_literal_underscores() -> bool;
        supports_array_typedef_with_brackets() -> bool;
        supports_geometric_types() -> bool;
        supports_set_names() -> bool;
        supports_alter_column_type_using() -> bool;
        supports_notnull_operator() -> bool;
        supports_interval_options() -> bool;
        supports_insert_table_alias() -> bool;
        supports_create_table_like_parenthesized() -> bool;
        supports_select_wildcard_with_alias() -> bool;
        supports_comma_separated_trim() -> bool;
        supports_xml_expressions() -> bool;
        supports_comment_optimizer_hint() -> bool;
    }
}
