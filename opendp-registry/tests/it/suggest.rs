//! Tests that suggestions can be built and meet the budget, and that the search is bounded.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use opendp_core::{
    AbsoluteDistance, Args, AtomDomain, Bounds, Error, Kind, Made, Parameter, Space,
    SymmetricDistance, TypeName, VectorDomain,
};
use opendp_registry::{Addition, Document, Entry, Goal, Limits, Obstacle, Registry, Suggestions};
use opendp_transformations::make_clamp;
use serde_json::{Value as Json, json};

fn rows(atom: Json, size: Json, metric: &str) -> Json {
    json!({"domain": {"vector_domain": {"atom_domain": atom, "size": size}}, "metric": metric})
}
fn named(word: &'static str) -> impl Fn(&Entry) -> bool {
    move |entry| entry.name().contains(word)
}
const PURE: &str = "max_divergence";
const RHO: &str = "zero_concentrated_divergence";

/// Suggest chains. Build each suggestion from its document alone, and check that the built chain
/// meets the goal.
#[track_caller]
fn suggest(
    space: &Json,
    budget: &(Json, Json),
    word: &'static str,
    facts: &[(&str, Json)],
) -> Suggestions {
    let (measure, d_out) = budget;
    let d_in = json!(1);
    let about = named(word);
    let mut goal = Goal::new(space.clone(), measure.clone(), d_in.clone(), d_out.clone());
    for (name, value) in facts {
        goal = goal.fact(*name, value.clone());
    }
    let goal = goal.limits(Limits { results: 2, ..Limits::default() });
    let goal = if word.is_empty() { goal } else { goal.about(&about) };
    let found = Registry::global().suggest(&goal).unwrap();
    assert!(found.whole, "{} calls", found.calls);
    for suggestion in &found.found {
        let text = suggestion.document.json().to_string();
        let made = Document::parse(&text).unwrap().build(Registry::global()).unwrap();
        assert!(made.check(&d_in, d_out).unwrap(), "{text}");
        assert_eq!(made.map(&d_in).unwrap(), suggestion.loss, "{text}");
        assert!(suggestion.names.iter().any(|name| name.contains(word)), "{word}: {text}");
        // If a suggestion leaves much of the budget unused, its noise is larger than necessary.
        let spent = suggestion.loss.as_f64().or_else(|| suggestion.loss[0].as_f64()).unwrap();
        let limit = d_out.as_f64().or_else(|| d_out[0].as_f64()).unwrap();
        assert!(
            suggestion.solved.is_none() || 0.9 * limit < spent && spent <= limit,
            "{text}: {spent}"
        );
    }
    found
}

