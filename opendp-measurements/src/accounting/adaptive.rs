//! An account of an epsilon and a delta that composes tightly for any next question.

mod document;

use opendp_core::arith::Exact;
use opendp_core::{Error, Result};

use super::joined::{joined_mu, mu_of_pure};
use super::pot::Pot;
use super::way::{GAUSSIAN_FIRST, ONLY_GAUSSIAN, ONLY_OTHERS, OTHERS_FIRST, Way, square};

/// The loss of a release, in the form that an [`AdaptiveAccount`] charges.
#[derive(Clone, Debug, PartialEq)]
pub struct AdaptiveLoss {
    /// The release is `(epsilon, delta)`-DP.
    pub epsilon: Exact,
    /// The delta that belongs to `epsilon`.
    pub delta: Exact,
    /// The release is also `mu`-GDP for this `mu^2`, if it is one of Gaussian noise.
    pub mu_squared: Option<Exact>,
}
/// What a release may lose.
#[derive(Clone, Debug)]
pub enum Share {
    /// A fraction of what is left.
    Fraction(Exact),
    /// An epsilon and a delta.
    Amount(Exact, Exact),
}
/// A kind of release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A release of a pure loss.
    Pure,
    /// A release that is `(epsilon, delta)`-DP.
    WithDelta,
    /// A release of continuous Gaussian noise.
    Gaussian,
}
/// The largest losses that fit a share.
#[derive(Clone, Debug, PartialEq)]
pub struct Room {
    /// The epsilon of a release without Gaussian noise.
    pub epsilon: Exact,
    /// Its delta. For Gaussian noise: the delta at which to state its epsilon.
    pub delta: Exact,
    /// The `mu^2` of a release of Gaussian noise.
    pub mu_squared: Exact,
}
impl Default for Room {
    fn default() -> Self {
        Room { epsilon: Exact::ZERO, delta: Exact::ZERO, mu_squared: Exact::ZERO }
    }
}

