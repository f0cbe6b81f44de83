use super::*;

/// The number 2^53. Beyond this number, not every integer is a float.
const LARGE: i64 = 1 << 53;

/// Ask questions about the columns `x` and `y`. Both columns contain the integers `LARGE - 1`,
/// `LARGE`, `LARGE + 1` and `i64::MAX`. Return the released numbers.
fn ask(kind: &str, questions: Json) -> Result<Vec<f64>> {
    let study = Study::parse(&json!({
        "context": {
            "unit": {"person": 1}, "budget": large(),
            "columns": {"x": {"T": kind, "missing": 0}, "y": {"T": kind, "missing": 0}},
        },
        "questions": questions,
    }))?;
    let cells = [LARGE - 1, LARGE, LARGE + 1, i64::MAX];
    let read = |_: &str, kind: CellType| match kind {
        CellType::Float => Ok(Cells::Float(cells.map(|cell| Some(cell as f64)).to_vec())),
        _ => Ok(Cells::Integer(cells.map(Some).to_vec())),
    };
    let outcome = study.ask(read, 0.05)?;
    let cells = outcome.answers().iter().flat_map(|answer| &answer.cells);
    Ok(cells.map(|cell| cell.value.as_f64().unwrap()).collect())
}
fn count(condition: &str) -> Result<f64> {
    let condition: Json = serde_json::from_str(condition).unwrap();
    let counts = ask("i64", json!([{"where": {"x": condition}, "count": {}}]))?;
    Ok(counts[0])
}

