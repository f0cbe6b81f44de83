//! An account whose shares are fixed in advance, each with its own dominating pair.

use opendp_core::arith::{Directed, Exact};
use opendp_core::{Error, Result};
use serde_json::{Value as Json, json};

use super::{Account, SharePair, concentrated_delta, concentrated_epsilon};
use crate::collected::Collected;

/// An account with a budget of an epsilon and a delta. The budget is divided into shares before the
/// first release. Each share has a dominating pair.
///
/// An [`AdaptiveAccount`](super::AdaptiveAccount) does not know the kinds of later releases. So an
/// adaptive account charges every pure loss as randomized response or as a normal shift, and
/// divides delta among its filters. A shared account knows the kinds, so it composes the
/// distributions of the losses of these kinds.
///
/// # What is proved
///
/// Together, the releases are `(epsilon, delta)`-DP, where epsilon and delta are the two numbers of
/// the budget. Three choices may depend on all earlier answers: the choice of each release, the
/// order in which shares are used, and the decision to continue. The shares and their pairs must
/// not depend on any answer.
///
/// *Proof.* Let `A` be a set of shares. Claim: the product of the pairs of `A` dominates every
/// interaction that uses only shares of `A`, each at most once. The proof is by induction over the
/// size of `A`. For an interaction without releases, the distributions on the two neighbours are
/// equal, and every pair dominates them. Let the first release use the share `s`. The pair of `s`
/// dominates the release ([`SharePair::dominates`]). Given any answer, the rest of the interaction
/// uses only the other shares of `A`. So by the claim for fewer shares, the product of the pairs of
/// these shares dominates the rest. This product is the same for all answers. So the product of all
/// pairs of `A` dominates the interaction (adaptive composition of dominating pairs: Zhu, Dong,
/// Wang 2022, Theorem 10). If the choice of the first share is random, the claim follows from
/// convexity. [`new`](SharedAccount::new) uses [`Account`] to compute the delta of this product for
/// all shares, in both directions.
///
/// There is a second bound. Suppose that every release of each share has a known `rho`. Then the
/// sum of all `rho` bounds the whole interaction (Bun, Steinke 2016, Lemma 2.3), because each `rho`
/// is the same for all answers. [`concentrated_delta`] converts the sum to a delta. The shares fit
/// the budget if one of the two bounds is within the budget. If many releases are choices, the
/// second bound can be the smaller bound. The reason is that the dominating pair of a choice
/// dominates all mechanisms of its range at once.
///
/// Discrete Gaussian noise on vectors has no single pair, because shifts of equal length can have
/// different losses. [`Account`] bounds these shares by smoothing (normal noise is added to the
/// total loss), or by a recursion over the worst shift. Both bounds hold even if a shift depends on
/// all losses so far. Both bounds also hold if other releases come between the releases of these
/// shares, or if some shares are not used. Smoothing replaces the releases from the last to the
/// first, and multiplies the bound by a factor for each release. The factor of a release depends
/// only on the number of later releases of the same kind. The bound on the product of all factors
/// holds for any order of the releases. If a release is left out, the proof of smoothing adds the
/// loss of normal noise in place of this release. This added loss does not reduce delta.
///
/// For the pair of a Poisson sample, neighbours differ by an added or removed record. So delta can
/// depend on the direction. The account assumes that all releases have the same direction: see
/// [`SharePair::SampledGaussian`]. All other pairs give the same delta in both directions.
///
/// | pair of the share | releases that it admits | theorem |
/// |---|---|---|
/// | `Private` | every `(epsilon, delta)`-DP release | Kairouz, Oh, Viswanath 2015 |
/// | `Laplace` | Laplace noise on real numbers, of a smaller loss | Dong, Roth, Su 2022 |
/// | `DiscreteLaplace` | discrete Laplace noise, of a smaller distance or a larger scale | the proof of [`SharePair::dominates`] |
/// | `DiscreteGaussian` | discrete Gaussian noise of the same scale, of a smaller distance | Canonne, Kamath, Steinke 2020, and the paragraph above |
/// | `Gaussian` | `mu`-GDP releases, choices and pure losses, of a smaller `mu` | Dong, Roth, Su 2022 |
/// | `SampledGaussian` | Gaussian noise on Poisson samples, of a smaller `mu` or rate | Zhu, Dong, Wang 2022, Theorem 11 |
/// | `Choices` | choices and pure losses, of a smaller range | Dong, Durfee, Rogers 2020 |
/// | all, in any order | | Zhu, Dong, Wang 2022, Theorem 10 |
/// | shares with a `rho`, in any order | | Bun, Steinke 2016, Lemma 2.3; Cesar, Rogers 2021 |
/// | shares that depend on answers | refused: use an [`AdaptiveAccount`](super::AdaptiveAccount) | |
/// | interactive releases whose conversations are interleaved | not covered by these theorems | |
///
/// ```
/// use opendp_measurements::accounting::{SharePair, SharedAccount};
/// // Sixteen medians, each a choice among candidates. The account finds the largest ranges.
/// let medians = vec![SharePair::Choices { range: 1.0, count: 1 }; 16];
/// let mut account = SharedAccount::fitting(&"1".parse()?, &"1e-6".parse()?, &medians)?;
/// let SharePair::Choices { range, .. } = account.shares()[0] else { panic!() };
/// assert!(0.108 < range); // a sixteenth of epsilon is 0.0625
/// account.charge(0, &SharePair::Choices { range: 0.1, count: 1 })?;
/// // A share for one choice does not admit two choices.
/// assert!(account.charge(1, &SharePair::Choices { range: 0.1, count: 2 }).is_err());
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SharedAccount {
    epsilon: Exact,
    delta: Exact,
    shares: Vec<SharePair>,
    /// Whether each share was used.
    used: Vec<bool>,
}

