//! An account for adaptively chosen releases. For many releases, its bounds are tighter than the
//! sums of the epsilons and of the deltas.

mod document;

use opendp_core::{Error, Result, arith::Exact};

use super::joined::{joined_mu, mu_of_pure};
use super::pot::Pot;
use super::way::{
    GAUSSIAN_FIRST, ONLY_GAUSSIAN, ONLY_OTHERS, ONLY_RENYI, OTHERS_FIRST, RENYI_FIRST, Way, square,
    twice_rho,
};
use crate::collected::Collected;

/// The loss of a release, in the form that an [`AdaptiveAccount`] charges.
#[derive(Clone, Debug, PartialEq)]
pub struct AdaptiveLoss {
    /// The release is `(epsilon, delta)`-DP.
    pub epsilon: Exact,
    /// The delta at which the release has the loss `epsilon`.
    pub delta: Exact,
    /// A `mu^2` for which the release is also `mu`-GDP (Gaussian differentially private), or
    /// `None`. A `mu^2` is known for Gaussian noise, and for choices by Gumbel noise: see
    /// [`mu_squared_of_choices`](super::mu_squared_of_choices).
    pub mu_squared: Option<Exact>,
    /// A `rho` for which the release is also `rho`-zero-concentrated. A `rho` is stated only if
    /// this `rho` is below half of `mu_squared`, as for choices by Gumbel noise. The field `rho` is
    /// ignored if `mu_squared` is not known.
    pub rho: Option<Exact>,
}
/// A share of the budget: the largest allowed loss of a release.
#[derive(Clone, Debug)]
pub enum Share {
    /// A share as a fraction of the remaining budget.
    Fraction(Exact),
    /// A share as an epsilon and a delta.
    Amount(Exact, Exact),
}
/// A kind of release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A release that has a pure loss, without a delta.
    Pure,
    /// A release that is `(epsilon, delta)`-DP.
    WithDelta,
    /// A release that is `mu`-GDP, such as a release with continuous Gaussian noise.
    Gaussian,
    /// A release that selects outputs by Gumbel noise. Such a release has a `mu^2` and a `rho`.
    Choice,
}
/// The largest losses that a release can have within a share of the budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Room {
    /// The largest epsilon of a release without a `mu^2`.
    pub epsilon: Exact,
    /// The largest delta of a release without a `mu^2`. For a release with a `mu^2`, this field is
    /// the delta at which the epsilon of the release is stated.
    pub delta: Exact,
    /// The largest `mu^2` of a release with Gaussian noise, or of choices by Gumbel noise.
    pub mu_squared: Exact,
    /// The largest `rho` of choices by Gumbel noise.
    pub rho: Exact,
}
impl Default for Room {
    fn default() -> Self {
        let zero = || Exact::ZERO;
        Room { epsilon: zero(), delta: zero(), mu_squared: zero(), rho: zero() }
    }
}

