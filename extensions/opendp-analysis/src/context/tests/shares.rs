//! Test shares of a budget that are fixed in advance. Each share is for one kind of noise.

use std::sync::mpsc::channel;
use std::time::Duration;

use opendp_core::Carrier;
use opendp_measurements::accounting::{
    Account as Reference, BoundedRangePair, GaussianPair, LaplacePair, PrivatePair,
};
use rayon::prelude::*;

use super::*;

type Loss = Approximate<MaxDivergence>;

fn open(shares: &[(ShareKind, f64)]) -> Context<Loss> {
    let unit = PrivacyUnit::person(1).unwrap();
    let budget = Budget::epsilon_delta(1.0, 1e-6).unwrap();
    Context::new(table(), unit, budget, Split::by_kinds(shares).unwrap()).unwrap()
}
fn ages(context: &Context<Loss>) -> Rows<'_, Loss, i64> {
    context.query().column("age")
}
fn median(context: &Context<Loss>) -> Result<Question<'_, Loss, i64>> {
    ages(context).median((0..100).collect()).choose()
}
fn refusal<TO: Carrier>(question: Result<Question<'_, Loss, TO>>) -> String {
    let error = question.unwrap_err();
    assert_eq!(error.kind(), "BudgetExceeded");
    error.to_string()
}

