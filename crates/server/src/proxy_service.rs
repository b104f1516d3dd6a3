//! Connects the relay to the resident process: its configuration, its supervisor and its runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use belay_compat::loop_watchdog;
use belay_config::{AuthMode, EnvSnapshot};
use belay_core::{Body, Digest, Event, SessionKey, Verdict};
use belay_ipc::{ErrorBody, ErrorCode, RunRequest, RunResponse};
use belay_net::EgressProxy;
use belay_proxy::{BoxFuture, HoldState, LocalResponse, ReportedQuota, Supervisor, UpstreamConfig};

use crate::limits::session_account;
use crate::state::DaemonState;

/// How long the end of a run waits until its exchanges are recorded.
const RUN_DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// An invalid upstream configuration.
#[derive(Debug, thiserror::Error)]
#[error("proxy.upstreams.{name}: {problem}")]
pub struct UpstreamError {
    name: String,
    problem: String,
}

/// The relay's configuration.
pub(crate) fn relay_config(
    proxy: &belay_config::ProxyConfig,
    repetition: belay_core::repetition::RepetitionRules,
    env: &EnvSnapshot,
) -> Result<belay_proxy::Config, UpstreamError> {
    let bytes =
        |size: belay_config::ByteSize| size.get().map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
    let upstreams =
        proxy.upstreams.iter().filter(|_| proxy.enabled).map(|(name, upstream)| upstream_config(name, upstream, env));
    Ok(belay_proxy::Config {
        upstreams: upstreams.collect::<Result<_, _>>()?,
        buffered: bytes(proxy.max_buffered_bytes),
        inspected: bytes(proxy.max_inspected_bytes),
        chant: proxy.cut_repetition.then_some(repetition),
        hold: proxy.hold_timeout.get().unwrap_or(Duration::MAX / 4),
        nudge: proxy.nudge,
        sockets: proxy.allow_websockets,
        max_connections: max_connections(),
        ..belay_proxy::Config::default()
    })
}

/// Maximum number of client connections. Each may need two file descriptors, and other parts need some, too.
pub(crate) fn max_connections() -> usize {
    const RESERVED_DESCRIPTORS: u64 = 128;
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(limit.saturating_sub(RESERVED_DESCRIPTORS) / 2).unwrap_or(usize::MAX).clamp(16, 1024)
}

fn upstream_config(
    name: &str,
    upstream: &belay_config::UpstreamConfig,
    env: &EnvSnapshot,
) -> Result<UpstreamConfig, UpstreamError> {
    let refuse = |problem: String| UpstreamError { name: name.to_owned(), problem };
    let key = || match env.text(&upstream.key_env) {
        Some(key) => Ok(key.trim().to_owned()),
        None if upstream.key_env.is_empty() => {
            Err(refuse("key_env is missing; set it to the name of the variable that holds the key".to_owned()))
        }
        None => Err(refuse(format!(
            "the variable {} is not set in the environment of the resident process",
            upstream.key_env
        ))),
    };
    let auth = match upstream.auth {
        AuthMode::Incoming => belay_proxy::Auth::Incoming,
        AuthMode::Bearer => belay_proxy::Auth::bearer(&key()?),
        AuthMode::Header => belay_proxy::Auth::Header { name: upstream.header.clone(), value: key()? },
    };
    Ok(UpstreamConfig {
        name: name.to_owned(),
        url: upstream.url.clone(),
        auth,
        plaintext: upstream.allow_plaintext,
        ca_file: Some(&upstream.ca_file).filter(|path| !path.is_empty()).map(PathBuf::from),
        connect: upstream.connect_timeout.get().unwrap_or(Duration::from_secs(60)),
        quiet: upstream.idle_timeout.get().unwrap_or(Duration::from_secs(86_400)),
        egress: EgressProxy::from_env(|name| env.text(name).map(str::to_owned)),
    })
}

/// The engine behind its queue, as the relay sees it.
#[derive(Debug)]
pub(crate) struct EngineSupervisor(pub(crate) Arc<DaemonState>);

