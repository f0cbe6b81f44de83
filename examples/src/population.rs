//! Fictitious people: a census-like table that is computed from a seed.

use rand::{Rng, SeedableRng, rngs::ChaCha20Rng};

use crate::table::People;

/// Generate people.
///
/// The same number of people and the same seed give the same people on every platform and in every
/// version. The random words come from ChaCha20. The computation uses only integers and the float
/// operations whose results IEEE 754 defines exactly. This generator is only for data. It must not
/// generate noise.
pub fn generate(people: usize, seed: u64) -> People {
    let mut draw = Draw(ChaCha20Rng::seed_from_u64(seed));
    let mut all = People::default();
    for _ in 0..people {
        let age = age(&mut draw);
        let sex = i32::from(draw.happens(if age < 65 { 508 } else { 550 }));
        let (educ, typical) = education(age, &mut draw);
        all.age.push(age);
        all.sex.push(sex);
        all.educ.push(educ);
        all.race.push(draw.choose(&[(1, 550), (2, 71), (3, 265), (4, 104), (5, 4), (6, 6)]));
        all.income.push(income(age, sex, typical, &mut draw));
        all.married.push(draw.happens(married(age)));
    }
    all
}

/// Draw an age of an adult, from age bands.
fn age(draw: &mut Draw) -> i64 {
    let bands =
        [(18, 120), (25, 190), (35, 225), (45, 180), (55, 120), (65, 85), (75, 60), (85, 20)];
    let start = draw.choose(&bands);
    let width = if start == 18 {
        7
    } else if start == 85 {
        9
    } else {
        10
    };
    start + i64::from(draw.below(width))
}
/// Levels of education, from no schooling to a doctorate. An entry has three numbers: the level,
/// the number of people with this level among a thousand people, and the typical income of these
/// people in mid-career. The income is in thousands of dollars.
const LEVELS: [(i32, u32, i32); 16] = [
    (1, 33, 9),
    (2, 14, 10),
    (3, 38, 11),
    (4, 17, 12),
    (5, 24, 13),
    (6, 21, 14),
    (7, 31, 16),
    (8, 51, 20),
    (9, 201, 23),
    (10, 60, 27),
    (11, 165, 31),
    (12, 76, 38),
    (13, 178, 53),
    (14, 54, 69),
    (15, 24, 78),
    (16, 13, 76),
];
/// Draw a level of education and its typical income. High levels are less frequent among old
/// people. High levels are also less frequent among young people, because many young people have
/// not finished their education.
fn education(age: i64, draw: &mut Draw) -> (i32, i32) {
    let weights = LEVELS.map(|(level, weight, typical)| {
        let weight = match age {
            ..=24 if 12 < level => weight / 8,
            65.. if 10 < level => weight * 2 / 3,
            _ => weight,
        };
        ((level, typical), weight)
    });
    draw.choose(&weights)
}
/// Return the number of married people among a thousand people of this age.
fn married(age: i64) -> u32 {
    match age {
        ..=19 => 40,
        20..=24 => 180,
        25..=34 => 480,
        35..=64 => 650,
        65..=79 => 620,
        _ => 480,
    }
}
/// Draw a year's income in dollars. The income is zero for some people. For most people, the income
/// is at most 2.3 times a typical value. For a few people, the income is far above the typical
/// value.
fn income(age: i64, sex: i32, typical: i32, draw: &mut Draw) -> f64 {
    let none = match age {
        ..=24 => 280,
        25..=64 => 115,
        _ => 70,
    };
    let (nothing, ratio) = (draw.happens(none), ratio(draw));
    if nothing {
        return 0.0;
    }
    let percent = match age {
        ..=24 => 35,
        25..=34 => 80,
        35..=54 => 115,
        55..=64 => 100,
        _ => 55,
    } * if sex == 1 { 75 } else { 115 }
        / 100;
    let middle = f64::from(typical * percent * 10);
    // Round to tens and cut at a million, as in published census data.
    ((middle * ratio / 10.0).round() * 10.0).min(1_000_000.0)
}

