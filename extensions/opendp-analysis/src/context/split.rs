//! Ways to divide a budget among queries.

use opendp_core::arith::{Exact, shown};
use opendp_core::{Error, Result};
use opendp_measurements::Collected;

use opendp_measurements::accounting::SharePair;

use super::account::Wanted;
use super::budget::exact;

/// A way to divide a budget among queries.
///
/// A share is a part of the remaining budget. So later queries can use the part of a share that was
/// not spent. By contrast, the shares of [`by_kinds`](Split::by_kinds) are fixed in advance.
#[derive(Clone, Debug, PartialEq)]
pub struct Split(Kind);
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// For each query, the sum of its weight and all later weights.
    Weights(Vec<Exact>),
    AsYouGo,
    Fixed(Vec<(ShareKind, f64)>),
}
/// The kind of noise for which a share of the budget is fixed in advance. The documentation of each
/// kind states the loss for a weight. Later, the losses of all shares are multiplied by one common
/// factor: see [`Split::by_kinds`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareKind {
    /// Any noise whose loss has no delta, such as Laplace noise on a count. With a weight of `w`,
    /// the loss is an epsilon of `w`.
    Pure,
    /// Laplace noise on a sum or a mean of floats. For Laplace noise on integers, the kind of the
    /// share is [`Pure`](ShareKind::Pure). With a weight of `w`, the loss is an epsilon of `w`.
    Laplace,
    /// Gaussian noise. With a weight of `w`, the loss is a `mu` of `w` in Gaussian differential
    /// privacy.
    Gaussian,
    /// A number of successive choices among candidates. A quantile needs one choice. If one
    /// question is about `n` quantiles and `n` is at least 3, the question needs
    /// `1 + floor(log2(n))` choices. A question about two quantiles needs two choices, and their
    /// ranges can differ. So the share admits such a question only if the question has a pure loss.
    /// Let `k` be the number of choices. With a weight of `w`, each choice has a bounded range of
    /// `2 w / sqrt(k)`. So each choice has a `rho` of `w^2 / (2 k)`, and all choices together have
    /// a `rho` of `w^2 / 2`. Gaussian noise with a `mu` of `w` has the same `rho`.
    Choices(u32),
    /// Counts by keys that are not public. All shares of this kind together get a quarter of delta.
    /// With a weight of `w`, the loss is an epsilon of `w`.
    Keys,
}
/// The largest number of equal shares. A list of all shares must fit into memory.
const MOST_QUERIES: usize = 1_000_000;

