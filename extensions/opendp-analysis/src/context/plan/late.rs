//! Questions about groups. Another question of the same plan finds the keys of these groups.

use std::any::Any;
use std::collections::HashMap;

use opendp_core::arith::Exact;
use opendp_core::{Carrier, Error, Result};

use super::super::account::Cost;
use super::super::draft::Draft;
use super::super::question::Answer;
use super::super::{BudgetMeasure, Context};
use super::answers::another;
use super::drafted::{Drafted, Ready, Units};
use super::solver::Item;
use super::{Goal, Setting};

/// A function that makes the draft of a question about groups. The input is the keys that were
/// found, with their counts.
pub(crate) type OfKeys<'c, MO, TO> =
    Box<dyn Fn(&HashMap<String, i64>) -> Result<Draft<'c, MO, TO>> + Send + 'c>;

/// A question about groups whose keys are not known yet.
///
/// The question is charged before the keys are known, and its noise is fixed at that time. The
/// charged cost does not depend on the keys, and is an upper bound on the cost for any number of
/// groups (see the proof of `Grouping::of_nothing`). The releases of a plan compose adaptively, so
/// this question may depend on the keys that were released before.
pub(crate) struct Late<'c, MO: BudgetMeasure, TO: Carrier> {
    /// A draft of the question for groups without rows. It determines the noise and the cost of the
    /// question.
    pub(crate) rehearsed: Draft<'c, MO, TO>,
    /// The place in the plan of the question that finds the keys.
    pub(crate) finds: usize,
    pub(crate) of_keys: OfKeys<'c, MO, TO>,
}
impl<MO: BudgetMeasure, TO: Carrier> Drafted<MO> for Late<'_, MO, TO> {
    fn item(&self, goal: Goal, units: &Units) -> Result<Item> {
        self.rehearsed.item(goal, units)
    }
    fn takes_delta(&self) -> bool {
        self.rehearsed.takes_delta()
    }
    fn context(&self) -> &Context<MO> {
        Drafted::context(&self.rehearsed)
    }
    fn states_amount(&self) -> bool {
        self.rehearsed.states_amount()
    }
    fn is_of_integers(&self) -> Result<bool> {
        self.rehearsed.is_of_integers()
    }
    fn threshold(&self, scale: f64, delta: &Exact) -> Result<f64> {
        Drafted::threshold(&self.rehearsed, scale, delta)
    }
    fn ready<'a>(
        &'a self,
        setting: Setting,
        delta: &Exact,
        stated: f64,
    ) -> Result<Box<dyn Ready + 'a>> {
        self.rehearsed.ready(setting, delta, stated)
    }
    fn finds(&self) -> Option<usize> {
        Some(self.finds)
    }
    fn answer(
        &self,
        (setting, delta, stated): (Setting, &Exact, f64),
        found: &dyn Any,
        charged: &Cost,
    ) -> Result<Box<dyn Any + Send>> {
        let found: &Answer<MO, HashMap<String, i64>> = found.downcast_ref().ok_or_else(another)?;
        if found.value.is_empty() {
            // There are no groups. But the plan needs an answer to each question, so run the
            // release about groups without rows. The answer about the found groups is empty, and
            // does not use this release.
            return self.rehearsed.ready(setting, delta, stated)?.run();
        }
        let draft = (self.of_keys)(&found.value)?;
        let ready = draft.ready(setting, delta, stated)?;
        if !ready.cost().is_within(charged) {
            let reason =
                "the groups that were found cost more than was charged; this question was not run";
            return Err(Error::FailedMap(reason.into()));
        }
        ready.run()
    }
}
