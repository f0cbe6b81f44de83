//! Check that answers with practically no noise equal the exact answers.

use super::*;

#[test]
fn a_session_can_be_dropped_on_a_thread_of_another_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let rows = runtime.block_on(async {
        let session = session(PrivacyUnit::rows(1));
        numbers(&ask(&session, "SELECT COUNT(*) FROM people").table)
    });
    assert_eq!(rows, [[8.0]]);
}

#[test]
fn clamp_runs_on_released_values() {
    let session = session(PrivacyUnit::rows(1));
    let sql = "SELECT AVG(age), clamp(AVG(age), 0, 20), clamp(AVG(age), 0, 100), \
               clamp(AVG(age), 90, 95) FROM people";
    let found = numbers(&ask(&session, sql).table)[0].clone();
    assert!(20.0 < found[0] && found[0] < 90.0, "{found:?}");
    assert_eq!(found[1..], [20.0, found[0], 90.0]);
}
#[test]
fn steps_that_fail_on_all_numbers_are_refused_and_not_charged() {
    let mut metadata = metadata(described(PrivacyUnit::rows(1)));
    metadata.budget.epsilon = Some(1.0);
    let source = Source::Batches(vec![people()]);
    let session = Session::new(metadata, vec![("people".into(), source)]).unwrap();
    let ask =
        |sql: &str| session.query(sql).unwrap().spending(Budget::epsilon(0.25).unwrap()).release();
    for sql in [
        "SELECT COUNT(*) / 0 FROM people",
        "SELECT CAST(sex AS INT), COUNT(*) FROM people GROUP BY sex",
    ] {
        let error = ask(sql).unwrap_err();
        assert_eq!(error.kind(), "Argument", "{error}");
        assert!(error.to_string().contains("nothing was charged"), "{error}");
    }
    assert_eq!(session.remaining().unwrap().show(false), "epsilon 1");
    // The control: a question whose steps can run is answered.
    assert!(ask("SELECT COUNT(*) / 2 FROM people").is_ok());
    assert_eq!(session.remaining().unwrap().show(false), "epsilon 0.75");
}
/// Whether a divisor is 0 is known only after the release.
#[test]
fn a_release_is_not_lost_when_its_steps_fail() {
    let session = session(PrivacyUnit::rows(1));
    let answer = ask(&session, "SELECT 100 / (COUNT(*) - 8) FROM people");
    let warning = answer.document["warning"].as_str().unwrap();
    assert!(warning.contains("Divide by zero"), "{warning}");
    assert_eq!(answer.table, answer.values);
    assert_eq!(numbers(&answer.values)[0][1], 8.0);
    assert!(answer.to_string().starts_with("warning: "), "{answer}");
    assert!(answer.to_html().contains("Divide by zero"));
    // The control: with another divisor, the answer has no warning.
    let answer = ask(&session, "SELECT 100 / (COUNT(*) - 7) FROM people");
    assert!(answer.document["warning"].is_null());
    assert_eq!(numbers(&answer.table), [[100.0]]);
}
#[test]
fn counts_and_sums_of_rows() {
    let session = session(PrivacyUnit::rows(1));
    let sql = "SELECT COUNT(*), COUNT(age), COUNT(income), SUM(age), SUM(income) FROM people";
    let answer = ask(&session, sql);
    // The ages 200 and -5 and the income -3 are moved into the bounds. The income NaN is null, and
    // the infinite income is moved to 1000.
    let income = 10.5 + 1000.0 + 0.0 + 100.0 + 1.0 + 2.0;
    let expected = [8.0, 7.0, 6.0, 10.0 + 20.0 + 100.0 + 40.0 + 50.0 + 60.0, income];
    let found = numbers(&answer.table);
    for (found, expected) in found[0].iter().zip(expected) {
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }
    assert_eq!(answer.values.num_rows(), 5);
}
#[test]
fn public_keys_complete_the_answer_and_others_are_left_out() {
    let session = session(PrivacyUnit::rows(1));
    let answer = ask(&session, "SELECT COUNT(*), SUM(age) FROM people GROUP BY sex ORDER BY sex");
    // The groups are f, m and x. Rows with the key z or null are in no group.
    assert_eq!(numbers(&answer.table), [[4.0, 120.0], [2.0, 100.0], [0.0, 0.0]]);
}
#[test]
fn a_condition_is_a_public_key() {
    let session = session(PrivacyUnit::rows(1));
    let sql = "SELECT age >= 40 AS old, COUNT(*) AS n FROM people GROUP BY age >= 40 ORDER BY old";
    assert_eq!(numbers(&ask(&session, sql).table), [[0.0, 3.0], [1.0, 4.0]]);
    let sql = "SELECT CASE WHEN age < 30 THEN 1 WHEN age < 50 THEN 2 END AS class, COUNT(*) \
               FROM people GROUP BY 1 ORDER BY 1";
    assert_eq!(numbers(&ask(&session, sql).table), [[1.0, 3.0], [2.0, 1.0]]);
}
#[test]
fn averages_are_centred() {
    let session = session(PrivacyUnit::rows(1));
    let sql = "SELECT AVG(age), AVG(clamp(income, 0, 100)), AVG(age) FILTER (WHERE sex = 'x') \
               FROM people";
    let found = numbers(&ask(&session, sql).table);
    assert!((found[0][0] - 280.0 / 7.0).abs() < 1e-6);
    assert!((found[0][1] - 213.5 / 6.0).abs() < 1e-6);
    // No row has the sex `x`, so any mean within the bounds is correct.
    assert!((0.0..=100.0).contains(&found[0][2]));
}
#[test]
fn spreads_are_variances_and_their_roots() {
    let session = session(PrivacyUnit::rows(1));
    let sql = "SELECT VAR_POP(age), VAR(age), STDDEV(age), STDDEV_POP(age) FROM people";
    let found = numbers(&ask(&session, sql).table);
    let ages = [10.0_f64, 20.0, 100.0, 40.0, 50.0, 60.0, 0.0];
    let mean = ages.iter().sum::<f64>() / 7.0;
    let squares: f64 = ages.iter().map(|age| (age - mean).powi(2)).sum();
    let (population, sample) = (squares / 7.0, squares / 6.0);
    for (found, expected) in
        found[0].iter().zip([population, sample, sample.sqrt(), population.sqrt()])
    {
        assert!((found - expected).abs() < 1e-3, "{found} {expected}");
    }
}
/// The step of the lattice depends on the distance between the bounds, so values far from 0 are not
/// rounded to one number. The control is the test `spreads_are_variances_and_their_roots`, with
/// bounds near 0.
#[test]
fn means_and_spreads_are_precise_for_bounds_far_from_zero() {
    let whole = Int64Array::from_iter_values((0..20).map(|k| 1_700_000_300 + k));
    let far = Float64Array::from(vec![1e12 + 0.4; 20]);
    let near = Float64Array::from_iter_values((0..20_i32).map(|k| 1e8 + f64::from(k) / 20.0));
    let rows = RecordBatch::try_from_iter(vec![
        ("whole", Arc::new(whole) as ArrayRef),
        ("far", Arc::new(far)),
        ("near", Arc::new(near)),
    ])
    .unwrap();
    let table = Table::private(PrivacyUnit::rows(1))
        .with("whole", Column::new(Type::Integer).bounds(1.7e9, 1.7e9 + 600.0))
        .with("far", Column::new(Type::Float).bounds(1e12, 1e12 + 10.0))
        .with("near", Column::new(Type::Float).bounds(1e8, 1e8 + 1.0));
    let source = Source::Batches(vec![rows]);
    let session = Session::new(metadata(table), vec![("people".into(), source)]).unwrap();
    let sql = "SELECT STDDEV(whole), AVG(whole), AVG(far), VAR(near) FROM people";
    let found = numbers(&ask(&session, sql).table);
    // The sample variance of 0, 1, ..., 19 is 35.
    let expected = [35f64.sqrt(), 1.7e9 + 309.5, 1e12 + 0.4, 35.0 / 400.0];
    for (found, expected) in found[0].iter().zip(expected) {
        assert!((found - expected).abs() < 1e-3, "{found} {expected}");
    }
}
#[test]
fn quantiles_are_candidates() {
    let session = session(PrivacyUnit::rows(1));
    let sql = "SELECT MEDIAN(age), quantile(age, 0.9), MIN(age), MAX(age) FROM people";
    let found = numbers(&ask(&session, sql).table);
    assert_eq!(found[0][0], 40.0);
    assert!((60.0..=100.0).contains(&found[0][1]), "{found:?}");
    assert!(found[0][2] <= 10.0 && found[0][3] >= 60.0, "{found:?}");
}
#[test]
fn null_ids_are_dropped_and_ids_are_counted_once() {
    let session = session(PrivacyUnit::id("pid", 4));
    let sql = "SELECT COUNT(*), COUNT(DISTINCT pid) FROM people";
    assert_eq!(numbers(&ask(&session, sql).table), [[6.0, 4.0]]);
}
#[test]
fn an_id_keeps_at_most_its_rows_and_groups() {
    let single = session(PrivacyUnit::id("pid", 1));
    assert_eq!(numbers(&ask(&single, "SELECT COUNT(*) FROM people").table), [[4.0]]);
    let groups =
        session(PrivacyUnit { max_rows: None, ..PrivacyUnit::id("pid", 1) }.per_group(1, 1));
    // Person 1 has rows in f and in m. This person is counted in only one of these groups.
    let answer = ask(&groups, "SELECT COUNT(*) FROM people GROUP BY sex ORDER BY sex");
    let found = numbers(&answer.table);
    assert_eq!(found.iter().map(|row| row[0]).sum::<f64>(), 3.0);
    assert!(found[0][0] <= 2.0);
}
#[test]
fn expressions_are_total() {
    let session = session(PrivacyUnit::rows(1));
    let sql = "SELECT SUM(clamp(income / (age - 10), -5, 5)), SUM(clamp(abs(income) * 1e99 * 1e99, 0, 1)), \
               SUM(clamp(coalesce(nullif(age, 20), 7), 0, 10)) FROM people";
    let found = numbers(&ask(&session, sql).table);
    // The quotients 10.5/0 and NaN/10 are null. A quotient is also null if the age or the income is
    // null. The other quotients are inf/190, 100/40, 1/50 and 2/-15.
    let quotients = 5.0 + 100.0 / 40.0 + 1.0 / 50.0 - 2.0 / 15.0;
    assert!((found[0][0] - quotients).abs() < 1e-6, "{found:?}");
    assert!((found[0][1] - 6.0).abs() < 1e-6, "{found:?}");
    assert!((found[0][2] - (10.0 + 7.0 + 10.0 + 7.0 + 10.0 * 3.0 + 0.0)).abs() < 1e-6, "{found:?}");
}
#[test]
fn zero_has_no_sign() {
    let session = session(PrivacyUnit::rows(1));
    // The age 10 gives a product and a quotient of 0. A division by this product is null.
    let sql = "SELECT COUNT(*) FILTER (WHERE (age - 10) * -1 IN (0, 7)), \
               COUNT(*) FILTER (WHERE (age - 10) / -5 IN (0, 7)), \
               COUNT(*) FILTER (WHERE (age - 10) * -1 < 0), \
               SUM(clamp(1 / ((age - 10) * -1), -5, 5)) FROM people";
    let found = numbers(&ask(&session, sql).table);
    let counts = [1.0, 1.0, 5.0];
    for (found, expected) in found[0].iter().zip(counts) {
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }
    let ages = [20.0, 200.0, 40.0, 50.0, 60.0, -5.0];
    let quotients: f64 = ages.iter().map(|age| 1.0 / (10.0 - age)).sum();
    assert!((found[0][3] - quotients).abs() < 1e-6, "{found:?}");
}
#[test]
fn subqueries_and_ctes_are_row_wise() {
    let session = session(PrivacyUnit::rows(1));
    let sql = "WITH grown AS (SELECT age + 1 AS older, sex FROM people WHERE sex IN ('f', 'm')) \
               SELECT COUNT(*) AS n, SUM(clamp(older, 0, 50)) AS s \
               FROM (SELECT * FROM grown WHERE older > 11) AS g";
    let found = numbers(&ask(&session, sql).table);
    assert_eq!(found[0][0], 4.0);
    assert!((found[0][1] - (21.0 + 50.0 + 41.0 + 50.0)).abs() < 1e-6, "{found:?}");
}
#[test]
fn the_rest_of_a_query_computes_with_released_values() {
    let session = session(PrivacyUnit::rows(1));
    let sql = "SELECT sex, 2 * COUNT(*) AS twice FROM people GROUP BY sex \
               HAVING COUNT(*) > 1 ORDER BY twice DESC LIMIT 1";
    let answer = ask(&session, sql);
    assert_eq!(answer.table.num_rows(), 1);
    assert_eq!(numbers(&answer.table)[0][1], 8.0);
    // `values` lists all released values, even values that the table leaves out.
    assert_eq!(answer.values.num_rows(), 3);
}
/// If a sum, a difference or a product of integers is too large for its type, the engine alone
/// would return a wrong number.
#[test]
fn released_integers_do_not_wrap() {
    let session = session(PrivacyUnit::rows(1));
    let integer = |answer: &Answer| {
        let schema = answer.table.schema();
        let name = schema.field(0).name();
        assert!(!name.contains("CAST") && !name.contains("Decimal"), "{name}");
        answer.table.column(0).as_primitive::<Int64Type>().value(0)
    };
    // There are 8 rows. Before the charge, the steps are tried with a count of 2.
    for (right, expected, wrong) in [
        ("COUNT(*) * 1000000000000000000", 8 * 10_i64.pow(18), "COUNT(*) * 3000000000000000000"),
        ("COUNT(*) + 9223372036854775799", i64::MAX, "COUNT(*) + 9223372036854775800"),
        ("-9223372036854775800 - COUNT(*)", i64::MIN, "-9223372036854775801 - COUNT(*)"),
        ("COUNT(*) * (2 - COUNT(*)) + 1", -47, "(2 + COUNT(*)) * COUNT(*) * 1000000000000000000"),
    ] {
        let answer = ask(&session, &format!("SELECT {right} FROM people"));
        assert_eq!(integer(&answer), expected, "{right}");
        let answer = ask(&session, &format!("SELECT {wrong} FROM people"));
        assert!(answer.document["warning"].is_string(), "{answer}");
        assert_eq!(answer.table, answer.values);
    }
    // The sum of a window does not wrap either. The counts of the groups are 4, 2 and 0.
    for (factor, fits) in [(10_i64.pow(18), true), (16 * 10_i64.pow(17), false)] {
        let total = format!("SUM(COUNT(*) * {factor}) OVER (ORDER BY sex) - 1");
        let sql = format!("SELECT {total}, {total} AS s FROM people GROUP BY sex ORDER BY sex");
        let answer = ask(&session, &sql);
        assert_eq!(answer.document["warning"].is_null(), fits, "{answer}");
        if fits {
            assert_eq!(integer(&answer), 4 * factor - 1);
            let sums = answer.table.column(1).as_primitive::<Int64Type>();
            assert_eq!(sums.values(), &[4 * factor - 1, 6 * factor - 1, 6 * factor - 1]);
        }
    }
    // These steps fail before the charge.
    let before = session.remaining().unwrap();
    let question = session.query("SELECT COUNT(*) * 9223372036854775807 FROM people").unwrap();
    let error = question.spending(plenty()).release().unwrap_err().to_string();
    assert!(error.contains("nothing was charged"), "{error}");
    assert_eq!(session.remaining().unwrap(), before);
}
#[test]
fn a_table_that_is_read_twice_counts_twice() {
    let session = session(PrivacyUnit::rows(1));
    let sql = "SELECT COUNT(*) FROM (SELECT age FROM people UNION ALL SELECT age FROM people) AS b";
    let question = session.query(sql).unwrap().spending(Budget::epsilon(1.0).unwrap());
    assert_eq!(question.explain().unwrap().releases[0].sensitivity, Some(2.0));
    assert_eq!(numbers(&ask(&session, sql).table), [[16.0]]);
    let ids = super::session(PrivacyUnit::id("pid", 3));
    let question = ids.query(sql).unwrap().spending(Budget::epsilon(1.0).unwrap());
    assert_eq!(question.explain().unwrap().releases[0].sensitivity, Some(3.0));
    assert_eq!(numbers(&ask(&ids, sql).table), [[3.0 + 2.0 * 3.0]]);
}
#[test]
fn the_cost_is_known_before_and_the_budget_is_spent_once() {
    let mut metadata = metadata(described(PrivacyUnit::rows(1)));
    metadata.budget.epsilon = Some(1.0);
    metadata.queries = Some(2);
    let sources = vec![("people".into(), Source::Batches(vec![people()]))];
    let session = Session::new(metadata, sources).unwrap();
    let ask = || session.query("SELECT COUNT(*), SUM(age) FROM people").unwrap();
    let explained = ask().explain().unwrap();
    assert_eq!(explained.releases.len(), 2);
    assert_eq!(explained.releases[0].scale, 4.0);
    assert_eq!(explained.releases[1].scale, 400.0);
    assert_eq!(explained.loss.show(true), "epsilon 0.5");
    assert_eq!(session.remaining().unwrap().show(false), "epsilon 1");
    let answer = ask().release().unwrap();
    assert_eq!(answer.document["left"]["epsilon"], "0.5");
    ask().release().unwrap();
    assert_eq!(ask().release().unwrap_err().kind(), "BudgetExceeded");
}
#[test]
fn a_rho_pays_for_gaussian_noise() {
    let mut metadata = metadata(described(PrivacyUnit::id("pid", 4)));
    metadata.budget.epsilon = None;
    metadata.budget.rho = Some(0.5);
    let sources = vec![("people".into(), Source::Batches(vec![people()]))];
    let session = Session::new(metadata, sources).unwrap();
    let question = session.query("SELECT COUNT(*) FROM people GROUP BY sex").unwrap();
    let question = question.spending(Budget::rho(0.5).unwrap());
    let explained = question.explain().unwrap();
    assert!(explained.releases[0].mechanism.starts_with("make_gaussian"));
    assert_eq!(explained.releases[0].scale, 4.0);
    question.release().unwrap();
    assert!(session.remaining().unwrap().show(false).starts_with("rho 0"));
}
#[test]
fn a_mechanism_is_named_as_in_the_registry() {
    let session = session(PrivacyUnit::rows(1));
    let question = session.query("SELECT COUNT(*) FROM people").unwrap();
    let question = question.spending(Budget::epsilon(1.0).unwrap()).mechanism("make_nothing");
    assert_eq!(question.explain().unwrap_err().kind(), "NotFound");
    let question = session.query("SELECT COUNT(*) FROM people").unwrap();
    let question = question.spending(Budget::epsilon(0.5).unwrap());
    let question = question.mechanism("make_base_discrete_laplace<MO=MaxDivergence>");
    let explained = question.explain().unwrap();
    assert_eq!(
        (explained.releases[0].scale, explained.loss.show(true)),
        (2.0, "epsilon 0.5".into())
    );
    question.release().unwrap();
}
#[test]
fn a_question_in_rust_means_what_it_means_in_sql() {
    use crate::functions::{clamp, quantile};
    use datafusion::functions_aggregate::expr_fn::{avg, count, sum};
    use datafusion::prelude::{col, lit};
    let session = session(PrivacyUnit::id("pid", 2));
    let frame = session.table("people").unwrap();
    let frame = frame.filter(col("age").gt(lit(10_i64))).unwrap();
    let aggregates = vec![
        count(lit(1_i64)),
        avg(col("age")),
        sum(clamp(col("income"), 0.0, 10.0)),
        quantile(col("age"), 0.5),
    ];
    let frame = frame.aggregate(vec![col("sex")], aggregates).unwrap();
    let question = session.ask(frame).unwrap().spending(plenty());
    let sql = "SELECT sex, COUNT(*), AVG(age), SUM(clamp(income, 0, 10)), quantile(age, 0.5) \
               FROM people WHERE age > 10 GROUP BY sex";
    assert_eq!(question.digest(), session.query(sql).unwrap().digest());
    assert_eq!(question.release().unwrap().table.num_rows(), 3);
    assert_eq!(session.table("nobody").unwrap_err().kind(), "NotFound");
}
#[test]
fn deeply_nested_expressions_end_in_an_answer_or_an_error() {
    let session = session(PrivacyUnit::rows(1));
    for depth in [2, 5, 8, 12, 20, 60, 400] {
        let sum = format!("{}age{}", "(1.5 * ".repeat(depth), ")".repeat(depth));
        let condition = format!("{}age > 3{}", "NOT (".repeat(depth), ")".repeat(depth));
        let sql = format!("SELECT SUM(clamp({sum}, 0, 9)) FROM people WHERE {condition}");
        let question = session.query(&sql).map(|question| question.spending(plenty()));
        let answered = question.and_then(|question| question.release());
        assert!(answered.is_ok() || depth > 5, "{depth}: {:?}", answered.err());
    }
}
/// The printed tables are for people. The release document has the names of the engine.
#[test]
fn printed_headings_are_short_and_have_no_types_of_the_engine() {
    let session = session(PrivacyUnit::rows(1));
    let long = "SUM(CASE WHEN town = 'a' THEN 1 WHEN town = 'b' THEN 2 ELSE 0 END)";
    let answer =
        ask(&session, &format!("SELECT {long}, quantile(age, 0.5), AVG(age * 2) FROM people"));
    let text = answer.to_string();
    for part in
        ["| sum(CASE WHEN people.town = 'a' THEN 1 WHEN people.town ... |", "(people.age,0.5)"]
    {
        assert_eq!(text.matches(part).count(), if part.starts_with('|') { 2 } else { 3 }, "{text}");
    }
    assert!(!text.contains("Int64") && !text.contains("Float64"), "{text}");
    let explained = session.query(&format!("SELECT {long} FROM people")).unwrap();
    let explanation = explained.spending(plenty()).explain().unwrap();
    assert!(explanation.releases[0].what.contains("Int64(1)"));
    assert!(explanation.to_string().contains("THEN 1 WHEN"), "{explanation}");
    assert!(answer.document.to_string().contains("Int64(1)"));
}
