//! Tests of the mistakes in the table `mistakes.json`. The table states the answer of the command
//! to each mistake. The tests of the Python package read the same table.
//!
//! A row of the table can contain an input space and a chain, or the text of an invalid document.
//! If such a row states no command, the command is `map`.

use serde_json::{Value as Json, json};

use crate::Desk;

const TABLE: &str = include_str!("../mistakes.json");
/// The number types. A message may list at most five of these types.
const TYPES: [&str; 12] =
    ["f64", "f32", "i8", "i16", "i32", "i64", "i128", "u8", "u16", "u32", "u64", "IBig"];

fn text<'r>(row: &'r Json, key: &str) -> Option<&'r str> {
    row.get(key).map(|value| value.as_str().unwrap())
}
/// Write the document of a row, if the row has a document.
fn document(table: &Json, row: &Json) -> Option<String> {
    if let Some(chain) = row.get("chain") {
        let space = &table["spaces"][text(row, "space").unwrap()];
        assert!(space.is_object(), "no such space: {row}");
        return Some(json!({"space": space, "chain": chain}).to_string());
    }
    text(row, "text").map(str::to_owned)
}
/// Run the command with the mistake of a row. Return the answer up to the first empty line, because
/// the text after this line is the usage of the command.
fn answer(table: &Json, row: &Json) -> Option<String> {
    let document = document(table, row);
    let command = text(row, "command");
    let command = command.or(document.as_ref().map(|_| "map -p p.json --d-in 2"))?;
    let desk = Desk::new();
    desk.file("x.csv", "age,sex\n1,1\n2,1\n");
    desk.file("p.json", document.unwrap_or_default());
    let words: Vec<&str> = command.split(' ').collect();
    let code = row.get("code").map_or(1, |code| code.as_i64().unwrap());
    let said = desk.fails(&words, code.try_into().unwrap());
    let said = said.split("\n\n").next().unwrap_or(&said);
    Some(said.trim_end().to_owned())
}

#[test]
fn each_mistake_of_the_table_is_answered_as_it_says() {
    let table: Json = serde_json::from_str(TABLE).unwrap();
    let (mut wrong, mut both) = (Vec::new(), 0);
    for row in table["mistakes"].as_array().unwrap() {
        let Some(said) = answer(&table, row) else {
            assert!(row.get("python").is_some(), "nothing makes this mistake: {row}");
            continue;
        };
        both += usize::from(row.get("python").is_some());
        if text(row, "answer") != Some(&said) {
            wrong.push(json!({"mistake": row["mistake"], "answer": said}).to_string());
        }
        let listed = TYPES.iter().filter(|name| said.contains(&format!("`{name}`"))).count();
        assert!(said.lines().count() <= 3 && said.len() < 500 && listed <= 5, "too long: {said}");
    }
    assert!(40 <= both, "only {both} mistakes are made both in the command and in Python");
    assert!(
        wrong.is_empty(),
        "these answers differ from mistakes.json; read them, and write them there:\n{}",
        wrong.join("\n")
    );
}
