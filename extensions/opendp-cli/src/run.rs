//! One release from data in a file.

use std::{cell::Cell, path::PathBuf};

use clap::error::ErrorKind;
use opendp_core::erased::{AnyMeasurement, AnyValue};
use opendp_core::{Carrier, Codec, Constructed, Domain, Error, Measure, Metric, Result};
use opendp_data::depends_on_records;
use opendp_ledger::{Caution, Failure, Ledger, Request};
use opendp_measurements::is_near_end;
use opendp_registry::Registry;
use serde_json::{Value as Json, json};

use crate::caution;
use crate::{budget, command, data, operations, panics, words};

mod report;

use report::Report;

/// The probability with which an error may be larger than the printed accuracy.
const ALPHA: f64 = 0.05;

/// The names of the metrics on data sets of rows.
const ROWS: [&str; 4] =
    ["symmetric_distance", "insert_delete_distance", "change_one_distance", "hamming_distance"];

/// The arguments of `run`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) pipeline: crate::Pipeline,
    /// The data: a table (CSV with a header, or Parquet), or a value in a JSON file; `-` is a CSV
    /// table from standard input
    ///
    /// CSV and JSON may be compressed by gzip or zstd. A pipeline that begins with a
    /// `dataframe_domain` reads the columns that this domain names; any other pipeline reads one
    /// column.
    ///
    /// Cells are read without the spaces around them. So a category that begins or ends with a
    /// space always counts 0.
    ///
    /// Every cell becomes a value of the pipeline's domain, because an error would reveal the cell.
    /// An integer may be written as 47.0. A cell that is empty or unreadable becomes 0, `false` or
    /// the empty text. In a column of floats, such a cell becomes NaN, or 0 if the domain states
    /// `"nan": false`. A value out of the domain's bounds becomes the nearest bound. With an
    /// `option_domain`, a cell that is empty, unreadable or out of bounds is missing instead. The
    /// pipeline may drop or impute missing cells. The command `inspect` counts the empty and the
    /// unreadable cells.
    ///
    /// Each line of a CSV table is one record, even a line that ends inside a quoted cell. So
    /// remove line breaks from the cells before the table is written.
    #[arg(long)]
    pub(crate) data: PathBuf,
    /// The name of the column to read, if the file has several columns and the pipeline reads one
    #[arg(long)]
    pub(crate) column: Option<String>,
    /// The separator of the cells of a CSV table: one character, or `tab`; defaults to a comma
    #[arg(long, value_parser = data::parse_separator)]
    pub(crate) separator: Option<u8>,
    /// The distance of neighbouring inputs, as JSON. Without a distance, no loss is printed. Then a
    /// release is refused if no bound on its loss at a small distance is known
    #[arg(long, allow_hyphen_values = true, value_parser = crate::parse_json)]
    pub(crate) d_in: Option<Json>,
    /// Charge the release to a budget before the release is printed; needs --id, and --d-in if the
    /// budget states no unit
    #[arg(long, value_name = "FILE:NAME", requires = "id")]
    pub(crate) budget: Option<budget::Place>,
    /// The id of the release: all runs with one id print the same release, which is charged once.
    /// An id belongs to a pipeline, the path of the data as you write it, a column, a separator and
    /// a distance
    #[arg(long, requires = "budget")]
    pub(crate) id: Option<String>,
    /// The name of the person who asks, for the ledger
    #[arg(long, requires = "budget")]
    pub(crate) by: Option<String>,
    /// Release even if the loss is infinite, which gives no protection
    #[arg(long)]
    pub(crate) allow_infinite_loss: bool,
}

