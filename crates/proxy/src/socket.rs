//! A connection to a client or to an upstream: plain, encrypted, or inside this process.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsStream;

/// How long a peer may take to read the end of what was sent to it, and to close its side.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) enum Socket {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    /// HTTP/2 to an upstream; see [`http2_bridge`](crate::upstream).
    Pipe(DuplexStream),
}

trait ReadWrite: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> ReadWrite for T {}

impl Socket {
    fn io(&mut self) -> Pin<&mut dyn ReadWrite> {
        Pin::new(match self {
            Self::Plain(tcp) => tcp,
            Self::Tls(tls) => tls,
            Self::Pipe(pipe) => pipe,
        })
    }

    /// Ready when a read may succeed. Only a plain connection tells before it is read.
    pub(crate) fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(tcp) => tcp.poll_read_ready(cx),
            Self::Tls(_) | Self::Pipe(_) => Poll::Ready(Ok(())),
        }
    }

    /// Reads into `buffer`; 0 means the peer closed the connection.
    pub(crate) fn poll_read_slice(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut read = ReadBuf::new(buffer);
        self.io().poll_read(cx, &mut read).map_ok(|()| read.filled().len())
    }

    /// Writes some of both parts, in order. What is encrypted may remain buffered until a flush.
    pub(crate) fn poll_write_parts(
        &mut self,
        cx: &mut Context<'_>,
        first: &[u8],
        second: &[u8],
    ) -> Poll<io::Result<usize>> {
        match (first.is_empty(), second.is_empty()) {
            (false, false) => self.io().poll_write_vectored(cx, &[IoSlice::new(first), IoSlice::new(second)]),
            (true, _) => self.io().poll_write(cx, second),
            (_, true) => self.io().poll_write(cx, first),
        }
    }

    /// Closes the connection gracefully. A close while the peer still sends would reset the connection, and the peer could
    /// lose the end of what was sent to it.
    pub(crate) async fn close(mut self) {
        let mut sink = [0; 4096];
        let close = async {
            self.shutdown().await?;
            while self.read(&mut sink).await? > 0 {}
            io::Result::Ok(())
        };
        // The peer may be gone.
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, close).await;
    }

    /// Whether the peer closed the idle connection or sent unsolicited data.
    pub(crate) fn is_stale(&mut self) -> bool {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        self.poll_read_slice(&mut cx, &mut [0]).is_ready()
    }
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.io().poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.io().poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.io().poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io().poll_shutdown(cx)
    }
}
