//! Upstream errors.

use std::io;
use std::time::Duration;

/// An invalid upstream configuration.
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

/// Why an upstream request failed, worded for the user of the agent.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    #[error("the name {host} could not be resolved ({source}); are you online, and is the name right?")]
    Name { host: String, source: io::Error },
    #[error("{host} resolves to {address}, where no model API lives; the connection was not made")]
    Forbidden { host: String, address: std::net::IpAddr },
    #[error("{host} is Belay itself; name the address of the model API instead, or unset the variable that names it")]
    IsBelay { host: String },
    #[error("{host} refused the connection; is the server running?")]
    Refused { host: String },
    #[error("{host} could not be reached ({source})")]
    Unreachable { host: String, source: io::Error },
    #[error("{host} did not accept a connection within {} s", .after.as_secs())]
    ConnectTimeout { host: String, after: Duration },
    #[error("the TLS connection to {host} failed: {problem}")]
    Tls { host: String, problem: String },
    #[error("the network's proxy {proxy} did not let the connection through: {problem}")]
    Egress { proxy: String, problem: String },
    #[error("{host} closed the connection before it answered")]
    Closed { host: String },
    #[error("{host} sent nothing for {} s", .after.as_secs())]
    Stalled { host: String, after: Duration },
    #[error("{host} answered with something that is not HTTP: {problem}")]
    InvalidResponse { host: String, problem: String },
}

impl UpstreamError {
    /// Stable error code for clients and metrics.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Name { .. } => "upstream_dns",
            Self::Forbidden { .. } => "upstream_forbidden",
            Self::IsBelay { .. } => "upstream_is_belay",
            Self::Refused { .. } => "upstream_refused",
            Self::Unreachable { .. } => "upstream_unreachable",
            Self::ConnectTimeout { .. } => "upstream_connect_timeout",
            Self::Tls { .. } => "upstream_tls",
            Self::Egress { .. } => "upstream_proxy",
            Self::Closed { .. } => "upstream_closed",
            Self::Stalled { .. } => "upstream_idle_timeout",
            Self::InvalidResponse { .. } => "upstream_invalid_response",
        }
    }

    /// The HTTP status of the response.
    pub fn status(&self) -> u16 {
        match self {
            Self::ConnectTimeout { .. } | Self::Stalled { .. } => 504,
            _ => 502,
        }
    }
}
