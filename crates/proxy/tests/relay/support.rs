//! A relay in front of a scripted upstream.

use std::collections::HashMap;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use belay_core::{Body, Event, SessionKey, Verdict};
use belay_net::PeerUser;
use belay_proxy::{
    BoxFuture, Config, HoldState, LocalResponse, LocalService, PrefixedIo, Relay, RemainingBudget, Supervisor,
    UpstreamConfig,
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};

/// Timeout of every wait.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(300);

/// A local service that responds with the path of the request.
struct Echo;

impl LocalService for Echo {
    fn serve(&self, mut io: PrefixedIo, _: PeerUser) -> Pin<Box<dyn Future<Output = Option<PrefixedIo>> + Send>> {
        Box::pin(async move {
            let mut head = vec![0; 4096];
            let n = io.read(&mut head).await.unwrap();
            let path = String::from_utf8_lossy(&head[..n]).split(' ').nth(1).unwrap().to_owned();
            let answer = format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nours: {path}");
            io.write_all(answer.as_bytes()).await.unwrap();
            io.shutdown().await.unwrap();
            None
        })
    }

    fn accepts_token(&self, offered: &str) -> bool {
        offered == "the-token"
    }
}

/// A supervisor with scripted verdicts that records the observed events.
#[derive(Default)]
pub(crate) struct Scripted {
    events: Mutex<Vec<Event>>,
    verdicts: Mutex<HashMap<SessionKey, Verdict>>,
    /// Remaining tokens of every session.
    pub(crate) left: Mutex<Option<u64>>,
    /// A budget is shared, and others have spent from it.
    pub(crate) outdated: AtomicBool,
    /// Panics in `observe`.
    pub(crate) faulty: AtomicBool,
    changed: Arc<Notify>,
    recorded: Notify,
    /// Blocks `observe`: signals that it has started, and waits for the release.
    pub(crate) pause: Mutex<Option<(oneshot::Sender<()>, mpsc::Receiver<()>)>>,
}

impl Scripted {
    pub(crate) fn rule(&self, session: &str, verdict: Verdict) {
        self.verdicts.lock().unwrap().insert(SessionKey::parse(session).unwrap(), verdict);
        self.changed.notify_waiters();
    }

    /// The events observed so far.
    pub(crate) fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap().clone()
    }

    /// Waits until the observed events satisfy `enough`, and returns them.
    pub(crate) async fn wait_for_events(&self, enough: impl Fn(&[Event]) -> bool) -> Vec<Event> {
        let wait = async {
            loop {
                let recorded = self.recorded.notified();
                let events = self.events.lock().unwrap().clone();
                if enough(&events) {
                    return events;
                }
                recorded.await;
            }
        };
        match tokio::time::timeout(TEST_TIMEOUT, wait).await {
            Ok(events) => events,
            Err(_) => panic!("not enough was heard: {:#?}", self.events.lock().unwrap()),
        }
    }

    /// Summaries of the events up to the first model response.
    pub(crate) async fn story(&self) -> Vec<String> {
        let answered = |event: &Event| matches!(event.body, Body::ModelAnswered(_) | Body::ModelFailed(_));
        let events = self.wait_for_events(|events| events.iter().any(answered)).await;
        events.iter().map(|event| format!("{} {}", event.session, event.body.kind())).collect()
    }
}

impl Supervisor for Scripted {
    fn hold_state(&self, session: &SessionKey) -> HoldState {
        match self.verdicts.lock().unwrap().get(session) {
            None | Some(Verdict::Go) => HoldState::Free,
            Some(Verdict::Stop { .. }) => HoldState::Killed,
            Some(Verdict::Nudge { .. }) => HoldState::MustAsk,
            Some(Verdict::Hold { .. }) => HoldState::Held,
        }
    }

    fn remaining_budget(&self, _: &SessionKey, _: Option<&str>) -> RemainingBudget {
        let outdated = self.outdated.load(Ordering::Relaxed);
        RemainingBudget { tokens: *self.left.lock().unwrap(), shared: outdated, outdated, ..RemainingBudget::default() }
    }

    fn refusal(&self, _: &SessionKey, _: &Verdict) -> BoxFuture<Option<LocalResponse>> {
        let body = r#"{"error":{"type":"refused_by_supervisor"}}"#;
        Box::pin(std::future::ready(Some(LocalResponse::json(423, body.to_owned()))))
    }

