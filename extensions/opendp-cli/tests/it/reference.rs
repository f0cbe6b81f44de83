//! Tests that the examples in `docs/documents.md` and `docs/data-scientists.md` run, and that
//! `docs/documents.md` names all known fields.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use crate::{Desk, batch, requests};

const DOCUMENTS: &str = include_str!("../../../../docs/documents.md");
const SCIENTISTS: &str = include_str!("../../../../docs/data-scientists.md");

/// Run the examples of a page in order: save each block that has a name, and run each command.
/// Return the number of commands.
fn run_examples(page: &str) -> usize {
    let desk = Desk::new();
    let mut commands = Vec::new();
    let mut files = Vec::new();
    for block in page.split("\n```").skip(1).step_by(2) {
        let (head, body) = block.split_once('\n').unwrap();
        match head.split_once(' ') {
            Some((_, name)) => {
                desk.file(name, body);
                files.push(name);
            }
            None => {
                assert_eq!(head, "sh", "a block without a name is not run: {body}");
                commands.extend(body.lines().map(|line| line.split(" #").next().unwrap().trim()));
            }
        }
    }
    for command in &commands {
        // Words in quotes contain no spaces, so split the command at all spaces.
        let words = command.split_whitespace().map(|word| word.trim_matches('\''));
        let words: Vec<&str> = words.collect();
        assert_eq!(words[0], "opendp", "{command}");
        match words[1..] {
            ["batch", "<", file] => {
                let lines = std::fs::read(desk.0.path().join(file)).unwrap();
                for answer in batch(&lines) {
                    assert!(answer.get("error").is_none(), "{answer}");
                }
            }
            _ => {
                desk.says(&words[1..]);
            }
        }
    }
    for file in files {
        let stated = desk.0.path().join(file);
        let used = |command: &&&str| command.contains(file);
        let named = std::fs::read_to_string(stated).is_ok_and(|_| page.matches(file).count() > 1);
        assert!(named || commands.iter().any(|command| used(&command)), "{file} is not used");
    }
    commands.len()
}
/// Find the table below a heading. Return the names in its first column.
fn fields(heading: &str) -> BTreeSet<String> {
    let start =
        DOCUMENTS.find(&format!("\n### {heading}\n")).unwrap_or_else(|| panic!("{heading}"));
    let section = DOCUMENTS[start + 5..].split("\n##").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split('`').next().unwrap().to_owned()).collect()
}
/// Return the known names that a message lists after `word`. In the message, each name is between
/// backticks.
fn known(message: &str, word: &str) -> BTreeSet<String> {
    let list = message.split_once(word).unwrap_or_else(|| panic!("{message}")).1;
    list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}
fn message(request: Json) -> String {
    requests(&[request])[0]["error"]["message"].as_str().unwrap().to_owned()
}
/// Ask a study that has the given question, and in which the given fields of the context are
/// replaced. Return the message of the error.
fn of_study(context: Json, question: Json) -> String {
    let mut whole = json!({
        "unit": {"person": 1}, "budget": {"epsilon": 1}, "columns": {"x": {"T": "i64", "missing": 0}},
    });
    for (name, value) in context.as_object().unwrap() {
        whole[name] = value.clone();
    }
    message(json!({"op": "ask", "study": {"context": whole, "questions": [question]}}))
}

