//! Texts of a given size. One part of each text is large or is repeated many times.

use serde_json::json;

const DOMAIN: &str = r#"{"vector_domain": {"atom_domain": {"T": "i32"}}}"#;
const FLOATS: &str = r#"{"vector_domain": {"atom_domain": {"T": "f64", "nan": false}}}"#;

/// Repeat `part` until the text has about `size` bytes.
fn fill(open: &str, part: &str, close: &str, size: usize) -> String {
    let times = size.saturating_sub(open.len() + close.len() + 1) / part.len();
    [open, &part.repeat(times.max(1)), close].concat()
}
/// Repeat `part`, separated by commas, until the text has about `size` bytes.
fn list(open: &str, part: &str, close: &str, size: usize) -> String {
    fill(open, &format!("{part},"), &format!("{part}{close}"), size.saturating_sub(part.len()))
}
/// Write different values, separated by commas, until the text has about `size` bytes.
fn numbered(open: &str, value: impl Fn(usize) -> String, close: &str, size: usize) -> String {
    let mut text = open.to_owned();
    for number in 0.. {
        text.push_str(&value(number));
        if size < text.len() + close.len() + 24 {
            break;
        }
        text.push(',');
    }
    text + close
}
fn on(domain: &str, chain: &str) -> String {
    format!(
        r#"{{"space": {{"domain": {domain}, "metric": "symmetric_distance"}}, "chain": {chain}}}"#
    )
}
/// Nest a part in itself. The innermost part contains `filler`.
fn nest(open: &str, close: &str, depth: usize, filler: &str) -> String {
    [open.repeat(depth).as_str(), filler, &close.repeat(depth)].concat()
}
/// Return the text of a document before the character `@`, and the text after this character.
fn around(document: &str) -> (String, String) {
    let (open, close) = document.split_once('@').unwrap();
    (open.to_owned(), close.to_owned())
}

