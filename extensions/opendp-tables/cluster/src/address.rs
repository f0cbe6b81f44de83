//! Addresses of nodes, and the networks from which nodes can be reached.

use std::net::IpAddr;
use std::str::FromStr;

use opendp_core::{Error, Result};

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
}
impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            let reason = format!("expected HOST:PORT, such as 127.0.0.1:50050, found `{text}`");
            Error::argument("scheduler", reason)
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port: u16 = port.parse().map_err(|_| wrong())?;
        let letters = |c: char| c.is_ascii_alphanumeric() || ".-_[]:".contains(c);
        if host.is_empty() || port == 0 || !host.chars().all(letters) {
            return Err(wrong());
        }
        Ok(Address { host: host.to_owned(), port })
    }
}
impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}
impl Address {
    /// Return the address in the form that gRPC uses.
    pub(crate) fn url(&self) -> String {
        format!("http://{self}")
    }
}

/// The set of programs that can reach the ports of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Only programs on this machine.
    Loopback,
    /// Programs on this machine and on other machines. The caller states that all these programs
    /// may read the private data.
    Trusted,
}
/// Check that a node may listen on `host`. Return `host` in the form that it has in an address.
pub(crate) fn listening(host: IpAddr, network: Network) -> Result<String> {
    if host.is_unspecified() {
        let reason = format!(
            "{host} is not the address of one machine: state the address that other machines use"
        );
        return Err(Error::argument("host", reason));
    }
    if network == Network::Loopback && !host.is_loopback() {
        let reason = format!(
            "{host} can be reached from other machines, and nodes use no passwords.\n\
             Every program that reaches a node can read the private data. If only trusted machines \
             can reach this address, add `--trusted-network`."
        );
        return Err(Error::argument("host", reason));
    }
    Ok(match host {
        IpAddr::V4(host) => host.to_string(),
        IpAddr::V6(host) => format!("[{host}]"),
    })
}
