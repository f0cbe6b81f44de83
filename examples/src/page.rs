//! Writes the census as a page.

use opendp_report::{Account, Block, Page, Point, Section, Spent, Table, number};

use crate::report::NEIGHBOURS;
use crate::statistics::{Accuracy, Answer, Census, Statistic};

/// A statistic with at least this many answers has its own chart.
const SEVERAL: usize = 4;

/// Make a page of all releases.
pub fn page(census: &Census, epsilon: f64) -> Page {
    let spent = census
        .statistics
        .iter()
        .map(|statistic| Spent { what: statistic.name.clone(), amount: statistic.epsilon });
    let (whole, spent) = (epsilon, spent.collect());
    let left = (whole - census.total).max(0.0);
    let account = Account { part: "epsilon".into(), whole, left, spent };
    let mut page = Page::new("Census")
        .lead("Statistics of a table of people, released with differential privacy.")
        .fact("Privacy loss", format!("epsilon {}", number(census.total, None)))
        .fact("Neighbours", NEIGHBOURS)
        .fact("Releases", census.statistics.len().to_string());
    for section in sections(census) {
        page = page.with(section);
    }
    page.with(Section::new("Budget").with(Block::Budget(account)))
        .with(Section::new("Every release").with(Block::Table(table(census))))
}
/// Make the sections of the page: single numbers, then quantiles of each column, then charts.
fn sections(census: &Census) -> Vec<Section> {
    let (mut numbers, mut sections) = (Vec::new(), Vec::new());
    let mut quantiles: Vec<(String, Vec<Point>)> = Vec::new();
    for statistic in &census.statistics {
        match (statistic.answers.as_slice(), statistic.name.split_once(", ")) {
            (answers, _) if SEVERAL <= answers.len() => {
                let points = answers.iter().map(|answer| point(&answer.label, answer)).collect();
                let section = Section::new(format!("People by {}", statistic.name));
                sections.push(section.with(Block::Histogram(points)));
            }
            ([answer], Some((column, level))) if matches!(answer.accuracy, Accuracy::Ranks(_)) => {
                if quantiles.last().is_none_or(|(last, _)| last != column) {
                    quantiles.push((column.to_owned(), Vec::new()));
                }
                if let Some((_, points)) = quantiles.last_mut() {
                    points.push(point(level, answer));
                }
            }
            (answers, _) => numbers.extend(answers.iter().map(|answer| row(statistic, answer))),
        }
    }
    let mut table = Table::new().texts("statistic").numbers("release").numbers("95 % interval");
    numbers.into_iter().for_each(|cells| table.push(cells));
    let first = Section::new("Numbers").with(Block::Table(table));
    let of_column = |(column, points): (String, Vec<Point>)| {
        Section::new(format!("Quartiles of {column}")).with(Block::Quantiles(points))
    };
    [first].into_iter().chain(quantiles.into_iter().map(of_column)).chain(sections).collect()
}
fn point(label: &str, answer: &Answer) -> Point {
    let value = answer.value.unwrap_or(f64::NAN);
    let point = Point::new(label, value);
    match answer.accuracy {
        Accuracy::PlusMinus(bound) => point.within(value - bound, value + bound),
        Accuracy::Ranks(bound) => {
            point.note(format!("within {} in rank", number(bound.ceil(), None)))
        }
        Accuracy::Unknown => point.note("error unknown"),
    }
}
fn row(statistic: &Statistic, answer: &Answer) -> [String; 3] {
    let name = match answer.label.as_str() {
        "" => statistic.name.clone(),
        label => format!("{}, {label}", statistic.name),
    };
    let Some(value) = answer.value else { return [name, "no answer".into(), String::new()] };
    let (value, interval) = match answer.accuracy {
        Accuracy::PlusMinus(bound) => {
            let text = |value| number(value, Some(bound));
            (text(value), format!("{} to {}", text(value - bound), text(value + bound)))
        }
        Accuracy::Ranks(bound) => {
            (number(value, None), format!("within {} in rank", number(bound.ceil(), None)))
        }
        Accuracy::Unknown => (number(value, None), "unknown".into()),
    };
    [name, value, interval]
}
fn table(census: &Census) -> Table {
    let table = Table::new().texts("statistic").numbers("release").numbers("95 % interval");
    let mut table = table.numbers("epsilon");
    for statistic in &census.statistics {
        // All answers of one release share one loss.
        let mut epsilon = number(statistic.epsilon, None);
        for answer in &statistic.answers {
            let [name, value, interval] = row(statistic, answer);
            table.push([name, value, interval, std::mem::take(&mut epsilon)]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::population::generate;
    use crate::statistics::census;

    #[test]
    fn the_page_has_every_answer_and_its_charts() {
        let census = census(&generate(300, 1), 0.5).unwrap();
        let html = page(&census, 0.5).to_html();
        assert_eq!(html.matches("class=\"dot\" d=").count(), 6, "three quartiles of two columns");
        assert_eq!(
            html.matches("<rect class=\"bar\" x=").count(),
            17 + 5,
            "education, and half of the budget"
        );
        let answers: usize = census.statistics.iter().map(|all| all.answers.len()).sum();
        let rows = html.rsplit("<table>").next().unwrap().matches("<tr><td>").count();
        assert_eq!(rows, answers);
        assert!(html.contains("0.5 of 0.5 spent"), "{html}");
    }
}
