//! One connection of an agent, request after request.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;

use crate::answer::Answer;
use crate::client::{Client, Gone};
use crate::exchange::{Asked, Beside, Exchange, Failure, Next, Quiet, Upload};
use crate::framing::Framing;
use crate::head::{BadHead, RequestHead, Rewrite, Room, Seen};
use crate::held::{Admission, admit};
use crate::inspect::Turn;
use crate::ours::Rewound;
use crate::relay::Relay;
use crate::route::{Route, Routes};
use crate::upstream::{Auth, Upstream};
use crate::words;

/// How long a client may stay connected without asking anything.
const IDLE: Duration = Duration::from_secs(600);
/// How long a client may take over one head, or over the rest of a body that nobody wants.
const PATIENCE: Duration = Duration::from_secs(30);

/// Everything a head says, so that the bytes it was read from can be reused.
#[derive(Debug)]
enum Plan {
    Ours,
    Relay(Box<Outgoing>),
    Refuse { answer: Answer, framing: Framing, asked: Asked },
}

#[derive(Debug)]
struct Outgoing {
    upstream: Arc<Upstream>,
    head: Vec<u8>,
    framing: Framing,
    eager: bool,
    asked: Asked,
    turn: Option<Turn>,
}

/// Serves a connection until either side has had enough.
pub(crate) async fn serve(relay: Arc<Relay>, io: TcpStream, peer: SocketAddr) {
    // Small writes must not wait for each other; a socket that cannot do it still works.
    let _ = io.set_nodelay(true);
    let mut client = Client::new(io, relay.buffers.clone());
    let mut beside = Beside::new(&relay.clock);
    while let Ok(plan) = next_plan(&relay, &mut client, &mut beside.quiet).await {
        let _busy = relay.busy();
        let next = match plan {
            Plan::Ours => {
                let (io, first) = client.into_parts();
                return relay.ours.serve(Rewound::new(first, io), peer).await;
            }
            Plan::Refuse { answer, framing, asked } => {
                let upload = Upload::new(Vec::new(), framing, false, 0, &mut client);
                say(&mut client, upload, &answer, asked).await
            }
            Plan::Relay(outgoing) => relay_one(&relay, &mut client, &mut beside, *outgoing).await,
        };
        match next {
            Ok(Next::KeepAlive) => {}
            Ok(Next::Close) => return client.close().await,
            Ok(Next::Upgraded(mut link, early)) => {
                let (io, ahead) = client.into_parts();
                let mut io = Rewound::new(ahead, io);
                if tokio::io::AsyncWriteExt::write_all(&mut io, &early).await.is_ok() {
                    let _ = tokio::io::copy_bidirectional(&mut io, &mut link).await;
                }
                return;
            }
            Err(Gone) => return,
        }
    }
}

/// Reads the next head and decides what to do about it.
async fn next_plan(relay: &Relay, client: &mut Client, quiet: &mut Quiet) -> Result<Plan, Gone> {
    if client.ahead().is_empty() {
        quiet.begin(IDLE);
        tokio::select! {
            biased;
            read = client.read_ahead() => read?,
            () = poll_fn(|cx| quiet.poll(cx, 0)) => return Err(Gone),
        }
    }
    if let Some(plan) = understand(relay, client)? {
        return Ok(plan);
    }
    let rest = async {
        loop {
            client.read_ahead().await?;
            if let Some(plan) = understand(relay, client)? {
                return Ok(plan);
            }
        }
    };
    tokio::time::timeout(PATIENCE, rest).await.map_err(|_| Gone)?
}

/// Looks at what has been read; `None` while the head is not complete.
fn understand(relay: &Relay, client: &mut Client) -> Result<Option<Plan>, Gone> {
    let mut room = Room::new();
    let (plan, len) = match RequestHead::parse(client.ahead(), &mut room) {
        Ok(None) => return Ok(None),
        Ok(Some(head)) => match plan(relay, &head) {
            // Whoever answers wants to read the head again.
            Plan::Ours => return Ok(Some(Plan::Ours)),
            plan => (plan, head.len()),
        },
        Err(bad) => (refuse_head(bad), 0),
    };
    client.consume(len);
    Ok(Some(plan))
}

fn refuse_head(bad: BadHead) -> Plan {
    let status = if bad == BadHead::TooLarge { 431 } else { 400 };
    let answer = words::error(status, "bad_request", &format!("Belay could not understand this request: {bad}."));
    Plan::Refuse { answer, framing: Framing::Empty, asked: Asked { headless: false, closing: true, upgrading: false } }
}

