//! One way to divide the delta of an [`AdaptiveAccount`](super::AdaptiveAccount) among filters. A
//! filter is a rule that admits or refuses the next release. In this file, `mu` is the parameter of
//! Gaussian differential privacy, and `rho` is the parameter of zero-concentrated differential
//! privacy.

use opendp_core::arith::{Directed, DirectedFloat, Exact};
use opendp_core::{Error, Result};

use super::adaptive::{AdaptiveLoss, Room, Share};
use super::choice::{mu_squared_of_choices, rho_of_choices};
use super::joined::{joined_epsilon, joined_mu, mu_of_pure, pure_of_mu};
use super::pot::{Pot, Sizes};
use super::renyi::{
    concentrated_epsilon, concentrated_rho, concentrated_rho_of_pure, divergence_of_pure,
    epsilon_of_order, renyi_limit,
};

/// One way to divide delta, with the resulting filters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// The part of delta that is reserved for the deltas of releases without a `mu^2`.
    pub(super) deltas: Exact,
    pub(super) spent: Exact,
    pub(super) pots: Vec<Pot>,
}
/// Numbers of parts of delta. Delta has 64 equal parts. The first number is for the deltas of
/// releases, and the second number is for the Gaussian filter. Each of the three mixed filters gets
/// the third number. A mixed filter has limits for pure losses and for Gaussian noise. The fourth
/// number is for the simple filter, which adds up epsilons and deltas. The last number is for the
/// Renyi filter.
pub(super) type Parts = [u32; 5];
pub(super) const GAUSSIAN_FIRST: Parts = [2, 56, 1, 3, 0];
pub(super) const RENYI_FIRST: Parts = [2, 24, 1, 3, 32];
pub(super) const OTHERS_FIRST: Parts = [40, 4, 4, 8, 0];
pub(super) const ONLY_GAUSSIAN: Parts = [0, 64, 0, 0, 0];
pub(super) const ONLY_RENYI: Parts = [0, 0, 0, 0, 64];
pub(super) const ONLY_OTHERS: Parts = [64, 0, 0, 0, 0];

