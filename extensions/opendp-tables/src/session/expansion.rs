//! Bound the size of the plan of a query before the plan is made.
//!
//! A query of WITH has a name. The planner copies the plan of such a query to each place with this
//! name. If each of `k` queries reads the query before it twice, the plan has `2^k` copies of the
//! first query. So a query of 1 KB could fill the memory.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Query, Select, TableFactor, Visit, Visitor};
use opendp_core::{Error, Result};

use super::deep::MOST_LEVELS;

/// Check that the plan of a query has at most [`MOST_LEVELS`] SELECTs and tables. Each SELECT and
/// each table is a node of the plan. So [`is_deep`](super::deep::is_deep) would refuse the plan of
/// a larger query, too, but only after the plan is made.
pub(super) fn check(query: &Query) -> Result<()> {
    match query.visit(&mut Expansion::default()) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::argument(
            "query",
            format!(
                "the query has more than {MOST_LEVELS} SELECTs and tables, where each query of \
                 WITH counts again at each place that reads it.\n\
                 Read the tables fewer times, or compute a part of the query beforehand"
            ),
        )),
    }
}
/// The queries around the part that is visited. The innermost query is the last.
#[derive(Default)]
struct Expansion(Vec<Level>);
#[derive(Default)]
struct Level {
    /// The number of SELECTs and tables of the query so far.
    size: usize,
    /// The names of the queries of WITH that are not visited yet, in reverse order.
    open: Vec<String>,
    /// The sizes of the visited queries of WITH.
    known: HashMap<String, usize>,
}
impl Expansion {
    fn add(&mut self, size: usize) -> ControlFlow<()> {
        let Some(level) = self.0.last_mut() else { return ControlFlow::Continue(()) };
        level.size = level.size.saturating_add(size);
        if level.size <= MOST_LEVELS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}
impl Visitor for Expansion {
    type Break = ();
    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let tables = query.with.iter().flat_map(|with| with.cte_tables.iter().rev());
        let open = tables.map(|table| table.alias.name.value.to_lowercase()).collect();
        self.0.push(Level { open, ..Level::default() });
        ControlFlow::Continue(())
    }
    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        let Some(Level { size, .. }) = self.0.pop() else { return ControlFlow::Continue(()) };
        // The queries of WITH are visited first, in their order.
        if let Some(around) = self.0.last_mut()
            && let Some(name) = around.open.pop()
        {
            let known = around.known.entry(name).or_default();
            *known = size.max(*known);
            return ControlFlow::Continue(());
        }
        self.add(size)
    }
    fn pre_visit_select(&mut self, _: &Select) -> ControlFlow<()> {
        self.add(1)
    }
    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<()> {
        let TableFactor::Table { name, .. } = table else { return ControlFlow::Continue(()) };
        let name = name.0.last().and_then(|part| part.as_ident());
        let name = name.map(|ident| ident.value.to_lowercase()).unwrap_or_default();
        let known = self.0.iter().rev().find_map(|level| level.known.get(&name));
        let size = known.map_or(1, |size| *size);
        self.add(size)
    }
}
