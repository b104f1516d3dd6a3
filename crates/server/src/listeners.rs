//! HTTP listeners. They are usually bound at startup; a resident process started without HTTP binds one when the first run
//! uses the proxy, or when `belay serve` asks for it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Mutex;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::sync::lock;

/// The bound listeners, and the channel that new ones are sent to.
#[derive(Debug)]
pub(crate) struct Listeners {
    /// The configured address.
    configured: SocketAddr,
    /// URLs of the bound listeners; the first is the one shown to users.
    urls: Mutex<Vec<String>>,
    opened: UnboundedSender<TcpListener>,
}

impl Listeners {
    pub(crate) fn new(configured: SocketAddr) -> (Self, UnboundedReceiver<TcpListener>) {
        let (opened, listeners) = unbounded_channel();
        (Self { configured, urls: Mutex::default(), opened }, listeners)
    }

    /// The URL for users and agents.
    pub(crate) fn url(&self) -> Option<String> {
        lock(&self.urls).first().cloned()
    }

    /// Ensures a listener at `address`, or any listener without address or port; `true` if it was not open before.
    pub(crate) fn open(&self, address: Option<SocketAddr>) -> io::Result<(String, bool)> {
        let before = lock(&self.urls).len();
        let url = match (address, self.url()) {
            (Some(address), Some(url)) if address.port() == 0 && address.ip().is_loopback() => url,
            (Some(address), _) => self.ensure_at(address)?,
            (None, Some(url)) => url,
            (None, None) => self.bind_configured()?,
        };
        Ok((url, lock(&self.urls).len() > before))
    }

    /// The address that [`Listeners::open`] without an address would bind.
    pub(crate) fn configured(&self) -> SocketAddr {
        self.configured
    }

    /// Binds the configured address.
    pub(crate) fn bind_configured(&self) -> io::Result<String> {
        self.bind(self.configured)
    }

    /// Returns an existing listener or binds one, on any port if the configured one is taken.
    pub(crate) fn ensure_any(&self) -> io::Result<String> {
        match self.url() {
            Some(url) => Ok(url),
            None => self.bind_configured().or_else(|_| self.bind((Ipv4Addr::LOCALHOST, 0).into())),
        }
    }

    /// Ensures a listener at exactly this address, the one that running agents know.
    pub(crate) fn ensure_at(&self, address: SocketAddr) -> io::Result<String> {
        if !address.ip().is_loopback() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{address} is not a loopback address")));
        }
        self.bind(address)
    }

    /// Binds an address unless it is already bound.
    fn bind(&self, address: SocketAddr) -> io::Result<String> {
        let mut urls = lock(&self.urls);
        if let Some(open) = urls.iter().find(|url| **url == format!("http://{address}/")) {
            return Ok(open.clone());
        }
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let url = format!("http://{}/", listener.local_addr()?);
        self.opened.send(listener).map_err(|_| io::Error::other("the resident process is shutting down"))?;
        tracing::info!(url, "listening");
        urls.push(url.clone());
        Ok(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_gets_another_port_if_the_configured_one_is_taken() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (registry, mut listeners) = Listeners::new(taken.local_addr().unwrap());
        assert!(registry.bind_configured().is_err());
        let url = registry.ensure_any().unwrap();
        let listener = listeners.try_recv().unwrap();
        assert_eq!(url, format!("http://{}/", listener.local_addr().unwrap()));
        assert_eq!(registry.ensure_any().unwrap(), url, "the listener is reused");
    }

    #[test]
    fn http_is_opened_on_request_and_only_once() {
        let free = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let (configured, other) = (free(), free());
        let (registry, _listeners) = Listeners::new(configured);
        let url = |address: SocketAddr| format!("http://{address}/");
        assert_eq!(registry.open(None).unwrap(), (url(configured), true));
        assert_eq!(registry.open(None).unwrap(), (url(configured), false));
        assert_eq!(registry.open(Some(other)).unwrap(), (url(other), true));
        assert_eq!(registry.open(Some(other)).unwrap(), (url(other), false));
    }

    #[test]
    fn a_restored_run_gets_its_previous_address() {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let (registry, mut listeners) = Listeners::new((Ipv4Addr::LOCALHOST, 0).into());
        let first = registry.ensure_any().unwrap();
        let again = registry.ensure_at(free).unwrap();
        assert_eq!(again, format!("http://{free}/"));
        assert_eq!(registry.ensure_at(free).unwrap(), again, "already bound");
        assert_eq!(registry.url(), Some(first), "users see the first one");
        assert!(listeners.try_recv().is_ok() && listeners.try_recv().is_ok() && listeners.try_recv().is_err());
        assert!(registry.ensure_at(([192, 0, 2, 1], 80).into()).is_err(), "not for other machines");
    }
}
