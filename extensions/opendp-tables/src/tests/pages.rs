//! Pages of answers.

use super::*;

#[test]
fn a_page_has_charts_the_budget_and_the_plan() {
    let session = session(PrivacyUnit::rows(1));
    let html =
        ask(&session, "SELECT sex, COUNT(*) AS n, AVG(age) FROM people GROUP BY sex").to_html();
    assert!(
        html.contains("<h2>count(*)</h2>") && html.contains("<h2>avg(people.age)</h2>"),
        "{html}"
    );
    assert_eq!(html.matches("<rect class=\"bar\" x=").count(), 6 + 1, "two charts and a budget");
    assert!(html.contains("noise added; 95 % interval"));
    assert!(html.contains("GROUP BY k0") && html.contains("make_laplace"));
    let one = ask(&session, "SELECT COUNT(*) FROM people").to_html();
    assert_eq!(one.matches("class=\"chart").count(), 0, "a single number needs no chart");
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
