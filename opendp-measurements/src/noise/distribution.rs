//! The distributions of additive noise, and the number types to which noise can be added.
//!
//! The mechanisms of [`Laplace`], [`Gaussian`] and [`ContinuousGaussian`] noise differ only in the
//! sampler, in the bound on the noise, and in the privacy loss. [`NoiseDistribution`] states the
//! sampler and the bound. [`NoiseLoss`](crate::NoiseLoss) states the loss. All other code of these
//! mechanisms is in `noise.rs`.

use num_traits::AsPrimitive;

use opendp_core::random::{Failing, NoEntropy, RandomSource};
use opendp_core::{Atom, IBig, Result};

use crate::Scale;
use crate::accuracy::{gaussian_accuracy, laplace_accuracy};
use crate::noise::numbers::finite;
use crate::samplers::{
    FloatNoise, IntegerTable, add_noise, big_discrete_gaussian, big_discrete_laplace,
    discrete_gaussian, discrete_laplace, rounded_gaussian,
};

/// A family of symmetric noise distributions, one for each scale. The samplers of the family are
/// exact.
///
/// At scale 0, no noise is added, and no random words are drawn.
pub trait NoiseDistribution: sealed::Sealed + 'static {
    /// Prepare a table for many draws of integer noise. Return `None` if there is no table for this
    /// scale. Without a table, [`integer`](Self::integer) draws the noise, or `big_integer` for an
    /// integer of any size.
    fn table(scale: f64) -> Option<IntegerTable>;
    /// Draw the noise that is added to an integer. Return whether the noise is negative, and the
    /// magnitude of the noise.
    ///
    /// # Errors
    /// `NoEntropy` when the source ends.
    fn integer<S: RandomSource>(scale: f64, source: &mut S) -> Result<(bool, u128), NoEntropy>;
    /// Prepare continuous noise for floats. The exact sum of a float and its noise is rounded to
    /// the nearest multiple of `2^k`.
    fn float(scale: f64, k: i32) -> FloatNoise;
    /// Return a bound on the error of a released number. The error exceeds the bound with
    /// probability at most `alpha`. For floats, the releases are multiples of `2^lattice`. For
    /// integers, `lattice` is `None`.
    ///
    /// # Errors
    /// `Overflow` when the bound exceeds all floats.
    fn accuracy(scale: Scale, lattice: Option<i32>, alpha: f64) -> Result<f64>;
}

/// A distribution whose noise can also be drawn for integers of any size.
pub trait BigNoiseDistribution: NoiseDistribution {
    /// Draw the noise that is added to an integer of any size.
    ///
    /// # Errors
    /// `NoEntropy` when the source ends.
    fn big_integer<S: RandomSource>(scale: f64, source: &mut S) -> Result<IBig, NoEntropy>;
}

/// A number type to which noise of the distribution `N` can be added.
pub trait NoiseNumber<N: NoiseDistribution>: Atom {
    /// For floats, the releases are rounded to multiples of `2^k`. This constant contains the
    /// smallest and the largest allowed `k`. For integers, this constant is `None`.
    const LATTICES: Option<(i32, i32)>;
    /// The noise of one scale, prepared for many draws.
    type Noise: Send + Sync + 'static;
    /// Prepare noise of a scale. For floats, the releases are rounded to multiples of `2^k`.
    fn prepare(scale: f64, k: i32) -> Self::Noise;
    /// Replace each number by its release at scale 0, which is the number itself or its nearest
    /// point of the lattice. Nothing is drawn.
    ///
    /// # Errors
    /// `NoEntropy` when [`add_noise`](Self::add_noise) draws at scale 0. No type of this crate
    /// returns an error.
    fn without_noise(numbers: &mut [Self], noise: &Self::Noise) -> Result<(), NoEntropy> {
        for number in numbers {
            *number = number.clone().add_noise(noise, &mut Failing::default())?;
        }
        Ok(())
    }
    /// Add exact noise to the number. An integer saturates at the ends of its type.
    ///
    /// # Errors
    /// `NoEntropy` when the source ends.
    fn add_noise<S: RandomSource>(
        self,
        noise: &Self::Noise,
        source: &mut S,
    ) -> Result<Self, NoEntropy>;
}
/// Noise of one scale for integers.
#[derive(Debug)]
pub struct IntegerNoise {
    pub(super) scale: f64,
    /// A table for many draws, if there is a table for the scale.
    pub(super) table: Option<IntegerTable>,
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl<N: NoiseDistribution> NoiseNumber<N> for $t {
            const LATTICES: Option<(i32, i32)> = None;
            type Noise = IntegerNoise;
            fn prepare(scale: f64, _: i32) -> IntegerNoise {
                IntegerNoise { scale, table: N::table(scale) }
            }
            fn without_noise(_: &mut [Self], _: &IntegerNoise) -> Result<(), NoEntropy> {
                Ok(())
            }
            #[inline]
            fn add_noise<S: RandomSource>(
                self,
                noise: &IntegerNoise,
                source: &mut S,
            ) -> Result<Self, NoEntropy> {
                match &noise.table {
                    Some(table) => table.add(self, source),
                    None => Ok(add_noise(self, N::integer(noise.scale, source)?)),
                }
            }
        }
    )*};
}
integers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