/// An account with a budget of an epsilon and a delta, for adaptively chosen releases.
///
/// The account has several filters. Each filter `j` except the Renyi filter has two limits. The
/// pure losses may add up to at most `S_j`, and the `mu^2` of Gaussian noise may add up to at most
/// `B_j^2`. Each release is charged to all filters. A filter has room for a release if this release
/// and all earlier releases stay within its limits. A release is admitted only if at least one
/// filter has room for the release, and the deltas fit (see *Deltas*). The filters and their
/// charges are:
///
/// | filter | pure loss epsilon | Gaussian noise of `mu` |
/// |---|---|---|
/// | Gaussian, `S = 0` | the square of [`mu_of_pure`] | `mu^2` |
/// | three mixed filters, `S` a quarter, half and three quarters of the budget's epsilon | epsilon from `S`, or the square of [`mu_of_pure`] from `B^2`: the filter charges the amount that is the smaller fraction of the remaining room | `mu^2` |
/// | simple, `S` the budget's epsilon, `B = 0` | epsilon | the epsilon of the noise at a stated delta |
/// | Renyi, of an order `a` | the divergence of order `a` of randomized response | `a mu^2 / 2` |
///
/// # What is proved
///
/// Together, the releases are `(epsilon, delta)`-DP for the budget. This claim holds even if each
/// release and the decision to continue depend on all earlier answers.
///
/// *One filter.* Write `S` and `B` for the `S_j` and `B_j` of filter `j`. Let `R(s)` be randomized
/// response of loss `s`. Let `N(b)` be the pair of a standard normal distribution and its shift by
/// `b`. Claim: if filter `j` admits a whole interaction, the product of `R(S)` and `N(B)` dominates
/// this interaction. The proof is by induction over the number of releases. Let the first release
/// have the pure loss `e`, which the filter takes from `S`. By induction, the product of `R(S - e)`
/// and `N(B)` dominates the later releases, given any answer. This product is the same for all
/// answers. So the product of `R(e)`, `R(S - e)` and `N(B)` dominates the whole interaction
/// (adaptive composition of dominating pairs: Zhu, Dong, Wang 2022, Theorem 10). The product of
/// `R(e)` and `R(S - e)` is `S`-DP, so `R(S)` dominates this product (Kairouz, Oh, Viswanath 2015).
/// The filter can also charge the first release in another way: it takes `m` from `B^2`, and takes
/// nothing from `S`. Then the same argument holds with `N(sqrt m)` and `N(sqrt(B^2 - m))`. The
/// product of these two pairs is `N(B)` (Dong, Roth, Su 2022, on the composition of normal shifts).
/// If all releases have Gaussian noise, filter `j` is the filter of Smith, Thakurta 2022 (also:
/// Koskela, Tobaben, Honkela 2023). An interaction can have any number of releases. The delta of an
/// interaction is the supremum of its deltas after finitely many releases.
///
/// *The Renyi filter.* This filter adds up Renyi divergences of one order `a > 1`, which is fixed
/// in advance. A `mu`-GDP release is post-processing of a normal shift of `mu` (Dong, Roth, Su
/// 2022). So its divergence is at most `a mu^2 / 2`. The divergence of a release with a stated
/// `rho` is at most `a rho`. The divergence of a release with a pure loss is at most the divergence
/// of randomized response (Kairouz, Oh, Viswanath 2015). Let `r_i` be the bound for release `i`.
/// The filter charges `r_i`. A limit `r` is fixed in advance. The filter admits releases while the
/// sum of the `r_i` is at most `r`. Claim: the divergence of order `a` of the whole interaction is
/// at most `r` (Feldman, Zrnic 2021). Proof: consider the probability of answer `i`, given the
/// earlier answers. Let ratio `i` be this probability under the first neighbour, divided by this
/// probability under the second neighbour. Raise the product of the first `i` ratios to the power
/// `a`, and multiply this power by `e^(-(a - 1) (r_1 + .. + r_i))`. Call the result `X_i`. The
/// earlier answers determine `r_i`. Raise ratio `i` to the power `a`. Given the earlier answers,
/// the mean of the result under the second neighbour is at most `e^((a - 1) r_i)`. So the mean of
/// `X_i` under the second neighbour does not increase with `i`, and is at most 1. Raise the product
/// of all ratios to the power `a`. The sum of all `r_i` is at most `r`. So the mean of this power
/// under the second neighbour is at most `e^((a - 1) r)`. This is the claim. A bound on the delta
/// of the filter follows from `r` (Canonne, Kamath, Steinke 2020, Proposition 12). Let `c` be
/// [`concentrated_rho`](super::concentrated_rho) of the budget's epsilon and the filter's delta.
/// Take a normal shift whose `rho` is `c`. The order `a` is the order at which the conversion to
/// delta gives the smallest delta for this shift. The divergence of this shift is `a c`. Up to
/// rounding, `r` is this divergence. The divergence of every release with a `rho` is at most
/// `a rho`. Consider a zero-concentrated filter of the same delta: it admits releases while the sum
/// of their `rho` is at most `c`. Up to rounding, the Renyi filter admits each interaction that the
/// zero-concentrated filter admits. One order is enough. Consider a filter with several orders,
/// each with a limit. If this filter refuses a release when any limit is exceeded, it admits less
/// than a filter with one order. If this filter refuses a release only when all limits are
/// exceeded, each order needs a part of delta.
///
/// *Deltas.* Take a release that reveals all data with probability `d`, and is `e`-DP otherwise.
/// Every `(e, d)`-DP release is post-processing of such a release (Kairouz, Oh, Viswanath 2015). So
/// the probability that some release reveals all data is at most the sum of the `d`. The account
/// admits releases only while the sum of these `d` is at most `D`, a part of delta. The delta of a
/// release with a `mu^2` counts only for the simple filter.
///
/// *Several filters.* Let `E` be a set of transcripts of the interaction. Let `E_j` be the subset
/// in which `j` is the lowest number of a filter that has admitted all releases. Let `P` and `Q` be
/// the distributions of the transcript on two neighbours. Consider the interaction that stops
/// before a release exceeds a limit of filter `j`. For transcripts in `E_j`, this interaction is
/// the whole interaction. Let `H_j` be the delta of filter `j`. This is the largest delta, at the
/// budget's epsilon, of all interactions that filter `j` admits. If no release reveals all data,
/// `P(E_j) - e^epsilon Q(E_j)` is at most `H_j`. Each transcript in `E` is in exactly one `E_j`,
/// because some filter has admitted all releases of the transcript. So
/// `P(E) - e^epsilon Q(E) <= D + sum_j H_j`, which is at most the budget's delta.
///
/// Delta is divided into `D` and the `H_j` when the first release is charged. The division depends
/// on the kind and the size of this release, and on whether the account is for a single release.
/// There are no answers at that time, so the division cannot depend on an answer. If the first
/// release has a pure loss, three fractions are compared: the fraction of the Renyi filter that
/// this loss would use up, the fraction of the Gaussian filter, and the fraction of the budget's
/// epsilon. In the following list, a part is 1/64 of delta. The first case that applies determines
/// the division:
///
/// * The account is for a single release: this release gets all of delta.
/// * The first release is a choice, or has a pure loss whose smallest fraction is the fraction of
///   the Renyi filter. `D` gets 2 parts, the Gaussian filter 24, each mixed filter 1, the simple
///   filter 3, and the Renyi filter 32. In the next two cases, there is no Renyi filter.
/// * The first release has Gaussian noise, or has a pure loss whose fraction of the Gaussian filter
///   is smaller than the fraction of the budget's epsilon. `D` gets 2 parts, the Gaussian filter
///   56, each mixed filter 1, and the simple filter 3.
/// * Otherwise: `D` gets 40 parts, the Gaussian filter 4, each mixed filter 4, and the simple
///   filter 8.
///
/// | releases | composition | adaptivity | theorem |
/// |---|---|---|---|
/// | Gaussian noise | `mu^2` adds up | full | Smith, Thakurta 2022 |
/// | choices by Gumbel noise | `mu^2 = pi rho` adds up | full | [`mu_squared_of_choices`](super::mu_squared_of_choices) |
/// | choices, many, if the first release is a choice or has a small pure loss | `a rho` adds up | full | Feldman, Zrnic 2021 |
/// | pure losses, many, if the first release is a choice or has a small pure loss | divergences of order `a` add up | full | Feldman, Zrnic 2021 |
/// | pure losses | epsilon adds up | full | Rogers, Roth, Ullman, Vadhan 2016 |
/// | pure losses, many | `mu^2` adds up | full | Dong, Roth, Su 2022, and the proof above |
/// | pure losses and Gaussian noise | randomized response and a normal shift | full | Zhu, Dong, Wang 2022, and the proof above |
/// | `(epsilon, delta)`-DP | deltas add up | full | Kairouz, Oh, Viswanath 2015 |
/// | discrete Gaussian noise | not covered, because it is not GDP. Use [`make_continuous_gaussian`](crate::make_continuous_gaussian) | | |
/// | interactive releases whose conversations are interleaved | not covered by any of the theorems above | | |
///
/// ```
/// use opendp_core::arith::Exact;
/// use opendp_measurements::accounting::{AdaptiveAccount, Kind, Share};
/// let account = AdaptiveAccount::new(&"1".parse()?, &"1e-6".parse()?, None)?;
/// let tenth = Share::Fraction("1".parse::<Exact>()?.over(&"10".parse()?));
/// let mu = account.room(&tenth, Kind::Gaussian)?.mu_squared.to_f64_down().sqrt();
/// // Each of ten counts may have Gaussian noise of this scale. With ten even shares of epsilon and
/// // delta, the scale would be 41.3.
/// assert!(1.0 / mu < 13.5);
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdaptiveAccount {
    epsilon: Exact,
    delta: Exact,
    /// Three ways to divide delta among the filters. The first way has a large Gaussian filter, and
    /// the second way has a Renyi filter. The first release selects one of the ways: see `way_of`.
    /// Accounts of older versions do not have the second way. After the first release is charged,
    /// the account keeps only the way for this release.
    ways: Vec<Way>,
    began: bool,
    /// Whether the account is for a single release.
    only: bool,
}
impl AdaptiveAccount {
    /// Open an account with a budget. `releases` is the number of releases, if it is known.
    ///
    /// # Errors
    /// `InvalidDistance` when epsilon is infinite, when delta is not below 1, or when a number has
    /// too many digits.
    pub fn new(epsilon: &Exact, delta: &Exact, releases: Option<usize>) -> Result<Self> {
        let only = releases == Some(1);
        let parts = match only {
            true => [ONLY_GAUSSIAN, ONLY_RENYI, ONLY_OTHERS],
            false => [GAUSSIAN_FIRST, RENYI_FIRST, OTHERS_FIRST],
        };
        let account = AdaptiveAccount { only, ..AdaptiveAccount::of(epsilon, delta)? };
        let ways = parts.iter().map(|parts| Way::new(epsilon, delta, parts));
        AdaptiveAccount { ways: ways.try_collected()?, ..account }.readable()
    }
    fn of(epsilon: &Exact, delta: &Exact) -> Result<Self> {
        if !epsilon.is_finite() || 1.0 <= delta.to_f64_up() {
            let reason = "expected a finite epsilon and a delta below 1";
            return Err(Error::InvalidDistance(reason.into()));
        }
        let (epsilon, delta) = (epsilon.clone(), delta.clone());
        Ok(AdaptiveAccount { epsilon, delta, ways: Vec::new(), began: false, only: false })
    }
    /// Find the largest losses that a release of this kind can have within a share of the budget.
    ///
    /// # Errors
    /// The errors of [`joined_mu`](super::joined_mu).
    pub fn room(&self, share: &Share, kind: Kind) -> Result<Room> {
        let mut best = Room::default();
        if kind == Kind::Choice {
            return self.renyi_first().map_or(Ok(best), |way| way.choices(share, &self.delta));
        }
        let between = self.renyi_first().filter(|_| kind == Kind::Pure);
        // If the only release has a pure loss, the last way charges it (see `way_of`).
        let last = self.only && kind == Kind::Pure;
        let others = self.ways.first().into_iter().chain(between).filter(|_| !last);
        for way in others.chain(self.ways.last()) {
            let room = match kind {
                Kind::Gaussian => way.gaussian(share, &self.delta)?,
                _ => way.other(share, &self.delta)?,
            };
            let better = match kind {
                Kind::Gaussian | Kind::Choice => best.mu_squared < room.mu_squared,
                Kind::Pure => best.epsilon < room.epsilon,
                // The last way has the most room for the deltas of releases, so use its room.
                Kind::WithDelta => true,
            };
            best = if better { room } else { best };
        }
        Ok(best)
    }
    /// Charge the account for a release.
    ///
    /// # Errors
    /// `BudgetExceeded` when no filter has room for the release, or when no room is left for the
    /// delta of the release. The account then stays unchanged.
    pub fn charge(&mut self, loss: &AdaptiveLoss) -> Result<()> {
        let Some(mut way) = self.way_of(loss)?.cloned() else { return Err(self.exceeded(loss)) };
        way.charge(loss)?;
        if way.pots.is_empty() || way.deltas < way.spent {
            return Err(self.exceeded(loss));
        }
        (self.ways, self.began) = (vec![way], true);
        Ok(())
    }
    /// Open an account with a single filter, for releases of known kinds. `pure` is the sum of the
    /// pure losses, and `deltas` is the sum of the deltas. Gaussian noise gets the remaining
    /// budget.
    ///
    /// # Errors
    /// The errors of [`new`](AdaptiveAccount::new); `BudgetExceeded` when a sum exceeds the budget.
    pub fn reserving(epsilon: &Exact, delta: &Exact, pure: &Exact, deltas: &Exact) -> Result<Self> {
        if epsilon < pure || delta < deltas {
            let reason = "the losses to reserve exceed the budget";
            return Err(Error::BudgetExceeded(reason.into()));
        }
        let own = delta.minus(deltas);
        let (limit, failure) = (epsilon.to_f64_down(), own.to_f64_down());
        let mu = if pure == epsilon { 0.0 } else { joined_mu(pure.to_f64_up(), limit, failure)? };
        let pot = match mu {
            0.0 => Pot::simple(pure.clone(), own),
            _ => Pot { planned: true, ..Pot::of(pure.clone(), Exact::from_f64(mu)?, own) },
        };
        let way = Way { deltas: deltas.clone(), spent: Exact::ZERO, pots: vec![pot] };
        let account = AdaptiveAccount::of(epsilon, delta)?;
        AdaptiveAccount { began: true, ways: vec![way], ..account }.readable()
    }
    /// For each filter that has admitted all releases so far, return its remaining room for losses.
    /// The field `rho` of each result is 0.
    pub fn filters(&self) -> Vec<Room> {
        let ways = self.ways.iter().flat_map(|way| way.pots.iter().map(move |pot| (way, pot)));
        let room = |(way, pot): (&Way, &Pot)| Room {
            epsilon: pot.pure_left(),
            delta: way.deltas.minus(&way.spent),
            mu_squared: pot.square_left(),
            rho: Exact::ZERO,
        };
        ways.map(room).collected()
    }
    /// Return whether a release was charged, or the account was opened by
    /// [`reserving`](AdaptiveAccount::reserving).
    pub fn has_begun(&self) -> bool {
        self.began
    }
    /// Return whether the account would admit a release with this loss.
    pub fn admits(&self, loss: &AdaptiveLoss) -> bool {
        self.clone().charge(loss).is_ok()
    }
    /// Return the epsilon and delta that remain in the filter with the most room, rounded down. The
    /// epsilon is for all remaining pure loss, composed with all remaining Gaussian noise.
    ///
    /// # Errors
    /// The errors of [`joined_epsilon`](super::joined_epsilon).
    pub fn left(&self) -> Result<(Exact, Exact)> {
        match self.ways.first() {
            Some(way) if self.began => way.left(&self.epsilon),
            _ => Ok((self.epsilon.clone(), self.delta.clone())),
        }
    }
    /// Return an epsilon and a delta of all releases so far, rounded up. These two numbers are
    /// valid if all releases were fixed in advance. If releases were chosen after answers were
    /// seen, only the whole budget is a valid bound.
    ///
    /// # Errors
    /// The errors of [`joined_epsilon`](super::joined_epsilon).
    pub fn spent(&self) -> Result<(Exact, Exact)> {
        match self.ways.first() {
            // Each remaining filter is within its limits. So the exact epsilon is at most the
            // budget's epsilon. The computed epsilon is rounded up, so it can exceed the budget's
            // epsilon. Then return the budget's epsilon.
            Some(way) if self.began => {
                way.total().map(|(epsilon, delta)| (epsilon.min(self.epsilon.clone()), delta))
            }
            _ => Ok((Exact::ZERO, Exact::ZERO)),
        }
    }
    /// Return the budget: an epsilon and a delta.
    pub fn budget(&self) -> (&Exact, &Exact) {
        (&self.epsilon, &self.delta)
    }
    /// If there are three ways to divide delta, return the way with a Renyi filter. Otherwise
    /// return the first way.
    fn renyi_first(&self) -> Option<&Way> {
        match self.ways.as_slice() {
            [_, renyi, _] => Some(renyi),
            ways => ways.first(),
        }
    }
    /// Choose the way to divide delta. The choice depends on the first release. If this release has
    /// Gaussian noise, choose the first way. If the release is a choice, choose the way that
    /// `renyi_first` returns. A pure loss would use up a fraction of the Gaussian filter, of the
    /// Renyi filter and of the budget's epsilon. If the release has a pure loss and the account is
    /// not for a single release, compare these fractions. If the fraction of the Gaussian filter is
    /// the smallest, choose the first way. If the fraction of the Renyi filter is the smallest,
    /// choose the way that `renyi_first` returns. In all other cases, choose the last element of
    /// `self.ways`.
    fn way_of(&self, loss: &AdaptiveLoss) -> Result<Option<&Way>> {
        let (gaussian, others) = (self.ways.first(), self.ways.last());
        if loss.mu_squared.is_some() {
            return Ok(if loss.rho.is_some() { self.renyi_first() } else { gaussian });
        }
        if self.began || self.only || !loss.delta.is_zero() {
            return Ok(others);
        }
        let epsilon = loss.epsilon.to_f64_up();
        let (mut least, mut best) = (loss.epsilon.over(&self.epsilon), others);
        if let Some(pot) = gaussian.and_then(|way| way.pots.first()) {
            let part = square(mu_of_pure(epsilon)?)?.over(&pot.squares);
            if part < least {
                (least, best) = (part, gaussian);
            }
        }
        let renyi = self.renyi_first();
        if let Some(pot) = renyi.and_then(|way| way.pots.iter().find(|pot| pot.concentrated))
            && twice_rho(epsilon, pot.order.as_ref())?.over(&pot.squares) < least
        {
            best = renyi;
        }
        Ok(best)
    }
    #[cold]
    fn exceeded(&self, loss: &AdaptiveLoss) -> Error {
        let (epsilon, delta) = (loss.epsilon.to_f64_up(), loss.delta.to_f64_up());
        let left = self.left().map(|(e, d)| (e.to_f64_down(), d.to_f64_down()));
        let left = left.map_or_else(|_| "?".into(), |(e, d)| format!("({e}, {d})"));
        Error::BudgetExceeded(format!(
            "the query costs ({epsilon}, {delta}), and {left} of the budget is left"
        ))
    }
}
#[cfg(test)]
mod tests;
