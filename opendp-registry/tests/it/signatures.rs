//! Builds objects from every registered signature with sample arguments, for tests of all
//! signatures.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use opendp_core::laws::{Draw, Grounds};
use opendp_core::{
    AbsoluteDistance, Arg, Args, AtomDomain, BitVectorDomain, ChangeOneDistance, Constructed,
    DataFrameDomain, DiscreteDistance, Domain, HammingDistance, IBig, InsertDeleteDistance, Kind,
    L1Distance, L01InfDistance, L2Distance, MapDomain, Metric, PairDomain, Parameter,
    SymmetricDistance, TypeName, VectorDomain,
};
use opendp_registry::{Entry, Registry};
use serde_json::{Value as Json, json};

use crate::build;

/// The maximum number of objects that are built from each signature.
const BUILDS: usize = 6;

/// The domain of data sets whose records are lists of text fields. Each record can have any number
/// of fields.
type Fields = VectorDomain<VectorDomain<AtomDomain<String>>>;

/// Return the input spaces of transformations and measurements, and the output spaces of
/// transformations.
pub(crate) fn grounds() -> Grounds {
    macro_rules! numbers {
        ($grounds:expr; $($t:ty: $($q:ty)*;)*) => {
            $grounds
                .records::<bool>()
                .records::<String>()
                .with::<BitVectorDomain, DiscreteDistance>()
                .with::<AtomDomain<bool>, DiscreteDistance>()
                .with::<AtomDomain<String>, DiscreteDistance>()
                .with::<AtomDomain<String>, SymmetricDistance>()
                .with::<Fields, SymmetricDistance>()
                .with::<Fields, InsertDeleteDistance>()
                .with::<DataFrameDomain<String>, SymmetricDistance>()
                .with::<DataFrameDomain<String>, InsertDeleteDistance>()
                .with::<DataFrameDomain<String>, ChangeOneDistance>()
                .with::<DataFrameDomain<String>, HammingDistance>()
                $(.records::<$t>()
                .with::<AtomDomain<$t>, DiscreteDistance>()
                $(.numbers::<$t, $q>())*)*
        };
    }
    macro_rules! pairs {
        ($grounds:expr; $($t:ty)*) => {
            $grounds$(
                .with::<VectorDomain<PairDomain<AtomDomain<$t>, AtomDomain<$t>>>, SymmetricDistance>()
                .with::<VectorDomain<PairDomain<AtomDomain<$t>, AtomDomain<$t>>>, InsertDeleteDistance>()
                .with::<VectorDomain<PairDomain<AtomDomain<$t>, AtomDomain<$t>>>, ChangeOneDistance>()
                .with::<VectorDomain<PairDomain<AtomDomain<$t>, AtomDomain<$t>>>, HammingDistance>()
            )*
        };
    }
    let grounds = numbers! {
        Grounds::new();
        i8: i8 f64; i16: i16 f64; i32: i32 f64; i64: i64 f64; i128: i128 f64; isize: isize f64;
        u8: u8 f64; u16: u16 f64; u32: u32 f64; u64: u64 f64; u128: u128 f64; usize: usize f64;
        f32: f32 f64; f64: f64;
    };
    let grounds = grounds
        .with::<AtomDomain<IBig>, AbsoluteDistance<f64>>()
        .with::<VectorDomain<AtomDomain<IBig>>, L1Distance<f64>>()
        .with::<VectorDomain<AtomDomain<IBig>>, L2Distance<f64>>();
    trees(counts(maps(pairs!(grounds; f32 f64))))
}
/// Add the spaces of vectors of counts. The counts of such a vector are the leaves of a tree of
/// sums. The type of the distances can differ from the type of the counts.
fn trees(grounds: Grounds) -> Grounds {
    macro_rules! trees {
        ($($t:ty)*) => {
            grounds$(
                .with::<VectorDomain<AtomDomain<$t>>, L1Distance<i32>>()
                .with::<VectorDomain<AtomDomain<$t>>, L1Distance<i64>>()
                .with::<VectorDomain<AtomDomain<$t>>, L1Distance<u32>>()
                .with::<VectorDomain<AtomDomain<$t>>, L1Distance<u64>>()
                .with::<VectorDomain<AtomDomain<$t>>, L2Distance<i32>>()
                .with::<VectorDomain<AtomDomain<$t>>, L2Distance<i64>>()
                .with::<VectorDomain<AtomDomain<$t>>, L2Distance<u32>>()
                .with::<VectorDomain<AtomDomain<$t>>, L2Distance<u64>>()
            )*
        };
    }
    trees!(i8 i16 i32 i64 u8 u16 u32 u64 usize)
}
/// Add the spaces of maps from keys to numbers, for mechanisms with a threshold.
fn maps(grounds: Grounds) -> Grounds {
    macro_rules! maps {
        ($($k:ty)*) => {
            grounds$(
                .maps::<$k, i32, i32>().maps::<$k, i32, f64>()
                .maps::<$k, i64, i64>().maps::<$k, i64, f64>()
                .maps::<$k, u32, u32>().maps::<$k, u32, f64>()
                .maps::<$k, u64, u64>().maps::<$k, u64, f64>()
                .maps::<$k, usize, usize>().maps::<$k, usize, f64>()
                .maps::<$k, f32, f32>().maps::<$k, f32, f64>()
                .maps::<$k, f64, f64>()
            )*
        };
    }
    maps!(bool i32 i64 u32 u64 usize String)
}
/// Add the spaces of maps from keys to counts, for the key types that `maps` does not add.
fn counts(grounds: Grounds) -> Grounds {
    macro_rules! each {
        ($grounds:expr; $($k:ty)*) => {
            $grounds$(
                .with::<Counts<$k, i32>, ByKey<i32>>()
                .with::<Counts<$k, i64>, ByKey<i64>>()
                .with::<Counts<$k, u32>, ByKey<u32>>()
                .with::<Counts<$k, u64>, ByKey<u64>>()
                .with::<Counts<$k, usize>, ByKey<usize>>()
                .with::<Counts<$k, f64>, ByKey<f64>>()
            )*
        };
    }
    each!(grounds; i8 i16 i128 u8 u16)
}
type Counts<K, V> = MapDomain<AtomDomain<K>, AtomDomain<V>>;
type ByKey<Q> = L01InfDistance<AbsoluteDistance<Q>>;

