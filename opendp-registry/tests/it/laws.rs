//! Every registered transformation, found by its name and signature alone, is put to the test.

use std::sync::atomic::{AtomicUsize, Ordering};

use opendp_core::laws::{Draw, Grounds};
use opendp_core::{
    Arg, Args, AtomDomain, ChangeOneDistance, DataFrameDomain, Function, HammingDistance,
    InsertDeleteDistance, Kind, Made, Parameter, Space, StabilityMap, SymmetricDistance,
    Transformation, TypeName, VectorDomain,
};
use opendp_registry::{Addition, Entry, Registry};
use serde_json::{Value as Json, json};

use crate::build;

/// How many ways to build each signature are tried.
const BUILDS: usize = 6;

/// Fields of text, as many as each record has.
type Fields = VectorDomain<VectorDomain<AtomDomain<String>>>;

/// The spaces in which transformations start and end.
fn grounds() -> Grounds {
    macro_rules! all {
        ($($t:ty: $($q:ty)*;)*) => {
            Grounds::new()
                .records::<bool>()
                .records::<String>()
                .with::<AtomDomain<String>, SymmetricDistance>()
                .with::<Fields, SymmetricDistance>()
                .with::<Fields, InsertDeleteDistance>()
                .with::<DataFrameDomain<String>, SymmetricDistance>()
                .with::<DataFrameDomain<String>, InsertDeleteDistance>()
                .with::<DataFrameDomain<String>, ChangeOneDistance>()
                .with::<DataFrameDomain<String>, HammingDistance>()
                $(.records::<$t>()$(.numbers::<$t, $q>())*)*
        };
    }
    all! {
        i8: i8 f64; i16: i16 f64; i32: i32 f64; i64: i64 f64; i128: i128 f64; isize: isize f64;
        u8: u8 f64; u16: u16 f64; u32: u32 f64; u64: u64 f64; u128: u128 f64; usize: usize f64;
        f32: f32 f64; f64: f64;
    }
}
/// Domains of a type, as documents write them.
fn domains(name: &TypeName) -> Vec<Json> {
    let inner = |place: usize| domains(&name.args()[place]);
    match name.head() {
        "AtomDomain" => {
            let t = name.args()[0].to_string();
            let bounds = match &*t {
                "f32" | "f64" => vec![json!([0.0, 10.0]), json!([-1.5, 2.5]), json!([1e20, 1e30])],
                "bool" => vec![json!([false, true])],
                "String" => vec![json!(["", "b"])],
                unsigned if unsigned.starts_with('u') => vec![json!([0, 10]), json!([3, 100])],
                _ => vec![json!([-3, 5]), json!([-128, 127]), json!([1, 4])],
            };
            let bounded = bounds.iter().map(|bounds| json!({"T": t, "bounds": bounds}));
            let mut all: Vec<Json> = bounded.chain([json!({"T": t})]).collect();
            if t.starts_with('f') {
                all.push(json!({"T": t, "nan": false}));
            }
            all.into_iter().map(|arguments| json!({"atom_domain": arguments})).collect()
        }
        "OptionDomain" => {
            inner(0).into_iter().map(|d| json!({"option_domain": {"element_domain": d}})).collect()
        }
        "VectorDomain" => {
            let sized = |d: Json| {
                [json!(null), json!(2), json!(3)]
                    .map(|size| json!({"vector_domain": {"atom_domain": d.clone(), "size": size}}))
            };
            inner(0).into_iter().flat_map(sized).collect()
        }
        "DataFrameDomain" => {
            // Frames of any columns, and of all pairs of some types.
            let types = ["bool", "i32", "i64", "u32", "u64", "usize", "f32", "f64", "String"];
            let cell = |t: &&str| json!({"atom_domain": {"T": t}});
            let may_lack = |t: &&str| json!({"option_domain": {"element_domain": cell(t)}});
            let cells: Vec<Json> = types.iter().flat_map(|t| [cell(t), may_lack(t)]).collect();
            let schema = |(i, a): (usize, &Json)| {
                let b = cells[7 * i % cells.len()].clone();
                let size = [json!(null), json!(2), json!(3)][i % 3].clone();
                json!({"dataframe_domain": {
                    "col_names": ["a", "b"], "element_domains": [a, b], "size": size
                }})
            };
            let any = [json!(null), json!(2)].map(|n| json!({"dataframe_domain": {"size": n}}));
            any.into_iter().chain(cells.iter().enumerate().map(schema)).collect()
        }
        "MapDomain" => {
            let (keys, values) = (inner(0), inner(1));
            let pair = |v| json!({"map_domain": {"key_domain": keys[0], "value_domain": v}});
            values.into_iter().map(pair).collect()
        }
        _ => vec![json!(name.to_string())],
    }
}
/// Values that an argument may take: whichever of these its type can read.
fn values(parameter: &Parameter) -> Vec<Arg> {
    let pool = json!([
        null,
        true,
        false,
        0,
        1,
        2,
        3,
        5,
        -1,
        4,
        0.0,
        -0.0,
        0.1,
        0.5,
        1.0,
        2.5,
        1e300,
        -1.5,
        "",
        "a",
        "b",
        "0",
        ",",
        [0, 1],
        [0, 10],
        [-3, 5],
        [1, 4],
        [0.5, 1.5],
        [-1.5, 2.5],
        [0.0, 1e30],
        ["a", "b"],
        ["", "x"],
        [false, true],
        [-128, 127],
        [0, 255],
        [-9223372036854775808_i64, 9223372036854775807_i64],
        [0, 1, 7],
        [-1.5, 0.0, 2.5],
        [0, 2, 100],
        ["a", "b", ""],
        [1],
        ["0"],
        [true],
        [0.1]
    ]);
    let Json::Array(pool) = pool else { return Vec::new() };
    let fits = |value: Json| {
        let arg = Arg::from(value);
        (parameter.decodes)(&arg).is_ok().then_some(arg)
    };
    pool.into_iter().filter_map(fits).collect()
}
fn pick<T: Clone>(items: &[T], draw: &mut Draw) -> Option<T> {
    draw.pick(items).cloned()
}
/// Choose a space and arguments for a signature.
fn arguments(parameters: &[Parameter], pools: &[Vec<Arg>], draw: &mut Draw) -> Option<Args> {
    let mut args = Args::new();
    for (parameter, pool) in parameters.iter().zip(pools) {
        // One optional argument in two is left to its default.
        if parameter.default.is_some() && draw.below(2) == 0 {
            continue;
        }
        args = args.with(&parameter.name, pick(pool, draw)?);
    }
    Some(args)
}
/// A metric of a type, as documents write it.
fn metric_json(name: &TypeName) -> Json {
    let function = match name.head() {
        "SymmetricDistance" => "symmetric_distance",
        "InsertDeleteDistance" => "insert_delete_distance",
        "ChangeOneDistance" => "change_one_distance",
        "HammingDistance" => "hamming_distance",
        "DiscreteDistance" => "discrete_distance",
        "AbsoluteDistance" => "absolute_distance",
        "L1Distance" => "l1_distance",
        "L2Distance" => "l2_distance",
        "LInfDistance" => "linf_distance",
        "RangeDistance" => "range_distance",
        "L01InfDistance" => "l01inf_distance",
        "L02InfDistance" => "l02inf_distance",
        other => panic!("no description of {other}"),
    };
    let arguments = match name.args() {
        [] => json!({}),
        [inner] if inner.args().is_empty() => json!({"T": inner.to_string()}),
        [inner, ..] => json!({"metric": metric_json(inner)}),
    };
    json!({function: arguments})
}
/// All spaces that a parameter of type `Space<D, M>` may take, by pairs of descriptors.
fn spaces(parameter: &Parameter) -> Vec<Arg> {
    let [domain, metric] = parameter.type_name.args() else { return Vec::new() };
    let metric = build(metric_json(metric)).unwrap().metric().unwrap();
    let domains = domains(domain).into_iter().filter_map(|json| build(json).ok()?.domain().ok());
    domains.map(|domain| Arg::Pair(domain, metric.clone())).collect()
}
/// Test one signature. Gives how many builds, pairs and random builds there were.
fn test(entry: &Entry, grounds: &Grounds, seed: u64) -> Result<[usize; 3], String> {
    let mut draw = Draw::new(seed);
    let pool = |parameter: &Parameter| match parameter.type_name.head() {
        "Space" => spaces(parameter),
        _ => values(parameter),
    };
    let pools: Vec<Vec<Arg>> = entry.parameters().iter().map(pool).collect();
    let (mut built, mut pairs, mut random) = (0, 0, 0);
    for _ in 0..400 {
        let Some(args) = arguments(entry.parameters(), &pools, &mut draw) else { break };
        let Ok(made) = entry.construct(&args) else { continue };
        let transformation = made.transformation().map_err(|error| error.to_string())?;
        let tried = grounds.check(&transformation, &mut draw).map_err(|broken| {
            let shown: Vec<String> = args
                .iter()
                .map(|(name, arg)| match arg {
                    Arg::Json(json) => format!("{name} = {json}"),
                    _ => format!("{name} = {}", transformation.input().to_json()),
                })
                .collect();
            format!("{entry} with {}: {broken}", shown.join(", "))
        })?;
        built += 1;
        pairs += tried.pairs;
        random += usize::from(tried.random);
        if built == BUILDS {
            break;
        }
    }
    match built {
        0 => Err(format!("{entry}: no choice of arguments builds it")),
        _ => Ok([built, pairs, random]),
    }
}

