//! TLS of clients on other machines.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::messages;
use crate::socket::Socket;

/// How long a client may take for the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// The first byte of a handshake.
const HANDSHAKE_RECORD: u8 = 22;

/// Performs the handshake. `None` if it fails or takes too long.
pub(crate) async fn accept(acceptor: &TlsAcceptor, io: TcpStream) -> Option<Socket> {
    let tls = tokio::time::timeout(HANDSHAKE_TIMEOUT, handshake(acceptor, io)).await.ok()??;
    Some(Socket::Tls(Box::new(tls.into())))
}

async fn handshake(acceptor: &TlsAcceptor, mut io: TcpStream) -> Option<TlsStream<TcpStream>> {
    let mut first = [0];
    io.peek(&mut first).await.ok()?;
    if first[0] != HANDSHAKE_RECORD {
        // A person who forgot the `s` of `https` should learn that. The response needs nothing of the request.
        let _ = io.write_all(&messages::tls_required().to_bytes(true, false)).await;
        let _ = io.shutdown().await;
        return None;
    }
    match acceptor.accept(io).await {
        Ok(tls) => Some(tls),
        Err(error) => {
            // Common with a self-signed certificate that the client does not accept.
            tracing::debug!(%error, "a TLS handshake failed");
            None
        }
    }
}
