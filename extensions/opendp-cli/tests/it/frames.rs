//! Tests of tables of several columns.

use serde_json::{Value as Json, json};

use crate::Desk;

/// Return the cells of one person as texts of a CSV table. One person in nine has no income, and
/// one in ten has an age that does not parse. Names have commas and quotes.
pub(crate) fn person(i: u64) -> [String; 4] {
    let name = format!("\"Person {i}, \"\"the {}th\"\"\"", i % 7);
    let age = if i % 10 == 3 { "unknown".into() } else { (i * 37 % 90).to_string() };
    let region = ["north", " south ", "east"][(i % 3) as usize].into();
    let income =
        if i % 9 == 4 { String::new() } else { format!("{}.25", i.wrapping_mul(7919) % 60_000) };
    [name, age, region, income]
}
pub(crate) fn table(rows: u64) -> String {
    let lines = (0..rows).map(|i| person(i).join(","));
    std::iter::once("name,age,region,income".to_owned()).chain(lines).collect::<Vec<_>>().join("\n")
}
fn atom(t: &str) -> Json {
    json!({"atom_domain": {"T": t}})
}
/// Return a pipeline that applies a chain to frames. `frame` describes the domain of the frames.
pub(crate) fn pipeline(frame: Json, chain: Json) -> String {
    json!({
        "space": {"domain": {"dataframe_domain": frame}, "metric": "symmetric_distance"},
        "chain": chain,
    })
    .to_string()
}
pub(crate) fn people() -> Json {
    json!({
        "col_names": ["age", "region", "income"],
        "element_domains": [
            atom("i64"), atom("String"), {"option_domain": {"element_domain": atom("f64")}},
        ],
    })
}
/// Return a chain that sums the incomes of the region "north".
pub(crate) fn incomes() -> Json {
    json!([
        {"df_is_equal": {"column_name": "region", "value": "north"}},
        {"subset_by": {"indicator_column": "region", "keep_columns": ["age", "income"]}},
        {"select_column": {"key": "income", "TOA": "Option<f64>"}},
        {"impute_constant": {"constant": 1000.0}},
        {"clamp": {"bounds": [0.0, 50_000.0]}},
        "sum",
        {"laplace": {"scale": 0.0}},
    ])
}
pub(crate) fn release(desk: &Desk, pipeline: &str, table: &str) -> Json {
    let report = desk.says(&[
        "run",
        "-p",
        pipeline,
        "--data",
        table,
        "--d-in",
        "1",
        "--json",
        "--allow-infinite-loss",
    ]);
    serde_json::from_str::<Json>(&report).unwrap()["release"].clone()
}

