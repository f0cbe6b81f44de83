//! The budget of a plan, and the best way to divide it.
//!
//! A filter admits a release only if the composed loss of all releases stays within a bound. An
//! account has several filters. A filter is open if it has admitted all earlier releases. The room
//! of a filter is the largest total of losses that the filter can still admit.

use opendp_core::Result;
use opendp_core::arith::Exact;
use opendp_core::order::places;
use opendp_measurements::accounting::AdaptiveAccount;

use super::super::BudgetMeasure;
use super::super::account::{Account, Wanted};
use super::solver::{Demand, Endowment, Frontier, Item, Mode};

/// The budget of a plan.
#[derive(Clone, Debug)]
pub(crate) struct Endowed {
    /// The room of each open filter of the account, and the filter's delta for thresholds.
    alternatives: Vec<(Endowment, Exact)>,
    /// If the plan may reserve a filter of its own: the epsilon and the delta of the whole unspent
    /// budget, and the fraction that the plan may spend. `None` if the plan must use the open
    /// filters of the account.
    unspent: Option<(Exact, Exact, Exact)>,
    /// If `true`, the budget is an epsilon and a delta, so the plan may choose the kinds of noise.
    tight: bool,
    /// The part of delta for Gaussian noise, if the budget has a delta.
    pub(super) delta: Option<f64>,
    /// The whole delta of the budget, if the budget has a delta.
    pub(super) full_delta: Option<f64>,
    /// The number of questions of the plan that have a threshold.
    thresholds: u32,
    /// The part of delta for thresholds, in sixteenths.
    sixteenths: u32,
}
/// The part of delta for thresholds, in sixteenths, if the plan does not search for the best part.
const QUARTER: u32 = 4;
/// One division of the budget of a plan, with the kinds of noise of the questions.
pub(super) struct Best {
    /// The result of [`Demand::value`]: the weighted sum of squared errors, and the fraction of the
    /// room that the questions with a wanted accuracy use.
    pub(super) value: (f64, f64),
    pub(super) mode: Mode,
    pub(super) room: Endowment,
    pub(super) delta_of_each: Exact,
    pub(super) stated: f64,
    pub(super) reserved: Option<[Exact; 2]>,
    /// Whether the plan may spend the whole budget.
    pub(super) whole: bool,
}
impl Endowed {
    pub(crate) fn new<MO: BudgetMeasure>(
        account: &Account<MO>,
        wanted: Wanted,
        squares: bool,
    ) -> Result<Self> {
        let (budget, alternatives) = (account.budget(), account.endowments(&wanted, squares)?);
        let delta = budget.get(1).map(Exact::to_f64_down).filter(|_| account.is_tight());
        let unspent = match (budget.as_slice(), wanted) {
            ([epsilon, delta], Wanted::Fraction(part)) if account.may_reserve() => {
                Some((epsilon.clone(), delta.clone(), part))
            }
            _ => None,
        };
        let (tight, thresholds, full_delta) = (account.is_tight(), 0, delta);
        let sixteenths = QUARTER;
        Ok(Endowed { alternatives, unspent, tight, delta, full_delta, thresholds, sixteenths })
    }
    /// Suppose that the plan may spend only a part of the remaining budget. Later questions can
    /// need another division of the budget, so use the open filters.
    pub(super) fn use_open_filters(&mut self) -> Result<()> {
        let all = Exact::from_f64(1.0)?;
        self.unspent = self.unspent.take().filter(|(_, _, part)| *part == all);
        Ok(())
    }
    /// Use the open filters of the account, because the journal cannot record a filter that the
    /// plan reserves.
    pub(crate) fn without_reserve(self) -> Self {
        Endowed { unspent: None, ..self }
    }
    /// Keep a quarter of delta for thresholds, if the plan has questions with thresholds.
    pub(super) fn with_thresholds(self, thresholds: usize) -> Self {
        let thresholds = u32::try_from(thresholds).unwrap_or(u32::MAX);
        Endowed { thresholds, ..self }.with_sixteenths(QUARTER)
    }
    /// Keep `sixteenths` sixteenths of delta for thresholds, if the plan has questions with
    /// thresholds.
    fn with_sixteenths(mut self, sixteenths: u32) -> Self {
        self.sixteenths = sixteenths;
        if 0 < self.thresholds {
            let rest = f64::from(16 - sixteenths) / 16.0;
            self.delta = self.full_delta.map(|delta| delta * rest);
        }
        self
    }
    /// The plan tries several parts of delta for thresholds, from 15 sixteenths down to 1
    /// sixteenth. Return a copy of the plan's budget for each of these parts. If the plan must use
    /// the open filters of the account, it cannot choose the part of delta for thresholds. Then
    /// return only one copy. Also return only one copy if no question has a threshold, or if the
    /// budget has no delta.
    pub(super) fn divisions(&self) -> Vec<Endowed> {
        match &self.unspent {
            Some((_, delta, _)) if 0 < self.thresholds && !delta.is_zero() => {
                let mut divisions = Vec::new();
                for part in (1..16).rev() {
                    divisions.push(self.clone().with_sixteenths(part));
                }
                divisions
            }
            _ => vec![self.clone()],
        }
    }
    /// Divide the budget of the plan evenly among `count` questions. Return the epsilon of each
    /// question, and the delta of each threshold. Return `None` if the plan must use the open
    /// filters of the account.
    pub(super) fn even(&self, count: usize) -> Result<Option<(f64, Exact)>> {
        let Some((epsilon, all, part)) = &self.unspent else { return Ok(None) };
        let each = epsilon.times(part).to_f64_down() / count as f64;
        Ok(Some((each, self.of_each(&self.for_thresholds(all)?.times(part))?)))
    }
    /// Return the part of the delta `all` that is for thresholds.
    fn for_thresholds(&self, all: &Exact) -> Result<Exact> {
        if self.thresholds == 0 {
            return Ok(Exact::ZERO);
        }
        let part = Exact::from_f64(f64::from(self.sixteenths))?;
        Ok(all.times(&part).over(&Exact::from_f64(16.0)?))
    }
    pub(super) fn modes(&self, items: &[Item]) -> Vec<Mode> {
        Mode::all(items, self.tight)
    }
    /// Find the divisions of the budget with which all wanted accuracies can be met. Sort the
    /// divisions by the weighted sum of squared errors, from the smallest to the largest. If the
    /// plan may reserve a filter of its own, return only the first division.
    pub(super) fn ways(&self, items: &[Item]) -> Result<Vec<Best>> {
        let demands = self.demands(items);
        let mut ways: Vec<(f64, f64, Mode, Endowment, Exact)> = Vec::new();
        for (room, delta) in self.rooms(&demands)? {
            for (mode, demand) in &demands {
                let Some((value, part)) = demand.value(room) else { continue };
                ways.push((value, part, *mode, room, delta.clone()));
            }
        }
        let order = places(ways.len(), &|a, b| {
            ways[a].0.total_cmp(&ways[b].0).then(ways[a].1.total_cmp(&ways[b].1))
        });
        let stated = self.stated(items.len());
        if let Some(unspent) = &self.unspent {
            let Some(first) = order.first() else { return Ok(Vec::new()) };
            let (value, part, mode, room, _) = ways[*first];
            return Ok(match self.reserved(items, unspent, (mode, room))? {
                Some(best) => vec![Best { value: (value, part), ..best }],
                None => Vec::new(),
            });
        }
        let weighted = items.iter().any(|item| item.weight != 0.0);
        let mut found: Vec<Best> = Vec::new();
        for place in order {
            let (value, part, mode, room, ref delta) = ways[place];
            let delta_of_each = self.of_each(delta)?;
            // If no question has a weight, the scales do not depend on the room. Then all ways with
            // the same mode and the same delta give the same scales, so keep only the first of
            // these ways.
            let same = |other: &Best| {
                !weighted && (other.mode, &other.delta_of_each) == (mode, &delta_of_each)
            };
            if !found.iter().any(same) {
                let (value, reserved, whole) = ((value, part), None, false);
                found.push(Best { value, mode, room, delta_of_each, stated, reserved, whole });
            }
        }
        Ok(found)
    }
    /// Make the filter that the plan reserves for a division of the budget, and compute the exact
    /// room of this filter. Return `None` if the questions do not fit this room.
    fn reserved(
        &self,
        items: &[Item],
        (epsilon, all, part): &(Exact, Exact, Exact),
        (mode, room): (Mode, Endowment),
    ) -> Result<Option<Best>> {
        let stated = self.stated(items.len());
        let pure = Exact::from_f64(room.pure)?.over(part);
        // The last trial gives the whole epsilon to pure losses. Rounding can have changed this
        // epsilon a little. So replace a number near the whole epsilon by the exact epsilon.
        let pure = if epsilon <= &pure { epsilon.clone() } else { pure };
        let near = pure.to_f64_up() * (1.0 + 1e-12);
        let pure = if epsilon.to_f64_down() <= near { epsilon.clone() } else { pure };
        let deltas = self.for_thresholds(all)?;
        let filter = AdaptiveAccount::reserving(epsilon, all, &pure, &deltas)?;
        let filter = filter.filters().pop();
        let exact = |left: &Exact| left.times(part).to_f64_down();
        let room = filter.map_or(room, |filter| Endowment {
            pure: exact(&filter.epsilon),
            square: exact(&filter.mu_squared),
        });
        // The room was interpolated, so the exact room can be a little smaller. Check again that
        // the questions fit.
        if mode.demand(items).and_then(|demand| demand.value(room)).is_none() {
            return Ok(None);
        }
        let delta_of_each = self.of_each(&deltas.times(part))?;
        let (value, reserved) = ((0.0, 0.0), Some([pure, deltas]));
        let whole = *part == Exact::from_f64(1.0)?;
        Ok(Some(Best { value, mode, room, delta_of_each, stated, reserved, whole }))
    }
    /// Return about the least factor by which all wanted errors must be multiplied so that the
    /// losses of the questions fit a room.
    pub(super) fn stretch(&self, items: &[Item]) -> Result<f64> {
        let demands = self.demands(items);
        let mut least = f64::INFINITY;
        for (room, _) in self.rooms(&demands)? {
            for (_, demand) in &demands {
                least = least.min(demand.stretch(room));
            }
        }
        // Interpolation can overestimate the room by about half a percent.
        Ok(least * if self.unspent.is_some() { 1.005 } else { 1.0 })
    }
    fn demands(&self, items: &[Item]) -> Vec<(Mode, Demand)> {
        let mut demands = Vec::new();
        for mode in self.modes(items) {
            demands.extend(mode.demand(items).map(|demand| (mode, demand)));
        }
        demands
    }
    fn rooms(&self, demands: &[(Mode, Demand)]) -> Result<Vec<(Endowment, Exact)>> {
        let (Some((epsilon, _, part)), Some(delta)) = (&self.unspent, self.delta) else {
            return Ok(self.alternatives.clone());
        };
        let frontier = Frontier::new(epsilon.to_f64_down(), delta, demands)?;
        let part = part.to_f64_down();
        let mut rooms = Vec::new();
        for Endowment { pure, square } in frontier.trials() {
            rooms.push((Endowment { pure: pure * part, square: square * part }, Exact::ZERO));
        }
        Ok(rooms)
    }
    fn stated(&self, count: usize) -> f64 {
        self.full_delta.unwrap_or(0.0) / count as f64 / 64.0
    }
    fn of_each(&self, deltas: &Exact) -> Result<Exact> {
        Ok(deltas.over(&Exact::from_f64(f64::from(self.thresholds.max(1)))?))
    }
}
