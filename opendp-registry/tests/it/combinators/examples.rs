//! Example calls of each combinator of the catalogues.

use opendp_core::erased::{AnyDistance, AnyMetric, AnyValue};
use opendp_core::{Arg, Args, Codec, Constructed, Function, StabilityMap, Transformation};
use opendp_registry::Registry;
use serde_json::{Value as Json, json};

use super::members::Member;

/// A few ways to call a combinator with a member.
pub(super) struct Example {
    pub(super) name: &'static str,
    pub(super) calls: fn(&Member) -> Vec<Args>,
}
fn with(member: &Member, others: &[Json]) -> Vec<Args> {
    let args_of = |others: &Json| {
        let args = Args::new().with("measurement", member.arg());
        others.as_object().unwrap().iter().fold(args, |args, (k, v)| args.with(k, v.clone()))
    };
    others.iter().map(args_of).collect()
}
pub(super) fn alone(member: &Member) -> Vec<Args> {
    with(member, &[json!({})])
}
fn list(members: &[&Member]) -> Arg {
    Arg::List(members.iter().map(|member| member.arg()).collect())
}
/// Examples for the combinators of the catalogues. Each example states the first registered name of
/// its combinator.
pub(super) const EXAMPLES: &[Example] = &[
    Example {
        name: "make_composition",
        calls: |m| [1, 2, 3].map(|n| Args::new().with("measurements", list(&vec![m; n]))).to_vec(),
    },
    Example {
        name: "make_parallel_composition",
        calls: |m| {
            let args = Args::new().with("input", m.made.input());
            let args = args.with("part", json!({"categories": m.rows}));
            vec![args.with("measurements", list(&[m, m]))]
        },
    },
    Example {
        name: "make_chain_mt",
        calls: |m| {
            let space = m.made.input().clone();
            let same = Function::map(|rows: &AnyValue| Ok(rows.clone()));
            let double: StabilityMap<AnyMetric, AnyMetric> =
                StabilityMap::new(|d: &AnyDistance| {
                    Ok(AnyDistance::new(d.downcast_ref::<u32>()?.saturating_mul(2)))
                });
            let first = Transformation::new(space.clone(), space, same, double);
            let args = Args::new().with("transformation0", Constructed::from(first));
            vec![args.with("measurement1", m.arg())]
        },
    },
    Example {
        name: "make_chain_pm",
        calls: |m| {
            let next = Function::map(|x: &i32| Ok(x.saturating_add(1))).erase();
            let args = Args::new().with("postprocess1", Constructed::from(next));
            vec![args.with("measurement0", m.arg())]
        },
    },
    Example {
        name: "make_group_privacy",
        calls: |m| with(m, &[json!({"size": 1}), json!({"size": 2}), json!({"size": 5})]),
    },
    Example {
        name: "make_fix_delta",
        calls: |m| {
            with(m, &[json!({"delta": 1e-6}), json!({"delta": 0.005}), json!({"delta": 0.5})])
        },
    },
    Example { name: "make_approximate", calls: alone },
    Example {
        name: "make_poisson_subsampling",
        calls: |m| {
            with(
                m,
                &[json!({"rate": 0.01}), json!({"rate": 0.5, "size": 20}), json!({"rate": 1.0})],
            )
        },
    },
    Example {
        name: "make_fixed_size_subsampling",
        calls: |m| with(m, &[json!({"size": 10}), json!({"size": 1000})]),
    },
    Example {
        name: "make_population_amplification",
        calls: |m| with(m, &[json!({"population_size": 10}), json!({"population_size": 1000})]),
    },
    Example {
        name: "make_select_private_candidate",
        calls: |m| with(m, &[json!({"stop_probability": 0.5, "threshold": 0.0})]),
    },
    Example { name: "make_RDP_to_approxDP", calls: alone },
    Example { name: "make_pureDP_to_zCDP", calls: alone },
    Example { name: "make_zCDP_to_approxDP", calls: alone },
    Example { name: "make_fixed_approxDP_to_approxDP", calls: alone },
    Example {
        name: "make_privacy_filter",
        calls: |m| {
            let args = Args::new()
                .with("input", m.made.input())
                .with("output_measure", Constructed::Measure(m.made.measure().clone()));
            let odometer = Registry::global().make("make_fully_adaptive_composition", &args);
            let filter = |odometer| {
                let args = Args::new().with("odometer", odometer).with("d_in", json!(2));
                vec![args.with("d_out", m.loss(2).to_json())]
            };
            odometer.map(filter).unwrap_or_default()
        },
    },
];
