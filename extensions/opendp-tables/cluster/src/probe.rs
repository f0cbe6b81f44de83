//! The state of a scheduler: whether it answers, and whether it has enough executors.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use opendp_core::{Error, Result};

use crate::Address;

/// The longest time to wait for a connection to a scheduler, or for its answer to a request.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// At least as many executors are connected as the scheduler requires.
    Ready,
    /// The scheduler has too few executors.
    Waiting,
    /// The scheduler does not answer.
    Lost,
}
/// Request the state of a scheduler. The request ends after a bounded time.
pub(crate) fn state(scheduler: &Address) -> State {
    match ask(scheduler) {
        Some(status) if status.starts_with(b"HTTP/1.1 200") => State::Ready,
        Some(status) if status.starts_with(b"HTTP/1.1 503") => State::Waiting,
        _ => State::Lost,
    }
}
fn ask(scheduler: &Address) -> Option<[u8; 12]> {
    let addresses = scheduler.to_string().to_socket_addrs().ok()?;
    let mut stream = addresses
        .into_iter()
        .find_map(|address| TcpStream::connect_timeout(&address, PATIENCE).ok())?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {scheduler}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut status = [0; 12];
    stream.read_exact(&mut status).ok()?;
    Some(status)
}
/// Check that a scheduler has enough executors. Wait at most about `patience` for the scheduler and
/// its executors.
///
/// # Errors
/// `NotFound` when no scheduler answers, or when the scheduler has too few executors.
pub fn ready(scheduler: &Address, patience: Duration) -> Result<()> {
    match waited(scheduler, patience, |state| state == State::Ready) {
        State::Ready => Ok(()),
        State::Waiting => Err(Error::NotFound(format!(
            "the scheduler at {scheduler} has too few executors, so no query was sent.\n\
             Start executors, as in `opendp-cluster executor --scheduler {scheduler}`."
        ))),
        State::Lost => Err(no_scheduler(scheduler)),
    }
}
/// Wait at most about `patience` until a scheduler answers.
pub(crate) fn appeared(scheduler: &Address, patience: Duration) -> Result<()> {
    match waited(scheduler, patience, |state| state != State::Lost) {
        State::Lost => Err(no_scheduler(scheduler)),
        State::Ready | State::Waiting => Ok(()),
    }
}
#[allow(clippy::disallowed_methods, reason = "the clock only ends a wait")]
fn waited(scheduler: &Address, patience: Duration, enough: impl Fn(State) -> bool) -> State {
    let began = Instant::now();
    loop {
        let found = state(scheduler);
        if enough(found) || patience <= began.elapsed() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}
fn no_scheduler(scheduler: &Address) -> Error {
    Error::NotFound(format!(
        "no scheduler answers at {scheduler}, so no query was sent.\n\
         Start a scheduler, as in `opendp-cluster scheduler`, and check the address."
    ))
}
