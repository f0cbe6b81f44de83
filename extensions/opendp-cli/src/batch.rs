//! Answers to requests in JSON lines: one request per line, and one answer per line. The answers
//! have the order of the requests.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, HashMap},
    io::{self, BufRead, Read, Write},
};

use opendp_core::{Codec, Constructed, Error, Result};
use opendp_registry::{Document, Registry, json};
use serde_json::{Map, Value as Json, json};

use crate::{ask, catalogue, caution, operations, panics, parse_kind, say_notes};

/// The largest number of built pipelines that are kept. A later request can use a kept pipeline, so
/// the pipeline is not built again.
const KEPT: usize = 64;
/// The largest number of releases per request.
const MAX_REPEAT: usize = 10_000_000;
/// The largest length of a line, in bytes.
const MAX_LINE: usize = 1 << 26;
/// The operations, and the fields that a request of each operation may have in addition to `id` and
/// `op`.
const FIELDS: [(&str, &[&str]); 10] = [
    ("make", &["pipeline", "params"]),
    ("map", &["pipeline", "params", "d_in"]),
    ("check", &["pipeline", "params", "d_in", "d_out"]),
    ("invoke", &["pipeline", "params", "arg", "repeat"]),
    ("delta", &["pipeline", "params", "d_in", "epsilon"]),
    ("epsilon", &["pipeline", "params", "d_in", "delta"]),
    ("solve", &["pipeline", "params", "param", "d_in", "d_out"]),
    ("list", &["kind"]),
    ("describe", &["name"]),
    ("ask", &["study", "data", "alpha"]),
];

/// Answer all requests of standard input. Return the exit code.
pub(crate) fn answer(registry: &Registry, as_json: bool) -> Result<i32> {
    let (input, output) = (io::stdin().lock(), io::stdout().lock());
    let all = serve(registry, input, output, MAX_LINE)
        .map_err(|error| Error::FailedFunction(format!("batch: {error}")))?;
    say_notes(as_json);
    Ok(i32::from(!all))
}
/// Answer each line until the input ends, and return whether all requests succeeded. A blank line
/// has no answer.
///
/// The answer to a bad line is an error. The next lines are still answered. At most `longest + 1`
/// bytes of a line are kept in memory.
fn serve(
    registry: &Registry,
    mut input: impl BufRead,
    mut output: impl Write,
    longest: usize,
) -> io::Result<bool> {
    let mut server = Server { registry, kept: HashMap::new() };
    let (mut line, mut all) = (Vec::new(), true);
    loop {
        let answer = match read_line(&mut input, &mut line, longest)? {
            Line::End => return Ok(all),
            Line::Whole if line.iter().all(u8::is_ascii_whitespace) => continue,
            Line::Whole => server.answer(&line),
            Line::Cut => {
                let reason = format!("expected a line of at most {longest} bytes");
                failed(&Json::Null, &Error::argument("request", reason))
            }
        };
        all &= answer.get("error").is_none();
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
}

/// The result of reading a line from the input.
enum Line {
    Whole,
    /// The line is too long. The end of the line is dropped.
    Cut,
    /// The input has no more lines.
    End,
}
/// Read the next line. If the line has more than `longest` bytes, skip the end of the line.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>, longest: usize) -> io::Result<Line> {
    line.clear();
    let limit = u64::try_from(longest).unwrap_or(u64::MAX).saturating_add(1);
    if input.by_ref().take(limit).read_until(b'\n', line)? == 0 {
        return Ok(Line::End);
    }
    if line.ends_with(b"\n") || line.len() <= longest {
        return Ok(Line::Whole);
    }
    loop {
        let part = input.fill_buf()?;
        let end = part.iter().position(|byte| *byte == b'\n');
        let skipped = end.map_or(part.len(), |end| end + 1);
        if skipped == 0 {
            return Ok(Line::Cut);
        }
        input.consume(skipped);
        if end.is_some() {
            return Ok(Line::Cut);
        }
    }
}
fn failed(id: &Json, error: &Error) -> Json {
    json!({"id": id, "error": operations::error_json(error)})
}

