//! What to do when a constructor does not take a space.

use std::collections::BTreeSet;

use opendp_core::{Arg, TypeName};

use crate::explain::list;

/// Distances between data sets.
const OF_DATA: [&str; 4] =
    ["SymmetricDistance", "InsertDeleteDistance", "ChangeOneDistance", "HammingDistance"];

/// Say which spaces a constructor takes, grouped by their shapes, which one it was given, and what
/// to write instead; `None` if the argument is not a space.
pub(crate) fn of_space(name: &str, found: &Arg, expected: &[&TypeName]) -> Option<String> {
    let (domain, metric) = match found {
        Arg::Space(space) => (space.domain().inner_type(), space.metric().inner_type()),
        Arg::Pair(domain, metric) => (domain.inner_type(), metric.inner_type()),
        _ => return None,
    };
    let spaces: Vec<(&TypeName, &TypeName)> = expected.iter().filter_map(|it| parts(it)).collect();
    if spaces.is_empty() {
        return None;
    }
    let shape = (shape(&domain), shape(&metric));
    let mut shapes: Vec<((String, String), BTreeSet<String>)> = Vec::new();
    for (domain, metric) in &spaces {
        let of = (self::shape(domain), self::shape(metric));
        let atoms = atoms(domain);
        match shapes.iter_mut().find(|(known, _)| *known == of) {
            Some((_, all)) => all.extend(atoms),
            None => shapes.push((of, atoms.into_iter().collect())),
        }
    }
    let of = atoms(&domain).join(", ");
    if let Some((_, takes)) = shapes.iter().find(|(known, _)| *known == shape) {
        let rows = domain.head() == "VectorDomain";
        let what = if rows { "the records are" } else { "the numbers are" };
        let floats = rows && !of.contains('f') && of != "String" && takes.contains("f64");
        let cast = match floats {
            true => {
                "; cast them first, and clamp after: {\"cast_default\": {\"TOA\": \"f64\"}}, \
                 {\"impute_constant\": {\"constant\": 0.0}}"
            }
            false => "",
        };
        return Some(format!("{what} {of}; `{name}` takes {}{cast}", list(takes.clone())));
    }
    let takes: Vec<String> =
        shapes.iter().map(|((domain, metric), _)| format!("`{domain}` under `{metric}`")).collect();
    let takes = match takes.as_slice() {
        [first, second, third, _, more @ ..] => {
            format!("{first}, {second}, {third} or {} others", more.len() + 1)
        }
        few => few.join(" or "),
    };
    let found = format!("`{domain}` under `{metric}`");
    let wanted: Vec<&str> = spaces.iter().map(|(_, metric)| metric.head()).collect();
    let what = hint(name, &domain, metric.head(), &wanted, &spaces);
    Some(format!("`{name}` takes {takes}; found {found}{what}"))
}
/// Say what usually stands between such spaces.
fn hint(
    name: &str,
    domain: &TypeName,
    metric: &str,
    wanted: &[&str],
    spaces: &[(&TypeName, &TypeName)],
) -> String {
    let (of_data, head) = (OF_DATA.contains(&metric), domain.head());
    let takes_data = wanted.iter().any(|metric| OF_DATA.contains(metric));
    let option = |domain: &TypeName| domain.to_string().contains("OptionDomain");
    let short = name.trim_start_matches("make_");
    let text = match (of_data, takes_data) {
        (true, true) if option(domain) && !spaces.iter().any(|(domain, _)| option(domain)) => {
            "drop or replace missing values before it: \"drop_null\" or {\"impute_constant\": ..}"
                .to_owned()
        }
        (true, true) if !wanted.contains(&metric) => {
            "change the metric before it: \"unordered\", \"ordered_random\", \"metric_bounded\" or \
             \"metric_unbounded\""
                .to_owned()
        }
        (true, false) if head == "VectorDomain" => {
            "it takes a statistic and not its rows: put an aggregation before it, such as \
             \"count\", \"sum\" or \"mean\""
                .to_owned()
        }
        (false, _) if head == "MapDomain" => format!(
            "keys that are not public need a threshold: \"{short}_threshold\"; or count public keys \
             by \"count_by_categories\""
        ),
        (false, true) if head == "VectorDomain" && metric == "AbsoluteDistance" => {
            "data sets have another metric, such as \"symmetric_distance\"".to_owned()
        }
        (false, true) => "it takes rows, and this is a statistic: put it before the \
                          aggregation"
            .to_owned(),
        _ => return String::new(),
    };
    format!("\n{text}")
}
/// Take the domain and the metric of a space.
fn parts(space: &TypeName) -> Option<(&TypeName, &TypeName)> {
    match (space.head(), space.args()) {
        ("Space", [domain, metric]) => Some((domain, metric)),
        _ => None,
    }
}
fn is_atom(name: &TypeName) -> bool {
    let head = name.head();
    name.args().is_empty()
        && (head.starts_with(|first: char| first.is_ascii_lowercase()) && !head.contains(':')
            || ["String", "IBig"].contains(&head))
}
/// The types of values inside.
fn atoms(name: &TypeName) -> Vec<String> {
    match is_atom(name) {
        true => vec![name.to_string()],
        false => name.args().iter().flat_map(atoms).collect(),
    }
}
/// The name with `T` for each type of values.
fn shape(name: &TypeName) -> String {
    if is_atom(name) {
        return "T".to_owned();
    }
    match name.args() {
        [] => name.head().to_owned(),
        args => {
            let args: Vec<String> = args.iter().map(shape).collect();
            format!("{}<{}>", name.head(), args.join(", "))
        }
    }
}
