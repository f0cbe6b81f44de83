//! Gaussian noise on a number or on each number of a vector.

use num_traits::AsPrimitive;

use opendp_core::random::{NoEntropy, RandomSource};
use opendp_core::{
    AbsoluteDistance, AtomDomain, IBig, L2Distance, Measure, Measurement, MetricOn, OfAnyNumber,
    PrivacyMap, Result, SmoothedMaxDivergence, Space, VectorDomain, ZeroConcentratedDivergence,
};

use crate::accuracy::gaussian_accuracy::accuracy;
use crate::noise::numbers::{Numbers, finite};
use crate::noise::{Noise, add_noise_of, lattice};
use crate::samplers::{
    IntegerTable, add_noise, big_discrete_gaussian, discrete_gaussian, gaussian,
};
use crate::{GaussianLoss, GaussianMetric, LaplaceNumber, Scale};

/// A number that Gaussian noise can be added to, on the same lattices as Laplace noise.
pub trait GaussianNumber: LaplaceNumber {
    /// Add exact Gaussian noise: discrete for integers; continuous for floats, and then rounded to
    /// the lattice `2^k`. Scale 0 draws nothing.
    ///
    /// # Errors
    /// `NoEntropy` when the source ends.
    fn add_gaussian<S: RandomSource>(
        self,
        scale: f64,
        k: i32,
        source: &mut S,
    ) -> Result<Self, NoEntropy>;
    /// Prepare the noise of a scale, for frequent draws; `None` when there is no faster way than
    /// [`add_gaussian`](Self::add_gaussian).
    fn prepare_gaussian(_scale: f64) -> Option<IntegerTable> {
        None
    }
    /// Add the noise of [`add_gaussian`](Self::add_gaussian), from the prepared noise if there is
    /// any.
    ///
    /// # Errors
    /// `NoEntropy` when the source ends.
    #[inline]
    fn add_gaussian_of<S: RandomSource>(
        self,
        _prepared: Option<&IntegerTable>,
        scale: f64,
        k: i32,
        source: &mut S,
    ) -> Result<Self, NoEntropy> {
        self.add_gaussian(scale, k, source)
    }
}

