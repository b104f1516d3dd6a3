//! Where HTTP comes in. Usually that is settled at the start; a resident process that began without
//! HTTP opens a door when the first agent is to be run through the proxy.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Mutex, PoisonError};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The doors, and who is told of a new one.
#[derive(Debug)]
pub(crate) struct Doors {
    /// Where the configuration wants one.
    wanted: SocketAddr,
    url: Mutex<Option<String>>,
    opened: UnboundedSender<TcpListener>,
}

impl Doors {
    pub(crate) fn new(wanted: SocketAddr) -> (Self, UnboundedReceiver<TcpListener>) {
        let (opened, listeners) = unbounded_channel();
        (Self { wanted, url: Mutex::new(None), opened }, listeners)
    }

    /// The address people and agents use.
    pub(crate) fn url(&self) -> Option<String> {
        self.url.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Opens a door where the configuration wants it.
    pub(crate) fn open(&self) -> io::Result<String> {
        self.open_at(self.wanted)
    }

    /// Makes sure there is a door: if the wanted port is taken, any other does for a run.
    pub(crate) fn open_any(&self) -> io::Result<String> {
        match self.url() {
            Some(url) => Ok(url),
            None => self.open().or_else(|_| self.open_at((Ipv4Addr::LOCALHOST, 0).into())),
        }
    }

    fn open_at(&self, address: SocketAddr) -> io::Result<String> {
        let mut url = self.url.lock().unwrap_or_else(PoisonError::into_inner);
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let here = format!("http://{}/", listener.local_addr()?);
        self.opened.send(listener).map_err(|_| io::Error::other("the resident process is about to leave"))?;
        *url = Some(here.clone());
        Ok(here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_gets_another_port_when_the_wanted_one_is_taken() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (doors, mut listeners) = Doors::new(taken.local_addr().unwrap());
        assert!(doors.open().is_err());
        let url = doors.open_any().unwrap();
        let listener = listeners.try_recv().unwrap();
        assert_eq!(url, format!("http://{}/", listener.local_addr().unwrap()));
        assert_eq!(doors.open_any().unwrap(), url, "one door is enough");
    }
}
