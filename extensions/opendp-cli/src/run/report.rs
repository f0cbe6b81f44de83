//! The report of a release.

use opendp_analysis::context::visible;
use serde_json::Value as Json;

use crate::budget;

/// The text for a release that is near an end of its integer type: its accuracy is not known.
const NEAR_END: &str = "not known: a number is near an end of its integer type, so the \
                        true sum may be beyond this end. Use a wider type, such as i64";

/// An addition to the bounds of several answers, if choices are among these answers.
const OF_CHOICES: &str =
    "; the bound of a choice is on the difference between its score and the best score";

/// The report of a release.
pub(crate) struct Report {
    /// The report as JSON, for programs.
    pub(crate) json: Json,
    /// The loss in words, if it is known.
    pub(super) loss: Option<String>,
    /// Whether a released integer may be cut off at an end of its type.
    pub(super) near_end: bool,
    /// Whether the accuracy bounds the difference between scores.
    pub(super) in_scores: bool,
}
impl Report {
    /// Write the report for readers.
    pub(crate) fn text(&self) -> String {
        let report = &self.json;
        let mut lines = vec![format!("release   {}", report["release"])];
        lines.push(match &self.loss {
            Some(loss) => {
                format!("loss      {loss}, when neighbours are at distance {}", report["d_in"])
            }
            None => "loss      not known: state the distance of neighbours with --d-in".into(),
        });
        if let Some(charge) = report.get("budget") {
            if charge["repeated"] == true {
                lines.push(format!(
                    "repeated  this is the release of an earlier run with the id `{}`: no new \
                     noise is drawn, and nothing is charged again",
                    visible(charge["id"].as_str().unwrap_or_default())
                ));
            }
            lines.push(format!("budget    {}", budget::charge_text(charge)));
        }
        lines.push(format!("accuracy  {}", self.accuracy()));
        lines.join("\n")
    }
    fn accuracy(&self) -> String {
        let several = self.json["release"].is_array() || self.json["release"].is_object();
        match &self.json["accuracy"]["value"] {
            Json::Null if self.near_end => NEAR_END.into(),
            Json::Null => "not known for this mechanism".into(),
            Json::Array(bounds) => match &bounds[..] {
                [bound, others @ ..]
                    if !self.in_scores && others.iter().all(|other| other == bound) =>
                {
                    each(bound)
                }
                _ => format!(
                    "{}, in the order of the answers; each bound alone holds in 95 % of releases{}",
                    Json::from(&bounds[..]),
                    if self.in_scores { OF_CHOICES } else { "" }
                ),
            },
            bound if self.in_scores => format!(
                "the score of the choice is within {bound} of the best score in 95 % of releases"
            ),
            bound if several => each(bound),
            bound => format!("within {bound} of the exact answer in 95 % of releases"),
        }
    }
}
/// State a bound that is the same for all numbers of the release.
fn each(bound: &Json) -> String {
    format!("each answer alone is within {bound} of its exact answer in 95 % of releases")
}
