//! The mechanisms of a query: the constructor and the loss of each release.

use opendp_core::arith::{Directed, DirectedFloat, Exact};
use opendp_core::erased::{AnyDistance, AnyValue};
use opendp_core::{
    Args, AtomDomain, Error, RangeDistance, Result, Space, SymmetricDistance, VectorDomain,
};
use opendp_ledger::{Loss, Notion};
use opendp_registry::Registry;
use opendp_transformations::{Alpha, make_quantile_rank_scores};
use serde_json::json;

use crate::budget::total;
use crate::check::{Checked, Output};
use crate::ir::{Addend, Bounding, Plan, Sum};
use crate::noise::{self, Noise, loss_of};
use crate::sensitivity::{Contribution, sensitivity, too_many_rows};

mod kind;
mod selection;

pub use kind::Kind;
pub(crate) use kind::mechanisms;
pub(crate) use selection::Selection;

#[derive(Clone, Debug)]
pub(crate) struct Mechanisms {
    /// The noise of each sum, or `None` for the sum that is released together with the keys.
    pub(crate) sums: Vec<Option<Noise>>,
    pub(crate) choices: Vec<Choice>,
    /// The release of keys that are not public.
    pub(crate) selection: Option<Selection>,
    /// The loss of all mechanisms together.
    pub(crate) loss: Loss,
    /// The losses that are charged if the budget composes tightly: one loss for each mechanism.
    /// There is one exception: for Gaussian noise under an epsilon and a delta, the list has only
    /// one loss. This loss is the loss of all mechanisms together.
    pub(crate) losses: Vec<Loss>,
    /// The kind of the noise: `Laplace` or `Gaussian`.
    pub(crate) kind: Kind,
    /// A text that compares the errors of the other kind of noise with the errors of this kind. The
    /// text exists only if the loss is an epsilon and a delta, and both kinds are possible.
    pub(crate) compared: Option<String>,
}
/// The release of one quantile for each group.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) buckets: usize,
    pub(crate) alpha: (u64, u64),
    /// The noise of each group. Its loss is the sum of the losses of all groups in which one
    /// individual can have rows.
    pub(crate) noise: Noise,
}