/// Make a measurement that adds Gaussian noise to each number.
///
/// Integers get noise of the discrete Gaussian distribution, `P[Z = z]` proportional to
/// `exp(-z^2 / (2 scale^2))`. They saturate at the ends of their type; an [`IBig`] has no ends.
/// Floats get noise of the normal distribution with standard deviation `scale`. The exact sum is
/// then rounded to the nearest multiple of `2^k`, ties upward, and to a float.
///
/// # Arguments
/// * `input` - a number under the absolute distance, or a vector under the L2 distance
/// * `scale` - the scale of the noise: its standard deviation for floats, and very nearly so for
///   integers; 0 for no noise, in which case nothing is drawn
/// * `k` - the exponent of the lattice that float releases lie on. Defaults to about 40 bits below
///   the scale, so rounding is negligible compared with the noise. Integers accept only null or 0
///
/// # Precondition
/// The domain excludes NaN; otherwise there is no such space. There are no other requirements: a
/// vector may have any length. An infinity counts as the largest or lowest finite number. `scale`
/// is finite and not negative; `k` is from -1074 to 1023, for `f32` from -149 to 127.
///
/// # Postcondition
/// Any two members at distance at most `d_in` give releases whose Renyi divergence of every order
/// `a > 1` is at most `a map(d_in)`: zero-concentrated privacy. Every release of a float is a
/// multiple of `2^k`, whatever the data, or the largest or lowest finite float; it is never a NaN,
/// an infinity or a negative zero.
///
/// # Map
/// `d_out = (d_in / scale)^2 / 2`, rounded up once; 0 for 0. At scale 0, any other distance gives
/// infinity. It does not depend on `k` or on the length of a vector.
/// In [`SmoothedMaxDivergence`], which [`make_gaussian_in`] offers too, it is the whole privacy
/// profile, with the distribution of the loss, so that compositions are tight:
/// [`profile_of_gaussian`], and for integers [`profile_of_discrete_gaussian`] or
/// [`profile_of_discrete_gaussian_vector`].
///
/// [`profile_of_gaussian`]: crate::accounting::profile_of_gaussian
/// [`profile_of_discrete_gaussian`]: crate::accounting::profile_of_discrete_gaussian
/// [`profile_of_discrete_gaussian_vector`]: crate::accounting::profile_of_discrete_gaussian_vector
///
/// # Proof
/// Write `x`, `y` for the numbers of two members, with `sum_i (x_i - y_i)^2 <= d_in^2`; both
/// metrics are defined this way. Let `s` be the scale and `a > 1` an order.
///
/// *Integers.* Without saturation the release of number `i` is `r` with probability
/// `exp(-(r - x_i)^2 / (2 s^2)) / W(0)`, where `W(c) = sum_r exp(-(r - c)^2 / (2 s^2))` over all
/// integers `r`; `W(x_i) = W(0)`. For every `r`, with `c = a x_i + (1 - a) y_i`,
///
/// `a (r - x_i)^2 + (1 - a) (r - y_i)^2 = (r - c)^2 - a (a - 1) (x_i - y_i)^2`.
///
/// So the divergence of order `a`, `ln(sum_r P[r]^a Q[r]^(1 - a)) / (a - 1)`, equals
/// `a (x_i - y_i)^2 / (2 s^2) + ln(W(c) / W(0)) / (a - 1)`. The last term is 0: `c` is an integer
/// when `a` is one, and in general `W(c) <= W(0)` because by Poisson's summation `W(c)` is a sum of
/// cosines of `c` with positive weights. Divergences of independent numbers add up (Bun, Steinke
/// 2016, Lemma 2.2): at most `a d_in^2 / (2 s^2)` in all (Canonne, Kamath, Steinke 2020, Theorem 4
/// for one number). Saturation is a function of the sums, so the divergence does not grow (Bun,
/// Steinke 2016, Lemma 2.2). [`discrete_gaussian`], or for small scales an [`IntegerTable`] of the
/// same law, draws the noise with exactly these probabilities for the exact rational value of
/// `scale`, and [`add_noise`] saturates the exact sum.
///
/// *Floats.* Replacing infinities does not increase any distance between members. Releasing the
/// real vector `x + s N` would lose `d_in^2 / (2 s^2)` (Bun, Steinke 2016, Proposition 1.6): the
/// computation is the one above with densities, and their integral does not depend on `c`. The
/// actual release is a function of this vector: [`gaussian`] returns the lattice point nearest to
/// the *exact* real sum, because it rounds only after the addition and uses as many digits of `N`
/// as the rounding needs; then the result is converted to the nearest float. Neither step sees the
/// data, so again the divergence does not grow, for every `k`, with no allowance for the lattice:
/// data is never rounded before the noise. It also follows that no bit of a release tells more than
/// its place on a fixed lattice (compare Mironov 2012).
///
/// *Scale 0.* The release is a function of the data: equal data give equal releases.
///
/// *Rounding.* The map rounds the exact rational number up to a float, once.
///
/// # Accuracy
/// For floats `scale t + 2^k / 2` bounds the error of a release, apart from the rounding to a
/// float, where `t` is slightly above the least value with `P[|N| > t] <= alpha`. For integers the
/// bound is `scale t`, rounded up to an integer. There is one bound for each number, or a single
/// one when a vector has unknown length or is very long.
///
/// # Errors
/// * `MakeMeasurement` when `k` is given for integers and is not 0
/// * `FailedFunction` when `k` is out of range
/// * from the map: `FailedMap` when `d_in` is infinite, negative or NaN; `Overflow` when the loss
///   exceeds all floats
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_gaussian};
/// let sums = Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new())?;
/// let release = make_gaussian(sums, Scale::new(2.0)?, Some(-10))?;
/// assert_eq!(release.map(&1.0)?, 0.125); // rho
/// assert_eq!((release.invoke(&100.0)? * 1024.0).fract(), 0.0);
/// # Ok::<(), Error>(())
/// ```
pub fn make_gaussian<D, M, MO>(
    input: Space<D, M>,
    scale: Scale,
    k: Option<i32>,
) -> Result<Measurement<D, M, MO, D::Carrier>>
where
    D: Numbers,
    D::Number: GaussianNumber,
    M: MetricOn<D> + GaussianMetric<MO>,
    MO: Measure + Default,
{
    make_gaussian_in(input, scale, k)
}

