//! Benchmarks of noise on every number of a vector.

use opendp_core::{AtomDomain, L1Distance, L2Distance, Result, Space, VectorDomain};
use opendp_measurements::{Scale, make_gaussian, make_laplace};

use crate::timing::{Table, Target};
use crate::{incumbent, ordinary};

const ITEMS: usize = 100_000;
/// The number of floats to which the crate `opendp` adds noise. The other implementations in the
/// comparison add noise to `ITEMS` floats. For `ITEMS` floats, the crate `opendp` would take
/// seconds.
const FEW: usize = 5_000;

/// Measure Laplace and Gaussian noise on integers and floats.
pub fn vectors(table: &mut Table) -> Result<()> {
    for scale in [1.0, 10.0, 1e6, 1e12] {
        integers(table, scale)?;
    }
    floats(table, 1.0)
}

fn integers(table: &mut Table, scale: f64) -> Result<()> {
    let atoms = || VectorDomain::new(AtomDomain::<i64>::default());
    let (data, mut source) = (vec![0_i64; ITEMS], ordinary::chacha());
    let work = format!("laplace, Vec<i64>, scale {scale:e}");
    if table.wants(&work) {
        let space = Space::new(atoms(), L1Distance::<i64>::new())?;
        let release = make_laplace(space, Scale::new(scale)?, None)?;
        let mut theirs = incumbent::laplace_vector_i64(scale)?;
        table
            .contest(&work)
            .run("this project", ITEMS, || release.invoke(&data))
            .against("opendp", ITEMS, Target::Faster(150.0), || theirs(&data))
            .against("rand_distr", ITEMS, Target::Within(2.0), || {
                ordinary::add_rounded(&data, scale, &mut source, ordinary::laplace)
            })
            .hold();
    }
    let work = format!("gaussian, Vec<i64>, scale {scale:e}");
    if table.wants(&work) {
        let space = Space::new(atoms(), L2Distance::<i64>::new())?;
        let release = make_gaussian(space, Scale::new(scale)?, None)?;
        let mut theirs = incumbent::gaussian_vector_i64(scale)?;
        table
            .contest(&work)
            .run("this project", ITEMS, || release.invoke(&data))
            .against("opendp", ITEMS, Target::Faster(100.0), || theirs(&data))
            .against("rand_distr", ITEMS, Target::Within(4.0), || {
                ordinary::add_rounded(&data, scale, &mut source, ordinary::normal)
            })
            .hold();
    }
    Ok(())
}

fn floats(table: &mut Table, scale: f64) -> Result<()> {
    let atoms = || VectorDomain::new(AtomDomain::<f64>::non_nan());
    let (data, few, mut source) = (vec![0.0; ITEMS], vec![0.0; FEW], ordinary::chacha());
    let work = format!("laplace, Vec<f64>, scale {scale:e}");
    if table.wants(&work) {
        let space = Space::new(atoms(), L1Distance::<f64>::new())?;
        let release = make_laplace(space, Scale::new(scale)?, None)?;
        let mut theirs = incumbent::laplace_vector_f64(scale)?;
        table
            .contest(&work)
            .run("this project", ITEMS, || release.invoke(&data))
            .against("opendp", FEW, Target::Faster(1000.0), || theirs(&few))
            .against("rand_distr", ITEMS, Target::Within(3.0), || {
                ordinary::add(&data, scale, &mut source, ordinary::laplace)
            })
            .hold();
    }
    let work = format!("gaussian, Vec<f64>, scale {scale:e}");
    if table.wants(&work) {
        let space = Space::new(atoms(), L2Distance::<f64>::new())?;
        let release = make_gaussian(space, Scale::new(scale)?, None)?;
        let mut theirs = incumbent::gaussian_vector_f64(scale)?;
        table
            .contest(&work)
            .run("this project", ITEMS, || release.invoke(&data))
            .against("opendp", FEW, Target::Faster(1000.0), || theirs(&few))
            .against("rand_distr", ITEMS, Target::Within(5.0), || {
                ordinary::add(&data, scale, &mut source, ordinary::normal)
            })
            .hold();
    }
    Ok(())
}
