//! The user behind a loopback connection.
//!
//! Every user of a machine can connect to a loopback port. The kernel knows whose socket is at the other end: on Linux it
//! is asked over `NETLINK_SOCK_DIAG`, or by `/proc/net/tcp` where that is not permitted.

use std::net::SocketAddr;

/// The user of the process at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerUser {
    /// The user of this process.
    Same,
    /// Another user, by uid. Root is another user.
    Other(u32),
    /// No process: the socket at the other end has been closed, or is not on this machine. It may have been anyone's.
    Nobody,
    /// This system does not tell.
    Unknown,
    /// Any user of any machine: the connection came through a listener that other machines can reach.
    Remote,
}

/// The user behind a connection between `local`, an address of this process, and `remote` on the same machine. Ask as soon
/// as the connection is accepted: a peer that closes its socket is no longer known.
pub fn peer_user(local: SocketAddr, remote: SocketAddr) -> PeerUser {
    if !system::TELLS_OWNERS {
        return PeerUser::Unknown;
    }
    let is_local = remote.ip().to_canonical().is_loopback();
    match is_local.then(|| system::socket_owner(remote, local)).flatten() {
        Some(uid) if uid == system::own_uid() => PeerUser::Same,
        Some(uid) => PeerUser::Other(uid),
        None => PeerUser::Nobody,
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::net::{IpAddr, SocketAddr};

    use rustix::net::{AddressFamily, SocketFlags, SocketType, netlink, socket_with};

    pub(super) const TELLS_OWNERS: bool = true;

    const NLMSG_ERROR: u16 = 2;
    /// `SOCK_DIAG_BY_FAMILY`
    const BY_FAMILY: u16 = 20;
    const NLM_F_REQUEST: u16 = 1;
    const AF_INET: u8 = 2;
    const AF_INET6: u8 = 10;
    const IPPROTO_TCP: u8 = 6;
    const TIME_WAIT: u8 = 6;
    const LISTEN: u8 = 10;

    pub(super) fn own_uid() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    /// The owner of the socket with this address and peer.
    pub(super) fn socket_owner(address: SocketAddr, peer: SocketAddr) -> Option<u32> {
        let (address, peer) = (canonical(address), canonical(peer));
        by_sock_diag(address, peer).unwrap_or_else(|_| by_proc(address, peer))
    }

    fn canonical(address: SocketAddr) -> SocketAddr {
        SocketAddr::new(address.ip().to_canonical(), address.port())
    }

    /// Asks for exactly one socket. A kernel without the module `tcp_diag` reports the same error as one that finds no
    /// socket, so an error says nothing about the socket.
    pub(super) fn by_sock_diag(address: SocketAddr, peer: SocketAddr) -> rustix::io::Result<Option<u32>> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(netlink::SOCK_DIAG))?;
        rustix::io::write(&socket, &request(address, peer))?;
        let mut answer = [0; 512];
        // The kernel answers before `write` returns.
        let len = rustix::io::read(&socket, &mut answer)?;
        parse(&answer[..len], address, peer)
    }

    /// `struct nlmsghdr` and `struct inet_diag_req_v2`.
    fn request(address: SocketAddr, peer: SocketAddr) -> Vec<u8> {
        const LEN: u32 = 16 + 56;
        let mut out = Vec::with_capacity(LEN as usize);
        out.extend(LEN.to_ne_bytes());
        out.extend(BY_FAMILY.to_ne_bytes());
        out.extend(NLM_F_REQUEST.to_ne_bytes());
        out.extend([0; 8]); // sequence number and port
        out.extend([if address.is_ipv4() { AF_INET } else { AF_INET6 }, IPPROTO_TCP, 0, 0]);
        out.extend(u32::MAX.to_ne_bytes()); // in any state
        out.extend(address.port().to_be_bytes());
        out.extend(peer.port().to_be_bytes());
        out.extend(padded(address.ip()));
        out.extend(padded(peer.ip()));
        out.extend([0; 4]); // on any interface
        out.extend([0xff; 8]); // no cookie
        out
    }

    fn padded(ip: IpAddr) -> [u8; 16] {
        match ip {
            IpAddr::V6(v6) => v6.octets(),
            IpAddr::V4(v4) => {
                let mut out = [0; 16];
                out[..4].copy_from_slice(&v4.octets());
                out
            }
        }
    }

    /// The owner in `struct inet_diag_msg`, if the message is about this connection.
    pub(super) fn parse(message: &[u8], address: SocketAddr, peer: SocketAddr) -> rustix::io::Result<Option<u32>> {
        let word = |at: usize| message.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
        let short = |at: usize| message.get(at..at + 2)?.try_into().ok();
        let port = |at: usize| short(at).map(u16::from_be_bytes);
        match short(4).map(u16::from_ne_bytes) {
            Some(BY_FAMILY) => {}
            // `struct nlmsgerr` begins with a negative error number.
            Some(NLMSG_ERROR) => {
                let code = word(16).map_or(0, |code| code.cast_signed().wrapping_neg());
                return Err(rustix::io::Errno::from_raw_os_error(code.max(1)));
            }
            _ => return Err(rustix::io::Errno::PROTO),
        }
        // Without a matching connection the kernel falls back to a listener on the port.
        let same = port(20) == Some(address.port()) && port(22) == Some(peer.port());
        let (Some(state), Some(uid), Some(inode)) = (message.get(17), word(80), word(84)) else { return Ok(None) };
        Ok((same && is_owned(*state, inode)).then_some(uid))
    }

    /// A connection that its process has closed has no inode, and the kernel reports root as its owner.
    fn is_owned(state: u8, inode: u32) -> bool {
        inode != 0 && state != TIME_WAIT && state != LISTEN
    }

    pub(super) fn by_proc(address: SocketAddr, peer: SocketAddr) -> Option<u32> {
        // A socket for both families has an entry in the table of IPv6.
        let tables = [("/proc/net/tcp", address, peer), ("/proc/net/tcp6", mapped(address), mapped(peer))];
        tables.into_iter().find_map(|(table, address, peer)| {
            let (address, peer) = (table_entry(address), table_entry(peer));
            std::fs::read_to_string(table).ok()?.lines().find_map(|line| owner_in_line(line, &address, &peer))
        })
    }

    fn owner_in_line(line: &str, address: &str, peer: &str) -> Option<u32> {
        let mut fields = line.split_ascii_whitespace().skip(1);
        if fields.next()? != address || fields.next()? != peer {
            return None;
        }
        let state = u8::from_str_radix(fields.next()?, 16).ok()?;
        let uid = fields.nth(3)?.parse().ok()?;
        let inode = fields.nth(1)?.parse().ok()?;
        is_owned(state, inode).then_some(uid)
    }

    fn mapped(address: SocketAddr) -> SocketAddr {
        match address.ip() {
            IpAddr::V4(v4) => SocketAddr::new(v4.to_ipv6_mapped().into(), address.port()),
            IpAddr::V6(_) => address,
        }
    }

    /// An address as the tables write it: words of the address in the order of the machine, and the port.
    fn table_entry(address: SocketAddr) -> String {
        let octets = match address.ip() {
            IpAddr::V4(v4) => v4.octets().to_vec(),
            IpAddr::V6(v6) => v6.octets().to_vec(),
        };
        let words = octets.chunks_exact(4).filter_map(|word| word.try_into().ok()).map(u32::from_ne_bytes);
        let words: String = words.map(|word| format!("{word:08X}")).collect();
        format!("{words}:{:04X}", address.port())
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::net::SocketAddr;

    pub(super) const TELLS_OWNERS: bool = false;

    pub(super) fn own_uid() -> u32 {
        0
    }

    pub(super) fn socket_owner(_address: SocketAddr, _peer: SocketAddr) -> Option<u32> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// A connection to `listener` that a thread of another user makes, if this process may change users.
    fn connect_as_other_user(address: SocketAddr) -> Option<io::Result<TcpStream>> {
        let nobody = rustix::process::Uid::from_raw(65_534);
        let connecting = std::thread::spawn(move || {
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).ok()?;
            Some(TcpStream::connect(address))
        });
        connecting.join().expect("the thread")
    }

    #[test]
    fn both_sources_name_the_user_of_a_connection() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (local, remote) = (client.peer_addr().unwrap(), client.local_addr().unwrap());
            assert_eq!(peer_user(local, remote), PeerUser::Same, "{address}");
            assert_eq!(system::by_sock_diag(remote, local), Ok(Some(system::own_uid())), "{address}");
            assert_eq!(system::by_proc(remote, local), Some(system::own_uid()), "{address}");
            let Some(foreign) = connect_as_other_user(local) else { continue };
            let remote = foreign.as_ref().unwrap().local_addr().unwrap();
            assert_eq!(peer_user(local, remote), PeerUser::Other(65_534), "{address}");
            assert_eq!(system::by_proc(remote, local), Some(65_534), "{address}");
        }
    }

    #[test]
    fn a_closed_connection_belongs_to_no_user() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let local = listener.local_addr().unwrap();
        let client = TcpStream::connect(local).unwrap();
        let remote = client.local_addr().unwrap();
        drop(client);
        assert_eq!(peer_user(local, remote), PeerUser::Nobody);
        // The listener on the same port is not the connection.
        assert_eq!(peer_user(remote, local), PeerUser::Nobody);
        assert_eq!(system::by_proc(remote, local), None);
        assert_eq!(peer_user(local, "192.0.2.1:80".parse().unwrap()), PeerUser::Nobody);
    }

    /// Without the module `tcp_diag`, the kernel answers every question so.
    #[test]
    fn an_error_of_the_kernel_is_not_an_answer() {
        let (address, peer) = ("127.0.0.1:1".parse().unwrap(), "127.0.0.1:2".parse().unwrap());
        let mut message = Vec::new();
        message.extend(36_u32.to_ne_bytes());
        message.extend(2_u16.to_ne_bytes()); // NLMSG_ERROR
        message.extend([0; 10]);
        message.extend((-2_i32).to_ne_bytes());
        message.extend([0; 16]);
        assert_eq!(system::parse(&message, address, peer), Err(rustix::io::Errno::NOENT));
        assert!(system::parse(&[], address, peer).is_err());
    }
}
