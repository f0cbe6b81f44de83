//! Draws charts that show each number in a line of its own, as a bar from zero or as a point.

use std::fmt::Write;

use crate::axis::Axis;
use crate::number::number;
use crate::page::Point;
use crate::text::escaped;

/// The maximum number of lines that a chart shows. A table below the chart can have more lines.
pub(crate) const MOST: usize = 80;

/// For each of the first [`MOST`] numbers, write one line of the chart, with a bar or a point. A
/// number that is not finite gets no bar and no point.
pub(crate) fn lines(points: &[Point], bars: bool, percent: &str) -> String {
    let axis = Axis::of(points, bars);
    let mut html = String::from("<div class=\"chart lines\">");
    html += &legend(points, if bars { "bar" } else { "dot" }, percent);
    for point in points.iter().take(MOST) {
        let label = escaped(&point.label);
        let _ = write!(
            html,
            "<div class=\"line\"><span class=\"label\">{label}</span>{}\
             <span class=\"value\">{}</span></div>",
            drawn(point, &axis, bars),
            valued(point)
        );
    }
    html += "<div class=\"line foot\"><span class=\"label\"></span>";
    let _ = write!(html, "{}<span class=\"value\"></span></div></div>", axis.labels());
    if MOST < points.len() {
        let _ =
            write!(html, "<p class=\"note\">The first {MOST} of {} are drawn.</p>", points.len());
    }
    html
}
/// Write the released number of a point, and then the interval of this number or the text about its
/// error.
fn valued(point: &Point) -> String {
    let error = point.interval.and_then(|(low, high)| {
        // Counts have no decimals.
        let whole = [point.value, low, high].iter().all(|number| number.fract() == 0.0);
        (!whole).then_some((high - low) / 2.0)
    });
    let value = match point.value.is_finite() {
        true => number(point.value, error),
        false => "no answer".to_owned(),
    };
    let note = match (&point.note, point.interval) {
        (Some(note), _) => escaped(note),
        (None, Some((low, high))) => {
            format!("{} to {}", number(low, error), number(high, error))
        }
        (None, None) => String::new(),
    };
    format!("<b>{value}</b> <small>{note}</small>")
}
fn drawn(point: &Point, axis: &Axis, bars: bool) -> String {
    let mut html = String::from(
        "<svg viewBox=\"0 0 100 24\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"",
    );
    let spoken = valued(point).replace("<b>", "").replace("</b>", "");
    let spoken = spoken.replace("<small>", "").replace("</small>", "");
    let _ = write!(html, "{}: {}\">", escaped(&point.label), spoken.trim());
    for tick in &axis.ticks {
        let x = axis.place(*tick);
        let class = if *tick == 0.0 && bars { "zero" } else { "grid" };
        let _ = write!(html, "<path class=\"{class}\" d=\"M{x:.2} 0V24\"/>");
    }
    if point.value.is_finite() {
        let (end, zero) = (axis.place(point.value), axis.place(0.0));
        if bars {
            let (left, width) = (end.min(zero), (end - zero).abs());
            let _ = write!(
                html,
                "<rect class=\"bar\" x=\"{left:.2}\" y=\"5\" width=\"{width:.2}\" height=\"14\"/>"
            );
        }
        if let Some((low, high)) = point.interval {
            let (low, high) = (axis.place(low), axis.place(high));
            let _ = write!(
                html,
                "<path class=\"halo\" d=\"M{low:.2} 12H{high:.2}\"/>\
                 <path class=\"whisker\" d=\"M{low:.2} 8V16M{low:.2} 12H{high:.2}M{high:.2} 8V16\"/>"
            );
        }
        if !bars {
            // A line with round ends and almost no length is a circle at any width of the page.
            let _ = write!(html, "<path class=\"dot\" d=\"M{end:.2} 12h0.001\"/>");
        }
    }
    html + "</svg>"
}
/// Write the legend of a chart. The legend explains the marks of the chart.
pub(crate) fn legend(points: &[Point], mark: &str, percent: &str) -> String {
    let name = match mark {
        "dot" => "chosen among public candidates, with noise",
        _ => "released number",
    };
    let mut html = format!("<p class=\"legend\"><span><i class=\"{mark}\"></i>{name}</span>");
    if points.iter().any(|point| point.interval.is_some()) {
        let percent = escaped(percent);
        let _ = write!(
            html,
            "<span><i class=\"interval\"></i>noise added; {percent} % interval</span>"
        );
    }
    html + "</p>"
}
