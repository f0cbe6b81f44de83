//! Compute noisy results from exact results. No other module draws noise.

use std::collections::{BTreeMap, HashMap};

use opendp_core::{Error, IBig, Result};
use serde::{Deserialize, Serialize};

use crate::Value;
use crate::direct;
use crate::engine::{Cells, Engine, failed, without_data};
use crate::ir::{Key, Plan};
use crate::mechanisms::Mechanisms;
use crate::sql::seeded;

/// The keys of a group, as text. In exact results, the texts are those that engines print. In noisy
/// results, dates and times are texts of ISO 8601.
pub(crate) type Group = Vec<String>;

/// The exact results of a plan. These results are private.
#[derive(Default)]
pub(crate) struct Exact {
    pub(crate) sums: BTreeMap<Group, Vec<IBig>>,
    /// For each list of buckets of the plan, and for each group, the number of rows in each bucket.
    pub(crate) buckets: Vec<BTreeMap<Group, Vec<u64>>>,
}
impl Exact {
    /// Compute the exact results of a plan. If possible, run the plan in this process. Otherwise
    /// run its SQL statements on the engine.
    pub(crate) fn run(plan: &Plan, engine: &dyn Engine, seed: &str) -> Result<Exact> {
        if let Some(exact) = engine.embedded().and_then(|own| direct::run(plan, own, seed)) {
            return exact;
        }
        let statements = plan.statements(engine.dialect());
        let run = |statement: &String| engine.run(&seeded(statement, seed)).map_err(without_data);
        let mut exact = Exact::default();
        if let Some(statement) = &statements.sums {
            for row in run(statement)? {
                let (group, cells) = grouped(row, plan.keys.len())?;
                let read = |cell: &String| cell.parse::<IBig>().map_err(|_| failed());
                let sums = cells.iter().map(read).collect::<Result<Vec<_>>>()?;
                if sums.len() != plan.sums.len() || exact.sums.insert(group, sums).is_some() {
                    return Err(failed());
                }
            }
        }
        for (buckets, statement) in plan.buckets.iter().zip(&statements.buckets) {
            let places = 2 * buckets.candidates.len() + 1;
            let mut counts: BTreeMap<Group, Vec<u64>> = BTreeMap::new();
            for row in run(statement)? {
                let (group, cells) = grouped(row, plan.keys.len())?;
                let [place, count] = cells.as_slice() else { return Err(failed()) };
                let place: usize = place.parse().map_err(|_| failed())?;
                let counts = counts.entry(group).or_insert_with(|| vec![0; places]);
                let count: u64 = count.parse().map_err(|_| failed())?;
                *counts.get_mut(place).ok_or_else(failed)? = count;
            }
            exact.buckets.push(counts);
        }
        Ok(exact)
    }
}
fn grouped(row: Cells, keys: usize) -> Result<(Group, Vec<String>)> {
    let mut cells = row.into_iter().collect::<Option<Vec<String>>>().ok_or_else(failed)?;
    if cells.len() < keys {
        return Err(failed());
    }
    let rest = cells.split_off(keys);
    Ok((cells, rest))
}

/// The noisy results of a plan. All released values are computed from these results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Noisy {
    pub(crate) groups: Vec<Group>,
    /// The noisy sums: for each sum, one integer for each group, as text.
    pub(crate) sums: Vec<Vec<String>>,
    /// For each released quantile and each group, the place of the chosen candidate in the list of
    /// candidates.
    pub(crate) choices: Vec<Vec<usize>>,
}

