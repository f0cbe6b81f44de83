//! Ways to divide a budget among queries.

use opendp_core::arith::Exact;
use opendp_core::{Error, Result};

use super::account::Wanted;

/// A way to divide a budget among queries.
///
/// A share is a part of the remaining budget. So the unspent rest of a share remains for the next
/// queries.
#[derive(Clone, Debug, PartialEq)]
pub struct Split(Kind);
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Weights(Vec<Exact>),
    AsYouGo,
}
impl Split {
    /// Divide the budget evenly over `queries`.
    ///
    /// # Errors
    /// `Argument` when `queries` is zero.
    pub fn evenly(queries: usize) -> Result<Self> {
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
            let reason = format!("expected positive weights, found {bad}");
            return Err(Error::argument("split", reason));
        }
        Ok(Split(Kind::Weights(weights.iter().map(|w| Exact::written(*w)).collect::<Result<_>>()?)))
    }
    /// Let the analyst set the largest cost of each query, one query after another.
    pub fn as_you_go() -> Self {
        Split(Kind::AsYouGo)
    }
    /// Return the number of queries, if it is known.
    pub fn queries(&self) -> Option<usize> {
        match &self.0 {
            Kind::Weights(weights) => Some(weights.len()),
            Kind::AsYouGo => None,
        }
    }
    /// Find the share of the next query, after `asked` queries.
    pub(crate) fn share(&self, asked: usize, wanted: Option<&[Exact]>) -> Result<Wanted> {
        match (&self.0, wanted) {
            (Kind::Weights(weights), None) => {
                let rest = weights.get(asked..).unwrap_or_default();
                let Some(weight) = rest.first() else { return Err(self.over()) };
                // The last query gets the whole remaining budget, without rounding.
                let sum = rest.iter().fold(Exact::ZERO, |sum, weight| sum.plus(weight));
                Ok(Wanted::Fraction(weight.over(&sum)))
            }
            (Kind::AsYouGo, Some(wanted)) => Ok(Wanted::Amount(wanted.to_vec())),
            (Kind::AsYouGo, None) => Err(Error::argument(
                "spending",
                "this budget is spent as you go: say what the query may cost, for instance \
                 `.spending(Budget::epsilon(0.1)?)`",
            )),
            (Kind::Weights(_), Some(_)) => Err(Error::argument(
                "spending",
                "this budget was divided among its queries beforehand; leave `.spending(..)` out, \
                 or make the context with `Split::as_you_go()`",
            )),
        }
    }
    /// Find the share of the next `count` queries together. If the budget is spent as you go and no
    /// amount is wanted, the share is the remaining budget.
    pub(crate) fn share_of(
        &self,
        asked: usize,
        count: usize,
        wanted: Option<&[Exact]>,
    ) -> Result<Wanted> {
        match (&self.0, wanted) {
            (Kind::AsYouGo, None) => Ok(Wanted::Fraction(Exact::from_f64(1.0)?)),
            (Kind::Weights(weights), None) if 0 < count && asked + count <= weights.len() => {
                let sum = |weights: &[Exact]| {
                    weights.iter().fold(Exact::ZERO, |sum, weight| sum.plus(weight))
                };
                let (now, later) = weights.get(asked..).unwrap_or_default().split_at(count);
                let now = sum(now);
                Ok(Wanted::Fraction(now.over(&now.plus(&sum(later)))))
            }
            (Kind::Weights(_), None) => Err(self.over()),
            _ => self.share(asked, wanted),
        }
    }
    /// Check that the next `count` queries are among the planned ones.
    pub(crate) fn admit(&self, asked: usize, count: usize) -> Result<()> {
        match self.queries() {
            Some(queries) if queries < asked + count => Err(self.over()),
            _ => Ok(()),
        }
    }
    #[cold]
    fn over(&self) -> Error {
        Error::BudgetExceeded(format!(
            "the budget was divided among {} queries, and all of them have been asked; nothing was \
             run",
            self.queries().unwrap_or_default()
        ))
    }
}
