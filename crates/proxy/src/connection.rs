//! One connection of an agent, request after request.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::net::TcpStream;

use crate::answer::Answer;
use crate::client::{Client, Gone};
use crate::exchange::{Asked, Beside, Exchange, Failure, Next, Quiet, Upload};
use crate::held::{Admission, admit};
use crate::ours::Rewound;
use crate::plan::{Known, Outgoing, Plan, Way, understand};
use crate::relay::Relay;
use crate::words;

/// How long a client may stay connected without asking anything.
const IDLE: Duration = Duration::from_secs(600);
/// How long a client may take over one head, or over the rest of a body that nobody wants.
const PATIENCE: Duration = Duration::from_secs(30);

/// Serves a connection until either side has had enough.
pub(crate) async fn serve(relay: Arc<Relay>, io: TcpStream, peer: SocketAddr) {
    // Small writes must not wait for each other; a socket that cannot do it still works.
    let _ = io.set_nodelay(true);
    let mut client = Client::new(io, relay.buffers.clone());
    let mut beside = Beside::new(&relay.clock);
    let mut known = None;
    while let Ok(plan) = next_plan(&relay, &mut client, &mut known, &mut beside.quiet).await {
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
            Plan::Relay(outgoing) => relay_one(&relay, &mut client, &mut beside, outgoing).await,
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
async fn next_plan(
    relay: &Relay,
    client: &mut Client,
    known: &mut Option<Known>,
    quiet: &mut Quiet,
) -> Result<Plan, Gone> {
    if client.ahead().is_empty() {
        quiet.begin(IDLE);
        let read = |cx: &mut Context<'_>| match client.poll_ahead(cx) {
            Poll::Pending => quiet.poll(cx, 0).map(|()| Err(Gone)),
            read => read,
        };
        poll_fn(read).await?;
    }
    if let Some(plan) = understand(relay, client, known)? {
        return Ok(plan);
    }
    let rest = async {
        loop {
            poll_fn(|cx| client.poll_ahead(cx)).await?;
            if let Some(plan) = understand(relay, client, known)? {
                return Ok(plan);
            }
        }
    };
    tokio::time::timeout(PATIENCE, rest).await.map_err(|_| Gone)?
}

async fn relay_one(relay: &Relay, client: &mut Client, beside: &mut Beside, out: Outgoing) -> Result<Next, Gone> {
    let Outgoing { way: Way { upstream, eager, asked, .. }, head, framing, mut turn } = out;
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
            Err(trouble) => break Err(Failure::Upstream(trouble, Box::new(upload))),
        };
        let mut exchange = Exchange::new(client, beside, &upstream, link, upload, turn, asked);
        let ended = exchange.run(reused).await;
        match exchange.close(ended) {
            Err(Failure::Held(held, known)) => (upload, turn) = (*held, Some(known)),
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
            say(client, *upload, &words::trouble(&upstream.base.url(), &trouble), asked).await
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
