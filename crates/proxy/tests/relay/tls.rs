//! TLS upstreams with a private certificate authority.

use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use belay_proxy::UpstreamConfig;
use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::support::{Bench, Peer, TEST_TIMEOUT, bench_with, ok, post};

/// An upstream whose certificate is signed by a private authority.
struct Secure {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    dir: tempfile::TempDir,
}

impl Secure {
    async fn new(protocols: &[&str], name: &str, adjust: impl FnOnce(&mut CertificateParams)) -> Self {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let mut own = CertificateParams::new(vec![name.to_owned()]).unwrap();
        adjust(&mut own);
        let certificate = own.signed_by(&key, &issuer).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![CertificateDer::from(certificate.der().to_vec())],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("ca.pem"), issuer.pem()).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        Self { listener, acceptor: TlsAcceptor::from(Arc::new(config)), dir }
    }

    fn config(&self, trusted: bool) -> UpstreamConfig {
        let url = format!("https://localhost:{}", self.listener.local_addr().unwrap().port());
        let ca_file = trusted.then(|| self.dir.path().join("ca.pem"));
        UpstreamConfig { ca_file, ..UpstreamConfig::new("secure", url) }
    }

    async fn bench(&self, trusted: bool) -> Bench {
        bench_with(|config| config.upstreams.push(self.config(trusted))).await
    }

    async fn accept(&self) -> Peer<TlsStream<TcpStream>> {
        let (io, _) = self.listener.accept().await.unwrap();
        Peer(self.acceptor.accept(io).await.unwrap())
    }

    /// Lets handshakes fail, one after the other.
    async fn decline(self) {
        while let Ok((io, _)) = self.listener.accept().await {
            let _ = self.acceptor.accept(io).await;
        }
    }
}

#[tokio::test]
async fn an_upstream_behind_tls_is_relayed_byte_for_byte_and_asked_again_on_the_same_connection() {
    let secure = Secure::new(&["h2", "http/1.1"], "localhost", |_| {}).await;
    let bench = secure.bench(true).await;
    let mut client = bench.client().await;
    client.send(post("/secure/v1/responses", "one")).await;
    let mut upstream = secure.accept().await;
    let port = secure.listener.local_addr().unwrap().port();
    let head = format!("POST /v1/responses HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Length: 3\r\n\r\n");
    assert_eq!(upstream.read_head().await, head, "HTTP/1.1, though HTTP/2 was to be had");
    upstream.read_to("one").await;
    upstream.send(ok("first")).await;
    assert_eq!(client.read_to("first").await, ok("first"));
    client.send(post("/secure/v1/responses", "two")).await;
    upstream.read_to("two").await;
    upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n").await;
    // Each part arrives before the next one is sent.
    client.read_to("abc\r\n").await;
    drop(client);
    upstream.closed().await;
}

#[tokio::test]
async fn certificates_that_do_not_fit_are_explained() {
    let long_ago = |params: &mut CertificateParams| {
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2020, 2, 1);
    };
    for (secure, trusted, explained) in [
        (Secure::new(&[], "localhost", |_| {}).await, false, "`ca_file`"),
        (Secure::new(&[], "elsewhere.example", |_| {}).await, true, "for another name"),
        (Secure::new(&[], "localhost", long_ago).await, true, "expired"),
    ] {
        let bench = secure.bench(trusted).await;
        let _upstream = tokio::spawn(secure.decline());
        let mut client = bench.client().await;
        client.send(post("/secure/v1/responses", "secret")).await;
        let (status, error) = client.complaint().await;
        assert_eq!((status.as_str(), &error["code"]), ("HTTP/1.1 502 Bad Gateway", &"upstream_tls".into()));
        assert!(error["message"].as_str().unwrap().contains(explained), "{error}");
    }
}

