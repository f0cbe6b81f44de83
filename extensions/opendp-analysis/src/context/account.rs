//! The account of a context: a sum of losses, a tight account of an epsilon and a delta, or an
//! account with shares that are fixed in advance.

use opendp_core::arith::{DirectedFloat, Exact};
use opendp_core::{Error, Ledger, Result};
use opendp_measurements::Collected;
use opendp_measurements::accounting::{
    self, AdaptiveAccount, AdaptiveLoss, Kind, Share, SharePair, SharedAccount, joined_delta,
    joined_mu, pure_of_mu,
};

use super::plan::Endowment;
use super::{Budget, BudgetMeasure, Split};

/// The cost of a release: its losses in all forms in which accounts charge them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cost {
    /// The exact loss: one number for each part, such as epsilon and delta.
    pub(crate) parts: Vec<Exact>,
    /// The square of `mu`, if the release is also `mu`-GDP (Gaussian differentially private).
    pub(crate) mu_squared: Option<Exact>,
    /// The zero-concentrated loss `rho` of the release, if the release chooses among candidates by
    /// Gumbel noise.
    pub(crate) rho: Option<Exact>,
    /// A pair of distributions that dominates the release, if a dominating pair is known. The other
    /// fields are valid losses of the release even if a pair is known.
    pub(crate) pair: Option<SharePair>,
}
impl Cost {
    /// Return a pair of distributions that dominates the release.
    pub(crate) fn pair(&self) -> SharePair {
        let part = |place: usize| self.parts.get(place).map_or(0.0, Exact::to_f64_up);
        match (&self.pair, &self.mu_squared) {
            (Some(pair), _) => *pair,
            (None, Some(square)) => {
                SharePair::Gaussian { mu: square.to_f64_up().inf_sqrt().unwrap_or(f64::INFINITY) }
            }
            (None, None) => SharePair::Private { epsilon: part(0), delta: part(1) },
        }
    }
    /// Return whether `other` is an upper bound on this cost in all fields. If `true`, a charge for
    /// `other` is also enough for this cost.
    pub(crate) fn is_within(&self, other: &Cost) -> bool {
        let known = |mine: &Option<Exact>, theirs: &Option<Exact>| match (mine, theirs) {
            (Some(mine), Some(theirs)) => mine <= theirs,
            (mine, None) => mine.is_none(),
            (None, Some(_)) => false,
        };
        let parts = self.parts.len() == other.parts.len()
            && self.parts.iter().zip(&other.parts).all(|(mine, theirs)| mine <= theirs);
        let pairs = other.pair().dominates(&self.pair());
        parts && pairs && known(&self.mu_squared, &other.mu_squared) && known(&self.rho, &other.rho)
    }
}
/// The part of an unspent budget that a plan reserves for its releases.
#[derive(Clone, Debug)]
pub(crate) enum Reserve {
    /// One filter: a rule that admits or refuses each release. The first number is the part of
    /// epsilon that is reserved for the sum of pure losses. The second number is the part of delta
    /// that is reserved for the sum of deltas. The rest of the budget is for Gaussian noise.
    Filter([Exact; 2]),
    /// The whole budget, divided into shares. The share of each release is a pair of distributions,
    /// and the pairs are in the order of the releases.
    Shares(Vec<SharePair>),
}
/// The largest cost that a query may have.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    /// A fraction of the remaining budget.
    Fraction(Exact),
    /// An amount of loss: one number for each part.
    Amount(Vec<Exact>),
    /// The share with this index, if shares are fixed in advance.
    Share(usize),
}
/// The largest costs that fit a share of the budget.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    pub(crate) parts: Vec<Exact>,
    pub(crate) mu_squared: Exact,
    /// The largest `rho` of choices by Gumbel noise.
    pub(crate) rho: Exact,
    /// The pair of distributions of the share, if the share was fixed in advance. In this case, a
    /// cost fits the share only if this pair dominates the pair of the cost.
    pub(crate) share: Option<SharePair>,
}
impl Room {
    fn of(parts: Vec<Exact>) -> Self {
        Room { parts, mu_squared: Exact::ZERO, rho: Exact::ZERO, share: None }
    }
    /// Return the largest costs that fit a share that was fixed in advance.
    fn of_share(account: &SharedAccount, place: usize) -> Result<Self> {
        let Some(pair) = account.shares().get(place).copied() else {
            return Err(Error::BudgetExceeded(format!("the budget has no share {place}")));
        };
        let (epsilon, delta) = match pair {
            SharePair::Private { epsilon, delta } => (epsilon, delta),
            // For a `mu` far above 70, the tail of the normal distribution is below all floats. A
            // smaller `mu` gives a smaller epsilon, which fits the share, too.
            SharePair::Gaussian { mu } => (pure_of_mu(mu.min(70.0))?, 0.0),
            SharePair::Choices { range, .. } => (range / 2.0, 0.0),
            _ => (pair.most(), 0.0),
        };
        let parts = vec![Exact::from_f64(epsilon)?, Exact::from_f64(delta)?];
        Ok(Room { share: Some(pair), ..Room::of(parts) })
    }
    /// Return the delta at which the epsilon of Gaussian noise is stated. If the share was fixed in
    /// advance, this is 1/64 of the delta of `budget`. Otherwise, this is the delta of the share.
    pub(crate) fn stated(&self, budget: &[Exact]) -> f64 {
        let whole = self.share.and(budget.get(1));
        whole.map_or_else(
            || self.parts.get(1).map_or(0.0, Exact::to_f64_down),
            |delta| delta.to_f64_down() / 64.0,
        )
    }
}
/// The losses of all releases so far, and the rule by which they compose.
#[derive(Clone)]
pub(crate) enum Account<MO: BudgetMeasure> {
    /// An account that adds up each part of the losses.
    Sum(Ledger<MO>),
    /// An account that composes losses of an epsilon and a delta tightly.
    Tight(AdaptiveAccount),
    /// An account with shares that are fixed in advance.
    Shares(SharedAccount),
}
impl<MO: BudgetMeasure> Account<MO> {
    pub(crate) fn new(budget: &Budget<MO>, split: &Split) -> Result<Self> {
        let pairs = split.pairs(budget.parts.get(1).map_or(0.0, Exact::to_f64_down));
        match (budget.parts.as_slice(), pairs) {
            ([epsilon, delta], Some(pairs)) if budget.measure.facts().tight => {
                Ok(Account::Shares(SharedAccount::fitting(epsilon, delta, &pairs)?))
            }
            ([epsilon, delta], None) if budget.measure.facts().tight => {
                Ok(Account::Tight(AdaptiveAccount::new(epsilon, delta, split.queries())?))
            }
            (_, Some(_)) => Err(Error::argument(
                "split",
                "shares of fixed kinds need a budget with an epsilon and a delta: make it with \
                 `Budget::epsilon_delta(1.0, 1e-6)`, or make the split with `Split::by_weights`",
            )),
            (_, None) => Ok(Account::Sum(Ledger::with_exact_budget(
                budget.measure.clone(),
                budget.parts.clone(),
            )?)),
        }
    }
    /// Find the largest costs that a release of kind `kind` may have within the share `wanted`.
    pub(crate) fn room(&self, wanted: &Wanted, kind: Kind) -> Result<Room> {
        match (self, wanted) {
            (Account::Sum(ledger), Wanted::Fraction(part)) => {
                let left = ledger.exact_left()?;
                Ok(Room::of(times(&left, part)))
            }
            (Account::Sum(_), Wanted::Amount(parts)) => Ok(Room::of(parts.clone())),
            (Account::Shares(account), Wanted::Share(place)) => Room::of_share(account, *place),
            (Account::Shares(account), _) => Err(without_share(account)),
            (_, Wanted::Share(_)) => Err(no_share()),
            (Account::Tight(account), wanted) => {
                let share = match wanted {
                    Wanted::Fraction(part) => Share::Fraction(part.clone()),
                    Wanted::Amount(parts) => pair(parts).map(|(e, d)| Share::Amount(e, d))?,
                    Wanted::Share(_) => return Err(no_share()),
                };
                let room = account.room(&share, kind)?;
                let (mu_squared, rho) = (room.mu_squared, room.rho);
                Ok(Room { mu_squared, rho, ..Room::of(vec![room.epsilon, room.delta]) })
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
            Account::Shares(account) => match account.next_share() {
                Some(place) => account.charge(place, &cost.pair()),
                None => Err(Error::BudgetExceeded("all shares of the budget were used".into())),
            },
        }
    }
    /// Charge for several releases. If `reserved` is not `None`, first reserve this part of the
    /// budget. After an error, the account must not be used.
    pub(crate) fn charge_all(&mut self, costs: &[&Cost], reserved: Option<&Reserve>) -> Result<()> {
        if reserved.is_some() && !self.may_reserve() {
            let reason =
                "the plan was made for an unspent budget, but this budget has earlier releases";
            return Err(Error::BudgetExceeded(reason.into()));
        }
        match reserved {
            Some(Reserve::Filter([pure, deltas])) => self.reserve(pure, deltas)?,
            Some(Reserve::Shares(pairs)) => {
                if let [epsilon, delta] = self.budget().as_slice() {
                    *self = Account::Shares(SharedAccount::new(epsilon, delta, pairs)?);
                }
            }
            None => {}
        }
        costs.iter().try_for_each(|cost| self.charge(cost))
    }
    /// Replace the filters of the account by one filter. This filter is for releases whose kinds of
    /// noise are known. It reserves `pure` of the budget's epsilon for the sum of pure losses, and
    /// `deltas` of the budget's delta for the sum of deltas.
    pub(crate) fn reserve(&mut self, pure: &Exact, deltas: &Exact) -> Result<()> {
        if let Account::Tight(account) = self {
            let (epsilon, delta) = account.budget();
            *account = AdaptiveAccount::reserving(epsilon, delta, pure, deltas)?;
        }
        Ok(())
    }
    /// Return whether [`reserve`](Account::reserve) is possible: the account composes losses
    /// tightly, and has no release yet.
    pub(crate) fn may_reserve(&self) -> bool {
        matches!(self, Account::Tight(account) if !account.has_begun())
    }
    /// For each filter of the account, return two values for one share. The first value contains
    /// the largest losses without a delta that the filter admits. The second value is the delta
    /// that the filter admits for thresholds. `squares` is the fact of the same name.
    pub(crate) fn endowments(
        &self,
        wanted: &Wanted,
        squares: bool,
    ) -> Result<Vec<(Endowment, Exact)>> {
        let account = match self {
            Account::Shares(account) => return Err(without_share(account)),
            Account::Sum(_) => {
                let room = self.room(wanted, Kind::Pure)?.parts;
                let amount = room.first().map_or(0.0, Exact::to_f64_down);
                let endowment = match squares {
                    true => Endowment { pure: 0.0, square: 2.0 * amount },
                    false => Endowment { pure: amount, square: 0.0 },
                };
                return Ok(vec![(endowment, Exact::ZERO)]);
            }
            Account::Tight(account) => account,
        };
        let part = match wanted {
            Wanted::Fraction(part) => part.clone(),
            Wanted::Amount(parts) => return amounts(account, pair(parts)?),
            Wanted::Share(_) => return Err(no_share()),
        };
        Ok(fractions(account, &part))
    }
    /// Return whether losses of an epsilon and a delta compose tightly.
    pub(crate) fn is_tight(&self) -> bool {
        !matches!(self, Account::Sum(_))
    }
    pub(crate) fn budget(&self) -> Vec<Exact> {
        match self {
            Account::Sum(ledger) => ledger.exact_budget().unwrap_or_default().to_vec(),
            Account::Tight(account) => both(account.budget()),
            Account::Shares(account) => both(account.budget()),
        }
    }
    pub(crate) fn total(&self) -> Result<Vec<Exact>> {
        match self {
            Account::Sum(ledger) => Ok(ledger.exact_total().to_vec()),
            Account::Tight(account) => account.spent().map(|(epsilon, delta)| vec![epsilon, delta]),
            Account::Shares(account) => {
                account.spent().map(|(epsilon, delta)| vec![epsilon, delta])
            }
        }
    }
    pub(crate) fn left(&self) -> Result<Vec<Exact>> {
        match self {
            Account::Sum(ledger) => ledger.exact_left(),
            Account::Tight(account) => account.left().map(|(epsilon, delta)| vec![epsilon, delta]),
            Account::Shares(account) => account.left().map(|(epsilon, delta)| vec![epsilon, delta]),
        }
    }
}
fn times(left: &[Exact], part: &Exact) -> Vec<Exact> {
    left.iter().map(|left| left.times(part)).collected()
}
/// For each filter of the account, return the fraction `part` of its room.
fn fractions(account: &AdaptiveAccount, part: &Exact) -> Vec<(Endowment, Exact)> {
    let mut found = Vec::new();
    for room in account.filters() {
        let pure = room.epsilon.times(part).to_f64_down();
        let square = room.mu_squared.times(part).to_f64_down();
        found.push((Endowment { pure, square }, room.delta.times(part)));
    }
    found
}
/// Return several ways to divide an amount of epsilon and delta between pure losses and Gaussian
/// noise. Each way also has a delta for releases that hide keys below a threshold. Each way is for
/// one filter of the account. The losses of a way do not exceed the largest losses that its filter
/// can still admit. The filters that the account keeps in use depend on the first release, so a
/// plan tries every filter.
fn amounts(
    account: &AdaptiveAccount,
    (epsilon, delta): (Exact, Exact),
) -> Result<Vec<(Endowment, Exact)>> {
    let share = Share::Amount(epsilon.clone(), delta.clone());
    let own = account.room(&share, Kind::WithDelta)?.delta;
    let largest = account.room(&share, Kind::Gaussian)?.mu_squared.to_f64_down();
    let (filters, epsilon) = (account.filters(), epsilon.to_f64_down());
    let joined = joined_delta(0.0, largest.sqrt(), epsilon)?;
    // Before the first release, it is not known which filters the account will keep in use. So for
    // each filter, compute a part of its delta that thresholds can use: the fraction `delta / all`.
    // Here `delta` is the delta of the amount, and `all` is the delta of the budget.
    let all = account.budget().1;
    let part = |room: &accounting::Room| match account.has_begun() || all.is_zero() {
        true => own.clone().min(room.delta.clone()),
        false => delta.times(&room.delta).over(all),
    };
    let mut found: Vec<(Endowment, Exact)> = Vec::new();
    for eighths in 0..=8 {
        let pure = epsilon * f64::from(eighths) / 8.0;
        let square = joined_mu(pure, epsilon, joined)?.powi(2);
        for room in &filters {
            let pure = pure.min(room.epsilon.to_f64_down());
            let square = square.min(room.mu_squared.to_f64_down());
            let endowed = (Endowment { pure, square }, part(room));
            if !found.contains(&endowed) {
                found.push(endowed);
            }
        }
    }
    Ok(found)
}
fn both((epsilon, delta): (&Exact, &Exact)) -> Vec<Exact> {
    vec![epsilon.clone(), delta.clone()]
}
#[cold]
fn no_share() -> Error {
    Error::argument(
        "split",
        "the shares of the budget must be fixed in advance for all queries, or for no query",
    )
}
#[cold]
fn without_share(account: &SharedAccount) -> Error {
    match account.next_share() {
        None => Error::BudgetExceeded("nothing is left of the budget; nothing was run".into()),
        Some(_) => no_share(),
    }
}
fn pair(parts: &[Exact]) -> Result<(Exact, Exact)> {
    match parts {
        [epsilon, delta] => Ok((epsilon.clone(), delta.clone())),
        _ => Err(Error::FailedMap(format!(
            "the number of parts of a loss: expected 2, found {}",
            parts.len()
        ))),
    }
}
