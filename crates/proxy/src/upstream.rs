//! The model APIs that Belay relays to: their addresses, connections and credentials.
//!
//! A key reaches only its own upstream: the client's key goes where the client's request goes, a configured key goes to the
//! upstream it is configured for, redirects are returned to the client instead of being followed, and addresses that
//! cannot be a model API are refused.

mod connect;
mod credential_guard;
mod error;
mod http2_bridge;
mod own_addresses;
mod pool;

pub use error::{UpstreamConfigError, UpstreamError};

pub(crate) use credential_guard::key_in_query;
pub(crate) use own_addresses::OwnAddresses;

use std::path::PathBuf;
use std::time::Duration;

use belay_net::url::without_userinfo;
use belay_net::{EgressProxy, HttpUrl, TlsClient, UrlError};

use crate::head::{CREDENTIAL_HEADERS, contains};
use crate::socket::Socket;
use pool::IdleConnections;

/// The configuration of one upstream.
#[derive(Clone, Debug)]
pub struct UpstreamConfig {
    /// Its name, which is also the path prefix that selects it.
    pub name: String,
    /// Base URL; the request's path is appended to its path.
    pub url: String,
    /// The credential sent to the upstream.
    pub auth: Auth,
    /// Allows plain HTTP to another machine.
    pub plaintext: bool,
    /// Certificates to trust in addition to those of the machine (PEM).
    pub ca_file: Option<PathBuf>,
    /// Connect timeout.
    pub connect: Duration,
    /// Idle timeout of an exchange.
    pub quiet: Duration,
    /// The network's egress proxy.
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

/// The credential sent to the upstream.
#[derive(Clone)]
pub enum Auth {
    /// The client's own credential, unchanged.
    Incoming,
    /// A configured credential, in a header of this name.
    Header {
        name: String,
        /// The complete value of the header.
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

/// A model API.
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
            // Many local servers silently close idle connections after five seconds, and a new connection to them is
            // cheap.
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

    /// The owner of the key in a request, if the key belongs to another provider.
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

    /// A connection to the upstream, and whether it was used before.
    pub(crate) async fn acquire(&self, fresh: bool) -> Result<(Socket, bool), UpstreamError> {
        let idle = if fresh { None } else { self.pool.pop().or_else(|| connect::remaining_share(self)) };
        match idle {
            Some(link) => Ok((link, true)),
            None => Ok((connect::connect(self).await?, false)),
        }
    }

    /// Returns a reusable connection to the pool.
    pub(crate) fn release(&self, link: Socket) {
        self.pool.push(link);
    }
}

/// The base URL of an upstream, to which request paths are appended.
pub(crate) fn parse_base(url: &str) -> Result<HttpUrl, UpstreamConfigError> {
    HttpUrl::parse_base(url).map_err(|error| {
        let hint = if error == UrlError::Credentials { "; configure the key as `auth`" } else { "" };
        UpstreamConfigError::new(without_userinfo(url), format!("{error}{hint}"))
    })
}
