//! Tests of the pages of a study's answers, which `ask --html` writes.

use serde_json::json;

use crate::Desk;

fn desk() -> Desk {
    let desk = Desk::new();
    let rows = (0..300).map(|i| format!("{},{}\n", i % 90, ["<b>Lyon", "Lille"][i % 2]));
    desk.file("people.csv", "age,city\n".to_owned() + &rows.collect::<String>());
    let study = json!({
        "context": {
            "data": "people.csv", "unit": {"person": 1}, "budget": {"epsilon": 1},
            "columns": {"age": {"T": "i64", "missing": "drop"}, "city": "String"},
        },
        "questions": [
            {"count": {}},
            {"histogram": {"column": "age", "edges": [30, 60]}},
            {"histogram": {"column": "city", "categories": ["<b>Lyon", "Lille"]}},
            {"quantiles": {"column": "age", "alphas": [0.25, 0.75],
                           "candidates": {"from": 0, "to": 90, "step": 1}}},
        ],
    });
    desk.file("study.json", study.to_string());
    desk
}
fn page(desk: &Desk) -> String {
    std::fs::read_to_string(desk.0.path().join("page.html")).unwrap()
}

#[test]
fn answers_are_also_written_as_a_page_with_charts() {
    let desk = desk();
    desk.budget("b.ledger:x", &["--epsilon", "1"]);
    let charge = ["--budget", "b.ledger:x", "--id", "a"];
    let ask = ["ask", "study.json", "--html", "page.html", "--alpha", "0.1"];
    let text = desk.says(&[&ask[..], &charge].concat());
    let first = page(&desk);
    assert!(text.contains("count") && first.starts_with("<!DOCTYPE html>"));
    // Both histograms have intervals, and the chart of the quantiles has none.
    assert_eq!(first.matches("noise added; 90 % interval").count(), 2);
    assert!(first.contains("histogram of 3 buckets") && first.contains("class=\"dot\""));
    assert!(first.contains("&lt;b&gt;Lyon") && !first.contains("<b>Lyon"));
    assert!(first.contains("1 of 1 spent") && first.contains("budget x as `a`"));
    // A second run with the same id writes the same numbers.
    desk.says(&[&ask[..], &charge].concat());
    let charts =
        |html: &str| html.split("<section>").skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(charts(&page(&desk)), charts(&first));
    // The page of a dry run has errors, and no answers.
    desk.says(&[&ask[..], &["--dry-run"]].concat());
    let rehearsed = page(&desk);
    assert!(rehearsed.contains("Nothing was released or spent") && !rehearsed.contains("<svg"));
    assert!(rehearsed.contains("Cost of the answers"));
}
#[test]
fn a_page_that_cannot_be_written_is_refused_before_anything_is_spent() {
    let desk = desk();
    desk.budget("b.ledger:x", &["--epsilon", "1"]);
    desk.budget("other.ledger:x", &["--epsilon", "1"]);
    let ask = ["ask", "study.json", "--budget", "b.ledger:x", "--id", "a", "--html"];
    for (page, gist) in [
        ("nowhere/page.html", "cannot be written"),
        (".", "cannot be written"),
        ("study.json", "would replace the study, the table or the ledger"),
        ("./people.csv", "would replace the study, the table or the ledger"),
        ("b.ledger", "would replace the study, the table or the ledger"),
        ("other.ledger", "would replace a ledger"),
    ] {
        let error = desk.fails(&[&ask[..], &[page]].concat(), 1);
        assert!(error.contains("argument `html`") && error.contains(gist), "{page}: {error}");
    }
    for ledger in ["b.ledger:x", "other.ledger:x"] {
        assert!(desk.says(&["budget", "show", ledger]).contains("epsilon 1"));
    }
    assert!(desk.says(&["budget", "history", "b.ledger:x"]).lines().count() < 2);
}
#[test]
fn a_probability_near_one_is_not_rounded_up_to_one() {
    let desk = desk();
    for (alpha, percent) in [("1e-6", "99.9999 % of the time"), ("1e-15", "more than 99.999999 %")]
    {
        let text = desk.says(&["ask", "study.json", "--dry-run", "--alpha", alpha]);
        assert!(text.contains(percent), "{text}");
    }
}
#[test]
fn csv_has_the_error_of_each_answer_and_its_unit() {
    let desk = desk();
    let csv = desk.says(&["ask", "study.json", "--csv"]);
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert!(rows.iter().all(|row| row.len() == 7), "{csv}");
    let json: serde_json::Value =
        serde_json::from_str(&desk.says(&["ask", "study.json", "--dry-run", "--json"])).unwrap();
    let error = |answer: usize| json["answers"][answer]["accuracy"].as_f64().unwrap();
    // A count has an interval and an error in its value. A quantile has only an error in ranks.
    let (count, quantile) = (&rows[1], rows.last().unwrap());
    assert_eq!((count[0], count[6]), ("count", "value"));
    assert!(!count[3].is_empty() && count[5].parse::<f64>().unwrap() == error(0), "{csv}");
    assert_eq!(quantile[1..], ["0.75", quantile[2], "", "", quantile[5], "ranks"]);
    assert_eq!(quantile[5].parse::<f64>().unwrap(), error(3), "{csv}");
}
/// After the budget is spent, the answers are printed even if the page cannot be written.
#[cfg(target_os = "linux")]
#[test]
fn a_page_that_fails_late_gives_the_answers_and_exit_code_1() {
    let desk = desk();
    desk.budget("b.ledger:x", &["--epsilon", "1"]);
    // The device can be opened, and every write to it fails.
    let ask = ["ask", "study.json", "--html", "/dev/full"];
    let charge = ["--budget", "b.ledger:x", "--id", "a"];
    let output = desk.run(&[&ask[..], &charge].concat());
    let (text, said) = [output.stdout, output.stderr].map(|x| String::from_utf8(x).unwrap()).into();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("count") && text.contains("budget x as `a`"), "{text}");
    assert!(said.contains("error[FailedFunction]: the page /dev/full cannot be written"), "{said}");
    assert!(said.contains("The answers are printed on standard output; to write it"), "{said}");
    // The advice works.
    let ask = ["ask", "study.json", "--html", "page.html"];
    assert!(desk.says(&[&ask[..], &charge].concat()).contains("repeated: "));
    assert!(page(&desk).contains("budget x as `a`"));
    // Without a ledger, and in JSON.
    let output = desk.run(&["ask", "study.json", "--html", "/dev/full", "--json"]);
    let answers: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (output.status.code(), &answers["answers"][0]["question"]),
        (Some(1), &json!("count"))
    );
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("{\"error\":{") && !said.contains("same --id"), "{said}");
    // A dry run charges nothing, so its errors do not say that something is charged.
    let dry = [&ask[..2], &charge, &["--dry-run"]].concat();
    let output = desk.run(&[&dry[..], &["--html", "/dev/full"]].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("cannot be written") && !said.contains("same --id"), "{said}");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let (code, said) = desk.unheard(&dry, full);
    assert!(code == Some(1) && said.contains("standard output cannot be written"), "{said}");
    assert!(!said.contains("is charged"), "{said}");
}
