//! Questions that registered constructors answer, such as mechanisms of other crates.

use opendp_analysis::context::{Mechanism, Question, Rows};
use opendp_core::erased::{AnyMeasure, AnyValue};
use opendp_core::{Atom, Codec, Error, Result};
use opendp_measurements::{Released, is_near_end};
use serde_json::Value as Json;

use super::super::document::{CellType, MechanismFields, QuestionFields, Steps};
use super::super::outcome::{Cell, StudyAnswer};
use super::{Asker, whole};
use crate::caught;

impl Steps {
    /// Run the chain on the rows of a column.
    fn on<T: Atom>(self, rows: Rows<'_, AnyMeasure, T>) -> Mechanism<'_, AnyMeasure, AnyValue> {
        rows.erased_mechanism("mechanism", move |rows, value| self.build(rows, value))
    }
}
impl<'c> Asker<'c> {
    /// Answer a question by the chain of its mechanism. If the chain has a parameter, find its
    /// value.
    pub(super) fn mechanism(
        &self,
        asked: &QuestionFields,
        fields: &MechanismFields,
    ) -> Result<StudyAnswer> {
        let steps = fields.steps()?;
        let parameter = steps.parameter.clone();
        let bounds = fields.bounds.map(|_| self.bounds(asked, &fields.as_numbers())).transpose()?;
        let mechanism = self.mechanism_of(asked, &fields.column, bounds, steps)?;
        let question = match &parameter {
            Some(_) => mechanism.solve_parameter(),
            None => mechanism.noise_of_scale(0.0),
        }?;
        self.check_trial(&question)?;
        let mut answer = StudyAnswer::before(asked.title(), question.noised(self.alpha));
        answer.bounds = bounds;
        answer.constructors = fields.names();
        answer.mechanism = fields.short_names();
        answer.scales = Vec::new();
        answer.parameter = parameter.map(|name| (name, question.scale()));
        let measurement = question.measurement().clone();
        if let Some(released) = self.spend(question)? {
            if released.value.is_interactive() {
                return Err(interactive());
            }
            let value = released.value.to_json();
            let intervals = match is_near_end(&measurement, &value) {
                true => Vec::new(),
                false => intervals(&released.value, &measurement.accuracy(self.alpha)?),
            };
            answer.cells = cells_of_release(value, &intervals);
        }
        Ok(answer)
    }
    /// Run the chain on the prepared rows of a column.
    fn mechanism_of(
        &self,
        asked: &QuestionFields,
        column: &str,
        bounds: Option<(f64, f64)>,
        steps: Steps,
    ) -> Result<Mechanism<'c, AnyMeasure, AnyValue>> {
        Ok(match self.column(column)?.kind {
            CellType::Integer => {
                let rows = self.cells::<i64>(asked, column)?;
                match bounds {
                    None => steps.on(rows),
                    Some((lower, upper)) => steps.on(rows.clamp(whole(lower)?, whole(upper)?)),
                }
            }
            CellType::Float => {
                let rows = self.numbers(asked, column)?;
                match bounds {
                    None => steps.on(rows),
                    Some((lower, upper)) => steps.on(rows.clamp(lower, upper)),
                }
            }
            CellType::Bool => steps.on(self.cells::<bool>(asked, column)?),
            CellType::Text => steps.on(self.cells::<String>(asked, column)?),
        })
    }
    /// Run the mechanism once on a table without data. So a mechanism that fails, that panics or
    /// that is interactive is refused before anything is charged.
    fn check_trial(&self, question: &Question<'c, AnyMeasure, AnyValue>) -> Result<()> {
        let Some(table) = self.trial else { return Ok(()) };
        let tried = caught(|| {
            let release = question.measurement().invoke(table)?;
            if release.is_interactive() {
                return Err(interactive());
            }
            let _ = release.to_json();
            Ok(())
        });
        tried.map_err(|error| error.at("a trial on a table without data"))
    }
}
#[cold]
fn interactive() -> Error {
    Error::NotImplemented(
        "the release is interactive, so it cannot be an answer: write a program that asks it \
         questions"
            .into(),
    )
}
/// Return an interval for each released number. If the release does not consist of numbers, or if
/// the error of a number has no known bound, there are no intervals.
fn intervals(release: &AnyValue, bounds: &[Option<f64>]) -> Vec<(f64, f64)> {
    macro_rules! of_types {
        ($($t:ty)*) => {$(
            if let Ok(number) = release.downcast_ref::<$t>() {
                return number.intervals(bounds).map(|interval| vec![interval]).unwrap_or_default();
            }
            if let Ok(numbers) = release.downcast_ref::<Vec<$t>>() {
                return numbers.intervals(bounds).unwrap_or_default();
            }
        )*};
    }
    of_types!(f64 i64 f32 i32 u32 u64 i8 i16 i128 u8 u16);
    Vec::new()
}
/// Return the cells of a release: a cell for each item of a list and for each entry of an object,
/// if all of them are single values. Otherwise, return one cell.
fn cells_of_release(value: Json, intervals: &[(f64, f64)]) -> Vec<Cell> {
    let single = |value: &Json| !value.is_array() && !value.is_object();
    let named: Vec<(String, Json)> = match &value {
        Json::Array(items) if items.iter().all(single) => {
            let place = |(place, item): (usize, &Json)| ((place + 1).to_string(), item.clone());
            items.iter().enumerate().map(place).collect()
        }
        Json::Object(entries) if entries.values().all(single) => {
            entries.iter().map(|(name, item)| (name.clone(), item.clone())).collect()
        }
        _ => Vec::new(),
    };
    if named.is_empty() {
        return vec![Cell { interval: intervals.first().copied(), value, ..Cell::default() }];
    }
    let cell = |(place, (label, value))| Cell {
        label: Some(label),
        value,
        interval: intervals.get(place).copied(),
        ..Cell::default()
    };
    named.into_iter().enumerate().map(cell).collect()
}