/// List domains of a type, in document form.
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
            // Domains of frames: some without a schema, and some with two columns. Among the
            // domains with two columns, each type of cell occurs once in each of the two columns.
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
        "PairDomain" => {
            let (first, second) = (inner(0), inner(1));
            let pair = |(a, b)| json!({"pair_domain": {"domain_0": a, "domain_1": b}});
            first.into_iter().zip(second.into_iter().rev()).map(pair).collect()
        }
        "BitVectorDomain" => [json!({}), json!({"size": 9}), json!({"size": 65, "max_weight": 4})]
            .map(|arguments| json!({"bitvector_domain": arguments}))
            .to_vec(),
        "MapDomain" => {
            let (keys, values) = (inner(0), inner(1));
            let pair = |v| json!({"map_domain": {"key_domain": keys[0], "value_domain": v}});
            values.into_iter().map(pair).collect()
        }
        _ => vec![json!(name.to_string())],
    }
}
/// Return candidates for the argument of a parameter: all values of a fixed list that the type of
/// the parameter can parse.
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
        "max",
        "min",
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
        [0.1],
        [1.0, 1e-6]
    ]);
    let Json::Array(pool) = pool else { return Vec::new() };
    let measures = [
        json!({"max_divergence": {}}),
        json!({"zero_concentrated_divergence": {}}),
        json!({"approximate": {"measure": {"max_divergence": {}}}}),
        json!({"approximate": {"measure": {"zero_concentrated_divergence": {}}}}),
    ];
    let measures = measures.into_iter().filter_map(|json| build(json).ok().map(Arg::from));
    let fits = |arg: &Arg| parameter.decodes(arg).is_ok();
    pool.into_iter().map(Arg::from).chain(measures).filter(fits).collect()
}
/// Choose a space and arguments for a signature.
fn arguments(parameters: &[Parameter], pools: &[Vec<Arg>], draw: &mut Draw) -> Option<Args> {
    let mut args = Args::new();
    for (parameter, pool) in parameters.iter().zip(pools) {
        // Leave out about half of the optional arguments, so that their defaults are used.
        if parameter.default.is_some() && (pool.is_empty() || draw.below(2) == 0) {
            continue;
        }
        args = args.with(&parameter.name, draw.pick(pool).cloned()?);
    }
    Some(args)
}
/// Return a metric of a type, in document form.
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
/// Return all spaces for a parameter of type `Space<D, M>`, as pairs of a domain and a metric.
fn spaces(parameter: &Parameter) -> Vec<Arg> {
    let [domain, metric] = parameter.type_name.args() else { return Vec::new() };
    let metric = build(metric_json(metric)).unwrap().metric().unwrap();
    let domains = domains(domain).into_iter().filter_map(|json| build(json).ok()?.domain().ok());
    domains.map(|domain| Arg::Pair(domain, metric.clone())).collect()
}

