//! Searches for the value of a document's parameter.

use std::collections::BTreeMap;

use opendp_core::search::{Bisect, binary_search};
use opendp_core::{Codec, Constructed, Error, Result};
use serde_json::Value as Json;

use crate::{Document, Registry};

impl Document {
    /// Find the value of a parameter at the boundary where the map meets a bound.
    ///
    /// The answer is the value nearest to the boundary where `map(d_in) <= d_out` holds: the
    /// smallest scale, or the largest size, that the budget allows. If the document cannot be built
    /// at a value, or the map fails, the value does not meet the bound. A parameter that takes only
    /// whole numbers is searched among whole numbers.
    ///
    /// # Errors
    /// `Argument` when the document has no such parameter; `Search` when the map meets the bound
    /// for no value, or for all values, including the value without noise; the document's own error
    /// when no value can be built.
    pub fn solve(
        &self,
        registry: &Registry,
        parameter: &str,
        d_in: &Json,
        d_out: &Json,
    ) -> Result<Json> {
        if !self.parameters().iter().any(|name| name == parameter) {
            let reason = match self.parameters() {
                names if names.is_empty() => "the document has no parameters".to_owned(),
                names => format!("the document has `{}`", names.join("`, `")),
            };
            return Err(Error::argument(parameter, reason));
        }
        let unmet = |error: Error| match error {
            Error::Search(_) => Error::Search(format!(
                "no value of `{parameter}` is a boundary at which the map meets {d_out}: it meets it \
                 at all values, or at none; a loss is above 0"
            )),
            other => other,
        };
        let build = |value: Json| {
            self.build_with(registry, &BTreeMap::from([(parameter.to_owned(), value)]))
        };
        // Without this check, a bad distance would look like a budget that no value meets. The map
        // itself may fail here: it does not meet the budget at this value, but may meet it at
        // another.
        if let Some(made) = [0.5, 1.0, 2.0, 100.0].iter().find_map(|x| build(x.to_json()).ok()) {
            made.check_distances(d_in, d_out)?;
            made.check_neighbours(d_in)?;
        }
        let whole = |x: f64| build(x.to_json()).is_err_and(|error| error.kind() == "Argument");
        if whole(1.5) && !(whole(1.0) && whole(2.0) && whole(100.0)) {
            return search::<i64>(build, d_in, d_out).map_err(unmet);
        }
        let found = search::<f64>(&build, d_in, d_out).map_err(unmet)?;
        // If the next value below gives an error, and the map at the next value above does not
        // exceed the bound, then this is the end of the valid values and not a boundary of the map.
        let end = f64::from_json(&found)?;
        let meets = |x: f64| build(x.to_json()).and_then(|made| made.check(d_in, d_out));
        if end.abs() <= f64::MIN_POSITIVE
            && meets(end.next_down()).is_err()
            && !matches!(meets(end.next_up()), Ok(false))
        {
            return Err(Error::Search(format!(
                "`{parameter}`: every value meets the bound, even {end:?}, which means no noise; \
                 choose the value yourself"
            )));
        }
        Ok(found)
    }
}

fn search<T: Bisect + Codec>(
    build: impl Fn(Json) -> Result<Constructed>,
    d_in: &Json,
    d_out: &Json,
) -> Result<Json> {
    let meets = |value: T| build(value.to_json())?.check(d_in, d_out);
    binary_search(meets, None).map(|value| value.to_json())
}
