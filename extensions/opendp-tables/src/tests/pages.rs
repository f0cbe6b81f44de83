//! Test the pages of answers.

use super::*;

#[test]
fn a_page_has_charts_the_budget_and_the_plan() {
    let session = session(PrivacyUnit::rows(1));
    let html =
        ask(&session, "SELECT sex, COUNT(*) AS n, AVG(age) FROM people GROUP BY sex").to_html();
    assert!(
        html.contains("<h2>n</h2>")
            && !html.contains("<h2>count(*)</h2>")
            && html.contains("<h2>avg(people.age)</h2>"),
        "{html}"
    );
    // One group has no rows, so its mean has no bar.
    assert_eq!(html.matches("<rect class=\"bar\" x=").count(), 5 + 1, "5 groups and a budget");
    assert!(html.contains("noise added; 95 % interval"));
    assert!(html.contains("GROUP BY k0") && html.contains("make_laplace"));
    let single = ask(&session, "SELECT COUNT(*) FROM people").to_html();
    assert_eq!(single.matches("class=\"chart").count(), 0, "a single number needs no chart");
}
#[test]
fn names_and_keys_are_not_markup() {
    let table = Table::private(PrivacyUnit::rows(1))
        .with("sex", Column::new(Type::Text).keys(["<script>alert(1)</script>", "m"]));
    let source = Source::Batches(vec![people()]);
    let session = Session::new(metadata(table), vec![("people".into(), source)]).unwrap();
    let sql = "SELECT sex AS \"<b>\", COUNT(*) AS \"<script>x</script>\" FROM people GROUP BY sex";
    let html = ask(&session, sql).to_html();
    assert!(!html.contains("<script") && !html.contains("<b>\""), "{html}");
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(html.contains("&lt;script&gt;x&lt;/script&gt;"));
}
/// If a column of the answer is an aggregate without further steps, the title of its chart is the
/// name of this column, even if the query has subqueries. Otherwise, the title is the name of the
/// aggregate.
#[test]
fn charts_are_named_as_in_the_answer() {
    let session = session(PrivacyUnit::rows(1));
    let sql = "SELECT sex AS who, heads AS people, weight(AVG(age), 2) AS mean_age, SUM(age) + 1 \
               AS more FROM people GROUP BY sex";
    let sql = sql.replace("heads", "COUNT(*)");
    let html = ask(&session, &sql).to_html();
    for title in ["people", "mean_age", "sum(people.age)"] {
        assert!(html.contains(&format!("<h2>{title}</h2>")), "{title}\n{html}");
    }
    let sql = "WITH c AS (SELECT sex, COUNT(*) AS heads FROM people GROUP BY sex) \
               SELECT sex, heads AS n FROM c WHERE heads > -9";
    let html = ask(&session, sql).to_html();
    assert!(html.contains("<h2>n</h2>"), "{html}");
}
#[test]
fn a_page_under_a_rho_shows_the_rho_that_is_charged() {
    let mut metadata = metadata(described(PrivacyUnit::rows(1)));
    (metadata.budget.epsilon, metadata.budget.rho) = (None, Some(0.5));
    let source = Source::Batches(vec![people()]);
    let session = Session::new(metadata, vec![("people".into(), source)]).unwrap();
    let question = session.query("SELECT COUNT(*) FROM people").unwrap();
    let html = question.spending(Budget::epsilon(0.5).unwrap()).release().unwrap().to_html();
    // An epsilon of 0.5 is charged as a rho of at most 0.5^2 / 2.
    let left = session.remaining().unwrap().show(false);
    assert!(left.starts_with("rho 0.3"), "{left}");
    assert!(html.contains("rho") && !html.contains("epsilon 0.375"), "{html}");
}
#[test]
fn the_text_and_the_document_state_the_limits() {
    for (unit, kept) in [(PrivacyUnit::id("pid", 1), true), (PrivacyUnit::rows(1), false)] {
        let answer = ask(&session(unit), "SELECT COUNT(*) FROM people");
        let (text, html) = (answer.to_string(), answer.to_html());
        assert!(text.contains("\nnote: uses rows of an individual: at most 1"), "{text}");
        let limit = "the answer describes only the rows within these limits. Each query draws \
                     these rows at random again, and intervals do not include the error of this \
                     choice";
        assert_eq!((text.contains(limit), html.contains(limit)), (kept, kept), "{text}");
        let contribution = answer.document["contribution"].as_str().unwrap();
        assert_eq!(answer.document["notes"][0], format!("uses {contribution}"));
        assert!(!text.contains("| mark"), "{text}");
    }
}
/// The scale of a mean or a variance is the scale of one of its sums.
#[test]
fn a_scale_says_what_it_is_the_scale_of() {
    let session = session(PrivacyUnit::rows(1));
    let text = ask(&session, "SELECT AVG(age), VAR(age), SUM(age) FROM people").to_string();
    let notes = [
        "note: the scale of avg(people.age) is the scale of the noise of its sum; ",
        "note: the scale of var(people.age) is the scale of the noise of its sum of squares; ",
    ];
    assert!(notes.iter().all(|note| text.contains(note)), "{text}");
    assert!(!text.contains("scale of sum(people.age)"), "{text}");
}
#[test]
fn quantiles_name_their_columns_and_their_unit() {
    let session = session(PrivacyUnit::rows(1));
    let sql = "SELECT MEDIAN(income) AS middle, MIN(age), MAX(age) FROM people";
    let question = session.query(sql).unwrap().spending(Budget::epsilon(3.0).unwrap());
    let explained = question.explain().unwrap();
    let text = explained.to_string();
    for name in ["0.5 for median(people.income)", "0.005 for min(people.age)"] {
        assert!(text.contains(&format!("quantile {name}: make_noisy_max of scale ")), "{text}");
    }
    let median = &explained.releases[0];
    assert_eq!(median.step, 0.5);
    assert_eq!((median.accuracy_in, text.matches(" ranks (95 %)").count()), ("ranks", 3));
    let answer = question.release().unwrap();
    let released = numbers(&answer.values)[0][2];
    assert!((released - median.scale * median.step).abs() < 1e-9, "the scales are equal");
    assert!(answer.to_html().contains(" ranks</td>"));
    let text = answer.to_string();
    let notes = [
        "note: median(people.income) is the quantile 0.5; it is a candidate, and its error",
        "note: max(people.age) is the quantile 0.995, and not the true extreme, which",
    ];
    assert!(notes.iter().all(|note| text.contains(note)), "{text}");
    assert!(answer.to_html().contains("quantile 0.995, and not the true extreme"));
    let plain = ask(&session, "SELECT COUNT(*) FROM people").to_string();
    assert_eq!(plain.matches("\nnote: ").count(), 1, "{plain}");
}
/// Each of the three releases costs a third of the budget, which is stored as a fraction. People
/// see this loss as a decimal number that is rounded up.
#[test]
fn losses_are_decimals_that_are_rounded_up() {
    let mut metadata = metadata(described(PrivacyUnit::rows(1)));
    (metadata.budget.epsilon, metadata.queries) = (Some(1.0), Some(1));
    let source = Source::Batches(vec![people()]);
    let session = Session::new(metadata, vec![("people".into(), source)]).unwrap();
    let sql = "SELECT COUNT(*), SUM(age), SUM(income) FROM people";
    let answer = session.query(sql).unwrap().release().unwrap();
    let exact = |json: &serde_json::Value| {
        json["loss"]["epsilon"].as_str().unwrap().parse::<opendp_core::arith::Exact>().unwrap()
    };
    let json = &answer.document;
    assert!(json["releases"][0]["loss"]["epsilon"].as_str().unwrap().contains('/'), "{json}");
    for json in [json, &json["releases"][0], &json["releases"][2]] {
        let decimal = json["loss_up"]["epsilon"].as_f64().unwrap();
        assert_eq!(decimal, exact(json).to_f64_up());
    }
    let html = answer.to_html();
    assert!(html.contains("epsilon 0.3334"), "{html}");
    let text = html.split("How it was computed").next().unwrap();
    assert!(!text.contains("epsilon 0.3333") && !text.contains("/675539944105574"), "{html}");
}
/// A mean of too few rows is marked, because its interval contains all values within the bounds.
#[test]
fn a_mean_that_tells_nothing_is_marked() {
    let session = session(PrivacyUnit::rows(1));
    let sql = "SELECT sex, COUNT(*) AS n, AVG(age) AS mean FROM people GROUP BY sex";
    let question = session.query(sql).unwrap().spending(Budget::epsilon(0.01).unwrap());
    let answer = question.release().unwrap();
    let (noisy, text) = (answer.to_html(), answer.to_string());
    assert!(noisy.contains("too few rows for this noise"), "{noisy}");
    assert!(text.contains("| mark") && text.contains("| too few rows for this noise |"), "{text}");
    let marked = text.matches("| too few rows for this noise |").count();
    assert!(text.contains(&format!("here are {marked} of them")), "{text}");
    let exact = ask(&session, sql).to_html();
    // No row has the key `x`. So the mean of this key is unknown, although the noise is small. The
    // chart and its label both contain the text for an unknown mean.
    assert_eq!(exact.matches("too few rows for this noise").count(), 2, "{exact}");
}
