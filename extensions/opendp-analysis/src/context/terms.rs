//! The search for the least noise that fits a query's share of the budget.

use opendp_core::arith::{Exact, shown};
use opendp_core::search::binary_search;
use opendp_core::{Error, Result};
use opendp_measurements::Collected;
use opendp_measurements::Scale;
use opendp_measurements::accounting::{Kind, SharePair};
use opendp_measurements::accuracy::Noise;

use super::account::{Cost, Room, Wanted};
use super::books::nothing_was_run;
use super::draft::{Bound, Dials, Losses};
use super::groups::Subject;
use super::question::Known;
use super::report::ErrorIn;
use super::{BudgetMeasure, Context};
use crate::truncated_threshold::MOST;

mod parameter;

/// The name of discrete Gaussian noise in answers and reports.
pub(crate) const DISCRETE: &str = "discrete Gaussian";
/// The name that answers and reports give to a choice among candidates.
pub(crate) const SELECTION: &str = "selection";
/// The name that answers and reports give to the noise on counts of keys that are found.
pub(crate) const FOUND: &str = "Laplace, threshold";
/// The name that answers and reports give to the noise of a mechanism of another crate.
pub(crate) const OTHER: &str = "other";
/// The largest threshold, `2^53`. It hides almost all keys, and needs almost no delta.
const HIGH: f64 = MOST;
/// A function that computes the losses of a query from its free parameters.
pub(crate) type LossesAt<'a, MO> = dyn Fn(Dials) -> Result<Losses<MO>> + 'a;

