//! Tests that run the command as a user does.
#![allow(clippy::unwrap_used, reason = "tests stop by panicking")]

use std::path::Path;
use std::process::{Command, Output};

const METADATA: &str = r#"
[budget]
epsilon = 1.0
ledger = "study.ledger"
name = "survey"
[tables.people]
path = "people.csv"
unit = { rows = 1 }
[tables.people.columns]
age = { type = "integer", bounds = [0, 100] }
sex = { type = "text", keys = ["f", "m"] }
"#;
fn run(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_opendp-sql")).current_dir(folder).args(args).output().unwrap()
}
fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}
#[test]
fn explains_spends_once_and_refuses() {
    let folder = study();
    let config = ["--config", "study.toml"];
    let sql = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex ORDER BY sex";
    let ask = |first: &[&str], more: &[&str]| {
        run(folder.path(), &[first, &config, &[sql, "--epsilon", "0.5"], more].concat())
    };

    let explained = ask(&["explain"], &[]);
    assert!(text(&explained).contains("costs epsilon 0.5; epsilon 1 is left"), "{explained:?}");
    assert!(text(&explained).contains("of scale 2.0000, error at most 6.0000 (95 %)"));

    let weighted = ask(&["explain"], &["--weight", "n=2"]);
    assert_eq!(text(&weighted), text(&explained), "a single aggregate has the whole loss");
    let unknown = ask(&["explain"], &["--weight", "mean=2"]);
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("count(*)"), "{unknown:?}");

    let answer = ask(&[], &["--id", "first"]);
    assert!(answer.status.success(), "{answer:?}");
    assert!(text(&answer).contains("| sex | n"), "{}", text(&answer));
    // The answer above comes from a call without a subcommand, and `query` is the default
    // subcommand. A repeated id returns the first release.
    let again = ask(&["query"], &["--id", "first", "--html", "page.html"]);
    assert_eq!(text(&again), text(&answer));
    let note = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let repeated = "note: repeated: this is the answer of an earlier question with the id `first`";
    assert!(note(&again).contains(repeated) && !note(&answer).contains("repeated"), "{again:?}");
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.contains("nothing is charged again"), "{page}");
    let left = run(folder.path(), &["budget", "--config", "study.toml"]);
    assert_eq!(text(&left), "epsilon 0.5 is left\n");

    let document = ask(&[], &["--json"]);
    let json: serde_json::Value = serde_json::from_slice(&document.stdout).unwrap();
    assert_eq!(json["loss"]["epsilon"], "0.5");
    assert_eq!(json["repeated"], false);
    assert_eq!(json["plan"]["sha256"].as_str().unwrap().len(), 64);
    let exceeded = ask(&[], &[]);
    assert_eq!(exceeded.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&exceeded.stderr).contains("BudgetExceeded"));

    let plan = run(folder.path(), &["plan", "--config", "study.toml", sql]);
    assert!(text(&plan).contains("GROUP BY k0"), "{plan:?}");
    let refused = run(folder.path(), &["--config", "study.toml", "SELECT age FROM people"]);
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(run(folder.path(), &[]).status.code(), Some(2));
}
/// Make a folder with a metadata file and 500 rows, and create the budget.
fn study() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("study.toml"), METADATA).unwrap();
    let rows: String = (0..500).map(|k| format!("{},{}\n", k % 90, ["f", "m"][k % 2])).collect();
    std::fs::write(folder.path().join("people.csv"), format!("age,sex\n{rows}")).unwrap();
    let created = run(folder.path(), &["create", "--config", "study.toml"]);
    assert_eq!(text(&created), "created; epsilon 1 is left\n", "{created:?}");
    folder
}
#[test]
fn only_create_makes_a_ledger_and_a_budget() {
    let folder = study();
    let path = folder.path().join("study.ledger");
    let sql = "SELECT COUNT(*) FROM people";
    let refused = |first: &[&str]| {
        let all =
            [first, &["--config", "study.toml"], if first == ["budget"] { &[] } else { &[sql] }];
        let output = run(folder.path(), &all.concat());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(error.contains("NotFound") && error.contains("opendp-sql create"), "{error}");
    };
    let all: [&[&str]; 2] = [&["budget"], &["query", "--epsilon", "0.5"]];
    // An explanation spends nothing, so it needs no ledger and no budget.
    let explained = |is_missing: bool| {
        let ask = ["explain", "--config", "study.toml", sql, "--epsilon", "0.5"];
        let output = run(folder.path(), &ask);
        let note = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text(&output).contains("costs epsilon 0.5; epsilon 1 is left"), "{output:?}");
        assert_eq!(note.contains("note: the budget does not exist yet"), is_missing, "{note}");
        // A plan spends nothing, too.
        let plan = run(folder.path(), &["plan", "--config", "study.toml", sql]);
        assert!(plan.status.success() && text(&plan).contains("SUM("), "{plan:?}");
    };
    // If the file of the ledger does not exist, none of these commands makes a ledger.
    std::fs::remove_file(&path).unwrap();
    all.iter().for_each(|first| refused(first));
    explained(true);
    assert!(!path.exists());
    // If the ledger does not contain the budget, none of these commands makes the budget.
    drop(opendp_ledger::Ledger::open(&path).unwrap());
    all.iter().for_each(|first| refused(first));
    explained(true);
    // The controls: after `create`, a query is answered. `create` makes each budget only once.
    let create = || run(folder.path(), &["create", "--config", "study.toml"]);
    assert!(create().status.success());
    explained(false);
    let ask = ["--config", "study.toml", sql, "--epsilon", "0.5"];
    let answer = run(folder.path(), &ask);
    let note = String::from_utf8_lossy(&answer.stderr).into_owned();
    assert!(answer.status.success(), "{answer:?}");
    assert_eq!(note, "note: epsilon 0.5 of the budget is left\n");
    let again = create();
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&again.stderr).contains("exists already"), "{again:?}");
    // If no ledger keeps a budget, the next run can spend this budget again. A note warns about
    // this.
    let metadata = METADATA.replace("ledger = \"study.ledger\"\nname = \"survey\"\n", "");
    std::fs::write(folder.path().join("study.toml"), metadata).unwrap();
    let answer = run(folder.path(), &ask);
    let note = String::from_utf8_lossy(&answer.stderr).into_owned();
    assert!(answer.status.success() && note.contains("another run can spend it again"), "{note}");
    assert!(!note.contains("warning") && !note.contains("--id"), "{note}");
    let named = run(folder.path(), &[&ask[..], &["--id", "first"]].concat());
    let note = String::from_utf8_lossy(&named.stderr).into_owned();
    assert!(note.contains("note: `--id` has no effect without a ledger"), "{note}");
}
/// A reader that closes the pipe early, as `head` does, ends a page without an error. The answer of
/// a query is charged, so there is an error that says how to get it again.
#[cfg(unix)]
#[test]
fn a_reader_that_stops_early_is_no_error() {
    let folder = study();
    let sql = "SELECT COUNT(*) FROM people";
    let closed = |first: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_opendp-sql"));
        command.current_dir(folder.path()).args([first, "--config", "study.toml"]);
        if first != "budget" {
            command.args([sql, "--epsilon", "0.5"]);
        }
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command.stdout(writer).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for first in ["explain", "plan", "budget"] {
        let (code, errors) = closed(first);
        assert_eq!(code, Some(0), "{first}: {errors}");
        assert!(!errors.contains("error"), "{first}: {errors}");
    }
    let (code, errors) = closed("query");
    assert!(code == Some(1) && errors.contains("The budget is charged"), "{errors}");
}
#[test]
fn losses_that_protect_little_give_warnings() {
    let folder = study();
    let memory = METADATA.replace("ledger = \"study.ledger\"\nname = \"survey\"\n", "");
    let large = |text: &str| text.replace("epsilon = 1.0", "epsilon = 1000.0\ndelta = 0.5");
    let warnings = |metadata: &str, first: &[&str], more: &[&str]| {
        std::fs::write(folder.path().join("study.toml"), metadata).unwrap();
        let answer = run(folder.path(), &[first, &["--config", "study.toml"], more].concat());
        assert!(answer.status.success(), "{answer:?}");
        String::from_utf8_lossy(&answer.stderr).into_owned()
    };
    let sql = "SELECT COUNT(*) FROM people";
    let ask = [sql, "--noise", "gaussian", "--epsilon", "20", "--delta", "0.005"];
    for first in ["query", "explain"] {
        let told = warnings(&large(&memory), &[first], &ask);
        assert!(told.contains("warning: epsilon is 20, which is above 10"), "{told}");
        assert!(told.contains("warning: delta is 0.005, which is large"), "{told}");
    }
    // A stated number of rows decides which delta is large.
    let unit = "unit = { rows = 1 }";
    for (rows, is_large) in [(100, false), (500, true)] {
        let metadata = large(&memory).replace(unit, &format!("{unit}\nrows = {rows}"));
        let ask = ["SELECT SUM(age) FROM people", "--noise", "gaussian"];
        let told = warnings(
            &metadata,
            &["explain"],
            &[&ask[..], &["--epsilon", "1", "--delta", "0.005"]].concat(),
        );
        assert_eq!(
            told.contains(&format!("delta is 0.005, which is not below 1 in {rows}")),
            is_large
        );
        assert_eq!(told.contains("warning"), is_large, "{told}");
    }
    // If the query states no loss, it spends a share of the budget. If this share is large, there
    // is a warning.
    for (queries, is_large) in [(10, true), (100, false)] {
        let metadata = format!("queries = {queries}\n{memory}").replace("1.0", "1000.0");
        let told = warnings(&metadata, &["query"], &[sql]);
        let share = format!("epsilon is {}, which is above 10", 1000 / queries);
        assert_eq!(told.contains(&share), is_large, "{told}");
        assert_eq!(told.contains("warning"), is_large, "{told}");
    }
    let named = large(METADATA).replace("\"survey\"", "\"large\"");
    let told = warnings(&named, &["create"], &[]);
    assert!(told.contains("epsilon is 1000,") && told.contains("delta is 0.5,"), "{told}");
    // The ledger returns an earlier release free of charge, so only the first query with an id
    // gives a warning.
    for (id, is_large) in [("first", true), ("first", false), ("second", true)] {
        let told = warnings(&named, &["query"], &[sql, "--epsilon", "20", "--id", id]);
        assert_eq!(told.contains("warning: epsilon is 20, which is above 10"), is_large, "{told}");
        assert!(told.contains("note: "), "{told}");
    }
}
/// A question whose records cannot be decoded is charged, so its large loss gives a warning too.
#[test]
fn a_large_loss_gives_a_warning_before_the_rows_are_read() {
    let folder = study();
    let metadata = METADATA.replace("1.0", "100.0").replace("\"survey\"", "\"large\"");
    std::fs::write(folder.path().join("study.toml"), metadata).unwrap();
    std::fs::write(folder.path().join("people.csv"), "age,sex\n40,f\n41\n").unwrap();
    assert!(run(folder.path(), &["create", "--config", "study.toml"]).status.success());
    let ask = ["--config", "study.toml", "SELECT COUNT(*) FROM people", "--epsilon", "20"];
    let told = String::from_utf8(run(folder.path(), &ask).stderr).unwrap();
    let (warning, error) = (told.find("warning: epsilon is 20"), told.find("error: Argument"));
    assert!(warning.is_some() && warning < error, "{told}");
}
#[test]
fn a_budget_with_an_invalid_name_creates_no_ledger() {
    let folder = tempfile::tempdir().unwrap();
    for (name, success) in [(String::new(), false), ("x".repeat(257), false), ("x".into(), true)] {
        let metadata = METADATA.replace("\"survey\"", &format!("\"{name}\""));
        std::fs::write(folder.path().join("study.toml"), metadata).unwrap();
        let created = run(folder.path(), &["create", "--config", "study.toml"]);
        assert_eq!(created.status.success(), success, "{created:?}");
        assert_eq!(folder.path().join("study.ledger").exists(), success);
    }
}
/// On Linux, no text can be written to `/dev/full`.
#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_printed_is_an_error() {
    let folder = study();
    let error = |args: &[&str]| {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_opendp-sql"));
        let output = command.current_dir(folder.path()).args(args).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let budget = error(&["budget", "--config", "study.toml"]);
    assert!(budget.contains("the answer cannot be printed"), "{budget}");
    let sql = "SELECT COUNT(*) FROM people";
    let query = error(&["--config", "study.toml", sql, "--epsilon", "0.5", "--id", "first"]);
    assert!(query.contains("the answer cannot be printed"), "{query}");
    assert!(query.contains("The budget is charged. With a ledger and `--id`"), "{query}");
}
/// On Linux, no text can be written to `/dev/full`.
#[cfg(target_os = "linux")]
#[test]
fn an_answer_is_printed_although_a_file_cannot_be_written() {
    let folder = study();
    let ask = |more: &[&str]| {
        let sql = "SELECT COUNT(*) AS n FROM people";
        let all = ["--config", "study.toml", sql, "--epsilon", "0.25", "--id", "first"];
        run(folder.path(), &[&all, more].concat())
    };
    let answer = ask(&["--document", "/dev/full", "--html", "/dev/full"]);
    assert_eq!(answer.status.code(), Some(1));
    let error = String::from_utf8_lossy(&answer.stderr).into_owned();
    assert!(error.contains("release document") && error.contains("page"), "{error}");
    assert!(error.contains("the answer is printed"), "{error}");
    // The control: the files can be written. The printed answer does not change.
    let written = ask(&["--document", "x.json", "--html", "x.html"]);
    assert!(written.status.success() && text(&written).contains("| n "), "{written:?}");
    assert_eq!(text(&written), text(&answer));
    assert!(folder.path().join("x.json").exists() && folder.path().join("x.html").exists());
}
#[test]
fn a_rest_with_many_digits_is_written_in_a_few_digits() {
    let folder = study();
    let sql = "SELECT COUNT(*) FROM people";
    for epsilon in ["0.3333333333333", "0.6666666666666"] {
        let ask = run(folder.path(), &["--config", "study.toml", sql, "--epsilon", epsilon]);
        let note = String::from_utf8_lossy(&ask.stderr).into_owned();
        let found = text(&run(folder.path(), &["budget", "--config", "study.toml"]));
        let amount = found.trim_end().trim_end_matches(" is left");
        assert!(note.contains(&format!("note: {amount} of the budget is left")), "{note} {found}");
        assert!(amount.len() < 20 && !amount.contains("..."), "{found}");
    }
}
/// A file cannot be both private and public.
#[test]
fn a_public_table_with_the_file_of_a_private_table_is_refused() {
    let folder = study();
    let public = |path: &str| {
        let columns = "[tables.codes.columns]\nage = { type = \"integer\" }\n";
        let table = format!("[tables.codes]\npath = \"{path}\"\npublic = true\nkey = \"age\"\n");
        std::fs::write(folder.path().join("study.toml"), format!("{METADATA}{table}{columns}"))
            .unwrap();
        let sql = "SELECT COUNT(*) FROM people";
        run(folder.path(), &["explain", "--config", "study.toml", sql, "--epsilon", "0.5"])
    };
    std::fs::copy(folder.path().join("people.csv"), folder.path().join("codes.csv")).unwrap();
    let error = public("./people.csv");
    let text = String::from_utf8_lossy(&error.stderr).into_owned();
    assert_eq!(error.status.code(), Some(1), "{text}");
    assert!(text.contains("`codes` is public, but it would read rows of the private"), "{text}");
    // The control: another file.
    assert!(public("codes.csv").status.success());
    // One of the two paths is a folder that contains the other path.
    assert!(!public(".").status.success(), "a folder with the private file");
    assert!(!public("p*e.csv").status.success(), "a pattern that matches the private file");
    #[cfg(unix)]
    {
        let link = folder.path().join("link.csv");
        std::fs::hard_link(folder.path().join("people.csv"), link).unwrap();
        assert!(!public("link.csv").status.success(), "a hard link to the private file");
        std::fs::create_dir(folder.path().join("links")).unwrap();
        std::fs::rename(folder.path().join("link.csv"), folder.path().join("links/a.csv")).unwrap();
        assert!(!public("links").status.success(), "a folder with a link to the private file");
        let path = folder.path().join("people.csv").canonicalize().unwrap();
        for start in ["file://", "FILE://", "file://localhost"] {
            let url = format!("{start}{}", path.to_str().unwrap()).replace("people", "pe%6Fple");
            assert!(!public(&url).status.success(), "{url}");
        }
    }
}
/// A page over the ledger would erase the losses of all earlier releases.
#[test]
fn a_file_that_cannot_be_written_or_is_in_use_is_refused_before_the_charge() {
    let folder = study();
    std::fs::create_dir(folder.path().join("part")).unwrap();
    for file in ["part/a.csv", "pa.csv"] {
        std::fs::write(folder.path().join(file), "age\n1\n").unwrap();
    }
    let add = |name: &str, path: &str| {
        let columns = format!("[tables.{name}.columns]\nage = {{ type = \"integer\" }}\n");
        let fields = "format = \"csv\"\npublic = true\nkey = \"age\"\n";
        format!("[tables.{name}]\npath = \"{path}\"\n{fields}{columns}")
    };
    let more = add("whole", "part") + &add("pattern", "pa*.csv");
    std::fs::write(folder.path().join("study.toml"), format!("{METADATA}{more}")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("study.ledger", folder.path().join("link")).unwrap();
    let contents = || {
        ["study.toml", "study.ledger", "people.csv", "part/a.csv"]
            .map(|name| std::fs::read(folder.path().join(name)).unwrap())
    };
    let ask = |files: &[&str]| {
        let sql = "SELECT COUNT(*) FROM people";
        let all = ["--config", "study.toml", sql, "--epsilon", "0.5", "--id", "first"];
        run(folder.path(), &[&all, files].concat())
    };
    let before = contents();
    let linked = if cfg!(unix) { "link" } else { "study.ledger" };
    let used = ["study.toml", "./study.ledger", "part/../people.csv", "part/a.csv", "part/new"];
    for file in used.into_iter().chain([linked, "pages.csv", "missing/x", "part"]) {
        for argument in ["--html", "--document"] {
            let output = ask(&[argument, file]);
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1), "{file} {output:?}");
            assert!(error.contains(&format!("argument `{}`", &argument[2..])), "{file} {error}");
            assert!(error.contains(file) && error.contains("Nothing is charged"), "{file} {error}");
        }
    }
    let error = ask(&["--html", "x", "--document", "./x"]);
    assert!(String::from_utf8_lossy(&error.stderr).contains("both name"), "{error:?}");
    assert!(contents() == before && !folder.path().join("x").exists());
    // The controls: other files are written, also if they exist already.
    for _ in 0..2 {
        assert!(ask(&["--html", "x.html", "--document", "pages.json"]).status.success());
    }
}
#[test]
fn first_questions_in_parallel_share_a_budget() {
    for _ in 0..4 {
        let folder = study();
        let ask = |k: usize| {
            let id = k.to_string();
            let sql = "SELECT COUNT(*) FROM people";
            let all = ["--config", "study.toml", sql, "--epsilon", "0.0625", "--id", &id];
            run(folder.path(), &all)
        };
        let answers: Vec<Output> = std::thread::scope(|scope| {
            let ask = &ask;
            let all: Vec<_> = (0..8).map(|k| scope.spawn(move || ask(k))).collect();
            all.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(answers.iter().all(|answer| answer.status.success()), "{answers:?}");
        let left = run(folder.path(), &["budget", "--config", "study.toml"]);
        assert_eq!(text(&left), "epsilon 0.5 is left\n");
    }
}
