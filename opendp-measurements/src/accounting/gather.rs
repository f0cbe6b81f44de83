//! Compute the waves (the Fourier transform) of one loss at all frequencies at once.

use std::f64::consts::TAU;

use opendp_fourier::{Complex, Transform};

use super::convolution::transform_error;
use super::elementary::U;
use super::transform::Listed;

/// Waves at the multiples of a spacing, by one Fourier transform.
///
/// # Proof
/// Let `h` be the spacing of the frequencies, and `g = 2 pi / (h G)` the step of a grid of `G`
/// places. At the frequency `s = n h`, a wave `e^(i s x)` has the period `G g` in `x`, so places
/// are counted modulo `G`. On it let `x` lie between the two middle ones of [`POINTS`] adjacent
/// places. The polynomial through the values of the wave there is a sum of these values with real
/// weights that depend on `x` alone. It is off by at most `|w'| s^p / p!`, where `p` is the number
/// of points and `w'` the product of their distances from `x` (the divided difference of order `p`
/// is a mean of the derivative of order `p`, also if it is complex). In units of `g` this product
/// is largest in the middle, where it is `(1/2 3/2 5/2 ..)^2`. So the atoms are spread to the grid
/// by these weights, whose moduli add up to less than [`WEIGHTS`], and one transform of the grid
/// gives all waves, off by `((s g)^p / p!) (1/2 3/2 ..)^2` and by rounding. With `s g` up to
/// `pi / 2` this is at most 0.023, and it is far less at the low frequencies, which matter.
pub(super) struct Gather {
    spacing: f64,
    transform: Transform,
    places: Vec<f64>,
    spectrum: Vec<Complex>,
    /// The error of the polynomial at each frequency.
    errors: Vec<f64>,
}

/// The number of places to which an atom is spread.
const POINTS: usize = 10;
/// The place of the first of them, before the atom.
const BEFORE: i64 = 4;
/// Bounds the sum of the moduli of the weights of an atom.
const WEIGHTS: f64 = 2.5;
/// The number of places for each frequency.
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

/// Return the weights of the places for an atom that is `part` of a step above place [`BEFORE`].
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
    /// Plan for the frequencies `h`, `2 h`, and so on, at least `most` of them.
    pub(super) fn new(spacing: f64, most: usize) -> Gather {
        let length = (FINE * most.max(8)).next_power_of_two();
        let transform = Transform::of_length(length);
        // (1/2 3/2 5/2 7/2 9/2)^2 / 10!
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
            errors: (0..=length / FINE).map(error).collect(),
        }
    }
    /// The largest number of frequencies.
    pub(super) fn most(&self) -> usize {
        self.errors.len() - 1
    }
    /// Return the wave at each multiple of the spacing, from 0 on, and a bound on its error.
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
        // Weights err by 64 u each, and additions to one place by u for each atom.
        let rounding = (listed.atoms.len() as f64 + 64.0) * U + transform_error(length);
        let error = listed.error + WEIGHTS * rounding;
        let spacing = self.spacing;
        // The place of an atom errs by 4 u of itself, which turns a wave by `2 pi n / G` times it.
        let turn = 8.0 * U * furthest * TAU / length as f64;
        let blur = if furthest < 1e12 { turn + spacing * listed.blur } else { f64::INFINITY };
        let of = move |(n, (wave, off)): (usize, (&Complex, &f64))| {
            (wave.conj(), error + off + n as f64 * blur)
        };
        Some(self.spectrum.iter().zip(&self.errors).enumerate().map(of))
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
                let at = |j: usize| (j as f64 - BEFORE as f64).powi(power);
                let found: f64 = list.iter().enumerate().map(|(j, w)| w * at(j)).sum();
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
        let (most, mut near) = (gather.most(), 0);
        assert!((100..200).contains(&most));
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
        // At a third of the highest frequency and below, the error is negligible.
        assert!(most / 4 < near, "{near}");
    }
}
