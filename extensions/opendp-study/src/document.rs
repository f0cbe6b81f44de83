//! The fields of a study document, and the checks of these fields.

mod unit;

use std::ops::{Bound, Range};

use opendp_core::arith::Exact;
use opendp_core::{Error, Result};
use serde::Deserialize;
use serde_json::{Number, Value as Json};

pub(super) use super::json::from_json;
use super::json::value;
pub(super) use unit::UnitFields;

/// The fields of a study document.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with context and questions")]
pub(super) struct Document {
    pub(super) context: ContextFields,
    pub(super) questions: Vec<QuestionFields>,
}
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with unit, budget and columns")]
pub(super) struct ContextFields {
    pub(super) data: Option<String>,
    pub(super) unit: UnitFields,
    pub(super) rows: Option<usize>,
    pub(super) budget: BudgetFields,
    pub(super) split: Option<Json>,
    #[serde(default)]
    pub(super) columns: serde_json::Map<String, Json>,
}
#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "an object with epsilon, with epsilon and delta, or with rho"
)]
pub(super) struct BudgetFields {
    pub(super) epsilon: Option<f64>,
    pub(super) delta: Option<f64>,
    pub(super) rho: Option<f64>,
}
/// The type of a column's cells.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub enum CellType {
    /// Whole numbers.
    #[serde(rename = "i64")]
    Integer,
    /// Numbers.
    #[serde(rename = "f64")]
    Float,
    /// `true` or `false`.
    #[serde(rename = "bool")]
    Bool,
    /// Texts.
    #[serde(rename = "String")]
    Text,
}
/// The public facts about a column.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a type such as \"f64\", or an object with T")]
pub(super) struct ColumnFields {
    #[serde(rename = "T")]
    pub(super) kind: CellType,
    pub(super) bounds: Option<(f64, f64)>,
    pub(super) missing: Option<Json>,
}
impl ColumnFields {
    /// Read the facts about a column: a type such as `"f64"`, or an object with a type and more
    /// facts.
    pub(super) fn read(json: &Json) -> Result<Self> {
        match json {
            Json::String(_) => from_json(&serde_json::json!({"T": json})),
            fields => from_json(fields),
        }
    }
}

/// The fields of a question: one statistic, its noise and its conditions.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with a statistic, such as {\"count\": {}}")]
pub(super) struct QuestionFields {
    pub(super) name: Option<String>,
    pub(super) noise: Option<NoiseFields>,
    #[serde(default, rename = "where")]
    pub(super) keep: serde_json::Map<String, Json>,
    pub(super) group_by: Option<Vec<String>>,
    pub(super) keys: Option<Json>,
    #[serde(default)]
    pub(super) others: bool,
    pub(super) statistics: Option<Vec<QuestionFields>>,
    pub(super) count: Option<NoFields>,
    pub(super) sum: Option<NumberFields>,
    pub(super) mean: Option<NumberFields>,
    pub(super) variance: Option<NumberFields>,
    pub(super) median: Option<RankFields>,
    pub(super) quantile: Option<RankFields>,
    pub(super) quantiles: Option<RankFields>,
    pub(super) histogram: Option<HistogramFields>,
    pub(super) counts_by: Option<ColumnOnly>,
    pub(super) top_k: Option<TopFields>,
}
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum NoiseFields {
    Laplace,
    Gaussian,
}
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "{}")]
pub(super) struct NoFields {}
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with column")]
pub(super) struct ColumnOnly {
    pub(super) column: String,
}
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with column")]
pub(super) struct NumberFields {
    pub(super) column: String,
    pub(super) bounds: Option<(f64, f64)>,
    pub(super) rows: Option<usize>,
}
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with column")]
pub(super) struct RankFields {
    pub(super) column: String,
    pub(super) alpha: Option<f64>,
    pub(super) alphas: Option<Vec<f64>>,
    pub(super) candidates: Json,
}
/// The numbers from `from` to `to`. Two neighbouring numbers differ by `step`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a list of numbers, or {from, to, step}")]
struct Grid {
    from: f64,
    to: f64,
    step: f64,
}
/// The largest number of candidates that a grid can have.
const MOST_CANDIDATES: f64 = 1e6;
impl RankFields {
    /// Return the candidates of a question. Each number of a grid is computed from its position in
    /// the grid, so rounding errors do not add up.
    pub(super) fn candidates(&self) -> Result<Vec<f64>> {
        let located = |error: Error| error.at("candidates");
        let Grid { from, to, step } = match &self.candidates {
            Json::Object(_) => from_json(&self.candidates).map_err(located)?,
            list => return value(list.clone()).map_err(located),
        };
        // Rounding can make the quotient slightly too small. Because of the term 1e-9, the grid
        // contains `to` in this case, too.
        let steps = ((to - from) / step + 1e-9).floor();
        if !(0.0 < step && from <= to && steps < MOST_CANDIDATES) {
            let reason = format!(
                "expected `from` <= `to`, a positive `step`, and at most {MOST_CANDIDATES} numbers; \
                 found from {from} to {to} by {step}"
            );
            return Err(Error::argument("candidates", reason));
        }
        Ok((0..=steps as u32).map(|place| from + f64::from(place) * step).collect())
    }
}
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with column")]
pub(super) struct HistogramFields {
    pub(super) column: String,
    pub(super) categories: Option<Vec<Json>>,
    pub(super) edges: Option<Vec<f64>>,
    #[serde(default)]
    pub(super) others: bool,
}
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with column")]
pub(super) struct TopFields {
    pub(super) column: String,
    pub(super) k: usize,
    pub(super) categories: Vec<Json>,
}

