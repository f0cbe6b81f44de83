//! The questions of a plan, before and after the plan finds their noise.

use std::any::Any;

use opendp_core::arith::{DirectedFloat, Exact};
use opendp_core::search::binary_search;
use opendp_core::{Carrier, Error, Result};
use opendp_measurements::Scale;
use opendp_measurements::accuracy::Noise;

use super::super::account::Cost;
use super::super::draft::{Dials, Draft};
use super::super::question::Question;
use super::super::report::{Entry, ErrorIn};
use super::super::terms::{LossesAt, Terms};
use super::super::{Accounted, Choice, Context, Statistic};
use super::Goal;
use super::Setting;
use super::solver::{Item, Way};

/// A question for a [`Plan`](super::Plan): a [`Statistic`] or a [`Choice`].
pub trait Planned<'c, MO: Accounted, TO: Carrier>: Sealed<'c, MO, TO> {}
impl<'c, MO: Accounted, TO: Carrier> Planned<'c, MO, TO> for Statistic<'c, MO, TO> {}
impl<'c, MO: Accounted, TO: Carrier> Planned<'c, MO, TO> for Choice<'c, MO, TO> {}
/// A question that can be converted to a draft. The noise of a draft is not known yet.
pub trait Sealed<'c, MO: Accounted, TO: Carrier> {
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "the trait is sealed")]
    fn draft(self) -> Draft<'c, MO, TO>;
}
impl<'c, MO: Accounted, TO: Carrier> Sealed<'c, MO, TO> for Statistic<'c, MO, TO> {
    #[allow(private_interfaces, reason = "the trait is sealed")]
    fn draft(self) -> Draft<'c, MO, TO> {
        self.into_draft()
    }
}
impl<'c, MO: Accounted, TO: Carrier> Sealed<'c, MO, TO> for Choice<'c, MO, TO> {
    #[allow(private_interfaces, reason = "the trait is sealed")]
    fn draft(self) -> Draft<'c, MO, TO> {
        self.into_draft()
    }
}

/// The bounds on the error of Laplace noise and of Gaussian noise at scale 1. These bounds hold
/// except with probability `alpha`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    alpha: f64,
    laplace: f64,
    gaussian: f64,
}
impl Units {
    pub(super) fn new(alpha: f64) -> Result<Self> {
        let unit_scale = Scale::new(1.0)?;
        let (laplace, gaussian) = (Noise::laplace(unit_scale), Noise::gaussian(unit_scale));
        let (laplace, gaussian) = (laplace.quantile(alpha)?, gaussian.quantile(alpha)?);
        Ok(Units { alpha, laplace, gaussian })
    }
    /// Return a bound on the error of noise at scale 1. The bound is for continuous Laplace or
    /// Gaussian noise, even if `noise` is discrete. The bound does not include the rounding of the
    /// noisy number. If an accuracy is wanted, also return the largest scale with this accuracy. If
    /// `rounded` is `true`, the noisy number is rounded to an integer, which adds at most 0.5 to
    /// the error. Noise on floats is a multiple of a step, and the step is at most 2^-40 of the
    /// scale. Because of this step, the largest scale is divided by a number slightly above 1. For
    /// discrete Laplace noise, [`discrete_laplace`] finds the scale.
    fn of(&self, noise: Noise, rounded: bool, wanted: Option<f64>) -> Result<(f64, Option<f64>)> {
        let unit_scale = Scale::new(1.0)?;
        let lattice = 1.0 + 1e-11;
        if noise == Noise::discrete_laplace(unit_scale) {
            let fixed = wanted.map(|error| discrete_laplace(error, self.alpha));
            return Ok((self.laplace, fixed));
        }
        let (unit, largest) = if noise == Noise::laplace(unit_scale) {
            (self.laplace, wanted)
        } else if noise == Noise::discrete_gaussian(unit_scale) {
            (self.gaussian, wanted.map(f64::floor))
        } else {
            (self.gaussian, wanted.map(|error| if rounded { error - 0.5 } else { error }))
        };
        Ok((unit, largest.map(|error| error / unit / lattice)))
    }
}
/// Find a scale at which the error of discrete Laplace noise is at most `error`, except with
/// probability `alpha`. The result is close to the largest scale with this property. If no scale is
/// found, return 0.
///
/// Let `k` be the whole part of `error`, and let `a = e^(-1 / scale)`. The magnitude of the noise
/// exceeds `k` with probability `2 a^(k + 1) / (1 + a)`. First find the scale at which this
/// probability is `alpha`, by a fixed-point iteration. If the iteration fails, search for the scale
/// by bisection.
fn discrete_laplace(error: f64, alpha: f64) -> f64 {
    let within = |scale: f64| {
        let bound = Scale::new(scale).and_then(|x| Noise::discrete_laplace(x).quantile(alpha));
        bound.is_ok_and(|bound| bound <= error)
    };
    let near = || -> Result<f64> {
        let (mut ratio, mut scale) = (1.0_f64, 0.0);
        for _ in 0..12 {
            let before = scale;
            scale = (error.floor() + 1.0) / -(alpha * (1.0 + ratio) / 2.0).inf_ln()?;
            if (scale - before).abs() <= 1e-12 * scale {
                break;
            }
            ratio = (-1.0 / scale).inf_exp()?;
        }
        Ok(scale * (1.0 - 1e-9))
    };
    match near() {
        Ok(scale) if within(scale) => scale,
        _ => {
            let bounds = Some((0.0, error.max(1.0) * 4.0));
            binary_search(|scale| Ok(within(scale)), bounds).unwrap_or(0.0)
        }
    }
}

