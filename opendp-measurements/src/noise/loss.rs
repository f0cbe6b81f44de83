//! The privacy losses of Laplace and Gaussian noise for each metric and each measure.

use opendp_core::arith::{Exact, InfCast, Number};
use opendp_core::erased::AnyDistance;
use opendp_core::{
    AbsoluteDistance, AnyNumber, Distance, LpDistance, MaxDivergence, Measure, Metric,
    NumberMetric, OfAnyNumber, PrivacyProfile, Result, SmoothedMaxDivergence,
    ZeroConcentratedDivergence,
};

use crate::accounting::{
    profile_of_discrete_gaussian, profile_of_discrete_gaussian_vector, profile_of_discrete_laplace,
    profile_of_gaussian, profile_of_laplace,
};
use crate::collected::Collected;
use crate::noise::quotient::{
    exact_half_square_quotient, exact_quotient, half_square_quotient, quotient,
};
use crate::{Gaussian, Laplace, NoiseDistribution, Scale};

/// A metric on numbers that computes the privacy loss of noise. `N` is the distribution of the
/// noise, and `MO` is the measure of the loss.
///
/// An implementation assumes a bound on the differences between the [numbers](crate::Numbers) of
/// two members at distance at most `d_in`. The implementation computes the loss from this bound.
/// For [`Laplace`] noise, the absolute differences add up to at most `d_in`. For [`Gaussian`]
/// noise, the squares of the differences add up to at most the square of `d_in`.
#[diagnostic::on_unimplemented(
    message = "`{N}` noise has no loss in `{MO}` under the metric `{Self}`",
    note = "noise is added to numbers: first aggregate the rows, as with `make_count` or `make_sum`",
    note = "`Laplace` needs `AbsoluteDistance` or `L1Distance`",
    note = "`Gaussian` needs `AbsoluteDistance` or `L2Distance`"
)]
pub trait NoiseLoss<N: NoiseDistribution, MO: Measure>: Metric {
    /// Return an upper bound, rounded up, on the loss at the distance `d_in`. The noise has the
    /// given scale.
    ///
    /// # Errors
    /// `FailedMap` when `d_in` is not finite; `Overflow` when the bound does not fit a float.
    fn loss(d_in: &Self::Distance, scale: Scale) -> Result<MO::Distance>;
    /// Return the bound that [`loss`](Self::loss) computes, but without rounding the result. If
    /// `integers` is `true`, return the bound that [`loss_of_integers`](Self::loss_of_integers)
    /// computes. The result has one number for each [part](Measure::parts) of a loss. An integer
    /// distance that equals no float is first rounded up to a float. The default implementation
    /// returns the rounded bound.
    ///
    /// # Errors
    /// The errors of [`loss`](Self::loss).
    fn exact_loss(d_in: &Self::Distance, scale: Scale, integers: bool) -> Result<Vec<Exact>>
    where
        MO: Default,
    {
        let loss = match integers {
            false => Self::loss(d_in, scale)?,
            true => Self::loss_of_integers(d_in, scale)?,
        };
        let parts = MO::default().split(&loss)?;
        parts.into_iter().map(Exact::from_f64).try_collected()
    }
    /// Return an upper bound on the loss of discrete noise on integers. The default implementation
    /// returns [`loss`](Self::loss).
    ///
    /// # Errors
    /// The errors of [`loss`](Self::loss).
    fn loss_of_integers(d_in: &Self::Distance, scale: Scale) -> Result<MO::Distance> {
        Self::loss(d_in, scale)
    }
}

