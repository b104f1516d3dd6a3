//! Captures each request head byte for byte: HTTP libraries fold the case of header names, but a test that compares the
//! sent with the received request needs the original bytes.
//!
//! Assumes that clients do not pipeline, as is the case in practice.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use memchr::memmem;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The head being captured, shared by the connection and the request handler.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head(Arc<Mutex<CapturedHead>>);

#[derive(Debug, Default)]
struct CapturedHead {
    bytes: Vec<u8>,
    complete: bool,
}

impl Head {
    fn hear(&self, bytes: &[u8]) {
        let mut head = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if head.complete {
            return;
        }
        let from = head.bytes.len().saturating_sub(3);
        head.bytes.extend_from_slice(bytes);
        if let Some(end) = memmem::find(&head.bytes[from..], b"\r\n\r\n") {
            head.bytes.truncate(from + end + 4);
            head.complete = true;
        }
    }

    /// Takes the captured head and starts with the next one. Call it after the body has been read.
    pub(crate) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).bytes
    }
}

#[derive(Debug)]
pub(crate) struct TappedIo<Io> {
    pub(crate) io: Io,
    pub(crate) head: Head,
}

impl<Io: AsyncRead + Unpin> AsyncRead for TappedIo<Io> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.io).poll_read(cx, buf);
        if let Some(new) = buf.filled().get(before..).filter(|new| !new.is_empty()) {
            self.head.hear(new);
        }
        polled
    }
}

impl<Io: AsyncWrite + Unpin> AsyncWrite for TappedIo<Io> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

/// The headers of a head in order, with names in their original case.
pub(crate) fn headers(head: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(head);
    let lines = text.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
    lines.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect()
}
