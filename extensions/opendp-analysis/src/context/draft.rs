//! Queries before their noise is known.

use std::sync::Arc;

use opendp_core::arith::{Directed, DirectedFloat, Exact};
use opendp_core::search::binary_search;
use opendp_core::{Carrier, Error, Measurement, Result, SymmetricDistance};
use opendp_measurements::Scale;
use opendp_measurements::accounting::{Kind, SharePair};
use opendp_measurements::accuracy::Noise;

use super::account::{Cost, Room, Wanted};
use super::question::Question;
use super::report::ErrorIn;
use super::{Accounted, Context, TableDomain};
use crate::truncated_threshold::MOST;

/// A measurement whose input is a table.
pub(crate) type OfTable<MO, TO> = Measurement<TableDomain, SymmetricDistance, MO, TO>;
/// A function that makes the measurement of a query from its free parameters.
pub(crate) type Build<MO, TO> = Box<dyn Fn(Dials) -> Result<Built<MO, TO>> + Send + Sync>;
/// A function that computes a bound on the error of an answer, from the scale of its noise and from
/// `alpha`. It is used if the measurement itself does not state a bound on its error.
pub(crate) type Bound = Arc<dyn Fn(Scale, f64) -> Result<f64> + Send + Sync>;
/// A function that computes one loss of a release at an input distance: the square of its `mu`, or
/// its `rho`.
pub(crate) type Square = Arc<dyn Fn(&u32) -> Result<Exact> + Send + Sync>;

/// A measurement of a table. A `mu`-GDP measurement also has its loss in Gaussian differential
/// privacy.
pub(crate) struct Built<MO: Accounted, TO: Carrier> {
    pub(crate) measurement: OfTable<MO, TO>,
    pub(crate) mu_squared: Option<Square>,
    /// The `rho` of the release, if it chooses among candidates by Gumbel noise.
    pub(crate) rho: Option<Square>,
    /// The number of successive choices with equal ranges, if it is known.
    pub(crate) choices: Option<u32>,
    /// The `rho` of the release, if it has discrete Gaussian noise on integers.
    pub(crate) discrete: Option<Square>,
}
impl<MO: Accounted, TO: Carrier> Built<MO, TO> {
    /// A measurement whose loss is only stated in the measure of the budget.
    pub(crate) fn stated(measurement: OfTable<MO, TO>) -> Self {
        Built { measurement, mu_squared: None, rho: None, choices: None, discrete: None }
    }
    pub(crate) fn cost(&self, d_in: &u32) -> Result<Cost> {
        let loss_of =
            |square: &Option<Square>| square.as_ref().map(|square| square(d_in)).transpose();
        let (mu_squared, rho) = (loss_of(&self.mu_squared)?, loss_of(&self.rho)?);
        let pair = match (&rho, self.choices) {
            (Some(rho), Some(count)) => Some(choices_of(rho, count)?),
            _ => None,
        };
        Ok(Cost { parts: self.measurement.exact_map(d_in)?, mu_squared, rho, pair })
    }
    pub(crate) fn mu_squared(&self, d_in: &u32) -> Result<Exact> {
        match &self.mu_squared {
            Some(square) => square(d_in),
            None => Err(Error::NotImplemented(
                "this statistic has no Gaussian noise: write `.laplace()`".into(),
            )),
        }
    }
}

/// The free parameters of a query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dials {
    pub(crate) scale: Scale,
    pub(crate) threshold: f64,
    /// The delta for which the epsilon of Gaussian noise is computed. `None` if the budget has no
    /// delta.
    pub(crate) delta: Option<f64>,
    /// Whether Gaussian noise on integers is discrete. Otherwise it is continuous and rounded.
    pub(crate) discrete: bool,
}
/// The kind of noise that answers and reports state for discrete Gaussian noise.
pub(crate) const DISCRETE: &str = "discrete Gaussian";
/// The stated kind of noise for a choice among candidates.
pub(crate) const SELECTION: &str = "selection";
/// A threshold that hides all keys and needs almost no delta.
const HIGH: f64 = MOST;

