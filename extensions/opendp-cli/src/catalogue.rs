//! Lists and descriptions of the registered constructors, for readers and for programs. A signature
//! is a constructor with one choice of types.

use std::collections::{BTreeMap, BTreeSet};

use opendp_core::{Kind, Result};
use opendp_registry::{Entry, Registry};
use serde_json::{Map, Value as Json, json};

use crate::{families, reference, search};

/// The constructors to list.
pub(crate) struct Selection<'a> {
    pub(crate) kind: Option<Kind>,
    /// A word that describes the constructors.
    pub(crate) word: Option<&'a str>,
    /// The names to list. `None` means all names.
    pub(crate) among: Option<BTreeSet<String>>,
}
impl Selection<'_> {
    fn has(&self, entry: &Entry) -> bool {
        let about = |word: &str| {
            search::matches(word, entry.names(), &first_sentence(&entry.documentation()))
        };
        self.kind.is_none_or(|kind| kind == entry.kind())
            && self.among.as_ref().is_none_or(|names| names.contains(entry.name()))
            && self.word.is_none_or(about)
    }
}

/// List a summary of each selected constructor. For each constructor, call `facts` with its
/// signatures, and store the result in the field `signatures` of its summary.
fn list_with(
    registry: &Registry,
    selection: &Selection<'_>,
    facts: impl Fn(&[std::sync::Arc<Entry>]) -> Json,
) -> Json {
    let mut all = Vec::new();
    for name in registry.names() {
        // If two functions have the same name, a use of the name is an error. List the name with
        // this error.
        let signatures = match registry.signatures(&name) {
            Ok(signatures) => signatures,
            Err(error) => {
                all.push(json!({"name": name, "error": crate::operations::error_json(&error)}));
                continue;
            }
        };
        let Some(first) = documented(&signatures) else { continue };
        if selection.has(first) {
            all.push(summary(first, &signatures, facts(&signatures)));
        }
    }
    Json::Array(all)
}
/// List constructors. Describe each constructor as [`describe`] does. The list contains everything
/// that bindings to other languages and the pages of the reference need.
pub(crate) fn list(registry: &Registry, selection: &Selection<'_>) -> Json {
    let mut list = list_with(registry, selection, |_| Json::Null);
    for constructor in list.as_array_mut().into_iter().flatten() {
        let described = constructor["name"].as_str().map(|name| describe(registry, name));
        if let Some(Ok(described)) = described {
            *constructor = described;
        }
    }
    list
}

/// Describe one constructor, with its documentation split into sections.
pub(crate) fn describe(registry: &Registry, name: &str) -> Result<Json> {
    let signatures = registry.signatures(name)?;
    let Some(first) = documented(&signatures) else { return Ok(Json::Null) };
    let documentation = first.documentation();
    let mut described = summary(first, &signatures, all(&signatures));
    if let Some(object) = described.as_object_mut() {
        let sections = sections(&documentation);
        let arguments = arguments(&signatures, sections.get("Arguments"));
        object.insert("documentation".into(), documentation.into());
        object.insert("arguments".into(), arguments);
        let part = |title: &str| sections.get(title).map_or(Json::Null, |t| t.as_str().into());
        object.insert("formula".into(), part("Map"));
        object.insert("errors".into(), part("Errors"));
    }
    let example = reference::example(&described).map_or(Json::Null, Json::from);
    if let Some(object) = described.as_object_mut() {
        object.insert("example".into(), example);
    }
    Ok(described)
}

/// Return one signature from each module that registers signatures of this name. All signatures of
/// one module have the same documentation, so one signature is enough. Each signature that is left
/// out saves a search in a source file.
fn functions(signatures: &[std::sync::Arc<Entry>]) -> Vec<&Entry> {
    let mut one_each: Vec<&Entry> = Vec::new();
    for entry in signatures {
        if one_each.iter().all(|shown| shown.origin() != entry.origin()) {
            one_each.push(entry);
        }
    }
    one_each
}

/// Return the first signature that has documentation, or the first signature if no signature has
/// documentation. A package can register, for its own types, a function of another package. The
/// signatures of this registration have no documentation.
fn documented(signatures: &[std::sync::Arc<Entry>]) -> Option<&Entry> {
    let functions = functions(signatures);
    let with = functions.iter().find(|entry| !entry.documentation().is_empty());
    with.or(functions.first()).copied()
}

/// Return whether the claims of all signatures with one name are proved. A signature without
/// documentation is not checked. Such a signature comes from a package that registers the
/// documented function of another package for its own types.
fn proved(first: &Entry, signatures: &[std::sync::Arc<Entry>]) -> bool {
    let undocumented = |entry: &Entry| entry.documentation().is_empty();
    let functions = functions(signatures);
    first.proved() && functions.iter().all(|entry| entry.proved() || undocumented(entry))
}

