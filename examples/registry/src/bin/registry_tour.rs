//! A tour of the registry: build a mechanism from text alone, and show its properties.
//!
//! ```text
//! cargo run -p example-registry --bin registry_tour
//! ```
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::process::ExitCode;

use opendp_core::{Distance, Domain, Error, Function, Kind, Made, Metric, Parameter, Result};
use opendp_core::{Measure, erased::AnyMeasurement};
use opendp_examples::terminal;
use opendp_registry::{Addition, Document, Registry};
use serde_json::json;

// A crate registers its constructors only if code names the crate.
use opendp_measurements as _;
use opendp_transformations as _;

/// A document of a private sum of incomes. The incomes are in thousands of dollars. The scale of
/// the noise is a free parameter.
const SUM: &str = r#"{
    "space": {
        "domain": {"vector_domain": {"atom_domain": {"T": "f64", "nan": false}}},
        "metric": "symmetric_distance"
    },
    "chain": [
        {"clamp": {"bounds": [0.0, 100.0]}},
        "sum",
        {"laplace": {"scale": {"param": "scale"}}}
    ]
}"#;

fn main() -> ExitCode {
    terminal::finish(tour().map(|lines| lines.join("\n")))
}
fn tour() -> Result<Vec<String>> {
    let mut text = Vec::new();
    let mut say = |line: &str| text.push(line.to_owned());
    // Use a separate registry, because the tour adds a constructor at the end.
    let registry = Registry::new();
    registry.expecting(&["make_clamp", "make_sum", "make_laplace"])?;

    say("1. What is registered\n");
    for name in ["make_clamp", "make_sum", "make_laplace"] {
        let signatures = registry.signatures(name)?;
        let Some(first) = signatures.first() else { continue };
        let documentation = first.documentation();
        say(&format!("{name}: {}", documentation.lines().next().unwrap_or_default()));
        say(&format!("    {} signatures, such as", signatures.len()));
        say(&format!("    {first}"));
        say(&format!("    from {} {}", first.origin().0, first.origin().1));
    }

    say("\n2. A mechanism from a document\n");
    let document = Document::parse(SUM)?;
    say(&format!("the parameters of the document: {}", document.parameters().join(", ")));
    let sum = at_scale(&document, &registry, 200.0)?;
    describe(&sum)?.iter().for_each(|line| say(line));

    say("\n3. Releases. Each release spends the loss again\n");
    let incomes = sum.input().domain().decode(&json!([12.5, 31.0, 0.0, 47.25, 900.0]))?;
    for _ in 0..3 {
        say(&format!("    {}", opendp_core::Codec::to_json(&sum.invoke(&incomes)?)));
    }

    say("\n4. The least noise for a budget\n");
    let scale = document.solve(&registry, "scale", &json!(1), &json!(0.5))?;
    say(&format!("at most epsilon 0.5 for one person more or less: scale {scale}"));
    let filled = BTreeMap::from([("scale".to_owned(), scale)]);
    let least = document.build_with(&registry, &filled)?.measurement()?;
    describe(&least)?.iter().for_each(|line| say(line));

    say("\n5. An error that helps\n");
    let misspelt = Document::parse(&SUM.replace("laplace", "laplase"))?;
    match at_scale(&misspelt, &registry, 1.0) {
        Err(error) => say(&format!("    {}: {error}", error.kind())),
        Ok(_) => say("    a misspelt name was found"),
    }

    say("\n6. A constructor that is added while the program runs\n");
    registry.add(round_to())?;
    let [entry] = &registry.signatures("tour::make_round_to")?[..] else {
        return Err(Error::NotFound("the constructor that was added".into()));
    };
    say(&format!("    {entry}"));
    let chain = r#"{"param": "scale"}}}, {"tour::round_to": {"step": 25.0}}]"#;
    let rounded = SUM.replace("{\"param\": \"scale\"}}}\n    ]", chain);
    let rounded = at_scale(&Document::parse(&rounded)?, &registry, 200.0)?;
    say(&format!("    {}", opendp_core::Codec::to_json(&rounded.invoke(&incomes)?)));
    say("it is post-processing, so the loss stays the same:");
    text.extend(describe(&rounded)?);
    Ok(text)
}

fn at_scale(document: &Document, registry: &Registry, scale: f64) -> Result<AnyMeasurement> {
    let values = BTreeMap::from([("scale".to_owned(), json!(scale))]);
    document.build_with(registry, &values)?.measurement()
}
/// Describe the input space and the measure of a mechanism, and its loss at several distances.
fn describe(measurement: &AnyMeasurement) -> Result<Vec<String>> {
    let (domain, metric) = (measurement.input().domain(), measurement.input().metric());
    let mut text = vec![
        format!("    from     {}", domain.to_json()),
        format!("    under    {}", metric.to_json()),
        format!("    loss in  {}", measurement.measure().to_json()),
    ];
    for d_in in [0, 1, 2, 10] {
        let loss = measurement.map(&metric.decode(&json!(d_in))?)?;
        text.push(format!("    map({d_in:>2})  {}", loss.show()));
    }
    Ok(text)
}
/// Make one constructor that can be added to the registry. The constructor is made from a closure
/// and a description. The constructor makes a function of a release. A binding to another language
/// can add constructors of functions at run time in the same way.
fn round_to() -> Addition {
    let output = <Function<f64, f64> as Made>::type_name();
    Addition::new("tour::make_round_to", "opendp-examples", Kind::Function, output)
        .documentation("Round a release to the nearest multiple of a step.")
        .parameter(Parameter::new::<f64>("step", None))
        .constructs(|args| {
            let step: f64 = args.decode("step", None)?;
            if !(0.0 < step) {
                return Err(Error::argument("step", "expected a number above 0"));
            }
            Ok(Function::map(move |x: &f64| Ok((x / step).round() * step)).erased())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tour_goes_all_the_way_and_shows_the_error() -> Result<()> {
        let text = tour()?.join("\n");
        assert!(text.contains("scale 200.0"), "{text}");
        assert!(text.contains("did you mean `make_laplace`"), "{text}");
        assert!(text.contains("tour::make_round_to(step: f64) -> Function<f64, f64>"), "{text}");
        Ok(())
    }
}
