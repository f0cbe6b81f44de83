//! A type that stands for the two measures of choices. The measure is chosen at run time.

use std::any::Any;

use serde_json::Value as Json;

use opendp_core::arith::Exact;
use opendp_core::erased::AnyMeasure;
use opendp_core::random::{NoEntropy, SecureSource};
use opendp_core::{
    Interaction, MaxDivergence, Measure, PrivacyProfile, Result, ZeroConcentratedDivergence, named,
};

use crate::SelectionMeasure;
use crate::samplers::{Optimize, Score};

/// The function [`SelectionMeasure::choose`] of a measure.
pub type Choose<T> =
    fn(&[T], usize, f64, Optimize, &mut SecureSource) -> Result<Vec<usize>, NoEntropy>;
/// The functions [`SelectionMeasure::loss`] and [`SelectionMeasure::exact_loss`] of a measure.
#[derive(Clone, Copy, Debug)]
pub struct LossOfChoices {
    pub(crate) float: fn(f64, usize) -> Result<f64>,
    pub(crate) exact: fn(&Exact, usize) -> Result<Exact>,
}

/// A [`SelectionMeasure`], or a type that stands for several of them. This trait is only
/// implemented here.
pub trait Selects: Measure<Distance = f64> {
    /// Return the function that chooses indices.
    fn chooser<T: Score>(&self) -> Choose<T>;
    /// Return the functions that bound the loss.
    fn losses(&self) -> LossOfChoices;
}
impl<MO: SelectionMeasure> Selects for MO {
    fn chooser<T: Score>(&self) -> Choose<T> {
        MO::choose
    }
    fn losses(&self) -> LossOfChoices {
        LossOfChoices { float: MO::loss, exact: MO::exact_loss }
    }
}

/// The max-divergence or zero-concentrated divergence, chosen at run time.
///
/// Registrations use this type in place of the two measures. So a constructor that is generic over
/// the measure of a choice is compiled only once. When a value of this type is erased, the result
/// is the measure that the value stands for. So an erased object never has this type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AnySelectionMeasure {
    /// The measure [`MaxDivergence`].
    Pure,
    /// The measure [`ZeroConcentratedDivergence`].
    Concentrated,
}
named!(AnySelectionMeasure as "AnySelectionMeasure");

/// Run code with the measure that a value of [`AnySelectionMeasure`] stands for.
macro_rules! with {
    ($any:expr, $measure:ident => $body:expr) => {
        match $any {
            AnySelectionMeasure::Pure => {
                let $measure = MaxDivergence;
                $body
            }
            AnySelectionMeasure::Concentrated => {
                let $measure = ZeroConcentratedDivergence;
                $body
            }
        }
    };
}
impl Measure for AnySelectionMeasure {
    type Distance = f64;
    const STANDS: bool = true;
    fn to_json(&self) -> Json {
        with!(self, measure => measure.to_json())
    }
    fn compose(&self, losses: &[f64]) -> Result<f64> {
        with!(self, measure => measure.compose(losses))
    }
    fn interaction(&self) -> Interaction {
        with!(self, measure => measure.interaction())
    }
    fn parts(&self) -> Result<usize> {
        with!(self, measure => measure.parts())
    }
    fn split(&self, loss: &f64) -> Result<Vec<f64>> {
        with!(self, measure => measure.split(loss))
    }
    fn join(&self, parts: &[f64]) -> Result<f64> {
        with!(self, measure => measure.join(parts))
    }
    fn profile(&self, loss: &f64) -> Result<PrivacyProfile> {
        with!(self, measure => measure.profile(loss))
    }
    fn erased(&self) -> AnyMeasure {
        with!(self, measure => measure.erased())
    }
    fn view(measure: &dyn Any) -> Option<Self> {
        let known = [AnySelectionMeasure::Pure, AnySelectionMeasure::Concentrated];
        let known =
            known.into_iter().find(|any| with!(any, it => measure.type_id() == it.type_id()));
        known.or_else(|| measure.downcast_ref().copied())
    }
}
impl Selects for AnySelectionMeasure {
    fn chooser<T: Score>(&self) -> Choose<T> {
        with!(self, measure => measure.chooser())
    }
    fn losses(&self) -> LossOfChoices {
        with!(self, measure => measure.losses())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_measure_that_it_stands_for() {
        for any in [AnySelectionMeasure::Pure, AnySelectionMeasure::Concentrated] {
            assert_eq!(with!(any, measure => AnySelectionMeasure::view(&measure)), Some(any));
            let erased = any.erased();
            assert_eq!(erased.to_json(), any.to_json());
            assert_ne!(erased.inner_type().to_string(), "AnySelectionMeasure");
            let typed = with!(any, measure => measure.losses());
            assert_eq!((any.losses().float)(3.0, 2), (typed.float)(3.0, 2));
        }
        let loss = |any: AnySelectionMeasure| (any.losses().float)(2.0, 1);
        assert_eq!(loss(AnySelectionMeasure::Pure), Ok(2.0));
        assert_eq!(loss(AnySelectionMeasure::Concentrated), Ok(0.5));
        assert_eq!(AnySelectionMeasure::view(&opendp_core::RenyiDivergence), None);
    }
}
