//! Requests to a budget, and their releases.

use std::collections::BTreeMap;

use opendp_core::codec::NUMBER;
use opendp_core::{Carrier, Codec, Domain, Error, Measurement, Metric, Result};
use serde_json::value::RawValue;
use serde_json::{Value as Json, json};

use crate::{Accounted, Entry, Loss};

/// A request to a budget: an id, a loss, and the facts to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub(crate) id: String,
    pub(crate) by: String,
    pub(crate) pipeline: String,
    pub(crate) source: String,
    /// The metric of the distance, or `None` if the caller states the loss instead of a distance.
    pub(crate) metric: Option<Json>,
    pub(crate) d_in: String,
    pub(crate) loss: Loss,
    /// Whether the release needs a public number of rows.
    pub(crate) public_size: bool,
    /// More budgets to charge, see [`also`](Request::also).
    pub(crate) also: Vec<String>,
}
impl Request {
    /// Request one release of a measurement for neighbouring data at distance at most `d_in`. The
    /// measurement can be typed or erased.
    ///
    /// The charge is the [exact loss](Measurement::exact_map), so ten releases with a loss of 0.1
    /// exhaust a budget of 1.
    ///
    /// If the input domain states its number of records, then the release needs a public number of
    /// rows. The effect is the same as a call of [`with_public_size`](Request::with_public_size).
    ///
    /// The id belongs to this release permanently. A second request with the same id returns the
    /// same release. So choose a new id for a new question, and keep the id for a retry.
    ///
    /// The request records the distance and the loss, but not the measurement. So state the
    /// measurement with [`pipeline`](Request::pipeline), and the data with
    /// [`source`](Request::source). If neither is stated, the ledger notices no difference between
    /// two measurements with the same id, distance and loss. A request for the second measurement
    /// then returns the recorded release of the first measurement.
    ///
    /// # Errors
    /// The errors of [`Measurement::exact_map`]. `InvalidDistance` when the loss is not finite.
    /// `InvalidDistance` also when the distance or a part of it is 0, because a release at distance
    /// 0 would not charge the budget. `FailedMap` when
    /// [`check_neighbours`](opendp_core::Space::check_neighbours) finds that no two data sets are
    /// at this distance. `NotImplemented` when budgets do not support the measure.
    pub fn new<DI: Domain, MI: Metric, MO: Accounted, TO: Carrier>(
        id: &str,
        measurement: &Measurement<DI, MI, MO, TO>,
        d_in: &MI::Distance,
    ) -> Result<Self> {
        let metric = measurement.input().metric().to_json();
        let json = d_in.to_json();
        if is_nothing(&json) {
            return Err(Error::InvalidDistance(format!(
                "d_in: expected more than 0, found {json}: a release at distance 0 would not charge \
                 the budget"
            )));
        }
        measurement.input().check_neighbours(d_in)?;
        let rounded = measurement.measure().account(&measurement.map(d_in)?)?;
        let loss = rounded.exactly(measurement.exact_map(d_in)?);
        Ok(Request {
            metric: Some(metric),
            d_in: json.to_string(),
            public_size: measurement.input().domain().records().is_some(),
            ..Request::of_loss(id, loss)
        })
    }
    /// Request a release whose loss the caller states. The caller is responsible for this loss.
    pub fn of_loss(id: &str, loss: Loss) -> Self {
        let (by, source) = (String::new(), String::new());
        let (pipeline, d_in) = ("null".into(), "null".into());
        let (metric, public_size) = (None, false);
        let (id, also) = (id.into(), Vec::new());
        Request { id, by, pipeline, source, metric, d_in, loss, public_size, also }
    }
    /// Replace the loss by another bound on the loss of the same release. The caller is responsible
    /// for the loss. [`Loss::together`] combines the losses of several releases into one loss.
    #[must_use]
    pub fn charging(self, loss: Loss) -> Self {
        Request { loss, ..self }
    }
    /// State that the release needs a public number of rows. A budget that protects the number of
    /// rows ([`Terms::protects_size`](crate::Terms::protects_size)) then refuses the release.
    #[must_use]
    pub fn with_public_size(self) -> Self {
        Request { public_size: true, ..self }
    }
    /// Also charge the release to another budget of the ledger. For example, a service has a budget
    /// for each client, and one budget for all clients together. Only the second budget bounds the
    /// loss of the data if clients exchange their answers.
    ///
    /// The release is charged to all its budgets, or to none: if one budget refuses the request,
    /// nothing is charged. Each budget keeps the release under the id of the request. So if clients
    /// choose ids, make the id of the request from the name of the client and the chosen id, such
    /// that ids of two clients are never equal. If the power fails during a charge, it is possible
    /// that only some of the budgets were charged. Then no caller has the release. A retry charges
    /// the other budgets, and returns the same release. The budgets of `also` are charged before
    /// the budget of the call.
    ///
    /// ```
    /// use opendp_core::*;
    /// use opendp_ledger::{Ledger, Loss, Request};
    /// use opendp_measurements::{Scale, make_laplace};
    ///
    /// # let folder = tempfile::tempdir().map_err(|e| Error::FailedFunction(e.to_string()))?;
    /// # let path = folder.path().join("service.ledger");
    /// let ledger = Ledger::open(&path)?;
    /// ledger.create("all", &Loss::epsilon("1")?)?;
    /// ledger.create("Ada", &Loss::epsilon("0.5")?)?;
    ///
    /// let count = Space::new(AtomDomain::<i64>::default(), AbsoluteDistance::<i64>::default())?;
    /// let laplace = make_laplace(count, Scale::new(4.0)?, None)?;
    /// let request = Request::new("Ada 1", &laplace, &1)?.also("all");
    /// ledger.release("Ada", &request, || laplace.invoke(&100))?;
    /// assert_eq!(ledger.remaining("Ada")?, Loss::epsilon("0.25")?);
    /// assert_eq!(ledger.remaining("all")?, Loss::epsilon("0.75")?);
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn also(mut self, budget: &str) -> Self {
        self.also.push(budget.into());
        self
    }
    /// Set the person who makes the request.
    #[must_use]
    pub fn by(mut self, who: &str) -> Self {
        self.by = who.into();
        self
    }
    /// Set the pipeline document of the release.
    #[must_use]
    pub fn pipeline(mut self, document: &Json) -> Self {
        self.pipeline = document.to_string();
        self
    }
    /// State which data are read, for example by their names, columns and digest. The id of the
    /// request then belongs to these data, too.
    #[must_use]
    pub fn source(mut self, source: &Json) -> Self {
        self.source = source.to_string();
        self
    }
    /// Return the loss of the request.
    pub fn loss(&self) -> &Loss {
        &self.loss
    }
}

