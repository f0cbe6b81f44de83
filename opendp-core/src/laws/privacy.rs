//! Checks of measurements. The checks compare the releases of two neighbours with the claim of a
//! map.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::binomial::Binomial;
use crate::arith::{DirectedFloat, Exact, shown};
use crate::laws::Broken;
use crate::random::{NoEntropy, Tape};
use crate::{Carrier, Codec, DistanceOn, Domain, Error, Measure, Measurement, Metric, Result};

/// The values of epsilon at which [`Claim::of`] evaluates a privacy profile.
const EPSILONS: [f64; 5] = [0.0, 0.5, 1.0, 2.0, 4.0];
/// [`Chances::of`] enumerates at most `2^MOST_BITS` tapes. A tape is a list of random words.
const MOST_BITS: u32 = 26;

/// A claim about the releases of two neighbours `x` and `y`, for some pairs of epsilon and delta.
/// Let `P[x in S]` be the probability that a release for `x` is in a set `S` of releases. For each
/// pair and every set `S`, the claim is `P[x in S] <= exp(epsilon) P[y in S] + delta`. The same
/// inequality must hold with `x` and `y` exchanged.
///
/// There are checks of two kinds. [`exactly`](Claim::exactly) compares exact probabilities.
/// [`Chances::of`] computes these probabilities: it runs the mechanism on every random tape.
/// [`by_draws`](Claim::by_draws) and [`by_releases`](Claim::by_releases) draw releases. Each of
/// these two functions refutes a true claim with probability at most [`false_alarm`](Trial). A
/// check can fail to refute a false claim.
///
/// ```
/// use opendp_core::arith::DirectedFloat;
/// use opendp_core::laws::{Chances, Claim};
/// use opendp_core::random::RandomSource;
/// // Report a bit. With probability 1/4, the reported bit is wrong.
/// let report = |bit| Chances::of::<2>(1, |source| Ok(bit == (source.word()? != 0)));
/// let (x, y) = (report(true)?, report(false)?);
/// assert!(Claim::epsilon(3.0.inf_ln()?).exactly(&x, &y).is_ok());
/// assert!(Claim::epsilon(1.0).exactly(&x, &y).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    points: Vec<(f64, f64)>,
}
impl Claim {
    /// Claim a loss of epsilon, with a delta of 0.
    pub fn epsilon(epsilon: f64) -> Self {
        Claim::epsilon_delta(epsilon, 0.0)
    }
    /// Make the claim for one pair of epsilon and delta.
    pub fn epsilon_delta(epsilon: f64, delta: f64) -> Self {
        Claim { points: vec![(epsilon, delta)] }
    }
    /// Make the claim that the map of a measurement states for neighbours at distance `d_in`. The
    /// claim states delta at some values of epsilon. If the epsilon at a delta of 0 is finite, the
    /// claim includes this epsilon too. The measure must have a profile. If the measure has no
    /// profile, first convert the measurement to a measure with a profile.
    ///
    /// # Errors
    /// The errors of the map and of the profile. `FailedMap` when every delta is 1, so that the map
    /// makes no claim.
    pub fn of<DI: Domain, MI: Metric, MO: Measure, TO: Carrier>(
        measurement: &Measurement<DI, MI, MO, TO>,
        d_in: &MI::Distance,
    ) -> Result<Self> {
        let profile = measurement.measure().profile(&measurement.map(d_in)?)?;
        let pure = profile.epsilon(0.0).ok().filter(|epsilon| *epsilon < f64::INFINITY);
        let mut points: Vec<(f64, f64)> = pure.map(|epsilon| (epsilon, 0.0)).into_iter().collect();
        for epsilon in EPSILONS.into_iter().filter(|point| pure.is_none_or(|pure| *point < pure)) {
            points.push((epsilon, profile.delta(epsilon)?));
        }
        points.retain(|(_, delta)| *delta < 1.0);
        match points.is_empty() {
            true => Err(Error::FailedMap("the map claims nothing: every delta is 1".into())),
            false => Ok(Claim { points }),
        }
    }

