//! Mechanisms without a limit on their total loss. These mechanisms report a bound on the loss of
//! all questions so far.

use std::fmt;

use super::ledger::Ledger;
use super::lock::Lock;
use super::session::{Allowance, Session};
use crate::erased::{AnyDomain, AnyMeasure, AnyMetric};
use crate::{
    Distance, Domain, Measure, Metric, PrivacyMap, PrivacyMapRef, Result, Space, TypeName,
};

/// A mechanism that answers any number of questions about a data set, and reports a bound on the
/// total loss of its answers.
///
/// An odometer has no privacy map, because there is no limit on the total loss of its questions. A
/// privacy filter adds such a limit to an odometer, and the result is a measurement.
pub struct Odometer<DI: Domain, MI: Metric, MO: Measure> {
    input: Space<DI, MI>,
    measure: MO,
}

impl<DI: Domain, MI: Metric, MO: Measure> Odometer<DI, MI, MO> {
    /// Make an odometer.
    ///
    /// # Errors
    /// `NotImplemented` when losses in the measure have no [parts](Measure::parts).
    pub fn new(input: Space<DI, MI>, measure: MO) -> Result<Self> {
        measure.parts()?;
        Ok(Odometer { input, measure })
    }
    /// Return the input space.
    pub fn input(&self) -> &Space<DI, MI> {
        &self.input
    }
    /// Return the privacy measure.
    pub fn measure(&self) -> &MO {
        &self.measure
    }
    /// Open a session on a data set. The data set is copied once.
    ///
    /// [`Session::loss`] returns a bound on the loss so far, for data sets at any given distance.
    /// The session stores this bound for the distances of the most recent calls. So a later call at
    /// one of these distances evaluates only the maps of the new questions: the questions that were
    /// asked after the earlier call.
    ///
    /// # Errors
    /// There are currently no errors.
    pub fn invoke(&self, data: &DI::Carrier) -> Result<Session<DI, MI, MO>> {
        let history = History { maps: Vec::new(), accounts: Vec::new() };
        let record = Record { measure: self.measure.clone(), history: Lock::new(history) };
        Ok(Session::new(self.input.clone(), self.measure.clone(), data, record))
    }
    /// Erase the types of the odometer.
    pub fn erase(&self) -> Odometer<AnyDomain, AnyMetric, AnyMeasure> {
        Odometer { input: self.input.erase(), measure: AnyMeasure::new(self.measure.clone()) }
    }
}
impl Odometer<AnyDomain, AnyMetric, AnyMeasure> {
    /// Recover the types of the input space and the measure.
    ///
    /// # Errors
    /// `FailedCast` when the types differ.
    pub fn typed<DI: Domain, MI: Metric, MO: Measure>(&self) -> Result<Odometer<DI, MI, MO>> {
        let measure = self.measure.downcast_ref::<MO>()?.clone();
        Ok(Odometer { input: self.input.typed()?, measure })
    }
}
impl<DI: Domain, MI: Metric, MO: Measure> Odometer<DI, MI, MO> {
    /// Return the name of the type of an odometer.
    pub(crate) fn type_name() -> TypeName {
        TypeName::generic("Odometer", [DI::type_name(), MI::type_name(), MO::type_name()])
    }
}
impl<DI: Domain, MI: Metric, MO: Measure> Clone for Odometer<DI, MI, MO> {
    fn clone(&self) -> Self {
        Odometer { input: self.input.clone(), measure: self.measure.clone() }
    }
}
impl<DI: Domain, MI: Metric, MO: Measure> fmt::Debug for Odometer<DI, MI, MO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Odometer")
            .field("input", &self.input)
            .field("measure", &self.measure)
            .finish()
    }
}

/// The [`Allowance`] of an odometer. It permits every question, and records the map of each
/// question.
struct Record<MI: Metric, MO: Measure> {
    measure: MO,
    history: Lock<History<MI, MO>>,
}
struct History<MI: Metric, MO: Measure> {
    maps: Vec<PrivacyMap<MI, MO>>,
    accounts: Vec<Account<MI, MO>>,
}
/// The total loss of the first `counted` questions, for data sets at the distance `d_in`.
struct Account<MI: Metric, MO: Measure> {
    d_in: MI::Distance,
    counted: usize,
    ledger: Ledger<MO>,
}
/// The largest number of distances for which the total loss is stored.
const ACCOUNTS: usize = 8;

impl<MI: Metric, MO: Measure> Allowance<MI, MO> for Record<MI, MO> {
    fn charge(&self, map: PrivacyMapRef<'_, MI, MO>) -> Result<()> {
        self.history.with(|history| {
            history.maps.push(map.to_owned());
            Ok(())
        })
    }
    fn loss(&self, d_in: &MI::Distance) -> Result<MO::Distance> {
        d_in.check().map_err(|error| error.at("d_in"))?;
        self.history.with(|History { maps, accounts }| {
            let known = accounts.iter().position(|account| same(&account.d_in, d_in));
            let mut account = match known {
                Some(place) => accounts.remove(place),
                None => {
                    let ledger = Ledger::new(self.measure.clone())?;
                    Account { d_in: d_in.clone(), counted: 0, ledger }
                }
            };
            for map in &maps[account.counted..] {
                account.ledger.charge(&map.eval_exact(&self.measure, d_in)?)?;
                account.counted += 1;
            }
            let total = account.ledger.total();
            // If the list of accounts is full, remove the account that has been unused for the
            // longest time.
            accounts.truncate(ACCOUNTS - 1);
            accounts.insert(0, account);
            total
        })
    }
    fn left(&self) -> Result<MO::Distance> {
        Ledger::new(self.measure.clone())?.left()
    }
}
fn same<Q: Distance>(left: &Q, right: &Q) -> bool {
    matches!((left.at_most(right), right.at_most(left)), (Ok(true), Ok(true)))
}
