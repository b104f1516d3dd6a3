//! Requests to Belay's own paths: the API, the health checks, the dashboard.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use belay_net::PeerUser;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::socket::Socket;
use crate::supervisor::BoxFuture;

/// The service behind Belay's own paths.
pub trait LocalService: Send + Sync + 'static {
    /// Serves one request. The connection starts before the request head. Returns it if the client may still send: a
    /// close would then reset it, and the client could lose the response.
    fn serve(&self, io: PrefixedIo, peer: PeerUser) -> BoxFuture<Option<PrefixedIo>>;

    /// Whether this token permits requests to models.
    fn accepts_token(&self, _offered: &str) -> bool {
        false
    }
}

/// A connection that replays bytes that were already read.
#[derive(Debug)]
pub struct PrefixedIo {
    first: Vec<u8>,
    at: usize,
    io: Socket,
}

impl PrefixedIo {
    pub(crate) fn new(first: Vec<u8>, io: Socket) -> Self {
        Self { first, at: 0, io }
    }

    pub(crate) async fn close(self) {
        self.io.close().await;
    }
}

impl AsyncRead for PrefixedIo {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let first = &this.first[this.at..];
        if first.is_empty() {
            return Pin::new(&mut this.io).poll_read(cx, buf);
        }
        let n = first.len().min(buf.remaining());
        buf.put_slice(&first[..n]);
        this.at += n;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for PrefixedIo {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(cx)
    }
}
