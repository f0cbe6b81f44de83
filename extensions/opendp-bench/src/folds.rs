//! Folds against plain loops over the same slice.

use opendp_core::erased::AnyValue;
use opendp_core::{AtomDomain, Bounds, Error, Result, Space, SymmetricDistance, VectorDomain};
use opendp_transformations::{make_clamp, make_sum};

use crate::timing::Table;

/// Clamp, then sum, of floats in memory.
pub fn clamp_and_sum(table: &mut Table, rows: usize) -> Result<()> {
    let group = format!("clamp and sum, {rows} f64");
    let data: Vec<f64> = (0..rows as u64)
        .map(|i| (i.wrapping_mul(2_654_435_761) % 1_000_003) as f64 / 7.0 - 50_000.0)
        .collect();
    let records = Space::new(VectorDomain::new(AtomDomain::non_nan()), SymmetricDistance)?;
    let sum = make_clamp(records, Bounds::new(0.0, 100.0)?)?.then(make_sum)?;
    let pool = |threads| {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|error| Error::FailedFunction(error.to_string()))
    };
    let (one, two, seven) = (pool(1)?, pool(2)?, pool(7)?);

    table.time(&group, "plain loop, 16 accumulators, one thread", rows, || plain(&data));
    table.time(&group, "typed, one thread", rows, || one.install(|| sum.invoke(&data)));
    table.time(&group, "typed, two threads", rows, || two.install(|| sum.invoke(&data)));
    let expected = one.install(|| sum.invoke(&data))?;
    for result in [two.install(|| sum.invoke(&data))?, seven.install(|| sum.invoke(&data))?] {
        assert_eq!(expected.to_bits(), result.to_bits(), "the number of threads changed the sum");
    }
    let erased = sum.erase();
    let data = AnyValue::new(data);
    table.time(&group, "erased, one thread", rows, || one.install(|| erased.invoke(&data)));
    table.time(&group, "erased, two threads", rows, || two.install(|| erased.invoke(&data)));
    let result = *one.install(|| erased.invoke(&data))?.downcast_ref::<f64>()?;
    assert_eq!(expected.to_bits(), result.to_bits(), "erasing changed the sum");
    Ok(())
}

/// What a careful programmer writes without this project: SIMD, and not exact.
fn plain(data: &[f64]) -> f64 {
    let mut lanes = [0.0; 16];
    let mut chunks = data.chunks_exact(16);
    for chunk in &mut chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane += x.clamp(0.0, 100.0);
        }
    }
    let rest: f64 = chunks.remainder().iter().map(|x| x.clamp(0.0, 100.0)).sum();
    lanes.iter().sum::<f64>() + rest
}
