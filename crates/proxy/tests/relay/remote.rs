//! Clients on other machines, behind TLS.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use belay_net::PeerUser;
use belay_proxy::Auth;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::support::{Bench, Peer, bench_with, ok, post};

/// A relay that also listens with TLS, with a configured key for `openai`.
struct Remote {
    bench: Bench,
    address: SocketAddr,
    connector: TlsConnector,
}

impl Remote {
    async fn new() -> Self {
        let bench = bench_with(|config| {
            config.identify_peer = |_| PeerUser::Same;
            config.upstreams[0].auth = Auth::bearer("sk-ours");
        })
        .await;
        bench.relay.begin_run("codex:0199-key", &[]).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
        let certificate = CertificateDer::from(certificate.der().to_vec());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let client = ClientConfig::builder_with_provider(Arc::clone(&provider));
        let client = client.with_safe_default_protocol_versions().unwrap();
        let client = client.with_root_certificates(roots).with_no_client_auth();
        let server = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let server = server.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(Arc::clone(&bench.relay).accept_tls_loop(listener, Arc::new(server)));
        Self { bench, address, connector: TlsConnector::from(Arc::new(client)) }
    }

    async fn client(&self) -> Peer<TlsStream<TcpStream>> {
        let io = TcpStream::connect(self.address).await.unwrap();
        Peer(self.connector.connect(ServerName::try_from("localhost").unwrap(), io).await.unwrap())
    }
}

#[tokio::test]
async fn each_part_of_a_response_arrives_at_once() {
    let remote = Remote::new().await;
    let mut client = remote.client().await;
    for body in ["one", "two"] {
        client.send(post("/t/the-token/openai/v1/files", body)).await;
    }
    let mut upstream = remote.bench.accept().await;
    let head = upstream.read_head().await;
    assert!(head.starts_with("POST /openai/v1/files HTTP/1.1") && head.contains("sk-ours"), "{head}");
    upstream.read_to("one").await;
    upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n").await;
    client.read_to("abc\r\n").await;
    upstream.send("0\r\n\r\n").await;
    client.read_to("0\r\n\r\n").await;
    upstream.read_to("two").await;
    let large = "x".repeat(1 << 20);
    upstream.send(ok(&large)).await;
    client.read_head().await;
    assert_eq!(client.read_exactly(large.len()).await, large.as_bytes());
    // The upstream learns that the client is gone.
    client.send(post("/t/the-token/openai/v1/files", "three")).await;
    upstream.read_to("three").await;
    drop(client);
    upstream.closed().await;
}

#[tokio::test]
async fn only_a_token_is_a_credential() {
    let remote = Remote::new().await;
    for (path, header) in [
        ("/openai/v1/files", ""),
        ("/t/guessed/openai/v1/files", ""),
        ("/openai/v1/files", "X-Belay-Token: guessed\r\n"),
        ("/anthropic/v1/messages", "X-Api-Key: sk-ant-own\r\n"),
        // Runs are on this machine.
        ("/s/codex:0199-key/openai/v1/files", ""),
        ("/openai/v1/files", "X-Belay-Session: codex:0199-key\r\n"),
    ] {
        let mut client = remote.client().await;
        client.send(post(path, "{}").replacen("\r\n", &format!("\r\n{header}"), 1)).await;
        let (status, error) = client.complaint().await;
        assert_eq!(
            (status.as_str(), &error["code"]),
            ("HTTP/1.1 401 Unauthorized", &"token_required".into()),
            "{path} {header}"
        );
        client.closed().await;
    }
    // A page of another site does not get the configured key, even if it knew the token.
    let mut client = remote.client().await;
    let origin = "Origin: https://evil.example\r\n";
    client.send(post("/t/the-token/openai/v1/files", "{}").replacen("\r\n", &format!("\r\n{origin}"), 1)).await;
    let (_, error) = client.complaint().await;
    assert_eq!(error["code"], "browser_origin");
}

#[tokio::test]
async fn a_token_in_the_path_does_not_open_the_api() {
    let remote = Remote::new().await;
    for path in ["/t/the-token/", "/t/the-token", "/t/the-token/api/v1/events", "/t/the-token/healthz"] {
        let mut client = remote.client().await;
        client.send(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")).await;
        let (status, error) = client.complaint().await;
        assert_eq!((status.as_str(), &error["code"]), ("HTTP/1.1 404 Not Found", &"no_upstream".into()), "{path}");
        assert!(!error["message"].as_str().unwrap().contains("the-token"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_handshake_ends_after_a_while() {
    let remote = Remote::new().await;
    for first in [&b""[..], &[22, 3, 1]] {
        let mut silent = Peer(TcpStream::connect(remote.address).await.unwrap());
        silent.send(first).await;
        let since = Instant::now();
        assert_eq!(silent.read_all().await, "");
        assert!(since.elapsed() < Duration::from_secs(15), "{:?}", since.elapsed());
    }
}
