//! Benchmarks of one release of a number through the public API, with the typed and with the erased
//! measurement. The types of the erased measurement are known only at run time. Another benchmark
//! evaluates a privacy map.

use opendp_core::erased::AnyValue;
use opendp_core::{
    AbsoluteDistance, AtomDomain, Bounds, MaxDivergence, Measurement, Result, Space,
};
use opendp_measurements::{Scale, make_gaussian, make_geometric, make_laplace};

use crate::incumbent;
use crate::timing::{Table, Target};

const ITEMS: usize = 10_000;

/// Make each measurement once, and find the time of many releases.
pub fn releases(table: &mut Table) -> Result<()> {
    let integers = Space::new(AtomDomain::<i64>::default(), AbsoluteDistance::<i64>::new())?;
    let floats = Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new())?;
    let scale = Scale::new(10.0)?;

    macro_rules! contest {
        ($work:literal, $release:expr, $theirs:expr, $zero:expr) => {
            if table.wants($work) {
                let release = $release;
                let (erased, zero) = (release.erase(), AnyValue::new($zero));
                let (mut theirs, mut source) = ($theirs, crate::ordinary::chacha());
                table
                    .contest($work)
                    .against("this project", ITEMS, Target::Below(150.0), || {
                        times(|| release.invoke(&$zero).is_ok())
                    })
                    .run("this project, erased", ITEMS, || times(|| erased.invoke(&zero).is_ok()))
                    .against("opendp", ITEMS, Target::Faster(30.0), || times(|| theirs(&$zero)))
                    .run("rand_distr", ITEMS, || {
                        times(|| crate::ordinary::laplace(10.0, &mut source))
                    })
                    .hold();
                let work = concat!($work, ", what erasing costs");
                table
                    .contest(work)
                    .run("erased", ITEMS, || times(|| erased.invoke(&zero).is_ok()))
                    .against("typed", ITEMS, Target::Beyond(100.0), || {
                        times(|| release.invoke(&$zero).is_ok())
                    })
                    .hold();
            }
        };
    }
    let (laplace, _) = incumbent::laplace_i64(10.0)?;
    contest!("one laplace, i64", make_laplace(integers.clone(), scale, None)?, laplace, 0_i64);
    let (laplace, mut map) = incumbent::laplace_f64(10.0)?;
    contest!("one laplace, f64", make_laplace(floats.clone(), scale, None)?, laplace, 0.0);
    let gaussian = incumbent::gaussian_i64(10.0)?;
    contest!("one gaussian, i64", make_gaussian(integers.clone(), scale, None)?, gaussian, 0_i64);
    let gaussian = incumbent::gaussian_f64(10.0)?;
    contest!("one gaussian, f64", make_gaussian(floats.clone(), scale, None)?, gaussian, 0.0);

    let work = "map of laplace, f64";
    if table.wants(work) {
        let release = make_laplace(floats, scale, None)?;
        table
            .contest(work)
            .run("this project", ITEMS, || times(|| release.map(&1.0).is_ok()))
            .against("opendp", ITEMS, Target::Faster(50.0), || times(|| map(&1.0)))
            .hold();
    }
    geometric(table, integers)
}
/// Measure bounded geometric noise.
fn geometric(
    table: &mut Table,
    integers: Space<AtomDomain<i64>, AbsoluteDistance<i64>>,
) -> Result<()> {
    let work = "one bounded geometric, i64, bounds (0, 10^4)";
    if table.wants(work) {
        let bounds = Some(Bounds::new(0, 10_000)?);
        let release: Measurement<_, _, MaxDivergence, _> =
            make_geometric(integers, Scale::new(1.0)?, bounds)?;
        let mut theirs = incumbent::geometric(1.0, (0, 10_000))?;
        table
            .contest(work)
            .run("this project", ITEMS, || times(|| release.invoke(&5000).is_ok()))
            .against("opendp", 20, Target::Faster(1000.0), || (0..20).map(|_| theirs(&5000)).max())
            .hold();
    }
    Ok(())
}

/// Run a closure once for each item.
pub fn times<T>(mut run: impl FnMut() -> T) {
    for _ in 0..ITEMS {
        std::hint::black_box(run());
    }
}
