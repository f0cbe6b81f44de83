//! Labels that distinguish the partial results of different functions.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::{Value as Json, json};

use super::fold::{FoldStage, foreign};
use crate::random::{NoEntropy, RandomSource, with_secure};
use crate::space::Untyped;
use crate::{Error, Result, TypeName};

/// The parts of a function up to its fold: spaces, functions of rows, and the fold. The parts are
/// in the order in which rows pass through them.
///
/// If every function of rows has a label, the whole label has the same text in every process and in
/// every build. The text is written when a partial result first uses the label.
#[derive(Clone)]
pub(crate) struct Label(Arc<Told>);
struct Told {
    parts: Parts,
    /// The text of the whole label. If the only part is a function without a label, the text is the
    /// random number that replaces the missing label.
    text: OnceLock<String>,
}
/// The parts of a label. Most labels have one part, or a space and one part, and need no list.
enum Parts {
    One(Part),
    /// A function of rows without a label. A random number, which is drawn on first use, replaces
    /// the label. Only this function and its clones have this number.
    Unlabelled,
    Within(Untyped, Part),
    Many(Vec<Part>),
}
#[derive(Clone)]
enum Part {
    Space(Untyped),
    /// A text that a function states as its label.
    Words(Arc<dyn Fn() -> String + Send + Sync>, Types),
    /// A label whose only part is an unlabelled function.
    Unlabelled(Label),
    /// A function that draws a secret sample of the rows.
    Secret,
    Fold(Arc<dyn FoldStage>, Types),
}
/// The input and output types of a stage.
#[derive(Clone, Copy)]
pub(crate) struct Types(pub(crate) fn() -> TypeName, pub(crate) fn() -> TypeName);
impl Types {
    fn to_json(self) -> Json {
        json!([self.0().to_string(), self.1().to_string()])
    }
}

