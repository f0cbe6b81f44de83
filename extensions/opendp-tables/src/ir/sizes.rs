//! The sizes of expressions. Limits on these sizes bound the time and the stack that an engine
//! needs for a plan.

use super::{Rounding, Row};
use crate::calendar::printed;
use crate::sql::is_safe;
use crate::{Dialect, Type};

/// The largest number of levels of a printed formula of the calendar.
const FORMULA_LEVELS: usize = 40;

/// The form in which a node is printed. How an engine finds the type of a node depends on this
/// form.
enum Form {
    /// The engine finds the types of the operands.
    Operator,
    /// The engine makes the fields of the operands. A field is a type with a name. This name
    /// contains the names of all nodes below.
    Function,
    /// The node is printed as `CASE`. The engine finds the types of the operands twice to make the
    /// field of the node.
    Case,
    /// The node is printed as `CASE` with functions inside, and its operands are operands of these
    /// functions. So the engine makes the fields of the operands twice to make the field of the
    /// node. If such nodes are nested, the number of steps doubles at each level.
    CaseOfFunction,
    /// The node is printed with several copies of its operand, and with `CASE`. The engine finds
    /// the types of all copies.
    Copies,
}
/// Bounds on the cost of a printed expression.
struct Cost {
    nodes: usize,
    /// The number of steps in which an engine finds the type of the expression.
    kind: usize,
    /// The number of steps in which an engine makes the field of the expression. A field is a type
    /// with a name.
    field: usize,
    /// The number of steps in which an engine finds the types of all nodes.
    steps: usize,
}
impl Row {
    /// Count the nodes of the expression. An operand counts once for each of its copies. Some
    /// operands are printed twice. An engine copies all operands of `COALESCE` except the last.
    pub(crate) fn size(&self) -> usize {
        let sizes = self.operands().into_iter().map(|(row, copies)| row.size() * copies);
        // The sum is limited, so that no product overflows.
        sizes.fold(1 + self.values(), usize::saturating_add).min(1 << 40)
    }
    /// Return the number of values in the list of `IN`, and 0 for any other node.
    fn values(&self) -> usize {
        if let Row::In(_, values) = self { values.len() } else { 0 }
    }
    pub(crate) fn levels(&self) -> usize {
        1 + self.operands().into_iter().map(|(row, _)| row.levels()).max().unwrap_or(0)
    }
    /// Bound the number of steps in which an engine finds the types of all printed nodes.
    pub(crate) fn steps(&self) -> usize {
        self.cost().steps
    }
    fn cost(&self) -> Cost {
        let add = |sum: usize, more: usize| sum.saturating_add(more).min(1 << 40);
        let (own, form) = self.own();
        let (mut nodes, mut kinds, mut fields, mut steps) = (own + self.values(), own, own, 0);
        for (row, copies) in self.operands() {
            let cost = row.cost();
            let read = if matches!(form, Form::Copies) { copies } else { 1 };
            nodes = add(nodes, cost.nodes.saturating_mul(copies));
            kinds = add(kinds, cost.kind.saturating_mul(read));
            fields = add(fields, cost.field.saturating_mul(read));
            steps = add(steps, cost.steps.saturating_mul(copies));
        }
        let (kind, field) = match form {
            Form::Operator => (kinds, add(nodes, fields)),
            Form::Function => (add(nodes, fields), add(nodes, fields)),
            Form::Case => (kinds, add(nodes, 2 * kinds)),
            Form::CaseOfFunction => (add(nodes, fields), add(nodes, 2 * fields)),
            Form::Copies => (kinds, add(nodes, 2 * add(kinds, fields))),
        };
        // To find the types of all nodes, an engine reads each node once for each level above it.
        let levels = if matches!(form, Form::Copies) { own.min(FORMULA_LEVELS) } else { own };
        Cost { nodes, kind, field, steps: add(steps, levels.saturating_mul(kind)) }
    }
    /// Bound the number of nodes that are printed for this node without its operands. Also return
    /// the form in which the node is printed.
    fn own(&self) -> (usize, Form) {
        match self {
            Row::Column { kind: Type::Float, .. } => (14, Form::Operator),
            Row::Column { kind: kind @ (Type::Date | Type::Timestamp), .. } => {
                let size = printed::size(|x| printed::column(x, *kind, Dialect::DataFusion));
                (size.0 + size.1, Form::Case)
            }
            Row::Column { .. } | Row::Literal(_) | Row::Float(_) => (1, Form::Operator),
            Row::Part(..) | Row::Start(..) | Row::Day(_) | Row::Midnight(_) | Row::Shifted(..) => {
                (self.of_calendar().map_or(0, |size| size.1), Form::Copies)
            }
            Row::Like(..) => (1, Form::Operator),
            Row::Text(..) | Row::Length(_) => (4, Form::Function),
            Row::Joined(all) => (4 * all.len(), Form::Function),
            Row::In(..) | Row::Compare(..) | Row::And(..) | Row::Or(..) => (1, Form::Operator),
            Row::Days(..) => (1, Form::Operator),
            Row::Not(_) | Row::IsNull(_) => (1, Form::Operator),
            Row::Negative(_) => (3, Form::Operator),
            Row::Case(..) => (1, Form::Case),
            Row::Coalesce(_) | Row::NullIf(..) => (1, Form::Function),
            Row::Rounded(Rounding::Absolute, _) => (1, Form::Function),
            Row::Rounded(..) => (3, Form::Function),
            Row::Clamp(..) => (7, Form::CaseOfFunction),
            Row::Arithmetic(operator, x, y) if is_safe(*operator, x, y) => (4, Form::Operator),
            Row::Arithmetic(..) => (24, Form::CaseOfFunction),
        }
    }
    /// If the node is printed as a formula of the calendar, count the copies of its operand, and
    /// bound the number of its other nodes.
    fn of_calendar(&self) -> Option<(usize, usize)> {
        let kind = |x: &Row| x.kind().unwrap_or(Type::Timestamp);
        Some(match self {
            Row::Part(part, x) => printed::size(|text| printed::part(*part, kind(x), text)),
            Row::Start(period, x) => printed::size(|text| printed::start(*period, kind(x), text)),
            Row::Day(_) => printed::size(printed::day),
            Row::Midnight(_) => printed::size(printed::midnight),
            Row::Shifted(length, x) => {
                printed::size(|text| printed::shifted(kind(x), *length, text))
            }
            _ => return None,
        })
    }
    /// Return the operands, each with the number of its copies.
    fn operands(&self) -> Vec<(&Row, usize)> {
        match self {
            Row::Column { .. } | Row::Literal(_) => Vec::new(),
            // An engine turns a short list into comparisons, so it copies the operand.
            Row::In(x, values) if values.len() <= 3 => vec![(x, values.len().max(1))],
            Row::In(x, _) | Row::Negative(x) | Row::Rounded(_, x) | Row::Not(x) => vec![(x, 1)],
            Row::IsNull(x) | Row::Float(x) => vec![(x, 1)],
            Row::Clamp(x, ..) => vec![(x, 2)],
            Row::Part(_, x)
            | Row::Start(_, x)
            | Row::Day(x)
            | Row::Midnight(x)
            | Row::Shifted(_, x) => {
                vec![(x, self.of_calendar().map_or(1, |size| size.0))]
            }
            Row::Like(x, ..) | Row::Text(_, x) | Row::Length(x) => vec![(x, 1)],
            Row::Joined(all) => all.iter().map(|row| (row, 1)).collect(),
            Row::Arithmetic(operator, x, y) => {
                let copies = if is_safe(*operator, x, y) { 1 } else { 2 };
                vec![(x, copies), (y, copies)]
            }
            Row::Compare(_, x, y) | Row::And(x, y) => vec![(x, 1), (y, 1)],
            Row::Or(x, y) | Row::NullIf(x, y) | Row::Days(x, y) => vec![(x, 1), (y, 1)],
            Row::Coalesce(all) => {
                let last = all.len().saturating_sub(1);
                let copies = |place| if place < last { 2 } else { 1 };
                all.iter().enumerate().map(|(place, row)| (row, copies(place))).collect()
            }
            Row::Case(cases, otherwise) => {
                let cases = cases.iter().flat_map(|(x, y)| [x, y]);
                cases.chain(otherwise.as_deref()).map(|row| (row, 1)).collect()
            }
        }
    }
}
