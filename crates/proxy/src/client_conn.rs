//! The client's side of a connection, with a read-ahead buffer.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::buffer_pool::{Buffer, BufferPool, HEAD_BUFFER_BYTES};
use crate::socket::Socket;

/// One connection of an agent.
#[derive(Debug)]
pub(crate) struct ClientConn {
    io: Socket,
    /// Bytes that were read but not consumed: a head, or the start of the next request. An idle connection has none.
    inbox: Option<Buffer>,
    /// The expected size of the next request, by the size of the last one.
    expected: usize,
    buffers: BufferPool,
}

/// Extra buffer size for the head of an expected request.
const HEAD_RESERVE_BYTES: usize = 4 * 1024;
/// Larger requests are not preallocated.
const MAX_PREALLOCATED_BYTES: usize = 4 * 1024 * 1024;

/// The client closed or reset the connection.
#[derive(Debug)]
pub(crate) struct ClientDisconnected;

impl From<io::Error> for ClientDisconnected {
    fn from(_: io::Error) -> Self {
        Self
    }
}

impl ClientConn {
    pub(crate) fn new(io: Socket, buffers: BufferPool) -> Self {
        Self { io, inbox: None, expected: HEAD_BUFFER_BYTES, buffers }
    }

    pub(crate) fn buffers(&self) -> &BufferPool {
        &self.buffers
    }

    /// Bytes that were read but not consumed.
    pub(crate) fn buffered(&self) -> &[u8] {
        self.inbox.as_ref().map_or(&[], Buffer::data)
    }

    pub(crate) fn consume(&mut self, n: usize) {
        if let Some(inbox) = &mut self.inbox {
            inbox.consume(n);
            if inbox.is_empty() {
                self.inbox = None;
            }
        }
    }

    /// The buffer with the start of a body of `length` bytes, if it has capacity for the rest and holds nothing of the
    /// next request. An agent's requests are similar in size, so the buffer usually fits and no byte is copied twice.
    pub(crate) fn take_buffered_body(&mut self, length: u64) -> Option<Buffer> {
        let length = usize::try_from(length).ok()?;
        self.expected = length.saturating_add(HEAD_RESERVE_BYTES).clamp(HEAD_BUFFER_BYTES, MAX_PREALLOCATED_BYTES);
        self.inbox.take_if(|inbox| inbox.len() <= length && inbox.has_capacity_for(length))
    }

    /// Puts back bytes that belong to the next request.
    pub(crate) fn unread(&mut self, bytes: &[u8]) -> Result<(), ClientDisconnected> {
        let inbox = self.inbox.get_or_insert_with(|| self.buffers.alloc_unbudgeted(HEAD_BUFFER_BYTES));
        while inbox.spare_capacity_mut().len() < bytes.len() {
            *inbox = inbox.grow().ok_or(ClientDisconnected)?;
        }
        inbox.extend_from_slice(bytes);
        Ok(())
    }

    /// Reads into the buffer. An idle connection waits without a buffer.
    pub(crate) fn poll_fill_buffer(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ClientDisconnected>> {
        if self.inbox.is_none() {
            ready!(self.io.poll_read_ready(cx))?;
        }
        let inbox = self.inbox.get_or_insert_with(|| match self.expected {
            HEAD_BUFFER_BYTES => self.buffers.alloc_unbudgeted(HEAD_BUFFER_BYTES),
            more => {
                self.buffers.try_alloc_body(more).unwrap_or_else(|| self.buffers.alloc_unbudgeted(HEAD_BUFFER_BYTES))
            }
        });
        if inbox.spare_capacity_mut().is_empty() {
            inbox.compact();
        }
        if inbox.spare_capacity_mut().is_empty() {
            *inbox = inbox.grow().ok_or(ClientDisconnected)?;
        }
        let n = ready!(self.io.poll_read_slice(cx, inbox.spare_capacity_mut()))?;
        inbox.advance(n);
        Poll::Ready(if n > 0 { Ok(()) } else { Err(ClientDisconnected) })
    }

    /// Reads buffered bytes first, then from the socket. 0 means the client closed.
    pub(crate) fn poll_read(&mut self, cx: &mut Context<'_>, out: &mut [u8]) -> Poll<io::Result<usize>> {
        let ahead = self.buffered();
        if !ahead.is_empty() {
            let n = ahead.len().min(out.len());
            out[..n].copy_from_slice(&ahead[..n]);
            self.consume(n);
            return Poll::Ready(Ok(n));
        }
        self.io.poll_read_slice(cx, out)
    }

    /// Writes some of both parts, in order.
    pub(crate) fn poll_write_parts(
        &mut self,
        cx: &mut Context<'_>,
        first: &[u8],
        second: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.io.poll_write_parts(cx, first, second)
    }

    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    /// Ready when the client has disconnected. Buffers what it sends meanwhile, up to the buffer's capacity.
    pub(crate) fn poll_disconnected(&mut self, cx: &mut Context<'_>) -> Poll<ClientDisconnected> {
        loop {
            if ready!(self.io.poll_read_ready(cx)).is_err() {
                return Poll::Ready(ClientDisconnected);
            }
            let inbox = self.inbox.get_or_insert_with(|| self.buffers.alloc_unbudgeted(HEAD_BUFFER_BYTES));
            if inbox.spare_capacity_mut().is_empty() {
                // The rest is read after the response.
                return Poll::Pending;
            }
            let read = self.io.poll_read_slice(cx, inbox.spare_capacity_mut());
            if let Poll::Ready(Ok(n)) = read {
                inbox.advance(n);
            }
            if inbox.is_empty() {
                self.inbox = None;
            }
            match ready!(read) {
                Ok(1..) => {}
                _ => return Poll::Ready(ClientDisconnected),
            }
        }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> Result<(), ClientDisconnected> {
        self.io.write_all(bytes).await?;
        Ok(self.io.flush().await?)
    }

    /// Closes the connection gracefully.
    pub(crate) async fn close(self) {
        self.io.close().await;
    }

    /// The socket and the buffered bytes.
    pub(crate) fn into_parts(self) -> (Socket, Vec<u8>) {
        let ahead = self.buffered().to_vec();
        (self.io, ahead)
    }
}
