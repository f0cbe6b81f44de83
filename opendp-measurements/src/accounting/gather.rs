//! The Fourier transform of one loss, computed at all frequencies at once. The values of the
//! transform are called waves.

use std::f64::consts::TAU;

use opendp_fourier::{Complex, Transform};

use super::convolution::transform_error;
use super::elementary::U;
use super::transform::Listed;
use crate::collected::Collected;

/// The waves (values of the Fourier transform of a loss) at the multiples of a spacing. One
/// discrete Fourier transform computes all waves.
///
/// # Proof
/// Let `h` be the spacing of the frequencies, and `g = 2 pi / (h G)` the step of a grid of `G`
/// places. At the frequency `s = n h`, the function `e^(i s x)` has the period `G g` in `x`. So
/// places are counted modulo `G`. An atom is a loss with a positive mass. Take [`POINTS`] adjacent
/// places such that an atom `x` lies between the two middle places. Take the polynomial through the
/// values of `e^(i s x)` at these places. The value of the polynomial at `x` is a weighted sum of
/// the values at the places. The weights are real and depend only on `x`. Let `p` be the number of
/// these places, and `w'` the product of their distances from `x`. The error of the polynomial at
/// `x` is at most `|w'| s^p / p!`. The reason is that the divided difference of order `p` is
/// `1 / p!` times a mean of the derivative of order `p`. This fact also holds for complex values.
/// The product `|w'|` is largest if `x` is halfway between the two middle places. Then `|w'|` is
/// `(1/2 3/2 5/2 ..)^2 g^p`. For each atom, the mass times the weight of each place is added to
/// this place. The moduli of the weights add up to less than [`WEIGHTS`]. One transform of the grid
/// then gives all waves. The masses of the atoms add up to 1. So the error of a wave is at most the
/// sum of two errors: `((s g)^p / p!) (1/2 3/2 ..)^2`, and the rounding error. The grid has at
/// least [`FINE`] places for each frequency, so `s g` is at most `pi / 2`. Then the first of these
/// two errors is at most 0.023. The first error is far smaller at the low frequencies, which
/// contribute most.
pub(super) struct Gather {
    spacing: f64,
    transform: Transform,
    places: Vec<f64>,
    spectrum: Vec<Complex>,
    /// For each frequency, a bound on the error of the polynomial.
    errors: Vec<f64>,
}

/// The number of places to which parts of an atom are added.
const POINTS: usize = 10;
/// The index of the last place that is at or below the atom. An atom has [`POINTS`] places, with
/// indices from 0 on.
const BEFORE: i64 = 4;
/// An upper bound on the sum of the moduli of all weights of one atom.
const WEIGHTS: f64 = 2.5;
/// The number of places of the grid, divided by the number of frequencies.
const FINE: usize = 4;

/// `1 / prod (j - k)` over all `k != j`, for `j` from 0 to 9.
const DIVISORS: [f64; POINTS] = {
    let mut list = [0.0; POINTS];
    let mut j = 0;
    while j < POINTS {
        let (mut product, mut k) = (1.0, 0);
        while k < POINTS {
            if k != j {
                product *= j as f64 - k as f64;
            }
            k += 1;
        }
        list[j] = 1.0 / product;
        j += 1;
    }
    list
};

/// Return the weights of the places for an atom. The atom is above place [`BEFORE`] by the fraction
/// `part` of a step.
fn weights(part: f64) -> [f64; POINTS] {
    let mut list = DIVISORS;
    let mut before = 1.0;
    for (j, weight) in list.iter_mut().enumerate() {
        *weight *= before;
        before *= part + BEFORE as f64 - j as f64;
    }
    let mut after = 1.0;
    for (j, weight) in list.iter_mut().enumerate().rev() {
        *weight *= after;
        after *= part + BEFORE as f64 - j as f64;
    }
    list
}

