//! A dataset metric that is chosen at run time.

use std::any::Any;
use std::sync::LazyLock;

use serde_json::Value as Json;

use super::dataset::{ChangeOneDistance, HammingDistance, InsertDeleteDistance, SymmetricDistance};
use crate::erased::AnyMetric;
use crate::{DatasetMetric, Domain, Metric, MetricOn, Result, named};

/// One of the four metrics on data sets, chosen at run time.
///
/// Registrations use this type in place of the four metrics. So a constructor that is generic over
/// dataset metrics is compiled only once. When a value of this type is erased, the result is the
/// metric that the value stands for. So an erased object never has this type.
///
/// ```
/// # use opendp_core::{AnyDatasetMetric, AtomDomain, Space, SymmetricDistance, VectorDomain};
/// let rows = VectorDomain::new(AtomDomain::<i32>::default());
/// let chosen = Space::new(rows.clone(), AnyDatasetMetric::Symmetric)?;
/// assert_eq!(chosen.erase(), Space::new(rows, SymmetricDistance)?.erase());
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AnyDatasetMetric {
    /// The metric [`SymmetricDistance`].
    Symmetric,
    /// The metric [`InsertDeleteDistance`].
    InsertDelete,
    /// The metric [`ChangeOneDistance`].
    ChangeOne,
    /// The metric [`HammingDistance`].
    Hamming,
}
named!(AnyDatasetMetric as "AnyDatasetMetric");

/// Run code with the metric that a value of [`AnyDatasetMetric`] stands for.
macro_rules! with {
    ($any:expr, $metric:ident => $body:expr) => {
        match $any {
            AnyDatasetMetric::Symmetric => {
                let $metric = SymmetricDistance;
                $body
            }
            AnyDatasetMetric::InsertDelete => {
                let $metric = InsertDeleteDistance;
                $body
            }
            AnyDatasetMetric::ChangeOne => {
                let $metric = ChangeOneDistance;
                $body
            }
            AnyDatasetMetric::Hamming => {
                let $metric = HammingDistance;
                $body
            }
        }
    };
}
const ALL: [AnyDatasetMetric; 4] = [
    AnyDatasetMetric::Symmetric,
    AnyDatasetMetric::InsertDelete,
    AnyDatasetMetric::ChangeOne,
    AnyDatasetMetric::Hamming,
];
fn is<M: Metric>(_: &M, metric: &dyn Any) -> bool {
    metric.is::<M>()
}

impl Metric for AnyDatasetMetric {
    type Distance = u32;
    const STANDS: bool = true;
    fn to_json(&self) -> Json {
        with!(self, metric => metric.to_json())
    }
    fn erased(&self) -> AnyMetric {
        // All spaces with the same metric share the erased form of this metric.
        static ERASED: LazyLock<[AnyMetric; 4]> =
            LazyLock::new(|| ALL.map(|any| with!(any, metric => metric.erased())));
        ERASED[*self as usize].clone()
    }
    fn view(metric: &AnyMetric) -> Option<Self> {
        ALL.into_iter().find(|any| with!(any, it => is(&it, metric.as_any())))
    }
}
impl DatasetMetric for AnyDatasetMetric {
    fn sized(&self) -> bool {
        with!(self, metric => metric.sized())
    }
    fn ordered(&self) -> bool {
        with!(self, metric => metric.ordered())
    }
    fn to_symmetric(&self, d_in: u32) -> Result<u32> {
        with!(self, metric => metric.to_symmetric(d_in))
    }
}
impl<D: Domain> MetricOn<D> for AnyDatasetMetric
where
    SymmetricDistance: MetricOn<D>,
    InsertDeleteDistance: MetricOn<D>,
    ChangeOneDistance: MetricOn<D>,
    HammingDistance: MetricOn<D>,
{
    fn check(&self, domain: &D) -> Result<()> {
        with!(self, metric => metric.check(domain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AtomDomain, Space, VectorDomain};

    type Rows = VectorDomain<AtomDomain<i32>>;
    fn rows() -> Rows {
        VectorDomain::new(AtomDomain::default())
    }

    #[test]
    fn is_the_metric_that_it_stands_for() {
        for any in ALL {
            let erased = any.erased();
            assert_eq!(AnyDatasetMetric::view(&erased), Some(any));
            assert_eq!(erased.to_json(), any.to_json());
            assert_ne!(erased.inner_type().to_string(), "AnyDatasetMetric");
            assert_eq!(any.sized(), any.check(&rows()).is_err());
            assert_eq!(any.to_symmetric(3), Ok(if any.sized() { 6 } else { 3 }));
        }
        assert!(AnyDatasetMetric::Hamming.ordered() && !AnyDatasetMetric::ChangeOne.ordered());
    }
    #[test]
    fn takes_the_spaces_of_the_metrics_that_it_stands_for_and_no_others() {
        let space = Space::new(rows(), InsertDeleteDistance).unwrap();
        let found = space.erase().typed::<Rows, AnyDatasetMetric>().unwrap();
        assert_eq!(found.metric(), &AnyDatasetMetric::InsertDelete);
        assert_eq!(found.erase(), space.erase());
        assert!(space.erase().typed::<AtomDomain<i32>, AnyDatasetMetric>().is_err());
    }
}