impl Split {
    /// Divide the budget evenly over `queries`.
    ///
    /// # Errors
    /// `Argument` when `queries` is zero, or more than a million.
    pub fn evenly(queries: usize) -> Result<Self> {
        if MOST_QUERIES < queries {
            let reason = format!("expected at most {MOST_QUERIES} queries, found {queries}");
            return Err(Error::argument("split", reason));
        }
        Split::by_weights(&vec![1.0; queries])
    }
    /// Divide the budget in proportion to weights. There is one weight for each query, in the order
    /// in which the queries are asked.
    ///
    /// # Errors
    /// `Argument` when there are no weights, or a weight is not positive and finite.
    pub fn by_weights(weights: &[f64]) -> Result<Self> {
        if weights.is_empty() {
            return Err(Error::argument("split", "expected at least one query, found none"));
        }
        if let Some(bad) = weights.iter().find(|weight| !(0.0 < **weight && weight.is_finite())) {
            let reason = format!("expected finite weights above 0, found {}", shown(*bad));
            return Err(Error::argument("split", reason));
        }
        let (mut sums, mut rest) = (exact(weights, Exact::written)?, Exact::ZERO);
        for sum in sums.iter_mut().rev() {
            rest = rest.plus(sum);
            *sum = rest.clone();
        }
        Ok(Split(Kind::Weights(sums)))
    }
    /// Divide an epsilon and a delta in proportion to weights, and fix the kind of noise of each
    /// query in advance. There is one entry of `shares` for each query, in the order in which the
    /// queries are asked.
    ///
    /// All losses are multiplied by one factor, so that the composition of all losses uses the
    /// whole budget. The distribution of the loss of each kind is known. So the noise of choices
    /// and Laplace noise on floats can be smaller than with [`evenly`](Split::evenly). The shares
    /// are computed when the context is opened. Another version of this crate can compute slightly
    /// different shares. So use `Context::carry_over` only with the version of this crate that
    /// opened the earlier context.
    /// [`SharedAccount`](opendp_measurements::accounting::SharedAccount) documents the shares and
    /// states what is proved. The unused part of a share is lost. If a query has another kind of
    /// noise than its share, there are two cases. If the dominating pair of the share also
    /// dominates the loss of the query, the query is allowed. Otherwise, the query is an error.
    ///
    /// ```
    /// # use opendp_analysis::{Budget, Context, PrivacyUnit, ShareKind, Split, Table};
    /// # let table = Table::new().with("age", (0..1000).map(|i| i % 90).collect::<Vec<i64>>())?;
    /// let (unit, budget) = (PrivacyUnit::person(1)?, Budget::epsilon_delta(1.0, 1e-6)?);
    /// let mut shares = vec![(ShareKind::Choices(1), 1.0); 30];
    /// shares.push((ShareKind::Gaussian, 2.0));
    /// let context = Context::new(table, unit, budget, Split::by_kinds(&shares)?)?;
    /// for _ in 0..30 {
    ///     let ages = context.query().column::<i64>("age");
    ///     ages.median((0..90).collect()).choose()?.release()?;
    /// }
    /// // The next share is for Gaussian noise.
    /// let people = context.query().count().gaussian()?.release()?;
    /// assert_eq!(context.query().count().gaussian().unwrap_err().kind(), "BudgetExceeded");
    /// # let _ = people;
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Argument` when there are no shares, or a weight is not positive and finite.
    pub fn by_kinds(shares: &[(ShareKind, f64)]) -> Result<Self> {
        let weights = shares.iter().map(|(_, weight)| *weight).collected();
        Split::by_weights(&weights)?;
        Ok(Split(Kind::Fixed(shares.to_vec())))
    }
    /// Return the dominating pair of each share, if the shares are fixed in advance. `delta` is the
    /// delta of the budget. The account then multiplies all losses by one factor.
    pub(crate) fn pairs(&self, delta: f64) -> Option<Vec<SharePair>> {
        let Kind::Fixed(shares) = &self.0 else { return None };
        let keys = shares.iter().filter(|(kind, _)| *kind == ShareKind::Keys).count();
        // All shares for keys together get a quarter of delta. The rest of delta is for the
        // composition of all losses.
        let delta = delta / 4.0 / keys.max(1) as f64;
        let pair = |&(kind, weight): &(ShareKind, f64)| match kind {
            ShareKind::Pure => SharePair::Private { epsilon: weight, delta: 0.0 },
            ShareKind::Laplace => SharePair::Laplace { epsilon: weight },
            ShareKind::Gaussian => SharePair::Gaussian { mu: weight },
            ShareKind::Choices(count) => {
                let range = 2.0 * weight / f64::from(count.max(1)).sqrt();
                SharePair::Choices { range, count }
            }
            ShareKind::Keys => SharePair::Private { epsilon: weight, delta },
        };
        Some(shares.iter().map(pair).collected())
    }
    /// Let the analyst set a limit on the cost of each query, one query after another.
    pub fn as_you_go() -> Self {
        Split(Kind::AsYouGo)
    }
    /// Return whether the shares are fixed in advance, by [`by_kinds`](Split::by_kinds).
    pub(crate) fn is_fixed(&self) -> bool {
        matches!(self.0, Kind::Fixed(_))
    }
    /// Return the number of queries, if it is known.
    pub fn queries(&self) -> Option<usize> {
        match &self.0 {
            Kind::Weights(sums) => Some(sums.len()),
            Kind::Fixed(shares) => Some(shares.len()),
            Kind::AsYouGo => None,
        }
    }
    /// Find the share of the next query, after `asked` queries. `wanted` is the amount that the
    /// query states, or `None` if the query states no amount.
    pub(crate) fn share(&self, asked: usize, wanted: Option<&[Exact]>) -> Result<Wanted> {
        match (&self.0, wanted) {
            (Kind::Weights(_), None) => self.share_of(asked, 1, None),
            (Kind::AsYouGo, Some(wanted)) => Ok(Wanted::Amount(wanted.to_vec())),
            (Kind::AsYouGo, None) => Err(Error::argument(
                "spending",
                "this budget is spent as you go: state what the query may cost, such as \
                 `.spending(Budget::epsilon(0.1)?)`",
            )),
            (Kind::Fixed(shares), None) if asked < shares.len() => Ok(Wanted::Share(asked)),
            (Kind::Fixed(_), None) => Err(self.over(asked, 1)),
            (Kind::Weights(_) | Kind::Fixed(_), Some(_)) => Err(Error::argument(
                "spending",
                "this budget was divided among its queries beforehand; leave `.spending(..)` out, \
                 or make the context with `Split::as_you_go()`",
            )),
        }
    }
    /// Find the share of the next `count` queries together, after `asked` queries. If the budget is
    /// spent as you go and `wanted` is `None`, the share is the whole remaining budget.
    pub(crate) fn share_of(
        &self,
        asked: usize,
        count: usize,
        wanted: Option<&[Exact]>,
    ) -> Result<Wanted> {
        match (&self.0, wanted) {
            (Kind::AsYouGo, None) => Ok(Wanted::Fraction(Exact::from_f64(1.0)?)),
            (Kind::Weights(sums), None) => {
                let end = asked.saturating_add(count);
                let rest = sums.get(asked).filter(|_| 0 < count && end <= sums.len());
                let Some(rest) = rest else { return Err(self.over(asked, count)) };
                // The last query gets the whole remaining budget, without rounding.
                let now = sums.get(end).map_or_else(|| rest.clone(), |later| rest.minus(later));
                Ok(Wanted::Fraction(now.over(rest)))
            }
            (Kind::Fixed(_), _) => Err(Error::argument(
                "split",
                "a plan finds its own noise, and the shares of this budget are fixed for kinds of \
                 noise; ask the questions one by one, or make the context with `Split::evenly(n)`",
            )),
            _ => self.share(asked, wanted),
        }
    }
    /// Check that the split has shares for the next `count` queries.
    pub(crate) fn admit(&self, asked: usize, count: usize) -> Result<()> {
        match self.queries() {
            Some(queries) if queries < asked + count => Err(self.over(asked, count)),
            _ => Ok(()),
        }
    }
    /// Make the error for `count` queries after `asked` queries, if too few queries are left.
    #[cold]
    fn over(&self, asked: usize, count: usize) -> Error {
        let queries = self.queries().unwrap_or_default();
        let reason = match queries.saturating_sub(asked) {
            0 => "no query is left".to_owned(),
            left => format!("the plan has more questions, {count}, than queries are left, {left}"),
        };
        Error::BudgetExceeded(format!(
            "{reason}; the number of queries that share the budget was fixed as {queries}; nothing \
             was run"
        ))
    }
}
