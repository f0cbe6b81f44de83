//! The history of a budget, as a table for readers.

use opendp_analysis::context::visible;
use opendp_ledger::Entry;
use serde_json::{Map, Value as Json};

/// The heads of the columns.
const HEAD: [&str; 8] =
    ["entry", "time", "loss", "id", "by", "question", "data", "SHA-256 of the answer"];

/// The number of digits of a SHA-256 that are written. They are enough to recognise a file.
const SHORT: usize = 16;

/// Write a history: a line about the budget, and a table of its entries.
pub(super) fn text(head: &str, entries: &[Entry]) -> String {
    match entries {
        [] => format!("{head}: no releases yet"),
        entries => format!("{head}\n{}", table(entries)),
    }
}
/// Write entries as a table with a head.
pub(super) fn table(entries: &[Entry]) -> String {
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend(entries.iter().map(row));
    let mut widths = [0; HEAD.len()];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let line = |row: &[String; HEAD.len()]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
/// Write the cells of an entry. Other people can choose most of these texts, so control characters
/// are replaced.
fn row(entry: &Entry) -> [String; HEAD.len()] {
    let json = entry.to_json();
    let by = if entry.by.is_empty() { "-" } else { &entry.by };
    [
        entry.number.to_string(),
        date(entry.at_ms),
        entry.loss.say(true),
        visible(&entry.id),
        visible(by),
        visible(&question(&json)),
        visible(&data(&json["source"])),
        entry.digest.get(..SHORT).unwrap_or_default().to_owned(),
    ]
}
/// Write what was asked: the questions of a study, or the links of a pipeline.
fn question(entry: &Json) -> String {
    let document = &entry["pipeline"];
    let texts = |list: &Json, text: fn(&Json) -> Option<&str>| -> Vec<String> {
        list.as_array().into_iter().flatten().filter_map(text).map(str::to_owned).collect()
    };
    let answers = &entry["release"]["answers"];
    let study = &document["study"]["questions"];
    let asked = match (answers.is_array(), study.is_array()) {
        (true, true) => texts(answers, |answer| answer["question"].as_str()),
        // An answer that was refused names no questions.
        (false, true) => texts(study, name),
        _ => texts(&document["chain"], name),
    };
    match &asked[..] {
        [] => name(document).unwrap_or("-").to_owned(),
        asked => asked.join(", "),
    }
}
/// Return the name of a link, a question or a document: a text, the constructor of an object, or
/// the first key of an object.
fn name(link: &Json) -> Option<&str> {
    let constructor = link.as_str().or_else(|| link["constructor"].as_str());
    constructor.or_else(|| link.as_object()?.keys().next().map(String::as_str))
}
/// Write what was read: the path of the data, and other facts.
fn data(source: &Json) -> String {
    let empty = Map::new();
    let facts = source.as_object().unwrap_or(&empty);
    let path = facts.get("data").and_then(Json::as_str).unwrap_or("-").to_owned();
    let others = facts.iter().filter(|(name, fact)| *name != "data" && !fact.is_null());
    let plain = |fact: &Json| fact.as_str().map_or_else(|| fact.to_string(), str::to_owned);
    others.fold(path, |text, (name, fact)| match name.as_str() {
        "digest" => {
            let digits: String = plain(fact).chars().take(SHORT).collect();
            format!("{text}, SHA-256 {digits}")
        }
        name => format!("{text}, {name} {}", plain(fact)),
    })
}
/// Write a time as a date and a time of day in UTC. The time is stated in milliseconds after the
/// start of 1970.
fn date(milliseconds: i64) -> String {
    let seconds = milliseconds.div_euclid(1000);
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Count the days from 1 March of the year 0. In this computation a year begins in March, so a
    // leap day is the last day of a year.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, late) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!(
        "{:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        year + era * 400 + late,
        of_day / 3600,
        of_day / 60 % 60,
        of_day % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
        ] {
            assert_eq!(date(seconds * 1000), text);
        }
    }
}
