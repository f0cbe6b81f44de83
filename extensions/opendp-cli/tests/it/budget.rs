use serde_json::{Value as Json, json};

use crate::{Desk, sum};

fn read(text: &str) -> Json {
    serde_json::from_str(text).unwrap()
}

#[test]
fn charges_before_releasing_and_once_for_an_id() {
    let desk = Desk::new();
    desk.file("sum.json", sum(20.0).to_string());
    desk.file("ages.json", "[1, 2, 3]");
    let created = desk.says(&["budget", "create", "l.db:study", "--epsilon", "1.25"]);
    assert!(created.contains("epsilon 1.25 left of epsilon 1.25"), "{created}");
    let run = |id: &str| {
        let run = ["run", "-p", "sum.json", "--data", "ages.json", "--d-in", "1", "--json"];
        [&run[..], &["--budget", "l.db:study", "--id", id, "--by", "Ada"]]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<String>>()
    };
    let says = |id: &str| {
        let arguments = run(id);
        read(&desk.says(&arguments.iter().map(String::as_str).collect::<Vec<_>>()))
    };
    let first = says("1");
    assert_eq!(first["budget"]["charged"], json!({"epsilon": "0.5"}));
    assert_eq!(first["budget"]["remaining"], json!({"epsilon": "0.75"}));
    let again = says("1");
    assert_eq!(again["release"], first["release"]);
    assert_eq!(again["budget"]["repeated"], json!(true));
    says("2");
    let arguments = run("3");
    let refused = desk.fails(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), 1);
    assert_eq!(read(&refused)["error"]["kind"], "BudgetExceeded");
    assert_eq!(says("2")["budget"]["remaining"], json!({"epsilon": "0.25"}));

    let shown = read(&desk.says(&["budget", "show", "l.db:study", "--json"]));
    assert_eq!(shown["spent"], json!({"epsilon": "1"}));
    let all = read(&desk.says(&["budget", "show", "l.db", "--json"]));
    assert_eq!(all, json!([shown]));
    let history = read(&desk.says(&["budget", "history", "l.db:study", "--json"]));
    assert_eq!(history.as_array().unwrap().len(), 2);
    assert_eq!(history[0]["release"], first["release"]);
    assert_eq!(history[0]["by"], "Ada");
    assert_eq!(history[0]["pipeline"], sum(20.0));
    let text = desk.says(&["budget", "history", "l.db:study"]);
    assert!(text.contains("Ada") && text.contains("epsilon 0.5"), "{text}");
    let export = read(&desk.says(&["budget", "export", "l.db"]));
    assert_eq!(export["budgets"][0]["history"], history);
}
/// Other people can choose the name of a budget and the id of a release, so these texts can contain
/// control characters.
#[test]
fn a_name_of_a_budget_does_not_control_the_terminal() {
    let desk = Desk::new();
    let create = ["budget", "create", "l.db:a\u{1b}[2J", "--epsilon", "2", "--unit", "1"];
    let created = desk.says(&[&create[..], &["--metric", "symmetric_distance"]].concat());
    desk.file("sum.json", sum(20.0).to_string());
    desk.file("ages.json", "[1, 2, 3]");
    let run = ["run", "-p", "sum.json", "--data", "ages.json", "--budget", "l.db:a\u{1b}[2J"];
    let released = desk.says(&[&run[..], &["--id", "i"]].concat());
    let shown = desk.says(&["budget", "show", "l.db"]);
    let history = desk.says(&["budget", "history", "l.db:a\u{1b}[2J"]);
    for text in [&created, &released, &shown, &history] {
        assert!(text.contains("a\u{fffd}[2J") && !text.contains('\u{1b}'), "{text:?}");
    }
    // Programs get the name unchanged.
    let json = read(&desk.says(&["budget", "show", "l.db", "--json"]));
    assert_eq!(json[0]["name"], "a\u{1b}[2J");
}
#[test]
fn says_what_is_missing() {
    let desk = Desk::new();
    desk.file("sum.json", sum(20.0).to_string());
    desk.file("ages.json", "[1]");
    let run = ["run", "-p", "sum.json", "--data", "ages.json"];
    desk.fails(&[&run[..], &["--budget", "l.db:b", "--d-in", "1"]].concat(), 2);
    for d_in in [&[][..], &["--d-in", "1"]] {
        let charge = ["--budget", "l.db:b", "--id", "1"];
        let none = desk.fails(&[&run[..], &charge, d_in].concat(), 1);
        assert!(none.contains("there is no ledger"), "{none}");
    }
    desk.fails(&["budget", "create", "l.db:b"], 2);
    desk.fails(&["budget", "create", "l.db", "--epsilon", "1"], 2);
    let bad = desk.fails(&["budget", "create", "l.db:b", "--epsilon=-1"], 1);
    assert!(bad.contains("epsilon: invalid distance"), "{bad}");
    for delta in ["1", "1.0", "7/7", "3/2"] {
        let create = ["budget", "create", "l.db:b", "--epsilon", "1", "--delta", delta];
        for create in [&create[..], &[&create[..], &["--tight"]].concat()] {
            let bad = desk.fails(create, 1);
            assert!(bad.contains("delta"), "{bad}");
            assert!(delta == "3/2" || bad.contains("protects no one"), "{bad}");
        }
    }
    for epsilon in ["0", "1e4096"] {
        desk.fails(&["budget", "create", "l.db:b", "--epsilon", epsilon], 1);
    }
    let almost_one = ["--epsilon", "1", "--delta", "0.99999999999999999999", "--tight"];
    for amount in [&["--epsilon", "1", "--delta", "0", "--tight"][..], &almost_one, &["--rho", "0"]]
    {
        desk.fails(&[&["budget", "create", "l.db:b"], amount].concat(), 1);
    }
    let long = format!("l.db:{}", "x".repeat(257));
    desk.fails(&["budget", "create", &long, "--epsilon", "1"], 1);
    let nobody = desk.fails(&["budget", "create", "l.db:b", "--epsilon", "1", "--size", "0"], 1);
    assert!(nobody.contains("`size`: expected at least 1 person"), "{nobody}");
    let unit = ["--unit", "1", "--metric", "symmetric_distance", "--contributions", "0"];
    desk.fails(&[&["budget", "create", "l.db:b", "--epsilon", "1"], &unit[..]].concat(), 1);
    desk.fails(&["budget", "create", "l.db:b", "--epsilon", "1", "--digest", "x"], 1);
    for command in ["show", "history", "export", "settle-clock"] {
        let place = if command == "export" { "l.db" } else { "l.db:b" };
        assert!(desk.fails(&["budget", command, place], 1).contains("there is no ledger"));
    }
    // A refused budget creates no file.
    assert!(!desk.0.path().join("l.db").exists());
    desk.says(&["budget", "create", "l.db:large", "--epsilon", "1", "--delta", "0.999"]);
    desk.says(&["budget", "create", "l.db:b", "--epsilon", "1", "--delta", "1e-6"]);
    desk.says(&["budget", "create", "l.db:c", "--rho", "1/2"]);
    assert!(desk.says(&["budget", "show", "l.db"]).contains("c: rho 0.5 left of rho 0.5"));
}
#[test]
fn the_rest_of_a_tight_budget_is_for_one_more_release() {
    let desk = Desk::new();
    let amount = ["--epsilon", "1", "--delta", "1e-6"];
    let created = desk.says(&[&["budget", "create", "l.db:t"], &amount[..], &["--tight"]].concat());
    let shown = desk.says(&["budget", "show", "l.db:t"]);
    for text in [&created, &shown] {
        assert!(text.contains(" left of epsilon 1") && text.contains("composed tightly"), "{text}");
        let note = "\n  note: losses compose tightly, so the amount left is for one more release.";
        assert!(text.contains(note) && text.contains("do not add up"), "{text}");
    }
    // The control: another budget adds up its losses.
    desk.says(&[&["budget", "create", "l.db:s"], &amount[..]].concat());
    let shown = desk.says(&["budget", "show", "l.db:s"]);
    assert!(shown.contains(" left of ") && shown.lines().count() == 1, "{shown}");
}
#[test]
fn a_history_is_a_table_with_the_questions() {
    let desk = Desk::new();
    desk.budget("l.db:study", &["--epsilon", "9"]);
    let none = desk.says(&["budget", "history", "l.db:study"]);
    assert!(
        none.starts_with("study, protects data") && none.ends_with(": no releases yet"),
        "{none}"
    );
    desk.file("sum.json", sum(20.0).to_string());
    desk.file("people.csv", "age,city\n31,Lyon\n44,Lille\n");
    let run = ["run", "-p", "sum.json", "--data", "people.csv", "--column", "age"];
    desk.says(&[&run[..], &["--budget", "l.db:study", "--id", "a sum", "--by", "Ada"]].concat());
    let study = json!({
        "context": {"unit": {"person": 1}, "budget": {"epsilon": 1}, "columns": {
            "age": {"T": "i64", "missing": "drop"}}},
        "questions": [{"count": {}}, {"histogram": {"column": "age", "edges": [30, 60]}}],
    });
    desk.file("study.json", study.to_string());
    let ask =
        ["ask", "study.json", "--data", "people.csv", "--budget", "l.db:study", "--id", "two"];
    desk.says(&ask);
    let text = desk.says(&["budget", "history", "l.db:study"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() == 4 && lines[0].starts_with("study, protects data at"), "{text}");
    for (line, parts) in [
        (lines[1], &["entry", "time", "loss", "id", "by", "question", "data"][..]),
        (
            lines[2],
            &["1", "epsilon 0.5", "a sum", "Ada", "clamp, sum, laplace", "people.csv, column age"],
        ),
        (lines[3], &["2", "epsilon 1", "two", "-", "count, histogram of age", "people.csv"]),
    ] {
        // The parts are in the order of the columns.
        let mut rest = line;
        for part in parts {
            rest = rest.split_once(part).unwrap_or_else(|| panic!("{part}: {text}")).1;
        }
    }
    // The columns are aligned.
    let place = lines[1].find("question").unwrap();
    assert!(
        lines[2][place..].starts_with("clamp") && lines[3][place..].starts_with("count"),
        "{text}"
    );
}