/// [`SharedAccount::factor`] stops if the factor is known up to this relative error.
const CLOSE: f64 = 1e-6;
/// If all shares have Gaussian noise, [`SharedAccount::factor`] stops at this relative error
/// instead. The composition of such shares is computed faster than other compositions, and with a
/// smaller error.
const CLOSER: f64 = 1e-9;
/// The factor that [`SharedAccount::factor`] tries first. If the shares do not fit the budget at
/// this factor, the next factor is 1.
const FIRST: f64 = 1.02;
/// The least and the largest factor that [`SharedAccount::factor`] tries.
const FACTORS: std::ops::Range<f64> = 1e-100..1e100;

impl SharedAccount {
    /// Open an account with a budget and its shares.
    ///
    /// # Errors
    /// * `BudgetExceeded` when the composition of all shares exceeds the budget
    /// * `InvalidDistance` when a number of a share is not allowed, or when the budget is not a
    ///   finite epsilon and a delta below 1
    pub fn new(epsilon: &Exact, delta: &Exact, shares: &[SharePair]) -> Result<Self> {
        if !epsilon.is_finite() || 1.0 <= delta.to_f64_up() {
            let reason = "expected a finite epsilon and a delta below 1";
            return Err(Error::InvalidDistance(reason.into()));
        }
        let shares = shares.iter().map(|pair| pair.checked()).try_collected()?;
        let (epsilon, delta) = (epsilon.clone(), delta.clone());
        let account = SharedAccount { used: vec![false; shares.len()], epsilon, delta, shares };
        if account.fits(&account.shares)? {
            return Ok(account);
        }
        let reason = "the shares together exceed the budget; make their losses smaller";
        Err(Error::BudgetExceeded(reason.into()))
    }
    /// Open an account whose shares have the given proportions, and are as large as the budget
    /// allows. The [factor](SharedAccount::factor) of `shares` multiplies the losses of all
    /// `shares`.
    ///
    /// # Errors
    /// The errors of [`new`](SharedAccount::new).
    pub fn fitting(epsilon: &Exact, delta: &Exact, shares: &[SharePair]) -> Result<Self> {
        let factor = SharedAccount::factor(epsilon, delta, shares)?;
        let shares: Vec<_> = shares.iter().map(|pair| pair.times(factor)).collected();
        SharedAccount::new(epsilon, delta, &shares)
    }
    /// Find a factor by which the losses of all shares can be [multiplied](SharePair::times), so
    /// that the shares together fit the budget. The relative difference between the result and the
    /// largest such factor is at most a millionth. If all shares have Gaussian noise, this
    /// difference is at most a billionth.
    ///
    /// # Errors
    /// The errors of [`new`](SharedAccount::new).
    pub fn factor(epsilon: &Exact, delta: &Exact, shares: &[SharePair]) -> Result<f64> {
        let empty = SharedAccount::new(epsilon, delta, &[])?;
        let fits = |factor: f64| {
            let all = shares.iter().map(|pair| pair.times(factor).checked());
            all.try_collected().map_or(Ok(false), |all| empty.fits(&all))
        };
        // If the shares were already planned for this budget, the result is usually near 1. So the
        // search starts near 1. The composition can be slow at a factor that is far from the
        // result.
        let (mut low, mut high, mut by) = (1.0, FIRST, FIRST);
        while high < FACTORS.end && fits(high)? {
            by = (by * by).min(2.0);
            (low, high) = (high, high * by);
        }
        while FACTORS.start < low && !fits(low)? {
            (low, high) = (low / by, low);
            by = (by * by).min(2.0);
        }
        let gaussian = |pair: &SharePair| {
            matches!(pair, SharePair::Gaussian { .. } | SharePair::DiscreteGaussian { .. })
        };
        let close = if shares.iter().all(gaussian) { CLOSER } else { CLOSE };
        while low * (1.0 + close) < high {
            let middle = low + (high - low) / 2.0;
            if fits(middle)? { low = middle } else { high = middle }
        }
        Ok(low)
    }
    /// Return whether the composition of some shares is within the budget. The shares fit if one of
    /// two bounds is within the budget.
    fn fits(&self, shares: &[SharePair]) -> Result<bool> {
        let (epsilon, limit) = (self.epsilon.to_f64_down(), self.delta.to_f64_down());
        if let Some(rho) = total_rho(shares.iter())
            && concentrated_delta(rho, epsilon).is_ok_and(|delta| delta <= limit)
        {
            return Ok(true);
        }
        Ok(composed(shares.iter()).delta_above(epsilon)? <= limit)
    }
    /// Use the share with the index `place` for a release that has the pair `release`.
    ///
    /// # Errors
    /// `BudgetExceeded` when no share has this index, when the share was used before, or when the
    /// pair of the share does not dominate the release. `InvalidDistance` when a number of
    /// `release` is not allowed. In both cases, the account stays unchanged.
    pub fn charge(&mut self, place: usize, release: &SharePair) -> Result<()> {
        let (Some(share), Some(used)) = (self.shares.get(place), self.used.get_mut(place)) else {
            return Err(Error::BudgetExceeded(format!("the budget has no share {place}")));
        };
        if *used {
            return Err(Error::BudgetExceeded(format!("share {place} was used before")));
        }
        if !share.dominates(&release.checked()?) {
            return Err(Error::BudgetExceeded(format!(
                "the loss of the query is {release:?}, but the share of the query was fixed as \
                 {share:?}"
            )));
        }
        *used = true;
        Ok(())
    }
    /// Return the pairs of all shares.
    pub fn shares(&self) -> &[SharePair] {
        &self.shares
    }
    /// Return the index of the first share that was not used.
    pub fn next_share(&self) -> Option<usize> {
        self.used.iter().position(|used| !used)
    }
    /// Return the budget: an epsilon and a delta.
    pub fn budget(&self) -> (&Exact, &Exact) {
        (&self.epsilon, &self.delta)
    }
    /// Return an epsilon and a delta of the used shares, rounded up. These two numbers are a valid
    /// bound if the set of used shares was fixed in advance. Otherwise only the whole budget is a
    /// valid bound.
    ///
    /// # Errors
    /// The errors of [`Account::epsilon`].
    pub fn spent(&self) -> Result<(Exact, Exact)> {
        self.loss_of(true, Account::epsilon_above)
    }
    /// Return an epsilon and a delta of the shares that were not used, rounded down. If no share
    /// was used, return the budget. If the delta of the budget is 0, the returned epsilon is the
    /// epsilon of the budget minus the epsilon of the used shares.
    ///
    /// # Errors
    /// The errors of [`Account::epsilon`].
    pub fn left(&self) -> Result<(Exact, Exact)> {
        if !self.used.contains(&true) {
            return Ok((self.epsilon.clone(), self.delta.clone()));
        }
        if self.delta.is_zero() {
            // If delta is 0, the epsilons of shares add up.
            let (spent, _) = self.spent()?;
            return Ok((self.epsilon.minus(&spent), Exact::ZERO));
        }
        self.loss_of(false, Account::epsilon_below)
    }
    /// Return an epsilon and a delta of the used or the unused shares. `bound` computes the epsilon
    /// of the composition of these shares. If the sum of all `rho` is known, the conversion of this
    /// sum gives a second epsilon. The returned epsilon is the least of the computed epsilons and
    /// the budget's epsilon. If there are no used (or unused) shares, the returned delta is 0.
    /// Otherwise, the returned delta is the budget's delta.
    fn loss_of(
        &self,
        used: bool,
        bound: fn(&Account, f64) -> Result<f64>,
    ) -> Result<(Exact, Exact)> {
        let account = composed(self.of(used));
        let delta = self.delta.to_f64_down();
        let known = total_rho(self.of(used)).and_then(|rho| concentrated_epsilon(rho, delta).ok());
        let epsilon = bound(&account, delta)?.min(known.unwrap_or(f64::INFINITY));
        let epsilon = Exact::from_f64(epsilon)?.min(self.epsilon.clone());
        let delta = if account.parts().is_empty() { Exact::ZERO } else { self.delta.clone() };
        Ok((epsilon, delta))
    }
    fn of(&self, used: bool) -> impl Iterator<Item = &SharePair> {
        let shares = self.shares.iter().zip(&self.used);
        shares.filter(move |(_, state)| **state == used).map(|(share, _)| share)
    }
    /// Convert the account to JSON. The numbers are exact.
    pub fn to_json(&self) -> Json {
        json!({
            "epsilon": self.epsilon.to_string(),
            "delta": self.delta.to_string(),
            "shares": self.shares.iter().map(SharePair::to_json).collected(),
            "used": self.used,
        })
    }
    /// Read an account from JSON. The shares are composed again, and must fit the budget. The
    /// caller must protect the JSON from changes. If the field `used` is changed, a share can be
    /// used twice.
    ///
    /// # Errors
    /// `FailedCast` when a field is missing or wrong, and the errors of
    /// [`new`](SharedAccount::new).
    pub fn from_json(json: &Json) -> Result<Self> {
        let wrong =
            |name: &str| Error::FailedCast(format!("shares as JSON: `{name}` is missing or wrong"));
        let exact = |name: &str| {
            let text = json.get(name).and_then(Json::as_str);
            text.and_then(|text| text.parse::<Exact>().ok()).ok_or_else(|| wrong(name))
        };
        let list = |name: &str| json.get(name).and_then(Json::as_array).ok_or_else(|| wrong(name));
        let shares = list("shares")?.iter().map(SharePair::from_json).try_collected()?;
        let used: Option<Vec<bool>> = list("used")?.iter().map(Json::as_bool).known_collected();
        let used = used.filter(|used| used.len() == shares.len()).ok_or_else(|| wrong("used"))?;
        let account = SharedAccount::new(&exact("epsilon")?, &exact("delta")?, &shares)?;
        Ok(SharedAccount { used, ..account })
    }
}
/// Add up the `rho` of shares, rounded up, if every share has a `rho`.
fn total_rho<'p>(mut shares: impl Iterator<Item = &'p SharePair>) -> Option<f64> {
    shares.try_fold(0.0_f64, |total, share| total.inf_add(share.rho()?).ok())
}
fn composed<'p>(shares: impl Iterator<Item = &'p SharePair>) -> Account {
    // If several equal pairs follow one another in the list, they are added in one call. It would
    // be slow to add many pairs one by one.
    let shares: Vec<&SharePair> = shares.collected();
    shares.chunk_by(|a, b| a == b).fold(Account::new(), |account, equal| match equal {
        [share, ..] => share.add_to(account, equal.len() as u64),
        [] => account,
    })
}

#[cfg(test)]
mod tests;