impl Way {
    pub(super) fn new(
        epsilon: &Exact,
        delta: &Exact,
        [deltas, gaussian, mixed, simple, renyi]: &Parts,
    ) -> Result<Self> {
        let part = |parts: u32| Ok::<_, Error>(delta.times(&whole(parts)?).over(&whole(64)?));
        let mut pots = Vec::new();
        for quarters in 0..4 {
            let own = part(if quarters == 0 { *gaussian } else { *mixed })?;
            let pure = epsilon.times(&whole(quarters)?).over(&whole(4)?).to_f64_down();
            let mu = joined_mu(pure, epsilon.to_f64_down(), own.to_f64_down())?;
            if 0.0 < mu {
                pots.push(Pot::of(Exact::from_f64(pure)?, Exact::from_f64(mu)?, own));
            }
        }
        let own = part(*renyi)?;
        if 0.0 < own.to_f64_down()
            && let Some((order, limit)) = renyi_limit(epsilon.to_f64_down(), own.to_f64_down())?
        {
            let squares = Exact::from_f64((2.0 * limit).neg_inf_div(order)?)?;
            pots.push(Pot::renyi(Exact::from_f64(order)?, squares, own));
        }
        pots.push(Pot::simple(epsilon.clone(), part(*simple)?));
        Ok(Way { deltas: part(*deltas)?, spent: Exact::ZERO, pots })
    }
    /// Charge all filters for a release. Remove the filters that do not admit this release.
    pub(super) fn charge(&mut self, loss: &AdaptiveLoss) -> Result<()> {
        let order = self.pots.iter().find_map(|pot| pot.order.as_ref());
        let sizes = sizes(loss, order)?;
        if loss.mu_squared.is_none() {
            self.spent = self.spent.plus_term(&loss.delta);
        }
        self.pots.retain_mut(|pot| pot.charge(loss, &sizes));
        Ok(())
    }
    pub(super) fn other(&self, share: &Share, all: &Exact) -> Result<Room> {
        let part = match share {
            Share::Fraction(part) => part,
            Share::Amount(epsilon, delta) => {
                // The requested delta is a fraction of the whole delta. The release gets the same
                // fraction of `deltas`.
                let delta = delta.times(&self.deltas).over(all);
                return Ok(Room { epsilon: epsilon.clone(), delta, ..Room::default() });
            }
        };
        let mut largest = Exact::ZERO;
        for pot in &self.pots {
            let mu = pot.square_left().times(part).to_f64_down().neg_inf_sqrt()?;
            // Here `mu^2` is the requested part of the sum of squares that this filter still
            // admits. The `rho` of a pure loss is at most half of the square of its epsilon. So a
            // pure loss with the epsilon `mu` has a `rho` of at most `mu^2 / 2`, and the filter
            // admits this loss. A factor that is a little less than 1 covers the rounding errors.
            let by_rho = mu * (1.0 - 4.0 * f64::EPSILON);
            let epsilon = match &pot.order {
                Some(order) => pure_of_order(order, &pot.square_left().times(part), by_rho)?,
                None if pot.concentrated => by_rho,
                None => pure_of_mu(mu.min(70.0))?,
            };
            let epsilon = Exact::from_f64(epsilon)?;
            largest = largest.max(pot.pure_left().times(part)).max(epsilon);
        }
        let delta = self.deltas.minus(&self.spent).times(part);
        Ok(Room { epsilon: largest, delta, ..Room::default() })
    }
    /// Find the largest losses that the filters admit for choices by Gumbel noise.
    pub(super) fn choices(&self, share: &Share, all: &Exact) -> Result<Room> {
        let room = self.gaussian(share, all)?;
        let mut rho = rho_of_choices(&room.mu_squared)?;
        for pot in self.pots.iter().filter(|pot| pot.concentrated) {
            let left = pot.square_left().over(&whole(2)?);
            let own = match share {
                Share::Fraction(part) => left.times(part),
                Share::Amount(epsilon, wanted) => {
                    let own = wanted.times(&pot.failure).over(all).to_f64_down();
                    Exact::from_f64(concentrated_rho(epsilon.to_f64_down(), own)?)?.min(left)
                }
            };
            rho = rho.max(own);
        }
        Ok(Room { mu_squared: mu_squared_of_choices(&rho)?, rho, ..room })
    }
    pub(super) fn gaussian(&self, share: &Share, all: &Exact) -> Result<Room> {
        let simple = self.pots.iter().find(|pot| pot.simple);
        let stated =
            |own: &Exact, total: &Exact| if own.is_zero() { total.clone() } else { own.clone() };
        let (mut largest, mut admitted, mut delta) = (Exact::ZERO, false, Exact::ZERO);
        match share {
            Share::Fraction(part) => {
                for pot in self.pots.iter().filter(|pot| !pot.simple) {
                    largest = largest.max(pot.square_left().times(part));
                }
                if let Some(pot) = simple {
                    delta = pot.failure_left().times(part);
                    let epsilon = pot.pure_left().times(part);
                    // Here `epsilon` is the pure loss that the simple filter admits. For a small
                    // delta, the `mu` that this filter admits is at most slightly larger than
                    // `epsilon`. So this `mu` is useful only if `epsilon` exceeds the largest `mu`
                    // so far.
                    if largest < epsilon.times(&epsilon) {
                        let mu = joined_mu(0.0, epsilon.to_f64_down(), delta.to_f64_down())?;
                        largest = largest.max(square(mu)?);
                    }
                }
                delta = stated(&delta, &all.times(part));
            }
            Share::Amount(epsilon, wanted) => {
                let share_of = |own: &Exact| wanted.times(own).over(all);
                delta = stated(&simple.map_or(Exact::ZERO, |pot| share_of(&pot.failure)), wanted);
                for pot in &self.pots {
                    let failure = share_of(&pot.failure).to_f64_down();
                    let epsilon = epsilon.to_f64_down();
                    let square = match pot.concentrated {
                        true => twice(concentrated_rho(epsilon, failure)?)?,
                        false => square(joined_mu(0.0, epsilon, failure)?)?,
                    };
                    let fits = pot.simple || square <= pot.square_left();
                    if (fits && !admitted) || (fits == admitted && largest < square) {
                        (largest, admitted) = (square, fits);
                    }
                }
            }
        }
        Ok(Room { delta, mu_squared: largest, ..Room::default() })
    }
    pub(super) fn left(&self, epsilon: &Exact) -> Result<(Exact, Exact)> {
        let deltas = self.deltas.minus(&self.spent);
        let about = |pot: &Pot| {
            let part = pot.square_left().over(&pot.squares).to_f64_down().sqrt();
            let part = if pot.simple { 0.0 } else { part };
            pot.pure_left().to_f64_down() + part * epsilon.minus(&pot.pure).to_f64_down()
        };
        let largest = self.pots.iter().max_by(|a, b| about(a).total_cmp(&about(b)));
        let Some(pot) = largest else { return Ok((Exact::ZERO, deltas)) };
        let (pure, mu) = (pot.pure_left(), pot.square_left().to_f64_down().neg_inf_sqrt()?);
        if mu == 0.0 {
            let own = if pot.simple { pot.failure_left() } else { Exact::ZERO };
            return Ok((pure, deltas.plus(&own)));
        }
        // Consider the composition of a pure loss `e` and noise. The worst mechanism with this pure
        // loss is randomized response. Its loss is exactly `e` with a probability of at least 1/2.
        // So the delta of the noise alone at epsilon `x` is at most twice the delta of the
        // composition at epsilon `e + x`.
        let own = if pure.is_zero() { pot.failure.clone() } else { pot.failure.plus(&pot.failure) };
        let noise = joined_epsilon(0.0, mu, own.to_f64_up())? * (1.0 - 4e-6);
        Ok((pure.plus(&Exact::from_f64(noise)?), deltas.plus(&pot.failure)))
    }
    pub(super) fn total(&self) -> Result<(Exact, Exact)> {
        let mut least = (Exact::INFINITY, Exact::INFINITY);
        for pot in &self.pots {
            let mu = pot.squares_spent.to_f64_up().inf_sqrt()?;
            let own = if pot.simple { pot.failures_spent.clone() } else { pot.failure.clone() };
            let (pure, own) = if mu == 0.0 {
                (pot.pure_spent.clone(), if pot.simple { own } else { Exact::ZERO })
            } else if let Some(order) = &pot.order {
                let all = order.times(&pot.squares_spent).to_f64_up() / 2.0;
                let epsilon = epsilon_of_order(order.to_f64_down(), all, own.to_f64_down())?;
                (Exact::from_f64(epsilon)?, own)
            } else if pot.concentrated {
                let rho = (pot.squares_spent.to_f64_up() / 2.0).next_up();
                let epsilon = concentrated_epsilon(rho, own.to_f64_down())?;
                (Exact::from_f64(epsilon)?, own)
            } else {
                let pure = pot.pure_spent.to_f64_up();
                let epsilon = joined_epsilon(pure, mu, own.to_f64_down())?;
                (Exact::from_f64(epsilon)?, own)
            };
            if pure < least.0 {
                least = (pure, self.spent.plus(&own));
            }
        }
        Ok(least)
    }
}
/// Return upper bounds on how much of each filter a loss uses. `order` is the order of the Renyi
/// filter, or `None` if there is no Renyi filter.
fn sizes(loss: &AdaptiveLoss, order: Option<&Exact>) -> Result<Sizes> {
    if let Some(square) = &loss.mu_squared {
        // A `mu`-GDP release has a `rho` of at most `mu^2 / 2`.
        let twice_rho = loss.rho.as_ref().map_or(square.clone(), |rho| rho.plus(rho));
        return Ok(Sizes { twice_rho: twice_rho.min(square.clone()), square: square.clone() });
    }
    let epsilon = loss.epsilon.to_f64_up();
    Ok(Sizes { square: square(mu_of_pure(epsilon)?)?, twice_rho: twice_rho(epsilon, order)? })
}
/// Return an upper bound on how much of a concentrated filter a pure loss uses. `order` is the
/// order of the Renyi filter, or `None` for a concentrated filter without an order.
pub(super) fn twice_rho(epsilon: f64, order: Option<&Exact>) -> Result<Exact> {
    let rho = match order.map(Exact::to_f64_down) {
        Some(order) => divergence_of_pure(order, epsilon).and_then(|all| all.inf_div(order)),
        None => concentrated_rho_of_pure(epsilon),
    };
    let rho = rho.unwrap_or(f64::INFINITY);
    if rho.is_finite() { twice(rho) } else { Ok(Exact::INFINITY) }
}
/// Find a pure loss that uses at most `room` of the Renyi filter of the given order. The result is
/// close to the largest such loss. The search starts at `low`, which must also use at most `room`.
fn pure_of_order(order: &Exact, room: &Exact, low: f64) -> Result<f64> {
    let fits = |epsilon: f64| Ok::<_, Error>(twice_rho(epsilon, Some(order))? <= *room);
    let (mut low, mut high) = (low, low * 2.0);
    while 0.0 < low && high < 1e6 && fits(high)? {
        (low, high) = (high, high * 2.0);
    }
    for _ in 0..50 {
        let middle = low + (high - low) / 2.0;
        if fits(middle)? { low = middle } else { high = middle }
    }
    Ok(low)
}
fn twice(number: f64) -> Result<Exact> {
    let number = Exact::from_f64(number)?;
    Ok(number.plus(&number))
}
fn whole(number: u32) -> Result<Exact> {
    Exact::from_f64(f64::from(number))
}
pub(super) fn square(mu: f64) -> Result<Exact> {
    let mu = Exact::from_f64(mu)?;
    Ok(mu.times(&mu))
}