    /// Compare exact probabilities. The check refutes only false claims. If a tape ended before the
    /// mechanism made a release, the release is unknown. For such a tape, the check allows every
    /// possible release. Return the number of comparisons.
    ///
    /// # Errors
    /// A description of the first pair of epsilon and delta that is refuted. A message if more than
    /// half of the tapes ended too early.
    pub fn exactly<R: Eq + Hash>(&self, x: &Chances<R>, y: &Chances<R>) -> Result<usize, Broken> {
        for chances in [x, y] {
            if chances.tapes < 2 * chances.cut {
                return Err("more than half of the tapes end too early: use longer tapes".into());
            }
        }
        for (epsilon, delta) in &self.points {
            let factor = Exact::from_f64(epsilon.inf_exp().map_err(tell)?).map_err(tell)?;
            let delta_exact = Exact::from_f64(*delta).map_err(tell)?;
            for (names, first, second) in [("x and y", x, y), ("y and x", y, x)] {
                let above = first.counts.keys().fold(Exact::ZERO, |sum, release| {
                    let less = factor.times(&second.chance(second.count(release)));
                    sum.plus(&first.chance(first.count(release)).minus(&less))
                });
                let allowed = delta_exact.plus(&factor.times(&second.chance(second.cut)));
                if allowed < above {
                    return Err(format!(
                        "{names}: for some releases, the total probability for the first input \
                         exceeds exp({}) times the total probability for the second input by {}, \
                         but the claim allows only {}",
                        shown(*epsilon),
                        shown(above.to_f64_down()),
                        shown(*delta)
                    ));
                }
            }
        }
        Ok(self.points.len() * (x.counts.len() + y.counts.len()))
    }
    /// Draw releases for both inputs, and count how often each event occurs.
    ///
    /// The exact tails of the binomial distribution give a lower and an upper bound on the
    /// probability of an event (Clopper, Pearson 1934). The claim is refuted if no probabilities
    /// between the lower and the upper bounds satisfy the claim. So a true claim is refuted only if
    /// a bound is wrong. There are bounds for all events and all pairs of epsilon and delta. The
    /// probability that at least one of these bounds is wrong is at most [`false_alarm`](Trial). To
    /// get the same result in each run, draw from [`Seeded`](crate::random::Seeded).
    ///
    /// # Errors
    /// A description of the first event that refutes the claim, or the error of a draw.
    pub fn by_draws<R>(
        &self,
        trial: Trial,
        mut x: impl FnMut() -> Result<R>,
        mut y: impl FnMut() -> Result<R>,
        events: &[&dyn Fn(&R) -> bool],
    ) -> Result<Drawn, Broken> {
        let comparisons = 2 * events.len() * self.points.len();
        // Each comparison uses two bounds. A comparison is wrong only if one of its bounds is
        // wrong.
        let each = trial.false_alarm / (2 * comparisons.max(1)) as f64;
        let bounds = Binomial::new(trial.draws, each).map_err(tell)?;
        let (of_x, of_y) =
            (count(trial.draws, &mut x, events)?, count(trial.draws, &mut y, events)?);
        let mut drawn = Drawn { comparisons, epsilon: 0.0 };
        for (place, (kx, ky)) in of_x.into_iter().zip(of_y).enumerate() {
            for (names, many, few) in [("x", kx, ky), ("y", ky, kx)] {
                let low = bounds.at_least(many).map_err(tell)?;
                let high = bounds.at_most(few).map_err(tell)?;
                for (epsilon, delta) in &self.points {
                    if epsilon.inf_exp().map_err(tell)? * high + delta < low {
                        let draws = trial.draws;
                        return Err(format!(
                            "event {place} occurs in {many} of {draws} releases of {names} and in \
                             {few} releases of the other input: the first probability is at least \
                             {} and the second at most {}, more than epsilon {} and delta {} allow",
                            shown(low),
                            shown(high),
                            shown(*epsilon),
                            shown(*delta)
                        ));
                    }
                }
                let ratio = low / high;
                if 1.0 < ratio {
                    drawn.epsilon = drawn.epsilon.max(ratio.neg_inf_ln().map_err(tell)?);
                }
            }
        }
        Ok(drawn)
    }
    /// Draw releases for both inputs, and compare the releases with the claim. The releases must
    /// have few different values. The first half of the draws determines the events. There is one
    /// event for each order of the inputs and each tried epsilon. The tried epsilons are 0 and the
    /// epsilons of the claim. A release belongs to the event if it occurs more than `exp(epsilon)`
    /// times as often for the first input as for the second input. The second half of the draws
    /// tests these events.
    ///
    /// # Errors
    /// The errors of [`by_draws`](Claim::by_draws).
    pub fn by_releases<R: Codec>(
        &self,
        trial: Trial,
        mut x: impl FnMut() -> Result<R>,
        mut y: impl FnMut() -> Result<R>,
    ) -> Result<Drawn, Broken> {
        let half = Trial { draws: trial.draws / 2, ..trial };
        let name = |release: &R| release.to_json().to_string();
        let mut tally: HashMap<String, (f64, f64)> = HashMap::new();
        for _ in 0..half.draws {
            tally.entry(name(&x().map_err(tell)?)).or_default().0 += 1.0;
            tally.entry(name(&y().map_err(tell)?)).or_default().1 += 1.0;
        }
        let mut sets: Vec<HashSet<&str>> = Vec::new();
        // Also try epsilon 0, because the event at epsilon 0 has the largest difference between the
        // two frequencies.
        for epsilon in self.points.iter().map(|(epsilon, _)| *epsilon).chain([0.0]) {
            let factor = epsilon.inf_exp().map_err(tell)?;
            let likely = |much: &dyn Fn(&(f64, f64)) -> bool| {
                let kept = tally.iter().filter(|(_, counts)| much(counts));
                kept.map(|(name, _)| name.as_str()).collect::<HashSet<&str>>()
            };
            sets.push(likely(&|(x, y)| factor * y < *x));
            sets.push(likely(&|(x, y)| factor * x < *y));
        }
        let tests: Vec<_> =
            sets.iter().map(|set| move |release: &R| set.contains(&*name(release))).collect();
        let events: Vec<&dyn Fn(&R) -> bool> =
            tests.iter().map(|test| test as &dyn Fn(&R) -> bool).collect();
        self.by_draws(half, x, y, &events)
    }
}

