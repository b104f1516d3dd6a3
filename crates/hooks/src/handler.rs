//! One hook call from payload to answer.

use std::path::Path;

use belay_agents::hook::{HookInput, HookPoint, HookProtocol, HookReply, ParsedHook, protocol};
use belay_core::event::{Body, Delivered, Source};
use belay_core::{Effect, Event, EventOutcome, InterventionLevel, SessionKey, Timestamp, Verdict};
use belay_engine::EngineAccess;
use belay_ipc::{HookRequest, HookResponse};
use belay_store::session::SessionRow;

use crate::local_facts::{self, LocalFacts};
use crate::{engine_queries, session_summary, tombstones};

/// What is remembered from one hook call to the next, as long as this process lives. Without it
/// everything still works, only with more reading.
#[derive(Debug, Default)]
pub struct HookState {
    local_facts: LocalFacts,
}

/// Parses the payload, decides, and responds. Never fails: after a fault the agent continues. `bind_run` gets the session
/// that a `belay run` turned out to be.
pub fn handle_hook(
    state: &HookState,
    engine: &dyn EngineAccess,
    ask: &HookRequest,
    bind_run: &dyn Fn(&str, &SessionKey),
) -> HookResponse {
    let Some(dialect) = protocol(&ask.agent, ask.payload.get().as_bytes()) else {
        tracing::warn!(agent = ask.agent, "a hook of an agent Belay does not know");
        return HookResponse::default();
    };
    let told = HookInput {
        id: &ask.id,
        event: ask.event.as_deref(),
        payload: ask.payload.get().as_bytes(),
        at: ask.at,
        exit_code: None,
    };
    let mut heard = state.local_facts.parse_and_enrich(dialect, &told, ask);
    let Some(session) = heard.session.clone() else { return HookResponse::default() };
    let events = std::mem::take(&mut heard.events);
    let has_events = !events.is_empty();
    let observed = if has_events { engine_queries::observe(engine, events) } else { Vec::new() };
    if let Some(run) = ask.run.as_deref().filter(|_| heard.moment == HookPoint::SessionStart) {
        bind_run(run, &session);
    }
    let HookOutcome { verdict, context, delivered } =
        rule(engine, &heard, &session, has_events.then_some(&*observed), ask.at);
    let ended = (heard.moment == HookPoint::SessionEnd).then(|| engine_queries::session(engine, &session)).flatten();
    let summary = ended.as_ref().and_then(session_summary::summary_sentence);
    if let Some(row) = &ended {
        tombstones::clear_if_overcome(engine, row, ask.at);
    }
    if ask.ci && (ended.is_some() || holds(&verdict)) {
        report(engine, &session, ended, heard.cwd.as_deref());
    }
    let reply = HookReply { verdict: &verdict, context: context.as_deref(), person: summary.as_deref() };
    let say = dialect.answer(&heard, &reply);
    if let Some(finding) = delivered.filter(|_| !say.is_empty()) {
        engine_queries::observe(engine, vec![proof(ask, &session, finding)]);
    }
    let interrupt = interrupted(dialect, &heard, &reply, ask);
    let reason = interrupt.and(reply.hold_reason()).unwrap_or_default().to_owned();
    HookResponse { stdout: String::from_utf8(say).unwrap_or_default(), interrupt, reason }
}

/// What the agent is to hear.
struct HookOutcome {
    verdict: Verdict,
    /// Something for the model to read.
    context: Option<String>,
    /// The finding it is told of by this.
    delivered: Option<String>,
}

fn rule(
    engine: &dyn EngineAccess,
    heard: &ParsedHook,
    session: &SessionKey,
    observed: Option<&[EventOutcome]>,
    at: Timestamp,
) -> HookOutcome {
    // What is over was answered before, if it was asked about at all.
    let over = heard.moment == HookPoint::AfterBatch;
    let silent = observed.is_none() && matches!(heard.moment, HookPoint::Permission | HookPoint::BeforeModel);
    let observed = observed.unwrap_or_default();
    let fresh = observed.iter().any(|one| !one.decision.duplicate);
    let mut verdict = hardest(observed.iter().filter(|one| !one.decision.duplicate || !over));
    // Where nothing was asked about, or calls ran that could not be answered before, the session's standing counts.
    if verdict == Verdict::Go && (silent || over && fresh) {
        verdict = engine_queries::session_verdict(engine, session);
    }
    // This is the first chance to speak of those calls.
    let late = if over && fresh { nudge_among(observed) } else { None };
    let (finding, mut context) = late.unzip();
    if heard.moment == HookPoint::SessionStart {
        context = tombstones::reminder_text(engine, heard, at);
    }
    let delivered = match &verdict {
        Verdict::Nudge { finding, .. } => Some(finding.clone()),
        _ => finding,
    };
    HookOutcome { verdict, context, delivered }
}

fn holds(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Hold { .. } | Verdict::Stop { .. })
}

/// For programs that wait for a headless run: how it stands.
fn report(engine: &dyn EngineAccess, session: &SessionKey, row: Option<SessionRow>, cwd: Option<&str>) {
    let (Some(row), Some(cwd)) = (row.or_else(|| engine_queries::session(engine, session)), cwd) else { return };
    if let Err(error) = session_summary::write_result(Path::new(cwd), &row) {
        tracing::warn!(%error, cwd, "the result of a headless run could not be written");
    }
}

/// The hardest verdict wins: of several calls in one payload each may have been asked about.
fn hardest<'o>(observed: impl Iterator<Item = &'o EventOutcome>) -> Verdict {
    let weight = |verdict: &Verdict| match verdict {
        Verdict::Go => 0,
        Verdict::Nudge { .. } => 1,
        Verdict::Hold { .. } => 2,
        Verdict::Stop { .. } => 3,
    };
    let verdicts = observed.map(|one| &one.decision.verdict);
    verdicts.max_by_key(|verdict| weight(verdict)).cloned().unwrap_or_default()
}

/// A nudge that has just become due.
fn nudge_among(observed: &[EventOutcome]) -> Option<(String, String)> {
    observed.iter().flat_map(|one| &one.decision.effects).find_map(|effect| match effect {
        Effect::Intervened(done) if done.rung == InterventionLevel::Nudge && !done.dry_run => {
            Some((done.finding.id.clone(), done.message.clone()))
        }
        _ => None,
    })
}

fn proof(ask: &HookRequest, session: &SessionKey, finding: String) -> Event {
    let body = Body::Delivered(Delivered { finding, channel: Source::Hook });
    Event::new(format!("{}.told", ask.id), session.clone(), Source::Hook, ask.at, body)
}

/// The process to interrupt, where a refusal alone does not stop the agent.
fn interrupted(
    dialect: &dyn HookProtocol,
    heard: &ParsedHook,
    reply: &HookReply<'_>,
    ask: &HookRequest,
) -> Option<u32> {
    let program = dialect.interrupt(heard, reply)?;
    local_facts::process::find_headless_agent(ask.pid?, program)
}
