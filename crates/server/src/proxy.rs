//! The relay inside the resident process: what it is told by the configuration, and who judges.

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use belay_config::{Auth, Env};
use belay_core::{Body, Event, SessionKey, Verdict};
use belay_proxy::{Egress, Judge, Later, Standing, UpstreamConfig};

use crate::protocol::{BeginRun, Code, Refusal, RunView};
use crate::resident::Shared;

/// How long the end of a run waits for what its requests had to tell.
const SETTLE: Duration = Duration::from_secs(2);

/// Why an upstream cannot be used as configured.
#[derive(Debug, thiserror::Error)]
#[error("proxy.upstreams.{name}: {problem}")]
pub struct UpstreamError {
    name: String,
    problem: String,
}

/// The relay's configuration.
pub(crate) fn config(
    proxy: &belay_config::Proxy,
    chant: belay_core::chant::ChantRules,
    env: &Env,
) -> Result<belay_proxy::Config, UpstreamError> {
    let bytes =
        |size: belay_config::ByteSize| size.get().map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
    let upstreams = proxy.upstreams.iter().filter(|_| proxy.enabled).map(|(name, upstream)| one(name, upstream, env));
    Ok(belay_proxy::Config {
        upstreams: upstreams.collect::<Result<_, _>>()?,
        buffered: bytes(proxy.buffer_bytes),
        inspected: bytes(proxy.inspect_bytes),
        chant: proxy.cut_chanting.then_some(chant),
        hold: proxy.hold.get().unwrap_or(Duration::MAX / 4),
        nudge: proxy.nudge,
        sockets: proxy.sockets,
    })
}

fn one(name: &str, upstream: &belay_config::Upstream, env: &Env) -> Result<UpstreamConfig, UpstreamError> {
    let refuse = |problem: String| UpstreamError { name: name.to_owned(), problem };
    let key = || match env.text(&upstream.key_env) {
        Some(key) => Ok(key.trim().to_owned()),
        None if upstream.key_env.is_empty() => {
            Err(refuse("key_env is missing: name the variable that holds the key".to_owned()))
        }
        None => Err(refuse(format!("the variable {} is not set where Belay runs", upstream.key_env))),
    };
    let auth = match upstream.auth {
        Auth::Incoming => belay_proxy::Auth::Incoming,
        Auth::Bearer => belay_proxy::Auth::bearer(&key()?),
        Auth::Header => belay_proxy::Auth::Header { name: upstream.header.clone(), value: key()? },
    };
    Ok(UpstreamConfig {
        name: name.to_owned(),
        url: upstream.url.clone(),
        auth,
        plaintext: upstream.plaintext,
        ca_file: Some(&upstream.ca_file).filter(|path| !path.is_empty()).map(PathBuf::from),
        connect: upstream.connect.get().unwrap_or(Duration::from_secs(60)),
        quiet: upstream.quiet.get().unwrap_or(Duration::from_secs(86_400)),
        egress: Egress::from_env(|name| env.text(name).map(str::to_owned)),
    })
}

/// The engine behind its queue, as the relay sees it.
#[derive(Debug)]
pub(crate) struct Referee(pub(crate) Arc<Shared>);

impl Judge for Referee {
    fn standing(&self, session: &SessionKey) -> Standing {
        self.0.touch();
        self.0.standings.of(session)
    }

    fn allowance(&self, session: &SessionKey, model: Option<&str>) -> belay_proxy::Allowance {
        self.0.purses.of(session, model)
    }

    fn observe(&self, events: Vec<Event>) -> Vec<Verdict> {
        let asked: Vec<bool> = events.iter().map(|event| matches!(&event.body, Body::ModelAsked(_))).collect();
        let answers = self.0.writer.observe(events);
        settle(&self.0);
        let answers = answers.into_iter().zip(asked);
        answers
            .map(|(answer, asked)| match answer {
                Ok(observed) => observed.decision.verdict,
                Err(error) => {
                    if asked {
                        tracing::warn!(%error, "a request goes on unjudged");
                    }
                    Verdict::Go
                }
            })
            .collect()
    }

    fn changed(&self) -> Later<()> {
        self.0.standings.changed()
    }

    fn status(&self, session: &SessionKey) -> Later<serde_json::Value> {
        let (shared, session) = (Arc::clone(&self.0), session.clone());
        Box::pin(async move {
            let read = tokio::task::spawn_blocking(move || crate::http::legacy_status(&shared, &session));
            read.await.ok().and_then(Result::ok).unwrap_or_default()
        })
    }
}

/// A run named its session: by a hook, maybe before its first request.
pub(crate) fn learn(shared: &Shared, run: &str, session: &SessionKey) {
    if let Some(relay) = shared.relay.get().and_then(Weak::upgrade) {
        relay.learn(run, session);
    }
    settle(shared);
}

fn settle(shared: &Shared) {
    let relay = || shared.relay.get().and_then(Weak::upgrade);
    shared.promises.settle(shared, |run| relay()?.session_of(run));
}

/// Begins a run, or tells how it is doing.
pub(crate) fn run(shared: &Shared, ask: &BeginRun) -> Result<RunView, Refusal> {
    let relay = shared.relay.get().and_then(Weak::upgrade);
    let relay = relay.ok_or_else(|| Refusal::new(Code::Busy, "the resident process is about to leave"))?;
    if ask.begins {
        let begun = shared.runs.begin(&relay, &ask.run, &ask.upstreams);
        begun.map_err(|bad| Refusal::new(Code::Refused, bad.to_string()))?;
        if let Some(session) = &ask.session {
            relay.learn(&ask.run, session);
        }
        shared.promises.make(ask);
        settle(shared);
        if ask.proxied {
            let opened = match ask.at {
                Some(address) => shared.doors.open_here(address),
                None => shared.doors.open_any(),
            };
            opened.map_err(|error| Refusal::new(Code::Internal, format!("the proxy cannot listen: {error}")))?;
        }
    }
    if ask.ends {
        relay.settle(SETTLE);
    }
    Ok(RunView { url: shared.doors.url(), session: relay.session_of(&ask.run) })
}