    fn observe(&self, events: Vec<Event>) -> Vec<Verdict> {
        assert!(!self.faulty.load(Ordering::Relaxed), "a fault that belongs to the test");
        if let Some((paused, word)) = self.pause.lock().unwrap().take() {
            paused.send(()).unwrap();
            // The receiver may have been dropped.
            let _ = word.recv();
        }
        let verdicts = self.verdicts.lock().unwrap().clone();
        let answer = |event: &Event| match event.body {
            Body::ModelAsked(_) => {
                let of = |session: &SessionKey| verdicts.get(session).cloned();
                of(&event.session).or_else(|| of(event.parent.as_ref()?)).unwrap_or_default()
            }
            _ => Verdict::Go,
        };
        let answers = events.iter().map(answer).collect();
        self.events.lock().unwrap().extend(events);
        self.recorded.notify_waiters();
        answers
    }

    fn hold_state_changed(&self) -> BoxFuture<()> {
        let changed = Arc::clone(&self.changed);
        // Registers now, not at the first poll.
        let mut notified = Box::pin(changed.notified_owned());
        notified.as_mut().enable();
        notified
    }
}

/// A relay and the listener of its upstream `openai`.
pub(crate) struct Bench {
    pub(crate) address: SocketAddr,
    pub(crate) upstream: TcpListener,
    pub(crate) relay: Arc<Relay>,
    pub(crate) judge: Arc<Scripted>,
}

pub(crate) async fn bench() -> Bench {
    bench_with(|_| {}).await
}

pub(crate) async fn bench_with(adjust: impl FnOnce(&mut Config)) -> Bench {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", upstream.local_addr().unwrap());
    let names = ["openai", "anthropic", "gemini", "chatgpt"];
    let upstreams = names.iter().map(|name| UpstreamConfig::new(*name, format!("{url}/{name}"))).collect();
    let mut config = Config { upstreams, hold: Duration::ZERO, ..Config::default() };
    adjust(&mut config);
    let judge = Arc::new(Scripted::default());
    let relay = Arc::new(Relay::new(&config, Arc::new(Echo), Arc::<Scripted>::clone(&judge)).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(Arc::clone(&relay).accept_loop(listener));
    Bench { address, upstream, relay, judge }
}

impl Bench {
    pub(crate) async fn client(&self) -> Peer {
        Peer(TcpStream::connect(self.address).await.unwrap())
    }

    /// The next connection the relay makes.
    pub(crate) async fn accept(&self) -> Peer {
        let accepted = tokio::time::timeout(TEST_TIMEOUT, self.upstream.accept()).await;
        Peer(accepted.expect("a connection to the upstream").unwrap().0)
    }
}

/// One end of a connection, controlled by the test.
pub(crate) struct Peer<S = TcpStream>(pub(crate) S);

impl Peer {
    /// Resets the connection.
    pub(crate) fn reset(self) {
        rustix::net::sockopt::set_socket_linger(&self.0, Some(Duration::ZERO)).unwrap();
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Peer<S> {
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Reads up to and including `end`.
    pub(crate) async fn read_to(&mut self, end: &str) -> String {
        let mut text = Vec::new();
        while !text.ends_with(end.as_bytes()) {
            let mut byte = [0];
            let read = tokio::time::timeout(TEST_TIMEOUT, self.0.read(&mut byte)).await;
            let n = read.unwrap_or_else(|_| panic!("nothing more after {:?}", String::from_utf8_lossy(&text))).unwrap();
            assert_eq!(n, 1, "closed after {:?}", String::from_utf8_lossy(&text));
            text.push(byte[0]);
        }
        String::from_utf8(text).unwrap()
    }

    /// Reads an error response: status line and JSON body.
    pub(crate) async fn complaint(&mut self) -> (String, serde_json::Value) {
        let head = self.read_head().await;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
        let body = self.read_exactly(length).await;
        let status = head.lines().next().unwrap().to_owned();
        (status, serde_json::from_slice::<serde_json::Value>(&body).unwrap()["error"].clone())
    }

    pub(crate) async fn read_head(&mut self) -> String {
        self.read_to("\r\n\r\n").await
    }

    pub(crate) async fn read_exactly(&mut self, n: usize) -> Vec<u8> {
        let mut bytes = vec![0; n];
        let read = tokio::time::timeout(TEST_TIMEOUT, self.0.read_exact(&mut bytes)).await;
        read.unwrap_or_else(|_| panic!("{n} bytes did not come")).unwrap();
        bytes
    }

    /// Reads until the other side closes.
    pub(crate) async fn read_all(&mut self) -> String {
        let mut bytes = Vec::new();
        let _ = self.0.read_to_end(&mut bytes).await;
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until the other side has closed or reset the connection.
    pub(crate) async fn closed(&mut self) {
        let mut sink = [0; 1024];
        let wait = async { while matches!(self.0.read(&mut sink).await, Ok(n) if n > 0) {} };
        tokio::time::timeout(TEST_TIMEOUT, wait).await.expect("the connection to close");
    }
}

/// A small request with the given body.
pub(crate) fn post(path: &str, body: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// A small response with the given body.
pub(crate) fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}
