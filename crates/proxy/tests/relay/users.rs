//! Other users of the machine can connect, but not use anything.

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
}

#[tokio::test]
async fn an_unknown_user_relays_with_a_key_of_its_own_only() {
    let bench = bench_of(|_| PeerUser::Unknown).await;
    assert_eq!(outcome(&bench, "/anthropic/v1/messages", "").await, "relayed");
    assert_eq!(outcome(&bench, "/openai/v1/responses", "").await, "unknown_user");
    assert_eq!(outcome(&bench, "/openai/v1/responses", TOKEN).await, "relayed");
}

#[tokio::test]
async fn the_user_of_a_connection_is_determined_once_and_only_if_needed() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let bench = bench_of(|_| {
        ASKED.fetch_add(1, Ordering::Relaxed);
        PeerUser::Same
    })
    .await;
    let mut client = bench.client().await;
    client.send(post("/s/codex:0199-key/openai/v1/responses", "{}")).await;
    let mut upstream = bench.accept().await;
    for (path, asked) in [("/openai/v1/responses", 0), ("/openai/v1/responses", 1), ("/openai/v1/models", 1)] {
        upstream.read_to("{}").await;
        assert_eq!(ASKED.load(Ordering::Relaxed), asked);
        upstream.send(ok("{}")).await;
        client.read_to("{}").await;
        client.send(post(path, "{}")).await;
    }
}
