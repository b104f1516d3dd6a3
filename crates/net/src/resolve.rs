//! Resolves names to permitted addresses.
//!
//! The caller connects to a returned address and does not resolve again: otherwise a name server could give one answer
//! to the check and another to the connection.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use crate::guard::refused_network;

/// Why a name gave no address to connect to.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    #[error(transparent)]
    Lookup(#[from] io::Error),
    #[error("it resolves to {0}, which is never connected to")]
    Refused(IpAddr),
}

/// The addresses of a name, without refused ones; never empty.
pub async fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, ResolveError> {
    check(tokio::net::lookup_host((host, port)).await?)
}

/// As [`resolve`], on the calling thread.
pub fn resolve_blocking(host: &str, port: u16) -> Result<Vec<SocketAddr>, ResolveError> {
    check((host, port).to_socket_addrs()?)
}

fn check(found: impl Iterator<Item = SocketAddr>) -> Result<Vec<SocketAddr>, ResolveError> {
    let (refused, allowed): (Vec<_>, Vec<_>) = found.partition(|address| refused_network(address.ip()).is_some());
    match refused.first() {
        _ if !allowed.is_empty() => Ok(allowed),
        Some(address) => Err(ResolveError::Refused(address.ip())),
        None => Err(io::Error::other("the name has no address").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(addresses: &[&str]) -> Result<Vec<SocketAddr>, ResolveError> {
        check(addresses.iter().map(|address| address.parse().expect("an address")))
    }

    #[test]
    fn refused_addresses_are_dropped_and_none_left_is_an_error() {
        let allowed = checked(&["[fe80::1]:80", "192.168.1.2:80"]).expect("one is allowed");
        assert_eq!(allowed, ["192.168.1.2:80".parse().expect("an address")]);
        assert!(matches!(checked(&["169.254.169.254:80"]), Err(ResolveError::Refused(_))));
        assert!(matches!(checked(&[]), Err(ResolveError::Lookup(_))));
    }

    #[test]
    fn an_address_needs_no_name_server_to_be_refused() {
        for refused in crate::REFUSED_NETWORKS {
            let resolved = resolve_blocking(&refused.network.to_string(), 443);
            assert!(matches!(resolved, Err(ResolveError::Refused(_))), "{refused:?}: {resolved:?}");
        }
    }
}
