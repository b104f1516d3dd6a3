//! Who may use the HTTP port. Every user of the machine can connect to it.

use belay_net::PeerUser;
use tokio::net::TcpStream;

/// What the sender of a request may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read, post events, and use configured keys.
    Full,
    /// Only relay requests with a key of its own, recorded as unverified: this system does not tell its user.
    OwnKeyOnly,
    /// Nothing: it belongs to another user, with this uid.
    OtherUser(u32),
    /// Nothing: the socket was closed before its user could be determined.
    NoUser,
    /// Nothing: it came through a listener that other machines can reach.
    Remote,
}

impl Access {
    /// Decides by the credential of a request (the API token, or the key of a run) or else by the user of its sender.
    pub fn decide(has_credential: bool, peer: PeerUser) -> Self {
        if has_credential {
            return Self::Full;
        }
        match peer {
            PeerUser::Same => Self::Full,
            PeerUser::Unknown => Self::OwnKeyOnly,
            PeerUser::Other(uid) => Self::OtherUser(uid),
            PeerUser::Nobody => Self::NoUser,
            PeerUser::Remote => Self::Remote,
        }
    }
}

/// The user at the other end of an accepted connection.
pub(crate) fn peer_of(io: &TcpStream) -> PeerUser {
    match (io.local_addr(), io.peer_addr()) {
        (Ok(local), Ok(remote)) => belay_net::peer_user(local, remote),
        // The peer has reset the connection.
        _ => PeerUser::Nobody,
    }
}
