//! Upstreams that speak nothing but HTTP/2.
//!
//! The relay moves HTTP/1.1 as it is, and asks upstreams for that first: all the model APIs offer it,
//! and bytes that are not translated cannot be translated wrongly. Only an upstream that declines gets
//! HTTP/2: on one encrypted connection that all requests share, behind a short pipe at whose far end
//! hyper takes HTTP/1.1 in and speaks HTTP/2 out. So there is one relay, whatever the upstream speaks.

use std::sync::{Mutex, PoisonError};

use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper::service::service_fn;
use hyper::{Request, Response, Uri, header};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::DuplexStream;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// Bytes that may be under way in a pipe.
const PIPE_BYTES: usize = 64 * 1024;

/// The shared connection to one upstream.
#[derive(Debug, Default)]
pub(super) struct Http2Bridge(Mutex<Option<SendRequest<Incoming>>>);

impl Http2Bridge {
    /// A pipe to the upstream, over the connection there is; `None` when there is none.
    pub(super) fn pipe(&self, authority: &str) -> Option<DuplexStream> {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = shared.take().filter(|sender| !sender.is_closed())?;
        *shared = Some(sender.clone());
        Some(pipe(sender, authority.to_owned()))
    }

    /// Speaks HTTP/2 on a new connection, for this and further requests.
    pub(super) async fn open(&self, tls: TlsStream<TcpStream>, authority: &str) -> hyper::Result<DuplexStream> {
        let builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
        let (sender, connection) = builder.handshake(TokioIo::new(tls)).await?;
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "an HTTP/2 connection ended");
            }
        });
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender.clone());
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
        // Whoever is at the near end sees the pipe close, and says why as well as anybody could.
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
    // They belong to HTTP/1.1; HTTP/2 says the same in its frames.
    for name in [header::HOST, header::TRANSFER_ENCODING, header::CONNECTION, header::UPGRADE, header::EXPECT] {
        request.headers_mut().remove(name);
    }
    sender.ready().await?;
    Ok(sender.send_request(request).await?)
}
