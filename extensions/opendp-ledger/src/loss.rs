//! Losses and budgets: exact amounts in a measure.

mod accounted;
mod amount;
mod mismatch;
mod opening;

use std::fmt;

use opendp_core::arith::Exact;
use opendp_core::{Error, Result};
use serde_json::{Map, Value as Json};

use crate::say;
pub use accounted::Accounted;
use amount::{or_its_float, read};
use mismatch::mismatch;
pub(crate) use mismatch::of_study;
pub(crate) use opening::Opening;

/// The separator between losses in a text about several releases that are charged together.
const TOGETHER: &str = "; ";

/// The measures of budgets.
///
/// A loss has one or two parts, such as an epsilon and a delta. In each measure, the sum of the
/// losses of all releases, part by part, bounds the total loss. This bound holds even if a release
/// is chosen after earlier answers were seen. For proofs, see Dwork, McSherry, Nissim, Smith 2006
/// (epsilon), Rogers, Roth, Ullman, Vadhan 2016 (epsilon and delta), and Feldman, Zrnic 2021 (rho).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notion {
    /// Pure differential privacy, `MaxDivergence`: epsilon.
    Pure,
    /// Approximate differential privacy, `Approximate<MaxDivergence>`: epsilon and delta.
    Approximate,
    /// Zero-concentrated differential privacy, `ZeroConcentratedDivergence`: rho.
    Concentrated,
}
impl Notion {
    const ALL: [Notion; 3] = [Notion::Pure, Notion::Approximate, Notion::Concentrated];

    /// Return the name of the measure, as in pipeline documents.
    pub fn name(self) -> &'static str {
        match self {
            Notion::Pure => "max_divergence",
            Notion::Approximate => "approximate_max_divergence",
            Notion::Concentrated => "zero_concentrated_divergence",
        }
    }
    /// Return the names of the parts of a loss in this measure, such as epsilon and delta.
    pub fn parts(self) -> &'static [&'static str] {
        match self {
            Notion::Pure => &["epsilon"],
            Notion::Approximate => &["epsilon", "delta"],
            Notion::Concentrated => &["rho"],
        }
    }
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Notion::ALL.into_iter().find(|notion| notion.name() == name)
    }
}

