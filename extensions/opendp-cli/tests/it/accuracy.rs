//! Tests of the accuracy that `run` states for its releases.

use super::*;

#[test]
fn a_release_tells_its_loss_and_its_accuracy() {
    let desk = Desk::new();
    desk.file("sum.json", sum(20.0).to_string());
    desk.file("numbers.csv", "x\n1\n2\n3\n");
    let text = desk.says(&["run", "-p", "sum.json", "--data", "numbers.csv", "--d-in", "1"]);
    assert!(text.contains("loss      epsilon 0.5"), "{text}");
    assert!(text.contains("accuracy  within 60"), "{text}");
}
#[test]
fn an_accuracy_says_what_it_bounds() {
    let desk = Desk::new();
    let counts = json!({"domain": {"vector_domain": {"atom_domain": {"T": "i64"}, "size": 2}},
                        "metric": {"linf_distance": {"T": "i64"}}});
    let noisy = json!({"laplace": {"scale": 20.0}});
    let composition = |scale: f64| {
        let loud = json!({"chain": [{"gaussian": {"scale": scale}}]});
        let quiet = json!({"chain": [{"gaussian": {"scale": 20.0}}]});
        json!({"composition": {"measurements": [quiet, loud]}})
    };
    let number = json!({"domain": {"atom_domain": {"T": "i64"}}, "metric": {"absolute_distance": {"T": "i64"}}});
    let vector = json!({"domain": counts["domain"], "metric": {"l1_distance": {"T": "i64"}}});
    let choice = json!({"noisy_max": {"output_measure": "max_divergence", "scale": 20.0}});
    let two = json!({"composition": {"measurements": [{"chain": [choice]}, {"chain": [choice]}]}});
    for (space, link, data, says) in [
        (&counts, two, "[3, 5]", "the bound of a choice is on the difference between its score"),
        (
            &counts,
            json!({"noisy_max": {"output_measure": "max_divergence", "scale": 20.0}}),
            "[3, 5]",
            "accuracy  the score of the choice is within ",
        ),
        (
            &vector,
            noisy,
            "[3, 5]",
            "accuracy  each answer alone is within 60.0 of its exact answer",
        ),
        (&number, composition(20.0), "3", "accuracy  each answer alone is within "),
        (&number, composition(40.0), "3", "each bound alone holds in 95 % of releases"),
    ] {
        desk.file("p.json", json!({"space": space, "chain": [link]}).to_string());
        desk.file("x.json", data);
        let text = desk.says(&["run", "-p", "p.json", "--data", "x.json", "--d-in", "1"]);
        assert!(text.contains(says), "{text}");
    }
}
/// If a sum of integers saturates at an end of its type, the error of the sum has no bound.
#[test]
fn a_sum_beyond_the_ends_of_its_type_states_no_accuracy() {
    let desk = Desk::new();
    desk.file("rows.json", json!(vec![100; 10]).to_string());
    let run = |kind: &str| {
        let pipeline = json!({
            "space": {"domain": {"vector_domain": {"atom_domain": {"T": kind}}},
                      "metric": "symmetric_distance"},
            "chain": [{"clamp": {"bounds": [0, 100]}}, "sum", {"laplace": {"scale": 1.0}}],
        });
        desk.file("sum.json", pipeline.to_string());
        desk.says(&["run", "-p", "sum.json", "--data", "rows.json", "--d-in", "1"])
    };
    // The 95 % bound on the noise is 3. Suppose that this bound decided whether a release is near
    // an end. Then a release would state an accuracy if its noise is at most -4. This happens with
    // probability 0.0134. So with probability 0.91 (`1 - 0.9866^180`), at least one of 180 releases
    // would state an accuracy.
    for _ in 0..180 {
        let narrow = run("i8");
        assert!(narrow.contains("accuracy  not known"), "{narrow}");
    }
    assert!(run("i64").contains("accuracy  within"));
}
/// The type of an answer is known without the release. So a repeated release, and a release inside
/// of a composition, state an accuracy only if the release alone states one.
#[test]
fn a_repeated_or_composed_sum_beyond_the_ends_of_its_type_states_no_accuracy() {
    let desk = Desk::new();
    desk.file("rows.json", json!(vec![100; 1000]).to_string());
    desk.says(&["budget", "create", "l.db:t", "--epsilon", "1000"]);
    let sum = |kind: &str, noise: Json| {
        let rows = json!({"vector_domain": {"atom_domain": {"T": kind}}});
        let space = json!({"domain": rows, "metric": "symmetric_distance"});
        let chain = json!([{"clamp": {"bounds": [0, 100]}}, "sum", noise]);
        desk.file("sum.json", json!({"space": space, "chain": chain}).to_string());
    };
    let run = |more: &[&str]| {
        let run = ["run", "-p", "sum.json", "--data", "rows.json", "--d-in", "1"];
        desk.says(&[&run, more].concat())
    };
    let laplace = json!({"laplace": {"scale": 1.0}});
    for kind in ["i8", "u32"] {
        sum(kind, laplace.clone());
        let says = run(&[]);
        assert_eq!(says.contains("accuracy  not known"), kind == "i8", "{says}");
        let charged = ["--budget", "l.db:t", "--id", kind];
        let (first, again) = (run(&charged), run(&charged));
        assert!(again.contains("repeated"), "{again}");
        let accuracy = |text: &str| text.lines().last().map(str::to_owned);
        assert_eq!(accuracy(&first), accuracy(&says));
        assert_eq!(accuracy(&again), accuracy(&says));
        let inner = json!({"composition": {"measurements": [{"chain": [laplace.clone()]}]}});
        for composed in
            [inner.clone(), json!({"composition": {"measurements": [{"chain": [inner]}]}})]
        {
            sum(kind, composed);
            let says = run(&[]);
            assert_eq!(says.contains("accuracy  not known"), kind == "i8", "{says}");
        }
    }
}
