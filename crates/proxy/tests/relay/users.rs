//! Other users of the machine can connect, but not use anything.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use belay_core::{Body, Event};
use belay_net::PeerUser;
use belay_proxy::{Auth, Config};

use crate::support::{Bench, bench_with, ok, post};

/// A relay whose peers all belong to `user`, with a configured key for `openai` only.
async fn bench_of(user: fn(&tokio::net::TcpStream) -> PeerUser) -> Bench {
    let adjust = |config: &mut Config| {
        config.identify_peer = user;
        config.upstreams[0].auth = Auth::bearer("sk-ours");
    };
    let bench = bench_with(adjust).await;
    bench.relay.begin_run("codex:0199-key", &[]).unwrap();
    bench
}

/// The code of the refusal, or `relayed`.
async fn outcome(bench: &Bench, path: &str, header: &str) -> String {
    let mut client = bench.client().await;
    client.send(post(path, "{}").replacen("\r\n", &format!("\r\n{header}"), 1)).await;
    tokio::select! {
        (status, error) = client.complaint() => {
            assert_eq!(status, "HTTP/1.1 403 Forbidden", "{error}");
            error["code"].as_str().unwrap().to_owned()
        }
        mut upstream = bench.accept() => {
            let head = upstream.read_head().await;
            assert!(!head.contains("the-token"), "the token is for Belay: {head}");
            upstream.read_to("{}").await;
            upstream.send(ok("{}")).await;
            "relayed".to_owned()
        }
    }
}

const TOKEN: &str = "X-Belay-Token: the-token\r\n";

#[tokio::test]
async fn another_user_needs_the_token_or_the_key_of_a_run() {
    let bench = bench_of(|_| PeerUser::Other(1001)).await;
    for (path, header, expected) in [
        ("/openai/v1/responses", "", "other_user"),
        ("/anthropic/v1/messages", "X-Api-Key: sk-ant-theirs\r\n", "other_user"),
        ("/openai/v1/responses", "X-Belay-Token: guessed\r\n", "other_user"),
        ("/s/codex:guessed/openai/v1/responses", "", "other_user"),
        ("/openai/v1/responses", "X-Belay-Session: codex:guessed\r\n", "other_user"),
        ("/openai/v1/responses", TOKEN, "relayed"),
        ("/s/codex:0199-key/openai/v1/responses", "", "relayed"),
        ("/openai/v1/responses", "X-Belay-Session: codex:0199-key\r\n", "relayed"),
    ] {
        assert_eq!(outcome(&bench, path, header).await, expected, "{path} {header}");
    }
    bench.relay.end_run("codex:0199-key");
    assert_eq!(outcome(&bench, "/s/codex:0199-key/openai/v1/responses", "").await, "other_user", "the run is over");
    bench.relay.begin_run("codex:0199-key", &[]).unwrap();
    assert_eq!(outcome(&bench, "/s/codex:0199-key/openai/v1/responses", "").await, "relayed");
}

#[tokio::test]
async fn an_unknown_user_relays_with_a_key_of_its_own_only() {
    let bench = bench_of(|_| PeerUser::Unknown).await;
    assert_eq!(outcome(&bench, "/anthropic/v1/messages", "").await, "relayed");
    assert_eq!(outcome(&bench, "/openai/v1/responses", "").await, "unknown_user");
    assert_eq!(outcome(&bench, "/openai/v1/responses", TOKEN).await, "relayed");
}

/// The events that a request with labels of its own leads to.
async fn recorded(user: fn(&tokio::net::TcpStream) -> PeerUser) -> Vec<Event> {
    let bench = bench_of(user).await;
    let mut client = bench.client().await;
    let body = r#"{"model":"m","messages":[{"role":"user","content":"Hi"}],"metadata":{"branch":"b"}}"#;
    let labels = "X-Loop-Session: s\r\nX-Loop-Workspace: /w\r\nX-Loop-Repo: /w\r\nX-Loop-Task: t\r\n";
    client.send(post("/anthropic/v1/messages", body).replacen("\r\n", &format!("\r\n{labels}"), 1)).await;
    let mut upstream = bench.accept().await;
    upstream.read_to(body).await;
    upstream.send(ok("{}")).await;
    bench.judge.wait_for_events(|events| events.iter().any(|event| matches!(event.body, Body::ModelAsked(_)))).await
}

