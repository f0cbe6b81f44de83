//! The reference of all constructors: a page for each topic, and an index.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use opendp_core::{Error, Result};
use opendp_registry::Registry;
use serde_json::Value as Json;

use crate::{catalogue, families};

/// Documents with examples of the constructors of this workspace.
const EXAMPLES: &str = include_str!("../../../opendp-registry/examples.json");
/// The sections that a page leaves out. The page shows the arguments in a table, and an example as
/// a document. The proofs are in the source code, and in the output of `opendp describe`.
const LEFT_OUT: [&str; 4] = ["Arguments", "Proof", "Example", "Examples"];

/// Write all pages into a folder, and return a message about the pages.
pub(crate) fn write(registry: &Registry, folder: &Path) -> Result<String> {
    let failed = |error: std::io::Error| {
        let reason = format!("{} cannot be written: {error}", folder.display());
        Error::argument("folder", reason)
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    let pages = pages(registry)?;
    for (name, text) in &pages {
        std::fs::write(folder.join(name), text).map_err(failed)?;
    }
    Ok(format!("wrote {} pages into {}", pages.len(), folder.display()))
}

/// Return the text of each page, by the name of its file.
fn pages(registry: &Registry) -> Result<BTreeMap<String, String>> {
    let mut topics: BTreeMap<String, Vec<Json>> = BTreeMap::new();
    for name in registry.names() {
        let described = catalogue::describe(registry, &name)?;
        topics.entry(topic(&described)).or_default().push(described);
    }
    let mut pages = BTreeMap::new();
    pages.insert("README.md".to_owned(), index(&topics));
    for (topic, constructors) in &topics {
        let mut page = format!("# {}\n\n{GENERATED}\n", title(constructors));
        constructors.iter().for_each(|described| page.push_str(&section(described)));
        pages.insert(format!("{topic}.md"), page);
    }
    Ok(pages)
}
const GENERATED: &str = "Generated from the registry by `opendp reference`; do not edit. \
                         [All constructors](README.md).";

/// Return the crate of a constructor and, if there is one, the first module of its path.
fn place(described: &Json) -> (&str, Option<&str>) {
    let origin = &described["origins"][0];
    let (module, package) = (text(origin, "module"), text(origin, "package"));
    (package.strip_prefix("opendp-").unwrap_or(package), module.split("::").nth(1))
}
/// Return the topic of a constructor. The topic is also the name of the file of its page.
fn topic(described: &Json) -> String {
    match place(described) {
        (package, Some(module)) => format!("{package}-{module}"),
        (package, None) => package.to_owned(),
    }
}
/// Return the title of the page of a topic, which contains at least one constructor.
fn title(constructors: &[Json]) -> String {
    match constructors.first().map(place) {
        Some((package, Some(module))) => format!("{package}: {module}"),
        Some((package, None)) => package.to_owned(),
        None => String::new(),
    }
}
/// Return the anchor of the heading of a constructor. In an anchor, letters are lower case, and the
/// colons of a path are left out.
fn anchor(name: &str) -> String {
    name.to_lowercase().replace(':', "")
}
fn text<'a>(described: &'a Json, name: &str) -> &'a str {
    described[name].as_str().unwrap_or_default()
}
fn index(topics: &BTreeMap<String, Vec<Json>>) -> String {
    let mut rows = Vec::new();
    for (topic, constructors) in topics {
        for described in constructors {
            let listed = text(described, "name");
            let link = |name: &str| format!("[`{name}`]({topic}.md#{})", anchor(listed));
            for name in described["names"].as_array().into_iter().flatten().filter_map(Json::as_str)
            {
                let what = match name == listed {
                    true => plain(text(described, "summary")).replace('|', "\\|"),
                    false => format!("An older name of `{listed}`."),
                };
                let key = name.strip_prefix("make_").unwrap_or(name).to_lowercase();
                rows.push((
                    key,
                    format!("| {} | {} | {what} |", link(name), text(described, "kind")),
                ));
            }
        }
    }
    rows.sort();
    let rows: Vec<String> = rows.into_iter().map(|(_, row)| row).collect();
    let pages: Vec<String> =
        topics.iter().map(|(topic, all)| format!("[{}]({topic}.md)", title(all))).collect();
    format!(
        "# All constructors\n\nGenerated from the registry by `opendp reference docs/reference`; do \
         not edit. `opendp describe NAME` prints the same in a terminal, with the proof. A name may \
         be written without `make_`.\n\nBy topic: {}.\n\n| name | kind | what it does |\n|---|---|---|\n{}\n",
        pages.join(", "),
        rows.join("\n")
    )
}