/// An account of an epsilon and a delta for releases that are chosen in view of earlier answers.
///
/// It keeps several filters at once. Filter `j` has room for pure losses that add up to `S_j` and
/// for Gaussian noise whose `mu^2` add up to `B_j^2`. All are charged for each release, and a
/// release is admitted as long as one filter has room for all releases so far. The filters are:
///
/// | filter | pure loss epsilon | Gaussian noise of `mu` |
/// |---|---|---|
/// | Gaussian, `S = 0` | [`mu_of_pure`] | `mu^2` |
/// | three mixed ones, `S` a quarter, half and three quarters of the budget | epsilon or [`mu_of_pure`], what is the smaller part of what is left | `mu^2` |
/// | simple, `S` the whole epsilon | epsilon | its epsilon at a stated delta |
///
/// # What is proved
///
/// The releases together are `(epsilon, delta)`-DP for the budget, even if each release, and the
/// decision to continue, depends on all earlier answers.
///
/// *One filter.* Let `R(s)` be randomized response of loss `s`, and `N(b)` the normal shift of size
/// `b`. Claim: an interaction that filter `j` admits to its end is dominated by `R(S)` and `N(B)`
/// side by side. The proof is by induction over the number of releases. Let the first release lose
/// `e` of `S`. Given any answer, the rest is dominated by `R(S - e)` and `N(B)`. This pair is the
/// same for all answers. So the whole is dominated by `R(e)`, `R(S - e)` and `N(B)` side by side
/// (adaptive composition of dominating pairs: Zhu, Dong, Wang 2022, Theorem 10). `R(e)` and
/// `R(S - e)` together are `S`-DP, so `R(S)` dominates them (Kairouz, Oh, Viswanath 2015). If the
/// first release loses `m` of `B^2` instead, the same holds with `N(sqrt m)` and
/// `N(sqrt(B^2 - m))`, which together are `N(B)` (Dong, Roth, Su 2022, on their composition). With
/// Gaussian noise alone this is the filter of Smith, Thakurta 2022 (also: Koskela, Tobaben, Honkela
/// 2023). The delta of an interaction with any number of releases is the supremum of the deltas
/// after finitely many releases.
///
/// *Deltas.* A release that is `(e, d)`-DP reveals all with probability `d` and is `e`-DP otherwise
/// (Kairouz, Oh, Viswanath 2015). Some release reveals all with probability at most the sum of the
/// `d`, which has a limit `D` of its own. The simple filter also adds up the deltas of Gaussian
/// noise.
///
/// *Several filters.* Let `E` be a set of transcripts. Let `E_j` be the subset in which filter `j`
/// is the first filter that has admitted all releases. The interaction that stops when filter `j`
/// would be exceeded does not stop in `E_j`. So `P(E_j) - e^epsilon Q(E_j)` is at most the delta
/// `H_j` of filter `j` at the budget's epsilon, apart from what is revealed. So
/// `P(E) - e^epsilon Q(E) <= D + sum_j H_j`, which is at most the budget's delta.
///
/// Delta is divided into `D` and the `H_j` when the first release is charged. The division depends
/// on the kind of this release and on whether it is the only one. At that time there are no
/// answers, so the division cannot depend on any. Delta has 64 parts. If the first release takes a
/// smaller part of the Gaussian filter than of epsilon, as Gaussian noise does, `D` gets 2 parts,
/// the Gaussian filter 56, each mixed filter 1 and the simple filter 3. Otherwise they get 40, 4, 4
/// and 8. A release that is the only one gets all of delta.
///
/// | releases | composition | adaptivity | theorem |
/// |---|---|---|---|
/// | Gaussian noise | `mu^2` adds up | full | Smith, Thakurta 2022 |
/// | pure losses | epsilon adds up | full | Rogers, Roth, Ullman, Vadhan 2016 |
/// | pure losses, many | `mu^2` adds up | full | Dong, Roth, Su 2022, and the proof above |
/// | both | randomized response and a normal shift | full | Zhu, Dong, Wang 2022, and the proof above |
/// | `(epsilon, delta)`-DP | deltas add up | full | Kairouz, Oh, Viswanath 2015 |
/// | discrete Gaussian noise | refused: it is not GDP. Use [`make_continuous_gaussian`](crate::make_continuous_gaussian) | | |
/// | conversations, interleaved | refused: no theorem covers them here | | |
///
/// ```
/// use opendp_core::arith::Exact;
/// use opendp_measurements::accounting::{AdaptiveAccount, Kind, Share};
/// let account = AdaptiveAccount::new(&"1".parse()?, &"1e-6".parse()?, None)?;
/// let tenth = Share::Fraction("1".parse::<Exact>()?.over(&"10".parse()?));
/// let mu = account.room(&tenth, Kind::Gaussian)?.mu_squared.to_f64_down().sqrt();
/// // Ten releases of a count may have Gaussian noise of this scale. Ten shares of epsilon and
/// // delta would take 41.3.
/// assert!(1.0 / mu < 13.5);
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdaptiveAccount {
    epsilon: Exact,
    delta: Exact,
    /// The ways to divide delta: for Gaussian noise first, and for other releases first. After the
    /// first release is charged, only one of them remains.
    ways: Vec<Way>,
    began: bool,
    /// Whether there is only one release.
    only: bool,
}
impl AdaptiveAccount {
    /// Open an account. State the number of releases if it is known.
    ///
    /// # Errors
    /// `InvalidDistance` when delta is not below 1 or epsilon is not finite.
    pub fn new(epsilon: &Exact, delta: &Exact, releases: Option<usize>) -> Result<Self> {
        let only = releases == Some(1);
        let parts = match only {
            true => [ONLY_GAUSSIAN, ONLY_OTHERS],
            false => [GAUSSIAN_FIRST, OTHERS_FIRST],
        };
        let ways = parts.iter().map(|parts| Way::new(epsilon, delta, parts));
        AdaptiveAccount { only, ..AdaptiveAccount::of(epsilon, delta) }
            .with(ways.collect::<Result<_>>()?)
    }
    fn of(epsilon: &Exact, delta: &Exact) -> Self {
        let (epsilon, delta) = (epsilon.clone(), delta.clone());
        AdaptiveAccount { epsilon, delta, ways: Vec::new(), began: false, only: false }
    }
    fn with(self, ways: Vec<Way>) -> Result<Self> {
        if !self.epsilon.is_finite() || 1.0 <= self.delta.to_f64_up() {
            let reason = "expected a finite epsilon and a delta below 1";
            return Err(Error::InvalidDistance(reason.into()));
        }
        Ok(AdaptiveAccount { ways, ..self })
    }
    /// Find the largest losses of a kind of release that fit a share.
    ///
    /// # Errors
    /// The errors of the computation.
    pub fn room(&self, share: &Share, kind: Kind) -> Result<Room> {
        let mut best = Room::default();
        for way in &self.ways {
            let room = match kind {
                Kind::Gaussian => way.gaussian(share, &self.delta)?,
                _ => way.other(share, &self.delta)?,
            };
            let better = match kind {
                Kind::Gaussian => best.mu_squared < room.mu_squared,
                Kind::Pure => best.epsilon < room.epsilon,
                // The last way is the one with room for deltas.
                Kind::WithDelta => true,
            };
            if better {
                best = room;
            }
        }
        Ok(best)
    }
    /// Charge for a release.
    ///
    /// # Errors
    /// `BudgetExceeded` when no filter has room for it, in which case nothing changes.
    pub fn charge(&mut self, loss: &AdaptiveLoss) -> Result<()> {
        let Some(mut way) = self.way_of(loss)?.cloned() else { return Err(self.exceeded(loss)) };
        way.charge(loss)?;
        if way.pots.is_empty() || way.deltas < way.spent {
            return Err(self.exceeded(loss));
        }
        (self.ways, self.began) = (vec![way], true);
        Ok(())
    }
    /// Open an account with a single filter, for releases whose kinds are known: pure losses up to
    /// a sum, deltas up to a sum, and Gaussian noise with all that remains.
    ///
    /// # Errors
    /// As for [`new`](AdaptiveAccount::new); `BudgetExceeded` when a sum exceeds the budget.
    pub fn reserving(epsilon: &Exact, delta: &Exact, pure: &Exact, deltas: &Exact) -> Result<Self> {
        if epsilon < pure || delta < deltas {
            let reason = "the losses to reserve exceed the budget";
            return Err(Error::BudgetExceeded(reason.into()));
        }
        let own = delta.minus(deltas);
        let (most, at) = (epsilon.to_f64_down(), own.to_f64_down());
        let mu = if pure == epsilon { 0.0 } else { joined_mu(pure.to_f64_up(), most, at)? };
        let pot = match mu {
            0.0 => Pot::simple(pure.clone(), own),
            _ => Pot::of(pure.clone(), Exact::from_f64(mu)?, own),
        };
        let way = Way { deltas: deltas.clone(), spent: Exact::ZERO, pots: vec![pot] };
        AdaptiveAccount { began: true, ..AdaptiveAccount::of(epsilon, delta) }.with(vec![way])
    }
    /// Return the remaining room of each filter that has admitted all releases so far.
    pub fn filters(&self) -> Vec<Room> {
        let ways = self.ways.iter().flat_map(|way| way.pots.iter().map(move |pot| (way, pot)));
        let room = |(way, pot): (&Way, &Pot)| Room {
            epsilon: pot.pure_left(),
            delta: way.deltas.minus(&way.spent),
            mu_squared: pot.square_left(),
        };
        ways.map(room).collect()
    }
    /// Whether a release was charged, or a filter was reserved.
    pub fn has_begun(&self) -> bool {
        self.began
    }
    /// Whether a release would be admitted.
    pub fn admits(&self, loss: &AdaptiveLoss) -> bool {
        self.clone().charge(loss).is_ok()
    }
    /// Return the largest epsilon and delta that one more release could have, rounded down.
    ///
    /// # Errors
    /// The errors of the computation.
    pub fn left(&self) -> Result<(Exact, Exact)> {
        match self.ways.first() {
            Some(way) if self.began => way.left(&self.epsilon),
            _ => Ok((self.epsilon.clone(), self.delta.clone())),
        }
    }
    /// Return an epsilon and a delta of all releases so far, rounded up, as if the releases were
    /// fixed in advance. For releases chosen in view of answers, the budget holds at any time.
    ///
    /// # Errors
    /// The errors of the computation.
    pub fn spent(&self) -> Result<(Exact, Exact)> {
        match self.ways.first() {
            // The filter is within its limits, so within the budget's epsilon.
            Some(way) if self.began => {
                way.total().map(|(epsilon, delta)| (epsilon.min(self.epsilon.clone()), delta))
            }
            _ => Ok((Exact::ZERO, Exact::ZERO)),
        }
    }
    /// The budget: an epsilon and a delta.
    pub fn budget(&self) -> (&Exact, &Exact) {
        (&self.epsilon, &self.delta)
    }
    /// Choose how to divide delta for a release: for Gaussian noise, if it is one or if a pure loss
    /// is a smaller part of the Gaussian filter than of epsilon.
    fn way_of(&self, loss: &AdaptiveLoss) -> Result<Option<&Way>> {
        let (gaussian, others) = (self.ways.first(), self.ways.last());
        if loss.mu_squared.is_some() {
            return Ok(gaussian);
        }
        if self.began || self.only || !loss.delta.is_zero() {
            return Ok(others);
        }
        let Some(pot) = gaussian.and_then(|way| way.pots.first()) else { return Ok(others) };
        let part = square(mu_of_pure(loss.epsilon.to_f64_up())?)?.over(&pot.squares);
        Ok(if part < loss.epsilon.over(&self.epsilon) { gaussian } else { others })
    }
    #[cold]
    fn exceeded(&self, loss: &AdaptiveLoss) -> Error {
        let (epsilon, delta) = (loss.epsilon.to_f64_up(), loss.delta.to_f64_up());
        let left = self.left().map(|(e, d)| (e.to_f64_down(), d.to_f64_down()));
        let left = left.map_or_else(|_| "?".into(), |(e, d)| format!("({e}, {d})"));
        Error::BudgetExceeded(format!(
            "the query loses ({epsilon}, {delta}), and {left} is left of the budget"
        ))
    }
}
#[cfg(test)]
mod tests;
