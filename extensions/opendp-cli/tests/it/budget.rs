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
    desk.fails(&[&run[..], &["--budget", "l.db:b", "--id", "1"]].concat(), 2);
    desk.fails(&[&run[..], &["--budget", "l.db:b", "--d-in", "1"]].concat(), 2);
    let none =
        desk.fails(&[&run[..], &["--budget", "l.db:b", "--id", "1", "--d-in", "1"]].concat(), 1);
    assert!(none.contains("there is no ledger"), "{none}");
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
    // A refused budget creates no file.
    assert!(!desk.0.path().join("l.db").exists());
    desk.says(&["budget", "create", "l.db:large", "--epsilon", "1", "--delta", "0.999"]);
    desk.says(&["budget", "create", "l.db:b", "--epsilon", "1", "--delta", "1e-6"]);
    desk.says(&["budget", "create", "l.db:c", "--rho", "1/2"]);
    assert!(desk.says(&["budget", "show", "l.db"]).contains("c: rho 0.5 left of rho 0.5"));
}
