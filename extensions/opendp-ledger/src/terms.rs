//! The unit that a budget protects, and the data of the budget.

use std::fmt;

use opendp_core::arith::Exact;
use opendp_core::{Error, Result};
use serde_json::{Map, Value as Json, json};

/// The metrics in which neighbours always have the same number of rows.
const SAME_SIZE: [&str; 7] = [
    "change_one_distance",
    "hamming_distance",
    "absolute_distance",
    "l1_distance",
    "l2_distance",
    "linf_distance",
    "range_distance",
];

/// The unit that a budget protects: the largest distance between two data sets that differ in one
/// person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    metric: Json,
    unit: u32,
    contributions: Option<u32>,
}
impl Unit {
    /// State that two data sets that differ in one person are at most `unit` apart. `metric` is in
    /// the format of pipeline documents.
    ///
    /// # Errors
    /// `InvalidDistance` when the unit is 0, because a unit of 0 protects nothing.
    pub fn new(metric: Json, unit: u32) -> Result<Self> {
        if unit == 0 {
            return Err(Error::InvalidDistance("unit: expected at least 1, found 0".into()));
        }
        Ok(Unit { metric, unit, contributions: None })
    }
    /// State that a person has at most `contributions` records. Each record adds `unit` to the
    /// distance.
    ///
    /// # Errors
    /// `InvalidDistance` when `contributions` is 0, or when the total distance exceeds the range of
    /// `u32`.
    pub fn contributions(self, contributions: u32) -> Result<Self> {
        match self.unit.checked_mul(contributions) {
            Some(1..) => Ok(Unit { contributions: Some(contributions), ..self }),
            _ => Err(Error::InvalidDistance(format!(
                "contributions: expected from 1 to {}, found {contributions}",
                u32::MAX / self.unit
            ))),
        }
    }
    /// Return the metric of the unit, in the format of pipeline documents.
    pub fn metric(&self) -> &Json {
        &self.metric
    }
    /// Return the name of the metric. The name is empty if the metric is not in the format of
    /// pipeline documents.
    fn metric_name(&self) -> &str {
        let key = || self.metric.as_object()?.keys().next().map(String::as_str);
        self.metric.as_str().or_else(key).unwrap_or_default()
    }
    /// Return whether a person has at most one record.
    pub(crate) fn is_one_contribution(&self) -> bool {
        self.contributions.unwrap_or(1) == 1
    }
    /// Return the largest distance between two data sets that differ in one person: the unit times
    /// the number of contributions.
    pub fn d_in(&self) -> u32 {
        self.unit.saturating_mul(self.contributions.unwrap_or(1))
    }
    /// Return whether a release that protects the distance `d_in` in `metric` protects this unit.
    /// `d_in` is JSON text.
    ///
    /// `metric` and `d_in` must equal the metric and the distance of this unit. There is one
    /// exception: a unit of the change-one distance `k` also admits the symmetric distance `2 k`.
    ///
    /// # Proof
    /// Let two data sets be at change-one distance at most `k`. Then at most `k` replacements of
    /// rows turn the first data set into a permutation of the second data set. Each replacement
    /// removes one row and adds one row. So the symmetric distance between the data sets before and
    /// after a replacement is at most 2. By the triangle inequality, the data sets are at symmetric
    /// distance at most `2 k`. So the loss of a release at the symmetric distance `2 k` bounds the
    /// divergence of its output distributions on these data sets.
    ///
    /// A unit of the symmetric distance does not admit a change-one distance. Data sets at
    /// symmetric distance 2 can have different numbers of rows. A loss at a change-one distance
    /// then does not bound the divergence of the output distributions on such data sets.
    pub(crate) fn is_of(&self, metric: &Json, d_in: &str) -> bool {
        let same = || {
            let distance = self.in_metric(metric)?.to_string();
            Some(d_in.parse::<Exact>().ok()? == distance.parse().ok()?)
        };
        same() == Some(true)
    }
    /// Return the distance in `metric` that a release must protect for this unit. For a unit of the
    /// change-one distance `k`, the symmetric distance is `2 k`. Return `None` if there is no such
    /// distance.
    fn in_metric(&self, metric: &Json) -> Option<u64> {
        let replaced = self.metric == "change_one_distance" && metric == "symmetric_distance";
        let times = if replaced { 2 } else { 1 };
        (replaced || *metric == self.metric).then(|| u64::from(self.d_in()) * times)
    }
    /// Return the error for a release that does not protect this unit. `budget` is the name of the
    /// budget.
    pub(crate) fn refuse(&self, budget: &str, metric: &Json, d_in: &str) -> Error {
        let name = metric.as_str().map_or_else(|| metric.to_string(), str::to_owned);
        let advice = match self.in_metric(metric) {
            None => "use this metric, or a budget with another metric".to_owned(),
            Some(distance) => format!("state the distance {distance} in {name}"),
        };
        let reason = format!(
            "budget `{budget}` protects data at distance {self}, but the release is for distance \
             {d_in} in {name}: {advice}"
        );
        Error::argument("d_in", reason)
    }
    fn to_json(&self) -> Json {
        let mut json = json!({"metric": self.metric, "unit": self.unit});
        if let Some(contributions) = self.contributions {
            json["contributions"] = contributions.into();
        }
        json["d_in"] = self.d_in().into();
        json
    }
    fn from_json(json: &Json) -> Option<Self> {
        let number = |json: &Json| u32::try_from(json.as_u64()?).ok();
        let unit = Unit::new(json.get("metric")?.clone(), number(json.get("unit")?)?).ok()?;
        match json.get("contributions") {
            None => Some(unit),
            Some(times) => unit.contributions(number(times)?).ok(),
        }
    }
}
impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metric = self.metric.as_str().map_or_else(|| self.metric.to_string(), str::to_owned);
        write!(f, "{} in {metric}", self.d_in())?;
        match self.contributions {
            Some(times) => {
                write!(f, " (contributions of a person: {times}, each at distance {})", self.unit)
            }
            None => Ok(()),
        }
    }
}

