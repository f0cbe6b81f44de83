//! The unit of a study: whom its releases protect.

use serde::Deserialize;
use serde_json::Value as Json;

/// A unit of privacy, in one of two forms. The number is the largest number of rows that one person
/// contributes.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "Json")]
pub(crate) enum UnitFields {
    Person(u32),
    AnswersOfPerson(u32),
}
impl TryFrom<Json> for UnitFields {
    type Error = String;
    fn try_from(json: Json) -> Result<Self, String> {
        let fields = json.as_object().map(|fields| fields.iter().collect::<Vec<_>>());
        let number = |number: &Json| u32::try_from(number.as_u64()?).ok();
        let unit = match fields.as_deref() {
            Some([(name, rows)]) if *name == "person" => number(rows).map(UnitFields::Person),
            Some([(name, rows)]) if *name == "answers_of_person" => {
                number(rows).map(UnitFields::AnswersOfPerson)
            }
            _ => None,
        };
        unit.ok_or_else(|| {
            format!(
                "expected an object with one of `person` and `answers_of_person`, and with a whole \
                 number from 1 to {}, such as {{\"person\": 1}}; found {json}",
                i32::MAX
            )
        })
    }
}
