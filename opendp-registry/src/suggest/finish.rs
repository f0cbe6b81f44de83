//! The last steps of a search: convert chains to the measure of the goal, find the noise that fits
//! the budget, and sort the chains.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use opendp_core::erased::AnyMeasurement;
use opendp_core::{Arg, Args, Constructed, Result};
use serde_json::{Map, Number, Value as Json, json};

use super::steps::{Release, Search, written};
use super::{Suggestion, Suggestions};
use crate::{Document, Entry};

/// The largest probability with which the error of an answer exceeds its bound.
const ALPHA: f64 = 0.05;
/// The largest number of bisections for each allowed suggestion.
const SOLUTIONS: usize = 4;
/// The largest number of suggested chains for one statistic.
const ALIKE: usize = 2;
/// The largest number of consecutive conversions of the measure in a chain.
const CONVERSIONS: usize = 2;

impl Search<'_> {
    /// Convert the found chains to the measure of the goal, find their noise, check their losses,
    /// and sort them.
    pub(super) fn finish(mut self) -> Result<Suggestions> {
        let releases = std::mem::take(&mut self.releases);
        let mut reached = Vec::new();
        for release in releases {
            self.convert(release, 0, &mut reached);
        }
        reached.sort_by_key(|release| release.names.len());
        let limits = self.aim.goal.limits;
        let (mut found, mut solved) = (Vec::new(), 0);
        let mut texts = BTreeSet::new();
        for release in &reached {
            if SOLUTIONS * limits.results <= solved {
                break;
            }
            solved += 1;
            if let Some(suggestion) = self.solve(release)
                && texts.insert(suggestion.document.json().to_string())
            {
                found.push((release.statistic.clone(), suggestion));
            }
        }
        let error = |it: &Suggestion| it.accuracy.iter().flatten().copied().fold(0.0, f64::max);
        found.sort_by(|(_, a), (_, b)| {
            let known = |it: &Suggestion| it.accuracy.iter().any(Option::is_some);
            let by_error = error(a).total_cmp(&error(b));
            known(b).cmp(&known(a)).then(by_error).then(a.names.len().cmp(&b.names.len()))
        });
        let mut alike: BTreeMap<Vec<String>, Vec<(String, Vec<Option<f64>>)>> = BTreeMap::new();
        found.retain(|(statistic, suggestion)| {
            let alike = alike.entry(statistic.clone()).or_default();
            // Two chains with the same loss and the same error bounds can have the same noise under
            // different names. For each statistic, suggest only one of these chains.
            let noise = (suggestion.loss.to_string(), suggestion.accuracy.clone());
            let same = noise.1.iter().any(Option::is_some) && alike.contains(&noise);
            let keep = !same && alike.len() < ALIKE;
            if keep {
                alike.push(noise);
            }
            keep
        });
        // Sort the chains by their length. Chains of the same length stay sorted by the error of
        // their noise.
        found.sort_by_key(|(_, suggestion)| suggestion.names.len());
        let mut found: Vec<Suggestion> =
            found.into_iter().map(|(_, suggestion)| suggestion).collect();
        found.truncate(limits.results);
        let obstacles = self.kept(found.is_empty());
        Ok(Suggestions { found, obstacles, calls: self.calls, whole: self.whole })
    }

    /// Convert a release to the measure of the goal. Add each result to `reached`.
    fn convert(&mut self, release: Release, depth: usize, reached: &mut Vec<Release>) {
        if *release.made.measure() == self.aim.measure {
            reached.push(release);
        } else if depth < CONVERSIONS {
            for place in 0..self.families.len() {
                if let Some(converted) = self.converted(&release, depth, place) {
                    self.convert(converted, depth + 1, reached);
                }
            }
        }
    }
    /// Convert the measure of a release with the constructor at `place` in `families`. Return
    /// `None` in four cases: the constructor has no signature for this conversion, facts are
    /// missing, no more calls are allowed, or the call returns an error.
    fn converted(&mut self, release: &Release, depth: usize, place: usize) -> Option<Release> {
        let arg = Arg::Made(release.made.clone().into());
        let member = |entry: &Entry| {
            let taking = entry.parameters().iter().find(|p| p.name != "input" && p.accepts(&arg));
            taking.map(|parameter| parameter.name.to_string())
        };
        let takes = |entry: &&Arc<Entry>| {
            let ends = entry.leads_to(&self.aim.measure);
            let same = entry.leads_to(release.made.measure());
            !same && (ends || depth + 1 < CONVERSIONS) && member(entry).is_some()
        };
        let family = self.families.get(place)?;
        let (name, entry) = (family.name.clone(), family.entries.iter().find(takes)?.clone());
        let member = member(&entry)?;
        let mut given = Map::new();
        for other in entry.parameters().iter().filter(|p| *p.name != *member) {
            match self.fact(&name, &other.name) {
                Some(value) => drop(given.insert(other.name.to_string(), value.clone())),
                None if other.default.is_some() => {}
                None => return None,
            }
        }
        if !self.may_call() {
            return None;
        }
        let start = Args::new().with(&member, arg);
        let args = given.iter().fold(start, |args, (name, value)| args.with(name, value.clone()));
        let made = self.registry.make(&name, &args).and_then(Constructed::measurement).ok()?;
        given.insert(member, json!({"chain": release.links}));
        let names = [&release.names[..], std::slice::from_ref(&name)].concat();
        let links = vec![written(&name, given)];
        Some(Release { links, names, made, statistic: release.statistic.clone() })
    }

    /// Find the noise of a release, and check the loss of the release. Return `None` if the release
    /// cannot meet the budget.
    fn solve(&self, release: &Release) -> Option<Suggestion> {
        let goal = self.aim.goal;
        let open = Document::new(json!({
            "version": 1, "space": goal.space, "chain": release.links,
        }))
        .ok()?;
        let parameter = open.parameters().into_iter().next();
        let (document, solved) = match parameter {
            None => (open, None),
            Some(name) => {
                let value = open.solve(self.registry, &name, &goal.d_in, &goal.d_out).ok()?;
                let set =
                    |value: &Json| open.set(&BTreeMap::from([(name.clone(), value.clone())])).ok();
                let short = roundings(&value).into_iter().find(|value| {
                    let made = set(value).and_then(|document| document.build(self.registry).ok());
                    made.is_some_and(|made| self.meets(&made))
                });
                let value = short.unwrap_or(value);
                (set(&value)?, Some((name, value)))
            }
        };
        let made = document.build(self.registry).ok()?;
        let measurement = made.clone().measurement().ok().filter(|_| self.meets(&made))?;
        let loss = made.map(&goal.d_in).ok()?;
        let accuracy = accuracy(&measurement);
        Some(Suggestion { document, names: release.names.clone(), solved, loss, accuracy })
    }
    /// Return whether the loss of a chain is at most the largest allowed loss of the goal.
    fn meets(&self, made: &Constructed) -> bool {
        let goal = self.aim.goal;
        made.check_neighbours(&goal.d_in).is_ok()
            && made.check(&goal.d_in, &goal.d_out).is_ok_and(|within| within)
    }
}
/// A solved float is rounded to a number of significant digits. This constant is the number of
/// these digits after the first digit.
const DIGITS: i32 = 5;
/// Round a solved float to a few digits in three ways. Return the nearest number, and the next
/// numbers above and below the nearest number. The values within the budget are on one side of the
/// solved float. At least one of the rounded numbers is on this side, so this number is within the
/// budget.
fn roundings(value: &Json) -> Vec<Json> {
    let number = value.as_number().filter(|number| number.is_f64()).and_then(Number::as_f64);
    let Some(number) = number.filter(|number| *number != 0.0) else { return Vec::new() };
    let written = |number: f64| format!("{number:.*e}", DIGITS as usize);
    let text = written(number);
    let power = text.split_once('e').and_then(|(_, power)| power.parse::<i32>().ok());
    let step = power.and_then(|power| format!("1e{}", power - DIGITS).parse::<f64>().ok());
    let (Ok(nearest), Some(step)) = (text.parse::<f64>(), step) else { return Vec::new() };
    let all = [nearest, nearest + step, nearest - step].map(|number| written(number).parse());
    all.into_iter().flatten().map(|number: f64| json!(number)).collect()
}
fn accuracy(measurement: &AnyMeasurement) -> Vec<Option<f64>> {
    measurement.accuracy(ALPHA).unwrap_or_else(|_| vec![None])
}
