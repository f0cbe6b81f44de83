//! Print the limits of each id as window functions.
//!
//! The rows of an id are sorted by their values. The place of a row is its number in this order.
//! The groups of an id are sorted by their keys and get places in the same way. The seed and the id
//! give each place a lot, which is a hash or a pseudo-random integer. Each limit sorts the rows or
//! the groups of an id by the lots of their places, and keeps the rows or groups with the smallest
//! lots. Rows with equal values are interchangeable. So the choice of rows depends on the seed, the
//! id and its rows, and not on the order in which rows arrive. For a random seed, all choices are
//! equally likely. If ids are integers, the lots are the integers that the module `lots` defines.
//! If ids have another type, the lots are hashes.

use std::fmt::Write as _;

use crate::direct::lots::{KEYS, Lots, PRIME};
use crate::ir::{Bounding, Key, Plan};
use crate::{Dialect, Type};

/// The text that stands for the secret seed. Statements are shown with this text.
const SEED: &str = "md5('<seed>'";

/// In a statement, replace the placeholder of the seed, and the placeholders of the keys of the
/// lots. These keys are computed from the seed. Each placeholder contains single quotes. In
/// literals, single quotes are doubled, and names contain no single quotes. So literals and names
/// do not contain a placeholder.
pub(crate) fn seeded(statement: &str, seed: &str) -> String {
    let text = statement.replace(SEED, &format!("md5('{}'", seed.replace('\'', "''")));
    let keys = Lots::of_seed(seed).keys();
    (0..KEYS).zip(keys).fold(text, |text, (k, key)| text.replace(&key_at(k), &integer(key)))
}
fn key_at(place: usize) -> String {
    format!("CAST('<seed {place}>' AS BIGINT)")
}
fn integer(value: i64) -> String {
    format!("CAST('{value}' AS BIGINT)")
}

/// Return the SQL text of the stages that enforce the limits on the rows of `__rated`. Each stage
/// is a query of `WITH`. The last stage is `__bounded`.
pub(super) fn stages(plan: &Plan, dialect: Dialect, content: &[String]) -> String {
    let Bounding::Enforced { id: (_, kind), rows, groups, rows_per_group } = &plan.bounding else {
        return String::new();
    };
    let keys: Vec<String> = (0..plan.keys.len()).map(|k| format!("k{k}")).collect();
    let groups = groups.filter(|_| !keys.is_empty());
    let printer = Limits {
        columns: format!("id, {}", content.join(", ")),
        order: order(plan, dialect, content),
        keys,
        grouped: groups.is_some(),
    };
    let mut text = printer.placed();
    match kind {
        Type::Integer => printer.whole_lots(&mut text),
        _ => printer.other_lots(&mut text),
    }
    let mut last = "__drawn";
    let mut step = |name: &'static str, rank: String, limit: u64| {
        let columns = printer.with(&["lot"], &["group_lot"]);
        let _ = write!(
            text,
            ",\n{name} AS (SELECT {columns} FROM (SELECT {columns}, {rank} AS standing FROM {last}) \
             AS {name}_ranked WHERE standing <= {limit})",
        );
        last = name;
    };
    if let Some(limit) = rows_per_group {
        let by: String = printer.keys.iter().map(|key| format!(", {key}")).collect();
        let rank = format!("row_number() OVER (PARTITION BY id{by} ORDER BY lot, place)");
        step("__per_group", rank, *limit);
    }
    if let Some(limit) = groups {
        let rank = "dense_rank() OVER (PARTITION BY id ORDER BY group_lot, group_place)";
        step("__groups", rank.to_owned(), limit);
    }
    if let Some(limit) = rows {
        let rank = "row_number() OVER (PARTITION BY id ORDER BY lot, place)";
        step("__rows", rank.to_owned(), *limit);
    }
    let _ = write!(text, ",\n__bounded AS (SELECT {} FROM {last})", printer.columns);
    text
}
/// List the columns by which the rows of an id are sorted: first the keys, then the addends and the
/// buckets. Keys that are text are sorted by their bytes.
fn order(plan: &Plan, dialect: Dialect, content: &[String]) -> Vec<String> {
    let kinds = plan.keys.iter().map(|Key { kind, .. }| Some(*kind)).chain(std::iter::repeat(None));
    let printed = |(column, kind): (&String, Option<Type>)| match (kind, dialect) {
        (Some(Type::Text), Dialect::PostgreSql) => format!("{column} COLLATE \"C\""),
        _ => column.clone(),
    };
    content.iter().zip(kinds).map(printed).collect()
}

