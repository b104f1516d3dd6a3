//! Upstreams that support only HTTP/2.
//!
//! The relay forwards HTTP/1.1 unchanged and offers it first: all model APIs support it, and it needs no translation. Only
//! an upstream that declines gets HTTP/2, over one TLS connection shared by all requests. Each request goes through an
//! in-memory pipe whose other end is a hyper HTTP/1.1 server that forwards to the HTTP/2 connection.

use std::sync::Mutex;

use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper::service::service_fn;
use hyper::{Request, Response, Uri, header};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::DuplexStream;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::sync::lock;

/// Capacity of a pipe in bytes.
const PIPE_BYTES: usize = 64 * 1024;

/// The shared connection to one upstream.
#[derive(Debug, Default)]
pub(super) struct Http2Bridge(Mutex<Option<SendRequest<Incoming>>>);

impl Http2Bridge {
    /// Opens a pipe over the existing connection; `None` if there is none.
    pub(super) fn pipe(&self, authority: &str) -> Option<DuplexStream> {
        let mut shared = lock(&self.0);
        let sender = shared.take().filter(|sender| !sender.is_closed())?;
        *shared = Some(sender.clone());
        Some(pipe(sender, authority.to_owned()))
    }

    /// Starts HTTP/2 on a new connection, for this and later requests.
    pub(super) async fn open(&self, tls: TlsStream<TcpStream>, authority: &str) -> hyper::Result<DuplexStream> {
        let builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
        let (sender, connection) = builder.handshake(TokioIo::new(tls)).await?;
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "an HTTP/2 connection ended");
            }
        });
        *lock(&self.0) = Some(sender.clone());
        Ok(pipe(sender, authority.to_owned()))
    }
}

fn pipe(sender: SendRequest<Incoming>, authority: String) -> DuplexStream {
    let (near, far) = tokio::io::duplex(PIPE_BYTES);
    let service = service_fn(move |request| ask(sender.clone(), authority.clone(), request));
    let connection = hyper::server::conn::http1::Builder::new()
        .auto_date_header(false)
        .max_headers(crate::head::MAX_HEADERS)
        .serve_connection(TokioIo::new(far), service);
    tokio::spawn(async move {
        // The near end sees the pipe close and reports the error.
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a pipe to an HTTP/2 upstream ended");
        }
    });
    near
}

async fn ask(
    mut sender: SendRequest<Incoming>,
    authority: String,
    mut request: Request<Incoming>,
) -> Result<Response<Incoming>, Box<dyn std::error::Error + Send + Sync>> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
    *request.uri_mut() = Uri::builder().scheme("https").authority(authority).path_and_query(path).build()?;
    // Connection-specific headers of HTTP/1.1; HTTP/2 expresses them in its framing.
    for name in [header::HOST, header::TRANSFER_ENCODING, header::CONNECTION, header::UPGRADE, header::EXPECT] {
        request.headers_mut().remove(name);
    }
    sender.ready().await?;
    Ok(sender.send_request(request).await?)
}