/// The object that a signature made from some arguments, with a description of the arguments.
pub(crate) struct Built {
    pub(crate) made: Constructed,
    pub(crate) told: String,
}
/// Build several objects from a signature, with different arguments.
pub(crate) fn builds(entry: &Entry, draw: &mut Draw) -> Result<Vec<Built>, String> {
    let pool = |parameter: &Parameter| match parameter.type_name.head() {
        "Space" => spaces(parameter),
        _ => values(parameter),
    };
    let pools: Vec<Vec<Arg>> = entry.parameters().iter().map(pool).collect();
    let mut built = Vec::new();
    for _ in 0..400 {
        let Some(args) = arguments(entry.parameters(), &pools, draw) else { break };
        let Ok(made) = entry.construct(&args) else { continue };
        let shown = args.iter().map(|(name, arg)| match arg {
            Arg::Json(json) => format!("{name} = {json}"),
            Arg::Pair(domain, metric) => {
                format!("{name} = ({}, {})", domain.to_json(), metric.to_json())
            }
            _ => format!("{name} = {}", arg.describe()),
        });
        let told = format!("{entry} with {}", shown.collect::<Vec<_>>().join(", "));
        built.push(Built { made, told });
        if built.len() == BUILDS {
            break;
        }
    }
    match built.len() {
        0 => Err(format!("{entry}: no choice of arguments builds it")),
        _ => Ok(built),
    }
}
/// Return all signatures that make objects of a kind. Leave out signatures that have parameters
/// with erased types (`Any...`), and signatures that return sessions, because other tests cover
/// them.
pub(crate) fn entries(kind: Kind) -> Vec<Arc<Entry>> {
    let combines =
        |entry: &Entry| entry.parameters().iter().any(|p| p.type_name.to_string().contains("Any"));
    let registry = Registry::global();
    let names = registry.names();
    let entries = names.iter().flat_map(|name| registry.signatures(name).unwrap());
    let talks = |entry: &Entry| entry.output().to_string().contains("Session");
    entries.filter(|entry| entry.kind() == kind && !combines(entry) && !talks(entry)).collect()
}
/// Test each signature with its own seed. Run two tests at a time. Panic with the list of all
/// errors.
#[track_caller]
pub(crate) fn each(
    entries: &[Arc<Entry>],
    test: impl Fn(&Entry, u64) -> Result<(), String> + Sync,
) {
    let next = AtomicUsize::new(0);
    let broken: Vec<String> = std::thread::scope(|scope| {
        let work = || {
            let mut broken = Vec::new();
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(entry) = entries.get(place) else { return broken };
                broken.extend(test(entry, place as u64).err());
            }
        };
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(broken.is_empty(), "{} of {}:\n{}", broken.len(), entries.len(), broken.join("\n"));
}
