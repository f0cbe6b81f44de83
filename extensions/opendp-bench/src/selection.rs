//! Benchmarks of choices among candidates by noisy scores.

use opendp_analysis::make_private_quantile;
use opendp_core::{
    AtomDomain, LInfDistance, MaxDivergence, Result, Space, SymmetricDistance, TheMeasure,
    VectorDomain, ZeroConcentratedDivergence,
};
use opendp_measurements::{Scale, make_noisy_max, make_noisy_top_k};
use opendp_transformations::Alpha;

use crate::incumbent;
use crate::timing::{Table, Target};

const ITEMS: usize = 100_000;

/// Measure noisy max and top 10 of scores, under max-divergence and under zero-concentrated
/// divergence.
pub fn choices(table: &mut Table) -> Result<()> {
    let scores: Vec<u64> = (0..ITEMS as u64).map(|i| i * 7919 % ITEMS as u64).collect();
    let floats: Vec<f64> = scores.iter().map(|score| *score as f64 / 1000.0).collect();

    macro_rules! contests {
        ($t:ty, $atoms:expr, $scores:expr, $scale:literal, $measure:expr, $times:literal, $theirs:ident) => {
            let (t, scale) = (stringify!($t), Scale::new($scale)?);
            let measure = stringify!($measure);
            let work = format!("noisy max, {ITEMS} {t} scores, {measure}");
            if table.wants(&work) {
                let space = Space::new(VectorDomain::new($atoms), LInfDistance::<$t>::new(false))?;
                let measure = TheMeasure($measure);
                let best = make_noisy_max(space.clone(), measure, scale, false)?;
                let ten = make_noisy_top_k(space, TheMeasure($measure), 10, scale, false)?;
                let (mut single, mut top) =
                    (incumbent::$theirs(1, $scale)?, incumbent::$theirs(10, $scale)?);
                table
                    .contest(&work)
                    .run("this project", ITEMS, || best.invoke(&$scores))
                    .against("opendp", ITEMS, Target::Faster($times), || single(&$scores))
                    .hold();
                let work = work.replace("noisy max", "top 10");
                table
                    .contest(&work)
                    .run("this project", ITEMS, || ten.invoke(&$scores))
                    .against("this project, top 1", ITEMS, Target::Within(1.5), || {
                        best.invoke(&$scores)
                    })
                    .against("opendp", ITEMS, Target::Faster($times), || top(&$scores))
                    .hold();
            }
        };
    }
    let (f, u) = (AtomDomain::<f64>::non_nan, AtomDomain::<u64>::default);
    contests!(f64, f(), floats, 1.0, MaxDivergence, 8.0, top_f64);
    contests!(u64, u(), scores, 1000.0, MaxDivergence, 4.0, top_u64);
    contests!(f64, f(), floats, 1.0, ZeroConcentratedDivergence, 8.0, gumbel_top_f64);
    contests!(u64, u(), scores, 1000.0, ZeroConcentratedDivergence, 4.0, gumbel_top_u64);
    quantiles(table)
}

/// Measure quantiles, chosen from candidates.
fn quantiles(table: &mut Table) -> Result<()> {
    const ROWS: usize = 1_000_000;
    for count in [100_u64, 10_000] {
        let work = format!("private quantile, {ROWS} rows, {count} candidates");
        if table.wants(&work) {
            let data: Vec<f64> = (0..ROWS as u64).map(|i| (i * 7919 % 1_000_003) as f64).collect();
            let candidates: Vec<f64> =
                (0..count).map(|i| (i * (1_000_000 / count)) as f64).collect();
            let records = VectorDomain::new(AtomDomain::non_nan());
            let ours = make_private_quantile(
                Space::new(records, SymmetricDistance)?,
                TheMeasure(MaxDivergence),
                candidates.clone(),
                Alpha::new(0.5)?,
                Scale::new(1000.0)?,
            )?;
            let mut theirs = incumbent::private_quantile(candidates, 0.5, 1000.0)?;
            let single_thread = crate::folds::pool(1)?;
            table
                .contest(&work)
                .run("this project", ROWS, || single_thread.install(|| ours.invoke(&data)))
                .against("opendp", ROWS, Target::Faster(8.0), || theirs(&data))
                .hold();
        }
    }
    Ok(())
}