struct Limits {
    /// The names of the columns for the id, the keys, the addends and the buckets.
    columns: String,
    /// The columns by which the rows of an id are sorted.
    order: Vec<String>,
    keys: Vec<String>,
    /// Whether the number of groups has a limit.
    grouped: bool,
}
impl Limits {
    /// Print a list of columns: first `self.columns`, then the places of rows, then `more`. If the
    /// number of groups is limited, also print the places of groups after the places of rows, and
    /// the columns `of_groups` at the end.
    fn with(&self, more: &[&str], of_groups: &[&str]) -> String {
        let of_groups = if self.grouped { of_groups } else { &[] };
        let places = if self.grouped { &["place", "group_place"][..] } else { &["place"] };
        let more = places.iter().chain(more).chain(of_groups);
        more.fold(self.columns.clone(), |all, column| format!("{all}, {column}"))
    }
    /// Print the stage that numbers the rows of each id. If the number of groups is limited, the
    /// stage also numbers the groups of each id.
    fn placed(&self) -> String {
        let place = |rank: &str, order: &[String]| {
            format!("CAST({rank}() OVER (PARTITION BY id ORDER BY {}) AS BIGINT)", order.join(", "))
        };
        let rows = place("row_number", &self.order);
        let groups = match self.order.get(..self.keys.len()) {
            Some(keys) if self.grouped => format!(", {} AS group_place", place("dense_rank", keys)),
            _ => String::new(),
        };
        format!(",\n__placed AS (SELECT {}, {rows} AS place{groups} FROM __rated)", self.columns)
    }
    /// Append the stages that compute the lots for integer ids. These lots equal the lots that
    /// [`Lots`] computes.
    fn whole_lots(&self, text: &mut String) {
        let prime = integer(PRIME);
        let power = |x: &str| {
            format!("({x} * {x} % {prime}) * ({x} * {x} % {prime}) % {prime} * {x} % {prime}")
        };
        let key = key_at;
        let both = |column: &dyn Fn(&str, &str, usize) -> String| {
            if self.grouped {
                format!("{}, {}", column("", "lot", 2), column("group_", "group_lot", 4))
            } else {
                column("", "lot", 2)
            }
        };
        let of_id = |more: String| format!("SELECT {}, {more}", self.with(&[], &[]));
        let stages = [
            ("__mixed_1", of_id(format!("(id % {prime} + {prime} + {}) % {prime} AS h", key(0)))),
            (
                "__mixed_2",
                of_id(format!(
                    "({} + (id / {prime}) % {prime} + {prime} + {}) % {prime} AS h",
                    power("h"),
                    key(1)
                )),
            ),
            ("__mixed_3", of_id(format!("{} AS h", power("h")))),
            (
                "__mixed_4",
                of_id(both(&|prefix, lot, k| {
                    format!("(h + {prefix}place % {prime} + {}) % {prime} AS {lot}", key(k))
                })),
            ),
            (
                "__mixed_5",
                of_id(both(&|_, lot, k| {
                    format!("({} + {}) % {prime} AS {lot}", power(lot), key(k + 1))
                })),
            ),
            ("__drawn", of_id(both(&|_, lot, _| format!("{} AS {lot}", power(lot))))),
        ];
        let mut last = "__placed";
        for (name, select) in stages {
            let _ = write!(text, ",\n{name} AS ({select} FROM {last})");
            last = name;
        }
    }
    /// Append the stage that computes the lots for ids of any other type. Each lot is a hash of the
    /// seed, the id and the place.
    fn other_lots(&self, text: &mut String) {
        let lot = |place: &str, end: &str| {
            let id = "CAST(id AS VARCHAR)";
            format!("{SEED} || '|' || {id} || '|' || CAST({place} AS VARCHAR) || '{end}')")
        };
        let groups = if self.grouped {
            format!(", {} AS group_lot", lot("group_place", "|group"))
        } else {
            String::new()
        };
        let (columns, rows) = (self.with(&[], &[]), lot("place", "|row"));
        let _ =
            write!(text, ",\n__drawn AS (SELECT {columns}, {rows} AS lot{groups} FROM __placed)");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return the text of the first literal of a statement. Within a literal, two single quotes
    /// stand for one single quote.
    fn literal(statement: &str) -> String {
        let mut rest = statement.split('\'').skip(1);
        let mut text = rest.next().unwrap().to_owned();
        let mut more = rest.peekable();
        while more.peek() == Some(&"") {
            more.next();
            text = format!("{text}'{}", more.next().unwrap());
        }
        text
    }

    #[test]
    fn a_seed_stays_within_its_literal() {
        let statement = format!("SELECT {SEED} || '|' || id), {} FROM t", key_at(0));
        for seed in ["plain", "it's", "') FROM u; --", "''", "CAST('<seed 0>' AS BIGINT)"] {
            let put = seeded(&statement, seed);
            assert_eq!(literal(&put), seed, "{put}");
            // Quotes in the seed do not change the text after the literal. In the text after the
            // literal, only the placeholder of the key is replaced.
            assert!(put.contains(" || '|' || id), CAST('"), "{put}");
            assert!(!put.ends_with(&format!("{} FROM t", key_at(0))), "{put}");
        }
        // The control: without doubled quotes, the literal ends within the seed.
        assert_ne!(literal(&statement.replace("<seed>", "it's")), "it's");
    }
}