/// Return the first sentence of the documentation. The sentence can have several lines.
fn first_sentence(documentation: &str) -> String {
    let paragraph = documentation.lines().take_while(|line| !line.trim().is_empty());
    let paragraph = paragraph.map(str::trim).collect::<Vec<_>>().join(" ");
    match paragraph.find(". ") {
        Some(end) => paragraph[..=end].to_owned(),
        None => paragraph,
    }
}
fn summary(first: &Entry, signatures: &[std::sync::Arc<Entry>], shown: Json) -> Json {
    let proved = proved(first, signatures);
    let mut origins: BTreeMap<String, Json> = BTreeMap::new();
    for entry in signatures {
        let (package, version, module) = entry.origin();
        let origin = json!({"package": package, "version": version, "module": module});
        origins.insert(format!("{package} {module}"), origin);
    }
    json!({
        "name": first.name(),
        "names": first.names().collect::<Vec<_>>(),
        "kind": first.kind().name(),
        "proved": proved,
        "recommended": first.recommended(),
        "summary": first_sentence(&first.documentation()),
        "origins": origins.into_values().collect::<Vec<_>>(),
        "signatures": shown,
    })
}
/// Describe all signatures in JSON, with their types and parameters.
fn all(signatures: &[std::sync::Arc<Entry>]) -> Json {
    signatures
        .iter()
        .map(|entry| {
            let types: Map<String, Json> = entry
                .generics()
                .map(|(name, type_name)| (name.to_owned(), type_name.to_string().into()))
                .collect();
            let parameters: Vec<Json> = entry
                .parameters()
                .iter()
                .map(|p| {
                    let default = p.default.as_deref().map_or(Json::Null, Json::from);
                    json!({"name": p.name, "type": p.type_name.to_string(), "default": default})
                })
                .collect();
            let defaults: Map<String, Json> = entry
                .generic_defaults()
                .map(|(name, type_name)| (name.to_owned(), type_name.to_string().into()))
                .collect();
            json!({
                "signature": entry.to_string(), "types": types, "defaults": defaults,
                "parameters": parameters, "output": entry.output().to_string(),
            })
        })
        .collect()
}

