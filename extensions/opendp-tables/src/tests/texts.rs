//! Test functions of texts and comparisons with patterns.

use datafusion::arrow::array::{StringViewArray, StringViewBuilder};

use super::*;
use crate::engine::DataFusion;

/// Texts with and without characters beyond ASCII. Some are long, or change their length in capital
/// letters.
fn texts() -> Vec<Option<String>> {
    let some = [
        "",
        "a",
        "A",
        "abc",
        "Abc",
        "ABC",
        " abc  ",
        "a%c",
        "a_c",
        "a\\c",
        "a\nc",
        "10%",
        "Straße",
        "STRASSE",
        "ΟΔΟΣ",
        "οδος",
        "ΐ",
        "İstanbul",
        "istanbul",
        "kelvin",
        "\u{212a}elvin",
        "ſ",
        "s",
        "日本語テキスト",
        "𐀀𐀁",
        "e\u{301}",
        "\u{0}",
        "\t a",
        "a longer text than twelve bytes",
        "   a longer text than twelve bytes   ",
        "Ä longer text with a letter beyond ASCII",
    ];
    let long = ["x".repeat(5000), "ß".repeat(5000), format!("{}y", " ".repeat(3000))];
    some.into_iter().map(String::from).chain(long).map(Some).chain([None]).collect()
}
fn described() -> Table {
    Table::private(PrivacyUnit::rows(1))
        .with("x", Column::new(Type::Text))
        .with("y", Column::new(Type::Text))
        .with("n", Column::new(Type::Integer).bounds(0.0, 100.0))
}
fn opened(cells: &[Option<String>], portable: bool) -> Session {
    let x: ArrayRef = Arc::new(StringArray::from(cells.to_vec()));
    let y: ArrayRef = Arc::new(StringViewArray::from_iter(cells.iter().rev().cloned()));
    let n: ArrayRef = Arc::new(Int64Array::from_iter_values(0..cells.len() as i64));
    let batch = RecordBatch::try_from_iter([("x", x), ("y", y), ("n", n)]).unwrap();
    let engine = DataFusion::new().unwrap();
    let engine = if portable { engine.portable() } else { engine };
    let sources = vec![("people".into(), Source::Batches(vec![batch]))];
    let mut metadata = metadata(described());
    metadata.budget.delta = Some(0.5);
    Session::on(metadata, sources, Box::new(engine)).unwrap()
}
fn counts(session: &Session, conditions: &[&str]) -> Vec<f64> {
    let filter = |condition: &&str| format!("COUNT(*) FILTER (WHERE {condition})");
    let all: Vec<String> = conditions.iter().map(filter).collect();
    numbers(&ask(session, &format!("SELECT {} FROM people", all.join(", "))).table)[0].clone()
}
/// Match a text with a pattern of LIKE.
fn is_like(text: &[char], pattern: &[char]) -> bool {
    match (pattern, text) {
        ([], text) => text.is_empty(),
        (['%', rest @ ..], text) => (0..=text.len()).any(|k| is_like(&text[k..], rest)),
        (['_', rest @ ..], [_, text @ ..]) => is_like(text, rest),
        (['\\', mark, rest @ ..], [first, text @ ..]) => mark == first && is_like(text, rest),
        ([mark, rest @ ..], [first, text @ ..]) => mark == first && is_like(text, rest),
        _ => false,
    }
}
#[test]
fn patterns_match_as_stated() {
    let cells = texts();
    let patterns = [
        "a",
        "a%",
        "%c",
        "%b%",
        "a_c",
        "a\\_c",
        "a\\%c",
        "%\\%",
        "_",
        "__",
        "%",
        "%%",
        "a%c",
        "_%_",
        "ΟΔΟΣ",
        "日%",
        "a\\\\c",
        "%longer%twelve%",
        "%\n%",
        "",
        "x%x",
        "ß_%",
    ];
    for portable in [false, true] {
        let session = opened(&cells, portable);
        for pattern in patterns {
            let pattern: Vec<char> = pattern.chars().collect();
            let shown: String = pattern.iter().collect();
            let meets = |text: &String| is_like(&text.chars().collect::<Vec<_>>(), &pattern);
            let yes = cells.iter().flatten().filter(|text| meets(text)).count() as f64;
            let all = cells.iter().flatten().count() as f64;
            let like = format!("x LIKE '{shown}'");
            let not = format!("x NOT LIKE '{shown}'");
            assert_eq!(counts(&session, &[&like, &not]), [yes, all - yes], "{shown}");
        }
        let folded = ["x ILIKE 'ABC'", "x ILIKE '%B%'", "x ILIKE 'a_C'", "x NOT ILIKE 'abc%'"];
        assert_eq!(counts(&session, &folded)[..3], [3.0, 9.0, 7.0]);
        let starts = ["starts_with(x, 'a')", "starts_with(x, 'a%')", "starts_with(x, 'a_')"];
        assert_eq!(counts(&session, &starts), [7.0, 1.0, 1.0]);
    }
}
/// Each function gives the text that Rust computes from the same cell.
#[test]
fn functions_give_the_texts_of_each_row() {
    let cells = texts();
    let part = |text: &str, skip: usize, count: usize| -> String {
        text.chars().skip(skip).take(count).collect()
    };
    type Made<'a> = &'a dyn Fn(&str) -> String;
    let functions: [(&str, Made<'_>); 13] = [
        ("lower(x)", &|text| text.to_lowercase()),
        ("upper(x)", &|text| text.to_uppercase()),
        ("trim(x)", &|text| text.trim_matches(' ').to_owned()),
        ("btrim(x)", &|text| text.trim_matches(' ').to_owned()),
        ("ltrim(x)", &|text| text.trim_start_matches(' ').to_owned()),
        ("rtrim(x)", &|text| text.trim_end_matches(' ').to_owned()),
        ("substr(x, 2)", &|text| part(text, 1, usize::MAX)),
        ("substring(x, 2, 3)", &|text| part(text, 1, 3)),
        ("SUBSTRING(x FROM 2 FOR 3)", &|text| part(text, 1, 3)),
        ("substr(x, 900000000)", &|_| String::new()),
        ("left(x, 2)", &|text| part(text, 0, 2)),
        ("left(x, 0)", &|_| String::new()),
        ("'<' || x || '>'", &|text| format!("<{}>", part(text, 0, 1000))),
    ];
    for portable in [false, true] {
        let session = opened(&cells, portable);
        for (function, made) in functions {
            let texts: Vec<String> = cells.iter().flatten().map(|text| made(text)).collect();
            let mut different: Vec<&String> =
                texts.iter().filter(|text| !text.contains('\0') && text.len() < 100).collect();
            different.sort_unstable();
            different.dedup();
            let condition = |text: &&String| format!("{function} = '{}'", text.replace('\'', "''"));
            let conditions: Vec<String> = different.iter().map(condition).collect();
            let conditions: Vec<&str> = conditions.iter().map(String::as_str).collect();
            let same = |text: &&String| texts.iter().filter(|other| other == text).count() as f64;
            let same: Vec<f64> = different.iter().map(same).collect();
            assert_eq!(counts(&session, &conditions), same, "{function}");
            let null = format!("{function} IS NULL");
            assert_eq!(counts(&session, &[&null]), [1.0], "{function}");
        }
        let long = cells.iter().flatten().filter(|text| text.chars().count() >= 5000).count();
        let rows = counts(
            &session,
            &[
                "length(x) >= 5000",
                "char_length(x) = 3",
                "character_length(x) = 0",
                "length(x) IS NULL",
            ],
        );
        let three = cells.iter().flatten().filter(|text| text.chars().count() == 3).count();
        assert_eq!(rows, [long as f64, three as f64, 1.0, 1.0]);
        let rows = counts(
            &session,
            &["concat(x, y) IS NULL", "x || y IS NULL", "coalesce(x, 'none') = 'none'"],
        );
        assert_eq!(rows, [0.0, 2.0, 1.0]);
    }
}
#[test]
fn functions_of_texts_make_keys() {
    let cells: Vec<Option<String>> = (0..600)
        .map(|k| Some(["Ab-1", "AB-2", " cd-1 ", "rare"][if k == 599 { 3 } else { k % 3 }]))
        .map(|text| text.map(String::from))
        .collect();
    for portable in [false, true] {
        let session = opened(&cells, portable);
        let grouped = |key: &str| {
            let sql = format!("SELECT {key} AS k, COUNT(*) AS n FROM people GROUP BY 1 ORDER BY 1");
            let budget = Budget::epsilon_delta(1e8, 1e-3).unwrap();
            let answer = session.query(&sql).unwrap().spending(budget).release().unwrap();
            let text = crate::answer::printed(&answer.table).unwrap();
            let lines = text.lines().filter(|line| line.starts_with('|')).skip(1);
            lines.map(|line| line.replace(' ', "")).collect::<Vec<_>>()
        };
        assert_eq!(grouped("lower(left(trim(x), 2))"), ["|ab|400|", "|cd|199|"]);
        assert_eq!(grouped("substr(trim(x), 4, 1)"), ["|1|399|", "|2|200|"]);
        assert_eq!(grouped("upper(x) LIKE '%-1%'"), ["|false|201|", "|true|399|"]);
        assert_eq!(grouped("length(trim(x))"), ["|4|600|"]);
    }
}
/// An attack: a text beyond ASCII changes how the texts of other rows are read, because the engine
/// has a faster code path for batches of ASCII. The counts of the other rows must not change.
#[test]
fn one_row_does_not_change_the_texts_of_other_rows() {
    let ascii: Vec<Option<String>> = texts()
        .into_iter()
        .filter(|text| text.as_ref().is_none_or(|text| text.is_ascii()))
        .collect();
    let conditions = [
        "x ILIKE 'K%'",
        "x ILIKE '%S'",
        "x ILIKE '%s%'",
        "x ILIKE 'abc'",
        "x ILIKE 'a%C'",
        "lower(x) = 'abc'",
        "upper(x) = 'ABC'",
        "substr(x, 2, 40) = 'bc'",
        "substr(x, 40) = ''",
        "length(x) = 3",
        "left(x, 1) = 'a'",
        "trim(x) = 'abc'",
        "x || 'Ä' LIKE '%cÄ'",
        "x LIKE 'a%'",
        "x LIKE '%c'",
    ];
    for portable in [false, true] {
        let alone = counts(&opened(&ascii, portable), &conditions);
        for other in ["\u{212a}", "ſ", "Ä", "日本語", "\u{130}"] {
            let with = [&ascii[..], &[Some(other.to_owned())]].concat();
            let more = counts(&opened(&with, portable), &conditions);
            let only = counts(&opened(&[Some(other.to_owned())], portable), &conditions);
            let sum: Vec<f64> = alone.iter().zip(&only).map(|(a, b)| a + b).collect();
            assert_eq!(more, sum, "{other}");
        }
    }
}
/// An attack: `||` of the engine fails if the texts of a batch have 2^31 bytes together. So one
/// long text would decide whether the query of all rows fails. With [`LONGEST_PART`], a long text
/// has no effect on the other rows.
///
/// [`LONGEST_PART`]: crate::sql::texts::LONGEST_PART
#[test]
fn long_texts_do_not_affect_other_rows() {
    // All long texts are in the same memory.
    let mut cells = StringViewBuilder::new();
    let block = cells.append_block("x".repeat(40_000_000).into_bytes().into());
    for _ in 0..60 {
        cells.try_append_view(block, 0, 40_000_000).unwrap();
    }
    cells.append_value("a");
    let x: ArrayRef = Arc::new(cells.finish());
    let batch = RecordBatch::try_from_iter([("x", x)]).unwrap();
    let table = Table::private(PrivacyUnit::rows(1)).with("x", Column::new(Type::Text));
    let source = Source::Batches(vec![batch]);
    let session = Session::new(metadata(table), vec![("people".into(), source)]).unwrap();
    let conditions = ["length(x || x || x) = 3000", "length(concat(x, x)) = 2"];
    assert_eq!(counts(&session, &conditions), [60.0, 1.0]);
    // The control: without the limit, the engine fails.
    let run = |text: &str| {
        session.engine.run(&format!("SELECT CAST(length({text}) AS VARCHAR) FROM people"))
    };
    assert!(run("x || 'a'").is_err() && run("left(x, 1000) || 'a'").is_ok());
}
#[test]
fn only_the_start_of_a_long_text_gets_another_case() {
    let session = opened(&[Some("x".repeat(10_000_005)), Some("a".into())], false);
    let conditions = ["length(upper(x)) = 10000000", "length(lower(x)) = 1"];
    assert_eq!(counts(&session, &conditions), [1.0, 1.0]);
}
/// Run the example of the README.
#[test]
fn the_example_of_the_readme_is_answered() {
    let readme = include_str!("../../README.md");
    let section = readme.split_once("These metadata and queries are an example:").unwrap().1;
    let block = |kind: &str| {
        let rest = section.split_once(&format!("```{kind}\n")).unwrap().1;
        rest.split_once("```").unwrap().0
    };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("study.toml"), block("toml")).unwrap();
    let row = |k: usize| {
        let (month, day) = (1 + k % 12, 1 + k % 28);
        format!("2024-{month:02}-{day:02},2024-{month:02}-{day:02} 09:30:00, New York\n")
    };
    let rows: String = (0..3000).map(row).collect();
    let csv = format!("day,arrived,town\n{rows}");
    std::fs::write(folder.path().join("visits.csv"), csv).unwrap();
    let session = Session::open(folder.path().join("study.toml")).unwrap();
    let queries: Vec<&str> = block("sql").split(';').filter(|sql| !sql.trim().is_empty()).collect();
    assert_eq!(queries.len(), 6);
    let asked = |sql: &str| {
        let budget = match sql.contains("lower(") {
            true => Budget::epsilon_delta(0.8, 1e-6).unwrap(),
            false => Budget::epsilon(0.8).unwrap(),
        };
        session.query(sql).unwrap().spending(budget).release().unwrap().table
    };
    let tables: Vec<RecordBatch> = queries.into_iter().map(asked).collect();
    assert_eq!(tables.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [12, 7, 1, 1, 1, 1]);
    let hour = numbers(&tables[2])[0][0];
    assert!((hour - 9.0).abs() < 2.0, "{hour}");
}
#[test]
fn other_functions_and_patterns_are_refused() {
    let session = opened(&texts(), false);
    let many = ["x"; 11].join(" || ");
    let long = format!("x LIKE '{}'", "a".repeat(1001));
    for (condition, part) in [
        ("reverse(x) = 'a'", "use clamp, abs"),
        ("repeat(x, 5) = 'a'", "lower, upper, trim"),
        ("right(x, 2) = 'a'", "right()"),
        ("split_part(x, '-', 1) = 'a'", "split_part()"),
        ("replace(x, 'a', 'b') = 'a'", "replace()"),
        ("x SIMILAR TO 'a+'", "use LIKE or ILIKE"),
        ("x LIKE y", "not a literal"),
        ("x LIKE 'a!%' ESCAPE '!'", "ESCAPE"),
        ("x LIKE 'a\\'", "ends in a backslash"),
        (&long, "at most 1000 bytes"),
        ("n LIKE 'a'", ""),
        ("substr(x, 0) = 'a'", "from 1"),
        ("substr(x, -3) = 'a'", "from 1"),
        ("substr(x, 2, -1) = 'a'", "from 0"),
        ("substr(x, n) = 'a'", "public whole number"),
        ("left(x, -1) = 'a'", "from 0"),
        ("left(x, n) = 'a'", "public whole number"),
        ("starts_with(x, y)", "that the query states"),
        ("btrim(x, 'ab') = 'a'", "btrim()"),
        (&format!("{many} = 'a'"), "at most 10 parts"),
        ("x < 'b'", "engines order text differently"),
        ("lower(x) BETWEEN 'a' AND 'b'", "engines order text differently"),
    ] {
        let sql = format!("SELECT COUNT(*) FROM people WHERE {condition}");
        let error = session.query(&sql).unwrap_err().to_string();
        assert!(error.contains(part), "{condition}\n{error}");
    }
}