/// The statistic of a question.
#[derive(Clone, Copy)]
pub(super) enum Wanted<'a> {
    Count,
    Sum(&'a NumberFields),
    Mean(&'a NumberFields),
    Variance(&'a NumberFields),
    Median(&'a RankFields),
    Quantile(&'a RankFields),
    Quantiles(&'a RankFields),
    Histogram(&'a HistogramFields),
    CountsBy(&'a ColumnOnly),
    TopK(&'a TopFields),
}
impl QuestionFields {
    /// Return the statistic. A question without a statistic, or with several, is an error.
    pub(super) fn wanted(&self) -> Result<Wanted<'_>> {
        let stated = [
            self.count.map(|NoFields {}| Wanted::Count),
            self.sum.as_ref().map(Wanted::Sum),
            self.mean.as_ref().map(Wanted::Mean),
            self.variance.as_ref().map(Wanted::Variance),
            self.median.as_ref().map(Wanted::Median),
            self.quantile.as_ref().map(Wanted::Quantile),
            self.quantiles.as_ref().map(Wanted::Quantiles),
            self.histogram.as_ref().map(Wanted::Histogram),
            self.counts_by.as_ref().map(Wanted::CountsBy),
            self.top_k.as_ref().map(Wanted::TopK),
        ];
        let stated: Vec<Wanted<'_>> = stated.into_iter().flatten().collect();
        match stated.as_slice() {
            [single] => Ok(*single),
            several => Err(Error::argument(
                "statistic",
                format!(
                    "expected one of count, sum, mean, variance, median, quantile, quantiles, \
                     histogram, counts_by and top_k; found {}",
                    several.len()
                ),
            )),
        }
    }
    /// Check that the question has one statistic, and only fields that this statistic uses.
    pub(super) fn check(&self) -> Result<()> {
        if self.group_by.is_some() {
            return self.check_groups();
        }
        for (field, stated) in [
            ("keys", self.keys.is_some()),
            ("others", self.others),
            ("statistics", self.statistics.is_some()),
        ] {
            if stated {
                let reason = "this is for groups: add \"group_by\": [column, ..], or leave it out";
                return Err(Error::argument(field, reason));
            }
        }
        let (field, reason) = match self.wanted()? {
            Wanted::Sum(fields) if fields.rows.is_some() => {
                ("rows", "a sum does not use a number of rows: leave `rows` out")
            }
            Wanted::Median(fields) if fields.alpha.is_some() => {
                ("alpha", "a median is the quantile 0.5: leave `alpha` out, or ask for a quantile")
            }
            Wanted::Median(fields) | Wanted::Quantile(fields) if fields.alphas.is_some() => {
                ("alphas", "this is one quantile: leave `alphas` out, or ask for \"quantiles\"")
            }
            Wanted::Quantiles(fields) if fields.alpha.is_some() => {
                ("alpha", "there are several quantiles: leave `alpha` out, and list `alphas`")
            }
            Wanted::Histogram(fields) if fields.others && fields.edges.is_some() => {
                ("others", "every number is in a bin, so there are no others: leave `others` out")
            }
            Wanted::Median(_)
            | Wanted::Quantile(_)
            | Wanted::Quantiles(_)
            | Wanted::CountsBy(_)
            | Wanted::TopK(_)
                if self.noise.is_some() =>
            {
                ("noise", "this statistic has only one kind of noise: leave `noise` out")
            }
            _ => return Ok(()),
        };
        Err(Error::argument(field, reason))
    }
    /// Check that the question counts or chooses something.
    pub(super) fn check_not_empty(&self) -> Result<()> {
        let none = |names: &Option<Vec<_>>| names.as_ref().is_some_and(Vec::is_empty);
        let (field, what) = match self.wanted() {
            Ok(Wanted::Histogram(fields)) if none(&fields.categories) && !fields.others => {
                ("categories", "one category")
            }
            Ok(Wanted::Histogram(fields)) if fields.edges.as_ref().is_some_and(Vec::is_empty) => {
                ("edges", "one edge")
            }
            Ok(Wanted::TopK(fields)) if fields.k == 0 => ("k", "1"),
            Ok(Wanted::TopK(fields)) if fields.categories.len() < 2 => {
                ("categories", "two categories")
            }
            _ => return Ok(()),
        };
        let reason = format!("expected at least {what}: otherwise, nothing is counted or chosen");
        Err(Error::argument(field, reason))
    }
    /// Return the name of the question. If the question has no name, describe its statistic and its
    /// conditions.
    pub(super) fn title(&self) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        if let Some(columns) = &self.group_by {
            return self.about(format!("groups by {}", columns.join(", ")));
        }
        let what = match self.wanted() {
            Ok(Wanted::Count) | Err(_) => "count".to_owned(),
            Ok(Wanted::Sum(fields)) => format!("sum of {}", fields.column),
            Ok(Wanted::Mean(fields)) => format!("mean of {}", fields.column),
            Ok(Wanted::Variance(fields)) => format!("variance of {}", fields.column),
            Ok(Wanted::Median(fields)) => format!("median of {}", fields.column),
            Ok(Wanted::Quantile(fields)) => {
                format!("quantile {} of {}", fields.alpha.unwrap_or(0.5), fields.column)
            }
            Ok(Wanted::Quantiles(fields)) => format!("quantiles of {}", fields.column),
            Ok(Wanted::Histogram(fields)) => format!("histogram of {}", fields.column),
            Ok(Wanted::CountsBy(fields)) => format!("counts by {}", fields.column),
            Ok(Wanted::TopK(fields)) => format!("top {} of {}", fields.k, fields.column),
        };
        self.about(what)
    }
    /// Add the conditions of the question to a title.
    pub(super) fn about(&self, what: String) -> String {
        let keep = self.keep.iter().map(|(name, condition)| format!("{name} {condition}"));
        let keep: Vec<String> = keep.collect();
        if keep.is_empty() { what } else { format!("{what}, where {}", keep.join(" and ")) }
    }
}

/// A condition on a cell. All stated parts of the condition must hold.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with at_least, below or in")]
pub(super) struct Condition {
    pub(super) at_least: Option<Number>,
    pub(super) below: Option<Number>,
    #[serde(rename = "in")]
    pub(super) among: Option<Vec<Json>>,
}
impl Condition {
    /// Read a condition, or a value that a cell must equal.
    pub(super) fn read(json: &Json) -> Result<Self> {
        match json {
            Json::Object(_) => from_json(json),
            value => {
                Ok(Condition { at_least: None, below: None, among: Some(vec![value.clone()]) })
            }
        }
    }
    /// Return the floats from `at_least` to below `below`. If `below` is not stated, the floats
    /// include infinity.
    ///
    /// # Errors
    /// `Argument` when a number is too large for a float.
    pub(super) fn floats(&self) -> Result<(Bound<f64>, Bound<f64>)> {
        let float = |number: Option<&Number>| number.map(float_of).transpose();
        let lower = float(self.at_least.as_ref())?.map_or(Bound::Unbounded, Bound::Included);
        let upper = float(self.below.as_ref())?.map_or(Bound::Unbounded, Bound::Excluded);
        Ok((lower, upper))
    }
    /// Return the integers from `at_least` to below `below`. These integers are exact, also if they
    /// are too large for the precision of a float.
    ///
    /// # Errors
    /// `Argument` when a number is too large for a float. Also `Argument` when three facts hold: a
    /// number is not written as an integer, it differs from its nearest float, and this float is an
    /// integer below 1e20 in magnitude.
    pub(super) fn integers(&self) -> Result<Range<i128>> {
        let least = |number: Option<&Number>, none: i128| number.map_or(Ok(none), ceiling);
        let lower = least(self.at_least.as_ref(), i128::MIN)?;
        Ok(lower..least(self.below.as_ref(), i128::MAX)?)
    }
}
/// The number 2^53. Beyond this number, not every integer is a float. So an integer of a column can
/// be rounded when it is compared with a float. The comparison is still exact if the float is
/// closer to 0 than 2^53.
pub(super) const EXACT_FLOATS: f64 = 9_007_199_254_740_992.0;

fn float_of(number: &Number) -> Result<f64> {
    let reason = || format!("the number {number} of the condition is too large for a float");
    number.as_f64().ok_or_else(|| Error::argument("where", reason()))
}
/// Return the least integer that is at least `number`.
fn ceiling(number: &Number) -> Result<i128> {
    let text = number.to_string();
    if let Ok(integer) = text.parse() {
        return Ok(integer);
    }
    let float = float_of(number)?;
    let is_written = || {
        let written = text.trim_start_matches('-').parse::<Exact>().ok();
        written.is_some() && written == Exact::from_f64(float.abs()).ok()
    };
    // Every cell has a magnitude below 1e20, so a number of magnitude 1e20 or more need not be
    // exact. If the float is not an integer, no integer is between the float and the number. So
    // both have the same ceiling.
    if float.fract() == 0.0 && float.abs() < 1e20 && !is_written() {
        let reason = format!(
            "the number {text} of the condition is not exact as a float: write an integer without \
             a point and without an exponent"
        );
        return Err(Error::argument("where", reason));
    }
    Ok(float.ceil() as i128)
}