/// Draw the ratio of an income to the typical income. First choose one of ten intervals, with equal
/// probabilities. In each of the first nine intervals, the ratio is uniform. The last interval has
/// a Pareto tail with exponent 2. Such a tail has a finite mean, but no finite variance.
fn ratio(draw: &mut Draw) -> f64 {
    let tenths = [
        (0.02, 0.25),
        (0.25, 0.45),
        (0.45, 0.62),
        (0.62, 0.8),
        (0.8, 1.0),
        (1.0, 1.22),
        (1.22, 1.5),
        (1.5, 1.85),
        (1.85, 2.3),
    ];
    let (tenth, within) = (draw.below(10), draw.unit());
    match usize::try_from(tenth).ok().and_then(|tenth| tenths.get(tenth)) {
        Some((low, high)) => low + (high - low) * within,
        None => 2.3 / (1.0 - within).sqrt(),
    }
}

/// A source of random draws from one stream of words.
struct Draw(ChaCha20Rng);
impl Draw {
    /// Draw an integer below `n`. The probability of each integer differs from `1 / n` by less than
    /// 2^-32.
    fn below(&mut self, n: u32) -> u32 {
        let product = u64::from(self.0.next_u32()) * u64::from(n);
        // The shifted product is below `n`, so the cast does not change it.
        u32::try_from(product >> 32).unwrap_or_default()
    }
    /// Return `true` with probability `thousandths` / 1000.
    fn happens(&mut self, thousandths: u32) -> bool {
        self.below(1000) < thousandths
    }
    /// Draw a multiple of 2^-32 from 0 up to, but not including, 1. All these multiples are equally
    /// likely.
    fn unit(&mut self) -> f64 {
        f64::from(self.0.next_u32()) / 4_294_967_296.0
    }
    /// Choose one of several values. The probability of a value is proportional to its weight.
    fn choose<T: Copy + Default>(&mut self, weights: &[(T, u32)]) -> T {
        let mut left = self.below(weights.iter().map(|(_, weight)| weight).sum());
        for (value, weight) in weights {
            if left < *weight {
                return *value;
            }
            left -= weight;
        }
        weights.last().map_or_else(T::default, |(value, _)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_people() {
        assert_eq!(generate(500, 7), generate(500, 7));
        assert_ne!(generate(500, 7), generate(500, 8));
        // For the same seed, a longer table begins with the rows of a shorter table.
        assert_eq!(generate(500, 7).income[..100], generate(100, 7).income[..]);
    }
    #[test]
    fn the_people_never_change() {
        let people = generate(4, 1);
        assert_eq!(people.age, FIRST_AGES);
        assert_eq!(people.income, FIRST_INCOMES);
    }
    const FIRST_AGES: [i64; 4] = [41, 76, 22, 59];
    const FIRST_INCOMES: [f64; 4] = [18_720.0, 3_970.0, 16_830.0, 13_290.0];

    #[test]
    fn everyone_is_in_range() {
        let people = generate(20_000, 3);
        assert_eq!(people.age.len(), 20_000);
        assert!(people.age.iter().all(|age| (18..=93).contains(age)));
        assert!(people.sex.iter().all(|sex| (0..=1).contains(sex)));
        assert!(people.educ.iter().all(|educ| (1..=16).contains(educ)));
        assert!(people.race.iter().all(|race| (1..=6).contains(race)));
        assert!(people.income.iter().all(|x| (0.0..=1e6).contains(x) && x % 10.0 == 0.0));
    }
    #[test]
    fn the_tables_look_like_a_census() {
        let people = generate(20_000, 3);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let mean_income = mean(&people.income);
        let mut incomes = people.income.clone();
        incomes.sort_by(f64::total_cmp);
        assert!((25_000.0..45_000.0).contains(&mean_income), "{mean_income}");
        assert!(incomes[10_000] < 0.8 * mean_income, "the tail is heavy");
        assert!(100_000.0 < incomes[19_800], "the richest hundredth");
        let learned = |least: i32, highest: i32| {
            let pairs = people.income.iter().zip(&people.educ);
            let kept = pairs.filter(|(_, educ)| (least..=highest).contains(*educ));
            mean(&kept.map(|(income, _)| *income).collect::<Vec<_>>())
        };
        assert!(2.0 * learned(1, 8) < learned(13, 16));
        let married = people.married.iter().filter(|married| **married).count();
        assert!((9_000..12_000).contains(&married), "{married}");
    }
}
