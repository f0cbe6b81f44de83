//! Axes of charts: their range of numbers, and the positions of their marks.

use std::fmt::Write;

use crate::number::{exponent, short};
use crate::page::Point;

/// A range of numbers with marks at round numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    pub(crate) ticks: Vec<f64>,
}
impl Axis {
    /// Make an axis that contains points and their intervals. If `zero` is true, the axis also
    /// contains zero.
    pub(crate) fn of(points: &[Point], zero: bool) -> Axis {
        let ends = points.iter().flat_map(|point| {
            let (low, high) = point.interval.unwrap_or((point.value, point.value));
            [point.value, low, high]
        });
        // Leave out numbers of magnitude 1e300 or more, because such numbers can make the length of
        // the axis overflow.
        let ends = ends.filter(|x| x.abs() < 1e300);
        let ends: Vec<f64> = ends.chain(zero.then_some(0.0)).collect();
        let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match (low.is_finite() && high.is_finite(), low < high) {
            (true, true) => Axis::between(low, high),
            (true, false) => Axis::between(low - 1f64.max(low.abs()), high + 1f64.max(high.abs())),
            (false, _) => Axis::between(0.0, 1.0),
        }
    }
    /// Make an axis for a range. In most cases, the ends of the range are widened to multiples of a
    /// step. A step is one, two or five times a power of ten.
    fn between(low: f64, high: f64) -> Axis {
        let rough = (high - low) / 4.0;
        let unit = format!("1e{}", exponent(rough)).parse().unwrap_or(1.0);
        let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * unit);
        let step = step.into_iter().find(|step| rough <= *step * 1.0001).unwrap_or(10.0 * unit);
        // An end of the range can be beyond a mark by less than a fifth of a step. Then this mark
        // is the first or the last mark. Do not add another step.
        let short = |end: f64| (end - end.round()).abs() < 0.2;
        let inside = |end: f64, whole: f64| if short(end) { end.round() } else { whole };
        let (below, above) = (low / step, high / step);
        let (first, last) = (inside(below, below.floor()), inside(above, above.ceil()));
        if !step.is_normal() || !(last - first <= 20.0) {
            return Axis { low, high, ticks: vec![low, high] };
        }
        // There are at most twenty steps, so the cast is exact.
        let count = (last - first) as u32;
        let ticks = (0..=count).map(|k| (first + f64::from(k)) * step + 0.0).collect();
        Axis { low: low.min(first * step), high: high.max(last * step), ticks }
    }
    /// Return the position of a number on the axis, in percent of the length of the axis.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let place = 100.0 * (value - self.low) / (self.high - self.low);
        if place.is_nan() { 0.0 } else { place.clamp(0.0, 100.0) }
    }
    /// Write the numbers of the axis, which are shown below the chart.
    pub(crate) fn labels(&self) -> String {
        let mut html = String::from("<div class=\"axis\" aria-hidden=\"true\">");
        for tick in &self.ticks {
            let place = self.place(*tick);
            // Labels at the ends stay inside the page.
            let end = match place {
                place if place < 4.0 => " class=\"first\"",
                place if 96.0 < place => " class=\"last\"",
                _ => "",
            };
            let _ = write!(html, "<span{end} style=\"left:{place:.2}%\">{}</span>", short(*tick));
        }
        html + "</div>"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[f64]) -> Vec<Point> {
        values.iter().map(|value| Point::new("", *value)).collect()
    }
    #[test]
    fn an_axis_has_round_marks_around_all_points() {
        let axis = Axis::of(&points(&[3.0, 97.0]), true);
        assert_eq!(axis.ticks, [0.0, 50.0, 100.0]);
        assert_eq!(axis.place(50.0), 50.0);
        let axis = Axis::of(&[Point::new("", 10.0).within(-3.0, 23.0)], true);
        assert_eq!(axis.ticks, [-10.0, 0.0, 10.0, 20.0, 30.0]);
        // The lower end is a little below zero, and the upper end is a little above the last mark.
        // Both differences are less than a fifth of a step, so no mark is added.
        let axis = Axis::of(&[Point::new("", 10.0).within(-1.0, 20.5)], true);
        assert_eq!(axis.ticks, [0.0, 10.0, 20.0]);
        assert_eq!((axis.place(-1.0), axis.place(20.5)), (0.0, 100.0));
    }
    #[test]
    fn strange_numbers_have_an_axis() {
        let strange = [
            vec![],
            vec![f64::NAN],
            vec![f64::INFINITY, f64::MIN],
            vec![0.0],
            vec![1e299, -1e299],
            vec![1e-320, 0.0],
            vec![1.0, 1.0 + f64::EPSILON],
        ];
        for values in strange {
            let axis = Axis::of(&points(&values), false);
            let places = values.iter().map(|value| axis.place(*value));
            assert!(places.into_iter().all(|x| (0.0..=100.0).contains(&x)), "{values:?}");
            assert!(axis.ticks.len() <= 21 && !axis.labels().contains("NaN"), "{values:?}");
        }
    }
}
