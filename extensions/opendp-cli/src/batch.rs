//! JSON lines in, JSON lines out: one request a line, one answer a line, in the same order.

use std::{
    collections::{BTreeMap, HashMap},
    io::{self, BufRead, Write},
};

use opendp_core::{Codec, Constructed, Error, Result};
use opendp_registry::{Document, Registry, json};
use serde_json::{Map, Value as Json, json};

use crate::{catalogue, operations, parse_kind};

/// How many built pipelines are kept, so that a request that repeats one does not build it again.
const KEPT: usize = 64;
/// The most releases that one request may ask for.
const MAX_REPEAT: usize = 10_000_000;

/// Answer every line until the input ends. A bad line gets an error, and the rest goes on.
pub(crate) fn serve(
    registry: &Registry,
    mut input: impl BufRead,
    mut output: impl Write,
) -> io::Result<()> {
    let mut server = Server { registry, kept: HashMap::new() };
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        writeln!(output, "{}", server.answer(&line))?;
        output.flush()?;
    }
}

struct Server<'a> {
    registry: &'a Registry,
    kept: HashMap<String, Constructed>,
}
impl Server<'_> {
    /// Answer one line.
    fn answer(&mut self, line: &[u8]) -> Json {
        let request = std::str::from_utf8(line)
            .map_err(|_| Error::argument("request", "not UTF-8"))
            .and_then(json::parse);
        let request = match request {
            Ok(Json::Object(request)) => request,
            Ok(_) => {
                let error = Error::argument("request", "expected an object");
                return json!({"id": null, "error": operations::error_json(&error)});
            }
            Err(error) => return json!({"id": null, "error": operations::error_json(&error)}),
        };
        let id = request.get("id").cloned().unwrap_or(Json::Null);
        match self.value(&request) {
            Ok(value) => json!({"id": id, "value": value}),
            Err(error) => json!({"id": id, "error": operations::error_json(&error)}),
        }
    }

    fn value(&mut self, request: &Map<String, Json>) -> Result<Json> {
        let field = |name: &str| {
            request.get(name).ok_or_else(|| Error::argument(name, "missing from the request"))
        };
        let text = |name: &str| {
            field(name)?.as_str().ok_or_else(|| Error::argument(name, "expected a string"))
        };
        let number = |name: &str| f64::from_json(field(name)?).map_err(|error| error.at(name));
        match text("op")? {
            "make" => Ok(operations::make(&self.build(request)?)),
            "map" => self.build(request)?.map(field("d_in")?),
            "check" => self.build(request)?.check(field("d_in")?, field("d_out")?).map(Json::Bool),
            "invoke" => {
                let repeat = match request.get("repeat") {
                    None | Some(Json::Null) => None,
                    Some(repeat) => {
                        Some(usize::from_json(repeat).map_err(|error| error.at("repeat"))?)
                    }
                };
                if repeat.is_some_and(|repeat| MAX_REPEAT < repeat) {
                    let reason = format!("expected at most {MAX_REPEAT}");
                    return Err(Error::argument("repeat", reason));
                }
                operations::invoke(&self.build(request)?, field("arg")?, repeat)
            }
            "delta" => {
                let profile = operations::profile(&self.build(request)?, field("d_in")?)?;
                profile.delta(number("epsilon")?).map(|delta| delta.to_json())
            }
            "epsilon" => {
                let profile = operations::profile(&self.build(request)?, field("d_in")?)?;
                profile.epsilon(number("delta")?).map(|epsilon| epsilon.to_json())
            }
            "solve" => {
                let document = Document::new(field("pipeline")?.clone())?;
                document.solve(self.registry, text("param")?, field("d_in")?, field("d_out")?)
            }
            "list" => {
                let kind = match request.get("kind").and_then(Json::as_str) {
                    None => None,
                    Some(kind) => {
                        Some(parse_kind(kind).map_err(|reason| Error::argument("kind", reason))?)
                    }
                };
                Ok(catalogue::list(self.registry, kind))
            }
            "describe" => catalogue::describe(self.registry, text("name")?),
            other => {
                let short: String = other.chars().take(60).collect();
                Err(Error::argument(
                    "op",
                    format!(
                        "expected one of make, map, check, invoke, delta, epsilon, solve, list, \
                         describe, found `{short}`"
                    ),
                ))
            }
        }
    }

    /// Build the pipeline of a request, or take it from the ones that were built before.
    fn build(&mut self, request: &Map<String, Json>) -> Result<Constructed> {
        let missing = || Error::argument("pipeline", "missing from the request");
        let pipeline = request.get("pipeline").ok_or_else(missing)?;
        let values: BTreeMap<String, Json> = match request.get("params") {
            None | Some(Json::Null) => BTreeMap::new(),
            Some(Json::Object(values)) => values.clone().into_iter().collect(),
            Some(_) => return Err(Error::argument("params", "expected an object of values")),
        };
        let key = format!("{pipeline} {}", Json::Object(values.clone().into_iter().collect()));
        if let Some(made) = self.kept.get(&key) {
            return Ok(made.clone());
        }
        let document = match pipeline {
            Json::String(text) => Document::parse(text)?,
            pipeline => Document::new(pipeline.clone())?,
        };
        let made = document.build_with(self.registry, &values)?;
        if self.kept.len() == KEPT {
            self.kept.clear();
        }
        self.kept.insert(key, made.clone());
        Ok(made)
    }
}
