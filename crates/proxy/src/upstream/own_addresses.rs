//! Our own doors, so that nobody is sent round in circles.
//!
//! A user whose environment points at Belay may well start an agent through `belay run`: then the
//! model API it had chosen is Belay itself, and a request would come back to us for ever.

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};

/// Addresses we listen on.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnAddresses(Arc<RwLock<Vec<SocketAddr>>>);

impl OwnAddresses {
    pub(crate) fn add(&self, address: SocketAddr) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(address);
    }

    /// Whether a connection there would end up with us.
    pub(crate) fn contains(&self, address: SocketAddr) -> bool {
        let own = self.0.read().unwrap_or_else(PoisonError::into_inner);
        own.iter().any(|own| {
            let everywhere = own.ip().is_unspecified() && address.ip().is_loopback();
            own.port() == address.port() && (own.ip() == address.ip().to_canonical() || everywhere)
        })
    }
}
