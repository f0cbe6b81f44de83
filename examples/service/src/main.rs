//! A server that answers questions about one table. Its clients share one budget, and each client
//! also has a budget of its own. Both budgets are in a ledger, so they remain after a restart.
//!
//! A request is a line of JSON, and so is its answer. Each connection has a thread. A program with
//! an asynchronous server calls [`Service::answer`] on a thread that may block, for example with
//! `tokio::task::spawn_blocking`.
//!
//! ```text
//! cargo run --release -p example-service -- service.ledger 127.0.0.1:7878
//! nc 127.0.0.1 7878
//! {"client":"Ada","id":"1","epsilon":0.1,"chain":["count",{"laplace":{"scale":{"param":"s"}}}]}
//! ```
//!
//! The same line again gives the same answer, and costs nothing more.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic, clippy::expect_used))]

mod service;

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::ExitCode;

use opendp_core::{Error, Result};

use service::Service;

/// The clients, with the epsilon of each client.
const CLIENTS: [(&str, &str); 2] = [("Ada", "0.6"), ("Bob", "0.6")];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [ledger, address] = &arguments[..] else {
        eprintln!("two arguments are expected: the file of the ledger, and an address");
        return ExitCode::from(2);
    };
    match serve(Path::new(ledger), address) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error[{}]: {error}", error.kind());
            ExitCode::FAILURE
        }
    }
}
fn serve(ledger: &Path, address: &str) -> Result<()> {
    let ages = (0..10_000).map(|person| person % 90).collect();
    let service = Service::open(ledger, "1", "generated", ages)?;
    for (client, epsilon) in CLIENTS {
        service.admit(client, epsilon)?;
    }
    let listener = TcpListener::bind(address);
    let listener = listener.map_err(|error| Error::FailedFunction(error.to_string()))?;
    std::thread::scope(|scope| {
        for stream in listener.incoming().flatten() {
            scope.spawn(|| talk(&service, stream));
        }
    });
    Ok(())
}
/// Answer the lines of one connection. If the client disconnects, its last request was answered
/// anyway. The client gets the answer by a retry with the same id.
fn talk(service: &Service, stream: TcpStream) {
    let Ok(mut writer) = stream.try_clone() else { return };
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { return };
        if writeln!(writer, "{}", service.answer(&line)).is_err() {
            return;
        }
    }
}
