//! What saves people an edit or a search.

use serde_json::json;

use crate::{Desk, pipeline};

#[test]
fn parameters_are_set_on_the_command_line() {
    let desk = Desk::new();
    desk.file("open.json", pipeline(json!({"param": "scale"})));
    let map = |set: &[&'static str]| [&["map", "-p", "open.json", "--d-in", "2"], set].concat();
    assert_eq!(desk.says(&map(&["--set", "scale=12.5"])), "2.0");
    assert!(desk.fails(&map(&[]), 1).contains("scale"));
    let error = desk.fails(&map(&["--set", "scal=1"]), 1);
    assert!(error.contains("`scal`") && error.contains("it has scale"), "{error}");
    assert!(desk.fails(&map(&["--set", "scale=1", "--set", "scale=2"]), 1).contains("two values"));
    assert!(desk.fails(&map(&["--set", "scale"]), 2).contains("NAME=VALUE"));
    desk.file("closed.json", pipeline(json!(12.5)));
    let error = desk.fails(&["map", "-p", "closed.json", "--d-in", "2", "--set", "scale=1"], 1);
    assert!(error.contains("no parameters"), "{error}");
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
    assert!(desk.says(&["list", "nosuchword"]).contains("Nothing is about `nosuchword`"));
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
    let one = "T=f64, M=HammingDistance";
    assert!(!grouped.contains(one) && grouped.contains("HammingDistance"));
    let full = desk.says(&["describe", "make_clamp", "--signatures"]);
    assert!(full.contains(one) && grouped.lines().count() + 10 < full.lines().count());
}
