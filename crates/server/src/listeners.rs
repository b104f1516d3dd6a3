//! HTTP listeners. They are usually bound at startup; a resident process started without HTTP binds one when the first run
//! uses the proxy, or when `belay serve` or `belay open` asks for it.
//!
//! A loopback address is served without TLS. Any other address can be reached from other machines, so it requires TLS, and
//! agents that Belay starts do not use it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use belay_config::ServeTlsConfig;
use rustls::ServerConfig;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::sync::lock;
use crate::tls_identity::{TlsIdentity, TlsIdentityError, host_name};

/// A listener to serve.
#[derive(Debug)]
pub(crate) struct BoundListener {
    pub(crate) listener: TcpListener,
    /// Present if other machines can reach it.
    pub(crate) tls: Option<Arc<ServerConfig>>,
}

/// A listener that is served, as users see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenListener {
    address: SocketAddr,
    pub(crate) url: String,
    /// Of its certificate, if other machines can reach it.
    pub(crate) fingerprint: Option<String>,
}

/// Why an address cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error("other machines can reach this address, so it requires TLS")]
    TlsRequired,
    #[error(transparent)]
    Identity(#[from] TlsIdentityError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl ListenError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::TlsRequired => {
                "add `--tls-self-signed`, or `--tls-cert FILE --tls-key FILE`; or listen on 127.0.0.1 and use an SSH tunnel"
            }
            Self::Identity(_) => "check --tls-cert and --tls-key, or use --tls-self-signed",
            Self::Io(_) => "use another address: `belay serve --listen ADDR`",
        }
    }
}

/// The open listeners, and the channel that new ones are sent to.
#[derive(Debug)]
pub(crate) struct Listeners {
    /// The configured address.
    configured: SocketAddr,
    tls: ServeTlsConfig,
    /// Holds the self-signed certificate.
    state_dir: PathBuf,
    /// The first is the one shown to users.
    open: Mutex<Vec<OpenListener>>,
    opened: UnboundedSender<BoundListener>,
}

impl Listeners {
    pub(crate) fn new(
        configured: SocketAddr,
        tls: ServeTlsConfig,
        state_dir: PathBuf,
    ) -> (Self, UnboundedReceiver<BoundListener>) {
        let (opened, listeners) = unbounded_channel();
        (Self { configured, tls, state_dir, open: Mutex::default(), opened }, listeners)
    }

    /// The listener for users.
    pub(crate) fn first(&self) -> Option<OpenListener> {
        lock(&self.open).first().cloned()
    }

    /// The URL for users.
    pub(crate) fn url(&self) -> Option<String> {
        self.first().map(|open| open.url)
    }

    /// The URL for agents on this machine.
    pub(crate) fn loopback_url(&self) -> Option<String> {
        self.first_loopback().map(|open| open.url)
    }

    fn first_loopback(&self) -> Option<OpenListener> {
        lock(&self.open).iter().find(|open| open.address.ip().is_loopback()).cloned()
    }

    /// Ensures a listener at `address`, or any listener without address or port; `true` if it was not open before. `tls`
    /// replaces the configured certificate.
    pub(crate) fn open(
        &self,
        address: Option<SocketAddr>,
        tls: Option<&ServeTlsConfig>,
    ) -> Result<(OpenListener, bool), ListenError> {
        let before = lock(&self.open).len();
        let open = match address {
            Some(address) if address.port() == 0 && address.ip().is_loopback() => self.first_loopback(),
            Some(_) => None,
            None => self.first(),
        };
        let listener = match (open, address) {
            (Some(open), _) => open,
            (None, Some(address)) => self.bind(address, tls.unwrap_or(&self.tls))?,
            (None, None) => self.bind_configured()?,
        };
        Ok((listener, lock(&self.open).len() > before))
    }

    /// The address that [`Listeners::open`] without an address would bind.
    pub(crate) fn configured(&self) -> SocketAddr {
        self.configured
    }

    /// Binds the configured address.
    pub(crate) fn bind_configured(&self) -> Result<OpenListener, ListenError> {
        self.bind(self.configured, &self.tls)
    }

    /// Returns an existing loopback listener or binds one, on any port if the configured one is taken.
    pub(crate) fn ensure_loopback(&self) -> Result<String, ListenError> {
        if let Some(url) = self.loopback_url() {
            return Ok(url);
        }
        let configured = self.configured.ip().is_loopback().then(|| self.bind_configured().ok()).flatten();
        match configured {
            Some(open) => Ok(open.url),
            None => Ok(self.bind((Ipv4Addr::LOCALHOST, 0).into(), &self.tls)?.url),
        }
    }

    /// Ensures a listener at exactly this loopback address, the one that running agents know.
    pub(crate) fn ensure_at(&self, address: SocketAddr) -> Result<String, ListenError> {
        if !address.ip().is_loopback() {
            let message = format!("{address} is not a loopback address");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message).into());
        }
        Ok(self.bind(address, &self.tls)?.url)
    }

    /// Binds an address unless it is already bound.
    fn bind(&self, address: SocketAddr, tls: &ServeTlsConfig) -> Result<OpenListener, ListenError> {
        let mut listeners = lock(&self.open);
        if let Some(open) = listeners.iter().find(|open| open.address == address) {
            return Ok(open.clone());
        }
        let identity = match address.ip().is_loopback() {
            true => None,
            false => Some(TlsIdentity::load(tls, &self.state_dir, address)?.ok_or(ListenError::TlsRequired)?),
        };
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let url = match &identity {
            None => format!("http://{address}/"),
            Some(_) if address.ip().is_unspecified() => format!("https://{}:{}/", host_name(), address.port()),
            Some(_) => format!("https://{address}/"),
        };
        tracing::info!(url, %address, "listening");
        let (tls, fingerprint) = identity.map(|identity| (identity.config, identity.fingerprint)).unzip();
        let bound = BoundListener { listener, tls };
        self.opened.send(bound).map_err(|_| io::Error::other("the resident process is shutting down"))?;
        let open = OpenListener { address, url, fingerprint };
        listeners.push(open.clone());
        Ok(open)
    }
}

#[cfg(test)]
mod tests;