/// Make a measurement that adds Gaussian noise to each number, with its loss in the measure `MO`.
///
/// This is [`make_gaussian`] for every measure in which the metric knows the loss
/// ([`GaussianLoss`]). The arguments, the precondition, the noise and the accuracy are those of
/// [`make_gaussian`].
///
/// # Map
/// `(d_in / scale)^2 / 2` in [`ZeroConcentratedDivergence`]. In [`SmoothedMaxDivergence`] the whole
/// privacy profile: [`profile_of_gaussian`], and for integers [`profile_of_discrete_gaussian`] or,
/// for vectors, [`profile_of_discrete_gaussian_vector`].
///
/// [`profile_of_gaussian`]: crate::accounting::profile_of_gaussian
/// [`profile_of_discrete_gaussian`]: crate::accounting::profile_of_discrete_gaussian
/// [`profile_of_discrete_gaussian_vector`]: crate::accounting::profile_of_discrete_gaussian_vector
///
/// # Proof
/// The proof of [`make_gaussian`] bounds the loss in [`ZeroConcentratedDivergence`]. The same
/// releases are functions of the real or integer sums whose profiles the functions above state.
///
/// # Errors
/// As [`make_gaussian`].
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_gaussian_in};
/// let sums = Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new())?;
/// let release = make_gaussian_in::<_, _, SmoothedMaxDivergence>(sums, Scale::new(2.0)?, None)?;
/// let delta = release.map(&1.0)?.delta(0.0)?;
/// assert!((0.197..0.198).contains(&delta)); // P[|N| <= 1 / 4]
/// # Ok::<(), Error>(())
/// ```
pub fn make_gaussian_in<D, M, MO>(
    input: Space<D, M>,
    scale: Scale,
    k: Option<i32>,
) -> Result<Measurement<D, M, MO, D::Carrier>>
where
    D: Numbers,
    D::Number: GaussianNumber,
    M: MetricOn<D> + GaussianLoss<MO>,
    MO: Measure + Default,
{
    let lattice = lattice(<D::Number>::LATTICES, scale, k)?;
    let map = losing::<M, MO>(scale, lattice.is_none());
    Ok(add_noise_of::<Gaussian, _, _, _>(input, scale, lattice, map, accuracy))
}
/// Build the map, which is the same for all integers and the same for all floats.
fn losing<M: GaussianLoss<MO>, MO: Measure + Default>(
    scale: Scale,
    integers: bool,
) -> PrivacyMap<M, MO> {
    PrivacyMap::new(move |d_in: &M::Distance| match integers {
        false => M::loss(d_in, scale),
        true => M::loss_of_integers(d_in, scale),
    })
    .with_exact(move |d_in| M::exact_loss(d_in, scale))
}