/// The properties of a release, or of a statistic of groups, that are known before the release.
#[derive(Clone, Debug, PartialEq)]
pub struct Noised {
    /// The title of the question.
    pub query: String,
    /// The kind of noise: "Laplace", "Gaussian" or "discrete Gaussian". For a choice among
    /// candidates, this is "selection". For counts of keys that are found, this is "Laplace,
    /// threshold". For a [mechanism of another crate](super::super::Rows::mechanism), this is
    /// "other". If a statistic has several kinds of noise, each kind is named once, in the order of
    /// the scales, as in "Gaussian and Laplace, threshold".
    pub mechanism: String,
    /// The noise scales of the release or of the statistic.
    pub scales: Vec<f64>,
    /// A bound on the error of each number, if a bound is known.
    pub accuracy: Option<f64>,
    /// The unit of `accuracy`.
    pub error_in: ErrorIn,
}
impl Noised {
    /// Add the noise of another release, for a statistic that is computed from both releases. The
    /// result has no bound on the error.
    #[must_use]
    pub fn with(mut self, other: &Noised) -> Self {
        if !self.mechanism.split(AND).any(|known| known == other.mechanism) {
            self.mechanism = format!("{}{AND}{}", self.mechanism, other.mechanism);
        }
        self.scales.extend(&other.scales);
        self.accuracy = None;
        self
    }
}
/// The text between the names of two kinds of noise.
const AND: &str = " and ";

