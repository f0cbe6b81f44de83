//! Benchmarks of the registry: find the signature for a request. A signature is a constructor with
//! one choice of types.

use opendp_core::{Args, AtomDomain, Result, Space, SymmetricDistance, VectorDomain};
use opendp_registry::Registry;
use serde_json::json;

use crate::timing::Table;

const TIMES: usize = 100_000;

/// Measure repeated lookups of one signature, on one thread and on two threads at once.
pub fn resolution(table: &mut Table) -> Result<()> {
    let work = "resolve a constructor, warm";
    if !table.wants(work) {
        return Ok(());
    }
    let registry = Registry::global();
    let records = Space::new(VectorDomain::new(AtomDomain::<f64>::non_nan()), SymmetricDistance)?;
    let args = Args::new().with("input", &records.erase()).with("bounds", json!([0.0, 1.0]));
    let named = "make_clamp<T=f64, M=SymmetricDistance>";
    registry.resolve("make_clamp", &args)?;
    registry.resolve(named, &args)?;
    let many = |request: &str| {
        for _ in 0..TIMES {
            if registry.resolve(request, &args).is_err() {
                return false;
            }
        }
        true
    };
    table
        .contest(work)
        .run("by the types of its arguments", TIMES, || many("make_clamp"))
        .run("by name and types", TIMES, || many(named))
        .run("by name and types, each of two threads", TIMES, || {
            std::thread::scope(|scope| {
                let threads = [scope.spawn(|| many(named)), scope.spawn(|| many(named))];
                threads.map(|thread| thread.join().unwrap_or(false))
            })
        })
        .run("and construct", TIMES, || {
            (0..TIMES).filter(|_| registry.make(named, &args).is_ok()).count()
        })
        .hold();
    Ok(())
}
