//! The search for a parameter with which a query fits its share of the budget.

use opendp_core::search::{Outcome, find_boundary};
use opendp_core::{Error, Result};

use super::super::BudgetMeasure;
use super::super::account::Room;
use super::super::books::nothing_was_run;
use super::super::draft::{Dials, Losses};
use super::{LossesAt, MOST_FLOATS, Terms, fits, of_share};

impl<MO: BudgetMeasure> Terms<'_, MO> {
    /// Return whether the losses of a query fit its share.
    pub(super) fn within(&self, room: &Room, losses: &Losses<MO>, dials: Dials) -> Result<bool> {
        let cost = self.loss(losses)?;
        Ok(match room.share {
            Some(pair) => pair.dominates(&self.cost(losses, dials)?.pair()),
            None => fits(&cost, &room.parts, room.parts.len()),
        })
    }
    /// Find the value of a parameter with which the query fits its share. The parameter is the
    /// scale in [`Dials`], but does not have to be a scale of noise. Of the values on one side of a
    /// boundary, the result is the value nearest to the boundary. The search leaves out values at
    /// which the query cannot be made.
    pub(crate) fn solve_parameter(&self, losses: &LossesAt<'_, MO>) -> Result<Dials> {
        let room = self.room(self.kind())?;
        let (mut unmade, mut faulty, mut has_loss) = (None, None, false);
        let mut answer = |value: f64| {
            let made = Dials::at(value).and_then(|dials| Ok((dials, losses(dials)?)));
            let within = match made {
                Ok((dials, losses)) => self.within(&room, &losses, dials),
                Err(error) => {
                    unmade.get_or_insert(error);
                    return None;
                }
            };
            Some(within.map(|within| (has_loss = true, within).1).unwrap_or_else(|error| {
                faulty.get_or_insert(error);
                false
            }))
        };
        match find_boundary(&mut answer, None) {
            Outcome::Boundary(value) => {
                let down = answer(value.next_down()) == Some(true);
                self.admitted_beyond(value, down, losses)
            }
            Outcome::Same { holds: true, .. } => Err(Error::Search(
                "the mechanism fits the share of this query at every value of its parameter that \
                 was tried, so the share does not determine the value: state the value; nothing \
                 was run"
                    .into(),
            )),
            Outcome::Same { holds: false, .. } => match faulty {
                Some(error) if !has_loss => Err(error),
                _ => Err(of_share(no_value(), &room)),
            },
            Outcome::Gap(value) => Err(Error::Search(format!(
                "no value of the parameter was found: the mechanism cannot be made at {value:?}, \
                 which is between two values at which it can be made: state the value; nothing \
                 was run"
            ))),
            Outcome::Nowhere => Err(unmade.unwrap_or_else(no_value)),
        }
    }
    /// Move the value away from the boundary until the account admits the cost. The steps are the
    /// steps of `admitted`. If `down` is true, smaller values fit the share, and otherwise larger
    /// values.
    fn admitted_beyond(
        &self,
        mut value: f64,
        down: bool,
        losses: &LossesAt<'_, MO>,
    ) -> Result<Dials> {
        let mut floats = 1_u64;
        loop {
            let dials = Dials::at(value)?;
            let cost = self.cost(&losses(dials)?, dials)?;
            match self.context.account()?.charge(&cost) {
                Ok(()) => return Ok(dials),
                Err(error) if MOST_FLOATS < floats => return Err(nothing_was_run(error)),
                Err(_) if down => value = f64::from_bits(value.to_bits().saturating_sub(floats)),
                Err(_) => value = f64::from_bits(value.to_bits() + floats),
            }
            floats *= 2;
        }
    }
}
#[cold]
fn no_value() -> Error {
    Error::BudgetExceeded(
        "no value of the parameter was found with which the mechanism fits the share of this \
         query; nothing was run. The loss of the mechanism has no bound, or the share is too \
         small: state narrower bounds, or a larger budget"
            .into(),
    )
}