impl<N: BigNoiseDistribution> NoiseNumber<N> for IBig {
    const LATTICES: Option<(i32, i32)> = None;
    type Noise = IntegerNoise;
    fn prepare(scale: f64, _: i32) -> IntegerNoise {
        IntegerNoise { scale, table: N::table(scale) }
    }
    fn without_noise(_: &mut [Self], _: &IntegerNoise) -> Result<(), NoEntropy> {
        Ok(())
    }
    fn add_noise<S: RandomSource>(
        self,
        noise: &IntegerNoise,
        source: &mut S,
    ) -> Result<Self, NoEntropy> {
        Ok(self
            + match &noise.table {
                Some(table) => table.draw_big(source)?,
                None => N::big_integer(noise.scale, source)?,
            })
    }
}

macro_rules! floats {
    ($($t:ty: $finest:literal, $coarsest:literal;)*) => {$(
        impl<N: NoiseDistribution> NoiseNumber<N> for $t {
            const LATTICES: Option<(i32, i32)> = Some(($finest, $coarsest));
            type Noise = FloatNoise;
            fn prepare(scale: f64, k: i32) -> FloatNoise {
                N::float(scale, k)
            }
            fn without_noise(numbers: &mut [Self], noise: &FloatNoise) -> Result<(), NoEntropy> {
                for x in numbers {
                    *x = finite(AsPrimitive::<$t>::as_(noise.rounded(f64::from(finite(*x)))));
                }
                Ok(())
            }
            #[inline]
            fn add_noise<S: RandomSource>(
                self,
                noise: &FloatNoise,
                source: &mut S,
            ) -> Result<Self, NoEntropy> {
                let sum = noise.add(f64::from(finite(self)), source)?;
                // Round the sum to the nearest float of the type. For `f32`, the lattice point is
                // then rounded twice: to an `f64`, and to an `f32`. If the lattice point is next to
                // the midpoint of two floats of type `f32`, the release can be the farther of these
                // two floats. The proofs use only that rounding preserves the order and does not
                // change floats. The sum is a multiple of `2^k`, and `2^k` is at least the smallest
                // positive float of the type. So a sum is rounded to zero only if the sum is zero.
                // A zero sum is always `+0`, so no result is a negative zero. A sum beyond the
                // largest or lowest finite float becomes this float.
                Ok(finite(AsPrimitive::<$t>::as_(sum)))
            }
        }
    )*};
}
floats!(f32: -149, 127; f64: -1074, 1023;);

/// Laplace noise `Z`. For integers, `P[Z = z]` is proportional to `exp(-|z| / scale)`. For floats,
/// the density at `z` is proportional to `exp(-|z| / scale)`.
#[derive(Clone, Copy, Debug)]
pub struct Laplace;
impl NoiseDistribution for Laplace {
    fn table(scale: f64) -> Option<IntegerTable> {
        IntegerTable::laplace(scale)
    }
    #[inline]
    fn integer<S: RandomSource>(scale: f64, source: &mut S) -> Result<(bool, u128), NoEntropy> {
        discrete_laplace(scale, source)
    }
    fn float(scale: f64, k: i32) -> FloatNoise {
        FloatNoise::laplace(scale, k)
    }
    fn accuracy(scale: Scale, lattice: Option<i32>, alpha: f64) -> Result<f64> {
        laplace_accuracy::accuracy(scale, lattice, alpha)
    }
}
impl BigNoiseDistribution for Laplace {
    fn big_integer<S: RandomSource>(scale: f64, source: &mut S) -> Result<IBig, NoEntropy> {
        big_discrete_laplace(scale, source)
    }
}

/// Gaussian noise `Z`. For integers, `P[Z = z]` is proportional to `exp(-z^2 / (2 scale^2))`. For
/// floats, the density at `z` is proportional to `exp(-z^2 / (2 scale^2))`.
#[derive(Clone, Copy, Debug)]
pub struct Gaussian;
impl NoiseDistribution for Gaussian {
    fn table(scale: f64) -> Option<IntegerTable> {
        IntegerTable::gaussian(scale)
    }
    #[inline]
    fn integer<S: RandomSource>(scale: f64, source: &mut S) -> Result<(bool, u128), NoEntropy> {
        discrete_gaussian(scale, source)
    }
    fn float(scale: f64, k: i32) -> FloatNoise {
        FloatNoise::gaussian(scale, k)
    }
    fn accuracy(scale: Scale, lattice: Option<i32>, alpha: f64) -> Result<f64> {
        gaussian_accuracy::accuracy(scale, lattice, alpha)
    }
}
impl BigNoiseDistribution for Gaussian {
    fn big_integer<S: RandomSource>(scale: f64, source: &mut S) -> Result<IBig, NoEntropy> {
        big_discrete_gaussian(scale, source)
    }
}

/// The continuous normal distribution, for floats and also for integers. The sum of an integer and
/// the noise is a real number. This sum is rounded to the nearest integer, ties upward.
#[derive(Clone, Copy, Debug)]
pub struct ContinuousGaussian;
impl NoiseDistribution for ContinuousGaussian {
    fn table(_: f64) -> Option<IntegerTable> {
        None
    }
    #[inline]
    fn integer<S: RandomSource>(scale: f64, source: &mut S) -> Result<(bool, u128), NoEntropy> {
        rounded_gaussian(scale, source)
    }
    fn float(scale: f64, k: i32) -> FloatNoise {
        FloatNoise::gaussian(scale, k)
    }
    fn accuracy(scale: Scale, lattice: Option<i32>, alpha: f64) -> Result<f64> {
        gaussian_accuracy::continuous_accuracy(scale, lattice.unwrap_or(0), alpha)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Laplace {}
    impl Sealed for super::Gaussian {}
    impl Sealed for super::ContinuousGaussian {}
}
