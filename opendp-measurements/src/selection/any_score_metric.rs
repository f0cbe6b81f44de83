//! A type that stands for several metrics on vectors of scores. The metric is chosen at run time.

use std::{fmt, sync::Arc};

use serde_json::Value as Json;

use opendp_core::arith::Exact;
use opendp_core::erased::{AnyDistance, AnyMetric};
use opendp_core::{
    AnyNumber, Atom, AtomDomain, LInfDistance, Metric, MetricOn, Named, RangeDistance, Result,
    TypeName, VectorDomain,
};

use crate::{Scale, ScoreMetric};

/// An L-infinity distance with numbers of any type. If `RANGES` is true, a value can also be a
/// range distance.
///
/// Registrations use this type in place of all these metrics. So a mechanism is compiled only once
/// for each type of scores. If a value of this type is converted to an `AnyMetric`, the result is
/// the metric that the value stands for.
#[derive(Clone)]
pub(crate) struct AnyScoreMetric<const RANGES: bool> {
    metric: AnyMetric,
    /// The same metric, as an object that computes losses.
    scores: Arc<dyn ErasedScoreMetric>,
    monotonic: bool,
}
impl<const RANGES: bool> AnyScoreMetric<RANGES> {
    /// Return whether the metric is a [monotonic](LInfDistance::monotonic) L-infinity distance.
    pub(crate) fn monotonic(&self) -> bool {
        self.monotonic
    }
}
impl<const RANGES: bool> Named for AnyScoreMetric<RANGES> {
    fn type_name() -> TypeName {
        match RANGES {
            true => TypeName::generic("AnyScoreMetric", []),
            false => TypeName::applied("LInfDistance", &[AnyNumber::type_name]),
        }
    }
}

/// A metric on scores whose type is known only at run time.
trait ErasedScoreMetric: Send + Sync {
    fn loss(&self, d_in: &AnyDistance, scale: Scale) -> Result<f64>;
    fn exact_loss(&self, d_in: &AnyDistance, scale: Scale) -> Result<Exact>;
}
impl<M: ScoreMetric> ErasedScoreMetric for M {
    fn loss(&self, d_in: &AnyDistance, scale: Scale) -> Result<f64> {
        ScoreMetric::loss(self, d_in.downcast_ref()?, scale)
    }
    fn exact_loss(&self, d_in: &AnyDistance, scale: Scale) -> Result<Exact> {
        ScoreMetric::exact_loss(self, d_in.downcast_ref()?, scale)
    }
}

/// A metric, and whether it is monotonic.
type Scores = (Arc<dyn ErasedScoreMetric>, bool);

fn largest<Q>(metric: &AnyMetric) -> Option<Scores>
where
    LInfDistance<Q>: ScoreMetric,
{
    let metric = LInfDistance::<Q>::view(metric)?;
    let monotonic = metric.monotonic();
    Some((Arc::new(metric), monotonic))
}
fn range<Q>(metric: &AnyMetric) -> Option<Scores>
where
    RangeDistance<Q>: ScoreMetric,
{
    Some((Arc::new(RangeDistance::<Q>::view(metric)?), false))
}
macro_rules! each_type {
    ($view:ident) => {
        &[
            $view::<i8>,
            $view::<i16>,
            $view::<i32>,
            $view::<i64>,
            $view::<i128>,
            $view::<u8>,
            $view::<u16>,
            $view::<u32>,
            $view::<u64>,
            $view::<usize>,
            $view::<f32>,
            $view::<f64>,
        ]
    };
}
const LARGEST: &[fn(&AnyMetric) -> Option<Scores>] = each_type!(largest);
const RANGE: &[fn(&AnyMetric) -> Option<Scores>] = each_type!(range);

/// Find the number type of a metric, and return the metric as an object that computes losses.
/// Return `None` if the metric is not a metric on scores.
fn scores(metric: &AnyMetric, ranges: bool) -> Option<Scores> {
    let range = if ranges { RANGE } else { &[] };
    LARGEST.iter().chain(range).find_map(|view| view(metric))
}

impl<const RANGES: bool> Metric for AnyScoreMetric<RANGES> {
    type Distance = AnyDistance;
    const STANDS: bool = true;
    fn to_json(&self) -> Json {
        self.metric.to_json()
    }
    fn read_distance(&self, distance: AnyDistance) -> Result<AnyDistance> {
        self.metric.read_distance(distance)
    }
    fn erased(&self) -> AnyMetric {
        self.metric.clone()
    }
    fn view(metric: &AnyMetric) -> Option<Self> {
        let (scores, monotonic) = scores(metric, RANGES)?;
        Some(AnyScoreMetric { metric: metric.clone(), scores, monotonic })
    }
}
/// A domain that fits a metric with one number type fits the metric with every number type. So this
/// check uses `f64`.
impl<T: Atom, const RANGES: bool> MetricOn<VectorDomain<AtomDomain<T>>> for AnyScoreMetric<RANGES> {
    fn check(&self, domain: &VectorDomain<AtomDomain<T>>) -> Result<()> {
        match self.metric.inner_type().head() {
            "LInfDistance" => LInfDistance::<f64>::default().check(domain),
            _ => RangeDistance::<f64>::default().check(domain),
        }
    }
}
impl<const RANGES: bool> ScoreMetric for AnyScoreMetric<RANGES> {
    fn loss(&self, d_in: &AnyDistance, scale: Scale) -> Result<f64> {
        self.scores.loss(d_in, scale)
    }
    fn exact_loss(&self, d_in: &AnyDistance, scale: Scale) -> Result<Exact> {
        self.scores.exact_loss(d_in, scale)
    }
}
impl<const RANGES: bool> PartialEq for AnyScoreMetric<RANGES> {
    fn eq(&self, other: &Self) -> bool {
        self.metric == other.metric
    }
}
impl<const RANGES: bool> fmt::Debug for AnyScoreMetric<RANGES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.metric.fmt(f)
    }
}
