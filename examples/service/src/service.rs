//! Answers requests of clients under their budgets.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use opendp_core::erased::{AnyMeasurement, AnyValue};
use opendp_core::{Codec, Error, Result};
use opendp_ledger::{Failure, Ledger, Loss, Request, Terms, Unit};
// If no code names these crates, the linker drops their constructors.
use opendp_measurements as _;
use opendp_registry::{Document, Registry, json};
use opendp_transformations as _;
use serde_json::{Value as Json, json};

/// The budget of all clients together. If clients exchange their answers, only this budget bounds
/// the loss.
const ALL: &str = "all";
/// Two tables are neighbours if they differ in one row.
const D_IN: u32 = 1;

/// A version of the table, which has one column.
struct Table {
    /// The name of the version, which no other version has, also after a restart.
    version: String,
    ages: AnyValue,
}
impl Table {
    fn new(version: &str, ages: Vec<i64>) -> Arc<Self> {
        Arc::new(Table { version: version.to_owned(), ages: AnyValue::new(ages) })
    }
}
/// A table, and the budgets of its clients. All threads of a server share one service.
pub(crate) struct Service {
    ledger: Ledger,
    table: RwLock<Arc<Table>>,
}
impl Service {
    /// Open the budgets in a ledger. If there is no budget of all clients, create it.
    ///
    /// # Errors
    /// The errors of the ledger.
    pub(crate) fn open(
        ledger: &Path,
        epsilon: &str,
        version: &str,
        ages: Vec<i64>,
    ) -> Result<Self> {
        let table = RwLock::new(Table::new(version, ages));
        let service = Service { ledger: Ledger::open(ledger)?, table };
        service.create(ALL, epsilon)?;
        Ok(service)
    }
    /// Make a budget for a client. If the client has a budget already, keep this budget.
    ///
    /// # Errors
    /// The errors of the ledger.
    pub(crate) fn admit(&self, client: &str, epsilon: &str) -> Result<()> {
        self.create(&budget_of(client), epsilon)
    }
    fn create(&self, name: &str, epsilon: &str) -> Result<()> {
        match self.ledger.account(name) {
            Err(Error::NotFound(_)) => {
                let unit = Unit::new(json!("symmetric_distance"), D_IN)?;
                let terms = Terms::new().with_unit(unit);
                self.ledger.create_with(name, &Loss::epsilon(epsilon)?, &terms)
            }
            account => account.map(drop),
        }
    }
    /// Replace the table by a new version. The budgets stay: the same people can be in both
    /// versions, so losses about both versions add up. Requests that read the old version go on.
    #[cfg_attr(not(test), allow(dead_code, reason = "this server does not read its table again"))]
    pub(crate) fn replace(&self, version: &str, ages: Vec<i64>) {
        let table = Table::new(version, ages);
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = table;
    }
    /// Answer a request in JSON. The answer is JSON, also after an error.
    pub(crate) fn answer(&self, line: &str) -> Json {
        self.released(line).unwrap_or_else(|error| {
            // A fault of the server, such as a full disk, can pass. After other errors, only
            // another id, another request or a larger budget helps.
            let retry = matches!(error.root(), Error::FailedFunction(_) | Error::NoEntropy);
            json!({"error": {
                "kind": error.kind(),
                "message": error.to_string(),
                "charged": Failure::was_charged(&error),
                "retry": retry,
            }})
        })
    }
    fn released(&self, line: &str) -> Result<Json> {
        let asked = json::parse_request(line)?;
        let text = |name: &str| {
            let text = asked.get(name).and_then(Json::as_str);
            text.ok_or_else(|| Error::argument(name, "expected a text"))
        };
        let (client, id) = (text("client")?, text("id")?);
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner).clone();
        let (document, release) = mechanism(&asked["chain"], &asked["epsilon"])?;
        let d_in = release.input().metric().decode(&json!(D_IN))?;
        // An id belongs to one client. The version is a fact of the request: after a new version,
        // an old id is an error, and not an answer about the old version.
        let request = Request::new(&json!([client, id]).to_string(), &release, &d_in)?
            .by(client)
            .pipeline(document.json())
            .source(&json!({"table": "people", "version": table.version}))
            .also(ALL);
        let budget = budget_of(client);
        // A failure that may depend on the rows is charged like a release.
        let made = self.ledger.release_or_refuse(&budget, &request, || {
            release.invoke(&table.ages).map_err(Failure::from)
        })?;
        Ok(json!({
            "release": made.json(),
            "accuracy": release.accuracy(0.05).ok().map(|bounds| bounds.to_json()),
            "charge": made.charge_to_json(&self.ledger.remaining(&budget)?),
        }))
    }
}
fn budget_of(client: &str) -> String {
    format!("client {client}")
}
/// Build the mechanism that a client asks for. The parameter of its chain gets the value that
/// spends `epsilon`. Nothing here depends on the table.
fn mechanism(chain: &Json, epsilon: &Json) -> Result<(Document, AnyMeasurement)> {
    let registry = Registry::global();
    let document = Document::new(json!({
        "space": {"domain": {"vector_domain": {"atom_domain": {"T": "i64"}}},
                  "metric": "symmetric_distance"},
        "chain": chain,
    }))?;
    let [parameter] = &document.parameters()[..] else {
        let reason =
            "expected one parameter, as in {\"laplace\": {\"scale\": {\"param\": \"scale\"}}}";
        return Err(Error::argument("chain", reason));
    };
    let found = document.solve(registry, parameter, &json!(D_IN), epsilon)?;
    let document = document.set(&BTreeMap::from([(parameter.clone(), found)]))?;
    let release = document.build(registry)?.measurement()?;
    Ok((document, release))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(client: &str, id: &str, epsilon: f64) -> String {
        let chain = json!(["count", {"laplace": {"scale": {"param": "scale"}}}]);
        json!({"client": client, "id": id, "epsilon": epsilon, "chain": chain}).to_string()
    }
    fn open(folder: &tempfile::TempDir) -> Service {
        let service = Service::open(&folder.path().join("l"), "1", "May", vec![31; 100]).unwrap();
        service.admit("Ada", "0.6").unwrap();
        service.admit("Bob", "0.6").unwrap();
        service
    }

    #[test]
    fn a_retry_is_free_and_a_restart_gives_nothing_back() {
        let folder = tempfile::tempdir().unwrap();
        let first = open(&folder).answer(&count("Ada", "1", 0.5));
        assert_eq!(first["charge"]["charged"], json!({"epsilon": "0.5"}));
        let service = open(&folder);
        let again = service.answer(&count("Ada", "1", 0.5));
        assert_eq!(
            (&again["release"], &again["charge"]["repeated"]),
            (&first["release"], &json!(true))
        );
        // The client has 0.1 left, and all clients together have 0.5.
        let spent = service.answer(&count("Ada", "2", 0.2));
        assert_eq!(spent["error"]["kind"], json!("BudgetExceeded"));
        assert!(spent["error"]["message"].as_str().unwrap().contains("`client Ada`"), "{spent}");
        let common = service.answer(&count("Bob", "1", 0.55));
        assert!(common["error"]["message"].as_str().unwrap().contains("`all`"), "{common}");
        assert!(service.answer(&count("Bob", "1", 0.5))["release"].is_i64());
    }
    #[test]
    fn many_clients_at_once_spend_the_common_budget_exactly() {
        let folder = tempfile::tempdir().unwrap();
        let service = open(&folder);
        let ask = |client: &str| {
            let answers = (0..10).map(|id| service.answer(&count(client, &id.to_string(), 0.1)));
            answers.filter(|answer| answer.get("release").is_some()).count()
        };
        let made: usize = std::thread::scope(|scope| {
            let ask = &ask;
            let threads = ["Ada", "Bob"].map(|client| scope.spawn(move || ask(client)));
            threads.map(|thread| thread.join().unwrap()).iter().sum()
        });
        assert_eq!(made, 10);
    }
    #[test]
    fn a_new_version_of_the_table_has_the_same_budgets() {
        let folder = tempfile::tempdir().unwrap();
        let service = open(&folder);
        service.answer(&count("Ada", "1", 0.5));
        service.replace("June", vec![58; 200]);
        let old = service.answer(&count("Ada", "1", 0.5));
        assert_eq!(old["error"]["kind"], json!("Argument"), "{old}");
        let new = service.answer(&count("Ada", "2", 0.1));
        assert_eq!(new["charge"]["remaining"], json!({"epsilon": "0"}), "{new}");
    }
    #[test]
    fn a_wrong_request_is_an_error_in_json_and_costs_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let service = open(&folder);
        let eve = count("Eve", "1", 0.1);
        for (line, kind) in [("{", "Argument"), ("{}", "Argument"), (&*eve, "NotFound")] {
            let answer = service.answer(line);
            assert_eq!(answer["error"]["kind"], json!(kind), "{answer}");
            assert_eq!(answer["error"]["charged"], json!(false));
        }
        assert_eq!(service.ledger.remaining(ALL).unwrap(), Loss::epsilon("1").unwrap());
    }
}
