//! Making a connection.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Upstream;
use super::guard;
use super::link::Link;
use super::own::Own;
use super::tls::Spoken;
use super::trouble::Trouble;

/// A way over a connection that others use at the same time, where the upstream speaks HTTP/2 and there is one.
pub(super) fn share(upstream: &Upstream) -> Option<Link> {
    upstream.bridge.pipe(&upstream.base.authority).map(Link::Pipe)
}

/// Resolves, connects and, where the base says so, encrypts; all of it within `limit`.
pub(super) async fn connect(upstream: &Upstream) -> Result<Link, Trouble> {
    let limit = upstream.connect;
    match timeout(limit, attempt(upstream)).await {
        Ok(result) => result,
        Err(_) => Err(Trouble::ConnectTimeout { host: upstream.base.authority.clone(), after: limit }),
    }
}

async fn attempt(upstream: &Upstream) -> Result<Link, Trouble> {
    let (base, tls) = (&upstream.base, &upstream.tls);
    if !base.tls {
        return Ok(Link::Plain(reach(upstream).await?));
    }
    let mut spoken = tls.handshake(&base.host, reach(upstream).await?).await?;
    if matches!(spoken, Spoken::Declined) {
        spoken = tls.handshake(&base.host, reach(upstream).await?).await?;
    }
    match spoken {
        Spoken::Http1(tls) => Ok(Link::Tls(Box::new(tls))),
        Spoken::Http2(tls) => match upstream.bridge.open(tls, &base.authority).await {
            Ok(pipe) => Ok(Link::Pipe(pipe)),
            Err(error) => Err(Trouble::Garbage { host: base.authority.clone(), problem: error.to_string() }),
        },
        Spoken::Declined => Err(Trouble::Closed { host: base.authority.clone() }),
    }
}

/// A bare connection, through the network's own proxy where there is one.
async fn reach(upstream: &Upstream) -> Result<TcpStream, Trouble> {
    let (base, own) = (&upstream.base, &upstream.own);
    let Some(gateway) = upstream.egress.towards(base) else {
        return dial(&base.host, base.port, &base.authority, own).await;
    };
    let mut tcp = dial(&gateway.host, gateway.port, &gateway.host, own).await?;
    gateway.pass(&mut tcp, base).await?;
    Ok(tcp)
}

/// How long one address may take while there is another to try.
const PER_ADDRESS: Duration = Duration::from_secs(3);

async fn dial(name: &str, port: u16, said: &str, own: &Own) -> Result<TcpStream, Trouble> {
    let host = || said.to_owned();
    let addresses: Vec<SocketAddr> =
        tokio::net::lookup_host((name, port)).await.map_err(|source| Trouble::Name { host: host(), source })?.collect();
    let mut last = None;
    for (index, address) in addresses.iter().enumerate() {
        if guard::forbidden(address.ip()) {
            return Err(Trouble::Forbidden { host: host(), address: address.ip() });
        }
        if own.is(*address) {
            return Err(Trouble::Circle { host: host() });
        }
        let attempt = TcpStream::connect(address);
        let is_last = index + 1 == addresses.len();
        let result = if is_last {
            attempt.await
        } else {
            timeout(PER_ADDRESS, attempt).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        };
        match result {
            Ok(tcp) => {
                // Small writes must not wait for each other; a socket that cannot do it still works.
                let _ = tcp.set_nodelay(true);
                return Ok(tcp);
            }
            Err(error) => last = Some(error),
        }
    }
    Err(match last {
        Some(error) if error.kind() == io::ErrorKind::ConnectionRefused => Trouble::Refused { host: host() },
        Some(source) => Trouble::Unreachable { host: host(), source },
        None => Trouble::Name { host: host(), source: io::Error::other("the name has no address") },
    })
}
