//! Refuse the clauses of a query that the planner reads and then leaves out.
//!
//! An example is the query `SELECT COUNT(*) FROM t TABLESAMPLE BERNOULLI (50)`. Without this check,
//! such a query would get the answer of another query, and the loss of this answer would be
//! charged. The check takes structures of the parser apart, and names every field of each
//! structure. The only exception is the structure `TableAlias`. Suppose that a new version of the
//! parser adds a field for a new clause to one of the other structures. Then this file does not
//! compile until the check names this field.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Cte, ExcludeSelectItem, Expr, Fetch, GroupByExpr, Ident, Join, LimitClause, NamedWindowExpr,
    OrderBy, OrderByKind, Query, Select, SelectFlavor, SelectItem, SetExpr, TableAlias,
    TableAliasColumnDef, TableFactor, TableWithJoins, Values, Visit, Visitor,
    WildcardAdditionalOptions, WindowSpec, WindowType, With,
};
use opendp_core::{Error, Result};

use super::calls;

const LEAVE_OUT: &str = "leave it out";
const AS_IN: &str = "write a table, or a query in parentheses";

/// Check that a query has no clause that the planner would leave out. `is_scalar` states whether a
/// name is the name of a function of single values.
pub(super) fn check(query: &Query, is_scalar: &dyn Fn(&str) -> bool) -> Result<()> {
    match query.visit(&mut Clauses { is_scalar }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}
/// Return an error if a clause was found.
pub(super) fn without(found: bool, clause: &str, instead: &str) -> Result<()> {
    if !found {
        return Ok(());
    }
    Err(Error::NotImplemented(format!("{clause} is not supported.\nInstead, {instead}.")))
}
struct Clauses<'a> {
    is_scalar: &'a dyn Fn(&str) -> bool,
}
impl Visitor for Clauses<'_> {
    type Break = Error;
    fn pre_visit_query(&mut self, part: &Query) -> ControlFlow<Error> {
        flow(query(part))
    }
    fn pre_visit_select(&mut self, part: &Select) -> ControlFlow<Error> {
        flow(select(part))
    }
    fn pre_visit_table_factor(&mut self, part: &TableFactor) -> ControlFlow<Error> {
        flow(table(part))
    }
    fn pre_visit_expr(&mut self, part: &Expr) -> ControlFlow<Error> {
        flow(calls::expr(part, self.is_scalar))
    }
}
fn flow(checked: Result<()>) -> ControlFlow<Error> {
    checked.map_or_else(ControlFlow::Break, ControlFlow::Continue)
}
fn query(query: &Query) -> Result<()> {
    let Query {
        with,
        body: set,
        order_by,
        limit_clause,
        fetch,
        locks,
        for_clause,
        settings,
        format_clause,
        pipe_operators,
    } = query;
    if let Some(With { with_token: _, recursive, cte_tables }) = with {
        // The planner would leave out the LIMIT and the ORDER BY of a recursive query.
        without(
            *recursive,
            "`WITH RECURSIVE`",
            "write `WITH`, and queries that do not read themselves",
        )?;
        for Cte { alias, query: _, from, materialized: _, closing_paren_token: _ } in cte_tables {
            named(alias)?;
            without(from.is_some(), "`FROM` after a query of `WITH`", LEAVE_OUT)?;
        }
    }
    body(set)?;
    if let Some(OrderBy { kind, interpolate }) = order_by {
        without(interpolate.is_some(), "`INTERPOLATE`", LEAVE_OUT)?;
        let all = matches!(kind, OrderByKind::All(_));
        let is_select = matches!(**set, SetExpr::Select(_));
        without(all && !is_select, "`ORDER BY ALL`", "name the columns")?;
        without_named_window(kind)?;
    }
    match limit_clause {
        Some(LimitClause::LimitOffset { limit: _, offset: _, limit_by }) => {
            without(!limit_by.is_empty(), "`LIMIT BY`", "write `LIMIT` with a number")?;
        }
        Some(LimitClause::OffsetCommaLimit { offset: _, limit: _ }) | None => {}
    }
    if let Some(Fetch { with_ties: _, percent: _, quantity: _ }) = fetch {
        without(true, "`FETCH`", "write `LIMIT` with a number")?;
    }
    without(!locks.is_empty(), "`FOR UPDATE` or `FOR SHARE`", LEAVE_OUT)?;
    without(for_clause.is_some(), "`FOR XML`, `FOR JSON` or `FOR BROWSE`", LEAVE_OUT)?;
    without(settings.is_some(), "`SETTINGS`", LEAVE_OUT)?;
    without(format_clause.is_some(), "`FORMAT`", LEAVE_OUT)?;
    without(!pipe_operators.is_empty(), "`|>`", "write the steps as subqueries")
}
/// Check the parts of UNION, INTERSECT and EXCEPT. The visitor calls [`query`] and [`select`] for
/// each SELECT and each query in parentheses.
fn body(set: &SetExpr) -> Result<()> {
    match set {
        SetExpr::Select(_) | SetExpr::Query(_) => Ok(()),
        SetExpr::SetOperation { left, op: _, set_quantifier: _, right } => {
            body(left)?;
            body(right)
        }
        SetExpr::Values(Values { explicit_row: _, value_keyword: _, rows: _ }) => Ok(()),
        SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
            without(true, "`INSERT`, `UPDATE`, `DELETE` or `MERGE`", "write a `SELECT`")
        }
        SetExpr::Table(_) => without(true, "`TABLE`", "write `SELECT * FROM` and the table"),
    }
}
fn select(select: &Select) -> Result<()> {
    let Select {
        select_token: _,
        // A hint is a comment that does not change the answer.
        optimizer_hints: _,
        distinct,
        select_modifiers,
        top,
        top_before_distinct: _,
        projection,
        exclude,
        into,
        from,
        lateral_views,
        prewhere,
        selection,
        connect_by,
        group_by,
        cluster_by,
        distribute_by,
        sort_by,
        having,
        named_window,
        qualify,
        window_before_qualify: _,
        value_table_mode,
        flavor,
    } = select;
    without(select_modifiers.is_some(), "a modifier after `SELECT`", LEAVE_OUT)?;
    without(top.is_some(), "`TOP`", "write `LIMIT` at the end of the query")?;
    projection.iter().try_for_each(item)?;
    excluded(exclude.as_ref())?;
    without(into.is_some(), "`INTO`", LEAVE_OUT)?;
    from.iter().try_for_each(joins)?;
    without(!lateral_views.is_empty(), "`LATERAL VIEW`", LEAVE_OUT)?;
    without(prewhere.is_some(), "`PREWHERE`", "write `WHERE`")?;
    without(!connect_by.is_empty(), "`CONNECT BY` or `START WITH`", LEAVE_OUT)?;
    let (GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers)) = group_by;
    let modified = "`ROLLUP`, `CUBE`, `TOTALS` or `GROUPING SETS` after `GROUP BY`";
    without(!modifiers.is_empty(), modified, "write one query for each list of keys")?;
    without(!cluster_by.is_empty(), "`CLUSTER BY`", LEAVE_OUT)?;
    without(!distribute_by.is_empty(), "`DISTRIBUTE BY`", LEAVE_OUT)?;
    without(!sort_by.is_empty(), "`SORT BY`", "write `ORDER BY`")?;
    without(qualify.is_some(), "`QUALIFY`", "write the condition in a query around this query")?;
    without(value_table_mode.is_some(), "`AS STRUCT` or `AS VALUE`", LEAVE_OUT)?;
    let is_usual = matches!(flavor, SelectFlavor::Standard);
    without(!is_usual, "`FROM` before `SELECT`", "write `SELECT` before `FROM`")?;
    // The planner finds the names of windows only in the list after SELECT.
    let elsewhere = [selection, having, qualify];
    elsewhere.into_iter().flatten().try_for_each(without_named_window)?;
    without_named_window(group_by)?;
    without_named_window(distinct)?;
    let other =
        |definition: &NamedWindowExpr| matches!(definition, NamedWindowExpr::NamedWindow(_));
    let renamed = named_window.iter().any(|definition| other(&definition.1));
    without(renamed, "a window that is the name of another window", "write this window itself")
}
/// Check an item of the list after SELECT.
fn item(item: &SelectItem) -> Result<()> {
    match item {
        SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { expr: _, alias: _ } => Ok(()),
        SelectItem::ExprWithAliases { expr: _, aliases: _ } => {
            without(true, "`AS` with several names", "write one name")
        }
        SelectItem::QualifiedWildcard(_, options) | SelectItem::Wildcard(options) => {
            let WildcardAdditionalOptions {
                wildcard_token: _,
                opt_ilike,
                opt_exclude: _,
                opt_except: _,
                opt_replace: _,
                opt_rename,
                opt_alias,
            } = options;
            let columns = "name the columns";
            without(opt_ilike.is_some(), "`ILIKE` after `*`", columns)?;
            without(opt_rename.is_some(), "`RENAME` after `*`", columns)?;
            without(opt_alias.is_some(), "`AS` after `*`", columns)
        }
    }
}
fn excluded(exclude: Option<&ExcludeSelectItem>) -> Result<()> {
    without(exclude.is_some(), "`EXCLUDE` after the columns", "name the columns")
}
fn joins(table: &TableWithJoins) -> Result<()> {
    let TableWithJoins { relation: _, joins } = table;
    joins.iter().try_for_each(|join| {
        // The planner refuses the kinds of joins that it does not read.
        let Join { relation: _, global, join_operator: _ } = join;
        without(*global, "`GLOBAL JOIN`", "write `JOIN`")
    })
}
fn table(table: &TableFactor) -> Result<()> {
    match table {
        TableFactor::Table {
            name: _,
            alias,
            args,
            with_hints,
            version,
            with_ordinality,
            partitions,
            json_path,
            sample,
            index_hints,
        } => {
            alias.iter().try_for_each(named)?;
            without(args.is_some(), "a table function", AS_IN)?;
            without(!with_hints.is_empty(), "`WITH` after a table", LEAVE_OUT)?;
            without(version.is_some(), "a version of a table", LEAVE_OUT)?;
            without(*with_ordinality, "`WITH ORDINALITY`", LEAVE_OUT)?;
            without(!partitions.is_empty(), "`PARTITION` after a table", "write `WHERE`")?;
            without(json_path.is_some(), "a path after a table", LEAVE_OUT)?;
            without(sample.is_some(), "`TABLESAMPLE`", LEAVE_OUT)?;
            without(!index_hints.is_empty(), "`INDEX` after a table", LEAVE_OUT)
        }
        TableFactor::Derived { lateral: _, subquery: _, alias, sample } => {
            alias.iter().try_for_each(named)?;
            without(sample.is_some(), "`TABLESAMPLE`", LEAVE_OUT)
        }
        TableFactor::NestedJoin { table_with_joins, alias } => {
            alias.iter().try_for_each(named)?;
            joins(table_with_joins)
        }
        TableFactor::Pivot { .. } => without(true, "`PIVOT`", AS_IN),
        TableFactor::Unpivot { .. } => without(true, "`UNPIVOT`", AS_IN),
        TableFactor::MatchRecognize { .. } => without(true, "`MATCH_RECOGNIZE`", AS_IN),
        TableFactor::UNNEST { .. } => without(true, "`UNNEST`", AS_IN),
        TableFactor::TableFunction { .. }
        | TableFactor::Function { .. }
        | TableFactor::JsonTable { .. }
        | TableFactor::OpenJsonTable { .. }
        | TableFactor::XmlTable { .. }
        | TableFactor::SemanticView { .. } => without(true, "a table function", AS_IN),
    }
}
/// Check the alias of a table.
fn named(alias: &TableAlias) -> Result<()> {
    let TableAlias { explicit: _, name: _, columns, .. } = alias;
    without(alias.at.is_some(), "`AT` after the name of a table", LEAVE_OUT)?;
    columns.iter().try_for_each(|column| {
        let TableAliasColumnDef { name: _, data_type } = column;
        let typed = "a type of a column after the name of a table";
        without(data_type.is_some(), typed, "write `CAST` in the list after `SELECT`")
    })
}
/// Check that an expression names no window. The planner would ignore the name, and call the
/// function without a window.
fn without_named_window(part: &impl Visit) -> Result<()> {
    struct Windows;
    impl Visitor for Windows {
        type Break = Ident;
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Ident> {
            match expr {
                Expr::Function(call) => match &call.over {
                    Some(WindowType::NamedWindow(name)) => ControlFlow::Break(name.clone()),
                    Some(WindowType::WindowSpec(WindowSpec { .. })) | None => {
                        ControlFlow::Continue(())
                    }
                },
                _ => ControlFlow::Continue(()),
            }
        }
    }
    match part.visit(&mut Windows) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(name) => without(
            true,
            &format!("`OVER {name}` outside of the list after `SELECT`"),
            "write the window in parentheses after `OVER`",
        ),
    }
}
