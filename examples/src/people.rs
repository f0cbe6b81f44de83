//! The space of tables of people, and the columns of these tables.
//!
//! All questions under one budget must have the same input space. So if questions are about
//! different columns, the input of each question is the whole table.

use opendp_core::{
    Codec, Domain, Error, Function, Metric, MetricOn, Named, Result, Space, StabilityMap,
    SymmetricDistance, Transformation, carrier, named,
};
use serde_json::Value as Json;

use crate::table::{People, ages, answers, codes, incomes};

/// The domain of tables of people. The columns have equal length, and each column is a member of
/// its own domain.
#[derive(Clone, Debug, PartialEq)]
pub struct AnyPeople;

impl Domain for AnyPeople {
    type Carrier = People;
    fn member(&self, table: &People) -> bool {
        let size = table.age.len();
        let columns = [&table.sex, &table.educ, &table.race];
        columns.iter().all(|column| column.len() == size && codes().member(column))
            && ages().member(&table.age)
            && (table.income.len() == size && incomes().member(&table.income))
            && (table.married.len() == size && answers().member(&table.married))
    }
}
/// The distance between two tables is the number of people that are in only one of them.
impl MetricOn<AnyPeople> for SymmetricDistance {
    fn check(&self, _: &AnyPeople) -> Result<()> {
        Ok(())
    }
}
named!(People as "examples::People", AnyPeople as "examples::AnyPeople");
carrier!(People);

/// A table cannot be written to documents.
impl Codec for People {
    fn to_json(&self) -> Json {
        Json::String(Self::type_name().to_string())
    }
    fn from_json(_: &Json) -> Result<Self> {
        Err(Error::FailedCast("a table of people is read from a file".into()))
    }
}

/// Make the space of tables of people.
///
/// # Errors
/// None: the symmetric distance is a metric on this domain.
pub fn people() -> Result<Space<AnyPeople, SymmetricDistance>> {
    Space::new(AnyPeople, SymmetricDistance)
}

/// Make a transformation whose output is a column, or any other list of rows.
///
/// `take` computes the rows. Each row must depend on only one person, and each person must have at
/// most one row. So one more person in the table adds at most one row to the column. The distance
/// between two columns is at most the distance between their tables.
///
/// # Errors
/// `MetricSpace` when the rows have no symmetric distance.
pub fn column<D: Domain>(
    rows: D,
    take: impl Fn(&People) -> D::Carrier + Send + Sync + 'static,
) -> Result<Transformation<AnyPeople, SymmetricDistance, D, SymmetricDistance>>
where
    SymmetricDistance: MetricOn<D> + Metric<Distance = u32>,
{
    let function = Function::map(move |people: &People| Ok(take(people)));
    let column = Space::new(rows, SymmetricDistance)?;
    Ok(Transformation::new(people()?, column, function, StabilityMap::from_constant(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::population;

    #[test]
    fn what_is_generated_is_a_member() {
        let mut table = population::generate(100, 1);
        assert!(AnyPeople.member(&table));
        table.married.pop();
        assert!(!AnyPeople.member(&table));
    }
    #[test]
    fn a_column_has_one_row_for_each_person() {
        let table = population::generate(100, 1);
        let income = column(incomes(), |people| people.income.clone()).unwrap();
        assert_eq!(income.invoke(&table).unwrap(), table.income);
        assert_eq!(income.map(&3), Ok(3));
    }
}