#[test]
fn every_registered_transformation_obeys_the_laws() {
    // Combinators are tested on what they combine.
    let combines =
        |entry: &Entry| entry.parameters().iter().any(|p| p.type_name.to_string().contains("Any"));
    let registry = Registry::global();
    let names = registry.names();
    let entries = names.iter().flat_map(|name| registry.signatures(name).unwrap());
    let entries: Vec<_> =
        entries.filter(|e| e.kind() == Kind::Transformation && !combines(e)).collect();
    let (grounds, next) = (grounds(), AtomicUsize::new(0));
    let broken: Vec<String> = std::thread::scope(|scope| {
        let work = || {
            let mut broken = Vec::new();
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(entry) = entries.get(place) else { return broken };
                match test(entry, &grounds, place as u64) {
                    Ok([_, 0, 0]) => broken.push(format!("{entry}: no pair was tried")),
                    Ok(_) => {}
                    Err(reason) => broken.push(reason),
                }
            }
        };
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(entries.len() > 700, "{}", entries.len());
    assert!(broken.is_empty(), "{} of {}:\n{}", broken.len(), entries.len(), broken.join("\n"));
}

#[test]
fn a_map_that_claims_too_little_is_found_by_name_and_signature_alone() {
    type Rows = VectorDomain<AtomDomain<i32>>;
    let made = |claim: u32| {
        move |args: &Args| {
            let input: Space<Rows, InsertDeleteDistance> = args.decode("input", None)?;
            let first = Function::map(|rows: &Vec<i32>| Ok(rows.iter().copied().take(1).collect()));
            let domain = input.domain().clone().without_size();
            let output = Space::new(domain, InsertDeleteDistance)?;
            let map = StabilityMap::from_constant(claim);
            Ok(Transformation::new(input, output, first, map).erased())
        }
    };
    for (name, claim) in [("first_claims_enough", 2), ("first_claims_too_little", 1)] {
        let registry = Registry::new();
        let addition = Addition::new(name, "app", Kind::Transformation, TypeName::plain("First"))
            .parameter(Parameter::new::<Space<Rows, InsertDeleteDistance>>("input", None))
            .constructs(made(claim));
        registry.add(addition).unwrap();
        let entry = &registry.signatures(name).unwrap()[0];
        let tried = test(entry, &grounds(), 0);
        assert_eq!(tried.is_ok(), claim == 2, "{tried:?}");
    }
}
