//! Reports of releases, for display and as JSON.

use std::fmt::Write;

use opendp_core::Codec;
use serde_json::{Value as Json, json};

use crate::statistics::{ALPHA, Accuracy, Answer, Census};

/// The definition of neighbours, in words.
pub const NEIGHBOURS: &str = "tables that differ by one person, added or removed";

/// Write a table for display.
pub fn table(census: &Census) -> String {
    let mut rows = Vec::new();
    for statistic in &census.statistics {
        let mut epsilon = digits(statistic.epsilon);
        for answer in &statistic.answers {
            let name = match answer.label.as_str() {
                "" => statistic.name.clone(),
                label => format!("{}, {label}", statistic.name),
            };
            // All answers of one release share one loss.
            rows.push([name, value(answer), std::mem::take(&mut epsilon), accuracy(answer)]);
        }
    }
    let header = ["statistic", "release", "epsilon", "accuracy (95 %)"].map(str::to_owned);
    let width = |column: usize| {
        let all = rows.iter().chain([&header]);
        all.map(|row| row[column].chars().count()).max().unwrap_or(0)
    };
    let widths = [width(0), width(1), width(2), width(3)];
    let line = |[name, release, epsilon, accuracy]: &[String; 4]| {
        let text = format!(
            "{name:<w0$}   {release:>w1$}   {epsilon:<w2$}   {accuracy}",
            w0 = widths[0],
            w1 = widths[1],
            w2 = widths[2]
        );
        format!("{}\n", text.trim_end())
    };
    let rule = format!("{}\n", "-".repeat(widths.iter().sum::<usize>() + 9));
    let mut text = line(&header) + &rule;
    text.extend(rows.iter().map(line));
    text += &rule;
    // Writing to a string does not fail.
    let _ = write!(text, "total epsilon {}; neighbours are {NEIGHBOURS}\n\n", digits(census.total));
    text +=
        "mean      noisy sum of clamped values / noisy number of people, which is released above\n";
    text +=
        "          (age in [0, 100], income in [0, 200,000]); its epsilon counts only the sum\n";
    text +=
        "25%, ...  chosen from a public grid. Let d be the distance in rank from the quantile to\n";
    text += "          the best candidate. The distance of the released candidate is at most d\n";
    text += "          plus the accuracy\n";
    text
}

/// Convert the releases to JSON, with all digits.
pub fn json(census: &Census) -> Json {
    let answers = |answers: &[Answer]| -> Json {
        answers
            .iter()
            .map(|answer| {
                let accuracy = match answer.accuracy {
                    Accuracy::PlusMinus(bound) => json!({"plus_minus": bound.to_json()}),
                    Accuracy::Ranks(bound) => json!({"ranks": bound.to_json()}),
                    Accuracy::Unknown => Json::Null,
                };
                let label = (!answer.label.is_empty()).then_some(&answer.label);
                json!({"label": label, "release": answer.value.to_json(), "accuracy": accuracy})
            })
            .collect()
    };
    let statistics: Json = census
        .statistics
        .iter()
        .map(|s| json!({"name": s.name, "epsilon": s.epsilon.to_json(), "answers": answers(&s.answers)}))
        .collect();
    json!({
        "neighbours": NEIGHBOURS,
        "measure": "max_divergence",
        "total_epsilon": census.total.to_json(),
        "alpha": ALPHA.to_json(),
        "statistics": statistics,
    })
}

fn value(answer: &Answer) -> String {
    answer.value.map_or_else(|| "-".to_owned(), |value| grouped(value, answer.decimals))
}
fn accuracy(answer: &Answer) -> String {
    match answer.accuracy {
        Accuracy::PlusMinus(bound) => format!("\u{b1} {}", above(bound, answer.decimals)),
        Accuracy::Ranks(bound) => format!("\u{b1} {} in rank", above(bound, 0)),
        Accuracy::Unknown => "unknown".to_owned(),
    }
}
/// Write a bound on an error, rounded up at its last decimal. A bound below 1 has at least two
/// decimals.
fn above(bound: f64, decimals: usize) -> String {
    let decimals = if bound < 1.0 { decimals.max(2) } else { decimals };
    let unit = (0..decimals).fold(1.0, |unit: f64, _| unit * 10.0);
    grouped((bound * unit).ceil() / unit, decimals)
}
/// Write a number with commas between thousands.
fn grouped(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::from(sign);
    for (i, digit) in whole.chars().enumerate() {
        if 0 < i && (whole.len() - i) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + rest
}
/// Write a loss with six significant digits. The JSON report has all digits.
fn digits(loss: f64) -> String {
    let rounded: f64 = format!("{loss:.5e}").parse().unwrap_or(loss);
    rounded.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::population::generate;
    use crate::statistics::census;

    #[test]
    fn groups_thousands_and_rounds_bounds_up() {
        assert_eq!(grouped(1_234_567.0, 0), "1,234,567");
        assert_eq!(grouped(-999.96, 1), "-1,000.0");
        assert_eq!(grouped(12.0, 0), "12");
        assert_eq!(above(0.301, 1), "0.31");
        assert_eq!(above(30.2, 0), "31");
        assert_eq!(digits(0.099_999_999_999), "0.1");
    }
    #[test]
    fn the_columns_are_aligned() {
        let census = census(&generate(200, 1), 1.0).unwrap();
        let text = table(&census);
        let lines: Vec<&str> = text.lines().collect();
        let start = lines[0].find("epsilon").unwrap();
        for line in &lines[2..12] {
            let before: String = line.chars().take(start).collect();
            assert!(before.ends_with("   "), "{line}");
        }
        assert!(text.contains("total epsilon 1; neighbours are tables"));
        assert_eq!(lines.iter().filter(|line| line.starts_with("education")).count(), 17);
        assert!(lines.iter().all(|line| line.chars().count() <= 100));
    }
    #[test]
    fn the_json_holds_every_answer_and_loss() {
        let census = census(&generate(200, 1), 1.0).unwrap();
        let json = json(&census);
        assert_eq!(json["statistics"].as_array().unwrap().len(), 10);
        assert_eq!(json["statistics"][9]["answers"][16]["label"], "other");
        assert_eq!(f64::from_json(&json["total_epsilon"]).unwrap(), census.total);
        let first = &json["statistics"][0]["answers"][0];
        assert!(first["release"].is_number() && first["accuracy"]["plus_minus"].is_number());
    }
}
