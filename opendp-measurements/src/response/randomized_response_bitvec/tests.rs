use opendp_core::random::{Failing, Seeded, Tape};

use super::*;

fn space(max_weight: Option<usize>, size: usize) -> Space<BitVectorDomain, DiscreteDistance> {
    let domain = BitVectorDomain::new().with_size(size);
    let domain = max_weight.map_or(domain.clone(), |limit| domain.with_max_weight(limit));
    Space::new(domain, DiscreteDistance).unwrap()
}
fn loss(max_weight: Option<usize>, size: usize, f: f64) -> f64 {
    make_randomized_response_bitvec(space(max_weight, size), f, false).unwrap().map(&1).unwrap()
}
fn bits(number: u64, len: usize) -> BitVector {
    BitVector::from_words(vec![number], len)
}

#[test]
fn gives_the_losses_of_the_test_vectors_or_tighter_ones() {
    for (weight, f, expected) in [(4, 0.95, 0.8006676684558611), (1, 0.5, 2.1972245773362196)] {
        let found = loss(Some(weight), 100, f);
        assert!(found <= expected && expected - found < 1e-14, "{found}");
    }
    let release = make_randomized_response_bitvec(space(Some(4), 100), 0.95, false).unwrap();
    assert_eq!((release.map(&0), release.map(&2)), (Ok(0.0), release.map(&1)));
    assert_eq!(loss(Some(4), 100, 1.0), 0.0);
    assert_eq!((loss(Some(0), 100, 0.1), loss(None, 0, 0.1)), (0.0, 0.0));
    // Two vectors with at most 4 ones can differ in up to 8 places. But vectors of 3 bits have only
    // 3 places, so this limit does not change the loss.
    assert_eq!(loss(Some(4), 3, 0.5), loss(None, 3, 0.5));
    assert!(loss(Some(1), 3, 0.5) < loss(Some(2), 3, 0.5));
    for tiny in [5e-324, f64::MIN_POSITIVE] {
        assert!((700.0..747.0).contains(&loss(None, 1, tiny)));
    }
    // The loss at f is ln(2 / f - 1), here ln(2^1075) and ln(3).
    assert!(745.13 <= loss(None, 1, 5e-324));
    assert!(1.098_612_288_668_109_8 <= loss(None, 1, 0.5));
}
#[test]
fn no_ratio_of_exact_probabilities_exceeds_the_map_and_one_reaches_it() {
    for (size, weight, f) in [(4, 1, 0.5), (4, 2, 0.9), (4, 3, 0.25), (3, 5, 0.75), (5, 2, 0.1)] {
        let bound = loss(Some(weight), size, f);
        let members = || (0..1_u64 << size).filter(|x| x.count_ones() as usize <= weight);
        let ln = |x: u64, r: u64| {
            let wrong = (x ^ r).count_ones() as i32;
            wrong as f64 * (f / 2.0).ln() + (size as i32 - wrong) as f64 * (1.0 - f / 2.0).ln()
        };
        let mut largest = 0.0_f64;
        for (x, y) in members().flat_map(|x| members().map(move |y| (x, y))) {
            for r in 0..1 << size {
                largest = largest.max(ln(x, r) - ln(y, r));
            }
        }
        assert!(
            largest <= bound + 1e-9 && bound <= largest + 1e-9,
            "{size} {weight} {f}: {largest}"
        );
    }
}
#[test]
fn all_tapes_together_give_each_release_its_exact_probability() {
    // A word of two bits contains one binary digit for each of two coins. The three bits of the
    // data need three coins, so there are two rounds. Each round draws at most `places` words, so
    // no tape (a sequence of random words) ends too early.
    for (f, places) in [(1.0, 1), (0.5, 2)] {
        let coins = BernoulliLanes::new(f, 1);
        let words = 2 * places;
        for data in 0..8 {
            let mut counts = [0_u64; 8];
            for number in 0..1 << (2 * words) {
                let mut tape = Tape::<2>::from_bits(number, words);
                let released = flip(&bits(data, 3), coins, false, &mut tape).unwrap();
                assert_eq!(released.len(), 3);
                counts[released.words()[0] as usize] += 1;
            }
            let all = 1_u64 << (2 * words);
            for (release, count) in counts.into_iter().enumerate() {
                let wrong = (release as u64 ^ data).count_ones();
                // The probability f / 2 of a flip is 2^-places.
                let exact = (((1_u64 << places) - 1).pow(3 - wrong) * all) >> (3 * places);
                assert_eq!(count, exact, "{f} {data} {release}");
            }
        }
    }
}
#[test]
fn every_bit_is_flipped_as_often_as_claimed_also_the_last() {
    let draws = 20_000;
    for (len, constant_time) in [(7, false), (8, true), (64, false), (129, false), (129, true)] {
        let release =
            make_randomized_response_bitvec(space(None, len), 0.5, constant_time).unwrap();
        let data: BitVector = (0..len).map(|i| i % 3 == 0).collect();
        let mut flips = vec![0_u32; len];
        for _ in 0..draws {
            let released = release.invoke(&data).unwrap();
            for (count, (flipped, bit)) in flips.iter_mut().zip(released.iter().zip(data.iter())) {
                *count += u32::from(flipped != bit);
            }
        }
        // The tolerance 490 is eight standard deviations of a count, for flips of probability 1/4.
        // The probability that one of the 337 counts is farther from its mean is below 1e-12. If
        // flips had probability 0.29, the mean count would be larger by 800.
        let fits = |p: f64| flips.iter().all(|n| (f64::from(*n) - 2e4 * p).abs() < 490.0);
        assert!(fits(0.25), "{len}: {flips:?}");
        assert!(!fits(0.29));
        let mut last_kept = flips.clone();
        last_kept[len - 1] = 0;
        assert!(!last_kept.iter().all(|n| (f64::from(*n) - 5e3).abs() < 490.0));
    }
}
#[test]
fn constant_time_draws_as_many_words_whatever_happens() {
    let count = |data: &BitVector, constant_time, seed| {
        let mut source = Seeded::<64>::new(seed);
        flip(data, BernoulliLanes::new(0.3, 1), constant_time, &mut source).unwrap();
        source.used()
    };
    let (zeros, ones) = (BitVector::zeros(130), (0..130).map(|_| true).collect());
    let expected = count(&zeros, true, 0);
    let mut lazy = Vec::new();
    for seed in 0..100 {
        assert_eq!([count(&zeros, true, seed), count(&ones, true, seed)], [expected; 2]);
        // Without constant time, fewer words are drawn than with constant time. The number of drawn
        // words depends on the values of these words, but not on the data.
        assert_eq!(count(&zeros, false, seed), count(&ones, false, seed));
        lazy.push(count(&ones, false, seed));
    }
    assert!(lazy.iter().any(|words| *words != lazy[0]));
    assert!(lazy.iter().all(|words| 3 * words < expected));
}
#[test]
fn refuses_what_would_not_be_private_or_cannot_be() {
    let error = |domain, f| {
        let space = Space::new(domain, DiscreteDistance).unwrap();
        make_randomized_response_bitvec(space, f, false).unwrap_err()
    };
    let sized = BitVectorDomain::new().with_size(3);
    // A release reveals the length of its input, so a domain without a size is refused (OpenDP
    // #2930).
    let unsized_error = error(BitVectorDomain::new().with_max_weight(4), 0.5);
    assert_eq!(unsized_error.kind(), "MakeMeasurement");
    assert!(unsized_error.to_string().contains("size"), "{unsized_error}");
    for f in [0.0, -0.5, 1.0_f64.next_up(), f64::NAN] {
        let error = error(sized.clone(), f);
        assert!(error.kind() == "MakeMeasurement" && error.to_string().contains("f: "), "{error}");
    }
    let release = make_randomized_response_bitvec(space(None, 3), 0.5, false).unwrap();
    assert_eq!(release.invoke(&bits(0, 4)).unwrap_err().kind(), "FailedFunction");
    let coins = BernoulliLanes::new(0.5, 1);
    assert!(flip(&bits(1, 3), coins, false, &mut Failing::default()).is_err());
    assert!(flip(&bits(0, 0), coins, false, &mut Failing::default()).is_ok());
}
#[test]
fn the_estimates_find_the_counts_again() {
    let release = make_randomized_response_bitvec(space(Some(2), 70), 0.5, false).unwrap();
    let data: BitVector = (0..70).map(|place| place == 3 || place == 69).collect();
    let answers: Vec<_> = (0..20_000).map(|_| release.invoke(&data).unwrap()).collect();
    let counts = debias_randomized_response_bitvec(&answers, 0.5).unwrap();
    for (place, count) in counts.into_iter().enumerate() {
        let truth = if place == 3 || place == 69 { 2e4 } else { 0.0 };
        // The standard deviation of each estimate is 122. The probability that one of the 70
        // estimates is off by 1000 is below 1e-13.
        assert!((count - truth).abs() < 1000.0, "{place}: {count}");
    }
    let kind = |answers: &[BitVector], f| {
        debias_randomized_response_bitvec(answers, f).unwrap_err().kind()
    };
    assert_eq!(kind(&[], 0.5), "FailedFunction");
    assert_eq!(kind(&[bits(0, 3), bits(0, 4)], 0.5), "FailedFunction");
    assert_eq!(kind(&answers, 1.0), "FailedFunction");
    assert_eq!(kind(&answers, f64::NAN), "FailedFunction");
}