impl Label {
    fn new(parts: Parts) -> Self {
        Label(Arc::new(Told { parts, text: OnceLock::new() }))
    }
    /// Begin a label with a function of rows that states no label. In the label, a random number
    /// takes the place of the missing text.
    pub(crate) fn unlabelled() -> Self {
        Label::new(Parts::Unlabelled)
    }
    /// Replace the label by the text that a function states as its label. If the old label states
    /// that the function draws a secret sample, the new label also states this fact.
    pub(crate) fn state(&mut self, label: Arc<dyn Fn() -> String + Send + Sync>, types: Types) {
        let words = Part::Words(label, types);
        let secret = self.parts().iter().any(|part| matches!(part, Part::Secret));
        self.set(if secret { Parts::Many(vec![words, Part::Secret]) } else { Parts::One(words) });
    }
    /// Replace the label by the statement that the function draws a secret sample.
    pub(crate) fn keep_secret(&mut self) {
        self.set(Parts::One(Part::Secret));
    }
    /// Begin a label with a fold.
    pub(crate) fn fold(fold: &Arc<dyn FoldStage>, types: Types) -> Self {
        Label::new(Parts::One(Part::Fold(fold.clone(), types)))
    }
    /// Append the label of the next function.
    pub(crate) fn then(&self, next: &Label) -> Self {
        let mut parts = self.parts();
        parts.append(&mut next.parts());
        Label::new(Parts::Many(parts))
    }
    /// Put the input space of the first function at the beginning of the label.
    pub(crate) fn put_space(&mut self, space: &Untyped) {
        let parts = match &self.0.parts {
            Parts::One(part) => Parts::Within(space.clone(), part.clone()),
            Parts::Unlabelled => Parts::Within(space.clone(), Part::Unlabelled(self.clone())),
            Parts::Within(..) | Parts::Many(_) => {
                let mut parts = self.parts();
                parts.insert(0, Part::Space(space.clone()));
                Parts::Many(parts)
            }
        };
        self.set(parts);
    }
    /// Set the parts. Other owners of this label keep the earlier parts.
    fn set(&mut self, parts: Parts) {
        match Arc::get_mut(&mut self.0) {
            Some(told) => *told = Told { parts, text: OnceLock::new() },
            None => *self = Label::new(parts),
        }
    }
    fn parts(&self) -> Vec<Part> {
        match &self.0.parts {
            Parts::One(part) => vec![part.clone()],
            Parts::Unlabelled => vec![Part::Unlabelled(self.clone())],
            Parts::Within(space, part) => vec![Part::Space(space.clone()), part.clone()],
            Parts::Many(parts) => parts.clone(),
        }
    }
    /// Write the label as a JSON list of its parts. The list separates the parts, so different
    /// labels have different texts. If the only part is a function without a label, the text is the
    /// random number of this function.
    ///
    /// # Errors
    /// `NoEntropy` when no random number can be drawn for a function without a label.
    /// `NotImplemented` when a function draws a secret sample.
    pub(crate) fn text(&self) -> Result<&str> {
        if let Some(text) = self.0.text.get() {
            return Ok(text);
        }
        let text = match &self.0.parts {
            Parts::Unlabelled => drawn()?,
            _ => self.list()?.to_string(),
        };
        Ok(self.0.text.get_or_init(|| text))
    }
    fn list(&self) -> Result<Json> {
        let mut parts: Vec<Json> = Vec::new();
        for part in self.parts() {
            let json = part.to_json()?;
            // If two adjacent parts are the same space, write this space only once.
            if parts.last() != Some(&json) || !matches!(part, Part::Space(_)) {
                parts.push(json);
            }
        }
        Ok(Json::from(parts))
    }
    /// Return whether two labels are the same object or have equal texts.
    ///
    /// # Errors
    /// The errors of [`text`](Label::text).
    pub(crate) fn same(&self, other: &Label) -> Result<bool> {
        Ok(Arc::ptr_eq(&self.0, &other.0) || self.text()? == other.text()?)
    }
    /// Make the error for a partial result that belongs to another function.
    #[cold]
    pub(crate) fn foreign(&self) -> Error {
        if !self.parts().iter().any(|part| matches!(part, Part::Unlabelled(_))) {
            return foreign();
        }
        Error::FailedFunction(
            "the partial result belongs to another function, or to another object of the same \
             function; a step without a label matches only itself: state a label with \
             `Function::labelled`"
                .into(),
        )
    }
}
impl Part {
    fn to_json(&self) -> Result<Json> {
        Ok(match self {
            Part::Space(space) => json!({"space": sorted(space.erased().to_json())}),
            Part::Words(label, types) => json!({"label": label(), "types": types.to_json()}),
            Part::Unlabelled(label) => json!({"unlabelled": label.text()?}),
            Part::Secret => return Err(secret()),
            Part::Fold(fold, types) => json!({"fold": fold.label(), "types": types.to_json()}),
        })
    }
}
#[cold]
fn secret() -> Error {
    Error::NotImplemented(
        "the function draws a secret sample, so its partial results cannot be written as bytes, \
         and they can be merged only if the same object made them. From written bytes, several \
         releases could use one sample, but the stated loss is a bound only if each release draws \
         a new sample"
            .into(),
    )
}
/// Draw a random number of 128 bits that replaces the missing label of a function.
fn drawn() -> Result<String> {
    let fresh = with_secure(|source| Ok::<_, NoEntropy>([source.word()?, source.word()?]))?;
    let [high, low] = fresh;
    Ok(format!("{high:016x}{low:016x}"))
}
/// Sort the keys of all objects in a JSON value. Without this step, the text would depend on the
/// build, because some builds of `serde_json` keep the order of insertion.
fn sorted(json: Json) -> Json {
    match json {
        Json::Array(items) => items.into_iter().map(sorted).collect(),
        Json::Object(entries) => {
            let mut entries: Vec<_> = entries.into_iter().collect();
            entries.sort_by(|left, right| left.0.cmp(&right.0));
            entries.into_iter().map(|(key, value)| (key, sorted(value))).collect()
        }
        other => other,
    }
}
impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Label({} parts)", self.parts().len())
    }
}