impl Supervisor for EngineSupervisor {
    fn hold_state(&self, session: &SessionKey) -> HoldState {
        self.0.lifecycle.mark_active();
        self.0.hold_watcher.poll(&self.0.decisions.holds);
        self.0.decisions.holds.get(session)
    }

    fn remaining_budget(&self, session: &SessionKey, model: Option<&str>) -> belay_proxy::RemainingBudget {
        self.0.decisions.budgets.remaining(session, model)
    }

    fn observe(&self, events: Vec<Event>) -> Vec<Verdict> {
        let asked: Vec<bool> = events.iter().map(|event| matches!(&event.body, Body::ModelAsked(_))).collect();
        let answers = self.0.decisions.committer.observe(events);
        apply_pending_decisions(&self.0);
        let answers = answers.into_iter().zip(asked);
        answers
            .map(|(answer, asked)| match answer {
                Ok(observed) => observed.decision.verdict,
                Err(error) => {
                    if asked {
                        tracing::warn!(%error, "request passed without a verdict");
                    }
                    Verdict::Go
                }
            })
            .collect()
    }

    fn report_quotas(&self, session: &SessionKey, credential: Option<Digest>, quotas: Vec<ReportedQuota>) {
        let (daemon, session, at) = (Arc::clone(&self.0), session.clone(), belay_clock::now());
        // The account is read from the store.
        self.0.lifecycle.runtime.spawn_blocking(move || {
            daemon.limits.report(&session_account(&daemon, &session), credential, quotas, at);
        });
    }

    fn hold_state_changed(&self) -> BoxFuture<()> {
        self.0.decisions.holds.changed()
    }

    fn refusal(&self, session: &SessionKey, verdict: &Verdict) -> BoxFuture<Option<LocalResponse>> {
        let refusal = loop_watchdog::refusal(Arc::clone(&self.0), session.clone(), verdict.clone());
        Box::pin(async move { Some(refusal.await) })
    }
}

/// Binds a run to its session, as reported by a hook, possibly before the first request.
pub(crate) fn bind_run_session(daemon: &DaemonState, run: &str, session: &SessionKey) {
    if let Some(relay) = daemon.runs.relay() {
        relay.bind_run_session(run, session);
    }
    apply_pending_decisions(daemon);
}

fn apply_pending_decisions(daemon: &DaemonState) {
    let relay = || daemon.runs.relay();
    daemon.runs.pending_decisions.apply_known(daemon, |run| relay()?.run_session(run));
}

/// Starts or ends a run, or returns its state.
pub(crate) fn handle_run(daemon: &DaemonState, ask: &RunRequest) -> Result<RunResponse, ErrorBody> {
    let relay = daemon.runs.relay();
    let relay = relay.ok_or_else(|| ErrorBody::new(ErrorCode::Busy, "the resident process is shutting down"))?;
    if ask.begins {
        let begun = daemon.runs.store.register(&relay, &ask.run, &ask.upstreams);
        begun.map_err(|bad| ErrorBody::new(ErrorCode::Refused, bad.to_string()))?;
        if let Some(session) = &ask.session {
            relay.bind_run_session(&ask.run, session);
        }
        daemon.runs.pending_decisions.register(ask);
        apply_pending_decisions(daemon);
        if ask.proxied {
            let opened = match ask.at {
                Some(address) => daemon.runs.listeners.ensure_at(address),
                None => daemon.runs.listeners.ensure_loopback(),
            };
            let url = opened.map_err(|error| {
                ErrorBody::new(ErrorCode::Internal, format!("cannot open a listener for the proxy: {error}"))
            })?;
            let address = url.trim_start_matches("http://").trim_end_matches('/').parse().ok();
            daemon.runs.store.set_address(&ask.run, address, ask.session.clone());
        }
    }
    if (ask.drains || ask.ends) && !relay.drain_run(&ask.run, RUN_DRAIN_TIMEOUT) {
        tracing::warn!(run = ask.run, "a request of the run is still open");
    }
    if ask.ends {
        daemon.runs.store.end(&relay, &ask.run);
        daemon.runs.pending_decisions.end(&ask.run);
    }
    Ok(RunResponse { url: daemon.runs.listeners.loopback_url(), session: relay.run_session(&ask.run) })
}
