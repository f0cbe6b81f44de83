//! The fields of a study document, and the checks of these fields.

mod condition;
mod grid;
mod mechanism;
mod unit;

use opendp_core::arith::shown;
use opendp_core::{Error, Result};
use serde::Deserialize;
use serde_json::Value as Json;

pub(super) use super::json::from_json;
pub(super) use condition::{Condition, EXACT_FLOATS};
pub(super) use mechanism::{MechanismFields, Steps};
pub(super) use unit::UnitFields;

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
impl CellType {
    pub(super) fn name(self) -> &'static str {
        match self {
            CellType::Integer => "i64",
            CellType::Float => "f64",
            CellType::Bool => "bool",
            CellType::Text => "String",
        }
    }
}
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
    /// Check that bounds are in order and are stated only for numbers. If a number replaces missing
    /// cells, also check that this number is within the bounds. Earlier versions made no such
    /// checks. So check only before a new answer. Then a ledger can still return the answers that
    /// it keeps for an earlier document.
    pub(super) fn check(&self) -> Result<()> {
        self.check_drop()?;
        match (self.kind, self.bounds) {
            (_, None) => Ok(()),
            (CellType::Bool | CellType::Text, Some(_)) => {
                let reason = "only columns of numbers, i64 or f64, have bounds: leave `bounds` out";
                Err(Error::argument("bounds", reason))
            }
            (_, Some((lower, upper))) if upper < lower => {
                let (lower, upper) = (shown(lower), shown(upper));
                let reason =
                    format!("the lower bound {lower} is above the upper bound {upper}; swap them");
                Err(Error::argument("bounds", reason))
            }
            (_, Some(bounds)) => self.check_missing(bounds),
        }
    }
    /// Check that `missing` is not the word `drop` in another form, such as `Drop`. A column of
    /// texts would replace missing cells by this word, and the rows would not be dropped.
    pub(super) fn check_drop(&self) -> Result<()> {
        match &self.missing {
            Some(Json::String(word))
                if word != "drop" && word.trim().eq_ignore_ascii_case("drop") =>
            {
                let reason = format!(
                    "found {word:?}: write \"drop\", in lower case, to drop the rows whose cell is \
                     missing"
                );
                Err(Error::argument("missing", reason))
            }
            _ => Ok(()),
        }
    }
    /// Check that the number that replaces missing cells is within the bounds of a statistic.
    /// Otherwise, the statistic would replace this number by a bound.
    pub(super) fn check_missing(&self, (lower, upper): (f64, f64)) -> Result<()> {
        let outside = |cell: &f64| lower <= upper && !(lower..=upper).contains(cell);
        match self.missing.as_ref().and_then(Json::as_f64).filter(outside) {
            None => Ok(()),
            Some(cell) => {
                let nearest = shown(cell.clamp(lower, upper));
                let (lower, upper, cell) = (shown(lower), shown(upper), shown(cell));
                let reason = format!(
                    "expected a number within the bounds, from {lower} to {upper}, or \"drop\"; \
                     found {cell}, so a missing cell would count as {nearest}"
                );
                Err(Error::argument("missing", reason))
            }
        }
    }
}

/// The fields of a question: one statistic, or several statistics of groups, with the noise and the
/// conditions.
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
    pub(super) mechanism: Option<MechanismFields>,
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
    Mechanism(&'a MechanismFields),
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
            self.mechanism.as_ref().map(Wanted::Mechanism),
        ];
        let stated: Vec<Wanted<'_>> = stated.into_iter().flatten().collect();
        match stated.as_slice() {
            [single] => Ok(*single),
            several => Err(Error::argument(
                "statistic",
                format!(
                    "expected exactly one of count, sum, mean, variance, median, quantile, \
                     quantiles, histogram, counts_by, top_k and mechanism; found {} of them",
                    several.len()
                ),
            )),
        }
    }
    /// Check that a question without groups has one statistic, and only fields that this statistic
    /// uses. For a question about groups, do the checks of `check_groups`.
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
                let reason =
                    "this field is for groups: add \"group_by\": [column, ..], or leave it out";
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
            Wanted::Median(fields) | Wanted::Quantile(fields) if fields.alphas.is_some() => (
                "alphas",
                "the statistic is one quantile: leave `alphas` out, or ask for \"quantiles\"",
            ),
            Wanted::Quantiles(fields) if fields.alpha.is_some() => (
                "alpha",
                "the statistic is several quantiles: leave `alpha` out, and list `alphas`",
            ),
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
            Wanted::Mechanism(_) if self.noise.is_some() => {
                ("noise", "the chain of a mechanism states its noise: leave `noise` out")
            }
            Wanted::Mechanism(fields) => {
                return fields.steps().map(drop).map_err(|error| error.at("mechanism"));
            }
            _ => return Ok(()),
        };
        Err(Error::argument(field, reason))
    }
    /// Check that the question counts or chooses something. A histogram needs a category, an edge,
    /// or the count of all other rows. `top_k` needs at least two categories, and a `k` from 1 to
    /// the number of categories.
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
            Ok(Wanted::TopK(fields)) if fields.categories.len() < fields.k => {
                let reason = format!(
                    "expected at most the number of categories, {}, found {}: state a smaller `k`, \
                     or list more categories",
                    fields.categories.len(),
                    fields.k
                );
                return Err(Error::argument("k", reason));
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
            Ok(Wanted::Mechanism(fields)) => fields.title(),
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
