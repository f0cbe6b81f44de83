//! Errors and their messages.

use std::borrow::Cow;

use crate::TypeName;

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error that occurs when a computation is constructed or runs.
///
/// Messages name arguments, types and parameters, and state what was expected and what was found.
/// The message of an error in a release never contains data, because the message must not reveal
/// data that the mechanism protects. Some functions of [`arith`](crate::arith) show their operands
/// in a message. Do not pass on such a message when an operand is private.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A type name cannot be parsed, or names no known type.
    #[error("cannot read type name `{}`: {}", shown(text, 60), shown(reason, LONGEST))]
    TypeParse {
        /// The text that was read.
        text: String,
        /// What is wrong with the text.
        reason: String,
    },
    /// A function failed while it ran, for a reason that does not depend on private data.
    #[error("{}", shown(.0, LONGEST))]
    FailedFunction(String),
    /// The secure source of randomness gave no random bits, so there was no release.
    #[error("the operating system gave no random bits; nothing was released")]
    NoEntropy,
    /// A map could not be evaluated at the given distance.
    #[error("{}", shown(.0, LONGEST))]
    FailedMap(String),
    /// A conversion is not possible. For example, a number does not fit the target type, or JSON
    /// does not have the expected form.
    #[error("cannot cast: {}", shown(.0, LONGEST))]
    FailedCast(String),
    /// A value does not have the requested type.
    #[error("expected a value of type {expected}, found one of type {found}")]
    Downcast {
        /// The requested type.
        expected: TypeName,
        /// The type of the value.
        found: TypeName,
    },
    /// Two domains differ, but they must be equal.
    #[error(
        "domain mismatch: expected {}, found {}",
        shown(expected, LONGEST),
        shown(found, LONGEST)
    )]
    DomainMismatch {
        /// The domain that the second step needs, or the domain of a session.
        expected: String,
        /// The domain that the first step gives, or the domain of a question.
        found: String,
    },
    /// Two metrics differ, but they must be equal.
    #[error(
        "metric mismatch: expected {}, found {}",
        shown(expected, LONGEST),
        shown(found, LONGEST)
    )]
    MetricMismatch {
        /// The metric that the second step needs, or the metric of a session.
        expected: String,
        /// The metric that the first step gives, or the metric of a question.
        found: String,
    },
    /// Two privacy measures differ, but they must be equal.
    #[error(
        "measure mismatch: expected {}, found {}",
        shown(expected, LONGEST),
        shown(found, LONGEST)
    )]
    MeasureMismatch {
        /// The measure that was expected.
        expected: String,
        /// The measure that was found.
        found: String,
    },
    /// A domain cannot be made from the given arguments.
    #[error("{}", shown(.0, LONGEST))]
    MakeDomain(String),
    /// A transformation cannot be made from the given arguments.
    #[error("{}", shown(.0, LONGEST))]
    MakeTransformation(String),
    /// A measurement cannot be made from the given arguments.
    #[error("{}", shown(.0, LONGEST))]
    MakeMeasurement(String),
    /// The metric does not measure distances on the domain.
    #[error("not a metric space: {}", shown(.0, LONGEST))]
    MetricSpace(String),
    /// A distance, a loss or another number is outside of its range, is NaN, or cannot be compared.
    #[error("invalid distance: {}", shown(.0, LONGEST))]
    InvalidDistance(String),
    /// A search found no value.
    #[error("{}", shown(.0, LONGEST))]
    Search(String),
    /// A result is outside of the range of its type.
    #[error("overflow: {}", shown(.0, LONGEST))]
    Overflow(String),
    /// The operation is not defined for this object.
    #[error("{}", shown(.0, LONGEST))]
    NotImplemented(String),
    /// Nothing with the requested name exists.
    #[error("{}", shown(.0, LONGEST))]
    NotFound(String),
    /// More than one signature fits a request, or several functions have the same name.
    #[error("{}", shown(.0, LONGEST))]
    Ambiguous(String),
    /// An argument is missing or unknown, cannot be decoded, or is not allowed.
    #[error("argument `{}`: {}", shown(argument, 200), shown(reason, LONGEST))]
    Argument {
        /// Name of the argument.
        argument: String,
        /// What was expected and what was found.
        reason: String,
    },
    /// A query asks for more than the remaining privacy budget.
    #[error("{}", shown(.0, LONGEST))]
    BudgetExceeded(String),
    /// An error that occurred in an argument or in a step, with the name of this argument or step.
    #[error("{}: {source}", shown(place, 80))]
    At {
        /// The argument or step.
        place: String,
        /// The error in this argument or step.
        source: Box<Error>,
    },
}

