//! The cost of a question and the accuracy of its answer.

use opendp_core::Result;
use opendp_ledger::Loss;
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::Question;
use crate::Statements;
use crate::check::Output;
use crate::ir::{Bounding, Plan};
use crate::mechanisms::{Choice, Kind, Mechanisms};
use crate::noise::{ALPHA, Noise};
use crate::readable::readable;
use crate::sensitivity::{Contribution, sensitivity};

/// One noisy release of a question.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// The name of the released values.
    pub what: String,
    /// The name of the constructor that makes the mechanism.
    pub mechanism: String,
    /// The scale of the noise. For a quantile, the scale is in the unit of the scores of the
    /// candidates. For any other release, the scale is a number of steps of the released integers.
    pub scale: f64,
    /// The length of one step of the released integers, in the unit of the values. For a quantile,
    /// this field is the size of one unit of a score, in ranks.
    pub step: f64,
    /// A bound on the error. The bound holds with a probability of at least 95 %. For a quantile,
    /// the bound is in ranks. Compare the distances of the chosen candidate and of the best
    /// candidate to the quantile. Their difference is at most the bound. For all other values, the
    /// bound is in the unit of the values.
    pub accuracy: Option<f64>,
    /// The unit of `accuracy`, and of `scale` times `step`: `value` or `ranks`.
    pub accuracy_in: &'static str,
    /// A bound on how much one individual can change the exact values of the release, in the same
    /// unit as `scale`.
    pub sensitivity: Option<f64>,
    /// The threshold that the noisy count of a key must reach, if keys are not public.
    pub threshold: Option<f64>,
    /// The exact loss of the release. An amount can be a fraction, such as `1/3`.
    pub loss: Json,
    /// The loss of the release. Each amount is rounded up to a float.
    pub loss_up: Json,
}
/// The cost of a question and its releases, before anything is spent.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The loss of the whole question.
    pub loss: Loss,
    /// The budget that remains before the question is asked.
    pub left: Loss,
    /// Warnings, if a release with this loss gives little or no protection.
    pub cautions: Vec<String>,
    /// The limits that the question uses for the rows of one individual.
    pub contribution: String,
    /// The kind of the noise: `Laplace` or `Gaussian`. If the budget is an epsilon and a delta, and
    /// both kinds are possible, this text also compares the errors of the two kinds.
    pub noise: String,
    /// The noisy releases of the question.
    pub releases: Vec<Explained>,
    /// The exact plan in SQL, without the seed that chooses rows.
    pub statements: Vec<String>,
}
impl Explanation {
    /// Convert the explanation to JSON.
    pub fn to_json(&self) -> Json {
        json!({
            "loss": self.loss.to_json(),
            "loss_up": rounded_up(&self.loss),
            "left": self.left.to_json(),
            "contribution": self.contribution,
            "noise": self.noise,
            "releases": self.releases,
            "statements": self.statements,
        })
    }
}
pub(super) fn explain(question: &Question<'_>, mechanisms: &Mechanisms) -> Result<Explanation> {
    let plan = &question.checked.plan;
    let mut releases = Vec::new();
    for (k, sum) in plan.sums.iter().enumerate() {
        let selection = mechanisms.selection.as_ref().filter(|selection| selection.sum == k);
        let noise = mechanisms.sums.get(k).and_then(Option::as_ref);
        let Some(noise) = selection.map(|selection| &selection.noise).or(noise) else { continue };
        let step = match &sum.addend {
            crate::ir::Addend::Value(_, lattice) => lattice.step(),
            crate::ir::Addend::Square(_, lattice) => lattice.step() * lattice.step(),
            _ => 1.0,
        };
        let bound = sensitivity(plan, sum)?;
        let euclidean = mechanisms.kind == Kind::Gaussian;
        releases.push(Explained {
            sensitivity: Some(if euclidean { bound.l2 } else { bound.l1 }),
            threshold: selection.map(|selection| selection.threshold),
            accuracy: noise.accuracy(ALPHA).map(|error| error * step),
            ..explained(sum_name(question, k), noise, step)
        });
    }
    for choice in &mechanisms.choices {
        let alpha = choice.alpha.0 as f64 / choice.alpha.1 as f64;
        let divisor = choice.alpha.1 as f64;
        let accuracy = choice.noise.accuracy(ALPHA).map(|error| error / divisor);
        let name = format!("quantile {alpha} for {}", choice_name(question, choice));
        let rest = explained(name, &choice.noise, 1.0 / divisor);
        releases.push(Explained { accuracy, accuracy_in: RANKS, ..rest });
    }
    let statements = plan.statements(question.session.engine.dialect());
    let Statements { sums, buckets } = statements;
    Ok(Explanation {
        loss: mechanisms.loss.clone(),
        left: question.session.remaining()?,
        cautions: question.session.metadata.cautions(&mechanisms.loss),
        contribution: limits(plan),
        noise: match &mechanisms.compared {
            Some(compared) => format!("{:?}; {compared}", mechanisms.kind),
            None => format!("{:?}", mechanisms.kind),
        },
        releases,
        statements: sums.into_iter().chain(buckets).collect(),
    })
}
/// Convert a loss to JSON. Each amount is rounded up to a float.
pub(super) fn rounded_up(loss: &Loss) -> Json {
    let parts = loss.notion().parts().iter().zip(loss.parts());
    Json::Object(parts.map(|(name, part)| ((*name).to_owned(), part.to_f64_up().into())).collect())
}
/// Describe the limits on the rows of one individual.
pub(super) fn limits(plan: &Plan) -> String {
    let Contribution { rows, groups, per_group } = Contribution::of(plan);
    if let Bounding::Trusted { rows, exchanged: true } = plan.bounding {
        return format!(
            "rows of an individual: at most {rows}; other rows replace them, because the number \
             of rows is public"
        );
    }
    let kept = match plan.bounding {
        Bounding::Enforced { .. } => {
            "; the answer describes only the rows within these limits. Each query draws these rows \
             at random again, and intervals do not include the error of this choice"
        }
        Bounding::Trusted { .. } => "",
    };
    format!(
        "rows of an individual: at most {rows}, and at most {per_group} in a group; groups of an \
         individual: at most {groups}{kept}"
    )
}
fn explained(what: String, noise: &Noise, step: f64) -> Explained {
    Explained {
        what,
        mechanism: noise.request.clone(),
        scale: noise.scale,
        step,
        accuracy: None,
        accuracy_in: "value",
        sensitivity: None,
        threshold: None,
        loss: noise.loss.to_json(),
        loss_up: rounded_up(&noise.loss),
    }
}
/// Return a name for a sum. If aggregates depend on the sum, the name lists these aggregates.
fn sum_name(question: &Question<'_>, sum: usize) -> String {
    let names = question.names().unwrap_or_default();
    let part = |(name, output): (&String, &Output)| match output {
        Output::Sum { sum: used, .. } if *used == sum => Some(name.clone()),
        Output::MeanOf { sum: used, .. } if *used == sum => Some(format!("sum for {name}")),
        Output::Mean { sum: used, .. } if *used == sum => Some(format!("sum for {name}")),
        Output::Mean { count, .. } if *count == sum => Some(format!("count for {name}")),
        Output::Spread { squares, .. } if *squares == sum => Some(format!("squares for {name}")),
        Output::Spread { sum: used, .. } if *used == sum => Some(format!("sum for {name}")),
        Output::Spread { count, .. } if *count == sum => Some(format!("count for {name}")),
        _ => None,
    };
    let found: Vec<String> = names.iter().zip(&question.checked.outputs).filter_map(part).collect();
    if found.is_empty() {
        "count that decides which keys are released".into()
    } else {
        found.join(", ")
    }
}
/// Return the names of the aggregates that use a choice of candidates. These names contain the
/// names of the columns.
fn choice_name(question: &Question<'_>, choice: &Choice) -> String {
    let names = question.names().unwrap_or_default();
    let outputs = names.iter().zip(&question.checked.outputs);
    let uses = |output: &Output| output.choice() == Some((choice.buckets, choice.alpha));
    let found = outputs.filter(|(_, output)| uses(output)).map(|(name, _)| name.as_str());
    found.collect::<Vec<_>>().join(", ")
}
/// Return notes about the scales in the table of released values. For a value that depends on
/// several sums, this table has only the scale of the first sum.
pub(super) fn scale_notes(question: &Question<'_>, names: &[String]) -> Vec<String> {
    let note = |(name, output): (&String, &Output)| {
        let (first, others) = match output {
            Output::Mean { .. } => ("sum", "count"),
            Output::Spread { .. } => ("sum of squares", "sum and of its count"),
            _ => return None,
        };
        Some(format!(
            "the scale of {name} is the scale of the noise of its {first}; `releases` in the \
             document, the page and `explain` also state the scale of its {others}"
        ))
    };
    names.iter().zip(&question.checked.outputs).filter_map(note).collect()
}
/// Return notes about the parts of an answer that can mislead: keys that are left out, quantiles
/// without an interval, and the quantiles that stand for extremes.
pub(super) fn other_notes(question: &Question<'_>, mechanisms: &Mechanisms) -> Vec<String> {
    let selection = mechanisms.selection.iter().map(|selection| {
        format!(
            "keys with a noisy count below {:.2} are left out, so even an answer without rows does \
             not say that there are no keys",
            selection.threshold
        )
    });
    let choices = mechanisms.choices.iter().map(|choice| {
        let name = choice_name(question, choice);
        let level = choice.alpha.0 as f64 / choice.alpha.1 as f64;
        let lower = name.to_lowercase();
        let extreme = if ["min(", "max("].iter().any(|call| lower.starts_with(call)) {
            ", and not the true extreme, which is the value of one individual"
        } else {
            ""
        };
        let error = choice.noise.accuracy(ALPHA).map(|error| error / choice.alpha.1 as f64);
        let error = error.map_or("unknown".to_owned(), |error| format!("at most {error:.1}"));
        format!(
            "{name} is the quantile {level}{extreme}; it is a candidate, and its error in ranks is \
             {error} (95 %), so of few rows it can be any candidate"
        )
    });
    selection.chain(choices).collect()
}
/// The unit of the errors of quantiles.
const RANKS: &str = "ranks";
impl std::fmt::Display for Explanation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "costs {}; {} is left", self.loss, self.left.say(false))?;
        writeln!(f, "uses {}", self.contribution)?;
        writeln!(f, "noise: {}", self.noise)?;
        for release in &self.releases {
            let error = release.accuracy.map_or("unknown".into(), |error| format!("{error:.4}"));
            write!(f, "{}: {} of scale ", readable(&release.what), release.mechanism)?;
            let unit = if release.accuracy_in == RANKS { " ranks" } else { "" };
            let scale = release.scale * release.step;
            write!(f, "{scale:.4}{unit}, error at most {error}{unit} (95 %)")?;
            match release.threshold {
                Some(threshold) => {
                    writeln!(f, ", keys with a noisy count of at least {threshold:.2}")?
                }
                None => writeln!(f)?,
            }
        }
        for statement in &self.statements {
            writeln!(f, "\n{statement}")?;
        }
        Ok(())
    }
}
#[cfg(test)]
mod tests {
    use crate::mechanisms::fraction;

    #[test]
    fn a_level_is_a_reduced_fraction() {
        assert_eq!(fraction(0.5), (1, 2));
        assert_eq!(fraction(0.0), (0, 1));
        assert_eq!(fraction(0.005), (1, 200));
    }
}
