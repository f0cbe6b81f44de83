//! Advice in error messages for a space that a constructor does not take.

use std::collections::BTreeSet;

use opendp_core::{Arg, TypeName};

use crate::explain::list;

/// Return the type of this library that corresponds to a type of another language. `name` is the
/// name of the type in the other language. Return `None` if this name is not known.
pub(crate) fn of_type(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    Some(match name.as_str() {
        "double" | "float" | "float64" | "real" | "number" | "numeric" => "f64",
        "single" | "float32" => "f32",
        "int" | "integer" | "int32" => "i32",
        "long" | "bigint" | "int64" => "i64",
        "short" | "smallint" | "int16" => "i16",
        "byte" | "int8" => "i8",
        "uint8" => "u8",
        "uint16" => "u16",
        "uint" | "uint32" => "u32",
        "uint64" => "u64",
        "boolean" => "bool",
        "str" | "string" | "text" | "varchar" => "String",
        _ => return None,
    })
}

/// The types of records that `make_cast_default` can cast to floats. (Floats need no cast.)
const CASTABLE: [&str; 7] = ["String", "bool", "i32", "i64", "u32", "u64", "usize"];
/// The metrics on data sets.
pub(crate) const OF_DATA: [&str; 4] =
    ["SymmetricDistance", "InsertDeleteDistance", "ChangeOneDistance", "HammingDistance"];

/// Write a message for a space that a constructor does not take. The constructor may take a space
/// that differs from the given space only in the atomic types. In this case, the message states the
/// given atomic types, and the atomic types that the constructor takes. Otherwise, the message
/// states up to three of the spaces that the constructor takes. In these spaces, `T` stands for
/// each atomic type. The message can end with advice. Return `None` if the argument is not a space,
/// or if no expected type is a space.
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
        let pair = (self::shape(domain), self::shape(metric));
        let atoms = atoms(domain);
        match shapes.iter_mut().find(|(known, _)| *known == pair) {
            Some((_, all)) => all.extend(atoms),
            None => shapes.push((pair, atoms.into_iter().collect())),
        }
    }
    let found = atoms(&domain).join(", ");
    if let Some((_, takes)) = shapes.iter().find(|(known, _)| *known == shape) {
        let rows = domain.head() == "VectorDomain";
        let what = if rows { "the records are" } else { "the numbers are" };
        let castable = CASTABLE.contains(&found.as_str()) && takes.contains("f64");
        let cast = match rows && castable {
            true if found == "String" => {
                "; cast them first: {\"cast_default\": {\"TOA\": \"f64\"}}, \
                 {\"impute_constant\": {\"constant\": 0.0}}"
            }
            true => {
                "; cast them first, and clamp them afterwards: {\"cast_default\": {\"TOA\": \"f64\"}}, \
                 {\"impute_constant\": {\"constant\": 0.0}}"
            }
            false if rows => "; use records of one of these types",
            false => "",
        };
        return Some(format!("{what} {found}; `{name}` takes {}{cast}", list(takes.clone())));
    }
    let takes: Vec<String> =
        shapes.iter().map(|((domain, metric), _)| format!("`{domain}` under `{metric}`")).collect();
    let takes = match takes.as_slice() {
        [first, second, third, _, more @ ..] => {
            let others = if more.is_empty() { "another" } else { "others" };
            format!("{first}, {second}, {third} or {others}")
        }
        few => few.join(" or "),
    };
    let found = format!("`{domain}` under `{metric}`");
    let wanted: Vec<&str> = spaces.iter().map(|(_, metric)| metric.head()).collect();
    let what = hint(&domain, metric.head(), &wanted, &spaces);
    Some(format!("`{name}` takes {takes}; found {found}{what}"))
}
/// Return advice on how to get from the given space to a space that the constructor takes.
fn hint(
    domain: &TypeName,
    metric: &str,
    wanted: &[&str],
    spaces: &[(&TypeName, &TypeName)],
) -> String {
    let (of_data, head) = (OF_DATA.contains(&metric), domain.head());
    let takes_data = wanted.iter().any(|metric| OF_DATA.contains(metric));
    let option = |domain: &TypeName| domain.to_string().contains("OptionDomain");
    let text = match (of_data, takes_data) {
        (true, true) if option(domain) && !spaces.iter().any(|(domain, _)| option(domain)) => {
            "drop or replace missing values before this step: \"drop_null\" or \
             {\"impute_constant\": ..}"
                .to_owned()
        }
        (true, true) if !wanted.contains(&metric) => {
            "change the metric before this step: \"unordered\", \"ordered_random\", \
             \"metric_bounded\" or \"metric_unbounded\""
                .to_owned()
        }
        (true, false) if head == "VectorDomain" => {
            "this step takes a statistic, not rows: put an aggregation before this step, such as \
             \"count\", \"sum\" or \"mean\""
                .to_owned()
        }
        (false, false) if head == "MapDomain" => {
            // Each mechanism with a threshold takes maps under only one metric. So the metric of
            // the given space determines the mechanism.
            let noise = if metric == "L02InfDistance" { "gaussian" } else { "laplace" };
            format!(
                "keys that are not public need a threshold: \"{noise}_threshold\"; or count public \
                 keys by \"count_by_categories\""
            )
        }
        (false, true) if head == "VectorDomain" && metric == "AbsoluteDistance" => {
            "data sets have another metric, such as \"symmetric_distance\"".to_owned()
        }
        (false, true) => {
            "this step takes rows, not a statistic: put this step before the aggregation".to_owned()
        }
        (false, false) if ["L1Distance", "L2Distance"].contains(&metric) => {
            let other = if metric == "L1Distance" { "L2Distance" } else { "L1Distance" };
            if !wanted.contains(&other) {
                return String::new();
            }
            let atom = atoms(domain).join(", ");
            format!("state the metric in the step before this one: \"MO\": \"{other}<{atom}>\"")
        }
        _ => return String::new(),
    };
    format!("\n{text}")
}
/// Return the types of the domain and the metric of a space.
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
/// Return the atomic types in the name of a type.
fn atoms(name: &TypeName) -> Vec<String> {
    match is_atom(name) {
        true => vec![name.to_string()],
        false => name.args().iter().flat_map(atoms).collect(),
    }
}
/// Return the name of a type, with `T` in place of each atomic type.
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
