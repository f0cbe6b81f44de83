//! Draws budgets, with the amounts spent and the amount left.

use std::fmt::Write;

use crate::number::number;
use crate::text::escaped;

/// The amount of a budget that one release has spent.
#[derive(Clone, Debug, PartialEq)]
pub struct Spent {
    /// The name of the release.
    pub what: String,
    /// The privacy loss of the release.
    pub amount: f64,
}
/// One part of a budget: epsilon, delta or rho. The spent amount and the amount left must add up to
/// the whole amount.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// The name of the part, such as epsilon.
    pub part: String,
    /// The total amount of the budget.
    pub whole: f64,
    /// The amount of the budget that is left.
    pub left: f64,
    /// The releases of this page, in order. If the sum of their amounts is less than
    /// `whole - left`, earlier releases have spent the difference.
    pub spent: Vec<Spent>,
}
/// Draw one part of a budget as one bar. The bar is divided into the amounts spent and the amount
/// left.
pub(crate) fn account(account: &Account) -> String {
    let Account { part, whole, left, spent } = account;
    let share = |amount: f64| match 0.0 < *whole && whole.is_finite() {
        true => (100.0 * amount / whole).clamp(0.0, 100.0),
        false => 0.0,
    };
    let gone = (whole - left).max(0.0);
    let here: f64 = spent.iter().map(|spent| spent.amount).sum();
    let before = gone - here;
    // Sums of rounded losses can differ in their last digits, even if earlier releases have spent
    // nothing. So a tiny difference counts as 0.
    let before = if before <= 1e-9 * whole { 0.0 } else { before };
    let mut html = format!("<div class=\"budget\"><p><b>{}</b> ", escaped(part));
    let _ = write!(
        html,
        "<span>{} of {} spent, {} left</span></p>",
        number(gone, None),
        number(*whole, None),
        number(*left, None)
    );
    html += "<svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"";
    let _ = write!(html, "{:.0} percent spent\">", share(gone));
    html += "<rect class=\"track\" width=\"100\" height=\"10\"/>";
    let mut x = share(before);
    if 0.0 < before {
        let _ = write!(html, "<rect class=\"before\" width=\"{x:.3}\" height=\"10\"/>");
    }
    for (place, spent) in spent.iter().enumerate() {
        let width = share(spent.amount).min(100.0 - x);
        let class = if place.is_multiple_of(2) { "bar" } else { "bar other" };
        let what = escaped(&spent.what);
        let _ = write!(
            html,
            "<rect class=\"{class}\" x=\"{x:.3}\" width=\"{width:.3}\" height=\"10\">\
             <title>{what}: {}</title></rect>",
            number(spent.amount, None)
        );
        x += width;
    }
    html += "</svg><p class=\"legend\"><span><i class=\"bar\"></i>spent here</span>";
    if 0.0 < before {
        let _ = write!(
            html,
            "<span><i class=\"before\"></i>spent before: {}</span>",
            number(before, None)
        );
    }
    html + "<span><i class=\"track\"></i>left</span></p></div>"
}
