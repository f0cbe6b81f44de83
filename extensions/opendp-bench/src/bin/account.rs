//! Measure the times of the compositions in `accounting/compare.py`, at several tolerances. Print
//! one JSON line for each composition and each tolerance.
#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

use std::sync::Arc;
use std::time::Instant;

use opendp_measurements::accounting::{
    Account, DominatingPair, GaussianPair, LaplacePair, SampledGaussianPair,
};

fn main() -> opendp_core::Result<()> {
    let laplace =
        |scale: f64| -> Arc<dyn DominatingPair> { Arc::new(LaplacePair { epsilon: 1.0 / scale }) };
    let sampled = |scale: f64, rate| -> Arc<dyn DominatingPair> {
        Arc::new(SampledGaussianPair { mu: 1.0 / scale, rate, removed: true })
    };
    let gaussian: Arc<dyn DominatingPair> = Arc::new(GaussianPair { mu: 0.125 });
    let cases = [
        ("laplace", 1e-5, Account::new().with(laplace(10.0), 1000)),
        ("sampled", 1e-5, Account::new().with(sampled(1.0, 0.01), 10_000)),
        (
            "mix",
            1e-6,
            Account::new()
                .with(sampled(0.8, 0.005), 100)
                .with(gaussian, 200)
                .with(laplace(10.0), 100),
        ),
    ];
    for (name, delta, account) in cases {
        for tolerance in [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6] {
            let account = account.clone().tolerating(tolerance);
            let mut best = f64::INFINITY;
            let mut epsilon = 0.0;
            for _ in 0..50 {
                let start = Instant::now();
                epsilon = account.epsilon_above(delta)?;
                best = best.min(start.elapsed().as_secs_f64());
            }
            let below = account.epsilon_below(delta)?;
            println!(
                "{{\"case\": \"{name}\", \"setting\": \"{tolerance:e}\", \"epsilon\": {epsilon}, \
                 \"below\": {below}, \"milliseconds\": {:.3}}}",
                best * 1e3
            );
        }
    }
    Ok(())
}
