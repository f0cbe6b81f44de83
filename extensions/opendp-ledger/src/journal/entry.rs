//! The text about a release of a context, in a ledger. The text does not contain the answer,
//! because the noise of the answer is drawn after the charge.

use opendp_analysis::PrivacyUnit;
use opendp_analysis::context::{Entry, ErrorIn};
use opendp_core::Codec;
use opendp_core::arith::Exact;
use opendp_measurements::accounting::SharePair;
use serde_json::{Value as Json, json};

use crate::request::parse;

/// Write the facts that the ledger keeps about a release.
pub(super) fn write(entry: &Entry) -> Json {
    let all = |parts: &[Exact]| parts.iter().map(Exact::to_string).collect::<Vec<_>>();
    let pairs = |pairs: &Vec<SharePair>| pairs.iter().map(SharePair::to_json).collect::<Vec<_>>();
    let float = |number: Option<f64>| number.map(|number| number.to_json());
    json!({
        "query": entry.query,
        "measure": entry.measure,
        "rows": entry.unit.rows(),
        "replaced": entry.unit.size_is_public(),
        "mechanism": entry.mechanism,
        "scale": entry.scale.to_json(),
        "threshold": float(entry.threshold),
        "loss": all(&entry.loss),
        "mu_squared": entry.mu_squared.as_ref().map(Exact::to_string),
        "rho": entry.rho.as_ref().map(Exact::to_string),
        "plan": entry.plan,
        "reserved": entry.reserved.as_ref().map(|parts| all(parts)),
        "share": entry.share.as_ref().map(SharePair::to_json),
        "shares": entry.shares.as_ref().map(pairs),
        "accuracy": float(entry.accuracy),
        "error_in": ERRORS.iter().find(|(unit, _)| *unit == entry.error_in).map(|(_, name)| name),
        "left": all(&entry.left),
    })
}
const ERRORS: [(ErrorIn, &str); 3] =
    [(ErrorIn::Value, "value"), (ErrorIn::Ranks, "ranks"), (ErrorIn::Counts, "counts")];

/// Read the facts that one entry of a ledger keeps about one or several releases. Return `None` if
/// the text has another form. An empty list has another form, because a charge without a release is
/// no charge of a context.
pub(super) fn read(kept: &str) -> Option<Vec<Entry>> {
    match parse(kept).ok()? {
        Json::Array(all) if all.is_empty() => None,
        Json::Array(all) => all.iter().map(read_one).collect(),
        single => Some(vec![read_one(&single)?]),
    }
}
fn read_one(kept: &Json) -> Option<Entry> {
    let rows = u32::try_from(kept.get("rows")?.as_u64()?).ok()?;
    let word = |name: &str| Some(kept.get(name)?.as_str()?.to_owned());
    Some(Entry {
        query: word("query")?,
        measure: word("measure")?,
        unit: match kept.get("replaced")?.as_bool()? {
            true => PrivacyUnit::answers_of_person(rows).ok()?,
            false => PrivacyUnit::person(rows).ok()?,
        },
        mechanism: word("mechanism")?,
        scale: f64::from_json(kept.get("scale")?).ok()?,
        threshold: optional(kept, "threshold", float)?,
        loss: list(kept.get("loss")?, exact)?,
        mu_squared: optional(kept, "mu_squared", exact)?,
        rho: optional(kept, "rho", exact)?,
        plan: optional(kept, "plan", |plan| plan.as_str().map(str::to_owned))?,
        reserved: optional(kept, "reserved", |parts| list(parts, exact)?.try_into().ok())?,
        share: optional(kept, "share", pair)?,
        shares: optional(kept, "shares", |shares| list(shares, pair))?,
        accuracy: optional(kept, "accuracy", float)?,
        error_in: ERRORS.iter().find(|(_, name)| kept.get("error_in") == Some(&json!(name)))?.0,
        left: list(kept.get("left")?, exact)?,
    })
}
/// Read a field that can be null. The outer `None` means that the field has another form.
fn optional<T>(
    kept: &Json,
    name: &str,
    read: impl FnOnce(&Json) -> Option<T>,
) -> Option<Option<T>> {
    match kept.get(name)? {
        Json::Null => Some(None),
        field => read(field).map(Some),
    }
}
fn list<T>(json: &Json, read: impl Fn(&Json) -> Option<T>) -> Option<Vec<T>> {
    json.as_array()?.iter().map(read).collect()
}
fn exact(json: &Json) -> Option<Exact> {
    json.as_str()?.parse().ok()
}
fn float(json: &Json) -> Option<f64> {
    f64::from_json(json).ok()
}
fn pair(json: &Json) -> Option<SharePair> {
    SharePair::from_json(json).ok()
}
