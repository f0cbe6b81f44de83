//! Tests of options with which users need not edit a document or search for a name.

use serde_json::{Value as Json, json};

use crate::{Desk, pipeline, requests, sum};

#[test]
fn parameters_are_set_on_the_command_line() {
    let desk = Desk::new();
    desk.file("open.json", pipeline(json!({"param": "scale"})));
    let map = |set: &[&'static str]| [&["map", "-p", "open.json", "--d-in", "2"], set].concat();
    assert_eq!(desk.says(&map(&["--set", "scale=12.5"])), "2.0");
    assert!(desk.fails(&map(&[]), 1).contains("scale"));
    let error = desk.fails(&map(&["--set", "scal=1"]), 1);
    assert!(error.contains("`scal`") && error.contains("its parameters are scale"), "{error}");
    assert!(desk.fails(&map(&["--set", "scale=1", "--set", "scale=2"]), 1).contains("two values"));
    assert!(desk.fails(&map(&["--set", "scale"]), 2).contains("NAME=VALUE"));
    desk.file("closed.json", pipeline(json!(12.5)));
    let error = desk.fails(&["map", "-p", "closed.json", "--d-in", "2", "--set", "scale=1"], 1);
    assert!(error.contains("no parameters"), "{error}");
}
#[test]
fn a_distance_without_neighbours_gives_a_warning() {
    let desk = Desk::new();
    desk.file("sum.json", sum(20.0).to_string());
    let warning = |command: &[&'static str], more: &[&'static str]| {
        let output = desk.run(&[command, &["-p", "sum.json", "--d-in", "0"], more].concat());
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let reason = "expected a distance above 0";
    for command in [&["map"][..], &["check", "--d-out", "1"]] {
        let plain = warning(command, &[]);
        assert!(plain.starts_with("warning: ") && plain.contains(reason), "{plain}");
        let json: Json = serde_json::from_str(&warning(command, &["--json"])).unwrap();
        assert!(json["warning"].as_str().unwrap().contains(reason), "{json}");
    }
    let about = |op: &str, d_in: u32, more: &str| {
        let pipeline = sum(20.0);
        json!({"op": op, "pipeline": pipeline, "d_in": d_in, more: 0.5})
    };
    for (op, more) in
        [("map", "id"), ("check", "d_out"), ("delta", "epsilon"), ("epsilon", "delta")]
    {
        let answers = requests(&[about(op, 0, more), about(op, 1, more)]);
        assert!(answers[0]["warning"].as_str().unwrap().contains(reason), "{answers:?}");
        assert!(answers[1].get("value").is_some(), "{answers:?}");
        assert!(answers[1].get("warning").is_none(), "{answers:?}");
    }
}
#[test]
fn a_bound_that_is_not_met_is_a_failure_if_wanted() {
    let desk = Desk::new();
    desk.file("mean.json", pipeline(json!(12.5)));
    let check = |d_out: &'static str, more: &[&'static str]| {
        let check = ["check", "-p", "mean.json", "--d-in", "2", "--d-out", d_out];
        desk.run(&[&check, more].concat()).status.code()
    };
    assert_eq!(check("1", &[]), Some(0));
    assert_eq!(check("1", &["--exit-code"]), Some(1));
    assert_eq!(check("2", &["--exit-code"]), Some(0));
}
#[test]
fn constructors_are_found_by_common_words() {
    let desk = Desk::new();
    let finds = |word: &str, name: &str| {
        let text = desk.says(&["list", word]);
        assert!(text.contains(name), "{word}: {text}");
        text
    };
    finds("average", "make_mean");
    finds("histogram", "make_count_by_categories");
    finds("median", "make_quantile_score_candidates");
    finds("exponential mechanism", "make_noisy_max");
    assert!(!finds("laplace", "make_laplace").contains("make_clamp"));
    assert!(desk.says(&["list", "nosuchword"]).contains("Nothing matches `nosuchword`"));
    assert!(!desk.says(&["list", "mean", "--kind", "measurement"]).contains("make_mean"));
}
#[test]
fn a_description_groups_signatures_by_their_types() {
    let desk = Desk::new();
    let grouped = desk.says(&["describe", "make_clamp"]);
    assert!(
        grouped.contains("  T: ") && grouped.contains("`--signatures` lists them"),
        "{grouped}"
    );
    let signature = "T=f64, M=HammingDistance";
    assert!(!grouped.contains(signature) && grouped.contains("HammingDistance"));
    let full = desk.says(&["describe", "make_clamp", "--signatures"]);
    assert!(full.contains(signature) && grouped.lines().count() + 10 < full.lines().count());
}
#[test]
fn older_names_are_folded_away_and_recommended_ones_marked() {
    let desk = Desk::new();
    let (few, all) = (desk.says(&["list"]), desk.says(&["list", "--all"]));
    for older in ["make_sized_bounded_mean ", "make_report_noisy_max_gumbel "] {
        assert!(!few.contains(older) && all.contains(&format!("\n  {older}")), "{older}");
    }
    assert!(few.contains("older names are left out; `--all` lists them"), "{few}");
    assert!(all.contains("\n* make_mean ") && all.contains("Names with * are recommended"));
    // The list for programs contains all names.
    let json: Json = serde_json::from_str(&desk.says(&["list", "--json"])).unwrap();
    let listed = |name: &str| json.as_array().unwrap().iter().find(|c| c["name"] == name).unwrap();
    assert_eq!(listed("make_sized_bounded_mean")["recommended"], false);
    assert_eq!(listed("make_mean")["recommended"], true);
    // If only older names match a word, the answer is not empty.
    let words = desk.says(&["list", "gumbel", "--kind", "measurement"]);
    assert!(words.contains("older name is left out"), "{words}");
}
#[test]
fn each_summary_is_a_whole_sentence() {
    let json: Json = serde_json::from_str(&Desk::new().says(&["list", "--json"])).unwrap();
    let broken: Vec<String> = json
        .as_array()
        .unwrap()
        .iter()
        .filter(|constructor| {
            let summary = constructor["summary"].as_str().unwrap_or_default();
            let starts = summary.chars().next().is_some_and(char::is_uppercase);
            !(starts && summary.ends_with('.') && 2 < summary.split(' ').count())
        })
        .map(|constructor| format!("{}: {}", constructor["name"], constructor["summary"]))
        .collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
#[test]
fn several_unknowns_are_named_by_solve_and_its_failures_say_why() {
    let desk = Desk::new();
    let mut two = json!({
        "space": {"domain": {"atom_domain": {"T": "i32"}},
                  "metric": {"absolute_distance": {"T": "i32"}}},
        "chain": [{"composition": {"measurements": [
            {"chain": [{"laplace": {"scale": {"param": "a"}}}]},
            {"chain": [{"laplace": {"scale": {"param": "b"}}}]},
        ]}}],
    });
    desk.file("two.json", two.to_string());
    let solve = ["solve", "-p", "two.json", "--param", "a", "--d-in", "1", "--d-out", "0.5"];
    let error = desk.fails(&solve, 1);
    assert!(error.contains("`b`") && error.contains("--set b=1.5"), "{error}");
    let set = |b: &'static str| [&solve[..], &["--set", b]].concat();
    assert_eq!(desk.says(&set("b=4")), "4.0");
    // With `b=1`, the second measurement alone has a loss of 1. So for every scale `a` of the first
    // measurement, the two measurements together have a loss above 0.5.
    let error = desk.fails(&set("b=1"), 1);
    let reason = "no value of `a` was found that meets 0.5: the least loss that was found";
    assert!(error.contains(reason), "{error}");
    two["chain"][0]["composition"]["measurements"].as_array_mut().unwrap().remove(0);
    let request = json!({"op": "solve", "pipeline": two, "param": "b", "d_in": 1, "d_out": 0.5});
    assert_eq!(requests(&[request])[0]["value"], json!(2.0));
    let both: Json =
        serde_json::from_str(&std::fs::read_to_string(desk.0.path().join("two.json")).unwrap())
            .unwrap();
    let request = json!({"op": "solve", "pipeline": both, "params": {"b": 4}, "param": "a",
        "d_in": 1, "d_out": 0.5});
    assert_eq!(requests(&[request])[0]["value"], json!(4.0));
}