#[test]
fn every_suggestion_of_a_grid_builds_and_meets_its_budget() {
    let spaces = [
        rows(json!({"T": "f64", "nan": false}), json!(1000), "change_one_distance"),
        rows(json!({"T": "f64", "nan": false}), json!(null), "symmetric_distance"),
        rows(json!({"T": "i64"}), json!(null), "symmetric_distance"),
        rows(json!({"T": "i32"}), json!(null), "insert_delete_distance"),
        rows(json!({"T": "String"}), json!(null), "symmetric_distance"),
        rows(json!({"T": "bool"}), json!(200), "change_one_distance"),
        json!({"domain": {"atom_domain": {"T": "f64", "nan": false}}, "metric": {"absolute_distance": {"T": "f64"}}}),
        json!({"domain": {"vector_domain": {"atom_domain": {"T": "i32"}}}, "metric": {"l1_distance": {"T": "i32"}}}),
    ];
    let budgets = [
        (json!(PURE), json!(0.5)),
        (json!(RHO), json!(0.125)),
        (json!({"approximate": {"measure": PURE}}), json!([1.0, 1e-6])),
    ];
    let facts = [("bounds", json!([0, 100])), ("categories", json!([]))];
    for space in &spaces {
        for budget in &budgets {
            let found = suggest(space, budget, "", &facts[..1]);
            assert!(!found.found.is_empty(), "{space} {budget:?}: {:?}", found.obstacles);
        }
    }
}
#[test]
fn a_mean_of_a_public_size_is_one_clamp_away() {
    let space = rows(json!({"T": "f64", "nan": false}), json!(1000), "change_one_distance");
    let pure = (json!(PURE), json!(1));
    let found = suggest(&space, &pure, "mean", &[("bounds", json!([0, 100]))]);
    let first = &found.found[0];
    assert_eq!(first.names, ["make_clamp", "make_mean", "make_laplace"]);
    let (name, scale) = first.solved.as_ref().unwrap();
    // The least scale that meets the budget is a little above 0.1. The search rounds this scale
    // upward to six digits.
    assert!(name == "scale" && *scale == json!(0.100001), "{scale}");
    // With probability 0.05, the absolute value of Laplace noise of scale 0.1 exceeds
    // `ln(1 / 0.05) * 0.1`, which is about 0.29957.
    let error = first.accuracy[0].unwrap();
    assert!((0.299..0.31).contains(&error), "{error}");
}
#[test]
fn what_is_not_stated_is_named_and_never_invented() {
    let space = rows(json!({"T": "f64"}), json!(null), "symmetric_distance");
    let pure = (json!(PURE), json!(1));
    let found = suggest(&space, &pure, "mean", &[]);
    assert!(found.found.is_empty());
    let missing = |name: &str| {
        let mut all = found.obstacles.iter();
        all.find(|it| it.name == name).unwrap_or_else(|| panic!("{name}: {:?}", found.obstacles))
    };
    assert!(missing("make_mean").reason.is_some());
    // With these facts, the search finds a chain for the mean.
    let facts = [
        ("clamp.bounds", json!([0, 100])),
        ("resize.size", json!(50)),
        ("resize.constant", json!(0.0)),
    ];
    let found = suggest(&space, &pure, "mean", &facts);
    let names = &found.found[0].names;
    for link in ["make_clamp", "make_resize", "make_mean"] {
        assert!(names.iter().any(|name| name == link), "{names:?}");
    }
}
#[test]
fn bounds_that_are_missing_are_named() {
    let space = rows(json!({"T": "i64"}), json!(null), "symmetric_distance");
    let found = suggest(&space, &(json!(PURE), json!(1)), "sum", &[]);
    assert!(found.found.is_empty());
    let clamp = found.obstacles.iter().find(|it| it.name == "make_clamp");
    assert_eq!(clamp.map(|it| &it.missing[..]), Some(&["bounds".to_owned()][..]), "{found:?}");
}
#[test]
fn bounds_of_rows_are_not_bounds_of_their_statistic() {
    let space = rows(json!({"T": "i64"}), json!(null), "symmetric_distance");
    let pure = (json!(PURE), json!(1));
    for word in ["sum", "count", "geometric"] {
        for suggestion in suggest(&space, &pure, word, &[("bounds", json!([0, 100]))]).found {
            let text = suggestion.document.json()["chain"].to_string();
            let noise = text.split("geometric").nth(1).unwrap_or_default();
            assert!(!noise.contains("bounds"), "{text}");
        }
    }
    // A fact whose name begins with the name of a constructor, such as `geometric.bounds`, is used
    // for this constructor.
    let facts = [("clamp.bounds", json!([0, 100])), ("geometric.bounds", json!([0, 9999]))];
    let found = suggest(&space, &pure, "geometric", &facts).found;
    let text = found.iter().map(|it| it.document.json().to_string()).collect::<String>();
    assert!(text.contains("\"bounds\":[0,9999]"), "{text}");
}
#[test]
fn bounds_clamp_rows_and_do_not_drop_rows() {
    let space = rows(json!({"T": "f64"}), json!(null), "symmetric_distance");
    let pure = (json!(PURE), json!(1));
    let found = suggest(&space, &pure, "sum", &[("bounds", json!([0, 1]))]);
    assert!(!found.found.is_empty());
    for suggestion in &found.found {
        let names = &suggestion.names;
        assert!(names.contains(&"make_clamp".to_owned()), "{names:?}");
        assert!(!names.contains(&"make_filter_bounds".to_owned()), "{names:?}");
    }
    let found = suggest(&space, &pure, "filter_bounds", &[("bounds", json!([0, 1]))]);
    let missing = found.obstacles.iter().find(|it| it.name == "make_filter_bounds");
    assert_eq!(missing.map(|it| &it.missing[..]), Some(&["filter_bounds.bounds".to_owned()][..]));
    let own = [("filter_bounds.bounds", json!([0, 1]))];
    assert!(!suggest(&space, &pure, "filter_bounds", &own).found.is_empty());
}
#[test]
fn floats_are_rounded_to_integers_only_if_a_fact_or_the_goal_says_so() {
    let space = rows(json!({"T": "f64"}), json!(null), "symmetric_distance");
    let pure = (json!(PURE), json!(1));
    let casts = |word, facts: &[(&str, Json)]| {
        let found = suggest(&space, &pure, word, facts).found;
        found.iter().any(|it| it.names.contains(&"make_cast_default".to_owned()))
    };
    let candidates = ("candidates", json!([0, 1, 2]));
    assert!(!casts("quantile", &[candidates, ("alpha", json!(0.5))]));
    assert!(!casts("count_distinct", &[]));
    assert!(casts("count_distinct", &[("cast_default.TOA", json!("i64"))]));
    assert!(casts("cast_default", &[]));
}
#[test]
fn texts_become_integers_only_if_a_fact_says_so() {
    let space = rows(json!({"T": "String"}), json!(null), "symmetric_distance");
    let pure = (json!(PURE), json!(1));
    let integers = |facts: &[(&str, Json)]| {
        let found = suggest(&space, &pure, "quantile", facts).found;
        assert!(!found.is_empty());
        found.iter().any(|it| it.document.json()["chain"].to_string().contains("\"i64\""))
    };
    let facts = [
        ("candidates", json!([0, 1, 2])),
        ("alpha", json!(0.5)),
        ("cast_default.TOA", json!("i64")),
    ];
    assert!(!integers(&facts[..2]));
    assert!(integers(&facts));
}
#[test]
fn noise_that_lacks_a_fact_is_named_if_nothing_else_is_found() {
    let space = rows(json!({"T": "String"}), json!(null), "symmetric_distance");
    let both = (json!({"approximate": {"measure": PURE}}), json!([1.0, 1e-6]));
    let named = |found: &Suggestions| -> Vec<String> {
        found.obstacles.iter().map(|it| it.name.clone()).collect()
    };
    let found = suggest(&space, &both, "count_by", &[]);
    let names = named(&found);
    assert!(
        found.found.is_empty() && names.contains(&"make_laplace_threshold".to_owned()),
        "{names:?}"
    );
    assert!(!names.contains(&"make_adaptive_composition".to_owned()), "{names:?}");
    let found = suggest(&space, &both, "count_by", &[("threshold", json!(100))]);
    assert_eq!(found.found[0].names[0], "make_count_by", "{:?}", found.obstacles);
    assert!(!named(&found).contains(&"make_laplace_threshold".to_owned()));
}
#[test]
fn losses_convert_to_the_measure_of_the_budget() {
    let space = rows(json!({"T": "i64"}), json!(null), "symmetric_distance");
    let both = (json!({"approximate": {"measure": PURE}}), json!([1.0, 1e-6]));
    let found = suggest(&space, &both, "gaussian", &[]);
    let names = &found.found[0].names;
    assert_eq!(names[..2], ["make_count", "make_gaussian"], "{names:?}");
    assert!(2 < names.len(), "{names:?}");
    assert!(found.found[0].loss[1].as_f64().unwrap() <= 1e-6);
}
#[test]
fn the_least_of_scores_is_selected() {
    let space = rows(json!({"T": "f64", "nan": false}), json!(null), "symmetric_distance");
    let facts = [("candidates", json!([0.0, 50.0, 100.0])), ("alpha", json!(0.5))];
    let found = suggest(&space, &(json!(PURE), json!(1)), "quantile", &facts);
    assert!(!found.found.is_empty(), "{:?}", found.obstacles);
    for suggestion in &found.found {
        let text = suggestion.document.json().to_string();
        let selects = text.contains("noisy_max");
        assert!(!selects || text.contains("\"negate\":true"), "{text}");
    }
}
#[test]
fn a_budget_that_is_no_loss_is_an_error() {
    let space = rows(json!({"T": "i64"}), json!(null), "symmetric_distance");
    for (measure, d_out) in [
        (json!(PURE), json!(-1)),
        (json!(PURE), json!("NaN")),
        (json!(PURE), json!([1, 2])),
        (json!("absolute_distance"), json!(1)),
        (json!("nonsense"), json!(1)),
    ] {
        let goal = Goal::new(space.clone(), measure.clone(), json!(1), d_out.clone());
        assert!(Registry::global().suggest(&goal).is_err(), "{measure} {d_out}");
    }
    for d_in in [json!(-1), json!("x"), json!(null), json!("NaN")] {
        let goal = Goal::new(space.clone(), json!(PURE), d_in.clone(), json!(1));
        let error = Registry::global().suggest(&goal).unwrap_err().to_string();
        assert!(error.contains("d_in"), "{d_in}: {error}");
    }
    let goal = Goal::new(json!({"domain": 7}), json!(PURE), json!(1), json!(1));
    assert!(Registry::global().suggest(&goal).is_err());
}