/// Write the section of one constructor.
fn section(described: &Json) -> String {
    let (name, kind) = (text(described, "name"), text(described, "kind"));
    let mut lines = vec![String::new(), format!("## {name}"), String::new()];
    let documentation = text(described, "documentation");
    let mut sections = split(documentation).into_iter();
    lines.extend(sections.next().map(|(_, preface)| preface));
    lines.push(String::new());
    let mut facts = vec![format!("A {kind} of `{}`.", text(&described["origins"][0], "package"))];
    let names: Vec<String> = described["names"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .filter(|other| *other != name)
        .map(|other| format!("`{other}`"))
        .collect();
    if !names.is_empty() {
        facts.push(format!("Older names: {}.", names.join(", ")));
    }
    if described["recommended"] == false {
        facts.push("The name is an older one.".to_owned());
    }
    if described["proved"] == false {
        facts.push("The caller must ensure that its claims hold.".to_owned());
    }
    lines.extend([facts.join(" "), String::new()]);
    lines.extend(arguments(described));
    let signatures = described["signatures"].as_array().map(Vec::as_slice).unwrap_or_default();
    lines.push("```text".to_owned());
    for family in families::of(signatures) {
        lines.push(family.head(name));
        lines.extend(family.lists().iter().map(|line| format!("    {line}")));
    }
    lines.extend(["```".to_owned(), String::new()]);
    for (title, body) in sections.filter(|(title, _)| !LEFT_OUT.contains(&title.as_str())) {
        lines.extend([format!("### {title}"), String::new(), body, String::new()]);
    }
    if let Some(example) = example(described) {
        lines.extend(["```json".to_owned(), example, "```".to_owned(), String::new()]);
    }
    lines.pop();
    lines.join("\n") + "\n"
}
/// Write the table of arguments.
fn arguments(described: &Json) -> Vec<String> {
    let arguments = described["arguments"].as_array().map(Vec::as_slice).unwrap_or_default();
    if arguments.is_empty() {
        return Vec::new();
    }
    let row = |argument: &Json| {
        let default = match argument["default"].as_str() {
            Some(default) => format!("`{default}`"),
            None => "required".to_owned(),
        };
        let meaning = plain(text(argument, "meaning")).replace('|', "\\|");
        let meaning = match (meaning.as_str(), text(argument, "name")) {
            ("", "input") => "the input space of the constructor; in a chain, this space is the \
                              output space of the previous step"
                .to_owned(),
            _ => meaning,
        };
        format!("| `{}` | {default} | {meaning} |", text(argument, "name"))
    };
    let head = ["| argument | default | meaning |", "|---|---|---|"].map(str::to_owned);
    head.into_iter().chain(arguments.iter().map(row)).chain([String::new()]).collect()
}
/// Split a doc comment at its headings, and keep the order of the sections. Leave out examples in
/// Rust.
fn split(documentation: &str) -> Vec<(String, String)> {
    let mut sections = vec![(String::new(), String::new())];
    let mut in_code: Option<bool> = None;
    for line in documentation.lines() {
        if let Some(fence) = line.strip_prefix("```") {
            let rust = ["", "no_run", "compile_fail", "ignore", "rust"].contains(&fence);
            let begins = in_code.is_none();
            let kept = in_code.unwrap_or(!rust);
            in_code = begins.then_some(kept);
            if !kept {
                continue;
            }
        } else if in_code == Some(false) {
            continue;
        }
        match line.strip_prefix("# ").filter(|_| in_code.is_none()) {
            Some(title) => sections.push((title.to_owned(), String::new())),
            None => {
                if let Some((_, body)) = sections.last_mut() {
                    body.push_str(line);
                    body.push('\n');
                }
            }
        }
    }
    let trimmed = |(title, body): (String, String)| (title, plain(body.trim()));
    sections
        .into_iter()
        .map(trimmed)
        .filter(|(title, body)| title.is_empty() || !body.is_empty())
        .collect()
}
/// Remove the links to items of Rust, and keep their texts.
fn plain(text: &str) -> String {
    let (mut written, mut rest, mut in_code) = (String::new(), text, false);
    while let Some(c) = rest.chars().next() {
        if c == '['
            && !in_code
            && let Some((label, after)) = link(rest)
        {
            written.push_str(label);
            rest = after;
            continue;
        }
        in_code ^= c == '`';
        written.push(c);
        rest = &rest[c.len_utf8()..];
    }
    written
}
/// Read a link to an item. Return the text of the link, and the text that follows.
fn link(text: &str) -> Option<(&str, &str)> {
    let end = text.find(']')?;
    let (label, after) = (&text[1..end], &text[end + 1..]);
    match after.strip_prefix('(') {
        Some(target) if target.starts_with("http") => None,
        Some(target) => Some((label, &target[target.find(')')? + 1..])),
        None => label.starts_with('`').then_some((label, after)),
    }
}

/// Find the shortest example that names a constructor. The example is a document. For a domain, a
/// metric or a measure, the example is only the part of the document that calls the constructor. If
/// no document names a constructor of a domain, a metric or a measure, and this constructor
/// requires no argument, the example is its name.
pub(crate) fn example(described: &Json) -> Option<String> {
    static ALL: LazyLock<Vec<Json>> =
        LazyLock::new(|| serde_json::from_str(EXAMPLES).unwrap_or_default());
    let names = described["names"].as_array()?.iter().filter_map(Json::as_str);
    let short = |name: &str| name.strip_prefix("make_").unwrap_or(name).to_owned();
    let names: Vec<String> = names.flat_map(|name| [name.to_owned(), short(name)]).collect();
    let whole = matches!(
        text(described, "kind"),
        "transformation" | "measurement" | "function" | "odometer"
    );
    let found = ALL.iter().filter_map(|document| {
        let part = part(document, &names)?;
        Some(if whole { document.to_string() } else { part.to_string() })
    });
    let alone = || {
        let mut arguments = described["arguments"].as_array()?.iter();
        let plain = !whole && arguments.all(|argument| argument["required"] == false);
        plain.then(|| described["name"].to_string())
    };
    found.min_by_key(String::len).or_else(alone)
}
/// Find the part of a document that calls one of these names.
fn part(json: &Json, names: &[String]) -> Option<Json> {
    let is_call = |constructor: Option<&Json>| {
        constructor.and_then(Json::as_str).is_some_and(|name| names.iter().any(|it| it == name))
    };
    match json {
        Json::String(name) if names.contains(name) => Some(json.clone()),
        Json::Array(items) => items.iter().find_map(|item| part(item, names)),
        Json::Object(object) if is_call(object.get("constructor")) => Some(json.clone()),
        Json::Object(object) => object.iter().find_map(|(key, value)| {
            if names.contains(key) && value.is_object() {
                return Some(serde_json::json!({ key.as_str(): value }));
            }
            part(value, names)
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_items_become_their_texts() {
        for (text, expected) in [
            ("as [`make_sum`] does", "as `make_sum` does"),
            ("see [this](crate::make_sum), or [`a`](b)", "see this, or `a`"),
            ("in `[0, 1]` and [0, 1]", "in `[0, 1]` and [0, 1]"),
            ("[paper](https://a.b/c)", "[paper](https://a.b/c)"),
            ("a [ b", "a [ b"),
        ] {
            assert_eq!(plain(text), expected);
        }
    }
    /// The package of a third party can have a hyphen in its name, and a path in its names.
    #[test]
    fn a_page_of_another_package_has_its_name_and_a_link_that_leads_to_it() {
        let origin = serde_json::json!({"package": "acme-dp", "module": "acme_dp::graph"});
        let made = serde_json::json!({
            "name": "acme::make_It", "names": ["acme::make_It"], "origins": [origin],
        });
        let topics = BTreeMap::from([(topic(&made), vec![made])]);
        let index = index(&topics);
        assert!(index.contains("[acme-dp: graph](acme-dp-graph.md)"), "{index}");
        assert!(index.contains("[`acme::make_It`](acme-dp-graph.md#acmemake_it)"), "{index}");
    }
    #[test]
    fn sections_keep_their_order_without_code_of_rust() {
        let text =
            "Do it.\n\n# Map\n`d`\n\n```text\n# no title\n```\n\n# Errors\nNone.\n```\nrun();\n```";
        let expected =
            [("", "Do it."), ("Map", "`d`\n\n```text\n# no title\n```"), ("Errors", "None.")];
        let found = split(text);
        let found: Vec<(&str, &str)> =
            found.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(found, expected);
    }
}
