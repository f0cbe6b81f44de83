//! Domains that are described at run time.

use std::{fmt, sync::Arc};

use serde_json::Value as Json;

use crate::domain::descriptor;
use crate::erased::{AnyFunction, AnyValue};
use crate::{Domain, Function, Result, TheDomain, named};

/// A set of values of any types. A function that the user supplies decides which values are
/// members.
///
/// In Rust, prefer your own type that implements [`Domain`]. Such a type is compared by its
/// structure, and a space can pair it only with a metric that fits. `UserDomain` is for users who
/// cannot write a Rust type. No property of a `UserDomain` is checked: it can be paired with any
/// metric. Two `UserDomain`s are equal if they have the same identifier and the same descriptor,
/// even if they have different functions.
///
/// ```
/// # use opendp_core::{Domain, UserDomain, erased::AnyValue};
/// let even = UserDomain::new("even numbers", |value| {
///     value.downcast_ref::<i32>().is_ok_and(|number| number % 2 == 0)
/// });
/// assert!(even.member(&AnyValue::new(4)) && !even.member(&AnyValue::new(5)));
/// assert!(!even.member(&AnyValue::new("four".to_owned())));
/// ```
#[derive(Clone)]
pub struct UserDomain {
    identifier: String,
    descriptor: Json,
    member: Arc<dyn Fn(&AnyValue) -> bool + Send + Sync>,
}
impl UserDomain {
    /// Make a domain from a function that decides membership.
    pub fn new(
        identifier: impl Into<String>,
        member: impl Fn(&AnyValue) -> bool + Send + Sync + 'static,
    ) -> Self {
        let (identifier, descriptor) = (identifier.into(), Json::Null);
        UserDomain { identifier, descriptor, member: Arc::new(member) }
    }
    /// Add a descriptor, which distinguishes domains with the same identifier.
    #[must_use]
    pub fn with_descriptor(mut self, descriptor: Json) -> Self {
        self.descriptor = descriptor;
        self
    }
    /// Return the identifier.
    pub fn identifier(&self) -> &str {
        &self.identifier
    }
    /// Return the descriptor, or null.
    pub fn descriptor(&self) -> &Json {
        &self.descriptor
    }
}
impl PartialEq for UserDomain {
    fn eq(&self, other: &Self) -> bool {
        self.identifier == other.identifier && self.descriptor == other.descriptor
    }
}
impl fmt::Debug for UserDomain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UserDomain({:?})", self.identifier)
    }
}
impl Domain for UserDomain {
    type Carrier = AnyValue;
    fn member(&self, value: &AnyValue) -> bool {
        (self.member)(value)
    }
    fn to_json(&self) -> Json {
        described("user_domain", &self.identifier, &self.descriptor)
    }
}
named!(UserDomain as "UserDomain");

/// Write a user-defined domain, metric or measure in the form that pipeline documents use.
pub(crate) fn described(function: &str, identifier: &str, described: &Json) -> Json {
    let known = Some(described).filter(|json| !json.is_null());
    descriptor(function, [("identifier", Some(identifier.into())), ("descriptor", known.cloned())])
}

/// Describe a set of values by a function that decides membership.
///
/// # Arguments
/// * `identifier` - the name of the domain
/// * `member` - a function that returns `true` for members; if the function fails or returns
///   anything else, the value is not a member
/// * `descriptor` - more information that distinguishes domains with the same identifier
///
/// # Trust
/// The caller must ensure five conditions, which are not checked. First, the function always
/// returns the same result for the same value. Second, the metric that is paired with this domain
/// measures distances between the members of this domain. Third, domains with the same identifier
/// and descriptor have the same members. Fourth, no code changes the value before the release is
/// made. There are two reasons: the function runs only once, and a value of another language, such
/// as a Python list, is not copied. Fifth, each use of a value reads the same content. So
/// the value must not be a Python iterator, because the first use consumes the iterator.
///
/// # Errors
/// None.
///
/// ```
/// # use opendp_core::{Domain, Function, descriptors::user_domain, erased::AnyValue};
/// let even = Function::map(|number: &i32| Ok(number % 2 == 0)).erase();
/// let domain = user_domain("even numbers".into(), even, None)?.0;
/// assert!(domain.member(&AnyValue::new(4)) && !domain.member(&AnyValue::new(4.5)));
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn user_domain(
    identifier: String,
    member: AnyFunction,
    descriptor: Option<Json>,
) -> Result<TheDomain<UserDomain>> {
    let decides = move |value: &AnyValue| decide(&member, value).unwrap_or(false);
    let domain = UserDomain::new(identifier, decides);
    Ok(TheDomain(domain.with_descriptor(descriptor.unwrap_or_default())))
}
fn decide(member: &Function<AnyValue, AnyValue>, value: &AnyValue) -> Result<bool> {
    member.eval(value)?.downcast()
}
register! { "user.rs": user_domain(identifier, member, descriptor = null); }

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Error;

    #[test]
    fn is_compared_by_name_and_descriptor() {
        let domain = |name: &str, size: i32| {
            UserDomain::new(name, |_| true).with_descriptor(json!({"size": size}))
        };
        assert_eq!(domain("a", 1), domain("a", 1));
        assert_ne!(domain("a", 1), domain("a", 2));
        assert_ne!(domain("a", 1), domain("b", 1));
        let json = json!({"user_domain": {"identifier": "a", "descriptor": {"size": 1}}});
        assert_eq!(domain("a", 1).to_json(), json);
        assert_eq!(format!("{:?}", domain("a", 1)), "UserDomain(\"a\")");
    }
    #[test]
    fn a_function_that_fails_has_no_members() {
        let fails =
            Function::map(|_: &i32| -> Result<bool> { Err(Error::FailedFunction("no".into())) });
        let speaks = Function::map(|_: &i32| Ok("yes".to_owned()));
        for member in [fails.erase(), speaks.erase()] {
            let domain = user_domain("x".into(), member, None).unwrap().0;
            assert!(!domain.member(&AnyValue::new(1)));
        }
    }
}
