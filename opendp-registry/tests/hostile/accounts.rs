//! Short documents whose maps need privacy accounting. The accounting computes with a grid of
//! privacy losses, or with a list of outputs. The grid and the list can be long.

use serde_json::{Value as Json, json};

/// Return a document that fixes delta in the loss of a chain. If there are several chains, the
/// document fixes delta in the loss of their composition.
fn text(delta: f64, chains: &[Json]) -> String {
    let member = |chain: &Json| json!({"chain": chain});
    let measurement = match chains {
        [chain] => member(chain),
        chains => json!({
            "constructor": "composition",
            "args": {"measurements": chains.iter().map(member).collect::<Vec<_>>()}
        }),
    };
    let space = json!({
        "domain": {"vector_domain": {"atom_domain": {"T": "i32"}}}, "metric": "symmetric_distance"
    });
    let link = json!({
        "constructor": "fix_delta", "args": {"delta": delta, "measurement": measurement}
    });
    json!({"space": space, "chain": [link]}).to_string()
}
/// Return a chain that computes a statistic and adds noise. The loss of this chain is a privacy
/// profile.
fn noisy(statistic: &Json, noise: &str, scale: f64) -> Json {
    json!([statistic, {noise: {"scale": scale, "MO": "SmoothedMaxDivergence"}}])
}
/// Return documents, each with its description.
pub(crate) fn texts() -> Vec<(String, String)> {
    let count = json!("count");
    let categories: Vec<i32> = (0..20).collect();
    let counts =
        json!({"count_by_categories": {"categories": categories, "MO": "L2Distance<i32>"}});
    let mut texts = Vec::new();
    for delta in [1e-300, 1e-120, 1e-30, 1e-9, 1e-2] {
        for scale in [0.5, 3.0, 30.0, 1000.0] {
            let gauss = noisy(&count, "gaussian", scale);
            let laplace = noisy(&count, "laplace", scale);
            let several = |times: u32| -> Vec<Json> {
                let scale = |i: u32| scale * (1.0 + f64::from(i) / 7.0);
                let noise = |i: u32| if i.is_multiple_of(2) { "gaussian" } else { "laplace" };
                (0..times).map(|i| noisy(&count, noise(i), scale(i))).collect()
            };
            let mut add = |what: &str, chains: &[Json]| {
                texts.push((format!("{what}, scale {scale}, delta {delta}"), text(delta, chains)));
            };
            add("a count with Gaussian noise", std::slice::from_ref(&gauss));
            add("a count with Laplace noise", std::slice::from_ref(&laplace));
            add("counts with Gaussian noise", &[noisy(&counts, "gaussian", scale)]);
            add("two equal releases", &[gauss.clone(), gauss.clone()]);
            add("two different releases", &[gauss, laplace]);
            add("fifteen different releases", &several(15));
        }
    }
    let many: Vec<Json> =
        (0..1000).map(|i| noisy(&count, "gaussian", 2.0 + f64::from(i))).collect();
    texts.push(("a thousand different releases".to_owned(), text(1e-9, &many)));
    texts
}
