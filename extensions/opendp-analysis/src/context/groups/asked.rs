//! How a plan asks a question about groups: the releases that the question needs, and its answer.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use opendp_core::{Carrier, Result};
use opendp_measurements::Collected;
use serde_json::Value as Json;

use super::super::chain::increasing;
use super::super::plan::{Asked, Goal, Late, Noised, OfKeys, Plan, Planned, Solved};
use super::super::question::Answer;
use super::super::{Answers, BudgetMeasure, Context, ErrorIn, Noisy};
use super::answer::{Column, GroupAnswer, Released, lost, quantile};
use super::earlier::Subject;
use super::keys::{Grouping, Keys, keys_and_estimates, sorted};
use super::{Groups, Moments, What, releases};

/// A question about the statistics of each group, with known noise. Nothing has been spent.
pub struct SolvedGroups<'c, MO: BudgetMeasure> {
    solved: Option<Solved<'c, MO>>,
    asked: AskedGroups,
}
impl<'c, MO: BudgetMeasure> SolvedGroups<'c, MO> {
    pub(super) fn new(plan: Plan<'c, MO>, asked: AskedGroups) -> Result<Self> {
        let solved = if plan.is_empty() { None } else { Some(plan.solve()?) };
        Ok(SolvedGroups { solved, asked })
    }
    /// Return the properties of each release that are known before the release. The properties
    /// include a bound on the error, if a bound is known. The bound holds except with probability
    /// `alpha`. Counts of an earlier answer are not in the list.
    ///
    /// # Errors
    /// The errors of [`Solved::noises`].
    pub fn noises(&self, alpha: f64) -> Result<Vec<Noised>> {
        self.solved.as_ref().map_or(Ok(Vec::new()), |solved| solved.noises(alpha))
    }
    /// Return the properties of each statistic that are known before the release, in the order of
    /// the answer's rows. The properties include the scales of all noise in the statistic.
    /// Quantiles have a bound on the error. A count or a sum has such a bound if it is computed
    /// from one release alone. The bound holds except with probability `alpha`. Counts that are
    /// found with their keys, counts of an earlier answer, means and variances have no such bound.
    ///
    /// # Errors
    /// The errors of [`Solved::noises`].
    pub fn statistics(&self, alpha: f64) -> Result<Vec<Noised>> {
        self.asked.statistics(&self.noises(alpha)?)
    }
    /// Spend the cost of the answer, but release nothing.
    ///
    /// # Errors
    /// The errors of [`Solved::forgo`].
    pub fn forgo(self) -> Result<()> {
        self.solved.map_or(Ok(()), Solved::forgo)
    }
    /// Spend the cost of the answer, then answer.
    ///
    /// # Errors
    /// The errors of [`Solved::release`], and the error of a release that failed after the charge.
    pub fn release(self) -> Result<GroupAnswer> {
        let mut answers = self.solved.map(Solved::release).transpose()?.unwrap_or_default();
        answers.take_groups(self.asked)
    }
}

/// The releases that a question about groups needs.
#[derive(Default)]
pub(super) struct Needs {
    pub(super) counts: bool,
    pub(super) sums: Vec<(String, (f64, f64))>,
    pub(super) squares: Vec<(String, (f64, f64))>,
}
impl Needs {
    pub(super) fn of(asked: &[What]) -> Self {
        let mut needs = Needs::default();
        let mut add =
            |list: fn(&mut Needs) -> &mut Vec<(String, (f64, f64))>, name: &String, bounds| {
                let (list, numbers) = (list(&mut needs), (name.clone(), bounds));
                if !list.contains(&numbers) {
                    list.push(numbers);
                }
            };
        for what in asked {
            match what {
                What::Sum(name, bounds) | What::Mean(name, bounds) => {
                    add(|n| &mut n.sums, name, *bounds);
                }
                What::Variance(name, bounds) => {
                    add(|n| &mut n.sums, name, *bounds);
                    add(|n| &mut n.squares, name, *bounds);
                }
                What::Count | What::Quantiles(..) => {}
            }
        }
        let counts = |what: &What| !matches!(what, What::Sum(..) | What::Quantiles(..));
        needs.counts = asked.iter().any(counts);
        needs
    }
}

