//! TLS of clients on other machines.
//!
//! A task of its own decrypts and encrypts each connection, so that the relay sees a plain stream. That copies every byte
//! once more, which only connections over a network pay for.

use std::future::pending;
use std::time::Duration;

use tokio::io::{AsyncWriteExt, DuplexStream, copy, duplex, split};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::client_io::ClientIo;
use crate::messages;

/// How long a client may take for the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a client may take to accept the end of the connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// Decrypted bytes that wait on either side.
const BUFFER_BYTES: usize = 16 * 1024;
/// The first byte of a handshake.
const HANDSHAKE_RECORD: u8 = 22;

/// Performs the handshake. `None` if it fails or takes too long.
pub(crate) async fn accept(acceptor: &TlsAcceptor, io: TcpStream) -> Option<ClientIo> {
    let tls = tokio::time::timeout(HANDSHAKE_TIMEOUT, handshake(acceptor, io)).await.ok()??;
    let (decrypted, relay_side) = duplex(BUFFER_BYTES);
    tokio::spawn(pump(tls, decrypted));
    Some(ClientIo::Tls(relay_side))
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

/// Copies both ways until the relay is done with the connection.
async fn pump(tls: TlsStream<TcpStream>, decrypted: DuplexStream) {
    let (mut from_client, mut to_client) = split(tls);
    let (mut from_relay, mut to_relay) = split(decrypted);
    let receive = async {
        let _ = copy(&mut from_client, &mut to_relay).await;
        // The relay learns that the client has nothing more to send, and may still answer.
        let _ = to_relay.shutdown().await;
        pending::<()>().await;
    };
    let send = async {
        let _ = copy(&mut from_relay, &mut to_client).await;
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, to_client.shutdown()).await;
    };
    tokio::select! {
        () = receive => {}
        () = send => {}
    }
}