impl Gather {
    /// Make a plan for at least `count` frequencies `h`, `2 h`, and so on. `h` is the `spacing`.
    pub(super) fn new(spacing: f64, count: usize) -> Gather {
        let length = (FINE * count.max(8)).next_power_of_two();
        let transform = Transform::of_length(length);
        // The factor is (1/2 3/2 5/2 7/2 9/2)^2 / 10!.
        let factor = 872.1 / 3_628_800.0;
        let error = |n: usize| {
            let square = (TAU * n as f64 / length as f64).powi(2);
            factor * square.powi(POINTS as i32 / 2) * (1.0 + 1e-12)
        };
        Gather {
            spacing,
            places: vec![0.0; length],
            spectrum: transform.spectrum(),
            transform,
            errors: (0..=length / FINE).map(error).collected(),
        }
    }
    /// Return the number of frequencies of the plan.
    pub(super) fn most(&self) -> usize {
        self.errors.len() - 1
    }
    /// Return the wave at each multiple of the spacing, from 0 on. Each wave comes with a bound on
    /// its error.
    pub(super) fn waves(
        &mut self,
        listed: &Listed,
    ) -> Option<impl Iterator<Item = (Complex, f64)> + '_> {
        let length = self.places.len();
        let scale = self.spacing * length as f64 / TAU;
        let mask = length as i64 - 1;
        let mut furthest = 0.0f64;
        self.places.fill(0.0);
        for &(loss, mass) in &listed.atoms {
            let place = loss * scale;
            furthest = furthest.max(place.abs());
            let floor = place.floor();
            let first = floor as i64 - BEFORE;
            for (j, weight) in (0..).zip(weights(place - floor)) {
                self.places[((first + j) & mask) as usize] += mass * weight;
            }
        }
        self.transform.forward(&mut self.places, &mut self.spectrum).ok()?;
        // Let u be the unit roundoff. Each weight errs by 64 u. The additions to one place err by u
        // for each atom.
        let rounding = (listed.atoms.len() as f64 + 64.0) * U + transform_error(length);
        let error = listed.error + WEIGHTS * rounding;
        let spacing = self.spacing;
        // The place of an atom has a relative error of 4 u. Let the grid have `G` places. An error
        // of the place changes the phase of wave `n` by `2 pi n / G` times this error.
        let turn = 8.0 * U * furthest * TAU / length as f64;
        let blur = if furthest < 1e12 { turn + spacing * listed.blur } else { f64::INFINITY };
        let entry = move |(n, (wave, off)): (usize, (&Complex, &f64))| {
            (wave.conj(), error + off + n as f64 * blur)
        };
        Some(self.spectrum.iter().zip(&self.errors).enumerate().map(entry))
    }
}

#[cfg(test)]
mod tests {
    use super::super::elementary::cis;
    use super::*;

    #[test]
    fn weights_are_those_of_polynomials_and_stay_small() {
        for i in 0..=100 {
            let part = f64::from(i) / 100.0;
            let list = weights(part);
            for power in 0..POINTS as i32 {
                let power_at = |j: usize| (j as f64 - BEFORE as f64).powi(power);
                let found: f64 = list.iter().enumerate().map(|(j, w)| w * power_at(j)).sum();
                let exact = if power == 0 { 1.0 } else { part.powi(power) };
                assert!((found - exact).abs() < 1e-8, "{part} {power}: {found}");
            }
            let size: f64 = list.iter().map(|weight| weight.abs()).sum();
            assert!(size < WEIGHTS, "{part}: {size}");
        }
    }
    #[test]
    fn gathered_waves_are_those_of_the_atoms_up_to_the_stated_error() {
        let count = 37;
        let atom = |i: u32| ((f64::from(i) * 0.37).sin() * 3.0 + 0.1, 1.0 / f64::from(count));
        let listed = Listed { atoms: (0..count).map(atom).collect(), error: 0.0, blur: 0.0 };
        let mut gather = Gather::new(0.3, 100);
        let (count, mut near) = (gather.most(), 0);
        assert!((100..200).contains(&count));
        for (n, (wave, error)) in gather.waves(&listed).unwrap().enumerate() {
            let mut exact = Complex::new(0.0, 0.0);
            for (loss, mass) in &listed.atoms {
                let (c, d) = cis(0.3 * n as f64 * loss);
                exact += Complex::new(mass * c, mass * d);
            }
            let off = (wave - exact).norm_sqr().sqrt();
            assert!(off <= error + 1e-15, "{n}: {off} {error}");
            assert!(error < 0.024);
            near += usize::from(error < 1e-7);
        }
        // Up to a quarter of the highest frequency, the error of the waves is negligible.
        assert!(count / 4 < near, "{near}");
    }
}
