use opendp_core::*;
use opendp_transformations::*;
use std::time::Instant;
fn time(name: &str, rows: usize, times: usize, mut f: impl FnMut() -> f64) {
    let mut best = f64::INFINITY;
    let mut s = 0.0;
    for _ in 0..times {
        let t = Instant::now();
        s += f();
        best = best.min(t.elapsed().as_secs_f64());
    }
    println!("{name:40} {:8.3} ns/row ({s:e})", best * 1e9 / rows as f64);
}
fn main() {
    let threads = rayon();
    println!("threads {threads}");
    let free =
        || Space::new(VectorDomain::new(AtomDomain::<f64>::non_nan()), SymmetricDistance).unwrap();
    let b = Bounds::new(0.0, 100.0).unwrap();
    let clamp = make_clamp(free(), b).unwrap();
    let both = clamp.then(make_sum).unwrap();
    let sum = make_sum(clamp.output().clone()).unwrap();
    let small: Vec<f64> =
        (0..4096u32).map(|i| f64::from(i.wrapping_mul(2654435761) % 1000) - 300.0).collect();
    let n = if std::env::args().len() > 1 { 100_000_000 } else { 20_000_000 };
    let data: Vec<f64> =
        (0..n as u32).map(|i| f64::from(i.wrapping_mul(2654435761) % 1000) - 300.0).collect();
    time("clamp 4096", 4096 * 1000, 5, || {
        let mut s = 0.0;
        for _ in 0..1000 {
            s += std::hint::black_box(clamp.invoke(std::hint::black_box(&small)).unwrap())[5];
        }
        s
    });
    let mut out: Vec<f64> = Vec::with_capacity(4096);
    time("plain clamp into buffer 4096", 4096 * 1000, 5, || {
        for _ in 0..1000 {
            out.clear();
            out.extend(std::hint::black_box(&small).iter().map(|x| x.max(0.0).min(100.0)));
            std::hint::black_box(&out);
        }
        out[5]
    });
    time("sum in cache 4096", 4096 * 1000, 5, || {
        let mut s = 0.0;
        for _ in 0..1000 {
            s += sum.invoke(std::hint::black_box(&small)).unwrap();
        }
        s
    });
    time("sum", n, 3, || sum.invoke(&data).unwrap());
    time("clamp then sum", n, 3, || both.invoke(&data).unwrap());
    time("plain 16 lanes", n, 3, || {
        let mut lanes = [0.0; 16];
        for c in data.chunks_exact(16) {
            for (l, x) in lanes.iter_mut().zip(c) {
                let y = if *x > 0.0 { *x } else { 0.0 };
                *l += if y < 100.0 { y } else { 100.0 };
            }
        }
        lanes.iter().sum()
    });
    let f32s: Vec<f32> = data[..n / 2].iter().map(|x| *x as f32).collect();
    let fsum = make_sum(
        Space::new(
            VectorDomain::new(AtomDomain::bounded(Bounds::new(0f32, 100.0).unwrap())),
            SymmetricDistance,
        )
        .unwrap(),
    )
    .unwrap();
    time("sum f32", n / 2, 3, || fsum.invoke(&f32s).unwrap());
    let ints: Vec<i32> = data[..n / 2].iter().map(|x| *x as i32).collect();
    let isum = make_sum(
        Space::new(
            VectorDomain::new(AtomDomain::bounded(Bounds::new(-300, 1000).unwrap())),
            SymmetricDistance,
        )
        .unwrap(),
    )
    .unwrap();
    time("sum i32", n / 2, 3, || isum.invoke(&ints).unwrap() as f64);
    let longs: Vec<i64> = data[..n / 2].iter().map(|x| *x as i64).collect();
    let lsum = make_sum(
        Space::new(
            VectorDomain::new(AtomDomain::bounded(Bounds::new(-300i64, 1000).unwrap())),
            SymmetricDistance,
        )
        .unwrap(),
    )
    .unwrap();
    time("sum i64", n / 2, 3, || lsum.invoke(&longs).unwrap() as f64);
    let cands: Vec<f64> = (0..100).map(|i| f64::from(i) * 7.0 - 300.0).collect();
    let q = make_quantile_score_candidates::<_, _, RangeDistance<u64>>(
        free(),
        cands,
        Alpha::new(0.5).unwrap(),
    )
    .unwrap();
    time("quantile 100", n, 3, || q.invoke(&data).unwrap()[3] as f64);
    let icands: Vec<i32> = (0..100).map(|i| i * 7 - 300).collect();
    let qi = make_quantile_score_candidates::<_, _, RangeDistance<u64>>(
        Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance).unwrap(),
        icands,
        Alpha::new(0.5).unwrap(),
    )
    .unwrap();
    time("quantile 100 i32", n / 2, 3, || qi.invoke(&ints).unwrap()[3] as f64);
    let cat = make_count_by_categories::<i32, _, L1Distance<i32>, i32>(
        Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance).unwrap(),
        (0..100).map(|i| i * 3).collect(),
        true,
    )
    .unwrap();
    time("categories 100 i32", n / 2, 3, || cat.invoke(&ints).unwrap()[3] as f64);
    let bytes: Vec<u8> = ints.iter().map(|i| *i as u8).collect();
    let cat = make_count_by_categories::<u8, _, L1Distance<i32>, i32>(
        Space::new(VectorDomain::new(AtomDomain::<u8>::default()), SymmetricDistance).unwrap(),
        (0..200).collect(),
        true,
    )
    .unwrap();
    time("categories 200 u8", n / 2, 3, || cat.invoke(&bytes).unwrap()[3] as f64);
}
fn rayon() -> usize {
    std::env::var("RAYON_NUM_THREADS").ok().and_then(|x| x.parse().ok()).unwrap_or(0)
}
