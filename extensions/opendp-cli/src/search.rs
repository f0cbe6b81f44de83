//! The words with which users search for constructors.

/// Common words. Each word has a list of parts of constructor names. A search for the word also
/// finds the constructors whose names contain one of these parts.
const USAGE: &[(&str, &[&str])] = &[
    ("average", &["mean"]),
    ("bin", &["find_bin"]),
    ("bootstrap", &["subsampling"]),
    ("bounds", &["clamp"]),
    ("crosstab", &["count_by"]),
    ("deviation", &["variance"]),
    ("exponential", &["noisy_max", "noisy_top_k", "report_noisy_max"]),
    ("filter", &["filter", "drop_null"]),
    ("group", &["count_by", "group_privacy", "subset_by"]),
    ("histogram", &["count_by", "find_bin"]),
    ("max", &["noisy_max", "quantile", "top_k"]),
    ("mechanism", &["laplace", "gaussian", "geometric", "noisy_max", "randomized_response"]),
    ("median", &["quantile"]),
    ("min", &["quantile"]),
    ("missing", &["impute", "drop_null", "is_null"]),
    ("mode", &["noisy_max", "count_by"]),
    ("noise", &["laplace", "gaussian", "geometric", "make_noise"]),
    ("normal", &["gaussian"]),
    ("null", &["impute", "drop_null", "is_null"]),
    ("odometer", &["fully_adaptive"]),
    ("percentile", &["quantile"]),
    ("quartile", &["quantile"]),
    ("rare", &["threshold"]),
    ("renyi", &["renyi", "rdp"]),
    ("rr", &["randomized_response"]),
    ("sampling", &["subsampling", "population_amplification"]),
    ("svt", &["sparse_vector", "above_threshold"]),
    ("total", &["sum"]),
    ("truncate", &["resize", "clamp"]),
    ("unique", &["distinct"]),
];

/// Return whether a constructor matches `word`, which can be several words. The constructor matches
/// if one of its names or its summary contains `word`. A constructor also matches if one of its
/// names contains a part that `USAGE` lists for one of the words. If `USAGE` has entries for
/// several of the words, use the first of these entries.
pub(crate) fn matches<'a>(
    word: &str,
    mut names: impl Iterator<Item = &'a str>,
    summary: &str,
) -> bool {
    let word = word.trim().to_lowercase().replace([' ', '-'], "_");
    if summary.to_lowercase().replace([' ', '-'], "_").contains(&word) {
        return true;
    }
    let usage = USAGE.iter().find(|(usage, _)| word.split('_').any(|part| part == *usage));
    let meant = usage.map(|(_, meant)| *meant).unwrap_or_default();
    names.any(|name| {
        let name = name.to_lowercase();
        name.contains(&word) || meant.iter().any(|meant| name.contains(meant))
    })
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_word_is_found_in_names_in_summaries_and_by_usage() {
        let mean = |word| matches(word, ["make_mean"].into_iter(), "Take the mean of records.");
        assert!(mean("mean") && mean("Average") && mean("of records") && mean("weighted average"));
        assert!(!mean("median") && !mean("variance"));
        let score = ["make_quantile_score_candidates"];
        assert!(matches("median", score.into_iter(), "Score candidates by rank."));
    }
    #[test]
    fn each_word_of_usage_finds_a_registered_constructor() {
        let registry = opendp_registry::Registry::global();
        for (word, meant) in super::USAGE {
            for part in *meant {
                let found = registry.names().iter().any(|name| name.to_lowercase().contains(part));
                assert!(found, "`{part}` of `{word}`");
            }
        }
    }
}
