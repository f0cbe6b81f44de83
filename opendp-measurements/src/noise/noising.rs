//! Functions that add noise to all numbers of a slice. The type of such a function depends only on
//! the type of the numbers.

use std::sync::OnceLock;

use opendp_core::random::{NoEntropy, securely};
use opendp_core::{Function, Result};

use crate::{NoiseDistribution, NoiseNumber, Numbers};

/// A function that adds noise to each number of a slice.
pub(crate) type Noising<V> = Box<dyn Fn(&mut [V]) -> Result<(), NoEntropy> + Send + Sync>;

/// Return the function that adds noise of the distribution `N`.
pub(crate) fn noising<N, V>(scale: f64, k: i32) -> Noising<V>
where
    N: NoiseDistribution,
    V: NoiseNumber<N>,
{
    let prepared = Prepared::new(scale, k, V::prepare);
    Box::new(move |numbers| {
        let noise = prepared.noise();
        if scale == 0.0 {
            return V::without_noise(numbers, noise);
        }
        securely(&mut |source| each(numbers, |x| x.add_noise(noise, source)))
    })
}
/// Build the function that copies a member of the domain `D` and adds noise to each number of the
/// copy. This function does not depend on the noise. See [`map_of`](super::map_of) for the C ABI.
#[allow(improper_ctypes_definitions, reason = "no C code calls it")]
pub(crate) extern "C" fn adding<D: Numbers>(
    noising: Noising<D::Number>,
) -> Function<D::Carrier, D::Carrier> {
    Function::map(move |data: &D::Carrier| Ok(D::try_replace(data, &*noising)?))
}
pub(crate) fn each<V: Clone>(
    numbers: &mut [V],
    mut replace: impl FnMut(V) -> Result<V, NoEntropy>,
) -> Result<(), NoEntropy> {
    for number in numbers {
        match replace(number.clone()) {
            Ok(replaced) => *number = replaced,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The noise of a mechanism, prepared for many draws. For integers, the noise contains an
/// [`IntegerTable`](crate::samplers::IntegerTable), if there is a table for the scale. The noise is
/// prepared when the first release needs it. So even the first release draws from the table. The
/// time of nearly all draws from a table does not depend on the drawn number. A program that only
/// evaluates maps does not spend time on the preparation of a table.
struct Prepared<Noise> {
    scale: f64,
    k: i32,
    prepare: fn(f64, i32) -> Noise,
    noise: OnceLock<Noise>,
}
impl<Noise> Prepared<Noise> {
    fn new(scale: f64, k: i32, prepare: fn(f64, i32) -> Noise) -> Self {
        Prepared { scale, k, prepare, noise: OnceLock::new() }
    }
    fn noise(&self) -> &Noise {
        self.noise.get_or_init(|| (self.prepare)(self.scale, self.k))
    }
}