/// Make a release, and report it with its loss and its accuracy.
pub(crate) fn answer(arguments: &Arguments, registry: &Registry, as_json: bool) -> Result<Report> {
    let Arguments { pipeline, data, column, separator, budget, id, by, .. } = arguments;
    let unit = match (budget, &arguments.d_in) {
        (Some(place), None) => Some(budget::unit(place)?.unwrap_or_else(|| {
            let missing = "the budget states no unit: state the distance of neighbours with --d-in";
            command().error(ErrorKind::MissingRequiredArgument, missing).exit()
        })),
        _ => None,
    };
    if pipeline.pipeline.as_os_str() == "-" && data.as_os_str() == "-" {
        let reason = "standard input is the pipeline, so it cannot also be the data: read one of \
                      the two from a file";
        return Err(Error::argument("data", reason));
    }
    let document = pipeline.read()?;
    let made = document.build(registry)?;
    let charge = budget.as_ref().zip(id.as_deref()).map(|(place, id)| Charge {
        place,
        id,
        by: by.as_deref().unwrap_or_default(),
        document: document.json(),
    });
    let run = Run {
        source: data::Source {
            path: data,
            column: column.as_deref(),
            separator: *separator,
            terms: None,
        },
        d_in: arguments.d_in.as_ref().or(unit.as_ref()),
        charge,
        infinite: arguments.allow_infinite_loss,
        as_json,
        registry,
    };
    run.release(&made)
}

