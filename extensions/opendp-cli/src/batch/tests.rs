use opendp_core::{Kind, Named, SymmetricDistance};
use opendp_registry::Addition;

use super::*;

fn answers(lines: &[u8], longest: usize) -> (Vec<Json>, bool) {
    answers_of(Registry::global(), lines, longest)
}
fn answers_of(registry: &Registry, lines: &[u8], longest: usize) -> (Vec<Json>, bool) {
    let mut out = Vec::new();
    // With a small buffer, a line arrives in many parts.
    let input = io::BufReader::with_capacity(7, lines);
    let all = serve(registry, input, &mut out, longest).unwrap();
    let text = String::from_utf8(out).unwrap();
    (text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), all)
}

#[test]
fn a_line_without_an_end_is_not_kept_and_the_next_is_answered() {
    let list = br#"{"id":1,"op":"list","kind":"measure"}"#;
    let mut lines = list.to_vec();
    lines.extend(b"\n{\"id\":2,\"op\":\"list\",");
    lines.extend(vec![b' '; 10_000]);
    lines.extend(b"}\n");
    lines.extend(list);
    lines.push(b'\n');
    lines.extend(vec![b'x'; 10_000]);
    let (answers, all) = answers(&lines, list.len());
    assert!(!all);
    assert_eq!(answers.len(), 4);
    assert!(answers[0]["value"].is_array() && answers[2]["value"].is_array());
    for cut in [&answers[1], &answers[3]] {
        assert!(cut["error"]["message"].as_str().unwrap().contains("37 bytes"), "{cut}");
    }
}
#[test]
fn no_more_of_a_line_is_kept_than_the_longest() {
    let mut line = Vec::new();
    let mut input = io::BufReader::new(io::repeat(b'x').take(1 << 20));
    assert!(matches!(read_line(&mut input, &mut line, 100).unwrap(), Line::Cut));
    assert_eq!(line.len(), 101);
    assert!(matches!(read_line(&mut input, &mut line, 100).unwrap(), Line::End));
}
#[test]
fn an_unknown_field_is_an_error_that_names_the_nearest() {
    for (line, parts) in [
        (r#"{"op": "list", "knid": "measure"}"#, ["`knid`", "did you mean `kind`?"]),
        (r#"{"op": "map", "pipeline": {}, "d_in": 1, "d_out": 1}"#, ["`d_out`", "`d_in`"]),
        (r#"{"op": "solve", "pipeline": {}, "parms": {"s": 1}}"#, ["`parms`", "`param"]),
    ] {
        let (answers, all) = answers(line.as_bytes(), 1000);
        let message = answers[0]["error"]["message"].as_str().unwrap();
        assert!(!all && parts.iter().all(|part| message.contains(part)), "{message}");
    }
    for line in [r#"{"operation": "list"}"#, r#"{"op": "lst"}"#, r#"{"op": 3}"#] {
        let (answers, _) = answers(line.as_bytes(), 1000);
        let message = answers[0]["error"]["message"].as_str().unwrap();
        assert!(message.contains("expected one of make, map, check"), "{message}");
    }
    // A field that is null counts as absent.
    assert!(answers(br#"{"op": "list", "kind": null, "name": null}"#, 1000).1);
}
#[test]
fn a_measure_without_a_profile_is_answered_by_the_conversion_to_use() {
    let request = |chain: &str| {
        format!(
            r#"{{"op": "delta", "d_in": 1, "epsilon": 1, "pipeline": {{"space": {{"domain":
            {{"atom_domain": {{"T": "i64"}}}}, "metric": {{"absolute_distance": {{"T": "i64"}}}}}},
            "chain": [{chain}]}}}}"#
        )
        .replace('\n', " ")
    };
    let noise = r#"{"gaussian": {"scale": 5.0}}"#;
    let (refused, _) = answers(request(noise).as_bytes(), 1000);
    let message = refused[0]["error"]["message"].as_str().unwrap();
    assert!(message.contains(r#"convert it with {"zCDP_to_approxDP": "#), "{message}");
    let converted = format!(r#"{{"zCDP_to_approxDP": {{"measurement": {{"chain": [{noise}]}}}}}}"#);
    let (given, all) = answers(request(&converted).as_bytes(), 1000);
    assert!(all && given[0]["value"].as_f64().unwrap() < 1e-3, "{given:?}");
}
#[test]
fn a_key_that_occurs_twice_is_an_error() {
    let (answers, _) = answers(br#"{"id": 1, "op": "list", "op": "describe"}"#, 1000);
    let message = answers[0]["error"]["message"].as_str().unwrap();
    assert!(message.contains("`op` occurs twice"), "{message}");
}

/// A panic is a fault of the code of one constructor. The other requests still have answers.
#[test]
fn a_constructor_that_panics_gets_an_error_and_the_next_line_is_answered() {
    let registry = Registry::new();
    let output = SymmetricDistance::type_name();
    let panics = Addition::new("test::panics", "test", Kind::Metric, output);
    registry.add(panics.constructs(|_| panic!("the secret 17"))).unwrap();
    let lines = "{\"id\":1,\"op\":\"make\",\"pipeline\":{\"constructor\":\"test::panics\"}}\n\
                 {\"id\":2,\"op\":\"list\",\"kind\":\"measure\"}\n";
    let (answers, all) = answers_of(&registry, lines.as_bytes(), 1000);
    let error = &answers[0]["error"];
    assert!(!all && answers[0]["id"] == 1 && error["kind"] == "FailedFunction", "{answers:?}");
    assert!(error["message"].as_str().unwrap().starts_with("the code panicked"), "{error}");
    assert!(!error.to_string().contains("17"), "{error}");
    assert!(answers[1]["id"] == 2 && answers[1]["value"].is_array(), "{answers:?}");
}
