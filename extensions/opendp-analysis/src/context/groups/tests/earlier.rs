//! Questions that use an earlier answer. This answer must be about the groups of rows of the
//! question.

use super::*;

type Tight = Approximate<MaxDivergence>;

const BOUNDS: (f64, f64) = (20.0, 90.0);

fn rich() -> Context<Tight> {
    open(Budget::epsilon_delta(1e4, 1e-6), 1)
}
fn query(context: &Context<Tight>) -> Query<'_, Tight> {
    context.query().spending(Budget::epsilon_delta(100.0, 1e-8).unwrap())
}
fn women(query: Query<'_, Tight>) -> Query<'_, Tight> {
    query.filter("sex", |sex: &bool| *sex)
}

#[test]
fn counts_of_other_rows_are_refused() {
    let (context, another) = (rich(), rich());
    let counts = |query: Query<'_, Tight>| {
        query.group_by(["educ"]).keys("educ", [0, 1]).count().release().unwrap()
    };
    let (all, kept) = (counts(query(&context)), counts(women(query(&context))));
    let foreign = counts(query(&another));
    let educ = || query(&context).group_by(["educ"]);
    let kept_educ = || women(query(&context)).group_by(["educ"]);
    let twice = women(women(context.query())).group_by(["educ"]);
    for (groups, answer, words) in [
        (educ(), &kept, "about rows without filters, found one about rows with filters on `sex`"),
        (kept_educ(), &all, "with filters on `sex`, found one about rows without filters"),
        (twice, &kept, "with filters on `sex`, `sex`, found one about rows with filters on `sex`"),
        (educ(), &foreign, "another context"),
        (context.query().group_by(["sex"]), &all, "groups by sex, found one by educ"),
    ] {
        let error = groups.counted(answer).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    // The controls: an answer about the rows of the question is accepted. The filters of
    // `kept_educ` are new functions on the same columns.
    let truth = |keep: bool| mean(&ages(|educ, sex| educ == 0 && (sex || !keep)));
    for (groups, answer, truth) in [(educ(), &all, truth(false)), (kept_educ(), &kept, truth(true))]
    {
        let means = groups.counted(answer).unwrap().mean("years", BOUNDS).release().unwrap();
        let row = &means.rows(0.05).unwrap()[0];
        assert!((row.value - truth).abs() < 1.0, "{row} {truth}");
    }
}
#[test]
fn keys_that_were_found_among_other_rows_are_refused() {
    let (context, another) = (rich(), rich());
    let find = |query: Query<'_, Tight>, by: &str| {
        query.group_by([by]).find().laplace().unwrap().release().unwrap()
    };
    let (all, kept) = (find(query(&context), "educ"), find(women(query(&context)), "educ"));
    let (sex, foreign) = (find(query(&context), "sex"), find(query(&another), "educ"));
    let cities = query(&context).column::<String>("city");
    let cities = cities.count_by().laplace().unwrap().release().unwrap();
    let educ = || context.query().group_by(["educ"]);
    for (answer, words) in [
        (&kept, "about rows without filters, found one about rows with filters on `sex`"),
        (&sex, "groups by educ, found one by sex"),
        (&foreign, "another context"),
        (&cities, "the noise of the counts of these keys is not known"),
    ] {
        let error = educ().found(answer).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    // The control: an answer about the rows of the question is accepted. An answer from a plan
    // states its rows, too.
    let mut plan = context.plan().spending(Budget::epsilon_delta(100.0, 1e-8).unwrap());
    let asked = plan.ask(educ().find(), Goal::Weight(1.0)).unwrap();
    let planned = plan.solve().unwrap().release().unwrap().take(asked).unwrap();
    assert!(context.query().group_by(["sex"]).found(&planned).is_err());
    for answer in [all, planned] {
        assert_eq!(educ().found(&answer).unwrap().keys.list(&[]).unwrap().len(), 3);
    }
}
#[test]
fn a_group_of_all_other_rows_needs_a_count_of_these_rows() {
    let context = rich();
    let educ = || context.query().group_by(["educ"]);
    let listed = || query(&context).group_by(["educ"]).keys("educ", [0, 1]);
    let counts = listed().count().release().unwrap();
    let found = query(&context).group_by(["educ"]).find().laplace().unwrap().release().unwrap();
    for groups in [
        educ().others().counted(&counts).unwrap(),
        educ().counted(&counts).unwrap().others(),
        educ().others().found(&found).unwrap(),
    ] {
        let error = groups.mean("years", BOUNDS).release().unwrap_err().to_string();
        assert!(error.contains("has no count of all other rows"), "{error}");
    }
    // The control: the earlier answer has this count.
    let counts = listed().others().count().release().unwrap();
    for groups in [educ().counted(&counts).unwrap(), educ().others().counted(&counts).unwrap()] {
        let rows = groups.mean("years", BOUNDS).release().unwrap().rows(0.05).unwrap();
        assert_eq!(rows[2].label, "all else");
    }
}
#[test]
fn a_search_for_keys_refuses_keys_other_groups_and_earlier_errors() {
    let context = rich();
    let educ = || query(&context).group_by(["educ"]);
    for (groups, words) in [
        (educ().keys("educ", [1]), "leave out `.find()`"),
        (educ().groups([vec![Json::from(1)]]), "leave out `.find()`"),
        (educ().others(), "`.others()`"),
        (educ().to_be_found().others(), "`.others()`"),
        (educ().keys("age", [1]), "the rows are grouped by educ"),
        (query(&context).group_by([""; 0]), "at least one column"),
    ] {
        let error = groups.find().laplace().map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    // The controls: a search for keys is accepted, with and without a call of `to_be_found` before
    // it.
    educ().find().laplace().unwrap();
    educ().to_be_found().find().laplace().unwrap();
}
#[test]
fn a_statistic_names_each_kind_of_its_noise_once() {
    let context = open(Budget::epsilon_delta(1.0, 1e-6), 1);
    let mut groups = context.query().group_by(["educ"]).find_keys();
    for upper in 1..=30 {
        groups = groups.sum("years", (0.0, f64::from(upper)));
    }
    let groups = groups.count().mean("years", (0.0, 1.0)).variance("years", (0.0, 2.0));
    let statistics = groups.solve().unwrap().statistics(0.05).unwrap();
    let kinds: Vec<&str> = statistics[29..].iter().map(|noised| &noised.mechanism[..]).collect();
    let both = "Gaussian and Laplace, threshold";
    assert_eq!(kinds, [both, "Laplace, threshold", both, both]);
    let scales: Vec<usize> = statistics[29..].iter().map(|noised| noised.scales.len()).collect();
    assert_eq!(scales, [2, 1, 2, 3]);
    // If an earlier answer found the keys, the count still names the threshold.
    let context = rich();
    let found = query(&context).group_by(["educ"]).find().laplace().unwrap().release().unwrap();
    let groups = context.query().group_by(["educ"]).found(&found).unwrap().count();
    let statistics = groups.solve().unwrap().statistics(0.05).unwrap();
    assert_eq!(&statistics[0].mechanism[..], "Laplace, threshold");
}
