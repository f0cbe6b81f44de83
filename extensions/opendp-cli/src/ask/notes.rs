//! Messages about the charge of a study, and about mistakes that are found without its data.

use opendp_analysis::context::visible;
use opendp_study::Study;
use serde_json::Value as Json;

use crate::{budget, caution, words};

/// Return the line that reports whether a budget admits a charge that was not made.
fn check_line(charge: &Json) -> String {
    let text = |name: &str| visible(charge[name].as_str().unwrap_or_default());
    let (budget, id) = (text("budget"), text("id"));
    if charge["fits"] == false {
        return format!("{}: a run would be refused", text("reason"));
    }
    if charge["repeated"] == true {
        return format!(
            "budget {budget}: a run would print the earlier answers with the id `{id}`, and charge \
             nothing"
        );
    }
    let (cost, left) = (&charge["cost"], &charge["remaining"]);
    format!(
        "budget {budget}: a run would be charged {} as `{id}`; {} is left now",
        words::amounts(cost, true),
        words::amounts(left, false)
    )
}
/// Return the lines that report a charge to a budget. If the answers come from an earlier run, the
/// first line says this.
pub(super) fn charge_lines(charge: Option<&Json>) -> Vec<String> {
    let Some(charge) = charge else { return Vec::new() };
    if charge.get("fits").is_some() {
        return vec![check_line(charge)];
    }
    let mut lines = Vec::new();
    if charge["repeated"] == true {
        lines.push(format!(
            "repeated: these are the answers of an earlier run with the id `{}`: no new noise is \
             drawn, and nothing is charged again",
            visible(charge["id"].as_str().unwrap_or_default())
        ));
    }
    lines.push(format!("budget {}", budget::charge_text(charge)));
    lines
}
/// Warn of each column of `bool` that does not state `missing`. The warning does not depend on the
/// data.
pub(super) fn warn_of_bools(study: &Study, as_json: bool) {
    for name in study.bools_without_missing() {
        let quoted = name.escape_debug().to_string().replace("\\'", "'\\''");
        let name = name.escape_debug();
        let warning = format!(
            "the column `{name}` is `bool`: its cells are true, True, TRUE, 1, false, False, FALSE \
             or 0, and each other cell, such as `yes`, counts as false. State \"missing\" for this \
             column, as in {{\"T\": \"bool\", \"missing\": false}}. The curator can count the \
             other cells with `opendp inspect --data FILE --column '{quoted}' --as bool`"
        );
        caution::say(&warning, as_json);
    }
}