/// Draw all noise of a release, in an order that does not depend on the data.
pub(crate) fn noisy(plan: &Plan, mechanisms: &Mechanisms, exact: &Exact) -> Result<Noisy> {
    let (groups, chosen) = match &mechanisms.selection {
        None => (public_groups(&plan.keys), None),
        Some(selection) => {
            let counts = selected_counts(plan, selection.sum, exact)?;
            let released = selection.noise.select(counts)?;
            let mut released: Vec<(Group, i64)> = released
                .into_iter()
                .map(|(key, count)| Ok((serde_json::from_str(&key).map_err(|_| failed())?, count)))
                .collect::<Result<_>>()?;
            released.sort_by_cached_key(|(group, _)| ordered(plan, group));
            let (groups, counts) = released.into_iter().unzip();
            (groups, Some((selection.sum, counts)))
        }
    };
    let mut sums = Vec::new();
    for (k, noise) in mechanisms.sums.iter().enumerate() {
        let values = match (&chosen, noise) {
            (Some((sum, counts)), _) if *sum == k => {
                let counts: &Vec<i64> = counts;
                counts.iter().map(i64::to_string).collect()
            }
            (_, Some(noise)) => {
                let entry = |group: &Group| {
                    let sums = exact.sums.get(group);
                    sums.and_then(|sums| sums.get(k)).cloned().unwrap_or(IBig::ZERO)
                };
                let exact: Vec<IBig> = groups.iter().map(entry).collect();
                let noisy = noise.add(exact)?;
                noisy.iter().map(IBig::to_string).collect()
            }
            (_, None) => return Err(Error::FailedFunction(format!("sum {k} has no noise"))),
        };
        sums.push(values);
    }
    let choose = |choice: &crate::mechanisms::Choice| {
        let candidates = plan.buckets.get(choice.buckets).map_or(0, |b| b.candidates.len());
        let buckets = exact.buckets.get(choice.buckets);
        let place = |group: &Group| {
            let counts = buckets.and_then(|buckets| buckets.get(group));
            let scores = choice.scores(counts.map_or(&[][..], Vec::as_slice), candidates);
            choice.noise.choose(scores)
        };
        groups.iter().map(place).collect::<Result<Vec<usize>>>()
    };
    let choices = mechanisms.choices.iter().map(choose).collect::<Result<_>>()?;
    let groups = groups.iter().map(|group| released(plan, group)).collect();
    Ok(Noisy { groups, sums, choices })
}
/// Write the keys of a group in the form in which releases store them.
fn released(plan: &Plan, group: &Group) -> Group {
    let key = |(key, text): (&Key, &String)| {
        Value::read(text, key.kind).map_or_else(|| text.clone(), |value| value.released())
    };
    plan.keys.iter().zip(group).map(key).collect()
}
/// Return the counts that decide which keys are released. The returned map has one entry for each
/// group: the group as JSON text, and its count.
fn selected_counts(plan: &Plan, sum: usize, exact: &Exact) -> Result<HashMap<String, i64>> {
    let counts = exact.sums.iter().filter(|(group, _)| plan_has(plan, group));
    counts
        .map(|(group, sums)| {
            let count = sums.get(sum).map_or("0".to_owned(), IBig::to_string);
            // Every count is far below the largest `i64`. If a count did not fit into an `i64`, it
            // would be replaced by the largest `i64`.
            let count = count.parse::<i64>().unwrap_or(i64::MAX);
            let key = serde_json::to_string(group).map_err(|_| failed())?;
            Ok((key, count))
        })
        .collect()
}
/// Return the place of a group in the order of the released groups. Groups are sorted by the first
/// key, then by the second key, and so on. Integers, dates and times are sorted as numbers, and
/// other keys as text. The order depends only on the released keys.
fn ordered(plan: &Plan, group: &Group) -> Vec<(i64, String)> {
    let key = |(key, text): (&Key, &String)| match Value::read(text, key.kind) {
        Some(Value::Integer(number) | Value::Date(number) | Value::Timestamp(number)) => {
            (number, text.clone())
        }
        _ => (0, text.clone()),
    };
    plan.keys.iter().zip(group).map(key).collect()
}
/// Return whether the keys of a group have the types that the plan declares.
fn plan_has(plan: &Plan, group: &Group) -> bool {
    plan.keys.iter().zip(group).all(|(key, text)| Value::read(text, key.kind).is_some())
}
/// Return the groups of public keys: all combinations of their values. The groups are sorted by the
/// first key, then by the second key, and so on. The values of a key are in the order in which the
/// key lists them.
fn public_groups(keys: &[Key]) -> Vec<Group> {
    keys.iter().fold(vec![Vec::new()], |groups, key| {
        let values: Vec<String> = key.public.iter().flatten().map(Value::printed).collect();
        let with = |group: &Group| -> Vec<Group> {
            values.iter().map(|value| [&group[..], std::slice::from_ref(value)].concat()).collect()
        };
        groups.iter().flat_map(with).collect()
    })
}