/// Return whether a distance is 0, or has a part that is 0.
fn is_nothing(json: &Json) -> bool {
    match json {
        Json::Number(number) => number.as_f64() == Some(0.0),
        Json::Array(parts) => parts.iter().any(is_nothing),
        _ => false,
    }
}

/// The largest depth of lists and objects. `serde_json` reads no deeper JSON, so the ledger writes
/// none.
const DEEPEST: usize = 128;

/// Parse JSON that the ledger has written, such as a release. An object whose first key is
/// [`NUMBER`] is read as an object, at each depth. If the text contains [`NUMBER`], the keys of its
/// objects are sorted.
pub(crate) fn parse(text: &str) -> serde_json::Result<Json> {
    // The ledger writes this key without escapes.
    match text.contains(NUMBER) {
        true => parse_parts(text, DEEPEST),
        false => serde_json::from_str(text),
    }
}
fn parse_parts(text: &str, depth: usize) -> serde_json::Result<Json> {
    let part = |part: &RawValue| parse_parts(part.get(), depth - 1);
    match text.as_bytes().first() {
        _ if depth == 0 => serde_json::from_str(text),
        Some(b'{') => {
            let parts: BTreeMap<String, &RawValue> = serde_json::from_str(text)?;
            parts.into_iter().map(|(key, value)| Ok((key, part(value)?))).collect()
        }
        Some(b'[') => {
            let parts: Vec<&RawValue> = serde_json::from_str(text)?;
            parts.into_iter().map(part).collect()
        }
        _ => serde_json::from_str(text),
    }
}

/// A release that was made now, or that was made earlier under the same id.
#[derive(Clone, Debug)]
pub struct Release {
    entry: Entry,
    json: Json,
    repeated: bool,
}
impl Release {
    pub(crate) fn new(entry: Entry, repeated: bool) -> Result<Self> {
        let json = parse(&entry.release).map_err(|_| {
            Error::FailedFunction("the ledger contains a release that is not JSON".into())
        })?;
        Ok(Release { entry, json, repeated })
    }
    /// Return the value of the release.
    ///
    /// # Errors
    /// The errors of [`Codec::from_json`], such as `FailedCast` when the value has another type.
    pub fn value<T: Codec>(&self) -> Result<T> {
        T::from_json(&self.json)
    }
    /// Return the release as JSON.
    pub fn json(&self) -> &Json {
        &self.json
    }
    /// Describe the charge as JSON: the budget, the id, the charged loss, and `remaining`, which is
    /// the rest of the budget.
    pub fn charge_to_json(&self, remaining: &Loss) -> Json {
        json!({
            "budget": self.entry.budget,
            "id": self.entry.id,
            "number": self.entry.number,
            "charged": self.entry.loss.to_json(),
            "repeated": self.repeated,
            "remaining": remaining.to_json(),
            "digest": self.entry.digest,
        })
    }
    /// Return whether an earlier call with the same id made this release. The ledger does not
    /// charge such a release again.
    pub fn repeated(&self) -> bool {
        self.repeated
    }
    /// Return the entry that records the release.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }
}
