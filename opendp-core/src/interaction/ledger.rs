//! Exact accounts of privacy loss.

use std::fmt;

use crate::arith::Exact;
use crate::{Distance, Error, Measure, Result};

/// An account of losses in a measure, with or without a budget.
///
/// Totals are exact and do not depend on the order of the losses. For example, ten losses of
/// exactly a tenth exhaust a budget of 1. There is one exception: if the denominator of a total
/// would become too large, a loss is [rounded up](Exact::plus_term). [`total`](Ledger::total)
/// rounds only the value that it returns, and not the stored total. The time to add a loss does not
/// depend on the number of earlier losses.
///
/// # What is added
/// The added loss is the result of [`PrivacyMap::eval_exact`](crate::PrivacyMap::eval_exact). If
/// the mechanism states an exact bound, such as the fraction `d_in / scale`, this bound is the
/// added loss. Otherwise the map returns a bound in floats, which is rounded up. Then the added
/// loss is the exact value of these floats. A rounded bound is never replaced by its printed
/// decimal number, because the decimal number can be smaller than the bound. A loss has one or more
/// [parts](Measure::parts). For one of these parts, let `b_i` be the exact bound of query `i`. Then
/// query `i` adds a number of at least `b_i` to this part. [`plus_term`](Exact::plus_term) never
/// rounds down, so the total is at least `sum_i b_i`.
///
/// # What a budget is
/// A budget is read as a number that a [person wrote](Exact::written). The result is the larger of
/// two numbers: the float, and the shortest decimal number that is read as this float. If the
/// decimal number is larger than the float, the difference is at most half of the distance between
/// this float and the next float. [`budget`](Ledger::budget) returns the budget as a loss, rounded
/// up. This loss is the bound that a privacy filter states.
#[derive(Clone)]
pub struct Ledger<MO: Measure> {
    measure: MO,
    totals: Vec<Exact>,
    budget: Option<Vec<Exact>>,
}