macro_rules! register_at {
    ($($t:ty: $($q:ty),+;)+) => {$(
        register! {
            "gaussian.rs": make_gaussian via make_gaussian_in
                as ["make_gaussian", "make_base_gaussian", "make_base_discrete_gaussian"]
                (input, scale, k = null)
                for D in [AtomDomain<$t>],
                    M in [$(AbsoluteDistance<$q>),+] as OfAnyNumber<AbsoluteDistance<f64>>,
                    MO in [ZeroConcentratedDivergence, SmoothedMaxDivergence] = ZeroConcentratedDivergence;
        }
        register! {
            "gaussian.rs": make_gaussian via make_gaussian_in
                as ["make_gaussian", "make_base_gaussian", "make_base_discrete_gaussian"]
                (input, scale, k = null)
                for D in [VectorDomain<AtomDomain<$t>>],
                    M in [$(L2Distance<$q>),+] as OfAnyNumber<L2Distance<f64>>,
                    MO in [ZeroConcentratedDivergence, SmoothedMaxDivergence] = ZeroConcentratedDivergence;
        }
    )+};
}
// Each number type, with the types of its distances.
register_at! {
    i8: i8, f64; i16: i16, f64; i32: i32, f64; i64: i64, f64; i128: i128, f64; IBig: f64;
    u8: u8, f64; u16: u16, f64; u32: u32, f64; u64: u64, f64; u128: f64; usize: usize, f64;
    f32: f32, f64; f64: f64;
}

/// Noise of the Gaussian distributions.
pub(crate) struct Gaussian;
impl<T: GaussianNumber> Noise<T> for Gaussian {
    fn prepare(scale: f64) -> Option<IntegerTable> {
        T::prepare_gaussian(scale)
    }
    #[inline]
    fn add<S: RandomSource>(
        x: T,
        prepared: Option<&IntegerTable>,
        scale: f64,
        k: i32,
        source: &mut S,
    ) -> Result<T, NoEntropy> {
        x.add_gaussian_of(prepared, scale, k, source)
    }
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl GaussianNumber for $t {
            #[inline]
            fn add_gaussian<S: RandomSource>(
                self,
                scale: f64,
                _: i32,
                source: &mut S,
            ) -> Result<Self, NoEntropy> {
                Ok(add_noise(self, discrete_gaussian(scale, source)?))
            }
            fn prepare_gaussian(scale: f64) -> Option<IntegerTable> {
                IntegerTable::gaussian(scale)
            }
            #[inline]
            fn add_gaussian_of<S: RandomSource>(
                self,
                prepared: Option<&IntegerTable>,
                scale: f64,
                k: i32,
                source: &mut S,
            ) -> Result<Self, NoEntropy> {
                match prepared {
                    Some(table) => table.add(self, source),
                    None => self.add_gaussian(scale, k, source),
                }
            }
        }
    )*};
}
integers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);
impl GaussianNumber for IBig {
    fn add_gaussian<S: RandomSource>(
        self,
        scale: f64,
        _: i32,
        source: &mut S,
    ) -> Result<Self, NoEntropy> {
        Ok(self + big_discrete_gaussian(scale, source)?)
    }
    fn prepare_gaussian(scale: f64) -> Option<IntegerTable> {
        IntegerTable::gaussian(scale)
    }
    fn add_gaussian_of<S: RandomSource>(
        self,
        prepared: Option<&IntegerTable>,
        scale: f64,
        k: i32,
        source: &mut S,
    ) -> Result<Self, NoEntropy> {
        match prepared {
            Some(table) => Ok(self + table.draw_big(source)?),
            None => self.add_gaussian(scale, k, source),
        }
    }
}

macro_rules! floats {
    ($($t:ty)*) => {$(
        impl GaussianNumber for $t {
            #[inline]
            fn add_gaussian<S: RandomSource>(
                self,
                scale: f64,
                k: i32,
                source: &mut S,
            ) -> Result<Self, NoEntropy> {
                let sum = gaussian(f64::from(finite(self)), scale, k, source)?;
                // Round to the nearest float. No lattice is finer than the floats, so no sum
                // becomes a negative zero; a sum beyond the largest float becomes the largest.
                Ok(finite(AsPrimitive::<$t>::as_(sum)))
            }
        }
    )*};
}
floats!(f32 f64);

#[cfg(test)]
mod tests;
