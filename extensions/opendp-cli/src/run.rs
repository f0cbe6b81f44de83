//! One release of data in a file.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use opendp_core::erased::{AnyMeasurement, AnyValue};
use opendp_core::{Carrier, Codec, Constructed, Domain, Error, Measure, Result};
use opendp_ledger::{Ledger, Request};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use crate::{budget, caution::Caution, data, operations};

/// The accuracy that is printed holds except with this probability.
const ALPHA: f64 = 0.05;

/// What to release.
pub(crate) struct Run<'a> {
    pub(crate) data: &'a Path,
    pub(crate) column: Option<&'a str>,
    pub(crate) d_in: Option<&'a Json>,
    pub(crate) charge: Option<Charge<'a>>,
    /// Whether an infinite loss is meant.
    pub(crate) infinite: bool,
    pub(crate) as_json: bool,
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
    pub(crate) fn release(&self, made: &Constructed) -> Result<Json> {
        let Constructed::Measurement(measurement) = made else {
            return Err(Error::MakeMeasurement(format!(
                "pipeline: only a measurement may be run on data, and this is a {}",
                made.kind().name()
            )));
        };
        // The loss comes first: a distance that is wrong must not cost a release.
        let loss = match self.d_in {
            Some(d_in) => {
                made.check_neighbours(d_in)?;
                Some(made.map(d_in)?)
            }
            None => None,
        };
        // How many people there are matters to a delta only.
        let size = |loss: &Json| loss.as_array().and_then(|_| self.size(measurement));
        let caution = loss.as_ref().map(|loss| Caution::new(loss, size(loss)));
        if let Some(caution) = caution.as_ref().filter(|_| !self.infinite) {
            caution.check()?;
        }
        let accuracy = measurement.accuracy(ALPHA)?;
        let (release, charge) = match (&self.charge, self.d_in) {
            (Some(charge), Some(d_in)) => {
                let d_in = measurement.input().metric().decode(d_in);
                let d_in = d_in.map_err(|error| error.at("d_in"))?;
                let request = Request::new(charge.id, measurement, &d_in)?;
                let ledger = Ledger::open_existing(&charge.place.file)?;
                let name = &charge.place.name;
                let digest = ledger.account(name)?.terms.digest().map(str::to_owned);
                let request = request.by(charge.by).pipeline(charge.document);
                let request = request.source(&self.source(digest.as_deref()));
                let release = ledger.release(name, &request, || {
                    self.check_digest(digest.as_deref())?;
                    let release = self.invoke(measurement)?;
                    // Nobody has changed the file in between.
                    self.check_digest(digest.as_deref()).map(|()| release)
                })?;
                let charge = budget::charge_json(&release, &ledger.remaining(name)?);
                (release.json().clone(), Some(charge))
            }
            _ => (self.invoke(measurement)?.to_json(), None),
        };
        if let Some(caution) = caution {
            let rho = measurement.measure().to_json().to_string().contains("zero_concentrated");
            caution.warn(if rho { "rho" } else { "epsilon" }, self.as_json);
        }
        let mut report = json!({"release": release});
        if let Some(object) = report.as_object_mut() {
            if let (Some(loss), Some(d_in)) = (loss, self.d_in) {
                object.insert("d_in".into(), d_in.clone());
                object.insert("loss".into(), loss);
            }
            if let Some(charge) = charge {
                object.insert("budget".into(), charge);
            }
            object.insert("measure".into(), measurement.measure().to_json());
            let accuracy = match &accuracy[..] {
                [one] => one.to_json(),
                several => several.to_vec().to_json(),
            };
            object.insert("accuracy".into(), json!({"alpha": ALPHA, "value": accuracy}));
        }
        Ok(report)
    }

    /// What is read, as it was named. An id stands for it.
    fn source(&self, digest: Option<&str>) -> Json {
        let mut source = json!({"data": self.data.to_string_lossy()});
        if let Some(column) = self.column {
            source["column"] = column.into();
        }
        if let Some(digest) = digest {
            source["digest"] = digest.into();
        }
        source
    }
    /// Refuse data that are not those that the budget is for.
    fn check_digest(&self, expected: Option<&str>) -> Result<()> {
        let Some(expected) = expected else { return Ok(()) };
        let digest = || -> io::Result<String> {
            let mut hash = Sha256::new();
            let (mut file, mut part) = (File::open(self.data)?, vec![0; 1 << 16]);
            loop {
                match file.read(&mut part)? {
                    0 => break,
                    length => hash.update(part.get(..length).unwrap_or_default()),
                }
            }
            Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
        };
        let name = self.data.display();
        match digest() {
            Ok(found) if found == expected => Ok(()),
            Ok(_) => Err(Error::argument(
                "data",
                format!("{name} is not the file that the budget is for: its SHA-256 is another"),
            )),
            Err(error) => Err(Error::argument("data", format!("{name} cannot be read: {error}"))),
        }
    }
    /// How many people there are in the data, where it is stated.
    fn size(&self, measurement: &AnyMeasurement) -> Option<u64> {
        let domain = measurement.input().domain().to_json();
        let in_domain =
            || domain.as_object()?.values().find_map(|domain| domain.get("size")?.as_u64());
        let in_budget = || {
            let place = self.charge.as_ref()?.place;
            Ledger::open_to_read(&place.file).ok()?.account(&place.name).ok()?.terms.size()
        };
        in_domain().or_else(in_budget)
    }

    /// Release, and refuse a release that is a conversation, of which nothing can be printed.
    fn invoke(&self, measurement: &AnyMeasurement) -> Result<AnyValue> {
        let release = self.answer(measurement)?;
        operations::complete(&release).map(|_| release)
    }
    fn answer(&self, measurement: &AnyMeasurement) -> Result<AnyValue> {
        let (domain, progress) = (measurement.input().domain(), !self.as_json);
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
        if charge["repeated"] == true {
            lines.push(format!(
                "repeated  this is the release of an earlier run as {}: nothing is drawn or charged again",
                charge["id"]
            ));
        }
        lines.push(format!(
            "budget    {} as {}: {} charged, {} left",
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