fn plan(relay: &Relay, head: &RequestHead<'_, '_>) -> Plan {
    let upgrading = head.upgrade().is_some();
    let asked = Asked { headless: head.method == "HEAD", closing: !head.keep_alive(), upgrading };
    let refuse = |answer| Plan::Refuse { answer, framing: head.framing(), asked };
    if !head.target.starts_with('/') {
        return refuse(words::not_a_forward_proxy());
    }
    let (upstream, below, path, run) = match relay.routes.choose(head) {
        Route::Ours => return Plan::Ours,
        Route::Unknown => return refuse(words::no_upstream(head.target, relay.routes.names())),
        Route::Upstream { upstream, below, path, run } => (upstream, below, path, run),
    };
    if upgrading && !relay.sockets && Routes::carries_turns(path) {
        return refuse(words::no_socket());
    }
    if let Some(owner) = upstream.misdirected(head.target, head.headers()) {
        return refuse(words::misdirected(owner, &upstream.base.url()));
    }
    let credential = match &upstream.auth {
        Auth::Incoming => None,
        // Whoever reaches us may ask with this key; a page in a browser is nobody.
        Auth::Header { .. } if head.is_from_a_page() => return refuse(words::from_a_page()),
        Auth::Header { name, value } => Some((name.as_str(), value.as_str())),
    };
    let rewrite =
        Rewrite { target: &[upstream.base.path.as_str(), below, path], host: &upstream.base.authority, credential };
    let relayed = head.relayed(&rewrite);
    let (framing, eager) = (head.framing(), head.expects_continue());
    // What is known of the run's session counts for requests that name none.
    let known = run.and_then(|run| relay.routes.session_of(run)).map(|session| session.to_string());
    // A site that a person visits may ask with whatever key it has, but speaks for no session.
    let seen = Seen { head, path };
    let follow = || relay.inspector.follow(head.method, &seen, known.as_deref().or(run));
    let turn = if head.is_of_a_site() { None } else { follow() };
    // A sub-agent is not the run's session, it is part of it.
    if let (Some(run), Some(session)) = (run, turn.as_ref().and_then(Turn::main_session)) {
        relay.routes.learn(run, session);
    }
    Plan::Relay(Box::new(Outgoing { upstream, head: relayed, framing, eager, asked, turn }))
}

async fn relay_one(relay: &Relay, client: &mut Client, beside: &mut Beside, out: Outgoing) -> Result<Next, Gone> {
    let Outgoing { upstream, head, framing, eager, asked, mut turn } = out;
    let mut upload = Upload::new(head, framing, eager, relay.keep, client);
    if turn.is_some() {
        relay.inspector.keep_up().await;
    }
    let result = loop {
        if let Some(known) = &mut turn
            && known.is_held(upload.payload().as_deref())
        {
            match admit(relay, client, &mut upload, known).await? {
                Admission::Go => {}
                Admission::Answer(answer) => return say(client, upload, &answer, asked).await,
            }
        }
        let link = tokio::select! {
            biased;
            link = upstream.link(false) => link,
            gone = poll_fn(|cx| client.poll_gone(cx)) => return Err(gone),
        };
        let (link, reused) = match link {
            Ok(link) => link,
            Err(trouble) => break Err(Failure::Upstream(trouble, upload)),
        };
        match Exchange::new(client, beside, &upstream, link, upload, turn, asked).run(reused).await {
            Err(Failure::Held(held, known)) => {
                upload = held;
                turn = Some(*known);
            }
            result => break result,
        }
    };
    match result {
        Ok(next) => Ok(next),
        Err(Failure::ClientGone | Failure::Held(..)) => Err(Gone),
        Err(Failure::Broken(trouble)) => {
            tracing::warn!(upstream = upstream.name, code = trouble.code(), "answer broke off: {trouble}");
            Err(Gone)
        }
        Err(Failure::Upstream(trouble, upload)) => {
            tracing::warn!(upstream = upstream.name, code = trouble.code(), "{trouble}");
            say(client, upload, &words::trouble(&upstream.base.url(), &trouble), asked).await
        }
        Err(Failure::BadBody(bad)) => {
            let answer = words::error(400, "bad_request", &format!("Belay could not understand this request: {bad}."));
            client.send(&answer.bytes(true, asked.headless)).await?;
            Ok(Next::Close)
        }
    }
}

/// Answers in the upstream's place, once the request has been read: a client that still sends
/// would not listen.
async fn say(client: &mut Client, mut upload: Upload, answer: &Answer, asked: Asked) -> Result<Next, Gone> {
    // Without a go-ahead there is nothing to read, and nobody knows whether the body will come.
    let refused_early = upload.awaits_go_ahead() && client.ahead().is_empty();
    let drain = tokio::time::timeout(PATIENCE, poll_fn(|cx| upload.poll_drain(cx, client)));
    let drained = refused_early || matches!(drain.await, Ok(Ok(())));
    let close = asked.closing || refused_early || !drained;
    client.send(&answer.bytes(close, asked.headless)).await?;
    Ok(if close { Next::Close } else { Next::KeepAlive })
}
