//! Prints how long a registry of 100,000 constructors takes to start and to resolve names.
//!
//! Run this program with `cargo run --release -p opendp-registry --example scale`.
#![allow(clippy::unwrap_used, reason = "an example stops at the first error")]
#![allow(clippy::disallowed_methods, reason = "this measures time, and releases nothing")]

use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use opendp_core::{
    Args, AtomDomain, Error, Kind, Parameter, Space, SymmetricDistance, TypeName, VectorDomain,
};
use opendp_registry::{Addition, Registry};
use serde_json::json;

const NAMES: usize = 100_000;
const THREADS: usize = 16;
/// The number of names that are resolved several times. The result of the first resolution of a
/// name is cached.
const WARM: usize = 1_000;
/// The number of resolutions in each thread. A thread resolves a name several times.
const LOOKUPS: usize = 200_000;
const RUNS: usize = 5;

fn numbered(number: usize) -> Addition {
    let output = TypeName::plain("Transformation");
    type Rows = Space<VectorDomain<AtomDomain<i64>>, SymmetricDistance>;
    Addition::new(format!("make_numbered_{number}"), "my-app", Kind::Transformation, output)
        .parameter(Parameter::new::<Rows>("input", None))
        .parameter(Parameter::new::<i64>("size", Some("1".into())))
        .constructs(|_| Err(Error::NotImplemented("only its name matters here".into())))
}
/// Return the time that this thread has run on a core, in milliseconds. Other programs do not
/// affect this time. Return `None` if the operating system does not provide this time.
fn on_core() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? / 1e6)
}
/// Return a filled registry, and the time in milliseconds that was needed to fill the registry.
fn registered() -> (Registry, f64) {
    // Make the constructors before the measured time starts.
    let additions: Vec<Addition> = (0..NAMES).map(numbered).collect();
    let (start, core) = (Instant::now(), on_core());
    let registry = Registry::new();
    additions.into_iter().for_each(|addition| registry.add(addition).unwrap());
    let elapsed = start.elapsed().as_secs_f64() * 1e3;
    let on_core = on_core().zip(core).map(|(now, before)| now - before);
    (registry, on_core.unwrap_or(elapsed))
}
fn requests() -> (Vec<String>, Args) {
    let names = (0..WARM).map(|number| format!("make_numbered_{number}")).collect();
    let input = VectorDomain::new(AtomDomain::<i64>::default());
    let input = Space::new(input, SymmetricDistance).unwrap();
    (names, Args::new().with("input", &input).with("size", json!(3)))
}
/// Measure the time in which `threads` threads resolve names. If `adding` is true, the main thread
/// adds names at the same time. Return the average time of one resolution, in nanoseconds.
fn warm(registry: &Registry, threads: usize, adding: bool) -> f64 {
    let (names, args) = requests();
    names.iter().for_each(|name| drop(registry.resolve(name, &args).unwrap()));
    let (go, names, args) = (Barrier::new(threads + 1), &names, &args);
    let mut elapsed = Duration::ZERO;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let go = &go;
            scope.spawn(move || {
                go.wait();
                for place in 0..LOOKUPS {
                    let name = &names[(place * 7 + thread) % WARM];
                    black_box(registry.resolve(name, args).unwrap());
                }
                go.wait();
            });
        }
        go.wait();
        let start = Instant::now();
        if adding {
            (NAMES..NAMES + 1_000).for_each(|number| {
                // In later calls of `warm`, these names already exist, so `add` returns an error. A
                // call that returns this error takes the same lock as a call that adds a name.
                let _ = registry.add(numbered(number));
            });
        }
        go.wait();
        elapsed = start.elapsed();
    });
    // The result is the time that one core needs for one resolution. So the elapsed time is
    // multiplied by the number of cores that run a thread. If there are fewer cores than threads,
    // several threads share one core.
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(threads);
    elapsed.as_secs_f64() * 1e9 * cores as f64 / (threads * LOOKUPS) as f64
}
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let starts: Vec<f64> = (0..RUNS).map(|_| registered().1).collect();
    let least = starts.iter().copied().fold(f64::INFINITY, f64::min);
    let typical = median(starts);
    println!("start-up with {NAMES} constructors: {typical:.1} ms, at best {least:.1} ms");
    let own = median(
        (0..RUNS)
            .map(|_| {
                let start = Instant::now();
                black_box(Registry::new());
                start.elapsed().as_secs_f64() * 1e3
            })
            .collect(),
    );
    println!("start-up with the linked constructors: {own:.2} ms");
    let (registry, _) = registered();
    for (threads, adding) in [(1, false), (THREADS, false), (THREADS, true)] {
        let times = (0..RUNS).map(|_| warm(&registry, threads, adding)).collect();
        let beside = if adding { ", while 1000 names are added" } else { "" };
        println!("warm resolution from {threads} threads{beside}: {:.0} ns", median(times));
    }
}