/// Find the mechanisms of a query. The mechanisms share the loss `budget` in proportion to the
/// weights of the aggregates. `of_keys` is the delta for the release of keys that are not public.
/// If `of_keys` is `None`, this delta is the delta of `budget`.
fn divided(
    checked: &Checked,
    mechanism: Option<&str>,
    kind: Kind,
    budget: &Loss,
    of_keys: Option<&Exact>,
) -> Result<Mechanisms> {
    let plan = &checked.plan;
    let wanted = wanted_choices(checked)?;
    let shares = shares(checked, &wanted, budget)?;
    let lost = || Error::FailedMap("an aggregate has no share of the budget".into());
    let share = |place: usize| shares.get(place).ok_or_else(lost);
    let selecting = selecting_sum(plan)?;
    let groups = public_count(plan);
    let mut selection = None;
    let mut sums = Vec::new();
    for (k, sum) in plan.sums.iter().enumerate() {
        let bound = sensitivity(plan, sum)?;
        if selecting == Some(k) {
            selection = Some(match of_keys {
                Some(delta) => selection::select_gaussian(k, bound, share(k)?, delta)?,
                None => selection::select(k, bound, share(k)?, budget)?,
            });
            sums.push(None);
        } else {
            sums.push(Some(noise::on_sums(mechanism, kind, bound, groups, share(k)?)?));
        }
    }
    let choice = |((buckets, alpha), place): (&(usize, (u64, u64)), usize)| {
        choose(plan, *buckets, *alpha, share(plan.sums.len() + place)?)
    };
    let choices = wanted.iter().zip(0..).map(choice).collect::<Result<Vec<_>>>()?;
    let of_sums = sums.iter().flatten().map(|noise| noise.loss.clone());
    let of_choices = choices.iter().map(|choice| choice.noise.loss.clone());
    let of_selection = selection.iter().map(|selection| selection.noise.loss.clone());
    // Put the loss of the release of keys first, because this loss can have a delta. If a budget
    // composes tightly, its first charged loss decides how its delta is divided. If the first loss
    // has a delta, a large part of the budget's delta is reserved for such losses.
    let losses: Vec<Loss> = of_selection.chain(of_sums).chain(of_choices).collect();
    let loss = total(budget.notion(), &losses)?;
    Ok(Mechanisms { sums, choices, selection, loss, losses, kind, compared: None })
}
/// Divide the loss `budget` among all sums and all releases of quantiles. Return the shares of the
/// sums, followed by the shares of the quantiles. A share has no delta.
///
/// The weight of a sum is the largest weight of the outputs that depend on it. If a count is used
/// only to decide which keys are released, it has the weight 1. Weights are public. The shares add
/// up to the whole epsilon, or to the whole rho.
fn shares(checked: &Checked, wanted: &[(usize, (u64, u64))], budget: &Loss) -> Result<Vec<Loss>> {
    let weight = |uses: &dyn Fn(&Output) -> bool| {
        let outputs = checked.outputs.iter().zip(&checked.weights);
        let used = outputs.filter(|(output, _)| uses(output)).map(|(_, weight)| *weight);
        Exact::written(used.reduce(f64::max).unwrap_or(1.0))
    };
    let sums = 0..checked.plan.sums.len();
    let of_sum = |sum: usize| weight(&|output| output.sums().contains(&sum));
    let of_choice =
        |choice: &(usize, (u64, u64))| weight(&|output| output.choice() == Some(*choice));
    let weights = sums.map(of_sum).chain(wanted.iter().map(of_choice));
    let weights = weights.collect::<Result<Vec<Exact>>>()?;
    let total = weights.iter().fold(Exact::ZERO, |sum, weight| sum.plus(weight));
    let whole = budget.parts().first().cloned().unwrap_or(Exact::ZERO);
    let share = |weight: &Exact| {
        let mut parts = vec![Exact::ZERO; budget.parts().len()];
        if let Some(first) = parts.first_mut() {
            *first = whole.times(weight).over(&total);
        }
        Loss::exact(budget.notion(), parts)
    };
    weights.iter().map(share).collect()
}
/// Return the number of groups if all keys are public, and otherwise `None`.
fn public_count(plan: &Plan) -> Option<usize> {
    let count = |count: usize, key: &crate::ir::Key| Some(count * key.public.as_ref()?.len());
    plan.keys.iter().try_fold(1, count)
}
/// If some keys are not public, add to the plan the sum that decides which keys are released. If
/// the plan already has this sum, add nothing.
pub(crate) fn add_selecting_sum(plan: &mut Plan) {
    let deciding = deciding(plan);
    if plan.keys.iter().any(|key| key.public.is_none()) && !plan.sums.contains(&deciding) {
        plan.sums.push(deciding);
    }
}
/// Return the count that decides which keys are released. If the privacy unit is a number of rows,
/// the sum counts rows. Otherwise, it counts ids.
fn deciding(plan: &Plan) -> Sum {
    let addend = match plan.bounding {
        Bounding::Enforced { .. } => Addend::Id,
        Bounding::Trusted { .. } => Addend::One,
    };
    Sum { addend, only: None }
}
fn selecting_sum(plan: &Plan) -> Result<Option<usize>> {
    if plan.keys.iter().all(|key| key.public.is_some()) {
        return Ok(None);
    }
    let deciding = deciding(plan);
    let found = plan.sums.iter().position(|sum| *sum == deciding);
    let none = || Error::FailedMap("no count decides which keys are released".into());
    found.map(Some).ok_or_else(none)
}
fn wanted_choices(checked: &Checked) -> Result<Vec<(usize, (u64, u64))>> {
    let mut all = Vec::new();
    for output in &checked.outputs {
        if let Some(wanted) = output.choice().filter(|wanted| !all.contains(wanted)) {
            all.push(wanted);
        }
    }
    Ok(all)
}
/// Round the level of a quantile to a multiple of 1/10,000, and return it as a reduced fraction.
pub(crate) fn fraction(alpha: f64) -> (u64, u64) {
    let (mut a, mut b) = (10_000_u64, (alpha * 10_000.0).round().clamp(0.0, 10_000.0) as u64);
    let number = b;
    while b != 0 {
        (a, b) = (b, a % b);
    }
    (number / a, 10_000 / a)
}
/// Find the noise for one quantile of each group, and the loss of this noise.
///
/// Let `g(c)` be the loss of one group if an individual has `c` rows in it. The range of the scores
/// changes by at most `c r`, where `r` is the change for one row. So `g(c)` is `c r / scale` for an
/// epsilon, and `(c r / scale)^2 / 8` for a rho. Both functions are convex. The groups have
/// separate noise, so the losses of the groups add up. By [`Contribution::fullest`], their sum is
/// largest if the individual fills as many groups as possible. The stability map of the scores and
/// the privacy map of the noise compute each loss, and round it up.
///
/// *Exchanges.* If the number of rows is public, each neighbour has at most `k` rows in addition to
/// the common rows. In one group, let `a` and `b` be the numbers of additional rows of the first
/// and the second neighbour. Then `min(a, b)` rows of the group are replaced, and `|a - b|` rows
/// are added or removed. Let the range of the scores change by at most `u` for an added or removed
/// row, and by at most `u + v` for a replaced row. Here `v <= u`, because a replaced row is a
/// removed row and an added row. So the range changes by at most `u |a - b| + (u + v) min(a, b)`,
/// which equals `max(a u + b v, a v + b u)`. Let `f(a, b)` be this maximum, as in the module
/// `sensitivity`. The functions `f` and `f^2` are convex and do not decrease. So the loss is
/// largest if all `k` rows of each neighbour are in one group. If both neighbours have these rows
/// in one group, the range of this group changes by at most `k (u + v)`. Otherwise, the ranges of
/// two groups change by at most `k u` each.
fn choose(plan: &Plan, buckets: usize, alpha: (u64, u64), share: &Loss) -> Result<Choice> {
    let count = plan.buckets.get(buckets).map_or(0, |buckets| buckets.candidates.len());
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let places: Vec<i64> = (0..count).map(|k| 2 * k + 1).collect();
    let level = Alpha::from_fraction(alpha.0, alpha.1)?;
    let rows = VectorDomain::new(AtomDomain::<i64>::default());
    let scores = |rows| {
        let rows = Space::new(rows, SymmetricDistance)?;
        make_quantile_rank_scores::<_, _, RangeDistance<u64>>(rows, places.clone(), level)
    };
    // The map for exchanges is the same for all known sizes.
    let (exchanges, scores) = (scores(rows.clone().with_size(1))?, scores(rows)?);
    let concentrated = share.notion() == Notion::Concentrated;
    let changes = match plan.bounding {
        Bounding::Trusted { rows, exchanged: true } => {
            let alone = scores.map(&count_of_rows(rows)?)?;
            let both = exchanges.map(&count_of_rows(rows.saturating_mul(2))?)?;
            let grouped = !plan.keys.is_empty();
            vec![largest_exchange(alone, both, grouped, concentrated)]
        }
        _ => changes_of_scores(Contribution::of(plan), |rows| scores.map(&rows))?,
    };
    let measure = if concentrated { "zero_concentrated_divergence" } else { "max_divergence" };
    let measure = Registry::global().make(measure, &Args::new())?;
    let args = Args::new().with("input", scores.output()).with("output_measure", measure);
    let args = args.with("negate", json!(true));
    let amount = share.parts().first().map_or(0.0, Exact::to_f64_down);
    let sum = |power: i32| -> f64 {
        changes.iter().map(|(groups, range)| *groups as f64 * (*range as f64).powi(power)).sum()
    };
    let guess = if concentrated {
        sum(2).sqrt().inf_div(amount.neg_inf_mul(8.0)?.neg_inf_sqrt()?)?
    } else {
        sum(1).inf_div(amount)?
    };
    let noise = noise::least("make_noisy_max", guess, share, |scale| {
        let args = args.clone().with("scale", json!(scale));
        let measurement = Registry::global().make("make_noisy_max", &args)?.measurement()?;
        let mut losses = Vec::new();
        for (groups, range) in &changes {
            let loss = loss_of(&measurement, &AnyDistance::new(*range), share.notion())?;
            let groups = Exact::from_f64(*groups as f64)?;
            let parts = loss.parts().iter().map(|part| part.times(&groups)).collect();
            losses.push(Loss::exact(share.notion(), parts)?);
        }
        Ok((measurement, total(share.notion(), &losses)?))
    })?;
    Ok(Choice { buckets, alpha, noise })
}
/// Return the changes of the scores if an individual fills as many groups as possible. Each change
/// is a pair of numbers. The first is a number of groups. The second is the largest change of the
/// range of the scores in each of these groups. `range` computes this change from a number of rows.
fn changes_of_scores(
    contribution: Contribution,
    range: impl Fn(u32) -> Result<u64>,
) -> Result<Vec<(u64, u64)>> {
    let (full, rest) = contribution.fullest();
    let changes = [(full, contribution.per_group), (1, rest)];
    let change = |(groups, rows): (u64, u64)| Ok((groups, range(count_of_rows(rows)?)?));
    changes.into_iter().filter(|(groups, rows)| 0 < *groups && 0 < *rows).map(change).collect()
}
/// Consider the exchange with the largest loss. Return the number of groups that this exchange
/// changes, and the change of the range of the scores in each of these groups. See [`choose`].
/// `alone` bounds this change if rows are only added or only removed, and `both` bounds this change
/// if rows are replaced.
fn largest_exchange(alone: u64, both: u64, grouped: bool, concentrated: bool) -> (u64, u64) {
    let square = |change: u64| u128::from(change) * u128::from(change);
    let separate = match concentrated {
        true => square(both) <= square(alone).saturating_mul(2),
        false => u128::from(both) <= u128::from(alone) * 2,
    };
    if grouped && separate { (2, alone) } else { (1, both) }
}
fn count_of_rows(rows: u64) -> Result<u32> {
    u32::try_from(rows).map_err(|_| too_many_rows())
}
impl Choice {
    /// Score each candidate by the counts of the buckets, as `make_quantile_rank_scores` does. A
    /// value beyond the candidates counts as the nearest candidate. Otherwise, if all values were
    /// beyond the candidates, all candidates would have the same score. A row still counts at one
    /// place, so the scores change no more than those of `make_quantile_rank_scores`.
    pub(crate) fn scores(&self, counts: &[u64], candidates: usize) -> Vec<u64> {
        let (a, b) = (u128::from(self.alpha.0), u128::from(self.alpha.1));
        let all: u128 = counts.iter().map(|count| u128::from(*count)).sum();
        let mut below = 0_u128;
        let stored = |place: usize| u128::from(counts.get(place).copied().unwrap_or(0));
        let beyond = 2 * candidates;
        let count = |place: usize| match place {
            0 => 0,
            1 if beyond == 2 => stored(0) + stored(1) + stored(2),
            1 => stored(0) + stored(1),
            place if place + 1 == beyond => stored(place) + stored(beyond),
            place => stored(place),
        };
        let mut scores = Vec::with_capacity(candidates);
        for k in 0..candidates {
            below += count(2 * k);
            let equal = count(2 * k + 1);
            // Each product of two numbers of 64 bits fits 128 bits.
            let too_high = (b * below).saturating_sub(a * all);
            let score = too_high.max((a * all).saturating_sub(b * (below + equal)));
            scores.push(u64::try_from(score).unwrap_or(u64::MAX));
            below += equal;
        }
        scores
    }
}
impl Noise {
    /// Choose a candidate by noisy scores, and release its place in the list of candidates.
    /// Candidates with lower scores are released with higher probabilities.
    pub(crate) fn choose(&self, scores: Vec<u64>) -> Result<usize> {
        self.measurement.invoke(&AnyValue::new(scores))?.downcast::<usize>()
    }
}