#[test]
fn conditions_on_integers_are_exact() {
    for (condition, wanted) in [
        (r#"{"at_least": 9007199254740993}"#, 2.0),
        (r#"{"below": 9007199254740993}"#, 2.0),
        (r#"{"at_least": 9007199254740992}"#, 3.0),
        (r#"{"at_least": 9007199254740992, "below": 9007199254740993}"#, 1.0),
        (r#"{"at_least": 9223372036854775807}"#, 1.0),
        (r#"{"below": 9223372036854775808}"#, 4.0),
        (r#"{"at_least": -1e30}"#, 4.0),
        (r#"{"below": 1e30}"#, 4.0),
        (r#"{"at_least": -1e30, "below": 9e15}"#, 0.0),
        (r#"{"at_least": 0.5, "below": 1e18}"#, 3.0),
        (r#"{"at_least": 1e3, "below": 4503599627370495.5}"#, 0.0),
        ("9007199254740993", 1.0),
    ] {
        assert_eq!(count(condition).unwrap(), wanted, "{condition}");
    }
    // No integer of 64 bits satisfies these conditions.
    for condition in [
        r#"{"at_least": 1e30}"#,
        r#"{"at_least": 9223372036854775808}"#,
        r#"{"below": -9223372036854775808}"#,
    ] {
        let error = count(condition).unwrap_err().to_string();
        assert!(error.contains("`x`: no cell satisfies"), "{error}");
    }
    // None of these numbers is equal to a float, so all of them are refused. `1e400` is above all
    // finite floats. Each of the other numbers lies between two neighbouring floats.
    for condition in [
        r#"{"at_least": 9007199254740993.0}"#,
        r#"{"at_least": 2251799813685248.1}"#,
        r#"{"below": 1.00000000000000001}"#,
        r#"{"below": 1e-400}"#,
        r#"{"below": 1e400}"#,
    ] {
        let error = count(condition).unwrap_err().to_string();
        assert!(error.contains("where `x`") && error.contains("float"), "{error}");
    }
}
#[test]
fn a_condition_without_an_upper_end_keeps_infinite_cells() {
    let counted = |condition: Json| {
        let study = Study::parse(&json!({
            "context": {"unit": {"person": 1}, "budget": large(),
                        "columns": {"x": {"T": "f64", "missing": 0}}},
            "questions": [{"where": {"x": condition}, "count": {}}],
        }));
        let cells = [f64::INFINITY, 3.0, f64::NEG_INFINITY].map(Some);
        let outcome = study.unwrap().ask(|_, _| Ok(Cells::Float(cells.to_vec())), 0.05).unwrap();
        outcome.answers()[0].cells[0].value.as_f64().unwrap()
    };
    assert_eq!(counted(json!({"at_least": 0})), 2.0);
    assert_eq!(counted(json!({"below": 4})), 2.0);
    assert_eq!(counted(json!({"at_least": 0, "below": 1e300})), 1.0);
}
#[test]
fn edges_and_candidates_that_floats_cannot_compare_with_integers_are_refused() {
    let (edge, small) = (LARGE as f64, (LARGE - 1) as f64);
    let questions = |number: f64| {
        let candidates = json!([0, number]);
        [
            json!([{"histogram": {"column": "x", "edges": [number]}}]),
            json!([{"median": {"column": "x", "candidates": candidates}}]),
            json!([{"quantiles": {"column": "x", "alphas": [0.1], "candidates": candidates}}]),
            json!([{"group_by": ["y"], "keys": {"y": [1]},
                    "median": {"column": "x", "candidates": candidates}}]),
        ]
    };
    for number in [edge, -edge] {
        for question in questions(number) {
            let error = ask("i64", question.clone()).unwrap_err().to_string();
            assert!(error.contains("between -2^53 and 2^53"), "{question}: {error}");
        }
    }
    // The controls: a smaller number is accepted, and a column of floats accepts the same number.
    for question in questions(small) {
        ask("i64", question).unwrap();
    }
    let [bins, ..] = questions(small);
    assert_eq!(ask("i64", bins).unwrap(), [0.0, 4.0]);
    let [bins, median, ..] = questions(edge);
    ask("f64", bins).unwrap();
    ask("f64", median).unwrap();
}
#[test]
fn a_sum_that_may_be_cut_off_has_no_interval() {
    let interval = |cells: [i64; 2]| {
        let column = json!({"T": "i64", "bounds": [-8e18, 8e18], "missing": 0});
        let study = Study::parse(&json!({
            "context": {"unit": {"person": 1}, "budget": large(), "columns": {"x": column}},
            "questions": [{"sum": {"column": "x"}}],
        }));
        let cells = Cells::Integer(cells.map(Some).to_vec());
        let outcome = study.unwrap().ask(|_, _| Ok(cells.clone()), 0.05).unwrap();
        assert!(!outcome.to_text().contains("9223372036854775807 to"));
        outcome.answers()[0].cells[0].interval
    };
    let large = 8_000_000_000_000_000_000;
    assert_eq!(interval([large, large]), None);
    assert_eq!(interval([-large, -large]), None);
    assert!(interval([large, -large]).is_some());
}
#[test]
fn a_sum_near_an_end_of_its_type_states_no_error_and_sums_of_groups_are_floats() {
    let largest = 8_999_999_999_999_999_000_i64;
    let study = Study::parse(&json!({
        "context": {"unit": {"person": 1}, "budget": large(), "columns": {
            "x": {"T": "i64", "missing": 0, "bounds": [0, largest]}, "city": "String",
        }},
        "questions": [
            {"sum": {"column": "x"}},
            {"group_by": ["city"], "keys": [["Lyon"]], "sum": {"column": "x"}},
        ],
    }));
    let read = |_: &str, kind: CellType| match kind {
        CellType::Integer => Ok(Cells::Integer(vec![Some(largest); 2])),
        _ => Ok(Cells::Text(vec![Some("Lyon".to_owned()); 2])),
    };
    let outcome = study.unwrap().ask(read, 0.05).unwrap();
    for outcome in [&outcome, &Outcome::parse(&outcome.to_json()).unwrap()] {
        let [whole, groups] = outcome.answers() else { panic!() };
        // The sum is cut off at the largest integer. The probability of noise above 30 scales is
        // below 1e-13.
        let near = |value: f64, answer: &StudyAnswer, exact: f64| {
            assert!((value - exact).abs() <= 30.0 * answer.scales[0], "{value} {exact}");
        };
        near(whole.cells[0].value.as_f64().unwrap(), whole, i64::MAX as f64);
        assert_eq!((whole.error, whole.cells[0].interval), (None, None));
        assert!(outcome.to_text().contains("9.223e18  not known"), "{}", outcome.to_text());
        // The sum of the group exceeds the largest integer of 64 bits.
        let (low, high) = groups.cells[0].interval.unwrap();
        near(low.midpoint(high), groups, 1.8e19);
    }
    // An outcome that an older version wrote states the error of the sum.
    let mut older = outcome.to_json();
    older["answers"][0]["accuracy"] = 1.0.into();
    assert_eq!(Outcome::parse(&older).unwrap().answers()[0].error, None);
}
