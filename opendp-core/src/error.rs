//! Errors and their messages.

use crate::TypeName;

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong while building or running a computation.
///
/// There is one variant for each case that a caller may handle. Messages name arguments, types and
/// parameters, and what was expected and found. They never contain data: an error must not reveal
/// data that the mechanism protects.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A type name does not parse, or names no known type.
    #[error("cannot read type name `{text}`: {reason}")]
    TypeParse {
        /// The text that was read.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A function failed while it ran, for a reason that does not depend on private data.
    #[error("{0}")]
    FailedFunction(String),
    /// The secure source of randomness gave no random bits; nothing was released.
    #[error("the operating system gave no random bits; nothing was released")]
    NoEntropy,
    /// A map could not be evaluated at the given distance.
    #[error("{0}")]
    FailedMap(String),
    /// A number does not fit the type it is cast to.
    #[error("cannot cast: {0}")]
    FailedCast(String),
    /// A value does not have the requested type.
    #[error("expected a value of type {expected}, found one of type {found}")]
    Downcast {
        /// The type asked for.
        expected: TypeName,
        /// The type of the value.
        found: TypeName,
    },
    /// Two domains that must be equal differ.
    #[error("domain mismatch: expected {expected}, found {found}")]
    DomainMismatch {
        /// The domain that the second step needs.
        expected: String,
        /// The domain that the first step gives.
        found: String,
    },
    /// Two metrics that must be equal differ.
    #[error("metric mismatch: expected {expected}, found {found}")]
    MetricMismatch {
        /// The metric that the second step needs.
        expected: String,
        /// The metric that the first step gives.
        found: String,
    },
    /// Two privacy measures that must be equal differ.
    #[error("measure mismatch: expected {expected}, found {found}")]
    MeasureMismatch {
        /// The measure that was expected.
        expected: String,
        /// The measure that was found.
        found: String,
    },
    /// A domain cannot be made from these arguments.
    #[error("{0}")]
    MakeDomain(String),
    /// A transformation cannot be made from these arguments.
    #[error("{0}")]
    MakeTransformation(String),
    /// A measurement cannot be made from these arguments.
    #[error("{0}")]
    MakeMeasurement(String),
    /// The metric does not measure distances on the domain.
    #[error("not a metric space: {0}")]
    MetricSpace(String),
    /// A distance is negative, not a number, or cannot be compared.
    #[error("invalid distance: {0}")]
    InvalidDistance(String),
    /// A search found no value.
    #[error("{0}")]
    Search(String),
    /// A number left the range of its type.
    #[error("overflow: {0}")]
    Overflow(String),
    /// The operation is not defined for this object.
    #[error("{0}")]
    NotImplemented(String),
    /// Nothing is registered under this name.
    #[error("{0}")]
    NotFound(String),
    /// More than one constructor fits, or one name has more than one function.
    #[error("{0}")]
    Ambiguous(String),
    /// An argument is missing, unknown, or does not decode.
    #[error("argument `{argument}`: {reason}")]
    Argument {
        /// Name of the argument.
        argument: String,
        /// What was expected and what was found.
        reason: String,
    },
    /// A query asks for more than the remaining privacy budget.
    #[error("{0}")]
    BudgetExceeded(String),
    /// Another error, and the argument or step that it came from.
    #[error("{place}: {source}")]
    At {
        /// The argument or step.
        place: String,
        /// What went wrong there.
        source: Box<Error>,
    },
}

impl Error {
    /// Return the name of this kind of error, for documents and other languages.
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
    /// Say where an error came from: the name of an argument, or of a step in a chain.
    #[must_use]
    pub fn at(self, place: impl Into<String>) -> Self {
        Error::At { place: place.into(), source: Box::new(self) }
    }
    /// Report an argument that does not decode.
    pub fn argument(argument: impl Into<String>, reason: impl Into<String>) -> Self {
        Error::Argument { argument: argument.into(), reason: reason.into() }
    }
}

impl From<crate::random::NoEntropy> for Error {
    fn from(_: crate::random::NoEntropy) -> Self {
        Error::NoEntropy
    }
}
