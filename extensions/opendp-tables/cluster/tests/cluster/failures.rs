//! After a node is lost, the query returns an error, or the other nodes compute the answer of the
//! query. In both cases, a budget in a ledger is charged at most once.

use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use opendp_core::Result;
use opendp_tables::{Answer, Budget, Session};

use crate::data::Data;
use crate::nodes::{Nodes, waited};

const SQL: &str = "SELECT sex, COUNT(*) AS n, SUM(age) AS years FROM people GROUP BY sex";
/// An epsilon so large that there is practically no noise.
const PLENTY: f64 = 1e9;

fn ask(session: &Session, id: &str) -> Result<Answer> {
    session.query(SQL)?.spending(Budget::epsilon(PLENTY)?).id(id).release()
}
/// Write metadata with a ledger, and return the path of the file.
fn durable(data: &Data, name: &str) -> std::path::PathBuf {
    let budget = format!("ledger = \"{name}.ledger\"\nname = \"survey\"");
    // No individual has more than `max_rows` rows, so all rows are kept. With practically no noise,
    // the answers of two sessions are equal.
    let config = data.config(name, "people.csv", "{ id = \"pid\", max_rows = 1000 }", &budget);
    opendp_tables::Metadata::open(&config).unwrap().create_budget().unwrap();
    config
}
fn left(config: &Path) -> String {
    Session::open(config).unwrap().remaining().unwrap().show(false)
}
const ALL: &str = "epsilon 10000000000000";
/// The first digits of the budget that remains after one question. Other digits can follow, because
/// the cost of a question is rounded.
const LESS: &str = "epsilon 9999000000000";
/// Ask on a thread, and call `act` when an executor has intermediate results. The second argument
/// of `act` is the index of this executor.
fn meanwhile(
    nodes: &mut Nodes,
    config: &Path,
    act: impl FnOnce(&mut Nodes, usize),
) -> Result<Answer> {
    let session = nodes.open(config);
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        scope.spawn(move || sender.send(ask(&session, "first")).unwrap());
        let busy = || (0..2).find(|executor| !nodes.files(*executor).is_empty());
        let executor = waited("intermediate results", busy);
        assert!(receiver.try_recv().is_err(), "the query ended too early: use more rows");
        act(nodes, executor);
        let bound = Duration::from_secs(300);
        receiver.recv_timeout(bound).unwrap_or_else(|_| {
            // The thread of the query did not end. After a panic here, this process would wait for
            // this thread. So abort the process.
            eprintln!("the query never ended");
            std::process::abort()
        })
    })
}
#[test]
fn a_killed_executor_changes_no_result_and_the_budget_is_spent_once() {
    let mut nodes = Nodes::start();
    let data = Data::of(60_000);
    let config = durable(&data, "killed");
    let asked = meanwhile(&mut nodes, &config, |nodes, executor| nodes.executors[executor].kill());
    eprintln!("with a killed executor: {:?}", asked.as_ref().map(|answer| &answer.table));
    let expected = ask(&Session::open(durable(&data, "alone")).unwrap(), "first").unwrap();
    match asked {
        Ok(answer) => {
            assert_eq!(answer.table, expected.table);
            assert_eq!(answer.document["releases"], expected.document["releases"]);
            assert!(left(&config).starts_with(LESS), "{}", left(&config));
        }
        Err(error) => {
            assert!(error.to_string().contains("nothing was released"), "{error}");
            assert!(left(&config).starts_with(ALL), "{}", left(&config));
        }
    }
    // Ask again in one process, with the same id. Both sessions return one release, which is
    // charged once.
    let alone = Session::open(&config).unwrap();
    assert_eq!(ask(&alone, "first").unwrap().table, expected.table);
    assert_eq!(ask(&alone, "first").unwrap().table, expected.table);
    assert!(left(&config).starts_with(LESS), "{}", left(&config));
}
#[test]
fn a_lost_scheduler_is_an_error_and_nothing_is_released() {
    let mut nodes = Nodes::start();
    let data = Data::of(60_000);
    let config = durable(&data, "lost");
    let asked = meanwhile(&mut nodes, &config, |nodes, _| nodes.scheduler.kill());
    let error = asked.unwrap_err();
    assert_eq!(error.kind(), "NotFound");
    assert!(error.to_string().contains("was lost while it ran"), "{error}");
    assert_eq!(left(&config), ALL);
}
#[test]
fn a_cluster_without_executors_is_an_error_after_a_while() {
    let mut nodes = Nodes::start();
    let data = Data::of(60_000);
    let config = durable(&data, "empty");
    let asked = meanwhile(&mut nodes, &config, |nodes, _| {
        nodes.executors.iter_mut().for_each(crate::nodes::Node::kill);
    });
    let error = asked.unwrap_err();
    assert!(error.to_string().contains("executors were lost while they ran"), "{error}");
    assert!(left(&config).starts_with(ALL), "{}", left(&config));
}
#[test]
fn a_cluster_that_stands_still_is_an_error_when_the_limit_is_reached() {
    let nodes = Nodes::start();
    let data = Data::of(90);
    let config = durable(&data, "frozen");
    let engine = Box::new(nodes.connect(Duration::from_secs(10)));
    let session = Session::open_on(&config, engine).unwrap();
    nodes.scheduler.freeze();
    let error = ask(&session, "first").unwrap_err();
    assert!(error.to_string().contains("was lost while it ran"), "{error}");
    assert_eq!(left(&config), ALL);
}
#[test]
fn a_budget_in_memory_is_charged_before_and_stays_charged() {
    let mut nodes = Nodes::start();
    let data = Data::of(90);
    let session = nodes.open(&data.config("memory", "people.csv", "{ rows = 1 }", ""));
    nodes.scheduler.kill();
    assert_eq!(ask(&session, "first").unwrap_err().kind(), "NotFound");
    let left = session.remaining().unwrap().show(false);
    assert!(left.starts_with(LESS), "{left}");
}
/// The client checks the quotes of CSV files for the executors.
#[test]
fn a_quoted_cell_that_is_not_closed_is_an_error_that_is_charged() {
    let nodes = Nodes::start();
    let data = Data::of(90);
    let config = durable(&data, "quotes");
    let session = nodes.open(&config);
    let path = data.path().join("people.csv");
    let rows = std::fs::read_to_string(&path).unwrap();
    let (header, rows) = rows.split_once('\n').unwrap();
    std::fs::write(&path, format!("{header}\n1,f,\"5\\\"\",30,1,true\n{rows}")).unwrap();
    let error = ask(&session, "first").unwrap_err();
    assert!(error.to_string().contains("The budget is charged"), "{error}");
    assert!(left(&config).starts_with(LESS), "{}", left(&config));
}