/// Implement the loss for metrics whose distances are numbers.
macro_rules! losses {
    ($($noise:ty, $measure:ty: [$($metric:ident<$($p:literal,)? Q>),+] $body:tt)+) => {$($(
        impl<Q> NoiseLoss<$noise, $measure> for $metric<$($p,)? Q>
        where
            Q: Distance + Number,
            f64: InfCast<Q>,
            i128: InfCast<Q>,
        $body
    )+)+};
}
losses! {
    Laplace, MaxDivergence: [AbsoluteDistance<Q>, LpDistance<1, Q>] {
        fn loss(d_in: &Q, scale: Scale) -> Result<f64> {
            quotient(*d_in, scale.value())
        }
        fn exact_loss(d_in: &Q, scale: Scale, _: bool) -> Result<Vec<Exact>> {
            Ok(vec![exact_quotient(*d_in, scale.value())?])
        }
    }
    Laplace, SmoothedMaxDivergence: [AbsoluteDistance<Q>, LpDistance<1, Q>] {
        fn loss(d_in: &Q, scale: Scale) -> Result<PrivacyProfile> {
            profile_of_laplace(quotient(*d_in, 1.0)?, scale.value())
        }
        fn loss_of_integers(d_in: &Q, scale: Scale) -> Result<PrivacyProfile> {
            profile_of_discrete_laplace(quotient(*d_in, 1.0)?, scale.value())
        }
    }
    Gaussian, ZeroConcentratedDivergence: [AbsoluteDistance<Q>, LpDistance<2, Q>] {
        fn loss(d_in: &Q, scale: Scale) -> Result<f64> {
            half_square_quotient(*d_in, scale.value())
        }
        fn exact_loss(d_in: &Q, scale: Scale, _: bool) -> Result<Vec<Exact>> {
            Ok(vec![exact_half_square_quotient(*d_in, scale.value())?])
        }
    }
    Gaussian, SmoothedMaxDivergence: [AbsoluteDistance<Q>] {
        fn loss(d_in: &Q, scale: Scale) -> Result<PrivacyProfile> {
            profile_of_gaussian(quotient(*d_in, 1.0)?, scale.value())
        }
        fn loss_of_integers(d_in: &Q, scale: Scale) -> Result<PrivacyProfile> {
            profile_of_discrete_gaussian(quotient(*d_in, 1.0)?, scale.value())
        }
    }
    Gaussian, SmoothedMaxDivergence: [LpDistance<2, Q>] {
        fn loss(d_in: &Q, scale: Scale) -> Result<PrivacyProfile> {
            profile_of_gaussian(quotient(*d_in, 1.0)?, scale.value())
        }
        fn loss_of_integers(d_in: &Q, scale: Scale) -> Result<PrivacyProfile> {
            profile_of_discrete_gaussian_vector(quotient(*d_in, 1.0)?, scale.value())
        }
    }
}

/// The loss depends only on the value of a distance. The type of the distance does not matter.
impl<M, N, MO> NoiseLoss<N, MO> for OfAnyNumber<M>
where
    M: NumberMetric + NoiseLoss<N, MO, Distance = f64>,
    M::OfIntegers: NoiseLoss<N, MO, Distance = i128>,
    N: NoiseDistribution,
    MO: Measure,
{
    fn loss(d_in: &AnyDistance, scale: Scale) -> Result<MO::Distance> {
        match d_in.number()? {
            AnyNumber::Integer(d_in) => M::OfIntegers::loss(&d_in, scale),
            AnyNumber::Float(d_in) => M::loss(&d_in, scale),
        }
    }
    fn exact_loss(d_in: &AnyDistance, scale: Scale, integers: bool) -> Result<Vec<Exact>>
    where
        MO: Default,
    {
        match d_in.number()? {
            AnyNumber::Integer(d_in) => M::OfIntegers::exact_loss(&d_in, scale, integers),
            AnyNumber::Float(d_in) => M::exact_loss(&d_in, scale, integers),
        }
    }
    fn loss_of_integers(d_in: &AnyDistance, scale: Scale) -> Result<MO::Distance> {
        match d_in.number()? {
            AnyNumber::Integer(d_in) => M::OfIntegers::loss_of_integers(&d_in, scale),
            AnyNumber::Float(d_in) => M::loss_of_integers(&d_in, scale),
        }
    }
}