#[test]
fn the_examples_of_the_reference_run() {
    assert_eq!(run_examples(DOCUMENTS), 12);
}
#[test]
fn the_examples_for_data_scientists_run() {
    assert!(4 <= run_examples(SCIENTISTS));
}
#[test]
fn the_reference_names_each_field_of_a_pipeline_and_no_other() {
    let answer_to = |pipeline: Json| message(json!({"op": "make", "pipeline": pipeline}));
    let space = json!({"domain": {"atom_domain": {"T": "i32"}},
        "metric": {"absolute_distance": {"T": "i32"}}});
    let member = json!({"repeat": 2, "measurement": {"chain": ["laplace"]}, "zzz": 1});
    for (heading, found) in [
        ("A pipeline", answer_to(json!({"chain": [], "zzz": 1}))),
        ("A space", answer_to(json!({"space": {"zzz": 1}, "chain": ["count"]}))),
        ("A call", answer_to(json!({"constructor": "make_laplace", "zzz": 1}))),
        ("A call of OpenDP 0.16", answer_to(json!({"__function__": "make_laplace", "zzz": 1}))),
    ] {
        assert_eq!(fields(heading), known(&found, "expected one of"), "{heading}: {found}");
    }
    let found = answer_to(json!({
        "space": space, "chain": [{"composition": {"measurements": [member]}}],
    }));
    let mut both = known(&found, "expected one of");
    both.insert("repeat".into());
    assert_eq!(fields("A repeated member"), both, "{found}");
    // An object is a parameter only if `param` is its only field. So only the object without the
    // field `zzz` gives the error that a parameter has no value.
    let two = answer_to(
        json!({"space": space, "chain": [{"laplace": {"scale": {"param": "s", "zzz": 1}}}]}),
    );
    let first =
        answer_to(json!({"space": space, "chain": [{"laplace": {"scale": {"param": "s"}}}]}));
    assert!(first.contains("no value") && !two.contains("no value"), "{two}");
    assert_eq!(fields("A parameter"), BTreeSet::from(["param".to_owned()]));
}
#[test]
fn the_reference_names_each_field_of_a_study_and_no_other() {
    let count = || json!({"count": {}});
    let none = || json!({});
    let zzz = || json!({"zzz": 1});
    let study = message(json!({"op": "ask", "study": zzz()}));
    let mut found = vec![
        ("A study", study),
        ("A context", of_study(zzz(), count())),
        ("A unit", of_study(json!({"unit": zzz()}), count())),
        ("A budget", of_study(json!({"budget": zzz()}), count())),
        ("A column", of_study(json!({"columns": {"x": zzz()}}), count())),
        ("A question", of_study(none(), zzz())),
        ("A histogram", of_study(none(), json!({"histogram": zzz()}))),
        ("Counts by a column", of_study(none(), json!({"counts_by": zzz()}))),
        ("A top k", of_study(none(), json!({"top_k": zzz()}))),
        ("A condition", of_study(none(), json!({"count": {}, "where": {"x": zzz()}}))),
    ];
    for statistic in ["sum", "mean", "variance"] {
        found.push(("A sum, a mean or a variance", of_study(none(), json!({statistic: zzz()}))));
    }
    let range = json!({"group_by": ["x"], "keys": {"x": zzz()}, "count": {}});
    found.push(("A range of keys", of_study(none(), range)));
    for statistic in ["median", "quantile", "quantiles"] {
        let heading = "A median, a quantile or several quantiles";
        found.push((heading, of_study(none(), json!({statistic: zzz()}))));
        let rank = json!({"column": "x", "candidates": zzz()});
        let mut rank = json!({statistic: rank});
        match statistic {
            "quantile" => rank[statistic]["alpha"] = json!(0.5),
            "quantiles" => rank[statistic]["alphas"] = json!([0.5]),
            _ => {}
        }
        found.push(("A grid", of_study(none(), rank)));
    }
    for (heading, found) in found {
        assert_eq!(fields(heading), known(&found, "expected"), "{heading}: {found}");
    }
    // Check that the page names the words that a field may contain.
    let type_of = of_study(json!({"columns": {"x": "zzz"}}), count());
    for word in known(&type_of, "expected") {
        assert!(DOCUMENTS.contains(&format!("`{word}`")), "{word}");
    }
    let noise = of_study(none(), json!({"count": {}, "noise": "zzz"}));
    for word in known(&noise, "expected") {
        assert!(DOCUMENTS.contains(&format!("`\"{word}\"`")), "{word}");
    }
}
#[test]
fn the_reference_names_each_field_of_a_request_and_no_other() {
    let ops = message(json!({"op": "zzz"}));
    let list = ops.split_once("expected one of ").unwrap().1.split(", found").next().unwrap();
    let ops: Vec<&str> = list.split(", ").collect();
    assert_eq!(DOCUMENTS.matches("\n### The request `").count(), ops.len());
    for op in ops {
        let found = message(json!({"op": op, "zzz": 1}));
        let heading = format!("The request `{op}`");
        let known = known(&found, &format!("the fields of `{op}` are"));
        assert_eq!(fields(&heading), known, "{op}: {found}");
    }
}