#[tokio::test]
async fn a_port_without_tls_and_a_file_without_certificates_are_explained() {
    let plain = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("https://localhost:{}", plain.local_addr().unwrap().port());
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing.pem");
    let bench = bench_with(|config| {
        config.upstreams.push(UpstreamConfig::new("plain", &url));
        config.upstreams.push(UpstreamConfig { ca_file: Some(missing), ..UpstreamConfig::new("lost", &url) });
    })
    .await;
    tokio::spawn(async move {
        while let Ok((io, _)) = plain.accept().await {
            Peer(io).send("HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let mut client = bench.client().await;
    for (path, explained) in [("/plain/v1/x", "does not speak TLS"), ("/lost/v1/x", "missing.pem cannot be used")] {
        client.send(post(path, "x")).await;
        let (_, error) = client.complaint().await;
        assert!(error["message"].as_str().unwrap().contains(explained), "{error}");
    }
}

/// A response that the test sends piece by piece. If it is cancelled, the channel closes.
struct Answer(mpsc::Receiver<&'static str>);

impl Body for Answer {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(cx).map(|piece| piece.map(|piece| Ok(Frame::data(Bytes::from_static(piece.as_bytes())))))
    }
}

/// A received request and the sender of its response.
struct Came {
    connection: usize,
    head: String,
    body: Bytes,
    answer: mpsc::Sender<&'static str>,
    /// Closes the shared connection.
    hang_up: Arc<Notify>,
}

/// An upstream that speaks HTTP/2 only.
fn serve_http2(secure: Secure) -> mpsc::UnboundedReceiver<Came> {
    let (sender, requests) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let Secure { listener, acceptor, dir: _kept } = secure;
        let mut connection = 0;
        while let Ok((io, _)) = listener.accept().await {
            let Ok(io) = acceptor.accept(io).await else { continue };
            connection += 1;
            let (sender, hang_up) = (sender.clone(), Arc::new(Notify::new()));
            let hung_up = Arc::clone(&hang_up);
            let service = service_fn(move |request: Request<Incoming>| {
                let (sender, hang_up) = (sender.clone(), Arc::clone(&hang_up));
                async move {
                    let head = format!("{} {} {:?}", request.method(), request.uri(), request.headers());
                    let body = request.into_body().collect().await?.to_bytes();
                    let (answer, pieces) = mpsc::channel(1);
                    sender.send(Came { connection, head, body, answer, hang_up }).unwrap();
                    let answer_head =
                        Response::builder().header("content-type", "text/event-stream").header("x-odd", "1");
                    Ok::<_, hyper::Error>(answer_head.body(Answer(pieces)).unwrap())
                }
            });
            let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            let serving = builder.serve_connection(TokioIo::new(io), service);
            tokio::spawn(async move {
                tokio::select! {
                    _ = serving => {}
                    () = hung_up.notified() => {}
                }
            });
        }
    });
    requests
}

async fn next(requests: &mut mpsc::UnboundedReceiver<Came>) -> Came {
    tokio::time::timeout(TEST_TIMEOUT, requests.recv()).await.expect("a request").unwrap()
}

#[tokio::test]
async fn an_upstream_that_wants_nothing_but_http2_gets_it() {
    let secure = Secure::new(&["h2"], "localhost", |_| {}).await;
    let bench = secure.bench(true).await;
    let port = secure.listener.local_addr().unwrap().port();
    let mut requests = serve_http2(secure);
    let mut client = bench.client().await;
    let question = "x".repeat(300_000);
    client.send(post("/secure/v1/responses?x=1", &question).replace("\r\nContent", "\r\nX-Own: 7\r\nContent")).await;
    let first = next(&mut requests).await;
    assert!(first.head.starts_with(&format!("POST https://localhost:{port}/v1/responses?x=1 ")), "{}", first.head);
    assert!(first.head.contains("\"x-own\": \"7\"") && !first.head.contains("host\":"), "{}", first.head);
    assert_eq!(first.body, question);
    first.answer.send("data: 1\n\n").await.unwrap();
    // It arrives while the response is still streaming.
    let head = client.read_to("data: 1\n\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("\r\nx-odd: 1\r\n"), "{head}");
    // A second one shares the connection with the first.
    let mut other = bench.client().await;
    other.send(post("/secure/v1/responses", "two")).await;
    let second = next(&mut requests).await;
    assert_eq!((first.connection, second.connection), (1, 1));
    drop(first.answer);
    assert_eq!(client.read_to("0\r\n\r\n").await, "0\r\n\r\n");
    // A disconnect is propagated to the upstream.
    drop(other);
    tokio::time::timeout(TEST_TIMEOUT, second.answer.closed()).await.expect("the request to end");
    client.send(post("/secure/v1/responses", "three")).await;
    assert_eq!(next(&mut requests).await.body, "three");
}

#[tokio::test]
async fn a_connection_that_ends_before_a_request_on_it_was_answered_costs_nobody_a_failure() {
    let secure = Secure::new(&["h2"], "localhost", |_| {}).await;
    let bench = secure.bench(true).await;
    let mut requests = serve_http2(secure);
    let mut one = bench.client().await;
    one.send(post("/secure/v1/responses", "one")).await;
    let first = next(&mut requests).await;
    first.answer.send("data: 1\n\n").await.unwrap();
    one.read_to("data: 1\n\n\r\n").await;
    // The upstream closes while another request is in flight.
    let (mut other, hang_up) = (bench.client().await, first.hang_up);
    let request = post("/secure/v1/responses", &"two".repeat(100_000));
    let (begun, rest) = request.split_at(200_000);
    other.send(begun).await;
    hang_up.notify_one();
    one.closed().await;
    other.send(rest).await;
    let again = next(&mut requests).await;
    assert_eq!((again.connection, again.body.len()), (2, 300_000));
    again.answer.send("data: 2\n\n").await.unwrap();
    assert!(other.read_to("data: 2\n\n\r\n").await.starts_with("HTTP/1.1 200 OK"));
}
