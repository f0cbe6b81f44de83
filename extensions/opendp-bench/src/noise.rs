//! Releases: noise, selection, maps.

use opendp_core::erased::AnyValue;
use opendp_core::{
    AbsoluteDistance, AtomDomain, L1Distance, RangeDistance, Result, Space, VectorDomain,
};
use opendp_measurements::{Optimize, Scale, Temperature, make_gumbel_max, make_laplace};

use crate::timing::Table;

const ITEMS: usize = 100_000;

/// Releases of scalars and vectors, and the evaluation of a map.
pub fn releases(table: &mut Table) -> Result<()> {
    let integers = Space::new(AtomDomain::<i64>::default(), AbsoluteDistance::<i64>::new())?;
    let floats = Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new())?;
    let group = "one release of a number";
    let integer = make_laplace(integers, Scale::new(10.0)?, None)?;
    table.time(group, "laplace, i64", ITEMS, || {
        (0..ITEMS).filter(|_| integer.invoke(&0).is_ok()).count()
    });
    let float = make_laplace(floats, Scale::new(10.0)?, None)?;
    table.time(group, "laplace, f64", ITEMS, || {
        (0..ITEMS).filter(|_| float.invoke(&0.0).is_ok()).count()
    });
    let (erased, zero) = (integer.erase(), AnyValue::new(0_i64));
    table.time(group, "laplace, i64, erased", ITEMS, || {
        (0..ITEMS).filter(|_| erased.invoke(&zero).is_ok()).count()
    });
    table.time(group, "map of laplace, f64", ITEMS, || {
        (0..ITEMS).filter(|_| float.map(&1.0).is_ok()).count()
    });

    let group = "vectors of 100000 numbers";
    for scale in [1.0, 10.0, 1e6, 1e12] {
        let space = Space::new(VectorDomain::new(AtomDomain::<i64>::default()), L1Distance::<i64>::new())?;
        let release = make_laplace(space, Scale::new(scale)?, None)?;
        let data = vec![0_i64; ITEMS];
        table.time(group, &format!("laplace, i64, scale {scale:e}"), ITEMS, || release.invoke(&data));
    }
    let space = Space::new(VectorDomain::new(AtomDomain::<f64>::non_nan()), L1Distance::<f64>::new())?;
    let release = make_laplace(space, Scale::new(1.0)?, None)?;
    let data = vec![0.0; ITEMS];
    table.time(group, "laplace, f64, scale 1", ITEMS, || release.invoke(&data));

    let scores: Vec<f64> = (0..ITEMS).map(|i| (i * 7919 % ITEMS) as f64 / 1000.0).collect();
    let space = Space::new(VectorDomain::new(AtomDomain::<f64>::non_nan()), RangeDistance::<f64>::new())?;
    let best = make_gumbel_max(space, Temperature::new(1.0)?, Optimize::Max)?;
    table.time(group, "gumbel max, f64 scores", ITEMS, || best.invoke(&scores));
    Ok(())
}