/// The parts of a draft that do not depend on the type of its answer. The search for the noise
/// needs only these parts. So the search is compiled once for all types of answers.
pub(crate) struct Terms<'c, MO: BudgetMeasure> {
    pub(crate) context: &'c Context<MO>,
    pub(crate) share: Result<Wanted>,
    /// Whether the query states the largest amount that it may spend.
    pub(crate) states_amount: bool,
    pub(crate) words: String,
    pub(crate) mechanism: &'static str,
    pub(crate) error_in: ErrorIn,
    /// Whether the query finds keys, and so needs a threshold in addition to noise.
    pub(crate) threshold: bool,
    /// The distribution of the noise on each number, if the answer consists of numbers with noise.
    pub(crate) noise: Option<fn(Scale, bool) -> Noise>,
    /// Whether the noisy number can be [cut off](super::Noisy::is_cut_off) at the smallest or the
    /// largest number of its type.
    pub(crate) cut_off: bool,
    /// The range of the possible values of the statistic, if this range is known.
    pub(crate) range: Option<(f64, f64)>,
    pub(crate) bound: Option<Bound>,
    /// The groups of rows that the answer is about, if the query finds the keys of groups.
    pub(crate) subject: Option<Subject>,
}
impl<'c, MO: BudgetMeasure> Terms<'c, MO> {
    /// Find the least noise with which the query fits its share of the budget. Mechanisms in the
    /// measure [`Accounted::Base`] add this noise. If the query finds keys, also find the least
    /// threshold that fits.
    pub(crate) fn solve(&self, losses: &LossesAt<'_, MO>) -> Result<Dials> {
        let room = self.room(self.kind())?;
        let share = &room.parts;
        let parts = if self.threshold { 1 } else { share.len() };
        let scale = least_scale(&|scale| {
            let dials = Dials::at(scale)?;
            match room.share {
                Some(pair) if !self.threshold => {
                    Ok(pair.dominates(&self.cost(&losses(dials)?, dials)?.pair()))
                }
                _ => Ok(fits(&self.loss(&losses(dials)?)?, share, parts)),
            }
        });
        let scale = scale.map_err(|error| of_share(error, &room))?;
        let dials = |scale: f64| {
            let dials = Dials::at(scale)?;
            if !self.threshold {
                return Ok(dials);
            }
            let threshold = least_threshold(&|threshold| {
                let loss = self.loss(&losses(Dials { threshold, ..dials })?)?;
                Ok(fits(&loss, share, share.len()))
            })?;
            Ok(Dials { threshold, ..dials })
        };
        self.admitted(scale, &dials, losses)
    }
    /// Find the least Gaussian noise that fits the query's share of an epsilon and a delta. For a
    /// choice among candidates, find the least Gumbel noise.
    pub(crate) fn solve_gaussian(&self, losses: &LossesAt<'_, MO>) -> Result<Dials> {
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
                "Gaussian noise needs some delta, and this query has none left; nothing was run. \
                 Write `.laplace()` instead, which needs no delta"
                    .into(),
            ));
        }
        let dials =
            |scale: f64| -> Result<Dials> { Ok(Dials { delta: Some(delta), ..Dials::at(scale)? }) };
        let enough = |scale: f64| {
            let (losses, d_in) = (losses(dials(scale)?)?, self.context.unit().distance());
            let square = losses.mu_squared(&d_in)?;
            if let Some(pair) = room.share {
                // At scale 0, the loss is infinite, and the pairs are not compared.
                return Ok(square.is_finite() && pair.dominates(&losses.cost(&d_in)?.pair()));
            }
            match &losses.rho {
                Some(rho) => Ok(rho(&d_in)? <= room.rho),
                None => Ok(square <= room.mu_squared),
            }
        };
        let scale = least_scale(&enough).map_err(|error| of_share(error, &room))?;
        self.admitted(scale, &dials, losses)
    }
    /// Use the noise scale that the analyst gives. Return an error if the cost of this noise does
    /// not fit the query's share, or if the account refuses this cost.
    pub(crate) fn of_scale(&self, scale: f64, losses: &LossesAt<'_, MO>) -> Result<Dials> {
        let room = self.room(self.kind())?;
        let share = &room.parts;
        let mut dials = Dials::at(scale)?;
        let loss = |dials| self.loss(&losses(dials)?);
        if self.threshold {
            let enough =
                |threshold| Ok(fits(&loss(Dials { threshold, ..dials })?, share, share.len()));
            // If no threshold is high enough, use `HIGH`, the largest threshold. The check below
            // then returns an error.
            dials.threshold = least_threshold(&enough).unwrap_or(HIGH);
        }
        let cost = loss(dials)?;
        if self.within(&room, &losses(dials)?, dials)? {
            let cost = self.cost(&losses(dials)?, dials)?;
            self.context.account()?.charge(&cost).map_err(nothing_was_run)?;
            return Ok(dials);
        }
        let noise = match self.mechanism {
            OTHER => "the mechanism".to_owned(),
            _ => format!("noise of scale {}", shown(scale)),
        };
        let parts = self.context.measure().facts().parts;
        Err(Error::BudgetExceeded(format!(
            "{noise} costs {}, and the share of this query is {}; nothing was run",
            show(parts, &cost, Exact::to_f64_up),
            show(parts, share, Exact::to_f64_down),
        )))
    }
    /// Return the cost of a release with the noise of `dials`. The cost of Laplace noise on numbers
    /// at a positive scale contains a dominating pair. The cost of discrete Gaussian noise contains
    /// a dominating pair, if `discrete_of` returns one.
    fn cost(&self, losses: &Losses<MO>, dials: Dials) -> Result<Cost> {
        let cost = losses.cost(&self.context.unit().distance())?;
        let plain = dials.delta.is_none()
            && !self.threshold
            && self.context.measure().facts().noise == "Laplace";
        if let Some(rho) = &losses.discrete {
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
    /// Return the properties of the question that are known if its noise has the parameters
    /// `dials`.
    pub(crate) fn known(&self, dials: Dials, losses: &Losses<MO>) -> Result<Known<'c, MO>> {
        Ok(Known {
            context: self.context,
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
            cut_off: self.cut_off,
            range: self.range,
            subject: self.subject.clone(),
            cost: self.cost(losses, dials)?,
        })
    }
    /// Find the least threshold at which the delta of the release is at most `delta`.
    pub(crate) fn threshold_within(
        &self,
        dials: Dials,
        delta: &Exact,
        losses: &LossesAt<'_, MO>,
    ) -> Result<f64> {
        least_threshold(&|threshold| {
            let loss = self.loss(&losses(Dials { threshold, ..dials })?)?;
            Ok(loss.get(1).is_none_or(|part| part <= delta))
        })
    }
    /// Return whether the answer consists of integers with noise, without a threshold.
    pub(crate) fn is_of_integers(&self) -> Result<bool> {
        let unit = Scale::new(1.0)?;
        let plain = self.noise.map(|noise| noise(unit, false));
        Ok(!self.threshold && plain == Some(Noise::discrete_laplace(unit)))
    }
    fn loss(&self, losses: &Losses<MO>) -> Result<Vec<Exact>> {
        losses.exact(&self.context.unit().distance())
    }
    fn kind(&self) -> Kind {
        if self.threshold { Kind::WithDelta } else { Kind::Pure }
    }
    fn room(&self, kind: Kind) -> Result<Room> {
        self.context.room(self.share.as_ref().map_err(Error::clone)?, kind)
    }
    /// Increase the scale until the account admits the cost. `dials` returns the parameters of the
    /// noise at a scale. The account can refuse a cost that fits the share. There are two reasons:
    /// the account rounds losses up, and its filters can add up another loss of the same release.
    /// The first step is to the next float, and each step is twice as long as the step before.
    ///
    /// # Errors
    /// The error of the account, if the account still refuses the cost when the scale is about one
    /// millionth larger.
    fn admitted(
        &self,
        mut scale: f64,
        dials: &dyn Fn(f64) -> Result<Dials>,
        losses: &LossesAt<'_, MO>,
    ) -> Result<Dials> {
        let mut floats = 1;
        loop {
            let found = dials(scale)?;
            let cost = self.cost(&losses(found)?, found)?;
            match self.context.account()?.charge(&cost) {
                Ok(()) => return Ok(found),
                Err(error) if MOST_FLOATS < floats => return Err(nothing_was_run(error)),
                Err(_) => scale = f64::from_bits(scale.to_bits() + floats),
            }
            floats *= 2;
        }
    }
}
/// The longest step between two scales: the largest number of floats from one scale to the next
/// scale. All steps together then change the scale by a factor of about `1 + 1e-6`.
const MOST_FLOATS: u64 = 1 << 31;
/// Return whether a loss fits a share in each of the first `parts` parts.
fn fits(loss: &[Exact], share: &[Exact], parts: usize) -> bool {
    loss.iter().zip(share).take(parts).all(|(loss, share)| loss <= share)
}
/// Find the least noise scale for which `enough` returns `true`. An error at scale 0 is returned. A
/// larger scale at which `enough` returns an error is not enough.
fn least_scale(enough: &dyn Fn(f64) -> Result<bool>) -> Result<f64> {
    if enough(0.0)? {
        return Ok(0.0);
    }
    binary_search(|scale| Ok(enough(scale).unwrap_or(false)), None).map_err(too_small)
}
/// Find the least threshold for which `enough` returns `true`. A threshold at which `enough`
/// returns an error is not enough.
fn least_threshold(enough: &dyn Fn(f64) -> Result<bool>) -> Result<f64> {
    let enough = |threshold| Ok(enough(threshold).unwrap_or(false));
    binary_search(enough, Some((1.0, HIGH))).map_err(|_| no_delta())
}
/// Return a pair of distributions that dominates Laplace noise. If `real` is `false`, the noise is
/// on integers.
///
/// # Proof
/// `epsilon` times the scale is a bound on the L1 distance between the exact answers for two
/// neighbours. If the answers are integers, this distance is an integer. So the distance is at most
/// the bound, rounded down to an integer.
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
/// Return a pair of distributions that dominates discrete Gaussian noise on integers. At scale 0,
/// or if the square of the distance does not fit `u32`, return `None`.
///
/// # Proof
/// Let `d` be the largest L2 distance between the exact answers for two neighbours, and `s` the
/// scale. `rho` is at least `d^2 / (2 s^2)`, so `d^2` is at most `2 rho s^2`. If the answers are
/// integers, `d^2` is an integer. So `d^2` is at most `2 rho s^2`, rounded down to an integer.
fn discrete_of(rho: &Exact, scale: Scale) -> Result<Option<SharePair>> {
    let scale = scale.value();
    let own = Exact::from_f64(scale)?;
    let square = rho.plus(rho).times(&own).times(&own).to_f64_up().floor();
    let fits = 0.0 < scale && square <= f64::from(u32::MAX);
    Ok(fits.then_some(SharePair::DiscreteGaussian { square: square as u32, scale }))
}
/// If the share was fixed in advance, replace the text of a `BudgetExceeded` error by a text that
/// states the share. The error means that this kind of noise does not fit the share at any scale.
fn of_share(error: Error, room: &Room) -> Error {
    match (error, room.share) {
        (Error::BudgetExceeded(_), Some(share)) => Error::BudgetExceeded(format!(
            "this share of the budget was fixed as {share:?}, and noise of this kind does not fit \
             it at any scale; nothing was run. Ask for the kind of noise of the share, or state \
             another kind in `Split::by_kinds`"
        )),
        (error, _) => error,
    }
}
fn too_small(error: Error) -> Error {
    match error {
        Error::Search(_) => Error::BudgetExceeded(
            "no scale of the noise fits the share of this query; nothing was run. The bounds are \
             too wide, or the share is too small: state narrower bounds, or a larger budget"
                .into(),
        ),
        other => other,
    }
}
fn no_delta() -> Error {
    Error::BudgetExceeded(
        "a count by keys that are not public needs some delta, and this query has too little left; \
         nothing was run. List the keys instead, which needs no delta: `.histogram(keys)`"
            .into(),
    )
}
/// Write a loss as text, with the names of its parts.
pub(crate) fn show(names: &[&str], parts: &[Exact], float: fn(&Exact) -> f64) -> String {
    let named = names.iter().zip(parts);
    let named = named.map(|(name, part)| format!("{name} {}", shown(float(part))));
    named.collected().join(", ")
}
