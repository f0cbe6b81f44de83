//! Conversion of an account to and from JSON. A program can store the JSON until its next run.

use opendp_core::arith::Exact;
use opendp_core::{Error, Result};
use serde_json::{Value as Json, json};

use super::AdaptiveAccount;
use crate::accounting::pot::Pot;
use crate::accounting::way::Way;
use crate::collected::Collected;

impl AdaptiveAccount {
    /// Convert the account to JSON. The JSON contains the filters with their limits and their spent
    /// amounts, as exact numbers.
    ///
    /// Limits are computed once, when an account is opened. The JSON contains these limits, so a
    /// program of another version uses the same limits. Otherwise, each version would compute its
    /// own limits. Two versions would then admit releases by two sets of filters. Each set of
    /// filters can use up the full delta, so both sets together could use up more than delta.
    ///
    /// ```
    /// # use opendp_measurements::accounting::AdaptiveAccount;
    /// let account = AdaptiveAccount::new(&"1".parse()?, &"1e-6".parse()?, None)?;
    /// assert_eq!(AdaptiveAccount::from_json(&account.to_json())?, account);
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    pub fn to_json(&self) -> Json {
        json!({
            "epsilon": self.epsilon.to_string(),
            "delta": self.delta.to_string(),
            "began": self.began,
            "only": self.only,
            "ways": self.ways.iter().map(write_way).collected(),
        })
    }
    /// Read an account from JSON. The caller must protect the JSON from changes: with a changed
    /// number, the account can admit more than the budget.
    ///
    /// # Errors
    /// `FailedCast` when a field is wrong or missing. Only the fields `order`, `concentrated` and
    /// `planned` may be missing. `InvalidDistance` when delta is not below 1.
    pub fn from_json(json: &Json) -> Result<Self> {
        let ways = list(json, "ways")?.iter().map(read_way).try_collected()?;
        let (epsilon, delta) = (exact(json, "epsilon")?, exact(json, "delta")?);
        let (began, only) = (flag(json, "began")?, flag(json, "only")?);
        Ok(AdaptiveAccount { began, only, ways, ..AdaptiveAccount::of(&epsilon, &delta)? })
    }
}
impl AdaptiveAccount {
    /// Check that the account can be read again after it is written. A number with very many digits
    /// cannot be read.
    pub(super) fn readable(self) -> Result<Self> {
        if AdaptiveAccount::from_json(&self.to_json()).is_err() {
            let reason = "epsilon, delta: expected numbers with fewer digits";
            return Err(Error::InvalidDistance(reason.into()));
        }
        Ok(self)
    }
}
fn write_way(way: &Way) -> Json {
    json!({
        "deltas": way.deltas.to_string(),
        "spent": way.spent.to_string(),
        "filters": way.pots.iter().map(write_pot).collected(),
    })
}
fn read_way(json: &Json) -> Result<Way> {
    let pots = list(json, "filters")?.iter().map(read_pot).try_collected()?;
    Ok(Way { deltas: exact(json, "deltas")?, spent: exact(json, "spent")?, pots })
}
fn write_pot(pot: &Pot) -> Json {
    let mut json = json!({
        "pure": [pot.pure.to_string(), pot.pure_spent.to_string()],
        "squares": [pot.squares.to_string(), pot.squares_spent.to_string()],
        "failure": [pot.failure.to_string(), pot.failures_spent.to_string()],
        "simple": pot.simple,
    });
    if let Some(order) = &pot.order {
        json["order"] = order.to_string().into();
    }
    // Write the name "concentrated" only if the filter is concentrated, and the name "planned" only
    // if the filter is planned. So the JSON of a filter with neither property has the form that
    // older versions read and write.
    for (name, set) in [("concentrated", pot.concentrated), ("planned", pot.planned)] {
        if set {
            json[name] = true.into();
        }
    }
    json
}
fn read_pot(json: &Json) -> Result<Pot> {
    let pair = |name: &str| match list(json, name)?.as_slice() {
        [limit, spent] => Ok((amount(limit, name)?, amount(spent, name)?)),
        _ => Err(wrong(name)),
    };
    let ((pure, pure_spent), (squares, squares_spent)) = (pair("pure")?, pair("squares")?);
    let ((failure, failures_spent), simple) = (pair("failure")?, flag(json, "simple")?);
    let set = |name: &str| json.get(name).map_or(Ok(false), |_| flag(json, name));
    let (concentrated, planned) = (set("concentrated")?, set("planned")?);
    let order = json.get("order").map(|order| amount(order, "order")).transpose()?;
    if order.as_ref().is_some_and(|order| !concentrated || order.to_f64_down() <= 1.0) {
        return Err(wrong("order"));
    }
    Ok(Pot {
        pure,
        pure_spent,
        squares,
        squares_spent,
        failure,
        failures_spent,
        simple,
        concentrated,
        order,
        planned,
    })
}
fn list<'j>(json: &'j Json, name: &str) -> Result<&'j Vec<Json>> {
    json.get(name).and_then(Json::as_array).ok_or_else(|| wrong(name))
}
fn flag(json: &Json, name: &str) -> Result<bool> {
    json.get(name).and_then(Json::as_bool).ok_or_else(|| wrong(name))
}
fn exact(json: &Json, name: &str) -> Result<Exact> {
    amount(json.get(name).unwrap_or(&Json::Null), name)
}
fn amount(json: &Json, name: &str) -> Result<Exact> {
    let number: Option<Exact> = json.as_str().and_then(|text| text.parse().ok());
    number.filter(Exact::is_finite).ok_or_else(|| wrong(name))
}
#[cold]
fn wrong(name: &str) -> Error {
    Error::FailedCast(format!("an account as JSON: `{name}` is missing or wrong"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::{AdaptiveLoss, Kind, Share};

    fn exact(text: &str) -> Exact {
        text.parse().unwrap()
    }

    #[test]
    fn an_account_that_was_read_continues_with_the_same_filters() {
        let mut account = AdaptiveAccount::new(&exact("1"), &exact("1e-6"), None).unwrap();
        let share = Share::Fraction(exact("1/10"));
        let mu_squared = Some(account.room(&share, Kind::Gaussian).unwrap().mu_squared);
        let (epsilon, delta, rho) = (exact("0.3"), exact("1e-9"), None);
        let gaussian = AdaptiveLoss { epsilon, delta, mu_squared, rho };
        let mut admitted = 0;
        // Convert the account to JSON and back between two releases, as two runs of a program do.
        while account.charge(&gaussian).is_ok() {
            admitted += 1;
            account = AdaptiveAccount::from_json(&account.to_json()).unwrap();
        }
        assert_eq!(admitted, 10);
    }
    #[test]
    fn an_account_that_cannot_be_read_again_is_not_opened() {
        let tiny = exact("1e-4093");
        assert_eq!(tiny.to_string().len(), 4096);
        let error = AdaptiveAccount::new(&exact("1"), &tiny, None).unwrap_err();
        assert_eq!(error.kind(), "InvalidDistance");
        // An account can still be read from its JSON after a loss with very many digits is charged.
        let mut account = AdaptiveAccount::new(&exact("1"), &exact("1e-6"), None).unwrap();
        let square = |text: &str| Some(exact(text));
        let float = Exact::from_f64(2f64.powi(-1000)).unwrap();
        let long = (0..12).fold(float.clone(), |product, _| product.times(&float));
        for mu_squared in [Some(long), square("0.0001")] {
            let (epsilon, delta, rho) = (exact("0.3"), exact("1e-9"), None);
            account.charge(&AdaptiveLoss { epsilon, delta, mu_squared, rho }).unwrap();
            assert_eq!(AdaptiveAccount::from_json(&account.to_json()).unwrap(), account);
        }
    }
    #[test]
    fn a_wrong_document_is_an_error_that_names_the_field() {
        let account = AdaptiveAccount::new(&exact("1"), &exact("1e-6"), Some(1)).unwrap();
        let good = account.to_json();
        for (field, bad) in [
            ("epsilon", json!("x")),
            ("delta", json!("Infinity")),
            ("began", json!(1)),
            ("ways", json!([{"deltas": "0", "spent": "0", "filters": [{"simple": true}]}])),
        ] {
            let mut json = good.clone();
            json[field] = bad;
            let error = AdaptiveAccount::from_json(&json).unwrap_err();
            assert_eq!(error.kind(), "FailedCast", "{field}");
        }
    }
}