/// An exact privacy loss: the cost of a release, the total of a budget, or the rest of a budget.
///
/// ```
/// # use opendp_ledger::Loss;
/// let budget = Loss::epsilon_delta("1", "1e-6")?;
/// assert_eq!(budget.to_string(), "epsilon 1, delta 1e-6");
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    notion: Notion,
    parts: Vec<Exact>,
    /// The value `mu^2`, if the release also has `mu`-Gaussian differential privacy.
    mu_squared: Option<Exact>,
    /// The value `rho`, if the loss has a `mu^2` and the release is `rho`-zero-concentrated.
    choice_rho: Option<Exact>,
    /// The losses of several releases that are charged together.
    members: Vec<Loss>,
    /// The new filters of the budget, if the releases were planned for a whole unspent budget. A
    /// filter is a rule that admits or refuses the next release.
    opening: Option<Box<Opening>>,
}
impl Loss {
    /// Make a loss in pure differential privacy from text. The loss is exactly the written number.
    ///
    /// # Errors
    /// `InvalidDistance` when the text is not a number of at least 0, or has too many digits.
    pub fn epsilon(epsilon: &str) -> Result<Self> {
        let epsilon = epsilon.parse().map_err(|error: Error| error.at("epsilon"))?;
        Ok(Loss::of(Notion::Pure, vec![epsilon]))
    }
    /// Make a loss in approximate differential privacy.
    ///
    /// # Errors
    /// `InvalidDistance` when `epsilon` or `delta` is not a number of at least 0 or has too many
    /// digits, or when `delta` is above 1.
    pub fn epsilon_delta(epsilon: &str, delta: &str) -> Result<Self> {
        let epsilon = epsilon.parse().map_err(|error: Error| error.at("epsilon"))?;
        let delta: Exact = delta.parse().map_err(|error: Error| error.at("delta"))?;
        if "1".parse::<Exact>()? < delta {
            return Err(Error::InvalidDistance("delta: expected a number from 0 to 1".into()));
        }
        Ok(Loss::of(Notion::Approximate, vec![epsilon, delta]))
    }
    /// Make a loss in zero-concentrated differential privacy.
    ///
    /// # Errors
    /// `InvalidDistance` when the text is not a number of at least 0, or has too many digits.
    pub fn rho(rho: &str) -> Result<Self> {
        let rho = rho.parse().map_err(|error: Error| error.at("rho"))?;
        Ok(Loss::of(Notion::Concentrated, vec![rho]))
    }
    /// Make a loss from its exact parts, in the order of [`Notion::parts`].
    ///
    /// # Errors
    /// `InvalidDistance` when a part is not finite, or when the number of parts is wrong for the
    /// measure.
    pub fn exact(notion: Notion, parts: Vec<Exact>) -> Result<Self> {
        match parts.len() == notion.parts().len() && parts.iter().all(Exact::is_finite) {
            true => Ok(Loss::of(notion, parts)),
            false => Err(Error::InvalidDistance(format!(
                "a loss in {}: expected only finite numbers, {} in total",
                notion.name(),
                notion.parts().len()
            ))),
        }
    }
    fn of(notion: Notion, parts: Vec<Exact>) -> Self {
        let (mu_squared, choice_rho, members, opening) = (None, None, Vec::new(), None);
        Loss { notion, parts, mu_squared, choice_rho, members, opening }
    }
    /// State that the release also has `mu`-Gaussian differential privacy. The argument is `mu^2`.
    /// A release with continuous Gaussian noise has this property. A budget that composes tightly
    /// ([`Ledger::create_tight`](crate::Ledger::create_tight)) charges this `mu^2`. Any other
    /// budget ignores `mu^2`. The release must also have the epsilon and the delta of the loss.
    ///
    /// # Errors
    /// `InvalidDistance` when `mu^2` is not finite, or when the loss is not an epsilon and a delta.
    pub fn with_mu_squared(self, mu_squared: Exact) -> Result<Self> {
        if self.notion != Notion::Approximate || !mu_squared.is_finite() {
            let reason = "mu_squared: expected a finite number beside an epsilon and a delta";
            return Err(Error::InvalidDistance(reason.into()));
        }
        Ok(Loss { mu_squared: Some(mu_squared), ..self })
    }
    /// State that the release is also `rho`-zero-concentrated, for a `rho` below half of `mu^2`.
    /// The loss must have a [`mu^2`](Loss::with_mu_squared). A release that chooses outputs by
    /// Gumbel noise has this property. A budget that composes tightly can charge this `rho`. Any
    /// other budget ignores `rho`.
    ///
    /// # Errors
    /// `InvalidDistance` when `rho` is not finite, or when the loss has no `mu^2`.
    pub fn with_rho(self, rho: Exact) -> Result<Self> {
        if self.mu_squared.is_none() || !rho.is_finite() {
            let reason = "rho: expected a finite number beside a mu_squared";
            return Err(Error::InvalidDistance(reason.into()));
        }
        Ok(Loss { choice_rho: Some(rho), ..self })
    }
    /// Make the loss of several releases that are charged together, in the order of `losses`. The
    /// losses must be known before the first release. A budget that composes tightly charges each
    /// loss to the budget's filters, and admits all losses or none. Any other budget charges the
    /// sum of the losses.
    ///
    /// # Errors
    /// `MeasureMismatch` when a loss is a rho. `Argument` when `losses` is empty. `InvalidDistance`
    /// when there are several losses, their sum is 0, and one of them has a `mu^2`.
    pub fn together(losses: Vec<Loss>) -> Result<Self> {
        if losses.is_empty() {
            return Err(Error::argument("losses", "expected at least one loss, found none"));
        }
        let mut sum = Loss::zero(Notion::Approximate);
        for loss in &losses {
            sum = sum.plus(&loss.within(Notion::Approximate)?);
        }
        match <[Loss; 1]>::try_from(losses) {
            Ok([only]) => only.within(Notion::Approximate),
            Err(losses) => sum.with_members(losses),
        }
    }
    /// State that this loss is the loss of several releases, and state the loss of each release.
    /// The losses must be known before the first release. A budget that composes tightly charges
    /// each loss to the budget's filters, and admits all losses or none. Any other budget charges
    /// this loss. So this loss must also bound the total loss of the releases. Filters of a member
    /// ([reserving](Loss::reserving), [sharing](Loss::sharing)) are dropped.
    ///
    /// # Errors
    /// `MeasureMismatch` when this loss or the loss of a member is a rho. `InvalidDistance` when
    /// this loss is 0, but a member is not 0 or has a `mu^2`.
    pub fn with_members(self, members: Vec<Loss>) -> Result<Self> {
        let whole = self.within(Notion::Approximate)?;
        let mut all = Vec::new();
        for loss in members {
            let loss = loss.within(Notion::Approximate)?;
            match loss.members.is_empty() {
                true => all.push(Loss { opening: None, ..loss }),
                false => all.extend(loss.members),
            }
        }
        if whole.is_zero() && all.iter().any(|loss| !loss.is_zero() || loss.mu_squared.is_some()) {
            let reason = "expected a bound on the loss of all members together, found 0";
            return Err(Error::InvalidDistance(reason.into()));
        }
        Ok(Loss { members: all, ..Loss::of(Notion::Approximate, whole.parts) })
    }
    /// Return the losses that are charged together. If this loss has no members, return only this
    /// loss.
    pub fn members(&self) -> &[Loss] {
        if self.members.is_empty() { std::slice::from_ref(self) } else { &self.members }
    }
    /// Return the `rho` of [`with_rho`](Loss::with_rho), if it is stated.
    pub fn choice_rho(&self) -> Option<&Exact> {
        self.choice_rho.as_ref()
    }
    /// Return the `mu^2` and the `rho`, if they are stated.
    fn others(&self) -> impl Iterator<Item = &Exact> {
        self.mu_squared.iter().chain(&self.choice_rho)
    }
    /// Return `mu^2`, if the release has `mu`-Gaussian differential privacy.
    pub fn mu_squared(&self) -> Option<&Exact> {
        self.mu_squared.as_ref()
    }
    /// Make a loss from floats that a map computed. Each part gets the exact value of its float.
    /// Each float is an upper bound on its part of the loss. The decimal number that is printed for
    /// the float can be smaller than the float, so this number is not used.
    fn computed(notion: Notion, parts: &[f64]) -> Result<Self> {
        let parts = parts.iter().map(|part| Exact::from_f64(*part)).collect::<Result<_>>()?;
        Loss::exact(notion, parts)
    }
    /// Replace the parts of this loss by `parts`. The old parts are floats that a map computed and
    /// rounded up. The new parts are the exact loss of the mechanism.
    pub(crate) fn exactly(self, parts: Vec<Exact>) -> Self {
        let exact = Loss::exact(self.notion, parts).ok();
        exact.map_or(self.clone(), |exact| Loss { parts: exact.parts, ..self })
    }
    pub(crate) fn zero(notion: Notion) -> Self {
        Loss::of(notion, vec![Exact::ZERO; notion.parts().len()])
    }
    /// Return the measure of the loss.
    pub fn notion(&self) -> Notion {
        self.notion
    }
    /// Return the parts of the loss, in the order of [`Notion::parts`].
    pub fn parts(&self) -> &[Exact] {
        &self.parts
    }
    /// Bound the loss in another measure. A pure loss `epsilon` is bounded by `(epsilon, 0)`, and
    /// by `rho = epsilon^2 / 2` (Bun, Steinke 2016, Proposition 1.4).
    ///
    /// # Errors
    /// `MeasureMismatch` when the loss is not pure and `notion` is not the measure of the loss.
    pub fn within(&self, notion: Notion) -> Result<Loss> {
        let parts = match (self.notion, notion, &self.parts[..]) {
            (mine, theirs, parts) if mine == theirs => parts.to_vec(),
            (Notion::Pure, Notion::Approximate, [epsilon]) => vec![epsilon.clone(), Exact::ZERO],
            (Notion::Pure, Notion::Concentrated, [epsilon]) => vec![epsilon.half_square()],
            _ => return Err(mismatch(notion, self.notion)),
        };
        Ok(Loss { notion, parts, ..self.clone() })
    }
    /// Return the sum of two losses in the same measure, part by part. If an exact sum has too many
    /// digits, the part of `other` is first rounded up.
    pub(crate) fn plus(&self, other: &Loss) -> Loss {
        let parts = self.parts.iter().zip(&other.parts).map(|(x, y)| x.plus_term(y)).collect();
        Loss::of(self.notion, parts)
    }
    pub(crate) fn minus(&self, other: &Loss) -> Loss {
        let parts = self.parts.iter().zip(&other.parts).map(|(x, y)| x.minus(y)).collect();
        Loss::of(self.notion, parts)
    }
    /// Replace each part by its nearest float, if this float is larger than the part. A budget of
    /// `1e-5` should admit a loss of `1e-5`. A map returns this loss as a float above `1e-5`.
    pub(crate) fn or_its_float(&self) -> Loss {
        let parts = self.parts.iter().map(or_its_float).collect();
        Loss::of(self.notion, parts)
    }
    pub(crate) fn is_zero(&self) -> bool {
        self.parts.iter().all(Exact::is_zero)
    }
    /// Check the amount of a new budget. The delta and its nearest float must be below 1, because
    /// a budget with a delta of 1 protects no one.
    ///
    /// # Errors
    /// `Argument` when the delta or its nearest float is 1 or more. `InvalidDistance` when the
    /// amount is 0, or has too many digits.
    pub(crate) fn check_amount(&self) -> Result<()> {
        self.check_text()?;
        match (self.notion, self.or_its_float().parts()) {
            _ if self.is_zero() => {
                Err(Error::InvalidDistance("expected an amount above 0, found 0".into()))
            }
            (_, parts) if parts.iter().any(|part| part.to_f64_up().is_infinite()) => {
                let reason = "expected at most the largest float: a larger amount protects no one";
                Err(Error::InvalidDistance(reason.into()))
            }
            (Notion::Approximate, [_, delta]) if Exact::from_f64(1.0)? <= *delta => {
                let reason = "a delta of 1 protects no one: state a delta far below one divided by \
                              the number of people, such as 1e-6";
                Err(Error::argument("delta", reason))
            }
            _ => Ok(()),
        }
    }
    /// Check that the loss can be read again after it is written. The usual parser does not accept
    /// a very long number. This function also checks the numbers in the filters of a plan.
    ///
    /// # Errors
    /// `InvalidDistance` when a number is too long.
    pub(crate) fn check_text(&self) -> Result<()> {
        let comes_back = |part: &Exact| part.to_string().parse().is_ok_and(|read| *part == read);
        let all =
            self.members().iter().flat_map(|member| member.parts.iter().chain(member.others()));
        let back = Loss::from_text(self.notion, &self.to_text());
        if self.parts.iter().chain(all).all(comes_back) && back.is_ok_and(|back| back == *self) {
            return Ok(());
        }
        Err(Error::InvalidDistance(
            "the number is too long: expected at most 4096 digits when it is written out".into(),
        ))
    }
    pub(crate) fn at_most(&self, other: &Loss) -> bool {
        self.notion == other.notion && self.parts.iter().zip(&other.parts).all(|(x, y)| x <= y)
    }
    /// Write the loss, its members and its filters in the format of the ledger's tables.
    pub(crate) fn to_text(&self) -> String {
        let amounts = self.parts.iter().chain(self.others());
        let own = amounts.map(Exact::to_string).collect::<Vec<_>>().join(" ");
        let members = self.members.iter().map(Loss::to_text);
        let opening = self.opening().map(Opening::to_text);
        std::iter::once(own).chain(members).chain(opening).collect::<Vec<_>>().join(TOGETHER)
    }
    pub(crate) fn from_text(notion: Notion, text: &str) -> Result<Self> {
        if let Some((own, members)) = text.split_once(TOGETHER) {
            let (mut found, mut opening) = (Vec::new(), None);
            for member in members.split(TOGETHER) {
                match Opening::from_text(member)? {
                    None => found.push(Loss::from_text(notion, member)?),
                    filters => opening = filters,
                }
            }
            let own = Loss::from_text(notion, own)?;
            let whole = if found.is_empty() { own } else { own.with_members(found)? };
            return Ok(Loss { opening: opening.map(Box::new), ..whole });
        }
        let mut parts = text.split(' ').map(read).collect::<Result<Vec<Exact>>>()?;
        // The text of an epsilon and a delta can continue with a `mu^2`, and then with a `rho`.
        // Older versions wrote no `rho`.
        let more = if notion == Notion::Approximate { 2 } else { 0 };
        let others = parts.split_off(parts.len().min(notion.parts().len()));
        if others.len() > more {
            return Err(Error::InvalidDistance("a loss has the wrong number of parts".into()));
        }
        let [mu_squared, choice_rho] = [others.first().cloned(), others.get(1).cloned()];
        if parts.len() != notion.parts().len() {
            return Err(Error::InvalidDistance("a loss has the wrong number of parts".into()));
        }
        Ok(Loss { mu_squared, choice_rho, ..Loss::of(notion, parts) })
    }
    /// Convert the loss to JSON. Exact amounts are strings. Members and filters are written if the
    /// loss has them.
    pub fn to_json(&self) -> Json {
        let parts = self.notion.parts().iter().zip(&self.parts);
        let parts = parts.map(|(name, part)| ((*name).to_owned(), part.to_string().into()));
        let squared = self.mu_squared.iter();
        let squared = squared.map(|amount| ("mu_squared".to_owned(), amount.to_string().into()));
        let rho = self.choice_rho.iter();
        let rho = rho.map(|amount| ("rho".to_owned(), amount.to_string().into()));
        let members: Json = self.members.iter().map(Loss::to_json).collect();
        let members = (!self.members.is_empty()).then(|| ("members".to_owned(), members));
        let opening = self.opening.iter();
        let opening = opening.map(|opened| ("filters".to_owned(), opened.filters.to_json()));
        let amounts = parts.chain(squared).chain(rho).chain(members);
        Json::Object(amounts.chain(opening).collect::<Map<_, _>>())
    }
    /// Write the parts of the loss. If the exact text of a part has more than 20 characters, round
    /// this part to 12 decimals. Round up if `up` is true, and otherwise down.
    pub fn show(&self, up: bool) -> String {
        self.write(|part| part.show(up))
    }
    /// Write the parts of the loss in a few digits. Round up if `up` is true, and otherwise down.
    /// See [`say`].
    pub fn say(&self, up: bool) -> String {
        self.write(|part| say(part, up))
    }
    fn write(&self, written: impl Fn(&Exact) -> String) -> String {
        let parts = self.notion.parts().iter().zip(&self.parts);
        parts.map(|(name, part)| format!("{name} {}", written(part))).collect::<Vec<_>>().join(", ")
    }
}
impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.say(true))
    }
}

#[cfg(test)]
mod tests;
