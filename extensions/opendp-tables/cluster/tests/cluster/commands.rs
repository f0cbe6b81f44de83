//! Test the errors for wrong arguments, missing schedulers, and tables that executors cannot read.

use std::process::{Command, Output};
use std::time::Duration;

use opendp_cluster::{Address, Cluster};
use opendp_tables::datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use opendp_tables::{Cells, Dialect, Engine, Metadata, Session, Source};

use crate::data::Data;
use crate::nodes::Nodes;

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_opendp-cluster")).args(args).output().unwrap()
}
fn refused(args: &[&str], because: &str) {
    let output = run(args);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains(because), "{args:?}: {text}");
}
#[test]
fn nodes_refuse_other_machines_unless_the_network_is_trusted() {
    let others = "nodes use no passwords";
    refused(&["scheduler", "--port", "0", "--host", "192.0.2.1"], others);
    refused(&["executor", "--scheduler", "127.0.0.1:1", "--host", "192.0.2.1"], others);
    let everywhere = ["scheduler", "--host", "0.0.0.0", "--trusted-network"];
    refused(&everywhere, "state the address that other machines use");
    // With --trusted-network, the address passes the check. But the scheduler cannot listen on the
    // address. No machine has this address, because it is reserved for documentation (RFC 5737).
    let trusted = ["scheduler", "--port", "0", "--host", "192.0.2.1", "--trusted-network"];
    refused(&trusted, "cannot be used");
}
#[test]
fn an_address_is_a_host_and_a_port() {
    let address = |text: &str| text.parse::<Address>();
    assert_eq!(address("localhost:50050").unwrap().to_string(), "localhost:50050");
    assert_eq!(address("[::1]:80").unwrap().to_string(), "[::1]:80");
    for wrong in ["", "50050", ":50050", "host:", "host:0", "host:65536", "a b:1", "http://x:1/"] {
        let error = address(wrong).unwrap_err();
        assert!(error.to_string().contains("expected HOST:PORT"), "{wrong}: {error}");
    }
}
#[test]
fn a_client_says_what_is_missing_and_spends_nothing() {
    let data = Data::of(30);
    let ledger = "ledger = \"missing.ledger\"\nname = \"survey\"";
    let config = data.config("missing", "people.csv", "{ rows = 1 }", ledger);
    let config = config.to_str().unwrap();
    let ask = |scheduler: &str, more: &[&str], because: &str| {
        let sql = "SELECT COUNT(*) FROM people";
        let first = ["query", "--scheduler", scheduler, "--config", config, sql];
        refused(&[&first, more].concat(), because);
    };
    let spend = ["--epsilon", "0.5"];
    // Nothing listens on the port of a socket that was just closed.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    ask(&closed.to_string(), &spend, "no scheduler answers");
    ask("nowhere", &spend, "expected HOST:PORT");
    ask("127.0.0.1:1", &["--limit", "0", "--epsilon", "1"], "invalid value '0'");
    // This server answers, but in another protocol. So the client finds no scheduler.
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    let server = std::thread::spawn(move || {
        use std::io::Write;
        other.accept().unwrap().0.write_all(b"SSH-2.0-some-other-server\r\n").unwrap();
    });
    ask(&address, &spend, "no scheduler answers");
    server.join().unwrap();
    assert!(!data.path().join("missing.ledger").exists());
}
#[test]
fn a_query_prints_warnings_and_a_note() {
    let data = Data::of(30);
    let nodes = Nodes::start();
    nodes.connect(Duration::from_secs(60));
    let config = data.config("noted", "people.csv", "{ rows = 1 }", "");
    let (scheduler, config) = (nodes.address.to_string(), config.to_str().unwrap().to_owned());
    for (epsilon, is_large) in [("20", true), ("1", false)] {
        let sql = "SELECT COUNT(*) AS n FROM people";
        let place = ["query", "--scheduler", &scheduler, "--config", &config];
        let output = run(&[&place[..], &[sql, "--epsilon", epsilon]].concat());
        let (told, answer) =
            (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
        assert!(output.status.success() && answer.contains("| n "), "{output:?}");
        assert_eq!(told.contains("warning: epsilon is 20, which is above 10"), is_large, "{told}");
        assert!(told.contains("note: no ledger keeps this budget"), "{told}");
    }
}
#[test]
fn tables_must_be_files_that_executors_can_read() {
    let nodes = Nodes::start();
    let engine: Cluster = nodes.connect(Duration::from_secs(60));
    let text = "[budget]\nepsilon = 1\n[tables.t]\nunit = { rows = 1 }\n[tables.t.columns]\n\
                x = { type = \"integer\" }";
    let metadata = Metadata::parse(text).unwrap();
    let refused = |source: Source, because: &str| {
        let error = engine.register("t", &metadata.tables["t"], source).unwrap_err();
        assert!(error.to_string().contains(because), "{error}");
    };
    let column = std::sync::Arc::new(Int64Array::from(vec![1])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("x", column)]).unwrap();
    refused(Source::Batches(vec![batch]), "executors cannot read it");
    refused(Source::Csv("https://example.org/t.csv".into()), "is a URL");
    refused(Source::Parquet("nowhere.parquet".into()), "No such file");
}
/// An engine that already has its tables, such as a database server.
struct Filled;
impl Engine for Filled {
    fn name(&self) -> String {
        "Filled".into()
    }
    fn dialect(&self) -> Dialect {
        Dialect::PostgreSql
    }
    fn run(&self, _: &str) -> opendp_core::Result<Vec<Cells>> {
        Ok(Vec::new())
    }
}
#[test]
fn an_engine_that_has_its_tables_takes_no_source() {
    let data = Data::of(30);
    let config = data.config("filled", "people.csv", "{ rows = 1 }", "");
    let error = Session::open_on(&config, Box::new(Filled)).unwrap_err();
    assert_eq!(error.kind(), "NotImplemented");
    assert!(error.to_string().contains("Filled takes no source Csv"), "{error}");
}
