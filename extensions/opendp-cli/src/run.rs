//! One release of data in a file.

use std::path::Path;

use opendp_core::erased::{AnyMeasurement, AnyValue};
use opendp_core::{Carrier, Codec, Constructed, Error, Result};
use opendp_ledger::{Ledger, Request};
use serde_json::{Value as Json, json};

use crate::{budget, data};

/// The accuracy that is printed holds except with this probability.
const ALPHA: f64 = 0.05;

/// What to release.
pub(crate) struct Run<'a> {
    pub(crate) data: &'a Path,
    pub(crate) column: Option<&'a str>,
    pub(crate) d_in: Option<&'a Json>,
    pub(crate) charge: Option<Charge<'a>>,
}
/// What to charge it to.
pub(crate) struct Charge<'a> {
    pub(crate) place: &'a budget::Place,
    pub(crate) id: &'a str,
    pub(crate) by: &'a str,
    pub(crate) document: &'a Json,
}
impl Run<'_> {
    /// Release, and report the release, its loss and its accuracy.
    pub(crate) fn release(&self, made: &Constructed, progress: bool) -> Result<Json> {
        let Constructed::Measurement(measurement) = made else {
            return Err(Error::MakeMeasurement(format!(
                "pipeline: only a measurement may be run on data, and this is a {}",
                made.kind().name()
            )));
        };
        // The loss comes first: a distance that is wrong must not cost a release.
        let loss = match self.d_in {
            Some(d_in) => Some(made.map(d_in)?),
            None => None,
        };
        let accuracy = measurement.accuracy(ALPHA)?;
        let (release, charge) = match (&self.charge, self.d_in) {
            (Some(charge), Some(d_in)) => {
                let d_in = measurement.input().metric().decode(d_in);
                let d_in = d_in.map_err(|error| error.at("d_in"))?;
                let request = Request::new(charge.id, measurement, &d_in)?;
                let request = request.by(charge.by).pipeline(charge.document);
                let ledger = Ledger::open_existing(&charge.place.file)?;
                let name = &charge.place.name;
                let release =
                    ledger.release(name, &request, || self.invoke(measurement, progress))?;
                let charge = budget::charge_json(&release, &ledger.remaining(name)?);
                (release.json().clone(), Some(charge))
            }
            _ => (self.invoke(measurement, progress)?.to_json(), None),
        };
        let mut report = json!({"release": release});
        if let Some(object) = report.as_object_mut() {
            if let (Some(loss), Some(d_in)) = (loss, self.d_in) {
                object.insert("d_in".into(), d_in.clone());
                object.insert("loss".into(), loss);
            }
            if let Some(charge) = charge {
                object.insert("budget".into(), charge);
            }
            object.insert("measure".into(), opendp_core::Measure::to_json(measurement.measure()));
            let accuracy = match &accuracy[..] {
                [one] => one.to_json(),
                several => several.to_vec().to_json(),
            };
            object.insert("accuracy".into(), json!({"alpha": ALPHA, "value": accuracy}));
        }
        Ok(report)
    }

    fn invoke(&self, measurement: &AnyMeasurement, progress: bool) -> Result<AnyValue> {
        let domain = measurement.input().domain();
        if self.data.extension().is_some_and(|extension| extension == "json") {
            return measurement.invoke(&data::read_json(self.data, self.column, domain)?);
        }
        let rows = data::rows(self.data, self.column, domain, progress)?;
        if measurement.function().streams() {
            return measurement.invoke_chunks(rows);
        }
        // The function needs its data whole.
        let mut whole: Option<AnyValue> = None;
        for chunk in rows {
            let chunk = chunk?;
            match &mut whole {
                None => whole = Some(chunk),
                Some(whole) => whole.append_rows(chunk.chunk()),
            }
        }
        measurement.invoke(&whole.unwrap_or_else(AnyValue::buffer))
    }
}

/// Write a report for people.
pub(crate) fn text(report: &Json) -> String {
    let mut lines = vec![format!("release   {}", report["release"])];
    match (report.get("loss"), report.get("d_in")) {
        (Some(loss), Some(d_in)) => lines.push(format!(
            "loss      {loss} in {} when neighbours are at distance {d_in}",
            report["measure"]
        )),
        _ => {
            lines.push("loss      not known: state how far apart neighbours are with --d-in".into())
        }
    }
    if let Some(charge) = report.get("budget") {
        let again = if charge["repeated"] == true { ", released before" } else { "" };
        lines.push(format!(
            "budget    {} as {}{again}: {} charged, {} left",
            charge["budget"], charge["id"], charge["charged"], charge["remaining"]
        ));
    }
    match &report["accuracy"]["value"] {
        Json::Null => lines.push("accuracy  not known for this mechanism".into()),
        value => {
            lines.push(format!("accuracy  within {value} of the true answer in 95% of releases"))
        }
    }
    lines.join("\n")
}