/// Split a doc comment at its headings.
fn sections(documentation: &str) -> BTreeMap<String, String> {
    let mut sections: BTreeMap<String, String> = BTreeMap::new();
    let (mut title, mut in_code) = (String::new(), false);
    for line in documentation.lines() {
        in_code ^= line.starts_with("```");
        match line.strip_prefix("# ").filter(|_| !in_code) {
            Some(heading) => title = heading.to_owned(),
            None => {
                let text = sections.entry(title.clone()).or_default();
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    sections.into_iter().map(|(title, text)| (title, text.trim().to_owned())).collect()
}

/// Return the arguments of the first signature, each with its name, its default, its meaning, and
/// its types in all signatures.
fn arguments(signatures: &[std::sync::Arc<Entry>], documented: Option<&String>) -> Json {
    let Some(first) = signatures.first() else { return Json::Null };
    let meaning = |name: &str| {
        let head = format!("* `{name}` - ");
        let text = documented?;
        let from = text.find(&head)? + head.len();
        let rest = &text[from..];
        let end = rest.find("\n* ").unwrap_or(rest.len());
        Some(rest[..end].split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let describe = |parameter: &opendp_core::Parameter| {
        let mut types: Vec<String> = signatures
            .iter()
            .flat_map(|entry| entry.parameters())
            .filter(|p| p.name == parameter.name)
            .map(|p| p.type_name.to_string())
            .collect();
        types.sort();
        types.dedup();
        let default = parameter.default.as_deref().map_or(Json::Null, Json::from);
        let required = parameter.default.is_none();
        json!({
            "name": parameter.name, "types": types, "required": required, "default": default,
            "meaning": meaning(&parameter.name),
        })
    };
    first.parameters().iter().map(describe).collect()
}

/// List constructors for readers, with the number of signatures of each constructor. Older names
/// have the field `recommended` with the value `false`. Older names are listed only if `every` is
/// `true`. Otherwise, only the number of older names is printed.
pub(crate) fn list_text(registry: &Registry, selection: &Selection<'_>, every: bool) -> String {
    let list = list_with(registry, selection, |signatures| signatures.len().into());
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    let older = |constructor: &Json| constructor["recommended"] == false;
    let mut lines = Vec::new();
    for kind in Kind::ALL {
        let mut of_kind: Vec<&Json> = list.iter().filter(|c| c["kind"] == kind.name()).collect();
        of_kind.sort_by_key(|constructor| older(constructor));
        let shown: Vec<&Json> = of_kind.into_iter().filter(|c| every || !older(c)).collect();
        if shown.is_empty() {
            continue;
        }
        lines.push(format!("{}s", kind.name()));
        lines.extend(shown.into_iter().flat_map(entry_lines));
        lines.push(String::new());
    }
    for broken in list.iter().filter(|c| c.get("error").is_some()) {
        lines.push(format!("{}: {}", broken["name"], broken["error"]["message"]));
    }
    let (program, folded) = (crate::program(), list.iter().filter(|c| older(c)).count());
    if list.is_empty() {
        let word = selection.word.map_or(String::new(), |word| format!(" `{word}`"));
        lines.push(format!("Nothing matches{word}; `{program} list` shows all."));
    }
    match (folded, every) {
        (0, _) => {}
        (_, true) => lines.push("Names with * are recommended. The others are older.".to_owned()),
        (1, false) => lines.push("1 older name is left out; `--all` lists it.".to_owned()),
        (_, false) => lines.push(format!("{folded} older names are left out; `--all` lists them.")),
    }
    lines.push(format!("`{program} describe NAME` shows documentation and signatures."));
    lines.join("\n")
}
/// Write the lines of one constructor.
fn entry_lines(constructor: &Json) -> [String; 2] {
    let text = |name: &str| constructor[name].as_str().unwrap_or_default();
    let count = constructor["signatures"].as_u64().unwrap_or_default();
    let origins = constructor["origins"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut packages: Vec<&str> = origins.iter().filter_map(|o| o["package"].as_str()).collect();
    packages.dedup();
    let plural = if count == 1 { "" } else { "s" };
    let trusted = if constructor["proved"] == false { ", without a stated proof" } else { "" };
    let mark = if constructor["recommended"] == true { '*' } else { ' ' };
    [
        format!("{mark} {:<36} {}", text("name"), text("summary")),
        format!("  {:<36} {count} signature{plural}, {}{trusted}", "", packages.join(", ")),
    ]
}

/// Describe a constructor for readers. If `every` is true, list every signature. Otherwise, list
/// one signature for each shape, with its possible types. Signatures of the same shape differ only
/// in their types.
pub(crate) fn describe_text(described: &Json, every: bool) -> String {
    let text = |json: &Json| json.as_str().unwrap_or_default().to_owned();
    let names: Vec<String> =
        described["names"].as_array().into_iter().flatten().map(text).collect();
    let mut lines = vec![format!("{} ({})", names.join(", "), text(&described["kind"]))];
    for origin in described["origins"].as_array().into_iter().flatten() {
        let (package, version) = (text(&origin["package"]), text(&origin["version"]));
        lines.push(format!("from {package} {version}, {}", text(&origin["module"])));
    }
    lines.push(match described["proved"] == true {
        true => {
            "The author states what it guarantees, and a proof where a proof is needed.".to_owned()
        }
        false => "The author states what it guarantees, without a proof.".to_owned(),
    });
    lines.extend([String::new(), text(&described["documentation"]), String::new()]);
    if let Some(example) = described["example"].as_str() {
        lines.extend(["# Document".to_owned(), format!("  {example}"), String::new()]);
    }
    let signatures = described["signatures"].as_array().map(Vec::as_slice).unwrap_or_default();
    lines.push("# Signatures".to_owned());
    if every {
        lines.extend(
            signatures.iter().map(|signature| format!("  {}", text(&signature["signature"]))),
        );
        return lines.join("\n");
    }
    for family in families::of(signatures) {
        lines.push(format!("  {}", family.head(described["name"].as_str().unwrap_or_default())));
        lines.extend(family.lists().iter().map(|line| format!("    {line}")));
    }
    let count = signatures.len();
    lines.push(format!("  {count} in all; `--signatures` lists them"));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use opendp_core::{Named, SymmetricDistance, TheMetric};
    use opendp_registry::Addition;

    use super::*;

    const EVERYTHING: Selection<'static> = Selection { kind: None, word: None, among: None };

    #[test]
    fn tells_what_is_proved_from_what_is_trusted() {
        let registry = Registry::new();
        let name = SymmetricDistance::type_name();
        let added = Addition::new("my_metric", "my-app", Kind::Metric, name)
            .documentation("Count records.")
            .constructs(|_| Ok(opendp_core::Made::erased(&TheMetric(SymmetricDistance))));
        registry.add(added).unwrap();
        let mine = describe(&registry, "my_metric").unwrap();
        assert_eq!(mine["proved"], false);
        assert!(describe_text(&mine, false).contains("without a proof"));
        let house = describe(&registry, "make_laplace").unwrap();
        assert_eq!(house["proved"], true);
        assert!(!describe_text(&house, false).contains("without a proof"));
        let all = list(&registry, &EVERYTHING);
        let trusted: Vec<&Json> =
            all.as_array().unwrap().iter().filter(|c| c["proved"] == false).collect();
        assert!(trusted.iter().any(|c| c["name"] == "my_metric"));
        let text = list_text(&registry, &EVERYTHING, false);
        assert!(text.contains("1 signature, my-app, without a stated proof"), "{text}");
    }
}
