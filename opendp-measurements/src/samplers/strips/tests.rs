use super::*;
use opendp_core::random::Seeded;

#[test]
fn urns_give_each_entry_exactly_its_weight() {
    let [fine, middle, coarse] = &*ROUNDED;
    for strips in [&*EXPONENTIAL, &*HALF_NORMAL, fine, middle, coarse] {
        let mut found = [0_u64; 256];
        for (number, column) in strips.columns.iter().enumerate() {
            found[number] += u64::from(column.threshold);
            found[usize::from(column.other)] += (1 << 24) - u64::from(column.threshold);
        }
        assert_eq!(found.iter().sum::<u64>(), 1 << 32);
        for (entry, found) in strips.entries.iter().zip(found) {
            assert_eq!(u64::from(entry.weight), found);
        }
    }
}

/// Check two inequalities in integers of higher precision. Suppose that the ends of each strip are
/// moved outward by `reach / 32`. Then the height is at least the density at the left end. Except
/// for the tail, the product of `height` and `surely / 2^31` is at most the density at the right
/// end.
fn heights_are_above(strips: &Strips, reach: usize) -> bool {
    let exact = |m: usize| density(strips.shape, m, 200);
    let height = |j: usize| (UBig::from(strips.unit) * strips.entries[j].weight) << 136_usize;
    (0..TAIL).all(|j| {
        let surely = (height(j) * strips.entries[j].surely) >> 31_usize;
        exact(j.saturating_sub(reach)).1 <= height(j) && surely <= exact(j + 1 + reach).0
    }) && exact(TAIL - reach).1 <= height(TAIL) >> 6_usize
}

#[test]
fn heights_are_above_the_density_and_what_is_surely_accepted_is_below() {
    assert!(heights_are_above(&EXPONENTIAL, 0));
    assert!(heights_are_above(&HALF_NORMAL, 0));
    for (strips, reach) in ROUNDED.iter().zip([1, 4, 16]) {
        assert!(heights_are_above(strips, reach));
        assert!(!heights_are_above(strips, reach + 1));
    }
    assert!(!heights_are_above(&EXPONENTIAL, 1));
    assert!(!heights_are_above(&HALF_NORMAL, 1), "too low an envelope must be noticed");
}

#[test]
fn few_points_need_more_than_a_comparison() {
    for (strips, least) in [(&*EXPONENTIAL, 0.96), (&*HALF_NORMAL, 0.96), (&ROUNDED[0], 0.91)] {
        let scale = 2_f64.powi(-63);
        let sure: f64 = strips
            .entries
            .iter()
            .map(|entry| f64::from(entry.surely) * f64::from(entry.weight) * scale)
            .sum();
        assert!(sure > least, "{sure}");
    }
}

#[test]
fn float_and_exact_judgements_agree_on_the_same_digits() {
    for strips in [&*EXPONENTIAL, &*HALF_NORMAL] {
        let mut source = Seeded::<64>::new(3);
        let (mut doubtful, mut decided, mut accepted) = (0, 0, 0);
        for _ in 0..30_000 {
            let pick = strips.pick(&mut source).unwrap();
            let digit = source.word().unwrap();
            if pick.surely && doubtful > 100 {
                continue;
            }
            let Some(n) = pick.point(digit) else { continue };
            let fast = strips.judge(&pick, strips.bounds(n));
            let mut point = strips.strip(&pick, &mut source).unwrap();
            point.begin(digit, 64);
            let exponent = |point: &mut LazyPoint, precision, _: &mut Seeded| {
                Ok(strips.exponent(point, precision))
            };
            let exact = accept(&mut point, pick.v(), exponent, &mut source).unwrap();
            assert!(fast.is_none_or(|fast| fast == exact) && (exact || !pick.surely));
            doubtful += u32::from(!pick.surely);
            decided += u32::from(fast.is_some());
            accepted += u32::from(exact && !pick.surely);
        }
        assert!(doubtful > 700 && decided > doubtful && accepted > 250, "{doubtful}");
    }
}

#[test]
fn the_tail_is_drawn_in_strips_of_width_one() {
    let pick = Pick { entry: TAIL, negative: false, v: 0, bits: 31, surely: false };
    let mut source = Seeded::<1>::new(5);
    let mut seen = [0; 3];
    for _ in 0..1000 {
        let point = HALF_NORMAL.strip(&pick, &mut source).unwrap();
        let (lo, hi) = point.enclose(5);
        let lo = u64::try_from(lo).unwrap();
        assert!((lo - 255) % 32 == 0 && hi == Some((lo + 33).into()));
        let number = (lo - 255) / 32;
        assert_eq!(point.places as u64, 70 + number);
        if let Some(count) = seen.get_mut(number as usize) {
            *count += 1;
        }
    }
    assert!((430..570).contains(&seen[0]) && (180..320).contains(&seen[1]), "{seen:?}");
}

#[test]
fn acceptance_in_the_tail_has_the_probability_of_the_formula() {
    // The middle of the first tail strip is 255 / 32 + 1 / 2 = 8.46875.
    let x = 8.46875_f64;
    for (strips, z) in [(&*EXPONENTIAL, x), (&*HALF_NORMAL, x * x / 2.0)] {
        let pick = Pick { entry: TAIL, negative: false, v: 0, bits: 0, surely: false };
        let weight = f64::from(strips.entries[TAIL].weight);
        let p = (-z).exp() / (weight * strips.unit as f64 * 2_f64.powi(-70));
        let decide = |v: f64| {
            let mut source = Seeded::<1>::new(1);
            let mut point = strips.strip(&pick, &mut source).unwrap();
            (point.base, point.places) = (TAIL as u64, 70);
            point.begin(1 << 63, 64);
            let v = LazyUniform::from_first((v * 2_f64.powi(60)) as u64, 60);
            let exponent = |point: &mut LazyPoint, precision, _: &mut Seeded<1>| {
                Ok(strips.exponent(point, precision))
            };
            accept(&mut point, v, exponent, &mut source).unwrap()
        };
        assert!(p < 1.0 && decide(p * 0.999_999) && !decide(p * 1.000_001));
    }
}