/// The reason why the unit of a budget refuses a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// The release needs a public number of rows, and the budget protects this number.
    Size,
    /// The release protects another distance.
    Distance,
}

/// The terms of a budget, without its amount. Each part is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    unit: Option<Unit>,
    digest: Option<String>,
    size: Option<u64>,
}
impl Terms {
    /// Make empty terms.
    pub fn new() -> Self {
        Terms::default()
    }
    /// State the unit that the budget protects. Requests for another distance are refused. A unit
    /// of the change-one distance `k` also admits requests for the symmetric distance `2 k`.
    #[must_use]
    pub fn with_unit(self, unit: Unit) -> Self {
        Terms { unit: Some(unit), ..self }
    }
    /// State the data of the budget. `digest` is the SHA-256 of the file that contains the data.
    /// The command `opendp` and studies refuse requests for other data. [`Ledger::release`] does
    /// not read the data, so it does not check the digest. [`check_file`](Terms::check_file) does.
    ///
    /// [`Ledger::release`]: crate::Ledger::release
    ///
    /// # Errors
    /// `Argument` when the digest does not have 64 hexadecimal digits. The prefix `sha256:` is
    /// optional.
    pub fn with_digest(self, digest: &str) -> Result<Self> {
        let plain = digest.strip_prefix("sha256:").unwrap_or(digest).to_ascii_lowercase();
        if plain.len() != 64 || !plain.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let reason = "expected a SHA-256 of 64 hexadecimal digits, such as `sha256sum` prints";
            return Err(Error::argument("digest", reason));
        }
        Ok(Terms { digest: Some(plain), ..self })
    }
    /// State the number of people in the data. If each person has one contribution, the stated
    /// number also makes the number of rows public ([`protects_size`](Terms::protects_size)).
    #[must_use]
    pub fn with_size(self, size: u64) -> Self {
        Terms { size: Some(size), ..self }
    }
    /// Check the terms of a new budget. Call this function before the ledger is opened, so that no
    /// ledger is created for wrong terms.
    ///
    /// # Errors
    /// `Argument` when the number of people is 0.
    pub fn check(&self) -> Result<()> {
        if self.size == Some(0) {
            let reason = "expected at least 1 person, found 0; leave it out if it is not public";
            return Err(Error::argument("size", reason));
        }
        Ok(())
    }
    /// Return the unit that the budget protects.
    pub fn unit(&self) -> Option<&Unit> {
        self.unit.as_ref()
    }
    /// Return the SHA-256 of the data, in hexadecimal.
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }
    /// Return the number of people in the data.
    pub fn size(&self) -> Option<u64> {
        self.size
    }
    /// Return whether the budget protects the number of rows. Such a budget refuses releases that
    /// need a public number of rows. These releases reveal the number, because they use the number,
    /// or fail if a stated number is wrong.
    ///
    /// There are four cases in which the number is not protected. First, the terms state no unit.
    /// Second, the metric of the unit is the change-one or the Hamming distance. Third, this metric
    /// is a distance between numbers or between vectors. Under such a metric, data of different
    /// lengths are never neighbours. All other metrics are assumed to count added and removed rows.
    /// Fourth, the terms state the number of people, each person has one contribution, and the
    /// distance of the unit is at most 2. At the distance 2, one changed person is one removed row
    /// and one added row.
    pub fn protects_size(&self) -> bool {
        let Some(unit) = &self.unit else { return false };
        let one_row = unit.is_one_contribution() && unit.d_in() <= 2;
        let stated = self.size.is_some() && one_row;
        !(stated || SAME_SIZE.contains(&unit.metric_name()))
    }
    /// Return whether the number of rows is public only because the terms state the number of
    /// people. If the terms did not state the number of people, the budget would protect the number
    /// of rows. If the distance of the unit is 1, the answer is `false`. No two data sets of the
    /// same size are at this distance, so such a budget admits no release that needs a public
    /// number of rows.
    pub fn has_public_rows_by_size(&self) -> bool {
        let without_size = Terms { size: None, ..self.clone() };
        let hidden = self.unit().is_some_and(|unit| 1 < unit.d_in());
        hidden && without_size.protects_size() && !self.protects_size()
    }
    /// Return why the unit of the budget refuses a release. `public_size` states whether the
    /// release needs a public number of rows. `metric` and `d_in` are the input metric and the
    /// distance of the release. Return `None` if the unit admits the release, or if the terms state
    /// no unit. If `metric` is `None`, the distance is not compared.
    pub fn misfit(&self, public_size: bool, metric: Option<&Json>, d_in: &str) -> Option<Misfit> {
        let unit = self.unit.as_ref()?;
        if public_size && self.protects_size() {
            return Some(Misfit::Size);
        }
        metric.is_some_and(|metric| !unit.is_of(metric, d_in)).then_some(Misfit::Distance)
    }
    /// Convert the terms to JSON: an object of the parts that were stated.
    pub fn to_json(&self) -> Json {
        let mut json = Map::new();
        if let Some(unit) = &self.unit {
            json.insert("unit".into(), unit.to_json());
        }
        if let Some(digest) = &self.digest {
            json.insert("digest".into(), digest.as_str().into());
        }
        if let Some(size) = self.size {
            json.insert("size".into(), size.into());
        }
        Json::Object(json)
    }
    /// Write the terms in the format of the ledger's tables. The text is empty if the terms are
    /// empty.
    pub(crate) fn to_text(&self) -> String {
        if *self == Terms::default() { String::new() } else { self.to_json().to_string() }
    }
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Terms::default());
        }
        let json: Json = serde_json::from_str(text).ok()?;
        let mut terms = Terms::new();
        if let Some(unit) = json.get("unit") {
            terms = terms.with_unit(Unit::from_json(unit)?);
        }
        if let Some(digest) = json.get("digest") {
            terms = terms.with_digest(digest.as_str()?).ok()?;
        }
        if let Some(size) = json.get("size") {
            terms = terms.with_size(size.as_u64()?);
        }
        (terms.to_text() == text).then_some(terms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn come_back_from_text() {
        let unit = Unit::new(json!("symmetric_distance"), 2).unwrap();
        let digest = "0123456789abcdefABCDEF0123456789".repeat(2);
        let all = Terms::new().with_unit(unit.clone().contributions(3).unwrap()).with_size(1000);
        let all = all.with_digest(&format!("sha256:{digest}")).unwrap();
        for terms in [Terms::new(), Terms::new().with_unit(unit), all] {
            assert_eq!(Terms::from_text(&terms.to_text()), Some(terms));
        }
        assert_eq!(Terms::from_text("{}"), None);
        assert!(Terms::new().with_digest("abc").is_err());
    }
    #[test]
    fn a_release_for_twice_the_symmetric_distance_protects_replaced_rows_and_no_other() {
        let [replaced, symmetric] =
            ["change_one_distance", "symmetric_distance"].map(|metric| json!(metric));
        let unit = Unit::new(replaced.clone(), 1).unwrap().contributions(3).unwrap();
        assert!(unit.is_of(&symmetric, "6") && unit.is_of(&symmetric, "6.0"));
        assert!(unit.is_of(&replaced, "3"));
        for (metric, d_in) in [
            (&symmetric, "3"),
            (&symmetric, "5"),
            (&symmetric, "12"),
            (&symmetric, "null"),
            (&replaced, "6"),
            (&json!("hamming_distance"), "6"),
            (&json!("insert_delete_distance"), "6"),
        ] {
            assert!(!unit.is_of(metric, d_in), "{metric} {d_in}");
        }
        // A unit of the symmetric distance does not admit a change-one distance, because adding one
        // row is not replacing a row.
        let unit = Unit::new(symmetric, 6).unwrap();
        assert!(!unit.is_of(&replaced, "3") && !unit.is_of(&replaced, "6"));
        // The largest unit does not overflow.
        let unit = Unit::new(replaced.clone(), u32::MAX).unwrap();
        assert!(unit.is_of(&json!("symmetric_distance"), "8589934590"));
    }
    #[test]
    fn a_unit_is_a_distance_however_it_is_written() {
        let unit = Unit::new(json!("symmetric_distance"), 2).unwrap().contributions(3).unwrap();
        assert_eq!(
            unit.to_string(),
            "6 in symmetric_distance (contributions of a person: 3, each at distance 2)"
        );
        let metric = json!("symmetric_distance");
        assert!(unit.is_of(&metric, "6") && unit.is_of(&metric, "6.0"));
        assert!(!unit.is_of(&metric, "5") && !unit.is_of(&json!("hamming_distance"), "6"));
        assert!(!unit.is_of(&metric, "null"));
        assert!(Unit::new(json!("symmetric_distance"), 0).is_err());
        for bad in [0, u32::MAX] {
            assert!(unit.clone().contributions(bad).is_err());
        }
    }
}