/// The handle of a question about groups in a [`Plan`]. [`take_groups`](Answers::take_groups)
/// returns the answer to the question.
#[derive(Debug)]
pub struct AskedGroups {
    /// The rows of the groups, their keys, and whether there is a group of all other rows.
    groups: (Subject, Vec<Vec<Json>>, bool),
    asked: Vec<What>,
    counts: Option<Counts>,
    columns: Vec<AskedColumn>,
    quantiles: Vec<Asked<Vec<Vec<f64>>>>,
}
impl AskedGroups {
    /// Describe the noise of each statistic, given the descriptions of the noise of all releases.
    fn statistics(&self, releases: &[Noised]) -> Result<Vec<Noised>> {
        let release_at = |place: usize| releases.get(place).cloned().ok_or_else(lost);
        let count = || match &self.counts {
            Some(Counts::Asked(asked)) => release_at(asked.place()).map(Some),
            Some(Counts::Keys(asked)) => {
                release_at(asked.place()).map(|noised| Some(Noised { accuracy: None, ..noised }))
            }
            Some(Counts::Found(found)) => Ok(Some(Noised {
                query: String::new(),
                mechanism: found.mechanism.to_owned(),
                scales: vec![found.scale],
                accuracy: None,
                error_in: ErrorIn::Value,
            })),
            None => Ok(None),
        };
        let mut statistics = Vec::new();
        let mut quantiles = self.quantiles.iter();
        for what in &self.asked {
            if let What::Quantiles(column, alphas, _) = what {
                let chosen = release_at(quantiles.next().ok_or_else(lost)?.place())?;
                for alpha in alphas {
                    statistics.push(Noised { query: quantile(*alpha, column), ..chosen.clone() });
                }
                continue;
            }
            let about = self
                .columns
                .iter()
                .find(|column| what.is_about(&column.name, column.moments.column_bounds));
            let mut all = Vec::new();
            if let Some(column) = about {
                all.push(release_at(column.sums.place())?);
                if let (What::Variance(..), Some(squares)) = (what, &column.squares) {
                    all.push(release_at(squares.place())?);
                }
            }
            let plain = |column: &AskedColumn| column.moments.centre == 0.0;
            if !(matches!(what, What::Sum(..)) && about.is_some_and(plain)) {
                all.extend(count()?);
            }
            // The error of a statistic of several releases is not known before the releases.
            let Some((first, rest)) = all.split_first() else { return Err(lost()) };
            let all = rest.iter().fold(first.clone(), Noised::with);
            statistics.push(Noised { query: what.words(), ..all });
        }
        Ok(statistics)
    }
}
#[derive(Debug)]
enum Counts {
    Asked(Asked<Vec<i64>>),
    Found(Released),
    /// A question of the same plan finds the keys, and the answer to this question has the counts.
    Keys(Asked<HashMap<String, i64>>),
}
/// A question about groups, while it is added to a plan. If a question of the plan finds the keys
/// of these groups, `finds` is the handle of that question.
struct About<'c, MO: BudgetMeasure> {
    groups: Groups<'c, MO>,
    grouping: Grouping,
    finds: Option<Asked<HashMap<String, i64>>>,
}
#[derive(Debug)]
struct AskedColumn {
    name: String,
    moments: Moments,
    sums: Asked<Vec<f64>>,
    squares: Option<Asked<Vec<f64>>>,
}
impl<'c, MO: BudgetMeasure> Plan<'c, MO>
where
    i64: Noisy<MO>,
    f64: Noisy<MO>,
{
    /// Add a question about groups. A weight applies to errors in units of the largest change that
    /// one row can cause. For counts, the unit is one row. A question can have a wanted accuracy
    /// only if it asks for one statistic: counts, sums, or one list of quantiles.
    ///
    /// Errors of means and variances depend on the number of rows of each group. If these numbers
    /// were released before, a mean can have a wanted accuracy, too: see
    /// [`counted`](Groups::counted). The wanted accuracy bounds the distance between the answer and
    /// the mean of the clamped rows, for each group that has rows. The bound holds except with
    /// probability [`Context::ALPHA`], and accounts for the errors of the released counts, too. If
    /// the groups come from [`found`](Groups::found), a weaker statement holds for each group. The
    /// probability that its key is found and that the error exceeds the bound is at most
    /// [`Context::ALPHA`].
    ///
    /// If the question [finds its keys](Groups::find_keys), the keys are released first, and the
    /// other releases are about these keys. A weight then also applies to the release of the keys.
    /// In this case, a wanted accuracy is possible only for counts. All releases are charged before
    /// the first release is run.
    ///
    /// # Errors
    /// The errors of the steps of the query, and of [`ask`](Plan::ask). After an error, the plan
    /// has the same questions as before.
    pub fn ask_groups(&mut self, groups: Groups<'c, MO>, goal: Goal) -> Result<AskedGroups> {
        self.ask_all_or_none(|plan| plan.ask_releases(groups, goal))
    }
    /// Add the questions for all releases of a question about groups.
    fn ask_releases(&mut self, groups: Groups<'c, MO>, goal: Goal) -> Result<AskedGroups> {
        groups.wrong.clone().map_or(Ok(()), Err)?;
        groups.check(goal)?;
        let finds = groups.finder.map(|find| self.ask(find(&groups), goal)).transpose()?;
        let groups = if finds.is_some() { groups.to_be_found() } else { groups };
        let keys = groups.keys.list(&groups.names)?;
        let mut made = AskedGroups {
            counts: finds.map(Counts::Keys).or(groups.keys.counts().map(Counts::Found)),
            groups: (groups.subject(), keys, groups.others),
            asked: groups.asked.clone(),
            columns: Vec::new(),
            quantiles: Vec::new(),
        };
        let (_, keys, others) = &made.groups;
        if matches!(&groups.keys, Keys::Counted(keys, _) if keys.is_empty()) {
            // There are no groups, because no key was found.
            return Ok(made);
        }
        let context = groups.query.context;
        let grouping = match groups.keys {
            Keys::ToBeFound => Grouping::of_nothing(context.unit().distance()),
            _ => Grouping::new(context.table(), &groups.names, keys, *others)?,
        };
        let about = About { groups, grouping, finds };
        let (groups, needs) = (&about.groups, Needs::of(&about.groups.asked));
        if needs.counts && !groups.keys.have_counts() {
            let what = format!("counts by {}", groups.by());
            let counts = releases::counts(groups.query.clone(), &about.grouping, &what);
            made.counts = Some(Counts::Asked(self.ask(counts, goal)?));
        }
        for column in &needs.sums {
            let squares = needs.squares.contains(column);
            let sums = self.ask_sums(&about, (column, needs.counts, squares), goal)?;
            made.columns.push(sums);
        }
        self.ask_quantiles(&about, goal, &mut made.quantiles)?;
        Ok(made)
    }
    /// Add the questions about quantiles of groups to `asked`.
    fn ask_quantiles(
        &mut self,
        about: &About<'c, MO>,
        goal: Goal,
        asked: &mut Vec<Asked<Vec<Vec<f64>>>>,
    ) -> Result<()> {
        let groups = &about.groups;
        for what in &groups.asked {
            let What::Quantiles(name, alphas, candidates) = what else { continue };
            increasing(alphas)?;
            let numbers = groups.numbers(name, Arc::new(|cell| cell), None);
            let levels = (alphas.clone(), candidates.clone());
            let words = format!("{} by {}", what.words(), groups.by());
            let query = groups.query.clone();
            let chosen = move |grouping: &Grouping| {
                let (query, numbers, levels) = (query.clone(), numbers.clone(), levels.clone());
                releases::quantiles(query, grouping, numbers, levels, &words)
            };
            asked.push(self.ask_about(about, chosen, goal)?);
        }
        Ok(())
    }
    /// Add a question for a release about each group. If an earlier question of the plan finds the
    /// keys of the groups, the release is built when these keys are known.
    fn ask_about<TO: Carrier, Q: Planned<'c, MO, TO>>(
        &mut self,
        about: &About<'c, MO>,
        release: impl Fn(&Grouping) -> Q + Send + 'c,
        goal: Goal,
    ) -> Result<Asked<TO>> {
        let Some(finds) = about.finds else { return self.ask(release(&about.grouping), goal) };
        let rehearsed = release(&about.grouping).draft();
        let (context, names) = (about.groups.query.context, about.groups.names.clone());
        let of_keys: OfKeys<'c, MO, TO> = Box::new(move |found| {
            let keys = sorted(found)?.into_iter().map(|(key, _)| key).collected();
            Ok(release(&Grouping::new(context.table(), &names, &keys, false)?).draft())
        });
        self.ask_later(Late { rehearsed, finds: finds.place(), of_keys }, goal)
    }
    /// Add a question for the sums of a column, and for the sums of squares if `squares` is `true`.
    /// If `centred` is `true`, the numbers are distances from the centre of the bounds.
    fn ask_sums(
        &mut self,
        about: &About<'c, MO>,
        ((name, bounds), centred, squares): (&(String, (f64, f64)), bool, bool),
        goal: Goal,
    ) -> Result<AskedColumn> {
        let (groups, moments) = (&about.groups, Moments::new(*bounds, centred)?);
        let goal = match (goal, groups.asked.as_slice(), &groups.keys) {
            (Goal::Within(error), [What::Mean(..)], Keys::Counted(_, counts)) => {
                moments.within(error, &counts.estimates, Context::<MO>::ALPHA)?
            }
            _ => goal,
        };
        let mut ask = |what: &str, number, bounds, size| {
            let numbers = groups.numbers(name, number, Some(bounds));
            let what = format!("{what} of {name} by {}", groups.by());
            let query = groups.query.clone();
            let sums = move |grouping: &Grouping| {
                releases::sums(query.clone(), grouping, numbers.clone(), &what)
            };
            self.ask_about(about, sums, moments.goal(goal, size)?)
        };
        // The middle of the bounds is rounded. So on one side, the bounds of the distances also
        // allow cells beyond the bounds of the column. So clamp the cells first.
        let Moments { column_bounds: (lower, upper), centre, .. } = moments;
        let distance = move |cell: f64| cell.clamp(lower, upper) - centre;
        let shifted = Arc::new(distance);
        let sums = ask("sums", shifted, moments.bounds, moments.reach)?;
        if !squares {
            return Ok(AskedColumn { name: name.clone(), moments, sums, squares: None });
        }
        let offset = moments.offset()?;
        let squared = Arc::new(move |cell| distance(cell).powi(2) - offset);
        let squares = ask("sums of squares", squared, (-offset, offset), offset)?;
        Ok(AskedColumn { name: name.clone(), moments, sums, squares: Some(squares) })
    }
}
impl<MO: BudgetMeasure> Answers<MO> {
    /// Take the answer to a question about groups.
    ///
    /// # Errors
    /// `Argument` when the question belongs to another plan; the error of a release that failed
    /// after the plan was charged.
    pub fn take_groups(&mut self, asked: AskedGroups) -> Result<GroupAnswer> {
        let (subject, mut keys, others) = asked.groups;
        let at_once = !matches!(asked.counts, Some(Counts::Found(_)));
        let counts = match asked.counts {
            Some(Counts::Asked(counts)) => Some(released(self.take(counts)?)?),
            Some(Counts::Found(found)) => Some(found),
            Some(Counts::Keys(found)) => {
                let (found, counts) = counts_of(&self.take(found)?)?;
                keys = found;
                Some(counts)
            }
            None => None,
        };
        let mut columns = Vec::new();
        for AskedColumn { name, moments, sums, squares } in asked.columns {
            let sums = released(self.take(sums)?)?;
            let squares = squares.map(|squares| released(self.take(squares)?)).transpose()?;
            columns.push(Column { name, moments, sums, squares });
        }
        let mut quantiles = Vec::new();
        for chosen in asked.quantiles {
            let chosen = self.take(chosen)?;
            let scale = chosen.scale();
            quantiles.push((chosen.value, scale));
        }
        let asked = asked.asked;
        Ok(GroupAnswer { subject, keys, others, asked, counts, at_once, columns, quantiles })
    }
}
/// Return the found keys in increasing order, and their noisy counts.
pub(super) fn counts_of<MO: BudgetMeasure>(
    answer: &Answer<MO, HashMap<String, i64>>,
) -> Result<(Vec<Vec<Json>>, Released)> {
    let (mechanism, scale) = (answer.mechanism(), answer.scale());
    let (keys, estimates) = keys_and_estimates(&answer.value, answer.noise())?;
    Ok((keys, Released { estimates, mechanism, scale }))
}
fn released<MO, TO>(answer: Answer<MO, TO>) -> Result<Released>
where
    MO: BudgetMeasure,
    TO: opendp_measurements::Released<Intervals = Vec<(f64, f64)>>,
{
    let (estimates, mechanism) = (answer.estimates()?.to_vec(), answer.mechanism());
    Ok(Released { estimates, mechanism, scale: answer.scale() })
}
impl<MO: BudgetMeasure> fmt::Debug for SolvedGroups<'_, MO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SolvedGroups").field("asked", &self.asked).finish_non_exhaustive()
    }
}
