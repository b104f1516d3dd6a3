//! Addresses of Belay's own listeners, to detect requests that would loop back.
//!
//! If the user's environment already points at Belay, the upstream of a `belay run` is Belay itself, and a request would
//! loop forever.

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};

/// Addresses that Belay listens on.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnAddresses(Arc<RwLock<Vec<SocketAddr>>>);

impl OwnAddresses {
    pub(crate) fn add(&self, address: SocketAddr) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(address);
    }

    /// Whether a connection to the address would reach Belay itself.
    pub(crate) fn contains(&self, address: SocketAddr) -> bool {
        let own = self.0.read().unwrap_or_else(PoisonError::into_inner);
        own.iter().any(|own| {
            let everywhere = own.ip().is_unspecified() && address.ip().is_loopback();
            own.port() == address.port() && (own.ip() == address.ip().to_canonical() || everywhere)
        })
    }
}
