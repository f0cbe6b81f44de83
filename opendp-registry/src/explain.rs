//! Error messages for requests. A message states the request, the mistake, and similar names.

use std::{collections::BTreeSet, sync::Arc};

use opendp_core::{Args, Error, TypeName};

use crate::advice;
use crate::refusal::Refusal;
use crate::registry::Family;
use crate::{Entry, Request};

/// The largest number of types that an error lists.
const LISTED: usize = 5;
/// The largest number of argument names that an error lists.
const NAMED: usize = 12;
/// The most common types. They are listed first.
const USUAL: [&str; 5] = ["f64", "i32", "i64", "bool", "String"];

#[cold]
pub(crate) fn no_name(name: &str, known: impl Iterator<Item = String>) -> Error {
    let bare = |name: &str| {
        let last = name.rsplit("::").next().unwrap_or(name);
        let last = last.strip_prefix("make_").or(last.strip_prefix("then_")).unwrap_or(last);
        last.to_lowercase()
    };
    let short: String = name.chars().take(60).collect();
    let wanted = bare(&short);
    let mut near: Vec<(f64, String)> = known
        .map(|known| (strsim::jaro_winkler(&wanted, &bare(&known)), known))
        .filter(|(likeness, _)| 0.8 < *likeness)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let near: Vec<String> = near.into_iter().take(3).map(|(_, name)| format!("`{name}`")).collect();
    let hint = match near.len() {
        0 => {
            "; `opendp list` shows all names, and `opendp list WORD` the names that match WORD. A \
              program links only the crates that its code names"
                .to_owned()
        }
        _ => format!("; did you mean {}?", near.join(" or ")),
    };
    let short = short.escape_debug();
    Error::NotFound(format!("nothing is registered under the name `{short}`{hint}"))
}

#[cold]
pub(crate) fn two_functions(name: &str, [a, b]: [&Entry; 2]) -> Error {
    if a.identity == b.identity {
        return Error::Ambiguous(format!("the signature `{b}` is registered already"));
    }
    Error::Ambiguous(format!(
        "the name `{name}` means two functions: `{}` of package {} and `{}` of package {}; rename \
         one of them, or do not trust its package",
        a.identity, a.package, b.identity, b.package
    ))
}

#[cold]
pub(crate) fn ambiguous(request: &Request, left: &[&Arc<Entry>]) -> Error {
    // List the type parameters in which the signatures differ, and the types of each parameter.
    let mut open = Vec::new();
    for (i, generic) in left.iter().take(1).flat_map(|entry| entry.generics.iter().enumerate()) {
        let type_at = |entry: &&Arc<Entry>| entry.generics.get(i).map(|g| g.type_name.to_string());
        let types: BTreeSet<String> = left.iter().filter_map(type_at).collect();
        if 1 < types.len() {
            open.push(format!("{} among {}", generic.name, list(types)));
        }
    }
    let advice = match open.is_empty() {
        false => format!("choose {}", open.join(", and ")),
        // No type argument distinguishes the signatures, so only an argument can.
        true => {
            let signatures: Vec<String> = left.iter().map(|entry| entry.to_string()).collect();
            format!("pass an argument that fits only one of {}", some(&signatures, LISTED))
        }
    };
    Error::Ambiguous(format!("`{request}` fits {} signatures; {advice}", left.len()))
}

/// Report why no signature fits. The error names the parameter that does not fit, in the signature
/// that is nearest to the request.
#[cold]
pub(crate) fn no_candidate(request: &Request, args: &Args, family: &Family) -> Error {
    // If the name of an argument occurs in no signature, this name is the mistake.
    if let Some(error) = unknown_name(request, args, family) {
        return error;
    }
    let refusals: Vec<Refusal> =
        family.entries.iter().filter_map(|entry| entry.refuses(request, args)).collect();
    // The type arguments of the request are checked first. So if a signature refuses an argument,
    // the type arguments of the request fit this signature. Such a signature is nearer to the
    // request than a signature that refuses a type. Arguments whose names occur in no signature
    // were already reported by `unknown_name`.
    let rank = |refusal: &Refusal| match refusal {
        Refusal::Argument(..) => 0,
        Refusal::Type(..) => 1,
        Refusal::NoParameter(_) => 2,
        Refusal::NoGeneric(_) => 3,
    };
    let best = refusals.iter().map(rank).min().unwrap_or(3);
    let Some(first) = refusals.iter().find(|refusal| rank(refusal) == best) else {
        return Error::NotFound(format!("`{request}` has no signatures"));
    };
    let name = match first {
        Refusal::Argument(name, _)
        | Refusal::Type(name, _)
        | Refusal::NoParameter(name)
        | Refusal::NoGeneric(name) => name.clone(),
    };
    let expected: BTreeSet<String> =
        refusals.iter().filter_map(|refusal| refusal.at(&name).map(TypeName::to_string)).collect();
    let reason = match first {
        Refusal::Argument(..) => {
            let types: Vec<&TypeName> = refusals.iter().filter_map(|it| it.at(&name)).collect();
            let advice =
                args.get(&name).and_then(|arg| advice::of_space(&request.name, arg, &types));
            if let Some(advice) = advice {
                return Error::argument(name, advice);
            }
            let found = args.get(&name).map_or("nothing".to_owned(), |arg| arg.describe());
            format!("expected {}, found {found}", expected_objects(expected))
        }
        Refusal::Type(..) => {
            let found = given_type(request, args, &name);
            let meant = advice::of_type(&found).filter(|meant| expected.contains(*meant));
            let meant = meant.map_or(String::new(), |meant| format!("; did you mean `{meant}`?"));
            format!("expected {}, found {found}{meant}", list(expected))
        }
        Refusal::NoParameter(_) | Refusal::NoGeneric(_) => no_such(&name, &names(family)),
    };
    Error::argument(name, format!("{reason} (no signature of `{}` fits)", request.name))
}

