//! One release of data in a file.

use std::{
    cell::Cell,
    fs::File,
    io::{self, Read},
};

use opendp_core::erased::{AnyMeasurement, AnyValue};
use opendp_core::{Carrier, Codec, Constructed, Domain, Error, Measure, Result};
use opendp_data::outside;
use opendp_ledger::{Ledger, Request, Terms};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use crate::{budget, caution::Caution, data, operations};

/// The accuracy that is printed holds except with this probability.
const ALPHA: f64 = 0.05;

/// What to release.
pub(crate) struct Run<'a> {
    pub(crate) source: data::Source<'a>,
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
        // A bound beyond all floats is none, and keeps nobody from a release.
        let accuracy = measurement.accuracy(ALPHA).unwrap_or_else(|_| vec![None]);
        let (release, charge) = match (&self.charge, self.d_in) {
            (Some(charge), Some(d_in)) => {
                let d_in = measurement.input().metric().decode(d_in);
                let d_in = d_in.map_err(|error| error.at("d_in"))?;
                let request = Request::new(charge.id, measurement, &d_in)?;
                let ledger = Ledger::open_existing(&charge.place.file)?;
                let name = &charge.place.name;
                let terms = ledger.account(name)?.terms;
                self.check_size(measurement, &terms)?;
                let digest = terms.digest();
                let request = request.by(charge.by).pipeline(charge.document);
                let request = request.source(&self.source_json(digest));
                let release = ledger.release(name, &request, || {
                    self.check_digest(digest)?;
                    let release = self.outcome(measurement)?;
                    // Nobody has changed the file in between.
                    self.check_digest(digest).map(|()| release)
                })?;
                if *release.json() == refusal() {
                    return Err(outside().at(format!("release `{}`, which is charged", charge.id)));
                }
                let charge = budget::charge_json(&release, &ledger.remaining(name)?);
                (release.json().clone(), Some(charge))
            }
            _ => (self.invoke(measurement).map_err(Failure::told)?, None),
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
    fn source_json(&self, digest: Option<&str>) -> Json {
        let mut source = json!({"data": self.source.path.to_string_lossy()});
        if let Some(column) = self.source.column {
            source["column"] = column.into();
        }
        if let Some(separator) = self.source.separator {
            source["separator"] = char::from(separator).to_string().into();
        }
        if let Some(digest) = digest {
            source["digest"] = digest.into();
        }
        source
    }
    /// Refuse data that are not those that the budget is for.
    fn check_digest(&self, expected: Option<&str>) -> Result<()> {
        let Some(expected) = expected else { return Ok(()) };
        if self.source.is_stdin() {
            let reason = "the budget is for one file, by its SHA-256: name that file";
            return Err(Error::argument("data", reason));
        }
        let digest = || -> io::Result<String> {
            let mut hash = Sha256::new();
            let (mut file, mut part) = (File::open(self.source.path)?, vec![0; 1 << 16]);
            loop {
                match file.read(&mut part)? {
                    0 => break,
                    length => hash.update(part.get(..length).unwrap_or_default()),
                }
            }
            Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
        };
        let name = self.source.path.display();
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

    /// Refuse a pipeline for data of another size than the budget states, where both count the same:
    /// neither is a secret, and whether the data have that size is not tried out.
    fn check_size(&self, measurement: &AnyMeasurement, terms: &Terms) -> Result<()> {
        let records = measurement.input().domain().records();
        let one_each = terms.unit().is_some() && {
            let contributions = &terms.to_json()["unit"]["contributions"];
            contributions.is_null() || contributions == 1
        };
        match (records, terms.size()) {
            (Some(records), Some(size)) if one_each && u64::try_from(records) != Ok(size) => {
                Err(Error::argument(
                    "size",
                    format!("the pipeline is for {records} rows, and the budget for {size} people"),
                ))
            }
            _ => Ok(()),
        }
    }
    /// Release for a budget. Data that are no member of the domain have an outcome, too, which is
    /// charged and kept like any other: else it could be tried for nothing what they are.
    fn outcome(&self, measurement: &AnyMeasurement) -> Result<Json> {
        match self.invoke(measurement) {
            Err(Failure::OfData(_)) => Ok(refusal()),
            outcome => outcome.map_err(Failure::told),
        }
    }
    /// Release, and refuse a release that is a conversation, of which nothing can be printed.
    fn invoke(&self, measurement: &AnyMeasurement) -> Result<Json, Failure> {
        let (domain, progress) = (measurement.input().domain(), !self.as_json);
        let data = data::open(&self.source, domain, progress).map_err(Failure::OfFile)?;
        let broken = Cell::new(false);
        let release = match data {
            data::Data::Json(json) => data::member(json, self.source.column, domain)
                .and_then(|value| measurement.invoke(&value)),
            data::Data::Rows(rows) => stream(
                measurement,
                // The number of rows is known at the end of reading, and is of the data.
                rows.inspect(|rows| {
                    broken.set(matches!(rows, Err(error) if *error != outside()));
                }),
            ),
        };
        match release {
            Ok(release) => operations::complete(&release).map_err(Failure::OfFile),
            Err(error) if broken.get() || error == Error::NoEntropy => Err(Failure::OfFile(error)),
            Err(error) => Err(Failure::OfData(error)),
        }
    }
}
/// Why there is no release.
enum Failure {
    /// It has nothing to do with what the records are: the file, its format, its columns, the types.
    OfFile(Error),
    /// It may depend on the records.
    OfData(Error),
}
impl Failure {
    fn told(self) -> Error {
        match self {
            Failure::OfFile(error) | Failure::OfData(error) => error,
        }
    }
}
/// What a budget keeps in the place of a release of data that are no member of the domain.
fn refusal() -> Json {
    json!({"refused": outside().to_string()})
}
fn stream(
    measurement: &AnyMeasurement,
    rows: impl Iterator<Item = Result<AnyValue>>,
) -> Result<AnyValue> {
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
