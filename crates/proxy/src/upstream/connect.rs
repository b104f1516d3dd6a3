//! Opens connections to upstreams.

use std::io;
use std::time::Duration;

use belay_net::tls::TlsError;
use belay_net::{NegotiatedStream, ResolveError};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Upstream;
use super::error::UpstreamError;
use super::own_addresses::OwnAddresses;
use crate::socket::Socket;

/// A stream over the shared HTTP/2 connection, if there is one.
pub(super) fn remaining_share(upstream: &Upstream) -> Option<Socket> {
    upstream.bridge.pipe(&upstream.base.authority).map(Socket::Pipe)
}

/// Resolves, connects and, if the base URL requires it, starts TLS, all within `limit`.
pub(super) async fn connect(upstream: &Upstream) -> Result<Socket, UpstreamError> {
    let limit = upstream.connect;
    match timeout(limit, attempt(upstream)).await {
        Ok(result) => result,
        Err(_) => Err(UpstreamError::ConnectTimeout { host: upstream.base.authority.clone(), after: limit }),
    }
}

async fn attempt(upstream: &Upstream) -> Result<Socket, UpstreamError> {
    let (base, tls) = (&upstream.base, &upstream.tls);
    if !base.tls {
        return Ok(Socket::Plain(reach(upstream).await?));
    }
    let failed = |error: TlsError| UpstreamError::Tls { host: base.host.clone(), problem: error.to_string() };
    let mut negotiated = tls.handshake(&base.host, reach(upstream).await?).await.map_err(failed)?;
    if matches!(negotiated, NegotiatedStream::Http1Declined) {
        negotiated = tls.handshake(&base.host, reach(upstream).await?).await.map_err(failed)?;
    }
    match negotiated {
        NegotiatedStream::Http1(tls) => Ok(Socket::Tls(Box::new(tls.into()))),
        NegotiatedStream::Http2(tls) => match upstream.bridge.open(tls, &base.authority).await {
            Ok(pipe) => Ok(Socket::Pipe(pipe)),
            Err(error) => {
                Err(UpstreamError::InvalidResponse { host: base.authority.clone(), problem: error.to_string() })
            }
        },
        NegotiatedStream::Http1Declined => Err(UpstreamError::Closed { host: base.authority.clone() }),
    }
}

/// Opens a TCP connection, through the network's egress proxy if there is one.
async fn reach(upstream: &Upstream) -> Result<TcpStream, UpstreamError> {
    let (base, own) = (&upstream.base, &upstream.own);
    let Some(gateway) = upstream.egress.proxy_for(base) else {
        return dial(&base.host, base.port, &base.authority, own).await;
    };
    let mut tcp = dial(&gateway.host, gateway.port, &gateway.host, own).await?;
    gateway
        .connect_tunnel(&mut tcp, base)
        .await
        .map_err(|error| UpstreamError::Egress { proxy: format!("{gateway:?}"), problem: error.to_string() })?;
    Ok(tcp)
}

/// Connect timeout per address while there are others to try.
const PER_ADDRESS_TIMEOUT: Duration = Duration::from_secs(3);

async fn dial(name: &str, port: u16, authority: &str, own: &OwnAddresses) -> Result<TcpStream, UpstreamError> {
    let host = || authority.to_owned();
    let addresses = belay_net::resolve(name, port).await.map_err(|error| match error {
        ResolveError::Lookup(source) => UpstreamError::Name { host: host(), source },
        ResolveError::Refused(address) => UpstreamError::Forbidden { host: host(), address },
    })?;
    let mut last = None;
    for (index, address) in addresses.iter().enumerate() {
        if own.contains(*address) {
            return Err(UpstreamError::IsBelay { host: host() });
        }
        let attempt = TcpStream::connect(address);
        let is_last = index + 1 == addresses.len();
        let result = if is_last {
            attempt.await
        } else {
            timeout(PER_ADDRESS_TIMEOUT, attempt).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        };
        match result {
            Ok(tcp) => {
                // Disable Nagle's algorithm; a failure is harmless.
                let _ = tcp.set_nodelay(true);
                return Ok(tcp);
            }
            Err(error) => last = Some(error),
        }
    }
    Err(match last {
        Some(error) if error.kind() == io::ErrorKind::ConnectionRefused => UpstreamError::Refused { host: host() },
        Some(source) => UpstreamError::Unreachable { host: host(), source },
        None => UpstreamError::Name { host: host(), source: io::Error::other("the name has no address") },
    })
}