#[test]
fn tasks_of_a_thread_pool_ask_one_context() {
    // The account of the context computes the remaining budget in parallel, on all cores.
    const QUESTIONS: usize = 60;
    let shares: Vec<_> =
        (0..QUESTIONS).map(|i| (ShareKind::Choices(1), (1 + i % 12) as f64)).collect();
    let context = open(&shares);
    let (sender, ended) = channel();
    std::thread::spawn(move || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
        // If another task uses the share of a question first, ask again for the next share.
        let ask = |_| while median(&context).and_then(Question::release).is_err() {};
        pool.install(|| (0..QUESTIONS).into_par_iter().for_each(ask));
        sender.send(context.report().entries().len())
    });
    // If the tasks deadlock, the time limit makes the test fail.
    assert_eq!(ended.recv_timeout(Duration::from_secs(600)).unwrap(), QUESTIONS);
}
#[test]
fn shares_of_all_kinds_use_the_whole_budget_and_no_more() {
    use ShareKind::{Choices, Gaussian, Keys, Laplace, Pure};
    let kinds = [Choices(1), Gaussian, Laplace, Pure, Keys, Choices(4), Gaussian, Laplace];
    let shares: Vec<_> = kinds.iter().map(|kind| (*kind, 1.0)).chain([(Laplace, 2.0)]).collect();
    let context = open(&shares);
    let (mut reference, mut deltas) = (Reference::new(), 0.0);
    let (mut low, mut high) = (0, 100);
    for (kind, _) in &shares {
        reference = match kind {
            Choices(1) => {
                let answer = median(&context).unwrap().release().unwrap();
                // A row increases or decreases the distance between the rank of a candidate and the
                // middle rank by at most a half. So the range of these changes is at most 1, and
                // the range of the losses is at most `1 / scale`.
                reference.with(Arc::new(BoundedRangePair { epsilon: 1.0 / answer.scale() }), 1)
            }
            Choices(_) => {
                let deciles: Vec<f64> = (1..10).map(|k| f64::from(k) / 10.0).collect();
                let question = ages(&context).quantiles(&deciles, (0..100).collect()).choose();
                let answer = question.unwrap().release().unwrap();
                reference.with(Arc::new(BoundedRangePair { epsilon: 1.0 / answer.scale() }), 4)
            }
            Gaussian => {
                // Ask a question that depends on earlier answers.
                let middle = (low + high) / 2;
                let below = context.query().filter("age", move |age: &i64| *age < middle);
                let answer = below.count().gaussian().unwrap().release().unwrap();
                if answer.value < 500 {
                    low = middle
                } else {
                    high = middle
                }
                reference.with(Arc::new(GaussianPair { mu: 1.0 / answer.scale() }), 1)
            }
            Laplace => {
                let answer = incomes(&context).sum().laplace().unwrap().release().unwrap();
                let epsilon = 9_900.3 / answer.scale();
                reference.with(Arc::new(LaplacePair { epsilon }), 1)
            }
            Pure => {
                let answer = context.query().count().laplace().unwrap().release().unwrap();
                let epsilon = 1.0 / answer.scale();
                reference.with(Arc::new(PrivatePair { epsilon, delta: 0.0 }), 1)
            }
            Keys => {
                let cities = context.query().column::<String>("city");
                let question = cities.count_by().laplace().unwrap();
                deltas += question.exact_loss()[1].to_f64_up();
                let epsilon = question.exact_loss()[0].to_f64_up();
                question.release().unwrap();
                reference.with(Arc::new(PrivatePair { epsilon, delta: 0.0 }), 1)
            }
        };
    }
    let delta = deltas + reference.delta(1.0).unwrap().upper;
    assert!(0.99e-6 < delta && delta <= 1e-6 * (1.0 + 1e-6), "{delta}");
    assert!(0.2e-6 < deltas && deltas <= 0.25e-6, "{deltas}");
    assert!(refusal(median(&context)).contains("no query is left"));
    let report = context.report();
    let (spent, left) = (report.exact_total(), context.remaining().unwrap());
    assert!(0.999 < spent[0].to_f64_up() && spent[0].to_f64_up() <= 1.0 && left == (0.0, 0.0));
    // The control: one more question exceeds the budget.
    let reference = reference.with(Arc::new(GaussianPair { mu: 0.05 }), 1);
    assert!(1e-6 < deltas + reference.delta(1.0).unwrap().lower);
}
#[test]
fn many_choices_and_sums_get_less_noise_than_by_filters() {
    let even = |count: usize| {
        let unit = PrivacyUnit::person(1).unwrap();
        let budget = Budget::epsilon_delta(1.0, 1e-6).unwrap();
        Context::new(table(), unit, budget, Split::evenly(count).unwrap()).unwrap()
    };
    let (fixed, filters) = (open(&[(ShareKind::Choices(1), 1.0); 100]), even(100));
    let (here, there) = (median(&fixed).unwrap().scale(), median(&filters).unwrap().scale());
    assert!(here * 1.02 < there, "{here} {there}");
    let (fixed, filters) = (open(&[(ShareKind::Laplace, 1.0); 20]), even(20));
    let scale = |context: &Context<Loss>| incomes(context).sum().laplace().unwrap().scale();
    assert!(scale(&fixed) * 1.08 < scale(&filters));
    // The noise of a hundred counts is the least noise for one release of all counts.
    let fixed = open(&[(ShareKind::Gaussian, 1.0); 100]);
    let scale = fixed.query().count().gaussian().unwrap().scale();
    let best = super::tight::least_sigma(100.0, 1.0, 1e-6);
    assert!(best <= scale * (1.0 + 1e-9) && scale < best * (1.0 + 3e-6), "{scale} {best}");
    // Twice the weight gives half of the noise scale.
    let weighted = open(&[(ShareKind::Gaussian, 2.0), (ShareKind::Gaussian, 1.0)]);
    let first = weighted.query().count().gaussian().unwrap();
    let scale = first.scale();
    first.release().unwrap();
    let second = weighted.query().count().gaussian().unwrap().scale();
    assert!((second / scale - 2.0).abs() < 1e-9, "{scale} {second}");
}
#[test]
fn noise_whose_loss_is_not_within_the_share_is_refused() {
    let context = open(&[(ShareKind::Laplace, 1.0), (ShareKind::Gaussian, 1.0)]);
    // A share for Laplace noise on floats admits only Laplace noise on floats. So it refuses
    // Laplace noise on integers, Gaussian noise and choices.
    for refused in [
        refusal(context.query().count().laplace()),
        refusal(context.query().count().gaussian()),
        refusal(median(&context)),
        refusal(incomes(&context).sum().gaussian()),
    ] {
        assert!(refused.contains("was fixed as Laplace"), "{refused}");
        assert!(refused.contains("nothing was run"), "{refused}");
    }
    assert!(context.report().entries().is_empty());
    let noise = incomes(&context).sum().laplace().unwrap();
    let more = incomes(&context).sum().noise_of_scale(noise.scale() * 1.001).unwrap();
    let less = incomes(&context).sum().noise_of_scale(noise.scale() * 0.999);
    assert_eq!(less.unwrap_err().kind(), "BudgetExceeded");
    more.release().unwrap();
    // A question that was made for an earlier share is charged to the next share. Here the question
    // does not fit the next share, so the question is refused.
    assert_eq!(noise.release().unwrap_err().kind(), "BudgetExceeded");
    // Under a share for Gaussian noise, pure losses and choices are charged by their `mu`. The `mu`
    // of a small epsilon is about 1.25 times this epsilon.
    let laplace = context.query().count().laplace().unwrap();
    let gaussian = context.query().count().gaussian().unwrap();
    assert!(1.2 < laplace.scale() / gaussian.scale());
    median(&context).unwrap().release().unwrap();
    assert_eq!(context.report().entries().len(), 2);
}
#[test]
fn fixed_shares_take_an_epsilon_and_a_delta_and_no_plans() {
    let split = || Split::by_kinds(&[(ShareKind::Pure, 1.0), (ShareKind::Pure, 1.0)]).unwrap();
    let unit = PrivacyUnit::person(1).unwrap();
    let budget = Budget::epsilon(1.0).unwrap();
    let error = Context::new(table(), unit, budget, split()).unwrap_err();
    assert!(error.to_string().contains("Budget::epsilon_delta"), "{error}");
    let context = open(&[(ShareKind::Pure, 1.0), (ShareKind::Pure, 1.0)]);
    let mut plan = context.plan();
    plan.ask(context.query().count(), Goal::Weight(1.0)).unwrap();
    assert!(plan.solve().unwrap_err().to_string().contains("fixed for kinds of noise"));
    let amount = Budget::epsilon_delta(0.1, 1e-7).unwrap();
    let error = context.query().spending(amount).count().laplace().unwrap_err();
    assert!(error.to_string().contains("divided among its queries"), "{error}");
    assert!(Split::by_kinds(&[]).is_err());
    assert!(Split::by_kinds(&[(ShareKind::Pure, f64::NAN)]).is_err());
}
#[test]
fn fixed_shares_are_carried_over_and_an_entry_without_its_pair_is_refused() {
    let shares = [(ShareKind::Choices(1), 1.0), (ShareKind::Laplace, 2.0), (ShareKind::Pure, 1.0)];
    let earlier = open(&shares);
    median(&earlier).unwrap().release().unwrap();
    incomes(&earlier).sum().laplace().unwrap().release().unwrap();
    let later = open(&shares);
    for entry in earlier.report().entries() {
        later.carry_over(entry.clone()).unwrap();
    }
    assert_eq!(later.remaining().unwrap(), earlier.remaining().unwrap());
    let scale = |context: &Context<Loss>| context.query().count().laplace().unwrap().scale();
    assert_eq!(scale(&later), scale(&earlier));
    let (report, other) = (earlier.report(), open(&shares));
    let [first, second] = report.entries() else { panic!("{report}") };
    let entry = Entry { share: None, ..first.clone() };
    assert_eq!(other.carry_over(entry).unwrap_err().kind(), "BudgetExceeded");
    other.carry_over(first.clone()).unwrap();
    assert_eq!(other.carry_over(first.clone()).unwrap_err().kind(), "BudgetExceeded");
    other.carry_over(second.clone()).unwrap();
}
/// If an analyst chose the shares after an answer was seen, the total delta could be larger than
/// the delta of the budget.
#[test]
fn shares_that_could_depend_on_an_answer_are_refused() {
    let shares = [(ShareKind::Laplace, 1.0), (ShareKind::Gaussian, 4.0)];
    let earlier = open(&shares);
    incomes(&earlier).sum().laplace().unwrap().release().unwrap();
    let first = earlier.report().entries()[0].clone();
    open(&shares).carry_over(first.clone()).unwrap();
    let refused = |context: Context<Loss>, entry: Entry| {
        let expected = match entry.shares {
            Some(_) => "found other shares",
            None => "expected the first release",
        };
        let error = context.carry_over(entry).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    refused(open(&[(ShareKind::Laplace, 1.0), (ShareKind::Pure, 19.0)]), first.clone());
    refused(open(&shares), Entry { shares: None, ..first.clone() });
    let other = open(&[(ShareKind::Pure, 1.0), (ShareKind::Laplace, 1.0)]);
    other.query().count().laplace().unwrap().release().unwrap();
    refused(other, first.clone());
    // An entry of a context without fixed shares states no shares.
    let unit = PrivacyUnit::person(1).unwrap();
    let budget = Budget::epsilon_delta(1.0, 1e-6).unwrap();
    let free = || Context::new(table(), unit, budget.clone(), Split::as_you_go()).unwrap();
    let context = free();
    let amount = Budget::epsilon_delta(0.01, 0.0).unwrap();
    context.query().spending(amount.clone()).count().laplace().unwrap().release().unwrap();
    refused(open(&shares), context.report().entries()[0].clone());
    // A context without fixed shares keeps the shares of the first entry, so it answers no queries
    // with other losses.
    let context = free();
    context.carry_over(first).unwrap();
    assert!(context.query().spending(amount).count().laplace().is_err());
}