type Rows = Space<VectorDomain<AtomDomain<i64>>, SymmetricDistance>;
/// Make a constructor whose output space is new at each call.
fn growing(calls: &Arc<AtomicUsize>) -> Addition {
    let calls = calls.clone();
    let output: TypeName = "Transformation".parse().unwrap();
    Addition::new("make_growing", "my-app", Kind::Transformation, output)
        .parameter(Parameter::new::<Rows>("input", None))
        .constructs(move |args| {
            let input: Rows = args.decode("input", None)?;
            let call = i64::try_from(calls.fetch_add(1, Ordering::SeqCst)).unwrap();
            Ok(make_clamp(input, Bounds::new(0, call)?)?.erased())
        })
}
#[test]
fn a_search_calls_at_most_as_often_as_its_limit_says() {
    let space = rows(json!({"T": "i64"}), json!(null), "symmetric_distance");
    let goal = |limits| {
        Goal::new(space.clone(), json!(PURE), json!(1), json!(1))
            .fact("bounds", json!([0, 100]))
            .fact("constant", json!(7))
            .fact("size", json!(100))
            .limits(limits)
    };
    let calls = Arc::new(AtomicUsize::new(0));
    let registry = Registry::new();
    registry.add(growing(&calls)).unwrap();
    for limit in [0, 1, 10, 60, 400] {
        calls.store(0, Ordering::SeqCst);
        let limits = Limits { links: 100, calls: limit, results: 0 };
        let found = registry.suggest(&goal(limits).with_unproved()).unwrap();
        assert!(found.calls == limit && !found.whole, "{} calls of {limit}", found.calls);
        let called = calls.load(Ordering::SeqCst);
        assert!(called <= limit && (limit < 400 || 1 < called), "{called} of {limit}");
    }
    // A constructor without a proof is called only if the goal allows it.
    calls.store(0, Ordering::SeqCst);
    let links = Limits { links: 1, ..Limits::default() };
    let short = registry.suggest(&goal(links)).unwrap();
    let long = registry.suggest(&goal(Limits::default())).unwrap();
    assert!(short.whole && short.found.iter().all(|suggestion| suggestion.names.len() <= 1));
    assert!(long.whole && short.calls < long.calls, "{} and {}", short.calls, long.calls);
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}
#[test]
fn equal_noise_under_two_names_leaves_room_for_other_noise() {
    type Count = Space<AtomDomain<i32>, AbsoluteDistance<i32>>;
    let registry = Registry::new();
    for (name, scale) in [("make_mine_a", 3.0), ("make_mine_b", 3.0), ("make_mine_c", 4.0)] {
        let noise = Addition::new(name, "my-app", Kind::Measurement, TypeName::plain("Release"))
            .parameter(Parameter::new::<Count>("input", None))
            .constructs(move |args| {
                let args = args.clone().with("scale", json!(scale));
                Registry::global().make("make_laplace", &args)
            });
        registry.add(noise).unwrap();
    }
    let space = rows(json!({"T": "i64"}), json!(null), "symmetric_distance");
    let about = named("mine");
    let goal = Goal::new(space, json!(PURE), json!(1), json!(1)).about(&about).with_unproved();
    let found = registry.suggest(&goal).unwrap().found;
    let counts = found.iter().filter(|it| it.names[0] == "make_count");
    let names: Vec<&str> = counts.map(|it| it.names[1].as_str()).collect();
    assert_eq!(names, ["make_mine_a", "make_mine_c"]);
}
#[test]
fn a_fact_can_leave_the_noise_inside_an_object_open() {
    type Count = Space<AtomDomain<i32>, AbsoluteDistance<i32>>;
    let registry = Registry::new();
    let noise = Addition::new("make_mine", "my-app", Kind::Measurement, TypeName::plain("Release"))
        .parameter(Parameter::new::<Count>("input", None))
        .parameter(Parameter::new::<HashMap<String, f64>>("config", None))
        .constructs(|args| {
            let config: HashMap<String, f64> = args.decode("config", None)?;
            // The constructor refuses a scale of 1, so the search must try another value.
            let scale = config.get("scale").copied().filter(|scale| *scale != 1.0);
            let scale = scale.ok_or_else(|| Error::argument("config", "expected a scale"))?;
            let input = args.decode::<Count>("input", None)?;
            let args = Args::new().with("input", &input.erase()).with("scale", json!(scale));
            Registry::global().make("make_laplace", &args)
        });
    registry.add(noise).unwrap();
    let space = rows(json!({"T": "i64"}), json!(null), "symmetric_distance");
    let about = named("mine");
    let goal = |fact: Json| {
        let goal = Goal::new(space.clone(), json!(PURE), json!(1), json!(0.5)).fact("config", fact);
        registry.suggest(&goal.about(&about).with_unproved()).unwrap()
    };
    let found = goal(json!({"scale": {"param": "s"}, "k": 3.0}));
    let [best, ..] = &found.found[..] else { panic!("{:?}", found.obstacles) };
    assert_eq!(best.solved, Some(("s".to_owned(), json!(2.0))));
    assert_eq!(best.document.json()["chain"][1]["mine"]["config"], json!({"scale": 2.0, "k": 3.0}));
    // The controls: an object without a parameter is used as it is, and another field is refused.
    assert_eq!(goal(json!({"scale": 4.0})).found[0].solved, None);
    assert!(goal(json!({"size": {"param": "s"}})).found.is_empty());
}
#[test]
fn a_space_tells_what_takes_it_and_what_leads_to_a_measure() {
    let registry = Registry::global();
    let space = rows(json!({"T": "i64"}), json!(null), "symmetric_distance");
    let names = |entries: Vec<Arc<Entry>>| -> Vec<String> {
        entries.iter().map(|entry| entry.name().to_owned()).collect()
    };
    let takers = names(registry.taking(&space).unwrap());
    assert!(takers.contains(&"make_sum".to_owned()) && takers.is_sorted());
    assert!(!takers.contains(&"make_laplace".to_owned()));
    let leading = names(registry.leading(&space, &json!(RHO)).unwrap());
    assert_eq!(leading.iter().filter(|name| *name == "make_private_quantile").count(), 1);
    assert!(registry.leading(&space, &json!("symmetric_distance")).is_err());
    assert!(registry.taking(&json!({"domain": "x"})).is_err());
}
#[test]
fn a_distance_without_neighbours_is_the_only_obstacle() {
    let space = rows(json!({"T": "i64"}), json!(100), "symmetric_distance");
    let goal = |d_in: u32| {
        Goal::new(space.clone(), json!(PURE), json!(d_in), json!(1.0)).fact("bounds", json!([0, 9]))
    };
    let none = Registry::global().suggest(&goal(1)).unwrap();
    assert!(none.found.is_empty() && none.whole && none.calls <= 2, "{}", none.calls);
    let [obstacle] = &none.obstacles[..] else { panic!("{:?}", none.obstacles) };
    assert_eq!(obstacle.name, Obstacle::DISTANCE);
    let reason = obstacle.reason.as_deref().unwrap();
    assert!(reason.starts_with("no two data sets of size 100 are at distance 1"), "{reason}");
    // The control: at the distance that the reason names, there are chains.
    assert!(!Registry::global().suggest(&goal(2)).unwrap().found.is_empty());
}