impl<MO: Measure> Ledger<MO> {
    /// Open an account without a budget.
    ///
    /// # Errors
    /// `NotImplemented` when losses in the measure have no [parts](Measure::parts).
    pub fn new(measure: MO) -> Result<Self> {
        let totals = vec![Exact::ZERO; measure.parts()?];
        Ok(Ledger { measure, totals, budget: None })
    }
    /// Open an account with a budget.
    ///
    /// # Errors
    /// The errors of [`new`](Ledger::new) and of [`Measure::split`]. `InvalidDistance` when the
    /// budget is negative or NaN.
    pub fn with_budget(measure: MO, budget: &MO::Distance) -> Result<Self> {
        let budget = written(&measure.split(budget)?)?;
        Ledger::with_exact_budget(measure, budget)
    }
    /// Open an account with an exact budget: one number for each part.
    ///
    /// # Errors
    /// The errors of [`new`](Ledger::new). `FailedMap` when the number of parts is wrong.
    pub fn with_exact_budget(measure: MO, budget: Vec<Exact>) -> Result<Self> {
        let ledger = Ledger::new(measure)?;
        ledger.check_parts(&budget)?;
        Ok(Ledger { budget: Some(budget), ..ledger })
    }
    fn check_parts(&self, loss: &[Exact]) -> Result<()> {
        if loss.len() == self.totals.len() {
            return Ok(());
        }
        Err(Error::FailedMap(format!(
            "the number of parts of a loss: expected {}, found {}",
            self.totals.len(),
            loss.len()
        )))
    }
    /// Add a loss. If there is a budget, no part of the new total may exceed the same part of the
    /// budget. `loss` has one number for each part.
    ///
    /// # Errors
    /// `BudgetExceeded` when a part of the new total exceeds the same part of the budget. Then the
    /// loss is not added. `FailedMap` when the number of parts is wrong.
    pub fn charge(&mut self, loss: &[Exact]) -> Result<()> {
        self.check_parts(loss)?;
        let totals = each(&self.totals, loss, Exact::plus_term);
        if let Some(budget) = &self.budget
            && totals.iter().zip(budget).any(|(total, budget)| budget < total)
        {
            return Err(self.exceeded(loss));
        }
        self.totals = totals;
        Ok(())
    }
    /// Return the total of the charged losses, rounded up.
    ///
    /// # Errors
    /// The errors of [`Measure::join`].
    pub fn total(&self) -> Result<MO::Distance> {
        self.up(&self.totals)
    }
    /// Return the exact total of each part.
    pub fn exact_total(&self) -> &[Exact] {
        &self.totals
    }
    /// Return the budget, rounded up. The total never exceeds this budget.
    ///
    /// # Errors
    /// `NotImplemented` without a budget. The errors of [`Measure::join`].
    pub fn budget(&self) -> Result<MO::Distance> {
        self.up(self.budget.as_ref().ok_or_else(no_budget)?)
    }
    /// Return the exact budget for each part. Return `None` if there is no budget.
    pub fn exact_budget(&self) -> Option<&[Exact]> {
        self.budget.as_deref()
    }
    /// Return the remaining budget, rounded down.
    ///
    /// # Errors
    /// `NotImplemented` without a budget. The errors of [`Measure::join`].
    pub fn left(&self) -> Result<MO::Distance> {
        self.measure.join(&rounded(&self.exact_left()?, Exact::to_f64_down))
    }
    /// Return the exact remainder of each part of the budget.
    ///
    /// # Errors
    /// `NotImplemented` without a budget.
    pub fn exact_left(&self) -> Result<Vec<Exact>> {
        let budget = self.budget.as_ref().ok_or_else(no_budget)?;
        Ok(each(budget, &self.totals, Exact::minus))
    }
    fn up(&self, parts: &[Exact]) -> Result<MO::Distance> {
        self.measure.join(&rounded(parts, Exact::to_f64_up))
    }
    #[cold]
    fn exceeded(&self, loss: &[Exact]) -> Error {
        let shown =
            |loss: Result<MO::Distance>| loss.map_or_else(|_| "?".into(), |loss| loss.show());
        Error::BudgetExceeded(format!(
            "the query costs {}, and {} of the budget is left",
            shown(self.up(loss)),
            shown(self.left())
        ))
    }
}
// These functions do not depend on the measure, so they are compiled once.
fn written(parts: &[f64]) -> Result<Vec<Exact>> {
    parts.iter().map(|part| Exact::written(*part)).collect()
}
fn each(left: &[Exact], right: &[Exact], join: fn(&Exact, &Exact) -> Exact) -> Vec<Exact> {
    left.iter().zip(right).map(|(left, right)| join(left, right)).collect()
}
fn rounded(parts: &[Exact], round: fn(&Exact) -> f64) -> Vec<f64> {
    parts.iter().map(round).collect()
}
#[cold]
fn no_budget() -> Error {
    Error::NotImplemented("this account has no budget".into())
}
impl<MO: Measure> fmt::Debug for Ledger<MO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |loss: Result<MO::Distance>| loss.ok().map(|loss| loss.show());
        f.debug_struct("Ledger")
            .field("total", &shown(self.total()))
            .field("left", &shown(self.left()))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Approximate, MaxDivergence, RenyiCurve, RenyiDivergence, SmoothedMaxDivergence,
        ZeroConcentratedDivergence,
    };

    fn exact(text: &str) -> Vec<Exact> {
        vec![text.parse().unwrap()]
    }
    fn float(value: f64) -> Vec<Exact> {
        vec![Exact::from_f64(value).unwrap()]
    }
    fn account(budget: f64) -> Ledger<MaxDivergence> {
        Ledger::with_budget(MaxDivergence, &budget).unwrap()
    }
    fn refuses<MO: Measure>(account: &mut Ledger<MO>, loss: &[Exact]) {
        let before = account.exact_total().to_vec();
        assert_eq!(account.charge(loss).unwrap_err().kind(), "BudgetExceeded");
        assert_eq!(account.exact_total(), before, "a refusal changes nothing");
    }

    #[test]
    fn ten_tenths_exhaust_one() {
        let mut account = account(1.0);
        for _ in 0..10 {
            account.charge(&exact("0.1")).unwrap();
        }
        assert!(account.exact_left().unwrap()[0].is_zero());
        assert_eq!((account.left().unwrap(), account.total().unwrap()), (0.0, 1.0));
        refuses(&mut account, &exact("0.1"));
        refuses(&mut account, &float(5e-324));
        account.charge(&exact("0")).unwrap();
        // In contrast, ten float subtractions of 0.1 from 1.0 do not give 0, because floats round.
        assert_ne!((0..10).fold(1.0, |left, _| left - 0.1), 0.0);
    }
    #[test]
    fn a_rounded_loss_is_not_read_as_a_decimal() {
        let mut account = account(1.0);
        for _ in 0..9 {
            account.charge(&float(0.1)).unwrap();
        }
        // Ten times the exact value of the float 0.1 exceeds 1, so the tenth loss is refused.
        refuses(&mut account, &float(0.1));
        account.charge(&exact("0.0999")).unwrap();
    }
    #[test]
    fn a_budget_has_room_for_what_it_says() {
        let mut tenths = account(0.3);
        for _ in 0..3 {
            tenths.charge(&exact("0.1")).unwrap();
        }
        assert_eq!(tenths.left().unwrap(), 0.0);
        assert_eq!(tenths.budget().unwrap(), 0.3_f64.next_up(), "the least float not below 3/10");
        let mut float_tenth = account(0.1);
        float_tenth.charge(&float(0.1)).unwrap();
        assert_eq!((float_tenth.left().unwrap(), float_tenth.budget().unwrap()), (0.0, 0.1));
    }
    #[test]
    fn what_is_left_and_a_hair_is_refused() {
        let hair = Exact::from_f64(f64::EPSILON / 256.0).unwrap();
        for first in ["0.1", "0.9999999999999999", "0", "0.333333333333333333333333"] {
            let mut account = account(1.0);
            account.charge(&exact(first)).unwrap();
            let left = account.exact_left().unwrap();
            assert!(Exact::from_f64(account.left().unwrap()).unwrap() <= left[0]);
            refuses(&mut account, &[left[0].plus(&hair)]);
            account.charge(&left).unwrap();
            refuses(&mut account, std::slice::from_ref(&hair));
        }
    }
    #[test]
    fn every_part_has_its_budget() {
        let pair = |x: &str, y: &str| [exact(x), exact(y)].concat();
        let mut account =
            Ledger::with_budget(Approximate(ZeroConcentratedDivergence), &(1.0, 1e-6)).unwrap();
        account.charge(&pair("0.5", "5e-7")).unwrap();
        refuses(&mut account, &pair("0.6", "0"));
        refuses(&mut account, &pair("0", "6e-7"));
        account.charge(&pair("0.5", "0")).unwrap();
        assert_eq!(account.total().unwrap(), (1.0, 5e-7_f64.next_up()));
        assert_eq!(account.charge(&exact("0")).unwrap_err().kind(), "FailedMap");
    }
    #[test]
    fn renyi_losses_are_compared_at_every_order() {
        let curve = |slope: f64| RenyiCurve::new(move |alpha| Ok(slope * alpha));
        let loss = |slope| -> Vec<Exact> {
            let parts = RenyiDivergence.split(&curve(slope)).unwrap();
            parts.into_iter().map(|part| Exact::from_f64(part).unwrap()).collect()
        };
        let mut account = Ledger::with_budget(RenyiDivergence, &curve(1.0)).unwrap();
        account.charge(&loss(0.5)).unwrap();
        account.charge(&loss(0.25)).unwrap();
        refuses(&mut account, &loss(0.5));
        let mut steep = loss(0.125);
        *steep.last_mut().unwrap() = Exact::from_f64(33.0).unwrap();
        // The new total is too large only at the last order.
        refuses(&mut account, &steep);
        let total = account.total().unwrap();
        assert_eq!(total.epsilon(2.0).unwrap(), 1.5);
        assert_eq!(total.epsilon(2.2).unwrap(), 0.75 * 2.5, "the nearest larger order");
        assert_eq!(total.epsilon(1000.0).unwrap(), f64::INFINITY);
    }
    #[test]
    fn refuses_what_is_no_budget() {
        for bad in [-1.0, f64::NAN] {
            let error = Ledger::with_budget(MaxDivergence, &bad).unwrap_err();
            assert_eq!(error.kind(), "InvalidDistance");
        }
        let error = Ledger::with_exact_budget(MaxDivergence, vec![Exact::ZERO; 2]).unwrap_err();
        assert_eq!(error.kind(), "FailedMap");
        let mut tenth = Ledger::with_exact_budget(MaxDivergence, exact("0.1")).unwrap();
        refuses(&mut tenth, &float(0.1));
        tenth.charge(&exact("0.1")).unwrap();
        assert_eq!(Ledger::new(SmoothedMaxDivergence).unwrap_err().kind(), "NotImplemented");
        let open = Ledger::new(MaxDivergence).unwrap();
        assert_eq!(open.left().unwrap_err().kind(), "NotImplemented");
        let mut unlimited = account(f64::INFINITY);
        unlimited.charge(&float(f64::INFINITY)).unwrap();
        assert_eq!(unlimited.left().unwrap(), f64::INFINITY);
    }
}