/// Return the type that a request gives for a type parameter.
fn given_type(request: &Request, args: &Args, name: &str) -> String {
    let called = |i: usize, generic: &Option<String>| match generic {
        Some(generic) => generic == name,
        None => format!("type argument {}", i + 1) == name,
    };
    let given = request.types.iter().enumerate().find(|(i, (generic, _))| called(*i, generic));
    if let Some((_, (_, type_name))) = given {
        return type_name.to_string();
    }
    match args.get(name) {
        None => "nothing".to_owned(),
        Some(opendp_core::Arg::Json(serde_json::Value::String(text))) => {
            text.chars().take(60).collect()
        }
        Some(other) => other.describe(),
    }
}
/// List the names of all parameters and of all type parameters.
fn names(family: &Family) -> BTreeSet<String> {
    let entries = family.entries.iter();
    let of_entry = |entry: &Arc<Entry>| -> Vec<String> {
        let parameters = entry.parameters.iter().map(|p| p.name.to_string());
        parameters.chain(entry.generics.iter().map(|g| g.name.to_owned())).collect()
    };
    entries.flat_map(of_entry).collect()
}
fn unknown_name(request: &Request, args: &Args, family: &Family) -> Option<Error> {
    let known = names(family);
    let name = args.names().find(|name| !known.contains(*name))?;
    let reason = format!("{} (no signature of `{}` fits)", no_such(name, &known), request.name);
    Some(Error::argument(name, reason))
}
/// Report that the name of an argument is unknown. Also give advice for this name, or report a
/// similar name. Then report up to `NAMED` known names.
pub(crate) fn no_such(name: &str, known: &BTreeSet<String>) -> String {
    if known.is_empty() {
        return "unknown argument; there are no arguments".into();
    }
    let budget = ["budget", "delta", "epsilon", "rho"].contains(&name);
    let bound = ["lower", "upper", "min", "max"].contains(&name);
    let meant = match nearest(name, known) {
        _ if bound && known.contains("bounds") => {
            "write both bounds as the pair `bounds`; ".to_owned()
        }
        _ if budget && known.contains("scale") => {
            "noise has a `scale`: write {\"param\": \"scale\"}, and `solve` finds it for a loss; "
                .to_owned()
        }
        Some(nearest) => format!("did you mean `{nearest}`? "),
        None => String::new(),
    };
    format!("unknown argument; {meant}the known ones are {}", some(known, NAMED))
}

/// Find the known name that is most similar to a name. Return `None` if no name is similar.
pub(crate) fn nearest<'a>(name: &str, known: &'a BTreeSet<String>) -> Option<&'a String> {
    let likeness = |known: &String| strsim::jaro_winkler(name, known);
    let nearest = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    nearest.filter(|nearest| 0.7 < likeness(nearest))
}
/// List types. The most common types come first, and the end of a long list is omitted.
pub(crate) fn list(types: BTreeSet<String>) -> String {
    let usual = USUAL.map(str::to_owned).into_iter().filter(|name| types.contains(name));
    let others = types.iter().filter(|name| !USUAL.contains(&&***name)).cloned();
    some(usual.chain(others).collect::<Vec<_>>().iter(), LISTED)
}
/// List the types that an argument can have. If there is only one type, and this function has words
/// for this type, write these words instead.
fn expected_objects(types: BTreeSet<String>) -> String {
    let words = match types.first().map(String::as_str) {
        _ if types.len() != 1 => None,
        Some("AnyFunction") => Some("a function"),
        Some("AnyMeasure") => Some("a privacy measure"),
        Some("AnyMeasurement") => Some("a measurement"),
        Some("AnyTransformation") => Some("a transformation"),
        Some("Vec<AnyMeasurement>") => Some("a list of measurements"),
        _ => None,
    };
    words.map_or_else(|| list(types), str::to_owned)
}
/// Join the first `first` items with commas. If there are more items, add the number of the other
/// items.
fn some<'a>(items: impl IntoIterator<Item = &'a String>, first: usize) -> String {
    let items: Vec<String> = items.into_iter().map(|item| format!("`{item}`")).collect();
    match items.get(..first) {
        Some(shown) if shown.len() < items.len() => {
            format!("{}, and {} more", shown.join(", "), items.len() - first)
        }
        _ => items.join(", "),
    }
}