/// Read a document from JSON, or from a text that contains JSON.
fn document(pipeline: &Json) -> Result<Document> {
    match pipeline {
        Json::String(text) => Document::parse(text),
        pipeline => Document::new(pipeline.clone()),
    }
}
/// Make the error for a request without a known operation.
fn wrong_op(found: &str) -> Error {
    let names: Vec<&str> = FIELDS.iter().map(|(name, _)| *name).collect();
    Error::argument("op", format!("expected one of {}, {found}", names.join(", ")))
}
/// Check that a request has only fields of its operation.
fn check_fields(request: &Map<String, Json>, op: &str) -> Result<()> {
    let Some((_, fields)) = FIELDS.into_iter().find(|(name, _)| *name == op) else {
        return Err(wrong_op(&format!("found {}", json::short(op))));
    };
    let known = |name: &str| matches!(name, "id" | "op") || fields.contains(&name);
    let Some((unknown, _)) = request.iter().find(|(name, value)| !known(name) && !value.is_null())
    else {
        return Ok(());
    };
    let likeness = |field: &&str| strsim::jaro_winkler(unknown, field);
    let nearest = fields.iter().copied().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let meant = match nearest.filter(|nearest| 0.7 < likeness(nearest)) {
        Some(nearest) => format!("did you mean `{nearest}`? "),
        None => String::new(),
    };
    let reason =
        format!("unknown field; {meant}the fields of `{op}` are `{}`", fields.join("`, `"));
    Err(Error::argument(json::short(unknown).trim_matches('`'), reason))
}
/// Return the values that a request gives to the parameters of its pipeline.
fn values(request: &Map<String, Json>) -> Result<BTreeMap<String, Json>> {
    match request.get("params") {
        None | Some(Json::Null) => Ok(BTreeMap::new()),
        Some(Json::Object(values)) => Ok(values.clone().into_iter().collect()),
        Some(_) => Err(Error::argument("params", "expected an object with a value for each name")),
    }
}
/// Read the number of releases that a request wants.
fn repeat(request: &Map<String, Json>) -> Result<Option<usize>> {
    let repeat = match request.get("repeat") {
        None | Some(Json::Null) => return Ok(None),
        Some(repeat) => usize::from_json(repeat).map_err(|error| error.at("repeat"))?,
    };
    match repeat <= MAX_REPEAT {
        true => Ok(Some(repeat)),
        false => Err(Error::argument("repeat", format!("expected at most {MAX_REPEAT}"))),
    }
}

