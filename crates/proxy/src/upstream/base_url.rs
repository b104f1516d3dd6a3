//! Base URLs.

/// Where an upstream is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl {
    pub tls: bool,
    /// Name or address, without brackets.
    pub host: String,
    pub port: u16,
    /// `host` or `host:port`, as the `Host` line has it.
    pub authority: String,
    /// Path without a slash at its end: empty for most.
    pub path: String,
}

/// Why a configured upstream is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{url}: {problem}")]
pub struct UpstreamConfigError {
    url: String,
    problem: String,
}

impl UpstreamConfigError {
    pub(crate) fn new(url: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { url: url.into(), problem: problem.into() }
    }
}

impl BaseUrl {
    /// Reads `https://host[:port][/path]`.
    pub fn parse(url: &str) -> Result<Self, UpstreamConfigError> {
        let bad = |problem: &str| UpstreamConfigError::new(without_userinfo(url), problem);
        let (tls, rest) = if let Some(rest) = url.strip_prefix("https://") {
            (true, rest)
        } else if let Some(rest) = url.strip_prefix("http://") {
            (false, rest)
        } else {
            return Err(bad("an upstream's address begins with https:// or http://"));
        };
        let (authority, path) = match rest.find('/') {
            Some(slash) => rest.split_at(slash),
            None => (rest, ""),
        };
        if path.contains(['?', '#']) || authority.contains(['?', '#']) {
            return Err(bad("an upstream's address has no query and no fragment; write only scheme, host and path"));
        }
        if authority.contains('@') {
            return Err(bad("a name and password do not belong in the address; configure the key as `auth`"));
        }
        if !url.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(bad("the address contains blanks or other characters that URLs do not have"));
        }
        let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => match authority.rsplit_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        let port = match port {
            None => {
                if tls {
                    443
                } else {
                    80
                }
            }
            Some(port) => port.parse().map_err(|_| bad("the port is not a number from 1 to 65535"))?,
        };
        if host.is_empty() || port == 0 {
            return Err(bad("the host is missing"));
        }
        Ok(Self {
            tls,
            host: host.to_ascii_lowercase(),
            port,
            authority: authority.to_owned(),
            path: path.trim_end_matches('/').to_owned(),
        })
    }

    /// As a person would write it.
    pub fn url(&self) -> String {
        format!("{}://{}{}", if self.tls { "https" } else { "http" }, self.authority, self.path)
    }
}

/// An address that may be shown: whatever stands before the `@` is a secret.
fn without_userinfo(url: &str) -> String {
    match (url.find("://"), url.find('@')) {
        (Some(scheme), Some(at)) if scheme + 3 < at => format!("{}[...]{}", &url[..scheme + 3], &url[at..]),
        _ => url.to_owned(),
    }
}
