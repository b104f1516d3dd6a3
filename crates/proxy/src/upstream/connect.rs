//! Making a connection.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::base::Base;
use super::egress::Egress;
use super::guard;
use super::link::Link;
use super::tls::Tls;
use super::trouble::Trouble;

/// Resolves, connects and, where the base says so, encrypts; all of it within `limit`.
pub(super) async fn connect(base: &Base, egress: &Egress, tls: &Tls, limit: Duration) -> Result<Link, Trouble> {
    let attempt = async {
        let tcp = match egress.towards(base) {
            None => dial(&base.host, base.port, &base.authority).await?,
            Some(gateway) => {
                let mut tcp = dial(&gateway.host, gateway.port, &gateway.host).await?;
                gateway.pass(&mut tcp, base).await?;
                tcp
            }
        };
        if !base.tls {
            return Ok(Link::Plain(tcp));
        }
        Ok(Link::Tls(Box::new(tls.handshake(&base.host, tcp).await?)))
    };
    match timeout(limit, attempt).await {
        Ok(result) => result,
        Err(_) => Err(Trouble::ConnectTimeout { host: base.authority.clone(), after: limit }),
    }
}

/// How long one address may take while there is another to try.
const PER_ADDRESS: Duration = Duration::from_secs(3);

async fn dial(name: &str, port: u16, said: &str) -> Result<TcpStream, Trouble> {
    let host = || said.to_owned();
    let addresses: Vec<SocketAddr> =
        tokio::net::lookup_host((name, port)).await.map_err(|source| Trouble::Name { host: host(), source })?.collect();
    let mut last = None;
    for (index, address) in addresses.iter().enumerate() {
        if guard::forbidden(address.ip()) {
            return Err(Trouble::Forbidden { host: host(), address: address.ip() });
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