#[test]
fn a_frame_reads_the_columns_that_it_names() {
    let desk = Desk::new();
    desk.file("incomes.json", pipeline(people(), incomes()));
    // The table has more rows than a chunk.
    let rows = 20_000;
    desk.file("people.csv", table(rows));
    let income = |i| person(i)[3].parse().unwrap_or(1000.0_f64).clamp(0.0, 50_000.0);
    let north = (0..rows).filter(|i| i % 3 == 0);
    assert_eq!(release(&desk, "incomes.json", "people.csv"), json!(north.map(income).sum::<f64>()));
    let text = desk.says(&["map", "-p", "incomes.json", "--d-in", "1"]);
    assert_eq!(text, "\"Infinity\"");
}
#[test]
fn a_cell_is_read_by_the_rule_of_its_column() {
    let desk = Desk::new();
    // If the domain of the ages contains numbers without bounds, a cell that does not parse is read
    // as 0. If the domain contains texts, which are cast to numbers later, the cast gives 0 for
    // such a cell. If the domain has the bounds 18 and 65, such a cell is read as 18, the bound
    // that is nearest to 0. Then each age outside of these bounds is also read as the nearest
    // bound.
    let ages = |cells: Json, rest: Json| {
        let mut chain = vec![json!({"select_column": {"key": "age", "TOA": "i64"}})];
        chain.extend(rest.as_array().unwrap().clone());
        if cells == atom("String") {
            let cast =
                json!({"df_cast_default": {"column_name": "age", "TIA": "String", "TOA": "i64"}});
            chain.insert(0, cast);
        }
        pipeline(json!({"col_names": ["age"], "element_domains": [cells]}), Json::Array(chain))
    };
    let sum = json!([{"clamp": {"bounds": [0, 1000]}}, "sum", {"laplace": {"scale": 0.0}}]);
    desk.file("numbers.json", ages(atom("i64"), sum.clone()));
    desk.file("text.json", ages(atom("String"), sum));
    let bounded = json!({"atom_domain": {"T": "i64", "bounds": [18, 65]}});
    desk.file("bounded.json", ages(bounded, json!(["sum", {"laplace": {"scale": 0.0}}])));
    desk.file("people.csv", table(500));
    let age = |i: u64| person(i)[1].parse::<i64>();
    let read: i64 = (0..500).map(|i| age(i).unwrap_or(0)).sum();
    assert_eq!(release(&desk, "numbers.json", "people.csv"), json!(read));
    assert_eq!(release(&desk, "text.json", "people.csv"), json!(read));
    let moved: i64 = (0..500).map(|i| age(i).unwrap_or(18).clamp(18, 65)).sum();
    assert_eq!(release(&desk, "bounded.json", "people.csv"), json!(moved));
}
#[test]
fn a_pipeline_that_needs_its_data_whole_gets_the_whole_frame() {
    let desk = Desk::new();
    let whole = json!([
        {"select_column": {"key": "age", "TOA": "i64"}},
        "ordered_random",
        {"clamp": {"bounds": [0, 1000]}},
        "sum",
        {"laplace": {"scale": 0.0}},
    ]);
    desk.file("whole.json", pipeline(people(), whole));
    desk.file("people.csv", table(20_000));
    let ages: i64 = (0..20_000).map(|i| person(i)[1].parse().unwrap_or(0)).sum();
    assert_eq!(release(&desk, "whole.json", "people.csv"), json!(ages));
    desk.file("nobody.csv", "name,age,region,income\n");
    assert_eq!(release(&desk, "whole.json", "nobody.csv"), json!(0));
}
#[test]
fn hostile_lines_are_rows() {
    let desk = Desk::new();
    let count = json!([
        {"select_column": {"key": "region", "TOA": "String"}},
        {"count_by_categories": {"categories": ["north", "", "a,b"]}},
        {"laplace": {"scale": 0.0}},
    ]);
    desk.file("count.json", pipeline(people(), count));
    let table = b"region,income,age\nnorth,1,2\n\n\"a,b\",x,1e999\n\"never closed\n\xff,\xfe,3\n,,,,,\nnorth";
    desk.file("hostile.csv", table);
    assert_eq!(release(&desk, "count.json", "hostile.csv"), json!([2, 3, 1, 1]));
}
#[test]
fn errors_name_the_column_and_how_its_cells_are_read() {
    let desk = Desk::new();
    desk.file("people.csv", "name,age,income\nAda,36,1\n");
    desk.file("incomes.json", pipeline(people(), incomes()));
    let run = |pipeline: &str, table: &str, more: &[&str]| {
        let run = ["run", "-p", pipeline, "--data", table, "--allow-infinite-loss"];
        desk.fails(&[&run[..], more].concat(), 1)
    };
    let text = run("incomes.json", "people.csv", &[]);
    assert!(text.contains("`region`") && text.contains("String"), "{text}");
    assert!(text.contains("3 columns") && !text.contains("income") && !text.contains("Ada"));
    let text = run("incomes.json", "people.csv", &["--column", "age"]);
    assert!(text.contains("argument `column`") && text.contains("dataframe_domain"), "{text}");
    desk.file("twice.csv", "age,income,region,age\n36,1,north,37\n");
    let text = run("incomes.json", "twice.csv", &[]);
    assert!(text.contains("`age` twice"), "{text}");
    // First select a column that is not in the schema. Then select a column with a type that
    // differs from its type in the schema.
    let select = |key: &str, t: &str| json!([{"select_column": {"key": key, "TOA": t}}, "count"]);
    desk.file("absent.json", pipeline(people(), select("height", "i64")));
    let text = run("absent.json", "people.csv", &[]);
    assert!(text.contains("`select_column`: key") && text.contains("i64"), "{text}");
    assert!(text.contains("found `height`") && text.contains("`income`: Option<f64>"), "{text}");
    desk.file("typed.json", pipeline(people(), select("age", "bool")));
    let text = run("typed.json", "people.csv", &[]);
    assert!(
        text.contains("bool") && text.contains("`age`, the name of a column of type i64"),
        "{text}"
    );
    // If the domain lists no columns, the columns to read are unknown. So the error asks for
    // `col_names`.
    desk.file("open.json", pipeline(json!({}), json!([
        {"select_column": {"key": "age", "TOA": "i64"}}, "count", {"laplace": {"scale": 1.0}},
    ])));
    assert!(run("open.json", "people.csv", &[]).contains("col_names"));
    // If the domain states a number of rows, the table must have this number of rows.
    let mut sized = people();
    sized["size"] = json!(2);
    desk.file("sized.json", pipeline(sized, incomes()));
    desk.file("one.csv", "age,income,region\n36,1,north\n");
    assert!(run("sized.json", "one.csv", &[]).contains("size"));
}
