//! What is asked of a budget, and what is given.

use opendp_core::{Carrier, Codec, Domain, Error, Measurement, Metric, Result};
use serde_json::Value as Json;

use crate::{Accounted, Entry, Loss};

/// What is asked of a budget: an id, a loss, and what to write down about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub(crate) id: String,
    pub(crate) by: String,
    pub(crate) pipeline: String,
    pub(crate) source: String,
    /// The metric and the distance that the loss is for, or nothing where the caller vouches for it.
    pub(crate) metric: Option<Json>,
    pub(crate) d_in: String,
    pub(crate) loss: Loss,
}
impl Request {
    /// Ask for one release of a measurement, typed or erased, between data that are `d_in`-close.
    ///
    /// It is charged the [exact loss](Measurement::exact_map), so that ten releases of a tenth
    /// exhaust a budget of 1.
    ///
    /// The id stands for this release for ever: asking again with the same id gives the same
    /// release. Choose it when the question is asked, not when it is retried.
    ///
    /// # Errors
    /// Those of the map; `InvalidDistance` when the loss is not finite, or the distance is 0, at which
    /// nothing is ever lost; `NotImplemented` when no budget is in the measure.
    pub fn new<DI: Domain, MI: Metric, MO: Accounted, TO: Carrier>(
        id: &str,
        measurement: &Measurement<DI, MI, MO, TO>,
        d_in: &MI::Distance,
    ) -> Result<Self> {
        let metric = measurement.input().metric().to_json();
        let json = d_in.to_json();
        if is_nothing(&json) {
            return Err(Error::InvalidDistance(format!(
                "d_in: expected more than 0, found {json}: no data of two people are at distance 0, \
                 and a budget would not be charged"
            )));
        }
        let rounded = measurement.measure().account(&measurement.map(d_in)?)?;
        let loss = rounded.exactly(measurement.exact_map(d_in)?);
        let metric = Some(metric);
        Ok(Request { d_in: json.to_string(), metric, ..Request::of_loss(id, loss) })
    }
    /// Ask for a release of a known loss. The caller vouches for it.
    pub fn of_loss(id: &str, loss: Loss) -> Self {
        let (by, source) = (String::new(), String::new());
        let (pipeline, d_in) = ("null".into(), "null".into());
        Request { id: id.into(), by, pipeline, source, metric: None, d_in, loss }
    }
    /// Say who asks.
    #[must_use]
    pub fn by(mut self, who: &str) -> Self {
        self.by = who.into();
        self
    }
    /// Say what is released, as a pipeline document.
    #[must_use]
    pub fn pipeline(mut self, document: &Json) -> Self {
        self.pipeline = document.to_string();
        self
    }
    /// Say what is read: the data as they are named, their columns, their digest. The id stands for
    /// this, too.
    #[must_use]
    pub fn source(mut self, source: &Json) -> Self {
        self.source = source.to_string();
        self
    }
    /// What it costs.
    pub fn loss(&self) -> &Loss {
        &self.loss
    }
}

/// Whether a distance is 0, in all of its parts.
fn is_nothing(json: &Json) -> bool {
    match json {
        Json::Number(number) => number.as_f64() == Some(0.0),
        Json::Array(parts) => !parts.is_empty() && parts.iter().all(is_nothing),
        _ => false,
    }
}

/// What was released: now, or before under the same id.
#[derive(Clone, Debug)]
pub struct Release {
    entry: Entry,
    json: Json,
    repeated: bool,
}
impl Release {
    pub(crate) fn new(entry: Entry, repeated: bool) -> Result<Self> {
        let json = serde_json::from_str(&entry.release).map_err(|_| {
            Error::FailedFunction("the ledger holds a release that is no JSON".into())
        })?;
        Ok(Release { entry, json, repeated })
    }
    /// The release.
    ///
    /// # Errors
    /// `FailedCast` when it has another type.
    pub fn value<T: Codec>(&self) -> Result<T> {
        T::from_json(&self.json)
    }
    /// The release as JSON.
    pub fn json(&self) -> &Json {
        &self.json
    }
    /// Whether this is the release of an earlier call with the same id. It was not charged again.
    pub fn repeated(&self) -> bool {
        self.repeated
    }
    /// What is written down about it.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }
}
