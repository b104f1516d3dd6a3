//! Where HTTP comes in. Usually that is settled at the start; a resident process that began without
//! HTTP opens a door when the first agent is to be run through the proxy.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Mutex, PoisonError};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The doors, and who is told of a new one.
#[derive(Debug)]
pub(crate) struct Listeners {
    /// Where the configuration wants one.
    wanted: SocketAddr,
    /// Where they are; the first is the one people are told of.
    urls: Mutex<Vec<String>>,
    opened: UnboundedSender<TcpListener>,
}

impl Listeners {
    pub(crate) fn new(wanted: SocketAddr) -> (Self, UnboundedReceiver<TcpListener>) {
        let (opened, listeners) = unbounded_channel();
        (Self { wanted, urls: Mutex::default(), opened }, listeners)
    }

    /// The address people and agents use.
    pub(crate) fn url(&self) -> Option<String> {
        self.urls.lock().unwrap_or_else(PoisonError::into_inner).first().cloned()
    }

    /// Opens a door where the configuration wants it.
    pub(crate) fn bind_configured(&self) -> io::Result<String> {
        self.open_at(self.wanted)
    }

    /// Makes sure there is a door: if the wanted port is taken, any other does for a run.
    pub(crate) fn ensure_any(&self) -> io::Result<String> {
        match self.url() {
            Some(url) => Ok(url),
            None => self.bind_configured().or_else(|_| self.open_at((Ipv4Addr::LOCALHOST, 0).into())),
        }
    }

    /// Makes sure there is a door right here: agents know no other.
    pub(crate) fn ensure_at(&self, address: SocketAddr) -> io::Result<String> {
        if !address.ip().is_loopback() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{address} is not of this machine alone")));
        }
        self.open_at(address)
    }

    /// Opens a door there, unless there is one.
    fn open_at(&self, address: SocketAddr) -> io::Result<String> {
        let mut urls = self.urls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = urls.iter().find(|url| **url == format!("http://{address}/")) {
            return Ok(open.clone());
        }
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let here = format!("http://{}/", listener.local_addr()?);
        self.opened.send(listener).map_err(|_| io::Error::other("the resident process is about to leave"))?;
        tracing::info!(url = here, "listening");
        urls.push(here.clone());
        Ok(here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_gets_another_port_when_the_wanted_one_is_taken() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (doors, mut listeners) = Listeners::new(taken.local_addr().unwrap());
        assert!(doors.bind_configured().is_err());
        let url = doors.ensure_any().unwrap();
        let listener = listeners.try_recv().unwrap();
        assert_eq!(url, format!("http://{}/", listener.local_addr().unwrap()));
        assert_eq!(doors.ensure_any().unwrap(), url, "one door is enough");
    }

    #[test]
    fn a_run_that_is_taken_up_finds_its_door_where_it_was() {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let (doors, mut listeners) = Listeners::new((Ipv4Addr::LOCALHOST, 0).into());
        let first = doors.ensure_any().unwrap();
        let again = doors.ensure_at(free).unwrap();
        assert_eq!(again, format!("http://{free}/"));
        assert_eq!(doors.ensure_at(free).unwrap(), again, "it is open");
        assert_eq!(doors.url(), Some(first), "people know the other one");
        assert!(listeners.try_recv().is_ok() && listeners.try_recv().is_ok() && listeners.try_recv().is_err());
        assert!(doors.ensure_at(([192, 0, 2, 1], 80).into()).is_err(), "not for other machines");
    }
}
