//! A URL we are willing to post to.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

/// Where to post: scheme, host, port, path.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    pub(super) tls: bool,
    pub(super) host: String,
    pub(super) port: u16,
    /// Path and query; may hold a secret, so it is never shown.
    pub(super) path: String,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        write!(f, "{scheme}://{}:{}/..", self.host, self.port)
    }
}

/// Why a URL is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("it must begin with https:// or http://")]
    Scheme,
    #[error("it names no host")]
    Host,
    #[error("its port is no number")]
    Port,
    #[error("name and password do not belong into it")]
    Credentials,
    #[error("it holds blanks or control characters")]
    Characters,
    #[error("plain http is for this machine and its own network; use https")]
    PlainHttp,
}

impl Address {
    pub fn parse(url: &str) -> Result<Self, AddressError> {
        let (tls, rest) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => return Err(AddressError::Scheme),
        };
        if rest.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(AddressError::Characters);
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(at);
        if authority.contains('@') {
            return Err(AddressError::Credentials);
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(six) => {
                let (host, rest) = six.split_once(']').ok_or(AddressError::Host)?;
                (host, rest.strip_prefix(':'))
            }
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        if host.is_empty() {
            return Err(AddressError::Host);
        }
        let port = match port {
            Some(port) => port.parse().map_err(|_| AddressError::Port)?,
            None => {
                if tls {
                    443
                } else {
                    80
                }
            }
        };
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let address = Self { tls, host: host.to_ascii_lowercase(), port, path };
        // A name is looked at again once it is resolved.
        match address.host.parse::<IpAddr>() {
            Ok(ip) if !tls && !is_near(ip) => Err(AddressError::PlainHttp),
            _ => Ok(address),
        }
    }

    /// The addresses the host has now, without those nobody should be sent to. Connecting to what was
    /// checked, not to the name, keeps a name from changing its mind in between.
    pub(super) fn resolve(&self) -> Result<Vec<SocketAddr>, String> {
        let found = (self.host.as_str(), self.port).to_socket_addrs();
        let found = found.map_err(|error| format!("{} cannot be found: {error}", self.host))?;
        let good: Vec<SocketAddr> = found.filter(|addr| self.may_reach(addr.ip())).collect();
        match good.is_empty() {
            true => Err(format!("{} has no address Belay would post to", self.host)),
            false => Ok(good),
        }
    }

    fn may_reach(&self, ip: IpAddr) -> bool {
        !is_forbidden(ip) && (self.tls || is_near(ip))
    }
}

/// Addresses that no receiver has: cloud metadata lives among the link-local ones.
fn is_forbidden(ip: IpAddr) -> bool {
    match canonical(ip) {
        IpAddr::V4(ip) => ip.is_link_local() || ip.is_unspecified() || ip.is_multicast() || ip.is_broadcast(),
        IpAddr::V6(ip) => {
            ip.is_unspecified()
                || ip.is_multicast()
                || ip.is_unicast_link_local()
                // The metadata address of one cloud in its own private range.
                || ip == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)
        }
    }
}

/// This machine or its own network.
fn is_near(ip: IpAddr) -> bool {
    match canonical(ip) {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_private(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unique_local(),
    }
}

/// An IPv4 address in IPv6 clothes is an IPv4 address.
fn canonical(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V6(six) => six.to_ipv4_mapped().map_or(ip, |four: Ipv4Addr| IpAddr::V4(four)),
        four => four,
    }
}