/// A query whose noise is not known yet.
pub(crate) struct Draft<'c, MO: Accounted, TO: Carrier> {
    pub(crate) context: &'c Context<MO>,
    pub(crate) share: Result<Wanted>,
    pub(crate) words: String,
    pub(crate) mechanism: &'static str,
    pub(crate) error_in: ErrorIn,
    /// Whether the query also needs a threshold for keys.
    pub(crate) threshold: bool,
    /// The distribution of the noise on each number, if the answer is a number with noise.
    pub(crate) noise: Option<fn(Scale, bool) -> Noise>,
    pub(crate) bound: Option<Bound>,
    pub(crate) build: Result<Build<MO, TO>>,
}
impl<'c, MO: Accounted, TO: Carrier> Draft<'c, MO, TO> {
    /// Find the least noise that fits the query's share of the budget.
    pub(crate) fn solve(&self) -> Result<Question<'c, MO, TO>> {
        let room = self.room(self.kind())?;
        let share = &room.parts;
        let parts = if self.threshold { 1 } else { share.len() };
        let scale = least_scale(&|scale| match room.share {
            Some(pair) if !self.threshold => {
                let dials = Dials::at(scale)?;
                Ok(pair.dominates(&self.cost(&self.build(dials)?, dials)?.pair()))
            }
            _ => Ok(fits(&self.loss(Dials::at(scale)?)?, share, parts)),
        });
        let scale = scale.map_err(|error| of_share(error, &room))?;
        let (mut dials, priced) = self.admitted(Dials::at(scale)?)?;
        if self.threshold {
            dials.threshold = least_threshold(&|threshold| {
                Ok(fits(&self.loss(Dials { threshold, ..dials })?, share, share.len()))
            })?;
            return self.question(dials);
        }
        Ok(self.priced(dials, priced))
    }
    /// Find the least Gaussian noise that fits the query's share of an epsilon and a delta.
    pub(crate) fn solve_gaussian(&self) -> Result<Question<'c, MO, TO>> {
        if self.threshold {
            return Err(Error::NotImplemented(
                "keys that are not public are counted with Laplace noise: write `.laplace()`"
                    .into(),
            ));
        }
        let choice = self.mechanism == SELECTION;
        let room = self.room(if choice { Kind::Choice } else { Kind::Gaussian })?;
        let delta = room.stated(&self.context.account()?.budget());
        if !(0.0 < delta) || room.mu_squared.is_zero() && room.share.is_none() {
            return Err(Error::BudgetExceeded(
                "Gaussian noise needs some delta, and this query has none left; nothing was run. Or \
                 write `.laplace()`, which needs no delta"
                    .into(),
            ));
        }
        let dials =
            |scale: f64| -> Result<Dials> { Ok(Dials { delta: Some(delta), ..Dials::at(scale)? }) };
        let enough = |scale: f64| {
            let (built, d_in) = (self.build(dials(scale)?)?, self.context.unit().distance());
            let square = built.mu_squared(&d_in)?;
            if let Some(pair) = room.share {
                // Without noise, the loss is infinite and is not compared.
                return Ok(square.is_finite() && pair.dominates(&built.cost(&d_in)?.pair()));
            }
            match &built.rho {
                Some(rho) => Ok(rho(&d_in)? <= room.rho),
                None => Ok(square <= room.mu_squared),
            }
        };
        let scale = least_scale(&enough).map_err(|error| of_share(error, &room))?;
        let (dials, priced) = self.admitted(dials(scale)?)?;
        Ok(self.priced(dials, priced))
    }
    /// Use the noise scale that the analyst gives, if the cost of this noise fits the query's
    /// share.
    pub(crate) fn of_scale(&self, scale: f64) -> Result<Question<'c, MO, TO>> {
        let room = self.room(self.kind())?;
        let share = &room.parts;
        let mut dials = Dials::at(scale)?;
        if self.threshold {
            let enough =
                |threshold| Ok(fits(&self.loss(Dials { threshold, ..dials })?, share, share.len()));
            // If no threshold is high enough, the check below rejects the highest threshold.
            dials.threshold = least_threshold(&enough).unwrap_or(HIGH);
        }
        let cost = self.loss(dials)?;
        let within = match room.share {
            Some(pair) => pair.dominates(&self.cost(&self.build(dials)?, dials)?.pair()),
            None => fits(&cost, share, share.len()),
        };
        if !within {
            return Err(Error::BudgetExceeded(format!(
                "noise of scale {scale} costs {}, and the share of this query is {}; nothing was run",
                show::<MO>(&cost, Exact::to_f64_up),
                show::<MO>(share, Exact::to_f64_down),
            )));
        }
        self.question(dials)
    }
    /// Make the question, with the noise that was found.
    pub(crate) fn question(&self, dials: Dials) -> Result<Question<'c, MO, TO>> {
        let built = self.build(dials)?;
        let cost = self.cost(&built, dials)?;
        Ok(self.priced(dials, (built, cost)))
    }
    /// Return the cost of a release. For Laplace noise on numbers and for discrete Gaussian noise,
    /// the cost also states a dominating pair.
    fn cost(&self, built: &Built<MO, TO>, dials: Dials) -> Result<Cost> {
        let cost = built.cost(&self.context.unit().distance())?;
        let plain = dials.delta.is_none() && !self.threshold && MO::NOISE == "Laplace";
        if let Some(rho) = &built.discrete {
            let rho = rho(&self.context.unit().distance())?;
            return Ok(Cost { pair: discrete_of(&rho, dials.scale)?, ..cost });
        }
        match (self.noise, cost.parts.first()) {
            (Some(noise), Some(epsilon)) if plain && dials.scale.value() != 0.0 => {
                let real = noise(dials.scale, false) == Noise::laplace(dials.scale);
                let pair = laplace_of(epsilon, dials.scale, real)?;
                Ok(Cost { pair: Some(pair), ..cost })
            }
            _ => Ok(cost),
        }
    }
    fn priced(&self, dials: Dials, (built, cost): Priced<MO, TO>) -> Question<'c, MO, TO> {
        Question {
            context: self.context,
            measurement: built.measurement,
            words: self.words.clone(),
            mechanism: match dials.delta {
                Some(_) if dials.discrete => DISCRETE,
                Some(_) if self.mechanism != SELECTION => "Gaussian",
                _ => self.mechanism,
            },
            scale: dials.scale,
            threshold: self.threshold.then_some(dials.threshold),
            error_in: self.error_in,
            bound: self.bound.clone(),
            noise: self.noise,
            cost,
        }
    }
    /// Find the least threshold that costs at most `delta`.
    pub(crate) fn threshold_within(&self, dials: Dials, delta: &Exact) -> Result<f64> {
        least_threshold(&|threshold| {
            let loss = self.loss(Dials { threshold, ..dials })?;
            Ok(loss.get(1).is_none_or(|part| part <= delta))
        })
    }
    /// Return whether the answer is integers with noise, without a threshold.
    pub(crate) fn is_of_integers(&self) -> Result<bool> {
        let unit = Scale::new(1.0)?;
        let plain = self.noise.map(|noise| noise(unit, false));
        Ok(!self.threshold && plain == Some(Noise::discrete_laplace(unit)))
    }
    pub(crate) fn build(&self, dials: Dials) -> Result<Built<MO, TO>> {
        match &self.build {
            Ok(build) => build(dials),
            Err(error) => Err(error.clone()),
        }
    }
    fn loss(&self, dials: Dials) -> Result<Vec<Exact>> {
        self.build(dials)?.measurement.exact_map(&self.context.unit().distance())
    }
    fn kind(&self) -> Kind {
        if self.threshold { Kind::WithDelta } else { Kind::Pure }
    }
    fn room(&self, kind: Kind) -> Result<Room> {
        // If a step and the budget both have an error, return the error of the step.
        self.build.as_ref().map_err(Error::clone)?;
        self.context.room(self.share.as_ref().map_err(Error::clone)?, kind)
    }
    /// If the account rounds the loss up, increase the noise a little to compensate.
    fn admitted(&self, mut dials: Dials) -> Result<(Dials, Priced<MO, TO>)> {
        let mut trials = 0;
        loop {
            let built = self.build(dials)?;
            let cost = self.cost(&built, dials)?;
            if trials == 64 || self.context.account()?.charge(&cost).is_ok() {
                return Ok((dials, (built, cost)));
            }
            dials.scale = Scale::new(dials.scale.value().next_up())?;
            trials += 1;
        }
    }
}
/// A measurement and the cost of its release.
type Priced<MO, TO> = (Built<MO, TO>, Cost);
impl Dials {
    pub(crate) fn at(scale: f64) -> Result<Self> {
        let scale = Scale::new(scale)?;
        Ok(Dials { scale, threshold: HIGH, delta: None, discrete: false })
    }
}
/// Compare the first `parts` parts of a loss with the same parts of a share. Return whether each
/// part of the loss is at most the part of the share.
fn fits(loss: &[Exact], share: &[Exact], parts: usize) -> bool {
    loss.iter().zip(share).take(parts).all(|(loss, share)| loss <= share)
}
/// Find the least noise scale for which `enough` returns `true`.
fn least_scale(enough: &dyn Fn(f64) -> Result<bool>) -> Result<f64> {
    if enough(0.0)? { Ok(0.0) } else { binary_search(enough, None).map_err(too_small) }
}
/// Find the least threshold for which `enough` returns `true`.
fn least_threshold(enough: &dyn Fn(f64) -> Result<bool>) -> Result<f64> {
    binary_search(enough, Some((1.0, HIGH))).map_err(|_| no_delta())
}
/// Return a pair that dominates Laplace noise. The noise is on integers if it is not `real`.
///
/// # Proof
/// `epsilon` times the scale is a bound on the L1 distance. The L1 distance of integers is an
/// integer. So it is at most this bound, rounded down to an integer.
fn laplace_of(epsilon: &Exact, scale: Scale, real: bool) -> Result<SharePair> {
    if real {
        return Ok(SharePair::Laplace { epsilon: epsilon.to_f64_up() });
    }
    let distance = epsilon.times(&Exact::from_f64(scale.value())?).to_f64_up().floor();
    Ok(if distance < MOST_DISTANCE {
        SharePair::DiscreteLaplace { sensitivity: distance as u32, scale: scale.value() }
    } else {
        SharePair::Private { epsilon: epsilon.to_f64_up(), delta: 0.0 }
    })
}
/// From this distance on, Laplace noise on integers is charged as a pure loss, by its epsilon.
const MOST_DISTANCE: f64 = 65536.0;
/// Return the pair of discrete Gaussian noise on integers. At scale 0, or if the square of the
/// distance exceeds `u32`, return `None`. Then the cost of the noise is not stated by such a pair.
///
/// # Proof
/// Let `d` be a bound on the L2 distance, and `s` the scale. `rho` is at least `d^2 / (2 s^2)`, so
/// the square of the L2 distance is at most `2 rho s^2`. For integers, this square is an integer.
/// So it is at most `2 rho s^2`, rounded down to an integer.
fn discrete_of(rho: &Exact, scale: Scale) -> Result<Option<SharePair>> {
    let scale = scale.value();
    let own = Exact::from_f64(scale)?;
    let square = rho.plus(rho).times(&own).times(&own).to_f64_up().floor();
    let fits = 0.0 < scale && square <= f64::from(u32::MAX);
    Ok(fits.then_some(SharePair::DiscreteGaussian { square: square as u32, scale }))
}
/// Return a pair that dominates `count` successive choices with equal ranges. Choices with a range
/// of `r` have a `rho` of `r^2 / 8`.
fn choices_of(rho: &Exact, count: u32) -> Result<SharePair> {
    if !rho.is_finite() {
        return Ok(SharePair::Choices { range: f64::INFINITY, count });
    }
    let each = rho.to_f64_up().inf_mul(8.0)?.inf_div(f64::from(count))?;
    Ok(SharePair::Choices { range: each.inf_sqrt()?, count })
}
/// If the share was fixed in advance, replace the error that the budget is exceeded. The new error
/// states that no amount of this noise fits the share.
fn of_share(error: Error, room: &Room) -> Error {
    match (error, room.share) {
        (Error::BudgetExceeded(_), Some(share)) => Error::BudgetExceeded(format!(
            "this share of the budget was fixed as {share:?}, and no amount of this noise is \
             within it; nothing was run. Ask for the noise of the share, or state another kind in \
             `Split::by_kinds`"
        )),
        (error, _) => error,
    }
}
fn too_small(error: Error) -> Error {
    match error {
        Error::Search(_) => Error::BudgetExceeded(
            "the part of the budget for this query is too small for any amount of noise; nothing was \
             run"
                .into(),
        ),
        other => other,
    }
}
fn no_delta() -> Error {
    Error::BudgetExceeded(
        "a count by keys that are not public needs some delta, and this query has too little left; \
         nothing was run. Or list the keys, which needs no delta: `.histogram(keys)`"
            .into(),
    )
}
/// Write a loss as text, with the names of its parts.
pub(crate) fn show<MO: Accounted>(parts: &[Exact], float: fn(&Exact) -> f64) -> String {
    let named = MO::PARTS.iter().zip(parts).map(|(name, part)| format!("{name} {}", float(part)));
    named.collect::<Vec<_>>().join(", ")
}
