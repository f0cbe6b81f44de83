//! Tests that a page is one complete file, and that no text in it becomes markup.

use opendp_report::{Account, Block, Page, Point, Section, Spent, Table};

const HOSTILE: &str = "<script>alert(1)</script>\"'&<img src=x onerror=y>";

/// Make a page that contains `text` in every place that can contain text.
fn page(text: &str) -> String {
    let points = || vec![Point::new(text, 3.0).within(1.0, 5.0), Point::new(text, -2.0).note(text)];
    let mut table = Table::new().texts(text).numbers(text);
    table.push([text.to_owned(), text.to_owned()]);
    let spent = vec![Spent { what: text.into(), amount: 0.25 }];
    let section = Section::new(text)
        .with(Block::Bars(points()))
        .with(Block::Histogram(points()))
        .with(Block::Quantiles(points()))
        .with(Block::Budget(Account { part: text.into(), whole: 1.0, left: 0.5, spent }))
        .with(Block::Table(table))
        .with(Block::Text(text.into()))
        .with(Block::Code(text.into()));
    Page::new(text).lead(text).fact(text, text).percent(text).with(section).to_html()
}
/// List the names of all HTML elements of a page, in the order of the page.
fn elements(html: &str) -> Vec<&str> {
    html.split('<').skip(1).filter_map(|rest| rest.split([' ', '>', '\n']).next()).collect()
}
#[test]
fn a_hostile_name_changes_no_element() {
    // Fewer long labels than short labels fit below a chart, so both texts have the same length.
    let (hostile, plain) = (page(HOSTILE), page(&"x".repeat(HOSTILE.len())));
    assert_eq!(elements(&hostile), elements(&plain));
    assert!(hostile.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(!hostile.contains("<script") && !hostile.contains("<img"));
}
#[test]
fn the_page_refers_to_nothing_outside() {
    let html = page("x");
    for outside in ["http:", "https:", "url(", "@import", "src=", "<script", "onload"] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert!(html.contains("default-src 'none'"));
}
#[test]
fn charts_tell_that_noise_was_added_and_what_is_spent() {
    let html = page("90");
    assert_eq!(html.matches("noise added; 90 % interval").count(), 3);
    assert!(html.contains("in at least 90 of 100 releases"));
    assert!(html.contains("0.5 of 1 spent, 0.5 left"));
    assert!(html.contains("spent before: 0.25"));
    assert!(html.contains("<b>3</b> <small>1 to 5</small>"));
}
#[test]
fn numbers_that_cannot_be_drawn_are_named_as_missing() {
    let points = vec![
        Point::new("a", f64::NAN).within(0.0, 1.0),
        Point::new("b", f64::INFINITY).within(f64::NEG_INFINITY, f64::INFINITY),
        Point::new("c", 1e308).within(-1e308, 1e308),
    ];
    let section = Section::new("s").with(Block::Bars(points.clone()));
    let html = Page::new("t").with(section.with(Block::Histogram(points))).to_html();
    assert!(!html.contains("NaN") && !html.contains("inf"), "{html}");
    assert_eq!(html.matches("no answer").count(), 4);
}
#[test]
fn long_labels_of_columns_do_not_overlap() {
    for (tail, labels) in [("", 8), (" to below 1000000", 4)] {
        let points: Vec<Point> = (0..8).map(|k| Point::new(format!("{k}{tail}"), 1.0)).collect();
        let html = Page::new("t").with(Section::new("s").with(Block::Histogram(points))).to_html();
        assert_eq!(html.matches("style=\"left:").count(), labels, "{html}");
    }
}
#[test]
fn long_charts_and_tables_say_what_is_left_out() {
    let points: Vec<Point> = (0..300).map(|k| Point::new(k.to_string(), 1.0)).collect();
    let mut table = Table::new().numbers("n");
    (0..2500).for_each(|k| table.push([k.to_string()]));
    let section = Section::new("s").with(Block::Bars(points.clone())).with(Block::Table(table));
    let html = Page::new("t").with(section.with(Block::Histogram(points))).to_html();
    assert!(html.contains("The first 80 of 300 are drawn."));
    assert!(html.contains("The first 200 of 300 are drawn."));
    assert!(html.contains("The first 2000 of 2500 rows are shown."));
}
