//! One filter of an [`AdaptiveAccount`](super::AdaptiveAccount).

use opendp_core::arith::Exact;

use super::adaptive::AdaptiveLoss;

/// A filter with two limits: one for the sum of the pure losses, and one for the sum of the `mu^2`
/// of Gaussian noise. Here `mu` is the parameter of Gaussian differential privacy, and `rho` is the
/// parameter of zero-concentrated differential privacy. A concentrated filter has only one limit: a
/// limit for the sum of the `2 rho` of all losses. A Renyi filter is a concentrated filter with an
/// order `a`. For each loss, take `2 / a` times the Renyi divergence of this order. The only limit
/// of a Renyi filter is for the sum of these numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pot {
    /// The limit for the sum of the pure losses.
    pub(super) pure: Exact,
    pub(super) pure_spent: Exact,
    /// The limit for the sum of the `mu^2`.
    pub(super) squares: Exact,
    pub(super) squares_spent: Exact,
    /// The delta at the budget's epsilon if all limits of the filter are reached.
    pub(super) failure: Exact,
    pub(super) failures_spent: Exact,
    /// Whether the filter charges the epsilon of every release. If so, the filter also charges the
    /// delta of each release with a `mu^2`.
    pub(super) simple: bool,
    /// Whether this is a concentrated filter. A concentrated filter without an order charges twice
    /// the `rho` of each loss. The field `order` states the charge of a filter with an order. In
    /// both cases, `squares_spent` is the sum of the charges, and `squares` is the limit for this
    /// sum. For Gaussian noise, `2 rho` is `mu^2`.
    pub(super) concentrated: bool,
    /// The order `a` of a Renyi filter. The filter charges `2 / a` times the divergence of this
    /// order, instead of `2 rho`. For Gaussian noise, this charge is also `mu^2`. A concentrated
    /// filter without an order can come from the JSON of an older version.
    pub(super) order: Option<Exact>,
    /// Whether the limits are planned for known releases. The room for pure losses is `pure` minus
    /// `pure_spent`. If the limits are planned, the filter charges the epsilon of each pure loss
    /// that fits into this room. For a pure loss that does not fit, the filter charges a `mu^2`.
    pub(super) planned: bool,
}
/// The amounts that one loss can add to `squares_spent` of a filter. A filter that charges the
/// epsilon of this loss does not use these amounts.
pub(super) struct Sizes {
    /// A bound on `mu^2`.
    pub(super) square: Exact,
    /// If the filter has an order `a`, a bound on `2 / a` times the divergence of this order.
    /// Otherwise, a bound on `2 rho`.
    pub(super) twice_rho: Exact,
}
impl Pot {
    /// Make a filter with two limits: `pure` for the sum of the pure losses, and the square of `mu`
    /// for the sum of the `mu^2`. The delta of the filter is `failure`.
    pub(super) fn of(pure: Exact, mu: Exact, failure: Exact) -> Self {
        Pot { squares: mu.times(&mu), simple: false, ..Pot::simple(pure, failure) }
    }
    /// Make a Renyi filter of the order `order`. The filter limits the sum of the divergences of
    /// all losses to `order * squares / 2`. The delta of the filter is `failure`.
    pub(super) fn renyi(order: Exact, squares: Exact, failure: Exact) -> Self {
        let (simple, concentrated, order) = (false, true, Some(order));
        Pot { squares, simple, concentrated, order, ..Pot::simple(Exact::ZERO, failure) }
    }
    /// Make a filter that adds up epsilons. The filter also adds up the deltas of releases with a
    /// `mu^2`. The sum of these deltas is limited to `failure`.
    pub(super) fn simple(pure: Exact, failure: Exact) -> Self {
        Pot {
            pure,
            pure_spent: Exact::ZERO,
            squares: Exact::ZERO,
            squares_spent: Exact::ZERO,
            failure,
            failures_spent: Exact::ZERO,
            simple: true,
            concentrated: false,
            order: None,
            planned: false,
        }
    }
    pub(super) fn pure_left(&self) -> Exact {
        self.pure.minus(&self.pure_spent)
    }
    pub(super) fn square_left(&self) -> Exact {
        self.squares.minus(&self.squares_spent)
    }
    pub(super) fn failure_left(&self) -> Exact {
        self.failure.minus(&self.failures_spent)
    }
    /// Charge the filter for a release with this loss. The filter charges either the epsilon of the
    /// loss, or one of the amounts in `sizes`. Return whether all sums are still at most their
    /// limits.
    pub(super) fn charge(&mut self, loss: &AdaptiveLoss, sizes: &Sizes) -> bool {
        let square = if self.concentrated { &sizes.twice_rho } else { &sizes.square };
        let gaussian = loss.mu_squared.is_some();
        if self.simple && gaussian {
            self.failures_spent = self.failures_spent.plus_term(&loss.delta);
        }
        let pure = !gaussian && !self.concentrated && self.rather_pure(&loss.epsilon, square);
        if self.simple || pure {
            self.pure_spent = self.pure_spent.plus_term(&loss.epsilon);
        } else {
            self.squares_spent = self.squares_spent.plus_term(square);
        }
        self.pure_spent <= self.pure
            && self.squares_spent <= self.squares
            && self.failures_spent <= self.failure
    }
    /// Return whether to charge a pure loss as a pure loss, and not as a `mu^2`. If the loss is
    /// charged as a pure loss, it uses up a share of the remaining room for pure losses. If the
    /// loss is charged as a `mu^2`, it uses up a share of the remaining room for Gaussian noise.
    /// The result is true if two conditions hold. First, the loss fits into the room for pure
    /// losses. Second, `epsilon` divided by this room is at most `square` divided by the room for
    /// Gaussian noise. If the limits are planned, the first condition is enough.
    fn rather_pure(&self, epsilon: &Exact, square: &Exact) -> bool {
        let (pure, squares) = (self.pure_left(), self.square_left());
        epsilon <= &pure && (self.planned || epsilon.times(&squares) <= square.times(&pure))
    }
}
