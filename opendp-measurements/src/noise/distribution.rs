//! The distributions of additive noise, and the number types that have noise.
//!
//! Mechanisms of additive noise differ in three things only: the sampler, the bound on the noise
//! and the privacy loss. [`NoiseDistribution`] states the sampler and the bound.
//! [`NoiseLoss`](crate::NoiseLoss) states the loss. All mechanisms share the other code, in
//! `noise.rs`.

use num_traits::AsPrimitive;

use opendp_core::random::{NoEntropy, RandomSource};
use opendp_core::{Atom, IBig, Result};

use crate::Scale;
use crate::accuracy::{gaussian_accuracy, laplace_accuracy};
use crate::noise::numbers::finite;
use crate::samplers::{
    IntegerTable, add_noise, big_discrete_gaussian, big_discrete_laplace, discrete_gaussian,
    discrete_laplace, gaussian, laplace, rounded_gaussian,
};

/// A family of symmetric noise distributions, one for each scale. Its samplers are exact.
///
/// At scale 0, no noise is added and nothing is drawn, so a source without random words is enough.
pub trait NoiseDistribution: sealed::Sealed + 'static {
    /// Prepare a table for many draws of integer noise. Return `None` if a table would not be
    /// faster than [`integer`](Self::integer).
    fn table(scale: f64) -> Option<IntegerTable>;
    /// Draw the noise that is added to an integer. Return whether the noise is negative, and the
    /// magnitude of the noise.
    ///
    /// # Errors
    /// `NoEntropy` when the source ends.
    fn integer<S: RandomSource>(scale: f64, source: &mut S) -> Result<(bool, u128), NoEntropy>;
    /// Add continuous noise to the float `x`. Round the exact sum to the nearest multiple of `2^k`.
    ///
    /// # Errors
    /// `NoEntropy` when the source ends.
    fn float<S: RandomSource>(x: f64, scale: f64, k: i32, source: &mut S)
    -> Result<f64, NoEntropy>;
    /// Return a bound on the error of a released number. The error exceeds the bound with
    /// probability at most `alpha`. For floats, `lattice` is the exponent of the lattice of the
    /// releases. For integers, `lattice` is `None`.
    ///
    /// # Errors
    /// `Overflow` when the bound exceeds all floats.
    fn accuracy(scale: Scale, lattice: Option<i32>, alpha: f64) -> Result<f64>;
}

/// A distribution that can also be drawn for integers of any size.
pub trait BigNoiseDistribution: NoiseDistribution {
    /// Draw the noise that is added to an integer of any size.
    ///
    /// # Errors
    /// `NoEntropy` when the source ends.
    fn big_integer<S: RandomSource>(scale: f64, source: &mut S) -> Result<IBig, NoEntropy>;
}

/// A number type that has noise of the distribution `N`.
pub trait NoiseNumber<N: NoiseDistribution>: Atom {
    /// The smallest and the largest allowed exponent of the lattice of the releases. `None` for
    /// integers.
    const LATTICES: Option<(i32, i32)>;
    /// Prepare a table for many draws of noise of the given scale. Return `None` if a table would
    /// not be faster than single draws.
    fn table(scale: f64) -> Option<IntegerTable>;
    /// Add exact noise to the number. If a table was prepared for this scale, the noise is drawn
    /// from the table. An integer saturates at the ends of its type. A float is rounded to the
    /// lattice `2^k`.
    ///
    /// # Errors
    /// `NoEntropy` when the source ends.
    fn add_noise<S: RandomSource>(
        self,
        table: Option<&IntegerTable>,
        scale: f64,
        k: i32,
        source: &mut S,
    ) -> Result<Self, NoEntropy>;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl<N: NoiseDistribution> NoiseNumber<N> for $t {
            const LATTICES: Option<(i32, i32)> = None;
            fn table(scale: f64) -> Option<IntegerTable> {
                N::table(scale)
            }
            #[inline]
            fn add_noise<S: RandomSource>(
                self,
                table: Option<&IntegerTable>,
                scale: f64,
                _: i32,
                source: &mut S,
            ) -> Result<Self, NoEntropy> {
                match table {
                    Some(table) => table.add(self, source),
                    None => Ok(add_noise(self, N::integer(scale, source)?)),
                }
            }
        }
    )*};
}
integers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

impl<N: BigNoiseDistribution> NoiseNumber<N> for IBig {
    const LATTICES: Option<(i32, i32)> = None;
    fn table(scale: f64) -> Option<IntegerTable> {
        N::table(scale)
    }
    fn add_noise<S: RandomSource>(
        self,
        table: Option<&IntegerTable>,
        scale: f64,
        _: i32,
        source: &mut S,
    ) -> Result<Self, NoEntropy> {
        Ok(self
            + match table {
                Some(table) => table.draw_big(source)?,
                None => N::big_integer(scale, source)?,
            })
    }
}

macro_rules! floats {
    ($($t:ty: $finest:literal, $coarsest:literal;)*) => {$(
        impl<N: NoiseDistribution> NoiseNumber<N> for $t {
            const LATTICES: Option<(i32, i32)> = Some(($finest, $coarsest));
            fn table(_: f64) -> Option<IntegerTable> {
                None
            }
            #[inline]
            fn add_noise<S: RandomSource>(
                self,
                _: Option<&IntegerTable>,
                scale: f64,
                k: i32,
                source: &mut S,
            ) -> Result<Self, NoEntropy> {
                let sum = N::float(f64::from(finite(self)), scale, k, source)?;
                // Round the sum to the nearest float of the type. The spacing of the lattice is at
                // least the smallest positive float, so no sum becomes a negative zero. A sum
                // beyond the largest float becomes the largest float.
                Ok(finite(AsPrimitive::<$t>::as_(sum)))
            }
        }
    )*};
}
floats!(f32: -149, 127; f64: -1074, 1023;);

/// Laplace noise `Z`. For integers, `P[Z = z]` is proportional to `exp(-|z| / scale)`. For floats,
/// the density at `z` is proportional to the same expression.
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
    #[inline]
    fn float<S: RandomSource>(
        x: f64,
        scale: f64,
        k: i32,
        source: &mut S,
    ) -> Result<f64, NoEntropy> {
        laplace(x, scale, k, source)
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
/// floats, the density at `z` is proportional to the same expression.
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
    #[inline]
    fn float<S: RandomSource>(
        x: f64,
        scale: f64,
        k: i32,
        source: &mut S,
    ) -> Result<f64, NoEntropy> {
        gaussian(x, scale, k, source)
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
/// the real noise is rounded to the nearest integer, ties upward.
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
    #[inline]
    fn float<S: RandomSource>(
        x: f64,
        scale: f64,
        k: i32,
        source: &mut S,
    ) -> Result<f64, NoEntropy> {
        gaussian(x, scale, k, source)
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
