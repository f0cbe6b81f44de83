//! Draws histograms: columns over ordered buckets.

use std::fmt::Write;

use crate::axis::Axis;
use crate::bars::legend;
use crate::number::short;
use crate::page::Point;
use crate::text::escaped;

/// The maximum number of columns. With more columns, each column would be thinner than a line.
const MOST: usize = 200;
/// The maximum number of labels below the columns.
const LABELS: usize = 8;
/// The approximate number of characters that fit below the columns.
const ROOM: usize = 96;

/// Draw a column for each bucket, in order.
pub(crate) fn histogram(points: &[Point], percent: &str) -> String {
    let axis = Axis::of(points, true);
    let shown = &points[..points.len().min(MOST)];
    let legend = legend(points, "bar", percent);
    let mut html = format!("<div class=\"chart\">{legend}<div class=\"columns\">");
    html += "<div class=\"side\" aria-hidden=\"true\">";
    for tick in &axis.ticks {
        let place = axis.place(*tick);
        let _ = write!(html, "<span style=\"bottom:{place:.2}%\">{}</span>", short(*tick));
    }
    html += "</div><svg viewBox=\"0 0 100 100\" preserveAspectRatio=\"none\" role=\"img\" ";
    let _ = write!(html, "aria-label=\"histogram of {} buckets\">", points.len());
    for tick in &axis.ticks {
        let y = 100.0 - axis.place(*tick);
        let class = if *tick == 0.0 { "zero" } else { "grid" };
        let _ = write!(html, "<path class=\"{class}\" d=\"M0 {y:.2}H100\"/>");
    }
    let width = 100.0 / shown.len().max(1) as f64;
    for (place, point) in shown.iter().enumerate() {
        html += &column(point, &axis, place as f64 * width, width);
    }
    html += "</svg><div class=\"below\" aria-hidden=\"true\">";
    let longest = shown.iter().map(|point| point.label.chars().count()).max().unwrap_or(0);
    let labels = (ROOM / (longest + 2)).clamp(1, LABELS);
    let every = shown.len().div_ceil(labels).max(1);
    for (place, point) in shown.iter().enumerate().step_by(every) {
        let left = (place as f64 + 0.5) * width;
        let minor = if (place / every) % 2 == 1 { " class=\"minor\"" } else { "" };
        let label = escaped(&point.label);
        let _ = write!(html, "<span{minor} style=\"left:{left:.2}%\">{label}</span>");
    }
    html += "</div></div></div>";
    if MOST < points.len() {
        let _ =
            write!(html, "<p class=\"note\">The first {MOST} of {} are drawn.</p>", points.len());
    }
    html
}
fn column(point: &Point, axis: &Axis, left: f64, width: f64) -> String {
    if !point.value.is_finite() {
        return String::new();
    }
    let (end, zero) = (100.0 - axis.place(point.value), 100.0 - axis.place(0.0));
    let (top, height) = (end.min(zero), (end - zero).abs());
    let (x, middle) = (left + width * 0.09, left + width / 2.0);
    let mut html = format!(
        "<rect class=\"bar\" x=\"{x:.3}\" y=\"{top:.2}\" width=\"{:.3}\" height=\"{height:.2}\">\
         <title>{}: {}</title></rect>",
        width * 0.82,
        escaped(&point.label),
        crate::number(point.value, None)
    );
    if let Some((low, high)) = point.interval {
        let (low, high) = (100.0 - axis.place(low), 100.0 - axis.place(high));
        let _ = write!(html, "<path class=\"halo\" d=\"M{middle:.3} {low:.2}V{high:.2}\"/>");
        let _ = write!(html, "<path class=\"whisker\" d=\"M{middle:.3} {low:.2}V{high:.2}\"/>");
    }
    html
}