#[tokio::test]
async fn what_an_unknown_user_says_is_recorded_as_unverified_and_without_labels() {
    for (user, verified) in
        [((|_| PeerUser::Unknown) as fn(&tokio::net::TcpStream) -> PeerUser, false), (|_| PeerUser::Same, true)]
    {
        let (mut is_labelled, mut is_unverified) = (false, false);
        for event in recorded(user).await {
            is_labelled |= event.cwd.is_some();
            match event.body {
                Body::SessionStarted(start) => is_labelled |= start.project.or(start.task).or(start.branch).is_some(),
                Body::ModelAsked(asked) => is_unverified |= asked.unverified,
                _ => {}
            }
        }
        assert_eq!((is_labelled, is_unverified), (verified, !verified));
    }
}

/// On Linux the kernel names the owner of every open socket, so a socket without an owner was closed.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_peer_that_closes_right_after_sending_is_refused() {
    static IS_FIRST: AtomicBool = AtomicBool::new(true);
    let bench = bench_with(|config| {
        config.identify_peer = |io| {
            let (local, remote) = (io.local_addr().unwrap(), io.peer_addr().unwrap());
            // The first peer has closed before the relay looks.
            while IS_FIRST.load(Ordering::Relaxed) && belay_net::peer_user(local, remote) == PeerUser::Same {
                std::thread::yield_now();
            }
            IS_FIRST.store(false, Ordering::Relaxed);
            belay_net::peer_user(local, remote)
        };
    })
    .await;
    let address = bench.address;
    let sending = tokio::task::spawn_blocking(move || {
        let mut client = std::net::TcpStream::connect(address).unwrap();
        client.write_all(post("/anthropic/v1/closed", "{}").as_bytes()).unwrap();
    });
    sending.await.unwrap();
    while IS_FIRST.load(Ordering::Relaxed) {
        tokio::task::yield_now().await;
    }
    let mut client = bench.client().await;
    client.send(post("/anthropic/v1/open", "{}")).await;
    let head = bench.accept().await.read_head().await;
    assert!(head.contains("/v1/open"), "the request of a peer without a user was relayed: {head}");
}

#[tokio::test]
async fn a_sender_without_a_user_needs_the_token_or_the_key_of_a_run() {
    let bench = bench_of(|_| PeerUser::Nobody).await;
    assert_eq!(outcome(&bench, "/anthropic/v1/messages", "X-Api-Key: sk-ant-theirs\r\n").await, "unknown_user");
    assert_eq!(outcome(&bench, "/openai/v1/responses", TOKEN).await, "relayed");
    assert_eq!(outcome(&bench, "/s/codex:0199-key/openai/v1/responses", "").await, "relayed");
}

#[tokio::test]
async fn the_user_of_a_connection_is_determined_once_before_anything_is_read() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let bench = bench_of(|io| {
        assert_eq!(io.try_read(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
        ASKED.fetch_add(1, Ordering::Relaxed);
        PeerUser::Same
    })
    .await;
    let mut client = bench.client().await;
    while ASKED.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    client.send(post("/openai/v1/responses", "{}")).await;
    let mut upstream = bench.accept().await;
    for _ in 0..2 {
        upstream.read_to("{}").await;
        upstream.send(ok("{}")).await;
        client.read_to("{}").await;
        client.send(post("/openai/v1/responses", "{}")).await;
    }
    assert_eq!(ASKED.load(Ordering::Relaxed), 1);
}

/// The rest of a refused body is not awaited: it could keep every connection occupied.
#[tokio::test]
async fn a_refused_user_occupies_no_connection() {
    let bench = bench_with(|config| {
        config.identify_peer = |_| PeerUser::Other(1001);
        config.max_connections = 1;
    })
    .await;
    for (path, code) in [("/openai/v1/responses", "other_user"), ("/a/../b", "other_user"), ("/unknown", "other_user")]
    {
        let mut slow = bench.client().await;
        slow.send(format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nstart")).await;
        let (status, error) = slow.complaint().await;
        assert_eq!((status.as_str(), &error["code"]), ("HTTP/1.1 403 Forbidden", &code.into()), "{path}");
        // It still holds its end open and sends nothing. Another client is served, not told that there are too many.
        let mut other = bench.client().await;
        other.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
        other.read_to("ours: /healthz").await;
        slow.closed().await;
    }
}