/// The release that a command line requests.
struct Run<'a> {
    source: data::Source<'a>,
    d_in: Option<&'a Json>,
    charge: Option<Charge<'a>>,
    /// Whether the user allows an infinite loss.
    infinite: bool,
    as_json: bool,
    registry: &'a Registry,
}
/// The budget to charge, the id of the release, the name of the person who asks, and the pipeline.
struct Charge<'a> {
    place: &'a budget::Place,
    id: &'a str,
    by: &'a str,
    document: &'a Json,
}
impl Run<'_> {
    fn release(&self, made: &Constructed) -> Result<Report> {
        let Constructed::Measurement(measurement) = made else {
            return Err(Error::MakeMeasurement(format!(
                "pipeline: expected a measurement, found {}: end the chain with noise, such as \
                 {{\"laplace\": {{\"scale\": 1.0}}}}",
                made.kind().with_article()
            )));
        };
        // Compute the loss before the release. So a wrong distance is not charged.
        let map = |d_in| made.check_neighbours(d_in).and_then(|()| made.map(d_in));
        let loss = self.d_in.map(map).transpose()?;
        // The number of people matters only for a loss with a delta.
        let size = |loss: &Json| loss.as_array().and_then(|_| self.size(measurement));
        let known = match &loss {
            Some(loss) => Some(Caution::new(loss, size(loss))),
            None => Caution::at_small_distance(made, size),
        };
        self.check_loss(known.as_ref())?;
        // If the accuracy exceeds all floats, release without a stated accuracy.
        let accuracy = measurement.accuracy(ALPHA).unwrap_or_else(|_| vec![None]);
        let parts = words::parts(measurement.measure());
        let warn = || known.iter().for_each(|known| caution::warn(known, parts, self.as_json));
        let (release, charge) = match (&self.charge, self.d_in) {
            (Some(charge), Some(d_in)) => self.charged(charge, d_in, measurement, &warn)?,
            _ => {
                warn();
                (self.invoke(self.source, measurement).map_err(Failure::told)?, None)
            }
        };
        let near_end = is_near_end(measurement, &release);
        let said = loss.as_ref().map(|loss| words::loss(loss, measurement.measure()));
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
                _ if near_end => Json::Null,
                [single] => single.to_json(),
                several => several.to_vec().to_json(),
            };
            object.insert("accuracy".into(), json!({"alpha": ALPHA, "value": accuracy}));
        }
        Ok(Report { json: report, loss: said, near_end, in_scores: measurement.bounds_scores() })
    }
    /// Check that the loss has a bound. If no distance is stated, the loss at a small distance is
    /// checked. Without this check, a pipeline without noise would release the exact answer, and no
    /// message would say so.
    fn check_loss(&self, caution: Option<&Caution>) -> Result<()> {
        match caution {
            _ if self.infinite => Ok(()),
            Some(caution) if self.d_in.is_some() => caution::check(caution),
            Some(caution) if caution.no_bound().is_none() => Ok(()),
            _ => Err(Error::InvalidDistance(
                "no bound on the loss at a small distance is known: state the distance of \
                 neighbours with --d-in, or state --allow-infinite-loss to release anyway"
                    .into(),
            )),
        }
    }
    /// Charge the loss of a release to the budget. Return the release, and the charge as JSON. Call
    /// `warn` before a new release is made. An earlier release is not charged again.
    fn charged(
        &self,
        charge: &Charge<'_>,
        d_in: &Json,
        measurement: &AnyMeasurement,
        warn: &dyn Fn(),
    ) -> Result<(Json, Option<Json>)> {
        // Refuse an interactive release before the data are read. Data that do not fit the pipeline
        // are charged. So this error must not depend on whether they fit.
        if operations::states_interactive(charge.document, self.registry) {
            return Err(operations::unprintable());
        }
        let d_in = measurement.input().metric().decode(d_in);
        let d_in = d_in.map_err(|error| error.at("d_in"))?;
        let request = Request::new(charge.id, measurement, &d_in)?;
        let (ledger, name) = (Ledger::open_existing(&charge.place.file)?, &charge.place.name);
        let terms = ledger.account(name)?.terms;
        terms.check_size(measurement.input().domain().records(), "document")?;
        let request = request.by(charge.by).pipeline(charge.document);
        let request = request.source(&self.source.to_json(terms.digest())?);
        let release = ledger.release_or_refuse(name, &request, || {
            warn();
            panics::hide_places();
            let source = data::Source { terms: Some(&terms), ..self.source };
            terms.guard_file(Some(self.source.path), || self.invoke(source, measurement))
        })?;
        caution::of_changed_file(self.source.path, &release, self.as_json);
        let charge = release.charge_to_json(&ledger.remaining(name)?);
        Ok((release.json().clone(), Some(charge)))
    }
    /// Return the number of people in the data, if the pipeline or the budget states it.
    fn size(&self, measurement: &AnyMeasurement) -> Option<u64> {
        let input = measurement.input();
        // Under a metric on vectors of numbers, such as the L1 distance, the length of a vector is
        // not a number of people.
        let of_rows = input.metric().to_json().as_str().is_some_and(|name| ROWS.contains(&name));
        let in_domain = input.domain().records().filter(|_| of_rows);
        let in_budget = || budget::people(self.charge.as_ref()?.place);
        in_domain.and_then(|records| records.try_into().ok()).or_else(in_budget)
    }
    /// Run the measurement on the data of `source`. An interactive release is an error, because
    /// such a release cannot be printed.
    fn invoke(
        &self,
        source: data::Source<'_>,
        measurement: &AnyMeasurement,
    ) -> Result<Json, Failure> {
        // A progress bar shows the number of rows or bytes, which is private. With a budget, the
        // person who asks may not see the data.
        let progress = !self.as_json && self.charge.is_none();
        let domain = measurement.input().domain();
        let data = data::open(&source, domain, progress).map_err(Failure::OfFile)?;
        let broken = Cell::new(false);
        let release = match data {
            data::Data::Json(json) => json
                .and_then(|json| data::member(json, source.column, domain))
                .and_then(|value| measurement.invoke(&value)),
            data::Data::Rows(rows) => stream(
                measurement,
                // An error of `rows` that does not depend on the records is an error of the file.
                rows.inspect(|rows| {
                    broken.set(matches!(rows, Err(error) if !depends_on_records(error)));
                }),
            ),
        };
        match release {
            // An interactive release is charged, because other data may not have reached this line.
            Ok(release) => operations::complete(&release).map_err(Failure::OfData),
            Err(error) if broken.get() => Err(Failure::OfFile(error)),
            Err(error) => Err(error.into()),
        }
    }
}
fn stream(
    measurement: &AnyMeasurement,
    rows: impl Iterator<Item = Result<AnyValue>>,
) -> Result<AnyValue> {
    if measurement.function().streams() {
        return measurement.invoke_chunks(rows);
    }
    // The function needs all rows at once.
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