impl Error {
    /// Return the name of this kind of error, for programs in other languages. Two variants share
    /// the name of another variant: `NoEntropy` has the name `FailedFunction`, and `Downcast` has
    /// the name `FailedCast`. `At` has the name of the error that it contains.
    ///
    /// ```
    /// # use opendp_core::Error;
    /// assert_eq!(Error::Overflow("i8 addition".into()).kind(), "Overflow");
    /// ```
    pub fn kind(&self) -> &'static str {
        match self {
            Error::TypeParse { .. } => "TypeParse",
            Error::FailedFunction(_) | Error::NoEntropy => "FailedFunction",
            Error::FailedMap(_) => "FailedMap",
            Error::FailedCast(_) | Error::Downcast { .. } => "FailedCast",
            Error::DomainMismatch { .. } => "DomainMismatch",
            Error::MetricMismatch { .. } => "MetricMismatch",
            Error::MeasureMismatch { .. } => "MeasureMismatch",
            Error::MakeDomain(_) => "MakeDomain",
            Error::MakeTransformation(_) => "MakeTransformation",
            Error::MakeMeasurement(_) => "MakeMeasurement",
            Error::MetricSpace(_) => "MetricSpace",
            Error::InvalidDistance(_) => "InvalidDistance",
            Error::Search(_) => "Search",
            Error::Overflow(_) => "Overflow",
            Error::NotImplemented(_) => "NotImplemented",
            Error::NotFound(_) => "NotFound",
            Error::Ambiguous(_) => "Ambiguous",
            Error::Argument { .. } => "Argument",
            Error::BudgetExceeded(_) => "BudgetExceeded",
            Error::At { source, .. } => source.kind(),
        }
    }
    /// Return the error without the places that [`at`](Error::at) added. An error of a link in a
    /// document has the variant `At`. So to handle an error by its variant, match its root:
    ///
    /// ```
    /// # use opendp_core::Error;
    /// let error = Error::NoEntropy.at("chain link 2 `laplace`");
    /// let retry = match error.root() {
    ///     Error::NoEntropy => true,
    ///     _ => false,
    /// };
    /// assert!(retry);
    /// ```
    pub fn root(&self) -> &Error {
        let mut root = self;
        while let Error::At { source, .. } = root {
            root = source;
        }
        root
    }
    /// Add the place of an error: the name of an argument, or of a step in a chain.
    #[must_use]
    pub fn at(self, place: impl Into<String>) -> Self {
        Error::At { place: place.into(), source: Box::new(self) }
    }
    /// Remove the name of an argument from the beginning of a message. The caller adds this name by
    /// [`at`](Error::at), so the message must not repeat it.
    #[must_use]
    pub(crate) fn without_name(mut self, name: &str) -> Self {
        if let Error::FailedFunction(reason)
        | Error::MakeDomain(reason)
        | Error::MakeTransformation(reason)
        | Error::MakeMeasurement(reason) = &mut self
            && let Some(rest) = reason.strip_prefix(name).and_then(|rest| rest.strip_prefix(": "))
        {
            *reason = rest.to_owned();
        }
        self
    }
    /// Make the error for an argument that is missing, unknown or wrong.
    pub fn argument(argument: impl Into<String>, reason: impl Into<String>) -> Self {
        Error::Argument { argument: argument.into(), reason: reason.into() }
    }
}

/// The largest length of a part of a message, in characters.
const LONGEST: usize = 1000;
/// Cut a part of a message to `longest` characters, and mark the cut by three dots. Also escape all
/// control characters except line breaks. The message can quote a text from an untrusted source,
/// and a terminal executes control characters.
fn shown(text: &str, longest: usize) -> Cow<'_, str> {
    let control = |c: char| c.is_control() && c != '\n';
    // The usual case: a short text without control characters.
    if text.len() <= longest && !text.contains(control) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    for c in text.chars().take(longest) {
        match control(c) {
            true => shown.extend(c.escape_debug()),
            false => shown.push(c),
        }
    }
    if text.chars().nth(longest).is_some() {
        shown.push_str("...");
    }
    Cow::Owned(shown)
}

impl From<crate::random::NoEntropy> for Error {
    fn from(_: crate::random::NoEntropy) -> Self {
        Error::NoEntropy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_short_and_obeys_no_terminal_whatever_it_quotes() {
        let long = "a\u{1b}[2J".repeat(1000);
        let type_parse = Error::TypeParse { text: long.clone(), reason: long.clone() };
        for error in [
            Error::NotFound(long.clone()),
            Error::argument(long.clone(), long.clone()).at(long.clone()),
            type_parse,
        ] {
            let message = error.to_string();
            assert!(message.len() < 8000, "{} bytes", message.len());
            assert!(!message.contains('\u{1b}') && message.contains("\\u{1b}[2J"), "{message}");
            assert!(message.ends_with("..."), "{message}");
        }
        let twice = Error::MakeDomain("bounds: swap them".into());
        let once = crate::args::at_argument("bounds", twice.clone());
        assert_eq!(once.to_string(), "argument `bounds`: swap them");
        let other = crate::args::at_argument("bound", twice);
        assert_eq!(other.to_string(), "argument `bound`: bounds: swap them");
        let error = Error::argument("scale", "1\n2").at("chain link 1 `laplace`");
        assert_eq!(error.to_string(), "chain link 1 `laplace`: argument `scale`: 1\n2");
    }
    #[test]
    fn the_root_of_an_error_has_no_place() {
        let spent = Error::BudgetExceeded("0.5 is left".into());
        assert_eq!(spent.root(), &spent);
        assert_eq!(spent.clone().at("question 2").at("study").root(), &spent);
    }
}
