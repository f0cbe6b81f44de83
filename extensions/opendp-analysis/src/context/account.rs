//! The account of a context: a sum of losses, or a tight account of an epsilon and a delta.

use opendp_core::arith::Exact;
use opendp_core::{Error, Ledger, Result};
use opendp_measurements::accounting::{
    self, AdaptiveAccount, AdaptiveLoss, Kind, Share, joined_delta, joined_mu,
};

use super::plan::Endowment;
use super::{Accounted, Budget};

/// The cost of a release.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cost {
    /// The exact loss: one number for each part, such as epsilon and delta.
    pub(crate) parts: Vec<Exact>,
    /// The square of `mu`, if the release is also `mu`-GDP.
    pub(crate) mu_squared: Option<Exact>,
    /// The `rho` of choices by Gumbel noise.
    pub(crate) rho: Option<Exact>,
}
/// The largest cost that a query may have.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    /// A fraction of the remaining budget.
    Fraction(Exact),
    /// An amount of loss: one number for each part.
    Amount(Vec<Exact>),
}
/// The largest costs that fit a share of the budget.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    pub(crate) parts: Vec<Exact>,
    pub(crate) mu_squared: Exact,
    /// The largest `rho` of choices by Gumbel noise.
    pub(crate) rho: Exact,
}
impl Room {
    fn of(parts: Vec<Exact>) -> Self {
        Room { parts, mu_squared: Exact::ZERO, rho: Exact::ZERO }
    }
}
/// An account of the losses so far.
#[derive(Clone)]
pub(crate) enum Account<MO: Accounted> {
    /// An account that adds up each part of the losses.
    Sum(Ledger<MO>),
    /// An account that composes losses of an epsilon and a delta tightly.
    Tight(AdaptiveAccount),
}
impl<MO: Accounted> Account<MO> {
    pub(crate) fn new(budget: &Budget<MO>, queries: Option<usize>) -> Result<Self> {
        match budget.parts.as_slice() {
            [epsilon, delta] if MO::TIGHT => {
                Ok(Account::Tight(AdaptiveAccount::new(epsilon, delta, queries)?))
            }
            _ => Ok(Account::Sum(Ledger::with_budget(MO::default(), &budget.amount)?)),
        }
    }
    /// Find the largest costs of a release of kind `kind` that the account can still pay.
    pub(crate) fn room(&self, wanted: &Wanted, kind: Kind) -> Result<Room> {
        match (self, wanted) {
            (Account::Sum(ledger), Wanted::Fraction(part)) => {
                let left = ledger.exact_left()?;
                Ok(Room::of(left.iter().map(|left| left.times(part)).collect()))
            }
            (Account::Sum(_), Wanted::Amount(parts)) => Ok(Room::of(parts.clone())),
            (Account::Tight(account), wanted) => {
                let share = match wanted {
                    Wanted::Fraction(part) => Share::Fraction(part.clone()),
                    Wanted::Amount(parts) => pair(parts).map(|(e, d)| Share::Amount(e, d))?,
                };
                let room = account.room(&share, kind)?;
                let (mu_squared, rho) = (room.mu_squared, room.rho);
                Ok(Room { parts: vec![room.epsilon, room.delta], mu_squared, rho })
            }
        }
    }
    pub(crate) fn charge(&mut self, cost: &Cost) -> Result<()> {
        match self {
            Account::Sum(ledger) => ledger.charge(&cost.parts),
            Account::Tight(account) => {
                let (epsilon, delta) = pair(&cost.parts)?;
                let (mu_squared, rho) = (cost.mu_squared.clone(), cost.rho.clone());
                account.charge(&AdaptiveLoss { epsilon, delta, mu_squared, rho })
            }
        }
    }
    /// Charge for several releases. After an error, the account must not be used.
    pub(crate) fn charge_all(
        &mut self,
        costs: &[&Cost],
        reserved: Option<&[Exact; 2]>,
    ) -> Result<()> {
        if let Some([pure, deltas]) = reserved {
            if !self.may_reserve() {
                let reason = "the plan was made for a budget that is unspent";
                return Err(Error::BudgetExceeded(reason.into()));
            }
            self.reserve(pure, deltas)?;
        }
        costs.iter().try_for_each(|cost| self.charge(cost))
    }
    /// Open the account with one filter, for releases whose kinds are known.
    pub(crate) fn reserve(&mut self, pure: &Exact, deltas: &Exact) -> Result<()> {
        if let Account::Tight(account) = self {
            let (epsilon, delta) = account.budget();
            *account = AdaptiveAccount::reserving(epsilon, delta, pure, deltas)?;
        }
        Ok(())
    }
    /// Return whether [`reserve`](Account::reserve) is still possible.
    pub(crate) fn may_reserve(&self) -> bool {
        matches!(self, Account::Tight(account) if !account.has_begun())
    }
    /// Return the largest losses and the delta that each filter of the account admits within a
    /// share.
    pub(crate) fn endowments(&self, wanted: &Wanted) -> Result<Vec<(Endowment, Exact)>> {
        let Account::Tight(account) = self else {
            let room = self.room(wanted, Kind::Pure)?.parts;
            let amount = room.first().map_or(0.0, Exact::to_f64_down);
            let endowment = match MO::SQUARES {
                true => Endowment { pure: 0.0, square: 2.0 * amount },
                false => Endowment { pure: amount, square: 0.0 },
            };
            return Ok(vec![(endowment, Exact::ZERO)]);
        };
        let part = match wanted {
            Wanted::Fraction(part) => part.clone(),
            Wanted::Amount(parts) => return amounts(account, pair(parts)?),
        };
        let endowment = |room: accounting::Room| {
            let pure = room.epsilon.times(&part).to_f64_down();
            let square = room.mu_squared.times(&part).to_f64_down();
            (Endowment { pure, square }, room.delta.times(&part))
        };
        Ok(account.filters().into_iter().map(endowment).collect())
    }
    pub(crate) fn budget(&self) -> Vec<Exact> {
        match self {
            Account::Sum(ledger) => ledger.exact_budget().unwrap_or_default().to_vec(),
            Account::Tight(account) => {
                let (epsilon, delta) = account.budget();
                vec![epsilon.clone(), delta.clone()]
            }
        }
    }
    pub(crate) fn total(&self) -> Result<Vec<Exact>> {
        match self {
            Account::Sum(ledger) => Ok(ledger.exact_total().to_vec()),
            Account::Tight(account) => account.spent().map(|(epsilon, delta)| vec![epsilon, delta]),
        }
    }
    pub(crate) fn left(&self) -> Result<Vec<Exact>> {
        match self {
            Account::Sum(ledger) => ledger.exact_left(),
            Account::Tight(account) => account.left().map(|(epsilon, delta)| vec![epsilon, delta]),
        }
    }
}
/// Return mixtures of pure losses and Gaussian noise that an amount pays for. Cut each mixture to
/// the largest losses that each filter can still admit. The first release decides which filters
/// remain, so a plan tries every filter.
fn amounts(
    account: &AdaptiveAccount,
    (epsilon, delta): (Exact, Exact),
) -> Result<Vec<(Endowment, Exact)>> {
    let share = Share::Amount(epsilon.clone(), delta.clone());
    let own = account.room(&share, Kind::WithDelta)?.delta;
    let most = account.room(&share, Kind::Gaussian)?.mu_squared.to_f64_down();
    let (filters, epsilon) = (account.filters(), epsilon.to_f64_down());
    let at = joined_delta(0.0, most.sqrt(), epsilon)?;
    // Before the first release, the delta for thresholds depends on the filter that will remain.
    let all = account.budget().1;
    let part = |room: &accounting::Room| match account.has_begun() || all.is_zero() {
        true => own.clone().min(room.delta.clone()),
        false => delta.times(&room.delta).over(all),
    };
    let mut found: Vec<(Endowment, Exact)> = Vec::new();
    for eighths in 0..=8 {
        let pure = epsilon * f64::from(eighths) / 8.0;
        let square = joined_mu(pure, epsilon, at)?.powi(2);
        for room in &filters {
            let pure = pure.min(room.epsilon.to_f64_down());
            let square = square.min(room.mu_squared.to_f64_down());
            let one = (Endowment { pure, square }, part(room));
            if !found.contains(&one) {
                found.push(one);
            }
        }
    }
    Ok(found)
}
fn pair(parts: &[Exact]) -> Result<(Exact, Exact)> {
    match parts {
        [epsilon, delta] => Ok((epsilon.clone(), delta.clone())),
        _ => Err(Error::FailedMap(format!("a loss does not have {} parts", parts.len()))),
    }
}