/// Check a measurement on two inputs. The releases must have few different values. Draw releases
/// for both inputs from the secure source. Then use [`Claim::by_releases`] to compare these
/// releases with the claim of the map at the distance between the inputs.
///
/// # Errors
/// A description of the event that refutes the map, or the reason why these two inputs cannot be
/// checked.
pub fn private<DI, MI, MO, TO>(
    measurement: &Measurement<DI, MI, MO, TO>,
    (x, y): (&DI::Carrier, &DI::Carrier),
    trial: Trial,
) -> Result<Drawn, Broken>
where
    DI: Domain,
    MI: DistanceOn<DI>,
    MO: Measure,
    TO: Carrier,
{
    let input = measurement.input();
    if !(input.domain().member(x) && input.domain().member(y)) {
        return Err("expected two members of the input domain".into());
    }
    let distance = input.metric().distance(x, y).map_err(tell)?;
    let d_in = distance.ok_or("the distance between these inputs is infinite")?;
    let claim = Claim::of(measurement, &d_in).map_err(tell)?;
    claim.by_releases(trial, || measurement.invoke(x), || measurement.invoke(y))
}

/// The number of draws, and the allowed probability of a false alarm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// The number of releases for each input.
    pub draws: u32,
    /// The largest allowed probability that a true claim is refuted.
    pub false_alarm: f64,
}
/// By default, draw 100,000 releases for each input, and allow one false alarm in a billion trials.
impl Default for Trial {
    fn default() -> Self {
        Trial { draws: 100_000, false_alarm: 1e-9 }
    }
}
/// The result of a check by draws, if the check did not refute the claim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drawn {
    /// The number of comparisons.
    pub comparisons: usize,
    /// A lower bound on the true epsilon at a delta of 0. The bound is wrong with probability at
    /// most [`false_alarm`](Trial).
    pub epsilon: f64,
}

/// The exact probabilities of the releases for one input.
#[derive(Clone, Debug)]
pub struct Chances<R> {
    counts: HashMap<R, u64>,
    /// The number of tapes that ended before the mechanism made a release.
    cut: u64,
    tapes: u64,
}
impl<R: Eq + Hash> Chances<R> {
    /// Run a mechanism on all tapes of `words` words. Each word has `B` bits.
    ///
    /// # Errors
    /// A message if there are more than 2^26 tapes.
    pub fn of<const B: u32>(
        words: u32,
        mut run: impl FnMut(&mut Tape<B>) -> Result<R, NoEntropy>,
    ) -> Result<Self, Broken> {
        let bits = words.checked_mul(B).filter(|bits| *bits <= MOST_BITS);
        let bits = bits.ok_or_else(|| format!("expected at most 2^{MOST_BITS} tapes"))?;
        let mut chances = Chances { counts: HashMap::new(), cut: 0, tapes: 1 << bits };
        for number in 0..chances.tapes {
            match run(&mut Tape::from_bits(number, words)) {
                Ok(release) => *chances.counts.entry(release).or_default() += 1,
                Err(NoEntropy) => chances.cut += 1,
            }
        }
        Ok(chances)
    }
    /// Return the number of tapes on which the mechanism makes this release.
    pub fn count(&self, release: &R) -> u64 {
        self.counts.get(release).copied().unwrap_or_default()
    }
    fn chance(&self, count: u64) -> Exact {
        // `count` and the number of tapes are below 2^53, so both are exact floats.
        let exact = |number: u64| Exact::from_f64(number as f64).unwrap_or(Exact::INFINITY);
        exact(count).over(&exact(self.tapes))
    }
}

fn count<R>(
    draws: u32,
    draw: &mut impl FnMut() -> Result<R>,
    events: &[&dyn Fn(&R) -> bool],
) -> Result<Vec<u32>, Broken> {
    let mut counts = vec![0; events.len()];
    for _ in 0..draws {
        let release = draw().map_err(tell)?;
        for (count, event) in counts.iter_mut().zip(events) {
            *count += u32::from(event(&release));
        }
    }
    Ok(counts)
}
fn tell(error: Error) -> Broken {
    error.to_string()
}

#[cfg(test)]
mod tests;