/// A draft of a question. The type of its answer is erased.
pub(super) trait Drafted<MO: Accounted>: Send {
    /// Describe the draft for the solver. The description contains the goal, and the errors and
    /// losses of each kind of noise at scale 1.
    fn item(&self, goal: Goal, units: &Units) -> Result<Item>;
    fn takes_delta(&self) -> bool;
    /// Return the context whose table the question is about.
    fn context(&self) -> &Context<MO>;
    /// Return whether the query states the largest amount that it may spend.
    fn states_amount(&self) -> bool;
    /// Return whether the answer consists of integers with noise.
    fn is_of_integers(&self) -> Result<bool>;
    /// Return the least threshold at which the release of keys has a delta of at most `delta`. The
    /// noise has the scale `scale`.
    fn threshold(&self, scale: f64, delta: &Exact) -> Result<f64>;
    /// Set the noise of the draft. `delta` is the delta of a threshold. `stated` is the delta at
    /// which the epsilon of Gaussian or Gumbel noise is stated.
    fn ready<'a>(
        &'a self,
        setting: Setting,
        delta: &Exact,
        stated: f64,
    ) -> Result<Box<dyn Ready + 'a>>;
    /// If another question of the plan finds the keys of this question, return the place of that
    /// other question in the plan.
    fn finds(&self) -> Option<usize> {
        None
    }
    /// Answer the question about keys that were found. `noise` contains the three arguments of
    /// [`ready`](Drafted::ready). `found` is the answer that contains the keys. `charged` is the
    /// cost that was charged for this question.
    ///
    /// # Errors
    /// `FailedMap` when the question costs more than `charged`; the errors of the release.
    fn answer(
        &self,
        noise: (Setting, &Exact, f64),
        found: &dyn Any,
        charged: &Cost,
    ) -> Result<Box<dyn Any + Send>> {
        let _ = (noise, found, charged);
        Err(Error::FailedFunction("the keys of this question are known".into()))
    }
}
/// A question whose noise is known. The type of its answer is erased.
pub(super) trait Ready {
    fn cost(&self) -> &Cost;
    fn accuracy(&self) -> Result<f64>;
    fn threshold(&self) -> Option<f64>;
    fn noised(&self, alpha: f64) -> Noised;
    fn entry(&self, left: Vec<Exact>) -> Entry;
    fn run(self: Box<Self>) -> Result<Box<dyn Any + Send>>;
}
impl<MO: Accounted, TO: Carrier> Drafted<MO> for Draft<'_, MO, TO> {
    fn item(&self, goal: Goal, units: &Units) -> Result<Item> {
        self.terms.item(goal, units, &|dials| self.losses(dials))
    }
    fn takes_delta(&self) -> bool {
        self.terms.threshold
    }
    fn context(&self) -> &Context<MO> {
        self.terms.context
    }
    fn states_amount(&self) -> bool {
        self.terms.states_amount
    }
    fn is_of_integers(&self) -> Result<bool> {
        self.terms.is_of_integers()
    }
    fn threshold(&self, scale: f64, delta: &Exact) -> Result<f64> {
        self.terms.threshold_within(Dials::at(scale)?, delta, &|dials| self.losses(dials))
    }
    fn ready<'a>(
        &'a self,
        setting: Setting,
        delta: &Exact,
        stated: f64,
    ) -> Result<Box<dyn Ready + 'a>> {
        let noise = (setting, delta, stated);
        let dials = self.terms.dials(noise, &|dials| self.losses(dials))?;
        Ok(Box::new(self.question(dials)?))
    }
}
impl<MO: Accounted> Terms<'_, MO> {
    fn item(&self, goal: Goal, units: &Units, losses: &LossesAt<'_, MO>) -> Result<Item> {
        let (wanted, weight) = match goal {
            Goal::Weight(weight) => (None, weight),
            Goal::Within(error) => (Some(error), 0.0),
        };
        let unit_scale = Scale::new(1.0)?;
        let (plain, gaussian) = (
            self.noise.map(|noise_of| noise_of(unit_scale, MO::NOISE == "Gaussian")),
            self.noise.map(|noise_of| noise_of(unit_scale, true)),
        );
        let d_in = self.context.unit().distance();
        let loss = losses(Dials::at(1.0)?)?.exact(&d_in)?;
        let loss = loss.first().map_or(0.0, Exact::to_f64_up);
        let (error, fixed) = match (&self.bound, plain) {
            (Some(bound), _) => {
                let unit = bound(unit_scale, units.alpha)?;
                (unit, wanted.map(|error| error / unit / (1.0 + 1e-11)))
            }
            (None, plain) => {
                let noise = plain.unwrap_or_else(|| Noise::discrete_laplace(unit_scale));
                units.of(noise, false, wanted)?
            }
        };
        let size = if MO::SQUARES { (2.0 * loss).sqrt() } else { loss };
        let usable = |way: &Way| way.fixed.is_none_or(|scale| 0.0 < scale);
        let pure = Some(Way { size, error, fixed }).filter(usable);
        let mut item = match MO::SQUARES {
            true => Item { pure: None, gaussian: pure, choice: false, weight },
            false => Item { pure, gaussian: None, choice: false, weight },
        };
        // Gumbel noise has the same bound on the error of a choice as exponential noise, so `error`
        // and `fixed` are valid for both kinds of noise.
        item.choice = self.noise.is_none() && !self.threshold;
        if MO::TIGHT && item.choice {
            let dials = Dials { delta: Some(0.5), ..Dials::at(1.0)? };
            let square = losses(dials)?.mu_squared(&d_in);
            let way = |square: Exact| Way { size: square.to_f64_up().sqrt(), error, fixed };
            item.gaussian = square.ok().map(way).filter(usable);
        }
        if let (true, false, Some(noise)) = (MO::TIGHT, self.threshold, gaussian) {
            let dials = Dials { delta: Some(0.5), ..Dials::at(1.0)? };
            let square = losses(dials)?.mu_squared(&d_in)?.to_f64_up();
            let rounded = plain == Some(Noise::discrete_laplace(unit_scale));
            let (error, fixed) = units.of(noise, rounded, wanted)?;
            item.gaussian = Some(Way { size: square.sqrt(), error, fixed }).filter(usable);
        }
        if item.pure.is_none() && item.gaussian.is_none() {
            let reason =
                "integers cannot be released with an error this small: allow a larger error";
            return Err(Error::argument("goal", reason));
        }
        Ok(item)
    }
    /// Return the parameters of the noise for the arguments of [`ready`](Drafted::ready).
    fn dials(
        &self,
        (setting, delta, stated): (Setting, &Exact, f64),
        losses: &LossesAt<'_, MO>,
    ) -> Result<Dials> {
        let mut dials = Dials::at(setting.scale.value())?;
        dials.delta = setting.gaussian.then_some(stated);
        dials.discrete = setting.discrete;
        if self.threshold {
            dials.threshold = self.threshold_within(dials, delta, losses)?;
        }
        Ok(dials)
    }
}
impl<MO: Accounted, TO: Carrier> Ready for Question<'_, MO, TO> {
    fn cost(&self) -> &Cost {
        &self.known.cost
    }
    fn accuracy(&self) -> Result<f64> {
        Question::accuracy(self, Context::<MO>::ALPHA)
    }
    fn threshold(&self) -> Option<f64> {
        Question::threshold(self)
    }
    fn noised(&self, alpha: f64) -> Noised {
        Question::noised(self, alpha)
    }
    fn entry(&self, left: Vec<Exact>) -> Entry {
        self.known.entry(Ready::accuracy(self).ok(), left)
    }
    fn run(self: Box<Self>) -> Result<Box<dyn Any + Send>> {
        let accuracy = Ready::accuracy(&*self).ok();
        Ok(Box::new(self.answer(accuracy)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_of_an_integer_error_is_the_largest() {
        for error in [0.5, 1.0, 2.0, 3.5, 40.0, 1e3, 1e6] {
            let scale = discrete_laplace(error, 0.05);
            let error_at = |scale: f64| {
                let noise = Noise::discrete_laplace(Scale::new(scale).unwrap());
                noise.quantile(0.05).unwrap()
            };
            assert!(0.0 < scale && error_at(scale) <= error, "{error} {scale}");
            assert!(error < error_at(scale * (1.0 + 1e-7)), "{error} {scale}");
        }
    }
}