/// A request.
struct Asked<'a> {
    fields: &'a Map<String, Json>,
    /// The key of the pipeline in `kept`, and the values of its parameters. They are computed once,
    /// when the pipeline is first needed.
    pipeline: OnceCell<(String, BTreeMap<String, Json>)>,
}
/// A built pipeline.
struct Kept {
    made: Constructed,
    /// The warning about the releases of the pipeline. It is found with the first release.
    warning: OnceCell<Option<String>>,
}
struct Server<'a> {
    registry: &'a Registry,
    /// The built pipelines. The key of a pipeline contains its document and the values of its
    /// parameters, as text.
    kept: HashMap<String, Kept>,
}
impl Server<'_> {
    /// Answer the request that a line contains.
    fn answer(&mut self, line: &[u8]) -> Json {
        let request = std::str::from_utf8(line)
            .map_err(|_| Error::argument("request", "the line is not UTF-8: write it in UTF-8"))
            .and_then(json::parse_request);
        let request = match request {
            Ok(Json::Object(request)) => request,
            Ok(_) => {
                return failed(&Json::Null, &Error::argument("request", "expected an object"));
            }
            Err(error) => return failed(&Json::Null, &error),
        };
        let id = request.get("id").cloned().unwrap_or(Json::Null);
        // A panic can be a fault of a constructor of another crate. The answer is an error.
        let answered = panics::unwound(|| self.value_and_warning(&request));
        let answered = answered.unwrap_or_else(|panic| {
            self.kept.clear();
            Err(panic)
        });
        match answered {
            Ok((value, None)) => json!({"id": id, "value": value}),
            Ok((value, Some(warning))) => json!({"id": id, "value": value, "warning": warning}),
            Err(error) => failed(&id, &error),
        }
    }
    fn value_and_warning(&mut self, request: &Map<String, Json>) -> Result<(Json, Option<String>)> {
        let asked = Asked { fields: request, pipeline: OnceCell::new() };
        let value = self.value(&asked)?;
        let warning = self.warning(&asked, &value);
        Ok((value, warning))
    }
    /// Return a warning in three cases: a request states a distance at which there are no
    /// neighbours, `value` is the answer of a map and has no bound, or `value` is a release without
    /// a known bound on its loss.
    fn warning(&mut self, asked: &Asked<'_>, value: &Json) -> Option<String> {
        let op = asked.fields.get("op")?.as_str()?;
        if op == "invoke" {
            let Kept { made, warning } = self.kept(asked).ok()?;
            return warning.get_or_init(|| caution::of_release(made)).clone();
        }
        let d_in = asked.fields.get("d_in")?;
        let made = self.build(asked).ok()?;
        let unbounded = || caution::without_bound(&made, value).filter(|_| op == "map");
        caution::without_neighbours(&made, d_in).or_else(unbounded)
    }

    fn value(&mut self, asked: &Asked<'_>) -> Result<Json> {
        let request = asked.fields;
        let field = |name: &str| {
            request.get(name).ok_or_else(|| Error::argument(name, "missing from the request"))
        };
        let text = |name: &str| {
            field(name)?.as_str().ok_or_else(|| Error::argument(name, "expected a string"))
        };
        let number = |name: &str| f64::from_json(field(name)?).map_err(|error| error.at(name));
        let op = request.get("op").ok_or_else(|| wrong_op("but the request has no `op`"))?;
        let op = op.as_str().ok_or_else(|| wrong_op("found another type"))?;
        check_fields(request, op)?;
        match op {
            "make" => Ok(operations::make(&self.build(asked)?)),
            "map" => self.build(asked)?.map(field("d_in")?),
            "check" => self.build(asked)?.check(field("d_in")?, field("d_out")?).map(Json::Bool),
            "invoke" => {
                let repeat = repeat(request)?;
                operations::invoke(&self.build(asked)?, field("arg")?, repeat)
            }
            "delta" => {
                let profile = operations::profile(&self.build(asked)?, field("d_in")?)?;
                profile.delta(number("epsilon")?).map(|delta| delta.to_json())
            }
            "epsilon" => {
                let profile = operations::profile(&self.build(asked)?, field("d_in")?)?;
                profile.epsilon(number("delta")?).map(|epsilon| epsilon.to_json())
            }
            "solve" => document(field("pipeline")?)?.set(&values(request)?)?.solve(
                self.registry,
                text("param")?,
                field("d_in")?,
                field("d_out")?,
            ),
            "list" => {
                let kind = match request.get("kind") {
                    None | Some(Json::Null) => None,
                    Some(_) => {
                        let kind = parse_kind(text("kind")?);
                        Some(kind.map_err(|reason| Error::argument("kind", reason))?)
                    }
                };
                let selection = catalogue::Selection { kind, word: None, among: None };
                Ok(catalogue::list(self.registry, &selection))
            }
            "describe" => catalogue::describe(self.registry, text("name")?),
            "ask" => {
                let alpha = match request.get("alpha") {
                    None | Some(Json::Null) => ask::ALPHA,
                    Some(_) => number("alpha")?,
                };
                let data = request.get("data").filter(|data| !data.is_null());
                ask::of_json(field("study")?, data, alpha)
            }
            other => Err(Error::NotImplemented(format!("the operation {}", json::short(other)))),
        }
    }

    /// Return the pipeline of a request.
    fn build(&mut self, asked: &Asked<'_>) -> Result<Constructed> {
        self.kept(asked).map(|kept| kept.made.clone())
    }
    /// Return the pipeline of a request. Build the pipeline if it is not kept from an earlier
    /// request.
    fn kept(&mut self, asked: &Asked<'_>) -> Result<&Kept> {
        let missing = || Error::argument("pipeline", "missing from the request");
        let pipeline = asked.fields.get("pipeline").ok_or_else(missing)?;
        let (key, values) = match asked.pipeline.get() {
            Some(known) => known,
            None => {
                let values = values(asked.fields)?;
                let given = Json::Object(values.clone().into_iter().collect());
                asked.pipeline.get_or_init(|| (format!("{pipeline} {given}"), values))
            }
        };
        if !self.kept.contains_key(key) {
            let made = document(pipeline)?.build_with(self.registry, values)?;
            if self.kept.len() == KEPT {
                self.kept.clear();
            }
            self.kept.insert(key.clone(), Kept { made, warning: OnceCell::new() });
        }
        self.kept.get(key).ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests;