/// Return all texts. Each text has a description of its large part, and the names of the fuzzers
/// that read such texts.
pub(crate) fn texts(size: usize) -> Vec<(&'static str, String, &'static [&'static str])> {
    let every: &[&str] = &["type_descriptor", "signature", "document"];
    let ours: &[&str] = &["document"];
    let theirs: &[&str] = &["opendp_document"];
    let groups = [
        (plain(size), every),
        (arrays(size), ours),
        (documents(size), ours),
        (long(size), ours),
        (opendp(size), theirs),
    ];
    let with = |(texts, fuzzers): (Vec<(&'static str, String)>, _)| {
        texts.into_iter().map(move |(what, text)| (what, text, fuzzers))
    };
    groups.into_iter().flat_map(with).collect()
}
/// Return long JSON values, long names of constructors and types, and long texts that are invalid.
fn plain(size: usize) -> Vec<(&'static str, String)> {
    vec![
        ("an open array in another", "[".repeat(size)),
        ("an open object in another", fill("", "{\"a\":", "", size)),
        ("a long name", "a".repeat(size)),
        ("a long name with spaces", fill("", "a ", "", size)),
        ("white space", " ".repeat(size)),
        ("a known name and white space", fill("symmetric_distance", " ", "", size)),
        ("open type arguments", fill("", "Vec<", "", size)),
        ("closed type arguments", fill("make_clamp<", "i32, ", "i32>", size)),
        ("named type arguments", fill("make_clamp<", "T=i32, ", "T=i32>", size)),
        ("nested type arguments", {
            [fill("make_clamp<", "Vec<", "i32", size / 5 * 4), ">".repeat(size / 5)].concat()
        }),
        ("brackets that close nothing", fill("make_clamp<", ">", ">", size)),
        ("commas", fill("make_clamp<", ",", ">", size)),
        ("a tuple", list("(", "i32", ")", size)),
        ("a long text", fill("\"", "a", "\"", size)),
        ("escapes", fill("\"", "\\u001b", "\"", size)),
        ("not finite", list("[", "NaN", "]", size)),
        ("a long number", "7".repeat(size)),
        ("a long fraction", fill("0.", "7", "", size)),
        ("a long exponent", fill("1e", "7", "", size)),
        ("zeros", list("[", "0", "]", size)),
        ("empty objects", list("[", "{}", "]", size)),
        ("empty arrays", list("[", "[]", "]", size)),
        ("objects of one key", list("[", "{\"a\":0}", "]", size)),
        ("objects of a key that means something", list("[", "{\"laplace\":0}", "]", size)),
        ("nothings", list("[", "null", "]", size)),
        ("many keys", numbered("{", |i| format!("\"{i}\":0"), "}", size)),
        ("the same key", list("{", "\"a\":0", "}", size)),
        ("zeros 120 levels deep", {
            nest("[", "]", 120, &list("[", "0", "]", size - 240.min(size / 2)))
        }),
        ("a long version", fill("{\"version\": ", "7", ", \"chain\": []}", size)),
        ("versions", list("{\"version\": [", "1", "], \"chain\": []}", size)),
        ("packages", numbered("{\"packages\": {", |i| format!("\"p{i}\": 2"), "}}", size)),
    ]
}
/// Return documents in which the chain or one argument is a long array.
fn arrays(size: usize) -> Vec<(&'static str, String)> {
    let number = |i: usize| i.to_string();
    let with = |what, document: &str, part: &dyn Fn(usize) -> String| {
        let (open, close) = around(document);
        (what, numbered(&open, part, &close, size))
    };
    let categories = on(DOMAIN, r#"[{"count_by_categories": {"categories": [@]}}]"#);
    let candidates =
        on(DOMAIN, r#"[{"quantile_score_candidates": {"candidates": [@], "alpha": 0.5}}]"#);
    let bounds = on(FLOATS, r#"[{"clamp": {"bounds": [@]}}]"#);
    let chain = on(DOMAIN, "[@]");
    let names = on(
        r#"{"vector_domain": {"vector_domain": {"atom_domain": {"T": "String"}}}}"#,
        r#"[{"create_dataframe": {"col_names": [@]}}]"#,
    );
    vec![
        with("categories", &categories, &number),
        with("equal categories", &categories, &|_| "1".into()),
        with("categories of two types", &categories, &|i| format!("{i},\"{i}\"")),
        with("categories in arrays", &categories, &|_| "[1]".into()),
        with("candidates", &candidates, &number),
        with("candidates as floats", &candidates, &|i| format!("{i}.5")),
        with("bounds", &bounds, &|_| "0.0".into()),
        with("long bounds", &bounds, &|i| format!("{i}{}", "7".repeat(size / 3))),
        with("links", &chain, &|_| "\"count\"".into()),
        with("clamps", &chain, &|_| r#"{"clamp": {"bounds": [0, 1]}}"#.into()),
        with("unknown links", &chain, &|i| format!("\"make_x{i}\"")),
        with("names of columns", &names, &|i| format!("\"{i}\"")),
        with("names of parameters", &bounds, &|i| format!("{{\"param\": \"p{i}\"}}")),
    ]
}
/// Return documents in which one field is large or deeply nested.
fn documents(size: usize) -> Vec<(&'static str, String)> {
    let zeros = list("[", "0", "]", size - 4096.min(size / 2));
    let member = r#"{"chain": ["count", {"laplace": {"scale": 1.0}}]}"#;
    let composed = on(DOMAIN, r#"[{"composition": {"measurements": [@]}}]"#);
    let (open, close) = around(&composed);
    let many_zeros = r#"{"constructor": "make_count", "args": {"input": @}}"#;
    let nested = around(r#"{"constructor": "make_count", "args": {"input": @}}"#);
    let repeat = r#"{"repeat": 100000, "chain": ["count", {"laplace": {"scale": 1.0}}]}"#;
    let repeated = r#"{"repeat": 9, "chain": ["count", {"laplace": {"scale": @}}]}"#;
    let inner = around(r#"{"chain": [@]}"#);
    vec![
        ("members", list(&open, member, &close, size)),
        ("a repeated member that is large", {
            [&open, &*repeated.replace('@', &zeros), &close].concat()
        }),
        (
            "a hundred thousand members",
            composed.replace('@', repeat) + &" ".repeat(size - 400.min(size)),
        ),
        ("values beside a member", list(&open, "0", &format!(",{member}{close}"), size)),
        ("many arguments", {
            let document = around(r#"{"constructor": "make_count", "args": {@}}"#);
            numbered(&document.0, |i| format!("\"a{i}\": 1"), &document.1, size)
        }),
        ("many types", {
            let document = around(r#"{"constructor": "make_count", "types": {@}}"#);
            numbered(&document.0, |i| format!("\"T{i}\": \"i32\""), &document.1, size)
        }),
        ("an unknown argument", many_zeros.replace("input", "x").replace('@', &zeros)),
        ("an argument that is no space", many_zeros.replace('@', &zeros)),
        ("calls in calls", nest(&nested.0, &nested.1, 50, &zeros)),
        ("chains in chains", on(DOMAIN, &format!("[{}]", nest(&inner.0, &inner.1, 50, &zeros)))),
        ("a domain that is an array", on(&zeros, "[\"count\"]")),
        ("a long domain", on(&format!("\"{}\"", "a".repeat(size - 200.min(size))), "[\"count\"]")),
        ("a long metric", {
            on(DOMAIN, "[\"count\"]").replace("symmetric_distance", &"a".repeat(size))
        }),
        ("a long type", {
            let long = "Vec<".repeat(size / 4);
            on(&format!("{{\"atom_domain\": {{\"T\": \"{long}\"}}}}"), "[\"count\"]")
        }),
        ("a long link", on(DOMAIN, &format!("[\"{}\"]", "a".repeat(size - 200.min(size))))),
        ("a link that is an array", on(DOMAIN, &format!("[{zeros}]"))),
        ("a long key", on(DOMAIN, &format!("[{{\"clamp\": {{\"{}\": 1}}}}]", "a".repeat(size)))),
    ]
}
/// Return documents with one long name, number or text.
fn long(size: usize) -> Vec<(&'static str, String)> {
    vec![
        ("a long constructor", json!({"constructor": "a".repeat(size)}).to_string()),
        ("a long constructor with types", {
            json!({"constructor": fill("make_clamp<", "i32, ", "i32>", size)}).to_string()
        }),
        (
            "a long bound",
            on(FLOATS, &format!("[{{\"clamp\": {{\"bounds\": [0, {}]}}}}]", "7".repeat(size))),
        ),
        ("a small bound", {
            let number = ["0.", &"0".repeat(size), "7"].concat();
            on(FLOATS, &format!("[{{\"clamp\": {{\"bounds\": [0, {number}]}}}}]"))
        }),
        ("a long scale", {
            let number = ["1.", &"7".repeat(size)].concat();
            on(DOMAIN, &format!("[\"count\", {{\"laplace\": {{\"scale\": {number}}}}}]"))
        }),
        ("a long constant", {
            let text = r#"{"vector_domain": {"atom_domain": {"T": "String"}}}"#;
            on(text, &format!("[{{\"is_equal\": {{\"value\": \"{}\"}}}}]", "a".repeat(size)))
        }),
    ]
}
/// Return large documents in the format of OpenDP.
fn opendp(size: usize) -> Vec<(&'static str, String)> {
    let call = |name: &str, arguments: &str| {
        format!(
            r#"{{"__function__": "{name}", "__module__": "m", "__kwargs__": {{{arguments}}}, "__version__": "0.16.0"}}"#
        )
    };
    let domain = call(
        "vector_domain",
        &format!("\"atom_domain\": {}", call("atom_domain", "\"T\": \"i32\"")),
    );
    let metric = call("symmetric_distance", "");
    let space = format!("\"input_domain\": {domain}, \"input_metric\": {metric}");
    let counted =
        |list: &str| call("make_count_by_categories", &format!("{space}, \"categories\": {list}"));
    let zeros = list("[", "0", "]", size - 8192.min(size / 2));
    let different = numbered("[", |i| i.to_string(), "]", size - 1024.min(size / 2));
    let tuples = list("[", r#"{"__tuple__":[0]}"#, "]", size - 1024.min(size / 2));
    let first =
        around(&call("make_chain_tt", "\"transformation1\": \"x\", \"transformation0\": @"));
    let both = around(&call(
        "make_chain_tt",
        &format!("\"transformation0\": @, \"transformation1\": {zeros}"),
    ));
    let this = around(&call("transformation_output_domain", "\"this\": @"));
    let inside = around(&call("vector_domain", "\"atom_domain\": @"));
    let unknown = around(&call("make_nothing", "\"x\": @"));
    let count = call("make_count", &space);
    vec![
        ("categories of OpenDP", counted(&different)),
        ("zeros of OpenDP", counted(&zeros)),
        ("tuples of OpenDP", counted(&tuples)),
        ("first parts in first parts", nest(&first.0, &first.1, 40, &counted(&zeros))),
        ("first parts in first parts, valid", nest(&first.0, &first.1, 40, &counted(&different))),
        ("spaces of spaces", nest(&this.0, &this.1, 40, &counted(&different))),
        ("unknown calls in each other", nest(&unknown.0, &unknown.1, 40, &zeros)),
        ("domains in domains", nest(&inside.0, &inside.1, 50, &zeros)),
        ("a large second part", [&both.0, count.as_str(), &both.1].concat()),
        ("many parts", list("[", &count, "]", size)),
        ("a composition", {
            let laplace = call("make_laplace", "\"scale\": 1.0");
            let parts = list("[", &laplace, "]", size - 1024.min(size / 2));
            call("make_composition", &format!("{space}, \"measurements\": {parts}"))
        }),
        ("a long name of a function", call(&"a".repeat(size), "")),
        ("tuples in tuples", { nest("{\"__tuple__\": [", "]}", 55, &zeros) }),
    ]
}
