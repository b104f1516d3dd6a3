//! URLs, parsed strictly.
//!
//! The address guard must know the real destination. A parser that repairs its input may read a different host than the
//! resolver; this one refuses unknown syntax.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An absolute `http` or `https` URL.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpUrl {
    pub tls: bool,
    /// Lowercase name, or address without brackets.
    pub host: String,
    pub port: u16,
    /// `host` or `host:port` as written: the value of a `Host` header.
    pub authority: String,
    /// Path and query as written: empty, or beginning with `/` or `?`.
    pub path: String,
}

/// Why a URL is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    #[error("the URL must start with https:// or http://")]
    Scheme,
    #[error("the host is missing")]
    NoHost,
    #[error("the host is not a valid name or address")]
    Host,
    #[error("the port is not a number from 1 to 65535")]
    Port,
    #[error("the URL must not contain credentials")]
    Credentials,
    #[error("the URL contains spaces or other characters that are not allowed in URLs")]
    Characters,
    #[error("the URL must not have a fragment")]
    Fragment,
    #[error("the URL must not have a query")]
    Query,
}

impl HttpUrl {
    /// Parses `https://host[:port][/path][?query]`.
    pub fn parse(url: &str) -> Result<Self, UrlError> {
        let (tls, rest) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => return Err(UrlError::Scheme),
        };
        // A backslash is a slash to some parsers and a part of the host to others.
        if !rest.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
            return Err(UrlError::Characters);
        }
        if rest.contains('#') {
            return Err(UrlError::Fragment);
        }
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(UrlError::Credentials);
        }
        let (host, port) = split_authority(authority)?;
        let default_port = if tls { 443 } else { 80 };
        Ok(Self {
            tls,
            host: host.to_ascii_lowercase(),
            port: port.map_or(Ok(default_port), parse_port)?,
            authority: authority.to_owned(),
            path: path.to_owned(),
        })
    }

    /// Parses a URL that paths are appended to: it has no query, and its path does not end in `/`.
    pub fn parse_base(url: &str) -> Result<Self, UrlError> {
        let mut base = Self::parse(url)?;
        if base.path.contains('?') {
            return Err(UrlError::Query);
        }
        base.path.truncate(base.path.trim_end_matches('/').len());
        Ok(base)
    }

    /// The URL as a person would write it, with its path and query. May contain a secret.
    pub fn url(&self) -> String {
        format!("{}://{}{}", if self.tls { "https" } else { "http" }, self.authority, self.path)
    }

    /// Path and query for a request line.
    pub fn request_target(&self) -> String {
        if self.path.starts_with('/') { self.path.clone() } else { format!("/{}", self.path) }
    }
}

// Paths and queries of webhooks are secrets: they must not reach a log through a debug print.
impl fmt::Debug for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        write!(f, "{scheme}://{host}:{}/..", self.port)
    }
}

/// A URL for display: the part before the `@` is a secret.
pub fn without_userinfo(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if scheme + 3 < at => format!("{}[...]{}", &url[..scheme + 3], &url[at..]),
        _ => url.to_owned(),
    }
}

/// Host without brackets, and the port as text.
fn split_authority(authority: &str) -> Result<(&str, Option<&str>), UrlError> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or(UrlError::Host)?;
        host.parse::<Ipv6Addr>().map_err(|_| UrlError::Host)?;
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(UrlError::Host),
        };
    }
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    if host.is_empty() {
        return Err(UrlError::NoHost);
    }
    if is_name(host) { Ok((host, port)) } else { Err(UrlError::Host) }
}

/// Whether the value of a `Host` header, or the authority of an origin, names a loopback address or `localhost`.
pub fn is_loopback_authority(authority: &str) -> bool {
    let Ok((host, port)) = split_authority(authority) else { return false };
    let is_loopback = || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    port.is_none_or(|port| parse_port(port).is_ok()) && (host.eq_ignore_ascii_case("localhost") || is_loopback())
}

/// A host name or a dotted IPv4 address. Resolvers read `127.1` and `0x7f000001` as addresses; those are refused.
fn is_name(host: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let last = host.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x") || last.starts_with("0X");
    host.bytes().all(is_allowed) && (!is_number || host.parse::<Ipv4Addr>().is_ok())
}

/// `u16::from_str` accepts a plus sign; URLs do not.
fn parse_port(port: &str) -> Result<u16, UrlError> {
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    port.parse().ok().filter(|port| digits && *port != 0).ok_or(UrlError::Port)
}

#[cfg(test)]
mod tests;
