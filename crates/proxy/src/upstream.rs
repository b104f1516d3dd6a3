//! Model APIs we relay to: where they are, how they are reached, whose key they get.
//!
//! A key goes only to the upstream it was meant for: the client's own key goes where the client's
//! request goes, a configured key goes to the upstream it is configured for, redirects are handed
//! to the client instead of being followed, and addresses that no model API has are refused.

mod connect;
mod credential_guard;
mod error;
mod http2_bridge;
mod link;
mod own_addresses;
mod pool;

pub use error::{UpstreamConfigError, UpstreamError};

pub(crate) use credential_guard::key_in_query;
pub(crate) use link::UpstreamConn;
pub(crate) use own_addresses::OwnAddresses;

use std::path::PathBuf;
use std::time::Duration;

use belay_net::url::without_userinfo;
use belay_net::{EgressProxy, HttpUrl, TlsClient, UrlError};

use crate::head::{CREDENTIAL_HEADERS, contains};
use pool::IdleConnections;

/// What the user says about one upstream.
#[derive(Clone, Debug)]
pub struct UpstreamConfig {
    /// Its name: also the path prefix that chooses it.
    pub name: String,
    /// Base URL; the request's path is appended to its path.
    pub url: String,
    /// Whose credential the upstream gets.
    pub auth: Auth,
    /// Plain HTTP to another machine is fine with the user.
    pub plaintext: bool,
    /// Certificates to trust beside those of the machine (PEM).
    pub ca_file: Option<PathBuf>,
    /// How long to wait for a connection.
    pub connect: Duration,
    /// How long nothing may move between us and the upstream.
    pub quiet: Duration,
    /// The way out of this network.
    pub egress: EgressProxy,
}

impl UpstreamConfig {
    pub fn new(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            url: url.into(),
            auth: Auth::Incoming,
            plaintext: false,
            ca_file: None,
            connect: Duration::from_secs(10),
            quiet: Duration::from_secs(600),
            egress: EgressProxy::default(),
        }
    }
}

/// Whose credential the upstream gets.
#[derive(Clone)]
pub enum Auth {
    /// The client's own, untouched.
    Incoming,
    /// A configured one, in a header of this name.
    Header {
        name: String,
        /// The whole value of the header.
        value: String,
    },
}

impl Auth {
    /// `Authorization: Bearer KEY`.
    pub fn bearer(key: &str) -> Self {
        Self::Header { name: "authorization".to_owned(), value: format!("Bearer {key}") }
    }
}

// A key must not reach a log through a debug print.
impl std::fmt::Debug for Auth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Incoming => f.write_str("Incoming"),
            Self::Header { name, .. } => write!(f, "Header({name})"),
        }
    }
}

/// One model API, ready to be asked.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) name: String,
    pub(crate) base: HttpUrl,
    pub(crate) auth: Auth,
    pub(crate) quiet: Duration,
    connect: Duration,
    egress: EgressProxy,
    tls: TlsClient,
    bridge: http2_bridge::Http2Bridge,
    own: OwnAddresses,
    pool: IdleConnections,
}

impl Upstream {
    pub(crate) fn new(config: &UpstreamConfig, own: &OwnAddresses) -> Result<Self, UpstreamConfigError> {
        let base = parse_base(&config.url)?;
        credential_guard::check_base(&base, config.plaintext)?;
        credential_guard::check_auth(&base, &config.auth)?;
        Ok(Self {
            name: config.name.clone(),
            // Many local servers close idle connections after five seconds and say so to nobody;
            // a new connection to them costs next to nothing.
            pool: IdleConnections::new(Duration::from_secs(if base.tls { 60 } else { 4 })),
            base,
            auth: config.auth.clone(),
            quiet: config.quiet,
            connect: config.connect,
            egress: config.egress.clone(),
            tls: TlsClient::new(config.ca_file.clone()),
            bridge: http2_bridge::Http2Bridge::default(),
            own: own.clone(),
        })
    }

    /// Whose key a request carries, if it would be given away to somebody else.
    pub(crate) fn foreign_key_owner<'h>(
        &self,
        target: &'h str,
        headers: impl Iterator<Item = (&'h str, &'h str)>,
    ) -> Option<&'static str> {
        if !matches!(self.auth, Auth::Incoming) {
            return None;
        }
        let carries_key = |name: &str| CREDENTIAL_HEADERS.iter().any(|known| contains(name, known));
        let mut keys =
            headers.filter(|(name, _)| carries_key(name)).map(|(_, value)| value).chain(key_in_query(target));
        keys.find_map(|key| credential_guard::foreign_key_owner(key, &self.base.host))
    }

    /// A connection to the upstream, and whether it has served before.
    pub(crate) async fn acquire(&self, fresh: bool) -> Result<(UpstreamConn, bool), UpstreamError> {
        let idle = if fresh { None } else { self.pool.pop().or_else(|| connect::remaining_share(self)) };
        match idle {
            Some(link) => Ok((link, true)),
            None => Ok((connect::connect(self).await?, false)),
        }
    }

    /// Keeps a connection that can serve again.
    pub(crate) fn release(&self, link: UpstreamConn) {
        self.pool.push(link);
    }
}

/// The base URL of an upstream: what is asked of it is appended.
pub(crate) fn parse_base(url: &str) -> Result<HttpUrl, UpstreamConfigError> {
    HttpUrl::parse_base(url).map_err(|error| {
        let hint = if error == UrlError::Credentials { "; configure the key as `auth`" } else { "" };
        UpstreamConfigError::new(without_userinfo(url), format!("{error}{hint}"))
    })
}
